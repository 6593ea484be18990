"""Runs as the report sees them, from whatever holds histories: results, a comparison, a long table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from raydream.backends.protocol import Recovery
from raydream.columns import AXES, Better, names
from raydream.columns.evaluation import carried
from raydream.errors import RecordError
from raydream.report.counting import paper_columns
from raydream.storage.record import FINISHED, RunRecord
from raydream.studies.standings import follows
from raydream.types import Array

ENDED = ("", *FINISHED)  # outcomes of runs of which no more is to come, where there is a word for it


@dataclass
class Run:
    """One run: its group's label, its seed, its history by columns, and what is known of it.

    followed  whether y was near its best response at the end, as far as that is known
    """

    label: str
    seed: Any
    columns: dict[str, Array]
    config: dict[str, Any]
    outcome: str = ""
    reason: str = ""
    recoveries: list[Recovery] = field(default_factory=list)
    distances: Array | None = None  # one row per record, one column per agent
    followed: bool = True

    @cached_property
    def record(self) -> RunRecord | None:
        """The run's record; None where a table was given, and its configuration does not say all that a record does."""
        try:
            return RunRecord.from_config(self.config)
        except RecordError:
            return None

    @property
    def method(self) -> str:
        """The method's name, which may be shorter than the label."""
        return str(self.config.get("method", {}).get("name", self.label))

    @property
    def parameters(self) -> dict[str, Any]:
        """The method's parameters that are set."""
        given = self.config.get("method", {}).get("parameters", {})
        return {name: value for name, value in given.items() if value is not None}

    @property
    def metrics(self) -> list[str]:
        """The columns that say what was achieved, not what was spent, if anything was recorded in them."""
        others = (*AXES, *names("overhead"))
        return [name for name, values in self.columns.items() if name not in others and np.isfinite(values).any()]

    def last(self, column: str) -> float:
        """The last record of a column, NaN where there is none."""
        values = self.columns.get(column)
        return float(values[-1]) if values is not None and len(values) else float("nan")


def collect(source: Any, configs: Mapping[str, dict[str, Any]] | None = None) -> list[Run]:
    """The runs in a result, several results, a mapping of labels to results, a comparison, or a long table.

    A long table has the columns `method` and `seed` beside those of a history; `configs` gives a configuration by
    method. Runs that differ in nothing but the seed share a label.
    """
    if isinstance(source, Run):
        return [source]
    if hasattr(source, "results"):
        return [_run(label, seed, result) for (label, seed), result in source.results.items()]
    if hasattr(source, "history") and hasattr(source, "config"):
        return collect([source])
    if hasattr(source, "groupby"):
        return _from_table(source, configs or {})
    if isinstance(source, Mapping):
        return [run for label, one in source.items() for run in _relabelled(str(label), collect(one))]
    if not isinstance(source, Iterable) or isinstance(source, str | bytes):
        raise TypeError(f"`runs` must be results, a comparison or a history table; got {type(source).__name__}.")
    results = list(source)
    if all(isinstance(one, Run) for one in results):
        return results
    labels = _labels([result.config for result in results])
    return [_run(label, one.config.get("seed"), one) for label, one in zip(labels, results, strict=True)]


def directions(runs: Iterable[Run]) -> dict[str, Better]:
    """Which way metrics of the user's own are better, as the runs' records say."""
    known = [run.record.settings.metrics for run in runs if run.record is not None and run.config.get("metrics")]
    return {name: better for one in known for name, better in one.items()}


def grouped(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """The runs by label, in the order in which labels first appear."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.label, []).append(run)
    return groups


def variants(groups: Mapping[str, list[Run]]) -> dict[str, int]:
    """For every label the number of labels before it that belong to the same method."""
    methods = [runs[0].method for runs in groups.values()]
    return {label: methods[:place].count(methods[place]) for place, label in enumerate(groups)}


def remark_of(runs: list[Run]) -> str:
    """What to know of a group before believing it: in how many of its runs y has not followed."""
    lagging = sum(not run.followed for run in runs)
    if not lagging:
        return ""
    return "y has not followed" + ("" if len(runs) == 1 else f" in {lagging} of {len(runs)} runs")


def words(parameters: Mapping[str, Any]) -> str:
    """Parameters as people write them: eta=0.1, K=3."""
    return ", ".join(f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v}" for k, v in parameters.items())


def _run(label: str, seed: Any, result: Any) -> Run:
    columns = {str(name): carried(str(name), result.history[name]) for name in result.history.columns}
    distances = getattr(result, "distances", None)
    if distances is not None and len(distances) != len(result.history):
        distances = None  # of another history
    return Run(
        label=str(label),
        seed=seed,
        columns=columns | paper_columns(columns, result.config),
        config=result.config,
        outcome=result.outcome,
        reason=result.reason,
        recoveries=list(result.recoveries),
        distances=None if distances is None else np.asarray(distances, dtype=np.float64),
        followed=result.outcome not in ENDED or _followed(columns),
    )


def _followed(columns: Mapping[str, Array]) -> bool:
    """Whether y has followed, from the first and the last record."""
    import pandas as pd

    if not all(name in columns and len(columns[name]) for name in ("primal", "dual_gap")):
        return True
    return follows(pd.DataFrame({name: columns[name][[0, -1]] for name in ("primal", "dual_gap")}))


def _from_table(table: Any, configs: Mapping[str, dict[str, Any]]) -> list[Run]:
    for needed in ("method", "iteration"):
        if needed not in table.columns:
            raise ValueError(f"`runs` must be a table with a column `{needed}`; it has {', '.join(table.columns)}.")
    keys = ["method", "seed"] if "seed" in table.columns else ["method"]
    runs = []
    for key, part in table.groupby(keys, sort=False):
        columns = {str(name): carried(str(name), part[name]) for name in part.columns if name not in keys}
        config = dict(configs.get(key[0], {"method": {"name": str(key[0]), "parameters": {}}}))
        seed = key[1] if len(keys) == 2 else None
        derived = columns | paper_columns(columns, config)
        runs.append(Run(str(key[0]), seed, derived, config, followed=_followed(columns)))
    return runs


def _relabelled(label: str, runs: list[Run]) -> list[Run]:
    for run in runs:
        run.label = label
    return runs


def _labels(configs: list[dict[str, Any]]) -> list[str]:
    """The method's name, and in brackets what tells its runs apart besides the seed."""
    facts = [_telling(config) for config in configs]
    labels = []
    for config, own in zip(configs, facts, strict=True):
        name = str(config["method"]["name"])
        same = [other for rival, other in zip(configs, facts, strict=True) if rival["method"]["name"] == name]
        differing = {key: value for key, value in own.items() if any(other.get(key) != value for other in same)}
        labels.append(f"{name} ({words(differing)})" if differing else name)
    return labels


def _telling(config: dict[str, Any]) -> dict[str, Any]:
    problem, topology = config.get("problem", {}), config.get("topology", {})
    spec = (problem.get("spec") or {}).get("parameters", {})
    return {
        **config["method"].get("parameters", {}),
        "problem": problem.get("name"),
        **{key: str(value) for key, value in spec.items()},
        "topology": topology.get("name"),
        "agents": topology.get("m"),
        "lambda2": round(topology.get("second_eigenvalue") or 0.0, 6),
    }
