"""What a transport does for an actor: it reaches the neighbouring actors and carries a round's frames to and fro."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from raydream.errors import LinkError, LinkLost, LinkTimeout

DELIVERY = "delivery"  # the group of an actor's threads that take what neighbours deliver through Ray

Buffers = Sequence[memoryview]


def length_of(pieces: Buffers) -> int:
    """Bytes of a frame."""
    return pieces[0].nbytes if len(pieces) == 1 else sum(piece.nbytes for piece in pieces)


@dataclass(frozen=True)
class Terms:
    """What all actors of a run know of their links.

    run       the run's name, so that frames of two runs are not confused
    secret    by which actors of this run prove to each other that they are; it travels through Ray alone
    patience  seconds that an actor waits for a neighbour
    secure    whether what crosses a network is encrypted
    """

    run: bytes
    secret: bytes = field(repr=False)
    patience: float
    secure: bool = False


class Links(Protocol):
    """The links of one actor. They are made anew, in a new epoch, whenever actors were lost.

    says       the transport in a line, for help and forms
    encrypts   whether it can encrypt what crosses a network
    me         the number of this actor
    epoch      how often links have been made in this run
    round      exchanges since then
    waits_for  the neighbouring actors that `exchange` waits for at this moment
    """

    says: ClassVar[str]
    encrypts: ClassVar[bool] = False
    me: int
    terms: Terms
    epoch: int
    round: int
    waits_for: tuple[int, ...]

    def __init__(self, me: int, terms: Terms) -> None:
        self.me, self.terms = me, terms
        self.epoch = self.round = 0
        self.waits_for = ()

    @classmethod
    def contact(cls, handle: Any, heard: Any) -> Any:
        """What neighbours need to reach an actor, of its Ray handle and what its `listen` returned."""
        return heard

    def listen(self, host: str, epoch: int) -> Any:
        """Begin a new epoch: forget earlier links, and be ready on this host for the neighbours."""

    def connect(self, peers: Mapping[int, Any]) -> None:
        """Link with the neighbouring actors, by the contact of each."""

    def exchange(self, says: Mapping[int, Buffers], hears: Mapping[int, Buffers]) -> None:
        """One round: send these neighbours their buffers, and fill those that are heard from these.

        Links may have a direction: one may be said something and not heard, or heard and told nothing. Neighbours that
        are not named take no part in the round.
        """

    def look(self, says: Mapping[int, Buffers], hears: Mapping[int, Buffers]) -> Mapping[int, int]:
        """The same, where what is heard need not be moved: the address of a neighbour's frame, until the next round.

        Those that have none here are in their buffers.
        """
        self.exchange(says, hears)
        return {}

    def deliver(self, epoch: int, round: int, sender: int, payload: Any) -> None:
        """A neighbour's frame, for transports whose frames come as calls of the actor."""
        raise LinkError(f"actor {self.me} was handed a frame of actor {sender}, but these links take none by call.")

    def abort(self) -> None:
        """Wake up whoever waits; may be called from another thread."""

    def close(self) -> None:
        """Forget all links."""

    def called_off(self) -> LinkLost:
        """The driver has told this actor to stop waiting."""
        return LinkLost(f"actor {self.me} was told to stop waiting.")

    def unheard(self) -> LinkTimeout:
        """Patience has ended."""
        text = f"actor {self.me} heard nothing for {self.terms.patience:g} s."
        return LinkTimeout(text, self.round, self.waits_for)
