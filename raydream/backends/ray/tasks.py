"""Plain functions as Ray tasks on this machine's CPUs, or on all of a named Ray, results as they finish."""

import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import islice
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from raydream.backends.ray.cluster.pulse import answered, pulse
from raydream.backends.ray.runtime import attached
from raydream.backends.ray.sending import check_sendable
from raydream.backends.workers import cpus
from raydream.errors import ActorsBroken, RayLost

LOOK_SECONDS = 0.5  # between two looks at whether Ray is still there

AsFinished = Generator[tuple[int, Any], None, None]


@contextlib.contextmanager
def tasks(
    shared: Any, workers: int | None, address: str | None = None
) -> Iterator[Callable[[Callable[..., Any], Sequence[Any]], AsFinished]]:
    """A function `each(function, arguments)` that calls function(shared, argument) in `workers` processes.

    Without an address they are this machine's; with one, those of all nodes of the Ray there.

    It yields (number of the argument, value) as the calls finish. An exception is yielded as a value, so that one
    call cannot hide the others. `shared` is sent once. What still runs when the caller stops listening is ended.
    """
    with attached(address, workers or cpus()):
        try:
            reference = ray.put(shared)
        except Exception:
            check_sendable("problem", shared)
            raise
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        where = here if address is None else "SPREAD"
        most = workers or (cpus() if address is None else _cpus_of_all_nodes())

        def each(function: Callable[..., Any], arguments: Sequence[Any]) -> AsFinished:
            call = ray.remote(function).options(num_cpus=1, max_retries=0, scheduling_strategy=where)
            waiting = iter(enumerate(arguments))
            running: dict[Any, int] = {}
            try:
                while True:
                    for number, argument in islice(waiting, most - len(running)):
                        running[call.remote(reference, argument)] = number
                    if not running:
                        return
                    for done in ray.wait(list(running), num_returns=1, timeout=LOOK_SECONDS)[0]:
                        yield running.pop(done), _value(done)
                    pulse().feel()
            except (ActorsBroken, RayLost) as error:
                running.clear()
                raise RayLost(str(error)) from None
            finally:
                for reference_left in running:
                    ray.cancel(reference_left, force=True)

        yield each


def _cpus_of_all_nodes() -> int:
    return int(ray.cluster_resources().get("CPU", 1))  # type: ignore[no-untyped-call]


def _value(done: Any) -> Any:
    """What a call returned, or the exception that ended it."""
    try:
        return ray.get(done)
    except RayTaskError as error:
        return error.cause
    except RayError as error:
        answered(ray.nodes)  # if it is Ray itself that has died, that is what is to be told
        return RuntimeError(f"its process died ({type(error).__name__}).")
