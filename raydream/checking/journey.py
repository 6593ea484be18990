"""The way to an actor: pickled, with arrays that cannot be written to, and the same bits at the end."""

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np

from raydream.checking.owned import Owned, asked
from raydream.checking.purity import batch_of
from raydream.checking.subject import Miss, Subject, judged
from raydream.checking.verdict import Finding, unchecked
from raydream.errors import ProblemRaised
from raydream.types import Array

CHECKS = ("pickling", "same bits elsewhere", "local(i) again")


def journey(subject: Subject) -> Iterator[Finding]:
    """Of every agent's own part, and of the constraint, which travels with it."""
    if not subject.able:
        yield from (unchecked(check, "no agent gives proper answers.") for check in CHECKS)
        return
    misses: dict[str, list[Miss]] = {check: [] for check in CHECKS}
    for one in subject.able:
        again = asked("local", subject.given.local, one.agent, agent=one.agent)
        misses["local(i) again"] += _differs(
            subject, one, Owned(one.agent, again), "of what `local` gives when called again"
        )
        try:
            sent = Owned(one.agent, travelled(f"local({one.agent})", one.shard))
        except TypeError as error:
            misses["pickling"].append(Miss(one.agent, str(error)))
            continue
        try:
            misses["same bits elsewhere"] += _differs(subject, one, sent, "after pickling")
        except ProblemRaised as error:
            why = str(error).partition(": ")[2]
            misses["pickling"].append(Miss(one.agent, f"after pickling, with arrays that are read-only, {why}"))
    yield _constraint(subject) or judged("pickling", misses["pickling"], "agents and constraint can be sent.")
    if len(misses["pickling"]) == len(subject.able):
        yield unchecked("same bits elsewhere", "nothing arrives.")
    else:
        yield judged("same bits elsewhere", misses["same bits elsewhere"], "what was sent answers with the same bits.")
    yield judged("local(i) again", misses["local(i) again"], "it is the same, bit by bit.")


def travelled(name: str, thing: Any) -> Any:
    """A thing as an actor receives it; a TypeError names what cannot be sent."""
    try:
        buffers: list[pickle.PickleBuffer] = []
        packed = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
        return pickle.loads(packed, buffers=[bytes(one.raw()) for one in buffers])
    except Exception:  # a function without a name, a class inside a function: Ray has a way of its own for these
        from raydream.backends.ray.sending import travelled as by_ray

        return by_ray(name, thing)


def _differs(subject: Subject, one: Owned, other: Owned, when: str) -> list[Miss]:
    """Where two agents that should be the same give other bits."""
    point, batch = subject.points[0], batch_of(subject, one)
    for what, bunch in (("gradient", None), ("gradient of a batch", batch)):
        found, wanted = other.gradient(*point, bunch), one.gradient(*point, bunch)
        k = _first(found, wanted)
        if k is not None:
            part, place = subject.place(k)
            text = (
                f"{what} {when}: coordinate {place} of {part} is {found[k]:.17g}, and was {wanted[k]:.17g}. "
                "Arrays that are not contiguous become so on the way; so make them with np.ascontiguousarray."
                if when == "after pickling"
                else f"{what} {when}: coordinate {place} of {part} is {found[k]:.17g}, and was {wanted[k]:.17g}."
            )
            return [Miss(one.agent, text, abs(found[k] - wanted[k]), part, place, float(found[k]), float(wanted[k]))]
    values = other.value(*point), one.value(*point)
    if values[0] != values[1]:
        return [
            Miss(one.agent, f"`value` {when} is {values[0]:.17g}, and was {values[1]:.17g}.", 0.0, None, None, *values)
        ]
    return []


def _first(found: Array, wanted: Array) -> int | None:
    return None if found.tobytes() == wanted.tobytes() else int(np.argmax(np.abs(found - wanted)))


def _constraint(subject: Subject) -> Finding | None:
    """What is wrong with the constraint's journey."""
    try:
        travelled("constraint", subject.whole.constraint)
    except TypeError as error:
        return Finding("pickling", False, str(error))
    return None
