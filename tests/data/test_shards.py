"""Shards: every row owned once whatever the split and the kind of data, weights stated, splits that keep their word."""

import pickle
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, issparse

import raydream as rd
from raydream.data import Shards, shards
from raydream.errors import DataWarning
from raydream.types import Array

KINDS = ["even", "sorted", "dirichlet", "classes", "features", "sizes"]
KEPT = ["even", "sorted", "dirichlet", "features"]  # those that can be cut to equal sizes
NAMES = np.array(["ape", "bee", "cow", "dog"])


def table(rows: int, width: int = 3, classes: int = 3, seed: int = 0) -> tuple[Array, Any]:
    """Rows of numbers, some of them 0, and words for labels."""
    generator = np.random.default_rng(seed)
    numbers = np.where(generator.random((rows, width)) < 0.3, 0.0, generator.normal(size=(rows, width)))
    return numbers, NAMES[generator.integers(classes, size=rows)]


def frame_of(features: Array, labels: Any) -> pd.DataFrame:
    """The same as a data frame, with an index that means nothing."""
    columns = {f"x{k}": column for k, column in enumerate(features.T)}
    return pd.DataFrame({"what": labels, **columns}, index=np.arange(len(labels))[::-1] * 7)


def dense(part: Any) -> Array:
    """Features as numbers, whatever holds them."""
    found: Array = part.toarray() if issparse(part) else np.asarray(part)
    return found


cases = st.tuples(
    st.integers(1, 60), st.integers(1, 7), st.sampled_from(KINDS), st.integers(1, 4), st.floats(1e-6, 1e6),
    st.sampled_from([0.0, 0.2, 0.5]), st.integers(0, 2**40),
)  # fmt: skip


# --- laws of all splits


@given(cases, st.booleans(), st.sampled_from(["tuple", "sparse", "frame"]), st.sampled_from(["size", "equal"]))
@settings(deadline=None, max_examples=300)
@pytest.mark.filterwarnings("ignore::raydream.errors.DataWarning")
def test_every_row_is_owned_once(case: Any, cut: bool, kind: str, weights: str) -> None:
    """Shards, test part and cut rows are all rows, each once, with their own features and labels."""
    rows, agents, by, k, alpha, test, seed = case
    features, labels = table(rows, classes=4, seed=seed)
    cut = cut and by in KEPT
    options: Any = dict(agents=agents, by=by, classes=k, alpha=alpha, test=test, seed=seed, weights=weights, cut=cut)
    given = {"tuple": (features, labels), "sparse": (csr_array(features), labels), "frame": frame_of(features, labels)}
    try:
        found = shards(given[kind], label="what" if kind == "frame" else None, **options)
    except ValueError as refusal:
        classes, left = len(np.unique(labels)), rows - round(test * rows)
        assert ("`agents` must be at most" in str(refusal) and left < agents) or (
            "`classes` must be at least" in str(refusal) and agents * k < classes
        )
        return
    owned = np.concatenate([*found.rows, found.test_rows, found.cut])
    np.testing.assert_array_equal(np.sort(owned), np.arange(rows))
    assert len(found) == agents and found.sizes.min() >= 1 and found.test_rows.size == round(test * rows)
    assert found.sizes.tolist() == [len(part) for part in found.rows]
    for i, (numbers, names) in enumerate(found):
        np.testing.assert_array_equal(dense(numbers), features[found.rows[i]])
        np.testing.assert_array_equal(names_of(found, names), labels[found.rows[i]])
        assert (found.owners[found.rows[i]] == i).all()
    assert (found.owners[np.concatenate([found.test_rows, found.cut])] == -1).all()
    np.testing.assert_array_equal(dense(found.test[0]), features[found.test_rows])
    np.testing.assert_array_equal(names_of(found, found.test[1]), labels[found.test_rows])
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    wanted = found.sizes / found.sizes.sum() if weights == "size" else np.full(agents, 1 / agents)
    np.testing.assert_allclose(found.weights, wanted, rtol=1e-15)
    if cut or (by == "even" and rows % agents == 0 and not test):
        assert np.ptp(found.sizes) == 0
    if by in KEPT:
        assert np.ptp(found.sizes) <= 1
        assert found.cut.size == ((rows - found.test_rows.size) % agents if cut else 0)


def names_of(found: Shards, numbers: Any) -> Any:
    """Labels as the words that they stand for."""
    assert found.classes is not None
    known = found.classes
    return known[(numbers > 0).astype(int) if known.size == 2 else np.asarray(numbers, dtype=int)]


@pytest.mark.parametrize("by", KINDS)
def test_the_same_rows_whatever_holds_them(by: str) -> None:
    """numpy, scipy.sparse in any format, lists, and pandas give the same owners, labels and numbers."""
    features, labels = table(101)
    options: Any = dict(agents=5, by=by, seed=3, test=0.1)
    first = shards((features, labels), **options)
    others = [
        shards(features, label=labels, **options),
        shards((np.asfortranarray(features), labels.tolist()), **options),
        shards((csr_array(features), labels), **options),
        shards((coo_array(features), labels.astype(object)), **options),
        shards(features.tolist(), label=labels, **options),
        shards(frame_of(features, labels), label="what", **options),
        shards(frame_of(features, labels).astype({"what": "category"}), label="what", **options),
    ]
    for other in others:
        np.testing.assert_array_equal(other.owners, first.owners)
        np.testing.assert_array_equal(other.classes, first.classes)
        for ours, theirs in zip(first, other, strict=True):
            np.testing.assert_array_equal(dense(theirs[0]), ours[0])
            np.testing.assert_array_equal(theirs[1], ours[1])


@pytest.mark.parametrize("by", KINDS)
def test_a_split_depends_on_its_seed_alone(by: str) -> None:
    """The same seed gives the same shards; another gives another test part, and other owners where they are drawn."""
    data = table(80)
    first, again, other = (shards(data, agents=4, by=by, test=0.25, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.owners, again.owners)
    assert not np.array_equal(first.test_rows, other.test_rows)
    drawn = [shards(data, agents=4, by=by, seed=seed).owners for seed in (1, 2)]
    assert np.array_equal(*drawn) == (by in ("even", "sorted", "features"))


def test_the_old_splits_are_kept_to_the_row() -> None:
    """even, sorted and dirichlet deal the rows that `split` deals, where sizes are equal."""
    features, labels = rd.data.synthetic(90, 5)
    for how in ("even", "sorted", "dirichlet"):
        order = rd.data.split(labels, 6, how, alpha=0.3, seed=4)
        found = shards((features, labels), agents=6, by=how, alpha=0.3, seed=4)
        np.testing.assert_array_equal(np.concatenate(found.rows), order)


def test_shards_are_a_sequence_of_tuples_of_arrays() -> None:
    """Of C-contiguous arrays of their own, also where the data are not; sparse ones sorted; it survives a journey."""
    features, labels = table(20)
    found = shards((np.asfortranarray(features), labels, np.arange(20)), agents=3)
    assert len(found) == 3 and len(list(found)) == 3 and [len(part) for part in found] == [3, 3, 3]
    assert all(array.flags.c_contiguous and array.flags.owndata for part in found for array in part)
    np.testing.assert_array_equal(found[-1][0], found[2][0])
    assert [len(part[0]) for part in found[:2]] == [7, 7]
    np.testing.assert_array_equal(np.concatenate([part[2] for part in found]), np.arange(20))
    with pytest.raises(IndexError):
        found[3]
    found[0][0][:] = 0  # a copy
    assert found[0][0].any()
    (alone,) = shards(csr_array(features), agents=2)[0]
    assert isinstance(alone, csr_array) and alone.has_sorted_indices and alone.shape == (10, 3)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.owners, found.owners)
    assert repr(again) == repr(found)


def test_the_kinds_of_numbers() -> None:
    """float32 stays, whole numbers and truth become float64; rows may be pictures; labels that are numbers stay."""
    assert shards(np.ones((4, 2), dtype=np.float32), agents=2)[0][0].dtype == np.float32
    assert shards(np.ones((4, 2), dtype=np.uint8), agents=2)[0][0].dtype == np.float64
    assert shards(np.ones((4, 2), dtype=bool), agents=2)[0][0].dtype == np.float64
    assert shards(np.ones((4, 2, 5)), agents=2, by="features")[1][0].shape == (2, 2, 5)
    found = shards((np.ones((4, 2)), [3, 1, 3, 2]), agents=2)
    assert found[0][1].tolist() == [3, 1] and found[0][1].dtype == np.int64 and found.classes.tolist() == [1, 2, 3]
    targets = shards((np.ones((4, 2)), [0.5, 1.0, 2.0, 0.5]), agents=2)
    assert targets.classes is None and targets[0][1].tolist() == [0.5, 1.0]
    words = shards((np.ones((3, 1)), ["no", "yes", "no"]), agents=3)
    assert [part[1].tolist() for part in words] == [[-1], [1], [-1]] and words.classes.tolist() == ["no", "yes"]
    truth = shards((np.ones((3, 1)), np.array([True, False, True])), agents=3)
    assert [part[1].tolist() for part in truth] == [[1], [-1], [1]]


# --- what each split is


def by_class(found: Shards) -> Array:
    """The share of each class in each shard."""
    result: Array = found.counts / found.sizes[:, None]
    return result


def ten_classes(rows: int = 2000) -> tuple[Array, Any]:
    return np.random.default_rng(0).normal(size=(rows, 2)), np.arange(rows) % 10


def test_alpha_runs_from_one_class_to_equal_shares() -> None:
    """dirichlet: a huge `alpha` gives the shares of the data to all, a tiny one gives most agents one class or two."""
    large, small = (by_class(shards(ten_classes(), agents=10, by="dirichlet", alpha=a)) for a in (1e8, 1e-3))
    np.testing.assert_allclose(large, 0.1, atol=1 / 200)
    assert np.median(small.max(axis=1)) > 0.99 and small.max(axis=1).mean() > 0.8
    medium = by_class(shards(ten_classes(), agents=10, by="dirichlet", alpha=0.5))
    assert large.max(axis=1).mean() + 0.1 < medium.max(axis=1).mean() < small.max(axis=1).mean() - 0.1


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**40)
)
@settings(deadline=None, max_examples=200)
def test_agents_own_at_most_k_classes(counts: list[int], agents: int, k: int, seed: int) -> None:
    """classes: at most k each, exactly k where there are rows for it, every row owned, however uneven the classes."""
    labels = np.repeat(np.arange(len(counts)), counts)
    if agents > labels.size or agents * k < len(counts):
        return
    found = shards((np.ones((labels.size, 1)), labels), agents=agents, by="classes", classes=k, seed=seed)
    held = (found.counts > 0).sum(axis=1)
    assert held.max() <= k and found.sizes.sum() == labels.size and found.sizes.min() >= 1
    if min(counts) >= agents:
        assert (held == min(k, len(counts))).all()


def test_k_classes_share_a_large_class_among_many() -> None:
    """A class with nine tenths of the rows has nine tenths of the places: sizes stay within a factor of two."""
    labels = np.repeat([0, 1], [900, 100])
    found = shards((np.ones((1000, 1)), labels), agents=10, by="classes", classes=1)
    assert (found.counts > 0).sum(axis=0).tolist() == [9, 1] and found.sizes.tolist() == [100] * 10


def test_who_shares_which_classes_is_drawn() -> None:
    """Twenty agents with two of ten classes are not a few groups of the same ones."""
    found = shards(ten_classes(), agents=20, by="classes")
    assert (found.counts > 0).sum(axis=1).tolist() == [2] * 20 and found.sizes.tolist() == [100] * 20
    assert len({tuple(np.flatnonzero(row)) for row in found.counts}) > 10


def test_sizes_are_skewed_and_rows_alike() -> None:
    """sizes: a tiny `alpha` gives one agent nearly all, a huge one all alike; class shares are those of the data."""
    large, small = (shards(ten_classes(20000), agents=10, by="sizes", alpha=a) for a in (1e8, 1e-3))
    assert np.ptp(large.sizes) < 200 and small.sizes.max() > 15000 and small.sizes.min() >= 1
    found = shards(ten_classes(20000), agents=10, by="sizes", alpha=1.0)
    assert found.sizes.max() > 2 * found.sizes.min()
    share = by_class(found)[found.sizes.argmax()]
    np.testing.assert_allclose(share, 0.1, atol=6 * np.sqrt(0.09 / found.sizes.max()))


def test_features_are_skewed_along_the_widest_direction() -> None:
    """features: agents own successive slices along the first principal direction, or along the named feature."""
    generator = np.random.default_rng(0)
    wide = generator.normal(size=400)
    points = np.outer(wide, [3.0, 4.0, 0.0]) + 0.1 * generator.normal(size=(400, 3)) + [0, 0, 100.0]
    found = shards(points, agents=4, by="features")
    ends = [(part @ [0.6, 0.8, 0.0]).mean() for (part,) in found]
    assert ends == sorted(ends) and np.diff(ends).min() > 3
    for i in range(3):
        assert found.score[found.rows[i]].max() <= found.score[found.rows[i + 1]].min()
    along = shards(pd.DataFrame(points, columns=["a", "b", "c"]), agents=4, by="features", feature="c")
    last = [part[:, 2] for (part,) in along]
    assert all(low.max() <= high.min() for low, high in pairwise(last))
    np.testing.assert_array_equal(along.owners, shards(csr_array(points), agents=4, by="features", feature=2).owners)


def test_sorted_shards_follow_the_label() -> None:
    """Labels of an agent are not above those of the next; targets are sorted too."""
    for labels in (table(50)[1], np.random.default_rng(1).normal(size=50)):
        found = shards((np.ones((50, 1)), labels), agents=7, by="sorted")
        parts = [sorted(labels[rows]) for rows in found.rows]
        assert all(low[-1] <= high[0] for low, high in pairwise(parts))


def test_a_column_says_who_owns_what() -> None:
    """by=column: one agent for each value, in their order, and the column is no feature; an array does the same."""
    features, labels = table(30)
    frame = frame_of(features, labels).assign(city=np.array(["Rome", "Oslo", "Bonn"])[np.arange(30) % 3])
    found = shards(frame, by="city", label="what")
    assert found.names == ("Bonn", "Oslo", "Rome") and found[0][0].shape == (10, 3)
    np.testing.assert_array_equal(found.rows[2], np.arange(0, 30, 3))
    same = shards((features, labels), by=frame["city"].to_numpy(), agents=3)
    np.testing.assert_array_equal(same.owners, found.owners)
    uneven = shards(features, by=np.repeat([7, 3], [20, 10]))
    assert uneven.names == (3, 7) and uneven.sizes.tolist() == [10, 20]
    np.testing.assert_allclose(uneven.weights, [1 / 3, 2 / 3])


# --- what is said


def test_what_is_cut_is_said_and_what_is_not_is_kept() -> None:
    """cut=True: equal shards, the last rows left out with a warning; by default none is, and none is warned of."""
    data = table(23)
    kept = shards(data, agents=5)
    assert kept.sizes.tolist() == [5, 5, 5, 4, 4] and kept.cut.size == 0
    with pytest.warns(DataWarning, match="`cut` leaves out 3 of 23 rows, so that 5 agents own 4 each"):
        found = shards(data, agents=5, cut=True)
    assert found.cut.tolist() == [20, 21, 22] and "3 rows cut" in repr(found)
    assert shards(table(20), agents=5, cut=True).cut.size == 0


def test_a_split_says_what_it_is() -> None:
    """Agents, rows, sizes, the split, how agents weigh, classes, and the test part."""
    data = table(23)
    assert repr(shards(data, agents=5, by="dirichlet", alpha=0.1, test=0.2)) == (
        "<Shards: 18 rows of 5 agents (3 to 4 each), dirichlet (alpha=0.1), weights n_i/N, 3 classes, 5 test rows>"
    )
    text = repr(shards(data[0], by=np.arange(23) % 2, weights="equal"))
    assert text == "<Shards: 23 rows of 2 agents (11 to 12 each), by owner, weights 1/m>"
    text = repr(shards(data, agents=5, by="classes", classes=1))
    assert "classes (at most 1)" in text
    assert "4 each" in repr(shards(table(20), agents=5))


# --- its picture


def test_the_picture_has_every_row_in_the_colour_of_its_class() -> None:
    """Bars of a class are the agents' counts of it; together they are the sizes; the title is what the split says."""
    data = table(60)
    found = shards((data[0], np.where(data[1] == "ape", "<b>", data[1])), agents=4, by="dirichlet", alpha=0.2)
    bars = found.plot(dark=True).data
    assert [bar.name for bar in bars] == ["&lt;b&gt;", "bee", "cow"] and len({bar.marker.color for bar in bars}) == 3
    np.testing.assert_array_equal(np.array([bar.y for bar in bars]).T, found.counts)
    assert found.plot().layout.title.text in repr(found) and found.plot().layout.barmode == "stack"


def test_many_classes_are_dots_and_targets_and_directions_are_boxes() -> None:
    """Forty classes: a dot for each agent and class that it has; else a box from the least row to the largest."""
    numbers, targets = np.random.default_rng(0).normal(size=(2, 200))
    found = shards((numbers, np.arange(200) % 40), agents=5, by="dirichlet")
    bars, dots = found.plot().data
    assert bars.y.tolist() == found.sizes.tolist() and len(dots.x) == (found.counts > 0).sum()
    biggest = np.argmax(dots.marker.size)
    assert found.counts[dots.x[biggest], dots.y[biggest]] == found.counts.max()
    for split, values in (
        (shards(numbers, agents=5, by="features", feature=0), numbers),
        (shards((numbers, targets), agents=5, by="sorted"), targets),
    ):
        bars, box = split.plot().data
        assert bars.y.tolist() == [40] * 5
        np.testing.assert_array_equal(box.lowerfence, [values[part].min() for part in split.rows])
        np.testing.assert_array_equal(box.upperfence, [values[part].max() for part in split.rows])
    assert [bar.type for bar in shards(numbers, by=np.arange(200) % 7).plot().data] == ["bar"]


REFUSALS: dict[str, tuple[Any, str]] = {
    "too many agents": (lambda: shards(table(3), agents=4), "`agents` must be at most the 3 rows; got 4"),
    "after the test part": (
        lambda: shards(table(4), agents=4, test=0.5),
        "`agents` must be at most the 2 rows that `test` leaves; got 4",
    ),
    "no agents": (lambda: shards(table(3)), "`agents` must be given, unless `by` says who owns which rows"),
    "unknown split": (
        lambda: shards(table(3), agents=2, by="dirichelt"),
        "`by` must be one of .* Did you mean 'dirichl",
    ),
    "no label": (lambda: shards(np.ones((4, 1)), agents=2, by="dirichlet"), "`label` must be given for by='dirichlet'"),
    "targets": (
        lambda: shards((np.ones((4, 1)), [0.5, 1, 2, 3]), agents=2, by="classes"),
        "`label` must hold classes for by='classes'; row 0 holds 0.5: use by='sorted' or by='sizes'",
    ),
    "missing column": (
        lambda: shards(frame_of(*table(4)), agents=2, label="waht"),
        "`label` must be a column of `data`; got 'waht'. Did you mean 'what'?",
    ),
    "missing owner column": (
        lambda: shards(frame_of(*table(4)), by="city"),
        "`by` must be one of 'classes', .* or a column of `data`; got 'ci",
    ),
    "a split or a column": (
        lambda: shards(frame_of(*table(4)).rename(columns={"x0": "sizes"}), agents=2, by="sizes"),
        "`by` 'sizes' is a split and a column of `data`; rename the column",
    ),
    "one owner": (
        lambda: shards(np.ones((4, 1)), by=[7, 7, 7, 7]),
        "`by` must name at least two owners; all rows are 7's",
    ),
    "owners": (lambda: shards(np.ones((4, 1)), by=[1, 2]), "`by` must have one owner for each of the 4 rows; got 2"),
    "owner unknown": (
        lambda: shards(np.ones((3, 1)), by=[1.0, 2.0, np.nan]),
        "`by` must be known of every row; row 2 holds nothing",
    ),
    "other agents": (
        lambda: shards(np.ones((4, 1)), by=[1, 1, 2, 2], agents=3),
        "`agents` must be left out, or be the 2 owners that",
    ),
    "an owner without rows": (
        lambda: shards(np.ones((40, 1)), by=np.arange(40) // 2, test=0.5),
        "`test` must leave a row to every owner; \\d+ has ",
    ),
    "NaN": (
        lambda: shards(np.array([[1.0], [np.nan]]), agents=2),
        "`data` must be finite; row 1 holds NaN or infinity",
    ),
    "sparse NaN": (
        lambda: shards(csr_array([[0.0], [np.inf]]), agents=2),
        "`data` must be finite; row 1 holds NaN or infinity",
    ),
    "NaN in a column": (
        lambda: shards(pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, None]}), agents=2),
        "`data` must be finite; column 'b' holds NaN or infinity in row 1: fill it, or drop the row",
    ),
    "words in a column": (
        lambda: shards(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), agents=2),
        "`data` must hold numbers; column 'b' does not: drop it, or encode it with pandas.get_dummies",
    ),
    "words": (lambda: shards(np.array([["a"], ["b"]]), agents=2), "`data` must hold numbers; its features are of kind"),
    "missing label": (
        lambda: shards(
            frame_of(*table(4)).astype({"what": object}).replace({"what": {"ape": None}}), agents=2, label="what"
        ),
        "`label` must be known of every row; row \\d holds nothing",
    ),
    "missing number": (
        lambda: shards((np.ones((2, 1)), [1.0, np.nan]), agents=2),
        "`label` must be known of every row; row 1 holds nothing",
    ),
    "infinite target": (
        lambda: shards((np.ones((2, 1)), [1.0, np.inf]), agents=2),
        "`label` must be finite; row 1 holds inf",
    ),
    "label of another length": (
        lambda: shards((np.ones((3, 1)), [1, 2]), agents=2),
        "`label` must have one entry for each of the 3 rows; got shape",
    ),
    "two labels": (
        lambda: shards(table(4), label=[1, 2, 3, 4], agents=2),
        "`label` must be left out where `data` is a tuple",
    ),
    "a column of no frame": (
        lambda: shards(np.ones((3, 1)), label="what", agents=2),
        "`label` names a column, but `data` is",
    ),
    "no rows": (lambda: shards(np.ones((0, 2)), agents=1), "`data` must have at least one row"),
    "an array of another length": (
        lambda: shards((np.ones((3, 1)), [1, 2, 3], [1]), agents=2),
        "`data` must have arrays of one length; the first has 3",
    ),
    "alpha": (lambda: shards(table(4), agents=2, alpha=0), "`alpha` must be positive"),
    "classes": (
        lambda: shards((np.ones((9, 1)), np.arange(9)), agents=2, by="classes", classes=3),
        "`classes` must be at least 5, so that 2 agents can own all 9 classes; got 3",
    ),
    "test": (lambda: shards(table(4), agents=2, test=1.0), r"`test` must be in \[0, 1\); got 1.0"),
    "weights": (lambda: shards(table(4), agents=2, weights="sizes"), "`weights` must be one of 'equal', 'size'"),
    "cut of unequal sizes": (
        lambda: shards(table(9), agents=2, by="sizes", cut=True),
        "`cut` is for splits of equal sizes .*; got by='sizes'",
    ),
    "feature": (
        lambda: shards(table(9), agents=2, by="features", feature=3),
        "`feature` must be below the 3 features; got 3",
    ),
    "feature name": (
        lambda: shards(frame_of(*table(9)), agents=2, by="features", feature="x7", label="what"),
        "`feature` must be a column of `data`; got 'x7'. Did you mean",
    ),
    "feature of another split": (
        lambda: shards(table(9), agents=2, feature=1),
        "`feature` is for by='features'; leave it out",
    ),
}


@pytest.mark.parametrize("name", sorted(REFUSALS))
def test_what_makes_no_sense_is_refused(name: str) -> None:
    """With one sentence that names the argument."""
    make, sentence = REFUSALS[name]
    with pytest.raises((ValueError, TypeError)) as refusal:
        make()
    assert re.search(sentence, str(refusal.value)), str(refusal.value)


def test_sharding_is_light() -> None:
    """Arrays are dealt without pandas or plotly."""
    code = (
        "import sys, numpy as np, raydream as rd; rd.data.shards((np.ones((4, 2)), [1, 2, 1, 2]), agents=2);"
        "print({'pandas', 'plotly', 'ray'} & set(sys.modules))"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
