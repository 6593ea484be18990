"""Options that several commands have, and what they mean."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from raydream.feedback import tell

if TYPE_CHECKING:
    from raydream.conditions import Conditions
    from raydream.studies.tuning.tuning import Tuning
    from raydream.topology import Topology

ProblemName = Annotated[str, typer.Option(help="A name that `raydream problems` lists, or package.module:make.")]
AnyProblem = Annotated[
    str | None,
    typer.Option(help="A name that `raydream problems` lists, or package.module:make (default: robust-logistic)."),
]
DataName = Annotated[
    str | None, typer.Option(help="Data of a problem on data: a name that `raydream data` lists, or a file.")
]
Agents = Annotated[
    int | None, typer.Option(help="Number of agents (default: 8, or as package.module:make makes them).")
]
MethodName = Annotated[str, typer.Option(help="A name that `raydream methods` lists, or package.module:Class.")]
AnyTopology = Annotated[
    str | None,
    typer.Option(help="A name that `raydream topology` lists (default: ring, with self_weight=0.5 if nothing is set)."),
]
Lazy = Annotated[bool, typer.Option("--lazy", help="Mix with (W + I)/2, which is positive semidefinite.")]
TopologyName = Annotated[str, typer.Option(help="A name that `raydream topology` lists.")]
MethodSettings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method, such as p=0.2.")
]
ProblemSettings = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="A parameter of the problem, such as theta=0.01.")
]
TopologySettings = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="A parameter of the topology: self_weight=0.999.")
]
Condition = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Of network and machines: latency=0.05, bandwidth=1e7, drop=0.1, compression=top-0.1.",
    ),
]
MaxSimSeconds = Annotated[float | None, typer.Option(help="Stop at so much simulated time; needs --condition.")]
Check = Annotated[
    bool, typer.Option("--check/--no-check", help="Look first whether a problem of your own contradicts itself.")
]
EvaluationEvery = Annotated[int, typer.Option(help="Measure P at every so-many-th record, and at the last.")]
BackendName = Annotated[str, typer.Option(help="Where agents live: a name that `raydream backends` lists.")]


def words(text: str) -> list[str]:
    """A list written with commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def numbers(option: str, text: str) -> list[int]:
    """Whole numbers written with commas."""
    found = words(text)
    if not found or not all(word.isdigit() for word in found):
        raise ValueError(f"`{option}` must be whole numbers such as 0,1,2; got {text!r}.")
    return [int(word) for word in found]


def problem_and_network(
    problem: str,
    data: str | None,
    agents: int | None,
    problem_set: list[str] | None,
    topology: str | None,
    topology_set: list[str] | None,
    lazy: bool = False,
) -> tuple[Any, "Topology"]:
    """The problem, and the network of its agents, that the options describe; without any, the usual network."""
    from raydream import specs
    from raydream.studies import defaults

    built = problem_of(problem, data, agents, problem_set)
    network_set = specs.parse_parameters("--topology-set", topology_set or [])
    network_set |= {specs.LAZY: True} if lazy else {}
    if topology is None and not network_set:
        network_set = dict(defaults.TOPOLOGY[1])
    name, size = topology or defaults.TOPOLOGY[0], getattr(built, "agents", agents or specs.AGENTS)
    return built, specs.build_topology(name, size, network_set)


def problem_of(problem: str, data: str | None, agents: int | None, problem_set: list[str] | None) -> Any:
    """The problem that the options describe."""
    from raydream import specs

    chosen = specs.parse_parameters("--problem-set", problem_set or [])
    tell(f"building {problem}" + (f" on {data}" if data else ""))
    return specs.build_problem(problem, agents, chosen if data is None else {**chosen, "data": data})


def refuse_contradiction(
    tuning: "Tuning",
    problem: str | None,
    data: str | None,
    agents: int | None,
    problem_set: list[str] | None,
    topology: str | None,
    topology_set: list[str] | None,
) -> None:
    """Refuse an option that says something else than what was tuned on."""
    from raydream import specs

    kept = tuning.about.get("setting") or {}
    tuned = {part: (kept.get(part) or {}).get("spec") or {} for part in ("problem", "topology")}
    parameters = {part: tuned[part].get("parameters", {}) for part in tuned}
    said: list[tuple[str, Any, Any]] = [
        ("--problem", problem, tuned["problem"].get("name")),
        ("--data", data, parameters["problem"].get("data")),
        ("--agents", agents, (kept.get("topology") or {}).get("m")),
        ("--topology", topology, tuned["topology"].get("name")),
    ]
    for option, words_given, part in (
        ("--problem-set", problem_set, "problem"),
        ("--topology-set", topology_set, "topology"),
    ):
        for name, value in specs.parse_parameters(option, words_given or []).items():
            said.append((f"{option} {name}", value, parameters[part].get(name)))
    for option, value, before in said:
        if value is not None and value != before:
            raise ValueError(
                f"`{option}` contradicts `--best`, which was tuned with {before!r}; got {value!r}. Leave it out, or "
                "tune on that."
            )


def conditions_of(words_given: list[str] | None) -> "Conditions | None":
    """The conditions that the options describe; None where there are none."""
    from raydream import specs
    from raydream.conditions.conditions import conditions_from

    return conditions_from(specs.parse_parameters("--condition", words_given), "--condition") if words_given else None
