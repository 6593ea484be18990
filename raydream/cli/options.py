"""Options that several commands have, and what they mean."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from raydream.feedback import tell

if TYPE_CHECKING:
    from raydream.backends.protocol import Backend
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
AnyTopology = Annotated[str | None, typer.Option(help="A name that `raydream topology` lists (default: ring).")]
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
AgentsPerActor = Annotated[
    str | None, typer.Option(help="Agents hosted by one actor: a number, auto, or sizes such as 3,5.")
]
Links = Annotated[str | None, typer.Option(help="How actors reach each other: `raydream backends` lists the ways.")]
Address = Annotated[str | None, typer.Option(help="A running Ray, such as host:6379 (default: one of its own).")]
Placement = Annotated[str | None, typer.Option(help="spread or one-per-node.")]
CpusPerActor = Annotated[float | None, typer.Option(help="CPUs that Ray reserves for each actor (default: 1).")]
Patience = Annotated[
    float | None, typer.Option(help="Seconds without progress, or without room on the cluster (default: 300).")
]
OnLoss = Annotated[str | None, typer.Option(help="Where room is lost: wait, or repack agents onto what is left.")]
Autoscale = Annotated[bool | None, typer.Option("--autoscale", help="The cluster grows: wait for what it lacks.")]
Resource = Annotated[
    list[str] | None, typer.Option(metavar="NAME=AMOUNT", help="What else each actor needs of its node: GPU=1.")
]
Label = Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="A label that actors' nodes must have.")]
Log = Annotated[str | None, typer.Option(help="A file for what actors print.")]
Ship = Annotated[
    list[str] | None,
    typer.Option(metavar="PATH", help="A module of yours that a cluster's other machines lack: mine.py, a folder."),
]


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
    topology: str,
    topology_set: list[str] | None,
) -> tuple[Any, "Topology"]:
    """The problem, and the network of its agents, that the options describe."""
    from raydream import specs

    built = problem_of(problem, data, agents, problem_set)
    network_set = specs.parse_parameters("--topology-set", topology_set or [])
    return built, specs.build_topology(topology, getattr(built, "agents", agents or specs.AGENTS), network_set)


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


def backend_of(name: str, **options: Any) -> "Backend":
    """The backend that the options describe; an option that it does not have is refused."""
    from raydream.backends.registry import BACKENDS
    from raydream.parameters import parameters_of

    kind = BACKENDS.find(name)
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in parameters_of(kind):
            raise ValueError(f"`--{option.replace('_', '-')}` is no option of the backend {name!r}; leave it out.")
    for words_of in ("resources", "labels"):
        if words_of in given:
            given[words_of] = pairs(f"--{words_of[:-1]}", given[words_of])
    given |= {"num_gpus": given["resources"].pop("GPU")} if "GPU" in given.get("resources", {}) else {}
    if "agents_per_actor" in given:
        given["agents_per_actor"] = packing(given["agents_per_actor"])
    made: Backend = kind(**given)
    return made


def pairs(option: str, words_given: list[str]) -> dict[str, Any]:
    """NAME=VALUE by name; amounts of resources are numbers."""
    found: dict[str, Any] = {}
    for word in words_given:
        name, equals, value = word.partition("=")
        if not (equals and name and value):
            raise ValueError(f"`{option}` must read name=value; got {word!r}.")
        found[name] = amount(option, value) if option == "--resource" else value
    return found


def amount(option: str, text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"`{option}` must give a number, such as GPU=1; got {text!r}.") from None


def packing(text: str) -> int | str | list[int]:
    """A number, auto, or sizes such as 3,5."""
    sizes = text.split(",")
    if text == "auto":
        return text
    if not all(size.strip().isdigit() for size in sizes):
        raise ValueError(f"`--agents-per-actor` must be a number, auto, or sizes such as 3,5; got {text!r}.")
    return int(sizes[0]) if len(sizes) == 1 else [int(size) for size in sizes]
