"""The form for a new run. What it says is in the URL, so that it can be kept, sent and changed."""

from collections.abc import Mapping
from typing import Any

from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from raydream import specs
from raydream.dashboard.new.fields import (
    DATA,
    EXAMPLES,
    SYNTHETIC,
    backends,
    conditions,
    limits,
    links,
    method_fields,
    problem_fields,
    topology_fields,
)
from raydream.dashboard.new.forms import USUAL, new_run
from raydream.dashboard.parts import Query, address, card, choice, state, text, tick
from raydream.dashboard.watching.jobs import Jobs
from raydream.parameters import REQUIRED, Parameter
from raydream.problems.registry import takes_data
from raydream.steps import UNSETTLING, settled

TITLE = "New run"
EVERY = {"type": "state", "name": ALL}


def layout(query: Query, jobs: Jobs) -> Any:
    """The form, filled in as the URL says."""
    return [
        html.Div([html.H1("New run")], className="heading"),
        html.Div(
            [
                html.Div([_problem(query), _network(query)]),
                html.Div([_method(query), _how_long(query), _conditions(query)]),
                html.Div(_where(query), className="whole"),
            ],
            className="form",
        ),
        html.Div([html.Button("Start", id="new-start", className="button primary"),
                  html.P(id="new-message", className="message", role="alert")], className="actions"),
        dcc.Location(id="new-go", refresh="callback-nav"),
    ]  # fmt: skip


def _problem(query: Query) -> Any:
    problem = query.among("problem", specs.PROBLEMS, "robust-logistic")
    data = query.among("data", DATA, SYNTHETIC)
    first = [
        choice("problem", "problem", tuple(specs.PROBLEMS), problem),
        html.Div(choice("data", "data set", DATA, data), id="new-data", hidden=not takes_data(problem)),
        text("agents", "agents", query.one("agents", "8"), inputMode="numeric"),
    ]
    return card("Problem", _row(first), _more("new-problem", problem_fields(problem, data), "problem", query))


def _network(query: Query) -> Any:
    topology = query.among("topology", specs.TOPOLOGIES, "ring")
    first = choice("topology", "topology", tuple(specs.TOPOLOGIES), topology)
    return card("Network", _row([first]), _more("new-topology", topology_fields(topology), "topology", query))


def _conditions(query: Query) -> Any:
    controls = [
        text(f"condition.{name}", label, query.one(f"condition.{name}"), placeholder="none", list=f"examples-{name}")
        for name, label in conditions().items()
    ]
    offers = [html.Datalist([html.Option(value=one) for one in e], id=f"examples-{n}") for n, e in EXAMPLES.items()]
    return card("Conditions", _row(controls), *offers)


def _method(query: Query) -> Any:
    method = query.among("method", specs.METHODS, "dream")
    first = choice("method", "method", tuple(specs.METHODS), method)
    problem = query.among("problem", specs.PROBLEMS, "robust-logistic")
    made = _made({name: query.one(name) for name in ("data", *(f"problem.{one}" for one in UNSETTLING))})
    told = html.P(_origin(method, problem, made), id="new-origin", className="note")
    return card(
        "Method", _row([first]), _more("new-method", method_fields(method, problem, made), "method", query), told
    )


def _how_long(query: Query) -> Any:
    usual = {name: str(value) for name, value in USUAL.items()}
    names = {
        "iterations": "iterations",
        "record_every": "record every",
        "seed": "seed",
        "checkpoint_every": "checkpoint every",
        **limits(),
    }
    # Text, not numbers: what a browser finds to be no number would never be heard of.
    controls = [
        text(name, label, query.one(name, usual.get(name, "")), placeholder="" if name in usual else "none")
        for name, label in names.items()
    ]
    return card(
        "Run", _row([*controls, tick("diagnostics", "record the Lyapunov function", bool(query.one("diagnostics")))])
    )


def _where(query: Query) -> Any:
    return card(
        "Where",
        _row(
            [
                choice("backend", "backend", backends(), query.among("backend", backends(), "ray")),
                text("agents_per_actor", "agents per actor", query.one("agents_per_actor", "1")),
                choice("links", "links", links(), query.among("links", links(), "direct")),
                text("name", "name of the run", query.one("name"), placeholder="next free"),
            ]
        ),
    )


def _row(controls: list[Any]) -> Any:
    return html.Div(controls, className="controls")


def register(app: Dash, jobs: Jobs) -> None:
    """Fields follow what is chosen; Start starts."""

    @app.callback(
        Output("new-problem", "children"),
        Output("new-data", "hidden"),
        Input(state("problem"), "value"),
        Input(state("data"), "value"),
        State(EVERY, "value"),
        State(EVERY, "id"),
        prevent_initial_call=True,
    )
    def of_problem(problem: str, data: str, values: list[Any], ids: list[Any]) -> Any:
        return _inputs(problem_fields(problem, data), "problem", _said(values, ids)), not takes_data(problem)

    @app.callback(
        Output("new-topology", "children"),
        Input(state("topology"), "value"),
        State(EVERY, "value"),
        State(EVERY, "id"),
        prevent_initial_call=True,
    )
    def of_topology(topology: str, values: list[Any], ids: list[Any]) -> Any:
        return _inputs(topology_fields(topology), "topology", _said(values, ids))

    @app.callback(
        Output("new-method", "children"),
        Output("new-origin", "children"),
        Input(state("method"), "value"),
        Input(state("problem"), "value"),
        Input(state("data"), "value"),
        State(EVERY, "value"),
        State(EVERY, "id"),
        prevent_initial_call=True,
    )
    def of_method(method: str, problem: str, data: str, values: list[Any], ids: list[Any]) -> Any:
        said = _said(values, ids)
        made = _made({**said, "data": data})
        return _inputs(method_fields(method, problem, made), "method", said), _origin(method, problem, made)

    @app.callback(
        Output("new-go", "href"),
        Output("new-message", "children"),
        Input("new-start", "n_clicks"),
        State(EVERY, "value"),
        State(EVERY, "id"),
        prevent_initial_call=True,
    )
    def start(clicks: int | None, values: list[Any], ids: list[Any]) -> Any:
        if not clicks or ctx.triggered_id != "new-start":
            return no_update, no_update
        try:
            name = jobs.start(new_run(_said(values, ids)))
        except (ValueError, TypeError, OSError) as error:
            return no_update, str(error)
        return address("/run", run=name), ""


def _made(said: Mapping[str, Any]) -> dict[str, Any]:
    """What of a problem decides which steps are settled for it."""
    others = [f"{name}={value}" for name in UNSETTLING if (value := said.get(f"problem.{name}"))]
    return {"data": said.get("data") or SYNTHETIC, **specs.parse_parameters("problem", others)}


def _origin(method: str, problem: str, made: Mapping[str, Any]) -> str:
    """Where the values come from that an empty field stands for."""
    if settled(method, problem, made) is None:
        return "The steps in grey are a guess: none are settled for this problem."
    return "What stands in grey is settled for this problem and data."


def _more(place: str, fields: list[Parameter], part: str, query: Query) -> Any:
    said = {f"{part}.{field.name}": query.one(f"{part}.{field.name}") for field in fields}
    return html.Div(_inputs(fields, part, said), id=place, className="controls")


def _inputs(fields: list[Parameter], part: str, said: dict[str, Any]) -> list[Any]:
    """A control for each parameter; what was filled in stays, what is left empty is the default."""
    controls = []
    for field in fields:
        name, value = f"{part}.{field.name}", said.get(f"{part}.{field.name}") or ""
        if field.words:
            usual = str(field.default).lower()
            chosen = value if value in field.words else usual
            controls.append(choice(name, field.name, field.words, chosen, field.help))
        else:
            controls.append(text(name, field.name, str(value), field.help, placeholder=_when_empty(field)))
    return controls


def _when_empty(field: Parameter) -> str:
    """What is taken where nothing is filled in."""
    if field.default is REQUIRED:
        return "needed"
    return "by the rule" if field.default is None else str(field.default)


def _said(values: list[Any], ids: list[Any]) -> dict[str, Any]:
    return {one["name"]: value for one, value in zip(ids, values, strict=True)}
