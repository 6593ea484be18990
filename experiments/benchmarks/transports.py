"""The same rounds over what others have: pyzmq, iceoryx2, and our links, between plain processes without Ray.

    python experiments/benchmarks/table.py --only transports

8 processes in a ring, 256 KB to each neighbour and round; each then sums its row and what it heard with the compiled
sums. A transport that is not installed is left out. ZeroMQ sends without copies from the sender's array over Unix
sockets. iceoryx2 lends memory that is written once, and its readers look at it where it lies; it has a subscriber for
each neighbour and an event to wake up by. UCX needs CUDA's libraries in its Python packages, and Ray's own direct
transport takes tensors of torch alone; so they are not here.
"""

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

import numpy as np
from measuring import Row, in_turns, milliseconds

import raydream as rd
from raydream.backends.allocator import keep_freed_memory
from raydream.backends.ray.links import LINKS, Terms
from raydream.backends.ray.neighbourhood import Neighbourhood
from raydream.backends.ray.routing import Route, Router
from raydream.kernels import Weights
from raydream.kernels.library import address

AGENTS, WIDTH, ROUNDS, REPEATS = 8, 32_768, 300, 5
Hear = Callable[[Any], Any]


def ours(kind: str) -> Callable[[int, Route, Any, str], Hear]:
    """Rounds over our own links."""

    def made(me: int, route: Route, pipe: Any, folder: str) -> Hear:
        links = LINKS.find(kind)(me, Terms(b"r" * 16, b"s" * 32, 300.0))
        pipe.send(links.listen("127.0.0.1", 1))
        addresses = pipe.recv()
        links.connect({peer: addresses[peer] for peer in route.peers})
        return Neighbourhood(route, links, np.dtype(np.float64)).hear

    return made


def zeromq(me: int, route: Route, pipe: Any, folder: str) -> Hear:
    """A pair of sockets for each pair of neighbours."""
    import zmq

    context, sockets = zmq.Context(), {}
    for peer in sorted(route.peers):
        sockets[peer] = context.socket(zmq.PAIR)
        name = f"ipc://{folder}/{min(me, peer)}-{max(me, peer)}"
        (sockets[peer].bind if me < peer else sockets[peer].connect)(name)
    weights, own = Weights(route.W), int(route.own[0])
    places = np.zeros(len(route.columns), dtype=np.uint64)

    def hear(V: Any) -> Any:
        for socket in sockets.values():
            socket.send(V, copy=False)
        places[own], heard = address(V), []
        for peer, [place] in route.hears.items():
            heard.append(np.frombuffer(sockets[peer].recv(copy=False), dtype=np.float64))
            places[place] = address(heard[-1])
        return weights.of_rows(places, WIDTH)

    _ready(pipe)
    return hear


def iceoryx(me: int, route: Route, pipe: Any, folder: str) -> Hear:
    """A service for each process: its neighbours subscribe to it, and it tells each by an event."""
    import ctypes

    import iceoryx2 as iox

    iox.set_log_level(iox.LogLevel.Error)
    node, run = iox.NodeBuilder.new().create(iox.ServiceType.Ipc), os.path.basename(folder)

    def rows_of(agent: int) -> Any:
        named = node.service_builder(iox.ServiceName.new(f"{run}/rows/{agent}"))
        kind = named.publish_subscribe(iox.Slice[ctypes.c_uint8]).max_subscribers(2).subscriber_max_buffer_size(2)
        return kind.subscriber_max_borrowed_samples(2).open_or_create()

    def bell_of(sender: int, receiver: int) -> Any:
        return node.service_builder(iox.ServiceName.new(f"{run}/bell/{sender}-{receiver}")).event().open_or_create()

    says = rows_of(me).publisher_builder().initial_max_slice_len(8 * WIDTH).create()
    ears = {peer: rows_of(peer).subscriber_builder().create() for peer in route.hears}
    wakes = [bell_of(me, peer).notifier_builder().create() for peer in route.says]
    bells = {peer: bell_of(peer, me).listener_builder().create() for peer in route.hears}
    weights, own = Weights(route.W), int(route.own[0])
    places = np.zeros(len(route.columns), dtype=np.uint64)

    def hear(V: Any) -> Any:
        sample = says.loan_slice_uninit(8 * WIDTH)
        ctypes.memmove(sample.payload_ptr, address(V), 8 * WIDTH)
        sample.assume_init().send()
        for bell in wakes:
            bell.notify()
        places[own], held = address(V), []
        for peer, [place] in route.hears.items():
            while (found := ears[peer].receive()) is None:
                bells[peer].timed_wait(iox.Duration.from_millis(100))
            held.append(found)
            places[place] = found.payload_ptr
        sums = weights.of_rows(places, WIDTH)
        for found in held:
            found.delete()
        return sums

    _ready(pipe)
    return hear


def _ready(pipe: Any) -> None:
    """Go on when all are there."""
    pipe.send(None)
    pipe.recv()


TRANSPORTS: dict[str, tuple[str, Any]] = {
    "our links": ("raydream", ours("direct")),
    "our links, TCP alone": ("raydream", ours("tcp")),
    "pyzmq over ipc": ("zmq", zeromq),
    "iceoryx2": ("iceoryx2", iceoryx),
}


class Group:
    """Processes that take rounds together."""

    def __init__(self, make: Any, folder: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipes, self._processes = [], []
        for me, route in enumerate(Router(rd.topology.ring(AGENTS), [1] * AGENTS).routes):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(me, route, theirs, folder, make), daemon=True)
            process.start()
            self._pipes.append(ours)
            self._processes.append(process)
        told = self._hear()
        self._tell(told)
        self.bits = self.rounds(20)[1]

    def rounds(self, count: int) -> list[Any]:
        """Take so many rounds; what each process says of its row afterwards."""
        self._tell(count)
        return self._hear()

    def close(self) -> None:
        """End them."""
        with suppress(OSError):
            self._tell(0)
        for process in self._processes:
            process.join(10)
            process.kill()

    def _tell(self, what: Any) -> None:
        for pipe in self._pipes:
            pipe.send(what)

    def _hear(self) -> list[Any]:
        for pipe in self._pipes:
            if not pipe.poll(120):
                raise TimeoutError("a transport did not answer within two minutes")
        return [pipe.recv() for pipe in self._pipes]


def _work(me: int, route: Route, pipe: Any, folder: str, make: str) -> None:
    keep_freed_memory()
    hear = TRANSPORTS[make][1](me, route, pipe, folder)
    V = np.random.default_rng(me).normal(size=(1, WIDTH))
    while count := pipe.recv():
        for _ in range(count):
            V = hear(V)
        pipe.send(float(V[0, 0]))


def rows(quick: bool = False) -> Iterator[Row]:
    """Milliseconds of a round over each transport, beside our own."""
    rounds = 3 if quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="rd-") as folder:
        groups: dict[str, Group] = {}
        try:
            for name, (module, _) in TRANSPORTS.items():
                if find_spec(module) is not None:
                    groups[name] = Group(name, folder)
            if len({group.bits for group in groups.values()}) > 1:
                raise RuntimeError("transports disagree on the rows")
            calls = {
                name: lambda group=group: milliseconds(lambda: group.rounds(rounds), rounds)
                for name, group in groups.items()
            }
            took = in_turns(calls, 1 if quick else REPEATS)
        finally:
            for group in groups.values():
                group.close()
    beside = took["our links"]
    for name, figures in took.items():
        yield Row(f"round of 256 KB between processes, {name}", figures, "ms", beside, "our links")
