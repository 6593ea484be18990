"""Loss: every round's W stays doubly stochastic, nothing is sent on a link that fails, and methods still converge."""

import json

import numpy as np
import pytest
from counting import counted_in
from laws import METHODS_UNDER_TEST, ONE_MACHINE, assert_same_bits
from saboteurs import Sabotaged

import raydream as rd
from raydream.backends.ray.links import LINKS
from raydream.conditions.clock import Clock
from raydream.conditions.loss import Loss
from raydream.conditions.wires import Wires
from raydream.problems import QuadraticGame

RING = rd.topology.ring(8)
METHOD = rd.DREAM(eta=0.05, gamma=0.3, p=0.3, q=0.7, b=3, K0=2, K=1, K_large=2)
ROUGH = rd.Conditions(
    drop="bursts-0.1-0.4", asleep="bursts-0.05-0.5", gradient_seconds="exponential-0.001", latency="uniform-0.01-0.1",
    uplink=1e5,
)  # fmt: skip


def game(agents=8):
    return QuadraticGame.random(agents=agents, samples=7, dim_x=3, dim_y=4, seed=3)


def run(conditions, method=METHOD, topology=RING, **settings):
    settings = {"iterations": 23, "record_every": 5, "backend": "local", "seed": 1} | settings
    return rd.run(game(topology.m), topology, method, conditions=conditions, **settings)


def loss_of(topology, conditions, hosted=None, seed=0):
    hosted = range(topology.m) if hosted is None else hosted
    columns = np.array(sorted({*hosted}.union(*(topology.neighbours[i].tolist() for i in hosted))))
    wires = Wires.of(topology.neighbours, hosted, columns)
    return Loss(conditions, wires, topology.W[hosted.start : hosted.stop][:, columns], seed, np.dtype(float)), columns


@pytest.mark.parametrize(
    "topology", [RING, rd.topology.star(6), rd.topology.erdos_renyi(9, 0.4, seed=1)], ids=lambda t: t.name
)
@pytest.mark.parametrize("given", [{"drop": 0.4}, {"asleep": 0.3}, {"drop": "bursts-0.2-0.4", "asleep": 0.2}], ids=str)
def test_every_round_s_matrix_is_symmetric_and_doubly_stochastic(topology, given):
    """And that of the network with the failed links' weights on the diagonal; blocks of rows are the same."""
    conditions = rd.Conditions(**given)
    whole, _ = loss_of(topology, conditions)
    blocks = [loss_of(topology, conditions, hosted) for hosted in (range(2), range(2, topology.m))]
    dense, seen = topology.W.toarray(), set()
    for iteration in range(20):
        for one in (whole, *(block for block, _ in blocks)):
            one.begin(iteration)
        alive = whole.next()
        W = whole.weights(alive).W.toarray()
        assert np.array_equal(W, W.T) and np.allclose(W.sum(axis=0), 1.0, atol=1e-15)
        off = ~np.eye(topology.m, dtype=bool)
        assert np.array_equal(W[off & (W > 0)], dense[off & (W > 0)])
        assert (W > 0)[off].sum() == alive.sum()
        rows = []
        for block, columns in blocks:
            part = np.zeros((len(block.wires.hosted), topology.m))
            part[:, columns] = block.weights(block.next()).W.toarray()
            rows.append(part)
        assert np.array_equal(np.concatenate(rows), W)
        seen.add(tuple(alive))
    assert len(seen) > 5, "rounds differ"


def test_a_sleeper_is_cut_off_and_nobody_else_is():
    """All links of an agent that sleeps fail, in both directions, and no others."""
    loss, _ = loss_of(RING, rd.Conditions(asleep=0.3))
    count = 0
    for iteration in range(300):
        loss.begin(iteration)
        W = loss.weights(loss.next()).W.toarray()
        asleep = np.diag(W) == 1.0
        count += asleep.sum()
        for i in range(8):
            for j in RING.neighbours[i]:
                assert (W[i, j] == 0) <= (asleep[i] or asleep[j] or np.diag(W)[i] > RING.W[i, i])
    assert count / 2400 == pytest.approx(0.3 + 0.7 * 0.09, abs=0.04)  # asleep, or between two sleepers


def test_said_is_heard_and_dropped():
    """At every record, frames that went and frames that did not make whole rounds; bytes are of those that went."""
    history = run(rd.Conditions(drop=0.25), iterations=200, record_every=7).history
    assert ((history.messages + history.dropped) == history.rounds * 16).all()
    assert (history.bytes == history.messages * 7 * 8).all()
    share = history.dropped.iloc[-1] / (history.rounds.iloc[-1] * 16)
    assert share == pytest.approx(0.25, abs=0.03)
    assert (run(rd.Conditions(latency=1.0)).history.dropped == 0).all() and "dropped" not in run(None).history


def test_chances_of_zero_change_nothing():
    """The bits of a run without loss."""
    assert_same_bits(run(rd.Conditions(drop=0.0, asleep=0.0)), run(rd.Conditions()))
    assert np.array_equal(run(rd.Conditions()).arrays["Z"], run(None).arrays["Z"])


def keepers(conditions):
    """The methods whose tracker has the mean of their estimator after thirty iterations."""
    found = set()
    for name, method in METHODS_UNDER_TEST.items():
        if not isinstance(method, ONE_MACHINE):
            arrays = run(conditions, method, iterations=30, record_every=30).arrays
            if {"S", "G"} <= arrays.keys() and arrays["S"].shape == arrays["G"].shape:
                gap = np.abs(arrays["S"].mean(axis=0) - arrays["G"].mean(axis=0)).max()
                found |= {name} if gap < 1e-11 else set()
    return found


def test_the_tracker_s_mean_is_the_estimator_s():
    """Doubly stochastic rounds keep means, whoever is not heard: every method that keeps it still does."""
    usual = keepers(None)
    assert len(usual) > 10
    assert keepers(rd.Conditions(drop=0.3, asleep=0.2)) >= usual


@pytest.mark.parametrize("method", [rd.GTGDA(eta=0.1, gamma=0.3), rd.DREAM(eta=0.1, gamma=0.3, p=1.0, mixing="gossip")],
                         ids=["gt-gda", "dream"])  # fmt: skip
def test_gradient_tracking_still_solves_the_game(method):
    """Unequal agents, a fifth of the messages lost: ||grad P|| below 1e-8."""
    result = run(rd.Conditions(drop=0.2), method, iterations=20000, record_every=500, target_grad_norm=1e-8)
    assert result.outcome == "target" and result.ledger.dropped > 0


def test_an_agent_that_hears_nobody_waits_for_nobody():
    """The clock goes over links that work; an uplink is shared by as many as there are."""
    ring = rd.topology.ring(4)
    wires = Wires.of(ring.neighbours, range(4), np.arange(4))
    clock = Clock(rd.Conditions(latency=1.0, uplink=8.0), wires, 0)
    receivers, senders = wires.ends
    alive = np.array([{i, j} == {0, 1} or {i, j} == {1, 2} for i, j in zip(receivers, senders, strict=True)])
    out = clock.depart(8, alive)
    assert out.tolist() == [1.0, 2.0, 1.0, 0.0]
    clock.arrive(out, alive)
    assert clock.seconds.tolist() == [3.0, 2.0, 3.0, 0.0]


def test_bursts_last_as_long_as_they_should():
    """The share of rounds that are lost, and the mean length of a burst; links fail on their own."""
    loss, _ = loss_of(RING, rd.Conditions(drop="bursts-0.1-0.25"))
    up = []
    for iteration in range(6000):
        loss.begin(iteration)
        up.append(loss.next())
    down = ~np.array(up)
    begun = (down[1:] & ~down[:-1]).sum()
    assert down.mean() == pytest.approx(0.1 / 0.35, abs=0.02)
    assert down.sum() / begun == pytest.approx(4.0, abs=0.3)
    there, back, other = (down[:, link].astype(float) for link in (0, 2, 3))  # 0 <- 1, 1 <- 0, 1 <- 2
    assert np.array_equal(there, back) and abs(np.corrcoef(there, other)[0, 1]) < 0.1


@pytest.mark.parametrize("hosted", [range(3), range(3, 8)], ids=str)
def test_bursts_are_remembered_by_whoever_takes_over(hosted):
    """What some hosts kept is enough for others to go on as if they had always been there."""
    conditions = rd.Conditions(drop="bursts-0.2-0.3", asleep="bursts-0.1-0.2")
    whole, _ = loss_of(RING, conditions)
    for iteration in range(7):
        whole.begin(iteration)
        whole.next()
    part, columns = loss_of(RING, conditions, hosted)
    part.restore({name: rows[hosted.start : hosted.stop] for name, rows in whole.arrays().items()})
    for iteration in range(7, 20):
        whole.begin(iteration)
        part.begin(iteration)
        W = whole.weights(whole.next()).W.toarray()[hosted.start : hosted.stop]
        assert np.array_equal(part.weights(part.next()).W.toarray(), W[:, columns])


@pytest.fixture(scope="module")
def expected():
    return run(ROUGH)


def killed(folder):
    problem = Sabotaged(game(), "kill", agent=5, call=12, flag=folder / "killed")
    backend = rd.RayBackend(agents_per_actor=[3, 5])
    result = rd.run(problem, RING, METHOD, iterations=23, record_every=5, seed=1, backend=backend, conditions=ROUGH)
    assert [event["agents"] for event in result.recoveries] == [[3, 4, 5, 6, 7]]
    return result


def resumed(folder):
    run(ROUGH, iterations=13, checkpoint_every=4, directory=folder / "r")
    return rd.resume(folder / "r", iterations=23, backend=rd.RayBackend(agents_per_actor=4), problem=game())


WAYS = {
    "actors": lambda folder: run(ROUGH, backend="ray"),
    "packed": lambda folder: run(ROUGH, backend=rd.RayBackend(agents_per_actor=[3, 5])),
    "packed, ray links": lambda folder: run(ROUGH, backend=rd.RayBackend(agents_per_actor=3, links="ray")),
    "resumed": resumed,
    "killed": killed,
}


@pytest.mark.usefixtures("shared_ray")
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_loss_has_the_same_bits_everywhere(way, expected, tmp_path):
    """Both ends know which links fail, wherever they live, resumed or recovered."""
    assert expected.ledger.dropped > 0
    assert_same_bits(way(tmp_path), expected)


@pytest.mark.usefixtures("shared_ray")
def test_the_kernel_counts_what_the_ledger_bills(monkeypatch, tmp_path):
    """What came in over the actors' sockets, without headers, is what the ledger says: a dropped frame is not sent."""
    monkeypatch.setitem(LINKS._entries, "counted", counted_in(tmp_path))
    result = run(rd.Conditions(drop=0.3), backend=rd.RayBackend(links="counted"))
    told = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    assert len(told) == 8 and result.ledger.dropped > 100
    assert sum(one["frames"] for one in told) == sum(one["rows"] for one in told) == result.ledger.messages
    assert sum(one["payload"] for one in told) == result.ledger.bytes


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"drop": 1}, r"`drop` must be in \[0, 1\), or no message ever arrives; got 1."),
        ({"asleep": -0.1}, "`asleep` must not be negative"),
        ({"drop": "often"}, "`drop` must be one of 'bursts'; got 'often'"),
        ({"drop": "bursts-0-1"}, r"makes no sense: `enter` must be in \(0, 1\]"),
    ],
)
def test_bad_chances_get_a_sentence(given, sentence):
    """Where the conditions are made."""
    with pytest.raises((ValueError, TypeError), match=sentence):
        rd.Conditions(**given)
