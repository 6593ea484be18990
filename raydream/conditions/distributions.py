"""What varies, in words: durations such as "exponential-0.001", and failures that come in bursts."""

import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from typing import Any

import numpy as np

from raydream.checks import choice, not_negative, positive, probability
from raydream.types import Array

NUMBER = r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"
WORDS = re.compile(rf"([a-z]+(?:-[a-z]+)*\d*)((?:-{NUMBER})*)")


class Worded:
    """`str` writes it in words from which `from_words` makes it again."""

    word = ""

    def __str__(self) -> str:
        return "-".join([self.word, *map(repr, astuple(self))])  # type: ignore[call-overload]


class Distribution(Worded):
    """Durations in seconds."""

    def draw(self, generator: np.random.Generator, size: int) -> Array:
        """So many durations."""
        raise NotImplementedError


@dataclass(frozen=True)
class Exponential(Distribution):
    """Of this mean: memoryless."""

    mean: float
    word = "exponential"
    __str__ = Worded.__str__

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", positive("mean", self.mean))

    def draw(self, generator: np.random.Generator, size: int) -> Array:
        return self.mean * generator.standard_exponential(size)


@dataclass(frozen=True)
class Uniform(Distribution):
    """Anything between two durations."""

    low: float
    high: float
    word = "uniform"
    __str__ = Worded.__str__

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", not_negative("low", self.low))
        object.__setattr__(self, "high", positive("high", self.high))
        if self.high < self.low:
            raise ValueError(f"`high` must not be below `low`; got {self.low!r} and {self.high!r}.")

    def draw(self, generator: np.random.Generator, size: int) -> Array:
        return self.low + (self.high - self.low) * generator.random(size)


@dataclass(frozen=True)
class LogNormal(Distribution):
    """median exp(spread N(0, 1)): now and then a straggler, the more the larger the spread."""

    median: float
    spread: float
    word = "lognormal"
    __str__ = Worded.__str__

    def __post_init__(self) -> None:
        object.__setattr__(self, "median", positive("median", self.median))
        object.__setattr__(self, "spread", not_negative("spread", self.spread))

    def draw(self, generator: np.random.Generator, size: int) -> Array:
        return self.median * np.exp(self.spread * generator.standard_normal(size))


@dataclass(frozen=True)
class Bursts(Worded):
    """Failures that last, after Gilbert and Elliott: what works fails in a round with the chance `enter`, and what has
    failed works again with the chance `leave`.

    In the long run a share enter / (enter + leave) of rounds is lost, 1 / leave at a time; a run begins in that state.
    """

    enter: float
    leave: float
    word = "bursts"
    __str__ = Worded.__str__

    def __post_init__(self) -> None:
        for name in ("enter", "leave"):
            object.__setattr__(self, name, probability(name, getattr(self, name)))

    @property
    def share(self) -> float:
        """Of rounds that are lost in the long run."""
        return self.enter / (self.enter + self.leave)


DURATIONS: dict[str, type[Worded]] = {kind.word: kind for kind in (Exponential, Uniform, LogNormal)}
FAILURES: dict[str, type[Worded]] = {Bursts.word: Bursts}


def from_words(name: str, text: str, kinds: Mapping[str, type[Worded]], example: str) -> Any:
    """What these words describe: "exponential-0.001", "uniform-0.01-0.05", "lognormal-0.001-1.5", "bursts-0.05-0.5"."""
    found = WORDS.fullmatch(text.strip())
    if found is None:
        raise ValueError(f'`{name}` must be a number, or words such as "{example}"; got {text!r}.')
    kind = kinds[choice(name, found[1], kinds)]
    written = re.findall(rf"-({NUMBER})", found[2])
    numbers: list[Any] = [int(one) if one.isdigit() else float(one) for one in written]
    wanted = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    if len(numbers) != len(wanted):
        form = "-".join([kind.word, *map(str.upper, wanted)])
        raise ValueError(f"`{name}` must read {form}, with numbers; got {text!r}.")
    try:
        return kind(*numbers)
    except ValueError as error:
        raise ValueError(f"`{name}` {text!r} makes no sense: {error}") from None
