"""What recorded runs would have taken on another network: simulated time is a function of the ledger.

Where all agents and all links are alike and every agent calls as many gradients as any other between two rounds, nobody
waits for anybody, and the virtual clock is

    sim_seconds = gradient_seconds sfo / m + latency rounds + bytes on one link / bandwidth
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raydream.algorithms import METHODS
from raydream.checks import not_negative, positive
from raydream.columns import RECORDED, with_conditional
from raydream.conditions import Conditions
from raydream.storage.record import RunRecord
from raydream.storage.result import Result
from raydream.studies.curves import Columns
from raydream.types import Array

if TYPE_CHECKING:
    from raydream.studies.comparison import Key

COUNTED = ("sfo", "rounds", "messages", "bytes", "dropped")  # what simulated time is a function of


def prices(gradient_seconds: float | None, latency: float | None, bandwidth: float | None) -> Conditions:
    """Conditions that are the same for all agents and links."""
    return Conditions(
        gradient_seconds=None if gradient_seconds is None else not_negative("gradient_seconds", gradient_seconds),
        latency=None if latency is None else not_negative("latency", latency),
        bandwidth=None if bandwidth is None else positive("bandwidth", bandwidth),
    )


class Shared(NamedTuple):
    """Among how many agents calls are shared, and among how many directed links bytes are."""

    agents: int
    links: float


def shared_by(columns: Columns, agents: int) -> Shared:
    """The agents and links of a run, by its columns: each round uses every link, or drops its message."""
    rounds, messages = (float(columns[name][-1]) for name in ("rounds", "messages"))
    dropped = float(columns["dropped"][-1]) if "dropped" in columns else 0.0
    return Shared(agents, (messages + dropped) / rounds if rounds else 1.0)


def quantities(result: Result) -> tuple[Array, Array, Array]:
    """Of every record: the calls of one agent, the rounds, and the bytes on one link."""
    history = {name: result.history[name].to_numpy(dtype=np.float64) for name in COUNTED if name in result.history}
    agents, links = shared_by(history, result.record.problem.agents)
    return history["sfo"] / agents, history["rounds"], history["bytes"] / links


def seconds_at(calls: Array, rounds: Array, sent: Array, at: Conditions) -> Array:
    """The clock at these prices."""
    found = calls * (at.gradient_seconds or 0.0) + rounds * (at.latency or 0.0)
    return found if at.bandwidth is None else found + sent / at.bandwidth


def repriced(result: Result, at: Conditions) -> Result:
    """The same run with `sim_seconds` at these prices, and a record that says so."""
    history = result.history.assign(sim_seconds=seconds_at(*quantities(result), at))
    if "dropped" not in history:
        history = history.assign(dropped=0)
    ordered = dict.fromkeys([*with_conditional(RECORDED, history.columns), *history.columns])
    return replace(result, history=history[[*ordered]], record=replace(result.record, conditions=_at_these(at, result)))


def _at_these(at: Conditions, result: Result) -> Conditions:
    """These prices, and what else the run was made under."""
    before = result.record.conditions
    if before is None:
        return at
    prices = {name: getattr(at, name) for name in ("gradient_seconds", "latency", "bandwidth", "uplink")}
    return replace(before, **prices)


def why_estimated(record: RunRecord) -> str:
    """Why the clock of a run is not exactly a function of its ledger; nothing where it is."""
    if record.problem.agents == 1:
        return ""
    if record.conditions is not None and record.conditions.lossy:
        return "its messages were lost now and then"
    if record.conditions is not None and record.conditions.schedule is not None:
        return "its network changed from round to round"
    if record.problem.sizes is not None:
        return "its agents own shards of different sizes"
    if record.method.name not in METHODS:
        return "it is not known whether its agents call as many gradients as each other"
    if float(record.method.parameters.get("q") or 1.0) < 1.0:
        return "its agents take part by chance"
    return ""


def said_of(results: "Mapping[Key, Result]", at: Conditions) -> str:
    """At which prices simulated time is counted, and of which methods it is an estimate."""
    given = ", ".join(f"{name}={value:g}" for name, value in at.to_json().items()) or "no price"
    why = {name: reason for (name, _), result in results.items() if (reason := why_estimated(result.record))}
    if not why:
        return f"simulated time at {given}; exact, as all agents are alike"
    named = "; ".join(f"{name}: {reason}" for name, reason in why.items())
    return f"simulated time at {given}; an estimate by the mean over agents where they are not alike ({named})"
