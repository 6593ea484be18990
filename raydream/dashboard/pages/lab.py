"""The topology lab: choose a network, see its spectrum and how fast it mixes, and step through the mixing."""

import functools
import inspect
import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate

from raydream import checks, mixing
from raydream.dashboard import mixing_show, parts
from raydream.dashboard.parts import Query, state
from raydream.dashboard.runs import Runs
from raydream.report import figures
from raydream.specs import TOPOLOGIES, build_topology
from raydream.topology import WEIGHTS, Topology

TITLE = "Topology lab"

MOST_AGENTS = 400  # an answer within a second
MOST_K = 1000
MOST_ROUNDS = 60  # to step through: a frame each
PATIENCE = 100_000  # rounds of FastMix counted, about a second
OWN = "self-weight"  # among the weights: one of one's own
NUMBERS = {
    "m": 16, "rows": 0, "probability": 0.3, "degree": 3, "seed": 0, "self_weight": 0.5, "tolerance": 1e-6,
    "K": 4, "values": 0, "rounds": 30, "k": 0,
}  # fmt: skip
TOPOLOGY = ("graph", "m", "rows", "probability", "degree", "seed", "weights", "self_weight", "lazy")
SOMETIMES = ("rows", "probability", "degree", "seed", "self_weight", "momentum")  # what controls not all graphs have
MOMENTA = {"optimal": "optimal", "paper": "the paper's"}
WAYS = {
    "gossip rounds": ("gossip", "optimal"),
    "FastMix rounds": ("fastmix", "optimal"),
    "FastMix rounds, paper": ("fastmix", "paper"),
}
Spec = Mapping[str, Any]


# ---------------------------------------------------------------- what is shown


def parameters_of(graph: str) -> list[str]:
    """The parameters that a graph has besides its agents and weights."""
    return [name for name in inspect.signature(TOPOLOGIES[graph]).parameters if name in SOMETIMES[:4]]


def hidden(graph: str, weights: str, method: str) -> dict[str, bool]:
    """Which controls have nothing to say."""
    shown = [*parameters_of(graph), *["self_weight"] * (weights == OWN), *["momentum"] * (method == "fastmix")]
    return {name: name not in shown for name in SOMETIMES}


def topology_of(spec: Spec) -> Topology:
    """The topology that the controls describe, or an error in one sentence."""
    found = _built(*(tuple(spec[name]) if name == "lazy" else spec[name] for name in TOPOLOGY))
    if isinstance(found, str):
        raise ValueError(found)
    return found


def checked(spec: Spec) -> Spec:
    """The same, if there is such a topology."""
    topology_of(spec)
    return spec


@functools.lru_cache(maxsize=64)
def _built(*values: Any) -> Topology | str:
    """The topology or the sentence: failures are remembered too, as some take seconds to find."""
    spec = dict(zip(TOPOLOGY, values, strict=True))
    try:
        m = at_most("m", checks.whole("m", spec["m"], 1), MOST_AGENTS)
        parameters = {name: spec[name] for name in parameters_of(spec["graph"])}
        if "rows" in parameters:
            parameters["rows"] = parameters["rows"] or None
        if "degree" in parameters:  # drawing a nearly complete regular graph takes for ever
            at_most("degree", checks.whole("degree", spec["degree"]), max(16, m // 2))
        if spec["weights"] == OWN:
            parameters["self_weight"] = checks.number("self_weight", spec["self_weight"])
        else:
            parameters["weights"] = spec["weights"]
        topology = build_topology(spec["graph"], m, parameters)
    except (ValueError, TypeError) as error:
        return str(error)
    return topology.lazy() if spec["lazy"] else topology


def at_most(name: str, value: int, most: int) -> int:
    """`value`, refused where the lab would become slow."""
    if value > most:
        raise ValueError(f"`{name}` must be at most {most} in the lab; got {value}.")
    return value


def facts(topology: Topology, tolerance: float) -> dict[str, str]:
    """The network in numbers."""
    tolerance = checks.positive("tolerance", tolerance)
    rounds = {name: _rounds(topology, tolerance, *way) for name, way in WAYS.items()}
    slow, fast, _ = rounds.values()
    return {
        "agents": str(topology.m),
        "links": str(topology.edges),
        "λ₂": f"{topology.second_eigenvalue:.6g}",
        "λₘ": f"{topology.smallest_eigenvalue:.6g}",
        "spectral gap δ": f"{topology.spectral_gap:.4g}",
        "positive semidefinite": "yes" if topology.positive_semidefinite else "no",
        **{name: "–" if count is None else str(count) for name, count in rounds.items()},
        "gossip / FastMix": f"{slow / fast:.3g}" if slow and fast else "–",
    }


def _rounds(topology: Topology, tolerance: float, method: str, momentum: str) -> int | None:
    """Rounds to mix to the tolerance, if that ends and is soon counted."""
    gap = math.sqrt(max(0.0, 1 - topology.network.lam**2))  # FastMix takes about log(1 / tolerance) / gap rounds
    if method == "fastmix" and -2 * math.log(tolerance) > PATIENCE * gap:
        return None
    try:
        return topology.rounds_to_mix(tolerance, method, momentum)
    except ValueError:  # it does not mix, as its remarks say
        return None


def picture(topology: Topology, dark: bool) -> Any:
    """The network's figure; two callbacks ask for it at once, and finding places takes long."""
    with _DRAWING:
        return _drawn(topology, dark)


_DRAWING = threading.Lock()
_drawn = functools.lru_cache(maxsize=16)(lambda topology, dark: figures.network(topology, dark=dark))


def spectrum(spec: Spec, K: Any, method: str, momentum: str, dark: bool) -> Any:
    """The figure of the spectrum after K rounds."""
    return figures.spectrum(topology_of(spec), at_most("K", checks.whole("K", K), MOST_K), method, momentum, dark=dark)


def steps(spec: Spec, seed: Any, rounds: Any, momentum: str, k: int, dark: bool) -> tuple[Any, Any, list[str]]:
    """The agents and their disagreement, in frames, and a sentence for each round."""
    rounds = at_most("rounds", checks.whole("rounds", rounds, 1), MOST_ROUNDS)
    topology, k = topology_of(spec), min(k or 0, rounds)
    walks = mixing_show.walks(topology, checks.whole("values", seed), rounds, momentum)
    drawn = mixing_show.agents(picture(topology, dark), walks, k, dark=dark)
    return drawn, mixing_show.fall(walks, k, dark=dark), mixing_show.sentences(walks)


def answer(make: Callable[[], Any], parts_made: int = 1) -> list[Any]:
    """What `make` makes, then whether to hide its place, then the sentence that stands there instead."""
    try:
        made = make()
    except (ValueError, TypeError) as error:
        return [*[no_update] * parts_made, True, str(error)]
    return [*(made if parts_made > 1 else [made]), False, ""]


# ---------------------------------------------------------------- the page


def layout(query: Query, runs: Runs) -> Any:
    """The page, its controls set as the URL says."""
    number = {name: query.number(name, default, -1e9, 1e9) for name, default in NUMBERS.items()}
    graph = query.among("graph", TOPOLOGIES, "ring")
    weights = query.among("weights", [*WEIGHTS, OWN], "metropolis")
    method = query.among("mixing", mixing.METHODS, "fastmix")
    without = hidden(graph, weights, method)

    def sometimes(name: str, control: Any) -> html.Div:
        return html.Div(control, id=f"lab-{name}", hidden=without[name])

    momentum = parts.choice("momentum", "momentum", MOMENTA, query.among("momentum", MOMENTA, "optimal"))
    chosen = [
        parts.choice("graph", "graph", [*TOPOLOGIES], graph),
        parts.number("m", "agents m", number["m"]),
        sometimes("rows", parts.number("rows", "rows", number["rows"] or None, placeholder="squarest")),
        sometimes("probability", parts.number("probability", "probability", number["probability"])),
        sometimes("degree", parts.number("degree", "degree", number["degree"])),
        sometimes("seed", parts.number("seed", "seed", number["seed"])),
        parts.choice("weights", "weights", [*WEIGHTS, OWN], weights),
        sometimes("self_weight", parts.number("self_weight", "self weight", number["self_weight"])),
        parts.tick("lazy", "lazy: (W + I)/2", query.one("lazy") == "1"),
        parts.number("tolerance", "mix to tolerance", number["tolerance"]),
    ]
    mixed = [
        parts.number("K", "spectrum: rounds K", number["K"]),
        parts.choice("mixing", "of", mixing.METHODS, method),
        sometimes("momentum", momentum),
    ]
    return html.Div(
        [
            html.H1(TITLE),
            html.Section(html.Div(chosen, className="controls lab-controls")),
            dcc.Store(id="lab-topology"),
            _sentence("lab-error"),
            html.Div(
                [
                    html.Div(id="lab-facts"),
                    parts.card("Network, spectrum, speed", _three(), controls=mixed, className="lab-card"),
                    _stepping(query, number),
                ],
                id="lab-shown",
            ),
        ],
        className="lab",
    )


def _three() -> html.Div:
    """The three figures, each with what it is."""
    shown = {
        "lab-network": "agents and links; a line's width is its weight",
        "lab-spectrum": "what mixing makes of each eigenvalue of W",
        "lab-speed": "what is left of disagreement, at worst",
    }
    drawn: dict[str, list[Any]] = {name: [parts.graph(name)] for name in shown}
    drawn["lab-spectrum"] = [html.Div(drawn["lab-spectrum"], id="lab-spectrum-place"), _sentence("lab-spectrum-error")]
    return html.Div(
        [html.Figure([*drawn[name], html.Figcaption(text)]) for name, text in shown.items()], className="three"
    )


def _stepping(query: Query, number: Mapping[str, Any]) -> html.Section:
    """Mixing a random vector, round by round."""
    rounds = number["rounds"] if 1 <= number["rounds"] <= MOST_ROUNDS else NUMBERS["rounds"]
    slider = dcc.Slider(
        0, rounds, 1, id=state("k"), value=min(max(0, number["k"]), rounds), marks=None, allow_direct_input=False
    )
    momentum = query.among("step_momentum", MOMENTA, "optimal")
    controls = [
        parts.number("values", "seed of the values", number["values"]),
        parts.number("rounds", "rounds", number["rounds"]),
        parts.choice("step_momentum", "momentum of FastMix", MOMENTA, momentum),
    ]
    place = [
        html.Div(
            [html.Button("Play", id="lab-play", n_clicks=0), html.Div(slider, className="lab-slider")],
            className="lab-player",
        ),
        html.P(id="lab-round", className="note lab-round"),
        html.Div(
            [
                html.Figure(
                    [parts.graph("lab-agents", "lab-two"), html.Figcaption("the agents' values, around their mean")]
                ),
                html.Figure([parts.graph("lab-fall"), html.Figcaption("the disagreement of all agents")]),
            ],
            className="lab-steps",
        ),
    ]
    return parts.card(
        "Mixing, round by round",
        html.Div(place, id="lab-steps-place"),
        _sentence("lab-steps-error"),
        dcc.Store(id="lab-sentences"),
        dcc.Interval(id="lab-tick", interval=400, disabled=True),
        controls=controls,
        className="lab-card",
    )


def _sentence(name: str) -> html.P:
    """Where a figure cannot be drawn: why."""
    return html.P(id=name, className="lab-error", role="alert")


# ---------------------------------------------------------------- its answers


def register(app: Dash, runs: Runs) -> None:
    """The callbacks of the page."""
    _register_choice(app)
    _register_figures(app)
    _register_steps(app)


def _register_choice(app: Dash) -> None:
    @app.callback(
        {name: Output(f"lab-{name}", "hidden") for name in SOMETIMES},
        Input(state("graph"), "value"), Input(state("weights"), "value"), Input(state("mixing"), "value"),
    )  # fmt: skip
    def hide(graph: str, weights: str, method: str) -> Any:
        return hidden(graph, weights, method)

    @app.callback(
        Output("lab-topology", "data"), Output("lab-shown", "hidden"), Output("lab-error", "children"),
        inputs={"spec": {name: Input(state(name), "value") for name in TOPOLOGY}},
    )  # fmt: skip
    def choose(spec: Spec) -> Any:
        return answer(lambda: checked(spec))

    @app.callback(Output("lab-facts", "children"), Input("lab-topology", "data"), Input(state("tolerance"), "value"))
    def tell(spec: Spec | None, tolerance: Any) -> Any:
        topology = topology_of(_chosen(spec))
        told, wrong, sentence = answer(lambda: facts(topology, tolerance))
        if wrong:
            return html.P(sentence, className="lab-error", role="alert")
        return [parts.tiles(told), *map(parts.note, topology.remarks)]


def _register_figures(app: Dash) -> None:
    @app.callback(
        Output("lab-network", "figure"), Output("lab-speed", "figure"),
        Input("lab-topology", "data"), Input("dark", "data"),
    )  # fmt: skip
    def draw(spec: Spec | None, dark: bool | None) -> Any:
        topology = topology_of(_chosen(spec))
        return picture(topology, bool(dark)), figures.mixing_speed(topology, dark=bool(dark))

    @app.callback(
        Output("lab-spectrum", "figure"), Output("lab-spectrum-place", "hidden"),
        Output("lab-spectrum-error", "children"),
        Input("lab-topology", "data"), Input(state("K"), "value"), Input(state("mixing"), "value"),
        Input(state("momentum"), "value"), Input("dark", "data"),
    )  # fmt: skip
    def draw_spectrum(spec: Spec | None, K: Any, method: str, momentum: str, dark: bool | None) -> Any:
        return answer(lambda: spectrum(_chosen(spec), K, method, momentum, bool(dark)))


def _register_steps(app: Dash) -> None:
    @app.callback(
        Output("lab-agents", "figure"), Output("lab-fall", "figure"), Output("lab-sentences", "data"),
        Output(state("k"), "max"), Output("lab-steps-place", "hidden"), Output("lab-steps-error", "children"),
        Input("lab-topology", "data"), Input(state("values"), "value"), Input(state("rounds"), "value"),
        Input(state("step_momentum"), "value"), Input("dark", "data"), State(state("k"), "value"),
    )  # fmt: skip
    def draw_steps(spec: Spec | None, seed: Any, rounds: Any, momentum: str, dark: bool | None, k: int) -> Any:
        return answer(lambda: (*steps(_chosen(spec), seed, rounds, momentum, k, bool(dark)), rounds), 4)

    app.clientside_callback(  # type: ignore[no-untyped-call]
        PLAY,
        Output(state("k"), "value"), Output("lab-tick", "disabled"), Output("lab-play", "children"),
        Input("lab-play", "n_clicks"), Input("lab-tick", "n_intervals"), Input(state("k"), "max"),
        State(state("k"), "value"), State("lab-tick", "disabled"),
        prevent_initial_call=True,
    )  # fmt: skip
    app.clientside_callback(  # type: ignore[no-untyped-call]
        SHOW, Output("lab-round", "children"), Input(state("k"), "drag_value"), Input("lab-sentences", "data")
    )


def _chosen(spec: Spec | None) -> Spec:
    if spec is None:
        raise PreventUpdate
    return spec


# The button starts and stops; a tick goes on by one round, and stops at the last one.
PLAY = """(clicks, ticks, last, k, paused) => {
  const by = window.dash_clientside.callback_context.triggered_id;
  if (by === "lab-play" && paused) return [k < last ? k : 0, false, "Pause"];
  if (by === "lab-tick" && !paused && k + 1 < last) return [k + 1, false, "Pause"];
  return [by === "lab-tick" ? last : Math.min(k, last), true, "Play"];
}"""

# Both figures go to their frame k; the figures that the server sends are at theirs already.
SHOW = """(k, sentences) => {
  const now = { mode: "immediate", transition: { duration: 0 }, frame: { duration: 0, redraw: false } };
  for (const graph of document.querySelectorAll("#lab-agents .js-plotly-plot, #lab-fall .js-plotly-plot")) {
    try { Plotly.animate(graph, [String(k)], now).catch(() => {}); } catch { /* it is being drawn */ }
  }
  return (sentences || [])[k] || "";
}"""
