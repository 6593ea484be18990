"""What there is to know without a run: data sets, networks, problems, methods, backends, and what theory prescribes."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raydream.cli.command import command, said_here
from raydream.cli.options import Agents, Lazy, ProblemSettings, TopologyName, TopologySettings, problem_and_network
from raydream.cli.tables import show

if TYPE_CHECKING:
    from raydream.data import Shards
    from raydream.topology import Topology

OneOfThem = Annotated[str | None, typer.Argument(help="One of them, for all of its parameters.")]
MIXING_COLUMNS = {
    "gossip": ("gossip", "optimal"),
    "FastMix": ("fastmix", "optimal"),
    "FastMix (paper's momentum)": ("fastmix", "paper"),
}


@command
def data(
    name: Annotated[str | None, typer.Argument(help="A data set to load (and download if need be).")] = None,
    agents: Annotated[int | None, typer.Option(help="Deal it to so many agents (default: 8, with --split).")] = None,
    split: Annotated[str | None, typer.Option(help="Who owns which rows: even, sorted, dirichlet, ...")] = None,
    alpha: Annotated[float, typer.Option(help="Of a dirichlet or sizes split: small values skew it.")] = 0.5,
    classes_per_agent: Annotated[int, typer.Option(help="Of a split by classes.")] = 1,
    split_seed: Annotated[int, typer.Option(help="Seed of the split, where it is drawn.")] = 0,
    picture: Annotated[str | None, typer.Option(metavar="FILE.html", help="Draw the split, too.")] = None,
) -> None:
    """List the known data sets, load one and describe it, or show who would own what.

    Example: raydream data a9a --agents 8 --split dirichlet --alpha 0.1
    """
    from raydream.data import load
    from raydream.data.named import named
    from raydream.data.store import KNOWN
    from raydream.parameters import call

    asked = {"--agents": agents, "--split": split, "--picture": picture}
    first = next((option for option, value in asked.items() if value is not None), None)
    if name is None:
        if first is not None:
            raise ValueError(f"`{first}` needs a data set to split; give its name.")
        features, labels = load("synthetic")
        drawn = ("synthetic", labels.size, int((labels > 0).sum()), features.shape[1], "made; any size")
        known = ((one, has.rows, has.positives, has.features,
                  "downloaded" if has.sha256 else "yours: no checksum is published")
                 for one, has in KNOWN.items())  # fmt: skip
        show("known data sets (looked for in $RAYDREAM_DATA, then in the cache, then downloaded)",
             ("name", "rows", "positive", "features", "how it comes"), [drawn, *known])  # fmt: skip
        return
    if first is not None:
        how = dict(split=split or "even", alpha=alpha, classes_per_agent=classes_per_agent, split_seed=split_seed)
        show_split(name, call(named, "data", {"data": name, **how}, 8 if agents is None else agents), picture)
        return
    features, labels = load(name)
    filled = features.nnz / max(1, features.shape[0] * features.shape[1])
    columns = ("name", "rows", "positive", "features", "nonzeros", "density")
    row = (name, features.shape[0], int((labels > 0).sum()), features.shape[1], int(features.nnz), float(filled))
    show("data set", columns, [row])


def show_split(name: str, found: "Shards", picture: str | None) -> None:
    """For each agent its rows, its weight, and the share of every class; drawn, if wished."""
    assert found.classes is not None
    shares = 100 * found.counts / found.sizes[:, None]
    rows = ([agent, size, float(weight), *(round(float(one), 1) for one in share)]
            for agent, size, weight, share in zip(found.names, found.sizes, found.weights, shares, strict=True)
            )  # fmt: skip
    show(f"who owns what of {name}", ("agent", "rows", "weight", *(f"% of {one:+g}" for one in found.classes)), rows)
    print(f"{repr(found)[1:-1].removeprefix('Shards: ')}.")
    if picture is not None:
        found.plot().write_html(picture)
        print(f"The picture is {picture}.")


@command
def topology(
    names: Annotated[list[str] | None, typer.Argument(help="Topologies (default: all).")] = None,
    agents: Annotated[int, typer.Option(help="Number of agents.")] = 8,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter, such as self_weight=0.999.")
    ] = None,
    lazy: Lazy = False,
    tolerance: Annotated[float, typer.Option(help="Mix until disagreement has shrunk to this share.")] = 1e-6,
    schedule: Annotated[
        list[str] | None,
        typer.Option(help="Ways in which links change, such as matchings or ring,star, on the (first) topology."),
    ] = None,
) -> None:
    """Spectral facts of networks, and the rounds they need to mix: gossip against FastMix.

    Example: raydream topology ring torus --agents 16 --tolerance 1e-3 --schedule matchings
    """
    from raydream import checks, specs
    from raydream.topology import TOPOLOGIES

    checks.positive("tolerance", tolerance)
    parameters = specs.parse_parameters("--set", setting or []) | ({specs.LAZY: True} if lazy else {})
    rows, remarks = [], []
    for name in names or TOPOLOGIES:
        try:
            network = specs.build_topology(name, agents, parameters)
        except ValueError as error:
            if names:
                raise
            remarks.append(f"{name}: {error}")
            continue
        rounds = [None if network.directed and how[0] == "fastmix" else network.rounds_to_mix(tolerance, *how)
                  for how in MIXING_COLUMNS.values()]  # fmt: skip
        smallest = None if network.directed else network.smallest_eigenvalue
        rows.append((network.name, network.edges, network.second_eigenvalue, smallest, network.spectral_gap, *rounds))
        if network.directed:
            remarks.append(f"{network.name}: links have a direction; lambda_2 is its size, and FastMix is not for it.")
        remarks += [f"{network.name}: {remark}" for remark in network.remarks]
    columns = ("topology", "edges", "lambda_2", "lambda_m", "gap", *MIXING_COLUMNS)
    show(f"{agents} agents; rounds to shrink disagreement to {tolerance:g}", columns, rows)
    if schedule:
        show_schedules(schedule, specs.build_topology((names or list(TOPOLOGIES))[0], agents, parameters), tolerance)
    for remark in remarks:
        print(said_here(remark))


def show_schedules(schedules: list[str], network: "Topology", tolerance: float) -> None:
    """What is measured of networks that change, as a run of seed 0 has them."""
    from raydream.conditions import Conditions
    from raydream.conditions.schedule import Schedule

    rows = []
    for words in schedules:
        given = Conditions(schedule=words).schedule
        assert isinstance(given, Schedule)
        changing = given.on(network, 0)
        facts = changing.facts()
        kind = "one way" if facts.directed else "both ways"
        period = changing.period or "none"
        rows.append((words, kind, period, facts.lam, changing.rounds_to_mix(tolerance)))
    columns = ("schedule", "links", "period", "left by a round, on average", "gossip")
    show(f"schedules on {network.name}; rounds to shrink disagreement to {tolerance:g}", columns, rows)


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
    lazy: Lazy = False,
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
        chosen, network = problem_and_network(problem, None, agents, problem_set, topology, topology_set, lazy)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", TheoryWarning)
            found = theory.parameters_for(chosen, network, epsilon)
    else:
        chosen_set = specs.parse_parameters("--topology-set", topology_set or []) | ({specs.LAZY: True} if lazy else {})
        network = specs.build_topology(topology, agents or specs.AGENTS, chosen_set)
        given = {"L": L, "mu": mu, "psi0": psi0}
        missing = [f"--{name}" for name, value in given.items() if value is None]
        if missing:
            raise ValueError(f"give {', '.join(missing)}, or a --problem to take them from.")
        found = theory.dream_parameters(
            L=L, mu=mu, psi0=psi0, epsilon=epsilon, m=network.m, delta=network.spectral_gap, n=n, sigma=sigma  # type: ignore[arg-type]
        )  # fmt: skip
    show(f"DREAM for ||grad P|| <= {epsilon:g} on {network.name}", ("constant", "value"), asdict(found).items())
    for remark in told:
        print(said_here(str(remark.message)))


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
