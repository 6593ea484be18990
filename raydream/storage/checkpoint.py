"""Checkpoints: a run between two steps, on disk, whole or refused. Arrays by agent, no pickle, the manifest last."""

import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from raydream.agents.ledger import Ledger
from raydream.backends.plan import Plan
from raydream.backends.protocol import Snapshot
from raydream.errors import CheckpointError
from raydream.problems.protocol import Problem, unequal_sizes
from raydream.storage.files import whole_file, write_json
from raydream.storage.history import row_of, stacked_distances
from raydream.topology import Topology
from raydream.types import Array

FORMAT = 1
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
    def load(cls, folder: Path, fingerprint: dict[str, str], agents: int) -> "Checkpoint":
        """The checkpoint of this very run, or one sentence about what is wrong with it."""
        try:
            manifest = json.loads((folder / "manifest.json").read_text())
            if manifest["format"] != FORMAT:
                raise CheckpointError(f"{folder} has format {manifest['format']}; this version reads format {FORMAT}.")
            content = (folder / Path(manifest["file"]).name).read_bytes()
            found = hashlib.sha256(content).hexdigest()
            if found != manifest["sha256"]:
                raise CheckpointError(
                    f"{folder / manifest['file']} is damaged: its SHA-256 is {found[:12]}..., not the manifest's."
                )
            for part, wanted in fingerprint.items():
                known = manifest["fingerprint"].get(part, wanted if part in ADDED else None)
                if known != wanted:
                    raise CheckpointError(f"{folder} belongs to another run: its {part.split()[0]} differs.")
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            state = {name[6:]: array for name, array in arrays.items() if name.startswith("state_")}
            if any(len(array) != agents for array in state.values()):
                raise CheckpointError(f"{folder} does not hold one row for each of the {agents} agents.")
            table = arrays["history"]
            distances = arrays.get("distances", [None] * len(table))
            rows: list[dict[str, float]] = [
                row_of(manifest["columns"], *pair) for pair in zip(table, distances, strict=True)
            ]
            snapshot = Snapshot(int(manifest["iteration"]), Ledger(**manifest["ledger"]), state)
            return cls(snapshot, arrays["x_out"], float(manifest["seconds"]), rows)
        except CheckpointError:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError, BadZipFile) as error:
            raise CheckpointError(f"{folder} holds no readable checkpoint ({type(error).__name__}: {error}).") from None


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
