"""Answers of the right kind: a number, a pair of real vectors of the right lengths, in one precision."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from raydream.checking.differences import EPS
from raydream.checking.owned import Owned, asked
from raydream.checking.subject import Miss, Point, Subject, coarseness, judged
from raydream.checking.verdict import Finding, unchecked
from raydream.errors import ProblemRaised

CHECKS = ("value", "gradient", "precision")


def answers(subject: Subject) -> Iterator[Finding]:
    """Values and gradients of every agent, at the start and beside it; whoever fails is not asked for more."""
    wrong: dict[str, list[Miss]] = {"value": [], "gradient": []}
    for one in subject.agents:
        for point in (subject.start, subject.somewhere(0.01, "answers", one.agent)):
            faults = {"value": told(value_of, one, point), "gradient": told(gradient_of, subject, one, point)}
            for check in (check for check, fault in faults.items() if fault):
                wrong[check].append(Miss(one.agent, faults[check]))
                subject.spoilt.add(one.agent)
            if one.agent in subject.spoilt:
                break
    of = f"all {subject.m}" if len(subject.agents) == subject.m else f"{len(subject.agents)} of {subject.m}"
    yield judged("value", wrong["value"], f"{of} agents give a finite number.")
    lengths = f"{subject.whole.dim_x} and {subject.whole.dim_y}"
    yield judged("gradient", wrong["gradient"], f"{of} agents give two real vectors, of lengths {lengths}.")
    if subject.able:
        yield _precision(subject)
    else:
        yield unchecked("precision", "no agent gives proper answers.")


def told(fault: Callable[..., str], *arguments: Any) -> str:
    """What is wrong, in words, what is raised included."""
    try:
        return fault(*arguments)
    except ProblemRaised as error:
        return str(error).partition(": ")[2]


def value_of(one: Owned, point: Point) -> str:
    """What is wrong with the value at a point, in words; empty: nothing."""
    found = asked("value", lambda: one.shard.value(*_copies(point)), agent=one.agent)
    return value_fault(found) or ("" if np.isfinite(found) else f"`value` must be finite; it is {float(found)}.")


def gradient_of(subject: Subject, one: Owned, point: Point, *batch: Any) -> str:
    """What is wrong with the gradient at a point, in words; empty: nothing."""
    found = asked("gradient", lambda: one.shard.gradient(*_copies(point), *batch), agent=one.agent)
    fault = gradient_fault(subject, found)
    for name, part in zip("xy", [] if fault else found, strict=not fault):
        lost = np.flatnonzero(~np.isfinite(part))
        if lost.size:
            return f"`gradient` in {name} must be finite; coordinate {lost[0]} is {part[lost[0]]}."
    return fault


def value_fault(found: Any) -> str:
    """Of which wrong kind a value is, in words; empty: of none."""
    array = _array(found)
    if array is None or array.dtype.kind not in "fiu":
        return f"`value` must be a real number; it is {_kind(found, array)}."
    if array.ndim:
        return f"`value` must be one number; it is an array of shape {array.shape}."
    return ""


def gradient_fault(subject: Subject, found: Any) -> str:
    """Of which wrong kind a gradient is, in words; empty: of none."""
    if not isinstance(found, tuple | list) or len(found) != 2:
        return f"`gradient` must be a pair (in x, in y); it is {_kind(found, _array(found))}."
    parts, wanted = [_array(part) for part in found], (subject.whole.dim_x, subject.whole.dim_y)
    for name, given, part in zip("xy", found, parts, strict=True):
        if part is None or part.dtype.kind not in "fiu":
            return f"`gradient` in {name} must be a real vector; it is {_kind(given, part)}."
    shapes = [part.shape for part in parts if part is not None]
    if shapes != [(wanted[0],), (wanted[1],)]:
        swapped = " The pair seems to be swapped." if shapes == [(wanted[1],), (wanted[0],)] else ""
        return (
            f"`gradient` must have the shapes ({wanted[0]},) in x and ({wanted[1]},) in y; they are "
            f"{shapes[0]} and {shapes[1]}.{swapped}"
        )
    return ""


def _precision(subject: Subject) -> Finding:
    """A gradient in float32 beside values in float64 is a forgotten conversion; all in float32 is a choice."""
    misses = []
    single = False
    for one in subject.able:
        exact = coarseness([one.value(*point) for point in (subject.start, *subject.points)]) == EPS
        for name, part in zip("xy", one.shard.gradient(*_copies(subject.points[0])), strict=True):
            dtype = np.asarray(part).dtype
            short = dtype.kind == "f" and dtype.itemsize < 8
            single = single or short
            if short and exact:
                misses.append(Miss(one.agent, f"`gradient` in {name} is {dtype}, and `value` is not.", part=name))
    rough = subject.rounding > 1e-12
    fine = f"answers are rounded to {subject.rounding:.0e} of their size"
    fine += ", as float32 is: compared less strictly." if rough or single else "."
    return judged("precision", misses, fine)


def _copies(point: Point) -> Point:
    return point[0].copy(), point[1].copy()


def _array(found: Any) -> Any:
    """What came as an array, if it is one."""
    try:
        return np.asarray(found)
    except Exception:
        return None


def _kind(found: Any, array: Any) -> str:
    """What came, in words."""
    if array is not None and array.dtype.kind == "c":
        return "complex"
    if isinstance(found, tuple | list):
        return f"a {type(found).__name__} of {len(found)}"
    return f"an array of shape {array.shape}" if isinstance(found, np.ndarray) else f"{found!r}"[:60]
