"""The ledger: what a run has paid so far, summed over all agents."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace

# A count that agents have in common: when several bills are added up it is taken once.
IN_COMMON = {"in common": True}


@dataclass
class Ledger:
    """Counts that nobody keeps by hand: gradients are billed by the oracle, the rest by whoever carries messages.

    sfo       component gradients (x and y part together are one call)
    rounds    exchanges in which every agent sends one frame to each neighbour
    messages  frames sent, one per directed edge and round
    bytes     payload of these frames
    dropped   frames that were not sent, because their link failed or one of its ends slept
    """

    sfo: int = 0
    rounds: int = field(default=0, metadata=IN_COMMON)
    messages: int = 0
    bytes: int = 0
    dropped: int = 0

    def bill_round(self, messages: int, bytes: int, dropped: int = 0, idle: bool = False) -> None:
        """One round of this many frames, each of so many bytes; an agent alone has nobody to talk to.

        idle  whether a round without any is one nevertheless: others talk, and these agents will again
        """
        if messages + dropped == 0 and not idle:
            return
        self.dropped += dropped
        self.rounds += 1
        self.messages += messages
        self.bytes += bytes * messages

    def with_bills(self, bills: Sequence["Ledger"]) -> "Ledger":
        """These counts and the bills of agents that went on from here side by side."""
        total = {}
        for count in fields(self):
            paid = [getattr(bill, count.name) for bill in bills]
            total[count.name] = getattr(self, count.name) + (max(paid) if count.metadata == IN_COMMON else sum(paid))
        return Ledger(**total)

    def as_dict(self) -> dict[str, int]:
        """The counts by name; `dropped` only where something was."""
        found = asdict(self)
        return found if self.dropped else {name: count for name, count in found.items() if name != "dropped"}

    def copy(self) -> "Ledger":
        """The same counts, to keep."""
        return replace(self)
