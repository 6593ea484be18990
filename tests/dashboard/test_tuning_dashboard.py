"""Tunings in the dashboard: found below the root, believed where they make sense, followed while they grow."""

import json
import os
import shutil
import threading
import time
from functools import partial
from pathlib import Path

import pytest
import waitress
from browsing import Browser, chromium
from waiting import PATIENCE, wait_until

import raydream as rd
from raydream.algorithms.facts import Range
from raydream.dashboard.app import make_app
from raydream.dashboard.compare import page as compare_page
from raydream.dashboard.parts import Query
from raydream.dashboard.tuning import page as tuning_page
from raydream.dashboard.tuning import shown
from raydream.dashboard.watching.jobs import Jobs
from raydream.dashboard.watching.runs import Runs
from raydream.dashboard.watching.trials import MOST_PARAMETERS, Trials
from raydream.dashboard.watching.tunings import Tunings
from raydream.problems import QuadraticGame
from raydream.report.tables.rounding import rounded
from raydream.report.tuning import words
from raydream.report.tuning.page import page
from raydream.report.tuning.won import won

OLD = Path(__file__).parents[1] / "golden" / "v0.1.0" / "tune"
HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
GAME, RING = QuadraticGame.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=1), rd.topology.ring(4)
SPACE = {"eta": Range(0.01, 3.0), "gamma": Range(0.03, 30.0), "K": (1, 2), "b": 2, "b_large": 4}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A finished tuning two folders down, and a secret one beside the root."""
    folder = tmp_path_factory.mktemp("tunings")
    tune = partial(rd.tune, GAME, RING, budget=2000, workers=1, search="halving", trials=9, widen=0)
    space = {"dream": SPACE, "gt-gda": {"eta": (0.01, 0.1, 1.0, 1e9), "gamma": (0.3, 1.0)}}
    tune(["dream", "gt-gda"], space=space, directory=folder / "runs" / "deep" / "halving")
    tune(["dream"], space=SPACE, directory=folder / "secret")
    methods = {"dream": rd.DREAM(eta=0.1, gamma=0.3, b=2), "slow": rd.GTGDA(eta=0.001, gamma=0.3)}
    rd.compare(GAME, RING, methods, seeds=(0, 1, 2), max_sfo=500, backend="local", parallel=False,
               directory=folder / "runs" / "compared")  # fmt: skip
    return folder / "runs"


def unfinished(root, folder, lines):
    """A tuning that is under way, with its first so many trials."""
    folder.mkdir(parents=True)
    text = (root / "deep" / "halving" / "trials.jsonl").read_text().splitlines(keepends=True)
    (folder / "trials.jsonl").write_text("".join(text[:lines]))
    return text[lines:]


# ---------------------------------------------------------------- folders


def test_every_tuning_below_the_root_is_found(root):
    """By its path from there; runs are not tunings, and tunings are not runs."""
    assert Tunings(root).names() == ["deep/halving"]
    assert not [name for name in Runs(root).names() if "halving" in name] and len(Runs(root).names()) == 6


@pytest.mark.parametrize(
    "name",
    ["../secret", "deep/halving/../../../secret", "/etc", "..", "", ".", "deep", "a\0b", "~", "link", "x" * 5000],
)  # fmt: skip
def test_nothing_outside_the_root_is_read(root, name):
    """Whatever the name says, also through a link that somebody laid."""
    link = root / "link"
    if not link.is_symlink():
        link.symlink_to(root.parent / "secret", target_is_directory=True)
    assert (root.parent / "secret" / "tuning.json").exists()
    with pytest.raises(ValueError, match=r"must be a directory of a tuning below runs/"):
        Tunings(root).folder(name)
    client = make_app(Jobs(Runs(root))).server.test_client()
    assert client.get("/report", query_string={"tuning": name}).status_code == 404
    assert "link" not in Tunings(root).names()


def test_files_that_are_links_are_not_read(root, tmp_path):
    """Neither trials nor what was found."""
    (tmp_path / "t").mkdir()
    for name in ("trials.jsonl", "tuning.json", "best.json"):
        (tmp_path / "t" / name).symlink_to(root / "deep" / "halving" / name)
    assert Tunings(tmp_path).look("t").tuning() is None


# ---------------------------------------------------------------- watching


def test_a_finished_tuning_is_what_loading_says(root):
    """The same records, winners, table and words."""
    seen, loaded = Tunings(root).look("deep/halving"), rd.Tuning.load(root / "deep" / "halving")
    found = seen.tuning()
    assert seen.state == "completed" and found.winners.keys() == loaded.winners.keys() == {"dream", "gt-gda"}
    assert all(one.items() <= loaded.winners[label].items() for label, one in found.winners.items())
    assert won(found).texts == won(loaded).texts and words.lead(found) == words.lead(loaded)
    assert found.grid("dream") == loaded.grid("dream")


def test_trials_are_followed_while_they_grow(root, tmp_path):
    """In pieces of any size, also where a line is half written; each look reads what is new."""
    rest = unfinished(root, tmp_path / "t", 1)
    whole = "".join(rest).encode()
    tunings, seen = Tunings(tmp_path), []
    for start in range(0, len(whole), 997):
        with open(tmp_path / "t" / "trials.jsonl", "ab") as file:
            file.write(whole[start : start + 997])
        watched = tunings.look("t")
        seen.append((watched.version, len(watched.tuning().records)))
    assert seen == sorted(seen) and seen[-1][1] == len(rest) + 1 and seen[0][1] < 5
    loaded = rd.Tuning.load(root / "deep" / "halving")
    found = watched.tuning()
    assert {one["key"] for one in found.records} == {one["key"] for one in loaded.records}
    assert watched.state == "running" and found.winners.keys() == loaded.winners.keys()
    assert {label: one["score"] for label, one in found.winners.items()} == {
        label: one["score"] for label, one in loaded.winners.items()
    }


def test_the_best_so_far_is_of_the_largest_budget_so_far(root, tmp_path):
    """A trial with less to spend is not compared with one with more; and by another metric another one may lead."""
    records = [json.loads(line) for line in (root / "deep" / "halving" / "trials.jsonl").read_text().splitlines()]
    own = [one for one in records if one["method"] == "dream"]
    first = [one for one in own if one["budget"] < 400]
    (tmp_path / "t").mkdir()
    worse = {**max(own, key=lambda one: one["budget"]), "primal": 0.8, "grad_norm": 0.3, "key": "late"}
    chosen = [*first, {**worse, "parameters": first[0]["parameters"]}]
    (tmp_path / "t" / "trials.jsonl").write_text("".join(json.dumps(one) + "\n" for one in chosen))
    found = Tunings(tmp_path).look("t").tuning()
    assert found.winners["dream"]["score"] == 0.8
    assert Tunings(tmp_path).look("t").tuning("grad_norm").winners["dream"]["score"] == 0.3


def test_before_the_end_nothing_is_said_that_is_not_known(root, tmp_path):
    """Neither edges, nor the search, nor how many there will be; the metric is the reader's choice."""
    unfinished(root, tmp_path / "t", 12)
    watched = Tunings(tmp_path).look("t")
    found = watched.tuning("grad_norm")
    assert found.metric == "grad_norm" and "known when it ends" in words.lead(found)
    assert {row[8] for row in won(found).texts} == {"-"} and " of " not in won(found).texts[0][1]
    assert "largest budget so far" in words.tiles(found) and "search" not in words.tiles(found)
    assert shown.drawn(found, "dream", False)


def test_a_tuning_without_news_is_called_silent(root, tmp_path):
    """And how to go on with it."""
    unfinished(root, tmp_path / "t", 3)
    then = time.time() - 3600
    os.utime(tmp_path / "t" / "trials.jsonl", (then, then))
    watched = Tunings(tmp_path).look("t")
    assert watched.state == "silent" and "the same command goes on" in watched.reason


def test_further_trials_in_a_finished_directory_are_told(root, tmp_path):
    """They belong to another call; what is shown is what tuning.json names."""
    shutil.copytree(root / "deep" / "halving", tmp_path / "t")
    before = len(Tunings(tmp_path).look("t").tuning().records)
    line = json.loads((tmp_path / "t" / "trials.jsonl").read_text().splitlines()[0])
    with open(tmp_path / "t" / "trials.jsonl", "a") as file:
        file.write(json.dumps({**line, "key": "another"}) + "\n")
    watched = Tunings(tmp_path).look("t")
    assert len(watched.tuning().records) == before and "1 trials of another call" in watched.reason


def test_a_tuning_of_version_0_1_0_is_shown(tmp_path):
    shutil.copytree(OLD, tmp_path / "old")
    watched = Tunings(tmp_path).look("old")
    assert watched.state == "completed" and watched.tuning().winners["gt-gda"]["score"] == 0.49778700494169364
    assert won(watched.tuning()).texts == won(rd.Tuning.load(tmp_path / "old")).texts
    assert shown.drawn(watched.tuning(), "dream", True)


SENSELESS = [
    {"parameters": []}, {"parameters": {"eta": {"a": 1}}}, {"parameters": {"eta": [1]}}, {"method": 7},
    {"method": None}, {"seed": "x"}, {"budget": "many"}, {"budget": -1}, {"budget": float("nan")},
    {"axis": "os:system"}, {"primal": "x"}, {"primal": float("inf")}, {"started": 5}, {"started": {"primal": "x"}},
    {"outcome": {}}, {"key": None}, {"method": "\ud800"}, {"parameters": {"\udfff": 1}}, {"sfo": "x"},
    {"parameters": {"eta": "x" * 10**5}}, {"parameters": {str(i): i for i in range(MOST_PARAMETERS + 1)}},
]  # fmt: skip


@pytest.mark.parametrize("change", SENSELESS, ids=lambda one: str(one)[:40])
def test_a_senseless_trial_is_passed_over(root, tmp_path, change):
    """The others are shown."""
    line = json.loads((root / "deep" / "halving" / "trials.jsonl").read_text().splitlines()[0])
    (tmp_path / "t").mkdir()
    bad = json.dumps({**line, "key": "bad", **change})
    (tmp_path / "t" / "trials.jsonl").write_text(f'{json.dumps(line)}\n{bad}\n[1]\nnonsense\n"x"\n{"[" * 100_000}\n')
    watched = Tunings(tmp_path).look("t")
    assert [one["key"] for one in watched.tuning().records] == [line["key"]]


ABOUT = [
    {"methods": []}, {"methods": {"dream": 5}}, {"seeds": "x"}, {"grids": {"dream": {"eta": {"low": 3, "high": 1}}}},
    {"grids": {"dream": {"eta": {"low": "a"}}}}, {"grids": 5}, {"trials": 7}, {"configurations": {"dream": 5}},
    {"metric": "os"}, {"budget": "x"}, {"axis": "x"}, {"said": {"dream": 5}}, {"search": 5}, {"setting": 5},
    {"setting": {"problem": {"name": 5}}}, {"seed": {}}, {"space": {}}, {"grids": {"dream": {"eta": [{"a": 1}]}}},
]  # fmt: skip


@pytest.mark.parametrize("change", ABOUT, ids=str)
def test_whatever_tuning_json_says_pages_are_shown(root, tmp_path, change):
    """Where it cannot be believed, the trials are shown as of a tuning under way."""
    for name in ("good", "bad"):
        shutil.copytree(root / "deep" / "halving", tmp_path / name)
    about = json.loads((tmp_path / "bad" / "tuning.json").read_text()) | change
    (tmp_path / "bad" / "tuning.json").write_text(json.dumps(about))
    best = json.loads((tmp_path / "bad" / "best.json").read_text())
    best |= {name: value for name, value in change.items() if name in best}
    (tmp_path / "bad" / "best.json").write_text(json.dumps(best))
    watched = Tunings(tmp_path).look("bad")
    assert watched.state in ("damaged", "completed") and (watched.state == "completed") == ("setting" in change)
    assert len(watched.tuning().records) > 10
    assert shown.told(watched, "primal", "runs") and shown.drawn(watched.tuning(), "dream", False)
    client = make_app(Jobs(Runs(tmp_path))).server.test_client()
    assert client.get("/report?tuning=bad").status_code == 200
    assert Tunings(tmp_path).look("good").state == "completed"


@pytest.mark.parametrize("best", ["{", "[]", "null", "{}", '{"best": {"dream": 5}}', '{"best": {"x": {}}}'])
def test_a_damaged_best_json_breaks_nothing(root, tmp_path, best):
    shutil.copytree(root / "deep" / "halving", tmp_path / "t")
    (tmp_path / "t" / "best.json").write_text(best)
    watched = Tunings(tmp_path).look("t")
    assert watched.state == "damaged" and shown.told(watched, "primal", "runs")


def test_too_much_is_not_read(root, tmp_path, monkeypatch):
    """A file beyond all bounds is left alone."""
    shutil.copytree(root / "deep" / "halving", tmp_path / "t")
    monkeypatch.setattr(Trials, "most", 100)
    assert Tunings(tmp_path).look("t").tuning() is None


# ---------------------------------------------------------------- pages


def text_of(part):
    """All words of a page's parts."""
    if isinstance(part, str):
        return part
    children = part if isinstance(part, list | tuple) else getattr(part, "children", None)
    return " ".join(
        text_of(child) for child in (children if isinstance(children, list | tuple) else [children]) if child
    )


def test_the_page_shows_what_the_report_shows(root):
    """Table, hint and the same figures; the hint names no place outside the root."""
    watched = Tunings(root).look("deep/halving")
    said = text_of(shown.told(watched, "primal", "runs"))
    for row in won(watched.tuning()).texts:
        assert all(cell in said for cell in row if cell)
    assert "rd.compare(problem, best='runs/deep/halving')" in said
    assert str(root.parent) not in said
    parts = text_of(shown.drawn(watched.tuning(), "dream", False))
    assert "rung 3" in parts and "Kruskal and Wallis" in parts


def test_the_page_is_restored_from_its_address(root):
    """Tuning, method and metric."""
    jobs = Jobs(Runs(root))
    page = str(tuning_page.layout(Query("?tuning=deep/halving&method=gt-gda&metric=grad_norm"), jobs))
    assert "value='gt-gda'" in page and "value='grad_norm'" in page and "value='deep/halving'" in page
    lost = str(tuning_page.layout(Query("?tuning=../secret&method=<script>&metric=os"), jobs))
    assert "secret" not in lost and "script" not in lost and "value='deep/halving'" in lost
    assert "There is no tuning" in text_of(tuning_page.layout(Query(""), Jobs(Runs(root / "compared"))))


def test_the_report_of_a_tuning_is_the_report(root):
    """The very page that `raydream report` writes, but for the name of its place."""
    client = make_app(Jobs(Runs(root))).server.test_client()
    answer = client.get("/report?tuning=deep/halving")
    loaded = rd.Tuning.load(root / "deep" / "halving")
    loaded.directory = Path("runs/deep/halving")
    assert answer.text == page(loaded)
    assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'none'"


def test_compared_runs_have_medians_intervals_and_a_verdict(root):
    """As the comparison has them; of runs without a seed in common the page says why there is none."""
    jobs, compared = Jobs(Runs(root)), rd.Comparison.load(root / "compared")
    names = [f"compared/{method}/seed-{seed}" for method in ("dream", "slow") for seed in (0, 1, 2)]
    said = text_of(compare_page.judged(jobs.look_at(names), False))
    for metric in ("primal", "grad_norm"):
        assert compared.verdict(metric).replace("slow", "gt-gda") in said, "called after their methods"
    end = compared.finals("primal").iloc[0]
    assert rounded(end["median"], end["low"], end["high"]).text in said
    apart = text_of(compare_page.judged(jobs.look_at([names[0], names[4]]), False))
    assert "share no seed" in apart and not compare_page.judged(jobs.look_at(names[:1]), False)


def test_compared_runs_in_which_y_has_not_followed_are_marked(root):
    """In the table, and in the legend."""
    jobs = Jobs(Runs(root))
    seen = jobs.look_at(["compared/dream/seed-0", "compared/slow/seed-0"])
    assert text_of(compare_page.listed(seen)).count("y has not followed") == 1


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def address(root):
    """A server in this process."""
    server = waitress.create_server(make_app(Jobs(Runs(root))).server, host="127.0.0.1", port=0, threads=4)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.effective_port}"
    server.close()
    thread.join(timeout=PATIENCE)


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield Browser(driver)


def see(browser, what, script, *arguments):
    return wait_until(lambda: browser.ask(script, *arguments), lambda: f"{what}; it says: {browser.text()[:1500]}")


@pytest.mark.parametrize(("size", "scheme"), [((1366, 768), "light"), ((390, 844), "dark")])
def test_the_page_follows_a_tuning_that_grows(browser, address, root, size, scheme):
    """Trials appear as they are written, the end is noticed, and the method that is chosen stays chosen."""
    name = f"growing-{scheme}"
    rest = unfinished(root, root / name, 4)
    browser.go(f"{address}/tuning?tuning={name}&method=gt-gda", *size, scheme)
    marks = "return [...document.querySelectorAll('#tuning-drawn .panels .points path')].length"
    before = see(browser, "marks", marks)
    see(browser, "its state", "return document.querySelector('#tuning-title .state')?.innerText === 'running'")
    with open(root / name / "trials.jsonl", "a") as file:
        file.write("".join(rest))
    see(browser, "more marks", f"{marks} > arguments[0]", before)
    for file in ("tuning.json", "best.json"):
        shutil.copy(root / "deep" / "halving" / file, root / name / file)
    see(browser, "its end", "return document.querySelector('#tuning-title .state')?.innerText === 'completed'")
    see(browser, "the table", "return document.body.innerText.includes('halving')")
    see(browser, "the method", "return location.search.includes('method=gt-gda')")
    wanted = "rgb(20, 24, 30)" if scheme == "dark" else "rgb(255, 255, 255)"
    colour = "return getComputedStyle(document.querySelector('#tuning-drawn .main-svg')).backgroundColor"
    see(browser, "its colours", f"{colour} === arguments[0]", wanted)
    assert browser.ask("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert browser.complaints() == []
    shutil.rmtree(root / name)


def test_hostile_names_do_nothing_in_the_browser(browser, address, root):
    """Folder, method and parameter are shown as they are."""
    name = "evil & <img src=x onerror=hacked=1>"
    rest = unfinished(root, root / name, 0)
    lines = [
        {**json.loads(line), "method": HOSTILE, "parameters": {HOSTILE: i, "eta": 0.1 * (i + 1)}}
        for i, line in enumerate(rest[:6])
    ]
    (root / name / "trials.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    browser.go(f"{address}/tuning?" + "tuning=evil+%26+%3Cimg+src%3Dx+onerror%3Dhacked%3D1%3E")
    see(browser, "the name", "return document.body.innerText.includes(arguments[0])", HOSTILE)
    see(browser, "a figure", "return document.querySelector('#tuning-drawn .points path')")
    assert browser.ask("return [window.hacked ?? null, document.querySelectorAll('img').length]") == [None, 0]
    assert browser.complaints() == []
    shutil.rmtree(root / name)
