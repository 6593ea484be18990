"""The verdict: readable, the same every time, and honest about what was not checked; the package's problems pass."""

import numpy as np
import pytest
from ablation_defects import DroppedDuplicates, WrongShards
from faulty import Bare, Own, Shard, failing, spoilt

import raydream as rd
from raydream.checking.verdict import Finding, Verdict
from raydream.problems.registry import PROBLEMS, takes_data

SMALL = {"data": "synthetic", "samples": 48, "features": 5}


def small(name):
    """A small instance by its name."""
    return PROBLEMS[name](3, **(SMALL if takes_data(name) else {}))


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_package_s_own_problems_keep_every_law(name):
    """Each by its name, with a few seeds of probes."""
    problem = small(name)
    for seed in range(4):
        verdict = rd.check(problem, seed=seed)
        assert verdict.ok, str(verdict)


KINDS = sorted({make.__name__ for make in PROBLEMS.values()} - {"RobustLogisticRegression"})


@pytest.mark.parametrize("kind", KINDS)
def test_random_instances_keep_every_law(kind):
    """As the README has them, also seen in a hurry."""
    problem = getattr(rd.problems, kind).random(4, seed=1)
    for thorough in (True, False):
        verdict = rd.check(problem, seed=5, thorough=thorough)
        assert verdict.ok, str(verdict)


@pytest.mark.parametrize(
    "constraint",
    [
        rd.constraints.Ball(1.0),
        rd.constraints.Simplex(1.5),
        rd.constraints.Box(-0.5, 0.7),
        rd.constraints.L1Ball(0.7),
        rd.constraints.Product([(rd.constraints.Box(0.0, 1.0), 2), (rd.constraints.Simplex(1.0), 3)]),
    ],
    ids=repr,
)
def test_games_on_every_set_keep_every_law(constraint):
    """Offline and online, with a penalty."""
    for kind in (rd.problems.QuadraticGame, rd.problems.OnlineQuadraticGame):
        verdict = rd.check(kind.random(3, constraint=constraint, theta=0.1))
        assert verdict.ok, str(verdict)


def test_the_paper_s_scaling_keeps_every_law():
    """In which everything is of size 1/N."""
    for scaling in ("paper", "balanced"):
        problem = rd.problems.RobustLogisticRegression(*rd.data.synthetic(90, 5, density=0.5), 3, scaling=scaling)
        verdict = rd.check(problem)
        assert verdict.ok, str(verdict)


def test_defects_of_public_code_are_found():
    """Shards that take every i-th sample, and batches in which a sample that was drawn twice counts once."""
    game = rd.problems.QuadraticGame.random(4)
    found = failing(rd.check(WrongShards(game)))
    assert {"whole value", "whole gradient"} <= found.keys()
    problem = rd.problems.RobustLogisticRegression(*rd.data.synthetic(80, 5, density=0.5), 4)
    found = failing(rd.check(DroppedDuplicates(problem)))
    assert found.keys() == {"repeated samples"} and found["repeated samples"].part == "y"


@pytest.mark.parametrize(("size", "offset", "unit"), [(1e-8, 0.0, 1e3), (1e8, 1e6, 1e-3), (1.0, 1e6, 1.0)])
def test_units_and_offsets_do_not_matter(size, offset, unit):
    """Of f, x and y: what is sound passes, and one part in a thousand is found."""

    class Scaled(Shard):
        factor = 1.0

        def value(self, x, y):
            return size * super().value(x / unit, y * unit) + offset

        def gradient(self, x, y, batch=None):
            gx, gy = super().gradient(x / unit, y * unit, batch)
            return self.factor * size * gx / unit, size * gy * unit

    problem = Bare(Scaled)
    problem.start = lambda: (np.full(3, unit), np.zeros(4))
    verdict = rd.check(problem)
    assert verdict.ok, str(verdict)
    problem.shard = type("Wrong", (Scaled,), {"factor": 1.001})
    assert failing(rd.check(problem)).keys() == {"gradient in x"}


def test_a_verdict_reads_as_a_table():
    """What holds, what fails, and what could not be looked at, in words; and how many of each."""
    verdict = Verdict(
        "check of It",
        (
            Finding("value", True, "fine."),
            Finding("gradient in x", False, "agent 2: it is off.", agent=2),
            Finding("P*", None, "no `primal_bound()`."),
        ),
    )
    assert not verdict.ok and verdict.failures == (verdict.findings[1],)
    assert str(verdict).splitlines() == [
        "check of It",
        "",
        "ok           value                 fine.",
        "FAILS        gradient in x         agent 2: it is off.",
        "not checked  P*                    no `primal_bound()`.",
        "",
        "1 of 2 checks fail. 1 could not be made.",
    ]


def test_what_could_not_be_looked_at_is_said_and_decides_nothing():
    """A problem that says little is ok, and its verdict tells how little was compared."""
    verdict = rd.check(Bare())
    told = {one.check: one for one in verdict.findings}
    assert verdict.ok and "could not be made" in str(verdict)
    for check in ("whole value", "pooled", "strong concavity (mu)", "smoothness (L)", "best response", "P", "P*"):
        assert told[check].ok is None and told[check].text
    assert "no `constants()`." in str(verdict)


def test_many_agents_are_not_all_probed_and_that_is_said():
    """64 of 70; in a hurry four."""
    problem = rd.problems.QuadraticGame.random(70, samples=2)
    assert "70 agents, 64 of which are probed" in rd.check(problem).title
    assert "70 agents, 4 of which are probed" in rd.check(problem, thorough=False).title


def test_the_same_seed_finds_the_same():
    """And another seed looks elsewhere."""
    wrong = Own(spoilt(gradient=lambda s, x, y, b=None: [2 * part for part in Shard.gradient(s, x, y, b)]))
    first, again, other = (rd.check(wrong, seed=seed) for seed in (1, 1, 2))
    assert first.findings == again.findings and str(first) == str(again)
    assert [one.measured for one in first.failures] != [one.measured for one in other.failures]
