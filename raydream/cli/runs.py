"""run and resume."""

from pathlib import Path
from typing import Annotated, Any

import typer

from raydream.cli.command import LOADING, command
from raydream.cli.options import (
    Agents,
    AnyTopology,
    BackendName,
    Check,
    Condition,
    DataName,
    EvaluationEvery,
    Lazy,
    MaxSimSeconds,
    MethodName,
    MethodSettings,
    ProblemName,
    ProblemSettings,
    TopologySettings,
    conditions_of,
    problem_and_network,
)
from raydream.cli.places import backend_of, with_actors
from raydream.cli.tables import show_history, taken_from_the_table
from raydream.feedback import tell


@command
@with_actors
def run(
    problem: ProblemName = "robust-logistic",
    data: DataName = None,
    agents: Agents = None,
    topology: AnyTopology = None,
    method: MethodName = "dream",
    eta: Annotated[
        float | None, typer.Option(help="Ascent step in y (default: as settled for problem and data, else 0.1).")
    ] = None,
    gamma: Annotated[
        float | None, typer.Option(help="Ratio of the descent step in x to eta (default: as settled, else 1).")
    ] = None,
    setting: MethodSettings = None,
    problem_set: ProblemSettings = None,
    topology_set: TopologySettings = None,
    lazy: Lazy = False,
    iterations: Annotated[int, typer.Option(help="Iterations.")] = 200,
    record_every: Annotated[int, typer.Option(help="Iterations between two records.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of every random draw.")] = 0,
    max_sfo: Annotated[int | None, typer.Option(help="Stop at this many SFO calls.")] = None,
    max_rounds: Annotated[int | None, typer.Option(help="Stop at this many rounds.")] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Stop after this many seconds.")] = None,
    target_grad_norm: Annotated[float | None, typer.Option(help="Stop at this gradient norm.")] = None,
    target_primal: Annotated[float | None, typer.Option(help="Stop at this value of P.")] = None,
    target: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Stop where a metric is as good as this: auc=0.9.")
    ] = None,
    condition: Condition = None,
    max_sim_seconds: MaxSimSeconds = None,
    evaluation_every: EvaluationEvery = 1,
    directory: Annotated[str | None, typer.Option(help="Run directory (default: the next free one in runs/).")] = None,
    checkpoint_every: Annotated[int | None, typer.Option(help="Iterations between two checkpoints.")] = None,
    diagnostics: Annotated[bool, typer.Option(help="Record the paper's Lyapunov function.")] = False,
    check: Check = True,
    backend: BackendName = "ray",
    **ray: Any,
) -> None:
    """Run one method on one problem over one network.

    Example: raydream run --data a9a --topology-set self_weight=0.5 --set p=0.1 --set b=64 --set K=3
    """
    tell(LOADING)
    import raydream
    from raydream import specs
    from raydream.storage.files import next_free
    from raydream.studies.setting import needs_one_machine

    where = backend_of(backend, **ray)
    the_problem, network = problem_and_network(problem, data, agents, problem_set, topology, topology_set, lazy)
    if needs_one_machine(specs.method_kind(method)) and the_problem.agents > 1:
        the_problem, network = specs.pooled(the_problem), specs.build_topology("ring", 1, {})
    steps = {name: value for name, value in (("eta", eta), ("gamma", gamma)) if value is not None}
    given = {**steps, **specs.parse_parameters("--set", setting or [])}
    usual = specs.usual_parameters(method, the_problem)
    folder = Path(directory) if directory is not None else next_free(Path("runs"), method.rpartition(":")[2])
    result = raydream.run(
        the_problem,
        network,
        specs.build_method(method, {**usual.parameters, **given}),
        iterations=iterations,
        seed=seed,
        record_every=record_every,
        max_sfo=max_sfo,
        max_rounds=max_rounds,
        max_seconds=max_seconds,
        target_grad_norm=target_grad_norm,
        target_primal=target_primal,
        target=specs.parse_parameters("--target", target or []),
        conditions=conditions_of(condition),
        max_sim_seconds=max_sim_seconds,
        evaluation=raydream.Evaluation(every=evaluation_every),
        diagnostics=diagnostics,
        check=check,
        directory=folder,
        checkpoint_every=checkpoint_every,
        backend=where,
        progress=True,
    )
    finish(result, folder, method)
    if origin := taken_from_the_table({method: usual}, given, the_problem):
        print(origin)


@command
@with_actors
def resume(
    directory: Annotated[str, typer.Argument(help="A run directory with a checkpoint.")],
    iterations: Annotated[int | None, typer.Option(help="New total of iterations (default: as planned).")] = None,
    problem: Annotated[
        str | None, typer.Option(help="The package.module:make that run.json names: your word that it may be run.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="The package.module:Class of a method of yours, with which the run began.")
    ] = None,
    check: Check = True,
    backend: Annotated[str | None, typer.Option(help="As `raydream backends` lists them (default: as before).")] = None,
    **ray: Any,
) -> None:
    """Go on with a run from its last checkpoint.

    Example: raydream resume runs/dream-1 --iterations 500
    """
    tell(LOADING)
    import raydream

    where = backend_of(backend or "ray", **ray) if backend is not None or ray else None
    result = raydream.resume(
        directory, iterations=iterations, backend=where, problem=problem, method=method, check=check, progress=True
    )
    finish(result, Path(directory), f"{result.config['method']['name']}, resumed")


def finish(result: Any, folder: Path, title: str) -> None:
    """The table, the outcome, and what happened on the way."""
    from raydream.storage.naming import setting_name

    show_history(f"{title}: {setting_name(result.config)}", result.history)
    for event in result.recoveries:
        print(f"recovered: {event['reason']}; rolled back to iteration {event['rolled_back_to']}")
    if cut := result.record.problem.cut:
        print(
            f"{cut} {'row is' if cut == 1 else 'rows are'} left out, so that all agents own as many; "
            f"--problem-set cut=false keeps {'it' if cut == 1 else 'them'}."
        )
    print(f"{result.outcome}: {result.reason}. Saved in {folder}.")
