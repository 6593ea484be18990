"""The laws of a Euclidean projection, for every set in one table."""

import itertools
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raydream.constraints import Ball, Box, Constraint, Everything, L1Ball, Product, Simplex
from raydream.kernels import plain
from raydream.types import Array

# --- independent references: exact arithmetic and enumeration, for a handful of coordinates ---


def nearest(y: Array, candidates: list[list[Fraction]]) -> Array:
    """The candidate with the least exact distance to y."""
    exact = [Fraction(value) for value in y]
    best = min(candidates, key=lambda x: sum((a - b) ** 2 for a, b in zip(x, exact, strict=True)))
    return np.array([float(value) for value in best])


def faces(y: Array, radius: float, signs: tuple[int, ...]) -> list[list[Fraction]]:
    """For each support and pattern of signs, the nearest point of {sum s_i x_i = radius} if it has those signs."""
    found = []
    for pattern in itertools.product((*signs, 0), repeat=y.size):
        support = sum(map(abs, pattern))
        if support:
            total = sum((s * Fraction(value) for s, value in zip(pattern, y, strict=True)), Fraction(0))
            shift = (total - Fraction(radius)) / support
            x = [(Fraction(value) - s * shift) if s else Fraction(0) for s, value in zip(pattern, y, strict=True)]
            if all(s * value >= 0 for s, value in zip(pattern, x, strict=True)):
                found.append(x)
    return found


def simplex_reference(radius: float) -> Callable[[Array], Array]:
    return lambda y: nearest(y, faces(y, radius, (1,)))


def l1_reference(radius: float) -> Callable[[Array], Array]:
    def reference(y: Array) -> Array:
        inside = sum(abs(Fraction(value)) for value in y) <= Fraction(radius)
        return y if inside else nearest(y, faces(y, radius, (1, -1)))

    return reference


def ball_reference(radius: float) -> Callable[[Array], Array]:
    def reference(y: Array) -> Array:
        with localcontext() as context:
            context.prec = 60
            exact = [Decimal(float(value)) for value in y]
            norm = sum((value * value for value in exact), Decimal(0)).sqrt()
            shrink = min(Decimal(1), Decimal(radius) / norm) if norm else Decimal(1)
            return np.array([float(value * shrink) for value in exact])

    return reference


def box_reference(low: float, high: float) -> Callable[[Array], Array]:
    return lambda y: np.array([sorted((low, float(value), high))[1] for value in y])


def product_reference(y: Array) -> Array:
    cut = y.size // 2
    return np.concatenate([ball_reference(0.5)(y[:cut]), simplex_reference(2.0)(y[cut:])])


# --- points of each set, found without projecting ---


def simplex_point(draw: np.random.Generator, d: int, radius: float) -> Array:
    weights = draw.exponential(size=d) * (draw.random(d) < 0.7)
    weights[draw.integers(d)] += 1.0
    return np.asarray(radius * weights / weights.sum())


def l1_point(draw: np.random.Generator, d: int, radius: float) -> Array:
    return np.asarray(simplex_point(draw, d, radius) * draw.uniform(-1, 1, d))


def ball_point(draw: np.random.Generator, d: int, radius: float) -> Array:
    direction = draw.standard_normal(d)
    return np.asarray(radius * draw.choice([draw.random(), 1.0]) * direction / np.linalg.norm(direction))


def product_set(d: int) -> Constraint:
    parts: list[tuple[Constraint, int]] = [(Ball(0.5), d // 2), (Simplex(2.0), d - d // 2)]
    return Product(parts if d > 1 else parts[1:])


@dataclass(frozen=True)
class Case:
    """A set in d dimensions, its size, points in it, and an independent projection."""

    make: Callable[[int], Constraint]
    scale: float
    point: Callable[[np.random.Generator, int], Array]
    reference: Callable[[Array], Array]


def scaled(kind: Any, radius: float, point: Any, reference: Any) -> Case:
    return Case(lambda d: kind(radius), radius, lambda draw, d: point(draw, d, radius), reference(radius))


CASES = {
    "simplex": scaled(Simplex, 1.0, simplex_point, simplex_reference),
    "small simplex": scaled(Simplex, 1e-12, simplex_point, simplex_reference),
    "large simplex": scaled(Simplex, 1e12, simplex_point, simplex_reference),
    "l1 ball": scaled(L1Ball, 0.7, l1_point, l1_reference),
    "large l1 ball": scaled(L1Ball, 1e12, l1_point, l1_reference),
    "ball": scaled(Ball, 2.5, ball_point, ball_reference),
    "small ball": scaled(Ball, 1e-12, ball_point, ball_reference),
    "box": Case(lambda d: Box(-1.0, 0.5), 1.0, lambda draw, d: draw.uniform(-1, 0.5, d), box_reference(-1.0, 0.5)),
    "vector box": Case(
        lambda d: Box(np.full(d, -0.25), math.inf),
        1.0,
        lambda draw, d: draw.uniform(-0.25, 9, d),
        box_reference(-0.25, math.inf),
    ),
    "everything": Case(lambda d: Everything(), 1.0, lambda draw, d: draw.normal(size=d), lambda y: y),
    "product": Case(
        product_set,
        2.0,
        lambda draw, d: np.concatenate(
            [ball_point(draw, d // 2, 0.5) if d > 1 else [], simplex_point(draw, d - d // 2, 2.0)]
        ),
        product_reference,
    ),
}
every_set = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
laws = settings(max_examples=40, deadline=None)

SEEDS = st.integers(0, 2**32 - 1)
TIES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 0.25, 1e3, -1e3])


def vectors(elements: st.SearchStrategy[float], least: int = 1) -> st.SearchStrategy[Array]:
    return st.lists(elements, min_size=least, max_size=4).map(np.array)


MODERATE = vectors(st.floats(-4, 4) | TIES)
ANY_FINITE = vectors(st.floats(allow_nan=False, allow_infinity=False) | st.floats(-4, 4) | TIES)


@every_set
@laws
@given(y=ANY_FINITE)
def test_a_projection_is_in_the_set(case: Case, y: Array) -> None:
    """P(y) is feasible to rounding for every finite y, huge and denormal ones included."""
    constraint = case.make(y.size)
    for z in (y, y * case.scale if np.abs(y).max() < 1e9 else y):
        assert constraint.contains(constraint.project(z), tolerance=1e-14)


@every_set
@laws
@given(y=MODERATE)
def test_projecting_twice_is_projecting_once(case: Case, y: Array) -> None:
    """P(P(y)) = P(y), to 1e-15 of the set's size."""
    constraint = case.make(y.size)
    once = constraint.project(y * case.scale)
    assert np.abs(constraint.project(once) - once).max() <= 1e-15 * case.scale


@every_set
@laws
@given(y=MODERATE, seed=SEEDS)
def test_a_projection_is_non_expansive(case: Case, y: Array, seed: int) -> None:
    """||P(a) - P(b)|| <= ||a - b||, for neighbours and for distant points."""
    draw = np.random.default_rng(seed)
    constraint = case.make(y.size)
    a = case.scale * y
    b = a + case.scale * draw.choice([1e-9, 1e-3, 1.0]) * draw.standard_normal(y.size)
    moved = np.linalg.norm(constraint.project(a) - constraint.project(b))
    assert moved <= np.linalg.norm(a - b) + 4e-15 * case.scale


@every_set
@laws
@given(y=MODERATE, seed=SEEDS)
def test_the_residual_makes_an_obtuse_angle_with_the_set(case: Case, y: Array, seed: int) -> None:
    """<z - P(z), u - P(z)> <= 0 for every u in the set, which characterises the projection."""
    constraint = case.make(y.size)
    z = case.scale * y
    u = case.point(np.random.default_rng(seed), y.size)
    assert constraint.contains(u)
    p = constraint.project(z)
    distances = np.linalg.norm(z - p) + np.linalg.norm(u - p)
    assert (z - p) @ (u - p) <= 1e-14 * case.scale * distances


@every_set
@laws
@given(y=ANY_FINITE)
def test_a_projection_is_the_nearest_point_found_by_enumeration(case: Case, y: Array) -> None:
    """P(y) is the best of all faces in exact arithmetic, to 1e-15 of the set's size, for every finite y."""
    constraint = case.make(y.size)
    for z in (y, y * case.scale if np.abs(y).max() < 1e9 else y):
        expected = case.reference(z)
        assert np.all(np.abs(constraint.project(z) - expected) <= 1e-15 * case.scale)


@every_set
@laws
@given(y=MODERATE, exponent=st.integers(-15, -1), side=st.sampled_from([-1, 1]))
def test_a_point_just_off_the_boundary_goes_to_the_nearest_point(
    case: Case, y: Array, exponent: int, side: int
) -> None:
    """Enumeration also agrees a relative 1e-15 to 0.1 inside and outside of P(y), where the cases change."""
    constraint = case.make(y.size)
    z = constraint.project(y * case.scale) * (1 + side * 10.0**exponent)
    assert np.all(np.abs(constraint.project(z) - case.reference(z)) <= 1e-15 * case.scale)


@every_set
@pytest.mark.parametrize("d", [1, 2, 3, 5, 7, 8, 9, 17, 127, 129, 1001])
def test_a_row_has_the_same_bits_in_every_block(case: Case, d: int) -> None:
    """Projecting rows together, alone, re-ordered or from any memory layout gives each row the same bits."""
    draw = np.random.default_rng(d)
    constraint = case.make(d)
    rows = case.scale * draw.standard_normal((9, d)) * 10.0 ** draw.integers(-6, 3, (9, 1))
    rows.flags.writeable = False
    before = rows.copy()
    together = constraint.project(rows)
    assert together.flags.c_contiguous and together.dtype == np.float64 and together.shape == rows.shape
    assert not np.shares_memory(together, rows)
    alone = np.array([constraint.project(row) for row in rows])
    padded = np.full((9, d + 3), np.nan)
    padded[:, 1:-2] = rows
    for other in (
        alone,
        constraint.project(rows[::-1])[::-1],
        np.concatenate([constraint.project(rows[:4]), constraint.project(rows[4:])]),
        constraint.project(np.asfortranarray(rows)),
        constraint.project(padded[:, 1:-2]),
    ):
        assert other.tobytes() == together.tobytes()
    assert rows.tobytes() == before.tobytes()
    assert constraint.project(rows[:0]).shape == (0, d)


# --- the simplex at its real size ---


def exact_simplex(y: Array, radius: float) -> Array:
    """The projection by the sorted formula in rational arithmetic."""
    total, tau = Fraction(0), Fraction(0)
    for count, value in enumerate(sorted(map(Fraction, y.tolist()), reverse=True), start=1):
        total += value
        if value <= (total - Fraction(radius)) / count:
            break
        tau = (total - Fraction(radius)) / count
    return np.array([float(max(Fraction(value) - tau, Fraction(0))) for value in y.tolist()])


def staircase(d: int) -> Array:
    """A row whose support, under the mean threshold, shrinks by one step of growing width at a time."""
    steps, reached, drop = [np.zeros(2)], 2, 1e-15
    while reached < d:
        width = min(max(1, reached // 2), d - reached)
        steps.append(np.full(width, -0.5 - drop))
        reached += width
        drop *= 1.01 * reached / width
    return np.concatenate(steps)


D = 3000
DRAW = np.random.default_rng(3)
ROWS = {
    "near uniform": (1 + 0.1 * DRAW.standard_normal(D)) / D,
    "near uniform, some clipped": (1 + DRAW.standard_normal(D)) / D,
    "mostly clipped": DRAW.standard_normal(D),
    "all equal": np.full(D, 0.3),
    "two levels": np.where(np.arange(D) % 2, 2 / D, 0.0),
    "already feasible": DRAW.dirichlet(np.ones(D)),
    "one entry nearly everything": np.r_[1.0, DRAW.random(D - 1) * 1e-6],
    "ties at the threshold": np.r_[1.0, np.full(D - 1, 2.0**-53)],
    "geometric": 0.99 ** np.arange(D),
    "staircase": staircase(D),
    "huge": 1e300 * DRAW.standard_normal(D),
    "huge and equal": np.full(D, 1e300),
    "opposite extremes": np.where(np.arange(D) % 2, 1.7e308, -1.7e308),
    "tiny": 1e-300 * DRAW.standard_normal(D),
    "denormal": 5e-324 * DRAW.integers(0, 9, D),
    "far from zero": 1e6 + DRAW.standard_normal(D),
}
every_row = pytest.mark.parametrize("y", ROWS.values(), ids=ROWS.keys())
every_radius = pytest.mark.parametrize("radius", [1e-12, 1.0, math.sqrt(D), 1e12])


@every_row
@every_radius
def test_a_long_row_lands_on_the_simplex_to_rounding(y: Array, radius: float) -> None:
    """Entries agree with rational arithmetic to 1e-15 radius, and sum to the radius to 1e-15, at any scale."""
    x = Simplex(radius).project(y)
    assert np.abs(x - exact_simplex(y, radius)).max() <= 1e-15 * radius
    assert abs(math.fsum(x) - radius) <= 1e-15 * radius
    assert x.min() >= 0


@every_row
@every_radius
def test_a_long_row_projected_twice_stays_where_it_is(y: Array, radius: float) -> None:
    """P(P(y)) = P(y) to 1e-15 radius, also with thousands of entries at the threshold."""
    once = Simplex(radius).project(y)
    assert np.abs(Simplex(radius).project(once) - once).max() <= 1e-15 * radius


def test_entries_within_rounding_of_the_threshold_do_not_spoil_the_sum() -> None:
    """One entry takes nearly all of the radius; thousands lie a few units of rounding about the threshold."""
    draw = np.random.default_rng(0)
    for radius in (1e-12, 1.0, 2.5, 37.0):
        for top in draw.choice([0.5, 1.0, draw.random()], 150):
            few = 2.0**-54 * draw.integers(0, 12, draw.integers(1000, 3000))
            y = radius * np.r_[top, top - 1 + few]
            assert abs(math.fsum(Simplex(radius).project(y)) - radius) <= 4e-15 * radius


@every_row
@every_radius
def test_sorting_finds_the_same_point(y: Array, radius: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The threshold of the sorted row leads to the same answer as the passes."""
    expected = Simplex(radius).project(y)
    sort = plain._threshold_by_sorting
    monkeypatch.setattr(plain, "_threshold", lambda v, radius, scratch: sort(v, radius))
    with np.errstate(all="ignore"):
        found = plain.onto_simplex(y, radius)
    assert np.abs(found - expected).max() <= 1e-15 * radius


def test_a_row_built_to_need_many_passes_is_sorted_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The passes over a row are bounded: a staircase with more steps than that is handed to sorting, once."""
    sort, sorted_rows = plain._threshold_by_sorting, []

    def spy(v: Array, radius: float) -> float:
        sorted_rows.append(v)
        return sort(v, radius)

    monkeypatch.setattr(plain, "_threshold_by_sorting", spy)
    y = staircase(50_000)
    x = Simplex().project(y)
    assert len(sorted_rows) == 1
    assert np.array_equal(x, np.r_[0.5, 0.5, np.zeros(y.size - 2)])


def test_the_only_point_of_a_simplex_in_one_dimension_is_its_radius() -> None:
    """For d = 1 every finite y projects to the radius."""
    y = np.array([[-1.7e308], [0.0], [5e-324], [0.3], [1.7e308]])
    assert np.array_equal(Simplex(0.1).project(y), np.full((5, 1), 0.1))


# --- rows that are not finite ---


@pytest.mark.parametrize("constraint", [Simplex(), L1Ball(1.0), Ball(1.0), Product([(Simplex(), 5)])], ids=repr)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("place", [slice(0, 1), slice(4, 5), slice(None)])
def test_divergence_stays_visible_and_in_its_row(constraint: Constraint, bad: float, place: slice) -> None:
    """A row with NaN or inf gives NaN without a warning, and its neighbours keep their bits."""
    rows = np.random.default_rng(0).standard_normal((3, 5))
    healthy = constraint.project(rows)
    rows[1, place] = bad
    with np.errstate(all="raise"):
        projected = constraint.project(rows)
    assert np.isnan(projected[1]).any()
    assert projected[[0, 2]].tobytes() == healthy[[0, 2]].tobytes()


def test_a_simplex_ignores_entries_at_minus_infinity() -> None:
    """An entry at -inf is clipped to 0; a row with nothing else has no projection and gives NaN."""
    assert np.array_equal(Simplex().project([-math.inf, 0.25, 0.25]), [0.0, 0.5, 0.5])
    assert np.isnan(Simplex().project(np.full(3, -math.inf))).all()


def test_a_box_keeps_nan_and_bounds_infinity() -> None:
    """Clipping passes NaN on; an infinite entry goes to its bound, which is the limit of the projections."""
    assert np.array_equal(
        Box(-1.0, 2.0).project([math.nan, math.inf, -math.inf]), [math.nan, 2.0, -1.0], equal_nan=True
    )


@every_set
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_no_set_contains_a_point_that_is_not_finite(case: Case, bad: float) -> None:
    """`contains` is False as soon as one entry of one row is NaN or infinite."""
    draw = np.random.default_rng(0)
    rows = np.array([case.point(draw, 3) for _ in range(4)])
    assert case.make(3).contains(rows)
    rows[2, 1] = bad
    assert not case.make(3).contains(rows)


@pytest.mark.parametrize(
    ("constraint", "inside", "outside"),
    [
        (Simplex(2.0), [1.0, 1.0], [1.0, 1.0 + 3e-6]),
        (Simplex(2.0), [2.0, 0.0], [2.0 + 3e-6, -3e-6]),
        (L1Ball(2.0), [-1.0, 1.0], [-1.0, 1.0 + 3e-6]),
        (Ball(2.0), [0.0, -2.0], [0.0, -2.0 - 3e-6]),
        (Ball(2.0), [0.0, 2.0], [0.0, 1e200]),
        (Box(-1.0, [1.0, 2.0]), [-1.0, 2.0], [1.0, 2.0 + 3e-6]),
        (Product([(Ball(1.0), 1), (Simplex(), 1)]), [1.0, 1.0], [1.0, 1.0 + 3e-6]),
    ],
    ids=repr,
)
def test_the_tolerance_decides_at_the_boundary(
    constraint: Constraint, inside: list[float], outside: list[float]
) -> None:
    """A boundary point is contained; a point 3e-6 beyond is not, unless the tolerance is larger than that."""
    assert constraint.contains(np.array(inside), tolerance=0.0)
    assert not constraint.contains(np.array(outside))
    assert not constraint.contains(np.array([inside, outside]))
    if max(outside) < 9:
        assert constraint.contains(np.array(outside), tolerance=4e-6)


# --- the paper, and Python's manners ---


def test_the_mean_of_projections_is_not_the_projection_of_the_mean() -> None:
    """Appendix B: in the disc of radius sqrt(2), (2, 2) and (2, -2) give (1, 0) one way, (sqrt 2, 0) the other."""
    disc = Ball(math.sqrt(2))
    y = np.array([[2.0, 2.0], [2.0, -2.0]])
    np.testing.assert_allclose(disc.project(y).mean(axis=0), [1.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(disc.project(y.mean(axis=0)), [math.sqrt(2), 0.0], atol=1e-15)


@every_set
def test_a_set_survives_pickling_and_is_rebuilt_by_its_repr(case: Case) -> None:
    """A set equals its pickled copy and the value of its repr, and all three have one hash."""
    constraint = case.make(3)
    names = {kind.__name__: kind for kind in (Simplex, L1Ball, Ball, Box, Everything, Product)}
    for copy in (
        pickle.loads(pickle.dumps(constraint)),
        eval(repr(constraint), {"array": np.array, "inf": math.inf, **names}),
    ):
        assert copy == constraint
        assert hash(copy) == hash(constraint)
        assert copy.size == constraint.size


def test_sets_with_other_parameters_are_other_sets() -> None:
    """Equality sees the kind of set and every parameter."""
    sets: list[Constraint] = [
        Simplex(),
        Simplex(2.0),
        L1Ball(1.0),
        Ball(1.0),
        Box(0.0, 1.0),
        Box(0.0, 2.0),
        Box([0.0, 0.0], 1.0),
        Box([0.0, -1.0], 1.0),
        Product([(Ball(1.0), 2)]),
        Product([(Ball(1.0), 3)]),
        Everything(),
    ]
    for i, j in itertools.combinations(range(len(sets)), 2):
        assert sets[i] != sets[j]
    assert Box(-0.0, 1.0) == Box(0.0, 1.0) and hash(Box(-0.0, 1.0)) == hash(Box(0.0, 1.0))


def test_the_bounds_of_a_box_are_its_own() -> None:
    """A box copies its bounds and keeps them read-only, also after pickling."""
    low = np.zeros(2)
    box = Box(low, 1.0)
    low[:] = 5.0
    for same in (box, pickle.loads(pickle.dumps(box))):
        assert np.array_equal(same.low, [0.0, 0.0])
        assert not np.asarray(same.low).flags.writeable


def test_a_set_knows_its_dimension() -> None:
    """`size` is the dimension a set insists on, and None where any will do."""
    assert Simplex().size is None and Box(0.0, 1.0).size is None
    assert Box(0.0, [1.0, 2.0]).size == 2
    assert Product([(Simplex(), 3), (Box([0.0], 1.0), 1)]).size == 4


WORD: Any = "a"
HALF: Any = 0.5
BARE: Any = Simplex()
PAIR = Product([(Ball(1.0), 2), (Simplex(), 3)])


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: Simplex(0.0), ValueError, "`radius` must be positive; got 0.0."),
        (lambda: L1Ball(-1), ValueError, "`radius` must be positive; got -1."),
        (lambda: Ball(math.nan), ValueError, "`radius` must be finite; got nan."),
        (lambda: Ball(WORD), TypeError, "`radius` must be a number; got 'a'."),
        (
            lambda: Simplex(1e-200),
            ValueError,
            "`radius` must be between 1e-100 and 1e100; got 1e-200. Rescale the problem.",
        ),
        (lambda: Box(2, 1), ValueError, "`low` must not exceed `high`; entry 0 has 2.0 above 1.0."),
        (
            lambda: Box([0, 3], [1, 2]),
            ValueError,
            "`low` must not exceed `high`; entry 1 has 3.0 above 2.0.",
        ),
        (
            lambda: Box([0, 0], [1, 1, 1]),
            ValueError,
            "`low` and `high` must be equally long; got 2 and 3 entries.",
        ),
        (
            lambda: Box(math.inf, math.inf),
            ValueError,
            "`low` must be below inf and `high` above -inf; got a box without a finite point.",
        ),
        (
            lambda: Box(0, math.nan),
            ValueError,
            "`high` must not be NaN; got nan. Leave a side open with inf.",
        ),
        (lambda: Box([[0]], 1), ValueError, "`low` must be a number or a vector; got shape (1, 1)."),
        (lambda: Box(WORD, 1), TypeError, "`low` must be a number or a vector; got 'a'."),
        (
            lambda: Product([]),
            ValueError,
            "`parts` must hold at least one (constraint, size) pair; got none.",
        ),
        (
            lambda: Product([BARE]),
            TypeError,
            "`parts` must hold (constraint, size) pairs; got Simplex(radius=1.0).",
        ),
        (lambda: Product([(Simplex(), 0)]), ValueError, "`size` must be at least 1; got 0."),
        (lambda: Product([(Simplex(), HALF)]), TypeError, "`size` must be a whole number; got 0.5."),
        (
            lambda: Product([(PAIR, 4)]),
            ValueError,
            f"`size` must be 5, the dimension of {PAIR!r}; got 4.",
        ),
        (
            lambda: PAIR.project(np.zeros((2, 4))),
            ValueError,
            "`y` must have rows of length 5; got shape (2, 4).",
        ),
        (
            lambda: PAIR.contains(np.zeros(6)),
            ValueError,
            "`y` must have rows of length 5; got shape (6,).",
        ),
        (
            lambda: Box([0, 0], 1).project(np.zeros(1)),
            ValueError,
            "`y` must have rows of length 2; got shape (1,).",
        ),
        (
            lambda: Simplex().project(np.zeros((2, 0))),
            ValueError,
            "`y` must have rows of length at least 1; got shape (2, 0).",
        ),
        (
            lambda: Ball(1.0).project(np.zeros((1, 1, 1))),
            ValueError,
            "`y` must be a vector or a block of rows; got shape (1, 1, 1).",
        ),
    ],
)
def test_a_mistake_is_answered_by_one_sentence(
    make: Callable[[], object], error: type[Exception], sentence: str
) -> None:
    """Each wrong parameter raises its own sentence."""
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == sentence
