"""Signals stay with whoever heard them: Ray would take SIGTERM for itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ray._private import utils

from raydream.interrupt import keeping_handlers


@contextmanager
def keeping_signals() -> Iterator[None]:
    """While Ray starts, ends or is joined, the handlers of the signals stay as they are."""
    inner: Any = utils
    before = inner.set_sigterm_handler
    inner.set_sigterm_handler = lambda handler: None
    try:
        with keeping_handlers():
            yield
    finally:
        inner.set_sigterm_handler = before
