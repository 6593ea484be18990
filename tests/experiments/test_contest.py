"""Contests: every entrant is searched alike, brings its best to each price, and is judged on other seeds."""

import pytest
from contest.entrants import grid_of
from contest.meeting import standings_of
from contest.search import AXES, best, chosen, draws, near, price
from contest.settled import Settled
from contest.standing import standings
from test_ablations import outcome_of
from test_ablations import texts as texts

from raydream.algorithms import METHODS
from raydream.algorithms.facts import Range


@pytest.mark.parametrize("script", ["landscape", "dream_knobs"])
def test_a_contest_is_told_from_its_files(script, tmp_path):
    """Every entrant that reached the target has a configuration for each axis, and runs of it with other seeds."""
    tables = outcome_of(script, tmp_path)
    numbers = {row["number"] for row in tables["chosen"]}
    assert numbers and numbers == {row["number"] for row in tables["runs"]}
    assert {row["seed"] for row in tables["runs"]} == {0, 1}, "not the seed of the search"
    for row in standings_of(tables):
        assert row["verdict"] in ("best", "within noise", "lost", "never")
    of_one = [row for row in standings_of(tables) if row["verdict"] == "best"]
    assert len(of_one) == len({(row["problem"], row["network"], row["axis"]) for row in standings_of(tables)})


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_as_many_draws(name):
    """All of them can be made, and batches are the same for all that draw any."""
    space = {"eta": Range(0.01, 1.0), "gamma": Range(0.1, 10.0), **grid_of(name)}
    pair = {"problem": "auc", "network": "ring", "entrant": name}
    found = draws(pair, space, 24)
    assert len(found) == 24 and found == draws(pair, space, 24)
    for parameters in found:
        METHODS[name](**parameters)
    if "b" in space:
        assert {4, 16, 64} <= set(space["b"])


def trial(parameters, **spent):
    row = {"problem": "auc", "network": "ring", "entrant": "dream", "parameters": parameters, "least": 0.5, **spent}
    return {"sfo": None, "rounds": None, "bytes": None, **row}


def test_each_price_has_its_own_winner():
    """The cheapest of those that reached the target; where none did, the one that came nearest."""
    few_calls, few_rounds = {"eta": 1.0}, {"eta": 2.0}
    rows = [trial(few_calls, sfo=10, rounds=90, bytes=900), trial(few_rounds, sfo=90, rounds=10, bytes=100)]
    assert best(rows, "sfo")["parameters"] == few_calls and best(rows, "rounds")["parameters"] == few_rounds
    lost = [trial({"eta": 1.0}), trial({"eta": 2.0}) | {"least": 0.1}]
    assert best(lost, "sfo")["parameters"] == {"eta": 2.0}
    assert best([*lost, rows[1]], "sfo")["parameters"] == few_rounds


def test_what_was_lucky_once_is_not_chosen():
    """The least median of three seeds wins; one that did not get there again has none."""

    def seeds(eta, *calls):
        of = {"edges": "no", "rounds": 1, "bytes": 1}
        return [trial({"eta": eta}, **of, outcome="target") | {"sfo": sfo} for sfo in calls]

    lucky, steady, alone = seeds(1.0, 10, None, None), seeds(2.0, 50, 60, 70), seeds(3.0, 5)
    found = chosen([lucky[0], steady[0], *alone], [*lucky[1:], *steady[1:]])
    assert {row["parameters"]["eta"] for row in found if row["axis"] == "sfo"} == {2.0}


def test_a_swing_is_not_the_target():
    """It counts since when it stays, for ten records and a tenth of the way, and y has followed."""

    def told(values, gap=0.0):
        settled = Settled("grad_norm", 0.1)
        for number, value in enumerate(values):
            row = {"iteration": 2 * number, "primal": 1.0 - 0.01 * number, "dual_gap": gap, "grad_norm": value}
            if settled(row):
                return settled.first["iteration"]
        return None

    assert told([1.0] * 5 + [0.05] * 20) == 10
    assert told([1.0, 0.05] + [1.0] * 5 + [0.05] * 20) == 14, "the first was a swing"
    assert told([1.0] * 5 + [0.05] * 8) is None and told([1.0] * 5 + [0.05] * 20, gap=0.5) is None
    assert told([1.0] * 300 + [0.05] * 20) is None and told([1.0] * 300 + [0.05] * 40) == 600


def test_time_is_linear_in_what_was_spent():
    """8 agents: calls of one agent, rounds, and the bytes of one of the ring's 16 directed links."""
    row = {"network": "ring", "sfo": 800, "rounds": 7, "bytes": 16_000}
    assert price(row, "cloud regions") == pytest.approx(100 * 1e-4 + 7 * 5e-2 + 1000 * 1e-7, rel=1e-15)
    assert price(row, "sfo") == 800 and price({**row, "sfo": None}, "phones") is None


def test_later_draws_lie_around_the_best():
    """Within half a decade of it, on either side; what is no number is mostly kept."""
    space = {"eta": Range(0.01, 1.0), "gamma": Range(0.1, 10.0), "K": (1, 2)}
    rows = [trial({"eta": 1.0, "gamma": 10.0, "K": 2}, sfo=1, rounds=1, bytes=1)]
    found = near({"problem": "a"}, space, rows, 200, 0)
    assert all(10**-0.5 <= one["eta"] <= 10**0.5 and 10**0.5 <= one["gamma"] <= 10**1.5 for one in found)
    assert any(one["eta"] > 1.0 for one in found), "they may leave the range"
    assert sum(one["K"] == 2 for one in found) > 150


def test_a_verdict_needs_an_interval():
    """`b` costs as much as `a` within noise; `c` always costs twice as much; `d` was never there; `e` once not."""
    noise = [100, 104, 97, 103, 99, 101, 98, 102]
    costs = {"a": noise, "b": noise[::-1], "c": [2 * one for one in noise], "e": [*noise[:-1], None]}
    chosen = [
        {"problem": "p", "network": "ring", "entrant": name, "axis": axis, "parameters": name}
        for name in costs for axis in AXES
    ]  # fmt: skip
    runs = [
        {"problem": "p", "network": "ring", "entrant": name, "parameters": name, "seed": seed,
         "sfo": value and 8 * value, "rounds": value, "bytes": value}
        for name, values in costs.items() for seed, value in enumerate(values)
    ]  # fmt: skip
    found = {row["entrant"]: row for row in standings(chosen, runs, [*"abcde"], set()) if row["axis"] == "sfo"}
    assert {found["a"]["verdict"], found["b"]["verdict"]} == {"best", "within noise"}
    assert found["c"]["verdict"] == "lost" and found["c"]["low"] > 1.5
    assert found["d"]["verdict"] == "never" and found["d"]["reached"] == 0
    assert found["e"]["verdict"] == "lost" and found["e"]["reached"] == len(noise) - 1
