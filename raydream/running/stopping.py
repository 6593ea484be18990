"""When a run stops before its last iteration."""

from dataclasses import asdict, dataclass

from raydream.checks import positive, whole
from raydream.columns import LIMITED


@dataclass(frozen=True)
class Limits:
    """When to stop before the last iteration: costs by what may be spent, metrics by what is good enough.

    Which column a limit reads, and which values it may have, the column says.
    """

    max_sfo: int | None = None
    max_rounds: int | None = None
    max_seconds: float | None = None
    target_grad_norm: float | None = None
    target_primal: float | None = None

    def __post_init__(self) -> None:
        for name, bound in self.given.items():
            column = LIMITED[name]
            if column.integer:
                whole(name, bound, 1)
            elif column.kind == "cost" or column.log:
                positive(name, bound)

    @property
    def given(self) -> dict[str, float]:
        """Those that there are, targets first: a run that has reached one was not cut short."""
        there = {name: bound for name, bound in asdict(self).items() if bound is not None}
        return dict(sorted(there.items(), key=lambda one: LIMITED[one[0]].kind == "cost"))

    def reached(self, row: dict[str, float]) -> tuple[str, str] | None:
        """The outcome and the reason, if this row of the history meets a target or has used up a budget."""
        for limit, bound in self.given.items():
            column = LIMITED[limit]
            value = row[column.name]
            if column.kind == "cost" and value >= bound:
                return "budget", f"{column.name} = {value:g} reached the limit {bound:g}"
            if column.kind != "cost" and column.reaches(value, bound):
                return "target", f"{column.name} = {value:.6g} reached the target {bound:g}"
        return None
