"""What the theorem prescribes for given constants, and how the methods' costs grow by what their papers state."""

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go
from dash import Dash, Input, Output, dcc, html

from raydream.algorithms.table import rates
from raydream.dashboard import parts
from raydream.dashboard.parts import Query, state
from raydream.dashboard.theory import exponents, growth, prescription
from raydream.dashboard.theory.prescription import GRAPHS, OWN
from raydream.dashboard.theory.sliders import DIALS, PLACE, dial, keep_together
from raydream.dashboard.watching.jobs import Jobs
from raydream.theory import DreamParameters, dream_parameters

TITLE = "Theory"

CASES = {"offline": "offline (n samples)", "online": "online (σ)"}
CONTROLS = ("case", *DIALS, "graph", "power")
POWER = 2.0  # of kappa, where the paper leaves it open
TEXTS = ("wrong", "answer", "command", "call", "key", "note", "exponents")  # what is told, by its places


def layout(query: Query, jobs: Jobs) -> Any:
    """The page, with every control as the URL says."""
    case = query.among("case", CASES, "offline")
    graph = query.among("graph", [*GRAPHS, OWN], "ring")
    away = hidden(case, graph)
    numbers = query.numbers({name: one.value for name, one in DIALS.items()}, 1e18)
    dials = {name: dial(name, value, away.get(name, False)) for name, value in numbers.items()}
    delta = dials.pop("delta")
    networks = {**{name: name for name in GRAPHS}, OWN: "a gap δ of one's own"}
    given = [_switch(case), *dials.values(), parts.choice("graph", "network", networks, graph), delta]
    found = [html.Div(id="theory-answer"), _copyable("command"), _copyable("call")]
    power = parts.number(
        "power", "power of κ where the paper leaves it open", query.number("power", POWER, 0, 20), min=0, step="any"
    )
    columns = [
        parts.card("Given", html.Div(given, className="theory-given")),
        parts.card("What the theorem prescribes", parts.wrong(id="theory-wrong"), html.Div(found, id="theory-found")),
    ]
    return html.Div(
        [
            html.Div(html.H1(TITLE), className="heading"),
            html.Div(columns, className="theory-columns"),
            parts.card(
                "How costs grow, as the papers state it",
                html.Div(id="theory-key"),
                html.Div([parts.graph(f"theory-{cost}") for cost in growth.COSTS], className="theory-pair"),
                html.P(id="theory-note", className="note"),
                html.Div(id="theory-exponents"),
                controls=[html.Div(power, id="theory-power", hidden=away["power"])],
                id="theory-growth",
            ),
        ]
    )


def register(app: Dash, jobs: Jobs) -> None:
    """The page's answers."""
    keep_together(app)

    @app.callback(
        output={
            "power": Output("theory-power", "hidden"),
            **{name: Output(PLACE + name, "hidden") for name in ("n", "sigma", "delta")},
        },
        inputs=[Input(state("case"), "value"), Input(state("graph"), "value")],
    )
    def hide(case: str, graph: str) -> dict[str, bool]:
        return hidden(case, graph)

    @app.callback(
        output={
            **{name: Output(f"theory-{name}", "children") for name in TEXTS},
            **{cost: Output(f"theory-{cost}", "figure") for cost in growth.COSTS},
            "found_hidden": Output("theory-found", "hidden"),
            "growth_hidden": Output("theory-growth", "hidden"),
        },
        inputs={"values": {name: Input(state(name), "value") for name in CONTROLS}, "dark": Input("dark", "data")},
    )
    def answer(values: dict[str, Any], dark: bool | None) -> dict[str, Any]:
        return answers(values, bool(dark))


def hidden(case: str, graph: str) -> dict[str, bool]:
    """The controls that play no part in some cases, and whether this is one."""
    idle = {"n": case == "online", "sigma": case == "offline", "delta": graph != OWN}
    return {**idle, "power": not exponents.leaves_open(case)}


def answers(values: Mapping[str, Any], dark: bool = False) -> dict[str, Any]:
    """Everything that the controls' values decide; where they are wrong, the sentence that says how."""
    computed, sentence = parts.attempt(lambda: _computed(values))
    away = {"found_hidden": computed is None, "growth_hidden": computed is None}
    if computed is None:
        return {**dict.fromkeys(TEXTS), **{cost: go.Figure() for cost in growth.COSTS}, **away, "wrong": sentence}
    case, graph, power = values["case"], prescription.graph_of(values), _power(values)
    given, found, lines = computed
    return {
        **away,
        "wrong": "",
        "answer": _prescribed(prescription.rows(graph, given, found)),
        "command": prescription.command(graph, given),
        "call": prescription.call(graph, given),
        "key": [_key(name) for name in (*rates(case), growth.THEOREM)],
        **{cost: growth.figure(cost, lines[cost], given["epsilon"], dark) for cost in lines},
        "note": growth.caution(lines, given),
        "exponents": [
            html.Div(parts.table(exponents.HEADS, exponents.rows(case)), className="theory-powers"),
            *map(parts.note, exponents.remarks(case, power)),
        ],
    }


def _computed(values: Mapping[str, Any]) -> tuple[dict[str, Any], DreamParameters, dict[str, growth.Lines]]:
    """What is given, what the theorem prescribes for it, and the lines of growth; or an error in one sentence."""
    try:
        given = prescription.given_of(values)
        return given, dream_parameters(**given), growth.lines(values["case"], given, _power(values))
    except ArithmeticError:
        raise ValueError("These numbers are too large or too small to compute the formulas with.") from None


def _power(values: Mapping[str, Any]) -> float:
    """The open power of kappa; an empty box is the default."""
    return POWER if values["power"] is None else float(values["power"])


def _prescribed(rows: list[tuple[str, str, str, float]]) -> list[Any]:
    """The theorem's constants and the price of the run that they set up, to the last digit in the tooltips."""
    cells = [
        [html.B(symbol), meaning, formula, html.Span(prescription.shown(value), title=repr(value))]
        for symbol, meaning, formula, value in rows
    ]
    return [
        html.Div(parts.table(("", "meaning", "Theorem 3.1", "value"), cells), className="theory-constants"),
        parts.note("c₁ = √14, c₂ = 1 − 1/√2, log is natural. SFO and rounds are expected values."),
    ]


def _switch(case: str) -> dcc.RadioItems:
    """Offline or online."""
    options = [{"value": value, "label": label} for value, label in CASES.items()]
    return dcc.RadioItems(options, case, id=state("case"), inline=True, className="theory-switch")


def _copyable(name: str) -> html.Div:
    """A line of code with a button that copies it."""
    code = html.Pre(id=f"theory-{name}")
    return html.Div([code, dcc.Clipboard(target_id=f"theory-{name}", title="copy")], className="theory-code")


def _key(name: str) -> html.Span:
    """A line's name beside a piece of it."""
    line = growth.style(name)
    dash = {"dash": "dashed", "dot": "dotted", "dashdot": "dashed", "longdash": "dashed"}.get(line["dash"], "solid")
    return html.Span([html.I(style={"borderTop": f"3px {dash} {line['color']}"}), name])
