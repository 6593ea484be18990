"""The way to an actor: pickled, with arrays that cannot be written to, and the same bits at the end."""

import io
import pickle
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from raydream.checking.laws.purity import batch_of
from raydream.checking.owned import Owned, asked
from raydream.checking.subject import Miss, Subject, judged, listed
from raydream.checking.verdict import Finding, unchecked
from raydream.errors import ProblemRaised
from raydream.types import Array

CODE = (type, FunctionType, BuiltinFunctionType, ModuleType)
CONTIGUOUS = " Arrays that are not contiguous become so on the way; make them so with np.ascontiguousarray."
CHECKS = ("pickling", "same bits elsewhere", "local(i) again")


def journey(subject: Subject) -> Iterator[Finding]:
    """Of every agent's own part, and of the constraint, which travels with it."""
    if not subject.able:
        yield from (unchecked(check, "no agent gives proper answers.") for check in CHECKS)
        return
    misses: dict[str, list[Miss]] = {check: [] for check in CHECKS}
    unseen: list[int] = []
    for one in subject.able:
        again = asked("local", subject.given.local, one.agent, agent=one.agent)
        misses["local(i) again"] += _differs(
            subject, one, Owned(one.agent, again), "of what `local` gives when called again"
        )
        fault = unsendable(f"local({one.agent})", one.shard)
        if fault:
            misses["pickling"].append(Miss(one.agent, fault))
            continue
        try:
            sent = Owned(one.agent, travelled(one.shard))
        except Exception:  # Ray can, and nobody else: what arrives is not seen here
            unseen.append(one.agent)
            continue
        try:
            misses["same bits elsewhere"] += _differs(subject, one, sent, "after pickling", CONTIGUOUS)
        except ProblemRaised as error:
            why = str(error).partition(": ")[2]
            misses["pickling"].append(Miss(one.agent, f"after pickling, with arrays that are read-only, {why}"))
    fault = unsendable("constraint", subject.whole.constraint)
    sound = judged("pickling", misses["pickling"], "agents and constraint can be sent.")
    yield Finding("pickling", False, fault) if fault else sound
    if len(misses["pickling"]) == len(subject.able):
        yield unchecked("same bits elsewhere", "nothing arrives.")
    elif unseen and not misses["same bits elsewhere"]:
        yield unchecked("same bits elsewhere", f"what Ray makes of agents {listed(unseen)} is known to it alone.")
    else:
        yield judged("same bits elsewhere", misses["same bits elsewhere"], "what was sent answers with the same bits.")
    yield judged("local(i) again", misses["local(i) again"], "it is the same, bit by bit.")


class _Packer(pickle.Pickler):
    """Data as a pickle, with arrays apart from it; code stays here and goes by its number."""

    def __init__(self, file: Any, buffers: list[pickle.PickleBuffer], kept: list[Any]) -> None:
        super().__init__(file, protocol=5, buffer_callback=buffers.append)
        self.kept = kept

    def persistent_id(self, thing: Any) -> int | None:
        if not isinstance(thing, CODE):
            return None
        self.kept.append(thing)
        return len(self.kept) - 1


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: Any, buffers: list[bytes], kept: list[Any]) -> None:
        super().__init__(file, buffers=buffers)
        self.kept = kept

    def persistent_load(self, number: Any) -> Any:
        return self.kept[number]


def unsendable(name: str, thing: Any) -> str:
    """Why a thing cannot be sent to an actor, with the path of what cannot; empty: it can."""
    try:
        pickle.dumps(thing)
    except Exception:  # a function without a name, a class inside a function: Ray has a way of its own for these
        from raydream.backends.ray.sending import check_sendable

        try:
            check_sendable(name, thing)
        except TypeError as error:
            return str(error)
    return ""


def travelled(thing: Any) -> Any:
    """A thing as an actor receives it, with arrays that cannot be written to."""
    file, buffers, kept = io.BytesIO(), list[pickle.PickleBuffer](), list[Any]()
    _Packer(file, buffers, kept).dump(thing)
    file.seek(0)
    return _Unpacker(file, [bytes(one.raw()) for one in buffers], kept).load()


def _differs(subject: Subject, one: Owned, other: Owned, when: str, hint: str = "") -> list[Miss]:
    """Where two agents that should be the same give other bits."""
    point, batch = subject.points[0], batch_of(subject, one)
    for what, bunch in (("gradient", None), ("gradient of a batch", batch)):
        found, wanted = other.gradient(*point, bunch), one.gradient(*point, bunch)
        k = _first(found, wanted)
        if k is not None:
            part, place = subject.place(k)
            text = f"{what} {when}: coordinate {place} of {part} is {found[k]:.17g}, and was {wanted[k]:.17g}.{hint}"
            return [Miss(one.agent, text, abs(found[k] - wanted[k]), part, place, float(found[k]), float(wanted[k]))]
    values = other.value(*point), one.value(*point)
    if values[0] != values[1]:
        return [
            Miss(one.agent, f"`value` {when} is {values[0]:.17g}, and was {values[1]:.17g}.", 0.0, None, None, *values)
        ]
    return []


def _first(found: Array, wanted: Array) -> int | None:
    return None if found.tobytes() == wanted.tobytes() else int(np.argmax(np.abs(found - wanted)))
