"""The way back from a run to the form: filled in as the run was asked for."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from raydream import specs
from raydream.dashboard.new.fields import DATA, SYNTHETIC, limits


def again(record: Mapping[str, Any], form: Mapping[str, Any]) -> str | None:
    """The link to a form that is filled in as a run was asked for; None where a form cannot ask for it.

    record  its run.json, which says how problem and network were made if a form or the command line made them
    form    the form that it was started with, where it was
    """
    if form:
        return f"/new?{urlencode({str(name): str(value) for name, value in form.items()})}"
    problem, topology = ((record.get(part) or {}).get("spec") or {} for part in ("problem", "topology"))
    made, woven = problem.get("parameters") or {}, topology.get("parameters") or {}
    weather = record.get("conditions") or {}
    if any(isinstance(value, list) for value in weather.values()):  # one for each agent or link has no field
        return None
    known = problem.get("name") in specs.PROBLEMS and topology.get("name") in specs.TOPOLOGIES
    if not known or made.get("data", SYNTHETIC) not in DATA or record["method"].get("name") not in specs.METHODS:
        return None
    backend, given = record.get("backend") or {}, record.get("limits") or {}
    said = {
        "problem": problem["name"],
        "data": made.get("data"),
        "agents": record["topology"].get("m"),
        "topology": topology["name"],
        "method": record["method"]["name"],
        **{f"problem.{name}": value for name, value in made.items() if name != "data"},
        **{f"topology.{name}": value for name, value in woven.items()},
        **{f"method.{name}": value for name, value in (record.get("asked") or {}).items()},
        **{f"condition.{name}": value for name, value in weather.items()},
        **{name: record.get(name) for name in ("iterations", "record_every", "seed", "checkpoint_every")},
        **{name: given.get(name) for name in limits()},
        "diagnostics": "1" if record.get("diagnostics") else None,
        "backend": backend.get("name"),
        "agents_per_actor": backend.get("agents_per_actor"),
        "links": backend.get("links"),
    }
    return f"/new?{urlencode({name: _plain(value) for name, value in said.items() if value is not None})}"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
