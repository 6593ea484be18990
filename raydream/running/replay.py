"""replay(): the state of a run after any of its iterations, computed again, since runs are exact."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from raydream.agents.ledger import Ledger
from raydream.agents.streams import Streams
from raydream.backends.plan import Plan
from raydream.backends.protocol import Snapshot
from raydream.checks import flag, path, whole
from raydream.columns.lyapunov import add_lyapunov
from raydream.columns.metrics import mean
from raydream.conditions import Conditions
from raydream.running.loop import coin_of
from raydream.running.parts import plan_again
from raydream.running.recorder import Recorder
from raydream.running.watched import Exchange, WatchedSession
from raydream.storage.checkpoint import Checkpoint
from raydream.storage.history import read_history
from raydream.storage.reading import read_record
from raydream.storage.record import RunRecord
from raydream.topology import Topology
from raydream.types import Array

if TYPE_CHECKING:
    import pandas as pd

TIMES = ("seconds", "evaluation_seconds")  # which are never the same twice
ANOTHER = 1e-6  # relative difference that no other machine or version makes
FAR = 1000  # iterations that are not gone through to see the last step before a checkpoint
STATES, BYTES = 64, 64_000_000  # that are kept on the way, to be gone on from


@dataclass(frozen=True)
class Replayed:
    """A run after so many iterations.

    arrays     the whole state by name, one row per agent; under conditions also clocks and memories
    ledger     what it had cost
    row        the record of this state, as the history has it, without times; with diagnostics also C, V, U, Psi, Phi
    coin       whether the step that led here took the large batch; None at the start, and of methods without a coin
    exchanges  what the rounds of that step did to disagreement, one after the other
    moved      how far that step moved each agent; None at the start, and where a checkpoint far from it has the state
    distances  of each agent from the mean
    errors     with diagnostics, ||g_i - grad f_i(z_i)|| of each agent's estimator; None where a method has none
    began      the iteration from which it was computed: a checkpoint's, or 0
    agrees     whether the last record up to here came out bit for bit as the run wrote it; None where there is none
    """

    iteration: int
    arrays: dict[str, Array]
    ledger: Ledger
    row: dict[str, float]
    coin: bool | None
    exchanges: list[Exchange]
    moved: Array | None
    distances: Array
    errors: Array | None
    x_bar: Array
    y_bar: Array
    began: int
    agrees: bool | None

    def save(self, file: Any) -> Path:
        """All arrays in one .npz file; those of the state are named as in arrays.npz."""
        own = {"x_bar": self.x_bar, "y_bar": self.y_bar, "distances": self.distances, "errors": self.errors}
        target = path("file", file)
        state = {f"state_{name}": array for name, array in self.arrays.items()}
        np.savez(target, **state, **{name: one for name, one in own.items() if one is not None})  # type: ignore[arg-type]
        return target if target.suffix == ".npz" else target.with_name(f"{target.name}.npz")


def replay(
    directory: Any,
    iteration: int | None = None,
    *,
    diagnostics: bool = False,
    problem: Any = None,
    topology: Topology | None = None,
    method: Any = None,
    conditions: Conditions | None = None,
) -> Replayed:
    """The state of the run in `directory` after `iteration` iterations, by default its last, computed in this process.

    It has the bits that the run had, wherever that was, however often it was resumed or recovered.

    diagnostics  also the pieces of the paper's Lyapunov function, and the error of each agent's estimator
    problem, topology, method, conditions  as in `resume`, where run.json cannot say how they were made
    """
    found = Replay.of(directory, problem=problem, topology=topology, method=method, conditions=conditions)
    return found.at(found.last if iteration is None else iteration, diagnostics)


class Replay:
    """A run that is replayed, perhaps at many iterations: states are kept on the way, to be gone on from."""

    def __init__(self, folder: Path, record: RunRecord, plan: Plan) -> None:
        self.folder, self.record, self.plan = folder, record, plan
        self.history = read_history(folder / "history.csv")
        if self.history.empty:
            raise ValueError(f"`directory` {str(folder)!r} has no record yet, so that there is nothing to replay.")
        self.last = int(self.history.iteration.iloc[-1])
        self._states: dict[int, Snapshot] = {}
        self._began: dict[int, int] = {}
        self._agreed: dict[int, bool] = {}
        self._streams = Streams(plan.seed)
        self._checkpoint: Snapshot | None = None
        if (folder / "checkpoint" / "manifest.json").exists():
            self._checkpoint = Checkpoint.load(folder / "checkpoint", plan).snapshot

    @classmethod
    def of(
        cls,
        directory: Any,
        *,
        problem: Any = None,
        topology: Topology | None = None,
        method: Any = None,
        conditions: Conditions | None = None,
    ) -> "Replay":
        """The run in a directory; nothing that lies there is run."""
        folder = path("directory", directory)
        record = read_record(folder)
        if not (folder / "history.csv").is_file():
            raise FileNotFoundError(f"`directory` must be a run directory; {str(folder)!r} has no history.csv.")
        plan = plan_again(folder, record, problem, topology, method, conditions=conditions, measured=False)
        return cls(folder, record, plan)

    def at(self, iteration: int, diagnostics: bool = False) -> Replayed:
        """The state after so many iterations."""
        t = whole("iteration", iteration)
        if t > self.last:
            raise ValueError(f"`iteration` must be at most {self.last}, the last that is recorded; got {t}.")
        wanted = flag("diagnostics", diagnostics)
        with threadpool_limits(1, "blas"):  # as in every run: threaded sums have other bits
            session = WatchedSession(self.plan)
            if t == 0:
                session.watched = []
                return self._replayed(session.init(None), None, session.watched, 0, wanted)
            saved = self._checkpoint
            if saved is not None and saved.iteration == t and t - max((0, *self._states)) > FAR:
                return self._replayed(saved, None, [], t, wanted)
            before, began = self._gone_to(session, t - 1, t)
            session.watched = []
            return self._replayed(self._step(session, t - 1, t), before, session.watched, began, wanted)

    def _gone_to(self, session: WatchedSession, target: int, final: int) -> tuple[Snapshot, int]:
        """The state after `target` iterations, from the nearest that is kept; and the one it all began from."""
        known = {**self._states, **({self._checkpoint.iteration: self._checkpoint} if self._checkpoint else {})}
        first = max((t for t in known if t <= target), default=None)
        if first is None:
            now = session.init(None)
            self._keep(now, 0)
        else:
            now = known[first]
            session.restore(now)
        began = self._began.get(now.iteration, now.iteration)
        self._compare(now, final)
        for stop in self._stops(now.iteration, target, final):
            now = self._step(session, now.iteration, stop)
            self._keep(now, began)
            self._compare(now, final)
        return now, began

    def _stops(self, first: int, target: int, final: int) -> list[int]:
        """Where to stop on the way: states to be kept, the last record up to there, and the target."""
        spacing = max(1, -(-self.last // STATES))
        places = {t for t in range(spacing, target, spacing) if t > first} | {target, self._record_before(final)}
        return sorted(t for t in places if first < t <= target)

    def _step(self, session: WatchedSession, first: int, stop: int) -> Snapshot:
        p = self.plan.method.coin_probability
        session.advance(first, [coin_of(self._streams, p, t) for t in range(first, stop)], None, ())
        return session.snapshot()

    def _keep(self, state: Snapshot, began: int) -> None:
        """For later, as long as there is room."""
        size = sum(array.nbytes for array in state.arrays.values())
        if (len(self._states) + 1) * size <= BYTES and len(self._states) <= 2 * STATES:
            self._states[state.iteration], self._began[state.iteration] = state, began

    def _record_before(self, t: int) -> int:
        """The last recorded iteration up to this one."""
        recorded = self.history.iteration.to_numpy()
        return int(recorded[recorded <= t].max())

    def _compare(self, state: Snapshot, final: int) -> None:
        """Look whether a record comes out as the run wrote it."""
        t = state.iteration
        if t == self._record_before(final) and t not in self._agreed:
            written = self.history[self.history.iteration == t].iloc[-1]
            self._agreed[t] = self._same(self._measured(state, False), written)

    def _same(self, row: Mapping[str, float], written: "pd.Series[Any]") -> bool:
        """Bit for bit; a row that differs by more than machines do is another problem's."""
        shared = [name for name in row if name in written.index and not np.isnan(written[name])]
        for name in ("primal", "sfo"):
            if name in shared and abs(row[name] - written[name]) > ANOTHER * max(1.0, abs(written[name])):
                raise ValueError(
                    f"`directory` {str(self.folder)!r} is of another run than what was replayed: at iteration "
                    f"{int(row['iteration'])} {name} is {written[name]:.9g} there and {row[name]:.9g} here. Give the "
                    "problem, topology and method with which it was made."
                )
        return all(row[name] == written[name] for name in shared)

    def _measured(self, state: Snapshot, diagnostics: bool) -> dict[str, float]:
        """What a record of this state says."""
        plan, settings = self.plan, self.record.settings
        recorder = Recorder(
            plan.problem, plan.method, diagnostics, plan.metrics, settings.evaluation,
            clocked=plan.conditions is not None,
        )  # fmt: skip
        row = {name: value for name, value in recorder.record(state, 0.0).items() if name not in TIMES}
        return {**row, **self._lyapunov(recorder, row)} if diagnostics else row

    def _lyapunov(self, recorder: Recorder, row: Mapping[str, float]) -> dict[str, float]:
        """Psi and Phi, with the least value of P as the run knew it, else the problem, else the history."""
        import pandas as pd

        known = self.record.least_primal
        least, source = (known["value"], known["source"]) if known else recorder.least_primal()
        if source != "known" and not known:
            least = float(np.nanmin([self.history.primal.min(), row["primal"]]))
        weights, table = recorder.remarks()["lyapunov"], pd.DataFrame([row])
        add_lyapunov(table, least, self.plan.problem.agents, weights["eta"], weights["p"])
        return {name: float(table[name].iloc[0]) for name in ("Psi", "Phi")}

    def _replayed(
        self, now: Snapshot, before: Snapshot | None, exchanges: list[Exchange], began: int, diagnostics: bool
    ) -> Replayed:
        t, dim = now.iteration, self.plan.problem.dim_x
        self._compare(now, t)
        with np.errstate(all="ignore"):  # of a run that has diverged
            z_bar = mean(now.arrays["Z"])
            distances = np.linalg.norm(now.arrays["Z"] - z_bar, axis=1)
            moved = None if before is None else np.linalg.norm(now.arrays["Z"] - before.arrays["Z"], axis=1)
            errors = self._errors(now) if diagnostics else None
            row = self._measured(now, diagnostics)
        p = self.plan.method.coin_probability
        return Replayed(
            iteration=t,
            arrays={name: array.copy() for name, array in now.arrays.items()},
            ledger=now.ledger,
            row=row,
            coin=None if t == 0 or p is None else coin_of(self._streams, p, t - 1),
            exchanges=exchanges,
            moved=moved,
            distances=distances,
            errors=errors,
            x_bar=z_bar[:dim],
            y_bar=z_bar[dim:],
            began=began,
            agrees=self._agreed.get(self._record_before(t)),
        )

    def _errors(self, state: Snapshot) -> Array | None:
        """How far each agent's estimator is from its exact local gradient."""
        G, problem = state.arrays.get("G"), self.plan.problem
        if G is None:
            return None
        points = (z.astype(np.float64, copy=False) for z in state.arrays["Z"])
        dim = problem.dim_x
        exact = [np.concatenate(problem.local(i).gradient(z[:dim], z[dim:])) for i, z in enumerate(points)]
        found: Array = np.linalg.norm(G - np.stack(exact), axis=1)
        return found
