"""The actor: one agent, or several when packed, with its shards, its estimators and its links."""

import os
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from raydream.agents import Agents
from raydream.agents.ledger import Ledger
from raydream.agents.streams import Streams
from raydream.backends.host import Host
from raydream.backends.protocol import Keep, Names
from raydream.backends.ray.links.ray_calls import RayLinks
from raydream.backends.ray.links.tcp import DirectLinks
from raydream.backends.ray.routing import Route
from raydream.program import frame_of, heard_as
from raydream.types import Array

Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass
class Report:
    """What an actor tells the driver at the end of a block."""

    iteration: int
    ledger: Ledger
    arrays: dict[str, Array]
    kept: Array | None = None


@dataclass
class Failure:
    """An exception on an actor, as a value: the driver decides what it means."""

    error: Exception
    trace: str = field(repr=False)


def told(method: Method) -> Method:
    """Return an exception as a `Failure` instead of raising it through Ray."""

    def wrapped(self: "Agent", *arguments: Any) -> Any:
        try:
            return method(self, *arguments)
        except Exception as error:
            return Failure(_sendable(error), traceback.format_exc())

    wrapped.__name__, wrapped.__doc__ = method.__name__, method.__doc__
    return wrapped  # type: ignore[return-value]


class Agent:
    """A plain class, made remote where actors are created. It knows its own shards and nothing of the others'."""

    def __init__(self, number: int, links: str, run: bytes, secret: bytes, patience: float) -> None:
        threadpool_limits(1, "blas")  # threaded sums have other bits
        self.number = number
        self.links = DirectLinks(number, run, secret, patience) if links == "direct" else RayLinks(number, patience)
        self._ledger = Ledger()

    def where(self) -> dict[str, Any]:
        """The node and process that host this actor."""
        import ray

        context = ray.get_runtime_context()
        address = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
        return {"node": context.get_node_id(), "address": address, "pid": os.getpid()}

    @told
    def build(self, route: Route, shards: Sequence[Any], method: Any, seed: int, world: dict[str, Any]) -> None:
        """Receive the agents' own data and build their rows."""
        self._route = route
        agents = Agents(route.hosted, shards, streams=Streams(seed), **world)
        self._host = Host(method, agents, self._exchange)
        self._stack = np.empty((0, 0))

    @told
    def listen(self, host: str, epoch: int) -> Any:
        """Open a listener for the neighbours and say where it is."""
        return self.links.listen(host, epoch)

    @told
    def connect(self, peers: dict[int, Any]) -> None:
        """Link with the neighbouring actors, at their addresses or through their handles."""
        self.links.connect(peers)

    @told
    def init(self, collect: Names) -> Report:
        """Run the method's `init`."""
        self._forget()
        self._host.init()
        return self._report(collect)

    @told
    def advance(self, first: int, coins: Sequence[bool], keep: Keep | None, collect: Names) -> Report:
        """Run steps first, first + 1, ..."""
        kept = self._host.advance(first, coins, keep)
        return self._report(collect, kept)

    @told
    def report(self, collect: Names) -> Report:
        """The state as it is."""
        return self._report(collect)

    @told
    def restore(self, iteration: int, arrays: dict[str, Array]) -> None:
        """Go on from these rows; the bill starts again from zero."""
        self._forget()
        self._host.restore(iteration, {name: np.array(array) for name, array in arrays.items()})

    def deliver(self, epoch: int, round: int, sender: int, payload: Any) -> None:
        """A neighbour's frame, where links go through Ray."""
        if isinstance(self.links, RayLinks):
            self.links.deliver(epoch, round, sender, payload)

    def abort(self, epoch: int) -> None:
        """Stop waiting for neighbours, unless the links have been made anew since."""
        if epoch == self.links.epoch:
            self.links.abort()

    def waits(self) -> tuple[int, tuple[int, ...]]:
        """The round this actor is in, and the actors it waits for."""
        return self.links.round, self.links.waits_for

    def _exchange(self, said: Any) -> Any:
        """One round: rows to the neighbours, rows from the neighbours, and their weighted sums."""
        V = frame_of(said)
        route, width = self._route, V.shape[1]
        if self._stack.shape[1] != width:
            self._stack = np.empty((len(route.columns), width))
        stack = self._stack
        stack[route.own] = V
        self.links.exchange(
            {peer: [_bytes(V[row]) for row in rows] for peer, rows in route.says.items()},
            {peer: [_bytes(stack[place]) for place in places] for peer, places in route.hears.items()},
        )
        self._ledger.bill_round(route.messages, width)
        return heard_as(said, route.W @ stack)

    def _forget(self) -> None:
        self._ledger = Ledger()
        self._host.agents.sfo = 0

    def _report(self, collect: Names, kept: Array | None = None) -> Report:
        self._ledger.sfo = self._host.agents.sfo
        return Report(self._host.iteration, self._ledger.copy(), self._host.arrays(collect), kept)


def _bytes(row: Array) -> memoryview:
    return row.view(np.uint8).data


def _sendable(error: Exception) -> Exception:
    """The error itself if it survives pickling, else its text."""
    from ray import cloudpickle

    try:
        cloudpickle.loads(cloudpickle.dumps(error))  # type: ignore[no-untyped-call]
        return error
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
