"""What tuning found: every trial, the best of each method, the setting, and the folder they are kept in."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import raydream
from raydream.algorithms.facts import Range
from raydream.checks import path
from raydream.columns import Column, column
from raydream.notebook import card
from raydream.storage.files import read_json, write_json
from raydream.storage.naming import setting_name
from raydream.studies.kept import keep_start, setting_again, written
from raydream.studies.named import kind_again
from raydream.studies.setting import Setting
from raydream.studies.tuning.spaces import Grid
from raydream.studies.tuning.trials import Record, TrialLog
from raydream.studies.tuning.winners import edges, score_of

if TYPE_CHECKING:
    import pandas as pd

ABOUT = ("methods", "seeds", "search", "space", "seed", "identity")  # that every tuning.json has had


@dataclass
class Tuning:
    """What tuning found.

    winners  the best configuration of each method that has one: name, parameters, score, and what to know of it
    records  every trial, with what it had spent and reached at its last record within its budget
    budget, axis, metric  what every trial could spend in the end, of what, and by what it was judged
    about    how it was searched: seeds, search, space, grids as they were in the end, prices of starts, remarks
    """

    winners: dict[str, dict[str, Any]]
    records: list[Record]
    budget: float
    axis: str
    metric: str
    kinds: dict[str, Any]
    about: dict[str, Any]
    setting: Setting | None = field(default=None, repr=False)
    directory: Path | None = None

    def __repr__(self) -> str:
        scores = ", ".join(f"{label} {winner['score']:.6g}" for label, winner in self.winners.items())
        return f"<Tuning: {len(self.records)} trials of {self.budget:g} {self.axis}; best {self.metric}: {scores}>"

    def _repr_html_(self) -> str:
        facts = {label: f"{winner['score']:.6g} with {winner['parameters']}" for label, winner in self.winners.items()}
        return card(f"Tuning: {self.title}", facts or {"winners": "none"})

    @property
    def best(self) -> dict[str, Any]:
        """The winning methods by name, as `compare` takes them; a method that nothing was won with has none."""
        return {label: self.kinds[label](**winner["parameters"]) for label, winner in self.winners.items()}

    @property
    def judged_by(self) -> Column:
        """The metric, and which way it is better."""
        return column(self.metric, self.about.get("metrics", {}))

    @property
    def trials(self) -> "pd.DataFrame":
        """One row per trial; `score` is infinite for one that diverged, failed or could not start."""
        import pandas as pd

        table = pd.DataFrame([{**record, "score": score_of(record, self.judged_by)} for record in self.records])
        return table.drop(columns=["key"], errors="ignore")

    @property
    def table(self) -> "pd.DataFrame":
        """One row per method: what was tried of how much, what won, and what to know before believing it."""
        import pandas as pd

        return pd.DataFrame([self._row(label) for label in self.about["methods"]])

    def _row(self, label: str) -> dict[str, Any]:
        own, winner = [record for record in self.records if record["method"] == label], self.winners.get(label)
        count, of = self.about.get("configurations", {}).get(label, [None, None])
        row: dict[str, Any] = {"method": label, "configurations": count, "of": of, "trials": len(own)}
        row |= {word: sum(record["outcome"] == word for record in own) for word in ("diverged", "failed")}
        row["spent"] = sum(float(record.get(self.axis) or 0.0) for record in own)
        row["score"] = math.inf if winner is None else winner["score"]
        row["started"] = math.nan if winner is None or winner.get("started") is None else winner["started"]
        row["parameters"] = {} if winner is None else winner["parameters"]
        row["at_edge"] = [] if winner is None else self.edges(label)
        row["remark"] = self.about.get("said", {}).get(label, "")
        return row

    def edges(self, label: str) -> list[str]:
        """The parameters of a winner that lie at an edge of what was tried."""
        return list(edges(self.winners[label]["parameters"], self.grid(label), self.about["search"] == "grid"))

    def grid(self, label: str) -> Grid:
        """What the parameters of a method could be, in the end: ranges reach as far as trials did around a winner."""
        kept = self.about.get("grids", {}).get(label)
        own = [record["parameters"] for record in self.records if record["method"] == label]
        if kept is None:  # of an earlier version: what was tried
            return {name: tuple(dict.fromkeys(one[name] for one in own)) for name in (own[0] if own else {})}
        found: Grid = {}
        for name, values in kept.items():
            tried = [float(one[name]) for one in own if isinstance(values, dict)]
            ends = [*tried, values["low"], values["high"]] if isinstance(values, dict) else []
            found[name] = Range(min(ends), max(ends)) if ends else tuple(values)
        return found

    def setting_for(self, problem: Any = None, topology: Any = None) -> Setting:
        """The problem, network and start that were tuned on; `problem` where the directory cannot say it."""
        if self.setting is None:
            if "setting" not in self.about:
                if problem is not None and topology is not None:
                    return Setting.around(problem, topology, ())
                raise ValueError("`best` does not say on what it was tuned, as an earlier version left it; tune again.")
            root = self.directory or Path()
            self.setting = setting_again(root, self.about["setting"], self.about["identity"], problem, topology)
        return self.setting

    @property
    def on(self) -> str:
        """Problem, data, network and agents by one name; nothing where an earlier version did not keep them."""
        kept = self.about.get("setting") or (None if self.setting is None else written(self.setting))
        return "" if kept is None else setting_name(kept)

    @property
    def title(self) -> str:
        """How the winners were found, in a few words."""
        search, count = self.about["search"], len(self.records)
        return f"tuned by {self.metric} at {self.budget:g} {self.axis} each, {search} search, {count} trials"

    def report(self, path: Any, **options: Any) -> Path:
        """One self-contained interactive page: what was tried, what won, and what decided it."""
        from raydream.report import write_tuning

        return write_tuning(path, self, **options)

    def save(self, directory: Any) -> Path:
        """Write best.json (the winning parameters), tuning.json (how they were found) and trials.jsonl."""
        root = path("directory", directory)
        log = TrialLog(root)
        for record in self.records:
            if log.records.get(record["key"]) != record:
                log.add(record["key"], {name: value for name, value in record.items() if name != "key"})
        root.mkdir(parents=True, exist_ok=True)
        head = {"budget": self.budget, "axis": self.axis, "metric": self.metric}
        keys = [record["key"] for record in self.records]
        if self.setting is not None:
            keep_start(root, self.setting)
            self.about["setting"] = written(self.setting)
        write_json(root / "tuning.json", {"raydream": raydream.__version__, **head, **self.about, "trials": keys})
        write_json(root / "best.json", {**head, "best": self.winners})
        self.directory = root
        return root

    @classmethod
    def load(cls, directory: Any, methods: Mapping[str, Any] | None = None) -> "Tuning":
        """What tuning left in a directory; `methods` gives the classes of methods that are not this package's."""
        root = path("directory", directory)
        for name in ("best.json", "tuning.json"):
            if not (root / name).is_file():
                raise FileNotFoundError(
                    f"`directory` must hold a finished tuning; {str(root)!r} has no {name}. Tune again to finish it."
                )
        try:
            best, about = (read_json(root / name) for name in ("best.json", "tuning.json"))
            records = TrialLog(root).records
            head = {name: best[name] for name in ("budget", "axis", "metric")}
            kinds = {label: kind_again(name, label, methods or {}) for label, name in about["methods"].items()}
            assert all(name in about for name in ABOUT)
            own = [records[key] for key in about.pop("trials")]
            kept = {name: value for name, value in about.items() if name not in (*head, "raydream")}
            return cls(best["best"], own, **head, kinds=kinds, about=kept, directory=root)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
            raise ValueError(f"`directory` holds no readable tuning: {str(root)!r} is damaged ({error}).") from None
