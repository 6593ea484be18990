"""What a problem is, what one agent owns of it, and what theory needs to know of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from raydream.constraints import Constraint
from raydream.notebook import card
from raydream.types import Array


class LocalProblem(Protocol):
    """What one agent owns: its function f_i = mean of component functions, and nothing of the other agents.

    samples                     n, or None when samples are drawn from a distribution (online)
    value(x, y)                 f_i
    gradient(x, y, batch=None)  (gradient in x, in y): the mean over the batch, or that of f_i where batch is None

    For a finite sum a batch is an array of sample numbers, in which repeated ones count as often as they occur.
    An online problem also has `draw(generator, size)`, which returns a batch of fresh samples in any form.
    """

    @property
    def samples(self) -> int | None: ...
    def value(self, x: Array, y: Array) -> float: ...
    def gradient(self, x: Array, y: Array, batch: Any = None) -> tuple[Array, Array]: ...


class Problem(Protocol):
    """The whole problem, as the driver and the metrics see it; methods never do.

    One that also has `dtype = numpy.float32` is run in float32: states, frames and the points that agents ask about.
    Metrics ask about means, which are float64.

    `samples` is n, or where agents own different numbers of samples, their mean rounded up; such a problem may also
    say `sizes`, all n_i. What an agent is billed for is what its shard says.
    """

    @property
    def agents(self) -> int: ...
    @property
    def dim_x(self) -> int: ...
    @property
    def dim_y(self) -> int: ...
    @property
    def samples(self) -> int | None: ...
    @property
    def constraint(self) -> Constraint: ...
    def local(self, i: int) -> LocalProblem: ...
    def start(self) -> tuple[Array, Array]: ...
    def value(self, x: Array, y: Array) -> float: ...
    def gradient(self, x: Array, y: Array) -> tuple[Array, Array]: ...
    def best_response(self, x: Array) -> Array: ...
    def primal(self, x: Array) -> float: ...
    def primal_gradient(self, x: Array) -> Array: ...
    def primal_and_gradient(self, x: Array) -> tuple[float, Array]: ...


def unequal_sizes(problem: Any) -> list[int] | None:
    """n_i of every agent, where the problem says `sizes` and they differ."""
    sizes = np.asarray(getattr(problem, "sizes", ()))
    if sizes.shape != (problem.agents,) or sizes.dtype.kind not in "iu" or not np.ptp(sizes):
        return None
    # whose mean is not `samples` are sizes of something else
    return [int(n) for n in sizes] if -(-int(sizes.sum()) // problem.agents) == problem.samples else None


def sizes_of(problem: Problem) -> list[int] | None:
    """n_i of every agent, as the problem or else its shards say; None where samples are drawn online."""
    if problem.samples is None:
        return None
    return unequal_sizes(problem) or [problem.local(i).samples or 0 for i in range(problem.agents)]


@dataclass(frozen=True)
class Constants:
    """What theory needs to know of a problem.

    L      average smoothness, the paper's Assumption 2.2, over the region that the problem's docstring names
    mu     strong concavity of every f_i in y
    sigma  standard deviation of one component gradient (online problems)
    L_full smoothness of the agents' own functions f_i: smaller than L, and nearer to what steps tolerate
    assumes  while what they hold, as a clause; empty: everywhere
    """

    L: float
    mu: float
    sigma: float | None = None
    L_full: float | None = None
    assumes: str = ""

    @property
    def kappa(self) -> float:
        """The condition number L / mu."""
        return self.L / self.mu


class Described:
    """What a problem says of itself, in a line and in a notebook."""

    def __repr__(self) -> str:
        facts = facts_of(self)
        return f"<{type(self).__name__}: {'; '.join(facts.values())}>" if facts else f"<{type(self).__name__}>"

    def _repr_html_(self) -> str:
        return card(type(self).__name__, facts_of(self))


def facts_of(problem: Any) -> dict[str, str]:
    """Agents, samples, dimensions and the constraint; nothing of a problem that is not finished yet."""
    try:
        sizes = unequal_sizes(problem)
        each = "drawn online" if problem.samples is None else f"{problem.samples} samples each"
        each = f"{min(sizes)} to {max(sizes)} samples each" if sizes else each
        return {
            "agents": f"{problem.agents} agents, {each}",
            "dimensions": f"x in {problem.dim_x} and y in {problem.dim_y} dimensions",
            "constraint": f"y in {problem.constraint!r}",
        }
    except AttributeError:
        return {}


class Danskin(Described):
    """P and its gradient from the best response: P(x) = f(x, y*(x)) and grad P(x) = grad_x f(x, y*(x))."""

    value: Callable[[Array, Array], float]
    gradient: Callable[[Array, Array], tuple[Array, Array]]
    best_response: Callable[[Array], Array]

    def primal(self, x: Array) -> float:
        """P(x)."""
        return self.value(x, self.best_response(x))

    def primal_gradient(self, x: Array) -> Array:
        """The gradient of P at x."""
        return self.gradient(x, self.best_response(x))[0]

    def primal_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Both, for the price of one best response."""
        y = self.best_response(x)
        return self.value(x, y), self.gradient(x, y)[0]
