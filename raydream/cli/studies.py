"""compare and tune."""

from pathlib import Path
from typing import Annotated, Any

import typer

from raydream.cli.command import LOADING, command
from raydream.cli.options import (
    Agents,
    AnyProblem,
    AnyTopology,
    BackendName,
    Check,
    Condition,
    DataName,
    EvaluationEvery,
    Lazy,
    MaxSimSeconds,
    MethodSettings,
    ProblemName,
    ProblemSettings,
    TopologySettings,
    conditions_of,
    numbers,
    problem_and_network,
    refuse_contradiction,
    words,
)
from raydream.cli.places import backend_of, with_actors, with_trials
from raydream.cli.tables import show_comparison, show_tuning, taken_from_the_table
from raydream.feedback import tell
from raydream.studies.defaults import SEARCH, SPACE


@command
@with_actors
def compare(
    methods: Annotated[
        str | None, typer.Option(help="Names, such as dream,gt-gda, or package.module:Class (default: the paper's).")
    ] = None,
    best: Annotated[
        str | None,
        typer.Option(help="A directory of `raydream tune`: its winners are compared, on what they were tuned on."),
    ] = None,
    problem: AnyProblem = None,
    data: DataName = None,
    agents: Agents = None,
    topology: AnyTopology = None,
    setting: MethodSettings = None,
    problem_set: ProblemSettings = None,
    topology_set: TopologySettings = None,
    lazy: Lazy = False,
    seeds: Annotated[str | None, typer.Option(help="Seeds, such as 0,1,2 (default: ten, or three on actors).")] = None,
    iterations: Annotated[int | None, typer.Option(help="Iterations of each run.")] = None,
    max_sfo: Annotated[int | None, typer.Option(help="Stop each run at this many SFO calls.")] = None,
    max_rounds: Annotated[int | None, typer.Option(help="Stop each run at this many rounds.")] = None,
    condition: Condition = None,
    max_sim_seconds: MaxSimSeconds = None,
    record_every: Annotated[
        int | None, typer.Option(help="Iterations between two records (default: 2; 1 with --best).")
    ] = None,
    evaluation_every: EvaluationEvery = 1,
    target: Annotated[float | None, typer.Option(help="The P to be reached, for the table of what it took.")] = None,
    directory: Annotated[str | None, typer.Option(help="Where runs are kept (default: next free in runs/).")] = None,
    check: Check = True,
    backend: BackendName = "ray",
    **ray: Any,
) -> None:
    """Compare methods on one problem and network over several seeds; by default on built-in data.

    Example: raydream compare --methods dream,gt-srvr --data a9a --set eta=0.1 --set gamma=1 --max-rounds 200
    """
    tell(LOADING)
    import raydream
    from raydream import specs
    from raydream.backends.registry import BACKENDS
    from raydream.parameters import parameters_of
    from raydream.storage.files import next_free
    from raydream.studies import defaults

    if "agents_per_actor" in parameters_of(BACKENDS.find(backend)):
        ray.setdefault("agents_per_actor", "auto")
    where = backend_of(backend, **ray)
    limits: dict[str, Any] = {
        "iterations": iterations, "max_sfo": max_sfo, "max_rounds": max_rounds, "max_sim_seconds": max_sim_seconds,
    }  # fmt: skip
    contenders: dict[str, Any] = {}
    told = origin = ""
    if best is not None:
        if setting:
            raise ValueError("`--set` contradicts `--best`, which has every parameter; leave one of the two out.")
        own = {word.rpartition(":")[2]: specs.method_kind(word) for word in words(methods or "") if ":" in word}
        tuning = raydream.Tuning.load(best, own)
        refuse_contradiction(tuning, problem, data, agents, problem_set, topology, topology_set)
        contenders["best"] = tuning
        # Only a user who repeats the name of code has it run; any other problem the tuning names by itself.
        contenders["problem"] = problem if problem is not None and ":" in problem else None
        contenders["methods"] = None if methods is None else [word.rpartition(":")[2] for word in words(methods)]
        told = f"winners of {best}"
    else:
        contenders["problem"], contenders["topology"] = problem_and_network(
            problem or "robust-logistic", data, agents, problem_set, topology, topology_set, lazy
        )
        given = specs.parse_parameters("--set", setting or [])
        names = words(methods) if methods is not None else list(defaults.METHODS)
        usual = {name: specs.usual_parameters(name, contenders["problem"]) for name in names}
        contenders["methods"] = {
            name.rpartition(":")[2]: specs.build_method(name, {**usual[name].parameters, **given}) for name in names
        }
        if not any(limits.values()):
            limits["max_sfo"] = defaults.max_sfo(contenders["problem"])
        origin = taken_from_the_table(usual, given, contenders["problem"])
    folder = Path(directory) if directory is not None else next_free(Path("runs"), "compare")
    comparison = raydream.compare(
        **contenders, **limits, seeds=None if seeds is None else numbers("--seeds", seeds),
        record_every=record_every or (2 if best is None else 1), backend=where,
        evaluation=raydream.Evaluation(every=evaluation_every), directory=folder, check=check, progress=True,
        conditions=conditions_of(condition),
    )  # fmt: skip
    show_comparison(comparison, target, told)
    if origin:
        print(origin)
    print(f"Runs are kept in {folder}; the report is {comparison.report(folder / 'report.html')}.")


@command
@with_actors
def study(
    file: Annotated[str, typer.Argument(help="A study in TOML; the README has one.")],
    directory: Annotated[
        str | None, typer.Option(help="Where it is kept (default: runs/ and the file's name).")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Trials at a time (default: one per CPU).")] = None,
    **ray: Any,
) -> None:
    """Carry out a study file: problems x networks x methods x seeds, tuned by one rule; go on after an interruption.

    Example: raydream study experiments/studies/figure_1_balanced.toml --directory runs/figure-1
    """
    tell(LOADING)
    import raydream

    found = raydream.study(
        file, directory, workers=workers, backend=backend_of("ray", **ray) if ray else None, progress=True
    )
    for cell, comparison in found.comparisons.items():
        show_comparison(comparison, None, cell)
    found.save_tables()
    print(f"Everything is kept in {found.directory}, with all seeds in finals.csv; the report is {found.report()}.")


@command
@with_trials
def tune(
    budget: Annotated[float, typer.Option(help="How much each trial may spend, its start included.")],
    axis: Annotated[str, typer.Option(help="Of what: sfo, rounds, seconds, or sim_seconds with --condition.")] = "sfo",
    methods: Annotated[str, typer.Option(help="Names, such as dream,gt-gda.")] = "dream,dm-hsgd,gt-da,gt-gda,gt-srvr",
    space: Annotated[str, typer.Option(help="wide (steps from ranges) or paper (the DREAM paper's grids).")] = SPACE,
    search: Annotated[str, typer.Option(help="random, halving, tpe (needs the extra of that name) or grid.")] = SEARCH,
    trials: Annotated[
        int | None, typer.Option(help="Configurations of each method; of finite spaces, of the largest.")
    ] = None,
    share: Annotated[float | None, typer.Option(help="The share of every method's finite space to try.")] = None,
    metric: Annotated[str, typer.Option(help="The column of the history that judges, at the budget.")] = "primal",
    widen: Annotated[int, typer.Option(help="How often steps may be looked for further out.")] = 3,
    refine: Annotated[int, typer.Option(help="Configurations more around the winner of each method.")] = 0,
    problem: ProblemName = "robust-logistic",
    data: DataName = None,
    agents: Agents = None,
    topology: AnyTopology = None,
    problem_set: ProblemSettings = None,
    topology_set: TopologySettings = None,
    lazy: Lazy = False,
    condition: Condition = None,
    seeds: Annotated[str, typer.Option(help="A configuration is judged by its median over these.")] = "0",
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Trials at a time (default: one per CPU).")] = None,
    directory: Annotated[str | None, typer.Option(help="Where trials are kept (default: next free in runs/).")] = None,
    check: Check = True,
    **ray: Any,
) -> None:
    """Find good parameters for each method, all with the same budget; the same command goes on after an interruption.

    Example: raydream tune --data a9a --budget 250000 --search halving --trials 27 --directory runs/a9a-tuning
    """
    tell(LOADING)
    import raydream
    from raydream.storage.files import next_free

    the_problem, network = problem_and_network(problem, data, agents, problem_set, topology, topology_set, lazy)
    folder = Path(directory) if directory is not None else next_free(Path("runs"), "tune")
    tuning = raydream.tune(
        the_problem, network, words(methods), budget=budget if axis.endswith("seconds") else int(budget), axis=axis,
        space=space, search=search, trials=trials, share=share, metric=metric, widen=widen, refine=refine,
        seeds=numbers("--seeds", seeds), seed=seed, workers=workers, directory=folder, check=check,
        backend=backend_of("ray", **ray) if ray else None, conditions=conditions_of(condition), progress=True,
    )  # fmt: skip
    show_tuning(tuning)
    print(f"Trials are kept in {folder}; the report is {tuning.report(folder / 'report.html')}.")
    if not tuning.best:
        raise ValueError("no method has a winner, so that there is nothing to compare; the table says why.")
    code = f" --problem {problem}" if ":" in problem else ""
    code += f" --methods {methods}" if ":" in methods else ""
    print(f"Compare the winners, on the same problem, network and budget: raydream compare --best {folder}{code}")
