"""Asking changes nothing: not the point, not the batch, not what was answered before, not the agent's data."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from raydream.checking.owned import Owned, asked
from raydream.checking.subject import Miss, Subject, judged
from raydream.checking.verdict import Finding, unchecked
from raydream.types import Array

CHECKS = ("arguments", "earlier answers", "data", "same answer twice")


def purity(subject: Subject) -> Iterator[Finding]:
    """Of every agent: what it writes to, and whether it answers alike."""
    if not subject.able:
        yield from (unchecked(check, "no agent gives proper answers.") for check in CHECKS)
        return
    misses: dict[str, list[Miss]] = {check: [] for check in CHECKS}
    for one in subject.able:
        for check, miss in [*_arguments(subject, one), *_answers(subject, one), *_data(subject, one)]:
            misses[check].append(miss)
    yield judged("arguments", misses["arguments"], "`value` and `gradient` leave x, y and the batch as they are.")
    yield judged("earlier answers", misses["earlier answers"], "a later call leaves them as they were.")
    yield judged("data", misses["data"], "the agents' arrays are not written to.")
    yield judged("same answer twice", misses["same answer twice"], "the same question has the same bits.")


def batch_of(subject: Subject, one: Owned) -> Any:
    """Some batch of an agent, always the same one."""
    if one.samples is None:
        return asked("draw", one.shard.draw, subject.random("batch", one.agent), 3, agent=one.agent)
    return subject.random("batch", one.agent).integers(one.samples, size=3)


def _arguments(subject: Subject, one: Owned) -> Iterator[tuple[str, Miss]]:
    for what, batch in (("value", None), ("gradient", None), ("gradient", batch_of(subject, one))):
        x, y = (part.copy() for part in subject.points[0])
        given = {"x": x, "y": y} | ({"batch": batch} if isinstance(batch, np.ndarray) else {})
        before = {name: array.copy() for name, array in given.items()}
        arguments = (x, y) if what == "value" else (x, y, batch)
        asked(what, getattr(one.shard, what), *arguments, agent=one.agent)
        for name, array in given.items():
            k = changed(before[name], array)
            if k is not None:
                was, now = before[name][k], array[k]
                text = f"`{what}` writes into its `{name}`: coordinate {k} was {was:.8g}, and is {now:.8g}."
                yield "arguments", Miss(one.agent, text, 0.0, name, k, float(now), float(was))


def _answers(subject: Subject, one: Owned) -> Iterator[tuple[str, Miss]]:
    """Answers at one point, then at another, then at the first again."""
    here, there = subject.points[0], subject.somewhere(0.01, "another point", one.agent)

    def gradient(point: tuple[Array, Array], batch: Any) -> list[Array]:
        answer = asked("gradient", one.shard.gradient, *(part.copy() for part in point), batch, agent=one.agent)
        return [np.asarray(part) for part in answer]

    for batch in (None, batch_of(subject, one)):
        first = gradient(here, batch)
        kept = [part.copy() for part in first]
        gradient(there, batch)
        for name, before, after in zip("xy", kept, first, strict=True):
            k = changed(before, after)
            if k is not None:
                text = (
                    f"the gradient in {name} that was returned changes at the next call: coordinate {k} was "
                    f"{before[k]:.8g}, and is {after[k]:.8g}. Return a new array."
                )
                yield "earlier answers", Miss(one.agent, text, 0.0, name, k, float(after[k]), float(before[k]))
        for name, before, after in zip("xy", kept, gradient(here, batch), strict=True):
            k = changed(before, after)
            if k is not None:
                text = (
                    f"coordinate {k} of `gradient` in {name} is {before[k]:.17g}, and when asked again {after[k]:.17g}."
                )
                yield "same answer twice", Miss(one.agent, text, 0.0, name, k, float(after[k]), float(before[k]))
    values = [one.value(*here), one.value(*there), one.value(*here)]
    if values[0] != values[2]:
        text = f"`value` is {values[0]:.17g}, and when asked again {values[2]:.17g}."
        yield "same answer twice", Miss(one.agent, text, 0.0, None, None, values[2], values[0])


def _data(subject: Subject, one: Owned) -> Iterator[tuple[str, Miss]]:
    """Arrays that an agent holds before and after a few calls, the same ones, with other contents."""
    here, there = subject.points[0], subject.somewhere(0.01, "another point", one.agent)
    one.gradient(*here)  # what is made on first use is made
    held = {path: (array, array.copy()) for path, array in arrays_of(one.shard, f"local({one.agent})").items()}
    one.value(*there)
    one.gradient(*there)
    one.gradient(*there, batch_of(subject, one))
    for path, (array, before) in held.items():
        if array.tobytes() != before.tobytes():
            text = (
                f"`value` or `gradient` writes into `{path}`, which on an actor is read-only. Write into a new array."
            )
            yield "data", Miss(one.agent, text)


def arrays_of(thing: Any, path: str, depth: int = 5, seen: set[int] | None = None) -> dict[str, Array]:
    """The arrays in an object's attributes, lists and dictionaries, by their paths."""
    seen = set() if seen is None else seen
    if id(thing) in seen or depth < 0:
        return {}
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return {path: thing}
    if isinstance(thing, dict):
        parts = {f"{path}[{key!r}]": value for key, value in thing.items()}
    elif isinstance(thing, list | tuple):
        parts = {f"{path}[{number}]": value for number, value in enumerate(thing)}
    else:
        parts = {f"{path}.{key}": value for key, value in getattr(thing, "__dict__", {}).items()}
    found: dict[str, Array] = {}
    for inner, value in parts.items():
        found |= arrays_of(value, inner, depth - 1, seen)
    return found


def changed(before: Any, after: Any) -> int | None:
    """The first coordinate whose bits differ."""
    if before.tobytes() == after.tobytes():
        return None
    same = (before == after) | ((before != before) & (after != after))
    return int(np.argmin(same))
