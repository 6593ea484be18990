"""tune(): the best parameters of each method under one budget that is the same for all."""

import os
from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any

from raydream.backends.registry import BACKENDS, backend_from
from raydream.checks import choice, path, positive, whole
from raydream.columns import column
from raydream.columns.own import directions_of
from raydream.conditions import Conditions
from raydream.storage.describe import name_of
from raydream.storage.settings import Limits
from raydream.studies.defaults import SEARCH, SPACE, TRIALS
from raydream.studies.named import checked_seeds, named_kinds
from raydream.studies.setting import Setting, needs_one_machine
from raydream.studies.tuning.closing import CLOSING, METRICS
from raydream.studies.tuning.hunt import SEARCHES, Hunt
from raydream.studies.tuning.race import Race, Workers
from raydream.studies.tuning.spaces import LARGEST_GRID, Grid, grid_of, size_of
from raydream.studies.tuning.starts import Affordable, Starts
from raydream.studies.tuning.trials import TrialLog
from raydream.studies.tuning.tuning import Tuning
from raydream.studies.tuning.winners import judge
from raydream.topology import Topology

AXES = ("rounds", "seconds", "sfo", "sim_seconds")
REAL = ("seconds", "sim_seconds")  # of which a budget need not be whole


def tune(
    problem: Any,
    topology: Topology,
    methods: Mapping[str, Any] | Iterable[Any],
    *,
    budget: float,
    axis: str = "sfo",
    space: Any = SPACE,
    search: str = SEARCH,
    trials: int | None = None,
    share: float | None = None,
    seeds: Iterable[int] = (0,),
    metric: str = "primal",
    metrics: Mapping[str, Any] | None = None,
    conditions: Conditions | None = None,
    start: tuple[Any, Any] | None = None,
    widen: int = 3,
    refine: int = 0,
    directory: Any = None,
    workers: int | None = None,
    address: str | None = None,
    backend: Any = None,
    seed: int = 0,
    check: bool = True,
    progress: bool | None = None,
) -> Tuning:
    """Find good parameters for each method, every method with the same budget and the same search.

    methods    names as on the command line, or classes; or label -> name or class
    budget     how much a trial may spend, its start included, of `axis`: "sfo", "rounds", "seconds", or "sim_seconds"
               where there are conditions; at least three times the price of the dearest start
    space      "wide" (steps from ranges, few values of the rest), "paper" (the DREAM paper's grids), a dict
               parameter -> values or `Range` for every method, or a dict label -> any of these
    search     "random", "halving" (all with part of the budget, the best third with more, the best of these with all
               of it; each judged after its own start), "tpe" (Optuna's, in the extra of that name), or "grid" (all)
    trials     configurations of each method, where its space has ranges; where spaces are finite, of the largest, and
               the same share of the others (default: 36; for "grid" the most, 1000)
    share      of every method's finite space, in the place of `trials`
    seeds      a configuration is judged by its median over these
    metric     the column of the history by which trials are judged: its mean over the last tenth of the budget
    metrics    columns of one's own, as in `run`
    conditions  of the network and the machines, as in `run`
    start      (x0, y0) with y0 in Y; by default the problem's own
    widen      how often a range may grow tenfold because a winner lies at its edge, for all methods alike
    refine     how many more configurations of each method are tried around its winner, in the end
    directory  where trials are kept as they finish; the same call goes on where an earlier one was ended
    workers    trials at a time, in processes of their own (default: one per CPU); 1 runs them in this process
    address    a running Ray, of which all nodes are used (default: $RAY_ADDRESS, if it is set)
    backend    in its place a `RayBackend`: what each trial needs of its node, what is shipped, how long to wait
    seed       of the draws
    check      as in `run`
    progress   True: a bar on a terminal, lines elsewhere; False: neither; None: a bar on a terminal
    """
    choice("axis", axis, AXES)
    choice("search", search, SEARCHES)
    budget = positive("budget", budget) if axis in REAL else whole("budget", budget, 1)
    for name, value in (("trials", trials), ("workers", workers)):
        if value is not None:
            whole(name, value, 1)
    kinds, numbers = named_kinds(methods), checked_seeds(seeds)
    _refuse_rounds_of_one(axis, kinds)
    Limits(**{f"max_{axis}": budget}).check_conditions(conditions is not None)  # type: ignore[arg-type]
    setting = Setting.around(problem, topology, kinds.values(), start, metrics, conditions)
    own = directions_of(setting.metrics)
    judged_by = column(choice("metric", metric, [*METRICS, *own]), own)
    grids = {label: grid_of(space, label, kind, list(kinds)) for label, kind in kinds.items()}
    counts = _counts(grids, search, trials, share)
    root, identity = None if directory is None else path("directory", directory), setting.identity()
    admission = Affordable(Starts(setting, axis, identity, root), budget)
    with Workers(setting, workers, ray_for_trials(backend, address), check) as each:
        race = Race(kinds, numbers, budget, axis, judged_by, TrialLog(root), identity, admission, each, progress, root)
        hunt = Hunt(race, search, whole("seed", seed), counts, grids, {})
        hunt.begin()
        order = hunt.run(whole("widen", widen))
        if whole("refine", refine):
            order = hunt.refine(order, refine)
    about = {
        "methods": {label: name_of(kind) for label, kind in kinds.items()},
        "seeds": numbers, "space": space if isinstance(space, str) else "given", "identity": identity, "metrics": own,
        "closing": CLOSING,
        "said": {label: judge(order[label], name_of(kind), judged_by)[1] for label, kind in kinds.items()},
        **hunt.about(),
    }  # fmt: skip
    records = [race.log.records[key] for key in race.used]
    tuning = Tuning(race.winners(order), records, budget, axis, metric, kinds, about, setting)
    if root is not None:
        tuning.save(root)
    return tuning


def ray_for_trials(backend: Any, address: str | None) -> Any:
    """The backend that trials run on, as it was given, or of this address or $RAY_ADDRESS; None: this machine's own."""
    if backend is not None:
        if address is not None:
            raise ValueError("`address` must be left out where there is a `backend`; give it to RayBackend.")
        found = backend_from(backend)
        if found.in_process:
            raise ValueError("`backend` of trials must be a RayBackend; leave it out, or use `workers=1`.")
        return found
    named = address or os.environ.get("RAY_ADDRESS")
    return backend_from(BACKENDS.find("ray")(address=named)) if named else None


def _counts(grids: dict[str, Grid], search: str, trials: int | None, share: float | None) -> dict[str, int]:
    """How many configurations of each method: the same number where a space has no end, else the same share."""
    sizes = {label: size_of(grid) for label, grid in grids.items()}
    if search == "grid":
        return dict.fromkeys(grids, LARGEST_GRID if trials is None else trials)
    known = [size for size in sizes.values() if size is not None]
    if share is not None:
        if not 0 < share <= 1 or trials is not None or len(known) < len(sizes):
            raise ValueError(
                f"`share` must be in (0, 1], without `trials`, of finite spaces; got {share!r}. Ranges need `trials`."
            )
    elif len(known) == len(sizes):
        share = min(1.0, (TRIALS if trials is None else trials) / max(known))
    else:
        return dict.fromkeys(grids, TRIALS if trials is None else trials)
    return {label: ceil(share * (size or 1) - 1e-9) for label, size in sizes.items()}


def _refuse_rounds_of_one(axis: str, kinds: Mapping[str, type[Any]]) -> None:
    alone = [label for label, kind in kinds.items() if needs_one_machine(kind)]
    if axis == "rounds" and alone:
        raise ValueError(f'`axis` must not be "rounds" for {alone[0]}, which runs on one machine and has none.')
