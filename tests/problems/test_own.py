"""Your own problem from plain functions: agents' data cut into batches, weighed, checked where it is made."""

import pickle
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sparse
from laws import assert_same_bits, run
from ray import cloudpickle

import raydream as rd
from raydream.constraints import Ball, Box
from raydream.errors import InnerMaximumError
from raydream.problems import FromFunctions, complete
from raydream.types import Array

RING = rd.topology.ring(6)
DREAM = rd.DREAM(eta=0.1, gamma=0.5, b=8)


def value(x: Array, y: Array, A: Any, t: Array) -> float:
    """Least squares against an adversary who tilts the loss by y."""
    return float(np.mean((A @ x - t) ** 2) / 2 + y @ x - y @ y / 2)


def gradient(x: Array, y: Array, A: Any, t: Array) -> tuple[Array, Array]:
    """Its gradients in x and in y."""
    return A.T @ (A @ x - t) / len(t) + y, x - y


def arrays_of(i: int, rows: int = 40) -> tuple[Array, Array]:
    """What agent i owns."""
    generator = np.random.default_rng(i)
    A = generator.normal(size=(rows, 3))
    return A, A @ [1.0, -2.0, 0.5] + generator.normal(size=rows)


class ByHand:
    """The same problem as an object with its parts."""

    agents, dim_x, dim_y = 6, 3, 3
    constraint = Ball(1.0)

    def local(self, i: int) -> Any:
        A, t = arrays_of(i)

        def mean(x: Array, y: Array, batch: Any = None) -> tuple[Array, Array]:
            return gradient(x, y, *((A, t) if batch is None else (A[batch], t[batch])))

        return SimpleNamespace(samples=40, value=lambda x, y: value(x, y, A, t), gradient=mean)


def posed(rows: Any = (40,) * 6, **changes: Any) -> FromFunctions:
    """The problem, with some things changed."""
    data = [arrays_of(i, n) for i, n in enumerate(rows)]
    given: dict[str, Any] = dict(value=value, gradient=gradient, data=data, dim_x=3, dim_y=3, constraint=Ball(1.0))
    return FromFunctions(**(given | changes))


def test_functions_and_data_are_the_problem_that_one_would_write_by_hand() -> None:
    """The same bits of all agents; P, which is measured over all rows at once, to rounding."""
    found, wanted = (run(problem, RING, DREAM, iterations=60) for problem in (posed(), ByHand()))
    assert np.array_equal(found.arrays["Z"], wanted.arrays["Z"]) and found.ledger == wanted.ledger
    for name in ("primal", "grad_norm"):
        np.testing.assert_allclose(found.history[name], wanted.history[name], rtol=1e-9)


def test_actors_and_packed_ones_give_the_same_bits(shared_ray: None) -> None:
    """Shards of unequal sizes and weights too."""
    problem = posed((40, 3, 17, 1, 40, 8), weights=[0.3, 0.1, 0.2, 0.1, 0.2, 0.1])
    wanted = run(problem, RING, DREAM, iterations=25)
    for packing in (1, 4):
        backend = rd.RayBackend(agents_per_actor=packing)
        assert_same_bits(rd.run(problem, RING, DREAM, iterations=25, backend=backend), wanted)


def test_a_batch_is_cut_from_every_array_and_repeated_rows_count() -> None:
    """The gradient over a batch is the function's on these rows; the mean over single rows is the whole."""
    shard, (A, t) = posed().local(2), arrays_of(2)
    x, y, batch = np.ones(3), np.full(3, 0.2), np.array([5, 7, 5, 0])
    for found, wanted in zip(shard.gradient(x, y, batch), gradient(x, y, A[batch], t[batch]), strict=True):
        assert np.array_equal(found, wanted)
    singles = [shard.gradient(x, y, np.array([j])) for j in range(40)]
    np.testing.assert_allclose(np.mean([gx for gx, _ in singles], axis=0), shard.gradient(x, y)[0], rtol=1e-12)


def test_agents_weigh_alike_unless_it_is_said() -> None:
    """f = sum of w_i f_i, posed as the mean of m w_i f_i; weights stand with the data, or are given."""
    sizes, weights = (40, 3, 17, 1, 40, 8), np.array([0.3, 0.1, 0.2, 0.1, 0.2, 0.1])
    x, y = np.array([1.0, 2.0, -1.0]), np.array([0.3, 0.1, 0.2])
    each = np.array([value(x, y, *arrays_of(i, n)) for i, n in enumerate(sizes)])
    slopes = np.array([np.concatenate(gradient(x, y, *arrays_of(i, n))) for i, n in enumerate(sizes)])

    class Shards(list[Any]):
        weights: Any = None

    said = Shards(arrays_of(i, n) for i, n in enumerate(sizes))
    said.weights = weights
    for problem, shares in [
        (posed(sizes), np.full(6, 1 / 6)),
        (posed(sizes, weights=weights), weights),
        (posed(data=said), weights),
        (posed(data=said, weights=np.full(6, 1 / 6)), np.full(6, 1 / 6)),
    ]:
        np.testing.assert_allclose(problem.value(x, y), shares @ each, rtol=1e-13)
        np.testing.assert_allclose(np.concatenate(problem.gradient(x, y)), shares @ slopes, rtol=1e-13)
        for i in range(6):
            np.testing.assert_allclose(problem.local(i).value(x, y), 6 * shares[i] * each[i], rtol=1e-13)
            found = problem.local(i).gradient(x, y, np.arange(sizes[i]))
            np.testing.assert_allclose(np.concatenate(found), 6 * shares[i] * slopes[i], rtol=1e-12)


def test_the_bill_counts_the_rows_that_an_agent_has() -> None:
    """n_i for a whole shard; the problem's own n is their mean, rounded up."""
    sizes = (40, 3, 17, 1, 40, 8)
    problem = posed(sizes)
    assert problem.samples == 19 and posed().samples == 40
    assert [problem.local(i).samples for i in range(6)] == list(sizes)
    assert run(problem, RING, rd.GTGDA(eta=0.1, gamma=0.5), iterations=4).ledger.sfo == 5 * sum(sizes)


def test_an_actor_gets_the_data_of_its_own_agents_alone() -> None:
    """What travels of agent i is about as long as its arrays."""
    problem = posed((4000, 10, 10, 10, 10, 10))
    assert len(pickle.dumps(problem.local(3))) < 2_000 < 100_000 < len(pickle.dumps(problem.local(0)))
    assert len(cloudpickle.dumps(problem)) > 100_000


def test_the_data_are_the_problem_s_own_copies() -> None:
    """What the caller does with an array later, and how it lay in memory, changes nothing."""
    data = [arrays_of(i) for i in range(6)]
    fortran = [(np.asfortranarray(A), t[::-1][::-1]) for A, t in data]
    first, second = posed(data=data), posed(data=fortran)
    for A, _ in [*data, *fortran]:
        A[...] = 0.0
    assert_same_bits(run(first, RING, DREAM, iterations=9), run(second, RING, DREAM, iterations=9))
    assert_same_bits(run(first, RING, DREAM, iterations=9), run(posed(), RING, DREAM, iterations=9))


def spoils_data(x: Array, y: Array, A: Array, t: Array) -> tuple[Array, Array]:
    A *= 2.0
    return gradient(x, y, A, t)


def spoils_x(x: Array, y: Array, A: Array, t: Array) -> tuple[Array, Array]:
    x -= 1.0
    return gradient(x, y, A, t)


@pytest.mark.parametrize("spoilt", [spoils_data, spoils_x])
def test_a_function_cannot_write_to_what_it_is_lent(spoilt: Any) -> None:
    """Neither to an agent's data nor to its iterate: on every backend the same error."""
    problem = posed()
    problem.local(0).gradient(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        shard = problem.local(0)
        shard.functions = (value, spoilt)
        shard.gradient(np.ones(3), np.ones(3))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_with_a_point_become_the_problem_s_and_others_stay(dtype: str) -> None:
    """Labels and flags keep their types."""
    seen: list[Any] = []

    def look(x: Array, y: Array, *arrays: Any) -> float:
        seen.extend(arrays)
        return 0.0

    columns = (np.ones((4, 2), np.float16), np.arange(4), np.ones(4, bool), np.ones((4, 3, 2)), np.ones(4, np.uint8))
    FromFunctions(look, lambda x, y, *_: (x, y), [columns], 2, 2, dtype=dtype)
    assert [str(array.dtype) for array in seen[:5]] == [dtype, "int64", "bool", dtype, "uint8"]
    assert [array.shape for array in seen[:5]] == [(1, 2), (1,), (1,), (1, 3, 2), (1,)]


def test_sparse_rows_are_rows() -> None:
    """A CSR matrix is cut like an array, and gives what its dense form gives."""
    data = [(np.where(np.abs(A) > 0.7, A, 0.0), t) for A, t in map(arrays_of, range(6))]
    thin = posed(data=[(sparse.csr_array(A), t) for A, t in data])
    dense = run(posed(data=data), RING, DREAM, iterations=20)
    np.testing.assert_allclose(run(thin, RING, DREAM, iterations=20).arrays["Z"], dense.arrays["Z"], atol=1e-12)
    assert thin.pooled().samples == 240


def test_a_problem_in_float32_is_run_in_float32() -> None:
    """Data, iterates and gradients of agents; the numbers are nearly those of float64."""
    single = run(posed(dtype="float32"), RING, DREAM, iterations=40)
    wide = run(posed(), RING, DREAM, iterations=40)
    assert {str(array.dtype) for array in single.arrays.values()} == {"float32"}
    assert 2 * single.ledger.bytes == wide.ledger.bytes
    np.testing.assert_allclose(single.history.primal, wide.history.primal, rtol=1e-5)
    shard = posed(dtype=np.float32).local(0)
    assert shard.gradient(np.ones(3, np.float32), np.ones(3, np.float32))[0].dtype == np.float32


def test_rows_on_one_machine_are_the_same_problem() -> None:
    """Where an agent weighs as much as it has rows; else no mean over all rows is f, and it is said."""
    sizes = (40, 3, 17, 1, 40, 8)
    problem = posed(sizes, weights=np.array(sizes) / sum(sizes))
    pooled = problem.pooled()
    x, y = np.array([1.0, 2.0, -1.0]), np.array([0.3, 0.1, 0.2])
    assert (pooled.agents, pooled.samples) == (1, 109)
    np.testing.assert_allclose(pooled.value(x, y), problem.value(x, y), rtol=1e-13)
    np.testing.assert_allclose(posed().pooled().value(x, y), posed().value(x, y), rtol=1e-13)
    with pytest.raises(ValueError, match=r"`problem` cannot be pooled: agent 0 weighs 0\.166667 and has 0\.366972"):
        posed(sizes).pooled()


def test_what_is_known_of_the_problem_is_used() -> None:
    """A start, metrics, P and the best response; the rest is derived as for any problem of one's own."""
    clip = Ball(1.0).project
    plain = complete(posed())
    problem = posed(best_response=clip, metrics={"first": lambda x, y: x[0]}, start=(np.ones(3), np.full(3, 0.5)))
    result = run(problem, RING, DREAM, iterations=20)
    assert result.history["first"].iloc[0] == 1.0
    assert result.history.evaluation_error.isna().all()
    assert not result.record.own_start
    np.testing.assert_allclose(complete(problem).primal(result.x_bar), plain.primal(result.x_bar), rtol=1e-9)
    np.testing.assert_allclose(plain.start()[1], 0.0)
    assert complete(posed(primal=lambda x: 7.0)).primal(np.ones(3)) == 7.0


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_a_library_that_is_missing_is_named_with_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And only where it is needed: the package itself does without."""
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"`from_{name}` needs {name}, .* pip install 'raydream\[{name}\]'"):
        getattr(rd.problems, f"from_{name}")(None, [], x=1, y=1)


def test_a_function_that_is_not_concave_in_y_is_refused() -> None:
    """By the run, as of any problem."""
    problem = posed(
        value=lambda x, y, A, t: value(x, y, A, t) + y @ y, gradient=lambda x, y, A, t: (x, x + y), constraint=None
    )
    with pytest.raises(InnerMaximumError, match="not concave"):
        run(problem, RING, DREAM, iterations=3, check=False)


A0, T0 = arrays_of(0)


def nan_at(place: tuple[int, ...]) -> Array:
    spoilt = A0.copy()
    spoilt[place] = np.nan
    return spoilt


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"value": 3}, "`value` must be a function f(x, y, *arrays); got 3."),
    ({"gradient": None}, "`gradient` must be a function f(x, y, *arrays); got None."),
    ({"dim_x": 0}, "`dim_x` must be at least 1; got 0."),
    ({"dim_y": 2.5}, "`dim_y` must be a whole number; got 2.5."),
    ({"dtype": "float16"}, "`dtype` must be float64 or float32; got 'float16'."),
    ({"constraint": 3}, "`constraint` must be a set with `project`, or None; got 3."),
    ({"constraint": Box(np.zeros(4), np.ones(4))}, "`constraint` must be a set of vectors of length 3"),
    ({"data": []}, "`data` must hold one tuple of arrays for each agent; got no agent."),
    ({"data": 5}, "`data` must hold one tuple of arrays for each agent; got 5."),
    ({"data": (A0, T0)}, "`data[0]` must be a tuple of arrays; got an array of shape (40, 3). Write (array,)."),
    ({"data": [()]}, "`data[0]` must be a tuple of arrays; got an empty one."),
    ({"data": [(A0, T0), (A0, T0[:-1])]}, "`data[1]` must have arrays of equally many rows; got 40 and 39."),
    ({"data": [(A0, T0), (A0[:0], T0[:0])]}, "`data[1]` must have at least one row; got none."),
    ({"data": [(A0, T0), (A0,)]}, "`data[1]` must have as many arrays as that of agent 0, 2; got 1."),
    ({"data": [(A0, T0), (A0[:, :2], T0)]}, "`data[1][0]` must have rows like those of agent 0, of shape (3,)"),
    ({"data": [(A0, T0), (A0, np.arange(40))]}, "`data[1][1]` must have numbers like those of agent 0, float64"),
    ({"data": [(A0, 3.0)]}, "`data[0][1]` must have rows; got a single number."),
    ({"data": [([[1.0, 2.0], [3.0]], T0)]}, "`data[0][0]` must be an array of numbers, with rows of equal length"),
    ({"data": [(A0, T0 + 0j)]}, "`data[0][1]` must be an array of real numbers; got complex128."),
    ({"data": [(A0, T0.astype(object))]}, "`data[0][1]` must be an array of real numbers; got object."),
    ({"data": [(A0, T0.astype(str))]}, "`data[0][1]` must be an array of real numbers; got <U"),
    ({"data": [(A0, T0), (nan_at((7, 1)), T0)]}, "`data[1][0]` must be finite; row 7 holds nan."),
    ({"data": [(sparse.csr_array(nan_at((7, 1))), T0)]}, "`data[0][0]` must be finite; row 7 holds nan."),
    ({"data": [(A0 * 1e39, T0)], "dtype": "float32"}, "`data[0][0]` must be finite; row 0 holds inf in float32."),
    ({"weights": [0.5, 0.5]}, "`weights` must be a vector of length 6; got shape (2,)."),
    ({"weights": [0.5] * 6}, "`weights` must add up to 1; they add up to 3. Divide them by their sum."),
    ({"weights": [0.5, 0.5, 0.5, -0.5, 0.0, 0.0]}, "`weights` must be positive; that of agent 3 is -0.5."),
    ({"start": (np.zeros(2), np.zeros(3))}, "`start[0]` must be a vector of length 3; got shape (2,)."),
    ({"start": 5}, "`start` must be a pair (x0, y0)."),
    ({"best_response": 5}, "`best_response` must be a function of x; got 5."),
    (
        {"value": lambda x, y, A, t: (A @ x - t) ** 2},
        "`value` must return one number; for agent 0 it returned an array of shape (1,). Take the mean over the rows.",
    ),
    ({"value": lambda x, y, A, t: "?"}, "`value` must return one number; for agent 0 it returned '?'."),
    ({"value": lambda x, y, A, t: np.nan}, "`value` must be finite at the start; for agent 0 it is nan on row 0."),
    (
        {"value": lambda x, y, A, t: np.sum((A @ x - t) ** 2)},
        "`value` must be the mean over the rows it is given; for agent 0 row 0 gives",
    ),
    (
        {"gradient": lambda x, y, A, t: (A.T @ (A @ x - t), x - y)},
        "`gradient` must be the mean over the rows it is given; for agent 0 row 0 gives",
    ),
    ({"gradient": lambda x, y, A, t: x}, "`gradient` must return a pair (gradient in x, gradient in y); for agent 0"),
    (
        {"gradient": lambda x, y, A, t: (x[:2], y)},
        "`gradient` must return a gradient in x of length 3; for agent 0 it has shape (2,).",
    ),
    (
        {"gradient": lambda x, y, A, t: (x, y[None])},
        "`gradient` must return a gradient in y of length 3; for agent 0 it has shape (1, 3).",
    ),
    (
        {"gradient": lambda x, y, A, t: (x, y * np.inf)},
        "`gradient` must be finite at the start; for agent 0 that in y is not, on row 0.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "sentence"), WRONG, ids=lambda part: part[:60] if isinstance(part, str) else "")
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
def test_a_mistake_gets_a_sentence_where_the_problem_is_made(changes: dict[str, Any], sentence: str) -> None:
    """It names the argument, the agent where there is one, and what came."""
    with pytest.raises((ValueError, TypeError)) as caught:
        posed(**changes)
    assert sentence in str(caught.value)


def test_an_error_of_the_function_s_own_says_where_it_was_asked() -> None:
    """The exception stays what it is, with a note."""

    def fails(x: Array, y: Array, A: npt.NDArray[Any], t: Array) -> float:
        raise LookupError("boom")

    with pytest.raises(LookupError, match="boom") as caught:
        posed(value=fails)
    assert caught.value.__notes__ == ["`value` was asked about row 0 of agent 0."]


# --- metrics ask about all rows at once ---


def counted(weights=None, sizes=(5, 5, 5)):
    """A problem that counts how often its functions are asked."""
    asked = []

    def value(x, y, a):
        asked.append(len(a))
        return float(np.mean(a @ x) + x @ y - y @ y / 2)

    def gradient(x, y, a):
        asked.append(len(a))
        return a.mean(axis=0) + y, x - y

    generator = np.random.default_rng(0)
    data = [(generator.normal(size=(n, 3)),) for n in sizes]
    problem = rd.problems.FromFunctions(value, gradient, data, 3, 3, weights=weights)
    asked.clear()
    return problem, asked


@pytest.mark.parametrize(
    ("weights", "sizes", "calls"),
    [
        (None, (5, 5, 5), [15]),
        ([0.5, 0.3, 0.2], (5, 3, 2), [10]),
        (None, (5, 3, 2), [5, 3, 2]),
        ([0.5, 0.3, 0.2], (5, 5, 5), [5, 5, 5]),
    ],
)
def test_the_whole_is_asked_about_once_where_its_mean_is_f(weights, sizes, calls):
    """And else agent by agent; f is the same."""
    problem, asked = counted(weights, sizes)
    generator = np.random.default_rng(1)
    x, y = generator.normal(size=3), generator.normal(size=3)
    found = problem.gradient(x, y)
    assert asked == calls
    asked.clear()
    value = problem.value(x, y)
    assert asked == calls
    shards = [problem.local(i) for i in range(3)]
    assert value == pytest.approx(np.mean([shard.value(x, y) for shard in shards]), rel=1e-13)
    for part, k in zip(found, (0, 1), strict=True):
        np.testing.assert_allclose(part, np.mean([shard.gradient(x, y)[k] for shard in shards], axis=0), rtol=1e-12)


def test_rows_are_held_once():
    """An agent's rows are a part of all rows, in memory and when the problem is sent."""
    import pickle

    rows = [(np.ones((500, 40)),) for _ in range(4)]
    problem = rd.problems.FromFunctions(_value, _gradient, rows, 40, 40)
    whole = problem.pooled().local(0).arrays[0]
    assert np.shares_memory(whole, problem.local(2).arrays[0])
    sent = pickle.dumps(problem)
    assert len(sent) < 1.1 * 4 * 500 * 40 * 8
    again = pickle.loads(sent)
    x = np.arange(40.0)
    assert again.value(x, x) == problem.value(x, x)


def _value(x, y, a):
    return float(np.mean(a @ x) + x @ y - y @ y / 2)


def _gradient(x, y, a):
    return a.mean(axis=0) + y, x - y


def test_stated_concavity_proves_the_error_of_a_measured_P() -> None:
    """Without it nothing is proven where y is free."""
    free = dict(constraint=None)
    known, unknown = (run(posed(mu=mu, **free), RING, DREAM, iterations=20).history for mu in (1.0, None))
    assert (known.evaluation_error < 1e-15).all() and np.isinf(unknown.evaluation_error).any()
    with pytest.raises(ValueError, match="`mu` must be positive; got 0"):
        posed(mu=0.0)
