"""What the page's program is given besides the records: groups, axes, targets, and figures drawn beforehand."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypedDict

import numpy as np

from raydream.checks import shortened
from raydream.columns import AXES, BILLED, USUAL_X, USUAL_Y, Directions, column, compared
from raydream.report import figures, theme
from raydream.report.collect import Run, directions, remark_of, variants, words
from raydream.report.deciding import Judgement
from raydream.report.figures.bands import recorded
from raydream.report.figures.convergence import wrapped
from raydream.report.figures.distances import TIMES
from raydream.report.figures.guide import guides
from raydream.report.figures.intervals import intervals
from raydream.report.figures.network import topology_of
from raydream.report.figures.promise import METRIC, Promise, promise_over
from raydream.report.figures.reach import suggested_target
from raydream.report.page.pricing import Pricing, pricing_of
from raydream.report.page.shell import bare
from raydream.report.plot import mixing_of

MOST_NETWORKS = 12
MOST_CELLS = 150_000  # of all heat maps together, each about 5 bytes of the page
Figure = dict[str, Any]  # as plotly.js takes it
Groups = dict[str, list[Run]]


class Group(TypedDict):
    """Runs that differ in nothing but the seed: their name, their look, their places among all runs.

    failed  how many more ended with an error, and reached nothing
    remark  what to know before believing it
    """

    label: str
    line: dict[str, Any]
    runs: list[int]
    failed: int
    configuration: str
    remark: str


class Axis(TypedDict):
    """A column, as the page shows it and counts with it."""

    name: str
    short: str
    ticks: theme.Ticks
    log: bool
    better: str
    diverges: bool


class Drawn(TypedDict):
    """A figure that is one of several to choose from."""

    label: str
    figure: Figure


class Network(TypedDict):
    """A network in a sentence and in pictures."""

    label: str
    facts: str
    figures: dict[str, Figure]


class Facts(TypedDict):
    """All of it.

    first    the columns that are drawn to begin with, x and y
    reach    costs that are compared at a target, and
    bill     costs of the ledger, in the order of their bars
    targets  for each metric one to begin with
    guided   the metric of which theory speaks
    guides   for each axis the slopes that papers state, through what was measured
    pricing  how runs are priced, where several methods are compared
    standing  medians with their intervals, a figure for each metric that is judged by
    """

    groups: list[Group]
    axes: dict[str, Axis]
    metrics: dict[str, Axis]
    first: dict[str, str]
    reach: list[str]
    bill: list[str]
    targets: dict[str, float | None]
    promise: Promise | None
    guided: str
    guides: dict[str, list[dict[str, Any]]]
    pricing: Pricing | None
    standing: list[Figure]
    networks: list[Network]
    lyapunov: list[Drawn]
    distances: list[Drawn]
    templates: dict[str, dict[str, Any]]
    neutral: str


def facts_of(
    every: list[Run],
    groups: Groups,
    constants: dict[str, float] | None,
    judged: Judgement,
    failures: Mapping[Any, str],
) -> Facts:
    """What these runs have to show; `failures` has the sentences of others, by (label, seed)."""
    failed = failed_of(failures)
    place, number = {id(run): i for i, run in enumerate(every)}, variants(groups)
    metrics = list(dict.fromkeys(name for run in every for name in run.metrics))
    own = directions(every)
    axes = [name for name in AXES if any(recorded(run.columns, name) for run in every)]
    promise = promise_over(every, constants)
    return {
        "groups": [
            {
                "label": label,
                "line": theme.line(runs[0].method, number[label]),
                "runs": [place[id(run)] for run in runs],
                "failed": failed.get(label, 0),
                "configuration": wrapped(words(runs[0].parameters)),
                "remark": remark_of(runs),
            }
            for label, runs in groups.items()
        ],
        "axes": {name: _axis(name) for name in axes},
        "metrics": {name: _axis(name, own) for name in metrics},
        "first": {"x": USUAL_X if USUAL_X in axes else axes[0], "y": USUAL_Y if USUAL_Y in metrics else metrics[0]},
        "reach": [name for name in compared(axes) if name in axes],
        "bill": [name for name in BILLED if name in axes],
        "targets": {name: _finite(suggested_target(groups, name)) for name in metrics},
        "promise": promise,
        "guided": METRIC,
        "guides": guides(groups, axes, promise),
        "pricing": pricing_of(every, groups, failures),
        "standing": [bare(intervals(one, groups)) for one in judged.decisions],
        "networks": _networks(every),
        "lyapunov": _per_group(groups, lambda run: figures.lyapunov(run) if "Psi" in run.columns else None),
        "distances": _per_group(groups, lambda run: _distances(run, MOST_CELLS // len(groups))),
        "templates": {"light": theme.template(), "dark": theme.template(dark=True)},
        "neutral": theme.NEUTRAL,
    }


def failed_of(failures: Mapping[Any, str]) -> Counter[str]:
    """How many runs of each label ended with an error."""
    return Counter(str(key[0]) if isinstance(key, tuple) else str(key) for key in failures)


def _axis(name: str, own: Directions | None = None) -> Axis:
    shown = column(name, own or {})
    return {
        "name": shown.label,
        "short": shown.short,
        "ticks": theme.ticks(name),
        "log": shown.log,
        "better": shown.better,
        "diverges": shown.diverges,
    }


def _distances(run: Run, most_cells: int) -> Any:
    """The heat map, in so many cells; none where the agents never differed, or are too many to be drawn."""
    if run.distances is None or not (np.isfinite(run.distances) & (run.distances > 0)).any():
        return None
    times = min(TIMES, most_cells // run.distances.shape[1])
    return figures.distances(run.distances, run.columns["iteration"], most_times=times) if times > 1 else None


def _networks(every: list[Run]) -> list[Network]:
    """The different networks of more than one agent, drawn, once for each way in which they are mixed.

    Plain gossip needs no picture of its own where the same network is also mixed by FastMix: that one shows both.
    """
    seen: dict[str, dict[str, Run]] = {}
    for run in every:
        described = run.config.get("topology") or {}
        if described.get("m", 1) > 1 and described.get("W") is not None:
            ways = seen.setdefault(json.dumps(described["W"]), {})
            ways.setdefault(json.dumps(mixing_of(run)), run)
    shown = [
        run
        for ways in seen.values()
        for run in [run for run in ways.values() if mixing_of(run)["mixing"] == "fastmix"] or [*ways.values()][:1]
    ]
    return [_network(run) for run in shown[:MOST_NETWORKS]]


def _network(run: Run) -> Network:
    topology = topology_of(run.config["topology"])
    assert topology is not None
    name = topology.name.replace("_", " ")
    way = (
        f"|λ₂| = {topology.second_eigenvalue:.6g}"
        if topology.directed
        else (f"λ₂ = {topology.second_eigenvalue:.6g}, λₘ = {round(topology.smallest_eigenvalue, 12) + 0.0:.6g}")
    )
    links = "directed links" if topology.directed else "links"
    return {
        "label": f"{name}, {topology.m} agents ({run.label})",
        "facts": f"{name}: {topology.m} agents, {topology.edges} {links}; {way}, "
        f"spectral gap δ = {topology.spectral_gap:.4g}.{_weather(run)}",
        "figures": {
            "network": bare(figures.network(topology)),
            "spectrum": bare(figures.spectrum(topology, **mixing_of(run))),
            "mixing": bare(figures.mixing_speed(topology)),
        },
    }


def _weather(run: Run) -> str:
    """The conditions of a run, for a sentence; nothing where it had none."""
    given = run.config.get("conditions") or {}
    words = ", ".join(
        f"{name} {shortened(value) if isinstance(value, list) else value}" for name, value in given.items()
    )
    return f" Conditions: {words}." if words else ""


def _per_group(groups: Groups, draw: Callable[[Run], Any]) -> list[Drawn]:
    """A figure of each group's first run, where there is something to draw."""
    drawn = ((label, draw(runs[0])) for label, runs in groups.items())
    return [{"label": label, "figure": bare(figure)} for label, figure in drawn if figure is not None]


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
