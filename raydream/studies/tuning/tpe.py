"""Search by Optuna's tree-structured Parzen estimator, which asks and is told; as many trials for every method."""

import math
import zlib
from typing import Any

from raydream.algorithms.facts import Range
from raydream.columns import Column
from raydream.studies.tuning.race import Race
from raydream.studies.tuning.spaces import PATIENCE, Grid, Parameters
from raydream.studies.tuning.winners import Ranked

BATCH = 4  # asked for at a time, on any number of processes, so that results do not depend on that number


def tpe(race: Race, grids: dict[str, Grid], trials: int, seed: int, known: dict[str, list[Parameters]]) -> Ranked:
    """`trials` more configurations of each method, all with the whole budget; those that are known are told first."""
    searches = {label: _Search(label, grid, seed, race) for label, grid in grids.items()}
    _tell(searches, race.whole(known), race.metric)
    for asked in range(0, trials, BATCH):
        chosen = {label: search.ask(min(BATCH, trials - asked)) for label, search in searches.items()}
        _tell(searches, race.whole(chosen), race.metric)
    return race.whole({label: search.tried for label, search in searches.items()})


def _tell(searches: "dict[str, _Search]", found: Ranked, metric: Column) -> None:
    for label, standings in found.items():
        for standing in standings:
            searches[label].tell(standing.parameters, standing.loss(metric))


class _Search:
    """One method's study: it is asked for configurations, and told what came of them."""

    def __init__(self, label: str, grid: Grid, seed: int, race: Race) -> None:
        self._optuna, self._grid = _optuna(), grid
        sampler = self._optuna.samplers.TPESampler(seed=zlib.crc32(f"{seed} {label}".encode()), multivariate=True)
        self._study = self._optuna.create_study(sampler=sampler)
        self._kind, self._admission = race.kinds[label], race.admission
        self.tried: list[Parameters] = []

    def ask(self, count: int) -> list[Parameters]:
        """Configurations to try next, none twice; what the problem refuses is bad, and another is asked for."""
        wanted: list[Parameters] = []
        for _ in range(PATIENCE * count):
            trial = self._study.ask(self._distributions())
            one = {name: self._value(name, found) for name, found in trial.params.items()}
            refused = one in wanted or one in self.tried or not self._admission.admits(self._kind(**one))
            self._study.tell(trial, **({"values": math.inf} if refused else {"state": _failed(self._optuna)}))
            wanted += [] if refused else [one]
            if len(wanted) == count:
                break
        return wanted

    def tell(self, parameters: Parameters, loss: float) -> None:
        """What came of a configuration."""
        if parameters in self.tried:
            return
        self.tried.append(parameters)
        params = {name: self._encoded(name, value) for name, value in parameters.items()}
        trial = self._optuna.trial.create_trial(params=params, distributions=self._distributions(), value=loss)
        self._study.add_trial(trial)

    def _distributions(self) -> dict[str, Any]:
        """A choice is told by its number: a value may be None, or a word beside numbers."""
        kinds = self._optuna.distributions
        return {
            name: kinds.FloatDistribution(values.low, values.high, log=True)
            if isinstance(values, Range)
            else kinds.CategoricalDistribution(range(len(values)))
            for name, values in self._grid.items()
        }

    def _value(self, name: str, found: Any) -> Any:
        values = self._grid[name]
        return values.rounded(found) if isinstance(values, Range) else values[found]

    def _encoded(self, name: str, value: Any) -> Any:
        values = self._grid[name]
        return value if isinstance(values, Range) else values.index(value)


def _failed(optuna: Any) -> Any:
    """What an asked trial becomes; what came of it is added as a trial of its own, with the rounded values."""
    return optuna.trial.TrialState.FAIL


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ImportError(
            '`search` "tpe" needs Optuna, which is not installed: pip install "raydream[tpe]", or search at random.'
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
