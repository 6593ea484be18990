"""A comparison of a tuning's winners: on what they were tuned, up to the same budget, with other seeds."""

import warnings
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from raydream.checks import choice
from raydream.conditions import Conditions
from raydream.errors import StudyWarning
from raydream.studies.kept import check_same
from raydream.studies.setting import Setting
from raydream.studies.tuning.tuning import Tuning
from raydream.topology import Topology


@dataclass(frozen=True)
class Tuned:
    """What a comparison takes from a tuning."""

    setting: Setting
    winners: dict[str, Any]
    limits: dict[str, Any]
    seeds: list[int]  # on which the winners were chosen
    title: str
    missing: dict[str, str]  # the methods without a winner, and why

    @property
    def parts(self) -> tuple[Any, Topology, tuple[Any, Any] | None]:
        """The problem, the network and the start."""
        return self.setting.problem, self.setting.topology, self.setting.start

    def fresh_seeds(self, most: int) -> list[int]:
        """The first seeds on which nothing was chosen."""
        return list(islice((seed for seed in count() if seed not in self.seeds), most))

    def warn(self, seeds: list[int], limits: dict[str, Any]) -> None:
        """Say what makes the comparison another one than the tuning was for."""
        shared = sorted(set(self.seeds) & set(seeds))
        if shared:
            _warn(f"`seeds` has {shared}, on which the winners were chosen; other seeds judge them more fairly.")
        for name, budget in self.limits.items():
            if limits.get(name) != budget:
                given = ", ".join(f"{limit}={value:g}" for limit, value in limits.items()) or "no limit"
                _warn(f"`best` was tuned for {name}={budget:g}; compared with {given}, other parameters may be better.")


def taken_from(
    best: Any,
    problem: Any,
    topology: Topology | None,
    methods: Any,
    start: tuple[Any, Any] | None,
    conditions: Conditions | None = None,
) -> Tuned:
    """The setting, winners, budget and seeds of a tuning, or of one that is kept in a directory.

    What is given besides must be what was tuned on.
    """
    tuning = best if isinstance(best, Tuning) else Tuning.load(best)
    setting = tuning.setting_for(problem, topology)
    given = Setting.around(
        setting.problem if problem is None or isinstance(problem, str) else problem,
        setting.topology if topology is None else topology,
        (),
        setting.start if start is None else start,
        setting.metrics,
        setting.conditions if conditions is None else conditions,
    )
    check_same(tuning.directory, given, tuning.about["identity"])
    winners = tuning.best
    missing = {label: tuning.about.get("said", {}).get(label, "") for label in tuning.kinds if label not in winners}
    if not winners:
        why = "; ".join(f"{label}: {reason}" for label, reason in missing.items())
        raise ValueError(f"`best` has no winner to compare ({why}). Tune again with a larger budget or another space.")
    if methods is not None:
        wanted = [methods] if isinstance(methods, str) else list(methods)
        winners = {name: winners[choice("methods", name, winners)] for name in wanted}
    limits = {f"max_{tuning.axis}": tuning.budget}
    return Tuned(given, winners, limits, list(tuning.about["seeds"]), tuning.title, missing)


def _warn(sentence: str) -> None:
    warnings.warn(sentence, StudyWarning, stacklevel=4)
