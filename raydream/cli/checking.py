"""check."""

from typing import Annotated

import typer

from raydream.cli.command import LOADING, command
from raydream.cli.options import Agents, DataName, ProblemName, ProblemSettings, problem_of
from raydream.feedback import tell


@command
def check(
    problem: ProblemName = "robust-logistic",
    data: DataName = None,
    agents: Agents = None,
    problem_set: ProblemSettings = None,
    seed: Annotated[int, typer.Option(help="Seed of the points and directions that are tried.")] = 0,
    thorough: Annotated[bool, typer.Option(help="All agents, up to 64, and several points; else a few.")] = True,
) -> None:
    """Whether a problem is what it says: gradients, batches, constants, P, pickling. Exit code 1 where it is not.

    Example: raydream check --problem package.module:make
    """
    tell(LOADING)
    import raydream

    verdict = raydream.check(problem_of(problem, data, agents, problem_set), seed=seed, thorough=thorough)
    print(verdict)
    if not verdict.ok:
        raise typer.Exit(1)
