"""What the theorem prescribes for given constants, and how the methods' costs grow by what their papers state."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, dataclass
from functools import lru_cache
from math import inf, log10
from typing import Any

import plotly.graph_objects as go
from dash import Dash, Input, Output, dcc, html

from raydream import complexities, specs
from raydream.algorithms.table import COLUMNS, table
from raydream.complexities import Order, Rate
from raydream.dashboard import parts
from raydream.dashboard.jobs import Jobs
from raydream.dashboard.parts import Query, state
from raydream.report import theme
from raydream.theory import DreamParameters, dream_parameters

TITLE = "Theory"

OWN = "own"
GRAPHS = {name: name for name in ("ring", "path", "grid", "torus", "star", "complete", "exponential")}
MOST_AGENTS = 1000  # of a graph whose spectrum is computed while somebody waits
POINTS = 49  # of a line
THEOREM = "DREAM, Theorem 3.1 with its constants"


@dataclass(frozen=True)
class Dial:
    """A number to type beside a logarithmic slider from `low` to `high`."""

    label: str
    value: float
    low: float
    high: float


DIALS = {
    "L": Dial("L, average smoothness", 10.0, 1e-2, 1e4),
    "mu": Dial("μ, strong concavity", 1.0, 1e-4, 1e2),
    "epsilon": Dial("ε, wanted ‖∇P‖", 0.1, 1e-4, 1.0),
    "psi0": Dial("Ψ₀, gap at the start", 1.0, 1e-3, 1e3),
    "m": Dial("m, agents", 8, 1, 1e3),
    "n": Dial("n, samples per agent", 1000, 1, 1e6),
    "sigma": Dial("σ, deviation of a gradient", 1.0, 1e-2, 1e3),
    "delta": Dial("δ, spectral gap", 0.1, 1e-5, 1.0),
}
SLIDER = "theory-slider-"
CONTROLS = ("case", *DIALS, "graph", "power")

# symbol, meaning, formula, name in DreamParameters; c1 and c2 are explained below the table
CONSTANTS = (
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
)
PRICES = (
    ("SFO", "calls of all agents, as this package bills them", "m (b′ + T (p b′ + 2 (1 − p) b q))", "sfo"),
    ("SFO", "as the paper counts: b per correction", "m (b′ + T (p b′ + (1 − p) b q))", "sfo_paper"),
    ("rounds", "as this package bills them", "K₀ + T (K + p K′ + (1 − p) K)", "rounds"),
    ("rounds", "as the paper counts: the tracker's only", "K₀ + T (p K′ + (1 − p) K)", "rounds_paper"),
)

# The slider holds the exponent and the box the number; whichever the reader moves takes the other along. The box is set
# by hand, not as an output: other pages have boxes of the same names, and no sliders beside them.
SYNCHRONISE = """
function (exponent, number) {
  const dial = DIAL, { no_update, set_props, callback_context } = window.dash_clientside;
  const short = Number((10 ** exponent).toPrecision(2)), there = dial.whole ? Math.round(short) : short;
  const moved = callback_context.triggered;
  if (moved.length !== 1 || number === there) return no_update;
  if (!moved[0].prop_id.startsWith(dial.slider)) {
    return number > 0 ? Math.min(Math.max(Math.log10(number), dial.low), dial.high) : no_update;
  }
  set_props({ type: "state", name: dial.name }, { value: there });
  return no_update;
}"""


def layout(query: Query, jobs: Jobs) -> Any:
    """The page, with every control as the URL says."""
    case = query.among("case", complexities.CASES, "offline")
    graph = query.among("graph", [*GRAPHS, OWN], "ring")
    power = query.number("power", 2.0, 0, 20)
    without = hidden(case, graph)
    dials = {
        name: _dial(name, query.number(name, dial.value, -1e18, 1e18), without.get(name, False))
        for name, dial in DIALS.items()
    }
    gap = parts.choice("graph", "network", {**GRAPHS, OWN: "a gap δ of one's own"}, graph)
    open_power = parts.number("power", "power of κ where the paper leaves it open", power, min=0, step="any")
    delta = dials.pop("delta")
    given = [_switch(case), *dials.values(), gap, delta]
    formulas = [html.Div(id="theory-answer"), _copyable("command"), _copyable("call")]
    found = [html.P(id="theory-wrong"), html.Div(formulas, id="theory-found")]
    columns = [
        parts.card("Given", html.Div(given, className="theory-given")),
        parts.card("What the theorem prescribes", *found),
    ]
    return html.Div(
        [
            html.Div(html.H1(TITLE), className="heading"),
            html.Div(columns, className="theory-columns"),
            parts.card(
                "How costs grow, as the papers state it",
                html.Div(id="theory-key"),
                html.Div([parts.graph("theory-sfo"), parts.graph("theory-rounds")], className="theory-pair"),
                html.P(id="theory-note", className="note"),
                html.Div(id="theory-exponents"),
                controls=[html.Div(open_power, id="theory-power", hidden=without["power"])],
                id="theory-growth",
            ),
        ]
    )


def register(app: Dash, jobs: Jobs) -> None:
    """The page's answers."""
    for name, dial in DIALS.items():
        slider = SLIDER + name
        known = {"name": name, "slider": slider, "low": log10(dial.low), "high": log10(dial.high)}
        script = SYNCHRONISE.replace("DIAL", json.dumps({**known, "whole": isinstance(dial.value, int)}))
        app.clientside_callback(  # type: ignore[no-untyped-call]
            script, Output(slider, "value"), Input(slider, "value"), Input(state(name), "value")
        )

    @app.callback(
        output={
            "power": Output("theory-power", "hidden"),
            **{name: Output(f"theory-dial-{name}", "hidden") for name in ("n", "sigma", "delta")},
        },
        inputs=[Input(state("case"), "value"), Input(state("graph"), "value")],
    )
    def hide(case: str, graph: str) -> dict[str, bool]:
        return hidden(case, graph)

    @app.callback(
        output={
            "wrong": Output("theory-wrong", "children"),
            "found_hidden": Output("theory-found", "hidden"),
            "growth_hidden": Output("theory-growth", "hidden"),
            "answer": Output("theory-answer", "children"),
            "command": Output("theory-command", "children"),
            "call": Output("theory-call", "children"),
            "key": Output("theory-key", "children"),
            "sfo": Output("theory-sfo", "figure"),
            "rounds": Output("theory-rounds", "figure"),
            "note": Output("theory-note", "children"),
            "exponents": Output("theory-exponents", "children"),
        },
        inputs={"values": {name: Input(state(name), "value") for name in CONTROLS}, "dark": Input("dark", "data")},
    )
    def answer(values: dict[str, Any], dark: bool | None) -> dict[str, Any]:
        return answers(values, bool(dark))


def hidden(case: str, graph: str) -> dict[str, bool]:
    """The controls that play no part in some cases, and whether this is one."""
    idle = {"n": case == "online", "sigma": case == "offline", "delta": graph != OWN}
    return {**idle, "power": not _open_powers(case)}


def answers(values: Mapping[str, Any], dark: bool = False) -> dict[str, Any]:
    """Everything that the controls' values decide; where they are wrong, the sentence that says how."""
    try:
        given = given_of(values)
        found = dream_parameters(**given)
        power = values["power"] if values["power"] is not None else 2.0
        lines = {cost: curves(cost, values["case"], given, power) for cost in ("sfo", "rounds")}
    except (TypeError, ValueError) as error:
        return _empty(str(error))
    except ArithmeticError:
        return _empty("These numbers are too large or too small to compute the formulas with.")
    rates = complexities.rates(values["case"])
    return {
        "wrong": None, "found_hidden": False, "growth_hidden": False,
        "answer": prescription(found, values, given["delta"]),
        "command": command(values, given), "call": call(values, given),
        "key": [_key(name, theme.line(name)) for name in rates] + [_key(THEOREM, _theorem_line())],
        **{cost: figure(cost, lines[cost], given["epsilon"], dark) for cost in lines},
        "note": caution(lines, given),
        "exponents": exponents(values["case"], power),
    }  # fmt: skip


def given_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `dream_parameters` that the controls stand for."""
    one = "n" if values["case"] == "offline" else "sigma"
    given = {name: values[name] for name in ("L", "mu", "epsilon", "psi0", "m", one)}
    graph = graph_of(values)
    return {**given, "delta": values["delta"] if graph == OWN else gap_of(graph, values["m"])}


def graph_of(values: Mapping[str, Any]) -> str:
    """The chosen graph; a single agent has nobody to have a gap with, and is a complete graph."""
    return "complete" if values["m"] == 1 else str(values["graph"])


@lru_cache(maxsize=1000)
def gap_of(graph: str, m: int) -> float:
    """The spectral gap of a graph of m agents."""
    if isinstance(m, int) and m > MOST_AGENTS:
        raise ValueError(
            f"`m` must be at most {MOST_AGENTS} to take the gap from a graph; got {m}. Give a gap instead."
        )
    return min(1.0, specs.build_topology(graph, m, {}).spectral_gap)


# ---------------------------------------------------------------- what the theorem prescribes


def prescription(found: DreamParameters, values: Mapping[str, Any], delta: float) -> list[Any]:
    """The theorem's constants, and the price of the run that they set up."""
    numbers = asdict(found)
    graph = graph_of(values)
    whence = "as given" if graph == OWN else f"1 − λ₂(W), {graph} of {values['m']}"
    rows = [("δ", "spectral gap of the network", whence, delta)]
    for symbol, meaning, formula, name in (*CONSTANTS, *PRICES):
        rows.append((symbol, meaning, formula if isinstance(formula, str) else formula[values["case"]], numbers[name]))
    cells = [[html.B(symbol), meaning, formula, _value(value)] for symbol, meaning, formula, value in rows]
    return [
        html.Div(parts.table(("", "meaning", "Theorem 3.1", "value"), cells), className="theory-constants"),
        parts.note("c₁ = √14, c₂ = 1 − 1/√2, log is natural. SFO and rounds are expected values."),
    ]


def command(values: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """What gives the same numbers on the command line."""
    options = {"epsilon": "epsilon", "L": "L", "mu": "mu", "psi0": "psi0", "n": "n", "sigma": "sigma", "m": "agents"}
    said = [f"--{option} {given[name]!r}" for name, option in options.items() if name in given]
    network, m = f"--topology {graph_of(values)}", given["m"]
    if graph_of(values) == OWN:  # a complete graph can have any gap
        network = f"--topology complete --topology-set self_weight={1 - given['delta'] * (m - 1) / m!r}"
    return " ".join(["raydream params", *said, network])


def call(values: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """What gives the same numbers in Python."""
    said = {name: repr(value) for name, value in given.items()}
    if graph_of(values) != OWN:
        said["delta"] = f"rd.topology.{graph_of(values)}({given['m']}).spectral_gap"
    arguments = ", ".join(f"{name}={value}" for name, value in said.items())
    return f"import raydream as rd\nrd.theory.dream_parameters({arguments})"


# ---------------------------------------------------------------- how costs grow


Line = tuple[list[float], list[float]]  # epsilons, and the costs there


def curves(cost: str, case: str, given: Mapping[str, Any], power: float) -> dict[str, Line]:
    """For every method that pays this cost, epsilon and the order of growth there; and the theorem's own numbers."""
    grid = _epsilons(given["epsilon"])
    _, kappa, m, N = _scale(given)
    lines = {}
    for name, rate in complexities.rates(case).items():
        order: Order = getattr(rate, cost)
        if order.terms:
            lines[name] = (grid, [order.at(kappa=kappa, epsilon=e, m=m, N=N, open_power=power) for e in grid])
    theorem = [dream_parameters(**{**given, "epsilon": e}) for e in grid]
    lines[THEOREM] = (grid, [getattr(found, cost) for found in theorem])
    if not all(0 < value < inf for _, y in lines.values() for value in y):
        raise ArithmeticError("a cost that no logarithmic axis can show")
    return lines


def figure(cost: str, lines: Mapping[str, Line], epsilon: float, dark: bool) -> Any:
    """Cost against epsilon on logarithmic axes, with a mark where the reader stands."""
    drawn = go.Figure()
    widths = _widths({name: y for name, (_, y) in lines.items()})
    for name, (x, y) in lines.items():
        style = _theorem_line() if name == THEOREM else theme.line(name)
        drawn.add_scatter(
            x=x, y=y, mode="lines", name=name, line={**style, "width": widths[name]},
            hovertemplate=f"{name}: %{{y:.2e}}<extra></extra>",
        )  # fmt: skip
    drawn.add_shape(x0=epsilon, x1=epsilon, y0=0, y1=1, yref="paper", line={"color": theme.NEUTRAL, "width": 1})
    drawn.add_annotation(
        x=log10(epsilon), y=0, yref="paper", yanchor="bottom", xanchor="left" if epsilon < 0.01 else "right",
        text=f"ε = {epsilon:.3g}", showarrow=False, font={"color": theme.NEUTRAL},
    )  # fmt: skip
    powers = {"type": "log", "exponentformat": "power"}
    x_axis = {"title": {"text": DIALS["epsilon"].label}, "dtick": 1, "unifiedhovertitle": {"text": "ε = %{x:.3g}"}}
    y_axis = {"title": {"text": theme.axis_name(cost)}, "dtick": _decades(lines)}
    return theme.finished(
        drawn, dark, showlegend=False, hovermode="x unified", xaxis={**powers, **x_axis}, yaxis={**powers, **y_axis}
    )


def caution(lines: Mapping[str, Mapping[str, Line]], given: Mapping[str, Any]) -> str:
    """How to read the figures, and how large the theorem's constants are."""
    epsilon, kappa, m, N = _scale(given)
    samples = "" if inf == N else f", m = {m:,}, N = m n = {N:,}"
    at = _epsilons(epsilon).index(epsilon)
    sfo, rounds = (shown(of[THEOREM][1][at] / of["dream"][1][at]) for of in lines.values())
    return (
        f"Orders of growth at κ = {kappa:.4g}{samples}, without constants and logarithms, nor L, σ, Ψ₀ and δ: compare "
        "slopes, and how lines move with the sliders, not heights. Lines that coincide are drawn inside one another. "
        f"At ε = {epsilon:.3g} the theorem's own numbers, with all of these, are {sfo} (SFO) and {rounds} (rounds) "
        "times DREAM's orders of growth."
    )


def exponents(case: str, power: float) -> list[Any]:
    """The powers of kappa, 1/epsilon, N and m in what each paper states."""
    rates = complexities.rates(case)
    facts = {row.name: row for row in table()}
    heads = ("method", COLUMNS["total_sfo"], "κ", "1/ε", "N", "m", COLUMNS["total_rounds"], "κ", "1/ε",
             "constraint in theory", "reference")  # fmt: skip
    rows = []
    for name, rate in rates.items():
        sfo, rounds = (_powers(order) for order in (rate.sfo, rate.rounds))
        rows.append([name, rate.sfo.formula, *sfo, rate.rounds.formula, *rounds[:2], facts[name].covered,
                     facts[name].reference])  # fmt: skip
    return [
        html.Div(parts.table(heads, rows), className="theory-powers"),
        *(parts.note(sentence) for sentence in _remarks(case, rates, power)),
    ]


def _remarks(case: str, rates: Mapping[str, Rate], power: float) -> Iterable[str]:
    """What the table of exponents does not show."""
    yield "Exponents of the term that leads as ε → 0, m with N held fixed."
    if _open_powers(case):
        yield f"The powers p and q are not given in the papers; the figures draw both as {power:g}."
    if silent := [name for name, rate in rates.items() if rate.sfo.epsilon_alone]:
        yield f"Of {', '.join(silent)} the power of ε alone is stated; the figures draw no other, whatever they are."
    absent: dict[str, list[str]] = {}
    for row in table():
        if why := complexities.why_none(row.name, case):
            absent.setdefault(why, []).append(row.name)
    yield "Not shown: " + "; ".join(f"{', '.join(names)} ({why})" for why, names in absent.items()) + "."


def _powers(order: Order) -> list[str]:
    """The exponents of kappa, 1/epsilon, N and m, as the table shows them."""
    if not order.terms:
        return ["–"] * 4
    kappa, epsilon, N, m = (_fraction(power) for power in astuple(order.leading))
    return ["not stated", epsilon, "not stated", "not stated"] if order.epsilon_alone else [kappa, epsilon, N, m]


def _open_powers(case: str) -> bool:
    """Whether a paper writes a letter for the power of kappa."""
    return any(isinstance(rate.sfo.leading.kappa, str) for rate in complexities.rates(case).values())


def _fraction(power: float | str) -> str:
    return power if isinstance(power, str) else {0.5: "½"}.get(power, f"{power:g}")


def _scale(given: Mapping[str, Any]) -> tuple[float, float, int, float]:
    """epsilon, kappa, m and N, which is infinite online."""
    return given["epsilon"], given["L"] / given["mu"], given["m"], given["m"] * given.get("n", inf)


def _epsilons(epsilon: float) -> list[float]:
    """Evenly spread over the slider's range in logarithms, and the chosen one itself."""
    dial = DIALS["epsilon"]
    low, high = log10(min(dial.low, epsilon)), log10(max(dial.high, epsilon))
    return sorted({epsilon, *(10 ** (low + (high - low) * k / (POINTS - 1)) for k in range(POINTS))})


def _widths(lines: Mapping[str, list[float]]) -> dict[str, float]:
    """Lines that coincide lie inside one another: the first is the widest."""
    same: dict[tuple[str, ...], list[str]] = {}
    for name, y in lines.items():
        same.setdefault(tuple(f"{value:.9g}" for value in y), []).append(name)
    return {name: 2 + 3 * (len(names) - 1 - k) for names in same.values() for k, name in enumerate(names)}


def _decades(lines: Mapping[str, Line]) -> int:
    """Powers of ten between two ticks, for about seven ticks."""
    values = [value for _, y in lines.values() for value in y]
    return max(1, round((log10(max(values)) - log10(min(values))) / 7))


def _theorem_line() -> dict[str, Any]:
    return {**theme.line("dream"), "dash": "dot"}


# ---------------------------------------------------------------- pieces of the page


def shown(value: float) -> str:
    """A number as people read it: whole ones with their digits grouped, others with four digits."""
    if isinstance(value, int) and value < 1e12:
        return f"{value:,}"
    digits, _, exponent = f"{value:.4g}".partition("e")
    return f"{digits} × 10{str(int(exponent)).translate(_RAISED)}" if exponent else digits


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _value(value: float) -> html.Span:
    return html.Span(shown(value), title=repr(value))


def _dial(name: str, value: Any, idle: bool) -> html.Div:
    dial = DIALS[name]
    low, high = log10(dial.low), log10(dial.high)
    at = min(max(log10(value), low), high) if value > 0 else low
    slider = dcc.Slider(
        min=low, max=high, step=0.05, value=at, id=SLIDER + name, marks=None, included=False, updatemode="drag",
        allow_direct_input=False,
    )  # fmt: skip
    box = parts.number(name, dial.label, value, step="any")
    return html.Div([box, slider], id=f"theory-dial-{name}", className="theory-dial", hidden=idle)


def _switch(case: str) -> dcc.RadioItems:
    labels = {"offline": "offline (n samples)", "online": "online (σ)"}
    options = [{"value": value, "label": label} for value, label in labels.items()]
    return dcc.RadioItems(options, case, id=state("case"), inline=True, className="theory-switch")


def _copyable(name: str) -> html.Div:
    """A line of code with a button that copies it."""
    code = html.Pre(id=f"theory-{name}")
    return html.Div([code, dcc.Clipboard(target_id=f"theory-{name}", title="copy")], className="theory-code")


def _key(name: str, line: Mapping[str, Any]) -> html.Span:
    """A line's name beside a piece of it."""
    dash = {"dash": "dashed", "dot": "dotted", "dashdot": "dashed", "longdash": "dashed"}.get(line["dash"], "solid")
    return html.Span([html.I(style={"borderTop": f"3px {dash} {line['color']}"}), name])


def _empty(sentence: str) -> dict[str, Any]:
    """A sentence in the place of the answers."""
    blank = dict.fromkeys(("answer", "command", "call", "key", "note", "exponents"))
    hidden = {"found_hidden": True, "growth_hidden": True}
    return {"wrong": sentence, **hidden, **blank, "sfo": go.Figure(), "rounds": go.Figure()}
