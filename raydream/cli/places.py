"""The options of Ray, which all commands share that have something run there, and the backend that they describe.

A command names them as `**ray: Any`, under one of the decorators; they arrive by the names of `RayBackend`'s settings.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from raydream.backends.protocol import Backend

AgentsPerActor = Annotated[
    str | None, typer.Option(help="Agents hosted by one actor: a number, auto, or sizes such as 3,5.")
]
Links = Annotated[str | None, typer.Option(help="How actors reach each other: `raydream backends` lists the ways.")]
Address = Annotated[str | None, typer.Option(help="A running Ray, such as host:6379 (default: one of its own).")]
Placement = Annotated[str | None, typer.Option(help="spread or one-per-node.")]
CpusPerActor = Annotated[
    float | None, typer.Option(help="CPUs that Ray reserves for each actor or trial (default: 1).")
]
Patience = Annotated[
    float | None, typer.Option(help="Seconds without progress, or without room on the cluster (default: 300).")
]
OnLoss = Annotated[str | None, typer.Option(help="Where room is lost: wait, or repack agents onto what is left.")]
Autoscale = Annotated[bool | None, typer.Option("--autoscale", help="The cluster grows: wait for what it lacks.")]
Resource = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=AMOUNT", help="What else each actor, or trial, needs of its node: GPU=1."),
]
Label = Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="A label that their nodes must have.")]
Log = Annotated[str | None, typer.Option(help="A file for what actors, or trials, print.")]
Ship = Annotated[
    list[str] | None,
    typer.Option(metavar="PATH", help="A module of yours that a cluster's other machines lack: mine.py, a folder."),
]
Secure = Annotated[
    bool | None, typer.Option("--secure", help="Encrypt rows that cross a network (extra secure, on every node).")
]

# What any process on a cluster needs, and what agents as actors need besides.
OF_PROCESSES: dict[str, Any] = {
    "address": Address, "cpus_per_actor": CpusPerActor, "patience": Patience, "autoscale": Autoscale,
    "resource": Resource, "label": Label, "log": Log, "ship": Ship,
}  # fmt: skip
OF_AGENTS: dict[str, Any] = {
    "agents_per_actor": AgentsPerActor, "links": Links, "placement": Placement, "on_loss": OnLoss, "secure": Secure,
}  # fmt: skip
SETTINGS = {"resource": "resources", "label": "labels"}  # what an option that can be repeated is called as a setting


def with_actors(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose agents may be actors."""
    return _with_options(command, OF_AGENTS | OF_PROCESSES)


def with_trials(command: Callable[..., None]) -> Callable[..., None]:
    """A command that has trials, each in a process of its own."""
    return _with_options(command, OF_PROCESSES)


def _with_options(command: Callable[..., None], options: Mapping[str, Any]) -> Callable[..., None]:
    """The command with these options in the place of its `**ray`."""
    shape = inspect.signature(command, eval_str=True)
    own = [one for one in shape.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    more = [
        inspect.Parameter(name, own[0].KEYWORD_ONLY, default=None, annotation=kind) for name, kind in options.items()
    ]

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        chosen = {SETTINGS.get(name, name): given.pop(name) for name in options}
        command(**given, **{name: value for name, value in chosen.items() if value not in (None, [])})

    wrapped.__signature__ = shape.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in (*own, *more)}
    return wrapped


def backend_of(name: str, **options: Any) -> "Backend":
    """The backend that the options describe; an option that it does not have is refused."""
    from raydream.backends.registry import BACKENDS
    from raydream.parameters import parameters_of

    kind = BACKENDS.find(name)
    given = {option: value for option, value in options.items() if value is not None}
    said = {setting: option for option, setting in SETTINGS.items()}
    for option in given:
        if option not in parameters_of(kind):
            word = said.get(option, option).replace("_", "-")
            raise ValueError(f"`--{word}` is no option of the backend {name!r}; leave it out.")
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
