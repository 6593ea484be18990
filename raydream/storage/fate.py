"""What became of a run, as run.json tells it: where its actors lived, those that were lost, who drives it."""

from typing import TypedDict

from raydream.agents.ledger import Ledger
from raydream.backends.protocol import Place, Recovery
from raydream.errors import RecordError
from raydream.storage.fields import Fields


class LeastPrimal(TypedDict):
    """The least value of P, and where it comes from: "known" or "best seen"."""

    value: float
    source: str


class Lyapunov(TypedDict):
    """The eta and the p of the recorded Phi, and which of them the method does not have, so that 1 was assumed."""

    eta: float
    p: float
    assumed: str


class Driver(TypedDict):
    """Who drives a run that is under way."""

    host: str
    pid: int


def recoveries_from_json(found: Fields) -> list[Recovery]:
    """What happened to actors that were lost, as run.json and progress.json tell it."""
    return [
        {
            "iteration": one.whole("iteration"),
            "rolled_back_to": one.whole("rolled_back_to", -1),
            "actors": one.wholes("actors") if one.has("actors") else [],
            "agents": one.wholes("agents"),
            "reason": one.text("reason", ""),
            "time": one.number("time", 0.0),
            "seconds": one.number("seconds", 0.0),
        }
        for one in found.objects("recoveries")
    ]


def place_from_json(found: Fields) -> Place:
    return {
        "actor": found.whole("actor", usual=0),
        "agents": found.wholes("agents"),
        "node": found.text("node", ""),
        "address": found.text("address", ""),
        "pid": found.whole("pid", usual=0),
    }


def driver_from_json(found: Fields) -> Driver:
    """A process number that cannot be one is that of nobody."""
    try:
        return {"host": found.text("host", ""), "pid": found.whole("pid", 0, 2**31)}
    except RecordError:
        return {"host": found.text("host", ""), "pid": 0}


def ledger_from_json(found: Fields) -> Ledger:
    counts = {name: found.whole(name, most=None) for name in vars(Ledger()) if name != "dropped"}
    return Ledger(**counts, dropped=found.whole("dropped", most=None, usual=0))


def least_primal_from_json(found: Fields) -> LeastPrimal:
    return {"value": found.measured("value"), "source": found.text("source", "")}


def lyapunov_from_json(found: Fields) -> Lyapunov:
    return {"eta": found.number("eta"), "p": found.number("p"), "assumed": found.text("assumed")}
