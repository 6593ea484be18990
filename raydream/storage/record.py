"""run.json: everything that is known of a run, as plain data in one shape, believed only where it makes sense.

Files come from anywhere. Whoever reads a run.json reads it here: `RunRecord.from_json` gives a record whose every
entry has its kind and is in its range, or one sentence. What older versions did not write is filled in; what newer
ones add is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypedDict

from raydream.agents.ledger import Ledger
from raydream.backends.protocol import Place, Recovery
from raydream.checks import MOST_AGENTS
from raydream.columns.evaluation import Evaluation
from raydream.conditions import Conditions
from raydream.errors import RecordError
from raydream.specs import Spec
from raydream.storage.fate import (
    Driver,
    LeastPrimal,
    Lyapunov,
    driver_from_json,
    least_primal_from_json,
    ledger_from_json,
    lyapunov_from_json,
    place_from_json,
    recoveries_from_json,
)
from raydream.storage.fields import Fields, check_text
from raydream.storage.settings import MOST_ITERATIONS, Limits, Settings

FORMAT = 1
FINISHED = ("completed", "diverged", "budget", "target", "callback")  # the outcomes of a result
UNFINISHED = ("running", "stopped", "failed")  # outcomes that run.json may have, but no result
FATE = ("outcome", "reason", "ledger", "recoveries", "driver")  # what became of a run, which its configuration omits


class Entries(TypedDict):
    """A sparse matrix by rows."""

    indptr: list[int]
    indices: list[int]
    data: list[float]


@dataclass(frozen=True)
class ProblemRecord:
    """What is known of the problem; `spec` builds it again.

    sizes  the samples of every agent, where they differ: then `samples` is their mean, rounded up
    cut    rows that nobody owns, left out so that all agents own as many
    """

    name: str
    agents: int
    samples: int | None
    dim_x: int
    dim_y: int
    constraint: str = ""
    spec: Spec | None = None
    dtype: str = "float64"
    sizes: list[int] | None = None
    cut: int = 0

    def to_json(self) -> dict[str, Any]:
        """As run.json has it."""
        return {**vars(self), "spec": _spec_to_json(self.spec)}

    @classmethod
    def from_json(cls, found: Fields) -> "ProblemRecord":
        """Checked."""
        return cls(
            found.text("name"),
            found.whole("agents", 1, MOST_AGENTS),
            found.whole("samples", usual=None),
            found.whole("dim_x"),
            found.whole("dim_y"),
            found.text("constraint", ""),
            _spec_from_json(found),
            found.text("dtype", "float64", ("float32", "float64")),
            found.wholes("sizes") if found.has("sizes") else None,
            found.whole("cut", usual=0),
        )


@dataclass(frozen=True)
class TopologyRecord:
    """What is known of the network; its matrix W, or `spec`, builds it again."""

    name: str
    m: int
    second_eigenvalue: float
    spec: Spec | None = None
    W: Entries | None = None

    def to_json(self) -> dict[str, Any]:
        """As run.json has it."""
        return {**vars(self), "spec": _spec_to_json(self.spec)}

    @classmethod
    def from_json(cls, found: Fields) -> "TopologyRecord":
        """Checked, but for whether the matrix is one of a network."""
        entries: Entries | None = None
        if found.has("W"):
            W = found.inner("W")
            entries = {"indptr": W.wholes("indptr"), "indices": W.wholes("indices"), "data": W.floats("data")}
        m = found.whole("m", 1, MOST_AGENTS)
        return cls(found.text("name"), m, found.number("second_eigenvalue"), _spec_from_json(found), entries)


@dataclass(frozen=True)
class MethodRecord:
    """The method's name on the command line (or of its class), and its parameters as they were settled."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As run.json has it."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, found: Fields) -> "MethodRecord":
        """Checked."""
        return cls(found.text("name"), found.values("parameters"))


@dataclass(frozen=True)
class RunRecord:
    """A run: how to run it again, and what became of it.

    settings      how it is driven
    backend       where: the backend's name, and the settings that make it again
    asked         the method's parameters as they were given, before it settled the others
    constants     L, mu, psi0, and n or sigma, as `dream_parameters` takes them, where the problem knows them
    own_start     whether it began at a start of the user's own, which is kept in start.npz
    conditions    of its network and machines, where they were not ideal
    raydream, versions   of this package, of Python and of the libraries that bits depend on
    outcome, reason      of `FINISHED` or `UNFINISHED`, and why in words
    ledger        the final bill, where it finished
    places, recoveries, driver   where its actors live, those that were lost, who drives it
    least_primal, lyapunov   where diagnostics were asked for
    """

    problem: ProblemRecord
    topology: TopologyRecord
    method: MethodRecord
    seed: int
    settings: Settings
    backend: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, float] | None = None
    own_start: bool = False
    conditions: Conditions | None = None
    raydream: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    outcome: str = "running"
    reason: str = ""
    ledger: Ledger | None = None
    recoveries: list[Recovery] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    driver: Driver | None = None
    least_primal: LeastPrimal | None = None
    lyapunov: Lyapunov | None = None

    @property
    def finished(self) -> bool:
        """Whether it came to an end of its own."""
        return self.outcome in FINISHED

    def again(self, settings: Settings, backend: dict[str, Any]) -> "RunRecord":
        """The same run, about to go on: nothing has become of it yet."""
        made = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in FATE}
        anew = {"settings": settings, "backend": backend, "places": [], "least_primal": None, "lyapunov": None}
        return RunRecord(**{**made, **anew})

    def config(self) -> dict[str, Any]:
        """Everything needed to run it again, as plain data: the record without what became of the run."""
        return {name: value for name, value in self.to_json().items() if name not in (*FATE, "format")}

    def to_json(self) -> dict[str, Any]:
        """As run.json has it."""
        own = {"limits": self.settings.limits.given(), "evaluation": dict(vars(self.settings.evaluation))}
        settings = {**vars(self.settings), **own}
        optional = {
            "conditions": None if self.conditions is None else self.conditions.to_json(),
            "least_primal": self.least_primal,
            "lyapunov": self.lyapunov,
            "places": self.places or None,
            "driver": self.driver,
            "ledger": None if self.ledger is None else self.ledger.as_dict(),
        }
        return {
            "format": FORMAT,
            "raydream": self.raydream,
            "versions": self.versions,
            "problem": self.problem.to_json(),
            "topology": self.topology.to_json(),
            "method": self.method.to_json(),
            "seed": self.seed,
            "own_start": self.own_start,
            "asked": self.asked,
            "constants": self.constants,
            **settings,
            "backend": self.backend,
            "outcome": self.outcome,
            "reason": self.reason,
            "recoveries": self.recoveries,
            **{name: value for name, value in optional.items() if value is not None},
        }

    @classmethod
    def from_json(cls, value: Any) -> "RunRecord":
        """The record that a run.json holds, or a `RecordError` with one sentence about what is wrong with it."""
        try:
            check_text("run.json", value)
            return cls._read(Fields("run.json", value))
        except RecordError:
            raise
        except (ValueError, TypeError) as error:  # a rule of `Settings` or `Limits`
            raise RecordError(f"run.json is not sound: {error}") from None
        except RecursionError:
            raise RecordError("run.json is nested too deeply.") from None

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "RunRecord":
        """The record of a configuration, which does not say what became of the run."""
        return cls.from_json({"outcome": "running", **config})

    @classmethod
    def _read(cls, found: Fields) -> "RunRecord":
        found.whole("format", 1, FORMAT, usual=FORMAT)
        return cls(
            problem=ProblemRecord.from_json(found.inner("problem")),
            topology=TopologyRecord.from_json(found.inner("topology")),
            method=MethodRecord.from_json(found.inner("method")),
            seed=found.whole("seed", most=None),
            settings=_settings_from_json(found),
            backend=found.values("backend"),
            asked=found.values("asked"),
            constants=_constants_from_json(found),
            own_start=found.flag("own_start", False),
            conditions=Conditions.from_json(found.values("conditions")) if found.has("conditions") else None,
            raydream=found.text("raydream", ""),
            versions=found.texts("versions"),
            outcome=found.text("outcome", options=(*FINISHED, *UNFINISHED)),
            reason=found.text("reason", ""),
            ledger=ledger_from_json(found.inner("ledger")) if found.has("ledger") else None,
            recoveries=recoveries_from_json(found),
            places=[place_from_json(one) for one in found.objects("places")],
            driver=driver_from_json(found.inner("driver")) if found.has("driver") else None,
            least_primal=least_primal_from_json(found.inner("least_primal")) if found.has("least_primal") else None,
            lyapunov=lyapunov_from_json(found.inner("lyapunov")) if found.has("lyapunov") else None,
        )


def _settings_from_json(found: Fields) -> Settings:
    given = found.numbers("limits")
    unknown = given.keys() - vars(Limits()).keys()
    if unknown:
        raise RecordError(f"run.json's limits has {min(unknown)!r}, which this version does not know.")
    return Settings(
        iterations=found.whole("iterations", 0, MOST_ITERATIONS),
        record_every=found.whole("record_every", 1),
        checkpoint_every=found.whole("checkpoint_every", 1, usual=None),
        diagnostics=found.flag("diagnostics", False),
        limits=Limits(**given),  # type: ignore[arg-type]
        metrics={name: found.inner("metrics").text(name) for name in found.values("metrics")},
        targets=found.numbers("targets"),
        evaluation=_evaluation_from_json(found.inner("evaluation", {})),
    )


def _evaluation_from_json(found: Fields) -> Evaluation:
    usual = Evaluation()
    tolerance = found.number("tolerance", usual.tolerance)
    return Evaluation(found.whole("every", 1, usual=usual.every), tolerance, found.flag("primal", usual.primal))


def _constants_from_json(found: Fields) -> dict[str, float] | None:
    """The theorem's constants, which a run does not need: nonsense is left out."""
    try:
        return found.numbers("constants") if found.has("constants") else None
    except RecordError:
        return None


def _spec_to_json(spec: Spec | None) -> dict[str, Any] | None:
    return None if spec is None else {"name": spec.name, "parameters": spec.parameters}


def _spec_from_json(found: Fields) -> Spec | None:
    """How a part was named; one without a name does not say how it was made."""
    if not found.has("spec"):
        return None
    inner = found.inner("spec")
    if not inner.has("name"):
        return None
    return Spec(inner.text("name"), inner.values("parameters"))
