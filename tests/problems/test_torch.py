"""Losses that torch differentiates: the trajectories of NumPy, nets that learn on actors, and nothing left changed."""

from collections import namedtuple

import numpy as np
import pytest
from laws import assert_same_bits, run
from nets import CLASSES, blobs, images, robust
from ray import cloudpickle

import raydream as rd
from raydream.constraints import Ball, Box, Simplex
from raydream.errors import InnerMaximumError

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed: pip install 'raydream[torch]'")
nn, F = torch.nn, torch.nn.functional

RING = rd.topology.ring(4)
SIMPLEX = Simplex(1.0)


def weighed(net, y, rows, labels):
    """Cross-entropy in which an adversary y weighs the classes, and pays for straying from equal weights."""
    each = F.cross_entropy(net(rows), labels, reduction="none")
    return CLASSES * (y[labels] * each).mean() - ((y - 1 / CLASSES) ** 2).sum()


def shifted(net, y, rows, labels):
    """Cross-entropy of rows that an adversary moves by y, and pays for it."""
    moved = rows + y.reshape(rows.shape[1:])
    return F.cross_entropy(net(moved), labels) - 5.0 * (y**2).sum()


def mlp(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, CLASSES))


def cnn(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(27, CLASSES))


def posed(loss=weighed, data=None, x=None, y=CLASSES, constraint=SIMPLEX, **more):
    data, x = blobs() if data is None else data, mlp() if x is None else x
    return rd.problems.from_torch(loss, data, x=x, y=y, constraint=constraint, **more)


def test_robust_logistic_regression_has_numpy_s_trajectory():
    """DREAM on the paper's problem, to 1e-8, P included."""
    problem, data = robust()
    N, r, theta, nu = problem.total, problem.radius, problem.penalty.theta, problem.penalty.nu

    def loss(x, y, A, b, places):
        penalty = theta * (nu * x**2 / (1 + nu * x**2)).sum()
        return r * (-y[places] * F.logsigmoid(b * (A @ x))).mean() - ((y - r / N) ** 2).sum() / 2 + penalty

    again = rd.problems.from_torch(loss, data, x=8, y=np.full(N, r / N), constraint=Simplex(r))
    method = rd.DREAM(eta=0.1, gamma=1.0, p=0.2, b=8, K=2)
    found, wanted = (run(one, RING, method, iterations=150) for one in (again, problem))
    np.testing.assert_allclose(found.arrays["Z"], wanted.arrays["Z"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.history.primal, wanted.history.primal, rtol=0, atol=1e-8)
    assert found.ledger == wanted.ledger
    assert np.abs(wanted.arrays["Z"][0] - wanted.arrays["S"][0]).max() > 0.1  # it has moved


@pytest.mark.parametrize("net", [mlp, cnn])
def test_gradients_are_derivatives_of_values(net):
    """Of the whole and of a batch, in x and in y, by central differences."""
    data = blobs() if net is mlp else images()
    problem = posed(data=data, x=net(), weights=np.arange(1, len(data) + 1) / sum(range(1, len(data) + 1)))
    generator, h = np.random.default_rng(1), 1e-5
    x, y = generator.normal(size=problem.dim_x) / 3, generator.random(problem.dim_y)
    shard, batch = problem.local(1), np.array([3, 3, 0, 9])
    part = type(shard)(shard.functions, tuple(array[batch] for array in shard.arrays), shard.scale)
    for gradient, value in [(problem.gradient, problem.value), (lambda *z: shard.gradient(*z, batch), part.value)]:
        gx, gy = gradient(x, y)
        for _ in range(5):
            u, v = generator.normal(size=x.size), generator.normal(size=y.size)
            slope = (value(x + h * u, y + h * v) - value(x - h * u, y - h * v)) / (2 * h)
            np.testing.assert_allclose(gx @ u + gy @ v, slope, rtol=1e-5, atol=1e-7)


TASKS = {
    "mlp against weights": (lambda: posed(), rd.DREAM(eta=0.3, gamma=1.0, b=8, K=2)),
    "mlp against a shift": (
        lambda: posed(shifted, y=5, constraint=Box(-0.2, 0.2)), rd.DREAM(eta=0.05, gamma=5.0, b=8, K=2),
    ),
    "cnn against a shift": (
        lambda: posed(shifted, images(), cnn(), (1, 8, 8), Box(-0.1, 0.1)), rd.DREAM(eta=0.05, gamma=2.0, b=4, K=2),
    ),
    "mlp in float32": (lambda: posed(dtype="float32"), rd.DREAM(eta=0.3, gamma=1.0, b=8, K=2)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(TASKS))
def test_nets_learn_and_actors_give_the_same_bits(name, shared_ray):
    """P falls to half within 120 iterations; an actor with one agent and another with the rest change no bit."""
    make, method = TASKS[name]
    problem = make()
    ring = rd.topology.ring(problem.agents)
    wanted = run(problem, ring, method, iterations=120, record_every=40)
    assert wanted.history.primal.iloc[-1] < 0.5 * wanted.history.primal.iloc[0]
    kind = "float32" if "float32" in name else "float64"
    assert {str(array.dtype) for array in wanted.arrays.values()} == {kind}
    backend = rd.RayBackend(agents_per_actor=[1, problem.agents - 1])
    assert_same_bits(rd.run(make(), ring, method, iterations=120, record_every=40, backend=backend), wanted)


def test_the_trained_module_comes_back():
    """A copy with these parameters, which predicts what the flat vector does."""
    net = mlp()
    before = [p.detach().clone() for p in net.parameters()]
    problem = posed(x=net)
    result = run(problem, RING, rd.DREAM(eta=0.3, gamma=1.0, b=8, K=2), iterations=120)
    trained = problem.unflatten_x(result.x_bar)
    assert isinstance(trained, nn.Sequential) and trained is not net
    data = blobs()
    right = np.mean([float((trained(torch.tensor(A)).argmax(1) == torch.tensor(b)).double().mean()) for A, b in data])
    assert right > 0.9
    assert all(torch.equal(p, q) and p.dtype == torch.float32 for p, q in zip(net.parameters(), before, strict=True))
    assert len({p.untyped_storage().data_ptr() for p in trained.parameters()}) == 4
    flat = np.concatenate([p.detach().numpy().ravel() for p in trained.parameters()])
    assert np.array_equal(flat, result.x_bar)
    assert np.array_equal(problem.unflatten_y(result.y_bar).numpy(), result.y_bar)
    np.testing.assert_allclose(problem.start()[0], np.concatenate([p.numpy().ravel() for p in before]), rtol=0)


Pair = namedtuple("Pair", "scale shift")


def test_pytrees_and_modules_are_the_same_problem():
    """Dicts by their sorted keys, lists, tuples and named ones, as they are nested."""

    def by_hand(x, y, rows, labels):
        hidden = torch.tanh(rows @ x["layers"][0][0].T + x["layers"][0][1])
        scores = hidden @ x["layers"][1][0].T + x["layers"][1][1]
        each = F.cross_entropy(scores, labels, reduction="none")
        weights = y.scale * y.shift["a"]
        return CLASSES * (weights[labels] * each).mean() - ((weights - 1 / CLASSES) ** 2).sum()

    w1, b1, w2, b2 = (p.detach().double() for p in mlp().parameters())
    tree = {"layers": [(w1, b1), (w2.numpy(), b2)]}
    given = Pair(scale=np.array(2.0), shift={"b": torch.zeros(2), "a": [0.1, 0.2, 0.3]})
    problem = posed(by_hand, x=tree, y=Pair(given.scale, {"b": given.shift["b"], "a": torch.tensor(given.shift["a"])}),
                    constraint=None)  # fmt: skip
    assert (problem.dim_x, problem.dim_y) == (posed().dim_x, 6)
    np.testing.assert_allclose(problem.start()[1], [2.0, 0.1, 0.2, 0.3, 0.0, 0.0], rtol=1e-7)
    x = posed().start()[0]
    plain = posed(constraint=None)
    np.testing.assert_allclose(
        problem.value(x, problem.start()[1]), plain.value(x, np.array([0.2, 0.4, 0.6])), rtol=1e-7
    )
    gx = plain.gradient(x, np.array([0.2, 0.4, 0.6]))[0]
    np.testing.assert_allclose(problem.gradient(x, problem.start()[1])[0], gx, rtol=1e-6, atol=1e-9)
    back = problem.unflatten_x(x)
    assert torch.equal(back["layers"][0][0], w1) and back["layers"][1][1].shape == (CLASSES,)
    assert problem.unflatten_y(np.arange(6.0)).shift["b"].tolist() == [4.0, 5.0]


@pytest.mark.parametrize(("shape", "wanted"), [(3, (3,)), ((), ()), ((2, 3), (2, 3)), ([4], (4,))])
def test_shapes_are_tensors_that_start_at_zero(shape, wanted):
    """A number, or a tuple of them."""
    seen = []

    def loss(x, y, rows):
        seen.append(tuple(x.shape))
        return rows.mean() + (x**2).sum() / 2 - (y**2).sum() / 2

    problem = rd.problems.from_torch(loss, [(np.ones(4),)], x=shape, y=2)
    assert {*seen} == {wanted}
    assert np.array_equal(problem.start()[0], np.zeros(int(np.prod(wanted))))
    gx, gy = problem.gradient(np.full(problem.dim_x, 0.5), np.array([1.0, 2.0]))
    assert np.array_equal(gx, np.full(problem.dim_x, 0.5)) and np.array_equal(gy, [-1.0, -2.0])


def test_what_is_frozen_is_no_part_of_x():
    """Parameters that need no gradient stay as they are, in the problem's dtype."""
    net = mlp()
    net[0].weight.requires_grad_(False)
    problem = posed(x=net)
    assert problem.dim_x == posed().dim_x - net[0].weight.numel()
    trained = problem.unflatten_x(np.zeros(problem.dim_x))
    assert torch.equal(trained[0].weight, net[0].weight.double()) and not trained[2].weight.any()


class Witness(nn.Module):
    """A module that notes what surrounds its calls."""

    seen: list = []  # noqa: RUF012

    def __init__(self):
        super().__init__()
        self.net = mlp()

    def forward(self, rows):
        self.seen.append(
            (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(), torch.get_default_dtype())
        )
        return self.net(rows)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_calls_are_pinned_and_leave_no_trace(dtype):
    """One thread, deterministic algorithms and the problem's dtype while they last; afterwards as before."""
    threads, default = torch.get_num_threads(), torch.get_default_dtype()
    try:
        torch.set_num_threads(2)
        torch.set_default_dtype(torch.float16)
        Witness.seen.clear()
        problem = posed(x=Witness(), dtype=dtype)
        problem.local(0).gradient(*(part.astype(dtype) for part in problem.start()))
        assert {*Witness.seen} == {(1, True, getattr(torch, dtype))}
        assert torch.get_num_threads() == 2 and not torch.are_deterministic_algorithms_enabled()
        assert torch.get_default_dtype() == torch.float16
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(default)


def test_the_user_s_settings_change_no_bit():
    """Neither no_grad, nor a default dtype, nor threads, nor coarse products around the run."""
    method = rd.DREAM(eta=0.3, gamma=1.0, b=8, K=2)
    wanted = run(posed(dtype="float32"), RING, method, iterations=6)
    problem, threads = posed(dtype="float32"), torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        torch.set_default_dtype(torch.float64)
        torch.set_float32_matmul_precision("medium")
        with torch.no_grad():
            assert_same_bits(run(problem, RING, method, iterations=6), wanted)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(torch.float32)
        torch.set_float32_matmul_precision("highest")


def test_metrics_of_a_float32_problem_are_measured_in_float64():
    """At float64 points the loss is computed in float64, and agents' float32 calls afterwards are what they were."""
    single, wide = posed(dtype="float32"), posed()
    x, y = (part.astype(np.float32) for part in wide.start())
    before = single.local(0).gradient(x, y)
    far = (x.astype(np.float64), y.astype(np.float64))
    assert before[0].dtype == np.float32 and single.gradient(*far)[0].dtype == np.float64
    assert abs(single.value(*far) - wide.value(*far)) < 1e-6
    exact = posed(data=[(A.astype(np.float32).astype(np.float64), b) for A, b in blobs()])
    assert single.value(*far) == exact.value(*far)
    for again, then in zip(single.local(0).gradient(x, y), before, strict=True):
        assert np.array_equal(again, then)


def test_an_agent_s_part_is_self_contained():
    """It is pickled with its own rows alone, and gives the same bits elsewhere."""
    data = blobs()
    data[0] = tuple(np.concatenate([array] * 200) for array in data[0])
    problem = posed(data=data)
    assert len(cloudpickle.dumps(problem.local(1))) < 20_000 < 200_000 < len(cloudpickle.dumps(problem.local(0)))
    shard = cloudpickle.loads(cloudpickle.dumps(problem.local(1)))
    pairs = zip(shard.gradient(*problem.start()), problem.local(1).gradient(*problem.start()), strict=True)
    assert all(np.array_equal(found, wanted) for found, wanted in pairs)


def test_a_loss_that_is_not_concave_in_y_is_refused():
    """By the run, as of any problem."""
    problem = posed(lambda net, y, rows, labels: weighed(net, y, rows, labels) + 3 * (y**2).sum(), constraint=Ball(1.0))
    with pytest.raises(InnerMaximumError, match="not concave"):
        run(problem, RING, rd.DREAM(eta=0.1, gamma=1.0), iterations=3)


def test_a_batch_of_one_class_of_problems_can_be_pooled():
    """All rows on one machine, with the module's parameters still at hand."""
    problem = posed()
    pooled = problem.pooled()
    np.testing.assert_allclose(pooled.value(*problem.start()), problem.value(*problem.start()), rtol=1e-12)
    assert isinstance(pooled.unflatten_x(problem.start()[0]), nn.Sequential)


def with_part(part):
    return nn.Sequential(nn.Linear(5, 8), part, nn.Linear(8, CLASSES))


class Noisy(nn.Module):
    """Random without a dropout layer."""

    def __init__(self):
        super().__init__()
        self.net = mlp()

    def forward(self, rows):
        return self.net(rows + torch.randn_like(rows))


class Counting(nn.Module):
    """Remembers how often it was called."""

    def __init__(self):
        super().__init__()
        self.net = mlp()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, rows):
        self.calls += 1
        return self.net(rows)


@pytest.mark.parametrize(
    ("net", "what"),
    [
        (with_part(nn.BatchNorm1d(8)), "BatchNorm1d in training mode does not"),
        (with_part(nn.Dropout(0.5)), "it gives another value each time"),
        (Noisy(), "it gives another value each time"),
        (Counting(), "a call changes its `calls`"),
    ],
    ids=["batch norm", "dropout", "noise", "memory"],
)
def test_a_module_must_depend_on_its_parameters_and_rows_alone(net, what):
    """Else a run's numbers would depend on who was asked before."""
    with pytest.raises(ValueError, match="`x` must be a module that depends on its parameters and rows") as caught:
        posed(x=net)
    assert what in str(caught.value) and ".eval()" in str(caught.value)


@pytest.mark.parametrize("part", [nn.BatchNorm1d(8), nn.Dropout(0.5)])
def test_in_evaluation_mode_it_does(part):
    """Statistics are then constants and nothing is dropped."""
    problem = posed(x=with_part(part).eval())
    assert not problem.unflatten_x(problem.start()[0]).training
    assert run(problem, RING, rd.DREAM(eta=0.1, gamma=1.0, b=4, K=2), iterations=3).outcome == "completed"


WRONG = [
    ({"loss": 3}, "`loss` must be a function f(x, y, *tensors); got 3."),
    ({"x": "net"}, "`x` must be a module, a shape or a pytree of arrays; got 'net'."),
    ({"x": nn.ReLU()}, "`x` must be a module with parameters that need a gradient; ReLU has none."),
    ({"x": nn.LazyLinear(3)}, "`x` must be a module whose parameters have shapes; LazyLinear is lazy."),
    ({"x": {}}, "`x` must be a module, a shape or a pytree of arrays; got {}."),
    ({"x": (3, 0)}, "`x` must hold at least one number; got the shape (3, 0)."),
    ({"y": {"a": np.array([1.0, np.nan])}}, "`y` must be finite; entry 1 is nan."),
    ({"y": mlp()}, "`y` must be a shape or a pytree of arrays; got a module."),
    ({"y": [torch.ones(3), "b"]}, "`y` must be a shape or a pytree of arrays; got 'b'."),
    ({"dtype": torch.float32}, "`dtype` must be float64 or float32; got torch.float32."),
    ({"constraint": Box(np.zeros(4), np.ones(4))}, "`constraint` must be a set of vectors of length 3"),
    (
        {"loss": lambda net, y, rows, labels: F.cross_entropy(net(rows), labels, reduction="none")},
        "`loss` must return one number; it returned a tensor of shape (1,). Take the mean over the rows.",
    ),
    ({"loss": lambda net, y, rows, labels: 3.0}, "`loss` must return one number as a tensor; it returned 3.0."),
    (
        {"loss": lambda net, y, rows, labels: torch.tensor(0.0)},
        "`loss` must depend on x or y through torch; it returned a constant.",
    ),
    (
        {"loss": lambda net, y, rows, labels: F.cross_entropy(net(rows), labels, reduction="sum") - (y**2).sum()},
        "`loss` must be the mean over the rows it is given; for agent 0 row 0 gives",
    ),
    (
        {"loss": lambda net, y, rows, labels: net(rows).mean() * float("nan")},
        "`loss` must be finite at the start; for agent 0 it is nan on row 0.",
    ),
    ({"data": [(rd.data.load("synthetic", samples=20)[0],)]}, "`data[0][0]` must be a dense array"),
]


@pytest.mark.parametrize(("changes", "sentence"), WRONG, ids=lambda part: part[:50] if isinstance(part, str) else "")
@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
def test_a_mistake_gets_a_sentence_where_the_problem_is_made(changes, sentence):
    """It names the argument and what came."""
    with pytest.raises((ValueError, TypeError)) as caught:
        posed(**changes)
    assert sentence in str(caught.value)
