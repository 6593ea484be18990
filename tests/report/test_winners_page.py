"""Who wins where, on the page: the numbers of Python in a real browser, and words that claim no more than they do."""

import json
import re

import numpy as np
import pytest
from browsing import Browser, chromium
from waiting import wait_until

import raydream as rd
from raydream.problems import QuadraticGame
from raydream.report import write_report
from raydream.studies.places import PLACES
from raydream.studies.winners import table_of

TARGET = 0.8
METHODS = {
    "dream": rd.DREAM(eta=0.05, gamma=0.3, p=0.3, b=2, K=2),
    "gt-gda": rd.GTGDA(eta=0.05, gamma=0.3),
    "gt-srvr": rd.GTSRVR(eta=0.05, gamma=0.3, b=2, Q=5),
    "gda": rd.GDA(eta=0.05, gamma=0.3),
}


def compare(methods=METHODS, problem=None, **settings):
    problem = problem or QuadraticGame.random(agents=4, samples=20, dim_x=3, dim_y=4, seed=3)
    settings = dict(seeds=range(4), iterations=150, record_every=3, backend="local", parallel=False) | settings
    return rd.compare(problem, rd.topology.ring(4), methods, **settings)


@pytest.fixture(scope="module")
def compared():
    return compare()


@pytest.fixture(scope="module")
def page(compared, tmp_path_factory):
    return compared.report(tmp_path_factory.mktemp("won") / "r.html")


class Reader(Browser):
    """Somebody who opens a report and moves the prices."""

    def open(self, path, *screen):
        self.go(path.as_uri(), *screen)
        self.driver.execute_async_script(
            "const done = arguments[0], root = document.documentElement;"
            "const look = () => root.dataset.ready ? done() : setTimeout(look, 20); look()"
        )

    def put(self, id, value):
        self.ask(
            "const e = document.getElementById(arguments[0]); e.value = arguments[1];"
            "for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, { bubbles: true }))",
            id, value,
        )  # fmt: skip
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def press(self, text):
        self.ask(
            "[...document.querySelectorAll('#places button')].find(b => b.textContent === arguments[0]).click()", text
        )

    def said(self):
        return self.ask("return document.getElementById('won-said').textContent")

    def curves(self):
        script = (
            "return document.getElementById('priced').data.filter(t => t.meta === 'line')"
            ".map(t => [t.name, Array.from(t.x), Array.from(t.y)])"
        )
        return {name: (x, y) for name, x, y in self.ask(script)}


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield Reader(driver)


@pytest.fixture
def reader(browser):
    """The browser; whatever was done with it, nothing complained in the console and nothing was loaded."""
    browser.complaints()
    yield browser
    assert browser.complaints() == []
    assert browser.ask("return performance.getEntriesByType('resource').map(entry => entry.name)") == []


def test_the_curves_are_those_of_at_prices(reader, page, compared):
    """At every place of the menu, to the last bit: simulated time of every record, and the median there."""
    reader.open(page)
    for name, place in PLACES.items():
        reader.press(name)
        wanted = compared.at_prices(**place._asdict())
        for method, (x, y) in reader.curves().items():
            runs = [result.history for (one, _), result in wanted.results.items() if one == method]
            assert sorted({time for run in runs for time in run.sim_seconds}) == x
            assert y[-1] is not None and y[-1] > 0


def test_the_map_is_that_of_python(reader, page, compared):
    """Winner and lead in every cell, as `winner_map` has them in its table; so for another bandwidth and target."""
    reader.open(page)
    reader.put("won-target", TARGET)
    script = "const d = document.getElementById('map').data[0]; return [Array.from(d.x), Array.from(d.y), d.z]"
    for target, link in ((TARGET, 1e7), (TARGET, 1e4), (1.2, 1e4)):
        reader.put("won-target", target)
        reader.put("price-link", 1000 * np.log(link / 1e4) / np.log(1e10 / 1e4))
        x, y, z = map(np.array, reader.ask(script))
        reaching = compared.reaching(target)
        table = table_of(reaching, y, x, [link])
        winner = np.array([reaching.methods.index(name) for name in table.winner])
        lead = np.log10(np.minimum(table.ratio, 10.0))
        near = table.ratio.to_numpy() < 1 + 1e-9  # a dead heat is anybody's
        assert np.array_equal(np.floor(z.ravel())[~near], winner[~near])
        assert np.allclose((z.ravel() - winner)[~near], 0.999 * lead[~near], atol=1e-9)
        assert len(set(winner)) > 1, "somewhere another wins"


def test_the_sentence_claims_what_the_seeds_decide(reader, page, compared):
    """The winner and its lead with its seeds where paired seeds decide it, and no lead where they do not."""
    reader.open(page)
    seen = set()
    for target in (TARGET, 1.2, 0.9):
        reader.put("won-target", target)
        for name, place in PLACES.items():
            reader.press(name)
            calls, wait = np.array([place.gradient_seconds]), np.array([place.latency])
            row = table_of(compared.reaching(target), calls, wait, [place.bandwidth]).iloc[0]
            said = reader.said()
            assert (
                ("it is not decided" in said) == (not row.decided)
                and row.winner in said
                and said.startswith(name.capitalize())
            )
            assert f"{float(f'{row.ratio:.3g}'):g} times as fast as {row.second}" in said
            assert f"first on {round(4 * row.agree)} of 4 seeds" in said
            seen.add(bool(row.decided))
    assert True in seen
    reader.put("won-target", 1e-30)
    assert reader.said() == "No method gets to ‖∇P‖ ≤ 1e-30 by the median of its seeds."
    assert reader.ask("return document.getElementById('map').hidden")


def test_prices_can_be_moved_and_read(reader, page):
    """Sliders say what they stand for, the marker follows, a name is pressed only where its prices are."""
    reader.open(page)
    assert reader.ask("return [...document.querySelectorAll('#places button')].map(b => b.textContent)") == [*PLACES]
    told = "return ['gradient', 'message', 'link'].map(k => document.getElementById('said-' + k).textContent)"
    pressed = "return document.querySelector('#places [aria-pressed=true]')?.textContent"
    assert reader.ask(told) == ["1 µs", "50 ms", "10 MB/s"] and reader.ask(pressed) == "cloud regions"
    reader.put("price-message", 1000 * np.log(1.0 / 1e-6) / np.log(1e7))
    assert reader.ask(told) == ["1 µs", "1 s", "10 MB/s"] and reader.ask(pressed) is None
    assert reader.said().startswith("At these prices ")
    here = "const t = document.getElementById('map').data.find(t => t.meta === 'here'); return [t.x[0], t.y[0]]"
    assert reader.ask(here) == [1.0, 1e-6]


def test_a_pointer_finds_numbers_and_a_picture_can_be_kept(reader, page):
    """Every method's time under the pointer; a drawing in SVG."""
    reader.open(page)
    reader.put("won-target", TARGET)
    actions = pytest.importorskip("selenium.webdriver").ActionChains(reader.driver)
    actions.move_to_element(reader.driver.find_element("css selector", "#map .nsewdrag")).perform()
    tip = "return document.querySelector('.tip').innerText"
    wait_until(lambda: all(name in reader.ask(tip) for name in METHODS), lambda: reader.ask(tip))
    assert re.search(r"first on \d of 4 seeds", reader.ask(tip))
    kept = reader.driver.execute_async_script(
        "const done = arguments[0]; Plotly.downloadImage = (figure, asked) => Plotly.toImage(figure, asked)"
        ".then(text => done([asked, text.slice(0, 60), decodeURIComponent(text).includes('Who is first to')]));"
        "document.getElementById('save-svg').click()"
    )
    assert kept[0]["format"] == "svg" and kept[1].startswith("data:image/svg+xml") and kept[2]


def test_a_method_that_is_hidden_does_not_win(reader, page):
    """Who is left out above is left out of the map."""
    reader.open(page)
    reader.put("won-target", TARGET)
    winner = next(name for name in METHODS if f" {name} " in reader.said())
    reader.driver.find_element("css selector", f"#legend button[data-label='{winner}']").click()
    assert f" {winner} " not in reader.said() and winner not in reader.curves()


def test_what_is_no_exact_clock_is_said(tmp_path):
    """Agents that take part by chance; histories without records; runs of two problems."""
    chance = {"dream": METHODS["dream"], "other": rd.DREAM(eta=0.05, gamma=0.3, q=0.5, b=2, K=2)}
    facts = facts_of(compare(chance, iterations=6).report(tmp_path / "chance.html"))
    assert "but an estimate by the mean over agents for other: its agents take part by chance." in facts["exact"]
    both = compare({"dream": METHODS["dream"], "gda": METHODS["gda"]}, iterations=6)
    assert facts_of(both.report(tmp_path / "both.html"))["exact"].startswith("Exact for agents and links that are all")
    bare = write_report(tmp_path / "table.html", both.history)
    assert facts_of(bare)["why"] == "it is not recorded among how many agents each run shared its gradients"
    old = both.history.drop(columns=["bytes", "messages"])
    assert "not all runs recorded messages, bytes, of" in facts_of(write_report(tmp_path / "old.html", old))["why"]
    one = next(iter(both.results.values()))
    assert facts_of(one.report(tmp_path / "one.html")) is None


def test_why_there_is_no_map_stands_on_the_page(reader, compared, tmp_path):
    reader.open(write_report(tmp_path / "table.html", compared.history))
    text = reader.ask("return document.getElementById('s-won').innerText")
    assert "There is no map: it is not recorded among how many agents" in text and "a link carries" not in text


@pytest.mark.parametrize(("size", "scheme"), [((1440, 900), "dark"), ((390, 844), "light")])
def test_the_map_fits_the_screen(reader, page, size, scheme):
    """Nothing hangs over the edge, and the sliders can be reached."""
    reader.open(page, *size, scheme)
    assert reader.ask("return document.documentElement.scrollWidth <= innerWidth")
    boxes = reader.ask(
        "return [...document.querySelectorAll('#s-won input[type=range], #map, #priced')]"
        ".map(e => e.getBoundingClientRect()).map(b => [b.left, b.right])"
    )
    assert all(0 <= left < right <= size[0] for left, right in boxes)


def facts_of(path):
    """What the page was given to price runs by."""
    found = re.search(r'<script type="application/json" id="facts">(.*?)</script>', path.read_text())
    return json.loads(found[1])["pricing"]
