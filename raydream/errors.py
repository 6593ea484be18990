"""Every exception of the package.

    Exception
        RaydreamError           whatever this package raises by a name of its own
            GradientError       (ArithmeticError) a gradient that is not finite at a finite point
            NotANumber          (ArithmeticError) a value that is not a number at a finite point
            InnerMaximumError   (RuntimeError) the maximum over y was not found
            CallbackError       (RuntimeError) `on_record` fails, or needs a library that is missing
            MetricError         (RuntimeError) a metric of one's own that fails, or is no number
            ProblemRaised       (RuntimeError) a problem's own code fails while it is checked: a verdict tells of it
            RecordError         (ValueError) a run directory that cannot be read
                CheckpointError     a checkpoint that cannot be gone on from
            ActorsBroken        some actors are gone, or links between them are: a run mends it, and nobody else sees it
            RunBroken           (RuntimeError) what a run lives on has failed it; it can go on later
                AgentsLost          actors were lost again and again
                AgentsHang          somebody never sends, and the others wait
                ClusterBusy         the room that a run needs did not come in time
                RayLost             the Ray that a run uses is gone
                DiskFull            there is no room for a run's files
            LinkError           (RuntimeError) a frame or a peer that is not what it should be
                LinkLost            a neighbour is gone, or the driver has called off the wait
                LinkCut             the network between two actors is gone
                LinkTimeout         a neighbour has said nothing for too long
    KeyboardInterrupt
        Interrupted             a run, a comparison or a tuning was stopped; its text says how to go on
    UserWarning
        ClusterWarning          a run waits for room on its cluster, and nobody listens to what it says
        DataWarning             some of the data are not used
        MixingWarning           the method's mixing need not bring agreement
        TheoryWarning           the theorem promises nothing here: one of its assumptions is not met, or not known to be

A wrong argument is a ValueError or a TypeError, and a file that is missing or in the way a FileNotFoundError or a
FileExistsError, with one sentence that names the argument, the rule, what came and the remedy.
"""

import time
from collections.abc import Iterable
from typing import Any


class RaydreamError(Exception):
    """Whatever this package raises by a name of its own."""


class GradientError(RaydreamError, ArithmeticError):
    """A component gradient that is not finite at a finite point."""


class NotANumber(RaydreamError, ArithmeticError):
    """A value of f that is not a number at a finite point."""


class InnerMaximumError(RaydreamError, RuntimeError):
    """The inner maximisation did not reach its tolerance."""


class CallbackError(RaydreamError, RuntimeError):
    """`on_record` fails, or needs a library that is missing."""


class MetricError(RaydreamError, RuntimeError):
    """A metric of one's own that fails, or returns something else than a number."""


class ProblemRaised(RaydreamError, RuntimeError):
    """A problem's own code failed while it was checked; nobody but the check sees it.

    what, agent  the function, and whose it was, where it was an agent's
    """

    def __init__(self, what: str, cause: Exception, agent: int | None = None) -> None:
        whose = "" if agent is None else f"agent {agent}: "
        super().__init__(f"{whose}`{what}` raises {type(cause).__name__}: {str(cause).rstrip('.')}.")
        self.what, self.cause, self.agent = what, cause, agent


class RecordError(RaydreamError, ValueError):
    """A run directory, or a part of one, that cannot be read."""


class CheckpointError(RecordError):
    """A checkpoint that cannot be gone on from."""


class ActorsBroken(RaydreamError):
    """Some actors are gone (`lost`), or links between them are.

    parted   pairs of actors without a network between them
    noticed  when it was, by the clock
    """

    def __init__(
        self, lost: set[int], why: str, parted: Iterable[tuple[int, int]] = (), noticed: float | None = None
    ) -> None:
        super().__init__(why)
        self.lost, self.parted = lost, frozenset(parted)
        self.noticed = time.time() if noticed is None else noticed


class RunBroken(RaydreamError, RuntimeError):
    """What a run lives on has failed it. Nothing is wrong with the run: it can go on later."""


class AgentsLost(RunBroken):
    """Actors were lost again and again."""


class AgentsHang(RunBroken):
    """Somebody never sends, and the others wait."""


class ClusterBusy(RunBroken):
    """The room that a run needs did not come in time."""


class RayLost(RunBroken):
    """The Ray that a run uses is gone."""


class LinkError(RaydreamError, RuntimeError):
    """A frame or a peer that is not what it should be."""


class LinkLost(LinkError):
    """A neighbour is gone, or the driver has called off the wait."""


class LinkCut(LinkError):
    """The network between two actors (`pair`) is gone."""

    def __init__(self, text: str, pair: tuple[int, int]) -> None:
        super().__init__(text)
        self.pair = pair

    def __reduce__(self) -> tuple[type["LinkCut"], tuple[str, tuple[int, int]]]:
        return LinkCut, (str(self), self.pair)


class LinkTimeout(LinkError):
    """A neighbour has said nothing for too long."""

    def __init__(self, text: str, round: int = 0, waits_for: tuple[int, ...] = ()) -> None:
        super().__init__(text)
        self.round, self.waits_for = round, waits_for

    def __reduce__(self) -> tuple[type["LinkTimeout"], tuple[str, int, tuple[int, ...]]]:
        return LinkTimeout, (str(self), self.round, self.waits_for)


class Interrupted(KeyboardInterrupt):
    """Stopped between two steps; its text says how to go on.

    comparison  what was finished, where it was a comparison that was stopped
    """

    def __init__(self, text: str = "", comparison: Any = None) -> None:
        super().__init__(text)
        self.comparison = comparison


class DiskFull(RunBroken):
    """There is no room for a run's files."""


class ClusterWarning(UserWarning):
    """A run waits for room on its cluster."""


class DataWarning(UserWarning):
    """Some of the data are not used."""


class MixingWarning(UserWarning):
    """The method's mixing amplifies disagreement instead of damping it."""


class StudyWarning(UserWarning):
    """A study is asked for that says less than it seems to."""


class TheoryWarning(UserWarning):
    """The theorem promises nothing here: one of its assumptions is not met, or not known to be."""
