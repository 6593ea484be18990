"""The report: figures hold the right numbers, and the page opens from disk, obeys its switches and harms nobody."""

import ast
import base64
import json
import re
import shlex
import shutil
import subprocess
import sys
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browsing import Browser, chromium
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import raydream as rd
from raydream import specs
from raydream.agents.streams import Streams
from raydream.algorithms import METHODS
from raydream.algorithms.state import Iterates
from raydream.backends.registry import backend_again
from raydream.cli import app as cli
from raydream.columns import COLUMNS, COMPARED
from raydream.report import Plot, figures, report, theme, write_report
from raydream.report.collect import Run, collect, grouped
from raydream.report.figures.bands import thinned
from raydream.report.figures.convergence_lines import median_and_band
from raydream.report.figures.lyapunov import pieces
from raydream.report.figures.network import eigenvalues, mixing_residuals
from raydream.report.page.packing import pack
from raydream.report.page.page import page, program_text
from raydream.report.page.reproduce import reproduce
from raydream.storage.record import RunRecord
from raydream.studies.curves import columns_of, cost_to_reach, quantile, quantiles_of, resampled

HOSTILE = "<!--<script </script x><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
CONFIG = {"method": {"name": "dream", "parameters": {"eta": 0.1, "K": 3}}}


def history(rows, seed=0, rate=4.0):
    """A made-up history of a noisy method."""
    draw, t = np.random.default_rng(seed), np.arange(rows)
    coins = draw.random(rows) < 0.1
    rounds = 4 + 6 * t
    norm = np.exp(-rate * t / rows) * (1 + 0.3 * np.abs(draw.standard_normal(rows)))
    return pd.DataFrame(
        {
            "iteration": t,
            "sfo": 2000 + np.cumsum(np.where(coins, 2000, 512)),
            "rounds": rounds,
            "messages": 16 * rounds,
            "bytes": 16 * rounds * 984,
            "seconds": np.cumsum(draw.random(rows) * 1e-3),
            "primal": 0.5 + norm**2 * (1 + 0.01 * draw.standard_normal(rows)),
            "grad_norm": norm,
            "consensus": norm**2 * draw.random(rows),
            "tracking": norm * draw.random(rows),
        }
    )


def table(histories):
    """Histories by (method, seed) as one long table."""
    return pd.concat([h.assign(method=method, seed=seed) for (method, seed), h in histories.items()])


def curves(method="dream", **columns):
    """Runs of one method, one for each row of every column."""
    seeds = range(len(next(iter(columns.values()))))
    return [
        Run(method, seed, {name: np.array(rows[seed], dtype=float) for name, rows in columns.items()}, CONFIG)
        for seed in seeds
    ]


def line(figure, name):
    return next(trace for trace in figure.data if trace.name == name)


@pytest.fixture(scope="module")
def problem():
    return specs.build_problem("quadratic", 6, {"samples": 30, "dim_x": 4, "dim_y": 3})


@pytest.fixture(scope="module")
def ring():
    return specs.build_topology("ring", 6, {"self_weight": 0.5})


@pytest.fixture(scope="module")
def results(problem, ring):
    """DREAM and GT-GDA over three seeds."""
    methods = [rd.DREAM(eta=0.05, gamma=0.5, p=0.2, b=4, K=2, K_large=3), rd.GTGDA(eta=0.05, gamma=0.5)]
    return [
        rd.run(problem, ring, m, iterations=60, seed=s, record_every=2, backend="local", diagnostics=True)
        for m in methods
        for s in range(3)
    ]


# ---------------------------------------------------------------- figures


def test_the_line_is_the_median_and_the_band_its_quartiles():
    """At every recorded place: 3 of (1, 3, 9), and quartiles 2 and 6."""
    runs = curves(iteration=[[0, 1]] * 3, sfo=[[0, 10]] * 3, grad_norm=[[8, 1], [8, 3], [8, 9]])
    low, high, middle = figures.convergence(runs, x="sfo", y="grad_norm").data
    assert list(middle.x) == [0, 10] and list(middle.y) == [8, 3]
    assert list(low.y) == [8, 2] and list(high.y) == [8, 6]


def test_a_run_is_a_step_function_that_ends_where_it_ends():
    """Between records a run keeps its last value; after its end it has none, and the others go on."""
    runs = curves(iteration=[[0, 1], [0, 2]], sfo=[[0, 10], [0, 20]], primal=[[4, 2], [8, 0]])
    grid, median, _, _ = median_and_band(runs, "sfo", "primal", (0.25, 0.75))
    assert list(grid) == [0, 10, 20] and list(median) == [6, 5, 0]


def test_a_seed_that_diverged_counts_as_infinity():
    """It pulls the median up; it does not drop out."""
    runs = curves(iteration=[[0, 1]] * 3, sfo=[[0, 1]] * 3, grad_norm=[[1, 2], [1, 4], [1, np.nan]])
    assert median_and_band(runs, "sfo", "grad_norm", (0.25, 0.75))[1][1] == 4


def test_a_single_run_is_drawn_record_by_record(results):
    """Without seeds there is nothing to average."""
    drawn = figures.convergence(results[0], x="rounds", y="primal").data
    assert len(drawn) == 1
    assert np.array_equal(drawn[0].x, results[0].history["rounds"])
    assert np.array_equal(drawn[0].y, results[0].history["primal"])
    assert "eta=0.05" in drawn[0].hovertemplate


def test_a_log_axis_without_positive_values_stays_linear():
    """There would be nothing to see."""
    runs = curves(iteration=[[0, 1]], sfo=[[0, 0]], primal=[[-1, -2]], grad_norm=[[0, 1]])
    layout = figures.convergence(runs, y="primal", log_x=True, log_y=True).layout
    assert (layout.xaxis.type, layout.yaxis.type) == ("linear", "linear")
    assert figures.convergence(runs, y="grad_norm").layout.yaxis.type == "log"


def test_a_method_keeps_its_colour():
    """Known methods have a colour each; another one's depends on its name alone; configurations differ too."""
    assert len({theme.colour(method) for method in METHODS}) == len(METHODS)
    code = "from raydream.report import theme; print(theme.colour('mine'))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert said == theme.colour("mine")
    assert theme.colour("dream") == "#0072B2"
    looks = [tuple(theme.line("dream", variant).values()) for variant in range(12)]
    assert len(set(looks)) == 12


def test_runs_that_differ_only_in_the_seed_share_a_label(problem, ring, results):
    """What else differs stands in the label."""
    assert list(grouped(collect(results))) == ["dream", "gt-gda"]
    other = rd.run(
        problem, ring, rd.DREAM(eta=0.05, gamma=0.5, p=0.2, b=4, K=1, K_large=3), iterations=2, backend="local"
    )
    labels = list(grouped(collect([*results, other])))
    assert labels[0] == "dream (K=2)" and labels[2].startswith("dream (K=1")


def test_bars_show_the_first_record_at_the_target():
    """Medians over seeds; a seed that does not get there counts as infinity."""
    runs = curves(
        iteration=[[0, 1, 2]] * 3, sfo=[[0, 5, 9], [0, 6, 9], [0, 7, 9]], grad_norm=[[3, 1, 0], [3, 2, 1], [3, 2.5, 2]]
    )
    bar, _ = figures.to_reach(runs, 2.0, costs=("sfo",)).data
    assert bar.x[0] == 6
    bar, said = figures.to_reach(runs, 0.5, costs=("sfo",)).data
    assert bar.x[0] == 0 and bar.text[0] == said.text[0] == "1 of 3 reached"
    bar, _ = figures.to_reach(runs, -1.0, costs=("sfo",)).data
    assert bar.text[0] == "not reached"


def test_bars_are_titled_with_the_metric_and_the_target():
    """Each panel has its cost along the axis; the title is about all of them."""
    runs = curves(iteration=[[0, 1]], sfo=[[0, 5]], seconds=[[0, 1]], grad_norm=[[8, 1]])
    drawn = figures.to_reach(runs, 2.0, costs=("sfo", "seconds"))
    assert drawn.layout.title.text == "to reach ‖∇P(x̄)‖ ≤ 2"
    assert drawn.layout.xaxis2.title.text == theme.axis_name("seconds")
    assert figures.ledger(runs, costs=("sfo",)).layout.title.text == "spent in all"


def test_the_suggested_target_is_reached_by_every_method(results):
    """So the first picture compares all."""
    assert all("not reached" not in bar.text for bar in figures.to_reach(results).data)


def test_with_two_seeds_the_suggested_target_is_reached_too():
    """The median of two runs lies between them, where only one gets."""
    runs = curves(iteration=[[0, 1]] * 2, sfo=[[0, 5]] * 2, grad_norm=[[1, 0.2], [1, 0.4]])
    assert figures.to_reach(runs, costs=("sfo",)).data[0].text == ("5",)


def test_a_method_that_gets_nowhere_does_not_set_the_target():
    """Else one that blows up would move the target to the start."""
    runs = curves(iteration=[[0, 1]], sfo=[[0, 5]], grad_norm=[[8, 1]])
    runs += curves("gt-da", iteration=[[0, 1]], sfo=[[0, 5]], grad_norm=[[8, 900]])
    assert list(figures.to_reach(runs, costs=("sfo",)).data[0].x) == [5, 0]


def test_ledger_bars_are_the_final_bills(results):
    """SFO, rounds, messages, bytes of one run."""
    bill = results[0].ledger
    bars = [bar.x[0] for bar in figures.ledger(results[0]).data if bar.type == "bar"]
    assert bars == [bill.sfo, bill.rounds, bill.messages, bill.bytes]


def test_the_network_figure_tells_every_weight():
    """Links half way with their W_ij, agents with their W_ii."""
    path = rd.topology.path(4)
    *_, links, agents = figures.network(path).data
    assert [(int(i), int(j)) for i, j, _ in links.customdata] == [(0, 1), (1, 2), (2, 3)]
    assert all(path.W[int(i), int(j)] == weight for i, j, weight in links.customdata)
    assert np.array_equal(agents.customdata[:, 1], path.W.diagonal())


def test_the_spectrum_is_that_of_the_ring_and_of_its_rounds():
    """lambda_k = (1 + cos(2 pi k / m)) / 2 for self weight 1/2, and the K-round operator's range."""
    ring = rd.topology.ring(7, self_weight=0.5)
    expected = np.sort((1 + np.cos(2 * np.pi * np.arange(1, 7) / 7)) / 2)
    assert np.allclose(eigenvalues(ring), expected)
    _, after, before = figures.spectrum(ring, K=3).data
    assert np.allclose(before.x, expected)
    assert np.allclose((min(after.y), max(after.y)), ring.mixing_range(3))


def test_report_and_topology_have_the_same_eigenvalues_of_a_large_network():
    """Where not all are computed both look at one grid: the mixing figure is the size of the mixing range."""
    large = rd.topology.ring(1200)
    assert np.array_equal(eigenvalues(large), large.modes)
    left = mixing_residuals(large, 3)
    assert left["FastMix"][3] == np.abs(large.mixing_range(3)).max()


def test_mixing_speed_is_the_size_of_the_mixing_range():
    """For gossip and both momenta, at every number of rounds."""
    star = rd.topology.star(6)
    lines = mixing_residuals(star, 5)
    assert len(lines) == 3
    kinds = [("gossip", "optimal"), ("fastmix", "optimal"), ("fastmix", "paper")]
    for left, (method, momentum) in zip(lines.values(), kinds, strict=True):
        assert np.allclose(left, [np.abs(star.mixing_range(k, method, momentum)).max() for k in range(6)])


def test_the_lyapunov_pieces_add_up(results):
    """Phi = Psi + C/(m eta) + eta V/(m p) + eta U/p, as recorded."""
    for result in results:
        assert np.allclose(sum(pieces(collect(result)[0]).values()), result.history["Phi"])


def test_the_lyapunov_figure_says_which_p_it_assumes(problem, ring):
    """Where the method has a p of its own there is nothing to say."""
    options = {"iterations": 3, "diagnostics": True, "backend": "local"}
    without = rd.run(problem, ring, rd.GTGDA(eta=0.05, gamma=0.5), **options)
    assert figures.lyapunov(without).layout.yaxis.title.text == "Φ and its terms (the method has no p: 1 here)"
    own = rd.run(problem, ring, rd.DREAM(eta=0.05, gamma=0.5, b=4), **options)
    assert figures.lyapunov(own).layout.yaxis.title.text == "Φ and its terms"


def test_the_lyapunov_pieces_of_a_method_that_is_no_dataclass_add_up(problem, ring):
    """Its eta is nowhere in its parameters; the record of the weights has it."""

    class Plain:
        eta = 0.05

        def init(self, agents):
            return Iterates(agents.start())

        def step(self, s, agents, t, coin):
            return Iterates(agents.descend_ascend(s.Z, agents.gradient(s.Z), self.eta, 0.5))

    done = rd.run(problem, ring, Plain(), iterations=3, diagnostics=True, backend="local")
    assert np.allclose(sum(pieces(collect(done)[0]).values()), done.history["Phi"])


def test_the_heat_map_has_a_row_for_each_agent():
    """log10 of the distances, agents upwards, records along."""
    matrix = np.array([[1.0, 10.0, 100.0], [0.1, 1.0, 0.0]])
    (drawn,) = figures.distances(matrix, [0, 5]).data
    assert np.array_equal(drawn.x, [0, 5])
    assert np.array_equal(drawn.z, [[0, -1], [1, 0], [2, np.nan]], equal_nan=True)


def test_the_promise_is_the_theorems(results):
    """Each point of the line is what the theorem prescribes for that accuracy."""
    constants = {"L": 2.0, "mu": 1.0, "psi0": 3.0, "n": 30}
    drawn = figures.convergence(results[0], x="sfo", constants=constants).data[-1]
    assert "promised" in drawn.name
    gap = 1 - results[0].config["topology"]["second_eigenvalue"]
    made = rd.theory.dream_parameters(epsilon=float(drawn.y[7]), m=6, delta=gap, **constants)
    assert drawn.x[7] == made.sfo


def with_config(result, **changes):
    return replace(result, record=RunRecord.from_config({**result.config, **changes}))


def test_a_quadratic_run_offers_the_theorem(problem, results):
    """From what it recorded itself, for whoever opens the page; the line is that of the same constants when given."""
    offered = facts_of(page(collect(results)))["promise"]
    known = problem.constants()
    constants = {"L": known.L, "mu": known.mu, "psi0": rd.theory.starting_gap(problem), "n": 30}
    assert offered is not None and offered == facts_of(page(collect(results), constants=constants))["promise"]


def test_runs_that_the_theorem_treats_differently_have_no_common_line(problem, ring, results):
    """Another network or another problem: one line would be wrong for some of them. One machine does not count."""
    method = rd.DREAM(eta=0.05, gamma=0.5, b=4)
    elsewhere = rd.run(problem, rd.topology.star(6), method, iterations=2, backend="local")
    assert facts_of(page(collect([results[0], elsewhere])))["promise"] is None
    other = specs.build_problem("quadratic", 6, {"samples": 30, "dim_x": 4, "dim_y": 3, "seed": 1})
    another = rd.run(other, ring, method, iterations=2, backend="local")
    assert facts_of(page(collect([results[0], another])))["promise"] is None
    gda = rd.GDA(eta=0.05, gamma=0.5)
    alone = rd.run(problem.pooled(), rd.topology.ring(1), gda, iterations=2, backend="local")
    assert facts_of(page(collect([alone, results[0]])))["promise"] is not None


@pytest.mark.parametrize(
    "said", [None, {}, 7, [1.0], "L", {"L": 1.0}, {"L": 1.0, "mu": 2.0, "psi0": 1.0, "n": 3}, {"L": None}]
)
def test_nonsense_in_a_file_offers_no_theorem_and_harms_no_page(results, said):
    """But nonsense that somebody asks for is an error."""
    assert facts_of(page(collect(with_config(results[0], constants=said))))["promise"] is None
    if said:
        with pytest.raises((TypeError, ValueError, AttributeError)):
            page(collect(results[0]), constants=said)


@pytest.mark.parametrize("q", [1.0, 0.5])
def test_the_papers_counting_follows_from_the_ledger(problem, ring, q):
    """b instead of 2b for a correction and tracker rounds only, checked against the coins themselves."""
    method = rd.DREAM(eta=0.05, gamma=0.5, p=0.3, q=q, b=4, K0=5, K=2, K_large=3)
    result = rd.run(problem, ring, method, iterations=40, seed=3, record_every=7, backend="local")
    (run,) = collect(result)
    streams = Streams(3)
    coins = np.cumsum([0] + [streams.at("coin", iteration=t).random() < 0.3 for t in range(40)])
    t = run.columns["iteration"].astype(int)
    corrections = run.columns["sfo"] - 6 * 30 * (1 + coins[t])
    assert coins[-1] > 0 and corrections[-1] > 0
    assert np.array_equal(run.columns["sfo_paper"], 6 * 30 * (1 + coins[t]) + corrections / 2)
    assert np.array_equal(run.columns["rounds_paper"], 5 + 2 * t + coins[t])


def test_the_plot_object_offers_every_figure(results):
    """One call each, from what the results hold."""
    plot = Plot(results)
    for name in ("convergence", "to_reach", "ledger", "network", "spectrum", "mixing_speed", "lyapunov", "distances"):
        assert getattr(plot, name)().data
    assert plot.spectrum().data[1].name.startswith("2 rounds of fastmix")
    with pytest.raises(ValueError, match="no record of the agents' distances"):
        Plot(table({("dream", 0): history(5)})).distances()


def test_mistakes_get_a_sentence():
    """The argument, the rule, what came."""
    with pytest.raises(ValueError, match=r"`x` must be one of .*; got 'gradients'"):
        figures.convergence(table({("dream", 0): history(5)}), x="gradients")
    with pytest.raises(ValueError, match="`runs` must hold at least one run"):
        write_report("never.html", [])
    with pytest.raises(ValueError, match="must have recorded a metric"):
        write_report("never.html", table({("dream", 0): history(5)[["iteration", "sfo"]]}))
    with pytest.raises(TypeError, match="`runs` must be results"):
        collect(7)


# ---------------------------------------------------------------- data in few bytes


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=300), st.integers(10, 60))
def test_thinning_keeps_ends_and_extremes(values, rows):
    """What a reader would miss is still there, and there is no more than was allowed."""
    curve = np.array(values)
    kept = thinned([curve], rows)
    assert len(kept) <= rows
    assert {0, len(curve) - 1} <= set(kept)
    assert curve[kept].min() == curve.min() and curve[kept].max() == curve.max()


def unpacked(packed, run, name):
    """What the page does to get a column back."""
    body = zlib.decompress(base64.b64decode(packed.text))
    at, kind = packed.runs[run]["columns"][name]
    rows, size = packed.runs[run]["rows"], 4 if kind == "f4" else 8
    planes = np.frombuffer(body[at : at + rows * size], dtype=np.uint8).reshape(size, rows)
    values = np.frombuffer(planes.T.tobytes(), dtype=f"<f{size}").astype(float)
    if kind in ("step", "micro"):
        values = np.cumsum(values) / (1e6 if kind == "micro" else 1)
    return values


def test_packed_columns_come_back_bit_for_bit():
    """Seconds to a microsecond, all else exactly; simulated ones too, which a quick network has few of."""
    quick = {len(one): one.assign(sim_seconds=1e-7 * one.rounds / 3) for one in (history(500), history(300, 1))}
    runs = collect(table({("dream", 0): quick[500], ("gt-da", 0): quick[300]}))
    packed = pack(runs, 10**7)
    assert packed.exact
    for number, run in enumerate(runs):
        for name, column in run.columns.items():
            back = unpacked(packed, number, name)
            assert np.abs(back - column).max() <= (6e-7 if name == "seconds" else 0), name


def test_too_much_data_is_thinned_until_it_fits():
    """Single precision first, then fewer rows, ends kept."""
    runs = collect(table({("dream", 0): history(4000)}))
    full = len(pack(runs, 10**7).text)
    single = pack(runs, int(full * 0.8))
    assert single.rows == 4000 and not single.exact
    few = pack(runs, full // 4)
    assert few.rows < 4000 and len(few.text) <= full // 4
    assert unpacked(few, 0, "iteration")[[0, -1]].tolist() == [0, 3999]


# ---------------------------------------------------------------- the page as text


class Elements(HTMLParser):
    """Every element with its attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def facts_of(text):
    """What the page's program reads."""
    return json.loads(text.split('id="facts">')[1].split("</script>")[0])


def hostile_runs():
    return [
        Run(HOSTILE, HOSTILE, {name: h.to_numpy(float) for name, h in history(20).items()},
            {"method": {"name": HOSTILE, "parameters": {HOSTILE: HOSTILE}}, "problem": {"name": HOSTILE},
             "raydream": HOSTILE, "versions": {HOSTILE: HOSTILE}}, HOSTILE, HOSTILE, [{"note": HOSTILE}])
    ]  # fmt: skip


def test_nothing_is_loaded_from_elsewhere(results, tmp_path):
    """No element refers to another place, and the page's policy forbids it."""
    text = report(results, tmp_path / "r.html").read_text()
    elements = Elements(text)
    assert not [found for found in elements.found if {"src", "href", "srcset", "data", "action"} & found[1].keys()]
    assert "url(" not in text.split("<body>")[0] and "@import" not in text.split("<body>")[0]
    policy = next(a["content"] for tag, a in elements.found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe-eval" not in policy


def test_the_program_knows_columns_from_the_page_alone():
    """What to draw, to count and to compare is handed to it; it names no column itself."""
    program = program_text()
    quoted = {*re.findall(r"""["'`](\w+)["'`]""", program)}
    asked = {*re.findall(r"(?:axes|metrics|promise|costs|targets|columns)\.(\w+)", program)}
    assert len(quoted) > 50 and not (quoted | asked) & {*COLUMNS}
    facts = facts_of(page(collect(table({("dream", 0): history(20)}))))
    assert facts["reach"] == ["sfo", "rounds", "bytes", "seconds"]
    assert facts["bill"] == ["sfo", "rounds", "messages", "bytes"]
    assert [name for name, one in facts["metrics"].items() if one["diverges"]] == ["primal", "grad_norm"]
    assert facts["first"] == {"x": "sfo", "y": "grad_norm"}


def test_what_run_files_say_stays_text():
    """A name that looks like markup adds no element and ends no script."""
    kind = [(tag, a.get("id")) for tag, a in Elements(page(collect(table({("dream", 0): history(20)})))).found]
    text = page(hostile_runs(), HOSTILE, {(HOSTILE, 0): HOSTILE})
    elements = Elements(text)
    assert sum(tag == "script" for tag, _ in elements.found) == kind.count(("script", None)) + 3 == 4
    assert not [tag for tag, _ in elements.found if tag == "img"]
    assert not [a for _, a in elements.found if any(name.startswith("on") for name in a)]
    assert "<" not in text.split('id="facts">')[1].split("</script>")[0]
    assert facts_of(text)["groups"][0]["label"] == HOSTILE


def test_the_page_of_100000_records_is_below_6_megabytes(tmp_path):
    """With every record in it."""
    path = write_report(tmp_path / "big.html", table({("dream", 0): history(100_000)}))
    assert path.stat().st_size < 6_000_000
    assert "All 100,000 records are here" in path.read_text()


def test_the_page_of_50_long_runs_is_below_6_megabytes(tmp_path):
    """Thinned, and it says so."""
    runs = {(name, seed): history(8000, seed) for name in ("dream", "gt-da") for seed in range(25)}
    path = write_report(tmp_path / "many.html", table(runs))
    assert path.stat().st_size < 6_000_000
    assert "of 400,000 records are kept here" in path.read_text()


def test_the_page_replaces_another_as_a_whole(results, tmp_path):
    """Folders are made, and nothing else is left in them."""
    for _ in range(2):
        assert report(results[0], tmp_path / "a" / "r.html", title="A title") == tmp_path / "a" / "r.html"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["r.html"]
    assert "<title>A title</title>" in (tmp_path / "a" / "r.html").read_text()


def test_the_command_makes_the_same_parts_again(results):
    """Method, problem and topology, read from the command as the command line reads it."""
    words = shlex.split(reproduce(collect(results[0])).replace("\\\n", " "))
    assert words[:2] == ["raydream", "run"]
    options = {}
    for option, value in zip(words[2::2], words[3::2], strict=False):
        if option == "--diagnostics":
            break
        options.setdefault(option, []).append(value)
    steps = {name: float(options[f"--{name}"][0]) for name in ("eta", "gamma")}
    made = specs.build_method(options["--method"][0], steps | specs.parse_parameters("--set", options["--set"]))
    assert made == rd.DREAM(**results[0].config["method"]["parameters"])
    assert specs.parse_parameters("--problem-set", options["--problem-set"]) == {"samples": 30, "dim_x": 4, "dim_y": 3}
    assert options["--topology-set"] == ["self_weight=0.5"] and options["--agents"] == ["6"]


AGAIN = {
    "quadratic": (("quadratic", 6, {"samples": 30, "dim_x": 4, "ball": 2.0}), ("ring", 6, {"self_weight": 0.5}),
                  ("dream", {"eta": 0.05, "gamma": 0.5, "p": 0.2, "q": 0.9, "b": 4, "K": 2}), {"seed": 3}),
    "robust logistic": (("robust-logistic", 4, {"samples": 90, "split": "dirichlet", "bias": True}), ("star", 4, {}),
                        ("gt-srvr", {"eta": 0.1, "gamma": 1.0}), {"max_sfo": 3000, "record_every": 3}),
    "online": (("quadratic-online", 5, {"sigma": 0.3, "seed": 2}), ("erdos-renyi", 5, {"probability": 0.7, "seed": 4}),
               ("dm-hsgd", {"eta": 0.01, "gamma": 0.3, "b": 2}), {"diagnostics": True, "target_grad_norm": 0.5}),
}  # fmt: skip


@pytest.mark.parametrize(("problem", "topology", "method", "options"), AGAIN.values(), ids=AGAIN)
def test_the_command_makes_the_same_run_again(problem, topology, method, options, tmp_path, monkeypatch):
    """Typed as it stands, it gives the same history, bit for bit, in every column but the seconds."""
    parts = specs.build_problem(*problem), specs.build_topology(*topology), specs.build_method(*method)
    wanted = rd.run(*parts, iterations=40, backend="local", **options)
    words = shlex.split(reproduce(collect(wanted)).replace("\\\n", " "))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli.app, words[1:])
    assert words[0] == "raydream" and done.exit_code == 0, done.output
    (folder,) = Path("runs").iterdir()
    found = rd.load(folder)
    assert len(wanted.history) > 3
    pd.testing.assert_frame_equal(
        found.history.drop(columns=["seconds", "evaluation_seconds"]),
        wanted.history.drop(columns=["seconds", "evaluation_seconds"]),
        check_exact=True,
    )
    assert np.array_equal(found.distances, wanted.distances) and found.outcome == wanted.outcome
    assert reproduce(collect(found)) == reproduce(collect(wanted))


def test_a_run_from_a_start_of_ones_own_is_made_again_in_python(problem, ring, tmp_path, monkeypatch):
    """The command line has no such option: the sketch takes start.npz, and gives the same bits in its directory."""
    start, method = (np.full(4, 0.3), np.ones(3)), rd.DREAM(eta=0.05, gamma=0.5, b=4)
    wanted = rd.run(problem, ring, method, iterations=20, backend="local", start=start, directory=tmp_path / "r")
    monkeypatch.chdir(tmp_path / "r")
    for told in (wanted, rd.load("."), rd.load(without_the_word("."))):
        sketch, made = reproduce(collect(told)), {}
        assert "raydream run" not in sketch and "start.npz" in sketch
        exec(compile(sketch, "sketch", "exec"), made)
        made["start"].close()
        assert (
            made["result"]
            .history.drop(columns=["seconds", "evaluation_seconds"])
            .equals(wanted.history.drop(columns=["seconds", "evaluation_seconds"]))
        )


def without_the_word(folder):
    """A directory from the time before records said that a start was one's own."""
    record = json.loads(Path(folder, "run.json").read_text())
    assert record.pop("own_start") is True
    Path(folder, "run.json").write_text(json.dumps(record))
    return folder


def test_the_command_names_the_ray_that_was_named(results):
    """And quotes whatever a file says: a copied line runs one program."""
    backend = {"name": "ray", "agents_per_actor": [2, 4], "links": "ray", "placement": "spread", "patience": 9.0}
    told = reproduce(collect(with_config(results[0], backend={**backend, "address": "head:6379; reboot"})))
    assert "--agents-per-actor 2,4 --links ray --placement spread --address 'head:6379; reboot'" in told
    assert "--address" not in reproduce(collect(with_config(results[0], backend=backend)))
    assert reproduce([replace(collect(results[0])[0], seed="$(reboot)")]).endswith("--seed '$(reboot)'")
    sketch = reproduce(collect(with_config(results[0], backend={**backend, "address": "head:6379"}, own_start=True)))
    settings = "agents_per_actor=[2, 4], links='ray', placement='spread', patience=9.0, address='head:6379'"
    assert f"backend=rd.RayBackend({settings})" in sketch


def test_a_named_ray_is_recorded_and_an_own_one_is_not():
    """Whoever goes on with the run gets a Ray of the run's own: the named one may be gone."""
    named = rd.RayBackend(address="head:6379", links="ray").describe()
    assert named["address"] == "head:6379" and "address" not in rd.RayBackend().describe()
    assert backend_again(named) == rd.RayBackend(links="ray")


def test_a_network_is_drawn_once_for_each_way_of_mixing(problem, ring, results):
    """Gossip beside FastMix on the same network adds no picture; other rounds of FastMix do."""
    assert len(facts_of(page(collect(results)))["networks"]) == 1
    other = rd.run(problem, ring, rd.DREAM(eta=0.05, gamma=0.5, b=4, K=4), iterations=1, backend="local")
    assert len(facts_of(page(collect([*results, other])))["networks"]) == 2
    assert len(facts_of(page(collect(results[3:])))["networks"]) == 1


def test_several_seeds_become_a_loop_and_unknown_parts_a_sketch(results):
    """Where the record does not say how a part was built, the reader is told what to put there."""
    assert reproduce(collect(results[:3])).startswith("for seed in 0 1 2; do")
    without = {**results[0].config["topology"], "spec": None}
    sketch = reproduce(collect(with_config(results[0], topology=without)))
    assert "topology = ...  # ring: m=6" in sketch and "method = rd.DREAM(eta=0.05, gamma=0.5" in sketch
    compile(sketch, "sketch", "exec")


EVIL = "evil())\n__import__('os').system('reboot')\rimport os\x0cos.abort()#"
SIZES = {"name": "x", "agents": 6, "samples": 30, "dim_x": 4, "dim_y": 3}


@pytest.mark.parametrize(
    "change",
    [
        {"method": {"name": EVIL, "parameters": {"eta": 1.0}}},
        {"method": {"name": "open", "parameters": {"file": "x", "mode": "w"}}},
        {"method": {"name": "dream", "parameters": {EVIL: 1.0, "eta": EVIL, "class": 1}}},
        {"problem": {"name": EVIL, "agents": 6, "samples": 30, "dim_x": 4, "dim_y": 3}},
        {"problem": {**SIZES, "spec": {"name": "os:system", "parameters": {"command": EVIL}}}},
        {"problem": {**SIZES, "spec": {"name": "quadratic", "parameters": {EVIL: EVIL}}}},
        {"topology": {"name": EVIL, "m": 6, "second_eigenvalue": 0.5}},
        {"topology": {"name": "x", "m": 6, "second_eigenvalue": 0.5, "spec": {"name": EVIL, "parameters": {}}}},
        {"backend": {"name": EVIL, "links": EVIL}},
        {"backend": {"name": "ray", EVIL: EVIL}, "own_start": True},
        {"conditions": {"latency": 1.0}, "own_start": True},
    ],
)  # fmt: skip
@pytest.mark.parametrize("seeds", [[0], ["$(reboot)"], [1, EVIL]])
def test_what_is_told_to_be_copied_calls_nothing_that_a_file_names(results, change, seeds):
    """In Python only this package and numpy are called; in the shell only raydream, with names that it knows."""
    run = collect(with_config(results[0], **change))[0]
    told = reproduce([replace(run, seed=seed) for seed in seeds])
    if told.startswith(("raydream run", "for seed in")):
        assert not {"os:system", EVIL} & {*shlex.split(told.replace("\\\n", " "))} - {*seeds}
        return
    tree = ast.parse(told)
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert calls <= {"rd.run", "rd.DREAM", "rd.RayBackend", "rd.Conditions", "np.load", "specs.build_problem",
                     "specs.build_topology"}  # fmt: skip
    loaded = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)}
    assert loaded <= {"import raydream as rd", "import numpy as np", "from raydream import specs"}
    built = [node.args[0].value for node in ast.walk(tree)
             if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("specs.")]  # fmt: skip
    assert {*built} <= {"quadratic", "ring"}


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_figure_can_be_kept_as_an_image(results, tmp_path, kind):
    """With kaleido, which draws in a browser of its own."""
    pytest.importorskip("kaleido", reason="no kaleido found: install it with pip")
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))):
        pytest.skip("no browser found: install one with `apt-get install chromium`")
    target = tmp_path / f"figure.{kind}"
    results[0].plot.convergence().write_image(target)
    beginning = {"svg": b"<svg", "png": b"\x89PNG\r\n"}[kind]
    assert target.read_bytes().startswith(beginning) and target.stat().st_size > 5000


def test_results_load_no_plotly():
    """Pictures cost nothing to those who do not look."""
    code = "import raydream.storage.result, sys; sys.exit('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# ---------------------------------------------------------------- the page in a browser


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium."""
    with chromium() as driver:
        yield Reader(driver)


class Reader(Browser):
    """Somebody who opens a report, turns its switches, and looks at what is drawn."""

    def open(self, path, *screen):
        self.go(path.as_uri(), *screen)
        self.driver.execute_async_script(
            "const done = arguments[0], root = document.documentElement;"
            "const look = () => root.dataset.ready ? done() : setTimeout(look, 20); look()"
        )

    def put(self, id, value):
        """Choose an option, tick a box, type a number or move a slider."""
        self.ask(
            "const e = document.getElementById(arguments[0]), v = arguments[1];"
            "if (e.type === 'checkbox') e.checked = v; else e.value = v;"
            "for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, { bubbles: true }))",
            id,
            value,
        )

    def press(self, label):
        self.driver.find_element("css selector", f"#legend button[data-label='{label}']").click()

    def axis(self, which):
        script = (
            "const a = document.getElementById('convergence')._fullLayout[arguments[0]]; return [a.title.text, a.type]"
        )
        return tuple(self.ask(script, which))

    def lines(self):
        """The drawn lines that can be seen, by name."""
        script = (
            "return document.getElementById('convergence').data.filter(t => t.meta === 'line' && t.visible !== false)"
            ".map(t => [t.name, Array.from(t.x), Array.from(t.y)])"
        )
        return {name: (np.array(x, dtype=float), np.array(y, dtype=float)) for name, x, y in self.ask(script)}

    def bars(self, id, number=0):
        script = (
            "const d = document.getElementById(arguments[0]).children[arguments[1]].data;"
            "return d[0].customdata.map((name, i) => [name, d[0].x[i], d[1].text[i]])"
        )
        return {name: (value, text) for name, value, text in self.ask(script, id, number)}


@pytest.fixture
def reader(browser):
    """The browser; whatever was done with it, nothing complained in the console and nothing was loaded."""
    browser.complaints()
    yield browser
    assert browser.complaints() == []
    assert browser.ask("return performance.getEntriesByType('resource').map(entry => entry.name)") == []


@pytest.fixture(scope="module")
def page_file(results, tmp_path_factory):
    constants = {"L": 2.0, "mu": 1.0, "psi0": 3.0, "n": 30}
    return report(results, tmp_path_factory.mktemp("report") / "r.html", constants=constants)


def test_the_page_draws_the_numbers_of_the_python_figures(reader, page_file, results):
    """Same medians, same places."""
    reader.open(page_file)
    drawn = reader.lines()
    assert list(drawn) == ["dream", "gt-gda"]
    runs = grouped(collect(results))["dream"]
    grid, median, _, _ = median_and_band(runs, "sfo", "grad_norm", (0.25, 0.75), points=10_000)
    assert np.array_equal(drawn["dream"][0], grid)
    assert np.array_equal(drawn["dream"][1], median)


def test_the_page_counts_as_python_does(reader, tmp_path):
    """Medians, quartiles and costs of a target over seeds that diverge, stop early, and were recorded by older ones."""
    runs = {("dream", seed): history(30, seed).iloc[: 30 - 4 * seed] for seed in range(4)}
    for seed in (1, 2):
        runs["dream", seed].loc[12 + seed :, ["primal", "grad_norm"]] = np.nan
    runs["dream", 3] = runs["dream", 3].assign(messages=np.nan)
    reader.open(write_report(tmp_path / "r.html", table(runs)))
    told = [columns_of(one) for one in runs.values()]
    drawn = "return document.getElementById('convergence').data.map(t => [Array.from(t.x), Array.from(t.y)])"
    for x, of in (("sfo", told), ("messages", told[:3])):
        reader.put("x", x)
        low, high, middle = reader.ask(drawn)
        grid = np.array(middle[0])
        wanted = quantiles_of(resampled(of, x, "grad_norm", grid), (0.25, 0.75, 0.5))
        for (_, seen), values in zip((low, high, middle), wanted, strict=True):
            assert np.array_equal(np.array(seen, dtype=float), np.where(np.isfinite(values), values, np.nan), True)
    reader.put("target", 0.4)
    for number, cost in enumerate(COMPARED):
        spent = quantile([cost_to_reach(one, 0.4, "grad_norm")[cost] for one in told], 0.5)
        assert reader.bars("reach", number)["dream"][0] == pytest.approx(spent, abs=1e-6)


def test_the_x_axis_can_be_switched(reader, page_file, results):
    """To every cost, the paper's counting too, and each line follows."""
    reader.open(page_file)
    for name in ("rounds", "bytes", "seconds", "iteration", "messages", "sfo_paper", "rounds_paper"):
        reader.put("x", name)
        assert reader.axis("xaxis") == (theme.axis_name(name), "linear")
        runs = grouped(collect(results))["gt-gda"]
        assert reader.lines()["gt-gda"][0].max() == pytest.approx(max(run.last(name) for run in runs), abs=1e-6)


def test_the_metric_and_the_scales_can_be_switched(reader, page_file, results):
    """P is linear by itself, errors are logarithmic, and both axes can be either."""
    reader.open(page_file)
    assert reader.axis("yaxis") == (theme.axis_name("grad_norm"), "log")
    reader.put("y", "primal")
    assert reader.axis("yaxis") == (theme.axis_name("primal"), "linear")
    reader.put("y", "consensus")
    assert reader.axis("yaxis") == (theme.axis_name("consensus"), "log")
    assert "cannot be shown on a log axis" in reader.ask("return document.getElementById('note').textContent")
    reader.put("log-y", False)
    reader.put("log-x", True)
    assert (reader.axis("yaxis")[1], reader.axis("xaxis")[1]) == ("linear", "log")
    last = max(run.last("consensus") for run in grouped(collect(results))["gt-gda"])
    assert reader.lines()["gt-gda"][1][-1] <= last


def test_traces_can_be_toggled(reader, page_file):
    """A hidden method leaves the lines and the bars, and comes back."""
    reader.open(page_file)
    reader.press("dream")
    assert list(reader.lines()) == ["gt-gda"] == list(reader.bars("reach"))
    reader.press("dream")
    assert list(reader.lines()) == ["dream", "gt-gda"] == list(reader.bars("ledger"))


def test_the_target_can_be_moved(reader, page_file, results):
    """By number and by slider; the bars are those of the Python figure."""
    reader.open(page_file)
    for target in (0.5, 0.05):
        reader.put("target", target)
        bar, _ = figures.to_reach(results, target, costs=("sfo",)).data
        for label, wanted, said in zip(bar.customdata, bar.x, bar.text, strict=True):
            value, text = reader.bars("reach")[label]
            assert value == wanted and ("reached" in text) == ("reached" in said)
    before = reader.bars("reach")
    reader.put("slider", 900)
    assert float(reader.ask("return document.getElementById('target').value")) > 0.05
    assert reader.bars("reach") != before
    reader.put("metric", "primal")
    assert float(reader.ask("return document.getElementById('target').value")) != 0


def test_the_other_figures_are_there(reader, page_file):
    """Network, spectrum, mixing speed, the Lyapunov function and the agents' distances."""
    reader.open(page_file)
    drawn = "return document.getElementById(arguments[0]).querySelectorAll('.trace').length"
    for name in ("network", "spectrum", "mixing", "lyapunov"):
        assert reader.ask(drawn, name) > 1
    reader.put("which-lyapunov", "1")
    reader.put("log-lyapunov", True)
    assert reader.ask("return document.getElementById('lyapunov')._fullLayout.yaxis.type") == "log"


def test_the_heat_map_shows_the_recorded_distances(reader, page_file, results):
    """A row of cells for each agent, of the first seed of the chosen method."""
    reader.open(page_file)
    cells = (
        "const t = document.getElementById('distances')._fullData[0];"
        "return [document.querySelectorAll('#distances .hm image').length, Array.from(t.x),"
        " Array.from(t.z, row => Array.from(row))]"
    )
    for number, result in (("0", results[0]), ("1", results[3])):
        reader.put("which-distances", number)
        images, times, z = reader.ask(cells)
        assert images == 1 and times == list(result.history.iteration)
        assert np.allclose(np.array(z, dtype=float)[:, 1:], np.log10(result.distances[1:].T), atol=1e-6)


def test_what_was_not_recorded_is_not_shown(reader, tmp_path):
    """No empty sections, and no theorem without its constants."""
    reader.open(write_report(tmp_path / "r.html", table({("dream", 0): history(20)})))
    for name in ("s-distances", "s-lyapunov", "s-network", "promise-label"):
        assert not reader.ask("return document.getElementById(arguments[0]).checkVisibility()", name)


def test_the_theorem_can_be_laid_over_the_measurement(reader, page_file):
    """On a log axis, because it promises so much less than is seen."""
    reader.open(page_file)
    reader.put("promise", True)
    names = reader.ask("return document.getElementById('convergence').data.map(t => t.name)")
    assert names[-1] == "theorem" and reader.axis("xaxis")[1] == "log"


def test_zooming_in_shows_every_record(reader, tmp_path):
    """100,000 records are thinned for display; a stretch of 300 shows each, to the bit, and zooming out thins again."""
    records = history(100_000)
    reader.open(write_report(tmp_path / "big.html", table({("dream", 0): records})))
    reader.put("x", "iteration")
    assert len(reader.lines()["dream"][0]) < 2500
    zoom = "Plotly.relayout('convergence', { 'xaxis.range[0]': 50000, 'xaxis.range[1]': 50300 })"
    reader.ask(f"return {zoom}.then(() => true)")
    x, y = reader.lines()["dream"]
    assert set(range(50_000, 50_301)) <= set(x)
    assert np.array_equal(y, records["grad_norm"].to_numpy()[x.astype(int)])
    reader.ask("return Plotly.relayout('convergence', { 'xaxis.autorange': true }).then(() => true)")
    x, y = reader.lines()["dream"]
    assert len(x) < 2500 and (x[0], x[-1]) == (0, 99_999) and y.max() == records["grad_norm"].max()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1366, 768), (390, 844)], ids=["laptop", "phone"])
def test_the_page_fits_and_follows_the_readers_colours(reader, page_file, size, scheme):
    """No sideways scrolling, ink and paper far apart."""
    reader.open(page_file, *size, scheme)
    assert reader.ask("return document.documentElement.scrollWidth <= innerWidth")
    paper, ink = (
        sum(map(int, reader.ask(f"return getComputedStyle(document.body).{which}.match(/\\d+/g).slice(0, 3)")))
        for which in ("backgroundColor", "color")
    )
    assert (ink - paper > 500) == (scheme == "dark") and abs(ink - paper) > 500


def test_hostile_names_do_nothing_in_the_browser(reader, tmp_path):
    """They are shown as they are."""
    target = tmp_path / "hostile.html"
    target.write_text(page(hostile_runs(), HOSTILE, {(HOSTILE, 0): HOSTILE}))
    reader.open(target)
    assert reader.ask("return [window.hacked ?? null, document.images.length]") == [None, 0]
    assert reader.ask("return document.querySelector('#runs td').textContent") == HOSTILE
    assert reader.ask("return document.getElementById('convergence').querySelectorAll('img, a[href]').length") == 0
