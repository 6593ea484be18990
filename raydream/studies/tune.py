"""tune(): the best parameters of each method under one budget that is the same for all."""

import contextlib
import json
import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import raydream
from raydream.algorithms import METHODS
from raydream.checks import choice, positive, whole
from raydream.errors import Interrupted
from raydream.running.progress import Progress
from raydream.storage.files import whole_file
from raydream.studies.compare import checked_seeds
from raydream.studies.curves import METRICS, quantile
from raydream.studies.setting import Worlds, needs_one_machine
from raydream.studies.spaces import SEARCHES, configurations, grid_of
from raydream.studies.trials import Trial, TrialLog, attempt
from raydream.topology import Topology

if TYPE_CHECKING:
    import pandas as pd

AXES = ("rounds", "seconds", "sfo")
SHARES = (9, 3, 1)  # of the budget, in the three rounds of successive halving; a third goes on each time
Finished = Generator[tuple[int, Any], None, None]
Records = list[dict[str, Any]]


@dataclass
class Tuning:
    """What tuning found.

    winners  the best configuration of each method that has one: name, parameters, score
    records  every trial, with what it had spent and reached at its last record within its budget
    budget, axis, metric  what every method could spend, of what, and by what it was judged
    """

    winners: dict[str, dict[str, Any]]
    records: Records
    budget: float
    axis: str
    metric: str
    kinds: dict[str, Any]
    about: dict[str, Any]

    def __repr__(self) -> str:
        scores = ", ".join(f"{label} {winner['score']:.6g}" for label, winner in self.winners.items())
        return f"<Tuning: {len(self.records)} trials of {self.budget:g} {self.axis}; best {self.metric}: {scores}>"

    @property
    def best(self) -> dict[str, Any]:
        """The winning methods by name, as `compare` takes them; a method of which every trial failed has none."""
        return {label: self.kinds[label](**winner["parameters"]) for label, winner in self.winners.items()}

    @property
    def trials(self) -> "pd.DataFrame":
        """One row per trial; `score` is infinite for one that diverged, failed or could not start."""
        import pandas as pd

        table = pd.DataFrame([{**record, "score": score_of(record, self.metric)} for record in self.records])
        return table.drop(columns=["key"], errors="ignore")

    @property
    def table(self) -> "pd.DataFrame":
        """One row per method: what was tried, what won, and whether it won at an edge of its grid."""
        import pandas as pd

        rows = []
        for label in self.about["methods"]:
            own = [record for record in self.records if record["method"] == label]
            winner = self.winners.get(label)
            row: dict[str, Any] = {"method": label, "trials": len(own)}
            row |= {word: sum(record["outcome"] == word for record in own) for word in ("diverged", "failed")}
            row["score"] = math.inf if winner is None else winner["score"]
            row["parameters"] = {} if winner is None else winner["parameters"]
            row["at_edge"] = [] if winner is None else _edges(winner["parameters"], own)
            rows.append(row)
        return pd.DataFrame(rows)

    def save(self, directory: Any) -> Path:
        """Write best.json (the winning parameters), tuning.json (how they were found) and trials.jsonl."""
        root = Path(directory)
        log = TrialLog(root)
        for record in self.records:
            if log.records.get(record["key"]) != record:
                log.add(record["key"], {name: value for name, value in record.items() if name != "key"})
        root.mkdir(parents=True, exist_ok=True)
        head = {"budget": self.budget, "axis": self.axis, "metric": self.metric}
        keys = [record["key"] for record in self.records]
        _write(root / "tuning.json", {"raydream": raydream.__version__, **head, **self.about, "trials": keys})
        _write(root / "best.json", {**head, "best": self.winners})
        return root

    @classmethod
    def load(cls, directory: Any, methods: Mapping[str, Any] | None = None) -> "Tuning":
        """What tuning left in a directory; `methods` gives the classes of methods that are not this package's."""
        root = Path(directory)
        for name in ("best.json", "tuning.json"):
            if not (root / name).is_file():
                raise FileNotFoundError(
                    f"`directory` must hold a finished tuning; {str(root)!r} has no {name}. Tune again to finish it."
                )
        try:
            best, about = (json.loads((root / name).read_text()) for name in ("best.json", "tuning.json"))
            records = TrialLog(root).records
            head = {name: best[name] for name in ("budget", "axis", "metric")}
            kinds = {label: _known(name, label, methods or {}) for label, name in about["methods"].items()}
            kept = {name: about[name] for name in ("methods", "seeds", "search", "space", "seed", "identity")}
            return cls(best["best"], [records[key] for key in about["trials"]], **head, kinds=kinds, about=kept)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"`directory` holds no readable tuning: {str(root)!r} is damaged ({error}).") from None


def tune(
    problem: Any,
    topology: Topology,
    methods: Mapping[str, Any] | Iterable[Any],
    *,
    budget: float,
    axis: str = "sfo",
    space: Any = "paper",
    search: str = "grid",
    trials: int | None = None,
    seeds: Iterable[int] = (0,),
    metric: str = "primal",
    directory: Any = None,
    workers: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Tuning:
    """Find good parameters for each method, every trial of every method with the same budget.

    methods    names as on the command line, or classes; or label -> name or class
    budget     how much each trial may spend, of `axis`: "sfo", "rounds" or "seconds"
    space      "paper" (the DREAM paper's grids), "wide" (further steps, fewer batches), a dict parameter -> values
               for every method, or a dict label -> any of these
    search     "grid" (all), "random" (`trials` of each method), or "halving" (`trials` at a ninth of the budget, the
               best third at a third, the best third of these at all of it)
    trials     the most configurations of one method (default: 1000 for "grid", else 27)
    seeds      a configuration is judged by its median over these
    metric     "primal" or "grad_norm", at the last record within the budget; infinite for a trial that diverged
    directory  where trials are kept as they finish; the same call goes on where an earlier one was ended
    workers    trials at a time, as Ray tasks (default: one per CPU); 1 runs them in this process
    seed       of the draws of "random" and "halving"
    progress   True: a bar on a terminal, lines elsewhere; False: neither; None: a bar on a terminal
    """
    choice("axis", axis, AXES)
    choice("search", search, SEARCHES)
    choice("metric", metric, METRICS)
    budget = positive("budget", budget) if axis == "seconds" else whole("budget", budget, 1)
    if trials is not None:
        whole("trials", trials, 1)
    if workers is not None:
        whole("workers", workers, 1)
    kinds, numbers = named_kinds(methods), checked_seeds(seeds)
    alone = [label for label, kind in kinds.items() if needs_one_machine(kind)]
    if axis == "rounds" and alone:
        raise ValueError(f'`axis` must not be "rounds" for {alone[0]}, which runs on one machine and has none.')
    worlds = Worlds.around(problem, topology, kinds.values())
    alive = {
        label: configurations(
            label, kind, grid_of(space, label, kind, list(kinds)), worlds, search=search, trials=trials,
            seed=whole("seed", seed),
        )
        for label, kind in kinds.items()
    }  # fmt: skip
    root = None if directory is None else Path(directory)
    log, identity = TrialLog(root), worlds.identity()
    budgets = [_share(budget, axis, share) for share in (SHARES if search == "halving" else (1,))]
    count, work = _planned([len(chosen) * len(numbers) for chosen in alive.values()], budgets)
    records: Records = []
    ranked: dict[str, list[tuple[float, dict[str, Any]]]] = {}
    told = Progress("tune", count, progress, work)
    try:
        with told, _Workers(worlds, workers) as each:
            for rung, spend in enumerate(budgets):
                if rung:
                    alive = {label: [one for _, one in ranked[label][: -(-len(ranked[label]) // 3)]] for label in kinds}
                tried = _interleaved([
                    [Trial(label, kinds[label], one, number, spend, axis) for one in alive[label] for number in numbers]
                    for label in kinds
                ])  # fmt: skip
                keys = [trial.key(identity) for trial in tried]
                _run_missing(tried, keys, log, each, told, metric)
                records += [log.records[key] for key in keys]
                ranked = _ranked(tried, [score_of(log.records[key], metric) for key in keys], kinds)
    except KeyboardInterrupt as stop:
        kept = "" if root is None else f"; finished trials are kept in {root}, and the same command goes on"
        raise Interrupted(f"stopped after {told.done} of {told.total} trials{kept}") from stop
    winners = {
        label: {"name": _name(kinds[label]), "parameters": order[0][1], "score": order[0][0]}
        for label, order in ranked.items()
        if math.isfinite(order[0][0])
    }
    about = {
        "methods": {label: _name(kind) for label, kind in kinds.items()},
        "seeds": numbers, "search": search, "space": space if isinstance(space, str) else "given", "seed": seed,
        "identity": identity,
    }  # fmt: skip
    tuning = Tuning(winners, records, budget, axis, metric, kinds, about)
    if root is not None:
        tuning.save(root)
    return tuning


def named_kinds(methods: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """The classes of methods by label; a name that is not known is answered with the nearest."""
    if isinstance(methods, Mapping):
        kinds = {str(label): _kind(method) for label, method in methods.items()}
    else:
        kinds = {}
        for method in [methods] if isinstance(methods, str | type) else methods:
            kind = _kind(method)
            kinds[_name(kind)] = kind
    if not kinds:
        raise ValueError("`methods` must name at least one method; got none.")
    return kinds


def score_of(record: dict[str, Any], metric: str) -> float:
    """The metric of a trial; infinite where there is none."""
    value = record.get(metric)
    return math.inf if value is None else float(value)


class _Workers:
    """Calls in other processes, which are started when the first call is made; one worker is this process."""

    def __init__(self, worlds: Worlds, workers: int | None) -> None:
        self._worlds, self._workers, self._stack = worlds, workers, contextlib.ExitStack()
        self._each: Callable[..., Finished] | None = None

    def __enter__(self) -> "_Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __call__(self, trials: Sequence[Trial]) -> Finished:
        if not trials:
            return
        if self._workers == 1:
            yield from ((number, attempt(self._worlds, trial)) for number, trial in enumerate(trials))
            return
        from raydream.backends.ray.tasks import cpus, tasks

        if self._each is None:
            self._each = self._stack.enter_context(tasks(self._worlds, self._workers or cpus()))
        with contextlib.closing(self._each(attempt, trials)) as finished:
            yield from finished


def _run_missing(
    tried: list[Trial], keys: list[str], log: TrialLog, each: _Workers, told: Progress, metric: str
) -> None:
    """Run the trials that the log does not have, and write down each as it finishes."""
    missing = [(key, trial) for key, trial in zip(keys, tried, strict=True) if not log.finished(key)]
    told.skip(len(tried) - len(missing), (len(tried) - len(missing)) * (tried[0].budget if tried else 0.0))
    with contextlib.closing(each([trial for _, trial in missing])) as finished:
        for number, record in finished:
            key, trial = missing[number]
            if isinstance(record, Exception):
                lost = {"outcome": "failed", "reason": str(record), "primal": None, "grad_norm": None}
                about = {name: getattr(trial, name) for name in ("method", "parameters", "seed", "budget", "axis")}
                record = about | lost
            log.add(key, record)
            told.step(f"{trial.text()}: {record['outcome']}, {metric} {score_of(record, metric):.6g}", trial.budget)


def _ranked(
    tried: list[Trial], scores: list[float], kinds: dict[str, Any]
) -> dict[str, list[tuple[float, dict[str, Any]]]]:
    """The configurations of each method, best first, by the median score over seeds."""
    found: dict[str, dict[str, tuple[dict[str, Any], list[float]]]] = {label: {} for label in kinds}
    for trial, score in zip(tried, scores, strict=True):
        _, of_seeds = found[trial.method].setdefault(repr(trial.parameters), (trial.parameters, []))
        of_seeds.append(score)
    return {
        label: sorted(((quantile(s, 0.5), one) for one, s in configured.values()), key=lambda pair: pair[0])
        for label, configured in found.items()
    }


def _share(budget: float, axis: str, share: int) -> float:
    return budget / share if axis == "seconds" else max(1, int(budget) // share)


def _planned(counts: list[int], budgets: list[float]) -> tuple[int, float]:
    """How many trials there will be, and how much they will spend."""
    total, work = 0, 0.0
    for budget in budgets:
        total, work = total + sum(counts), work + sum(counts) * budget
        counts = [-(-count // 3) for count in counts]
    return total, work


def _interleaved(lists: list[list[Trial]]) -> list[Trial]:
    """One of each method in turn, so that the time left is estimated from all of them."""
    return [trial for trial in chain.from_iterable(zip_longest(*lists)) if trial is not None]


def _edges(parameters: dict[str, Any], records: Records) -> list[str]:
    """The parameters whose best value is the smallest or the largest that was tried."""
    found = []
    for name, value in parameters.items():
        tried = {record["parameters"][name] for record in records}
        numeric = all(isinstance(one, int | float) for one in tried)
        if numeric and len(tried) > 1 and value in (min(tried), max(tried)):
            found.append(name)
    return found


def _kind(method: Any) -> Any:
    if isinstance(method, str):
        return METHODS[choice("method", method, METHODS)]
    if not isinstance(method, type):
        raise TypeError(f"`methods` must hold names or classes, whose parameters are to be found; got {method!r}.")
    return method


def _known(name: str, label: str, given: Mapping[str, Any]) -> Any:
    kind = given.get(label) or METHODS.get(name)
    if kind is None:
        raise ValueError(f"{label!r} is not one of this package's methods; give its class in `methods`")
    return kind


def _name(kind: Any) -> str:
    return METHODS.name_of(kind) or str(kind.__name__)


def _write(path: Path, record: dict[str, Any]) -> None:
    with whole_file(path) as file:
        file.write((json.dumps(record, indent=2) + "\n").encode())
