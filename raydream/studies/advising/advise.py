"""advise(): which method is first to a target on a network of given prices."""

import hashlib
import json
import math
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from raydream.checking.quick import refuse_wrong
from raydream.checks import choice, not_negative, number, positive
from raydream.columns import Column, column, names
from raydream.columns.own import directions_of
from raydream.storage.files import write_json
from raydream.studies import defaults
from raydream.studies.advising.advice import Advice
from raydream.studies.advising.quick import Quick, measured_gradient
from raydream.studies.advising.stored import stored_for
from raydream.studies.comparison import Comparison
from raydream.studies.curves import columns_of, reachable
from raydream.studies.named import named_kinds
from raydream.studies.places import PLACES, WORDS, Place
from raydream.studies.setting import Setting
from raydream.topology import Topology, ring


def advise(
    problem: Any,
    topology: Topology | None = None,
    *,
    preset: str | None = None,
    gradient_seconds: float | None = None,
    latency: float | None = None,
    bandwidth: float | None = None,
    target: float | None = None,
    metric: str = "grad_norm",
    methods: Iterable[str] | None = None,
    runs: Any = "runs",
    directory: Any = None,
    study: bool = True,
    check: bool = True,
    command: str = "",
    progress: bool | None = None,
) -> Advice:
    """Which method reaches a target first on this problem and network, from stored comparisons or a quick tuned study.

    topology          by default a stored comparison's, whatever it is, else a ring
    preset            machine, data-centre, cloud or phones: prices where none are given
    gradient_seconds  seconds per component gradient (default: measured on this machine, on this problem)
    latency           seconds per message (default: the preset's, else 0)
    bandwidth         bytes per second on a link (default: the preset's, else without bound)
    target            of `metric` (default: the best that every method reaches which gets anywhere)
    methods           names as on the command line (default: those of the stored comparison, or the paper's)
    runs              where comparisons are looked for
    directory         where a quick study is kept, to go on and to be found again (default: a folder in `runs`)
    study             whether to make one where no stored comparison matches; else that is an error
    command           how it was asked, to be printed with the answer
    progress          False: nothing is said of a quick study while it lasts
    """
    wanted = None if methods is None else list(named_kinds(methods))
    prices, said = _prices(problem, preset, gradient_seconds, latency, bandwidth)
    network = ring(problem.agents) if topology is None else topology
    setting = Setting.around(problem, network, ())
    own = directions_of(setting.metrics)
    choice("metric", metric, [*names("metric"), *own])
    goal = None if target is None else number("target", target)
    stored = stored_for(Path(runs), setting, wanted, topology is None)
    if stored is not None:
        comparison, folder = stored.comparison, stored.directory
        how = f"its parameters are {comparison.tuned}" if comparison.tuned else "its parameters were given, not tuned"
        told = [f"From the {len(comparison.results)} runs in {folder}; {how}."]
        told += [f"It differs from what was asked: {stored.differs}."] if stored.differs else []
    elif not study:
        raise FileNotFoundError(f"`runs` must hold a comparison of this problem; {str(runs)!r} has none that matches.")
    else:
        refuse_wrong(problem, check, None)
        chosen = wanted or list(defaults.METHODS)
        folder = (
            Path(directory) if directory is not None else _folder(Path(runs), setting, prices, said, chosen, metric)
        )
        prices = _as_begun(folder, prices)
        quick = Quick(setting, chosen, metric, prices, measured_gradient(problem))
        if progress is not False:
            print(quick.said, file=sys.stderr, flush=True)
        comparison = quick.carried_out(folder, progress)
        folder = folder / "comparison"
        told = [f"From the {len(comparison.results)} runs of a quick study in {folder}; {comparison.tuned}."]
    found = goal if goal is not None else suggested(comparison, metric)
    return Advice(comparison, prices, metric, found, [*said, *told], command, folder)


def suggested(comparison: Comparison, metric: str) -> float:
    """The best value that every method reaches by the median of its seeds, of those that get anywhere."""
    about: Column = column(metric, comparison.own)
    by_method: dict[str, list[Any]] = {}
    for (name, _), result in comparison.results.items():
        by_method.setdefault(name, []).append(columns_of(result.history)[metric])
    return reachable(list(by_method.values()), about)


def asked(options: Mapping[str, Any]) -> str:
    """The command that asks the same again."""
    parts = ["raydream", "advise"]
    for name, value in options.items():
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                parts += [f"--{name.replace('_', '-')}", f"{one:g}" if isinstance(one, float) else str(one)]
    return shlex.join(parts)


def _prices(
    problem: Any, preset: str | None, gradient: float | None, latency: float | None, bandwidth: float | None
) -> tuple[Place, list[str]]:
    """The prices, and what to say of those that were not given."""
    place = Place(math.nan, 0.0, math.inf)
    said = []
    if preset is not None:
        place = PLACES[WORDS[choice("preset", preset, WORDS)]]
    elif latency is None and bandwidth is None:
        raise ValueError(f"`latency` or `bandwidth` must be given, or `preset`: one of {', '.join(WORDS)}.")
    if gradient is None:
        found = float(f"{measured_gradient(problem):.3g}")
        said.append(f"A gradient of this problem takes {found:.3g} s on this machine, as measured now.")
    else:
        found = not_negative("gradient_seconds", gradient)
    wait = place.latency if latency is None else not_negative("latency", latency)
    link = place.bandwidth if bandwidth is None else positive("bandwidth", bandwidth)
    if not (found or wait or math.isfinite(link)):
        raise ValueError(
            "`gradient_seconds`, `latency` or `bandwidth` must cost time, or all methods are equally fast."
        )
    return Place(found, wait, link), said


def _folder(runs: Path, setting: Setting, prices: Place, said: list[str], methods: list[str], metric: str) -> Path:
    """One for each question, so that the same goes on; a price that was measured is not part of it."""
    asked_for = [None if said else prices.gradient_seconds, prices.latency, str(prices.bandwidth)]
    question = json.dumps([setting.identity(), asked_for, sorted(methods), metric], sort_keys=True)
    return runs / f"advise-{hashlib.sha256(question.encode()).hexdigest()[:8]}"


def _as_begun(folder: Path, prices: Place) -> Place:
    """The prices that a study was begun with: a gradient takes a little more or less whenever it is measured."""
    file = folder / "gradient.json"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_json(file, {"gradient_seconds": prices.gradient_seconds})
        return prices
    return prices._replace(
        gradient_seconds=not_negative("gradient_seconds", json.loads(file.read_text())["gradient_seconds"])
    )
