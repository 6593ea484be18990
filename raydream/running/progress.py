"""How far a series of runs has come: a bar on a terminal, a text that changes in a notebook, plain lines elsewhere."""

import sys
import time
from typing import Any

from raydream.notebook import Display, in_kernel

LINE_SECONDS = 5.0  # between two lines about one run
DISPLAY_SECONDS = 0.3  # between two texts in a notebook


class Progress:
    """Counts finished runs; `wanted` is True (bar or lines), False (nothing), or None (a bar, on a terminal only).

    work  how much there is to do, in units of which each run may be another number (default: all runs are alike)
    """

    def __init__(self, title: str, total: int, wanted: bool | None, work: float | None = None) -> None:
        from tqdm import tqdm

        terminal = sys.stderr.isatty()
        self.title, self.total, self.done = title, total, 0
        self._work, self._worked = float(total) if work is None else work, 0.0
        self._display = Display() if wanted is not False and in_kernel() else None
        self._lines = wanted is True and not terminal and self._display is None
        self._bar: Any = tqdm(
            total=total,
            desc=title,
            disable=not terminal or wanted is False,
            leave=False,
            bar_format="{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]",
        )
        self._first: tuple[float, float] | None = None  # when the first finished, and its work

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def skip(self, count: int, work: float) -> None:
        """So many need not be done."""
        self.total -= count
        self._work -= work
        self._bar.total = self.total
        self._bar.refresh()

    def step(self, text: str, work: float = 1.0) -> None:
        """One more is finished."""
        self.done += 1
        self._worked += work
        now = time.monotonic()
        # The first one also waited for processes to start: the others' pace counts.
        self._first = self._first or (now, self._worked)
        text += time_left(self._worked - self._first[1], self._work - self._first[1], now - self._first[0])
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update()
        line = f"{self.title} {self.done}/{self.total}: {text}"
        if self._display is not None:
            self._display(line)
        if self._lines:
            print(line, file=sys.stderr, flush=True)


class Iterations:
    """How far one run has come: a bar on a terminal, a line now and then elsewhere; `wanted` as for `Progress`."""

    def __init__(self, name: str, total: int, wanted: bool | None) -> None:
        from tqdm import tqdm

        terminal = sys.stderr.isatty()
        self._name, self._total, self._done, self._text = name, total, 0, ""
        self._display = Display() if wanted is not False and in_kernel() else None
        self._lines = wanted is True and not terminal and self._display is None
        shows = terminal and wanted is not False
        self._bar: Any = tqdm(total=total, desc=name, unit="it", disable=not shows, leave=False)
        self._began = self._last = time.monotonic()
        self._begun_at: int | None = None

    def __enter__(self) -> "Iterations":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def note(self, text: str) -> None:
        """What was measured last."""
        self._text = text
        self._bar.set_postfix_str(text, refresh=False)

    def update(self, count: int) -> None:
        """So many more are done."""
        self._begun_at = self._done if self._begun_at is None else self._begun_at
        self._done += count
        self._bar.update(count)
        now = time.monotonic()
        pause = LINE_SECONDS if self._lines else DISPLAY_SECONDS
        if (self._lines or self._display is not None) and (now - self._last >= pause or self._done >= self._total):
            self._say(now)

    def _say(self, now: float) -> None:
        if self._lines and now - self._last < LINE_SECONDS:
            return
        self._last = now
        assert self._begun_at is not None
        left = time_left(self._done - self._begun_at, self._total - self._begun_at, now - self._began)
        line = f"{self._name} {self._done}/{self._total}: {self._text}{left}"
        if self._display is not None:
            self._display(line)
        else:
            print(line, file=sys.stderr, flush=True)


def time_left(done: float, total: float, elapsed: float) -> str:
    """The time that the rest will take if it goes on as it went."""
    return f"; about {duration(elapsed / done * (total - done))} left" if 0 < done < total else ""


def duration(seconds: float) -> str:
    """A time as people say it."""
    whole = round(seconds)
    minutes, hours = whole // 60, whole // 3600
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"
