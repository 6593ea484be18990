"""check(): every law that a problem must keep, and a verdict."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from raydream.checking.laws import (
    answers,
    batches,
    concavity,
    draws,
    gradients,
    journey,
    primal,
    projection,
    purity,
    wholes,
)
from raydream.checking.owned import Owned, asked
from raydream.checking.subject import Subject
from raydream.checking.verdict import Finding, Verdict, unchecked
from raydream.checks import vector, whole
from raydream.errors import InnerMaximumError, ProblemRaised
from raydream.problems.completed import REQUIRED, complete

AGENTS, FEWER = 64, 4  # that are probed, at most

Law = Callable[[Subject], Iterator[Finding]]

# The names of a law's checks, and the law. In this order: whoever gives no proper answers is not asked for more.
LAWS: list[tuple[tuple[str, ...], Law]] = [
    (answers.CHECKS, answers.answers),
    (wholes.CHECKS, wholes.wholes),
    (gradients.CHECKS, gradients.gradients),
    (batches.CHECKS, batches.batches),
    (draws.CHECKS, draws.draws),
    (purity.CHECKS, purity.purity),
    (journey.CHECKS, journey.journey),
    (projection.CHECKS, projection.projection),
    (concavity.CHECKS, concavity.concavity),
    (primal.CHECKS, primal.primal),
]


def check(problem: Any, *, seed: int = 0, thorough: bool = True) -> Verdict:
    """Whether a problem is what it says: its gradients, batches, constants, P, and what a journey does to it.

    seed      of the points and directions that are tried
    thorough  False: fewer agents and points

    The verdict has `ok` and `findings`, and prints as a table. What the problem's own code raises is a finding too.
    """
    whole("seed", seed)
    missing = [name for name in REQUIRED if not hasattr(problem, name)]
    if missing:
        complete(problem)  # which says so
    findings: list[Finding] = []
    with threadpool_limits(1, "blas"), np.errstate(all="ignore"):
        try:
            subject = subject_of(problem, seed, thorough)
        except (ProblemRaised, ValueError, TypeError) as error:
            broken = Finding("parts", False, str(error), getattr(error, "agent", None))
            return Verdict(f"check of {type(problem).__name__}", (broken,))
        for checks, law in LAWS:
            findings += _obeyed(subject, checks, law)
    return Verdict(_title(subject), tuple(findings))


def _obeyed(subject: Subject, checks: tuple[str, ...], law: Law) -> list[Finding]:
    """What a law finds; where the problem raises, that is what its next check finds, and the others are not made."""
    found: list[Finding] = []
    try:
        found.extend(law(subject))
    except (ProblemRaised, InnerMaximumError) as error:
        first, *rest = [name for name in checks if name not in {one.check for one in found}] or checks[-1:]
        found.append(Finding(first, False, str(error), getattr(error, "agent", None)))
        found += [unchecked(name, "something was raised before.") for name in rest]
    return found


def subject_of(problem: Any, seed: int, thorough: bool) -> Subject:
    """The problem with its start and the agents that are probed."""
    completed = asked("problem", complete, problem)
    for name in ("agents", "dim_x", "dim_y"):
        whole(name, getattr(completed, name), 1)
    m = int(completed.agents)
    chosen = np.unique(np.linspace(0, m - 1, min(m, AGENTS if thorough else FEWER)).astype(int))
    agents = [Owned(int(i), asked("local", problem.local, int(i), agent=int(i))) for i in chosen]
    for one in agents:
        asked("samples", lambda one=one: one.samples, agent=one.agent)
    given = asked("start", completed.start)
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ValueError(f"`start` must be a pair (x0, y0); it is {given!r}.")
    start = vector("start()[0]", given[0], completed.dim_x), vector("start()[1]", given[1], completed.dim_y)
    projected = asked("constraint.project", lambda: np.asarray(completed.constraint.project(start[1].copy()), float))
    if projected.shape != start[1].shape or not np.isfinite(projected).all():
        raise ValueError(
            f"`constraint.project` must give a finite vector of length {completed.dim_y} for such a vector."
        )
    return Subject(problem, completed, agents, start, seed, thorough)


def _title(subject: Subject) -> str:
    problem = subject.whole
    some = "" if len(subject.agents) == subject.m else f", {len(subject.agents)} of which are probed"
    samples = "samples drawn" if problem.samples is None else f"{problem.samples} samples each"
    return (
        f"check of {type(subject.given).__name__}: {subject.m} agents{some}, {samples}, "
        f"x in R^{problem.dim_x}, y in R^{problem.dim_y}; seed {subject.seed}"
    )
