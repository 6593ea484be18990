"""The model of cost finds the costs that it was made with, and is told from its files."""

import numpy as np
import pytest
import scale
from test_ablations import outcome_of
from test_ablations import texts as texts

TRUE = dict.fromkeys(scale.COSTS, 0.0) | {
    "process": 1e-4, "agent": 2e-5, "number": 3e-9, "memory: round": 3e-5, "memory: byte said": 5e-10,
    "tcp: round": 6e-5, "tcp: byte said": 1e-9, "call of Ray": 1e-4, "number brought": 1e-9,
}  # fmt: skip


def settings():
    return [
        {"place": place, "m": m, "d": d, "K": K, "network": network, "degree": 2.0 if network == "ring" else 5.0}
        for place in ("local", "packed", "packed tcp", "actors", "actors tcp")
        for m in (8, 16) for d in (1000, 20000) for K in (1, 3) for network in ("ring", "exponential")
    ]  # fmt: skip


def test_times_made_by_the_model_give_its_costs_back():
    """Also those that were not fitted are predicted."""
    rows = [{**row, "time": float(np.dot([*TRUE.values()], scale.features_of(row, 2)))} for row in settings()]
    costs = scale.fitted(rows[::2], 2)
    assert [scale.predicted(costs, row, 2) for row in rows] == pytest.approx([row["time"] for row in rows], rel=1e-6)


def test_a_round_among_processes_costs_nothing_in_one():
    """In one process nothing is sent; over TCP nothing goes through memory."""
    for row in settings():
        memory, tcp, ray = (scale.features_of(row, 2)[part] for part in (slice(4, 8), slice(8, 12), slice(12, 14)))
        assert any(memory) == (row["place"] in ("packed", "actors")) and any(tcp) == row["place"].endswith("tcp")
        assert any(ray) == (row["place"] != "local")


def test_a_hundred_machines_wait_for_their_network():
    """Latency is paid once a round, and a slower network is never quicker."""
    costs = [*TRUE.values()]
    near, far = (scale.on_cluster(costs, 2, latency, 1e9) for latency in (0.0, 0.05))
    assert far - near == pytest.approx(2 * 0.05) and scale.on_cluster(costs, 2, 0.0, 1e6) > near


def test_the_model_is_told_from_its_files(tmp_path):
    """A quick run, in one process alone."""
    tables = outcome_of("scale", tmp_path)
    assert len(tables["runs"]) == 4 and all(row["time"] > 0 for row in tables["runs"])
    assert sorted(row["part"] for row in tables["runs"]) == [0, 1, 2, 3]
