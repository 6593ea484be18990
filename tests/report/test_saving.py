"""What a reader keeps of a page: LaTeX and CSV as the export writes them, figures for a paper, and pages on paper."""

import base64
import xml.etree.ElementTree as ET

import pytest
from browsing import Browser, chromium
from waiting import wait_until

import raydream as rd
from raydream.problems import QuadraticGame
from raydream.report.paper.style import drawn_lines, paper

GAME, RING = QuadraticGame.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=1), rd.topology.ring(4)
METHODS = {
    "dream": rd.DREAM(eta=0.1, gamma=0.3, b=2), "gt-gda": rd.GTGDA(eta=0.1, gamma=0.3),
    "slow": rd.GTGDA(eta=0.001, gamma=0.3),
}  # fmt: skip
CATCH = """
window.caught = [];
URL.createObjectURL = blob => { blob.text().then(text => window.caught.push(text)); return "about:blank#"; };
HTMLAnchorElement.prototype.click = function () { window.named = this.download; };
"""


class Reader(Browser):
    """Somebody who presses buttons, and what they then have."""

    def open(self, path, **size):
        self.go(path.as_uri(), **size)
        wait_until(lambda: self.ask("return document.documentElement.dataset.ready"), self.text)
        self.ask(CATCH)

    def saved(self, find):
        """The text that a button gives, and the name of its file."""
        self.ask(f"window.caught = []; {find}.click()")
        wait_until(lambda: self.ask("return window.caught.length"), lambda: f"nothing was saved by {find}")
        return self.ask("return window.caught[0]"), self.ask("return window.named")


@pytest.fixture(scope="module")
def reader():
    with chromium() as driver:
        yield Reader(driver)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A comparison in a directory, its page, and its export."""
    folder = tmp_path_factory.mktemp("saving")
    found = rd.compare(GAME, RING, METHODS, seeds=range(4), max_sfo=3000, record_every=2, backend="local",
                       parallel=False, directory=folder / "kept")  # fmt: skip
    found.report(folder / "report.html")
    rd.export(folder / "kept", folder / "tex", "tex")
    rd.export(folder / "kept", folder / "csv", "csv")
    return folder


def button(place, text):
    return f"[...document.querySelectorAll('{place} button')].find(one => one.textContent === '{text}')"


def test_tables_are_those_of_the_export(reader, kept):
    """LaTeX and CSV of the medians, of the pairs and of what it took to reach the target, letter by letter."""
    reader.open(kept / "report.html")
    for number, name in enumerate(("standing", "pairs")):
        for text, kind in (("LaTeX", "tex"), ("CSV", "csv")):
            find = f"[...document.querySelectorAll('#s-decided .beside')][{number}]"
            find = f"[...{find}.children].find(one => one.textContent === '{text}')"
            assert reader.saved(find) == ((kept / kind / f"{name}.{kind}").read_text(), f"{name}.{kind}")
    for text, kind, sign in (("LaTeX", "tex", " & "), ("CSV", "csv", ",")):
        told, name = reader.saved(button("#s-reach .bar", text))
        wanted = (kept / kind / f"reach.{kind}").read_text()
        assert name == f"reach.{kind}" and len(told) > 200
        # a page has seconds to a millionth, and they come last
        last = 5 if kind == "tex" else 15
        assert [line.split(sign)[:last] for line in told.splitlines()] == [
            line.split(sign)[:last] for line in wanted.splitlines()
        ]


def test_what_is_seen_is_what_is_saved(reader, kept):
    """The curves as exported; without a method that is hidden; along the other axis; to the other target."""
    reader.open(kept / "report.html")
    find = button("#convergence .corner", "CSV")
    whole, name = reader.saved(find)
    assert name == "convergence.csv" and whole == (kept / "csv" / "convergence.csv").read_text()
    reader.ask("document.querySelector('#legend button[data-label=slow]').click()")
    fewer = [line for line in whole.splitlines(True) if not line.startswith("slow,")]
    assert reader.saved(find)[0] == "".join(fewer)
    assert "slow" not in reader.saved(button("#s-reach .bar", "LaTeX"))[0].split(r"\midrule")[1]
    reader.ask("const x = document.getElementById('x'); x.value = 'rounds'; x.dispatchEvent(new Event('change'))")
    assert reader.saved(find)[0].startswith("method,runs,rounds,grad_norm,low,high\n")
    reader.ask("const t = document.getElementById('target'); t.value = 0.5; t.dispatchEvent(new Event('input'))")
    rd.export(kept / "kept", kept / "moved", "csv", target=0.5)
    told = [line for line in (kept / "moved" / "reach.csv").read_text().splitlines() if not line.startswith("slow,")]
    assert [line.split(",")[:7] for line in reader.saved(button("#s-reach .bar", "CSV"))[0].splitlines()] == [
        line.split(",")[:7] for line in told
    ]


def test_figures_are_saved_in_the_look_of_a_paper(reader, kept):
    """Every one as SVG; the large one a column wide, serif, with the dashes and marks that Python gives it."""
    reader.open(kept / "report.html")
    text, name = reader.saved(button("#convergence .corner", "SVG"))
    root = ET.fromstring(text)
    assert name == "convergence.svg" and root.get("width") == "326" and "serif" in text
    figure = paper(rd.Comparison.load(kept / "kept").plot.convergence())
    lines = [trace.line.dash for trace in drawn_lines(figure)]
    drawn = root.findall(".//{http://www.w3.org/2000/svg}path[@class='js-line']")
    dashes = {path.get("style").partition("stroke-dasharray: ")[2].partition(";")[0] for path in drawn
              if "stroke-width: 1.3px" in path.get("style")}  # fmt: skip
    assert len(dashes) == len({*lines}) == 3
    plots = reader.ask("return [...document.querySelectorAll('.js-plotly-plot')].map(one => "
                       "[...one.querySelectorAll('.corner button')].map(b => b.textContent) + '')")  # fmt: skip
    assert len(plots) > 10 and all("SVG" in one for one in plots)
    assert not reader.complaints()


def test_pages_of_tunings_and_studies_have_the_buttons(reader, tmp_path):
    """Their tables as exported."""
    tuning = rd.tune(GAME, RING, ["dream", "gt-gda"], budget=2000, space={"eta": (0.1, 0.2), "gamma": 0.3},
                     search="grid", workers=1, directory=tmp_path / "t")  # fmt: skip
    rd.export(tmp_path / "t", tmp_path / "out", "tex")
    reader.open(tuning.report(tmp_path / "t.html"))
    assert reader.saved(button("#s-won", "LaTeX"))[0] == (tmp_path / "out" / "winners.tex").read_text()
    said = {"seeds": 2, "budget": {"amount": 600}, "problem": {"name": "quadratic", "agents": 4, "samples": 6},
            "network": {"name": "ring"}, "method": [{"name": "dream", "eta": 0.1, "gamma": 0.3}]}  # fmt: skip
    reader.open(rd.study(said, tmp_path / "s", workers=1).report())
    assert r"\toprule" in reader.saved(button("#s-finals", "LaTeX"))[0]
    assert not reader.complaints()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_prints_on_a4(reader, kept, scheme):
    """No figure is wider than the sheet, none is dark, nothing that one would click is printed; and back again."""
    reader.open(kept / "report.html", scheme=scheme)
    reader.ask("dispatchEvent(new Event('beforeprint'))")
    reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    wide = reader.ask("return [...document.querySelectorAll('.js-plotly-plot')].filter(one => one.offsetParent)"
                      ".map(one => one.querySelector('.main-svg').getBoundingClientRect().right)")  # fmt: skip
    assert len(wide) > 5 and max(wide) <= 704
    shown = "[...document.querySelectorAll('select, input, .saves, .copy')].filter(one => one.offsetParent).length"
    assert reader.ask(f"return {shown}") == 0
    ink = "getComputedStyle(document.querySelector('#convergence .xtick text')).fill"
    assert reader.ask(f"return {ink}") == "rgb(85, 96, 110)"
    reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    reader.ask("dispatchEvent(new Event('afterprint'))")
    assert reader.ask("return document.querySelector('#convergence .main-svg').clientWidth") > 704
    sheet = reader.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"]
    assert base64.b64decode(sheet).startswith(b"%PDF")
