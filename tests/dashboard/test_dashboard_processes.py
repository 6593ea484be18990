"""The dashboard as people use it: a real server, a real browser, real runs on actors."""

import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browsing import Browser, chromium
from conftest import leftovers
from laws import run
from waiting import PATIENCE, end, started, wait_until

import raydream as rd
from raydream import specs

AGAIN = 10  # seconds after which somebody whose click did nothing clicks once more
SCRIPTS = Path(__file__).resolve().parents[2] / "dashboards"


@contextmanager
def dashboard(root, *options, program=None):
    """`raydream dashboard`, or another program that serves it, and the address that it prints. Ctrl-C ends it."""
    words = program or [sys.executable, "-m", "raydream", "dashboard", str(root), "--port", "0", *options]
    with started(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as server:
        line = server.stderr.readline()
        lines = []
        reading = threading.Thread(target=lambda: lines.extend(server.stderr), daemon=True)
        reading.start()
        try:
            yield re.search(r"http://\S+", line).group().rstrip("/")
        except BaseException:
            end(server)
            raise
        server.send_signal(signal.SIGINT)
        code = server.wait(timeout=PATIENCE)
        reading.join(timeout=PATIENCE)
    assert code == 0
    assert not [one for one in lines if "Traceback" in one or "Error" in one], lines


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A finished run to compare with, and something beside the root that is nobody's business."""
    folder = tmp_path_factory.mktemp("dashboard")
    problem = specs.build_problem("robust-logistic", 4, {"data": "synthetic", "samples": 200, "features": 10})
    ring = specs.build_topology("ring", 4, {})
    for place in (folder / "runs" / "rival", folder / "secret"):
        run(problem, ring, rd.GTGDA(eta=0.1, gamma=1), iterations=40, record_every=2, directory=place)
    rd.tune(problem, ring, ["gt-gda"], budget=2000, space={"eta": (0.1, 0.3), "gamma": 1.0}, search="grid", workers=1,
            directory=folder / "runs" / "tuned")  # fmt: skip
    return folder / "runs"


@pytest.fixture(scope="module")
def address(root):
    with dashboard(root) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield User(driver)


@pytest.fixture
def user(browser):
    """Whatever the user did, nothing complained in the console."""
    browser.driver.get("about:blank")  # the page before may still ask a server that has ended
    browser.complaints()
    yield browser
    assert browser.complaints() == []


class User(Browser):
    """Somebody who fills in forms, presses buttons, and waits to see what happens."""

    def wait(self, what, script, *arguments):
        """Until a script returns something true; what it returned."""
        return wait_until(lambda: self.ask(script, *arguments), lambda: f"{what}; the page says: {self.text()[:1500]}")

    def see(self, words):
        """Wait until the page says it."""
        self.wait(repr(words), "return document.body.innerText.includes(arguments[0])", words)

    def control(self, name):
        """The control that is in the URL under this name."""
        selector = f"""[id='{{"name":"{name}","type":"state"}}']"""
        return self.ask("return document.querySelector(arguments[0])", selector)

    def type(self, name, value):
        """Put a value into a control."""
        self.fill(name, lambda: self.control(name), value)

    def fill(self, what, find, value):
        """Put a value into a field."""
        keys = ("\ue009a\ue000", "\ue017", str(value), "\ue004")  # all of it, away with it, the value, on

        def write(field):
            field.send_keys(*keys)
            return self.ask("return arguments[0].value", find()) == str(value)

        self.insist(what, find, write)

    def choose(self, name, text):
        """Open a list and take what it says."""
        script = (
            "return [...document.querySelectorAll('.dash-dropdown-content .dash-options-list-option, "
            ".dash-dropdown-content [role=option]')].find(e => e.innerText.trim() === arguments[0])"
        )

        def take(control):
            control.click()
            return self.soon(lambda: self.ask(script, text)) and self.ask(script, text).click()

        self.insist(f"{name}: {text}", lambda: self.control(name), take)

    def soon(self, fact):
        """Whether a fact comes true before one would try again."""
        try:
            return bool(wait_until(fact, seconds=AGAIN))
        except AssertionError:
            return False

    def press(self, id):
        """Press a button."""
        script = "const e = document.getElementById(arguments[0]); return e && e.offsetParent ? e : null"
        self.insist(id, lambda: self.ask(script, id), lambda found: found.click())

    def points(self, graph):
        """How many points each line of a figure has."""
        script = (
            "const g = document.querySelector('#' + arguments[0] + ' .js-plotly-plot');"
            "return g && g.calcdata ? g.calcdata.map(c => c.length) : []"
        )
        return self.ask(script, graph)

    def lines(self, graph):
        """The names of a figure's lines."""
        script = (
            "const g = document.querySelector('#' + arguments[0] + ' .js-plotly-plot');"
            "return g && g._fullData ? g._fullData.map(t => t.name) : []"
        )
        return self.ask(script, graph)

    def wait_for_points(self, graph, least):
        """Until the longest line of a figure has so many points."""
        wait_until(
            lambda: max(self.points(graph), default=0) >= least,
            lambda: f"points of {graph}, which has {self.points(graph)}; the page says: {self.text()[:1500]}",
        )
        return max(self.points(graph))

    def drag(self, selector, start, end, fact):
        """Drag the mouse over a part of an element's width, until that makes a fact true."""
        chains = importlib.import_module("selenium.webdriver.common.action_chains")

        def move(element):
            width = element.rect["width"]
            chain = chains.ActionChains(self.driver).move_to_element_with_offset(element, (start - 0.5) * width, 0)
            chain.click_and_hold().move_by_offset((end - start) * width / 2, 3)
            chain.move_by_offset((end - start) * width / 2, 0).release().perform()
            return self.soon(fact)

        self.insist(selector, lambda: self.driver.find_element("css selector", selector), move)

    def wait_for_state(self, *wanted):
        self.wait(
            wanted,
            "const e = document.querySelector('#live-title .state');"
            "return e && arguments[0].includes(e.innerText) ? e.innerText : null",
            list(wanted),
        )


def test_a_run_is_started_watched_stopped_resumed_and_compared(user, address, root):
    """From the form, on actors, in one sitting; the numbers are those of a run that nobody touched."""
    user.go(f"{address}/new?data=synthetic&agents=4&iterations=2000000&record_every=10")
    user.type("problem.samples", 200)
    user.type("problem.features", 10)
    user.choose("topology", "complete")
    user.choose("topology", "ring")
    user.choose("method", "gt-srvr")
    user.choose("method", "dream")
    user.type("method.b", 8)
    user.type("name", "mine")
    user.press("new-start")

    # It is followed while it grows.
    user.wait_for_state("running")
    seen = user.wait_for_points("live-curve", 3)
    more = user.wait_for_points("live-curve", seen + 2)
    assert more > seen
    user.see("iterations/s")
    user.see("time left")
    record = json.loads((root / "mine" / "run.json").read_text())
    assert record["backend"]["name"] == "ray" and len(record["places"]) == 4
    assert all(str(place["pid"]) in user.text() for place in record["places"])
    driver = record["driver"]["pid"]

    # It outlives one of its actors, and says so.
    os.kill(record["places"][2]["pid"], signal.SIGKILL)
    user.see("rolled back to")
    user.wait(
        "the mark", "return document.querySelector('#live-curve .js-plotly-plot')._fullData.at(-1).name === 'recovery'"
    )
    user.wait_for_points("live-curve", more + 2)
    moved = json.loads((root / "mine" / "run.json").read_text())["places"][2]["pid"]
    assert moved != record["places"][2]["pid"]
    user.see(str(moved))

    # It is stopped, and leaves nothing behind.
    user.press("live-stop")
    user.wait_for_state("stopped")
    done = json.loads((root / "mine" / "checkpoint" / "manifest.json").read_text())["iteration"]
    user.see(f"stopped after {done} iterations")
    assert_ended(driver)

    # It goes on from there to the end.
    total = done + 25
    user.fill("the total", lambda: user.ask("return document.getElementById('live-total')"), total)
    user.press("live-resume")
    user.wait_for_state("completed")
    user.see("Agents' distance to the mean")
    result = rd.load(root / "mine")
    assert result.history.iteration.iloc[-1] == total
    assert_ended(json.loads((root / "mine" / "run.json").read_text()).get("driver", {}).get("pid", driver))
    problem = specs.build_problem("robust-logistic", 4, {"data": "synthetic", "samples": 200, "features": 10})
    config = result.config
    ring = specs.build_topology("ring", 4, config["topology"]["spec"]["parameters"])
    method = specs.build_method("dream", config["method"]["parameters"])
    assert method.b == 8
    alone = run(problem, ring, method, iterations=total)
    assert result.history.drop(columns=["seconds", "evaluation_seconds"]).equals(
        alone.history.drop(columns=["seconds", "evaluation_seconds"])
    )

    # It is ticked in the list with another, and compared.
    user.go(address)
    for name in ("mine", "rival"):
        script = (
            "return [...document.querySelectorAll('.line')].find(e => e.innerText.includes(arguments[0]))"
            "?.querySelector('input')"
        )
        user.insist(name, partial(user.ask, script, name), lambda box: box.click())
    user.wait("the link", "return document.getElementById('compare-link').href.includes('rival')")
    user.press("compare-link")
    user.wait_for_points("compare-curve", 20)
    assert user.lines("compare-curve") == ["dream", "gt-gda"]
    user.choose("x", "communication rounds")
    script = "return document.querySelector('#compare-curve .js-plotly-plot').layout.xaxis.title.text === arguments[0]"
    user.wait("the other axis", script, "communication rounds")
    user.wait("the address", "return location.search.includes('x=rounds') && location.search.includes('runs=rival')")

    user.see("To reach ‖∇P(x̄)‖ ≤")

    # The link leads back to the same picture.
    user.go(user.driver.current_url)
    user.wait_for_points("compare-curve", 20)
    user.wait("the other axis", script, "communication rounds")


def assert_ended(pid):
    """The driver, its actors and its Ray are gone."""
    wait_until(lambda: not leftovers(pid), lambda: f"the end of {leftovers(pid)}")


@pytest.mark.parametrize("script", ["live", "compare", "tuning", "topology_lab", "theory"])
def test_every_page_has_a_script(browser, root, script):
    """It prints the address of its page."""
    with dashboard(root, program=[sys.executable, str(SCRIPTS / f"{script}.py"), str(root)]) as found:
        browser.go(found)
        browser.wait("the page", "return document.querySelector('#page .js-plotly-plot')")


def test_runs_that_appear_while_one_looks_are_listed(user, address, root):
    """Also one that has said nothing yet; and the search goes on."""
    user.go(address)
    user.see("rival")
    (root / "silent").mkdir()
    (root / "silent" / "log.txt").write_text("")
    user.see("silent")
    shutil.copytree(root / "rival", root / "newcomer")
    user.see("newcomer")
    user.type("search", "newcomer")
    rows = "return document.querySelectorAll('.line').length"
    user.wait("only that one", rows + " === 1")
    user.type("search", "gt-gda ring")
    user.wait("all of that method", rows + " >= 2")
    user.press("overview-all")
    user.wait("the ticks", "return document.getElementById('compare-link').innerText.includes('ticked')")
    user.press("overview-none")
    user.wait("no ticks", "return document.getElementById('compare-link').innerText === 'Compare'")
    for name in ("silent", "newcomer"):
        shutil.rmtree(root / name)


def test_a_wrong_form_gets_a_sentence(user, address, root):
    """In the page; nothing is started."""
    before = sorted(path.name for path in root.iterdir())
    user.go(f"{address}/new?topology=hypercube&agents=6")
    user.press("new-start")
    user.see("must be a power of two")
    assert sorted(path.name for path in root.iterdir()) == before


def test_a_new_run_that_fails_later_says_why(user, address, root):
    """What the program said last is on the page."""
    user.go(f"{address}/new?data=synthetic&agents=4&backend=local&name=bad&method=ed-gda")
    user.press("new-start")
    user.wait_for_state("failed")
    user.see("allows no constraint on y")
    user.wait(
        "the way back",
        "return [...document.querySelectorAll('#live-actions a')].some(e => e.href.includes('method=ed-gda'))",
    )


@pytest.mark.parametrize("page", ["/run?run={}", "/compare?runs={}", "/report?runs={}", "/{}"])
@pytest.mark.parametrize("name", ["../secret", "..%2Fsecret", "/etc", "....//secret"])
def test_the_root_cannot_be_left(browser, address, page, name):
    """Whatever the address says, nothing of what lies beside the root is shown, and nothing of it is drawn."""
    browser.go(address + page.format(name))
    browser.wait("a page", "return document.body.innerText.trim()")
    if page.startswith("/run"):
        browser.see("must be a run directory below runs/")
    assert "gt-gda" not in browser.text() and "GTGDA" not in browser.text()
    assert max(browser.points("live-curve") + browser.points("compare-curve"), default=0) <= 1
    browser.complaints()  # a refusal is said there too


def test_without_the_token_others_are_refused(browser, root):
    """Neither a page nor a post; with the token both, and the token is not left in the address."""
    with dashboard(root, "--host", "127.0.0.2") as found:
        plain, _, token = found.partition("/?token=")
        assert len(token) >= 32
        browser.go(plain)
        assert "ends with ?token=" in browser.text()
        body = {
            "output": "compare-report.href",
            "outputs": {"id": "compare-report", "property": "href"},
            "inputs": [{"id": {"type": "state", "name": "runs"}, "property": "value", "value": []}],
            "changedPropIds": [],
        }
        posted = (
            "return fetch('/_dash-update-component', { method: 'POST', headers: { 'Content-Type': 'application/json' },"
            f" body: JSON.stringify({json.dumps(body)}) }}).then(answer => answer.status)"
        )
        assert browser.ask(posted) == 401
        browser.go(found)
        browser.see("rival")
        assert token not in browser.driver.current_url
        assert browser.ask(posted) == 200
        browser.driver.delete_all_cookies()
        assert browser.ask(posted) == 401
        browser.complaints()  # refusals are said there too


def test_zooming_in_shows_every_record(user, address, root):
    """A run of 100,000 records is drawn by its extremes; a narrow stretch of it record by record."""
    folder, rows = root / "long", 100_000
    shutil.copytree(root / "rival", folder)
    t = np.arange(rows)
    noise = np.random.default_rng(0).random(rows)
    table = pd.DataFrame(
        {"iteration": t, "sfo": 7 * t, "rounds": t, "primal": 1.0, "grad_norm": np.exp(-3 * t / rows) + noise}
    )
    table.to_csv(folder / "history.csv", index=False)
    user.go(f"{address}/run?run=long")
    drawn = user.wait_for_points("live-curve", 1000)
    assert drawn <= 30_000
    graph = "document.querySelector('#live-curve .js-plotly-plot')"

    def span():
        low, high = user.ask(f"return {graph}._fullLayout.xaxis.range")
        return high - low

    for _ in range(3):  # drag over a tenth of the width, three times
        whole = span()
        user.drag("#live-curve .nsewdrag", 0.5, 0.6, lambda whole=whole: span() < whole / 2)
    assert span() < 1500
    script = (
        f"const [low, high] = {graph}._fullLayout.xaxis.range;"
        f"return [low, high, {graph}.calcdata[0].filter(p => p.x >= low && p.x <= high).map(p => [p.x, p.y])]"
    )

    def every_record_is_drawn():
        low, high, seen = user.ask(script)
        rows_in_sight = range(int(np.ceil(low / 7)), int(high // 7) + 1)
        return seen == [[7 * i, pytest.approx(table.grad_norm[i], rel=1e-12)] for i in rows_in_sight]

    wait_until(every_record_is_drawn, lambda: f"every record of {user.ask(script)}")


def test_fifty_runs_are_compared(user, address, root):
    """All of them are drawn, each in its own line, and listed."""
    names = []
    for number in range(50):
        names.append(f"many/{number}")
        shutil.copytree(root / "rival", root / names[-1])
        record = json.loads((root / names[-1] / "run.json").read_text())
        record["method"]["parameters"]["eta"] = 0.1 + number / 100
        (root / names[-1] / "run.json").write_text(json.dumps(record))
    user.go(f"{address}/compare?" + "&".join(f"runs={name}" for name in names))
    user.wait_for_points("compare-curve", 20)
    assert len(user.lines("compare-curve")) == 50
    user.wait("the table", "return document.querySelectorAll('#compare-table tbody tr').length === 50")


def test_the_lab_shows_how_a_network_mixes(user, address):
    """Another graph has other numbers; the steps run in the browser; a wrong choice gets a sentence."""
    user.go(f"{address}/lab?graph=ring&m=8&k=0")
    user.wait("the network", "return document.querySelector('#lab-network .js-plotly-plot .trace')")
    ring = rd.topology.ring(8)
    user.see(f"{ring.rounds_to_mix(1e-6, 'gossip')}")
    assert f"{ring.second_eigenvalue:.4g}"[:6] in user.text()
    user.choose("graph", "hypercube")
    user.wait(
        "its gap",
        "return document.body.innerText.includes(arguments[0])",
        f"{rd.topology.hypercube(8).spectral_gap:.4g}",
    )
    user.wait("its address", "return location.search.includes('graph=hypercube')")
    user.press("lab-play")
    user.wait("a step", "return /^round ([1-9])/i.test(document.getElementById('lab-round').innerText.trim())")
    user.type("m", 6)
    user.see("must be a power of two")


def test_the_theory_page_computes_what_the_theorem_prescribes(user, address):
    """The same numbers as `rd.theory`, also after a change."""
    user.go(f"{address}/theory?case=offline&L=10&mu=1&epsilon=0.1&psi0=1&m=8&n=1000&graph=own&delta=0.5")
    for epsilon in (0.1, 0.05):
        wanted = rd.theory.dream_parameters(L=10, mu=1, epsilon=epsilon, m=8, delta=0.5, psi0=1, n=1000)
        if epsilon == 0.05:
            user.type("epsilon", epsilon)
        user.wait(
            wanted,
            "return document.body.innerText.replace(/[ ,\\u202f\\u2009]/g, '').includes(arguments[0])",
            str(wanted.iterations),
        )
    user.wait("its address", "return location.search.includes('epsilon=0.05')")
    user.wait("the growth", "return document.querySelector('#theory-sfo .js-plotly-plot .trace')")
    user.type("mu", 100)
    user.see("must not exceed")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1366, 768), (390, 844)], ids=["laptop", "phone"])
@pytest.mark.parametrize("page", ["/", "/run?run=rival", "/compare?runs=rival", "/new", "/lab", "/theory"])
def test_pages_fit_and_follow_the_readers_colours(user, address, page, size, scheme):
    """No page is wider than the screen, and figures are as dark as the page."""
    user.go(address + page, *size, scheme)
    user.wait("the page", "return document.querySelector('#page h1, #page h2')")
    if page not in ("/", "/new"):
        user.wait("a figure", "return document.querySelector('.js-plotly-plot .main-svg')")
        wanted = "rgb(20, 24, 30)" if scheme == "dark" else "rgb(255, 255, 255)"
        script = (
            "const drawn = document.querySelector('.js-plotly-plot .main-svg');"
            "return getComputedStyle(drawn).backgroundColor === arguments[0]"
        )
        user.wait("its colours", script, wanted)
    assert user.ask("return document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_the_page_of_a_run_shows_the_end_of_its_logs(user, address, root):
    """The last 200 lines of what it and its actors printed, and what comes while one looks; markup is text."""
    shutil.copytree(root / "rival", root / "talkative")
    folder = root / "talkative"
    (folder / "log.txt").write_text("".join(f"said {number}.\n" for number in range(1000)))
    user.go(f"{address}/run?run=talkative")
    user.see("said 999.")
    assert "said 800." in user.text() and "said 799." not in user.text()
    assert "What its actors printed" not in user.text()
    (folder / "actors.log").write_text("Agent(agent 0) (7 at 127.0.0.1): <b>hello</b>\n")
    user.see("Agent(agent 0) (7 at 127.0.0.1): <b>hello</b>")
    user.see("What its actors printed")
