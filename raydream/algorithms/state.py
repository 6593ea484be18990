"""What is alive between two steps."""

from dataclasses import dataclass

from raydream.types import Array


@dataclass
class Iterates:
    """Iterates alone, one row per agent."""

    Z: Array


@dataclass
class Tracked:
    """Iterates, gradient estimators and gradient trackers, one row per agent."""

    Z: Array
    G: Array
    S: Array


@dataclass
class Pushed(Tracked):
    """The same by push-sum: iterates that are de-biased, trackers that keep their sum, and the weights of both."""

    P: Array
    Q: Array


@dataclass
class Multiplied:
    """Iterates, gradient estimators, trackers of their x part, and the multipliers of agreement on y."""

    Z: Array
    G: Array
    S: Array
    L: Array
