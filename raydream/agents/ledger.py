"""The ledger: what a run has paid so far, summed over all agents."""

from dataclasses import asdict, dataclass, replace


@dataclass
class Ledger:
    """Counts that nobody keeps by hand: gradients are billed by the oracle, the rest by whoever carries messages.

    sfo       component gradients (x and y part together are one call)
    rounds    exchanges in which every agent sends one frame to each neighbour
    messages  frames sent, one per directed edge and round
    bytes     payload of these frames
    """

    sfo: int = 0
    rounds: int = 0
    messages: int = 0
    bytes: int = 0

    def bill_round(self, messages: int, width: int) -> None:
        """One round of this many frames, each of `width` numbers; an agent alone has nobody to talk to."""
        if messages == 0:
            return
        self.rounds += 1
        self.messages += messages
        self.bytes += 8 * width * messages

    def as_dict(self) -> dict[str, int]:
        """The four counts by name."""
        return asdict(self)

    def copy(self) -> "Ledger":
        """The same counts, to keep."""
        return replace(self)
