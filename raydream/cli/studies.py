"""compare and tune."""

from pathlib import Path
from typing import Annotated

import typer

from raydream.cli.command import command
from raydream.cli.options import (
    Address,
    Agents,
    AgentsPerActor,
    BackendName,
    DataName,
    MethodSettings,
    ProblemName,
    ProblemSettings,
    TopologyName,
    TopologySettings,
    backend_of,
    numbers,
    problem_and_network,
    words,
)
from raydream.cli.tables import show, show_comparison
from raydream.studies.defaults import SEARCH, SPACE


@command
def compare(
    methods: Annotated[
        str | None, typer.Option(help="Names, such as dream,gt-gda (default: DREAM and the paper's baselines).")
    ] = None,
    best: Annotated[
        str | None, typer.Option(help="A directory of `raydream tune`, whose winners are compared.")
    ] = None,
    problem: ProblemName = "robust-logistic",
    data: DataName = None,
    agents: Agents = 8,
    topology: TopologyName = "ring",
    setting: MethodSettings = None,
    problem_set: ProblemSettings = None,
    topology_set: TopologySettings = None,
    seeds: Annotated[str, typer.Option(help="Seeds, such as 0,1,2.")] = "0,1,2",
    iterations: Annotated[int | None, typer.Option(help="Iterations of each run.")] = None,
    max_sfo: Annotated[int | None, typer.Option(help="Stop each run at this many SFO calls.")] = None,
    max_rounds: Annotated[int | None, typer.Option(help="Stop each run at this many rounds.")] = None,
    record_every: Annotated[int, typer.Option(help="Iterations between two records.")] = 2,
    target: Annotated[float | None, typer.Option(help="The P to be reached, for the table of what it took.")] = None,
    directory: Annotated[str | None, typer.Option(help="Where runs are kept (default: next free in runs/).")] = None,
    backend: BackendName = "ray",
    agents_per_actor: AgentsPerActor = None,
    address: Address = None,
) -> None:
    """Compare methods on one problem and network over several seeds; by default on built-in data.

    Example: raydream compare --methods dream,gt-srvr --data a9a --set eta=0.1 --set gamma=1 --max-rounds 200
    """
    import raydream
    from raydream import checks, specs
    from raydream.backends.registry import BACKENDS
    from raydream.parameters import parameters_of
    from raydream.storage.files import next_free
    from raydream.studies import defaults

    packed = agents_per_actor or ("auto" if "agents_per_actor" in parameters_of(BACKENDS.find(backend)) else None)
    where = backend_of(backend, agents_per_actor=packed, address=address)
    if topology == defaults.TOPOLOGY[0] and not topology_set:
        topology_set = [f"{name}={value}" for name, value in defaults.TOPOLOGY[1].items()]
    the_problem, network = problem_and_network(problem, data, agents, problem_set, topology, topology_set)
    given = specs.parse_parameters("--set", setting or [])
    if best is not None:
        contenders = raydream.Tuning.load(best).best
        if methods is not None:
            contenders = {name: contenders[checks.choice("methods", name, contenders)] for name in words(methods)}
    else:
        names = words(methods) if methods is not None else list(defaults.METHODS)
        usual = {name: defaults.METHODS.get(name, defaults.STEPS) for name in names}
        contenders = {name: specs.build_method(name, {**usual[name], **given}) for name in names}
    if iterations is None and max_sfo is None and max_rounds is None:
        max_sfo = defaults.MAX_SFO
    folder = Path(directory) if directory is not None else next_free(Path("runs"), "compare")
    comparison = raydream.compare(
        the_problem, network, contenders, seeds=numbers("--seeds", seeds), iterations=iterations, max_sfo=max_sfo,
        max_rounds=max_rounds, record_every=record_every, backend=where, directory=folder, progress=True,
    )  # fmt: skip
    show_comparison(comparison, target, f"{problem}, {network.name}")
    print(f"Runs are kept in {folder}; the report is {comparison.report(folder / 'report.html')}.")


@command
def tune(
    budget: Annotated[float, typer.Option(help="How much each trial may spend.")],
    axis: Annotated[str, typer.Option(help="Of what: sfo, rounds or seconds.")] = "sfo",
    methods: Annotated[str, typer.Option(help="Names, such as dream,gt-gda.")] = "dream,dm-hsgd,gt-da,gt-gda,gt-srvr",
    space: Annotated[str, typer.Option(help="paper (the DREAM paper's grids) or wide.")] = SPACE,
    search: Annotated[str, typer.Option(help="grid, random or halving.")] = SEARCH,
    trials: Annotated[int | None, typer.Option(help="The most configurations of one method.")] = None,
    metric: Annotated[str, typer.Option(help="primal or grad_norm, at the budget.")] = "primal",
    problem: ProblemName = "robust-logistic",
    data: DataName = None,
    agents: Agents = 8,
    topology: TopologyName = "ring",
    problem_set: ProblemSettings = None,
    topology_set: TopologySettings = None,
    seeds: Annotated[str, typer.Option(help="A configuration is judged by its median over these.")] = "0",
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Trials at a time (default: one per CPU).")] = None,
    directory: Annotated[str | None, typer.Option(help="Where trials are kept (default: next free in runs/).")] = None,
) -> None:
    """Find good parameters for each method, all with the same budget; the same command goes on after an interruption.

    Example: raydream tune --data a9a --budget 250000 --search halving --trials 27 --directory runs/a9a-tuning
    """
    import raydream
    from raydream.storage.files import next_free

    the_problem, network = problem_and_network(problem, data, agents, problem_set, topology, topology_set)
    folder = Path(directory) if directory is not None else next_free(Path("runs"), "tune")
    tuning = raydream.tune(
        the_problem, network, words(methods), budget=budget if axis == "seconds" else int(budget), axis=axis,
        space=space, search=search, trials=trials, metric=metric, seeds=numbers("--seeds", seeds), seed=seed,
        workers=workers, directory=folder, progress=True,
    )  # fmt: skip
    rows = [(name, float(tuning.winners[name]["score"]), repr(method)) for name, method in tuning.best.items()]
    show(f"best at {budget:g} {axis}, of {len(tuning.trials)} trials", ("method", metric, "parameters"), rows)
    print(f"Trials are kept in {folder}; compare the winners with: raydream compare --best {folder}")
