"""The winner map of the paper's problem: every method brings to each price the best of its configurations."""

import numpy as np
import pytest
import winner_map
from test_ablations import outcome_of
from test_ablations import texts as texts

from raydream.studies.places import PLACES
from raydream.studies.prices import seconds_at


@pytest.fixture(scope="module")
def rows():
    """Made-up runs: one configuration saves calls, the other rounds, and a method that never gets there."""
    about = {"data": "made up", "target": 1.0, "parameters": "{}", "max_sfo": 1, "max_rounds": 1, "diverged": False}
    spent = {("a", "sfo"): (80, 100), ("a", "rounds"): (8000, 10), ("b", "sfo"): (160, 50), ("b", "rounds"): (1600, 40)}
    return [
        {**about, "method": method, "tuned_for": by, "seed": seed, "reached": True, "sfo": sfo + 8 * seed,
         "rounds": rounds, "messages": 16 * rounds, "bytes": 1600 * rounds, "started": 2.0, "primal": 0.9,
         "dual_gap": 0.0, "iteration": 1}
        for (method, by), (sfo, rounds) in spent.items() for seed in range(10)
    ]  # fmt: skip


def test_a_method_counts_with_its_better_configuration_at_each_price(rows):
    """At every price the lesser median of the two, seed by seed from the same one."""
    best, draw = winner_map.Best(rows), np.random.default_rng(0)
    assert best.methods == ["a", "b"] and best.seeds == list(range(10))
    chosen = set()
    for _ in range(30):
        gradient, latency, link = 10.0 ** draw.uniform([-8, -6, 3], [-1, 1, 9])
        found = best.times(np.array([gradient]), np.array([latency]), link)
        place = PLACES["phones"]._replace(gradient_seconds=gradient, latency=latency, bandwidth=link)
        for number, method in enumerate(best.methods):
            each = {}
            for by in ("sfo", "rounds"):
                mine = [row for row in rows if (row["method"], row["tuned_for"]) == (method, by)]
                spent = (np.array([row[name] for row in mine], dtype=float) for name in ("sfo", "rounds", "bytes"))
                calls, rounds, sent = spent
                each[by] = seconds_at(calls / 8, rounds, sent / 16, place.conditions)
            better = min(each, key=lambda by: np.median(each[by]))
            chosen.add((method, better))
            assert found.reached[number, :, 0] == pytest.approx(each[better], rel=1e-12)
    assert len(chosen) > 2, "which one it is depends on the price"


def test_the_map_is_drawn_and_told_from_its_files(tmp_path):
    """The best for calls, for rounds and for bytes of every method with every seed; the text names each place."""
    tables = outcome_of("winner_map", tmp_path)
    for method in ("dream", "dm-hsgd", "gt-da", "gt-gda", "gt-srvr"):
        mine = {row["tuned_for"] for row in tables["runs"] if row["method"] == method}
        assert sorted(", ".join(mine).split(", ")) == ["SFO calls", "bytes sent", "rounds"]
    assert {row["seed"] for row in tables["runs"]} == {0, 1, 2} and any(row["reached"] for row in tables["runs"])
    for row in tables["runs"]:
        spent = row["sfo"] >= row["max_sfo"] and row["rounds"] >= row["max_rounds"]
        assert spent if not row["reached"] else row["primal"] <= row["target"]
    summary, body = winner_map.text_of(tables)
    assert all(f"{name}: " in summary for name in PLACES) and "times as fast as the second" in body


def test_every_method_is_looked_for_alike(texts):
    """As many known configurations and draws of each, from the same ranges of steps, for the same target."""
    pairs = winner_map.pairs_of(False)
    assert {pair["data"]: pair["target"] for pair in pairs} == {"a9a": 0.442, "w8a": 0.356, "ijcnn1": 0.312}
    assert len(pairs) == 15 and all(len(winner_map.known(pair)) == 2 for pair in pairs)
    steps = {(str(space["eta"]), str(space["gamma"])) for space in winner_map.spaces().values()}
    assert len(steps) == 1


def test_the_cheapest_to_the_target_is_chosen_for_each_price(texts):
    """A configuration that won elsewhere is not, where another gets there with less."""
    (pair, *_) = winner_map.pairs_of(True)
    spent = {"a": (10, 90, 90), "b": (90, 10, 90), "c": (90, 90, None)}
    trials = [
        {**pair, "parameters": {"eta": name}, "least": 0.5, "sfo": sfo, "rounds": rounds, "bytes": sent or 5}
        for name, (sfo, rounds, sent) in spent.items()
    ]
    found = {one["tuned_for"]: one["parameters"] for one in winner_map.chosen(trials, [pair])}
    assert found == {"SFO calls": '{"eta": "a"}', "rounds": '{"eta": "b"}', "bytes sent": '{"eta": "c"}'}
