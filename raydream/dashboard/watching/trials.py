"""trials.jsonl and what tuning leaves beside it, believed only where it makes sense."""

import json
from pathlib import Path
from typing import Any

from raydream.algorithms.facts import Range
from raydream.columns import COSTS
from raydream.dashboard.watching.files import Growing
from raydream.errors import RecordError
from raydream.storage.fields import Fields, check_text, is_number
from raydream.studies.tuning.closing import METRICS
from raydream.studies.tuning.trials import Record
from raydream.studies.tuning.tune import AXES
from raydream.studies.tuning.tuning import Tuning

MOST_METHODS, MOST_PARAMETERS, MOST_VALUES = 60, 40, 1000
LONGEST = 200  # characters of a name or a value
HEAD = ("budget", "axis", "metric")


class Trials(Growing):
    """The trials of a tuning, by their keys; a line that makes no sense is passed over."""

    most = 200_000_000

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.records: dict[str, Record] = {}
        self._methods: set[str] = set()

    def forget(self) -> None:
        """No trials."""
        self.records, self._methods = {}, set()

    def append(self, lines: bytes) -> None:
        """Further trials; of one that was made again the later counts."""
        for line in lines.splitlines():
            try:
                record = trial_from(json.loads(line))
            except (ValueError, RecursionError):  # a RecordError is a ValueError
                continue
            if record["method"] in self._methods or len(self._methods) < MOST_METHODS:
                self._methods.add(record["method"])
                self.records[record["key"]] = record


def trial_from(value: Any) -> Record:
    """What one line says: names, numbers and words alone, each in its range."""
    check_text("a trial", value)
    found = Fields("a trial", value)
    budget = found.number("budget")
    if not budget > 0:
        raise RecordError(f"a trial's budget must be positive; it is {budget}.")
    started = found.inner("started", {})
    return {
        "key": _short(found.text("key")),
        "method": _short(found.text("method")),
        "parameters": _parameters(found.inner("parameters")),
        "seed": found.whole("seed"),
        "budget": budget,
        "axis": found.text("axis", options=AXES),
        "outcome": _short(found.text("outcome")),
        "reason": found.text("reason", "")[:LONGEST],
        "started": {name: started.number(name, None) for name in METRICS if started.has(name)},
        **{name: found.number(name, None) for name in METRICS},
        **{name: found.number(name, 0.0) for name in COSTS},
    }


def tuning_from(about: Any, best: Any, records: dict[str, Record]) -> Tuning:
    """A finished tuning, from tuning.json, best.json and the trials; without its methods, whose names suffice."""
    check_text("tuning.json", about)
    check_text("best.json", best)
    found, head = Fields("tuning.json", about), Fields("best.json", best)
    methods = {_short(label): _short(name) for label, name in found.texts("methods").items()}
    if not 0 < len(methods) <= MOST_METHODS:
        raise RecordError(f"tuning.json must name from 1 to {MOST_METHODS} methods; it names {len(methods)}.")
    said = found.texts("said")
    grids = found.inner("grids", {})
    kept: dict[str, Any] = {
        "methods": methods,
        "seeds": found.wholes("seeds"),
        "search": _short(found.text("search")),
        "space": _short(found.text("space")),
        "seed": found.whole("seed"),
        "closing": found.number("closing", 0.0),
        "said": {label: text[: 2 * LONGEST] for label, text in said.items()},
        "configurations": _configurations(found.inner("configurations", {})),
    }
    if grids.plain():
        kept["grids"] = {label: _grid(grids.inner(label)) for label in methods}
    if found.has("setting"):
        kept["setting"] = found.plain()["setting"]
    winners = {label: _winner(head.inner("best").inner(label)) for label in head.values("best")}
    if not winners.keys() <= methods.keys():
        raise RecordError("best.json names a method that tuning.json does not.")
    own = [records[key] for key in found.list("trials") if isinstance(key, str) and key in records]
    if not own:
        raise RecordError("trials.jsonl has none of the trials that tuning.json names.")
    budget, axis = head.number("budget"), head.text("axis", options=AXES)
    metric = head.text("metric", options=METRICS)
    return Tuning(winners, [one for one in own if one["method"] in methods], budget, axis, metric, {}, kept)


def _winner(found: Fields) -> dict[str, Any]:
    return {
        "name": _short(found.text("name")),
        "parameters": _parameters(found.inner("parameters")),
        "score": found.number("score"),
        "started": found.number("started", None),
    }


def _parameters(found: Fields) -> dict[str, Any]:
    given = found.plain()
    if len(given) > MOST_PARAMETERS:
        raise RecordError(f"a method must have at most {MOST_PARAMETERS} parameters; it has {len(given)}.")
    return {_short(name): _scalar(value) for name, value in given.items()}


def _grid(found: Fields) -> dict[str, Any]:
    """Lists of values, and ranges as objects."""
    grid: dict[str, Any] = {}
    for name, values in _at_most(found.plain(), MOST_PARAMETERS).items():
        if isinstance(values, dict):
            bounds = found.inner(name)
            grid[_short(name)] = vars(Range(bounds.number("low"), bounds.number("high")))
        else:
            grid[_short(name)] = [_scalar(value) for value in found.list(name)[:MOST_VALUES]]
    return grid


def _configurations(found: Fields) -> dict[str, list[int | None]]:
    kept = {}
    for label in _at_most(found.plain(), MOST_METHODS):
        pair = found.list(label)
        if len(pair) != 2 or not all(one is None or is_number(one) for one in pair):
            raise RecordError("tuning.json's configurations must be pairs of numbers.")
        kept[label] = pair
    return kept


def _at_most(entries: dict[str, Any], most: int) -> dict[str, Any]:
    if len(entries) > most:
        raise RecordError(f"tuning.json must not list more than {most} of a kind; it lists {len(entries)}.")
    return entries


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool) or is_number(value):
        return value
    if isinstance(value, str):
        return _short(value)
    raise RecordError("a parameter must be a number, a word or nothing.")


def _short(text: str) -> str:
    if len(text) > LONGEST:
        raise RecordError(f"a name must have at most {LONGEST} characters; it has {len(text)}.")
    return text
