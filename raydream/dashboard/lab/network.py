"""The network that the lab's controls describe: built once, or refused in one sentence."""

import functools
import math
from collections.abc import Mapping
from typing import Any

from raydream import checks
from raydream.parameters import parameters_of
from raydream.specs import TOPOLOGIES, build_topology
from raydream.topology import Topology
from raydream.topology.graphs import without_a_link

MOST_AGENTS = 400  # an answer within a second
LONELY = 5  # agents without a link, on average: then a connected graph is found in about 150 draws
OWN = "self-weight"  # among the weights: one of one's own
PARAMETERS = ("rows", "probability", "degree", "seed")  # that some graphs have besides their agents and weights
CONTROLS = ("graph", "m", *PARAMETERS, "weights", "self_weight", "lazy")
Choices = Mapping[str, Any]  # the value of each control


def asked_of(graph: str) -> list[str]:
    """Those of `PARAMETERS` that a graph has."""
    return [name for name in parameters_of(TOPOLOGIES[graph]) if name in PARAMETERS]


def bounded(name: str, value: Any, least: int, most: int) -> int:
    """`value` as a whole number from `least` to `most`, above which the lab would become slow."""
    number = checks.whole(name, value, least)
    if number > most:
        raise ValueError(f"`{name}` must be at most {most} in the lab; got {value}.")
    return number


def topology_of(choices: Choices) -> Topology:
    """The topology that the controls describe, or an error in one sentence."""
    built = _built(*(tuple(choices[name]) if name == "lazy" else choices[name] for name in CONTROLS))
    if isinstance(built, str):
        raise ValueError(built)
    return built


@functools.lru_cache(maxsize=64)
def _built(*values: Any) -> Topology | str:
    """The topology or the sentence: failures are remembered too, as some take seconds to find."""
    choices = dict(zip(CONTROLS, values, strict=True))
    try:
        m = bounded("m", choices["m"], 1, MOST_AGENTS)
        topology = build_topology(choices["graph"], m, _parameters(choices, m))
    except (ValueError, TypeError) as error:
        return str(error)
    return topology.lazy() if choices["lazy"] else topology


def _parameters(choices: Choices, m: int) -> dict[str, Any]:
    """The builder's arguments besides m."""
    given = {name: choices[name] for name in asked_of(choices["graph"])}
    if "rows" in given:
        given["rows"] = given["rows"] or None
    if "seed" in given:  # a browser's numbers are exact up to there
        bounded("seed", given["seed"], 0, 2**53)
    if "degree" in given:  # drawing a nearly complete regular graph takes for ever
        bounded("degree", given["degree"], 0, max(16, m // 4))
    if "probability" in given and without_a_link(m, checks.probability("probability", given["probability"])) > LONELY:
        least = 1 - (LONELY / m) ** (1 / (m - 1))
        raise ValueError(
            f"`probability` {given['probability']:g} is too small for {m} agents: hardly any graph would be connected; "
            f"in the lab it must be at least {math.ceil(1e4 * least) / 1e4:g}."
        )
    if choices["weights"] == OWN:
        return {**given, "self_weight": checks.number("self_weight", choices["self_weight"])}
    weighed = "weights" in parameters_of(TOPOLOGIES[choices["graph"]])  # else its weights follow from its links
    return {**given, "weights": choices["weights"]} if weighed else given
