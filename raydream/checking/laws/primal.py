"""P, y*(x) and P* as the problem states them, against another maximiser and values of P that are reached."""

from collections.abc import Iterator

import numpy as np

from raydream.checking.laws.concavity import near
from raydream.checking.owned import asked
from raydream.checking.subject import Subject
from raydream.checking.verdict import Finding, unchecked
from raydream.errors import InnerMaximumError, ProblemRaised
from raydream.problems.maximiser import Maximum, maximum
from raydream.types import Array

CHECKS = ("maximum over y", "best response", "P", "gradient of P", "P*")
OWN = ("best_response", "primal", "primal_gradient", "primal_and_gradient")
DESCENTS = 20
EXACT = 1e-6  # of what y can gain at x, by which P may be off
SLOPES = 1e-4  # of its size, by which the gradient of P may be off


class Known:
    """f(x, .) at one x, with its maximum as the package's own maximiser finds it from another point of Y."""

    def __init__(self, subject: Subject, x: Array, number: int) -> None:
        self.subject, self.x = subject, x
        start = subject.start[1] if number == 0 else subject.somewhere(0.1, "maximum", number)[1]
        self.found: Maximum = maximum(
            lambda y: self.gradient(y)[subject.dim_x :], subject.project, start, tolerance=1e-9
        )
        self.top = self.value(self.found.y)
        self.gain = abs(self.top - self.value(subject.start[1]))

    def value(self, y: Array) -> float:
        return float(asked("problem.value", lambda: float(self.subject.whole.value(self.x.copy(), y.copy()))))

    def gradient(self, y: Array) -> Array:
        def pair() -> Array:
            return np.concatenate(self.subject.whole.gradient(self.x.copy(), y.copy())).astype(float)

        found: Array = asked("problem.gradient", pair)
        return found

    def slack(self, y: Array | None = None) -> float:
        """How far a value of P may be off: rounding, and what the maximiser may have left."""
        left = self.found.residual * (1.0 if y is None else float(np.linalg.norm(y - self.found.y)))
        return EXACT * self.gain + 1e-8 * abs(self.top) + 1e-12 + left


def primal(subject: Subject) -> Iterator[Finding]:
    """At the start, and a gradient step away from it."""
    if subject.spoilt:
        yield from (unchecked(check, "not all agents give proper answers.") for check in CHECKS)
        return
    xs = [subject.start[0], *(near(subject, "primal", k) for k in range(2 if subject.thorough else 1))]
    known, why = [], ""
    for number, x in enumerate(xs):
        try:
            known.append(Known(subject, x, number))
        except InnerMaximumError as error:
            why = why or f"{error}"
    own = [name for name in OWN if subject.defines(name)]
    if known:
        rest = max(one.found.residual for one in known)
        yield Finding("maximum over y", True, f"found at {len(known)} points x, where the slope along Y is {rest:.0e}.")
    else:
        yield Finding("maximum over y", False, why)
    if not own or not known:
        told = "the package's maximiser finds it." if not own else "no maximum was found to compare with."
        yield from (unchecked(check, told) for check in CHECKS[1:4])
    else:
        yield (
            _response(subject, known) if subject.defines("best_response") else unchecked("best response", "not given.")
        )
        yield _primal(subject, known)
        yield _slope(subject, known)
    yield _bound(subject, known)


def _response(subject: Subject, known: list[Known]) -> Finding:
    for one in known:
        y = np.asarray(asked("best_response", subject.given.best_response, one.x.copy()), dtype=np.float64)
        if y.shape != (subject.whole.dim_y,) or not np.isfinite(y).all():
            return Finding("best response", False, f"it must be a finite vector of length {subject.whole.dim_y}.")
        away = np.abs(subject.project(y) - y)
        k = int(np.argmax(away))
        if away[k] > 1e-7 * (1.0 + float(np.abs(y).max())):
            text = f"it must be in Y; coordinate {k} is {away[k]:.3g} away from the nearest point of Y."
            return Finding("best response", False, text, None, "y", k, float(y[k]), float(subject.project(y)[k]))
        value = one.value(y)
        if value < one.top - one.slack(y):
            k = int(np.argmax(np.abs(y - one.found.y)))
            text = (
                f"f(x, y*) is {value:.10g} there, and {one.top:.10g} at another y, whose coordinate {k} is "
                f"{one.found.y[k]:.6g} instead of {y[k]:.6g}."
            )
            return Finding("best response", False, text, None, "y", k, value, one.top)
    return Finding("best response", True, f"another maximiser finds nothing higher, at {len(known)} points x.")


def _primal(subject: Subject, known: list[Known]) -> Finding:
    names = [name for name in ("primal", "primal_and_gradient") if hasattr(subject.whole, name)]
    for one in known:
        for name in names:
            answer = asked(name, getattr(subject.whole, name), one.x.copy())
            found = float(answer[0] if name == "primal_and_gradient" else answer)
            if not abs(found - one.top) <= one.slack():
                way = "low" if found < one.top else "high"
                text = f"`{name}` is too {way}: {found:.10g}, and the maximum of f(x, .) over Y is {one.top:.10g}."
                return Finding("P", False, text, None, None, None, found, one.top)
    return Finding("P", True, f"it is the maximum of f(x, .) over Y, at {len(known)} points x.")


def _slope(subject: Subject, known: list[Known]) -> Finding:
    """grad P(x) = grad_x f(x, y*(x)), at the maximum that was found."""
    for one in known:
        wanted = one.gradient(one.found.y)[: subject.dim_x]
        for name in ("primal_gradient", "primal_and_gradient"):
            answer = asked(name, getattr(subject.whole, name), one.x.copy())
            found = np.asarray(answer[1] if name == "primal_and_gradient" else answer, dtype=np.float64)
            if found.shape != wanted.shape:
                text = f"`{name}` must have the shape {wanted.shape}; it has {found.shape}."
                return Finding("gradient of P", False, text)
            k = int(np.argmax(np.abs(found - wanted)))
            floor = float(np.linalg.norm(one.gradient(subject.start[1])[: subject.dim_x]))
            if not abs(found[k] - wanted[k]) <= SLOPES * max(float(np.abs(wanted).max()), 1e-3 * floor) + 1e-9:
                times = f", {found[k] / wanted[k]:.4g} times that" if wanted[k] else ""
                text = (
                    f"coordinate {k} of `{name}` is {found[k]:.8g}, and grad_x f at the maximum {wanted[k]:.8g}{times}."
                )
                return Finding("gradient of P", False, text, None, "x", k, float(found[k]), float(wanted[k]))
    return Finding("gradient of P", True, f"it is grad_x f at the maximum over y, at {len(known)} points x.")


def _bound(subject: Subject, known: list[Known]) -> Finding:
    """No lower bound of P lies above a value of P."""
    names = [name for name in ("primal_bound", "primal_minimum") if subject.defines(name)]
    if not names:
        return unchecked("P*", "no `primal_bound()`.")
    stated = {}
    for name in names:
        try:
            bound = asked(name, getattr(subject.given, name))
        except ProblemRaised as error:
            return unchecked("P*", f"{error}")
        if bound is not None:
            stated[name] = float(bound)
    if not known or not stated:
        return unchecked("P*", "no value of P to compare with." if stated else "it is not known.")
    lowest = min([one.top for one in known] + _descended(subject, known[0]))
    scale = max(abs(lowest), known[0].gain, abs(known[0].top - lowest), 1e-12)
    for name, bound in stated.items():
        if bound > lowest + 1e-7 * scale:
            text = f"`{name}()` is {bound:.10g}, and P comes down to {lowest:.10g}."
            return Finding("P*", False, text, None, None, None, bound, lowest)
    return Finding("P*", True, f"the stated {max(stated.values()):.6g} is below {lowest:.6g}, which P comes down to.")


def _descended(subject: Subject, known: Known) -> list[float]:
    """Values of P on a way down from the start, as true maxima of f(x, .)."""
    x, top, found = known.x, known.top, []
    step, point = 1.0, known
    for number in range(DESCENTS if subject.thorough else DESCENTS // 4):
        slope = point.gradient(point.found.y)[: subject.dim_x]
        length = float(np.linalg.norm(slope))
        if not length > 0:
            break
        better = _shorter(subject, x, slope, top, step, number)
        if better is None:
            break
        step, point = 2 * better[0], better[1]
        x, top = point.x, point.top
        found.append(top)
    return found


def _shorter(
    subject: Subject, x: Array, slope: Array, top: float, step: float, number: int
) -> tuple[float, Known] | None:
    """A step along the slope that lowers P, halved until it does."""
    for _ in range(12):
        try:
            there = Known(subject, x - step * slope, 1 + number)
            if there.top < top:
                return step, there
        except (InnerMaximumError, ProblemRaised):
            pass
        step /= 4
    return None
