"""When a run stops before its last iteration."""

from dataclasses import dataclass

from raydream.checks import positive, whole


@dataclass(frozen=True)
class Limits:
    """When to stop before the last iteration."""

    max_sfo: int | None = None
    max_rounds: int | None = None
    max_seconds: float | None = None
    target_grad_norm: float | None = None
    target_primal: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_sfo", "max_rounds"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), 1)
        for name in ("max_seconds", "target_grad_norm"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))

    def reached(self, row: dict[str, float]) -> tuple[str, str] | None:
        """The outcome and the reason, if this row of the history meets a target or has used up a budget."""
        for name, column in (("target_grad_norm", "grad_norm"), ("target_primal", "primal")):
            target = getattr(self, name)
            if target is not None and row[column] <= target:
                return "target", f"{column} = {row[column]:.6g} reached the target {target:g}"
        for name, column in (("max_sfo", "sfo"), ("max_rounds", "rounds"), ("max_seconds", "seconds")):
            limit = getattr(self, name)
            if limit is not None and row[column] >= limit:
                return "budget", f"{column} = {row[column]:g} reached the limit {limit:g}"
        return None
