"""The dashboard's theory page: the theorem's own numbers, reproducible from a link and from the command line."""

import shlex
from dataclasses import asdict

import pytest
from typer.testing import CliRunner

pytest.importorskip("dash")

from dash import html

from raydream.algorithms.table import rates
from raydream.cli.app import app as command_line
from raydream.cli.tables import cell
from raydream.dashboard.parts import Query
from raydream.dashboard.theory import page as theory
from raydream.dashboard.theory.growth import THEOREM
from raydream.dashboard.theory.prescription import QUANTITIES, given_of, shown
from raydream.dashboard.theory.sliders import DIALS, SLIDER
from raydream.theory import CASES as SETTINGS
from raydream.theory import dream_parameters
from raydream.topology import ring

DEFAULTS = {"case": "offline", "graph": "ring", "power": 2.0} | {n: d.value for n, d in DIALS.items()}
CASES = {
    "offline": DEFAULTS,
    "online": {**DEFAULTS, "case": "online", "epsilon": 0.03, "sigma": 2.5, "m": 16, "graph": "torus"},
    "own gap": {**DEFAULTS, "graph": "own", "delta": 0.037, "m": 12, "mu": 0.5},
    "one agent": {**DEFAULTS, "graph": "own", "delta": 0.037, "m": 1},
}


def parts_of(component):
    """A component and everything inside it."""
    yield component
    children = getattr(component, "children", None)
    for child in component if isinstance(component, list) else children if isinstance(children, list) else [children]:
        if child is not None:
            yield from parts_of(child)


def named(component, name):
    return next(part for part in parts_of(component) if getattr(part, "id", None) == name)


def words(component):
    return [part for part in parts_of(component) if isinstance(part, str)]


def controls(search):
    page = theory.layout(Query(search), None)
    return {part.id["name"]: part.value for part in parts_of(page) if isinstance(getattr(part, "id", None), dict)}


def test_the_layout_has_every_control_at_its_default():
    """A plain address shows the example of `raydream params --help`."""
    assert controls("") == DEFAULTS


def test_a_link_restores_every_control():
    """The address alone rebuilds the page."""
    said = {"case": "online", "graph": "own", "power": 3.5, "L": 20.0, "mu": 0.25, "epsilon": 0.0123, "psi0": 7.0,
            "m": 31, "n": 512, "sigma": 4.0, "delta": 0.02}  # fmt: skip
    assert controls("?" + "&".join(f"{name}={value}" for name, value in said.items())) == said


@pytest.mark.parametrize("search", ["?m=many&epsilon=", "?m=inf&L=nan&n=1e400", "?case=neither&graph=knot&power=-3"])
def test_an_address_of_nonsense_shows_the_defaults(search):
    """Nobody's old link breaks the page."""
    assert controls(search) == DEFAULTS


def test_sliders_stand_where_the_numbers_are():
    """A slider shows the logarithm, at its end where the number lies beyond."""
    page = theory.layout(Query("?epsilon=0.01&L=1e9&mu=-1"), None)
    places = {name: named(page, SLIDER + name).value for name in ("epsilon", "L", "mu")}
    assert places == {"epsilon": -2, "L": 4, "mu": -4}


def test_controls_that_play_no_part_are_hidden():
    """n belongs to the offline case and sigma to the online one; the gap's slider is free where no graph gives it."""
    offline, online = theory.hidden("offline", "ring"), theory.hidden("online", "own")
    assert offline == {"n": False, "sigma": True, "delta": True, "power": False}
    assert online == {"n": True, "sigma": False, "delta": False, "power": True}
    page = theory.layout(Query("?case=online"), None)
    assert named(page, "theory-dial-n").hidden and not named(page, "theory-dial-sigma").hidden


def test_the_table_shows_the_theorem_s_own_numbers():
    """Every constant and price of dream_parameters is in the table, to the last digit in its tooltip."""
    found = dream_parameters(L=10.0, mu=1.0, epsilon=0.1, m=8, delta=ring(8).spectral_gap, psi0=1.0, n=1000)
    table = theory.answers(DEFAULTS)["answer"]
    exact = [part.title for part in parts_of(table) if isinstance(part, html.Span)]
    assert exact == [repr(ring(8).spectral_gap)] + [repr(asdict(found)[name]) for *_, name in QUANTITIES]
    assert {name for *_, name in QUANTITIES} == set(asdict(found))
    assert {"88,473,600,181", "0.002083", "8.681 × 10⁻⁶", "1,000"} <= set(words(table))


def test_numbers_are_shown_as_people_read_them():
    """Whole numbers keep their digits, others have four."""
    assert [shown(value) for value in (1234567, 0.25, 1.5e-7, 2.348e13, 10**15)] == [
        "1,234,567", "0.25", "1.5 × 10⁻⁷", "2.348 × 10¹³", "1 × 10¹⁵",
    ]  # fmt: skip


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_the_shown_command_gives_the_same_numbers(values):
    """What the page tells to type prints what the page shows."""
    said = shlex.split(theory.answers(values)["command"])
    assert said[0] == "raydream"
    done = CliRunner().invoke(command_line, said[1:])
    assert done.exit_code == 0, done.output
    printed = dict(line.split() for line in done.output.splitlines() if len(line.split()) == 2)
    found = asdict(dream_parameters(**given_of(values)))
    assert {name: printed[name] for name in found} == {name: cell(value) for name, value in found.items()}


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_the_shown_call_gives_the_same_numbers(values):
    """So does the line of Python."""
    first, second = theory.answers(values)["call"].splitlines()
    names = {}
    exec(first, names)
    assert eval(second, names) == dream_parameters(**given_of(values))


WRONG = {
    "mu above L": ({"mu": 370.0}, "`mu` must not exceed `L`; got mu=370 and L=10."),
    "an empty box": ({"L": None}, "`L` must be a number; got None."),
    "no agents": ({"m": 0}, "`m` must be at least 1; got 0."),
    "half an agent": ({"m": 2.5}, "`m` must be a whole number; got 2.5."),
    "a negative epsilon": ({"epsilon": -1}, "`epsilon` must be positive; got -1."),
    "a gap above 1": ({"graph": "own", "delta": 2}, "`delta` must be in (0, 1]; got 2.0."),
    "too many agents": ({"m": 5000}, "`m` must be at most 1000 to take the gap from a graph; got 5000. Give a gap "
                        "instead."),
    "too small": ({"epsilon": 1e-200}, "These numbers are too large or too small to compute the formulas with."),
    "too large": ({"power": 1e6}, "These numbers are too large or too small to compute the formulas with."),
}  # fmt: skip


@pytest.mark.parametrize(("change", "sentence"), WRONG.values(), ids=WRONG)
def test_wrong_numbers_get_a_sentence_in_the_place_of_the_tables(change, sentence):
    """Nothing is raised, and nothing stale stays on the page."""
    said = theory.answers({**DEFAULTS, **change})
    assert said["wrong"] == sentence
    assert said["found_hidden"] and said["growth_hidden"]
    assert said["answer"] is None and said["exponents"] is None


@pytest.mark.parametrize("case", SETTINGS)
@pytest.mark.parametrize("cost", ["sfo", "rounds"])
def test_the_figure_draws_every_rate_and_the_theorem(case, cost):
    """One line per method that pays, at the values of its order, and the theorem with its constants above DREAM's."""
    values = {**DEFAULTS, "case": case, "epsilon": 0.0123}
    lines = {trace.name: trace for trace in theory.answers(values)[cost].data}
    paying = {name for name, rate in rates(case).items() if getattr(rate, cost).terms}
    assert set(lines) == paying | {THEOREM}
    at = list(lines["dream"].x).index(0.0123)
    for name in paying:
        order = getattr(rates(case)[name], cost)
        N = 8000 if case == "offline" else float("inf")
        assert lines[name].y[at] == pytest.approx(order.at(kappa=10, epsilon=0.0123, m=8, N=N))
    found = dream_parameters(**given_of(values))
    assert lines[THEOREM].y[at] == getattr(found, cost)
    assert lines[THEOREM].line.dash == "dot" and lines[THEOREM].y[at] > lines["dream"].y[at]


def test_lines_that_coincide_are_all_to_be_seen():
    """The rounds of all offline methods are the same at power 2: each is narrower than the one below it."""
    drawn = [trace for trace in theory.answers(DEFAULTS)["rounds"].data if trace.name != THEOREM]
    assert len({tuple(round(y, 3) for y in trace.y) for trace in drawn}) == 1
    widths = [trace.line.width for trace in drawn]
    assert widths == sorted(set(widths), reverse=True)
    apart = {trace.name: trace.line.width for trace in theory.answers({**DEFAULTS, "power": 3.0})["rounds"].data}
    assert (apart["dream"], apart["vrlm"]) == (5, 2)  # the two that do not leave it open


def test_the_open_power_moves_only_the_lines_that_leave_it_open():
    """GT-SRVR's line rises with the control; DREAM's stays."""
    two, three = ({t.name: t.y for t in theory.answers({**DEFAULTS, "power": p})["sfo"].data} for p in (2.0, 3.0))
    moved = {name for name in two if list(two[name]) != list(three[name])}
    assert moved == {"gt-da", "gt-gda", "gt-srvr"}


def test_the_exponents_are_beside_the_table_s_formulas():
    """Formulas as in the table of methods, exponents of the leading term, and what theory covers."""
    offline, online = (words(theory.answers({**DEFAULTS, "case": case})["exponents"]) for case in SETTINGS)
    start = offline.index("gt-srvr")
    assert offline[start : start + 10] == [
        "gt-srvr", "O(N + √(mN) κ^p ε⁻²)", "p", "2", "½", "½", "O(κ^q ε⁻²)", "q", "2", "no",
    ]  # fmt: skip
    start = online.index("dgda-vr")
    assert online[start + 2 : start + 6] == ["not stated", "3", "not stated", "not stated"]
    assert all("dgda, dposg (stalls where agents differ)" in said[-1] for said in (offline, online))
    assert any("draw both as 2" in sentence for sentence in offline)


def test_light_and_dark_differ_in_the_background_alone():
    """The lines keep their colours."""
    light, dark = (theory.answers(DEFAULTS, dark)["sfo"] for dark in (False, True))
    assert [trace.line.color for trace in light.data] == [trace.line.color for trace in dark.data]
    assert light.layout.paper_bgcolor != dark.layout.paper_bgcolor
