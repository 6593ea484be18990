"""Plain functions as Ray tasks on this machine's CPUs, or on all of a named Ray, results as they finish."""

import contextlib
import secrets
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from raydream.backends.ray.backend import RayBackend
from raydream.backends.ray.cluster.logs import logged
from raydream.backends.ray.cluster.needs import Needs
from raydream.backends.ray.cluster.pulse import answered, pulse
from raydream.backends.ray.cluster.waiting import Waiting
from raydream.backends.ray.sending import check_sendable
from raydream.backends.workers import cpus
from raydream.errors import ActorsBroken, RayLost

LOOK_SECONDS = 0.5  # between two looks at whether Ray is still there
RETRIES = 2  # where a node is lost with a call, or the call ends its process

AsFinished = Generator[tuple[int, Any], None, None]


@contextlib.contextmanager
def tasks(
    shared: Any, workers: int | None, backend: RayBackend | None = None
) -> Iterator[Callable[[Callable[..., Any], Sequence[Any]], AsFinished]]:
    """A function `each(function, arguments)` that calls function(shared, argument) in `workers` processes.

    backend  what each call needs, and where: without an address on this machine, with one on all nodes of the Ray there

    It yields (number of the argument, value) as the calls finish. An exception is yielded as a value, so that one
    call cannot hide the others. `shared` is sent once. What still runs when the caller stops listening is ended.
    """
    backend = backend or RayBackend()
    backend.refuse_settings_of_agents()
    with contextlib.ExitStack() as stack:
        stack.enter_context(backend.attached(workers or cpus()))
        if backend.log is not None:
            stack.enter_context(logged(Path(backend.log), secrets.token_hex(3)))
        try:
            reference = ray.put(shared)
        except Exception:
            check_sendable("problem", shared)
            raise
        room = _Room(backend)
        most = workers or (cpus() if backend.address is None else room.most)

        def each(function: Callable[..., Any], arguments: Sequence[Any]) -> AsFinished:
            call = ray.remote(function).options(**room.options)
            waiting = iter(enumerate(arguments))
            running: dict[Any, int] = {}
            try:
                room.wait()
                while True:
                    for number, argument in islice(waiting, (most or len(arguments)) - len(running)):
                        running[call.remote(reference, argument)] = number
                    if not running:
                        return
                    for done in ray.wait(list(running), num_returns=1, timeout=LOOK_SECONDS)[0]:
                        yield running.pop(done), _value(done)
                    pulse().feel()
                    room.look()
            except (ActorsBroken, RayLost) as error:
                running.clear()
                raise RayLost(str(error)) from None
            finally:
                for reference_left in running:
                    ray.cancel(reference_left, force=True)

        yield each


class _Room:
    """What calls need of their nodes.

    most  calls at a time; None where nodes come when they are asked for
    """

    def __init__(self, backend: RayBackend) -> None:
        self._needs: Needs = backend.needs
        self._grows = backend.autoscale
        self._waiting = Waiting(lambda: f"{self._needs.words} for a call ({self._needs.told()})", backend.patience)
        self.most = None if self._grows else sum(self._needs.most().values())
        if self.most == 0:
            raise ValueError(
                f"no node of the cluster has the {self._needs.words} that each call needs ({self._needs.told()}); use "
                "fewer `cpus_per_actor` or `resources`, other `labels`, or `autoscale=True` where nodes come when "
                "they are asked for."
            )
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self.options: dict[str, Any] = {
            **self._needs.options(),
            "max_retries": 0 if backend.address is None else RETRIES,
            "scheduling_strategy": here if backend.address is None else "SPREAD",
            **({"label_selector": dict(self._needs.labels)} if self._needs.labels else {}),
        }

    def wait(self) -> None:
        """Until one call could begin, where others have all the room."""
        self._waiting.again()
        while not self._grows and not any(self._needs.free().values()):
            self._waiting.look()
            time.sleep(LOOK_SECONDS)

    def look(self) -> None:
        """Where nodes are to come: say that none is there yet."""
        if self._grows and not any(self._needs.most().values()):
            self._waiting.look()


def _value(done: Any) -> Any:
    """What a call returned, or the exception that ended it."""
    try:
        return ray.get(done)
    except RayTaskError as error:
        return error.cause
    except RayError as error:
        answered(ray.nodes)  # if it is Ray itself that has died, that is what is to be told
        return RuntimeError(f"its process died ({type(error).__name__}).")
