"""Waiting for what a cluster does not have now: said within seconds, and not for ever."""

import time
import warnings
from collections.abc import Callable

from raydream.errors import ClusterBusy, ClusterWarning
from raydream.feedback import tell
from raydream.interrupt import heed

SAY_SECONDS = 3.0  # before the first word, and between two


class Waiting:
    """One wait: whoever waits calls `look` now and then.

    what      what is waited for, and what there is instead, in words
    patience  seconds after which it is given up
    """

    def __init__(self, what: Callable[[], str], patience: float) -> None:
        self._what, self._patience = what, patience
        self._since = self._said = time.monotonic()
        self._warned = False

    @property
    def seconds(self) -> float:
        """How long it has lasted."""
        return time.monotonic() - self._since

    def look(self) -> None:
        """Say what is waited for; give up when the patience ends, or when somebody wants the run to stop."""
        heed(doing="while it waited for room on its cluster")
        if self.seconds > self._patience:
            raise ClusterBusy(
                f"waited in vain for {self._what()}, for the {self._patience:g} s of `patience`; free some, add nodes, "
                "or pack more agents into an actor with `agents_per_actor`."
            )
        if time.monotonic() - self._said >= SAY_SECONDS:
            self._said = time.monotonic()
            self._say(f"waiting for {self._what()}; {self._patience - self.seconds:.0f} s more at most")

    def again(self) -> None:
        """Something has come: the patience begins anew."""
        self._since = time.monotonic()

    def _say(self, text: str) -> None:
        if not tell(text) and not self._warned:
            self._warned = True
            warnings.warn(text, ClusterWarning, stacklevel=2)
