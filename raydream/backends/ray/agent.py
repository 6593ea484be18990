"""The actor: one agent, or several when packed, with its shards, its estimators and its links."""

import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from raydream.agents import Agents
from raydream.agents.ledger import Ledger
from raydream.agents.streams import Streams
from raydream.backends.host import Host
from raydream.backends.protocol import Keep, Names, Snapshot
from raydream.backends.ray.carrier import Carrier
from raydream.backends.ray.links import Links, Terms
from raydream.backends.ray.neighbourhood import Neighbourhood
from raydream.backends.ray.routing import Route
from raydream.conditions import Conditions
from raydream.conditions.medium import Medium
from raydream.program import frame_of, heard_as
from raydream.types import Array

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class Failure:
    """An exception on an actor, as a value: the driver decides what it means."""

    error: Exception
    trace: str = field(repr=False)


class Whereabouts(NamedTuple):
    """The node and process that host an actor."""

    node: str
    address: str
    pid: int


def failing_by_value(
    method: Callable[Concatenate["Agent", P], T],
) -> Callable[Concatenate["Agent", P], T | Failure]:
    """Return an exception as a `Failure` instead of raising it through Ray."""

    @wraps(method)
    def wrapped(agent: "Agent", /, *arguments: P.args, **settings: P.kwargs) -> T | Failure:
        try:
            return method(agent, *arguments, **settings)
        except Exception as error:
            return Failure(_sendable(error), traceback.format_exc())

    return wrapped


class Agent:
    """A plain class, made remote where actors are created. It knows its own shards and nothing of the others'."""

    def __init__(self, number: int, links: type[Links], terms: Terms, called: str = "") -> None:
        threadpool_limits(1, "blas")  # threaded sums have other bits
        self.number, self._called = number, called
        self.links = links(number, terms)
        self._ledger = Ledger()

    def __repr__(self) -> str:
        """As Ray's dashboard and logs show it."""
        return f"Agent({self._called or f'actor {self.number}'})"

    def where(self) -> Whereabouts:
        """The node and process that host this actor."""
        import ray

        address: str = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
        return Whereabouts(ray.get_runtime_context().get_node_id(), address, os.getpid())

    @failing_by_value
    def build(
        self,
        route: Route,
        shards: Sequence[Any],
        method: Any,
        seed: int,
        world: dict[str, Any],
        conditions: Conditions | None = None,
    ) -> None:
        """Receive the agents' own data and build their rows."""
        self._route = route
        self._medium: Medium | None = None
        if conditions is not None and route.wires is not None:
            dtype = world["start"][0].dtype
            self._medium = Medium(conditions, route.wires, route.W, seed, dtype, route.changing)
        agents = Agents(route.hosted, shards, streams=Streams(seed), **world)
        self._host = Host(method, agents, self._exchange, self._medium)
        self._neighbourhood = Neighbourhood(route, self.links, agents.dtype)

    @failing_by_value
    def listen(self, host: str, epoch: int) -> Any:
        """Be ready for the neighbours, and say what they need to know."""
        return self.links.listen(host, epoch)

    @failing_by_value
    def connect(self, peers: Mapping[int, Any]) -> None:
        """Link with the neighbouring actors, by the contact of each."""
        self.links.connect(peers)

    @failing_by_value
    def init(self, collect: Names) -> Snapshot:
        """Run the method's `init`."""
        self._forget()
        self._host.init()
        return self._snapshot(collect)

    @failing_by_value
    def advance(self, first: int, coins: Sequence[bool], keep: Keep | None, collect: Names) -> Snapshot:
        """Run steps first, first + 1, ..."""
        kept = self._host.advance(first, coins, keep)
        return self._snapshot(collect, kept)

    @failing_by_value
    def snapshot(self) -> Snapshot:
        """The state as it is."""
        return self._snapshot(None)

    @failing_by_value
    def restore(self, iteration: int, arrays: dict[str, Array]) -> None:
        """Go on from these rows; the bill starts again from zero."""
        self._forget()
        self._host.restore(iteration, {name: np.array(array) for name, array in arrays.items()})

    def deliver(self, epoch: int, round: int, sender: int, payload: Any) -> None:
        """A neighbour's frame, where links go through Ray."""
        self.links.deliver(epoch, round, sender, payload)

    def abort(self, epoch: int) -> None:
        """Stop waiting for neighbours, unless the links have been made anew since."""
        if epoch == self.links.epoch:
            self.links.abort()

    def beat(self) -> None:
        """Answer: this process is alive."""

    def waits(self) -> tuple[int, ...]:
        """The actors that this one waits for."""
        return self.links.waits_for

    def _exchange(self, said: Any, bytes: int) -> Any:
        """One round: rows to the neighbours, rows from the neighbours, and their weighted sums."""
        if self._medium is not None:
            return self._medium.exchange(said, bytes, Carrier(self.links, self._route), self._ledger)
        heard = self._neighbourhood.hear(frame_of(said))
        self._ledger.bill_round(self._route.messages, bytes)
        return heard_as(said, heard)

    def _forget(self) -> None:
        self._ledger = Ledger()
        self._host.agents.sfo = 0

    def _snapshot(self, collect: Names, kept: Array | None = None) -> Snapshot:
        """This actor's rows and bill, the latter since it was built or restored."""
        self._ledger.sfo = self._host.agents.sfo
        return Snapshot(self._host.iteration, self._ledger.copy(), self._host.arrays(collect), kept)


def _sendable(error: Exception) -> Exception:
    """The error itself if it survives pickling, else its text."""
    from ray import cloudpickle

    try:
        cloudpickle.loads(cloudpickle.dumps(error))  # type: ignore[no-untyped-call]
        return error
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
