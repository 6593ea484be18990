"""The report of a comparison says who leads and whether it is decided; it hides no lost seed and no y that lags."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from browsing import Browser, chromium

import raydream as rd
from raydream.problems import QuadraticGame
from raydream.report import figures, report, write_report
from raydream.report.collect import Run, collect
from raydream.report.deciding import decided
from raydream.report.page.page import page
from raydream.report.tables.rounding import rounded
from raydream.report.tables.standing import pairs, standing
from raydream.studies.comparison import Comparison
from raydream.studies.standings import follows

GAME, RING = QuadraticGame.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=1), rd.topology.ring(4)
METHODS = {"dream": rd.DREAM(eta=0.1, gamma=0.3, b=2), "gt-gda": rd.GTGDA(eta=0.1, gamma=0.3),
           "slow": rd.GTGDA(eta=0.001, gamma=0.3)}  # fmt: skip


@pytest.fixture(scope="module")
def comparison():
    return rd.compare(
        GAME, RING, METHODS, seeds=range(4), max_sfo=3000, record_every=2, backend="local", parallel=False
    )


class Tables(HTMLParser):
    """Rows of cells of each table, by its id, and the text of each section."""

    def __init__(self, text):
        super().__init__()
        self.rows, self._table, self._cell = {}, None, False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "table":
            self._table = self.rows.setdefault(given.get("id"), [])
        elif tag == "tr" and self._table is not None:
            self._table.append([])
        elif tag in ("td", "th") and self._table is not None:
            self._table[-1].append("")
            self._cell = True

    def handle_endtag(self, tag):
        if tag == "table":
            self._table = None
        self._cell = self._cell and tag not in ("td", "th")

    def handle_data(self, text):
        if self._cell:
            self._table[-1][-1] += text


def section(text, name):
    """The words of one section."""
    part = text.split(f'<section id="{name}"')[1].split("</section>")[0]
    return re.sub(r"<[^>]+>", " ", part)


def facts_of(text):
    return json.loads(text.split('id="facts">')[1].split("</script>")[0])


# ---------------------------------------------------------------- who leads


@pytest.mark.parametrize("limits", [{"max_sfo": 3000}, {"max_rounds": 60}, {"iterations": 40}], ids=str)
def test_the_numbers_are_those_of_the_comparison(limits):
    """Medians, intervals, differences and the sentence, at the budget that all had, or at the end."""
    both = rd.compare(GAME, RING, METHODS, seeds=range(4), record_every=2, backend="local", parallel=False, **limits)
    judged = decided(collect(both))
    assert [one.metric for one in judged.decisions] == ["primal", "grad_norm"]
    for one in judged.decisions:
        pd.testing.assert_frame_equal(one.finals, both.finals(one.metric))
        pd.testing.assert_frame_equal(one.differences, both.differences(one.metric))
        assert one.verdict == both.verdict(one.metric)
    wanted = {"max_sfo": "at 3,000 SFO calls", "max_rounds": "at 60 rounds", "iterations": "at the end of each run"}
    assert judged.where.startswith(wanted[next(iter(limits))])


def test_the_section_has_tables_and_verdicts(comparison):
    """For P and for its gradient: medians with intervals, pairs with intervals, and the sentence."""
    text = page(collect(comparison))
    tables, said = Tables(text).rows, section(text, "s-decided")
    for metric in ("primal", "grad_norm"):
        assert comparison.verdict(metric) in said
    ends = comparison.finals("primal")
    for row, end in zip(tables["medians"][1:], ends.to_dict("records"), strict=True):
        assert row[:2] == [end["method"], "4"]
        assert row[2].rstrip("†") == rounded(end["median"], end["low"], end["high"]).text
        assert row[-1] == ("in 0 of 4" if end["method"] == "slow" else "yes")
    each = comparison.differences("grad_norm")
    assert len(tables["pairs"]) == 4
    for row, pair in zip(tables["pairs"][1:], each.to_dict("records"), strict=True):
        assert row[:2] == [pair["first"], pair["second"]] and row[4].startswith(
            rounded(pair["middle"], pair["low"], pair["high"]).text
        )
        assert row[-1] == ("yes" if pair["decided"] else "no")


def test_the_tile_is_the_verdict_and_no_single_seed_ranks(comparison):
    """The best median with whom it is decided against; a lucky seed of another method changes nothing."""
    lucky = comparison.results["slow", 0]
    history = lucky.history.copy()
    history.loc[history.index[-1], ["grad_norm", "primal"]] = [1e-12, -50.0]
    results = comparison.results | {("slow", 0): replace(lucky, history=history)}
    text = page(collect(Comparison(results)))
    heading = re.sub(r"<[^>]+>", " ", text.split("<header>")[1].split("</header>")[0])
    ends = Comparison(results).finals("grad_norm").set_index("method")["median"]
    assert ends.idxmin() != "slow"
    assert f"{ends.min():.3g}" in heading and ends.idxmin() in heading and "1e-12" not in heading
    assert "best median ‖∇P(x̄)‖" in heading and "least" not in heading


def test_whether_a_lead_is_decided_stands_in_the_tile(comparison):
    """A method against its own copy with other noise is not decided; against one that hardly moves it is."""
    told = {name: value for name, value in tiles_of(page(collect(comparison))) if name.startswith("best median P")}
    lead, rest = comparison.finals("primal").set_index("method")["median"].idxmin(), comparison.differences("primal")
    mine = rest[(rest["first"] == lead) | (rest["second"] == lead)]
    (value,) = told.values()
    assert lead in value and f"decided over {mine.decided.sum()} of 2" in value


def tiles_of(text):
    return re.findall(r'<dt>([^<]*)</dt><dd title="([^"]*)">', text.split("<header>")[1].split("</header>")[0])


def test_results_without_seeds_in_common_are_reported_without_a_verdict(comparison, tmp_path):
    """One run, runs of one method, runs without seeds, two runs of one seed, other problems: a page, and no claim."""
    dream, gda = comparison.results["dream", 0], comparison.results["gt-gda", 1]
    other = rd.run(QuadraticGame.random(agents=4, samples=6, dim_x=3, dim_y=3, seed=1), RING, METHODS["gt-gda"],
                   iterations=5, backend="local")  # fmt: skip
    table = pd.concat([one.history.assign(method=name) for name, one in (("a", dream), ("b", gda))])
    cases = {"one": dream, "one method": [dream, comparison.results["dream", 1]], "no shared seed": [dream, gda],
             "twice": {"a": [dream, dream], "b": dream}, "no seeds": table,
             "other problem": [dream, other]}  # fmt: skip
    for name, runs in cases.items():
        text = report(runs, tmp_path / "r.html").read_text()
        assert not decided(collect(runs)).decisions, name
        assert "best median" not in text.split("<main>")[0]
        assert "<table id=medians>" not in text, name
    assert "share no seed" in decided(collect(cases["no shared seed"])).why_not
    assert "same seed" in decided(collect(cases["twice"])).why_not
    assert "not of one problem" in decided(collect(cases["other problem"])).why_not


def test_one_seed_decides_nothing(comparison):
    """It is shown, and called undecided."""
    alone = {key: one for key, one in comparison.results.items() if key[1] == 0}
    judged = decided(collect(Comparison(alone)))
    assert not any(one.differences.decided.any() for one in judged.decisions)
    assert all("(" not in row[2] and row[3] == "no" for row in pairs(judged).texts)


def test_a_method_of_one_machine_is_judged_with_the_others():
    """It has the pooled problem, which is the same."""
    both = rd.compare(GAME, RING, {"gda": rd.GDA(eta=0.1, gamma=0.3), "gt-gda": METHODS["gt-gda"]}, seeds=(0, 1),
                      max_sfo=500, backend="local", parallel=False)  # fmt: skip
    assert len(decided(collect(both)).decisions) == 2


def test_runs_under_way_and_stopped_are_not_judged(comparison):
    """They are counted, and said to be left out."""
    runs = collect(comparison)
    for run in runs[:2]:
        run.outcome = "running"
    judged = decided(runs)
    assert "2 runs have not come to their end and are left out" in judged.where
    assert standing(runs, judged=judged).texts[0][1] == "2"


def test_failed_seeds_stand_beside_the_others(comparison):
    """In the table of medians, and as seeds that did not reach a target."""
    failures = {("gt-gda", 7): "it failed", ("gt-gda", 8): "it failed"}
    text = page(collect(comparison), failures=failures)
    assert [row[1] for row in Tables(text).rows["medians"][1:]] == ["4", "4, 2 failed", "4"]
    assert [group["failed"] for group in facts_of(text)["groups"]] == [0, 2, 0]
    some = Comparison(comparison.results, failures)
    for figure in (some.plot.to_reach(1e9, costs=("sfo",)), figures.to_reach(some, 1e9, costs=("sfo",))):
        assert [text.partition(" ")[2] for text in figure.data[0].text] == ["", "(4 of 6)", ""]


# ---------------------------------------------------------------- y that has not followed


def test_a_run_knows_whether_y_has_followed(comparison):
    """As the studies judge it; where no gap was recorded, or the run goes on, nothing is said."""
    assert {run.label for run in collect(comparison) if not run.followed} == {"slow"}
    assert [run.followed for run in collect(comparison)] == [
        follows(one.history) for one in comparison.results.values()
    ]
    one = comparison.results["slow", 0]
    assert collect(replace(one, history=one.history.drop(columns="dual_gap")))[0].followed
    assert not collect(one.history.assign(method="slow"))[0].followed
    assert collect(replace(one, record=replace(one.record, outcome="running")))[0].followed


def test_runs_in_which_y_has_not_followed_are_marked(comparison):
    """In the table of runs, in the legend, in the tiles, and in the names of a figure's lines; the others are not."""
    runs = collect(comparison)
    runs[-1].followed = True
    text = page(runs)
    rows = Tables(text).rows["runs"][1:]
    marked = [(row[0], row[1]) for row in rows if "y has not followed" in row[2]]
    assert marked == [("slow", "0"), ("slow", "1"), ("slow", "2")]
    assert [group["remark"] for group in facts_of(text)["groups"]] == ["", "", "y has not followed in 3 of 4 runs"]
    assert ("y has not followed", "in 3 of 12 runs") in tiles_of(text)
    names = [line.name for line in figures.convergence(runs).data if line.name]
    assert names == ["dream", "gt-gda", "slow: y has not followed in 3 of 4 runs"]
    assert ("y", "has not followed") in tiles_of(page(collect(comparison.results["slow", 0])))
    assert "y" not in dict(tiles_of(page(collect(comparison.results["dream", 0]))))


# ---------------------------------------------------------------- tuned, targets, rounds with bytes


def test_a_comparison_of_winners_says_how_they_were_found(comparison, tmp_path):
    """And which methods won nothing, and why; in words that stay text."""
    tuned = Comparison(comparison.results, tuned="tuned by primal at 3000 sfo each, grid search, 8 trials",
                       missing={"dm-hsgd": "nothing beat the <start>"})  # fmt: skip
    text = write_report(tmp_path / "r.html", tuned).read_text()
    heading = text.split("<header>")[1].split("</header>")[0]
    assert "tuned by primal at 3000 sfo each, grid search, 8 trials" in heading
    assert "not compared: dm-hsgd: nothing beat the &lt;start&gt;" in heading
    assert "not compared" not in write_report(tmp_path / "r.html", comparison).read_text()


def test_no_bar_is_infinite_and_the_note_says_how_unreached_seeds_count(comparison):
    """Two of four: said, not drawn; a hover over what is not there says so too."""
    runs = collect(comparison)
    for run, end in zip([run for run in runs if run.label == "dream"], (1.0, 1.0, 0.1, 0.1), strict=True):
        run.columns["grad_norm"] = np.linspace(2.0, end, len(run.columns["iteration"]))
    bar = figures.to_reach(runs, 0.5, costs=("sfo",)).data[0]
    assert bar.text[0] == "2 of 4 reached" and bar.x[0] == 0
    assert bar.hovertemplate == "<b>%{customdata}</b>: %{text}<extra></extra>"
    text = page(runs)
    assert "counts as dearer than all others" in section(text, "s-reach") and "infinity" not in text.split("<script")[0]


def test_what_was_not_recorded_is_not_called_unreached():
    """A bill without messages is of an older run."""
    config = {"method": {"name": "dream", "parameters": {}}}
    columns = {"iteration": np.arange(2.0), "sfo": np.arange(2.0), "grad_norm": np.ones(2)}
    bars = figures.ledger([Run("dream", 0, columns, config)], costs=("sfo", "messages")).data
    assert [bar.text for bar in bars if bar.type == "bar"] == [("1",), ("not recorded",)]


def test_rounds_are_never_shown_without_bytes(comparison):
    """In the tiles, in the table of runs, among the costs of a target and in the bill."""
    one, many = page(collect(comparison.results["dream", 0])), page(collect(comparison))
    names = [name for name, _ in tiles_of(one)]
    assert names.index("payload") == names.index("rounds") + 1
    head = Tables(many).rows["runs"][0]
    assert {"rounds", "bytes"} <= {*head}
    for costs in (facts_of(many)["reach"], facts_of(many)["bill"]):
        assert {"rounds", "bytes"} <= {*costs}


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def reader():
    with chromium() as driver:
        yield Browser(driver)


@pytest.mark.parametrize(("size", "scheme"), [((1366, 768), "light"), ((390, 844), "dark")])
def test_the_section_is_shown_and_no_infinity(reader, comparison, tmp_path, size, scheme):
    """Legend with its remark, intervals drawn, and bars that say how many got there; failed seeds are counted."""
    runs = collect(comparison)
    target = tmp_path / "r.html"
    target.write_text(page(runs, failures={("dream", 9): "it failed"}))
    reader.go(target.as_uri(), *size, scheme)
    reader.driver.execute_async_script(
        "const done = arguments[0], root = document.documentElement;"
        "const look = () => root.dataset.ready ? done() : setTimeout(look, 20); look()"
    )
    legend = reader.ask("return document.getElementById('legend').innerText")
    assert "slow" in legend and legend.count("y has not followed") == 1
    assert reader.ask("return document.querySelectorAll('#standing .js-plotly-plot').length") == 2
    reader.ask(
        "const e = document.getElementById('target'); e.value = '1e9';"
        "e.dispatchEvent(new Event('input', { bubbles: true }))"
    )
    said = "return [...document.querySelectorAll('#reach > div')].flatMap(d => d.data[1].text)"
    assert "(4 of 5 reached)" in " ".join(reader.ask(said))
    reader.ask(
        "const e = document.getElementById('target'); e.value = '1e-9';"
        "e.dispatchEvent(new Event('input', { bubbles: true }))"
    )
    assert {*reader.ask(said)} == {"not reached"}
    assert "nfinity" not in reader.text() and "∞" not in reader.text()
    assert reader.ask("return document.documentElement.scrollWidth <= innerWidth")
    assert reader.complaints() == []
