"""How far each agent is from the mean, at every record: measured, kept with the run, and drawn."""

import hashlib
import io
import json

import numpy as np
import pytest
from laws import assert_same_bits, run

import raydream as rd
from raydream.problems import QuadraticGame
from raydream.report.collect import Run, collect
from raydream.report.page.page import page
from raydream.running import recorder as history
from raydream.storage.rundir import RunDirectory

RING = rd.topology.ring(5)
DREAM = rd.DREAM(eta=0.05, gamma=0.3, p=0.3, b=3, K=1)


def game():
    return QuadraticGame.random(agents=5, samples=7, dim_x=3, dim_y=4, seed=3)


def facts_of(text):
    """What the page's program reads."""
    return json.loads(text.split('id="facts">')[1].split("</script>")[0])


@pytest.mark.parametrize("method", [DREAM, rd.GTGDA(eta=0.05, gamma=0.3), rd.DGDA(eta=0.05, gamma=0.3)])
def test_their_squares_add_up_to_the_consensus_error(method):
    """sum_i ||z(i) - z_bar||^2 = ||Z - 1 z_bar||^2, at every record; the agents start together."""
    result = run(game(), RING, method, iterations=43, record_every=4)
    assert result.distances.shape == (len(result.history), 5)
    assert np.allclose((result.distances**2).sum(axis=1), result.history.consensus, rtol=1e-12, atol=0)
    assert (result.distances[0] == 0).all() and (result.distances[1:] > 0).all()


def test_the_last_row_is_of_the_last_state():
    """Agent by agent."""
    result = run(game(), RING, DREAM, iterations=7)
    Z = result.arrays["Z"]
    wanted = [np.sqrt(np.sum((Z[i] - Z.mean(axis=0)) ** 2)) for i in range(5)]
    assert np.allclose(result.distances[-1], wanted, rtol=1e-12)


def test_a_longer_run_has_the_distances_of_one_that_was_never_interrupted(tmp_path):
    """Bit for bit; the shorter run's last row, which is no record of the longer one, is gone."""
    run(game(), RING, DREAM, iterations=23, record_every=10, checkpoint_every=5, directory=tmp_path / "r")
    found = rd.resume(tmp_path / "r", iterations=47, problem=game())
    assert_same_bits(found, run(game(), RING, DREAM, iterations=47, record_every=10))
    assert len(found.distances) == len(found.history) == 6


def test_they_are_saved_and_loaded(tmp_path):
    """To the bit."""
    result = run(game(), RING, DREAM, iterations=30, directory=tmp_path / "r")
    assert np.array_equal(rd.load(tmp_path / "r").distances, result.distances)


def without_distances(path):
    """A file of arrays as it was written before there were any; its new content."""
    with np.load(io.BytesIO(path.read_bytes())) as file:
        arrays = {name: file[name] for name in file.files}
    del arrays["distances"]
    np.savez(path, **arrays)
    return path.read_bytes()


def test_a_directory_without_them_loads(tmp_path):
    """With None in their place, and its report has no heat map."""
    run(game(), RING, DREAM, iterations=30, directory=tmp_path / "r")
    without_distances(tmp_path / "r" / "arrays.npz")
    loaded = rd.load(tmp_path / "r")
    assert loaded.distances is None and len(loaded.history) == 4
    assert facts_of(page(collect(loaded)))["distances"] == []


def test_a_checkpoint_without_them_can_be_gone_on_from(tmp_path):
    """The records before it have NaN, also after another checkpoint; those after it are as they should be."""
    run(game(), RING, DREAM, iterations=20, record_every=5, checkpoint_every=10, directory=tmp_path / "r")
    manifest = tmp_path / "r" / "checkpoint" / "manifest.json"
    content = without_distances(tmp_path / "r" / "checkpoint" / "state-20.npz")
    record = json.loads(manifest.read_text()) | {"sha256": hashlib.sha256(content).hexdigest()}
    manifest.write_text(json.dumps(record))
    rd.resume(tmp_path / "r", iterations=30, problem=game())
    found = rd.resume(tmp_path / "r", iterations=40, problem=game())
    wanted = run(game(), RING, DREAM, iterations=40, record_every=5)
    assert np.isnan(found.distances[:5]).all()
    assert np.array_equal(found.distances[5:], wanted.distances[5:])
    assert found.history.drop(columns=["seconds", "evaluation_seconds"]).equals(
        wanted.history.drop(columns=["seconds", "evaluation_seconds"])
    )


@pytest.mark.parametrize(("most", "kept"), [(25, True), (24, False)])
def test_too_many_are_not_kept(monkeypatch, tmp_path, most, kept):
    """Five records of five agents are kept where 25 numbers may be; the run is the same, in one go or in two."""
    monkeypatch.setattr(history, "MOST_DISTANCES", most)
    whole = run(game(), RING, DREAM, iterations=40, record_every=10)
    assert (whole.distances is not None) == kept
    run(game(), RING, DREAM, iterations=23, record_every=10, checkpoint_every=7, directory=tmp_path / "r")
    parts = rd.resume(tmp_path / "r", iterations=40, problem=game())
    assert parts.history.primal.equals(whole.history.primal)
    assert (parts.distances is not None) == kept
    assert not kept or np.array_equal(parts.distances, whole.distances)


def test_a_longer_run_than_that_keeps_none_either(monkeypatch, tmp_path):
    """Once there are too many, there are none, whether the run stops there or goes on."""
    monkeypatch.setattr(history, "MOST_DISTANCES", 15)
    short = run(game(), RING, DREAM, iterations=33, record_every=10, checkpoint_every=33, directory=tmp_path / "r")
    assert short.distances is None
    assert rd.resume(tmp_path / "r", iterations=34, problem=game()).distances is None


def test_rows_on_disk_have_no_other_columns(tmp_path, monkeypatch):
    """Whoever reads history.csv while the run lasts finds what was always there."""
    seen = []
    monkeypatch.setattr(RunDirectory, "record", lambda self, row: seen.append(list(row)))
    result = run(game(), RING, DREAM, iterations=10, directory=tmp_path / "r")
    assert all(columns == list(result.history.columns) for columns in seen) and len(seen) == 2


def test_a_run_that_diverges_has_them_as_far_as_it_goes():
    """And a heat map of what was finite."""
    for every in (1, 100):
        result = run(game(), RING, rd.DREAM(eta=50.0, gamma=0.3, b=3), iterations=2000, record_every=every)
        assert result.outcome == "diverged" and len(result.distances) == len(result.history)
        assert np.isfinite(result.distances[-1]).all() == (every == 1)
        assert len(facts_of(page(collect(result)))["distances"]) == (every == 1)


def test_the_report_of_any_run_has_the_heat_map():
    """One for each method, where agents differ: not for one machine, whose distance is 0."""
    alone = run(game().pooled(), rd.topology.ring(1), rd.GDA(eta=0.05, gamma=0.3), iterations=10)
    assert (alone.distances == 0).all()
    results = [run(game(), RING, DREAM, iterations=20), run(game(), RING, rd.GTGDA(eta=0.05, gamma=0.3), iterations=20)]
    drawn = facts_of(page(collect([*results, alone])))["distances"]
    assert [one["label"] for one in drawn] == ["dream", "gt-gda"]
    assert drawn[0]["figure"]["data"][0]["type"] == "heatmap"


@pytest.mark.parametrize(("agents", "drawn"), [(100, 9), (40_000, 0)])
def test_heat_maps_take_a_bounded_part_of_the_page(agents, drawn):
    """Fewer records of many agents, and none of too many."""
    columns = {"iteration": np.arange(500.0), "primal": np.ones(500)}
    matrix = np.broadcast_to(np.random.default_rng(0).random(agents), (500, agents))
    runs = [Run(f"method {number}", 0, columns, {}, distances=matrix) for number in range(9)]
    maps = facts_of(page(runs))["distances"]
    assert len(maps) == drawn and len(json.dumps(maps)) < 1_200_000
