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
    """

    sfo: int = 0
    rounds: int = field(default=0, metadata=IN_COMMON)
    messages: int = 0
    bytes: int = 0

    def bill_round(self, messages: int, width: int, size: int = 8) -> None:
        """One round of this many frames, each of `width` numbers of `size` bytes; an agent alone has nobody to tell."""
        if messages == 0:
            return
        self.rounds += 1
        self.messages += messages
        self.bytes += size * width * messages

    def with_bills(self, bills: Sequence["Ledger"]) -> "Ledger":
        """These counts and the bills of agents that went on from here side by side."""
        total = {}
        for count in fields(self):
            paid = [getattr(bill, count.name) for bill in bills]
            total[count.name] = getattr(self, count.name) + (max(paid) if count.metadata == IN_COMMON else sum(paid))
        return Ledger(**total)

    def as_dict(self) -> dict[str, int]:
        """The four counts by name."""
        return asdict(self)

    def copy(self) -> "Ledger":
        """The same counts, to keep."""
        return replace(self)
