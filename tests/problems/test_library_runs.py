"""The library's problems in runs: DREAM gets somewhere on each, with the same bits on actors, by name and in forms."""

import functools
from typing import Any

import numpy as np
import pytest
from laws import assert_same_bits, run

import raydream as rd
from raydream import specs
from raydream.dashboard.new.fields import problem_fields
from raydream.problems import PROBLEMS
from raydream.studies.study.file import study_from
from raydream.types import Array

# by name: what differs from the defaults, DREAM's steps, and by which factor 300 iterations lower ||grad P||
FALLS: dict[str, tuple[dict[str, Any], dict[str, float], float]] = {
    "AUC": ({}, {"eta": 0.1, "gamma": 1.0}, 0.05),
    "FairClassification": ({}, {"eta": 0.1, "gamma": 5.0}, 0.2),
    "GroupDRO": ({}, {"eta": 0.1, "gamma": 5.0}, 0.2),
    "AdversarialTraining": ({}, {"eta": 0.05, "gamma": 5.0}, 0.3),
    "AdversarialTraining, tanh": ({"model": "tanh", "lam": 100.0}, {"eta": 0.01, "gamma": 20.0}, 0.5),
    "PolicyEvaluation": ({}, {"eta": 0.1, "gamma": 1.0}, 0.1),
    "RobustRegression": ({}, {"eta": 0.1, "gamma": 1.0}, 0.1),
    "RobustNonconvexRegression": ({}, {"eta": 0.1, "gamma": 1.0}, 0.2),
    "RobustLeastSquares": ({}, {"eta": 0.1, "gamma": 1.0}, 0.1),
    "WGAN": ({}, {"eta": 0.1, "gamma": 1.0}, 0.1),
    "PLGame": ({}, {"eta": 0.1, "gamma": 1.0}, 1e-6),
}
RING = rd.topology.ring(4)


@functools.cache
def problem_of(name: str) -> Any:
    """A small instance for four agents."""
    return getattr(rd.problems, name.split(",")[0]).random(4, **FALLS[name][0])


@pytest.mark.parametrize("name", sorted(FALLS))
def test_dream_lowers_the_gradient_of_the_primal(name: str) -> None:
    """By the factor that the table states, and P with it."""
    _, steps, factor = FALLS[name]
    method = rd.DREAM(**steps, p=0.3, b=4, K=2)
    history = run(problem_of(name), RING, method, iterations=300, record_every=300).history
    assert history.grad_norm.iloc[-1] <= factor * history.grad_norm.iloc[0]
    assert history.primal.iloc[-1] < history.primal.iloc[0]


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("WGAN", rd.GTGDA(eta=0.1, gamma=1.0)),
        ("RobustLeastSquares", rd.DREAM(eta=0.05, gamma=30.0, p=1.0, b=1, K=2)),
    ],
)
def test_closed_form_solutions_are_reached(name: str, method: Any) -> None:
    """With full gradients, x_bar is the solution to 1e-6, and P its least value to 1e-12."""
    problem = problem_of(name)
    result = run(problem, RING, method, iterations=2500, record_every=2500)
    np.testing.assert_allclose(result.x_bar, problem.solution(), rtol=0, atol=1e-6)
    assert problem.primal(result.x_bar) - problem.primal_minimum() <= 1e-12


class AtOnce:
    """All problems side by side: x and y are theirs joined, f is their sum. One run asks all of their shards."""

    agents, samples = 4, 20

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts
        self.dim_x, self.dim_y = (sum(getattr(part, name) for part in parts) for name in ("dim_x", "dim_y"))
        self.constraint = rd.constraints.Product([(part.constraint, part.dim_y) for part in parts])

    def start(self) -> tuple[Array, Array]:
        xs, ys = zip(*(part.start() for part in self.parts), strict=True)
        return np.concatenate(xs), np.concatenate(ys)

    def best_response(self, x: Array) -> Array:
        ends = np.cumsum([part.dim_x for part in self.parts])[:-1]
        return np.concatenate(
            [part.best_response(own) for part, own in zip(self.parts, np.split(x, ends), strict=True)]
        )

    def local(self, i: int) -> "SideBySide":
        return SideBySide([(part.local(i), part.dim_x, part.dim_y) for part in self.parts])


class SideBySide:
    """The shards of one agent."""

    samples = 20  # at least as many has each of them: batches are drawn from the first so many

    def __init__(self, shards: list[tuple[Any, int, int]]) -> None:
        self.shards = [shard for shard, _, _ in shards]
        self.cuts = [np.cumsum([sizes[k] for sizes in shards])[:-1] for k in (1, 2)]

    def _each(self, x: Array, y: Array) -> Any:
        return zip(self.shards, np.split(x, self.cuts[0]), np.split(y, self.cuts[1]), strict=True)

    def value(self, x: Array, y: Array) -> float:
        return sum(shard.value(u, v) for shard, u, v in self._each(x, y))

    def gradient(self, x: Array, y: Array, batch: Any = None) -> tuple[Array, Array]:
        xs, ys = zip(*(shard.gradient(u, v, batch) for shard, u, v in self._each(x, y)), strict=True)
        return np.concatenate(xs), np.concatenate(ys)


def test_actors_have_the_same_bits_on_every_problem(shared_ray: None) -> None:
    """Two agents on each of two actors, all problems in one run."""
    problem = AtOnce([problem_of(name) for name in FALLS])
    assert all(part.samples >= problem.samples for part in problem.parts)
    method = rd.DREAM(eta=0.02, gamma=1.0, p=0.4, b=3, K=1)
    with pytest.raises(ValueError, match="of its samples is in the mean"):  # who has more batches the first 20 alone
        run(problem, RING, method, iterations=8)
    about = dict(iterations=8, check=False)
    actors = rd.run(problem, RING, method, backend=rd.RayBackend(agents_per_actor=2), progress=False, **about)
    assert_same_bits(actors, run(problem, RING, method, **about))


NAMED = {
    "auc": "AUC", "fair-classification": "FairClassification", "group-dro": "GroupDRO", "wgan": "WGAN",
    "adversarial-training": "AdversarialTraining", "policy-evaluation": "PolicyEvaluation", "pl-game": "PLGame",
    "robust-regression": "RobustRegression", "robust-nonconvex-regression": "RobustNonconvexRegression",
    "robust-least-squares": "RobustLeastSquares",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(NAMED))
def test_names_forms_and_study_files_know_it(name: str) -> None:
    """By name it is made with its defaults; forms have its parameters with their meanings; so have study files."""
    made = specs.build_problem(name, 3, {"samples": 30, "seed": 1})
    assert type(made).__name__ == NAMED[name] == PROBLEMS[name].__name__ and made.agents == 3
    fields = problem_fields(name, "synthetic")
    assert {"seed", "samples"} <= {field.name for field in fields} and all(field.help for field in fields)
    steps = {"eta": 0.1, "gamma": 1.0}
    given = {
        "title": "one", "seeds": [0], "budget": {"axis": "rounds", "amount": 30},
        "problem": [{"name": name, "agents": 3, "seed": [1, 2]}], "network": [{"name": "ring"}],
        "method": [{"name": "dream", **steps}, {"name": "gt-gda", **steps}],
    }  # fmt: skip
    assert len(study_from(given).cells) == 2


def test_problems_on_data_take_splits_and_their_own_parameters() -> None:
    """As words and numbers, with rules."""
    made = specs.build_problem("group-dro", 3, {"split": "sorted", "samples": 60, "groups": "labels", "lam": 0.5})
    assert (made.dim_y, made.lam) == (2, 0.5)
    with pytest.raises(ValueError, match="`groups` must be one of 'agents', 'labels'; got 'agent'"):
        specs.build_problem("group-dro", 3, {"groups": "agent"})
