"""Networks that change: every round is checked, they go on where they stopped, and tracking still converges."""

import json

import numpy as np
import pytest
from laws import METHODS_UNDER_TEST, ONE_MACHINE, assert_same_bits
from saboteurs import Sabotaged
from scipy.sparse import csr_array
from typer.testing import CliRunner

import raydream as rd
from raydream.backends.surroundings import surroundings
from raydream.conditions.conditions import conditions_from
from raydream.conditions.loss import ROUNDS
from raydream.errors import MixingWarning
from raydream.problems import QuadraticGame

RING = rd.topology.ring(8)
METHOD = rd.DREAM(eta=0.05, gamma=0.3, p=0.3, q=0.7, b=3, K0=2, K=1, K_large=2, mixing="gossip")
WORDS = ["one-peer-exponential", "one-peer-hypercube", "matchings", "edge-markovian-0.3-0.4", "ring,star"]
DIRECTED = ("one-peer-exponential",)


def sometimes(round, generator):
    """The ring now and then, a matrix of half of it at random, or nothing at all."""
    return [RING, rd.topology.path(8), np.eye(8)][generator.integers(3)]


def named(schedule):
    """A test's name must be the same in every process."""
    return schedule if isinstance(schedule, str) else schedule.__name__


def game(agents=8):
    return QuadraticGame.random(agents=agents, samples=7, dim_x=3, dim_y=4, seed=3)


def run(schedule, method=METHOD, topology=RING, problem=None, others=None, **settings):
    settings = {"iterations": 23, "record_every": 5, "backend": "local", "seed": 1} | settings
    conditions = rd.Conditions(schedule=schedule, **(others or {}))
    return rd.run(problem or game(topology.m), topology, method, conditions=conditions, **settings)


def matrices(schedule, rounds, topology=RING, seed=0):
    """The dense W of the first rounds."""
    changing = rd.Conditions(schedule=schedule).changing(topology, seed)
    return [csr_array(changing.matrix(k)).toarray() for k in range(rounds)]


@pytest.mark.parametrize("schedule", [*WORDS, sometimes], ids=named)
def test_every_round_is_doubly_stochastic_on_the_wires(schedule):
    """And so are its weights as they stand on the links that agents are wired for."""
    changing = rd.Conditions(schedule=schedule).changing(RING, 5)
    keys = [(i, int(j)) for i, row in enumerate(changing.links.neighbours) for j in row]
    seen = set()
    for k in range(30):
        links, own = changing.entries(k)
        W = np.diag(own)
        for (i, j), weight in zip(keys, links, strict=True):
            W[i, j] = weight
        assert W.min() >= 0 and np.allclose(W.sum(axis=0), 1) and np.allclose(W.sum(axis=1), 1)
        assert np.array_equal(W, W.T) or schedule in DIRECTED
        seen.add(W.tobytes())
    assert len(seen) > 1


@pytest.mark.parametrize("schedule", ["one-peer-exponential", "one-peer-hypercube"])
def test_log2_m_rounds_of_one_peer_are_the_exact_mean(schedule):
    """Each agent hears one other a round, and after three rounds eight agents agree."""
    rounds = matrices(schedule, 6)
    assert all((np.count_nonzero(W, axis=1) == 2).all() for W in rounds)
    np.testing.assert_allclose(rounds[2] @ rounds[1] @ rounds[0], 1 / 8, atol=1e-15)
    np.testing.assert_allclose(rounds[5] @ rounds[4] @ rounds[3], 1 / 8, atol=1e-15)
    assert surroundings(RING, rd.Conditions(schedule=schedule)).network.lam == 0.0


@pytest.mark.parametrize("rounds", [2, 3, 4, 6])
def test_no_array_meets_some_peers_alone(rounds):
    """Sixteen agents have four peers each; an array that is said every second round still meets all of them."""
    for schedule in ("one-peer-exponential", "one-peer-hypercube"):
        seen = matrices(schedule, 48 * rounds, rd.topology.ring(16))
        for first in range(rounds):
            assert len({W.tobytes() for W in seen[first::rounds]}) == 4


def test_a_matching_pairs_agents_and_is_maximal():
    """Nobody meets two; two that are linked and both alone would have met."""
    for W in matrices("matchings", 50):
        partners = (W > 0).sum(axis=1) - 1
        assert partners.max() <= 1
        alone = np.flatnonzero(partners == 0)
        assert not any(j in alone for i in alone for j in RING.neighbours[i])
    assert not np.array_equal(matrices("matchings", 1, seed=1)[0], matrices("matchings", 1, seed=2)[0])


def test_links_come_and_go_with_their_chances():
    """birth / (birth + death) of them are there, for 1 / death rounds at a time, in whatever order one asks."""
    rounds = matrices("edge-markovian-0.2-0.4", 600)
    there = np.array([[W[i, (i + 1) % 8] > 0 for i in range(8)] for W in rounds])
    assert there.mean() == pytest.approx(1 / 3, abs=0.04)
    begun = (there[1:] & ~there[:-1]).sum()
    assert there.sum() / begun == pytest.approx(2.5, abs=0.25)
    late = rd.Conditions(schedule="edge-markovian-0.2-0.4").changing(RING, 0)
    assert all(np.array_equal(late.matrix(k).toarray(), rounds[k]) for k in (300, 7, 301))


def test_facts_are_those_of_the_product_over_a_period():
    """Measured: the norm of the product off consensus, and what a round leaves on average."""
    found = surroundings(RING, rd.Conditions(schedule="ring,star")).facts
    product = rd.topology.star(8).W.toarray() @ RING.W.toarray()
    assert found.rounds == 2 and found.left == pytest.approx(np.linalg.norm(product - 1 / 8, 2), rel=1e-12)
    assert found.lam == pytest.approx(found.left**0.5)
    drawn = surroundings(RING, rd.Conditions(schedule="matchings")).facts
    assert 0.5 < drawn.lam < 1 and drawn.left <= 1e-6


def test_rounds_are_counted_across_iterations():
    """One round an iteration, and the cycle goes on: descent-ascent with another W each time, written out."""
    problem, rounds = game(), matrices("one-peer-exponential", 7)
    Z = np.tile(np.concatenate(problem.start()), (8, 1))
    for W in rounds:
        G = np.array([np.concatenate(problem.local(i).gradient(z[:3], z[3:])) for i, z in enumerate(Z)])
        Z = W @ Z + np.array([-0.05 * 0.3] * 3 + [0.05] * 4) * G
    result = run("one-peer-exponential", rd.DGDA(eta=0.05, gamma=0.3), iterations=7, record_every=2)
    np.testing.assert_allclose(result.arrays["Z"], Z, rtol=1e-12)
    assert result.arrays[ROUNDS].tolist() == [result.ledger.rounds] * 8 == [7] * 8


@pytest.mark.parametrize("schedule", [*WORDS, sometimes], ids=named)
def test_only_links_of_the_round_carry_frames(schedule):
    """Messages are the links of the rounds so far; what is dropped is of these, and nothing else is billed."""
    others = {} if schedule in DIRECTED else {"drop": 0.2}
    result = run(schedule, others=others)
    there = sum(int((W > 0).sum() - (np.diag(W) > 0).sum()) for W in matrices(schedule, result.ledger.rounds, seed=1))
    assert result.ledger.messages + result.ledger.dropped == there
    assert result.ledger.bytes == result.ledger.messages * 7 * 8 and bool(result.ledger.dropped) == bool(others)


@pytest.mark.parametrize("schedule", WORDS)
def test_gradient_tracking_still_solves_the_game(schedule):
    """Unequal agents: ||grad P|| below 1e-8 by GT-GDA, and by DREAM with whole shards."""
    for method in (rd.GTGDA(eta=0.05, gamma=0.3), rd.DREAM(eta=0.05, gamma=0.3, p=1.0, K=1, mixing="gossip")):
        result = run(schedule, method, iterations=20000, record_every=500, target_grad_norm=1e-8)
        assert result.outcome == "target"


@pytest.mark.parametrize("schedule", WORDS)
def test_the_tracker_s_mean_is_the_estimator_s(schedule):
    """Every method that keeps it on one network keeps it on one that changes."""
    kept = 0
    for name in ("gt-da", "gt-gda, cta", "gt-gda, atc", "gt-srvr, cta", "dm-hsgd", "dgda-vr", "dm-gda", "dream"):
        method = METHODS_UNDER_TEST[name]
        assert not isinstance(method, ONE_MACHINE)
        method = METHOD if name == "dream" else method
        arrays = run(schedule, method, iterations=12, record_every=12).arrays
        assert np.abs(arrays["S"].mean(axis=0) - arrays["G"].mean(axis=0)).max() < 1e-11
        kept += 1
    assert kept == 8


CALM = {"gradient_seconds": "exponential-0.001", "latency": "uniform-0.01-0.1", "uplink": 1e5}
ROUGH = {"drop": "bursts-0.1-0.4", "asleep": 0.1} | CALM
CASES = {
    "matchings": ("matchings", ROUGH),
    "compressed": ("one-peer-hypercube", CALM | {"compression": "top-0.5", "memory": True}),
    "one-peer": ("one-peer-exponential", CALM | {"compression": "float32"}),
}


def killed(case, folder):
    problem = Sabotaged(game(), "kill", agent=5, call=12, flag=folder / "killed")
    result = run(case[0], problem=problem, others=case[1], backend=rd.RayBackend(agents_per_actor=[3, 5]))
    assert len(result.recoveries) == 1
    return result


def resumed(case, folder):
    run(case[0], others=case[1], iterations=13, checkpoint_every=4, directory=folder / "r")
    return rd.resume(folder / "r", iterations=23, backend=rd.RayBackend(agents_per_actor=4), problem=game())


WAYS = {
    "actors": lambda case, folder: run(case[0], others=case[1], backend="ray"),
    "packed, ray links": lambda case, folder: run(
        case[0], others=case[1], backend=rd.RayBackend(agents_per_actor=3, links="ray")
    ),
    "resumed": resumed,
    "killed": killed,
}


@pytest.mark.usefixtures("shared_ray")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_schedules_have_the_same_bits_everywhere(way, case, tmp_path):
    """Every host makes the round's network by itself, wherever its agents live, resumed or recovered."""
    assert_same_bits(way(case, tmp_path), run(case[0], others=case[1]))


def test_compressed_messages_with_memory_still_solve_the_game():
    """Each link remembers by itself what went over it, in the rounds in which it was there."""
    others = {"compression": "top-0.5", "memory": True}
    method = rd.GTGDA(eta=0.03, gamma=0.3)
    result = run("one-peer-hypercube", method, others=others, iterations=20000, record_every=500, target_grad_norm=1e-8)
    assert result.outcome == "target"
    with pytest.raises(ValueError, match="`compression` must be left out where links have a direction"):
        run("one-peer-exponential", method, others=others)


def test_fastmix_is_warned_of_what_it_assumes():
    """It has one lambda, and the network another in every round; what has a direction it refuses."""
    method = rd.DREAM(eta=0.05, gamma=0.3, b=3, K=2)
    with pytest.warns(
        MixingWarning, match=r"FastMix is made for one W.*assumes lambda = 0\.\d+, the average of a round"
    ):
        run("matchings", method)
    with pytest.raises(ValueError, match="DREAM cannot run on one-peer-exponential: FastMix"):
        run("one-peer-exponential", method)
    with pytest.raises(ValueError, match="EDGDA cannot run on one-peer-exponential"):
        run("one-peer-exponential", rd.EDGDA(eta=0.1, gamma=1.0))


@pytest.mark.parametrize(
    ("schedule", "sentence"),
    [
        ("sometimes", "`schedule` must be one of 'edge-markovian-0.1-0.5', 'matchings', 'one-peer-exponential'"),
        ("edge-markovian-0.1", "`schedule` must read edge-markovian-BIRTH-DEATH"),
        ("edge-markovian-0-0.5", r"`schedule birth` must be in \(0, 1\]"),
        ("ring,rong", "`schedule` must be one of .* got 'rong'"),
        (17, "`schedule` must be words"),
        ([], "`schedule` must be words"),
        ([1.0], "`schedule` must be a list of topologies, their names, or matrices"),
    ],
)
def test_bad_schedules_get_a_sentence(schedule, sentence):
    """Where the conditions are made."""
    with pytest.raises((ValueError, TypeError), match=sentence):
        rd.Conditions(schedule=schedule)


def halves(round, generator):
    return np.kron(np.eye(2), np.full((4, 4), 0.25))


@pytest.mark.parametrize(
    ("schedule", "sentence"),
    [
        (
            [np.kron(np.eye(2), np.full((4, 4), 0.25)), np.eye(8)],
            "must connect all agents .* over a period of 2 rounds",
        ),
        (halves, "must connect all agents sooner or later; over its first 1000 rounds"),
        ([rd.topology.ring(5)], "`schedule` must have 8 agents in every round, as the problem has; got 5"),
        ([np.eye(8) * 0.9, RING], "round 0 of the schedule .* columns that sum to 1"),
        (
            lambda round, generator: np.full((8, 8), 1 / 8),
            "must use links of `topology` alone; in round 0 agent 0 hears 2",
        ),
    ],
    ids=["halves", "halves for ever", "five", "leaks", "elsewhere"],
)
def test_what_never_connects_is_refused_before_anything_runs(schedule, sentence):
    """And so is what is no network of these agents."""
    topology = rd.topology.complete(8) if schedule is halves else RING
    with pytest.raises(ValueError, match=sentence):
        run(schedule, topology=topology)


@pytest.mark.parametrize(
    ("topology", "schedule", "sentence"),
    [
        (rd.topology.ring(6), "one-peer-hypercube", "needs a power of two of agents; got 6"),
        (rd.topology.directed_ring(6), "matchings", "draws links that go both ways"),
    ],
)
def test_what_does_not_fit_the_network_gets_a_sentence(topology, schedule, sentence):
    """Before anything runs."""
    with pytest.raises(ValueError, match=sentence):
        run(schedule, topology=topology)
    with pytest.raises(ValueError, match="must be left out where links have a direction"):
        run("one-peer-exponential", others={"drop": 0.1})


@pytest.mark.parametrize("schedule", [*WORDS, [RING, rd.topology.star(8)], [np.eye(8), RING]], ids=range(7))
def test_a_record_keeps_the_schedule(schedule, tmp_path):
    """Through run.json, by words, by names, or matrix by matrix; and the run goes on from there."""
    conditions = rd.Conditions(schedule=schedule)
    again = conditions_from(json.loads(json.dumps(conditions.to_json())))
    assert again.to_json() == conditions.to_json()
    run(schedule, iterations=9, checkpoint_every=4, directory=tmp_path / "r")
    assert_same_bits(rd.resume(tmp_path / "r", iterations=23, problem=game(), backend="local"), run(schedule))


def test_a_function_is_given_again(tmp_path):
    """A record only has its name, and runs nothing by it."""
    run(sometimes, iterations=9, checkpoint_every=4, directory=tmp_path / "r")
    with pytest.raises(ValueError, match=r"`schedule` must be given again: '.*:sometimes' is code of yours"):
        rd.resume(tmp_path / "r", iterations=23, problem=game(), backend="local")
    again = rd.resume(tmp_path / "r", iterations=23, problem=game(), backend="local",
                      conditions=rd.Conditions(schedule=sometimes))  # fmt: skip
    assert_same_bits(again, run(sometimes))


def test_the_command_line_takes_a_schedule(tmp_path):
    """By its words."""
    from raydream.cli.app import app

    words = ["run", "--problem", "quadratic", "--agents", "8", "--iterations", "3", "--backend", "local", "--method"]
    done = CliRunner().invoke(app, [*words, "gt-gda", "--condition", "schedule=one-peer-exponential", "--directory",
                                    str(tmp_path / "r")])  # fmt: skip
    assert done.exit_code == 0, done.output
    assert rd.load(tmp_path / "r").record.conditions == rd.Conditions(schedule="one-peer-exponential")
    wrong = CliRunner().invoke(app, [*words, "dream", "--condition", "schedule=one-peer-exponential"])
    assert wrong.exit_code == 2 and "FastMix" in wrong.output
