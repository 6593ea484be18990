"""Batches that are no means, of numbered samples and of drawn ones."""

import numpy as np
import pytest
from faulty import Own, Shard, failing, spoilt

import raydream as rd
from raydream.checking.check import subject_of
from raydream.checking.laws import draws


def batched(change):
    """A shard whose gradient of a batch is changed, while that without one is right."""

    def gradient(s, x, y, batch=None):
        gx, gy = Shard.gradient(s, x, y, batch)
        return (gx, gy) if batch is None else change(s, x, y, batch, gx, gy)

    return spoilt(gradient=gradient)


CHECKS = {"batch size", "batch mean", "repeated samples", "component mean"}


def test_a_sum_in_the_place_of_a_mean_is_found():
    """It grows with b."""
    shard = batched(lambda s, x, y, batch, gx, gy: (len(batch) * gx, len(batch) * gy))
    found = failing(rd.check(Own(shard)))
    assert found.keys() & CHECKS == {"batch size"}
    assert (
        "a batch of 6 samples is 6 times their mean, and one of 2 is 2 times theirs: a sum." in found["batch size"].text
    )
    assert found["batch size"].measured == pytest.approx(6 * found["batch size"].expected)


def test_a_regulariser_divided_by_b_is_found():
    """A batch of one has all of it, larger ones less."""
    shard = batched(lambda s, x, y, batch, gx, gy: (gx + s.rho * x * (1 / len(batch) - 1), gy))
    found = failing(rd.check(Own(shard)))
    assert found.keys() & CHECKS == {"batch mean", "repeated samples", "component mean"} - (
        {"component mean"} if "component mean" not in found else set()
    )
    assert found["batch mean"].part == "x" and found["batch mean"].measured != pytest.approx(
        found["batch mean"].expected
    )


def test_components_that_do_not_average_to_the_whole_are_found():
    """Every batch is the mean of its samples, but the samples are others than those of f_i."""
    shard = batched(lambda s, x, y, batch, gx, gy: (gx, gy + 1e-3 * (s.agent == 1) * np.eye(y.size)[2]))
    found = failing(rd.check(Own(shard)))
    assert found.keys() & CHECKS == {"component mean"}
    miss = found["component mean"]
    assert (miss.agent, miss.part, miss.coordinate) == (1, "y", 2)
    assert miss.measured - miss.expected == pytest.approx(1e-3, rel=1e-6)


def test_repeated_samples_that_are_dropped_are_found():
    """np.unique, where a sample that was drawn twice counts once."""

    def gradient(s, x, y, batch=None):
        return Shard.gradient(s, x, y, None if batch is None else np.unique(batch))

    found = failing(rd.check(Own(spoilt(gradient=gradient))))
    assert found.keys() & CHECKS == {"repeated samples"}


def test_an_assignment_that_forgets_repeated_places_is_found():
    """g[places] += loss adds one of several."""

    class Wrong(rd.problems.RobustLogisticRegression):
        def local(self, i):
            return WrongShard(super().local(i))

    class WrongShard:
        def __init__(self, shard):
            self.right, self.samples, self.value = shard, shard.samples, shard.value

        def gradient(self, x, y, batch=None):
            if batch is None:
                return self.right.gradient(x, y)
            right = self.right
            losses = right.losses(x)[batch]
            gy = right.radius / right.total - y
            gy[batch + right.offset] += right.radius / len(batch) * losses
            return right.gradient(x, y, batch)[0], gy

    found = failing(rd.check(Wrong(*rd.data.synthetic(60, 5, density=0.5), 3)))
    assert found.keys() & CHECKS == {"repeated samples"} and found["repeated samples"].part == "y"


def test_a_batch_of_another_shape_is_found():
    """One row too many, where a batch is given."""
    shard = batched(lambda s, x, y, batch, gx, gy: (np.append(gx, 0.0), gy))
    found = failing(rd.check(Own(shard)))["batch mean"]
    assert "of a batch of one sample, `gradient` must have the shapes (3,) in x" in found.text


class Online(Shard):
    """The same samples, drawn without end."""

    noise = 1.0

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.samples = None

    def draw(self, generator, size):
        return generator.integers(len(self.a), size=size), self.noise * generator.normal(size=(size, self.c.shape[1]))

    def gradient(self, x, y, batch=None):
        if batch is None:
            return super().gradient(x, y)
        numbers, noise = batch
        gx, gy = super().gradient(x, y, numbers)
        return gx, gy + noise.mean(axis=0)


class OnlineOwn(Own):
    sigma = 1e3

    def __init__(self, shard=Online, **about):
        super().__init__(shard, **about)
        self.samples = None

    def local(self, i):
        return self.shard(i, self.dim_x, self.dim_y)

    def sound(self, i):
        return Shard(i, self.dim_x, self.dim_y)

    def constants(self):
        known = super().constants()
        return rd.problems.Constants(L=1e3, mu=known.mu, sigma=self.sigma, L_full=known.L_full)

    pooled = property()  # it has none


def test_a_sound_online_problem_passes():
    """With every check of drawn samples made."""
    for seed in range(5):
        verdict = rd.check(OnlineOwn(), seed=seed)
        assert verdict.ok, str(verdict)
        made = {one.check for one in verdict.findings if one.ok}
        assert {"draws", "mean of draws", "noise (sigma)"} <= made and "batches" not in made


def test_a_bias_of_draws_is_found():
    """Of a tenth of the noise of one sample, in one coordinate of one agent."""

    class Biased(Online):
        def gradient(self, x, y, batch=None):
            gx, gy = super().gradient(x, y, batch)
            if batch is not None and self.agent == 1:
                gy[3] += 0.3
            return gx, gy

    for seed in range(3):
        found = failing(rd.check(OnlineOwn(Biased), seed=seed))
        assert found.keys() == {"mean of draws"}
        miss = found["mean of draws"]
        assert (miss.agent, miss.part, miss.coordinate) == (1, "y", 3)
        assert miss.measured - miss.expected == pytest.approx(0.3, abs=0.15)


def test_a_bias_without_noise_is_found():
    """Where every sample is the same, no chance explains a difference."""

    class Still(Online):
        noise = 0.0

        def draw(self, generator, size):
            return np.arange(len(self.a)), np.zeros((1, self.c.shape[1]))

        def gradient(self, x, y, batch=None):
            gx, gy = super().gradient(x, y, batch)
            return (gx, gy) if batch is None else (1.001 * gx, gy)

    found = failing(rd.check(OnlineOwn(Still)))["mean of draws"]
    assert found.part == "x" and found.measured == pytest.approx(1.001 * found.expected)


def test_draws_that_do_not_depend_on_the_generator_alone_are_found():
    """The run would depend on what was drawn before."""
    stream = np.random.default_rng(0)

    class Carried(Online):
        def draw(self, generator, size):
            return super().draw(stream, size)

    found = failing(rd.check(OnlineOwn(Carried)))["draws"]
    assert found.agent in range(3) and "in the same state" in found.text


def test_a_missing_draw_is_found():
    """Samples are None, and nothing draws them."""
    shard = type("Mute", (Online,), {"draw": property()})
    found = failing(rd.check(OnlineOwn(shard)))
    assert "must have `draw(generator, size)`" in found["draws"].text


def test_noise_above_the_stated_sigma_is_found():
    """The root mean square of one sample's deviation is above 3."""
    problem = OnlineOwn()
    problem.sigma = 1.0
    found = failing(rd.check(problem))["noise (sigma)"]
    assert found.expected == 1.0 and found.measured > 2


def test_the_test_of_draws_errs_as_often_as_it_says(monkeypatch):
    """Were it told to err every second time, sound problems would fail in 1 - exp(-1/2) = 39 % of all cases."""
    monkeypatch.setattr(draws, "ALARM", 0.5)
    wrong = 0
    for seed in range(40):
        found = {one.check: one.ok for one in draws.draws(subject_of(OnlineOwn(), seed, False))}
        wrong += not found["mean of draws"]
    assert 7 <= wrong <= 25  # 15.7, give or take three times 3.1
