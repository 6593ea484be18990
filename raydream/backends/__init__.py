"""Where the agents live. A backend opens a session; the driver asks the session for blocks of iterations."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

from raydream.ledger import Ledger
from raydream.problems.protocol import Problem
from raydream.topology import Topology
from raydream.types import Array


@dataclass(frozen=True)
class Plan:
    """One run as every backend needs it: the completed problem, the network, the settled method, seed and start."""

    problem: Problem
    topology: Topology
    method: Any
    seed: int
    start: tuple[Array, Array]


@dataclass
class Snapshot:
    """The run between two steps: iterations done, the state's arrays over all agents, and the bill."""

    iteration: int
    arrays: dict[str, Array]
    ledger: Ledger


@dataclass(frozen=True)
class Keep:
    """A row that the driver wants to see: x of `agent` just before step `iteration`."""

    iteration: int
    agent: int


class Session(Protocol):
    """The agents of one run, alive."""

    def init(self) -> None:
        """Run the method's `init`."""

    def advance(self, first: int, coins: Sequence[bool], keep: Keep | None) -> Array | None:
        """Run steps first, first + 1, ... with these coins; return the row asked for."""

    def snapshot(self) -> Snapshot:
        """Arrays of all agents, in agent order, and the ledger."""

    def close(self) -> None:
        """End the agents."""


class Backend(Protocol):
    """A place where agents can live."""

    def open(self, plan: Plan) -> Session:
        """Start the agents of a run."""

    def describe(self) -> dict[str, Any]:
        """What the run's record says of the backend."""


def arrays_of(state: Any) -> dict[str, Array]:
    """The arrays of a method's state, by name."""
    return {field.name: getattr(state, field.name) for field in fields(state)}


def backend_from(backend: Any) -> Backend:
    """A backend by name, or the configured one that was given."""
    from raydream.backends.local import LocalBackend
    from raydream.checks import choice

    if not isinstance(backend, str):
        configured: Backend = backend
        return configured
    return {"local": LocalBackend}[choice("backend", backend, ("local",))]()
