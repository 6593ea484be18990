"""In a notebook: things show themselves without loading or running anything, and progress is one line that changes."""

import sys
import types
from html.parser import HTMLParser

import pytest

import raydream as rd
from raydream.feedback import Screen, shown
from raydream.notebook import card, curves, in_kernel
from raydream.running.progress import Iterations, Progress

EVIL = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'
GAME, RING = rd.problems.QuadraticGame.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=1), rd.topology.ring(4)


class Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_data(self, data):
        self.text += data


def check_harmless(html):
    """Nothing that runs, nothing that loads."""
    found = Elements(html)
    assert not {*found.tags} & {"script", "img", "iframe", "link", "style", "object", "image", "use", "a"}
    assert not [name for name, _ in found.attributes if name.startswith("on") or name in ("href", "src", "xlink:href")]
    assert "url(" not in html
    return found


@pytest.fixture(scope="module")
def comparison():
    methods = {"dream": rd.DREAM(eta=0.1, gamma=0.3, b=2), "gt-gda": rd.GTGDA(eta=0.1, gamma=0.3)}
    return rd.compare(GAME, RING, methods, seeds=(0, 1), iterations=20, backend="local", parallel=False)


def test_everything_shows_itself(comparison):
    """Facts in words, a curve where there is one."""
    result = comparison.results["dream", 0]
    space = {"eta": (0.1,), "gamma": (0.3,)}
    tuning = rd.tune(GAME, RING, ["gt-gda"], budget=1000, space=space, search="grid", workers=1)
    seen = [
        (result, ("dream", "completed after 20 iterations", "QuadraticGame, 4 agents")),
        (comparison, ("dream, gt-gda", "has the best median")),
        (tuning, ("gt-gda", "grid search")),
        (GAME, ("QuadraticGame", "6 samples each", "y in 3 dimensions")),
        (RING, ("ring", "λ₂")),
        (rd.DREAM(eta=0.1, gamma=0.3), ("DREAM", "eta", "AISTATS 2024", "ε⁻²")),
    ]  # fmt: skip
    for thing, words in seen:
        found = check_harmless(thing._repr_html_())
        assert all(word in found.text for word in words), found.text
    assert result._repr_html_().count("<polyline") == 1 and comparison._repr_html_().count("<polyline") == 2
    assert RING._repr_html_().count("<circle") == 4
    assert "<svg" not in rd.topology.ring(200)._repr_html_()


def test_what_users_say_stays_text():
    """Titles, facts, labels and names of axes."""
    for html in (card(EVIL, {EVIL: EVIL}), curves([(EVIL, [1, 2], [1, 2]), (EVIL, [1, 2], [2, 3])], EVIL)):
        check_harmless(html)
    assert curves([("a", [1, 2], [float("nan"), 1])]) == "" and curves([("a", [1, 2], [0, -1])], "", True) == ""


def test_a_problem_says_what_it_is():
    """In a line: agents, samples, dimensions, constraint; unequal and online ones too."""
    assert repr(GAME) == "<QuadraticGame: 4 agents, 6 samples each; x in 2 and y in 3 dimensions; y in Everything()>"
    online = rd.problems.OnlineQuadraticGame.random(agents=2, dim_x=2, dim_y=2)
    assert "drawn online" in repr(online)


def test_charts_by_their_names(comparison):
    """As the methods of `plot`."""
    assert comparison.plot("ledger").to_json() == comparison.plot.ledger().to_json()
    assert comparison.plot("standing", metric="primal").data
    with pytest.raises(ValueError, match="`chart` must be one of"):
        comparison.plot("pie")


class Shell:
    kernel = object()


@pytest.fixture
def kernel(monkeypatch):
    """A process whose host is a kernel; what is displayed, place by place."""
    places = []

    class Handle:
        def __init__(self, data):
            places.append([data["text/plain"]])
            self.own = places[-1]

        def update(self, data, raw):
            self.own.append(data["text/plain"])

    ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = Shell
    display.display = lambda data, raw, display_id: Handle(data)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return places


def test_progress_is_one_line_that_changes(kernel, capsys):
    """By itself, without asking, and no flood of lines; none where it is not wanted."""
    assert in_kernel()
    with Iterations("DREAM", 1000, None) as bar:
        for _ in range(1000):
            bar.update(1)
    with Progress("compare", 3, None) as runs:
        for _ in range(3):
            runs.step("dream")
    assert len(kernel) == 2 and kernel[0][-1].startswith("DREAM 1000/1000") and len(kernel[0]) < 200
    assert kernel[1][-1].startswith("compare 3/3") and capsys.readouterr().err == ""
    with Iterations("DREAM", 10, False) as bar:
        bar.update(10)
    assert len(kernel) == 2


def test_phases_are_told_in_one_place(kernel):
    """And are gone at the end."""
    screen = Screen(after=0.0)
    screen("reading")
    screen._waiting.join()
    screen("starting")
    screen._waiting.join()
    screen("")
    assert kernel == [["reading ...", "starting ...", ""]]
    with shown(None):
        pass


def test_elsewhere_nothing_changes(monkeypatch):
    """IPython on a terminal is no kernel, and without IPython there is none."""
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert not in_kernel()
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert not in_kernel()
