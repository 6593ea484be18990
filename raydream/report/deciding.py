"""Who leads, and whether the seeds decide it: medians, paired differences and verdicts over runs."""

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from raydream.columns import LIMITED, column
from raydream.report.collect import ENDED, Run, grouped
from raydream.report.figures.bands import recorded
from raydream.storage.fields import is_whole
from raydream.storage.record import RunRecord
from raydream.studies.standings import differences, finals, verdict

if TYPE_CHECKING:
    import pandas as pd

METRICS = ("primal", "grad_norm")
NEEDED = (*METRICS, "dual_gap")
MOST = 20  # methods that are compared with each other
LEADS = "Who leads, and is it decided?"
DECIDED = (
    "Judged {where}. Medians over seeds with percentile intervals of their bootstrap. Pairs are compared seed by seed: "
    "the mean difference, or of the gradient the mean ratio, which equality makes 1, with Student's interval; it is "
    "decided where the interval excludes equality and no seed was lost. Where y has not followed, its gap to the best "
    "response exceeds what P has gained: x went where noise drove it."
)


@dataclass(frozen=True)
class Decision:
    """By one metric: each method's median, every pair's difference, and who leads in a sentence."""

    metric: str
    finals: "pd.DataFrame"
    differences: "pd.DataFrame"
    verdict: str

    @property
    def leader(self) -> tuple[str, float, int, int]:
        """The method with the best median, that median, and over how many of how many others its lead is decided."""
        sign = 1 if column(self.metric).better == "less" else -1
        known = self.finals[self.finals["median"].notna()]
        first = known.loc[(sign * known["median"]).idxmin()]
        pairs = self.differences
        own = pairs[(pairs["first"] == first["method"]) | (pairs["second"] == first["method"])]
        return str(first["method"]), float(first["median"]), int(own.decided.sum()), len(own)


@dataclass(frozen=True)
class Judgement:
    """What seeds decide.

    where    at which price, and what was left out
    why_not  why nothing can be said, where nothing can
    """

    decisions: list[Decision] = field(default_factory=list)
    where: str = ""
    why_not: str = ""


def decided(every: list[Run]) -> Judgement:
    """What the runs of several methods over shared seeds decide, at the budget that all had, else at their ends."""
    runs = [run for run in every if run.outcome in ENDED]
    groups = grouped(runs)
    if len(groups) < 2:
        return Judgement()
    if len(groups) > MOST:  # their pairs would fill the page, and take the browser minutes
        return Judgement(why_not=f"there are {len(groups)} of them; with at most {MOST} it is said what seeds decide")
    why_not = unjudgeable(runs, groups)
    if why_not:
        return Judgement(why_not=why_not)
    x, at = budget_of(runs)
    histories = {(run.label, run.seed): history_of(run) for run in runs}
    found = [
        Decision(metric, *(judge(histories, metric, x, at) for judge in (finals, differences, verdict)))
        for metric in METRICS
        if all(metric in run.metrics or run.outcome == "diverged" for run in runs)
    ]
    found = [one for one in found if one.finals["median"].notna().any()]
    where = "at the end of each run" if x is None else f"at {at:,.6g} {column(x).short}"
    left = len(every) - len(runs)
    where += f"; {left} runs have not come to their end and are left out" if left else ""
    return Judgement(found, where) if found else Judgement(why_not="no run has a finite P or gradient to be judged by")


def between(low: float, high: float) -> str:
    """An interval in words; a bound that is not finite is none, nor is the 0 of a ratio that knows no other."""
    if math.isfinite(low) and math.isfinite(high):
        return f"{low:.5g} to {high:.5g}"
    if math.isfinite(high):
        return f"up to {high:.5g}"
    return f"from {low:.5g}" if math.isfinite(low) and low != 0 else "unknown"


def history_of(run: Run) -> "pd.DataFrame":
    """A run's columns as a table, with those that are judged by."""
    import pandas as pd

    missing = {name: np.full(len(run.columns["iteration"]), np.nan) for name in NEEDED if name not in run.columns}
    return pd.DataFrame({**run.columns, **missing})


def unjudgeable(runs: list[Run], groups: dict[str, list[Run]]) -> str:
    """Why these runs cannot be set against each other, if they cannot."""
    if not all(is_whole(run.seed) for run in runs):
        return "not all runs have a seed, by which they could be paired"
    seeds = {label: [run.seed for run in group] for label, group in groups.items()}
    if any(len(set(some)) < len(some) for some in seeds.values()):
        return "two runs of one method have the same seed"
    if not any(set(seeds[a]) & set(seeds[b]) for a, b in combinations(seeds, 2)):
        return "these methods share no seed, by which they could be paired"
    return "" if _of_one_problem(runs) else "these runs are not of one problem, network and start"


def _of_one_problem(runs: list[Run]) -> bool:
    """Whether they can be compared, as far as their records tell; one machine has the pooled problem."""
    records = [run.record for run in runs if run.record is not None]
    networked = [record for record in records if record.topology.m > 1] or records
    sizes = {(record.problem.dim_x, record.problem.dim_y, record.own_start) for record in records}
    return len(sizes) <= 1 and len({_facts(record) for record in networked}) <= 1


def _facts(record: RunRecord) -> str:
    problem, network = record.problem, record.topology
    return repr([vars(problem), network.name, network.m, f"{network.second_eigenvalue:.9g}"])


def budget_of(runs: list[Run]) -> tuple[str | None, float | None]:
    """The one cost that ended all runs at the same price, as a comparison judges; else none."""
    limits: list[dict[str, Any]] = [run.record.settings.limits.given() if run.record else {} for run in runs]
    costs = {
        tuple((LIMITED[name].name, value) for name, value in one.items() if LIMITED[name].kind == "cost")
        for one in limits
    }
    common = costs.pop() if len(costs) == 1 else ()
    known = len(common) == 1 and all(recorded(run.columns, common[0][0]) for run in runs)
    return common[0] if known else (None, None)
