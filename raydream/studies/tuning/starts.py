"""What beginning costs: a trial is not judged before it has spent several times that.

SFO calls and rounds are billed by asking, whatever the answers are: a start's price is found with an oracle that
answers nothing but zeros, in no time. Only seconds need the real one.
"""

import contextlib
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from raydream.algorithms.method import parameters_of
from raydream.backends.local import LocalBackend
from raydream.conditions.clock import CLOCK
from raydream.problems.protocol import sizes_of
from raydream.storage.files import read_json, write_json
from raydream.studies.setting import Setting

MULTIPLE = 3  # of the dearest start: the least that a trial may spend
STEPS = ("eta", "gamma")  # which no start's price depends on


class Starts:
    """The prices of starts on one axis, each found by beginning once; kept in starts.json, as clocks differ."""

    def __init__(self, setting: Setting, axis: str, identity: Mapping[str, str], directory: Path | None) -> None:
        self.setting, self.axis, self.identity = setting, axis, identity
        self._path = None if directory is None else directory / "starts.json"
        self._prices: dict[str, float] = {}
        self._sizes: dict[int, list[int] | None] = {}  # of shards, by the number of agents: all of them, or one
        if self._path is not None:
            with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
                self._prices = {str(key): float(price) for key, price in read_json(self._path).items()}

    def price(self, method: Any) -> float:
        """What a method has spent before its first iteration; 0 where it fails, as its trials will say."""
        key = self._key(method)
        if key not in self._prices:
            self._prices[key] = self._begun(method)
        return self._prices[key]

    def save(self) -> None:
        """Keep the prices for a later call."""
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_json(self._path, self._prices)

    def _key(self, method: Any) -> str:
        settled = self.setting.settled(method)
        own = {name: value for name, value in parameters_of(settled).items() if name not in STEPS}
        facts = [type(method).__name__, repr(own), self.axis, dict(self.identity)]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]

    def _begun(self, method: Any) -> float:
        with contextlib.suppress(Exception), threadpool_limits(1, "blas"):
            plan = self.setting.plan(method, warn=False)
            asked = plan if self.axis == "seconds" else replace(plan, problem=self._silent(plan.problem))
            session = LocalBackend().open(asked)
            began = time.perf_counter()
            spent = session.init((CLOCK,)).spent()
            return float({**spent, "seconds": time.perf_counter() - began}[self.axis])
        return 0.0

    def _silent(self, problem: Any) -> "_Silent":
        if problem.agents not in self._sizes:
            self._sizes[problem.agents] = sizes_of(problem)
        return _Silent(problem, self._sizes[problem.agents])


class _Silent:
    """A problem of the same shape, whose every gradient is 0."""

    def __init__(self, problem: Any, sizes: list[int] | None) -> None:
        self._problem, self._sizes = problem, sizes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

    def local(self, i: int) -> "_SilentShard":
        """What one agent owns."""
        return _SilentShard(self._sizes and self._sizes[i], self._problem.dim_x, self._problem.dim_y)


class _SilentShard:
    def __init__(self, samples: Any, *dims: int) -> None:
        self.samples, self._zeros = samples, tuple(np.zeros(dim) for dim in dims)

    def value(self, x: Any, y: Any) -> float:
        return 0.0

    def gradient(self, x: Any, y: Any, batch: Any = None) -> tuple[Any, ...]:
        return self._zeros

    def draw(self, generator: Any, size: int) -> None:
        return None


class Affordable:
    """Admits the configurations that the problem admits and whose start leaves most of the budget to be judged by."""

    def __init__(self, starts: Starts, budget: float) -> None:
        self.starts, self.budget = starts, budget
        self.begin()

    def begin(self) -> None:
        """Forget whom it has refused, and at what price."""
        self._refusal: str | None = None
        self._prices: list[float] = []

    def admits(self, method: Any) -> bool:
        """Whether it can solve the problem, and begin at a third of the budget or less."""
        refusal = self.starts.setting.refusal(method)
        self._refusal = self._refusal or refusal
        if refusal:
            return False
        price = self.starts.price(method)
        self._prices.append(price)
        return MULTIPLE * price <= self.budget

    def effect(self, method: Any) -> str:
        """The parameters that it settles on."""
        return repr(self.starts.setting.settled(method))

    def why_nothing(self, label: str) -> str:
        """The budget that would do; or why the problem is not for this method."""
        if not self._prices:
            return f"`methods` has {label}, which cannot solve this `problem`: {self._refusal}"
        least = min(self._prices)
        return (
            f"`budget` must be at least {MULTIPLE} times the price of a start; {label} begins with {least:g} "
            f"{self.starts.axis}, and {self.budget:g} came. Give at least {MULTIPLE * least:g}, or leave {label} out."
        )


def horizons(budget: float, dearest: float) -> list[float]:
    """What trials may spend after their own start in the rounds of successive halving before the last.

    A ninth and a third of the budget, but no less than the multiple of the dearest start; a round that would cost
    more than half of the budget is left out.
    """
    rounds = {max(budget / share, MULTIPLE * dearest) for share in (9, 3)}
    return [spend - dearest for spend in sorted(rounds) if spend <= budget / 2]
