"""Replays: any state of a run, computed again to the bits that the run had, wherever that was."""

from itertools import pairwise

import numpy as np
import pytest
from saboteurs import Sabotaged
from typer.testing import CliRunner

import raydream as rd
from raydream import specs
from raydream.cli.app import app
from raydream.running.replay import TIMES, Replay

AGENTS = 4
METHODS = {
    "dream": rd.DREAM(eta=0.05, gamma=0.3, p=0.4, b=3, K=2),
    "dream, everybody at times": rd.DREAM(eta=0.05, gamma=0.3, p=0.4, q=0.5, b=3, K=1, mixing="gossip"),
    "gt-srvr": rd.GTSRVR(eta=0.05, gamma=0.3, b=3, Q=5),
    "gt-gda": rd.GTGDA(eta=0.05, gamma=0.3),
    "dm-hsgd": rd.DMHSGD(eta=0.05, gamma=0.3, b=3),
}
CONDITIONS = {
    "late and lossy": rd.Conditions(gradient_seconds="exponential-0.001", latency=0.01, drop="bursts-0.1-0.5"),
    "compressed, with memory": rd.Conditions(latency=0.01, compression="top-0.3", memory=True, drop=0.1),
    "changing": rd.Conditions(schedule="one-peer-exponential", latency=0.01),
}


def game():
    return specs.build_problem("quadratic", AGENTS, {"samples": 8})


def made(tmp_path, method=METHODS["dream"], backend="local", **more):
    """A short run in a directory of its own, and what it ended with."""
    arguments = {"iterations": 23, "record_every": 5, "seed": 3, "backend": backend, "directory": tmp_path / "run"}
    return rd.run(game(), specs.build_topology("ring", AGENTS, {}), method, **{**arguments, **more})


def assert_same_as_recorded(result, folder, **parts):
    """Every record comes out again bit for bit, and the last state is what the run has kept."""
    found = Replay.of(folder, **parts)
    for written in result.history.to_dict("records"):
        state = found.at(int(written["iteration"]))
        own = {name: value for name, value in written.items() if name not in TIMES}
        np.testing.assert_equal({name: state.row[name] for name in own}, own)
        assert state.agrees is True
    assert state.arrays.keys() == result.arrays.keys()
    for name, array in result.arrays.items():
        assert state.arrays[name].tobytes() == array.tobytes()
    assert state.ledger == result.ledger
    assert state.x_bar.tobytes() == result.x_bar.tobytes() and state.y_bar.tobytes() == result.y_bar.tobytes()
    assert result.distances is None or state.distances.tobytes() == result.distances[-1].tobytes()


@pytest.mark.parametrize("name", METHODS)
def test_every_record_and_the_last_state_come_again_bit_for_bit(tmp_path, name):
    """Also between records: a state is that of a run which ends there."""
    result = made(tmp_path, METHODS[name])
    assert_same_as_recorded(result, tmp_path / "run")
    shorter = made(tmp_path, METHODS[name], iterations=13, directory=None)
    state = rd.replay(tmp_path / "run", 13)
    assert all(state.arrays[name].tobytes() == array.tobytes() for name, array in shorter.arrays.items())
    assert state.ledger == shorter.ledger


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.filterwarnings("ignore::raydream.errors.MixingWarning")
def test_conditions_come_again_too(tmp_path, name):
    """Clocks, lost messages, memories of codes and changing links."""
    result = made(tmp_path, rd.GTGDA(eta=0.02, gamma=0.3), conditions=CONDITIONS[name], checkpoint_every=9)
    assert_same_as_recorded(result, tmp_path / "run")


def test_a_replay_begins_at_the_checkpoint_or_at_the_start(tmp_path):
    """Whichever is nearer; a run that was resumed is one run."""
    made(tmp_path, iterations=11, checkpoint_every=8)
    result = rd.resume(tmp_path / "run", iterations=23)
    assert_same_as_recorded(result, tmp_path / "run")
    checkpoint = int(next((tmp_path / "run/checkpoint").glob("state-*.npz")).stem.partition("-")[2])
    assert rd.replay(tmp_path / "run").began in (checkpoint, 0)
    assert rd.replay(tmp_path / "run", 2).began == 0


def test_a_run_on_actors_comes_again_in_one_process(tmp_path, shared_ray):
    """Packed, and recovered from an actor that was killed."""
    packed = made(tmp_path, backend=rd.RayBackend(agents_per_actor=2), directory=tmp_path / "packed")
    assert_same_as_recorded(packed, tmp_path / "packed")
    bad = Sabotaged(game(), "kill", 1, 15, tmp_path / "flag")
    ring = specs.build_topology("ring", AGENTS, {})
    lost = rd.run(bad, ring, METHODS["dream"], iterations=23, record_every=5, seed=3, backend="ray", check=False,
                  directory=tmp_path / "lost")  # fmt: skip
    assert lost.recoveries
    assert_same_as_recorded(lost, tmp_path / "lost", problem=game())


def test_coins_bills_and_rounds_are_those_of_the_step(tmp_path):
    """What a step cost is the difference of two ledgers; a large batch is taken where the coin says so."""
    made(tmp_path)
    found = Replay.of(tmp_path / "run")
    states = [found.at(t) for t in range(24)]
    assert states[0].coin is None and states[0].moved is None and {state.coin for state in states[1:]} == {False, True}
    for before, now in pairwise(states):
        assert sum(one.rounds for one in now.exchanges) == now.ledger.rounds - before.ledger.rounds
        assert sum(one.bytes * one.messages for one in now.exchanges) > 0
        assert now.ledger.sfo - before.ledger.sfo == AGENTS * (8 if now.coin else 6)
        np.testing.assert_allclose(now.moved, np.linalg.norm(now.arrays["Z"] - before.arrays["Z"], axis=1))
    assert all(one.after <= one.before for state in states for one in state.exchanges)


def test_diagnostics_are_those_of_the_run_and_of_each_agent(tmp_path):
    """C, V, U, Psi and Phi as a run with diagnostics records them; V is the mean square of the agents' errors."""
    result = made(tmp_path, diagnostics=True)
    for written in result.history.to_dict("records"):
        state = rd.replay(tmp_path / "run", int(written["iteration"]), diagnostics=True)
        names = ("C", "V", "U", "Psi", "Phi")
        assert {name: state.row[name] for name in names} == {name: written[name] for name in names}
        np.testing.assert_allclose(np.sum(state.errors**2) / AGENTS, written["V"], rtol=1e-12)
    local, dim = game().local(2), game().dim_x
    z = state.arrays["Z"][2]
    exact = np.concatenate(local.gradient(z[:dim], z[dim:]))
    np.testing.assert_allclose(state.errors[2], np.linalg.norm(state.arrays["G"][2] - exact), rtol=1e-12)


def test_a_problem_of_ones_own_must_be_given_and_be_the_one(tmp_path):
    """run.json cannot make it; another one is refused by what was recorded; code is not run because it is named."""
    own, ring = rd.problems.QuadraticGame.random(agents=3, seed=1), rd.topology.ring(3)
    result = rd.run(
        own, ring, METHODS["dream"], iterations=12, record_every=4, backend="local", directory=tmp_path / "a"
    )
    with pytest.raises(ValueError, match="`problem` must be given"):
        rd.replay(tmp_path / "a", 5)
    assert_same_as_recorded(result, tmp_path / "a", problem=own)
    with pytest.raises(ValueError, match="another run"):
        rd.replay(tmp_path / "a", 5, problem=rd.problems.QuadraticGame.random(agents=3, seed=2))
    text = (tmp_path / "a" / "run.json").read_text()
    (tmp_path / "a" / "run.json").write_text(
        text.replace('"spec": null', '"spec": {"name": "os:getcwd", "parameters": {}}', 1)
    )
    with pytest.raises(ValueError, match="`problem` must be repeated"):
        rd.replay(tmp_path / "a", 5)


@pytest.mark.parametrize("iteration, sentence", [(24, "at most 23"), (-1, "iteration"), (1.5, "iteration")])
def test_an_iteration_that_is_none_is_a_sentence(tmp_path, iteration, sentence):
    made(tmp_path)
    with pytest.raises((ValueError, TypeError), match=sentence):
        rd.replay(tmp_path / "run", iteration)


def test_the_command_prints_a_table_and_keeps_the_arrays(tmp_path, monkeypatch):
    """`raydream replay runs/x --iteration N --save FILE.npz`."""
    monkeypatch.chdir(tmp_path)
    made(tmp_path)
    done = CliRunner().invoke(app, ["replay", "run", "--iteration", "7", "--diagnostics", "--save", "seven.npz"])
    assert done.exit_code == 0, done.output
    assert "quadratic, ring of 4, iteration 7" in done.output and "estimator's error" in done.output
    state, kept = rd.replay(tmp_path / "run", 7), np.load(tmp_path / "seven.npz")
    assert all(kept[f"state_{name}"].tobytes() == array.tobytes() for name, array in state.arrays.items())
    done = CliRunner().invoke(app, ["replay", "run", "--iteration", "99"])
    assert done.exit_code == 2 and "at most 23" in done.output
