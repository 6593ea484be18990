"""The steps that methods have where nobody gives any, found by one rule for all of them and kept in raydream/steps.

    python experiments/steps/settle.py robust-logistic/a9a quadratic ...     # by default everything

Every method has its own defaults but for eta and gamma. All are tried with the same pairs, eta times the steps of
descent gamma eta below, for 100 iterations on a ring of 8 agents with self weight 1/2, and judged by the mean of P
over the last fifth; of more than 10,000 rows the first 8,000 are searched on. Where the best pair lies at an edge, the
next values beyond are tried too, three times at most. A pair is good if it gains at least 80 % as much on all rows with
another seed, on a ring with Metropolis weights and in twice as many iterations; else the next best is asked. The best
lies near where methods diverge: a third of its gamma is settled, which holds on other networks and parts of the data
too. The aim is a default that learns, not a contest.

The weight of a proximal term is a step in all but name: a method that has one is tried with all pairs and three of
them. DREAM and the paper's baselines on synthetic data, which `raydream compare` compares at equal SFO calls, keep the
winners, among 138 configurations of each and by the median of two seeds, of

    raydream tune --topology-set self_weight=0.5 --budget 160000 --search random --trials 60 --seeds 100,101
"""

import json
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import raydream as rd
from raydream import specs, steps
from raydream.parameters import parameters_of
from raydream.studies.setting import Setting

AGENTS, ITERATIONS, SEEDS = 8, 100, (100, 101)
ETA, DESCENT = [0.01, 0.1, 1.0], [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]
MANY, ROWS = 10_000, 8_000
MARGIN = 3  # by which gamma is smaller than the best
WIDER, FURTHER = 3, {"eta": 10.0, "descent": 10**0.5}
HOLDS, MOST = 0.8, 8  # the share of the gain that must come again, and how many pairs are asked for it
PROX = (0.01, 0.1, 1.0)
TUNED = {"robust-logistic/synthetic": ("dream", "dm-hsgd", "gt-da", "gt-gda", "gt-srvr")}
KNOWN = ("synthetic", "a1a", "a9a", "ijcnn1", "mushrooms", "w8a")  # cod-rna has no published sum to know it by

Parameters = dict[str, Any]


def cells() -> list[str]:
    """Everything to be settled: the paper's problem on every known data set, and every other problem as it comes."""
    others = [name for name in specs.PROBLEMS if name != "robust-logistic"]
    return [*(f"robust-logistic/{data}" for data in KNOWN), *others]


class Cell:
    """A problem on two rings, and what every method gains there."""

    def __init__(self, name: str) -> None:
        problem, _, data = name.partition("/")
        whole = specs.build_problem(problem, AGENTS, {"data": data} if data else {})
        some = whole
        if data and whole.samples * AGENTS > MANY:
            features, labels = rd.data.load(data)
            some = rd.problems.RobustLogisticRegression(features[:ROWS], labels[:ROWS], agents=AGENTS)
        kinds = list(specs.METHODS.values())
        first, second = rd.topology.ring(AGENTS, self_weight=0.5), rd.topology.ring(AGENTS)
        self.settings = [Setting.around(some, first, kinds), Setting.around(whole, second, kinds)]

    def gain(self, method: str, parameters: Parameters, again: bool = False) -> float:
        """By how much P has fallen; minus infinity where the run did not last."""
        chosen = specs.build_method(method, parameters)
        problem, network = self.settings[again].of(chosen)
        iterations = ITERATIONS * (1 + again)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = rd.run(
                problem, network, chosen, iterations=iterations, record_every=iterations // 10, seed=SEEDS[again],
                backend="local", check=False,
            )  # fmt: skip
        P = run.history.primal.to_numpy()
        return float(P[0] - P[-2:].mean()) if run.outcome == "completed" and np.isfinite(P).all() else -np.inf

    def settled(self, method: str) -> tuple[Parameters, float] | None:
        """The best that holds, and what it gains in the shorter run."""
        weights = [{"prox": one} for one in PROX] if "prox" in parameters_of(specs.METHODS[method]) else [{}]
        tried = [found for own in weights for found in self._tried(method, own)]
        for gain, parameters in sorted(tried, key=lambda one: -one[0])[:MOST]:
            if gain > 0 and self.gain(method, parameters, again=True) >= HOLDS * gain:
                return parameters, gain
        return None

    def _tried(self, method: str, own: Parameters) -> list[tuple[float, Parameters]]:
        """Every pair of steps, and what it gains."""
        found: dict[tuple[float, float], float] = {}
        eta, descent = list(ETA), list(DESCENT)
        for _ in range(1 + WIDER):
            for pair in ((one, other) for one in eta for other in descent):
                if pair not in found:
                    found[pair] = self.gain(method, {**_steps(*pair), **own})
            best = max(found, key=lambda pair: found[pair])
            if not (widened(eta, best[0], FURTHER["eta"]) | widened(descent, best[1], FURTHER["descent"])):
                break
        return [(gain, {**_steps(*pair), **own}) for pair, gain in found.items()]


def _steps(eta: float, descent: float) -> Parameters:
    """As methods take them: gamma is the ratio of the two."""
    return {"eta": eta, "gamma": float(f"{descent / eta:.3g}")}


def widened(values: list[float], best: float, factor: float) -> bool:
    """The list with a value more where the best lies at an end of it."""
    if best in (values[0], values[-1]):
        values.append(float(f"{best * factor:.1g}") if best == values[-1] else float(f"{best / factor:.1g}"))
        values.sort()
        return True
    return False


def settle(name: str) -> Iterator[tuple[str, Parameters]]:
    """The parameters of every method that can solve it."""
    cell = Cell(name)
    for method in specs.METHODS:
        if method in TUNED.get(name, ()):
            yield method, steps.table()[name][method]
            continue
        began = time.process_time()
        refusal = cell.settings[0].refusal(specs.build_method(method, steps.GUESS))
        found = None if refusal else cell.settled(method)
        said = refusal or "nothing holds" if found is None else f"gains {found[1]:.4g} with {found[0]}"
        print(f"{name}: {method}: {said} ({time.process_time() - began:.0f} s)", flush=True)
        if found is not None:
            yield method, {**found[0], "gamma": float(f"{found[0]['gamma'] / MARGIN:.3g}")}


def write(found: dict[str, dict[str, Parameters]]) -> None:
    """The file of the package."""
    lines = ["# Found and written by experiments/steps/settle.py, whose first lines say by which rule."]
    for name in sorted(found, key=cells().index):
        lines += ["", f'["{name}"]']
        for method, parameters in found[name].items():
            pairs = ", ".join(f"{one} = {json.dumps(value)}" for one, value in parameters.items())
            lines.append(f"{method} = {{ {pairs} }}")
    steps.FILE.write_text("\n".join(lines) + "\n")


def main(wanted: list[str]) -> None:
    """Settle these, and write them beside what is settled already."""
    for name in wanted or cells():
        write({**steps.table(), name: dict(settle(name))})
        steps.table.cache_clear()


if __name__ == "__main__":
    main(sys.argv[1:])
