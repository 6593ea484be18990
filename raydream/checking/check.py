"""check(): every law that a problem must keep, and a verdict."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from raydream.checking.answers import answers
from raydream.checking.batches import batches
from raydream.checking.concavity import concavity
from raydream.checking.draws import draws
from raydream.checking.gradients import gradients
from raydream.checking.journey import journey
from raydream.checking.owned import Owned, asked
from raydream.checking.primal import primal
from raydream.checking.projection import projection
from raydream.checking.purity import purity
from raydream.checking.subject import Subject
from raydream.checking.verdict import Finding, Verdict
from raydream.checking.wholes import wholes
from raydream.checks import vector, whole
from raydream.errors import InnerMaximumError, ProblemRaised
from raydream.problems.completed import REQUIRED, complete

AGENTS, FEWER = 64, 4  # that are probed, at most

# In this order, since whoever gives no proper answers is not asked for more.
LAWS: dict[str, Callable[[Subject], Iterator[Finding]]] = {
    "answers": answers,
    "samples": wholes,
    "gradients": gradients,
    "batches": batches,
    "draws": draws,
    "asking": purity,
    "journey": journey,
    "projection": projection,
    "concavity": concavity,
    "P": primal,
}


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
            subject = _subject(problem, seed, thorough)
        except (ProblemRaised, ValueError, TypeError) as error:
            broken = Finding("parts", False, str(error), getattr(error, "agent", None))
            return Verdict(f"check of {type(problem).__name__}", (broken,))
        for title, law in LAWS.items():
            found = law(subject)
            try:
                findings.extend(found)
            except (ProblemRaised, InnerMaximumError) as error:
                findings.append(Finding(title, False, str(error), getattr(error, "agent", None)))
    return Verdict(_title(subject), tuple(findings))


def _subject(problem: Any, seed: int, thorough: bool) -> Subject:
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
    return Subject(problem, completed, agents, start, seed, thorough)


def _title(subject: Subject) -> str:
    problem = subject.whole
    some = "" if len(subject.agents) == subject.m else f", {len(subject.agents)} of which are probed"
    samples = "samples drawn" if problem.samples is None else f"{problem.samples} samples each"
    return (
        f"check of {type(subject.given).__name__}: {subject.m} agents{some}, {samples}, "
        f"x in R^{problem.dim_x}, y in R^{problem.dim_y}; seed {subject.seed}"
    )
