"""A study file: what is compared on what, up to which budget, tuned how. Read, checked, and taken apart into cells."""

import itertools
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from raydream.algorithms import METHODS
from raydream.algorithms.facts import Range
from raydream.checks import choice, number, positive, whole
from raydream.conditions.conditions import Conditions, conditions_from
from raydream.parameters import parameters_of
from raydream.problems.registry import PROBLEMS
from raydream.studies.named import checked_seeds
from raydream.topology import TOPOLOGIES

AXES = ("rounds", "seconds", "sfo", "sim_seconds")
PARTS = ("title", "seeds", "backend", "record_every", "budget", "tuning", "problem", "network", "method", "conditions")
TUNING = ("search", "space", "trials", "share", "seeds", "metric", "widen", "refine", "seed")
BUDGET = ("axis", "amount", "passes")
MOST_BYTES = 1_000_000  # of a file
MOST_CELLS = 1000


@dataclass(frozen=True)
class Cell:
    """One problem on one network."""

    name: str
    problem: str
    agents: int
    parameters: dict[str, Any]
    network: str
    weights: dict[str, Any]
    x0: float | None = None


@dataclass(frozen=True)
class Contender:
    """A method, by the label that it goes by: its parameters, and what is searched of them."""

    label: str
    name: str
    space: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StudyFile:
    """What a file says.

    cells       problems x networks, a list in either making one cell for each value
    contenders  the methods; with tuning, lists and {low, high} are searched
    tuning      how, or None: every parameter is given
    conditions  of all networks and machines, as `Conditions` has them
    axis, amount, passes   the budget of every run: an amount, or so many times the number of samples
    """

    title: str
    cells: tuple[Cell, ...]
    contenders: tuple[Contender, ...]
    tuning: dict[str, Any] | None
    axis: str
    amount: float | None
    passes: float | None
    seeds: tuple[int, ...] | None
    backend: str = "local"
    record_every: int = 1
    conditions: Conditions | None = None

    def budget(self, samples: int | None) -> float:
        """What a run may spend on a problem of so many samples in all."""
        if self.amount is not None:
            return self.amount
        if samples is None:
            raise ValueError("`budget.passes` needs a problem with samples; an online one needs `budget.amount`.")
        assert self.passes is not None
        return int(self.passes * samples)


def read_study(path: Any) -> StudyFile:
    """The study that a TOML file describes, or one sentence about what is wrong with it."""
    return study_from(read_plain(path), Path(path).stem)


def read_plain(path: Any) -> dict[str, Any]:
    """A TOML file as plain data."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"`file` must be a study in TOML; {str(file)!r} does not exist.")
    with open(file, "rb") as raw:
        content = raw.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"`file` must be at most {MOST_BYTES} bytes long; {str(file)!r} is longer.")
    try:
        return tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"`file` must be TOML; {str(file)!r} is not ({error}).") from None


def plain_data(value: Any) -> Any:
    """What was said, as a file can have it."""
    if isinstance(value, Mapping):
        return {str(name): plain_data(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(one) for one in value]
    return value.item() if hasattr(value, "item") else value


def study_from(found: Mapping[str, Any], title: str = "study") -> StudyFile:
    """The study that plain data describe."""
    _known("study", found, PARTS)
    budget = _table("budget", found)
    _known("budget", budget, BUDGET)
    axis = choice("budget.axis", budget.get("axis", "sfo"), AXES)
    given = [name for name in ("amount", "passes") if name in budget]
    if len(given) != 1:
        raise ValueError("`budget` must have `amount`, or `passes` over the data, and not both.")
    amount = positive("budget.amount", budget["amount"]) if "amount" in budget else None
    if amount is not None and not axis.endswith("seconds"):
        amount = whole("budget.amount", budget["amount"], 1)
    tuning = _tuning(found) if "tuning" in found else None
    seeds = found.get("seeds")
    if seeds is not None:
        several = range(whole("seeds", seeds, 1)) if not isinstance(seeds, list) else seeds
        seeds = tuple(checked_seeds(several))
    return StudyFile(
        title=str(found.get("title", title)),
        cells=_cells(found),
        contenders=_contenders(found, tuning is not None),
        tuning=tuning,
        axis=axis,
        amount=amount,
        passes=positive("budget.passes", budget["passes"]) if "passes" in budget else None,
        seeds=seeds,
        backend=str(found.get("backend", "local")),
        record_every=whole("record_every", found.get("record_every", 1), 1),
        conditions=_conditions(found, axis),
    )


def _conditions(found: Mapping[str, Any], axis: str) -> Conditions | None:
    if "conditions" in found:
        return conditions_from(_table("conditions", found))
    if axis == "sim_seconds":
        raise ValueError("`budget.axis` sim_seconds needs `conditions`, a table such as { latency = 0.05 }.")
    return None


def _tuning(found: Mapping[str, Any]) -> dict[str, Any]:
    tuning = _table("tuning", found)
    _known("tuning", tuning, TUNING)
    if not isinstance(tuning.get("metric", ""), str):
        raise TypeError(f"`tuning.metric` must be text; got {tuning['metric']!r}.")
    return dict(tuning)


def _cells(found: Mapping[str, Any]) -> tuple[Cell, ...]:
    for name in ("problem", "network"):
        _check_count(name, _tables(name, found))
    problems = [one for table in _tables("problem", found) for one in _each(table)]
    networks = [one for table in _tables("network", found) for one in _each(table)]
    varied = _varied(problems), _varied(networks)
    cells = []
    for problem, network in itertools.product(problems, networks):
        name = choice("problem.name", problem.get("name"), PROBLEMS)
        parameters = {key: value for key, value in problem.items() if key not in ("name", "agents", "x0")}
        _known(f"problem {name}", parameters, list(parameters_of(PROBLEMS[name]))[1:])
        graph = choice("network.name", str(network.get("name")).replace("_", "-"), TOPOLOGIES)
        weights = {key: value for key, value in network.items() if key != "name"}
        _known(f"network {graph}", weights, list(parameters_of(TOPOLOGIES[graph]))[1:])
        x0 = number("problem.x0", problem["x0"]) if "x0" in problem else None
        agents = whole("problem.agents", problem.get("agents", 8), 1)
        cells.append(Cell(_cell_name((problem, network), varied), name, agents, parameters, graph, weights, x0))
    if len(cells) > MOST_CELLS:
        raise ValueError(f"`problem` and `network` must make at most {MOST_CELLS} cells; got {len(cells)}.")
    several = {cell.name for cell in cells}
    if len(several) < len(cells):
        raise ValueError("`problem` and `network` must not describe the same cell twice.")
    return tuple(cells)


def _check_count(name: str, tables: list[Mapping[str, Any]]) -> None:
    """Refuse lists whose combinations are more than there may be cells, before they are made."""
    count = sum(math.prod(len(one) for one in table.values() if isinstance(one, list)) for table in tables)
    if count > MOST_CELLS:
        raise ValueError(f"`{name}` must describe at most {MOST_CELLS} of them; its lists make {count}.")


def _each(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One table for each combination of the values of its lists."""
    lists = [
        [(name, value) for value in (values if isinstance(values, list) else [values])]
        for name, values in table.items()
    ]
    return [dict(pairs) for pairs in itertools.product(*lists)]


def _varied(tables: list[dict[str, Any]]) -> dict[str, None]:
    """What differs between the tables."""
    every = dict.fromkeys(name for table in tables for name in table)
    return {name: None for name in every if len({repr(table.get(name)) for table in tables}) > 1}


def _cell_name(parts: tuple[dict[str, Any], dict[str, Any]], varied: tuple[dict[str, None], dict[str, None]]) -> str:
    """What tells a cell from the others, as people say it and as a folder may be called."""
    said = [
        str(part[name]) if isinstance(part[name], str) else f"{name}={part[name]}"
        for part, names in zip(parts, varied, strict=True)
        for name in names
        if name in part
    ]
    text = ", ".join(said) or ", ".join(str(part.get("name")) for part in parts)
    return re.sub(r"^\.+|[^\w .,+=-]", "-", text)  # neither elsewhere nor out of sight


def _contenders(found: Mapping[str, Any], tuned: bool) -> tuple[Contender, ...]:
    contenders = []
    for table in _tables("method", found):
        name = choice("method.name", table.get("name"), METHODS)
        label = str(table.get("label", name))
        own = {key: value for key, value in table.items() if key not in ("name", "label")}
        _known(f"method {name}", own, parameters_of(METHODS[name]))
        if not re.fullmatch(r"\w[\w .+=-]*", label):
            raise ValueError(f"`method.label` must be letters, digits, spaces and . + = - _; got {label!r}.")
        space = {key: _searched(f"{label}.{key}", value, tuned) for key, value in own.items()}
        contenders.append(Contender(label, name, space))
    labels = [one.label for one in contenders]
    if len(set(labels)) < len(labels):
        raise ValueError(f"`method` must have different labels; got {', '.join(labels)}.")
    return tuple(contenders)


def _searched(name: str, value: Any, tuned: bool) -> Any:
    """A value; with tuning also several, or a range. "none" is no value: the method's own choice."""
    if isinstance(value, dict):
        _known(name, value, ("low", "high"))
        if not tuned or len(value) < 2:
            raise ValueError(f"`{name}` must be a value, or with `tuning` a range with low and high; got {value!r}.")
        return Range(value["low"], value["high"])
    if isinstance(value, list):
        if not tuned:
            raise ValueError(f"`{name}` must be one value where there is no `tuning`; got {value!r}.")
        return tuple(None if one == "none" else one for one in value)
    return None if value == "none" else value


def _known(where: str, table: Mapping[str, Any], options: Any) -> None:
    for name in table:
        choice(f"entry of {where}", name, options)


def _table(name: str, found: Mapping[str, Any]) -> Mapping[str, Any]:
    table = found.get(name)
    if not isinstance(table, dict):
        raise ValueError(f"`{name}` must be a table, [{name}] in the file; got {table!r}.")
    return table


def _tables(name: str, found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    tables = found.get(name)
    if isinstance(tables, dict):
        tables = [tables]
    if not isinstance(tables, list) or not tables or not all(isinstance(one, dict) for one in tables):
        raise ValueError(f"`{name}` must be tables, [[{name}]] in the file; got {tables!r}.")
    return tables
