"""Problems, topologies and methods from plain words and numbers: what the command line and run.json speak."""

import contextlib
import importlib
import inspect
import json
import sys
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from raydream import checks, topology
from raydream.algorithms import METHODS
from raydream.topology import Topology

Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Spec:
    """How a problem or a topology was named: what builds it again."""

    name: str
    parameters: dict[str, Any]

    @property
    def is_code(self) -> bool:
        """Whether the name is that of a callable, `package.module:make`, and not one of this package's."""
        return ":" in self.name


_SPECS: dict[int, Spec] = {}  # of things that are alive, by their identity


def spec_of(thing: Any) -> Spec | None:
    """How a thing was named, if it was built here."""
    return _SPECS.get(id(thing))


TOPOLOGIES: dict[str, Callable[..., Topology]] = {
    "ring": topology.ring,
    "path": topology.path,
    "grid": topology.grid,
    "torus": topology.torus,
    "star": topology.star,
    "complete": topology.complete,
    "hypercube": topology.hypercube,
    "exponential": topology.exponential,
    "erdos-renyi": topology.erdos_renyi,
    "random-regular": topology.random_regular,
}


def build_method(name: str, parameters: Mapping[str, Any]) -> Any:
    """A method by its name on the command line."""
    kind = METHODS[checks.choice("method", name, METHODS)]
    return _call(kind, name, parameters)


def build_topology(name: str, agents: int, parameters: Mapping[str, Any]) -> Topology:
    """A topology by its builder's name."""
    builder = TOPOLOGIES[checks.choice("topology", name.replace("_", "-"), TOPOLOGIES)]
    built: Topology = _remember(_call(builder, name, parameters, agents), name, parameters)
    return built


def build_problem(name: str, agents: int, parameters: Mapping[str, Any], *, never_from: Path | None = None) -> Any:
    """A problem by name, or by `package.module:make`, a callable of yours that is called with the parameters.

    never_from  a folder from which nothing is imported
    """
    if ":" in name:
        return _remember(_call(_import(name, never_from), name, parameters), name, parameters)
    maker = PROBLEMS[checks.choice("problem", name, PROBLEMS)]
    return _remember(_call(maker, name, parameters, agents), name, parameters)


def _remember(thing: Thing, name: str, parameters: Mapping[str, Any]) -> Thing:
    """Note beside a thing how it was built, so that run.json can say it; what cannot be followed goes without."""
    with contextlib.suppress(TypeError):
        weakref.finalize(thing, _SPECS.pop, id(thing), None).atexit = False
        _SPECS[id(thing)] = Spec(name, dict(parameters))
    return thing


def parse_parameters(option: str, words: list[str]) -> dict[str, Any]:
    """`["p=0.2", "b_large=none"]` as {"p": 0.2, "b_large": None}."""
    parameters = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key.isidentifier():
            raise ValueError(f"`{option}` must read name=value; got {word!r}.")
        parameters[key] = _value(text)
    return parameters


def _value(text: str) -> Any:
    """A number, true, false, none, a list of these, or the text itself."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float | list) else text


def _robust_logistic(
    agents: int,
    *,
    data: str = "synthetic",
    bias: bool = False,
    test: bool = False,
    split: str = "even",
    split_seed: int = 0,
    alpha: float = 0.5,
    scaling: str = "balanced",
    theta: float = 1e-3,
    nu: float = 10.0,
    **synthetic: Any,
) -> Any:
    """Robust logistic regression on a named data set, a file, or synthetic data (samples, features, density, ...)."""
    from raydream.data import load
    from raydream.data import split as split_rows
    from raydream.problems import RobustLogisticRegression

    features, labels = load(data, bias=bias, test=test, **synthetic)
    order = split_rows(labels, agents, split, alpha=alpha, seed=split_seed)
    return RobustLogisticRegression(features[order], labels[order], agents, scaling=scaling, theta=theta, nu=nu)


def _quadratic(agents: int, **parameters: Any) -> Any:
    """A random finite-sum quadratic game (samples, dim_x, dim_y, spread, heterogeneity, curvature, theta, nu, seed)."""
    from raydream.problems import QuadraticGame

    return QuadraticGame.random(agents, **_with_ball(parameters))


def _quadratic_online(agents: int, **parameters: Any) -> Any:
    """A random online quadratic game (dim_x, dim_y, sigma, heterogeneity, curvature, theta, nu, seed)."""
    from raydream.problems import OnlineQuadraticGame

    return OnlineQuadraticGame.random(agents, **_with_ball(parameters))


def _with_ball(parameters: dict[str, Any]) -> dict[str, Any]:
    """`ball=r` constrains y to the ball of that radius."""
    from raydream.constraints import Ball

    radius = parameters.pop("ball", None)
    return parameters if radius is None else {**parameters, "constraint": Ball(radius)}


PROBLEMS: dict[str, Callable[..., Any]] = {
    "robust-logistic": _robust_logistic,
    "quadratic": _quadratic,
    "quadratic-online": _quadratic_online,
}


def _call(maker: Callable[..., Any], name: str, parameters: Mapping[str, Any], *arguments: Any) -> Any:
    """maker(*arguments, **parameters), with a sentence for a parameter that it does not know or lacks."""
    known = inspect.signature(maker).parameters.values()
    names = [p.name for p in known if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)][len(arguments) :]
    if not any(p.kind is p.VAR_KEYWORD for p in known):
        for given in parameters:
            if given not in names:
                checks.choice(f"parameter of {name}", given, names)
    needed = [p.name for p in known if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    missing = [wanted for wanted in needed[len(arguments) :] if wanted not in parameters]
    if missing:
        raise ValueError(f"`{name}` needs {', '.join(f'`{one}`' for one in missing)}; give {missing[0]}=value.")
    return maker(*arguments, **parameters)


def _import(name: str, never_from: Path | None) -> Callable[..., Any]:
    """The callable behind `package.module:make`; modules beside the caller's working folder are found too."""
    module_name, _, attribute = name.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)  # and it stays: actors look for the module along the driver's path
    if never_from is not None:
        shunned = never_from.resolve()
        sys.path[:] = [entry for entry in sys.path if not Path(entry).resolve().is_relative_to(shunned)]
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ValueError(f"`problem` must name an importable module; {module_name!r} is not ({error}).") from error
    maker = getattr(module, attribute, None)
    if not callable(maker):
        raise ValueError(f"`problem` must read package.module:make; {module_name!r} has no callable {attribute!r}.")
    return maker  # type: ignore[no-any-return]
