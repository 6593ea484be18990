"""Every column of a history, once."""

from raydream.columns.column import Column, Kind

_ALL = (
    Column("iteration", "count", "iterations", "iterations", integer=True),
    Column("sfo", "cost", "SFO calls of all agents", "SFO calls", integer=True, limit="max_sfo"),
    Column("rounds", "cost", "communication rounds", "rounds", integer=True, limit="max_rounds"),
    Column("messages", "cost", "messages on directed links", "messages", integer=True),
    Column("bytes", "cost", "payload sent (bytes)", "bytes", integer=True),
    Column("seconds", "cost", "time without evaluation (s)", "seconds", limit="max_seconds"),
    Column("primal", "metric", "P(x̄)", "P(x̄)", diverges=True, limit="target_primal"),
    Column("grad_norm", "metric", "‖∇P(x̄)‖", "‖∇P(x̄)‖", log=True, diverges=True, limit="target_grad_norm"),
    Column("consensus", "metric", "consensus error ‖Z − 1z̄‖²", "consensus", log=True),
    Column("tracking", "metric", "tracking error ‖S − 1s̄‖²", "tracking", log=True),
    Column("Psi", "diagnostic", "Ψ = P(x̄) − P* + α (P(x̄) − f(x̄, ȳ))", "Ψ"),
    Column("C", "diagnostic", "C = ‖Z − 1z̄‖² + η² ‖S − 1s̄‖²", "C", log=True),
    Column("V", "diagnostic", "V, variance of the estimators", "V", log=True),
    Column("U", "diagnostic", "U, squared error of their mean", "U", log=True),
    Column("Phi", "diagnostic", "Φ, the Lyapunov function", "Φ"),
    Column("sfo_paper", "derived", "SFO calls, counted as in the paper", "SFO (paper)", integer=True),
    Column("rounds_paper", "derived", "rounds, counted as in the paper", "rounds (paper)", integer=True),
)
COLUMNS: dict[str, Column] = {column.name: column for column in _ALL}


def column(name: str) -> Column:
    """What is known of a column; one that nobody knows is a metric under its own name."""
    return COLUMNS.get(name) or Column(name, "metric", name, name)


def names(*kinds: Kind) -> tuple[str, ...]:
    """The columns of these kinds, in order."""
    return tuple(one.name for one in _ALL if one.kind in kinds)


RECORDED = names("count", "cost", "metric")  # in the history of every run
COSTS = names("cost")
AXES = names("count", "cost", "derived")  # what to draw against
METRICS = names("metric", "diagnostic")  # what to draw

__all__ = ["AXES", "COLUMNS", "COSTS", "METRICS", "RECORDED", "Column", "Kind", "column", "names"]
