"""What the theorem prescribes for given constants, as rows of a table, and the commands that tell the same."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from raydream import specs
from raydream.theory import DreamParameters

OWN = "own"  # in the place of a graph: a gap of one's own
GRAPHS = ("ring", "path", "grid", "torus", "star", "complete", "exponential")
MOST_AGENTS = 1000  # of a graph whose spectrum is computed while somebody waits
Given = Mapping[str, Any]  # the arguments of `dream_parameters`

# symbol, meaning, formula, name in DreamParameters; c1 and c2 are explained below the table
QUANTITIES: tuple[tuple[str, str, str | dict[str, str], str], ...] = (
    ("κ", "condition number", "L / μ", "kappa"),
    ("η", "ascent step in y", "1 / (48 L)", "eta"),
    ("γ", "ratio of the descent step in x to η", "α / (128 (1 + α) κ²), α = 1/8", "gamma"),
    ("b′", "large batch per agent", {"offline": "n", "online": "⌈32 σ² / (γ m ε²)⌉"}, "b_large"),
    ("b", "small batch per agent", "⌈√(b′/m)⌉", "b"),
    ("q", "chance that an agent corrects", "√(b′/m) / b", "q"),
    ("p", "chance of a large batch", "b q / (b q + b′)", "p"),
    ("T", "iterations", "⌈16 Ψ₀ / (γ η ε²) + 2/p⌉", "iterations"),
    ("K₀", "rounds at the start", "⌈log(16 c₁ / (γ m ε²)) / (c₂ √δ)⌉, at least 0", "K0"),
    ("K", "rounds per mixing", "⌈5 log(c₁ (m/b′ + 1)) / (c₂ √δ)⌉", "K"),
    ("K′", "the tracker's rounds after a large batch", "⌈5 log(c₁ m) / (c₂ √δ)⌉", "K_large"),
    # the price of the run that these set up
    ("SFO", "calls of all agents, as this package bills them", "m (b′ + T (p b′ + 2 (1 − p) b q))", "sfo"),
    ("SFO", "as the paper counts: b per correction", "m (b′ + T (p b′ + (1 − p) b q))", "sfo_paper"),
    ("rounds", "as this package bills them", "K₀ + T (K + p K′ + (1 − p) K)", "rounds"),
    ("rounds", "as the paper counts: the tracker's only", "K₀ + T (p K′ + (1 − p) K)", "rounds_paper"),
)
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def graph_of(values: Mapping[str, Any]) -> str:
    """The chosen graph; a single agent has nobody to have a gap with, and is a complete graph."""
    return "complete" if values["m"] == 1 else str(values["graph"])


def given_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `dream_parameters` that the controls' values stand for."""
    one = "n" if values["case"] == "offline" else "sigma"
    given = {name: values[name] for name in ("L", "mu", "epsilon", "psi0", "m", one)}
    graph = graph_of(values)
    return {**given, "delta": values["delta"] if graph == OWN else gap_of(graph, values["m"])}


@lru_cache(maxsize=1000)
def gap_of(graph: str, m: int) -> float:
    """The spectral gap of a graph of m agents."""
    if isinstance(m, int) and m > MOST_AGENTS:
        raise ValueError(
            f"`m` must be at most {MOST_AGENTS} to take the gap from a graph; got {m}. Give a gap instead."
        )
    return min(1.0, specs.build_topology(graph, m, {}).spectral_gap)


def rows(graph: str, given: Given, found: DreamParameters) -> list[tuple[str, str, str, float]]:
    """Symbol, meaning, formula and value of the network's gap and of everything in `found`."""
    case = "offline" if "n" in given else "online"
    whence = "as given" if graph == OWN else f"1 − λ₂(W), {graph} of {given['m']}"
    values = asdict(found)
    return [("δ", "spectral gap of the network", whence, given["delta"])] + [
        (symbol, meaning, formula if isinstance(formula, str) else formula[case], values[name])
        for symbol, meaning, formula, name in QUANTITIES
    ]


def command(graph: str, given: Given) -> str:
    """What gives the same numbers on the command line."""
    options = {"epsilon": "epsilon", "L": "L", "mu": "mu", "psi0": "psi0", "n": "n", "sigma": "sigma", "m": "agents"}
    said = [f"--{option} {given[name]!r}" for name, option in options.items() if name in given]
    network, m = f"--topology {graph}", given["m"]
    if graph == OWN:  # a complete graph can have any gap
        network = f"--topology complete --topology-set self_weight={1 - given['delta'] * (m - 1) / m!r}"
    return " ".join(["raydream params", *said, network])


def call(graph: str, given: Given) -> str:
    """What gives the same numbers in Python."""
    said = {name: repr(value) for name, value in given.items()}
    if graph != OWN:
        said["delta"] = f"rd.topology.{graph}({given['m']}).spectral_gap"
    arguments = ", ".join(f"{name}={value}" for name, value in said.items())
    return f"import raydream as rd\nrd.theory.dream_parameters({arguments})"


def shown(value: float) -> str:
    """A number as people read it: whole ones with their digits grouped, others with four digits."""
    if isinstance(value, int) and value < 1e12:
        return f"{value:,}"
    digits, _, exponent = f"{value:.4g}".partition("e")
    return f"{digits} × 10{str(int(exponent)).translate(_RAISED)}" if exponent else digits
