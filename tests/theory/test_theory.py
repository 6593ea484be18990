"""The theorem's constants, against the independent reference."""

import json
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest
from laws import run
from reference.theory import dream_parameters_by_hand

import raydream as rd
from raydream.errors import TheoryWarning
from raydream.problems import OnlineQuadraticGame, QuadraticGame, RobustLogisticRegression
from raydream.theory import C1, C2, dream_parameters, parameters_for, starting_gap

CASES = [
    dict(L=7.3, mu=0.9, epsilon=0.11, m=8, delta=0.13, psi0=0.37, n=6105),
    dict(L=2.1, mu=2.0, epsilon=0.013, m=16, delta=0.9, psi0=1.3, n=3),
    dict(L=5.0, mu=1.1, epsilon=0.21, m=8, delta=0.00029, psi0=0.7, sigma=1.7),
    dict(L=3.3, mu=0.31, epsilon=0.07, m=100, delta=0.05, psi0=0.3, sigma=0.013),
]
LAZY = rd.topology.ring(4).lazy()


@pytest.mark.parametrize("case", CASES)
def test_every_constant_is_the_theorem_s(case):
    """All constants and predicted counts equal those computed by hand from the paper."""
    found, wanted = asdict(dream_parameters(**case)), dream_parameters_by_hand(**case)
    found["T"] = found.pop("iterations")
    for name, value in found.items():
        assert value == pytest.approx(wanted[name], rel=1e-12), name


@pytest.mark.parametrize("case", CASES)
def test_the_first_rounds_leave_what_is_said_of_them(case):
    """4 rho_0^2/(gamma m) is at most gamma m epsilon^4/64: K0 does not know how much the first gradients differ."""
    found = dream_parameters(**case)
    rho = C1 * (1 - C2 * case["delta"] ** 0.5) ** found.K0
    assert 4 * rho**2 / (found.gamma * case["m"]) <= found.gamma * case["m"] * case["epsilon"] ** 4 / 64


def test_the_paper_s_data_set_in_numbers():
    """a9a joined with its test set (m=8, n=6105): b = 28, q = 0.987, p = 0.0045."""
    found = dream_parameters(L=1.0, mu=1.0, epsilon=0.1, m=8, delta=2.9e-4, psi0=1.0, n=6105)
    assert (found.b, round(found.q, 3), round(found.p, 4)) == (28, 0.987, 0.0045)


def test_a_run_is_set_up_from_epsilon_alone():
    """constants(), the topology and psi0 give the parameters; what they promise is tested in test_theorem.py."""
    game = QuadraticGame.random(agents=4, samples=16, dim_x=2, dim_y=2, seed=3, heterogeneity=0.2, spread=0.1)
    known = game.constants()
    found = parameters_for(game, LAZY, 0.1)
    assert found == dream_parameters(
        L=known.L, mu=known.mu, epsilon=0.1, m=4, delta=LAZY.spectral_gap, psi0=starting_gap(game), n=16
    )


def test_online_constants_come_from_sigma():
    """An online game's batch follows from sigma."""
    game = OnlineQuadraticGame.random(agents=4, dim_x=2, dim_y=2, sigma=0.5)
    found = parameters_for(game, LAZY, 0.5)
    wanted = 32 * 0.25 / (found.gamma * 4 * 0.25)
    assert found.b_large == pytest.approx(wanted, abs=1)


def test_psi0_is_measured_at_the_start():
    """psi0 = P(x0) - P* + (P(x0) - f(x0, y0))/8."""
    game = QuadraticGame.random(agents=4, samples=3)
    x0, y0 = game.start()
    wanted = game.primal(x0) - game.primal_minimum() + (game.primal(x0) - game.value(x0, y0)) / 8
    assert starting_gap(game) == pytest.approx(wanted, rel=1e-12)
    own = np.full(game.dim_x, 2.0), np.full(game.dim_y, -1.0)
    wanted = game.primal(own[0]) - game.primal_minimum() + (game.primal(own[0]) - game.value(*own)) / 8
    assert starting_gap(game, own) == pytest.approx(wanted, rel=1e-12)


GOOD = dict(L=2.0, mu=1.0, epsilon=0.1, m=4, delta=0.5, psi0=1.0, n=10)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (dict(L=0), "`L` must be positive"),
        (dict(mu=3.0), "`mu` must not exceed `L`"),
        (dict(epsilon=-1), "`epsilon`"),
        (dict(m=0), "`m` must be at least 1"),
        (dict(delta=1.5), "`delta` must be in"),
        (dict(psi0=float("nan")), "`psi0`"),
        (dict(n=0), "`n` must be at least 1"),
        (dict(sigma=1.0), "exactly one of `n`"),
        (dict(n=None), "exactly one of `n`"),
    ],
)
def test_bad_constants_are_named(change, sentence):
    """Each gets its sentence."""
    with pytest.raises(ValueError, match=sentence):
        dream_parameters(**{**GOOD, **change})


def test_a_network_that_the_theorem_does_not_know_is_told():
    """W must be positive semidefinite: the ring of 4 has -1/3, its lazy version meets the assumption in silence."""
    game = QuadraticGame.random(agents=4, samples=3)
    with pytest.warns(
        TheoryWarning, match=r"`topology` ring .* positive semidefinite .* -0\.333.* `topology\.lazy\(\)`"
    ):
        parameters_for(game, rd.topology.ring(4), 0.1)
    parameters_for(game, rd.topology.ring(4).lazy(), 0.1)


def test_constants_that_rest_on_an_assumption_are_told():
    """Those of robust logistic regression hold while no sample weighs much: the sentence says how much."""
    features, labels = rd.data.load("synthetic")
    problem = RobustLogisticRegression(features[:40], labels[:40], 4)
    assert problem.constants(3.0).assumes == "every sample weighs at most 3 times its uniform share"
    with pytest.warns(TheoryWarning, match="only while every sample weighs at most 2 times its uniform share"):
        parameters_for(problem, LAZY, 0.1)
    pooled = OnlineQuadraticGame.random(agents=4).pooled()
    with pytest.warns(TheoryWarning, match="only while the former agents' gradients differ no more than at the start"):
        parameters_for(pooled, rd.topology.ring(1), 0.1)


def test_a_problem_without_constants_is_refused():
    """The sentence names what is missing."""
    with pytest.raises(ValueError, match="`problem` must have `constants"):
        parameters_for(object(), rd.topology.ring(4), 0.1)


RING, SMALL = rd.topology.ring(4), rd.DREAM(eta=0.05, gamma=0.3, b=2)


def test_a_run_records_what_the_theorem_needs():
    """L, mu, psi0 and n, as they are for this problem and the start of this run; they survive JSON."""
    game = QuadraticGame.random(agents=4, samples=6)
    start = np.full(game.dim_x, 2.0), np.zeros(game.dim_y)
    known, constants = game.constants(), run(game, RING, SMALL, iterations=0, start=start).config["constants"]
    assert constants == {"L": known.L, "mu": known.mu, "psi0": starting_gap(game, start), "n": 6}
    assert constants["psi0"] != starting_gap(game)
    assert json.loads(json.dumps(constants, allow_nan=False)) == constants


def test_an_online_run_records_sigma():
    """There is no n."""
    game = OnlineQuadraticGame.random(agents=4, sigma=0.5)
    constants = run(game, RING, rd.DREAM(eta=0.05, gamma=0.3, b=2, b_large=8), iterations=0).config["constants"]
    assert constants["sigma"] == 0.5 and "n" not in constants


class Own:
    """A quadratic game that answers for its constants as it is told."""

    def __init__(self, constants, **more):
        self.game, self.asked, self.answer = QuadraticGame.random(agents=4, samples=3), 0, constants
        vars(self).update(more)

    def constants(self):
        self.asked += 1
        return self.answer()

    def __getattr__(self, name):
        if name == "game":
            raise AttributeError(name)
        return getattr(self.game, name)


def raising():
    raise RuntimeError("no idea")


NO_USE = {
    "raises": Own(raising),
    "another kind of answer": Own(lambda: {"L": 2.0, "mu": 1.0}),
    "not finite": Own(lambda: SimpleNamespace(L=float("nan"), mu=1.0)),
    "mu above L": Own(lambda: SimpleNamespace(L=1.0, mu=2.0)),
    "no bound": Own(lambda: SimpleNamespace(L=2.0, mu=1.0), primal_bound=raising),
    "nothing to gain": Own(lambda: SimpleNamespace(L=2.0, mu=1.0), primal_bound=lambda: 1e9),
}  # fmt: skip


@pytest.mark.parametrize("problem", NO_USE.values(), ids=NO_USE)
def test_constants_that_are_of_no_use_are_not_recorded(problem):
    """The run goes on without them."""
    result = run(problem, RING, SMALL, iterations=1)
    assert result.outcome == "completed" and result.config["constants"] is None


def test_a_problem_is_asked_for_its_constants_once():
    """They may take longer than a run."""
    problem = Own(lambda: SimpleNamespace(L=2.0, mu=1.0))
    found = [run(problem, RING, SMALL, iterations=0, seed=seed).config["constants"]["L"] for seed in range(3)]
    assert found == [2.0] * 3 and problem.asked == 1
