"""Who waits for whom, when nobody goes on."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ray

from raydream.backends.ray.agent import Failure
from raydream.backends.ray.placement import CONTROL
from raydream.backends.ray.routing import Router
from raydream.errors import LinkTimeout

ANSWER_SECONDS = 10.0  # how long an actor may take to say for whom it waits


@dataclass(frozen=True)
class Hang:
    """A sentence about it, the actors that it was traced to, and those of them that do not even answer Ray."""

    sentence: str
    silent: frozenset[int]
    mute: frozenset[int] = frozenset()


def diagnosed(handles: Mapping[int, Any], failures: Mapping[int, Failure], router: Router, patience: float) -> Hang:
    """Asked of everybody while they still wait; those whose patience has ended have said it in their failure."""
    waits = _told(failures) | _asked({number: handle for number, handle in handles.items() if number not in failures})
    waiting = {number: those for number, those in sorted(waits.items()) if those}
    silent = sorted({peer for those in waiting.values() for peer in those} - waiting.keys())
    lines = "; ".join(
        f"{router.named(number)} wait{'s' if len(router.hosted(number)) == 1 else ''} for "
        f"{' and '.join(router.named(peer) for peer in those)}"
        for number, those in waiting.items()
    )
    slow = " and ".join(router.named(number) for number in silent) or "nobody in particular"
    sentence = f"no progress for {patience:g} s: {lines}. Silent: {slow}."
    return Hang(sentence, frozenset(silent), frozenset(silent) - waits.keys())


def _told(failures: Mapping[int, Failure]) -> dict[int, tuple[int, ...]]:
    errors = {number: failure.error for number, failure in failures.items()}
    return {number: error.waits_for for number, error in errors.items() if isinstance(error, LinkTimeout)}


def _asked(handles: Mapping[int, Any]) -> dict[int, tuple[int, ...]]:
    waits = {}
    for number, handle in handles.items():
        with contextlib.suppress(Exception):
            reference = handle.waits.options(concurrency_group=CONTROL).remote()
            waits[number] = ray.get(reference, timeout=ANSWER_SECONDS)
    return waits
