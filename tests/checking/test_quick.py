"""What every run begins with: a problem of one's own that contradicts itself is refused, cheaply, and no other."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from faulty import AGENTS, Bare, Own, Shard, spoilt

import raydream as rd
from raydream.checking.quick import refuse_wrong
from raydream.problems.registry import PROBLEMS, built_in
from raydream.running import run as running
from raydream.studies import compare as comparing
from raydream.studies.tuning import race as racing

RING, METHOD = rd.topology.ring(AGENTS), rd.GTGDA(eta=0.05, gamma=0.5)
SAID = r"rd\.check\(problem\) or `raydream check` tells more, and check=False \(--no-check\) runs it as it is\.$"


def run(problem, **about):
    return rd.run(problem, RING, METHOD, iterations=3, backend="local", **about)


def changed(change):
    return spoilt(gradient=lambda s, x, y, b=None: change(s, *Shard.gradient(s, x, y, b)))


LAST = AGENTS - 1
WRONG = {
    "factor": (changed(lambda s, gx, gy: (2 * gx, gy)),
               r"agent 0: coordinate \d of x: `gradient` says (\S+), differences of `value` (\S+) .*; it is 2 times"),
    "sign, in the last agent": (changed(lambda s, gx, gy: (gx, -gy if s.agent == LAST else gy)),
                                rf"agent {LAST}: coordinate \d of y: `gradient` says (\S+), differences of `value`"),
    "swapped": (changed(lambda s, gx, gy: (gy, gx)),
                r"agent 0: `gradient` must have the shapes \(3,\) in x and \(4,\) in y; they are \(4,\) and \(3,\)"),
    "writes": (spoilt(gradient=lambda s, x, y, b=None: (x.__iadd__(1), y)), r"agent 0: `gradient` writes into its `x`"),
    "a vector": (spoilt(value=lambda s, x, y: np.ones(2)), r"agent 0: `value` must be one number"),
    "NaN": (spoilt(value=lambda s, x, y: np.nan), r"agent 0: `value` must be finite; it is nan at the start"),
    "a sum": (spoilt(gradient=lambda s, x, y, b=None: [part * (1 if b is None else len(b)) for part in
                                                       Shard.gradient(s, x, y, b)]),
              r"agent 0: coordinate \d of [xy]: `gradient` of sample 0 twice is (\S+), and of it once (\S+);"),
    "another mean": (spoilt(gradient=lambda s, x, y, b=None: [part + (b is not None) for part in
                                                              Shard.gradient(s, x, y, b)]),
                     r"agent 0: coordinate \d of [xy]: `gradient` of its samples is in the mean (\S+), and without a"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_problem_that_contradicts_itself_is_refused_before_anything_starts(name, monkeypatch):
    """In one sentence, with the agent, both numbers, and what to do; by run, compare and tune alike."""
    shard, sentence = WRONG[name]
    for place, name in ((running, "run_plan"), (comparing, "run_plan"), (racing, "attempt")):
        monkeypatch.setattr(place, name, lambda *_, **__: pytest.fail("something was started"))
    with pytest.raises(ValueError, match=f"^`problem` contradicts itself: {sentence}.*{SAID}") as caught:
        run(Bare(shard))
    assert "\n" not in str(caught.value) and not re.search(r"\. [A-Z]", str(caught.value))
    with pytest.raises(ValueError, match="contradicts itself"):
        rd.compare(Own(shard), RING, [METHOD], iterations=3, backend="local", seeds=(0,))
    with pytest.raises(ValueError, match="contradicts itself"):
        rd.tune(Own(shard), RING, ["gt-gda"], budget=1000, workers=1)


def test_a_swapped_pair_of_equal_lengths_is_refused():
    """It is the numbers that tell."""
    with pytest.raises(
        ValueError, match=r"agent 0: coordinate \d of x: .*; the pair \(in x, in y\) is swapped; rd.check"
    ):
        run(Bare(changed(lambda s, gx, gy: (gy, gx)), dim_x=4, dim_y=4))


def test_who_wants_it_may_run_it_all_the_same(tmp_path):
    """check=False, in run, compare, tune and resume."""
    wrong = changed(lambda s, gx, gy: (2 * gx, gy))
    done = run(Own(wrong), check=False, directory=tmp_path / "r", checkpoint_every=1)
    assert done.outcome == "completed"
    with pytest.raises(ValueError, match="contradicts itself"):
        rd.resume(tmp_path / "r", iterations=5, problem=Own(wrong))
    assert rd.resume(tmp_path / "r", iterations=5, problem=Own(wrong), check=False).outcome == "completed"
    compared = rd.compare(Own(wrong), RING, [METHOD], iterations=3, backend="local", seeds=(0,), check=False)
    assert not compared.failures
    space = {"eta": [0.01, 0.02], "gamma": 0.5}
    assert rd.tune(Own(wrong), RING, ["gt-gda"], budget=1000, space=space, workers=1, check=False).best


class Counted(Own):
    """A problem that counts what it is asked, over all its shards."""

    def __init__(self, samples):
        super().__init__(samples=samples)
        self.asked = SimpleNamespace(local=0, value=0, whole=0, batches=0)

    def local(self, i):
        shard, asked = super().local(i), self.asked
        asked.local += 1

        def value(x, y):
            asked.value += 1
            return shard.value(x, y)

        def gradient(x, y, batch=None):
            asked.whole += batch is None
            asked.batches += batch is not None
            return shard.gradient(x, y, batch)

        return SimpleNamespace(samples=shard.samples, value=value, gradient=gradient)


@pytest.mark.parametrize(("samples", "singles"), [(12, 13), (400, 2)])
def test_it_costs_little_and_is_done_once(samples, singles):
    """Of two agents, three gradients at most, as many values as differences need, and a few samples; never billed."""
    problem = Counted(samples)
    refuse_wrong(problem)
    asked = problem.asked
    assert asked.local == 2 and asked.whole <= 6 and asked.value <= 24 and asked.batches == 2 * singles
    before = vars(asked).copy()
    refuse_wrong(problem)
    assert vars(asked) == before
    with_it, without = run(Counted(samples)), run(Counted(samples), check=False)
    assert with_it.ledger == without.ledger and (with_it.x_bar == without.x_bar).all()


def test_the_package_s_own_problems_are_not_looked_at():
    """Its tests have looked; a class of one's own that derives from one of them is one's own."""

    class Mine(rd.problems.QuadraticGame):
        pass

    for name, make in PROBLEMS.items():
        assert built_in(make(2)), name
    assert not built_in(Mine.random(2)) and not built_in(Own())
    game = rd.problems.QuadraticGame.random(2)
    game.local = lambda i: pytest.fail("it was looked at")
    refuse_wrong(game)


class Kinked(Shard):
    """A hinge in x, whose kinks lie at the start, and |y|."""

    def value(self, x, y):
        return float(np.maximum(0, self.a @ x).mean() + x[0] * y.sum() - np.abs(y).sum() - y @ y / 2)

    def gradient(self, x, y, batch=None):
        a = self.a if batch is None else self.a[batch]
        gx = a.T @ (a @ x > 0) / len(a)
        gx[0] += y.sum()
        return gx, x[0] - np.sign(y) - y


class Single(Shard):
    """In float32."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        for name in "acts":
            setattr(self, name, getattr(self, name).astype(np.float32))

    def value(self, x, y):
        return np.float32(super().value(x.astype(np.float32), y.astype(np.float32)))

    def gradient(self, x, y, batch=None):
        return super().gradient(x.astype(np.float32), y.astype(np.float32), batch)


class Half(Single):
    """As rough as can be: values in float16."""

    def value(self, x, y):
        return np.float16(super().value(x, y))


@pytest.mark.parametrize("shard", [Kinked, Single, Half])
def test_kinks_and_rough_numbers_are_not_refused(shard):
    """From starts of all kinds."""
    for seed in range(30):
        generator = np.random.default_rng(seed)
        problem = Bare(shard)
        start = np.round(generator.normal(size=3), seed % 3), np.round(generator.normal(size=4), seed % 3)
        refuse_wrong(problem, start=start if seed else (np.zeros(3), np.zeros(4)))


def test_what_raises_or_is_not_finite_is_left_to_the_run():
    """Which names the agent, and the sample."""

    def broken(*_):
        raise LookupError("boom")

    refuse_wrong(Bare(spoilt(gradient=broken)))
    with pytest.raises(LookupError, match="agent 0: boom"):
        run(Bare(spoilt(gradient=broken)))
    lost = changed(lambda s, gx, gy: (gx * np.nan, gy))
    with pytest.raises(rd.errors.GradientError, match="agent 0, sample 0"):
        run(Bare(lost))


def test_the_start_that_is_given_is_the_one_that_is_looked_at():
    """The problem's own may lie where f is not defined."""
    seen = []

    class Seen(Shard):
        def value(self, x, y):
            seen.append(x)
            return super().value(x, y)

    refuse_wrong(Bare(Seen), start=(np.full(3, 100.0), np.zeros(4)))
    assert min(np.linalg.norm(x) for x in seen) > 100
