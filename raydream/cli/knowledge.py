"""What there is to know without a run: data sets, networks, problems, methods, backends, and what theory prescribes."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from raydream.cli.command import command
from raydream.cli.options import Agents, ProblemSettings, TopologyName, TopologySettings, problem_and_network
from raydream.cli.tables import show

OneOfThem = Annotated[str | None, typer.Argument(help="One of them, for all of its parameters.")]
MIXING_COLUMNS = {
    "gossip": ("gossip", "optimal"),
    "FastMix": ("fastmix", "optimal"),
    "FastMix (paper's momentum)": ("fastmix", "paper"),
}


@command
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


@command
def topology(
    names: Annotated[list[str] | None, typer.Argument(help="Topologies (default: all).")] = None,
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
    from raydream.topology import TOPOLOGIES

    checks.positive("tolerance", tolerance)
    parameters = specs.parse_parameters("--set", setting or [])
    rows, remarks = [], []
    for name in names or TOPOLOGIES:
        try:
            network = specs.build_topology(name, agents, parameters)
        except ValueError as error:
            if names:
                raise
            remarks.append(f"{name}: {error}")
            continue
        rounds = [network.rounds_to_mix(tolerance, *how) for how in MIXING_COLUMNS.values()]
        rows.append((network.name, network.edges, network.second_eigenvalue, network.smallest_eigenvalue,
                     network.spectral_gap, *rounds))  # fmt: skip
        remarks += [f"{network.name}: {remark}" for remark in network.remarks]
    columns = ("topology", "edges", "lambda_2", "lambda_m", "gap", *MIXING_COLUMNS)
    show(f"{agents} agents; rounds to shrink disagreement to {tolerance:g}", columns, rows)
    for remark in remarks:
        print(remark)


@command
def params(
    epsilon: Annotated[float, typer.Option(help="Wanted norm of the gradient of P.")],
    L: Annotated[float | None, typer.Option("--L", help="Average smoothness.")] = None,
    mu: Annotated[float | None, typer.Option(help="Strong concavity.")] = None,
    psi0: Annotated[float | None, typer.Option(help="P(x0) - P* + (P(x0) - f(x0, y0)) / 8.")] = None,
    n: Annotated[int | None, typer.Option(help="Samples per agent (offline).")] = None,
    sigma: Annotated[float | None, typer.Option(help="Standard deviation of a gradient (online).")] = None,
    problem: Annotated[str | None, typer.Option(help="Take L, mu, psi0 and n or sigma from this problem.")] = None,
    problem_set: ProblemSettings = None,
    agents: Agents = None,
    topology: TopologyName = "ring",
    topology_set: TopologySettings = None,
) -> None:
    """The constants that the DREAM paper's theorem prescribes, and the price it predicts.

    Example: raydream params --epsilon 0.1 --L 10 --mu 1 --psi0 1 --n 1000
    """
    import warnings
    from dataclasses import asdict

    from raydream import specs, theory
    from raydream.errors import TheoryWarning

    told: list[Any] = []
    if problem is not None:
        chosen, network = problem_and_network(problem, None, agents, problem_set, topology, topology_set)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", TheoryWarning)
            found = theory.parameters_for(chosen, network, epsilon)
    else:
        chosen_set = specs.parse_parameters("--topology-set", topology_set or [])
        network = specs.build_topology(topology, agents or specs.AGENTS, chosen_set)
        given = {"L": L, "mu": mu, "psi0": psi0}
        missing = [f"--{name}" for name, value in given.items() if value is None]
        if missing:
            raise ValueError(f"give {', '.join(missing)}, or a --problem to take them from.")
        found = theory.dream_parameters(
            L=L, mu=mu, psi0=psi0, epsilon=epsilon, m=agents, delta=network.spectral_gap, n=n, sigma=sigma  # type: ignore[arg-type]
        )  # fmt: skip
    show(f"DREAM for ||grad P|| <= {epsilon:g} on {network.name}", ("constant", "value"), asdict(found).items())
    for remark in told:
        print(remark.message)


@command
def methods(name: OneOfThem = None) -> None:
    """The methods, and what each costs.

    Example: raydream methods dream
    """
    from raydream import checks
    from raydream.algorithms import METHODS
    from raydream.algorithms.table import COLUMNS, table

    if name is not None:
        show_parameters(f"method {name}", METHODS[checks.choice("method", name, METHODS)])
        return

    for title, chosen in (
        ("costs", ("name", "python", "arrays", "sfo", "rounds", "total_sfo", "total_rounds")),
        (
            "what they assume, and where they come from",
            ("name", "setting", "constraint", "covered", "reference", "source"),
        ),
    ):
        rows = ([getattr(row, column) for column in chosen] for row in table())
        show(f"methods: {title}", [COLUMNS[column] for column in chosen], rows)


@command
def problems(name: OneOfThem = None) -> None:
    """The problems that have a name, and what can be said of each.

    Example: raydream problems quadratic
    """
    from raydream.parameters import parameters_of
    from raydream.problems import PROBLEMS

    if name is not None:
        show_parameters(f"problem {name}", PROBLEMS.find(name), without=("agents",))
        return
    rows = ((one, ", ".join(list(parameters_of(make))[1:])) for one, make in PROBLEMS.items())
    show("problems, beside package.module:make of your own", ("name", "parameters (--problem-set NAME=VALUE)"), rows)


@command
def backends() -> None:
    """Where agents can live, and how they reach each other there.

    Example: raydream backends
    """
    from raydream.backends.ray.links import LINKS
    from raydream.backends.registry import BACKENDS
    from raydream.kernels.library import which

    show("backends (--backend)", ("name", "where agents live"), ((name, kind.says) for name, kind in BACKENDS.items()))
    show("links between actors (--links)", ("name", "how"), ((name, kind.says) for name, kind in LINKS.items()))
    print(f"inner loops: {which()}")


def show_parameters(title: str, maker: Callable[..., Any], without: tuple[str, ...] = ()) -> None:
    """What can be said of a thing: name, default, meaning."""
    from raydream.parameters import REQUIRED, parameters_of

    shown = (one for one in parameters_of(maker).values() if one.name not in without)
    rows = ((one.name, "needed" if one.default is REQUIRED else one.default, one.help) for one in shown)
    show(title, ("parameter", "default", "meaning"), rows)
