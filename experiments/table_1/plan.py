"""What is measured: the sweeps, their points, the instances of each, and where parameters are searched."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, log2, sqrt
from typing import Any

from table_1.game import START, A, Game, S, Shape, V, X, Y, offline, online
from table_1.search import LONGEST, Space

import raydream as rd

L = 1.6  # average smoothness of the games, on average over instances (game.average_smoothness)
HETEROGENEITY, SPREAD, PUSH = 0.2, 0.4, 2.0
SIGMA = PUSH * sqrt(X + Y - V)  # deviation of a sample's gradient online, but for its waves
OFFLINE = ("DREAM", "GT-DA", "GT-GDA", "GT-SRVR")
ONLINE = ("DREAM", "DM-HSGD")


@dataclass(frozen=True)
class Setting:
    """One point of a sweep. gap=None: a ring with self weight 1/2; else a complete graph with this spectral gap."""

    epsilon: float = 0.02
    kappa: float = 2.0
    agents: int = 8
    samples: int | None = 128
    groups: int = 8
    gap: float | None = None
    constrained: bool = False
    free_ratio: bool = False  # whether gamma is searched too; else it is 1

    @property
    def shape(self) -> Shape:
        return Shape(L / self.kappa, self.constrained)

    @property
    def topology(self) -> Any:
        return _topology(self.agents, self.gap)

    def game(self, seed: int) -> Game:
        if self.samples is None:
            return online(self.shape, self.agents, HETEROGENEITY, SPREAD, PUSH, seed)
        return offline(self.shape, self.agents, self.samples, self.groups, HETEROGENEITY, SPREAD, seed)


@dataclass(frozen=True)
class Sweep:
    """A variable, its values, the setting at each, and the methods."""

    number: int
    values: tuple[float, ...]
    setting: Any  # the setting at a value
    methods: tuple[str, ...] = OFFLINE

    def seeds(self, value: float, tuning: int, reporting: int) -> tuple[range, range]:
        """The instances for the search and those that are reported: no two points share any."""
        base = 100_000 * (1 + self.number) + 1000 * self.values.index(value)
        return range(base, base + tuning), range(base + 500, base + 500 + reporting)


def sweeps(values: dict[str, tuple[float, ...]], epsilons: dict[str, float]) -> dict[str, Sweep]:
    """All sweeps, over these values; the last value of each is the hardest.

    N and m make DREAM's batch sqrt(n/m) a whole number, so that rounding up bends no line.
    """
    plain, most = Setting(), int(max(values["m"]))
    settings: dict[str, Any] = {
        "epsilon": lambda x: replace(plain, epsilon=x),
        "epsilon constrained": lambda x: replace(plain, epsilon=x, constrained=True),
        "kappa": lambda x: replace(plain, epsilon=epsilons["kappa"], kappa=x, gap=1.0, free_ratio=True),
        "gap": lambda x: replace(plain, epsilon=epsilons["gap"], gap=x),
        "N": lambda x: replace(plain, epsilon=epsilons["N"], samples=int(x) // plain.agents),
        "m": lambda x: replace(
            plain, epsilon=epsilons["m"], agents=int(x), samples=512 * most // int(x), groups=most, gap=1.0
        ),
        "epsilon online": lambda x: replace(plain, epsilon=x, samples=None),
    }
    return {
        name: Sweep(number, values[name], settings[name], ONLINE if name == "epsilon online" else OFFLINE)
        for number, name in enumerate(settings)
    }


def space(name: str, setting: Setting) -> Space:
    """Where the parameters of a method are searched: every method from the same steps."""
    steps = ["step", "step of y"] if setting.free_ratio else ["step"]
    first = [(k, 0) for k in (0, -8)] if setting.free_ratio else [(0,), (-8,)]
    names, more = [], [()]
    structures: tuple[str, ...] = ("",)
    top = round(4 * log2(4 / sqrt(setting.topology.spectral_gap)))
    bounds = {}
    if name == "DREAM":
        structures = ("gossip", "fastmix") if setting.gap != 1 else ("gossip",)
        if setting.gap != 1:
            names, more, bounds = ["K"], [(0,), (8,)], {"K": (0, max(4, top))}
        if setting.samples is None:
            names, more = [*names, "large"], [(*one, c) for one in more for c in (0, 8)]
    elif name in ("GT-GDA", "GT-SRVR"):
        structures = ("cta", "atc")
    elif name == "GT-DA":
        names, more, bounds = ["R"], [(4,), (8,)], {"R": (4, 20)}
    else:
        start = round(4 * log2(setting.epsilon))
        names, more, bounds = ["beta", "b"], [(start, 16), (start - 8, 32)], {"beta": (-LONGEST, 0), "b": (0, LONGEST)}
    every = (*steps, *names)
    low, high = zip(*(bounds.get(one, (-LONGEST, LONGEST)) for one in every), strict=True)
    return Space(structures, every, tuple((*f, *m) for f in first for m in more), len(steps), low, high)


def method(name: str, setting: Setting, names: Iterable[str], structure: str, k: tuple[int, ...]) -> Any:
    """The method at a point of its space, in the form of the theory.

    DREAM b = sqrt(b'/m), p = b/(b + b'), K0 = K = K', where b' is n, or online a multiple of sigma^2/(m epsilon^2);
    GT-SRVR Q = b = sqrt(n); DM-HSGD b0 = b/beta; all rounded up.
    """
    at = {one: 2 ** (j / 4) for one, j in zip(names, k, strict=True)}
    eta = at.get("step of y", at["step"])
    steps = {"eta": eta, "gamma": at["step"] / eta}
    if name == "DREAM":
        large = None
        if setting.samples is None:
            large = ceil(at["large"] * SIGMA**2 / (setting.agents * setting.epsilon**2))
        b = ceil(sqrt((large or setting.samples or 1) / setting.agents))
        return rd.DREAM(**steps, b=b, b_large=large, K=round(at.get("K", 1)), mixing=structure)
    if name == "DM-HSGD":
        b = round(at["b"])
        return rd.DMHSGD(**steps, b=b, beta=at["beta"], b0=ceil(b / at["beta"]))
    if name == "GT-DA":
        return rd.GTDA(**steps, R=round(at["R"]))
    return {"GT-GDA": rd.GTGDA, "GT-SRVR": rd.GTSRVR}[name](**steps, form=structure)


@cache
def descent_time(epsilon: float) -> float:
    """h times the iterations of exact descent, with a short step h, until it has arrived as a run must."""
    v, h, sums = float(START[0]), 0.1, [0.0]
    while True:
        v += h * S * v * (1 + v * v) ** (-A / 2 - 1)
        sums.append(sums[-1] + sqrt(V) * S * v * (1 + v * v) ** (-A / 2 - 1))
        t = len(sums) - 1
        if t > 50 and (sums[t] - sums[t // 2]) / (t - t // 2) <= epsilon:
            return h * t


@cache
def _topology(m: int, gap: float | None) -> Any:
    if gap is None:
        return rd.topology.ring(m, self_weight=0.5)
    return rd.topology.complete(m, self_weight=1 - gap * (m - 1) / m)
