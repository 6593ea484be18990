"""Checkpoints: a run between two steps, on disk, whole or refused. Arrays by agent, no pickle, the manifest last."""

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from raydream.backends.form import state_form
from raydream.backends.plan import Plan
from raydream.backends.protocol import Snapshot
from raydream.conditions.clock import CLOCK
from raydream.conditions.loss import REMEMBERED
from raydream.errors import CheckpointError
from raydream.problems.protocol import Problem, unequal_sizes
from raydream.storage.arrays import arrays_in
from raydream.storage.fate import ledger_from_json
from raydream.storage.fields import Fields
from raydream.storage.files import opened, read_json, whole_file, write_json
from raydream.storage.history import row_of, stacked_distances
from raydream.topology import Topology
from raydream.types import Array

FORMAT = 1
MOST_BYTES = 10_000_000  # of a manifest
OF_CONDITIONS = "sim_"  # begins the names of arrays that are the conditions', and not the method's
ADDED = ("problem elsewhere",)  # parts of the fingerprint that older checkpoints lack


@dataclass
class Checkpoint:
    """A snapshot of the agents, and what the driver has gathered by then.

    The rows bring their distances along (see `Row`); those of checkpoints written before there were any have None.
    """

    snapshot: Snapshot
    x_out: Array
    seconds: float
    rows: list[dict[str, float]]

    @property
    def finite(self) -> bool:
        """Whether there is something to go on from: a run that has diverged comes to no other end."""
        return all(bool(np.isfinite(array).all()) for array in self.snapshot.arrays.values())

    def save(self, folder: Path, fingerprint: dict[str, str]) -> None:
        """Write the arrays, then the manifest that makes them count, then remove what came before."""
        folder.mkdir(parents=True, exist_ok=True)
        columns = list(self.rows[0]) if self.rows else []
        arrays = {f"state_{name}": array for name, array in self.snapshot.arrays.items()}
        distances = stacked_distances(self.rows)
        arrays |= {} if distances is None else {"distances": distances}
        table = np.array([[row[column] for column in columns] for row in self.rows], dtype=np.float64)
        buffer = io.BytesIO()
        np.savez(buffer, x_out=self.x_out, history=table.reshape(len(self.rows), len(columns)), **arrays)  # type: ignore[arg-type]
        content = buffer.getvalue()
        name = f"state-{self.snapshot.iteration}.npz"
        with whole_file(folder / name) as file:
            file.write(content)
        manifest = {
            "format": FORMAT,
            "iteration": self.snapshot.iteration,
            "file": name,
            "sha256": hashlib.sha256(content).hexdigest(),
            "ledger": self.snapshot.ledger.as_dict(),
            "seconds": self.seconds,
            "columns": columns,
            "fingerprint": fingerprint,
        }
        write_json(folder / "manifest.json", manifest)
        for old in folder.glob("state-*.npz"):
            if old.name != name:
                old.unlink(missing_ok=True)

    @classmethod
    def load(cls, folder: Path, plan: Plan) -> "Checkpoint":
        """The checkpoint of this very run, or one sentence about what is wrong with it."""
        try:
            manifest = Fields("manifest.json", read_json(folder / "manifest.json", MOST_BYTES))
            arrays = _checked_arrays(folder, manifest, fingerprint(plan))
            return cls._read(folder, manifest, arrays, plan)
        except CheckpointError:
            raise
        except (OSError, ValueError, KeyError, TypeError, MemoryError) as error:
            why = f"{type(error).__name__}: {str(error).rstrip('.')}"
            raise CheckpointError(f"{folder} holds no readable checkpoint ({why}).") from None

    @classmethod
    def _read(cls, folder: Path, manifest: Fields, arrays: dict[str, Array], plan: Plan) -> "Checkpoint":
        state = {name[6:]: array for name, array in arrays.items() if name.startswith("state_")}
        _check_state(folder, state, plan)
        x_out = arrays["x_out"]
        if x_out.shape != plan.start[0].shape or x_out.dtype != plan.dtype or not np.isfinite(x_out).all():
            raise CheckpointError(f"{folder} has an x_out that is no point of this problem.")
        iteration, table, columns = manifest.whole("iteration"), arrays["history"], manifest.list("columns")
        if table.shape[1:] != (len(columns),) or not all(isinstance(name, str) for name in columns):
            raise CheckpointError(f"{folder} has a history of shape {table.shape} for {len(columns)} columns.")
        distances = arrays.get("distances", [None] * len(table))
        rows: list[dict[str, float]] = [row_of(columns, *pair) for pair in zip(table, distances, strict=True)]
        if not all(0 <= row["iteration"] <= iteration for row in rows):
            raise CheckpointError(f"{folder} has a history that does not end at iteration {iteration}.")
        snapshot = Snapshot(iteration, ledger_from_json(manifest.inner("ledger")), state)
        return cls(snapshot, x_out, float(manifest.number("seconds")), rows)


def _checked_arrays(folder: Path, manifest: Fields, fingerprint: dict[str, str]) -> dict[str, Array]:
    """The arrays that a manifest speaks of, where it is this run's and they are as they were written."""
    if manifest.whole("format") != FORMAT:
        raise CheckpointError(f"{folder} has format {manifest.whole('format')}; this version reads format {FORMAT}.")
    name = Path(manifest.text("file")).name
    with opened(folder / name) as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != manifest.text("sha256"):
            raise CheckpointError(f"{folder / name} is damaged: its SHA-256 is {found[:12]}..., not the manifest's.")
        known = manifest.texts("fingerprint")
        for part, wanted in fingerprint.items():
            if known.get(part, wanted if part in ADDED else None) != wanted:
                raise CheckpointError(f"{folder} belongs to another run: its {part.split()[0]} differs.")
        return arrays_in(file)


def _check_state(folder: Path, state: dict[str, Array], plan: Plan) -> None:
    """Refuse a state that this method cannot have between two steps of this run."""
    wanted, m = state_form(plan), plan.topology.m
    if plan.conditions is not None:
        wanted[CLOCK] = (), np.dtype(np.float64)
        links = max(len(those) for those in plan.topology.neighbours) + 1
        wanted |= {name: ((links,), np.dtype(np.uint8)) for name in REMEMBERED.values() if name in state}
    if lacking := wanted.keys() - state.keys():
        raise CheckpointError(f"{folder} lacks the array {min(lacking)!r} of the state.")
    for name, array in state.items():
        shape, kind = wanted.get(name, (array.shape[1:], array.dtype))
        if name not in wanted and not (name.startswith(OF_CONDITIONS) and plan.conditions is not None):
            raise CheckpointError(f"{folder} has an array {name!r} that is no part of the state.")
        if array.shape[:1] != (m,):
            raise CheckpointError(f"{folder} does not hold one row for each of the {m} agents.")
        if array.shape[1:] != shape or array.dtype != kind:
            raise CheckpointError(
                f"{folder} has {name!r} of shape {array.shape} and {array.dtype}, where {(m, *shape)} and {kind} are "
                "expected."
            )
        if not np.isfinite(array).all():
            raise CheckpointError(f"{folder} has numbers that are not finite in {name!r}.")


def fingerprint(plan: Plan) -> dict[str, str]:
    """What a checkpoint must share with a run to be gone on from: the same problem, topology, method and seed."""
    return {
        "problem": problem_mark(plan.problem, plan.start),
        "problem elsewhere": elsewhere_mark(plan.problem, plan.start),
        "topology": topology_mark(plan.topology),
        "method": repr(plan.method),
        "seed": str(plan.seed),
        "start": start_mark(plan.start),
        **({} if plan.conditions is None else {"conditions": repr(plan.conditions.to_json())}),
    }


def problem_mark(problem: Problem, start: tuple[Array, Array]) -> str:
    """What tells a problem from others: its sizes, its constraint, its value at a point, and float32."""
    facts: list[Any] = [problem.agents, problem.dim_x, problem.dim_y, problem.samples, repr(problem.constraint)]
    facts += [sizes] if (sizes := unequal_sizes(problem)) else []
    facts.append(f"{problem.value(*start):.9e}")
    facts += [] if start[0].dtype == np.float64 else [str(start[0].dtype)]
    return _digest(repr(facts).encode())


def elsewhere_mark(problem: Problem, start: tuple[Array, Array]) -> str:
    """What tells a problem from others that agree with it at the start: its values at points beside it."""
    generator, found = np.random.default_rng(0), []
    for size in (0.1, 1.0):
        x, y = (part + size * generator.normal(size=part.size) for part in start)
        with np.errstate(all="ignore"):
            found.append(f"{problem.value(x, problem.constraint.project(y)):.9e}")
    return _digest(repr(found).encode())


def topology_mark(topology: Topology) -> str:
    """What tells a network from others: its matrix."""
    W = topology.W
    return _digest(W.indptr.astype("<i8"), W.indices.astype("<i8"), W.data.astype("<f8"))


def start_mark(start: tuple[Array, Array]) -> str:
    """What tells a start from others: its bits."""
    return _digest(start[0].astype("<f8"), start[1].astype("<f8"))


def _digest(*parts: Any) -> str:
    total = hashlib.sha256()
    for part in parts:
        total.update(part if isinstance(part, bytes) else np.ascontiguousarray(part).tobytes())
    return total.hexdigest()
