"""What used to go wrong without a word: each is a sentence now, with the agent and the argument."""

import numpy as np
import pytest
from laws import assert_same_bits, run

import raydream as rd
from raydream.constraints import Ball
from raydream.problems import AUC, FairClassification, QuadraticGame, RobustLogisticRegression
from raydream.program import frame_of

RING = rd.topology.ring(3)
METHOD = rd.DREAM(eta=0.1, gamma=0.5, p=0.5, b=2, K=1)


class Shard:
    """Least squares of one agent against y: mean (a'x - t)^2 / 2 + y'x - ||y||^2 / 2."""

    samples = 6

    def __init__(self, i, shift=0.0):
        generator = np.random.default_rng(i)
        self.a, self.t = generator.normal(size=(6, 2)), generator.normal(size=6) + shift

    def value(self, x, y):
        return np.mean((self.a @ x - self.t) ** 2) / 2 + y @ x - y @ y / 2

    def gradient(self, x, y, batch=None):
        a, t = (self.a, self.t) if batch is None else (self.a[batch], self.t[batch])
        return a.T @ (a @ x - t) / len(a) + y, x - y


class Own:
    """Three agents with shards of a kind."""

    agents, dim_x, dim_y = 3, 2, 2
    constraint = Ball(1.0)

    def __init__(self, kind=Shard):
        self.kind = kind

    def local(self, i):
        return self.kind(i)


def spoilt(**parts):
    """The problem with other parts in its shards: of agent 1 alone where they are functions."""

    def wrapped(name, part):
        def method(self, *given):
            return part(self, *given) if self.number == 1 else getattr(Shard, name)(self, *given)

        return method

    class Spoilt(Shard):
        def __init__(self, i):
            super().__init__(i)
            self.number = i

    for name, part in parts.items():
        setattr(Spoilt, name, wrapped(name, part) if callable(part) else part)
    return Own(Spoilt)


def go(problem=None, method=METHOD, **settings):
    return run(Own() if problem is None else problem, RING, method, **{"iterations": 4, **settings})


# --- what a shard answers ---


def test_a_gradient_that_writes_into_x_is_refused():
    """It would change the state of the method behind its back."""

    def writes(self, x, y, batch=None):
        x -= 1.0
        return Shard.gradient(self, x, y, batch)

    with pytest.raises(ValueError, match=r"agent 1: its `gradient` must not write to x or y"):
        go(spoilt(gradient=writes))


def test_a_value_that_writes_into_y_is_refused():
    """Metrics would move the point at which they measure."""

    def writes(self, x, y):
        y[0] = 3.0
        return Shard.value(self, x, y)

    with pytest.raises(ValueError, match=r"agent 1: its `value` must not write to x or y"):
        go(spoilt(value=writes))


@pytest.mark.parametrize(
    ("returned", "rule"),
    [
        (lambda gx, gy: (gx[:1], gy), r"agent 1: its `gradient` must .* a vector of length 2 for x; got shape \(1,\)"),
        (lambda gx, gy: (gx, np.append(gy, 0)), r"agent 1: .* length 2 for y; got shape \(3,\)"),
        (lambda gx, gy: (gx[:1], np.append(gy, 0)), r"agent 1: .* length 2 for x; got shape \(1,\)"),
        (lambda gx, gy: (gx + 1j, gy), r"agent 1: its `gradient` must be real; got complex128 for x"),
        (lambda gx, gy: gx, r"agent 1: its `gradient` must return a pair"),
        (lambda gx, gy: None, r"agent 1: its `gradient` must return a pair"),
    ],
)  # fmt: skip
def test_a_gradient_of_another_shape_is_refused(returned, rule):
    """Also where the lengths add up to the right sum."""

    def gradient(self, x, y, batch=None):
        return returned(*Shard.gradient(self, x, y, batch))

    with pytest.raises((ValueError, TypeError), match=rule):
        go(spoilt(gradient=gradient))


@pytest.mark.parametrize("returned", [np.zeros(2), "3", None, 1j, True])
def test_a_value_that_is_no_number_is_refused(returned):
    """A vector's mean would be taken for the value."""
    with pytest.raises(TypeError, match=r"agent 1: its `value` must return a number; got"):
        go(spoilt(value=lambda self, x, y: returned))


def test_a_value_that_is_not_finite_is_refused():
    """NaN at a finite point would be drawn as nothing."""
    with pytest.raises(ArithmeticError, match=r"agent 1: its `value` must be finite at a finite point; got nan"):
        go(spoilt(value=lambda self, x, y: float("nan")))


@pytest.mark.parametrize("samples", [2.5, 0, -3, "6", True])
def test_a_number_of_samples_that_is_none_is_refused(samples):
    with pytest.raises((ValueError, TypeError), match=r"agent 0: `samples` must be"):
        go(spoilt(samples=samples))


def test_a_batch_far_beyond_the_shard_is_refused():
    """With replacement any size is legal, but this one would fill the memory."""
    with pytest.raises(ValueError, match=r"agent 0: a batch of 600000 of its 6 samples .*`b_large`"):
        go(method=rd.DREAM(eta=0.1, gamma=0.5, b=2, b_large=600_000, K=1))
    go(method=rd.DREAM(eta=0.1, gamma=0.5, b=2, b_large=60, K=1))


# --- the same data on every backend ---


class Strided(Shard):
    """Rows that lie apart in memory, as a slice of a larger table has them."""

    def __init__(self, i):
        super().__init__(i)
        wide = np.random.default_rng(i).normal(size=(400, 300))
        self.samples, self.a, self.t = 200, wide[::2, ::3][:, :2], wide[::2, 5]


def test_every_backend_sees_the_layout_that_is_sent():
    """Sums over strided rows have other bits than over rows side by side, and what is sent lies side by side."""
    from raydream.backends.layout import as_sent

    class Lambda(Strided):
        def __init__(self, i):
            super().__init__(i)
            self.twice = lambda v: 2 * v  # which plain pickle refuses

    for kind in (Strided, Lambda):
        shard = kind(0)
        sent = as_sent(shard)
        assert not shard.a.flags.c_contiguous and sent.a.flags.c_contiguous and sent.t.flags.c_contiguous
        np.testing.assert_array_equal(sent.a, shard.a)


def test_what_lies_side_by_side_is_not_copied():
    """A round trip costs no memory."""
    from raydream.backends.layout import as_sent

    shard = Shard(0)
    assert np.shares_memory(as_sent(shard).a, shard.a)


@pytest.mark.usefixtures("shared_ray")
def test_strided_rows_have_the_same_bits_on_actors():
    here, there = (
        rd.run(Own(Strided), RING, METHOD, iterations=6, backend=backend, progress=False)
        for backend in ("local", "ray")
    )
    assert_same_bits(here, there)


# --- the problem, the start, the limits ---


def test_resume_refuses_another_problem_of_the_same_size(tmp_path):
    """Also where both have the same value at the start, as every logistic loss has at x = 0."""

    def problem(seed):
        features, labels = rd.data.synthetic(samples=24, features=3, seed=seed)
        return RobustLogisticRegression(features, labels, agents=3)

    run(problem(0), RING, METHOD, iterations=4, directory=tmp_path / "run", checkpoint_every=2)
    assert problem(0).value(*problem(0).start()) == problem(1).value(*problem(1).start())
    with pytest.raises(rd.errors.CheckpointError, match="belongs to another run: its problem differs"):
        rd.resume(tmp_path / "run", problem=problem(1), iterations=8, progress=False)
    rd.resume(tmp_path / "run", problem=problem(0), iterations=8, progress=False)


@pytest.mark.parametrize("target", [float("nan"), float("inf"), True, "3"])
@pytest.mark.parametrize("name", ["target_primal", "target_grad_norm"])
def test_a_target_that_is_no_number_is_refused(name, target):
    with pytest.raises((ValueError, TypeError), match=f"`{name}` must be"):
        go(**{name: target})


def test_complex_numbers_are_refused():
    """numpy would drop their imaginary part, with a warning at most."""
    rows, signs = np.ones((6, 2)), np.array([1.0, -1.0] * 3)
    with pytest.raises(TypeError, match=r"`start\[0\]` must be real; got complex128"):
        go(start=(np.zeros(2) + 1j, np.zeros(2)))
    with pytest.raises(TypeError, match="`features` must be real; got complex128"):
        RobustLogisticRegression(rows + 1j, signs, agents=3)
    with pytest.raises(TypeError, match="`labels` must be real; got complex128"):
        RobustLogisticRegression(rows, signs + 1j, agents=3)
    with pytest.raises(TypeError, match="`A` must be real; got complex128"):
        forms = [np.ones((1, 1, 1, 1)) * (1 + 1j), *[np.ones((1, 1, 1, 1))] * 2, *[np.ones((1, 1, 1))] * 2]
        QuadraticGame(*forms)
    with pytest.raises(TypeError, match="`eta` must be a number; got"):
        rd.DREAM(eta=0.1j, gamma=1.0)


@pytest.mark.parametrize("kind", [RobustLogisticRegression, AUC, FairClassification])
def test_labels_of_one_class_are_refused(kind):
    """There is nothing to tell apart."""
    with pytest.raises(ValueError, match=r"`labels` must hold (both|at least two) classes; "):
        kind(np.ones((6, 2)), np.ones(6), agents=3)


# --- the method ---


def test_a_class_in_the_place_of_a_method_is_refused():
    with pytest.raises(TypeError, match="`method` must be a method with its parameters; got the class DREAM"):
        go(method=rd.DREAM)


def test_a_method_may_be_named():
    """With the steps that the command line has for a method of which nothing is known."""
    assert_same_bits(go(method="dream"), go(method=rd.DREAM(eta=0.1, gamma=1.0)))
    with pytest.raises(ValueError, match="Did you mean 'dream'"):
        go(method="draem")


class Sends:
    """A method that says rows of another type."""

    eta = gamma = 0.1

    def __init__(self, turn):
        self.turn = turn

    def init(self, agents):
        return rd.algorithms.Iterates(agents.start())

    def step(self, state, agents, t, coin):
        yield self.turn(state.Z)
        return state


@pytest.mark.parametrize(
    ("turn", "rule"),
    [
        (lambda Z: Z + 1j, "must be of float64, as the run is; got complex128"),
        (lambda Z: Z.astype(object), "must be of float64, as the run is; got object"),
        (lambda Z: Z.astype(int), "must be of float64, as the run is; got int64"),
        (lambda Z: (Z, Z.astype(np.float32)), "must be of float64, as the run is; got float32"),
        (lambda Z: Z[0], r"must have one row for each of the 3 agents here; got shape \(4,\)"),
        (lambda Z: Z[:2], r"must have one row for each of the 3 agents here; got shape \(2, 4\)"),
        (lambda Z: None, "must be an array, or a tuple of arrays; got None"),
        (lambda Z: (), "must be an array, or a tuple of arrays; got"),
    ],
)
def test_a_frame_that_cannot_travel_is_refused(turn, rule):
    with pytest.raises((TypeError, ValueError), match=rf"what a method yields {rule}"):
        go(method=Sends(turn))


@pytest.mark.usefixtures("shared_ray")
def test_a_frame_that_cannot_travel_is_refused_on_actors_too():
    """It used to end as "actors were lost 5 times"."""
    with pytest.raises(TypeError, match="what a method yields must be of float64, as the run is; got float32"):
        rd.run(Own(), RING, Sends(lambda Z: Z.astype(np.float32)), iterations=2, backend="ray", progress=False)


@pytest.mark.usefixtures("shared_ray")
def test_a_code_is_billed_by_its_own_size():
    """The ledger has what the method would send, and the numbers are those of the rows."""
    plain = go(method=Sends(lambda Z: Z))
    coded = go(method=Sends(lambda Z: rd.Frame(Z, bytes_per_row=3)))
    there = rd.run(Own(), RING, Sends(lambda Z: rd.Frame((Z, Z), bytes_per_row=3)), iterations=4, backend="ray")
    assert plain.ledger.bytes == 4 * 6 * 4 * 8
    assert coded.ledger.bytes == there.ledger.bytes == 4 * 6 * 3
    assert plain.ledger.messages == coded.ledger.messages == there.ledger.messages
    with pytest.raises(ValueError, match="`bytes_per_row` must be at least 0; got -1"):
        rd.Frame(np.ones((3, 4)), bytes_per_row=-1)


def test_frames_travel_side_by_side():
    """Rows of a frame lie in memory as they are sent."""
    assert frame_of(np.asfortranarray(np.ones((3, 4)))).flags.c_contiguous


# --- draws of a method's own ---


class Draws:
    """A method that moves by private and common draws."""

    eta = gamma = 0.1

    def init(self, agents):
        return rd.algorithms.Iterates(agents.start())

    def step(self, state, agents, t, coin):
        common = agents.shared_stream("direction").normal(size=state.Z.shape[1])
        own = [stream.normal(size=state.Z.shape[1]) for stream in agents.stream("noise")]
        Z = yield state.Z + 0.01 * common + 0.01 * np.stack(own)
        return rd.algorithms.Iterates(agents.project(Z))


def test_draws_are_keyed_by_seed_purpose_agent_and_iteration():
    from raydream.agents import Agents, Streams

    def agents(hosted, seed=0):
        start = (np.zeros(2), np.zeros(2))
        world = dict(network=RING.network, constraint=Ball(1.0), start=start, streams=Streams(seed))
        return Agents(hosted, [Shard(i) for i in hosted], **world)

    def drawn(hosted, purpose="noise", iteration=3, seed=0, kind="stream"):
        some = agents(hosted, seed)
        some.begin(iteration)
        found = getattr(some, kind)(purpose)
        return found.normal() if kind == "shared_stream" else [stream.normal() for stream in found]

    both = drawn([0, 1, 2])
    assert len(set(both)) == 3
    assert drawn([1]) == both[1:2]
    assert drawn([0], iteration=4) != both[:1] and drawn([0], "other") != both[:1] and drawn([0], seed=1) != both[:1]
    common = drawn([0, 1], kind="shared_stream")
    assert common == drawn([2], kind="shared_stream") and common not in both
    assert common != drawn([2], kind="shared_stream", iteration=4)


def test_streams_of_one_name_follow_each_other():
    """A second draw for the same purpose in one iteration is another draw."""
    from raydream.agents import Agents, Streams

    some = Agents([0], [Shard(0)], network=RING.network, constraint=Ball(1.0), start=(np.zeros(2), np.zeros(2)),
                  streams=Streams(0))  # fmt: skip
    some.begin(1)
    first, second = ([stream.normal() for stream in some.stream("noise")] for _ in range(2))
    shared = [some.shared_stream("noise").normal() for _ in range(2)]
    assert first != second and shared[0] != shared[1]


@pytest.mark.usefixtures("shared_ray")
def test_draws_have_the_same_bits_on_actors():
    here = go(method=Draws(), iterations=7)
    for packing in (1, [2, 1]):
        there = rd.run(
            Own(), RING, Draws(), iterations=7, backend=rd.RayBackend(agents_per_actor=packing), progress=False
        )
        assert_same_bits(here, there)


@pytest.mark.parametrize("purpose", ["coin", "sample", "", 3])
def test_a_purpose_must_be_a_name_of_its_own(purpose):
    """Those of the package would repeat its own draws."""

    class Bad(Draws):
        def step(self, state, agents, t, coin):
            agents.shared_stream(purpose)
            return state

    with pytest.raises((ValueError, TypeError), match="`purpose` must be"):
        go(method=Bad())
