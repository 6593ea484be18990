"""The whole is the mean of its agents: samples, value, gradient, and what one machine would own."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from raydream.checking.owned import Owned, asked
from raydream.checking.subject import Subject
from raydream.checking.verdict import Finding, unchecked
from raydream.errors import ProblemRaised
from raydream.types import Array

CHECKS = ("samples", "whole value", "whole gradient", "pooled")


def wholes(subject: Subject) -> Iterator[Finding]:
    """What the problem says of all agents, against all agents."""
    yield _samples(subject)
    if subject.spoilt:
        yield from (unchecked(check, "not all agents give proper answers.") for check in CHECKS[1:])
        return
    x, y = subject.points[0]
    value = float(subject.mean(lambda one: one.value(x, y)))
    gradient: Array = subject.mean(lambda one: one.gradient(x, y))
    whole = _joint(subject.given)
    yield _value(subject, "whole value", "value", value) if subject.defines("value") else _derived("whole value")
    if subject.defines("gradient"):
        yield _gradient(subject, "whole gradient", asked("problem.gradient", whole, x, y), gradient)
    else:
        yield _derived("whole gradient")
    if not subject.defines("pooled"):
        yield unchecked("pooled", "no `pooled()`, which methods of one machine need.")
        return
    try:
        one = asked("problem.pooled", subject.given.pooled)
    except ProblemRaised as raised:
        if not isinstance(raised.__cause__, ValueError):
            raise
        yield unchecked("pooled", str(raised.__cause__))  # weights of agents may forbid it
        return
    if int(one.agents) != 1:
        text = f"`pooled()` must have one agent; it has {one.agents}."
        yield Finding("pooled", False, text, measured=float(one.agents), expected=1.0)
        return
    alone = Owned(0, asked("problem.pooled().local", one.local, 0))
    gap = _gap(subject, alone.value(x, y), value)
    if gap is not None:
        yield Finding(
            "pooled", False, f"the value of its only agent {gap}.", measured=alone.value(x, y), expected=value
        )
    else:
        yield _gradient(subject, "pooled", alone.gradient(x, y), gradient)


def _samples(subject: Subject) -> Finding:
    """The number of samples that the problem states is that of every agent, or the mean of theirs rounded up."""
    known = [(i, subject.everyone(i).samples) for i in range(subject.m)]
    for i, n in known:
        if n is not None and not (isinstance(n, int | np.integer) and n >= 1):
            return Finding("samples", False, f"agent {i}: `samples` must be a whole number or None; it is {n!r}.", i)
    stated = subject.given.samples if subject.defines("samples") else None
    counts = {n for _, n in known}
    is_mean = None not in counts and stated == -(-sum(int(n) for _, n in known if n is not None) // subject.m)
    for i, n in known:
        if (n is None) != (known[0][1] is None) or (subject.defines("samples") and n != stated and not is_mean):
            other = f"`problem.samples` is {stated}" if subject.defines("samples") else f"agent 0 has {known[0][1]}"
            numbers = [None if one is None else float(one) for one in (n, stated)]
            return Finding("samples", False, f"agent {i}: it has {n}, and {other}.", i, None, None, *numbers)
    if counts == {None}:
        return Finding("samples", True, "drawn without end.")
    few, many = (choose(int(n) for n in counts if n is not None) for choose in (min, max))
    return Finding("samples", True, f"{few} each." if few == many else f"from {few} to {many}.")


def _derived(check: str) -> Finding:
    return unchecked(check, "the problem does not give it, so that it is the mean of the agents'.")


def _value(subject: Subject, check: str, name: str, wanted: float) -> Finding:
    x, y = subject.points[0]
    found = float(asked(f"problem.{name}", lambda: float(getattr(subject.given, name)(x.copy(), y.copy()))))
    gap = _gap(subject, found, wanted)
    if gap is not None:
        return Finding(check, False, f"`problem.{name}` {gap}.", measured=found, expected=wanted)
    return Finding(check, True, "it is the mean of the agents'.")


def _gap(subject: Subject, found: float, wanted: float) -> str | None:
    """By how much a value is another one than the mean of the agents', in words."""
    if abs(found - wanted) <= max(1e-9, 1e3 * subject.rounding) * max(abs(found), abs(wanted), 1e-300):
        return None
    times = f", {found / wanted:.4g} times that" if wanted else ""
    return f"is {found:.10g}, and the mean of the agents' values {wanted:.10g}{times}"


def _gradient(subject: Subject, check: str, found: Array, wanted: Array) -> Finding:
    if found.shape != wanted.shape:
        return Finding(check, False, f"its gradient must have {wanted.size} coordinates in all; it has {found.size}.")
    gap = subject.apart(found, wanted, float(np.abs(wanted).max(initial=0.0)) or 1.0)
    if gap is None:
        return Finding(check, True, "it is the mean of the agents'.")
    text = (
        f"coordinate {gap.coordinate} of {gap.part}: its gradient is {gap.measured:.8g}, and the mean of the agents' "
        f"{gap.expected:.8g}."
    )
    return Finding(check, False, text, None, gap.part, gap.coordinate, gap.measured, gap.expected)


def _joint(problem: Any) -> Callable[[Array, Array], Array]:
    return lambda x, y: np.concatenate(problem.gradient(x.copy(), y.copy())).astype(np.float64)
