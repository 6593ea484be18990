"""How fast a run goes, from looking at it now and then."""

from collections import deque

WINDOW = 10.0  # seconds that are looked back


class Pace:
    """Iterations and the share done, of late."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float, float]] = deque()  # when, iterations, share done

    def note(self, when: float, iteration: float, share: float) -> None:
        """The run is here now; where it has rolled back, what was before does not count."""
        if self._seen and self._seen[-1][1] > iteration:
            self._seen.clear()
        if self._seen and self._seen[-1][0] >= when:
            return
        self._seen.append((when, iteration, share))
        while len(self._seen) > 2 and when - self._seen[0][0] > WINDOW:
            self._seen.popleft()

    def forget(self) -> None:
        """The run has ended."""
        self._seen.clear()

    @property
    def iterations_per_second(self) -> float | None:
        """Evaluation included; None before it can be told."""
        return self._slope(1)

    def seconds_for(self, share: float) -> float | None:
        """The time that this share of the run will take if it goes on like this."""
        speed = self._slope(2)
        return share / speed if speed else None

    def _slope(self, what: int) -> float | None:
        if len(self._seen) < 2:
            return None
        first, last = self._seen[0], self._seen[-1]
        gained, took = last[what] - first[what], last[0] - first[0]
        return gained / took if gained > 0 and took > 0 else None
