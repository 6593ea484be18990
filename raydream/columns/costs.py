"""What a run counts and spends. What the ledger bills has its entry here; the rest is counted by the loop."""

from dataclasses import fields

from raydream.agents.ledger import Ledger
from raydream.columns.column import Column

COUNTS = (Column("iteration", "count", "iterations", "iterations", integer=True),)

COSTS = (
    Column("sfo", "cost", "SFO calls of all agents", "SFO calls", integer=True, limit="max_sfo"),
    Column("rounds", "cost", "communication rounds", "rounds", integer=True, limit="max_rounds"),
    Column("messages", "cost", "messages on directed links", "messages", integer=True, compared=False),
    Column("bytes", "cost", "payload sent (bytes)", "bytes", integer=True),
    Column("seconds", "cost", "time without evaluation (s)", "seconds", limit="max_seconds"),
    Column("sim_seconds", "cost", "simulated time (s)", "simulated seconds", conditional=True, limit="max_sim_seconds"),
    Column("dropped", "cost", "messages dropped", "dropped", integer=True, compared=False, conditional=True),
)

OVERHEAD = (
    Column("evaluation_seconds", "overhead", "time of evaluation (s)", "evaluation"),
    Column("evaluation_error", "overhead", "proven error of P(x̄)", "error of P", log=True),
)

DERIVED = (  # as the DREAM paper counts: b for a correction instead of 2b, the tracker's rounds only
    Column("sfo_paper", "derived", "SFO calls, counted as in the paper", "SFO (paper)", integer=True),
    Column("rounds_paper", "derived", "rounds, counted as in the paper", "rounds (paper)", integer=True),
)

BILLED = tuple(  # by the ledger, in every run
    field.name for field in fields(Ledger) if field.name not in {one.name for one in COSTS if one.conditional}
)
