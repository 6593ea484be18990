"""Methods, and classes of methods, by the names under which a study keeps them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from raydream.algorithms import METHODS
from raydream.algorithms.method import kind_of
from raydream.checks import whole
from raydream.specs import build_method, method_kind
from raydream.storage.describe import name_of

NAMES = re.compile(r"\w[\w .+=-]*")


def named_methods(methods: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """The methods by names that can be folders; those of a list are named as on the command line, made unique."""
    if isinstance(methods, Mapping):
        named = {str(name): _method(method) for name, method in methods.items()}
    else:
        named = {}
        for method in [methods] if isinstance(methods, str) or not isinstance(methods, Iterable) else methods:
            built, number = _method(method), 1
            base = name = name_of(kind_of(built))
            while name in named:
                number += 1
                name = f"{base}-{number}"
            named[name] = built
    _refuse_none(named)
    for name in named:
        if not NAMES.fullmatch(name):
            raise ValueError(f"`methods` must have names of letters, digits, spaces and . + = - _; got {name!r}.")
    return named


def named_kinds(methods: Mapping[str, Any] | Iterable[Any]) -> dict[str, type[Any]]:
    """The classes of methods by label; a name that is not known is answered with the nearest."""
    if isinstance(methods, Mapping):
        kinds = {str(label): _kind(method) for label, method in methods.items()}
    else:
        several = map(_kind, [methods] if isinstance(methods, str | type) else methods)
        kinds = {name_of(kind): kind for kind in several}
    _refuse_none(kinds)
    return kinds


def kind_again(name: str, label: str, given: Mapping[str, type[Any]]) -> type[Any]:
    """The class that went by this name in an earlier study: one of this package's, or given by its label."""
    kind = given.get(label) or METHODS.get(name)
    if kind is None:
        raise ValueError(f"{label!r} is not one of this package's methods; give its class in `methods`")
    return kind


def checked_seeds(seeds: Iterable[int]) -> list[int]:
    """Different whole numbers, at least one."""
    numbers = [whole("seeds", seed) for seed in ([seeds] if isinstance(seeds, int) else seeds)]
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"`seeds` must be different whole numbers, at least one; got {numbers}.")
    return numbers


def _method(method: Any) -> Any:
    """A method object; a bare name is refused with what it lacks, or with the nearest name."""
    return build_method(method, {}) if isinstance(method, str) else method


def _kind(method: Any) -> type[Any]:
    if isinstance(method, str):
        return method_kind(method)
    if not isinstance(method, type):
        raise TypeError(f"`methods` must hold names or classes, whose parameters are to be found; got {method!r}.")
    return method


def _refuse_none(named: Mapping[str, Any]) -> None:
    if not named:
        raise ValueError("`methods` must name at least one method; got none.")
