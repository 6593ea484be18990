"""What a run leaves behind: history, arrays, outcome, ledger, configuration; saved and loaded without pickle."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raydream.agents.ledger import Ledger
from raydream.backends.protocol import Recovery
from raydream.checks import path
from raydream.errors import RecordError
from raydream.notebook import card, curves
from raydream.storage.arrays import read_arrays
from raydream.storage.files import whole_file, write_json
from raydream.storage.history import read_history, table_to_csv
from raydream.storage.reading import read_record
from raydream.storage.record import RunRecord
from raydream.types import Array

if TYPE_CHECKING:
    import pandas as pd

    from raydream.report import Plot


@dataclass
class Result:
    """The outcome of one run.

    history     DataFrame with one row per record (row t: the state after t iterations)
    outcome     "completed", "diverged", "budget", "target" or "callback" (ended by `on_record`); `reason` in words
    ledger      the final bill
    x_bar, y_bar  the mean of the agents' last iterates
    x_out       the paper's output: x of a random agent at a random iteration before the last
    arrays      the last state, one row per agent: Z, and G and S where the method has them
    recoveries  what happened to agents that were lost on the way
    distances   ||z_t(i) - z_bar_t||: one row per record, one column per agent. None in runs of more than two million
                such numbers, and in those saved before there were any; a run that goes on from a checkpoint of those
                times has rows of NaN for what came before it
    record      all that run.json says, and `config`: everything needed to run it again, as plain data
    """

    history: "pd.DataFrame"
    record: RunRecord
    x_bar: Array
    y_bar: Array
    x_out: Array
    arrays: dict[str, Array]
    distances: Array | None = None

    @property
    def outcome(self) -> str:
        """How it ended."""
        return self.record.outcome

    @property
    def reason(self) -> str:
        """Why, in words."""
        return self.record.reason

    @property
    def ledger(self) -> Ledger:
        """The final bill."""
        return self.record.ledger or Ledger()

    @property
    def recoveries(self) -> list[Recovery]:
        """What happened to agents that were lost on the way."""
        return self.record.recoveries

    @property
    def config(self) -> dict[str, Any]:
        """Everything needed to run it again, as plain data."""
        return self.record.config()

    def __repr__(self) -> str:
        last = self.history.iloc[-1]
        return (
            f"<Result: {self.record.method.name}, {self.outcome} after {int(last.iteration)} iterations, "
            f"P = {last.primal:.6g}, ||grad P|| = {last.grad_norm:.3g}, {self.ledger.sfo} SFO, "
            f"{self.ledger.rounds} rounds>"
        )

    def _repr_html_(self) -> str:
        last, record = self.history.iloc[-1], self.record
        facts = {
            "problem": f"{record.problem.name}, {record.problem.agents} agents", "network": record.topology.name,
            "outcome": f"{self.outcome} after {int(last.iteration)} iterations", "P": f"{last.primal:.6g}",
            "‖∇P‖": f"{last.grad_norm:.4g}", "SFO calls": f"{self.ledger.sfo:,}", "rounds": f"{self.ledger.rounds:,}",
        }  # fmt: skip
        seen = curves([("", self.history.sfo, self.history.grad_norm)], "‖∇P‖ over SFO calls, log scale", True)
        return card(record.method.name, facts, seen)

    def report(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """One self-contained interactive page."""
        from raydream.report import write_report

        return write_report(path, self, **options)

    @property
    def plot(self) -> "Plot":
        """Figures, such as `plot.convergence(x="sfo")`."""
        from raydream.report import Plot

        return Plot(self)

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Write history.csv, arrays.npz and, last, run.json; each appears whole or not at all."""
        folder = path("directory", directory)
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(folder / "history.csv") as file:
            file.write(table_to_csv(self.history))
        with whole_file(folder / "arrays.npz") as file:
            more = {f"state_{name}": array for name, array in self.arrays.items()}
            more |= {} if self.distances is None else {"distances": self.distances}
            np.savez(file, x_bar=self.x_bar, y_bar=self.y_bar, x_out=self.x_out, **more)  # type: ignore[arg-type]
        write_json(folder / "run.json", self.record.to_json())
        return folder


def load(directory: str | os.PathLike[str]) -> Result:
    """The result saved in a run directory."""
    folder = path("directory", directory)
    for name in ("run.json", "history.csv", "arrays.npz"):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"`directory` must be a run directory; {str(folder)!r} has no {name}.")
    record = read_record(folder)
    if record.ledger is None:
        raise RecordError(f"`directory` holds no readable run: {str(folder)!r} has no result (it is {record.outcome}).")
    try:
        arrays = read_arrays(folder / "arrays.npz")
        _check_shapes(record, arrays)
        return Result(
            history=read_history(folder / "history.csv"),
            record=replace(record, driver=None),
            x_bar=arrays["x_bar"],
            y_bar=arrays["y_bar"],
            x_out=arrays["x_out"],
            arrays={name[6:]: array for name, array in arrays.items() if name.startswith("state_")},
            distances=arrays.get("distances"),
        )
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise RecordError(f"`directory` holds no readable run: {str(folder)!r} is damaged ({error}).") from error


def _check_shapes(record: RunRecord, arrays: Mapping[str, Array]) -> None:
    """Refuse arrays that are not of this run's problem."""
    problem = record.problem
    wanted = {"x_bar": (problem.dim_x,), "y_bar": (problem.dim_y,), "x_out": (problem.dim_x,)}
    for name, shape in wanted.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, not {shape}")
    for name, array in arrays.items():
        rows = array.shape[1:2] if name == "distances" else array.shape[:1]
        if (name == "distances" or name.startswith("state_")) and rows != (problem.agents,):
            raise ValueError(f"{name} has shape {array.shape}, which is not that of {problem.agents} agents")
