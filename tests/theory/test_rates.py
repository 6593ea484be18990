"""Orders of growth: what methods state as numbers, held against what the papers print."""

from math import log
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raydream.algorithms import METHODS
from raydream.algorithms.facts import Facts
from raydream.algorithms.table import rates, why_none
from raydream.theory.rates import CASES, Order, Rate, Term

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()

# Written by hand from Table 1 of the DREAM paper and the remarks at its end; the others from their own papers.
# method: (SFO, rounds), each a list of powers of (kappa, 1/epsilon, N, m)
OFFLINE = {
    "dream": ([(0, 0, 1, 0), (2, 2, 0.5, 0)], [(2, 2, 0, 0)]),
    "gt-da": ([("p", 2, 1, 0)], [("q", 2, 0, 0)]),
    "gt-gda": ([("p", 2, 1, 0)], [("q", 2, 0, 0)]),
    "gt-srvr": ([(0, 0, 1, 0), ("p", 2, 0.5, 0.5)], [("q", 2, 0, 0)]),
    "gda": ([(2, 2, 1, 0)], []),
    "sreda": ([(2, 2, 0.5, 0)], []),
    "d-gdmax": ([(2.5, 2, 1, 0)], [("q", 2, 0, 0)]),
    "vrlm": ([(0, 0, 1, 0), (2, 2, 0.5, 0.5)], [(2, 2, 0, 0)]),
}
ONLINE = {
    "dream": ([(3, 3, 0, 0)], [(2, 2, 0, 0)]),
    "dm-hsgd": ([(3, 3, 0, 0)], [(3, 3, 0, 0)]),
    "dgda-vr": ([(0, 3, 0, 0)], [(0, 2, 0, 0)]),
    "sgda": ([(3, 4, 0, 0)], []),
    "d-adast": ([(0, 4, 0, 0)], [(0, 4, 0, 0)]),
    "vrlm": ([(3, 3, 0, 0)], [(2, 2, 0, 0)]),
    "dm-gda": ([(3, 3, 0, 0)], [(3, 3, 0, 0)]),
    "sreda": ([(3, 3, 0, 0)], []),
    "sapd-plus": ([(1, 4, 0, 0)], []),
}
PAPERS = {"offline": OFFLINE, "online": ONLINE}
EVERY = [(case, name, cost) for case in CASES for name in PAPERS[case] for cost in ("sfo", "rounds")]
AT = {"kappa": 10.0, "epsilon": 0.1, "m": 8, "N": 8000}


def order(case, name, cost):
    return getattr(rates(case)[name], cost)


@pytest.mark.parametrize(("case", "name", "cost"), EVERY)
def test_the_powers_are_those_of_the_papers(case, name, cost):
    """What a method states has the powers that its paper prints."""
    stated = PAPERS[case][name][cost == "rounds"]
    assert order(case, name, cost).terms == tuple(Term(*powers) for powers in stated)


@pytest.mark.parametrize("case", CASES)
def test_every_method_has_a_rate_or_a_reason(case):
    """Nothing is left out in silence, and nothing is given both."""
    assert set(rates(case)) == set(PAPERS[case])
    for name in METHODS:
        assert (name in rates(case)) == (why_none(name, case) is None)


def test_the_reasons_are_said():
    """Descent-ascent without tracking has no rate because it stalls; others have theirs for the other case."""
    assert why_none("dgda", "offline") == "stalls where agents differ"
    assert why_none("dm-hsgd", "offline") == "rate stated for the online case only"


def test_only_finite_sums_count_their_samples():
    """N stands in every SFO rate of the offline case, and in none of the online case."""
    assert all(any(term.N for term in rate.sfo.terms) for rate in rates("offline").values())
    assert not any(term.N for rate in rates("online").values() for term in rate.sfo.terms)


@pytest.mark.parametrize(("case", "name", "cost"), EVERY)
def test_the_formula_is_the_table_s_own(case, name, cost):
    """What is displayed is not written twice."""
    assert order(case, name, cost).formula in getattr(METHODS[name].facts, f"total_{cost}")


def test_values_at_given_numbers():
    """kappa = 10, epsilon = 0.1, m = 8, N = 8000, by hand."""
    wanted = {
        ("offline", "dream", "sfo"): 8000 + 8000**0.5 * 1e4,
        ("offline", "dream", "rounds"): 1e4,
        ("offline", "gt-da", "sfo"): 8e7,
        ("offline", "gt-srvr", "sfo"): 8000 + 64000**0.5 * 1e4,
        ("offline", "gda", "rounds"): 0,
        ("online", "dream", "sfo"): 1e6,
        ("online", "dm-hsgd", "rounds"): 1e6,
        ("online", "dgda-vr", "sfo"): 1e3,
        ("online", "sgda", "sfo"): 1e7,
    }
    for key, value in wanted.items():
        assert order(*key).at(**AT) == pytest.approx(value), key


def test_the_open_power_is_the_caller_s():
    """κ^p is kappa to the power that the caller puts in the place of p, and stated powers do not listen."""
    assert order("offline", "gt-gda", "rounds").at(**AT, open_power=3) == pytest.approx(1e5)
    assert order("offline", "dream", "rounds").at(**AT, open_power=3) == pytest.approx(1e4)


def test_online_costs_need_no_number_of_samples():
    """N is infinite online, and every cost finite."""
    at = {name: value for name, value in AT.items() if name != "N"}
    assert all(rate.sfo.at(**at) == rate.sfo.at(**AT) < float("inf") for rate in rates("online").values())


@settings(deadline=None, max_examples=30)
@given(
    which=st.sampled_from([(case, name, cost) for case, name, cost in EVERY if PAPERS[case][name][cost == "rounds"]]),
    variable=st.sampled_from(["kappa", "epsilon", "N", "m"]),
    factor=st.floats(1.1, 100),
)
def test_the_leading_term_grows_with_its_power(which, variable, factor):
    """The slope on logarithmic axes is the exponent."""
    found = order(*which)
    moved = {**AT, variable: AT[variable] * factor}
    powers = {"open_power": 2.5}
    slope = log(found.leading.at(**moved, **powers) / found.leading.at(**AT, **powers)) / log(factor)
    kappa = found.leading.kappa if not isinstance(found.leading.kappa, str) else 2.5
    exponent = {
        "kappa": kappa,
        "epsilon": -found.leading.inverse_epsilon,
        "N": found.leading.N,
        "m": found.leading.m,
    }[variable]
    assert slope == pytest.approx(exponent, abs=1e-9)


def test_the_leading_term_leads():
    """At a tiny epsilon a sum is its leading term: DREAM's N is outgrown."""
    sfo = order("offline", "dream", "sfo")
    tiny = {**AT, "epsilon": 1e-9}
    assert sfo.at(**tiny) == pytest.approx(sfo.leading.at(**tiny, open_power=2))
    assert sfo.at(**{**AT, "epsilon": 1e9}) == pytest.approx(AT["N"])


def test_dream_gains_the_root_of_m_over_gt_srvr():
    """If the power that its paper leaves open is 2, GT-SRVR pays sqrt(m) times DREAM's SFO."""
    tiny = {**AT, "epsilon": 1e-9}
    ratio = order("offline", "gt-srvr", "sfo").at(**tiny) / order("offline", "dream", "sfo").at(**tiny)
    assert ratio == pytest.approx(8**0.5)


def test_the_orders_agree_with_the_theorem_they_summarise():
    """Theorem 3.1's own SFO, with its constants, grows with the powers of Table 1 where epsilon is small."""
    from raydream.theory import dream_parameters

    fixed = {"L": 10.0, "m": 8, "delta": 0.2, "psi0": 1.0}
    for case, more in (("offline", {"n": 1000}), ("online", {"sigma": 1.0})):
        fine, finer = (dream_parameters(mu=1.0, epsilon=e, **fixed, **more) for e in (1e-6, 1e-7))
        assert log(finer.sfo / fine.sfo, 10) == pytest.approx(order(case, "dream", "sfo").leading.inverse_epsilon, 1e-3)
        assert log(finer.rounds / fine.rounds, 10) == pytest.approx(2, 1e-3)
        curved = dream_parameters(mu=0.1, epsilon=1e-6, **fixed, **more)
        assert log(curved.sfo / fine.sfo, 10) == pytest.approx(order(case, "dream", "sfo").leading.kappa, 1e-3)


def test_silence_on_all_but_epsilon_is_noticed():
    """Two papers state the power of epsilon alone; a method that needs no rounds is silent on nothing."""
    silent = {name for case in CASES for name, rate in rates(case).items() if rate.sfo.epsilon_alone}
    assert silent == {"dgda-vr", "d-adast"}
    assert not order("online", "sgda", "rounds").epsilon_alone


PRINTED = {
    "dream": ("O(N + √N κ² ε⁻²) offline, O(κ³ ε⁻³) online", "Õ(κ² ε⁻²)"),
    "gt-da": ("Õ(N κ^p ε⁻²)", "Õ(κ^q ε⁻²)"),
    "gt-gda": ("O(N κ^p ε⁻²)", "O(κ^q ε⁻²)"),
    "gt-srvr": ("O(N + √(mN) κ^p ε⁻²)", "O(κ^q ε⁻²)"),
    "dm-hsgd": ("O(κ³ ε⁻³)", "O(κ³ ε⁻³)"),
    "dgda-vr": ("O(ε⁻³)", "O(ε⁻²)"),
    "gda": ("O(N κ² ε⁻²)", "0"),
    "sgda": ("O(κ³ ε⁻⁴)", "0"),
    "dgda": ("stalls where agents differ", "stalls where agents differ"),
    "d-adast": ("Õ(ε⁻⁴)", "Õ(ε⁻⁴)"),
    "d-tiada": ("does not converge where agents differ", "does not converge where agents differ"),
    "d-gdmax": ("O(N κ^2.5 ε⁻²)", "O(κ^q ε⁻²)"),
    "vrlm": ("O(N + √(mN) κ² ε⁻²) offline, O(κ³ ε⁻³) online", "O(κ² ε⁻²)"),
    "dm-gda": ("O(κ³ ε⁻³)", "O(κ³ ε⁻³)"),
    "dposg": ("stalls where agents differ", "stalls where agents differ"),
    "sreda": ("O(√N κ² ε⁻²) offline, O(κ³ ε⁻³) online", "0"),
    "k-gt-minimax": ("its abstract states O(κ³ ε⁻²) rounds alone", "its abstract states O(κ³ ε⁻²) rounds alone"),
    "catalyst-dream": (
        "not analysed: the DREAM paper's future work",
        "not analysed: the DREAM paper's future work",
    ),
    "sapd-plus": ("O(κ ε⁻⁴)", "0"),
    "ed-page": ("not seen: its abstract has no formula", "not seen: its abstract has no formula"),
    "ed-gda": ("not stated for minimax problems", "not stated for minimax problems"),
}


@pytest.mark.parametrize("name", METHODS)
def test_the_numbers_are_printed_as_the_papers_write_them(name):
    """The formulas of the README's table, word for word, each made from numbers."""
    facts = METHODS[name].facts
    assert (facts.total_sfo, facts.total_rounds) == PRINTED[name]
    row = next(line for line in README.splitlines() if line.startswith(f"| {name} |"))
    assert row.split(" | ")[8:10] == [*PRINTED[name]]


@pytest.mark.parametrize(
    ("term", "formula"),
    [
        (Term(), "1"),
        (Term(kappa=1, inverse_epsilon=0.5), "κ ε^-0.5"),
        (Term(kappa=0.5, m=1), "m √κ"),
        (Term(N=0.5, m=1), "m √N"),
        (Term(N=0.5, m=0.5), "√(mN)"),
        (Term(kappa=12, inverse_epsilon=-1, N=-2), "N⁻² κ¹² ε"),
        (Term(kappa=1.5), "κ^1.5"),
        (Term(kappa="q"), "κ^q"),
    ],
)
def test_any_power_can_be_printed(term, formula):
    """Whole powers raised, halves as roots, others after a caret; a power of 0 is not written, nor that of 1."""
    assert term.formula == formula


def test_a_rate_that_differs_between_cases_is_printed_with_them():
    """And one that does not is printed once."""
    one, other = Order((Term(N=1),)), Order((Term(kappa=1),), logarithms=True)
    facts = Facts(rates={"offline": Rate(one, one), "online": Rate(other, one)})
    assert (facts.total_sfo, facts.total_rounds) == ("O(N) offline, Õ(κ) online", "O(N)")
    assert Facts(no_rate="nobody knows").total_sfo == "nobody knows"


def test_rates_are_stated_for_cases_that_the_method_solves():
    """And a method without any says why."""
    for kind in METHODS.values():
        assert set(kind.facts.rates) <= set(kind.facts.cases) <= set(CASES)
        assert bool(kind.facts.rates) != bool(kind.facts.no_rate)
