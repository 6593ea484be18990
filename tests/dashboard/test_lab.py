"""The topology lab: links restore the page, figures show the topology's own numbers, errors are sentences."""

import json
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("dash")

from raydream import topology as tp
from raydream.dashboard.lab import facts as network_shown
from raydream.dashboard.lab import mixing as mixing_show
from raydream.dashboard.lab import page as lab
from raydream.dashboard.lab.controls import SOMETIMES, hidden
from raydream.dashboard.lab.network import CONTROLS, MOST_AGENTS, OWN, topology_of
from raydream.dashboard.parts import Query, state
from raydream.report import figures
from raydream.specs import TOPOLOGIES

SPEC = {"graph": "ring", "m": 16, "rows": None, "probability": 0.3, "degree": 3, "seed": 0,
        "weights": "metropolis", "self_weight": 0.5, "lazy": []}  # fmt: skip
RING = tp.ring(16)
SENTENCE = re.compile(r"^[^\n]*`[^\n]*`[^\n]*\.$")  # one line that names a parameter


def spec(**changes):
    return {**SPEC, **changes}


def controls(page):
    """The values of the controls by the names that the URL has for them."""
    found = (getattr(part, "id", None) for part in page._traverse())
    names = [one["name"] for one in found if isinstance(one, dict)]
    assert len(set(names)) == len(names)
    return {name: by_id(page, state(name)).value for name in names if hasattr(by_id(page, state(name)), "value")}


def by_id(page, name):
    return next(part for part in page._traverse() if getattr(part, "id", None) == name)


# ---------------------------------------------------------------- the page


def test_a_link_restores_every_control():
    """What the URL names is what the controls hold, and nothing that the URL can name is left out."""
    said = {
        "graph": "erdos-renyi", "m": 33, "rows": 3, "probability": 0.25, "degree": 5, "seed": 7,
        "weights": "max-degree", "self_weight": 0.125, "lazy": ["1"], "tolerance": 1e-4,
        "K": 9, "mixing": "gossip", "momentum": "paper",
        "values": 11, "rounds": 44, "step_momentum": "paper", "k": 12,
    }  # fmt: skip
    search = "?" + "&".join(f"{name}={'1' if name == 'lazy' else value}" for name, value in said.items())
    assert controls(lab.layout(Query(search), None)) == said


def test_a_broken_link_opens_the_default_page():
    """Unknown words and numbers that are none fall back, control by control."""
    broken = "?graph=moebius&m=many&weights=heavy&mixing=stir&momentum=&K=inf&k=nan&rounds=1e999&step_momentum=x&lazy=2"
    assert controls(lab.layout(Query(broken), None)) == controls(lab.layout(Query(""), None))


@pytest.mark.parametrize(("said", "value"), [("k=70&rounds=40", 40), ("k=-5", 0), ("k=20&rounds=900", 20)])
def test_the_slider_stands_within_its_rounds(said, value):
    """Whatever the link says, so that there is a frame for it."""
    slider = by_id(lab.layout(Query(said), None), state("k"))
    assert (slider.value, slider.min) == (value, 0)
    assert slider.max <= network_shown.MOST_ROUNDS


@pytest.mark.parametrize("graph", TOPOLOGIES)
def test_a_graph_shows_the_controls_that_it_has(graph):
    """Those of its builder, no others; a self weight and a momentum where they are chosen."""
    has = {"grid": {"rows"}, "torus": {"rows"}, "erdos-renyi": {"probability", "seed"},
           "random-regular": {"degree", "seed"}}.get(graph, set())  # fmt: skip
    for weights, method in (("metropolis", "gossip"), (OWN, "fastmix")):
        more = {"self_weight", "momentum"} if weights == OWN else set()
        page = lab.layout(Query(f"graph={graph}&weights={weights}&mixing={method}"), None)
        shown = {name for name in SOMETIMES if not by_id(page, f"lab-{name}").hidden}
        assert shown == has | more
        assert {name for name, away in hidden(graph, weights, method).items() if not away} == shown


# ---------------------------------------------------------------- topologies and their numbers


@pytest.mark.parametrize("graph", TOPOLOGIES)
def test_every_graph_gives_figures_as_it_opens(graph):
    """With the parameters that the page opens with: three figures, the steps, and a sentence for each round."""
    opened = controls(lab.layout(Query(f"graph={graph}"), None))
    chosen = {name: opened[name] for name in CONTROLS}
    topology = topology_of(chosen)
    assert topology.m == 16
    assert len(network_shown.picture(topology, False).data[-1].x) == 16
    assert len(network_shown.spectrum(topology, opened["K"], "fastmix", "optimal", True).data) == 3
    drawn, fallen, said = network_shown.steps(topology, opened["values"], opened["rounds"], "optimal", 0, False)
    assert len(drawn.frames) == len(fallen.frames) == len(said) == opened["rounds"] + 1


def test_the_controls_reach_the_builder():
    """The lab's topology is what the builder makes of the same parameters."""
    for chosen, built in [
        (spec(graph="grid", m=12, rows=2, weights="max-degree"), tp.grid(12, rows=2, weights="max-degree")),
        (spec(graph="erdos-renyi", m=20, probability=0.4, seed=5), tp.erdos_renyi(20, 0.4, seed=5)),
        (spec(graph="random-regular", degree=4, seed=3), tp.random_regular(16, 4, seed=3)),
        (spec(weights=OWN, self_weight=0.0), tp.ring(16, self_weight=0.0)),
        (spec(weights="best-constant", lazy=["1"]), tp.ring(16, weights="best-constant").lazy()),
    ]:
        assert abs(topology_of(chosen).W - built.W).max() == 0


def test_a_topology_is_built_once():
    """Several figures of the same controls share it."""
    assert topology_of(spec(m=21)) is topology_of(spec(m=21))


@pytest.mark.parametrize("tolerance", [1e-2, 1e-9])
def test_tiles_show_the_topology_s_own_numbers(tolerance):
    """Eigenvalues, gap and rounds as the package computes them."""
    topology = tp.torus(20, weights="max-degree")
    told = network_shown.facts(topology, tolerance)
    gossip, fast, paper = (topology.rounds_to_mix(tolerance, *way)
                           for way in (("gossip",), ("fastmix",), ("fastmix", "paper")))  # fmt: skip
    assert [told[name] for name in ("agents", "links")] == ["20", str(topology.edges)]
    assert math.isclose(float(told["λ₂"]), topology.second_eigenvalue, rel_tol=1e-5)
    assert math.isclose(float(told["λₘ"]), topology.smallest_eigenvalue, rel_tol=1e-5)
    assert math.isclose(float(told["spectral gap δ"]), topology.spectral_gap, rel_tol=1e-3)
    assert told["positive semidefinite"] == ("yes" if topology.positive_semidefinite else "no")
    assert [told[name] for name in network_shown.WAYS] == [str(gossip), str(fast), str(paper)]
    assert math.isclose(float(told["gossip / FastMix"]), gossip / fast, rel_tol=1e-2)


def test_what_does_not_mix_has_dashes_for_rounds():
    """An even ring without self weights; and one so slow that counting FastMix's rounds would take minutes."""
    never = network_shown.facts(tp.ring(6, self_weight=0.0), 1e-6)
    assert {never[name] for name in (*network_shown.WAYS, "gossip / FastMix")} == {"–"}
    slow = network_shown.facts(tp.ring(6, self_weight=1 - 1e-12), 1e-6)
    assert int(slow["gossip rounds"]) > 1e12
    assert slow["FastMix rounds"] == slow["gossip / FastMix"] == "–"


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"graph": "hypercube", "m": 6}, "power of two"),
        ({"graph": "star", "weights": OWN}, "self_weight"),
        ({"weights": OWN, "self_weight": None}, "self_weight"),
        ({"weights": OWN, "self_weight": 1.0}, "self_weight"),
        ({"m": 401}, "at most 400"),
        ({"m": 0}, "at least 1"),
        ({"m": None}, "`m`"),
        ({"m": 7.5}, "`m`"),
        ({"graph": "grid", "m": 16, "rows": 5}, "divide"),
        ({"graph": "grid", "m": 16, "rows": -4}, "`rows`"),
        ({"graph": "erdos-renyi", "probability": 1.5}, "`probability`"),
        ({"graph": "erdos-renyi", "probability": None}, "`probability`"),
        ({"graph": "erdos-renyi", "probability": 0.001}, "too small"),
        ({"graph": "erdos-renyi", "seed": -1}, "`seed`"),
        ({"graph": "random-regular", "m": 9, "degree": 3}, "even"),
        ({"graph": "random-regular", "m": 64, "degree": 62}, "at most 16"),
        ({"graph": "random-regular", "m": 400, "degree": 200}, "`degree` must be at most 100"),
        ({"graph": "erdos-renyi", "m": 400, "probability": 0.008}, "must be at least 0.011"),
        ({"graph": "erdos-renyi", "seed": 2**53 + 2}, "`seed` must be at most"),
        ({"graph": "star", "m": 5, "weights": "best-constant"}, "best-constant"),
    ],
)
def test_a_bad_combination_is_one_sentence(changes, named):
    """It stands where the figures would be, and these keep out of sight as they were."""
    kept, away, sentence = lab.answer(lambda: lab.checked(spec(**changes)))
    assert away and kept is lab.no_update
    assert named in sentence and SENTENCE.match(sentence)
    assert lab.answer(lambda: lab.checked(spec())) == [spec(), False, ""]


@pytest.mark.parametrize(
    "make",
    [
        lambda: network_shown.spectrum(RING, -1, "fastmix", "optimal", False),
        lambda: network_shown.spectrum(RING, None, "gossip", "optimal", False),
        lambda: network_shown.spectrum(RING, 10**9, "gossip", "optimal", False),
        lambda: network_shown.steps(RING, 0, 61, "optimal", 0, False),
        lambda: network_shown.steps(RING, 0, 0, "optimal", 0, False),
        lambda: network_shown.steps(RING, -1, 30, "optimal", 0, False),
        lambda: network_shown.facts(RING, 0),
        lambda: network_shown.facts(RING, None),
    ],
)
def test_a_bad_number_beside_a_figure_is_one_sentence(make):
    """Naming the control."""
    with pytest.raises((ValueError, TypeError), match=SENTENCE):
        make()


# ---------------------------------------------------------------- mixing, round by round


@settings(deadline=None, max_examples=25)
@given(
    graph=st.sampled_from(["ring", "path", "star", "complete", "exponential", "torus"]),
    m=st.integers(1, 12),
    seed=st.integers(0, 1000),
    rounds=st.integers(1, 20),
    momentum=st.sampled_from(["optimal", "paper"]),
)
def test_frame_k_is_the_mix_of_k_rounds(graph, m, seed, rounds, momentum):
    """Frame k holds `topology.mix(v, k)` for gossip and FastMix, v being frame 0 of both."""
    topology = TOPOLOGIES[graph](m)
    walks = mixing_show.walks(topology, seed, rounds, momentum)
    frames = mixing_show.agents(figures.network(topology), walks).frames
    assert [frame.name for frame in frames] == [str(k) for k in range(rounds + 1)]
    start = np.asarray(frames[0].data[0].marker.color)
    assert np.array_equal(start, np.random.default_rng(seed).standard_normal(m))
    for k, frame in enumerate(frames):
        for trace, method in zip(frame.data, ("gossip", "fastmix"), strict=True):
            mixed = topology.mix(start, k, method, momentum)
            assert np.allclose(trace.marker.color, mixed, rtol=0, atol=1e-12)


def test_the_figures_stand_at_the_round_that_is_asked_for():
    """Without any frame shown yet, they look like frame k; a k beyond the last round is the last."""
    for asked, k in ((7, 7), (50, 30), (None, 0)):
        drawn, fallen, _ = network_shown.steps(RING, 3, 30, "optimal", asked, False)
        for figure in (drawn, fallen):
            for trace, place in zip(figure.frames[k].data, figure.frames[k].traces, strict=True):
                told = trace.to_plotly_json()
                told.pop("type")
                shown = figure.data[place].to_plotly_json()
                for name, value in told.items():
                    pair = (value["color"], shown[name]["color"]) if name == "marker" else (value, shown[name])
                    assert np.array_equal(*pair)


def test_one_range_of_colours_holds_all_rounds_and_centres_on_the_mean():
    """Also where FastMix overshoots the start, as the paper's momentum can."""
    walks = mixing_show.walks(tp.ring(12), 0, 40, "paper")
    scale = mixing_show.agents(figures.network(tp.ring(12)), walks).layout.coloraxis
    rows = np.concatenate([*walks.values()])
    assert scale.cmin <= rows.min() and rows.max() <= scale.cmax
    assert math.isclose((scale.cmin + scale.cmax) / 2, walks["gossip"][0].mean(), abs_tol=1e-12)
    assert scale.colorscale[1][0] == 0.5


def test_the_marks_stand_on_the_lines_of_disagreement():
    """At round k both marks are at k, as high as ||v - mean|| of round k, within the axis."""
    walks = mixing_show.walks(tp.grid(12), 1, 20)
    figure = mixing_show.fall(walks)
    low, high = figure.layout.yaxis.range
    for k, frame in enumerate(figure.frames):
        sizes = [np.linalg.norm(rows[k] - rows[k].mean()) for rows in walks.values()]
        assert list(frame.data[0].x) == [k, k]
        assert np.allclose(frame.data[0].y, sizes, rtol=1e-12)
        assert low < np.log10(sizes).min() and np.log10(sizes).max() < high


def test_the_sentence_tells_what_is_left():
    """Shares of the initial disagreement: 1 at round 0, powers of W's eigenvalue for two agents; 0 for one."""
    two = mixing_show.sentences(mixing_show.walks(tp.ring(2, self_weight=0.8), 0, 3))
    assert two[0] == "round 0: gossip 1, FastMix 1 of the initial disagreement"
    assert two[3].startswith("round 3: gossip 0.22, FastMix ")  # 0.6^3
    alone = mixing_show.sentences(mixing_show.walks(tp.ring(1), 0, 2))
    assert alone[2] == "round 2: gossip 0, FastMix 0 of the initial disagreement"


@pytest.mark.parametrize(("graph", "most"), [("torus", 300_000), ("complete", 1_500_000)])
def test_the_frames_are_small_enough_to_send(graph, most):
    """64 agents take little, and the most that the lab allows, agents, links and rounds, stays below 1.5 MB."""
    m = 64 if graph == "torus" else MOST_AGENTS
    topology = topology_of(spec(graph=graph, m=m))
    drawn, fallen, said = network_shown.steps(topology, 0, network_shown.MOST_ROUNDS, "optimal", 0, True)
    assert len(drawn.to_json()) + len(fallen.to_json()) + len(json.dumps(said)) < most
