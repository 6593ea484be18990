"""Codes: what is heard of a row is what was said of it, as long as promised, and as near as theory says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import raydream as rd
from raydream.conditions import QSGD, Float16, Float32, Random, SharedRandom, Sign, Top
from raydream.conditions.codes import CODES

KINDS = (
    Top(0.3),
    Top(2),
    Random(0.3),
    Random(2),
    SharedRandom(0.3),
    QSGD(2),
    QSGD(4),
    QSGD(16),
    Sign(),
    Float32(),
    Float16(),
)
ROWS = arrays.arrays(
    st.sampled_from([np.float64, np.float32]),
    st.tuples(st.integers(1, 4), st.integers(2, 40)),
    elements=st.floats(-1e4, 1e4, width=32),
)


def drawn(agents, width, key=0):
    """Numbers that depend on the agent alone."""
    return np.stack([np.random.default_rng([key, int(agent) % 2**32]).random(width) for agent in agents])


def heard(kind, rows, key=0):
    senders = np.arange(len(rows))
    codes = kind.encode(rows, senders, lambda agents, width: drawn(agents, width, key))
    assert codes.dtype == np.uint8 and codes.shape == (len(rows), kind.size(rows.shape[1], rows.dtype))
    found = kind.decode(codes, rows.shape[1], rows.dtype, senders, lambda agents, width: drawn(agents, width, key))
    assert found.dtype == rows.dtype and found.shape == rows.shape
    return found


@pytest.mark.parametrize("kind", KINDS, ids=str)
@settings(max_examples=30, deadline=None)
@given(rows=ROWS)
def test_what_is_heard_is_what_was_said(kind, rows):
    """Of the promised length; numbers are kept as they are, or come as near as the code allows, and rows are alone."""
    found = heard(kind, rows)
    assert np.array_equal(heard(kind, rows[:1]), found[:1]), "a row's code does not depend on others"
    size = np.abs(rows)
    if isinstance(kind, Top | Random):
        kept = kind.count(rows.shape[1])
        assert ((found == rows) | (found == 0)).all() and ((found != 0).sum(axis=1) <= kept).all()
    if isinstance(kind, Top):
        assert np.array_equal(np.sort(np.abs(found))[:, -kept:], np.sort(size)[:, -kept:])
    elif isinstance(kind, QSGD):
        norms = np.sqrt((rows.astype(float) ** 2).sum(axis=1, keepdims=True))
        assert (np.abs(found - rows) <= norms / kind.levels * (1 + 1e-5)).all()
    elif isinstance(kind, Sign):
        assert np.array_equal(np.abs(found), np.broadcast_to(size.mean(axis=1, keepdims=True), rows.shape))
        assert np.array_equal(np.signbit(found), np.signbit(rows))
    elif isinstance(kind, Float32 | Float16):
        assert np.array_equal(found, rows.astype(str(kind)).astype(rows.dtype))


@pytest.mark.parametrize(
    ("kind", "width", "bytes"),
    [
        (Top(0.1), 100, 10 * (2 + 8)),
        (Top(20), 70_000, 20 * (4 + 8)),
        (Random(0.1), 95, 10 * 8),
        (SharedRandom(3), 95, 3 * 8),
        (QSGD(4), 7, 8 + 4),
        (QSGD(2), 7, 8 + 2),
        (Sign(), 17, 8 + 3),
        (Float32(), 7, 28),
        (Float16(), 7, 14),
        (Top(20), 7, 7 * 10),
    ],
)
def test_bytes_are_counted_by_hand(kind, width, bytes):
    """Places and values; bits to whole bytes, and the norm or the mean before them."""
    assert kind.size(width, np.dtype(float)) == bytes


@pytest.mark.parametrize(("kind", "share"), [(QSGD(2), 1.0), (QSGD(4), 1.0), (Random(3), 0.3)], ids=str)
def test_draws_are_right_on_average(kind, share):
    """E C(v) = v for quantised rows, and the kept share of v for random numbers, within five standard errors."""
    row = np.random.default_rng(0).normal(size=(1, 10))
    found = np.concatenate([heard(kind, row, key) for key in range(1500)])
    error = found.std(axis=0) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - share * row[0]) <= 5 * error + 1e-12).all()
    assert (found.std(axis=0) > 0).all()


@settings(max_examples=60, deadline=None)
@given(rows=ROWS)
def test_the_largest_numbers_contract(rows):
    """||C(v) - v||^2 <= (1 - k/d) ||v||^2."""
    kind, rows = Top(0.25), rows.astype(float)
    lost = ((heard(kind, rows) - rows) ** 2).sum(axis=1)
    share = 1 - kind.count(rows.shape[1]) / rows.shape[1]
    assert (lost <= share * (rows**2).sum(axis=1) * (1 + 1e-12)).all()


@pytest.mark.parametrize("kind", [QSGD(2), QSGD(3), QSGD(4)], ids=str)
def test_scaled_quantised_rows_contract_on_average(kind):
    """E||scale C(v) - v||^2 <= (1 - scale) ||v||^2: what memory needs."""
    row = np.random.default_rng(1).normal(size=(1, 60))
    scale = kind.scale(60)
    lost = [((scale * heard(kind, row, key) - row) ** 2).sum() for key in range(400)]
    assert np.mean(lost) <= (1 - scale) * (row**2).sum()


@pytest.mark.parametrize("kind", [Top(0.3), QSGD(4), Sign(), Float16()], ids=str)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_heard_as_such(kind, value):
    """A run that diverges is seen to; zeros stay zeros."""
    with np.errstate(all="ignore"):
        assert not np.isfinite(heard(kind, np.array([[1.0, value, 2.0, 0.5]]))).all()
    assert not heard(kind, np.zeros((2, 5))).any()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_words_make_the_same_code_again(kind):
    """Whole numbers are counts and numbers below one are shares."""
    assert rd.Conditions(compression=str(kind)).compression == kind == rd.Conditions(compression=kind).compression
    assert kind.word in CODES


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"compression": "top-1.5"}, "`kept` must be a share below 1 such as 0.1, or a count such as 20; got 1.5"),
        ({"compression": "top-1.0"}, "`kept` must be a share below 1"),
        ({"compression": "top-0"}, "`kept` must be at least 1"),
        ({"compression": "top"}, "`compression` must read top-KEPT, with numbers; got 'top'."),
        ({"compression": "qsgd-1"}, "`bits` must be from 2"),
        ({"compression": "qsgd-4.5"}, "`bits` must be"),
        ({"compression": "tops-0.1"}, "`compression` must be one of .* Did you mean 'top'"),
        ({"compression": 0.1}, '`compression` must be words such as "top-0.1"'),
        ({"memory": True}, "`memory` needs `compression`"),
        ({"compression": "sign", "memory": 1.5}, r"`memory` must be in \(0, 1\]; got 1.5."),
        ({"compression": "sign", "memory": "yes"}, "`memory` must be a number; got 'yes'."),
    ],
)
def test_bad_values_get_a_sentence(given, sentence):
    """Where the conditions are made."""
    with pytest.raises((ValueError, TypeError), match=sentence):
        rd.Conditions(**given)
