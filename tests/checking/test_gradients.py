"""Wrong gradients are found, with the agent, the coordinate and both numbers; kinks and float32 are not mistaken."""

import numpy as np
import pytest
from faulty import Bare, Own, Shard, failing, spoilt

import raydream as rd


def both(shard, x, y, batch=None):
    return Shard.gradient(shard, x, y, batch)


def scaled(kind, in_x, in_y):
    """A shard whose gradients are multiplied."""

    class Scaled(kind):
        def gradient(self, x, y, batch=None):
            gx, gy = super().gradient(x, y, batch)
            return in_x * gx, in_y * gy

    return Scaled


def test_a_sound_problem_passes_every_check():
    """And every check was made that can be made of a finite sum."""
    for constraint in (None, rd.constraints.Ball(0.4), rd.constraints.Simplex(1.0)):
        problem = Own(constraint=constraint)
        if isinstance(constraint, rd.constraints.Simplex):
            problem.primal_bound = lambda: -10.0
        for seed in range(3):
            verdict = rd.check(problem, seed=seed)
            assert verdict.ok, str(verdict)
            left = {one.check for one in verdict.findings if one.ok is None}
            assert left == ({"draws", "projection"} if constraint is None else {"draws"})


def test_a_factor_two_in_x_is_found():
    """The motivating mistake: the run would be completed."""
    shard = spoilt(gradient=lambda s, x, y, batch=None: (2 * both(s, x, y, batch)[0], both(s, x, y, batch)[1]))
    found = failing(rd.check(Own(shard)))["gradient in x"]
    assert found.part == "x" and found.agent in range(3) and found.coordinate in range(3)
    assert found.measured == pytest.approx(2 * found.expected, rel=1e-6)
    assert "It is 2 times the derivative." in found.text and f"agent {found.agent}" in found.text
    assert "gradient in y" not in failing(rd.check(Own(shard)))


def test_a_wrong_sign_in_y_is_found():
    """The ascent would descend."""
    shard = spoilt(gradient=lambda s, x, y, batch=None: (both(s, x, y, batch)[0], -both(s, x, y, batch)[1]))
    found = failing(rd.check(Own(shard)))
    assert found["gradient in y"].measured == pytest.approx(-found["gradient in y"].expected, rel=1e-6)
    assert "-1 times" in found["gradient in y"].text and "gradient in x" not in found


def test_a_swapped_pair_is_found_also_where_lengths_agree():
    """By its lengths, or by its numbers."""
    shard = spoilt(gradient=lambda s, x, y, batch=None: both(s, x, y, batch)[::-1])
    found = failing(rd.check(Own(shard)))["gradient"]
    assert "(3,) in x and (4,) in y; they are (4,) and (3,). The pair seems to be swapped." in found.text
    found = failing(rd.check(Own(shard, dim_x=4, dim_y=4)))
    assert all("is swapped" in found[f"gradient in {part}"].text for part in "xy")


@pytest.mark.parametrize(("dim_y", "k"), [(4, 1), (3000, 1234)])
@pytest.mark.parametrize("seed", range(3))
def test_one_coordinate_of_one_agent_is_found(dim_y, k, seed):
    """However many there are; the numbers are the wrong one and the right one."""

    def gradient(s, x, y, batch=None):
        gx, gy = both(s, x, y, batch)
        if s.agent == 2:
            gy[k] *= 1.01
        return gx, gy

    problem = Bare(spoilt(gradient=gradient), dim_y=dim_y)
    found = failing(rd.check(problem, seed=seed))["gradient in y"]
    assert (found.agent, found.part, found.coordinate) == (2, "y", k)
    assert found.measured == pytest.approx(1.01 * found.expected, rel=1e-6)
    assert "agents" not in found.text.partition(":")[2]


def test_a_penalty_that_the_gradient_forgets_is_found():
    """Small beside the rest."""
    shard = spoilt(gradient=lambda s, x, y, batch=None: (both(s, x, y, batch)[0] - 1e-4 * x, both(s, x, y, batch)[1]))
    assert "gradient in x" in failing(rd.check(Own(shard)))


class Kinked(Shard):
    """With |a'x - t| and max(0, c'y) in the place of smooth functions: kinks near every point, and at 0."""

    def value(self, x, y):
        kinks = np.abs(self.a @ x - self.t).mean() + np.abs(x).sum() - np.maximum(y, 0).sum()
        return float(kinks + np.mean(self.a @ x) * y.sum() - self.mu * y @ y / 2)

    def gradient(self, x, y, batch=None):
        a, t = (self.a, self.t) if batch is None else (self.a[batch], self.t[batch])
        gx = a.T @ np.sign(a @ x - t) / len(a) + np.sign(x) + a.mean(axis=0) * y.sum()
        return gx, -(y > 0).astype(float) + np.mean(a @ x) - self.mu * y


@pytest.mark.parametrize("constraint", [None, rd.constraints.Box(0.0, 1.0), rd.constraints.Simplex(1.0)])
def test_kinks_are_no_mistakes(constraint):
    """Not near a point, nor where the projection puts y on one."""
    for seed in range(10):
        verdict = rd.check(Bare(Kinked, constraint), seed=seed)
        looked = [one.ok for one in verdict.findings if one.check.startswith("gradient in")]
        assert looked == [True, True], str(verdict)


def test_kinks_hide_no_mistakes():
    """A factor two is a factor two."""
    wrong = scaled(Kinked, 2, 1)
    assert "gradient in x" in failing(rd.check(Bare(wrong)))


class Single(Shard):
    """All in float32."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        for name in "acts":
            setattr(self, name, getattr(self, name).astype(np.float32))

    def value(self, x, y):
        return np.float32(super().value(x.astype(np.float32), y.astype(np.float32)))

    def gradient(self, x, y, batch=None):
        return super().gradient(x.astype(np.float32), y.astype(np.float32), batch)


class Mixed(Single):
    """Computed in float32, answered in float64."""

    def value(self, x, y):
        return float(super().value(x, y)) + 0.1 * float(x @ x)

    def gradient(self, x, y, batch=None):
        gx, gy = super().gradient(x, y, batch)
        return gx.astype(np.float64) + 0.2 * x, gy.astype(np.float64)


@pytest.mark.parametrize("shard", [Single, Mixed])
def test_float32_is_compared_as_float32(shard):
    """No false alarm, and it is said."""
    for seed in range(10):
        verdict = rd.check(Bare(shard), seed=seed)
        assert verdict.ok, str(verdict)
        [precision] = [one for one in verdict.findings if one.check == "precision"]
        assert "as float32 is" in precision.text


def test_float32_hides_no_factor():
    """Of one per cent."""
    wrong = scaled(Single, 1, np.float32(1.01))
    assert "gradient in y" in failing(rd.check(Bare(wrong)))


def test_a_gradient_in_float32_beside_values_in_float64_is_found():
    """A forgotten conversion."""
    shard = spoilt(gradient=lambda s, x, y, b=None: (both(s, x, y, b)[0], both(s, x, y, b)[1].astype(np.float32)))
    found = failing(rd.check(Own(shard)))["precision"]
    assert found.part == "y" and "float32" in found.text


class Entropic(Shard):
    """Entropy in y: not defined off the positive orthant."""

    def value(self, x, y):
        return float(np.mean((self.a @ x - self.t) ** 2) / 2 + y @ (self.c.T @ self.a @ x) - np.sum(y * np.log(y)))

    def gradient(self, x, y, batch=None):
        a, t, c = (self.a, self.t, self.c) if batch is None else (self.a[batch], self.t[batch], self.c[batch])
        share = self.samples / len(a)
        return a.T @ (a @ x - t) / len(a) + share * a.T @ c @ y, share * c.T @ a @ x - np.log(y) - 1


class Inner:
    """The points of the simplex whose coordinates are at least 0.01."""

    simplex = rd.constraints.Simplex(0.96)

    def project(self, y):
        return 0.01 + self.simplex.project(np.asarray(y) - 0.01)


def test_functions_that_end_at_the_edge_of_y_are_checked():
    """And a factor is found there too."""
    for seed in range(5):
        verdict = rd.check(Bare(Entropic, Inner()), seed=seed)
        assert verdict.ok, str(verdict)
    wrong = scaled(Entropic, 1, 2)
    assert "gradient in y" in failing(rd.check(Bare(wrong, Inner())))


@pytest.mark.parametrize("seed", range(10))
def test_two_coordinates_that_are_exchanged_are_found(seed):
    """Errors that cancel in a sum of all coordinates."""

    def gradient(s, x, y, batch=None):
        gx, gy = both(s, x, y, batch)
        return gx, gy[[0, 2, 1, 3]] if s.agent == 1 else gy

    found = failing(rd.check(Bare(spoilt(gradient=gradient)), seed=seed))["gradient in y"]
    assert found.agent == 1 and found.coordinate in (1, 2)


def test_an_agent_of_which_nothing_can_be_seen_is_named():
    """Its values are so noisy that no difference is worth anything; the others are still compared."""

    def value(s, x, y):
        sound = Shard.value(s, x, y)
        return sound + (s.agent == 1) * float(np.sin(1e12 * sound))

    verdict = rd.check(Bare(spoilt(value=value)))
    [told] = [one for one in verdict.findings if one.check == "gradient in x"]
    assert told.ok and "Of agents 1 nothing could be seen" in told.text
