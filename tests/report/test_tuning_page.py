"""The page of a tuning: what was tried, what won and what it cost, as figures, words and a page that harms nobody."""

import base64
import json
import math
import shlex
import shutil
import zlib
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from browsing import Browser, chromium
from typer.testing import CliRunner

import raydream as rd
from raydream.algorithms.facts import Range
from raydream.cli import app as cli
from raydream.columns import COLUMNS
from raydream.problems import QuadraticGame
from raydream.report import report, theme
from raydream.report.page.shell import joined
from raydream.report.tuning import figures, words
from raydream.report.tuning.page import PROGRAM, page, write_tuning
from raydream.report.tuning.scales import scale_of, scores_of
from raydream.report.tuning.tried import tried
from raydream.report.tuning.won import won

HOSTILE = "<!--<script </script x><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
OLD = Path(__file__).parents[1] / "golden" / "v0.1.0" / "tune"
RING = rd.topology.ring(4)
SPACE = {"eta": Range(0.01, 3.0), "gamma": Range(0.03, 30.0), "K": (1, 2, 3), "b_large": (None, 4), "b": (2,)}
STEPS = {"eta": (0.01, 0.1, 1.0, 1e9), "gamma": (0.3, 1.0)}
SEARCHES = {
    "grid": {"search": "grid", "space": STEPS, "seeds": (0, 1, 2)},
    "random": {"search": "random", "space": {"dream": SPACE, "gt-gda": STEPS}, "trials": 9, "widen": 0},
    "halving": {"search": "halving", "space": {"dream": SPACE, "gt-gda": STEPS}, "trials": 9, "widen": 1},
    "tpe": {"search": "tpe", "space": {"dream": SPACE, "gt-gda": STEPS}, "trials": 6, "widen": 0},
}
tune = partial(
    rd.tune, QuadraticGame.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=1), RING, budget=2000, workers=1
)


@pytest.fixture(scope="module")
def tunings():
    """One by each search."""
    pytest.importorskip("optuna", reason="no optuna found: install the extra tpe")
    return {name: tune(["dream", "gt-gda"], **about) for name, about in SEARCHES.items()}


@pytest.fixture(params=SEARCHES)
def tuning(request, tunings):
    return tunings[request.param]


class Elements(HTMLParser):
    """Every element with its attributes, and the text of the table's cells."""

    def __init__(self, text):
        super().__init__()
        self.found, self.cells, self._cell = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag == "td":
            self.cells.append("")
        self._cell = tag == "td"

    def handle_endtag(self, tag):
        self._cell = self._cell and tag != "td"

    def handle_data(self, text):
        if self._cell:
            self.cells[-1] += text


def drawn(text):
    """What the page's program unpacks."""
    packed = text.split('id="data">')[1].split("</script>")[0]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def points(figure, symbol=None):
    """The marks of a figure, all or those of one kind."""
    traces = [one for one in figure.data if one.mode == "markers" and symbol in (None, one.marker.symbol)]
    return [(x, y, text) for one in traces for x, y, text in zip(one.x, one.y, one.text, strict=True)]


# ---------------------------------------------------------------- what is drawn


def test_every_configuration_is_a_mark_with_its_score(tuning):
    """The median over seeds, at its rung: what the winners are judged by; where there is none, a mark at the edge."""
    for label in tuning.about["methods"]:
        own = [record for record in tuning.records if record["method"] == label]
        known, wanted = tried(tuning, label), {}
        for record in own:
            key = json.dumps(record["parameters"]), record["budget"]
            wanted.setdefault(key, []).append(math.inf if record["primal"] is None else record["primal"])
        found = {(json.dumps(one.parameters), one.standing.records[0]["budget"]): one.score for one in known.marks}
        assert found == {key: pytest.approx(np.median(scores)) for key, scores in wanted.items()}
        for name in known.varied:
            # the best is drawn once more, as a star
            assert len(points(figures.panel(known, name))) == len(known.marks) + 1
        assert known.best.score == tuning.winners[label]["score"] and known.best.rung == known.rungs - 1


def test_what_diverged_and_what_is_worse_than_the_start_stand_at_the_edge(tunings):
    """Beyond every score that is better than the start; nothing else stands there."""
    known = tried(tunings["grid"], "gt-gda")
    scores, figure = scores_of(known), figures.panel(known, "eta")
    lost = [one for one in known.marks if one.score == math.inf]
    assert len(lost) == 2 and all(one.parameters["eta"] == 1e9 for one in lost)
    crosses, low = points(figure, "x"), [y for _, y, _ in points(figure, "circle")]
    assert len(crosses) == 2 and min(y for _, y, _ in crosses) > known.started >= max(low)
    assert all("diverged" in text for *_, text in crosses)
    assert scores.clipped and scores.worst == known.started
    worse = [one for one in known.marks if math.isfinite(one.score) and one.score > known.started]
    assert len(points(figure, "triangle-up")) == len(worse)
    low, high = figure.layout.yaxis.range
    assert low < known.best.score and max(y for _, y, _ in points(figure)) < high


def test_the_star_is_the_winner_where_its_parameters_are(tuning):
    """On a logarithmic axis for ranges, at its value's place for steps."""
    known = tried(tuning, "dream")
    for name in known.varied:
        figure, value = figures.panel(known, name), tuning.winners["dream"]["parameters"][name]
        ((x, y, _),) = points(figure, "star")
        values = known.grid[name]
        if isinstance(values, Range):
            assert scale_of(known, name).kind == "log"
            assert x == pytest.approx(math.log(value / values.low) / math.log(values.high / values.low))
        else:
            names = dict(zip(figure.layout.xaxis.tickvals, figure.layout.xaxis.ticktext, strict=True))
            nearest = names[min(names, key=lambda place: abs(place - x))]
            assert nearest == ("default" if value is None else f"{value:g}")
        assert y == pytest.approx(tuning.winners["dream"]["score"])


def test_an_edge_is_marked_on_its_axis_alone(tunings):
    """By its name, and by a line where it is a number's; ranges have a line at each end."""
    for tuning in tunings.values():
        for label in tuning.about["methods"]:
            known = tried(tuning, label)
            assert list(known.sides) == tuning.edges(label)
            for name in known.varied:
                title = figures.panel(known, name).layout.xaxis.title
                side = {-1: ", best at the lower edge", 1: ", best at the upper edge"}.get(known.sides.get(name), "")
                assert title.text == name + side and (title.font.color == theme.VERMILION) == bool(side)
                lines = [one for one in figures.panel(known, name).layout.shapes if one.yref == "y domain"]
                red = [one.x0 for one in lines if one.line.color == theme.VERMILION]
                assert len(lines) == (2 if isinstance(known.grid[name], Range) else len(red))
                steps = scale_of(known, name).kind == "steps"
                assert red == ([] if steps or not side else [0 if known.sides[name] < 0 else 1])


def test_rungs_are_told_apart(tunings):
    """By the shape of the mark, in the key, on an axis of their own, and in the bill."""
    tuning = tunings["halving"]
    known = tried(tuning, "dream")
    assert known.rungs > 1
    figure = figures.panel(known, "eta")
    edge = sum(scores_of(known).kind(one) != "there" for one in known.marks)
    shapes = {
        one.marker.symbol: len(one.x) for one in figure.data if one.marker.symbol not in ("star", "x", "triangle-up")
    }
    assert len(shapes) == known.rungs and sum(shapes.values()) == len(known.marks) - edge
    assert all(f"rung {rung + 1}" in figures.key_of(known) for rung in range(known.rungs))
    assert "rung" in figures.parallel(known).layout.xaxis.ticktext
    bars = [one for one in figures.spent([known], "sfo").data if one.type == "bar"]
    assert len(bars) == known.rungs
    assert sum(one.x[0] for one in bars) == sum(
        record["sfo"] for record in tuning.records if record["method"] == "dream"
    )
    alone = tried(tunings["random"], "dream")
    assert alone.rungs == 1 and "rung" not in figures.key_of(alone)
    assert "rung" not in figures.parallel(alone).layout.xaxis.ticktext


def test_parallel_lines_go_through_the_values_of_their_configuration(tunings):
    """Numbers on their axes, words and defaults at their places, the best score on top."""
    known = tried(tunings["random"], "dream")
    figure = figures.parallel(known)
    assert list(figure.layout.xaxis.ticktext) == ["eta", "gamma", "K", "b_large", "P"]
    best = max((one for one in figure.data if one.mode == "lines"), key=lambda one: one.line.width)
    eta, gamma, K, b_large = (known.winner[name] for name in known.varied)
    at = [math.log(eta / 0.01) / math.log(300), math.log(gamma / 0.03) / math.log(1000)]
    assert best.y[:2] == pytest.approx(at) and best.y[4] == 1.0
    assert best.y[2] == pytest.approx((K - 0.5) / 3, abs=0.1) and best.y[3] == pytest.approx(
        0.25 if b_large else 0.75, abs=0.1
    )
    lines = sum(one.x.count(0) for one in figure.data if one.mode == "lines")
    assert lines == len(known.marks) + 1, "each once, and the best once more, broad"


def test_what_mattered_is_told_with_the_number_of_trials(tunings):
    """A step of a thousand million decides; the text says from how many trials, and that so few tell little."""
    known = tried(tunings["grid"], "gt-gda")
    told, count = known.mattered()
    assert count == 8 and list(told) == ["eta", "gamma"] and told["eta"].share > told["gamma"].share
    assert words.about_mattered(known).startswith("From 8 configurations. So few trials tell little.")
    names = figures.mattered(known).layout.yaxis.ticktext
    assert list(names) == ["eta", "gamma"]
    halved = tried(tunings["halving"], "dream")
    count = tunings["halving"].about["configurations"]["dream"][0]
    assert halved.mattered()[1] == count < len(halved.marks), "at one rung, where all had as much to spend"
    assert words.about_mattered(halved).startswith(f"From {count} configurations, with the budget of the first rung")


def test_thousands_of_trials_are_thinned_and_the_best_stay(tunings):
    """A page stays small enough to open; it says how many are drawn."""
    tuning = tunings["random"]
    draw, base = np.random.default_rng(0), next(r for r in tuning.records if r["method"] == "dream")
    many = [
        {**base, "key": str(i), "primal": float(score), "parameters": {**base["parameters"], "eta": float(eta)}}
        for i, (score, eta) in enumerate(zip(draw.random(5_000), draw.uniform(0.01, 3, 5_000), strict=True))
    ]
    known = tried(replace(tuning, records=many), "dream")
    assert len(known.drawn) == known.most < 2000
    assert {one.score for one in known.drawn} >= {*sorted(record["primal"] for record in many)[:500]}
    assert f"{known.most:,} of 5,000 marks are drawn" in words.about_method(known)
    assert len(page(replace(tuning, records=many))) < 6_000_000


def test_rounds_are_never_billed_without_their_bytes():
    """Where rounds are the budget, both stand in the table, and both are drawn."""
    found = tune(["dream"], search="grid", space={"eta": (0.1, 0.3), "gamma": 1.0}, axis="rounds")
    row = won(found).texts[0]
    rounds, sent = (sum(record[cost] for record in found.records) for cost in ("rounds", "bytes"))
    assert row[9] == f"{rounds / 1e3:.3g}k rounds, {sent / 1e6:.3g}M bytes" == words.tiles(found)["spent"]
    assert [one["layout"]["xaxis"]["title"]["text"] for one in drawn(page(found))["spent"]] == [
        theme.axis_name("rounds"), theme.axis_name("bytes")
    ]  # fmt: skip


# ---------------------------------------------------------------- what is said


def test_the_heading_says_on_what_and_how_it_was_tuned(tuning):
    """Problem, agents, network, start, budget, metric, search and seeds."""
    said = words.lead(tuning)
    for part in ("QuadraticGame: 4 agents with 6 samples each", "network: ring", "from the problem's own start",
                 "a trial may spend 2k SFO calls, its start included", "judged by the mean P(x̄) over",
                 f"{tuning.about['search']} search in the space 'given'"):  # fmt: skip
        assert part in said
    assert ("seeds 0, 1, 2, over which" in said) == (len(tuning.about["seeds"]) == 3)


def test_data_and_a_start_of_one_s_own_are_named(tmp_path):
    """Also the usual data, which a spec leaves out; and what was kept says the same."""
    problem = rd.specs.build_problem("robust-logistic", 4, {"samples": 40, "features": 3})
    space = {"eta": (0.1,), "gamma": (1.0,)}
    start = (np.full(3, 0.5), problem.constraint.project(np.ones(40)))
    found = rd.tune(problem, rd.specs.build_topology("ring", 4, {}), ["gt-gda"], budget=2000, space=space,
                    search="grid", workers=1, start=start, directory=tmp_path / "t")  # fmt: skip
    for one in (found, rd.Tuning.load(tmp_path / "t")):
        assert "(data=synthetic, samples=40, features=3)" in words.lead(one)
        assert "from a start of one's own" in words.lead(one)


def test_the_table_says_what_tuning_s_table_says(tuning):
    """Tried of how many, what was lost, score and start, parameters, edges, remark, and what it cost."""
    cells = Elements(page(tuning)).cells
    names = [head.text for head in won(tuning).heads]
    count = len(names)
    for number, row in enumerate(tuning.table.to_dict("records")):
        told = dict(zip(names, cells[number * count : (number + 1) * count], strict=True))
        assert told["method"] == row["method"] and told["trials"] == str(row["trials"])
        assert told["diverged"] == str(row["diverged"]) and told["failed"] == str(row["failed"])
        assert float(told["P"]) == pytest.approx(row["score"], rel=1e-5)
        assert float(told["P at the start"]) == pytest.approx(row["started"], rel=1e-5)
        assert all(f"{name}=" in told["parameters"] for name in row["parameters"])
        assert [one.split(" (")[0] for one in told["at an edge"].split(", ")] == (row["at_edge"] or ["no"])
        assert told["tried"].startswith(f"{row['configurations']:.0f}") and told["remark"] == row["remark"]
    finite = tuning.about["configurations"]["gt-gda"]
    assert cells[count + 1] == f"{finite[0]} of {finite[1]}"


def test_a_method_without_a_winner_is_told_and_breaks_nothing():
    """All of its trials diverged: no star, no score, and the reason."""
    space = {"dream": {"eta": 0.1, "gamma": 1.0}, "gt-gda": {"eta": [1e9, 2e9], "gamma": 1.0}}
    found = tune(["dream", "gt-gda"], search="grid", space=space)
    row = won(found).texts[1]
    assert row[5:9] == ["-", "-", "none", "-"] and "finite score" in row[10]
    figure = figures.panel(tried(found, "gt-gda"), "eta")
    assert not points(figure, "star") and len(points(figure, "x")) == 2
    assert len(drawn(page(found))["methods"]) == 2
    none = tune(["gt-gda"], search="grid", space={"eta": [1e9], "gamma": 1.0})
    assert words.hint(none)[1] == "" and "nothing to compare" in page(none)


def test_the_hint_is_a_command_that_compares_the_winners(tmp_path, monkeypatch):
    """As it stands on the page; in Python where nothing was kept, or the problem has no name."""
    monkeypatch.chdir(tmp_path)
    problem, ring = rd.specs.build_problem("quadratic", 4, {"samples": 6}), rd.specs.build_topology("ring", 4, {})
    space = {"eta": (0.1,), "gamma": (1.0,)}
    kept = rd.tune(problem, ring, ["gt-gda", "dream"], budget=1000, space=space, search="grid", workers=1,
                   directory="a tuning")  # fmt: skip
    command = words.hint(kept)[1]
    assert command == "raydream compare --best 'a tuning'"
    best = shlex.split(command)[-1]
    compared = rd.compare(best=best, seeds=[1], backend="local", parallel=False)
    assert {name for name, _ in compared.results} == {"gt-gda", "dream"}
    nameless = tune(["gt-gda"], space=space, search="grid", directory="b")
    assert words.hint(nameless)[1] == "comparison = rd.compare(problem, best='b')"
    assert words.hint(tune(["gt-gda"], space=space, search="grid"))[1] == "comparison = rd.compare(best=tuning)"


def test_a_tuning_of_version_0_1_0_is_shown(tmp_path):
    """It says neither where it searched nor what the start was, and is shown with what it has."""
    shutil.copytree(OLD, tmp_path / "tune")
    old = rd.Tuning.load(tmp_path / "tune")
    text = old.report(tmp_path / "r.html").read_text()
    assert "what it was tuned on is not recorded" in text and "eta=0.3, gamma=1" in text
    assert [one["label"] for one in drawn(text)["methods"]] == ["dream", "gt-gda"]
    known = tried(old, "dream")
    assert known.varied == ["eta"] and known.fixed == {"gamma": 1.0} and math.isnan(known.started)
    assert len(points(figures.panel(known, "eta"))) == 3 and "the start" not in figures.key_of(known)
    assert "rd.compare(problem, topology, best=" in words.hint(old)[1]


# ---------------------------------------------------------------- the page as text


def test_the_command_line_recognises_a_tuning(tmp_path):
    """By its tuning.json; and `tune` says where the report is, as `compare` does."""
    typed = ["tune", "--problem", "quadratic", "--problem-set", "samples=6", "--agents", "4", "--methods", "gt-gda",
             "--budget", "1000", "--trials", "2", "--widen", "0", "--workers", "1",
             "--directory", str(tmp_path / "t")]  # fmt: skip
    done = CliRunner().invoke(cli.app, typed)
    assert done.exit_code == 0, done.output
    assert f"the report is {tmp_path / 't' / 'report.html'}." in done.output.replace("\n", "")
    made = (tmp_path / "t" / "report.html").read_text()
    done = CliRunner().invoke(cli.app, ["report", str(tmp_path / "t"), "--output", str(tmp_path / "again.html")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "again.html").read_text() == made
    (tmp_path / "t" / "best.json").unlink()
    (tmp_path / "t" / "tuning.json").unlink()
    done = CliRunner().invoke(cli.app, ["report", str(tmp_path / "t")])
    assert done.exit_code == 2 and "must hold a finished tuning" in done.output.replace("\n", " ")


def test_nothing_is_loaded_from_elsewhere(tuning, tmp_path):
    """The same policy as the other report's, and the same limit of size."""
    path = report(tuning, tmp_path / "r.html", "A title")
    text = path.read_text()
    elements = Elements(text)
    assert not [found for found in elements.found if {"src", "href", "srcset", "data", "action"} & found[1].keys()]
    policy = next(a["content"] for _, a in elements.found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe-eval" not in policy
    assert path.stat().st_size < 6_000_000 and "<title>A title</title>" in text


def test_the_program_knows_columns_from_the_page_alone():
    """It names none."""
    program = joined(*PROGRAM)
    assert not [name for name in COLUMNS if f'"{name}"' in program.replace('"spent"', "")]


def hostile(tuning):
    """A tuning whose every word is hostile."""
    records = [
        {**record, "method": HOSTILE, "parameters": {HOSTILE: HOSTILE, "eta": 0.1 * (1 + i)}, "outcome": HOSTILE}
        for i, record in enumerate(tuning.records)
        if record["method"] == "gt-gda"
    ]
    about = tuning.about | {
        "methods": {HOSTILE: HOSTILE}, "said": {HOSTILE: HOSTILE}, "search": HOSTILE, "space": HOSTILE,
        "seeds": [HOSTILE], "seed": HOSTILE, "configurations": {},
        "grids": {HOSTILE: {HOSTILE: [HOSTILE, "x"], "eta": {"low": 0.01, "high": 10.0}}},
    }  # fmt: skip
    winners = {HOSTILE: {"name": HOSTILE, "parameters": records[0]["parameters"], "score": 1.0}}
    return replace(tuning, records=records, about=about, winners=winners, directory=Path(HOSTILE))


def test_what_files_say_stays_text(tunings):
    """A name that looks like markup adds no element and ends no script."""
    text = page(hostile(tunings["random"]), HOSTILE)
    elements = Elements(text)
    assert [tag for tag, _ in elements.found].count("script") == 4
    assert not [tag for tag, _ in elements.found if tag == "img"]
    assert not [a for _, a in elements.found if any(name.startswith("on") for name in a)]
    assert elements.cells[0] == HOSTILE
    assert "<script" not in json.dumps([one["panels"] for one in drawn(text)["methods"]])


def test_mistakes_get_a_sentence(tunings):
    with pytest.raises(ValueError, match="`tuning` must hold at least one trial; got none"):
        write_tuning("never.html", replace(tunings["grid"], records=[]))


# ---------------------------------------------------------------- the page in a browser


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield Browser(driver)


@pytest.fixture
def reader(browser):
    """Whatever was done, nothing complained in the console and nothing was loaded."""
    browser.complaints()
    yield browser
    assert browser.complaints() == []
    assert browser.ask("return performance.getEntriesByType('resource').map(entry => entry.name)") == []


def opened(reader, path, *screen):
    reader.go(path.as_uri(), *screen)
    reader.driver.execute_async_script(
        "const done = arguments[0], root = document.documentElement;"
        "const look = () => root.dataset.ready ? done() : setTimeout(look, 20); look()"
    )


@pytest.mark.parametrize(
    ("search", "size", "scheme"), [("halving", (1366, 768), "light"), ("tpe", (390, 844), "dark")]
)  # fmt: skip
def test_the_page_opens_and_follows_the_readers_colours(reader, tunings, tmp_path, search, size, scheme):
    """No sideways scrolling; the figures of the chosen method are drawn, in its number, and the table is sorted."""
    opened(reader, report(tunings[search], tmp_path / "r.html"), *size, scheme)
    assert reader.ask("return document.documentElement.scrollWidth <= innerWidth")
    wanted = {"light": "rgb(27, 36, 48)", "dark": "rgb(230, 233, 238)"}[scheme]
    assert reader.ask("return getComputedStyle(document.body).color") == wanted
    drawing = "return document.querySelectorAll('#panels .js-plotly-plot').length"
    assert reader.ask(drawing) == len(tried(tunings[search], "dream").varied) == 4
    assert reader.ask("return document.querySelectorAll('#parallel path.js-line').length") > 2
    assert reader.ask("return document.querySelectorAll('#mattered .bars path').length") == 4
    assert reader.ask("return document.querySelectorAll('#spent .js-plotly-plot').length") == 1
    reader.ask(
        "const e = document.getElementById('method'); e.value = '1';"
        "e.dispatchEvent(new Event('change', { bubbles: true }))"
    )
    assert reader.ask(drawing) == 2
    assert reader.ask("return document.getElementById('key').innerText") == figures.key_of(
        tried(tunings[search], "gt-gda")
    )
    first = "return document.querySelector('#won tbody td').innerText"
    assert reader.ask(first) == "dream"
    for _ in range(2):
        reader.ask("document.querySelector('#won th button').click()")
    assert reader.ask(first) == "gt-gda"


def test_hostile_names_do_nothing_in_the_browser(reader, tunings, tmp_path):
    """They are shown as they are."""
    target = tmp_path / "hostile.html"
    target.write_text(page(hostile(tunings["random"]), HOSTILE))
    opened(reader, target)
    assert reader.ask("return [window.hacked ?? null, document.images.length]") == [None, 0]
    assert reader.ask("return document.querySelector('#won td').textContent") == HOSTILE
    assert reader.ask("return document.querySelectorAll('.js-plotly-plot img, .js-plotly-plot a[href]').length") == 0
