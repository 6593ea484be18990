"""study(): carry out a study file cell by cell; what is finished is not done again."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raydream import specs
from raydream.algorithms import METHODS
from raydream.checks import choice, path
from raydream.columns import names
from raydream.columns.own import metrics_of
from raydream.errors import Interrupted
from raydream.problems.completed import complete
from raydream.problems.protocol import sizes_of
from raydream.storage.files import read_json, write_json
from raydream.studies.compare import compare
from raydream.studies.comparison import Comparison
from raydream.studies.study.file import Cell, StudyFile, plain_data, read_plain, study_from
from raydream.studies.tuning.spaces import grid_of
from raydream.studies.tuning.tune import ray_for_trials, tune
from raydream.studies.tuning.tuning import Tuning

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class Study:
    """What came of a study: for each cell the comparison, and the tuning where there was one."""

    file: StudyFile
    comparisons: dict[str, Comparison]
    tunings: dict[str, Tuning]
    directory: Path

    def __repr__(self) -> str:
        return f"<Study {self.file.title!r}: {len(self.comparisons)} cells of {len(self.file.contenders)} methods>"

    @property
    def finals(self) -> "pd.DataFrame":
        """One row per cell, method and seed: what the last record within the budget has spent and reached."""
        import pandas as pd

        tables = []
        for cell, comparison in self.comparisons.items():
            history = comparison.history
            within = history[history[self.file.axis] <= _limit(comparison, self.file.axis)]
            last = within.groupby(["method", "seed"], sort=False).tail(1)
            first = history.groupby(["method", "seed"], sort=False).head(1).set_index(["method", "seed"]).primal
            started = [first[method, seed] for method, seed in zip(last.method, last.seed, strict=True)]
            tables.append(last.assign(cell=cell, started=started))
        return pd.concat(tables, ignore_index=True)

    @property
    def tuned(self) -> "pd.DataFrame":
        """One row per cell and method: what was tried, what won, and what to know before believing it."""
        import pandas as pd

        tables = [tuning.table.assign(cell=cell) for cell, tuning in self.tunings.items()]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()

    def save_tables(self) -> list[Path]:
        """finals.csv and, where there was a tuning, tuned.csv, with every seed and every method."""
        written = [self.directory / "finals.csv"]
        self.finals.to_csv(written[0], index=False)
        if self.tunings:
            written.append(self.directory / "tuned.csv")
            self.tuned.to_csv(written[1], index=False)
        return written

    def report(self, path: Any = None) -> Path:
        """One self-contained page of small multiples (default: report.html in the directory)."""
        from raydream.report import write_study

        return write_study(self.directory / "report.html" if path is None else path, self)

    @classmethod
    def load(cls, directory: Any) -> "Study":
        """What a study left in a directory; cells without a finished comparison are left out."""
        root = path("directory", directory)
        if not (root / "study.json").is_file():
            raise FileNotFoundError(
                f"`directory` must hold a study; {str(root)!r} has no study.json. Where an earlier version made it, "
                "`raydream study` again writes one, and repeats no run."
            )
        found = cls(study_from(read_json(root / "study.json"), root.name), {}, {}, root)
        for cell in found.file.cells:
            folder = root / cell.name
            if (folder / "runs" / "comparison.json").is_file():
                found.comparisons[cell.name] = Comparison.load(folder / "runs")
            if (folder / "tuning" / "tuning.json").is_file():
                found.tunings[cell.name] = Tuning.load(folder / "tuning")
        return found

    def verdicts(self, metric: str = "primal") -> dict[str, str]:
        """Who leads in each cell, as far as the seeds decide it."""
        return {cell: comparison.verdict(metric) for cell, comparison in self.comparisons.items()}


def study(
    file: Any,
    directory: Any = None,
    *,
    workers: int | None = None,
    progress: bool | None = None,
    address: str | None = None,
    backend: Any = None,
) -> Study:
    """Carry out a study file (or the same as a dict), and return the `Study`.

    directory  where everything is kept (default: runs/ and the name of the file); the same call goes on where an
               earlier one was ended
    workers, address  as in `tune`
    backend           as in `tune`; where the file's backend is Ray, its runs are there too
    """
    said = file if isinstance(file, Mapping) else read_plain(file)
    described = study_from(said, "study" if isinstance(file, Mapping) else Path(file).stem)
    if directory is None:
        if isinstance(file, Mapping):
            raise TypeError("`directory` must be given where the study comes from no file.")
        directory = Path("runs") / Path(file).stem
    root = path("directory", directory)
    place = ray_for_trials(backend, address)
    if place is not None and place.name != described.backend:
        _refuse_nothing_there(described, place)
    _check_metric(described)
    found = Study(described, {}, {}, root)
    root.mkdir(parents=True, exist_ok=True)
    write_json(root / "study.json", plain_data({**said, "title": described.title}))
    for number, cell in enumerate(described.cells, 1):
        if progress:
            print(f"cell {number} of {len(described.cells)}: {cell.name}", flush=True)
        try:
            _carry_out(found, cell, root / cell.name, workers, progress, place)
        except Interrupted as stop:
            raise Interrupted(f"in cell {number} of {len(described.cells)}, {cell.name}: {stop}") from None
    return found


def _check_metric(file: StudyFile) -> None:
    """Refuse, before anything runs, a metric that the package or one of the problems does not have."""
    metric = (file.tuning or {}).get("metric", "primal")
    if metric in names("metric"):
        return
    for cell in file.cells:
        problem = specs.build_problem(cell.problem, cell.agents, cell.parameters)
        choice("tuning.metric", metric, [*names("metric"), *metrics_of(problem, None)])


def _carry_out(found: Study, cell: Cell, folder: Path, workers: int | None, progress: bool | None, place: Any) -> None:
    """Tune where that is asked for, and compare."""
    file = found.file
    problem = specs.build_problem(cell.problem, cell.agents, cell.parameters)
    network = specs.build_topology(cell.network, cell.agents, cell.weights)
    whole = complete(problem)
    start = None if cell.x0 is None else (np.full(whole.dim_x, cell.x0), whole.start()[1])
    sizes = sizes_of(whole)
    budget = file.budget(None if sizes is None else sum(sizes))
    limit: dict[str, Any] = {f"max_{file.axis}": budget if file.axis.endswith("seconds") else int(budget)}
    common: dict[str, Any] = dict(
        seeds=file.seeds, backend=_backend(file, place), directory=folder / "runs", progress=progress,
        record_every=file.record_every, parallel=False if workers == 1 else None,
    )  # fmt: skip
    if file.tuning is None:
        methods = {one.label: specs.build_method(one.name, one.space) for one in file.contenders}
        found.comparisons[cell.name] = compare(
            problem, network, methods, start=start, conditions=file.conditions, **limit, **common
        )
        return
    tuning = tune(
        problem, network, {one.label: METHODS[one.name] for one in file.contenders}, budget=budget, axis=file.axis,
        start=start, workers=workers, directory=folder / "tuning", progress=progress,
        backend=place and place.for_trials(), conditions=file.conditions, **_search(file),
    )  # fmt: skip
    found.tunings[cell.name] = tuning
    found.comparisons[cell.name] = compare(best=tuning, **common)


def _backend(file: StudyFile, place: Any) -> Any:
    """Where the file's runs are: at the Ray that was named, where they are on Ray."""
    return file.backend if place is None or place.name != file.backend else place


def _refuse_nothing_there(file: StudyFile, place: Any) -> None:
    """A study whose runs are not on Ray has only trials there, if it has any."""
    if file.tuning is None:
        raise ValueError(
            f"`backend` must be left out: the study's runs are on {file.backend!r}, and it has no trials; write "
            f'backend = "{place.name}" into the file.'
        )
    place.refuse_settings_of_agents()


def _search(file: StudyFile) -> dict[str, Any]:
    """How `tune` is to look, each method in its own space: the built-in one, with what the file says of it."""
    assert file.tuning is not None
    options = dict(file.tuning)
    built_in = options.pop("space", "wide")
    labels = [one.label for one in file.contenders]
    spaces = {
        one.label: {
            **(grid_of(built_in, one.label, METHODS[one.name], labels) if built_in != "none" else {}),
            **one.space,
        }
        for one in file.contenders
    }
    return {**options, "space": spaces}


def _limit(comparison: Comparison, axis: str) -> float:
    """The budget of the runs."""
    limits = {result.record.settings.limits.given().get(f"max_{axis}") for result in comparison.results.values()}
    (limit,) = limits
    return float("inf") if limit is None else float(limit)
