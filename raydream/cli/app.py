"""The commands: `raydream run | resume | compare | tune | report | dashboard | data | topology | params | methods`."""

import functools
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from raydream import __version__
from raydream.storage.files import next_free
from raydream.studies.defaults import SEARCH, SPACE

app = typer.Typer(
    name="raydream",
    help="Decentralized nonconvex-strongly-concave minimax optimisation, every agent a Ray actor.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


STEPS = {"eta": 0.1, "gamma": 1.0}  # where nobody says otherwise

ProblemName = Annotated[
    str, typer.Option(help="robust-logistic, quadratic, quadratic-online, or package.module:make of your own.")
]
DataName = Annotated[
    str | None, typer.Option(help="Data set of robust-logistic: synthetic, a9a, w8a, ijcnn1, ..., or a file.")
]
MethodSettings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method, such as p=0.2.")
]
ProblemSettings = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="A parameter of the problem, such as theta=0.01.")
]
TopologySettings = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="A parameter of the topology: self_weight=0.999.")
]
Backend = Annotated[str, typer.Option(help="ray (every agent an actor) or local (all in this process).")]
AgentsPerActor = Annotated[str, typer.Option(help="Agents hosted by one actor: a number, auto, or sizes such as 3,5.")]
Links = Annotated[str, typer.Option(help="direct (actor to actor over TCP) or ray (through Ray's calls).")]
Address = Annotated[str | None, typer.Option(help="A running Ray, such as host:6379 (default: one of its own).")]
Placement = Annotated[str, typer.Option(help="spread or one-per-node.")]


def main() -> None:
    """The entry point."""
    app()


def plainly(command: Callable[..., None]) -> Callable[..., None]:
    """A user's mistake becomes one sentence and exit code 2; RAYDREAM_TRACEBACK=1 shows where it arose."""

    @functools.wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except (ValueError, TypeError, ArithmeticError, OSError, RuntimeError) as error:
            if os.environ.get("RAYDREAM_TRACEBACK") or isinstance(error, typer.Exit | typer.Abort):
                raise
            print(f"raydream: {error}", file=sys.stderr)
            raise typer.Exit(2) from None
        except KeyboardInterrupt as stop:
            print(f"raydream: {stop or 'interrupted'}", file=sys.stderr)
            raise typer.Exit(130) from None

    return wrapped


def show(title: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """A table: ruled on a terminal, and never cut elsewhere."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    content = [[cell(value) for value in row] for row in rows]
    for number, column in enumerate(columns):
        numeric = all(row[number][:1] in "-+0123456789" and " " not in row[number] for row in content)
        table.add_column(column, justify="right" if numeric and number else "left", overflow="fold")
    for row in content:
        table.add_row(*row)
    console = Console()
    Console(width=console.width if console.is_terminal else 160).print(table)


def cell(value: Any) -> str:
    """A value as people read it."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e9 else f"{value:.6g}"
    return str(value)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    if version:
        print(f"raydream {__version__}")
        raise typer.Exit


@app.command()
@plainly
def run(
    problem: ProblemName = "robust-logistic",
    data: DataName = None,
    agents: Annotated[int, typer.Option(help="Number of agents.")] = 8,
    topology: Annotated[str, typer.Option(help="ring, path, grid, torus, star, complete, ...")] = "ring",
    method: Annotated[str, typer.Option(help="See `raydream methods`.")] = "dream",
    eta: Annotated[float, typer.Option(help="Ascent step in y.")] = 0.1,
    gamma: Annotated[float, typer.Option(help="Ratio of the descent step in x to eta.")] = 1.0,
    setting: MethodSettings = None,
    problem_set: ProblemSettings = None,
    topology_set: TopologySettings = None,
    iterations: Annotated[int, typer.Option(help="Iterations.")] = 200,
    record_every: Annotated[int, typer.Option(help="Iterations between two records.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of every random draw.")] = 0,
    max_sfo: Annotated[int | None, typer.Option(help="Stop at this many SFO calls.")] = None,
    max_rounds: Annotated[int | None, typer.Option(help="Stop at this many rounds.")] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Stop after this many seconds.")] = None,
    target_grad_norm: Annotated[float | None, typer.Option(help="Stop at this gradient norm.")] = None,
    target_primal: Annotated[float | None, typer.Option(help="Stop at this value of P.")] = None,
    directory: Annotated[str | None, typer.Option(help="Run directory (default: the next free one in runs/).")] = None,
    checkpoint_every: Annotated[int | None, typer.Option(help="Iterations between two checkpoints.")] = None,
    diagnostics: Annotated[bool, typer.Option(help="Record the paper's Lyapunov function.")] = False,
    backend: Backend = "ray",
    agents_per_actor: AgentsPerActor = "1",
    links: Links = "direct",
    address: Address = None,
    placement: Placement = "spread",
) -> None:
    """Run one method on one problem over one network.

    Example: raydream run --data a9a --topology-set self_weight=0.5 --set p=0.1 --set b=64 --set K=3
    """
    import raydream
    from raydream import specs

    chosen = specs.parse_parameters("--problem-set", problem_set or [])
    if data is not None:
        chosen["data"] = data
    the_problem = specs.build_problem(problem, agents, chosen)
    number = getattr(the_problem, "agents", agents)
    network = specs.build_topology(topology, number, specs.parse_parameters("--topology-set", topology_set or []))
    parameters = {"eta": eta, "gamma": gamma, **specs.parse_parameters("--set", setting or [])}
    folder = Path(directory) if directory is not None else next_free(Path("runs"), method)
    result = raydream.run(
        the_problem,
        network,
        specs.build_method(method, parameters),
        iterations=iterations,
        seed=seed,
        record_every=record_every,
        max_sfo=max_sfo,
        max_rounds=max_rounds,
        max_seconds=max_seconds,
        target_grad_norm=target_grad_norm,
        target_primal=target_primal,
        diagnostics=diagnostics,
        directory=folder,
        checkpoint_every=checkpoint_every,
        backend=configured(backend, agents_per_actor, links, address, placement),
    )
    finish(result, folder, f"{method} on {problem}, {network.name}")


@app.command()
@plainly
def resume(
    directory: Annotated[str, typer.Argument(help="A run directory with a checkpoint.")],
    iterations: Annotated[int | None, typer.Option(help="New total of iterations (default: as planned).")] = None,
    problem: Annotated[
        str | None, typer.Option(help="The package.module:make that run.json names: your word that it may be run.")
    ] = None,
    backend: Annotated[str | None, typer.Option(help="ray or local (default: as before).")] = None,
    agents_per_actor: AgentsPerActor = "1",
    links: Links = "direct",
    address: Address = None,
    placement: Placement = "spread",
) -> None:
    """Go on with a run from its last checkpoint.

    Example: raydream resume runs/dream-1 --iterations 500
    """
    import raydream

    where = None if backend is None else configured(backend, agents_per_actor, links, address, placement)
    result = raydream.resume(directory, iterations=iterations, backend=where, problem=problem)
    finish(result, Path(directory), f"{result.config['method']['name']}, resumed")


@app.command()
@plainly
def compare(
    methods: Annotated[
        str | None, typer.Option(help="Names, such as dream,gt-gda (default: DREAM and the paper's baselines).")
    ] = None,
    best: Annotated[
        str | None, typer.Option(help="A directory of `raydream tune`, whose winners are compared.")
    ] = None,
    problem: ProblemName = "robust-logistic",
    data: DataName = None,
    agents: Annotated[int, typer.Option(help="Number of agents.")] = 8,
    topology: Annotated[str, typer.Option(help="ring, path, grid, torus, star, complete, ...")] = "ring",
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
    backend: Backend = "ray",
    agents_per_actor: AgentsPerActor = "auto",
    address: Address = None,
) -> None:
    """Compare methods on one problem and network over several seeds; by default on built-in data.

    Example: raydream compare --methods dream,gt-srvr --data a9a --set eta=0.1 --set gamma=1 --max-rounds 200
    """
    import raydream
    from raydream import checks, specs
    from raydream.studies import defaults as builtin

    where = configured(backend, agents_per_actor, address=address)
    chosen = specs.parse_parameters("--problem-set", problem_set or [])
    the_problem = specs.build_problem(problem, agents, chosen if data is None else {**chosen, "data": data})
    network_set = specs.parse_parameters("--topology-set", topology_set or [])
    if topology == builtin.TOPOLOGY[0] and not network_set:
        network_set = builtin.TOPOLOGY[1]
    network = specs.build_topology(topology, getattr(the_problem, "agents", agents), network_set)
    given = specs.parse_parameters("--set", setting or [])
    if best is not None:
        contenders = raydream.Tuning.load(best).best
        if methods is not None:
            contenders = {name: contenders[checks.choice("methods", name, contenders)] for name in words(methods)}
    else:
        names = words(methods) if methods is not None else list(builtin.METHODS)
        contenders = {name: specs.build_method(name, {**builtin.METHODS.get(name, STEPS), **given}) for name in names}
    if iterations is None and max_sfo is None and max_rounds is None:
        max_sfo = builtin.MAX_SFO
    folder = Path(directory) if directory is not None else next_free(Path("runs"), "compare")
    comparison = raydream.compare(
        the_problem, network, contenders, seeds=numbers("--seeds", seeds), iterations=iterations, max_sfo=max_sfo,
        max_rounds=max_rounds, record_every=record_every, backend=where, directory=folder, progress=True,
    )  # fmt: skip
    show_comparison(comparison, target, f"{problem}, {network.name}")
    print(f"Runs are kept in {folder}; the report is {comparison.report(folder / 'report.html')}.")


@app.command()
@plainly
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
    agents: Annotated[int, typer.Option(help="Number of agents.")] = 8,
    topology: Annotated[str, typer.Option(help="ring, path, grid, torus, star, complete, ...")] = "ring",
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
    from raydream import specs

    chosen = specs.parse_parameters("--problem-set", problem_set or [])
    the_problem = specs.build_problem(problem, agents, chosen if data is None else {**chosen, "data": data})
    network_set = specs.parse_parameters("--topology-set", topology_set or [])
    network = specs.build_topology(topology, getattr(the_problem, "agents", agents), network_set)
    folder = Path(directory) if directory is not None else next_free(Path("runs"), "tune")
    tuning = raydream.tune(
        the_problem, network, words(methods), budget=budget if axis == "seconds" else int(budget), axis=axis,
        space=space, search=search, trials=trials, metric=metric, seeds=numbers("--seeds", seeds), seed=seed,
        workers=workers, directory=folder, progress=True,
    )  # fmt: skip
    rows = [(name, float(tuning.winners[name]["score"]), repr(method)) for name, method in tuning.best.items()]
    show(f"best at {budget:g} {axis}, of {len(tuning.trials)} trials", ("method", metric, "parameters"), rows)
    print(f"Trials are kept in {folder}; compare the winners with: raydream compare --best {folder}")


@app.command()
@plainly
def report(
    directory: Annotated[str, typer.Argument(help="A run directory, or one of `raydream compare`.")],
    output: Annotated[str | None, typer.Option(help="The page to write (default: report.html in it).")] = None,
) -> None:
    """Write one self-contained interactive page about a run or a comparison.

    Example: raydream report runs/dream-1
    """
    import raydream

    folder = Path(directory)
    if (folder / "comparison.json").exists():
        found: Any = raydream.Comparison.load(folder)
        for skipped, why in found.skipped:
            print(f"skipped: {skipped}: {why}")
    else:
        found = raydream.load(folder)
    print(f"The report is {found.report(Path(output) if output is not None else folder / 'report.html')}.")


@app.command()
@plainly
def dashboard(
    root: Annotated[str, typer.Argument(help="The folder whose run directories are shown.")] = "runs",
    host: Annotated[str, typer.Option(help="Where to listen; others than this machine need a token.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(help="Default: 8050, or the next free one.")] = None,
    page: Annotated[str, typer.Option(help="The page to begin with: /, /run, /compare, /new, /lab, /theory.")] = "/",
    browser: Annotated[bool, typer.Option(help="Open it in a browser.")] = False,
) -> None:
    """Watch, compare, start, stop and resume runs in a browser; try networks; read off the theory.

    Example: raydream dashboard runs --browser
    """
    from raydream.dashboard import serve

    serve(root, host=host, port=port, page=page, browser=browser)


@app.command()
@plainly
def data(
    name: Annotated[str | None, typer.Argument(help="A data set to load (and download if need be).")] = None,
) -> None:
    """List the known data sets, or load one and describe it.

    Example: raydream data a9a
    """
    from raydream.data import load
    from raydream.data.store import KNOWN

    if name is None:
        rows = ((one, known.rows, known.positives, known.features) for one, known in KNOWN.items())
        show("known data sets (looked for in $RAYDREAM_DATA, then in the cache, then downloaded)",
             ("name", "rows", "positive", "features"), rows)  # fmt: skip
        return
    features, labels = load(name)
    filled = features.nnz / max(1, features.shape[0] * features.shape[1])
    columns = ("name", "rows", "positive", "features", "nonzeros", "density")
    row = (name, features.shape[0], int((labels > 0).sum()), features.shape[1], int(features.nnz), float(filled))
    show("data set", columns, [row])


@app.command()
@plainly
def topology(
    names: Annotated[list[str] | None, typer.Argument(help="Topologies (default: all that need no parameter).")] = None,
    agents: Annotated[int, typer.Option(help="Number of agents.")] = 8,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter, such as self_weight=0.999.")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="Mix until disagreement has shrunk to this share.")] = 1e-6,
) -> None:
    """Spectral facts of networks, and the rounds they need to mix: gossip against FastMix.

    Example: raydream topology ring torus --agents 16 --tolerance 1e-3
    """
    from raydream import checks, specs

    checks.positive("tolerance", tolerance)
    parameters = specs.parse_parameters("--set", setting or [])
    rows, remarks = [], []
    for name in names or ["ring", "path", "grid", "torus", "star", "complete", "exponential"]:
        network = specs.build_topology(name, agents, parameters)
        rounds = [network.rounds_to_mix(tolerance, *how) for how in MIXING_COLUMNS.values()]
        rows.append((network.name, network.edges, network.second_eigenvalue, network.smallest_eigenvalue,
                     network.spectral_gap, *rounds))  # fmt: skip
        remarks += [f"{network.name}: {remark}" for remark in network.remarks]
    columns = ("topology", "edges", "lambda_2", "lambda_m", "gap", *MIXING_COLUMNS)
    show(f"{agents} agents; rounds to shrink disagreement to {tolerance:g}", columns, rows)
    for remark in remarks:
        print(remark)


MIXING_COLUMNS = {
    "gossip": ("gossip", "optimal"),
    "FastMix": ("fastmix", "optimal"),
    "FastMix (paper's momentum)": ("fastmix", "paper"),
}


@app.command()
@plainly
def params(
    epsilon: Annotated[float, typer.Option(help="Wanted norm of the gradient of P.")],
    L: Annotated[float | None, typer.Option("--L", help="Average smoothness.")] = None,
    mu: Annotated[float | None, typer.Option(help="Strong concavity.")] = None,
    psi0: Annotated[float | None, typer.Option(help="P(x0) - P* + (P(x0) - f(x0, y0)) / 8.")] = None,
    n: Annotated[int | None, typer.Option(help="Samples per agent (offline).")] = None,
    sigma: Annotated[float | None, typer.Option(help="Standard deviation of a gradient (online).")] = None,
    problem: Annotated[str | None, typer.Option(help="Take L, mu, psi0 and n or sigma from this problem.")] = None,
    problem_set: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Its parameters.")] = None,
    agents: Annotated[int, typer.Option(help="Number of agents.")] = 8,
    topology: Annotated[str, typer.Option(help="The network, for its spectral gap.")] = "ring",
    topology_set: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Its parameters.")] = None,
) -> None:
    """The constants that the DREAM paper's theorem prescribes, and the price it predicts.

    Example: raydream params --epsilon 0.1 --L 10 --mu 1 --psi0 1 --n 1000
    """
    from dataclasses import asdict

    from raydream import specs, theory

    network = specs.build_topology(topology, agents, specs.parse_parameters("--topology-set", topology_set or []))
    if problem is not None:
        chosen = specs.build_problem(problem, agents, specs.parse_parameters("--problem-set", problem_set or []))
        found = theory.parameters_for(chosen, network, epsilon)
    else:
        given = {"L": L, "mu": mu, "psi0": psi0}
        missing = [f"--{name}" for name, value in given.items() if value is None]
        if missing:
            raise ValueError(f"give {', '.join(missing)}, or a --problem to take them from.")
        found = theory.dream_parameters(
            L=L, mu=mu, psi0=psi0, epsilon=epsilon, m=agents, delta=network.spectral_gap, n=n, sigma=sigma  # type: ignore[arg-type]
        )  # fmt: skip
    show(f"DREAM for ||grad P|| <= {epsilon:g} on {network.name}", ("constant", "value"), asdict(found).items())


@app.command()
@plainly
def methods() -> None:
    """The methods, and what each costs.

    Example: raydream methods
    """
    from raydream.algorithms.table import COLUMNS, table

    for title, chosen in (
        ("costs", ("name", "python", "arrays", "sfo", "rounds", "total_sfo", "total_rounds")),
        (
            "what they assume, and where they come from",
            ("name", "setting", "constraint", "covered", "reference", "source"),
        ),
    ):
        rows = ([getattr(row, column) for column in chosen] for row in table())
        show(f"methods: {title}", [COLUMNS[column] for column in chosen], rows)


def show_history(title: str, history: Any) -> None:
    """At most a dozen rows of a history, evenly spread, the last included."""
    step = max(1, -(-len(history) // 11))
    chosen = history.iloc[sorted({*range(0, len(history), step), len(history) - 1})]
    show(title, chosen.columns, chosen.itertuples(index=False))


def finish(result: Any, folder: Path, title: str) -> None:
    """The table, the outcome, and what happened on the way."""
    show_history(title, result.history)
    for event in result.recoveries:
        print(f"recovered: {event['reason']}; rolled back to iteration {event['rolled_back_to']}")
    print(f"{result.outcome}: {result.reason}. Saved in {folder}.")


def show_comparison(comparison: Any, target: float | None, title: str) -> None:
    """What each method reached and paid, and what it took to reach a target."""

    runs = comparison.runs
    finished = runs[runs.outcome != "failed"]
    rows = []
    for method, group in finished.groupby("method", sort=False):
        outcomes = ", ".join(f"{count} {name}" for name, count in group.outcome.value_counts().items())
        medians = [float(group[column].median()) for column in ("primal", "grad_norm", "sfo", "rounds", "bytes")]
        rows.append((method, outcomes, *medians))
    columns = ("method", "runs", "P", "||grad P||", "SFO", "rounds", "bytes")
    show(f"{title}: medians over seeds at the end", columns, rows)
    for failed in runs[runs.outcome == "failed"].itertuples():
        print(f"failed: {failed.method}, seed {failed.seed}: {failed.reason}")
    if finished.empty:
        return
    if target is None:  # what half of the methods reach
        ends = finished.groupby("method").primal.quantile(0.5, interpolation="higher")
        target = float(ends.quantile(0.5, interpolation="higher"))
    reach = comparison.to_reach(target, metric="primal")
    prices = ("sfo", "rounds", "bytes", "seconds")
    table = [
        (row.method, f"{row.reached} of {row.seeds}", *(spread(row, price) for price in prices))
        for row in reach.itertuples()
    ]
    show(
        f"to reach P <= {target:.4g}: medians (quartiles)",
        ("method", "reached", "SFO", "rounds", "bytes", "seconds"),
        table,
    )


def spread(row: Any, price: str) -> str:
    """Median and quartiles, or that it was not reached."""
    digits = ",.2f" if price == "seconds" else ",.0f"
    median, low, high = (float(getattr(row, name)) for name in (price, f"{price}_low", f"{price}_high"))
    return "not reached" if median == float("inf") else f"{median:{digits}} ({low:{digits}}-{high:{digits}})"


def words(text: str) -> list[str]:
    """A list written with commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def numbers(option: str, text: str) -> list[int]:
    """Whole numbers written with commas."""
    found = words(text)
    if not found or not all(word.isdigit() for word in found):
        raise ValueError(f"`{option}` must be whole numbers such as 0,1,2; got {text!r}.")
    return [int(word) for word in found]


def configured(
    backend: str, agents_per_actor: str, links: str = "direct", address: str | None = None, placement: str = "spread"
) -> Any:
    """The backend that the options describe."""
    from raydream import checks
    from raydream.backends.local import LocalBackend
    from raydream.backends.ray import RayBackend

    if checks.choice("backend", backend, ("ray", "local")) == "local":
        return LocalBackend()
    words = agents_per_actor.split(",")
    if not all(word.strip().isdigit() for word in words) and agents_per_actor != "auto":
        raise ValueError(
            f"`--agents-per-actor` must be a number, auto, or sizes such as 3,5; got {agents_per_actor!r}."
        )
    sizes = [int(word) for word in words] if agents_per_actor != "auto" else []
    packing = "auto" if not sizes else sizes[0] if len(sizes) == 1 else sizes
    return RayBackend(agents_per_actor=packing, links=links, address=address, placement=placement)
