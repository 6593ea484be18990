"""The topology lab: choose a network, see its spectrum and how fast it mixes, and step through the mixing."""

from collections.abc import Callable, Mapping
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate

from raydream.dashboard import parts
from raydream.dashboard.lab import facts as network_shown
from raydream.dashboard.lab.controls import NUMBERS, SOMETIMES, controls, hidden
from raydream.dashboard.lab.network import CONTROLS, Choices, topology_of
from raydream.dashboard.parts import Query, state
from raydream.dashboard.watching.jobs import Jobs
from raydream.report import figures
from raydream.topology import Topology

TITLE = "Topology lab"


def layout(query: Query, jobs: Jobs) -> Any:
    """The page, its controls set as the URL says."""
    numbers = query.numbers(NUMBERS, 1e9)
    network, spectrum, stepping = controls(query, numbers)
    cards = [
        html.Div(id="lab-facts"),
        parts.card("Network, spectrum, speed", _pictures(), controls=spectrum, className="lab-card"),
        parts.card("Mixing, round by round", *_steps(numbers), controls=stepping, className="lab-card"),
    ]
    return html.Div(
        [
            html.H1(TITLE),
            html.Section(html.Div(network, className="controls lab-controls")),
            dcc.Store(id="lab-topology"),
            parts.wrong(id="lab-error"),
            html.Div(cards, id="lab-shown"),
        ],
        className="lab",
    )


def _pictures() -> html.Div:
    """The three figures, each with what it is."""
    place = html.Div([parts.graph("lab-spectrum")], id="lab-spectrum-place")
    return html.Div(
        [
            parts.captioned("agents and links; a line's width is its weight", parts.graph("lab-network")),
            parts.captioned("what mixing makes of each eigenvalue of W", place, parts.wrong(id="lab-spectrum-error")),
            parts.captioned("what is left of disagreement, at worst", parts.graph("lab-speed")),
        ],
        className="three",
    )


def _steps(numbers: Mapping[str, Any]) -> list[Any]:
    """Mixing a random vector, round by round: a player above the agents and their disagreement."""
    rounds = numbers["rounds"] if 1 <= numbers["rounds"] <= network_shown.MOST_ROUNDS else NUMBERS["rounds"]
    k = min(max(0, numbers["k"]), rounds)
    slider = dcc.Slider(0, rounds, 1, id=state("k"), value=k, marks=None, allow_direct_input=False)
    player = [html.Button("Play", id="lab-play", n_clicks=0), html.Div(slider, className="lab-slider")]
    drawn = [
        parts.captioned("the agents' values, around their mean", parts.graph("lab-agents", "lab-two")),
        parts.captioned("the disagreement of all agents", parts.graph("lab-fall")),
    ]
    place = [
        html.Div(player, className="lab-player"),
        html.P(id="lab-round", className="note lab-round"),
        html.Div(drawn, className="lab-steps"),
    ]
    return [
        html.Div(place, id="lab-steps-place"),
        parts.wrong(id="lab-steps-error"),
        dcc.Store(id="lab-sentences"),
        dcc.Interval(id="lab-tick", interval=400, disabled=True),
    ]


def register(app: Dash, jobs: Jobs) -> None:
    """The callbacks of the page."""
    _register_choice(app)
    _register_figures(app)
    _register_steps(app)


def _register_choice(app: Dash) -> None:
    """Which network it is, in numbers."""

    @app.callback(
        {name: Output(f"lab-{name}", "hidden") for name in SOMETIMES},
        Input(state("graph"), "value"), Input(state("weights"), "value"), Input(state("mixing"), "value"),
    )  # fmt: skip
    def hide(graph: str, weights: str, method: str) -> Any:
        return hidden(graph, weights, method)

    @app.callback(
        Output("lab-topology", "data"), Output("lab-shown", "hidden"), Output("lab-error", "children"),
        inputs={"choices": {name: Input(state(name), "value") for name in CONTROLS}},
    )  # fmt: skip
    def choose(choices: Choices) -> Any:
        return answer(lambda: checked(choices))

    @app.callback(Output("lab-facts", "children"), Input("lab-topology", "data"), Input(state("tolerance"), "value"))
    def tell(choices: Choices | None, tolerance: Any) -> Any:
        topology = _chosen(choices)
        facts, sentence = parts.attempt(lambda: network_shown.facts(topology, tolerance))
        return parts.wrong(sentence) if facts is None else [parts.tiles(facts), *map(parts.note, topology.remarks)]


def _register_figures(app: Dash) -> None:
    """The network, its spectrum and its speed."""

    @app.callback(
        Output("lab-network", "figure"), Output("lab-speed", "figure"),
        Input("lab-topology", "data"), Input("dark", "data"),
    )  # fmt: skip
    def draw(choices: Choices | None, dark: bool | None) -> Any:
        topology = _chosen(choices)
        return network_shown.picture(topology, bool(dark)), figures.mixing_speed(topology, dark=bool(dark))

    @app.callback(
        Output("lab-spectrum", "figure"), Output("lab-spectrum-place", "hidden"),
        Output("lab-spectrum-error", "children"),
        Input("lab-topology", "data"), Input(state("K"), "value"), Input(state("mixing"), "value"),
        Input(state("momentum"), "value"), Input("dark", "data"),
    )  # fmt: skip
    def draw_spectrum(choices: Choices | None, K: Any, method: str, momentum: str, dark: bool | None) -> Any:
        return answer(lambda: network_shown.spectrum(_chosen(choices), K, method, momentum, bool(dark)))


def _register_steps(app: Dash) -> None:
    """The frames, which the browser plays by itself."""

    @app.callback(
        Output("lab-agents", "figure"), Output("lab-fall", "figure"), Output("lab-sentences", "data"),
        Output(state("k"), "max"), Output("lab-steps-place", "hidden"), Output("lab-steps-error", "children"),
        Input("lab-topology", "data"), Input(state("values"), "value"), Input(state("rounds"), "value"),
        Input(state("step_momentum"), "value"), Input("dark", "data"), State(state("k"), "value"),
    )  # fmt: skip
    def draw_steps(choices: Choices | None, seed: Any, rounds: Any, momentum: str, dark: bool | None, k: int) -> Any:
        return answer(
            lambda: (*network_shown.steps(_chosen(choices), seed, rounds, momentum, k, bool(dark)), rounds), 4
        )

    parts.in_the_browser(
        app, "play",
        Output(state("k"), "value"), Output("lab-tick", "disabled"), Output("lab-play", "children"),
        Input("lab-play", "n_clicks"), Input("lab-tick", "n_intervals"), Input(state("k"), "max"),
        State(state("k"), "value"), State("lab-tick", "disabled"),
        prevent_initial_call=True,
    )  # fmt: skip
    parts.in_the_browser(
        app, "show_round",
        Output("lab-round", "children"), Input(state("k"), "drag_value"), Input("lab-sentences", "data"),
    )  # fmt: skip


def answer(make: Callable[[], Any], pieces: int = 1) -> list[Any]:
    """What `make` makes, then whether to hide its place, then the sentence that stands there instead."""
    made, sentence = parts.attempt(make)
    if made is None:
        return [*[no_update] * pieces, True, sentence]
    return [*(made if pieces > 1 else [made]), False, ""]


def checked(choices: Choices) -> Choices:
    """The same, if there is such a topology."""
    topology_of(choices)
    return choices


def _chosen(choices: Choices | None) -> Topology:
    """The network, once there is one."""
    if choices is None:
        raise PreventUpdate
    return topology_of(choices)
