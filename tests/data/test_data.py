"""Data: files read exactly or refused by line, shards that are a partition, downloads that are right or absent."""

import bz2
import gzip
import hashlib
import lzma
import os
import re
import socket
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pooch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from raydream.data import libsvm, load, read_libsvm, split, store, synthetic
from raydream.data.libsvm import Rows, careful, contents, parse, quick
from raydream.types import Array

_SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
REAL = Path(os.environ.get("RAYDREAM_DATA") or _SHARED)

TINY = b"-1 1:0.5 3:-2e-3\n+1 2:1 # a remark\n\n-1 \n+1 1:1 2:0.1 3:.25\r\n"
DENSE = [[0.5, 0, -2e-3], [0, 1, 0], [0, 0, 0], [1, 0.1, 0.25]]
SIGNS = [-1, 1, -1, 1]


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the user's data folder, cache or proxy."""
    monkeypatch.delenv("RAYDREAM_DATA", raising=False)
    monkeypatch.setenv("RAYDREAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def same(left: Rows, right: Rows) -> bool:
    """Whether two readings agree in every bit."""
    return all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(left, right, strict=True))


def same_matrix(left: csr_array, right: csr_array) -> bool:
    """Whether two matrices have the same shape and the same stored entries."""
    return (
        left.shape == right.shape
        and np.array_equal(left.indptr, right.indptr)
        and np.array_equal(left.indices, right.indices)
        and np.array_equal(left.data, right.data)
    )


# --- reading


def test_a_file_is_read_as_written(tmp_path: Path) -> None:
    """Rows, empty rows, comments, blank lines and line ends of either kind give the matrix that they describe."""
    (tmp_path / "tiny").write_bytes(TINY)
    matrix, labels = read_libsvm(tmp_path / "tiny")
    assert isinstance(matrix, csr_array)
    assert matrix.dtype == labels.dtype == np.float64
    assert matrix.indices.dtype == np.int32
    assert matrix.has_canonical_format
    np.testing.assert_array_equal(matrix.toarray(), DENSE)
    np.testing.assert_array_equal(labels, SIGNS)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_file_that_unpacks_without_end_is_refused(tmp_path, pack, monkeypatch):
    """Zeros pack to next to nothing; of what they unpack to, little more is made than a data set may have."""
    monkeypatch.setattr(libsvm, "_LEAST", 2**16)
    (tmp_path / "trap").write_bytes(pack(bytes(2**25)))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"trap` unpacks to more than \d+ bytes, 100 times its length"):
            read_libsvm(tmp_path / "trap")
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["tiny", "tiny.gz", "tiny.bz2", "tiny.xz", "tiny.txt"])
def test_compression_is_told_by_the_bytes(tmp_path: Path, pack: Callable[[bytes], bytes], name: str) -> None:
    """Plain, gzip, bzip2 and xz files give the same, whatever their names say."""
    (tmp_path / name).write_bytes(pack(TINY))
    matrix, labels = read_libsvm(str(tmp_path / name))
    np.testing.assert_array_equal(matrix.toarray(), DENSE)
    np.testing.assert_array_equal(labels, SIGNS)


@pytest.mark.parametrize(("low", "high"), [("1", "2"), ("0", "1"), ("-1", "+1"), ("-3.5", "-3.25")])
def test_the_smaller_label_is_minus_one(low: str, high: str) -> None:
    """Whatever the two label values are, the smaller becomes -1 and the larger +1."""
    _, labels = parse(f"{high} 1:1\n{low} 1:1\n".encode(), "text")
    np.testing.assert_array_equal(labels, [1, -1])


def test_features_fixes_the_number_of_columns() -> None:
    """Columns that no row uses exist when `features` asks for them, even if no row uses any."""
    assert parse(TINY, "text")[0].shape == (4, 3)
    assert parse(TINY, "text", 10)[0].shape == (4, 10)
    assert parse(b"1\n2\n", "text", 5)[0].shape == (2, 5)


lines = st.lists(
    st.tuples(
        st.sampled_from([b"-1", b"+1", b"2", b"1e0"]),
        st.dictionaries(st.integers(1, 2**31 - 1), st.floats(allow_nan=False, allow_infinity=False), max_size=5),
        st.sampled_from([b"", b" ", b"\t", b"\r", b" # 1:1 note", b"\n", b"\n \n"]),
    ),
    max_size=8,
)


@given(lines)
@settings(deadline=None, max_examples=100)
def test_both_ways_of_reading_give_the_written_bits(rows: list[tuple[bytes, dict[int, float], bytes]]) -> None:
    """Both readings return every label, index and value as float() and int() read them, to the last bit."""
    written = [
        b" ".join([label, *(b"%d:%s" % (k, repr(v).encode()) for k, v in sorted(entries.items()))]) + end
        for label, entries, end in rows
    ]
    text = b"\n".join(written)
    expected = Rows(
        np.array([float(label) for label, _, _ in rows], dtype=np.float64),
        np.array([len(entries) for _, entries, _ in rows], dtype=np.int64),
        np.array([k for _, entries, _ in rows for k in sorted(entries)], dtype=np.int64),
        np.array([entries[k] for _, entries, _ in rows for k in sorted(entries)], dtype=np.float64),
    )
    at_once = quick(text, None)
    assert at_once is not None
    assert same(at_once, expected)
    assert same(careful(text, "text", None), expected)


@given(st.text("0012:::.+-e #\n\r\tnaif", max_size=30), st.sampled_from([None, 2]))
@settings(deadline=None, max_examples=400)
def test_the_quick_way_accepts_what_the_careful_way_accepts(text: str, features: int | None) -> None:
    """A text is read at once exactly if line by line it has no fault, and then both readings agree."""
    at_once = quick(text.encode(), features)
    if at_once is None:
        with pytest.raises(ValueError, match=r"^`text` line \d+: "):
            careful(text.encode(), "text", features)
    else:
        assert same(at_once, careful(text.encode(), "text", features))


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (b"+1 3:", "a feature must read index:value; got '3:'."),
        (b"+1 :3", "a feature must read index:value; got ':3'."),
        (b"+1 3", "a feature must read index:value; got '3'."),
        (b"+1 1:2:3", "a feature must read index:value; got '1:2:3'."),
        (b"+1 1: 2", "a feature must read index:value; got '1:'."),
        (b"+1 1:x", "a feature must read index:value; got '1:x'."),
        (b"+1 1:1_0", "a feature must read index:value; got '1:1_0'."),
        (b"+1 1:0x1", "a feature must read index:value; got '1:0x1'."),
        (b"+1 1:\xff", r"a feature must read index:value; got '1:\\xff'."),
        (b"+1 1:" + b"y" * 99, f"a feature must read index:value; got '1:{'y' * 38}...'."),
        (b"+1 0:1", "an index must be a positive whole number; got '0:1'."),
        (b"+1 -2:1", "an index must be a positive whole number; got '-2:1'."),
        (b"+1 1.5:1", "an index must be a positive whole number; got '1.5:1'."),
        (b"+1 qid:1", "an index must be a positive whole number; got 'qid:1'."),
        (b"+1 2147483648:1", "an index must be at most 2147483647; got '2147483648:1'."),
        (b"+1 " + b"9" * 30 + b":1", f"an index must be at most 2147483647; got '{'9' * 30}:1'."),
        (b"+1 2:1 1:1", "indices must ascend; got 1 after 2."),
        (b"+1 2:1 2:1", "indices must ascend; got 2 after 2."),
        (b"+1 1:nan", "a value must be finite; got '1:nan'."),
        (b"+1 1:-Inf", "a value must be finite; got '1:-Inf'."),
        (b"+1 1:1e999", "a value must be finite; got '1:1e999'."),
        (b"one 1:1", "a label must be a finite number; got 'one'."),
        (b"nan 1:1", "a label must be a finite number; got 'nan'."),
        (b"1:1 2:1", "a label must be a finite number; got '1:1'."),
        (b"+1 1:1 \x00", "byte 0x00 is not text; give a LIBSVM text file."),
        (b"+1 11:1", "index 11 is above `features` = 10."),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: bytes, rule: str) -> None:
    """Each fault is told in its own sentence, with the file and the number of the line, blank lines counted."""
    path = tmp_path / "bad"
    path.write_bytes(b"-1 1:1\n\n# remark\n+1 2:1\n" + line + b"\n-1 1:1\n")
    with pytest.raises(ValueError) as error:
        read_libsvm(path, features=10)
    assert str(error.value) == f"`{path}` line 5: {rule}"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (b"", "is empty; it must hold at least one row of each class."),
        (b"\n# nothing\n", "is empty; it must hold at least one row of each class."),
        (b"1\n2\n", "has labels but no features; give `features` to read it."),
        (b"1 1:1\n1 2:1\n", "must have two classes of labels; got one class only: 1."),
        (b"1 1:1\n2 2:1\n3.5 2:1\n", "must have two classes of labels; got 3 classes: 1, 2, 3.5."),
        (
            b"".join(b"%d 1:1\n" % k for k in range(9)),
            "must have two classes of labels; got 9 classes: 0, 1, 2, 3, 4, ....",
        ),
        (gzip.compress(TINY, mtime=0)[:-9], "is a damaged or truncated gzip file; fetch it again."),
        (bz2.compress(TINY)[:-9], "is a damaged or truncated bzip2 file; fetch it again."),
        (lzma.compress(TINY)[:-9], "is a damaged or truncated xz file; fetch it again."),
        (b"\x1f\x8b" + bytes(50), "is a damaged or truncated gzip file; fetch it again."),
        (b"\x1f\x8b\x08" + b"\xff" * 50, "is a damaged or truncated gzip file; fetch it again."),
        (b"BZh9" + bytes(50), "is a damaged or truncated bzip2 file; fetch it again."),
        (b"\xfd7zXZ\x00" + bytes(50), "is a damaged or truncated xz file; fetch it again."),
        (bytes(range(256)), "line 1: byte 0x00 is not text; give a LIBSVM text file."),
    ],
)
def test_a_file_that_is_wrong_as_a_whole_is_named(tmp_path: Path, text: bytes, rule: str) -> None:
    """Empty, one-class, many-class, damaged and binary files each have their sentence."""
    path = tmp_path / "bad"
    path.write_bytes(text)
    with pytest.raises(ValueError) as error:
        read_libsvm(path)
    assert str(error.value) == f"`{path}` {rule}"


def test_a_path_must_lead_to_a_file(tmp_path: Path) -> None:
    """A missing file and a folder are errors of their own kinds."""
    with pytest.raises(FileNotFoundError, match=re.escape(f"`{tmp_path / 'none'}` does not exist")):
        read_libsvm(tmp_path / "none")
    with pytest.raises(IsADirectoryError, match=re.escape(f"`{tmp_path}` is a folder")):
        read_libsvm(tmp_path)


@pytest.mark.parametrize(("features", "kind"), [(0, ValueError), (1.5, TypeError), ("3", TypeError)])
def test_features_must_be_a_positive_whole_number(features: int, kind: type[Exception]) -> None:
    """A number of columns below 1, or none at all, is refused by name."""
    with pytest.raises(kind, match="`features` must be"):
        parse(TINY, "text", features)


# --- synthetic data


@given(
    samples=st.integers(2, 80),
    features=st.integers(1, 40),
    density=st.floats(1e-6, 1),
    positive=st.floats(0.01, 0.99),
    noise=st.floats(0, 2),
    seed=st.integers(0, 2**40),
)
@settings(deadline=None, max_examples=100)
def test_synthetic_rows_are_unit_and_labels_are_counted(
    samples: int, features: int, density: float, positive: float, noise: float, seed: int
) -> None:
    """Every row has a feature and norm 1; +1 labels are the asked share to rounding, and both classes occur."""
    matrix, labels = synthetic(samples, features, density=density, positive=positive, noise=noise, seed=seed)
    assert matrix.shape == (samples, features)
    assert matrix.has_canonical_format
    assert matrix.indices.dtype == np.int32
    assert (matrix.data > 0).all()
    np.testing.assert_allclose(np.sqrt((matrix * matrix).sum(axis=1)), 1.0, rtol=1e-12)
    assert set(labels) == {-1.0, 1.0}
    assert np.sum(labels == 1) == min(max(round(positive * samples), 1), samples - 1)


def test_synthetic_data_depends_on_the_seed_alone() -> None:
    """The same seed gives the same bits; another seed gives other data."""
    first, second, other = synthetic(300, seed=7), synthetic(300, seed=7), synthetic(300, seed=8)
    assert same_matrix(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])
    assert not same_matrix(first[0], other[0])


def test_synthetic_entries_are_present_with_the_asked_probability() -> None:
    """Over N d cells the share present is within six standard deviations of `density`, in every tenth of the rows."""
    cells, density = 400 * 100, 0.1
    matrix, _ = synthetic(4000, 100, density=density)
    shares = np.diff(matrix.indptr).reshape(10, 400).sum(axis=1) / cells
    assert np.abs(shares - density).max() < 6 * np.sqrt(density * (1 - density) / cells)
    per_column = np.bincount(matrix.indices, minlength=100) / 4000
    assert np.abs(per_column - density).max() < 6 * np.sqrt(density * (1 - density) / 4000)
    assert synthetic(20, 30, density=1)[0].nnz == 600


def test_the_last_synthetic_row_is_as_full_as_any() -> None:
    """Over 200 seeds the last row's share of entries present is within six standard deviations of `density`."""
    last = [np.diff(synthetic(200, 50, density=0.5, seed=seed)[0].indptr)[-1] for seed in range(200)]
    assert abs(np.mean(last) / 50 - 0.5) < 6 * np.sqrt(0.25 / (50 * 200))


@pytest.mark.parametrize("seed", range(3))
def test_synthetic_labels_can_be_learnt(seed: int) -> None:
    """Least squares on half of the rows, without a bias, beats the majority by ten points on the other half."""
    matrix, labels = synthetic(seed=seed)
    dense = matrix.toarray()
    x = np.linalg.lstsq(dense[:1000], labels[:1000], rcond=None)[0]
    accuracy = np.mean(np.sign(dense[1000:] @ x) == labels[1000:])
    assert accuracy > np.mean(labels[1000:] == -1) + 0.1


def test_synthetic_labels_without_noise_are_separable_through_the_origin() -> None:
    """With noise 0 some x has label * <a, x> >= 1 on every row; with much noise none has."""

    def separable(noise: float) -> bool:
        matrix, labels = synthetic(400, 10, density=0.9, noise=noise)
        margins = -labels[:, None] * matrix.toarray()
        return bool(linprog(np.zeros(10), margins, -np.ones(400), bounds=(None, None)).success)

    assert separable(0.0)
    assert not separable(1.0)


@pytest.mark.parametrize(
    ("option", "value", "kind"),
    [
        ("samples", 1, ValueError),
        ("samples", 2.5, TypeError),
        ("features", 0, ValueError),
        ("density", 0, ValueError),
        ("density", 1.1, ValueError),
        ("positive", 0, ValueError),
        ("positive", 1, ValueError),
        ("positive", "half", TypeError),
        ("noise", -0.1, ValueError),
        ("noise", float("nan"), ValueError),
        ("seed", -1, ValueError),
    ],
)
def test_synthetic_refuses_by_name(option: str, value: object, kind: type[Exception]) -> None:
    """Every option out of its range is an error that names it."""
    with pytest.raises(kind, match=f"^`{option}` must"):
        load("synthetic", **{option: value})  # type: ignore[arg-type]


# --- shards

labellings = st.lists(st.sampled_from([-1.0, 1.0, 3.0]), min_size=1, max_size=60)


@given(labellings, st.integers(1, 12), st.sampled_from(["even", "sorted", "dirichlet"]), st.floats(1e-6, 1e6))
@settings(deadline=None, max_examples=200)
def test_shards_are_a_partition(labels: list[float], agents: int, how: str, alpha: float) -> None:
    """Each of the first agents * n rows is owned once, whatever the split; too few rows are refused."""
    if len(labels) < agents:
        with pytest.raises(ValueError, match=f"at least one row per agent; got {len(labels)} for {agents} agents"):
            split(labels, agents, how, alpha=alpha)
        return
    order = split(labels, agents, how, alpha=alpha)
    assert order.dtype == np.int64
    np.testing.assert_array_equal(np.sort(order), np.arange(len(labels) // agents * agents))


def test_even_keeps_the_order_and_sorted_sorts_stably() -> None:
    """The even split is the identity; the sorted one orders by label and keeps the order of equal labels."""
    labels = np.array([1, -1, 1, -1, -1, 1, -1.0])
    np.testing.assert_array_equal(split(labels, 3), [0, 1, 2, 3, 4, 5])
    np.testing.assert_array_equal(split(labels, 3, "sorted"), [1, 3, 4, 0, 2, 5])


def shares(alpha: float, seed: int = 0) -> Array:
    """The share of +1 labels on each of 10 agents, of 2000 rows with share 0.2."""
    labels = np.where(np.arange(2000) % 5 == 0, 1.0, -1.0)
    order = split(labels, 10, "dirichlet", alpha=alpha, seed=seed)
    result: Array = np.mean(labels[order].reshape(10, 200) == 1, axis=1)
    return result


def test_alpha_runs_from_one_class_to_equal_shares() -> None:
    """A huge `alpha` gives all agents the shares of the data, a tiny one gives all but one agent a single class."""
    np.testing.assert_allclose(shares(1e9), 0.2, atol=1 / 200)
    assert np.sum((shares(1e-9) > 0) & (shares(1e-9) < 1)) <= 1


def test_dirichlet_shares_have_the_beta_variance() -> None:
    """The first agent's share of a class with share p has mean p and variance p(1-p)/(C alpha + 1), here C = 2."""
    p, alpha, draws = 0.2, 2.0, 400
    first = np.array([shares(alpha, seed)[0] for seed in range(draws)])
    variance = p * (1 - p) / (2 * alpha + 1)
    assert abs(first.mean() - p) < 5 * np.sqrt(variance / draws)
    assert abs(first.var() / variance - 1) < 0.4


def test_a_split_depends_on_its_seed_alone() -> None:
    """The same seed deals the same rows; another seed deals others."""
    labels = synthetic(200)[1]
    first = split(labels, 8, "dirichlet", seed=3)
    np.testing.assert_array_equal(first, split(labels, 8, "dirichlet", seed=3))
    assert not np.array_equal(first, split(labels, 8, "dirichlet", seed=4))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"agents": 0}, "agents"),
        ({"how": "dirichlett"}, "how"),
        ({"alpha": 0}, "alpha"),
        ({"seed": -1}, "seed"),
        ({"labels": [[1.0, -1.0]]}, "labels"),
        ({"labels": [1.0, float("nan")]}, "labels"),
    ],
)
def test_split_refuses_by_name(arguments: dict[str, object], name: str) -> None:
    """Every argument out of its range is an error that names it."""
    with pytest.raises(ValueError, match=f"^`{name}` must"):
        split(**{"labels": [1.0, -1.0], "agents": 2, **arguments})  # type: ignore[arg-type]


# --- loading


def know(monkeypatch: pytest.MonkeyPatch, name: str, text: bytes, ending: str = "") -> None:
    """Make `text` the published contents of a known name, with 5 features."""
    published = store.DataSet(4, 2, 5, hashlib.sha256(text).hexdigest(), ending)
    monkeypatch.setitem(store.KNOWN, name, published)


def test_importing_the_data_layer_is_light() -> None:
    """`import raydream.data` loads neither the downloader nor its bar nor pandas nor ray."""
    code = "import sys, raydream.data; print({'pooch', 'tqdm', 'pandas', 'requests', 'ray'} & set(sys.modules))"
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_load_passes_options_to_synthetic() -> None:
    """The default name is "synthetic": `synthetic` with the options given, `features` among them."""
    assert load()[0].shape == (2000, 50)
    matrix, labels = load("synthetic", samples=90, features=20, seed=5)
    expected, signs = synthetic(90, 20, seed=5)
    assert same_matrix(matrix, expected)
    np.testing.assert_array_equal(labels, signs)


def test_bias_appends_a_column_of_ones(tmp_path: Path) -> None:
    """With `bias` the last feature is 1 in every row, also in empty ones, and the others stay."""
    (tmp_path / "tiny").write_bytes(TINY)
    matrix, _ = load(tmp_path / "tiny", bias=True, features=4)
    np.testing.assert_array_equal(matrix.toarray()[:, :3], DENSE)
    np.testing.assert_array_equal(matrix.toarray()[:, 3:], [[0, 1]] * 4)
    assert matrix.has_canonical_format
    assert matrix.indices.dtype == np.int32


def test_a_path_is_a_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A name with a folder in it is read from there; a known name never is, unless it comes as a Path."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "x").write_bytes(TINY)
    (tmp_path / "inner" / "a9a").write_bytes(TINY)
    monkeypatch.chdir(tmp_path / "inner")
    for path in ("../x", "./a9a", Path("a9a"), str(tmp_path / "x")):
        np.testing.assert_array_equal(load(path)[0].toarray(), DENSE)
    with pytest.raises(FileNotFoundError, match=r"`\.\./y` does not exist"):
        load("../y")


@pytest.mark.parametrize(
    ("wrong", "right"), [("a9", "a9a"), ("A9A", "a9a"), ("mushroom", "mushrooms"), ("sythetic", "synthetic")]
)
def test_a_misspelt_name_is_answered_with_the_nearest(wrong: str, right: str) -> None:
    """A word that is neither a data set nor a file gets the known names and the nearest of them."""
    with pytest.raises(ValueError, match=f"'w8a.t' or the path of a file; got '{wrong}'. Did you mean '{right}'"):
        load(wrong)


def test_only_sets_with_a_test_set_have_one(tmp_path: Path) -> None:
    """`test` is refused for paths, synthetic data, and sets without a published test set."""
    (tmp_path / "tiny").write_bytes(TINY)
    for name in ("synthetic", "mushrooms", "a9a.t", str(tmp_path / "tiny"), tmp_path / "tiny"):
        with pytest.raises(ValueError, match=r"`test` needs a data set with a test set \(a9a, cod-rna, ijcnn1, w8a\)"):
            load(name, test=True)


def test_options_belong_to_synthetic_data(tmp_path: Path) -> None:
    """An option of `synthetic` given with anything else is refused by name."""
    for name in ("a9a", tmp_path):
        with pytest.raises(TypeError, match="`samples` is an option of 'synthetic' only"):
            load(name, samples=3)


@pytest.mark.parametrize("variable", ["RAYDREAM_DATA", "RAYDREAM_CACHE"])
@pytest.mark.parametrize(
    ("ending", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_a_known_set_is_found_in_the_folders(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    """The data folder and the cache may hold the file plain or compressed; the set knows its own width."""
    monkeypatch.setenv(variable, str(tmp_path))
    know(monkeypatch, "a9a", TINY)
    (tmp_path / f"a9a{ending}").write_bytes(pack(TINY))
    matrix, labels = load("a9a")
    np.testing.assert_array_equal(matrix.toarray(), np.pad(np.array(DENSE), ((0, 0), (0, 2))))
    np.testing.assert_array_equal(labels, SIGNS)
    assert load("a9a", features=9)[0].shape == (4, 9)


def test_the_data_folder_comes_before_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file in $RAYDREAM_DATA is used even if the cache holds another of that name."""
    monkeypatch.setenv("RAYDREAM_DATA", str(tmp_path))
    know(monkeypatch, "a9a", TINY)
    (tmp_path / "a9a").write_bytes(TINY)
    store.cache_folder().mkdir()
    (store.cache_folder() / "a9a").write_bytes(b"wrong")
    assert load("a9a")[0].shape == (4, 5)


def test_the_cache_is_the_users_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without $RAYDREAM_CACHE downloads are kept where the system keeps users' caches."""
    monkeypatch.delenv("RAYDREAM_CACHE")
    assert store.cache_folder() == Path(pooch.os_cache("raydream"))


@pytest.mark.parametrize(
    ("variable", "remedy"), [("RAYDREAM_DATA", "replace the file"), ("RAYDREAM_CACHE", "delete it")]
)
def test_a_wrong_sum_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, remedy: str) -> None:
    """A file that is not the published one is refused with both sums and the remedy."""
    monkeypatch.setenv(variable, str(tmp_path))
    path = tmp_path / "a9a.bz2"
    path.write_bytes(bz2.compress(TINY))
    expected, got = store.KNOWN["a9a"].sha256, hashlib.sha256(TINY).hexdigest()
    with pytest.raises(ValueError) as error:
        load("a9a")
    assert str(error.value).startswith(f"`{path}` must unpack to sha256 {expected}; got {got}; {remedy}")


def test_the_data_folder_must_exist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A $RAYDREAM_DATA that is no folder is an error, not a reason to download."""
    monkeypatch.setenv("RAYDREAM_DATA", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match="`RAYDREAM_DATA` must name a folder that exists"):
        load("a9a")


def test_a_set_without_a_published_sum_is_read_but_never_downloaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """cod-rna: from the data folder, known by its shape; where it is missing or is another file, one sentence."""
    assert store.KNOWN["cod-rna"].sha256 is None and store.KNOWN["cod-rna.t"].sha256 is None
    monkeypatch.setattr(store, "_transfer", lambda *_: pytest.fail("it must not be downloaded"))
    with pytest.raises(FileNotFoundError) as error:
        load("cod-rna")
    assert str(error.value) == (
        "`cod-rna` is not downloaded, since there is no published checksum to know it by; fetch "
        f"{store.ADDRESS}cod-rna yourself, and set RAYDREAM_DATA to the folder that holds it."
    )
    monkeypatch.setenv("RAYDREAM_DATA", str(tmp_path))
    (tmp_path / "cod-rna.bz2").write_bytes(bz2.compress(TINY))
    with pytest.raises(ValueError, match="`cod-rna` must have 59535 rows; the file at hand has 4: replace it"):
        load("cod-rna")
    monkeypatch.setitem(store.KNOWN, "cod-rna", store.DataSet(4, None, 8, None))
    assert load("cod-rna")[0].shape == (4, 8)
    (tmp_path / "cod-rna.bz2").write_bytes(b"-1 9:1\n" + TINY)
    with pytest.raises(ValueError, match="`cod-rna` line 1: index 9 is above `features` = 8"):
        load("cod-rna")


def test_unit_rows_have_norm_one_before_the_bias_comes(tmp_path: Path) -> None:
    """Every row but one of zeros; directions stay; the constant feature is still 1."""
    (tmp_path / "tiny").write_bytes(TINY)
    plain, (matrix, _) = load(tmp_path / "tiny")[0].toarray(), load(tmp_path / "tiny", unit=True, bias=True)
    lengths = np.linalg.norm(plain, axis=1)
    assert lengths[2] == 0
    np.testing.assert_allclose(np.linalg.norm(matrix.toarray()[:, :3], axis=1), [1, 1, 0, 1])
    np.testing.assert_allclose(matrix.toarray()[:, :3] * lengths[:, None], plain, rtol=1e-15)
    np.testing.assert_array_equal(matrix.toarray()[:, 3], np.ones(4))


# --- downloading


class Site:
    """A web site on this machine: `pages` maps a path to status, body and announced length; `asked` lists requests."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, bytes, int | None]] = {}
        self.asked: list[str] = []

    def put(self, path: str, body: bytes, *, announced: int | None = None, status: int = 200) -> None:
        """Serve `body` at `path`."""
        self.pages[path] = (status, body, announced)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A running web site that takes the place of the LIBSVM page."""
    result = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            result.asked.append(self.path)
            status, body, announced = result.pages.get(self.path, (404, b"", None))
            self.send_response(status)
            if announced is not None:
                self.send_header("Content-Length", str(announced))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setattr(store, "ADDRESS", f"http://127.0.0.1:{server.server_port}/")
        try:
            yield result
        finally:
            server.shutdown()
            thread.join()


def cached() -> list[str]:
    """Everything in the cache folder, hidden files included."""
    folder = store.cache_folder()
    return sorted(os.listdir(folder)) if folder.exists() else []


def test_a_missing_set_is_downloaded_once(
    monkeypatch: pytest.MonkeyPatch, site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    """A download ends in the cache under its own name, silently off a terminal, and is not repeated."""
    know(monkeypatch, "a9a", TINY)
    site.put("/a9a", TINY, announced=len(TINY))
    for _ in range(2):
        matrix, labels = load("a9a")
        np.testing.assert_array_equal(matrix.toarray()[:, :3], DENSE)
        np.testing.assert_array_equal(labels, SIGNS)
    assert site.asked == ["/a9a"]
    assert cached() == ["a9a"]
    assert capfd.readouterr() == ("", "")


def test_a_compressed_set_is_kept_compressed(monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    """A set published as .bz2 is asked for, checked and kept as such; its test set comes along when wished."""
    for name in ("ijcnn1", "ijcnn1.t"):
        know(monkeypatch, name, TINY, ".bz2")
        site.put(f"/{name}.bz2", bz2.compress(TINY))
    matrix, labels = load("ijcnn1", test=True)
    np.testing.assert_array_equal(matrix.toarray()[:, :3], DENSE + DENSE)
    np.testing.assert_array_equal(labels, SIGNS + SIGNS)
    assert cached() == ["ijcnn1.bz2", "ijcnn1.t.bz2"]
    assert (store.cache_folder() / "ijcnn1.bz2").read_bytes() == bz2.compress(TINY)


@pytest.mark.parametrize("announced", [len(TINY), None])
def test_a_bar_is_shown_when_asked_for(
    monkeypatch: pytest.MonkeyPatch, site: Site, capfd: pytest.CaptureFixture[str], announced: int | None
) -> None:
    """With progress=True standard error names the file, whether or not the server tells its length."""
    know(monkeypatch, "a9a", TINY)
    site.put("/a9a", TINY, announced=announced)
    assert load("a9a", progress=True)[0].shape == (4, 5)
    assert "a9a" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("body", "announced", "status", "kind", "rule"),
    [
        (TINY + b"#", None, 200, ValueError, "must unpack to sha256 .*; got .*; try again, or set RAYDREAM_DATA"),
        (b"<html>", 6, 200, ValueError, "must unpack to sha256 .*; got .*; try again, or set RAYDREAM_DATA"),
        (TINY[:20], None, 200, ValueError, "must unpack to sha256 .*; got .*; try again, or set RAYDREAM_DATA"),
        (TINY[:20], len(TINY), 200, ConnectionError, r"could not be downloaded \(\w+\); try again, or set RAY"),
        (gzip.compress(TINY, mtime=0)[:30], None, 200, ValueError, "is a damaged or truncated gzip file"),
        (b"", 0, 404, ConnectionError, r"could not be downloaded \(the server answered 404\)"),
        (TINY, len(TINY), 503, ConnectionError, r"could not be downloaded \(the server answered 503\)"),
    ],
)
@pytest.mark.parametrize("progress", [False, True])
def test_a_bad_download_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
    site: Site,
    body: bytes,
    announced: int | None,
    status: int,
    kind: type[Exception],
    rule: str,
    progress: bool,
) -> None:
    """Changed, cut, dropped or refused: one sentence with the address, and an empty cache."""
    know(monkeypatch, "a9a", TINY)
    site.put("/a9a", body, announced=announced, status=status)
    with pytest.raises(kind, match=f"^`{store.ADDRESS}a9a` {rule}"):
        load("a9a", progress=progress)
    assert cached() == []


def test_no_network_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a server the error names the address and the way around it, and the cache stays empty."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        monkeypatch.setattr(store, "ADDRESS", f"http://127.0.0.1:{closed.getsockname()[1]}/")
        with pytest.raises(ConnectionError) as error:
            load("a9a")
    assert str(error.value) == (
        f"`{store.ADDRESS}a9a` could not be downloaded (ConnectionError); "
        "try again, or set RAYDREAM_DATA to a folder that holds 'a9a'."
    )
    assert cached() == []


def test_an_interrupted_download_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A KeyboardInterrupt in the middle of the transfer passes through and empties the cache."""
    seen: list[str] = []

    def interrupted(self: object, url: str, output_file: str, pooch: object) -> None:
        Path(output_file).write_bytes(TINY[:9])
        seen.extend(cached())
        raise KeyboardInterrupt

    monkeypatch.setattr("pooch.HTTPDownloader.__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        load("a9a")
    assert len(seen) == 1
    assert seen != ["a9a"]
    assert cached() == []


def test_a_cache_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file in the place of the cache folder is one sentence that names the variable to set."""
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("RAYDREAM_CACHE", str(tmp_path / "file"))
    with pytest.raises(OSError, match="must be a folder that can be written to; set RAYDREAM_CACHE"):
        load("a9a")


# --- the published files


def need(*names: str) -> None:
    """Skip the test unless the published files are at hand."""
    if missing := [name for name in names if not REAL.is_dir() or store._find(name, REAL) is None]:
        pytest.skip(f"no {', '.join(missing)} at hand; set RAYDREAM_DATA")


@pytest.mark.parametrize("name", sorted(store.KNOWN))
def test_a_published_file_has_the_published_counts(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Rows, +1 labels and features are those of the table, and the sum is right."""
    need(name)
    monkeypatch.setenv("RAYDREAM_DATA", str(REAL))
    matrix, labels = load(name)
    facts = store.KNOWN[name]
    assert matrix.shape == (facts.rows, facts.features)
    assert facts.positives in (None, np.sum(labels == 1))
    assert np.sum(np.abs(labels) == 1) == facts.rows
    assert matrix.has_canonical_format
    assert matrix.indices.max() < facts.features
    if name == "w8a":
        assert np.sum(np.diff(matrix.indptr) == 0) == 4203


def test_both_ways_of_reading_agree_on_a9a() -> None:
    """All 32561 rows of a9a come out the same, at once and line by line."""
    need("a9a")
    path = store._find("a9a", REAL)
    assert path is not None
    text = contents(path)
    at_once = quick(text, 123)
    assert at_once is not None
    assert same(at_once, careful(text, "a9a", 123))


def test_the_test_set_comes_below_the_training_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """a9a with its test set and a bias is 48842 rows of 124 features, in that order."""
    need("a9a", "a9a.t")
    monkeypatch.setenv("RAYDREAM_DATA", str(REAL))
    matrix, labels = load("a9a", test=True, bias=True)
    train, test = load("a9a"), load("a9a.t")
    assert matrix.shape == (48842, 124)
    assert same_matrix(matrix[:, :123], vstack([train[0], test[0]], format="csr"))
    np.testing.assert_array_equal(matrix[:, [123]].toarray(), np.ones((48842, 1)))
    np.testing.assert_array_equal(labels, np.concatenate([train[1], test[1]]))
