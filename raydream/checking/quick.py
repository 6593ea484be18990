"""The cheap part, at the start of every run: a problem of one's own whose gradients are plainly wrong is refused."""

import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from raydream.checking.differences import EPS
from raydream.checking.laws.answers import gradient_fault, value_fault
from raydream.checking.laws.gradients import Sight, look
from raydream.checking.laws.purity import changed
from raydream.checking.owned import Owned, asked
from raydream.checking.subject import Miss, Point, Subject
from raydream.errors import ProblemRaised
from raydream.problems.completed import Completed, complete
from raydream.problems.registry import built_in
from raydream.types import Array

ROUGH = 1e-3  # relative errors below this are left to the whole check
STEPS = (1e-2, 1.0, 1e-4)  # of differences, in units of the longest
FEW = 32  # samples, all of which are looked at

_SOUND: set[int] = set()  # problems that are alive and were looked at, by their identity


def refuse_wrong(problem: Any, check: bool = True, start: Point | None = None) -> None:
    """Refuse a problem whose first or last agent contradicts itself; once for each problem, none of the package's own.

    A few values and gradients at a point beside the start, which nobody is billed for. What is raised, and what is not
    finite, is left to the run, which tells of it with the agent's number. A gradient is refused only where two points
    and the careful differences of `rd.check` agree that it is wrong: kinks and float32 pass.
    """
    given = problem.problem if isinstance(problem, Completed) else problem
    if not check or id(given) in _SOUND or built_in(given):
        return
    with suppress(ProblemRaised), threadpool_limits(1, "blas"), np.errstate(all="ignore"):
        subject = _subject(given, start)
        miss = None if subject is None else next(filter(None, (_miss(subject, one) for one in subject.agents)), None)
        if miss is not None:
            raise ValueError(
                f"`problem` contradicts itself: agent {miss.agent}: {_one_sentence(miss.text)}; "
                "rd.check(problem) or `raydream check` tells more, and check=False (--no-check) runs it as it is."
            )
    with suppress(TypeError):  # what cannot be followed is looked at again
        weakref.finalize(given, _SOUND.discard, id(given)).atexit = False
        _SOUND.add(id(given))


def _one_sentence(text: str) -> str:
    """Several as one."""
    return "; ".join(part[:1].lower() + part[1:] for part in text.rstrip(".").split(". "))


def _subject(problem: Any, start: Point | None) -> Subject | None:
    """The first and the last agent; None where the run itself will refuse the problem."""
    try:
        whole = complete(problem)
        agents = [Owned(i, problem.local(i)) for i in sorted({0, int(whole.agents) - 1})]
        begun = whole.start() if start is None else start
        x0, y0 = (np.ascontiguousarray(part, dtype=np.float64) for part in begun)
    except Exception:
        return None
    if x0.shape != (whole.dim_x,) or y0.shape != (whole.dim_y,) or not np.isfinite(np.append(x0, y0)).all():
        return None
    return Subject(problem, whole, agents, (x0, y0), seed=0, thorough=False)


def _miss(subject: Subject, one: Owned) -> Miss | None:
    """What is plainly wrong with an agent."""
    point = subject.somewhere(0.01, "quick")
    for ask in (_value, _kind, _gradient, _batch):
        miss = ask(subject, one, point)
        if miss is not None:
            return miss
    return None


def _value(subject: Subject, one: Owned, point: Point) -> Miss | None:
    """A value that is no number, nor one at the start."""
    fault = value_fault(asked("value", lambda: one.shard.value(point[0].copy(), point[1].copy()), agent=one.agent))
    if not fault and not np.isfinite(one.value(*point)) and not np.isfinite(one.value(*subject.start)):
        fault = f"`value` must be finite; it is {one.value(*subject.start)} at the start."
    return Miss(one.agent, fault) if fault else None


def _kind(subject: Subject, one: Owned, point: Point) -> Miss | None:
    """A gradient that is no pair of vectors, or writes into its arguments."""
    given = [part.copy() for part in point]
    fault = gradient_fault(subject, asked("gradient", lambda: one.shard.gradient(*given), agent=one.agent))
    for name, before, after in zip("xy", point, given, strict=True):
        k = changed(before, after)
        if k is not None:
            fault = f"`gradient` writes into its `{name}`: coordinate {k} was {before[k]:.8g}, and is {after[k]:.8g}."
    return Miss(one.agent, fault) if fault else None


def _gradient(subject: Subject, one: Owned, point: Point) -> Miss | None:
    """A part of the gradient that is off; the careful look must say so too, there and at another point."""
    g = one.gradient(*point)
    for part, own in (("x", g[: subject.dim_x]), ("y", g[subject.dim_x :])):
        if _plainly_off(Sight(one, point, part, EPS), own, subject.direction(own.size, "quick", part)):
            points = point, subject.somewhere(0.01, "quick again")
            misses = [found for at in points if isinstance(found := look(subject, one, at)[part], Miss)]
            if len(misses) == len(points):
                return misses[0]
    return None


def _plainly_off(sight: Sight, g: Array, d: Array) -> bool:
    """Whether two steps agree on a derivative along a direction, and the gradient has another."""
    line, told = sight.line(d), float(g @ d)
    for step in STEPS:
        coarse, fine = (_central(line, share * sight.reach(d)) for share in (step, step / 4))
        if abs(coarse - fine) <= 0.1 * ROUGH * abs(fine):
            return abs(told - fine) > ROUGH * max(abs(told), abs(fine)) + 1e-5 * float(np.linalg.norm(g))
    return False


def _central(line: Callable[[float], float], h: float) -> float:
    return (line(h) - line(-h)) / (2 * h)


def _batch(subject: Subject, one: Owned, point: Point) -> Miss | None:
    """A batch of one sample twice, and where samples are few the mean over all of them."""
    n = one.samples
    if n is None:
        return None
    single = [one.gradient(*point, np.array([j])) for j in range(n if n <= FEW else 1)]
    twice = one.gradient(*point, np.array([0, 0]))
    miss = _apart(subject, one, ("of sample 0 twice is", twice), ("of it once", single[0]), single)
    if miss is None and n <= FEW:
        mean, whole = np.mean(single, axis=0), one.gradient(*point)
        miss = _apart(subject, one, ("of its samples is in the mean", mean), ("without a batch", whole), single)
    return miss


def _apart(
    subject: Subject, one: Owned, these: tuple[str, Array], those: tuple[str, Array], single: list[Array]
) -> Miss | None:
    """The coordinate in which two gradients are plainly apart, if they are."""
    (what, found), (other, wanted) = these, those
    size = max(float(np.abs(wanted).max(initial=0.0)), 0.01 * float(np.abs(single).max(initial=0.0)))
    k = int(np.argmax(np.abs(found - wanted)))
    if not abs(found[k] - wanted[k]) > ROUGH * size:
        return None
    part, place = subject.place(k)
    text = f"coordinate {place} of {part}: `gradient` {what} {found[k]:.8g}, and {other} {wanted[k]:.8g}."
    return Miss(one.agent, text, 0.0, part, place, float(found[k]), float(wanted[k]))
