"""Concave in y on Y, and no less than `constants()` states; no steeper than it states either."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from raydream.checking.curvature import Bent, extremes
from raydream.checking.owned import Owned, asked
from raydream.checking.subject import Miss, Point, Subject, judged
from raydream.checking.verdict import Finding, unchecked
from raydream.types import Array

CHECKS = ("concavity", "strong concavity (mu)", "smoothness (L)")
PAIRS = 4
MOST = 5000  # samples, up to which the mean over all of them is taken
SLACK = 1e-6  # by which a stated constant may be off


def concavity(subject: Subject) -> Iterator[Finding]:
    """Of every agent, at the start and a gradient step away from it, since f need not be concave everywhere."""
    if not subject.able:
        yield from (unchecked(check, "no agent gives proper answers.") for check in CHECKS)
        return
    yield _concave(subject)
    if not subject.defines("constants"):
        yield from (unchecked(check, "no `constants()`.") for check in CHECKS[1:])
        return
    known = asked("constants", subject.given.constants)
    yield _strong(subject, known)
    yield _smooth(subject, known)


def near(subject: Subject, *purpose: Any) -> Array:
    """An x that is one gradient step away from the start, in a random direction."""
    x0, y0 = subject.start
    one = subject.able[0]
    slope = float(np.linalg.norm(one.gradient(x0, y0)[: subject.dim_x]))
    bent = Bent.around(subject, one, _inner(subject))
    difference, length = bent.change(np.concatenate([subject.direction(x0.size, "near"), np.zeros(y0.size)]))
    L = float(np.linalg.norm(difference)) / length
    far = min(slope / L if L > 0 else np.inf, 0.1 * (float(np.linalg.norm(x0)) or 1.0)) or 0.01
    d = subject.random("near", *purpose).normal(size=x0.size)
    return x0 + far / float(np.linalg.norm(d)) * d


def _inner(subject: Subject) -> Point:
    """The start, with y moved a little into Y."""
    x0, y0 = subject.start
    if subject.free:
        return x0, y0
    return x0, 0.9 * y0 + 0.1 * subject.somewhere(1.0, "inner")[1]


def _concave(subject: Subject) -> Finding:
    """Between pairs of points of Y, and in the direction in which it is likeliest not to be so."""
    misses, least = [], np.inf
    for one in subject.able:
        bends = [*_pairs(subject, one), *_steepest(subject, one)]
        least = min([least, *(-bend for bend, _, _ in bends)])
        wrong = [(bend, length) for bend, length, fails in bends if fails]
        if wrong:
            misses.append(_not_concave(one, *max(wrong)))
    fine = f"every f_i curves down in y on Y, by {max(least, 0.0):.3g} or more wherever it was looked at."
    return judged("concavity", misses, fine)


def _pairs(subject: Subject, one: Owned) -> Iterator[tuple[float, float, bool]]:
    """<grad_y f_i(x, v) - grad_y f_i(x, y), v - y> / ||v - y||^2, the distance, and whether it is not negative."""
    for k in range(PAIRS):
        x = subject.start[0] if k == 0 else near(subject, "concave", k)
        y, v = (subject.somewhere(1.0, "pair", k, side)[1] for side in (0, 1))
        ends = [one.gradient(x, end)[subject.dim_x :] for end in (y, v)]
        length = float(np.linalg.norm(v - y))
        if length > 0 and np.isfinite(ends).all():
            bend = float((ends[1] - ends[0]) @ (v - y)) / length**2
            grain = subject.rounding * max(float(np.linalg.norm(end)) for end in ends) / length
            yield bend, length, bend > 1e3 * grain or abs(bend) <= 10 * grain  # upwards, or not at all


def _steepest(subject: Subject, one: Owned) -> Iterator[tuple[float, float, bool]]:
    """The same where f_i is least concave near the start; flat it may be there, as in games that are only PL."""
    bent = Bent.around(subject, one, _inner(subject))
    top = _top(subject, bent, subject.random("concave", one.agent).normal(size=subject.whole.dim_y))
    if top is not None:
        bend, size = bent.along(top), float(np.linalg.norm(bent.change(top)[0])) / (2 * bent.step)
        yield bend, 2 * bent.step, bend > SLACK * size + bent.error(top)


def _not_concave(one: Owned, bend: float, length: float) -> Miss:
    text = (
        f"f_i(x, .) is not strongly concave on Y: between two points {length:.2g} apart its slope changes by "
        f"{bend:+.4g} times the distance, which must be negative."
    )
    return Miss(one.agent, text, abs(bend), "y", None, bend, 0.0)


def _top(subject: Subject, bent: Bent, w: Array) -> Array | None:
    """The direction in y in which f_i is least concave."""
    v = bent.inside(np.concatenate([np.zeros(subject.dim_x), w]))
    return extremes(bent.in_y, v)[1] if np.linalg.norm(v) > 0 else None


def _sites(subject: Subject, one: Owned, assumes: str) -> Iterator[tuple[Point, Array]]:
    """Where constants are looked at, with a direction to begin with.

    Constants that assume something are looked at around the start alone, in directions to which gradients lead.
    """
    x0, y0 = subject.start
    generator = subject.random("sites", one.agent)
    if assumes:
        led = [one.gradient(x0 + (np.linalg.norm(x0) or 1.0) * generator.normal(size=x0.size), y0) for _ in range(3)]
        yield _inner(subject), np.sum(led, axis=0)
        return
    for point in (_inner(subject), *subject.points):
        yield point, generator.normal(size=x0.size + y0.size)


def _strong(subject: Subject, known: Any) -> Finding:
    misses, least = [], np.inf
    mu = float(known.mu)
    for one in subject.able:
        for point, w in _sites(subject, one, known.assumes):
            bent = Bent.around(subject, one, point)
            top = _top(subject, bent, w[subject.dim_x :])
            if top is None:
                continue
            found = -bent.along(top)
            least = min(least, found)
            if found < mu * (1 - SLACK) - bent.error(top):
                text = f"f_i curves down in y by {found:.6g}, and `constants()` states mu = {mu:.6g}."
                misses.append(Miss(one.agent, text, mu - found, "y", None, found, mu))
                break
    where = f"where {known.assumes}" if known.assumes else "at every point tried"
    return judged("strong concavity (mu)", misses, f"{least:.4g} was seen, and {mu:.4g} is stated ({where}).")


def _smooth(subject: Subject, known: Any) -> Finding:
    """L_full bounds the agents' functions; L the root mean square over their samples, and so the functions too."""
    misses, most, over = [], 0.0, 0.0
    stated = float(known.L if getattr(known, "L_full", None) is None else known.L_full)
    for one in subject.able:
        for number, (point, w) in enumerate(_sites(subject, one, known.assumes)):
            bent = Bent.around(subject, one, point)
            v = bent.inside(w)
            if not np.linalg.norm(v) > 0:
                continue
            ends = extremes(bent.whole, v)
            steepest = max(ends, key=lambda v: float(np.linalg.norm(bent.change(v)[0])))
            found = float(np.linalg.norm(bent.change(steepest)[0])) / (2 * bent.step)
            most = max(most, found)
            if found > stated * (1 + SLACK) + bent.error(steepest):
                name = "L" if known.L_full is None else "L_full"
                text = (
                    f"its gradient changes by {found:.6g} times a move, and `constants()` states {name} = {stated:.6g}."
                )
                misses.append(Miss(one.agent, text, found / stated, None, None, found, stated))
                break
            mean = 0.0 if number else _root_mean_square(bent, steepest)
            over = max(over, mean)
            if mean > float(known.L) * (1 + SLACK) + bent.error(steepest):
                text = (
                    f"its samples' gradients change by {mean:.6g} times a move in root mean square, and "
                    f"`constants()` states L = {known.L:.6g}."
                )
                misses.append(Miss(one.agent, text, mean / float(known.L), None, None, mean, float(known.L)))
                break
    samples = f"; of samples {over:.4g}, and L = {float(known.L):.4g}" if over else "; its samples were not looked at"
    return judged("smoothness (L)", misses, f"of f_i {most:.4g} was seen, and {stated:.4g} is stated{samples}.")


def _root_mean_square(bent: Bent, v: Array) -> float:
    """sqrt(mean_j ||grad F_j(z') - grad F_j(z)||^2) / ||z' - z||, over all samples, where there are not too many."""
    n = bent.one.samples
    if n is None or n > MOST:
        return 0.0
    changes = (bent.change(v, batch) for batch in np.arange(n)[:, None])
    squares = [float(np.sum(change**2)) / length**2 for change, length in changes]
    return float(np.sqrt(np.mean(squares)))
