"""Losses that JAX differentiates: the trajectories of NumPy, a net that learns on actors, one thread everywhere."""

import os
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest
from laws import assert_same_bits, run
from nets import CLASSES, blobs, robust
from ray import cloudpickle

import raydream as rd
from raydream.constraints import Ball, Box, Simplex
from raydream.errors import InnerMaximumError

jax = pytest.importorskip("jax", reason="the extra `jax` is not installed: pip install 'raydream[jax]'")
jnp = jax.numpy

RING = rd.topology.ring(4)
SIMPLEX = Simplex(1.0)
Layer = namedtuple("Layer", "weights shift")


def net(x, rows):
    return jnp.tanh(rows @ x["hidden"].weights + x["hidden"].shift) @ x["out"].weights + x["out"].shift


def entropies(scores, labels):
    return -jax.nn.log_softmax(scores)[jnp.arange(len(labels)), labels]


def weighed(x, y, rows, labels):
    """Cross-entropy in which an adversary y weighs the classes, and pays for straying from equal weights."""
    return CLASSES * jnp.mean(y[labels] * entropies(net(x, rows), labels)) - jnp.sum((y - 1 / CLASSES) ** 2)


def shifted(x, y, rows, labels):
    """Cross-entropy of rows that an adversary moves by y, and pays for it."""
    return jnp.mean(entropies(net(x, rows + y), labels)) - 5.0 * jnp.sum(y**2)


def parameters():
    generator = np.random.default_rng(0)
    return {
        "out": Layer(generator.normal(size=(8, CLASSES)) / 3, np.zeros(CLASSES)),
        "hidden": Layer(generator.normal(size=(5, 8)) / 2, np.zeros(8)),
    }


def posed(loss=weighed, data=None, x=None, y=CLASSES, constraint=SIMPLEX, **more):
    data, x = blobs() if data is None else data, parameters() if x is None else x
    return rd.problems.from_jax(loss, data, x=x, y=y, constraint=constraint, **more)


def test_robust_logistic_regression_has_numpy_s_trajectory():
    """DREAM on the paper's problem, to 1e-8, P included."""
    problem, data = robust()
    N, r, theta, nu = problem.total, problem.radius, problem.penalty.theta, problem.penalty.nu

    def loss(x, y, A, b, places):
        penalty = theta * jnp.sum(nu * x**2 / (1 + nu * x**2))
        losses = jnp.logaddexp(0.0, -b * (A @ x))
        return r * jnp.mean(y[places] * losses) - jnp.sum((y - r / N) ** 2) / 2 + penalty

    again = rd.problems.from_jax(loss, data, x=8, y=np.full(N, r / N), constraint=Simplex(r))
    method = rd.DREAM(eta=0.1, gamma=1.0, p=0.2, b=8, K=2)
    found, wanted = (run(one, RING, method, iterations=150) for one in (again, problem))
    np.testing.assert_allclose(found.arrays["Z"], wanted.arrays["Z"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.history.primal, wanted.history.primal, rtol=0, atol=1e-8)
    assert found.ledger == wanted.ledger
    assert np.abs(wanted.arrays["Z"][0] - wanted.arrays["S"][0]).max() > 0.1  # it has moved


def test_gradients_are_derivatives_of_values():
    """In x and in y, by central differences."""
    problem = posed(weights=[0.1, 0.2, 0.3, 0.4])
    generator, h = np.random.default_rng(1), 1e-5
    x, y = generator.normal(size=problem.dim_x) / 3, generator.random(problem.dim_y)
    gx, gy = problem.gradient(x, y)
    for _ in range(5):
        u, v = generator.normal(size=x.size), generator.normal(size=y.size)
        slope = (problem.value(x + h * u, y + h * v) - problem.value(x - h * u, y - h * v)) / (2 * h)
        np.testing.assert_allclose(gx @ u + gy @ v, slope, rtol=1e-5, atol=1e-7)


TASKS = {
    "against weights": (lambda: posed(), rd.DREAM(eta=0.3, gamma=1.0, b=8, K=2)),
    "against a shift": (
        lambda: posed(shifted, y=5, constraint=Box(-0.2, 0.2)), rd.DREAM(eta=0.05, gamma=5.0, b=8, K=2),
    ),
    "in float32": (lambda: posed(dtype="float32"), rd.DREAM(eta=0.3, gamma=1.0, b=8, K=2)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(TASKS))
def test_nets_learn_and_actors_give_the_same_bits(name, shared_ray):
    """P falls to half within 120 iterations; an actor with one agent and another with the rest change no bit."""
    make, method = TASKS[name]
    wanted = run(make(), RING, method, iterations=120, record_every=40)
    assert wanted.history.primal.iloc[-1] < 0.5 * wanted.history.primal.iloc[0]
    kind = "float32" if "float32" in name else "float64"
    assert {str(array.dtype) for array in wanted.arrays.values()} == {kind}
    backend = rd.RayBackend(agents_per_actor=[1, 3])
    assert_same_bits(rd.run(make(), RING, method, iterations=120, record_every=40, backend=backend), wanted)


def test_the_pytree_comes_back():
    """With the shapes, containers and numbers that it had."""
    problem, given = posed(), parameters()
    back = problem.unflatten_x(problem.start()[0])
    assert jax.tree.structure(back) == jax.tree.structure(given)
    assert all(map(np.array_equal, jax.tree.leaves(back), jax.tree.leaves(given)))
    assert problem.unflatten_y(np.arange(3.0)).tolist() == [0.0, 1.0, 2.0]
    assert {leaf.dtype for leaf in jax.tree.leaves(posed(dtype="float32").unflatten_x(np.zeros(75)))} == {
        np.dtype("float32")
    }


def test_jax_is_left_as_it_is():
    """64-bit numbers, devices and settings of the user's own; and they change no bit."""
    method = rd.DREAM(eta=0.3, gamma=1.0, b=8, K=2)
    single, double = posed(dtype="float32"), posed()
    wanted, wide = (run(one, RING, method, iterations=6) for one in (single, double))
    assert jnp.ones(3).dtype == jnp.float32 and jnp.ones(3).devices() == {jax.devices()[0]}
    with jax.enable_x64(True), jax.default_matmul_precision("bfloat16"):
        assert_same_bits(run(single, RING, method, iterations=6), wanted)
        assert_same_bits(run(double, RING, method, iterations=6), wide)
        assert jnp.ones(3).dtype == jnp.float64


CORES = """
import hashlib
import numpy as np
from test_jax import jnp, parameters, posed
generator = np.random.default_rng(0)
rows = generator.normal(size=(1000, 123)), generator.integers(3, size=1000)
x = {"hidden": type(parameters()["out"])(generator.normal(size=(123, 64)) / 5, np.zeros(64)),
     "out": type(parameters()["out"])(generator.normal(size=(64, 3)) / 5, np.zeros(3))}
jnp.ones(3) + 1
for dtype in ("float64", "float32"):
    problem = posed(data=[rows], x=x, dtype=dtype)
    pair = problem.local(0).gradient(*(part.astype(dtype) for part in problem.start()))
    print(hashlib.sha256(b"".join(part.tobytes() for part in pair)).hexdigest())
"""


def test_the_number_of_cores_changes_no_bit():
    """Where JAX has two threads or eight, and was started before, products of 1000 rows are summed in one order."""
    paths = [*sys.path, os.path.dirname(__file__)]
    said = {
        subprocess.run(
            [sys.executable, "-c", CORES],
            env={**os.environ, "NPROC": cores, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True, text=True, check=True,
        ).stdout
        for cores in ("1", "2", "8")
    }  # fmt: skip
    assert len(said) == 1 and len(said.pop().split()) == 2


def test_what_was_set_about_threads_stays(monkeypatch):
    """The variable that a new client reads is put back."""
    from raydream.problems.own import with_jax

    monkeypatch.setenv("NPROC", "2")
    with_jax._device.cache_clear()
    posed()
    assert os.environ["NPROC"] == "2"


def test_metrics_of_a_float32_problem_are_measured_in_float64():
    """At float64 points the loss is computed in float64."""
    single, wide = posed(dtype="float32"), posed()
    x, y = wide.start()
    assert single.gradient(x, y)[0].dtype == np.float64
    assert single.local(0).gradient(x.astype(np.float32), y.astype(np.float32))[0].dtype == np.float32
    exact = posed(data=[(A.astype(np.float32).astype(np.float64), b) for A, b in blobs()])
    assert single.value(x, y) == exact.value(x, y)


def test_an_agent_s_part_is_self_contained():
    """It is pickled with its own rows alone, also after it was compiled, and gives the same bits elsewhere."""
    data = blobs()
    data[0] = tuple(np.concatenate([array] * 200) for array in data[0])
    problem = posed(data=data)
    wanted = problem.local(1).gradient(*problem.start())
    assert len(cloudpickle.dumps(problem.local(1))) < 20_000 < 200_000 < len(cloudpickle.dumps(problem.local(0)))
    found = cloudpickle.loads(cloudpickle.dumps(problem.local(1))).gradient(*problem.start())
    assert all(map(np.array_equal, found, wanted))


def test_a_loss_that_is_not_concave_in_y_is_refused():
    """By the run, as of any problem."""
    problem = posed(lambda x, y, rows, labels: weighed(x, y, rows, labels) + 3 * jnp.sum(y**2), constraint=Ball(1.0))
    with pytest.raises(InnerMaximumError, match="not concave"):
        run(problem, RING, rd.DREAM(eta=0.1, gamma=1.0), iterations=3)


WRONG = [
    ({"loss": 3}, "`loss` must be a function f(x, y, *arrays); got 3."),
    ({"x": "net"}, "`x` must be a shape or a pytree of arrays; got 'net'."),
    ({"x": {}}, "`x` must be a shape or a pytree of arrays; got {}."),
    ({"x": (3, 0)}, "`x` must hold at least one number; got the shape (3, 0)."),
    ({"y": {"a": np.array([1.0, np.nan])}}, "`y` must be finite; entry 1 is nan."),
    ({"dtype": "bfloat16"}, "`dtype` must be float64 or float32; got 'bfloat16'."),
    ({"constraint": Box(np.zeros(4), np.ones(4))}, "`constraint` must be a set of vectors of length 3"),
    (
        {"loss": lambda x, y, rows, labels: entropies(net(x, rows), labels)},
        "`loss` must return one number; it returned an array of shape (1,). Take the mean over the rows.",
    ),
    ({"loss": lambda x, y, rows, labels: 3.0}, "`loss` must return one number as an array; it returned 3.0."),
    (
        {"loss": lambda x, y, rows, labels: jnp.sum(entropies(net(x, rows), labels)) - jnp.sum(y**2)},
        "`loss` must be the mean over the rows it is given; for agent 0 row 0 gives",
    ),
    (
        {"loss": lambda x, y, rows, labels: jnp.mean(net(x, rows)) * jnp.nan},
        "`loss` must be finite at the start; for agent 0 it is nan on row 0.",
    ),
    ({"data": [(rd.data.load("synthetic", samples=20)[0],)]}, "`data[0][0]` must be a dense array"),
]


@pytest.mark.parametrize(("changes", "sentence"), WRONG, ids=lambda part: part[:50] if isinstance(part, str) else "")
def test_a_mistake_gets_a_sentence_where_the_problem_is_made(changes, sentence):
    """It names the argument and what came."""
    with pytest.raises((ValueError, TypeError)) as caught:
        posed(**changes)
    assert sentence in str(caught.value)
