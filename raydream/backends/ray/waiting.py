"""What can go wrong while an actor waits for its neighbours."""


class LinkError(RuntimeError):
    """A frame or a peer that is not what it should be."""


class LinkLost(RuntimeError):
    """A neighbour is gone, or the driver has called off the wait."""


class LinkTimeout(RuntimeError):
    """A neighbour has said nothing for too long."""

    def __init__(self, text: str, round: int = 0, waits_for: tuple[int, ...] = ()) -> None:
        super().__init__(text)
        self.round, self.waits_for = round, waits_for

    def __reduce__(self) -> tuple[type["LinkTimeout"], tuple[str, int, tuple[int, ...]]]:
        return LinkTimeout, (str(self), self.round, self.waits_for)
