"""What can be said of a method, a problem or a topology: its parameters, with the rules that their types declare.

A type carries its rule and its meaning:

    Chance = Annotated[float, Rule(checks.probability)]
    p: Annotated[Chance | None, "chance of a large batch; empty: b q / (b q + b_large)"] = None

Whoever asks for a value (the class itself, the command line, a form, a tuning) reads the same declaration.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from raydream import checks

REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "REQUIRED"})()  # instead of a default


@dataclass(frozen=True)
class Rule:
    """What a value must be: `check(name, value)` returns it, or raises a sentence.

    words  the few words that it takes, where it takes words
    """

    check: Callable[[str, Any], Any]
    words: tuple[str, ...] = ()


def one_of(options: Mapping[str, Any] | tuple[str, ...]) -> Rule:
    """One of a few words."""
    words = tuple(options)
    return Rule(lambda name, value: checks.choice(name, value, words), words)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"`{name}` must be true or false; got {value!r}.")
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"`{name}` must be text; got {value!r}.")
    return value


PLAIN: dict[Any, Rule] = {  # what a type without a rule of its own demands
    int: Rule(lambda name, value: checks.whole(name, value, -(2**63))),
    float: Rule(checks.number),
    bool: Rule(_flag, ("false", "true")),
    str: Rule(_text),
}


def at_least(least: int) -> Rule:
    """A whole number not below `least`."""
    return Rule(lambda name, value: checks.whole(name, value, least))


Positive = Annotated[float, Rule(checks.positive)]
NotNegative = Annotated[float, Rule(checks.not_negative)]
Probability = Annotated[float, Rule(checks.probability)]
Whole = Annotated[int, Rule(checks.whole)]
Count = Annotated[int, at_least(1)]


@dataclass(frozen=True)
class Parameter:
    """One of them.

    default   REQUIRED where there is none
    rules     of which a value must meet one; without any, every value will do
    optional  whether None will do: it is settled later, by a rule of the method's or problem's own
    help      what it means, in a few words
    """

    name: str
    default: Any
    rules: tuple[Rule, ...] = ()
    optional: bool = False
    help: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The few words that it takes, if it takes nothing else."""
        return self.rules[0].words if len(self.rules) == 1 else ()

    @property
    def also(self) -> tuple[str, ...]:
        """The words that it takes in the place of a number."""
        return () if self.words else tuple(word for rule in self.rules for word in rule.words)

    def check(self, value: Any) -> None:
        """Refuse a value that meets no rule, in the words of the first."""
        if not self.rules or (value is None and self.optional):
            return
        refusal: Exception | None = None
        for rule in self.rules:
            try:
                rule.check(self.name, value)
                return
            except (ValueError, TypeError) as error:
                refusal = refusal or error
        assert refusal is not None
        raise refusal


def parameters_of(maker: Callable[..., Any]) -> dict[str, Parameter]:
    """The parameters of a dataclass or of a function, by name."""
    return dict(_of_class(maker)) if isinstance(maker, type) else _declared(maker)


@lru_cache(maxsize=256)
def _of_class(kind: type[Any]) -> dict[str, Parameter]:
    """Classes are asked again and again, whenever one of their things is made."""
    return _declared(kind)


def _declared(maker: Callable[..., Any]) -> dict[str, Parameter]:
    hints = _hints(maker)
    if is_dataclass(maker) and isinstance(maker, type):
        given = {field.name: _default(field) for field in fields(maker) if field.init}
    else:
        given = {
            p.name: REQUIRED if p.default is p.empty else p.default
            for p in inspect.signature(maker).parameters.values()
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        }
    return {name: _parameter(name, default, hints.get(name, Any)) for name, default in given.items()}


def check_parameters(thing: Any) -> None:
    """Refuse a wrong value of a dataclass instance, by the name of its field; NumPy's numbers become Python's.

    (Beside arrays of float32 an `np.float64` is not weak: it would make float64 of them.)
    """
    for name, parameter in parameters_of(type(thing)).items():
        value = getattr(thing, name)
        parameter.check(value)
        if isinstance(value, np.number):
            object.__setattr__(thing, name, value.item())


def call(maker: Callable[..., Any], name: str, parameters: Mapping[str, Any], *arguments: Any) -> Any:
    """maker(*arguments, **parameters), with a sentence for a parameter that it does not know, lacks, or refuses."""
    known = dict(list(parameters_of(maker).items())[len(arguments) :])
    anything = any(one.kind is one.VAR_KEYWORD for one in inspect.signature(maker).parameters.values())
    for given, value in parameters.items():
        if given in known:
            known[given].check(value)
        elif not anything:
            checks.choice(f"parameter of {name}", given, known)
    missing = [one.name for one in known.values() if one.default is REQUIRED and one.name not in parameters]
    if missing:
        raise ValueError(f"`{name}` needs {', '.join(f'`{one}`' for one in missing)}; give {missing[0]}=value.")
    return maker(*arguments, **parameters)


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return REQUIRED if field.default is MISSING else field.default


def _hints(maker: Any) -> dict[str, Any]:
    """The types; none where one of them is known to type checkers alone, and no rule can be read."""
    plain = isinstance(maker, type) and not is_dataclass(maker)
    try:
        return get_type_hints(vars(maker).get("__init__", maker) if plain else maker, include_extras=True)
    except (NameError, TypeError):
        return {}


def _parameter(name: str, default: Any, hint: Any) -> Parameter:
    help, rules, optional, free = "", [], default is None, False
    alternatives = [hint]
    while alternatives:
        one = alternatives.pop(0)
        if get_origin(one) is Annotated:
            inner, *notes = get_args(one)
            own = [note for note in notes if isinstance(note, Rule)]
            said = [note for note in notes if isinstance(note, str)]
            help = help or (said[-1] if said else "")
            if own:
                rules += own
            else:
                alternatives.insert(0, inner)
        elif get_origin(one) in (Union, UnionType):
            alternatives[:0] = get_args(one)
        elif get_origin(one) is Literal:
            rules.append(one_of(get_args(one)))
        elif one is NoneType:
            optional = True
        elif one in PLAIN:
            rules.append(PLAIN[one])
        else:
            free = True  # a type of which nothing is known: whoever takes it must look at it
    return Parameter(name, default, () if free else tuple(rules), optional, help)
