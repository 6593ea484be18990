"""Where the agents live. A backend opens a session; the driver asks the session for blocks of iterations."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Protocol, TypedDict, runtime_checkable

from raydream.agents.ledger import Ledger
from raydream.backends.plan import Plan as Plan
from raydream.conditions.clock import CLOCK
from raydream.types import Array


@dataclass(frozen=True)
class Keep:
    """A row that the driver wants to see: x of `agent` just before step `iteration`."""

    iteration: int
    agent: int


@dataclass
class Snapshot:
    """A run between two steps: iterations done, the bill, and arrays of all agents in agent order.

    `kept` is the row that was asked for on the way here. A snapshot with every array of the state is all that is
    needed to go on from it, on any backend.
    """

    iteration: int
    ledger: Ledger
    arrays: dict[str, Array] = field(default_factory=dict)
    kept: Array | None = None

    def spent(self) -> dict[str, float]:
        """The bill by the names of columns; under conditions also `dropped`, and the latest agent's `sim_seconds`."""
        clocks, bill = self.arrays.get(CLOCK), self.ledger.as_dict()
        if clocks is None:
            return {**bill}
        return {**bill, "dropped": self.ledger.dropped, "sim_seconds": float(clocks.max())}


# What to collect at the end of a block: the names of arrays, or None for the whole state.
Names = Sequence[str] | None


class Place(TypedDict):
    """Where an actor lives."""

    actor: int
    agents: list[int]
    node: str
    address: str
    pid: int


class Recovery(TypedDict):
    """What happened when actors were lost; `time` is when it was noticed, and the run went on `seconds` later."""

    iteration: int
    rolled_back_to: int
    actors: list[int]
    agents: list[int]
    reason: str
    time: float
    seconds: float


class Session(Protocol):
    """The agents of one run, alive.

    recoveries  what happened to those that were lost
    places      where the actors live; nothing where there are none
    """

    @property
    def recoveries(self) -> list[Recovery]: ...
    @property
    def places(self) -> list[Place]: ...

    def init(self, collect: Names) -> Snapshot:
        """Run the method's `init`."""

    def advance(self, first: int, coins: Sequence[bool], keep: Keep | None, collect: Names) -> Snapshot:
        """Run steps first, first + 1, ... with these coins."""

    def note(self, row: Mapping[str, float]) -> None:
        """Hear what was recorded."""

    def snapshot(self) -> Snapshot:
        """The whole state as it is."""

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from this state."""

    def close(self) -> None:
        """End the agents."""


@runtime_checkable
class Backend(Protocol):
    """A place where agents can live.

    name         by which `raydream.backends.registry.BACKENDS` knows it
    in_process   whether all agents live in the process that runs them, so that whole runs can go side by side
    """

    @property
    def name(self) -> str: ...
    @property
    def in_process(self) -> bool: ...

    def open(self, plan: Plan) -> Session:
        """Start the agents of a run."""

    def describe(self) -> dict[str, Any]:
        """What the run's record says of the backend: its name, and the settings that make it again."""

    def shared(self, agents: int) -> AbstractContextManager[None]:
        """While this lasts, runs of at most so many agents use one and the same place, which is made once."""

    def for_agents(self, agents: int) -> "Backend":
        """The same backend for a run of another number of agents, such as one machine's."""


def arrays_of(state: Any, names: Names = None) -> dict[str, Array]:
    """The arrays of a method's state by name: all of them, or those among `names` that it has."""
    held = [f.name for f in fields(state)] if is_dataclass(state) else list(vars(state))
    return {name: getattr(state, name) for name in held if names is None or name in names}
