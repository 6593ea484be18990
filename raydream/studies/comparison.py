"""A comparison: the runs of several methods over several seeds, their tables, and the folder they are kept in."""

import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import raydream
from raydream.checks import choice, number, path
from raydream.columns import COSTS, LIMITED, Better, column, names, with_conditional
from raydream.errors import StudyWarning
from raydream.notebook import card, curves
from raydream.storage.files import read_json, write_json
from raydream.storage.naming import shared_name
from raydream.storage.reading import read_record
from raydream.storage.result import Result, load
from raydream.studies.curves import columns_of, reach_table, resampled_curves
from raydream.studies.prices import prices, quantities, repriced, said_of, why_estimated
from raydream.studies.standings import differences, finals, verdict
from raydream.studies.winners import FOREVER, Reach, Reaching, Spent

if TYPE_CHECKING:
    import pandas as pd

Key = tuple[str, int]  # a method's name and a seed


@dataclass
class Comparison:
    """The runs of several methods over several seeds.

    results   the finished runs by (method, seed); one that diverged is a result too
    failures  the sentences of those that ended with an error
    skipped   run directories that could not be read, with the reason
    identity  what tells the problem, network and start from others
    tuned     how the parameters were found, where they are a tuning's winners
    missing   the methods that were tuned and won nothing, and why
    priced    at which prices `sim_seconds` was computed, and how exactly, where `at_prices` did that
    """

    results: dict[Key, Result]
    failures: dict[Key, str] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    identity: dict[str, str] = field(default_factory=dict)
    directory: Path | None = None
    tuned: str = ""
    missing: dict[str, str] = field(default_factory=dict)
    priced: str = ""

    def __repr__(self) -> str:
        methods = ", ".join(dict.fromkeys(name for name, _ in [*self.results, *self.failures]))
        return f"<Comparison: {len(self.results)} runs of {methods}; {len(self.failures)} failed>"

    @property
    def on(self) -> str:
        """Problem, data, network and agents by one name."""
        return shared_name(result.config for result in self.results.values())

    def _repr_html_(self) -> str:
        methods = list(dict.fromkeys(name for name, _ in self.results))
        facts = {"runs": f"{len(self.results)} of {', '.join(methods)}", "failed": len(self.failures)}
        facts |= {"tuned": self.tuned} if self.tuned else {}
        if len(methods) > 1:
            facts["who leads"] = self.verdict()
        table = self.curves("sfo", "grad_norm") if self.results else None
        lines = [] if table is None else [
            (name, own["sfo"], own["median"]) for name in methods for own in [table[table["method"] == name]]
        ]  # fmt: skip
        return card("Comparison", facts, curves(lines, "median ‖∇P‖ over SFO calls, log scale", True))

    def report(self, path: Any, **options: Any) -> Path:
        """One self-contained interactive page."""
        from raydream.report import write_report

        return write_report(path, self, **options)

    @property
    def plot(self) -> Any:
        """Figures, such as `plot.convergence(x="sfo")`."""
        from raydream.report import Plot

        return Plot(self)

    @property
    def history(self) -> "pd.DataFrame":
        """All histories, one under the other, with the columns `method` and `seed` in front."""
        import pandas as pd

        tables = []
        for (method, seed), result in self.results.items():
            table = result.history.copy()
            table.insert(0, "method", method)
            table.insert(1, "seed", seed)
            tables.append(table)
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=["method", "seed"])

    @property
    def runs(self) -> "pd.DataFrame":
        """One row per run: outcome, last metrics and bill; a failed run has its sentence as the reason.

        Metrics of one's own come last.
        """
        import pandas as pd

        rows = []
        for (method, seed), result in self.results.items():
            last = result.history.iloc[-1]
            row = {"method": method, "seed": seed, "outcome": result.outcome, "reason": result.reason}
            row |= {"iterations": int(last.iteration), "primal": last.primal, "grad_norm": last.grad_norm}
            own = {name: last[name] for name in result.record.settings.metrics}
            rows.append({**row, **{name: last[name] for name in with_conditional(COSTS, last.index)}, **own})
        for (method, seed), sentence in self.failures.items():
            rows.append({"method": method, "seed": seed, "outcome": "failed", "reason": sentence})
        columns = ["method", "seed", "outcome", "reason", "iterations", "primal", "grad_norm"]
        costs = with_conditional(COSTS, {name for row in rows for name in row})
        return pd.DataFrame(rows, columns=[*columns, *costs, *self.own])

    def to_reach(
        self, target: float, metric: str = "grad_norm", quantiles: tuple[float, float] = (0.25, 0.75)
    ) -> "pd.DataFrame":
        """SFO, rounds, bytes and seconds to first reach a target: median and quantiles over seeds, by method.

        `reached` says how many of the `seeds` got there. One that did not counts as dearer than all others, and a
        median or quantile that falls on such a seed is NaN.
        """
        histories: dict[Key, pd.DataFrame | None] = {**self._histories, **dict.fromkeys(self.failures)}
        return reach_table(histories, target, metric, quantiles, self.own)

    def finals(self, metric: str = "primal", x: str | None = None, at: float | None = None) -> "pd.DataFrame":
        """Each method's median over seeds with its 95 % interval, its dual gap, and in how many runs y has followed.

        At the last records within the budget of the runs, or at their end where they have none; or, where `x` names a
        cost, at the price `at` (default: the most that all have spent).
        """
        return finals(self._histories, metric, *self._price(x, at), self.own)

    def differences(self, metric: str = "primal", x: str | None = None, at: float | None = None) -> "pd.DataFrame":
        """For each pair of methods the mean difference over shared seeds with its 95 % interval, and whether it is
        decided; ratios, which equality makes 1, of a metric that falls by orders of magnitude."""
        return differences(self._histories, metric, *self._price(x, at), self.own)

    def verdict(self, metric: str = "primal", x: str | None = None, at: float | None = None) -> str:
        """Who leads, in one sentence, as far as the seeds decide it."""
        return verdict(self._histories, metric, *self._price(x, at), self.own)

    def at_prices(
        self, gradient_seconds: float | None = None, latency: float | None = None, bandwidth: float | None = None
    ) -> "Comparison":
        """The same runs with `sim_seconds` as on a network of these prices; nothing runs again.

        Seconds per SFO call, seconds per message, and bytes per second on each link. Exact where all agents call as
        many gradients as each other, as the `priced` of what is returned says; elsewhere a warned estimate.
        """
        at = prices(gradient_seconds, latency, bandwidth)
        results = {key: repriced(result, at) for key, result in self.results.items()}
        said = said_of(self.results, at)
        if any(why_estimated(result.record) for result in self.results.values()):
            warnings.warn(f"{said}. `run` with `conditions` counts it exactly.", StudyWarning, stacklevel=2)
        return replace(self, results=results, directory=None, priced=said)

    def winner_map(self, target: float, metric: str = "grad_norm", **options: Any) -> Any:
        """Who reaches a target first, over latency and the price of a gradient, bandwidth on a slider.

        A plotly figure whose `table` has the numbers; the options are those of `raydream.report.winner_map`.
        """
        from raydream.report.figures.winner_map import winner_map

        return winner_map(self, target, metric, **options)

    def reaching(self, target: float, metric: str = "grad_norm") -> Reaching:
        """What each run had spent at its first record as good as a target, or at its end where it has none."""
        number("target", target)
        choice("metric", metric, [*names("metric"), *self.own])
        runs = dict.fromkeys(self.failures, Reach(FOREVER, False))
        for key, result in self.results.items():
            values = columns_of(result.history)[metric]
            found = np.flatnonzero(column(metric, self.own).reaches(values, target))
            at = found[0] if found.size else -1
            spent = Spent(*(float(one[at]) for one in quantities(result)))
            runs[key] = Reach(FOREVER if at < 0 and result.outcome == "diverged" else spent, bool(found.size))
        return Reaching(runs)

    @property
    def own(self) -> dict[str, Better]:
        """The metrics of one's own that runs recorded, and which way each is better."""
        return {name: way for one in self.results.values() for name, way in one.record.settings.metrics.items()}

    def _price(self, x: str | None, at: float | None) -> tuple[str | None, float | None]:
        """Where runs are judged: at the price that is given, else at the one budget that all had."""
        if x is not None:
            return x, at
        budgets = {
            tuple((LIMITED[name].name, value) for name, value in result.record.settings.limits.given().items()
                  if LIMITED[name].kind == "cost")
            for result in self.results.values()
        }  # fmt: skip
        common = budgets.pop() if len(budgets) == 1 else ()
        return common[0] if len(common) == 1 else (None, None)

    @property
    def _histories(self) -> "dict[Key, pd.DataFrame]":
        return {key: result.history for key, result in self.results.items()}

    def curves(
        self,
        x: str = "sfo",
        y: str = "primal",
        points: int = 200,
        quantiles: tuple[float, float] = (0.25, 0.75),
    ) -> "pd.DataFrame":
        """`y` over `x` on a common axis, by method: median, low and high over seeds, and the number of `runs` there.

        A run is a step function; before its first record and after its last it has no value.
        """
        return resampled_curves(self._histories, x, y, points, quantiles, self.own)

    def save(self, directory: Any) -> Path:
        """Write comparison.json and one folder per run, `<method>/seed-<seed>`; existing runs are not replaced."""
        root = path("directory", directory)
        if self.directory is not None and root.resolve() == self.directory.resolve():
            return root
        for key in [*self.results, *self.failures]:
            if (folder_of(root, key) / "run.json").exists():
                raise FileExistsError(
                    f"`directory` must not hold a run already; {str(folder_of(root, key))!r} does. Choose another."
                )
        methods = {name: result.record.method.to_json() for (name, _), result in self.results.items()}
        write_index(root, self, methods, sorted({seed for _, seed in [*self.results, *self.failures]}))
        for key, result in self.results.items():
            result.save(folder_of(root, key))
        for key, sentence in self.failures.items():
            write_failure(folder_of(root, key), key, sentence)
        return root

    @classmethod
    def load(cls, directory: Any) -> "Comparison":
        """All runs found in a directory; those that cannot be read are named in `skipped`."""
        root = path("directory", directory)
        folders = [folder for folder in root.glob("*/seed-*") if folder.is_dir() and _seed_of(folder) is not None]
        if not folders:
            raise FileNotFoundError(
                f"`directory` must hold runs in folders <method>/seed-<number>; {str(root)!r} has none."
            )
        found = cls({}, directory=root)
        index: dict[str, Any] = {}
        try:
            index = read_index(root)
        except ValueError as error:
            found.skipped.append((str(root / "comparison.json"), str(error)))
        found.identity, found.tuned = index.get("identity", {}), str(index.get("tuned", ""))
        found.missing = dict(index.get("missing") or {})
        order = list(index.get("methods", {}))
        for folder in sorted(folders, key=lambda one: (_place(order, one.parent.name), one.parent.name, _seed_of(one))):
            key = folder.parent.name, _seed_of(folder) or 0
            try:
                if (folder / "failure.json").exists():
                    found.failures[key] = str(read_json(folder / "failure.json")["sentence"])
                else:
                    found.results[key] = _finished(folder)
            except (OSError, ValueError, KeyError, TypeError) as error:
                found.skipped.append((str(folder), str(error)))
        return found


def folder_of(root: Path, key: Key) -> Path:
    """Where a run is kept."""
    return root / key[0] / f"seed-{key[1]}"


def write_failure(folder: Path, key: Key, sentence: str) -> None:
    """failure.json, in the place of a run."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "failure.json", {"method": key[0], "seed": key[1], "sentence": sentence})


def write_index(root: Path, comparison: Comparison, methods: dict[str, Any], seeds: list[int]) -> None:
    """comparison.json: the methods and seeds, how they were found, and what tells the problem from others."""
    root.mkdir(parents=True, exist_ok=True)
    record = {
        "raydream": raydream.__version__, "identity": comparison.identity, "methods": methods, "seeds": seeds,
        "tuned": comparison.tuned, "missing": comparison.missing,
    }  # fmt: skip
    write_json(root / "comparison.json", record)


def read_index(root: Path) -> dict[str, Any]:
    """comparison.json, or nothing where there is none."""
    try:
        record = read_json(root / "comparison.json")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ValueError(f"{str(root / 'comparison.json')!r} is damaged ({error}).") from None
    if not isinstance(record, dict):
        raise ValueError(f"{str(root / 'comparison.json')!r} is damaged (it is no object).")
    return record


def _finished(folder: Path) -> Result:
    """The run in a folder, or a sentence that says why there is none."""
    record = read_record(folder)
    if not record.finished:
        raise ValueError(f"{str(folder)!r} holds a run that did not finish (its outcome is {record.outcome!r}).")
    return load(folder)


def _seed_of(folder: Path) -> int | None:
    text = folder.name.removeprefix("seed-")
    return int(text) if text.isdigit() else None


def _place(order: list[str], name: str) -> int:
    return order.index(name) if name in order else len(order)
