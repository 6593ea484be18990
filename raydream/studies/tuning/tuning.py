"""What tuning found: every trial, the best of each method, and the folder they are kept in."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import raydream
from raydream.storage.files import write_json
from raydream.studies.named import kind_again
from raydream.studies.trials import TrialLog

if TYPE_CHECKING:
    import pandas as pd

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
        write_json(root / "tuning.json", {"raydream": raydream.__version__, **head, **self.about, "trials": keys})
        write_json(root / "best.json", {**head, "best": self.winners})
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
            kinds = {label: kind_again(name, label, methods or {}) for label, name in about["methods"].items()}
            kept = {name: about[name] for name in ("methods", "seeds", "search", "space", "seed", "identity")}
            return cls(best["best"], [records[key] for key in about["trials"]], **head, kinds=kinds, about=kept)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"`directory` holds no readable tuning: {str(root)!r} is damaged ({error}).") from None


def score_of(record: dict[str, Any], metric: str) -> float:
    """The metric of a trial; infinite where there is none."""
    value = record.get(metric)
    return math.inf if value is None else float(value)


def _edges(parameters: dict[str, Any], records: Records) -> list[str]:
    """The parameters whose best value is the smallest or the largest that was tried."""
    found = []
    for name, value in parameters.items():
        tried = {record["parameters"][name] for record in records}
        numeric = all(isinstance(one, int | float) for one in tried)
        if numeric and len(tried) > 1 and value in (min(tried), max(tried)):
            found.append(name)
    return found
