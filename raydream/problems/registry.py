"""The problems by name: makers that the command line, forms and records call with words and numbers."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from raydream.constraints import Ball
from raydream.data.named import named
from raydream.data.synthetic import synthetic
from raydream.parameters import Positive, parameters_of
from raydream.registry import Registry

Make = TypeVar("Make", bound=Callable[..., Any])
Kind = TypeVar("Kind", bound=type[Any])
Radius = Annotated[Positive | None, "radius of the ball that y is kept in; empty: y is free"]

# Every maker takes the number of agents first, and says what else it takes in its signature.
PROBLEMS: Registry[Callable[..., Any]] = Registry("problem", whole="raydream.problems.everything")


def maker(name: str) -> Callable[[Make], Make]:
    """make(agents, *, ...) is known by this name."""

    def known(make: Make) -> Make:
        PROBLEMS.add(name, make)
        return make

    return known


def maker_on_data(name: str) -> Callable[[Make], Make]:
    """make(shards, *, ...) is known by this name, and takes also what says which data these are, and who owns what."""

    def known(make: Make) -> Make:
        own = [one for one in inspect.signature(make).parameters.values() if one.kind is one.KEYWORD_ONLY]
        rows = [*inspect.signature(named).parameters.values(), *inspect.signature(synthetic).parameters.values()]

        def from_names(agents: int, **given: Any) -> Any:
            about = {one.name: given.pop(one.name) for one in own if one.name in given}
            return make(named(agents, **given), **about)

        free = [one for one in rows[1:] if one.kind is not one.VAR_KEYWORD]
        PROBLEMS.add(name, _says(from_names, free + own, make))
        return make

    return known


def maker_at_random(name: str) -> Callable[[Kind], Kind]:
    """The class's random(agents, *, ...) is known by this name; a `constraint` becomes a ball, said by its radius."""

    def known(kind: Kind) -> Kind:
        own = [one for one in inspect.signature(kind.random).parameters.values() if one.name != "agents"]
        free = [one for one in own if one.name != "constraint"]

        def drawn(agents: int, *, ball: float | None = None, **given: Any) -> Any:
            return kind.random(agents, **given, **({} if ball is None else {"constraint": Ball(ball)}))

        ball = [inspect.Parameter("ball", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Radius)]
        PROBLEMS.add(name, _says(drawn, free + (ball if len(free) < len(own) else []), kind))
        return kind

    return known


def _says(make: Callable[..., Any], parameters: list[inspect.Parameter], thing: Any) -> Callable[..., Any]:
    """The maker with a signature that says what it takes beside the number of agents; named after what it makes."""
    first = inspect.Parameter("agents", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=int)
    rest = [one.replace(kind=one.KEYWORD_ONLY) for one in parameters]
    make.__signature__ = inspect.Signature([first, *rest])  # type: ignore[attr-defined]
    make.__annotations__ = {one.name: one.annotation for one in (first, *rest)}
    make.__name__, make.__doc__, make.__module__ = thing.__name__, thing.__doc__, thing.__module__
    return make


def takes_data(name: str) -> bool:
    """Whether a problem is posed on data."""
    return "data" in parameters_of(PROBLEMS[name])


def built_in(problem: Any) -> bool:
    """Whether a problem is one of the package's own: of a class that stands in the module of one of these makers."""
    return type(problem).__module__ in {make.__module__ for make in PROBLEMS.values()}


def markdown() -> str:
    """The problems as the README has them: the name, the class, and the first line of what it says of itself."""
    rows = [f"| {name} | {make.__name__} | {_first_line(make)} |" for name, make in PROBLEMS.items()]
    return "\n".join(["| problem | in Python | what it is |", "| --- | --- | --- |", *rows])


def _first_line(make: Callable[..., Any]) -> str:
    return (make.__doc__ or "").partition("\n")[0].replace("|", "\\|")
