"""What every page is made of: controls whose values live in the URL, cards, tiles, tables and graphs."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

from dash import ClientsideFunction, Dash, dcc, html
from dash.development.base_component import Component

# Of plotly's buttons those that send nothing away, as in the report.
BUTTONS = [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "autoScale2d"]]
NUMBER = re.compile(r"[-+]?[\d,]*\.?\d*(e[-+]?\d+)?[kMGT]?|nan|inf")
CONFIG: Any = {
    "displaylogo": False,
    "showTips": False,
    "responsive": True,
    "modeBarButtons": BUTTONS,
    "plotlyServerURL": "",
}
STILL: Any = {**CONFIG, "displayModeBar": False, "staticPlot": False}
Made = TypeVar("Made")


class Query:
    """What the URL says after the question mark."""

    def __init__(self, search: str | None) -> None:
        self._pairs = parse_qsl((search or "").removeprefix("?"))

    def many(self, name: str) -> list[str]:
        """Every value of a name."""
        return [value for key, value in self._pairs if key == name]

    def one(self, name: str, default: str = "") -> str:
        """The last value of a name."""
        return next(iter(self.many(name)[::-1]), default)

    def among(self, name: str, known: Iterable[str], default: str) -> str:
        """A value that is one of those known, else the default: nobody's old link breaks a page."""
        value = self.one(name, default)
        return value if value in known else default

    def number(self, name: str, default: Any, low: float = float("-inf"), high: float = float("inf")) -> Any:
        """A number in a range, as whole as the default, else the default."""
        try:
            value = float(self.one(name))
        except ValueError:
            return default
        if not (math.isfinite(value) and low <= value <= high):
            return default
        return int(value) if isinstance(default, int) else value

    def numbers(self, defaults: Mapping[str, Any], most: float) -> dict[str, Any]:
        """For each name its number, of a size up to `most`, else its default."""
        return {name: self.number(name, default, -most, most) for name, default in defaults.items()}


def state(name: str) -> dict[str, str]:
    """The id of a control whose value is kept in the URL under this name."""
    return {"type": "state", "name": name}


def choice(name: str, label: str, options: Mapping[str, str] | Iterable[str], value: str, hint: str = "") -> html.Label:
    """One of several, chosen from a list: values, or values with what to show for them."""
    shown = options if isinstance(options, Mapping) else {one: one for one in options}
    listed = [{"value": key, "label": text} for key, text in shown.items()]
    control = dcc.Dropdown(
        listed, value, id=state(name), clearable=False, searchable=len(listed) > 12, optionHeight="auto"
    )
    return labelled(label, control, "choice", hint)


def number(name: str, label: str, value: Any, **more: Any) -> html.Label:
    """A number to type, heard when it is complete."""
    return labelled(label, dcc.Input(value=value, type="number", id=state(name), debounce=True, **more), "number")


def text(name: str, label: str, value: str = "", hint: str = "", **more: Any) -> html.Label:
    """A few words to type."""
    return labelled(label, dcc.Input(value=value, type="text", id=state(name), debounce=True, **more), "text", hint)


def tick(name: str, label: str, on: bool) -> dcc.Checklist:
    """Yes or no: the value is ["1"] or []."""
    return dcc.Checklist([{"value": "1", "label": label}], ["1"] if on else [], id=state(name), className="tick")


def labelled(label: str, control: Any, kind: str = "", hint: str = "") -> html.Label:
    """A control under its name, with a hint for those who rest the mouse on it."""
    return html.Label([html.Span(label), control], className=f"control {kind}".strip(), title=hint)


def graph(name: str, size: str = "") -> html.Div:
    """A place for a figure; `size` is "", "tall" or "small"."""
    return html.Div(dcc.Graph(id=name, config=CONFIG, className="fill"), className=f"plot {size}".strip())


def drawing(figure: Any) -> html.Div:
    """A figure that is there from the beginning."""
    return html.Div(dcc.Graph(figure=figure, config=CONFIG, className="fill"), className="plot")


def captioned(caption: str, *drawn: Any) -> html.Figure:
    """A figure's place above what it is."""
    return html.Figure([*drawn, html.Figcaption(caption)])


def card(title: Any, *body: Any, controls: Iterable[Any] = (), **more: Any) -> html.Section:
    """A section with a title, and controls beside it."""
    return html.Section([html.Div([html.H2(title), *controls], className="bar"), *body], **more)


def tiles(facts: Mapping[str, str]) -> html.Dl:
    """Facts at a glance."""
    return html.Dl([html.Div([html.Dt(k), html.Dd(v, title=v)], className="tile") for k, v in facts.items()],
                   className="tiles")  # fmt: skip


def table(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> html.Div:
    """A table that scrolls by itself where it is too wide; what is not a component is shown as text."""
    cells = [[one if isinstance(one, Component) else "" if one is None else str(one) for one in row] for row in rows]
    kinds = ["" if all(_is_number(row[place]) for row in cells) else "words" for place, _ in enumerate(columns)]
    head = html.Tr([html.Th(column, scope="col", className=kind) for column, kind in zip(columns, kinds, strict=True)])
    body = [html.Tr([html.Td(one, className=kind) for one, kind in zip(row, kinds, strict=True)]) for row in cells]
    return html.Div(html.Table([html.Thead(head), html.Tbody(body)]), className="scroll")


def _is_number(cell: Any) -> bool:
    return isinstance(cell, str) and NUMBER.fullmatch(cell) is not None


def note(sentence: str) -> html.P:
    """A remark in small print."""
    return html.P(sentence, className="note")


def wrong(sentence: str = "", **more: Any) -> html.P:
    """In the place of what cannot be shown: why. Without a sentence, room for one."""
    return html.P(sentence, className="wrong", role="alert", **more)


def attempt(make: Callable[[], Made]) -> tuple[Made | None, str]:
    """What `make` makes; where its arguments are wrong None, and the sentence that says how."""
    try:
        return make(), ""
    except (ValueError, TypeError) as error:
        return None, str(error)


def in_the_browser(app: Dash, function: str, *dependencies: Any, **more: Any) -> None:
    """A callback that a function of the pages' *.js answers, without asking the server."""
    answering = ClientsideFunction("raydream", function)
    app.clientside_callback(answering, *dependencies, **more)  # type: ignore[no-untyped-call]


def address(path: str, **values: str | list[str]) -> str:
    """A link within the dashboard."""
    said = urlencode(values, doseq=True)
    return f"{path}?{said}" if said else path


def bar(share: float) -> html.Span:
    """How much is done."""
    done = f"{100 * share:.1f}%"
    return html.Span(html.Span(style={"width": done}), className="progress", title=done)
