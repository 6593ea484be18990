"""Ready callbacks for `on_record`: Weights & Biases, MLflow and TensorBoard, each imported only when a run begins."""

import math
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from raydream.errors import CallbackError


class _Logger:
    """What the three share: `begin` opens, a call logs a row at its iteration, `end` closes."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    def __call__(self, row: Mapping[str, float]) -> None:
        """Log a record; what is not finite is left out."""
        self.log({name: value for name, value in row.items() if math.isfinite(value)}, int(row["iteration"]))

    def log(self, numbers: dict[str, float], step: int) -> None:
        """Log numbers."""
        raise NotImplementedError


class WandB(_Logger):
    """Rows to Weights & Biases; the options are those of `wandb.init`, such as project="minimax"."""

    def begin(self, config: dict[str, Any]) -> None:
        """Begin a run there with this run's configuration."""
        self._run = _library("wandb", "wandb").init(**{"config": config, **self.options})

    def log(self, numbers: dict[str, float], step: int) -> None:
        self._run.log(numbers, step=step)

    def end(self, outcome: str) -> None:
        """Finish it, as failed where this run failed."""
        self._run.summary["outcome"] = outcome
        self._run.finish(exit_code=1 if outcome == "failed" else 0)


class MLflow(_Logger):
    """Rows to MLflow; the options are those of `mlflow.start_run`, such as run_name="dream"."""

    def begin(self, config: dict[str, Any]) -> None:
        """Begin a run there, with this run's configuration as its parameters."""
        self._mlflow = _library("mlflow", "mlflow")
        self._mlflow.start_run(**self.options)
        self._mlflow.log_params(dict(_flat("", config)))

    def log(self, numbers: dict[str, float], step: int) -> None:
        self._mlflow.log_metrics(numbers, step=step)

    def end(self, outcome: str) -> None:
        """End it, as failed where this run failed."""
        self._mlflow.set_tag("outcome", outcome)
        self._mlflow.end_run("FAILED" if outcome == "failed" else "FINISHED")


class TensorBoard(_Logger):
    """Rows to TensorBoard; the options are those of `SummaryWriter`, such as log_dir="runs/tensorboard"."""

    def begin(self, config: dict[str, Any]) -> None:
        """Open the log."""
        try:
            library = import_module("torch.utils.tensorboard")
        except ImportError:
            library = _library("tensorboardX", "tensorboardX (or torch and tensorboard)")
        self._writer = library.SummaryWriter(**self.options)

    def log(self, numbers: dict[str, float], step: int) -> None:
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)

    def end(self, outcome: str) -> None:
        """Close the log."""
        self._writer.close()


def _library(name: str, package: str) -> Any:
    """A library that only its callback needs."""
    try:
        return import_module(name)
    except ImportError:
        raise CallbackError(f"`on_record` needs {name}, which is not installed; pip install {package}.") from None


def _flat(place: str, value: Any) -> Iterator[tuple[str, str]]:
    """A configuration as pairs, the matrix and whatever else is a list left out."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(f"{place}.{name}" if place else str(name), inner)
    elif isinstance(value, str | int | float):
        yield place, str(value)[:500]
