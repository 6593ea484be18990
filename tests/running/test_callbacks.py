"""on_record: who hears of records, and may end the run."""

import json
import sys

import pytest
from laws import assert_same_bits, run

import raydream as rd
from raydream.errors import CallbackError

RING = rd.topology.ring(4)
METHOD = rd.DREAM(eta=0.1, gamma=0.3, p=0.3, b=2, K=2)


@pytest.fixture
def game():
    return rd.problems.QuadraticGame.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=1)


def stop_iteration(row):
    raise StopIteration


def test_it_hears_every_record_and_changes_nothing(game):
    """Also if it writes into what it is given; whatever it returns but True says nothing."""
    heard = []
    result = run(
        game, RING, METHOD, iterations=25, on_record=lambda row: heard.append(row) or row.update(primal=0) or 1
    )
    assert [row["iteration"] for row in heard] == result.history.iteration.tolist() == [0, 10, 20, 25]
    assert [row["grad_norm"] for row in heard] == result.history.grad_norm.tolist()
    assert_same_bits(result, run(game, RING, METHOD, iterations=25))


@pytest.mark.parametrize("stop", [lambda row: row["iteration"] == 10, stop_iteration])
def test_it_may_end_the_run(game, stop, tmp_path):
    """By True or StopIteration; the run says so, loads, and goes on to the bits of one that was never ended."""
    options = dict(directory=tmp_path / "run", checkpoint_every=50)
    result = run(game, RING, METHOD, iterations=30, on_record=stop, **options)
    last = 0 if stop is stop_iteration else 10
    assert (result.outcome, result.reason) == ("callback", f"on_record ended the run at iteration {last}")
    assert rd.load(tmp_path / "run").outcome == "callback" and result.history.iteration.iloc[-1] == last
    if last:
        again = rd.resume(tmp_path / "run", problem=game, iterations=30, progress=False)
        assert_same_bits(again, run(game, RING, METHOD, iterations=30))


def test_a_target_that_is_reached_counts_first(game):
    """Where both would end the run."""
    assert run(game, RING, METHOD, iterations=30, target_primal=1e9, on_record=lambda row: True).outcome == "target"


def test_one_that_fails_ends_the_run_with_a_sentence(game, tmp_path):
    """With the iteration, in the run's directory too."""
    with pytest.raises(CallbackError, match="`on_record` failed at iteration 10 with KeyError: 'auc'"):
        run(game, RING, METHOD, iterations=30, directory=tmp_path / "run",
            on_record=lambda row: row["auc"] if row["iteration"] else None)  # fmt: skip
    told = json.loads((tmp_path / "run" / "run.json").read_text())
    assert told["outcome"] == "failed" and "on_record" in told["reason"]
    with pytest.raises(TypeError, match="`on_record` must be a function of a row; got 3"):
        run(game, RING, METHOD, iterations=30, on_record=3)


class Written(list):
    """A stand-in for a logging library: whatever is called is written down."""

    def __getattr__(self, name):
        def call(*given, **options):
            self.append((name, given, options))
            return self

        return call

    summary = {}  # noqa: RUF012


LIBRARIES = {rd.WandB: "wandb", rd.MLflow: "mlflow", rd.TensorBoard: "torch.utils.tensorboard"}


@pytest.mark.parametrize("kind", LIBRARIES)
def test_ready_ones_log_every_record(game, kind, monkeypatch):
    """Begin, one row per record at its iteration without what is not finite, end; also where the run fails."""
    library = Written()
    monkeypatch.setitem(sys.modules, LIBRARIES[kind], library)
    run(game, RING, rd.DGDA(eta=0.1, gamma=0.3), iterations=20, on_record=kind())
    logged = [(given, options) for name, given, options in library if name in ("log", "log_metrics", "add_scalar")]
    if kind is rd.TensorBoard:
        assert {given[2] for given, _ in logged} == {0, 10, 20} and "primal" in {given[0] for given, _ in logged}
        assert "tracking" not in {given[0] for given, _ in logged}
    else:
        assert [options["step"] for _, options in logged] == [0, 10, 20]
        assert all("primal" in given[0] and "tracking" not in given[0] for given, _ in logged)
    assert library[0][0] in ("init", "start_run", "SummaryWriter") and library[-1][0] in ("finish", "end_run", "close")
    library.clear()
    with pytest.raises(rd.errors.MetricError):
        run(game, RING, METHOD, iterations=20, on_record=kind(), metrics={"auc": lambda x, y: 1 / 0})
    assert library[-1][0] in ("finish", "end_run", "close")


@pytest.mark.parametrize("kind", LIBRARIES)
def test_a_missing_library_is_a_sentence(game, kind, monkeypatch):
    """What to install; nothing is imported before a run begins."""
    made = kind()
    for name in ("wandb", "mlflow", "tensorboardX", "torch", "torch.utils.tensorboard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CallbackError, match=r"`on_record` needs .*, which is not installed; pip install "):
        run(game, RING, METHOD, iterations=5, on_record=made)


def test_an_object_may_hear_of_beginning_and_end(game):
    """With everything that makes the run, and with its outcome."""
    heard = []
    told = lambda row: None  # noqa: E731
    told.begin, told.end = (lambda config: heard.append(config["seed"])), heard.append
    run(game, RING, METHOD, iterations=5, seed=7, on_record=told)
    assert heard == [7, "completed"]
