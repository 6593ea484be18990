"""Plain functions in other processes, results as they finish."""

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from typing import Any

AsFinished = Generator[tuple[int, Any], None, None]  # the number of an argument, and what came of it
Each = Callable[[Callable[..., Any], Sequence[Any]], AsFinished]


def cpus() -> int:
    """The CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers(shared: Any, count: int | None = None, backend: Any = None) -> AbstractContextManager[Each]:
    """A function `each(function, arguments)` that calls function(shared, argument) in `count` processes.

    count    by default one for each CPU: of this machine, or of all nodes of the Ray that the backend names
    backend  a `RayBackend`, which says where they are and what each call needs

    It yields (number of the argument, value) as the calls finish. An exception is yielded as a value, so that one
    call cannot hide the others. `shared` is sent once. What still runs when the caller stops listening is ended.
    """
    from raydream.backends.ray.tasks import tasks

    return tasks(shared, count, backend)
