"""Durations that vary: distributions that can be written in words, such as "exponential-0.001"."""

import re
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from raydream.checks import choice, not_negative, positive
from raydream.types import Array

NUMBER = r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"
WORDS = re.compile(rf"([a-z]+)((?:-{NUMBER})*)")


class Distribution:
    """Durations in seconds; `str` writes it in words from which `distribution` makes it again."""

    word = ""

    def draw(self, generator: np.random.Generator, size: int) -> Array:
        """So many durations."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "-".join([self.word, *map(repr, astuple(self))])  # type: ignore[call-overload]


@dataclass(frozen=True)
class Exponential(Distribution):
    """Of this mean: memoryless."""

    mean: float
    word = "exponential"
    __str__ = Distribution.__str__

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
    __str__ = Distribution.__str__

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
    __str__ = Distribution.__str__

    def __post_init__(self) -> None:
        object.__setattr__(self, "median", positive("median", self.median))
        object.__setattr__(self, "spread", not_negative("spread", self.spread))

    def draw(self, generator: np.random.Generator, size: int) -> Array:
        return self.median * np.exp(self.spread * generator.standard_normal(size))


KINDS: dict[str, type[Distribution]] = {kind.word: kind for kind in (Exponential, Uniform, LogNormal)}


def distribution(name: str, text: str) -> Distribution:
    """The distribution that these words describe: "exponential-0.001", "uniform-0.01-0.05", "lognormal-0.001-1.5"."""
    found = WORDS.fullmatch(text.strip())
    if found is None:
        raise ValueError(f'`{name}` must be a number, or words such as "exponential-0.001"; got {text!r}.')
    kind = KINDS[choice(name, found[1], KINDS)]
    numbers: list[Any] = [float(one) for one in re.findall(rf"-({NUMBER})", found[2])]
    wanted = list(kind.__annotations__)
    if len(numbers) != len(wanted):
        form = "-".join([kind.word, *map(str.upper, wanted)])
        raise ValueError(f"`{name}` must read {form}, with numbers; got {text!r}.")
    try:
        return kind(*numbers)
    except ValueError as error:
        raise ValueError(f"`{name}` {text!r} is no distribution: {error}") from None
