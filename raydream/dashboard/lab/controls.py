"""The controls of the topology lab, set as the URL says, and those among them that some choices hide."""

from collections.abc import Mapping
from typing import Any

from dash import html

from raydream.dashboard import parts
from raydream.dashboard.lab.network import OWN, PARAMETERS, asked_of
from raydream.dashboard.parts import Query
from raydream.specs import TOPOLOGIES
from raydream.topology import WEIGHTS, mixing

NUMBERS = {
    "m": 16, "rows": 0, "probability": 0.3, "degree": 3, "seed": 0, "self_weight": 0.5, "tolerance": 1e-6,
    "K": 4, "values": 0, "rounds": 30, "k": 0,
}  # fmt: skip
MOMENTA = {"optimal": "optimal", "paper": "the paper's"}
SOMETIMES = (*PARAMETERS, "self_weight", "momentum")  # the controls that some choices hide


def controls(query: Query, numbers: Mapping[str, Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Those of the network, of its spectrum and of the steps."""
    graph = query.among("graph", TOPOLOGIES, "ring")
    weights = query.among("weights", [*WEIGHTS, OWN], "metropolis")
    method = query.among("mixing", mixing.METHODS, "fastmix")
    away = hidden(graph, weights, method)

    def sometimes(name: str, control: Any) -> Any:
        return html.Div(control, id=f"lab-{name}", hidden=away[name]) if name in SOMETIMES else control

    def number(name: str, label: str, **more: Any) -> Any:
        value = numbers[name] or None if name == "rows" else numbers[name]
        return sometimes(name, parts.number(name, label, value, **more))

    def momentum(name: str, label: str) -> Any:
        return sometimes(name, parts.choice(name, label, MOMENTA, query.among(name, MOMENTA, "optimal")))

    network = [
        parts.choice("graph", "graph", TOPOLOGIES.keys(), graph),
        number("m", "agents m"),
        number("rows", "rows", placeholder="squarest"),
        number("probability", "probability"),
        number("degree", "degree"),
        number("seed", "seed"),
        parts.choice("weights", "weights", [*WEIGHTS, OWN], weights),
        number("self_weight", "self weight"),
        parts.tick("lazy", "lazy: (W + I)/2", query.one("lazy") == "1"),
        number("tolerance", "mix to tolerance"),
    ]
    spectrum = [
        number("K", "spectrum: rounds K"),
        parts.choice("mixing", "of", mixing.METHODS, method),
        momentum("momentum", "momentum"),
    ]
    stepping = [
        number("values", "seed of the values"),
        number("rounds", "rounds"),
        momentum("step_momentum", "momentum of FastMix"),
    ]
    return network, spectrum, stepping


def hidden(graph: str, weights: str, method: str) -> dict[str, bool]:
    """Which controls have nothing to say."""
    says = {"self_weight": weights == OWN, "momentum": method == "fastmix"}
    return {name: not says.get(name, name in asked_of(graph)) for name in SOMETIMES}
