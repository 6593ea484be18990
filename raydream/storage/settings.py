"""What the driver of a run is told: how long to run, how often to record, when to stop before the end."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from raydream.checks import choice, flag, number, positive, whole
from raydream.columns import LIMITED, Better, Column, column, names
from raydream.columns.evaluation import OF_PRIMAL, Evaluation
from raydream.columns.own import check_names

MOST_ITERATIONS = 10**15  # no run comes so far


@dataclass(frozen=True)
class Limits:
    """When to stop before the last iteration; None: never by this.

    Which column a limit reads, and which values it may have, the column says.
    """

    max_sfo: int | None = None
    max_rounds: int | None = None
    max_seconds: float | None = None
    target_grad_norm: float | None = None
    target_primal: float | None = None
    max_sim_seconds: float | None = None

    def __post_init__(self) -> None:
        for name, value in self.given().items():
            column = LIMITED[name]
            if column.integer:
                whole(name, value, 1)
            elif column.kind == "cost" or column.log:
                positive(name, value)
            else:
                number(name, value)

    def check_conditions(self, there: bool) -> None:
        """Refuse a limit of what only runs under conditions spend."""
        for name in self.given():
            if LIMITED[name].conditional and not there:
                raise ValueError(
                    f"`{name}` needs `conditions`, which say what time is spent on; give rd.Conditions(latency=...)."
                )

    def given(self) -> dict[str, float]:
        """Those that are set, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Settings:
    """How a run is driven.

    iterations        how many, unless a limit or target ends the run before
    record_every      iterations between two rows of the history
    checkpoint_every  iterations between two checkpoints, if any
    diagnostics       whether the paper's Lyapunov function is recorded
    limits            what ends the run before; looked at in records only
    metrics           the metrics of one's own by name, and whether "less" or "more" of each is better
    targets           metrics that end the run where they are as good as this, by name
    evaluation        when P is measured, and how well
    """

    iterations: int
    record_every: int = 10
    checkpoint_every: int | None = None
    diagnostics: bool = False
    limits: Limits = field(default_factory=Limits)
    metrics: dict[str, Better] = field(default_factory=dict)
    targets: Mapping[str, float] = field(default_factory=dict)
    evaluation: Evaluation = field(default_factory=Evaluation)

    def __post_init__(self) -> None:
        if whole("iterations", self.iterations) > MOST_ITERATIONS:
            raise ValueError(f"`iterations` must be at most {MOST_ITERATIONS}; got {self.iterations}.")
        whole("record_every", self.record_every, 1)
        if self.checkpoint_every is not None:
            whole("checkpoint_every", self.checkpoint_every, 1)
        object.__setattr__(self, "diagnostics", flag("diagnostics", self.diagnostics))
        check_names(self.metrics)
        for better in self.metrics.values():
            choice("better", better, ("less", "more"))
        object.__setattr__(self, "targets", self._checked(self.targets))
        if not isinstance(self.evaluation, Evaluation):
            raise TypeError(f"`evaluation` must be an Evaluation; got {self.evaluation!r}.")
        aimed = [*self.targets, *(LIMITED[name].name for name in self.limits.given())]
        if not self.evaluation.primal and (self.diagnostics or {*aimed} & {*OF_PRIMAL}):
            needs = "diagnostics" if self.diagnostics else f"target of {min({*aimed} & {*OF_PRIMAL})}"
            raise ValueError(f"`evaluation` must not switch P off: the {needs} needs it. Leave one of them out.")

    @property
    def aims(self) -> list[tuple[Column, float]]:
        """The targets with what is known of their columns."""
        return [(column(name, self.metrics), target) for name, target in self.targets.items()]

    def _checked(self, targets: Any) -> dict[str, float]:
        """Targets of metrics that there are, each given once."""
        if not isinstance(targets, Mapping):
            raise TypeError(f"`target` must be a dict such as {{'primal': 0.5}}; got {targets!r}.")
        for name, value in targets.items():
            known = column(choice("target", name, [*names("metric"), *self.metrics]), self.metrics)
            (positive if known.log else number)(f"target[{name!r}]", value)
            if known.limit in self.limits.given():
                raise ValueError(f"`target` must not have {name!r} beside `{known.limit}`; leave one of them out.")
        return {name: float(value) for name, value in targets.items()}
