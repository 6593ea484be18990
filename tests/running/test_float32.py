"""Runs in float32: every state and every frame, half the bytes, the same bits wherever agents live."""

from dataclasses import dataclass

import numpy as np
import pytest
from laws import METHODS_UNDER_TEST, assert_same_bits, run

import raydream as rd
from raydream.constraints import Ball, Box, Everything, L1Ball, Product, Simplex
from raydream.errors import CheckpointError
from raydream.problems import QuadraticGame

RING = rd.topology.ring(4, self_weight=0.5)
DREAM = METHODS_UNDER_TEST["dream"]
SETS = [Everything(), Simplex(2.0), L1Ball(1.5), Ball(0.7), Box(-0.3, [0.1, 0.2, 0.3, 0.4])]


class InFloat32:
    """A problem that asks for float32; what its agents own is as it was."""

    dtype = np.float32

    def __init__(self, problem):
        self._problem = problem

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._problem, name)


class Coarse:
    """A problem of which only the agents' functions are known, computed in float32 to the last step."""

    agents, dim_x, dim_y, dtype = 4, 3, 4, np.float32

    def __init__(self, constraint=None, scale=1.0):
        self.constraint, self.scale = constraint, scale

    def local(self, i):
        return CoarseShard(i, self.scale)


class CoarseShard:
    """f_i(x, y) = |x - a|^2 / 2 + x'By - scale |y|^2 / 2."""

    samples = 5

    def __init__(self, i, scale):
        generator = np.random.default_rng(i)
        self.a = generator.normal(size=3).astype(np.float32)
        self.B = generator.normal(size=(3, 4)).astype(np.float32) * np.float32(scale)
        self.scale = scale

    def value(self, x, y):
        x, y = x.astype(np.float32), y.astype(np.float32)
        return float(np.sum((x - self.a) ** 2) / 2 + x @ self.B @ y - self.scale * (y @ y) / 2)

    def gradient(self, x, y, batch=None):
        x, y = x.astype(np.float32), y.astype(np.float32)
        return x - self.a + self.B @ y, x @ self.B - self.scale * y


def game(constraint=None, agents=4):
    return QuadraticGame.random(agents, 12, 3, 4, constraint=constraint or Ball(0.5), seed=3)


def placed(method):
    """The game and a network that the method can use."""
    posed = game() if method.refuse(game()) is None else game(Everything())
    return (posed.pooled(), rd.topology.ring(1)) if type(method).facts.one_machine else (posed, RING)


@pytest.mark.parametrize("name", sorted(METHODS_UNDER_TEST))
def test_states_and_frames_are_float32_and_bytes_are_half(name):
    """Every method: float32 arrays, the bill of the float64 run with half its bytes, and nearly its numbers."""
    method = METHODS_UNDER_TEST[name]
    problem, network = placed(method)
    wide = run(problem, network, method, iterations=24)
    single = run(InFloat32(problem), network, method, iterations=24)
    assert {str(array.dtype) for array in single.arrays.values()} == {"float32"}
    assert single.x_out.dtype == np.float32
    assert 2 * single.ledger.bytes == wide.ledger.bytes
    assert (single.ledger.sfo, single.ledger.rounds, single.ledger.messages) == (
        wide.ledger.sfo, wide.ledger.rounds, wide.ledger.messages,
    )  # fmt: skip
    np.testing.assert_allclose(single.arrays["Z"], wide.arrays["Z"], atol=2e-5)
    assert not np.array_equal(single.arrays["Z"], wide.arrays["Z"])
    assert {str(array.dtype) for array in wide.arrays.values()} == {"float64"}


def test_what_travels_is_float32(monkeypatch):
    """Each frame as it is said, also one that carries two arrays."""
    from raydream.backends.local import LocalSession

    said, exchange = [], LocalSession._exchange

    def witness(session, rows, bytes):
        said.extend(rows if isinstance(rows, tuple) else [rows])
        heard = exchange(session, rows, bytes)
        said.extend(heard if isinstance(heard, tuple) else [heard])
        return heard

    monkeypatch.setattr(LocalSession, "_exchange", witness)
    run(InFloat32(game()), RING, METHODS_UNDER_TEST["gt-gda, cta"], iterations=3)
    assert said and {str(rows.dtype) for rows in said} == {"float32"}


BACKENDS = [
    rd.RayBackend(),
    rd.RayBackend(agents_per_actor=3),
    rd.RayBackend(agents_per_actor=2, links="ray"),
]


@pytest.mark.parametrize("backend", BACKENDS, ids=["actors", "packed", "ray links"])
@pytest.mark.parametrize("name", ["dream", "gt-gda, cta"])
def test_actors_give_the_same_bits(name, backend, shared_ray):
    """Frames of half the length, weighed by the same float32 matrix."""
    method = METHODS_UNDER_TEST[name]
    wanted = run(InFloat32(game()), RING, method, iterations=13)
    found = rd.run(InFloat32(game()), RING, method, iterations=13, backend=backend)
    assert_same_bits(found, wanted)
    assert {str(array.dtype) for array in found.arrays.values()} == {"float32"}


def test_a_run_that_is_interrupted_goes_on_to_the_same_bits(tmp_path, shared_ray):
    """Checkpoints keep float32, and so does a result that is saved and loaded."""
    wanted = run(InFloat32(game()), RING, DREAM, iterations=23)
    settings = dict(checkpoint_every=4, directory=tmp_path)
    rd.run(InFloat32(game()), RING, DREAM, iterations=13, backend=rd.RayBackend(agents_per_actor=2), **settings)
    found = rd.resume(tmp_path, iterations=23, backend="local", problem=InFloat32(game()))
    assert_same_bits(found, wanted)
    assert_same_bits(rd.load(tmp_path), wanted)
    assert rd.load(tmp_path).arrays["S"].dtype == np.float32
    assert rd.load(tmp_path).record.problem.dtype == "float32"
    assert "y in 4 dimensions, in float32" in found.report(tmp_path / "report.html").read_text()


@pytest.mark.parametrize("begun", ["float32", "float64"])
def test_a_run_does_not_change_its_numbers_on_the_way(begun, tmp_path):
    """A float64 problem cannot go on with a float32 run, nor the other way round."""
    problems = {"float32": InFloat32(game()), "float64": game()}
    run(problems.pop(begun), RING, DREAM, iterations=4, checkpoint_every=4, directory=tmp_path)
    with pytest.raises(CheckpointError, match="its problem differs"):
        rd.resume(tmp_path, iterations=8, problem=problems.popitem()[1])


def test_means_and_metrics_are_taken_in_float64():
    """P is measured at the mean of the float32 rows as it is, not as float32 rounds it."""
    result = run(InFloat32(game()), RING, DREAM, iterations=8, metrics={"first": lambda x, y: x[0]})
    Z = result.arrays["Z"].astype(np.float64)
    assert np.array_equal(np.concatenate([result.x_bar, result.y_bar]), Z.mean(axis=0))
    last = result.history.iloc[-1]
    assert last.primal == game().primal(result.x_bar)
    assert last["first"] == result.x_bar[0]
    np.testing.assert_allclose(last.consensus, np.sum((Z - Z.mean(axis=0)) ** 2), rtol=1e-12)
    np.testing.assert_allclose(result.distances[-1], np.linalg.norm(Z - Z.mean(axis=0), axis=1), rtol=1e-12)


def test_a_parameter_that_is_a_numpy_number_changes_nothing():
    """np.float64 is not weak beside float32 arrays: a method of this package takes its value as a Python number."""
    plain = rd.GTDA(eta=0.03, gamma=0.5, R=2)
    other = rd.GTDA(eta=np.float64(0.03), gamma=np.float64(0.5), R=np.int64(2))
    assert repr(other) == repr(plain)
    found, wanted = (run(InFloat32(game()), RING, method, iterations=5) for method in (other, plain))
    assert_same_bits(found, wanted)


@dataclass(frozen=True)
class Wide:
    """Descent-ascent whose step is a float64 NumPy number, so that its rows grow."""

    says: bool

    def init(self, agents):
        return rd.algorithms.Iterates(agents.start())

    def step(self, state, agents, t, coin):
        Z = state.Z + np.float64(0.1) * agents.gradient(state.Z)
        if self.says:
            Z = yield Z
        return rd.algorithms.Iterates(Z)


@pytest.mark.parametrize("says", [True, False], ids=["in a frame", "in a state"])
@pytest.mark.filterwarnings("ignore::raydream.errors.MixingWarning")
def test_a_method_that_leaves_float32_is_refused(says):
    """In a sentence, before local rows and actors' frames could differ; in float64 it runs."""
    with pytest.raises(TypeError, match=r"must (keep the|be of) float32.*Python numbers.*float\(eta\)"):
        run(InFloat32(game()), RING, Wide(says), iterations=2)
    assert run(game(), RING, Wide(says), iterations=2).outcome == "completed"


def test_divergence_in_float32_is_a_result():
    """Far out, a gradient beyond the range of float32 is divergence and no error."""
    method = rd.GTGDA(eta=3.0, gamma=3.0)
    assert run(Coarse(), RING, method, iterations=400).outcome == "diverged"


@pytest.mark.parametrize("constraint", SETS, ids=lambda one: type(one).__name__)
def test_projections_keep_float32(constraint):
    """They are taken in float64 and rounded once; each row alone has the bits it has among others."""
    rows = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    for one in (constraint, Product([(constraint, 4)])):
        together = one.project(rows)
        assert together.dtype == np.float32
        assert np.array_equal(together, one.project(rows.astype(np.float64)).astype(np.float32))
        assert np.array_equal(together, np.stack([one.project(row) for row in rows]))
        assert one.project(rows.astype(np.float64)).dtype == np.float64
        assert one.project(rows.tolist()).dtype == np.float64


@pytest.mark.parametrize("constraint", SETS, ids=lambda one: type(one).__name__)
def test_the_start_of_the_problem_is_in_Y_although_it_is_rounded(constraint):
    """A start in float32 is not taken for one outside Y, nor for one of the user's own."""
    result = run(InFloat32(game(constraint)), RING, DREAM, iterations=0)
    assert not result.record.own_start
    with pytest.raises(ValueError, match=r"`start\[1\]` must be in Y"):
        run(InFloat32(game(Ball(0.5))), RING, DREAM, iterations=0, start=(np.zeros(3), np.full(4, 0.2501)))


@pytest.mark.parametrize("constraint", [None, Simplex(1.0)], ids=["free", "simplex"])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_p_is_found_although_gradients_are_rounded_to_float32(constraint, scale):
    """The inner maximiser asks no more of a float32 problem than float32 can say."""
    method = rd.GTGDA(eta=0.2 / scale, gamma=0.1)
    history = run(Coarse(constraint, scale), RING, method, iterations=60, record_every=20).history
    assert history.primal.is_monotonic_decreasing and history.grad_norm.notna().all()


def test_the_maximiser_does_not_wait_for_digits_that_float32_has_not():
    """P of a float32 problem costs some ten gradients of every agent, and not the hundred that 1e-9 would take."""
    calls = []

    class Counted(Coarse):
        def local(self, i):
            shard = super().local(i)
            gradient = shard.gradient
            shard.gradient = lambda *point: (calls.append(i), gradient(*point))[1]
            return shard

    rd.problems.complete(Counted(Ball(2.0), 3.0)).certified(np.full(3, 0.7), np.zeros(4), 1e-9)
    assert 0 < len(calls) < 4 * 40


@pytest.mark.parametrize("dtype", ["int64", "float16", "complex64", "nonsense"])
def test_other_numbers_are_refused(dtype):
    """A problem may ask for float64 or float32."""
    problem = InFloat32(game())
    problem.dtype = dtype
    with pytest.raises(TypeError, match=r"`problem.dtype` must be float64 or float32; got"):
        run(problem, RING, DREAM, iterations=1)
