"""The compiled loops have the bits of those in NumPy, or are not used."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from raydream.agents import Streams
from raydream.kernels import Weights, accelerate, build, library, onto_simplex, plain, rows_onto_simplex

COMPILER = any(shutil.which(name) for name in ("cc", "gcc", "clang"))
needs_compiled = pytest.mark.skipif(library.compiled() is None, reason=f"the loops at work are {library.which()}")


@pytest.mark.skipif(not COMPILER, reason="there is no C compiler")
def test_where_there_is_a_compiler_the_loops_are_compiled():
    """Else every test below would be skipped without a word."""
    assert library.which() in ("compiled", f"NumPy, as {library.SWITCH} asks")


@needs_compiled
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(rows=st.integers(1, 9), width=st.sampled_from([1, 7, 1023, 1024, 1025, 3000]), seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_weighted_sums_are_those_of_scipy(dtype, rows, width, seed):
    """Row by row in the order of the columns, rows without entries included."""
    generator = np.random.default_rng(seed)
    dense = generator.normal(size=(rows, rows + 1)) * (generator.random((rows, rows + 1)) < 0.5)
    W, V = sparse.csr_array(dense.astype(dtype)), generator.normal(size=(rows + 1, width)).astype(dtype)
    found, apart = Weights(W)(V), [row.copy() for row in V]
    assert found.dtype == dtype and np.array_equal(found, W @ V)
    places = np.array([library.address(row) for row in apart], dtype=np.uint64)
    assert np.array_equal(Weights(W).of_rows(places, width), found), "rows that lie anywhere"


@needs_compiled
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(size=st.integers(1, 300), eta=st.floats(0, 1), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_momentum_is_that_of_numpy(dtype, size, eta, seed):
    generator = np.random.default_rng(seed)
    heard, previous = (generator.normal(size=(2, size)).astype(dtype) for _ in range(2))
    wanted = plain.accelerate(heard.copy(), previous, eta, np.empty_like(heard))
    assert np.array_equal(accelerate(heard, previous, eta, np.empty_like(heard)), wanted)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(
    rows=st.sampled_from([1, 2, 5, 9, 300, 2500]), width=st.sampled_from([1, 7, 8, 31, 33, 200, 1100]),
    count=st.integers(0, 5), eta=st.one_of(st.none(), st.floats(0, 1)), seed=st.integers(0, 1000),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_several_rounds_at_once_are_those_rounds_one_by_one(dtype, rows, width, count, eta, seed):
    """On blocks of every width, zeros of either sign and numbers that are not finite included."""
    generator = np.random.default_rng(seed)
    dense = sparse.random_array((rows, rows), density=min(1.0, 3 / rows), rng=generator) + sparse.eye_array(rows)
    W, V = sparse.csr_array(dense.astype(dtype)), generator.normal(size=(rows, width)).astype(dtype)
    W.sort_indices()
    V[generator.random(V.shape) < 0.1] = -0.0
    V[0, 0] = generator.choice([1.0, np.inf, np.nan])
    with np.errstate(all="ignore"):
        wanted, found = plain.rounds(lambda A: W @ A, V, count, eta), Weights(W).rounds(V, count, eta)
    assert found.dtype == dtype and np.array_equal(found, wanted, equal_nan=True)
    finite = np.isfinite(wanted)
    assert np.array_equal(np.signbit(found[finite]), np.signbit(wanted[finite]))


SIZES = st.sampled_from([1, 2, 7, 8, 9, 127, 128, 129, 136, 255, 256, 257, 1000, 5000])


@needs_compiled
@given(
    size=SIZES, spread=st.sampled_from([0.0, 1e-12, 1e-3, 1.0, 1e6, 1e200]), radius=st.sampled_from([1e-3, 1.0, 180.0]),
    ties=st.booleans(), seed=st.integers(0, 10_000),
)  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_projections_are_those_of_numpy(size, spread, radius, ties, seed):
    """Near the set and far from it, with most entries clipped or none, with entries that are equal."""
    y = radius / size + spread * np.random.default_rng(seed).standard_t(2, size=size)
    y = np.round(y, 1) if ties else y
    with np.errstate(all="ignore"):
        wanted = plain.onto_simplex(y, radius)
        assert np.array_equal(onto_simplex(y, radius), wanted, equal_nan=True)


@needs_compiled
@given(
    seed=st.integers(0, 2**40), draw=st.integers(0, 5), iteration=st.integers(0, 2**33), b=st.integers(1, 70),
    bounds=st.lists(st.sampled_from([1, 2, 3, 7, 1000, 2**16, 2**31, 2**31 + 1, 3 * 2**30, 2**32 - 1]), min_size=1),
)  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_draws_are_those_of_numpy(seed, draw, iteration, b, bounds):
    """Bounds at which many draws are rejected, none, and a bound of 1, which takes no draw."""
    streams, agents = Streams(seed), np.arange(5, 5 + len(bounds))
    keyed = {"iteration": iteration, "draw": draw}
    found = streams.numbers("sample", agents, np.array(bounds), b, **keyed)
    for row, bound in enumerate(bounds):
        stream = streams.at("sample", agent=int(agents[row]), **keyed)
        assert np.array_equal(found[row], stream.integers(bound, size=b))


def test_bounds_beyond_32_bits_are_left_to_numpy():
    assert Streams(0).numbers("sample", np.arange(2), np.array([3, 2**32]), 4, iteration=0, draw=0) is None


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_entries_that_are_not_finite_are_left_to_numpy(odd):
    y = np.array([0.2, odd, 0.5, 0.1])
    with np.errstate(all="ignore"):
        assert np.array_equal(onto_simplex(y, 1.0), plain.onto_simplex(y, 1.0), equal_nan=True)


@given(rows=st.integers(1, 6), size=SIZES, seed=st.integers(0, 1000), odd=st.sampled_from([None, np.nan, -np.inf]))
@settings(max_examples=40, deadline=None)
def test_rows_are_projected_as_each_alone(rows, size, seed, odd):
    """Parts of wider rows too, and beside a row that is not finite."""
    generator = np.random.default_rng(seed)
    wide, out = generator.normal(size=(rows, size + 3)), np.full((rows, size + 2), 7.0)
    y, place = wide[:, 3:], out[:, 2:]
    if odd is not None:
        y[rows // 2, 0] = odd
    with np.errstate(all="ignore"):
        rows_onto_simplex(y, 1.3, place)
        wanted = np.stack([plain.onto_simplex(np.ascontiguousarray(row), 1.3) for row in y])
    assert np.array_equal(place, wanted, equal_nan=True) and (out[:, :2] == 7.0).all()


@needs_compiled
def test_rows_that_lie_apart_or_have_another_dtype_are_weighed_too():
    """As scipy weighs them."""
    W = sparse.csr_array(np.array([[0.5, 0.5], [0.25, 0.75]]))
    V = np.random.default_rng(0).normal(size=(2, 20))
    for rows in (V[:, ::2], np.asfortranarray(V), V.astype(np.float32)):
        assert np.array_equal(Weights(W)(rows), W @ rows)
    with pytest.raises(ValueError):
        Weights(W)(V[:1])


def told(**changes):
    """What another process says of its loops."""
    code = "from raydream.kernels.library import which; print(which())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **changes})
    return done.stdout.strip()


def test_the_loops_in_numpy_can_be_asked_for():
    assert told(RAYDREAM_KERNELS="numpy") == "NumPy, as RAYDREAM_KERNELS asks"


@needs_compiled
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda text: text.replace(f"VERSION {library.VERSION}", "VERSION 0"), "another version: install"),
        (lambda text: text.replace("weight * v[0]", "weight * v[0] * (REAL)1.0000002"),
         "has other bits than NumPy"),
        (lambda text: text.replace("onto_simplex", "elsewhere"), "cannot be used"),
        (lambda text: text.replace("double gap = over", "double gap = 1e-14 + over"), "has other bits"),
    ],
    ids=["version", "products", "names", "projection"],
)  # fmt: skip
def test_a_library_that_is_not_the_one_expected_is_not_used(spoil, words, tmp_path, monkeypatch):
    """Nor is anything lost but time."""
    for file in [build.SOURCE, *build.HERE.glob("*.h")]:
        (tmp_path / file.name).write_text(spoil(file.read_text()))
    monkeypatch.setattr(build, "SOURCE", tmp_path / "kernels.c")
    monkeypatch.setattr(build, "RESULT", tmp_path / "compiled.so")
    monkeypatch.setattr(build, "HERE", tmp_path)
    assert build.build() is None
    monkeypatch.setattr(library, "FILE", tmp_path / "compiled.so")
    found, said = library._found.__wrapped__()
    assert found is None and words in said


def test_without_a_compiler_it_says_so(monkeypatch, tmp_path):
    """The installation goes on."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert build.build() == "no C compiler was found"
    monkeypatch.setattr(library, "FILE", tmp_path / "compiled.so")
    monkeypatch.delenv(library.SWITCH, raising=False)
    assert library._found.__wrapped__() == (None, "NumPy; no C compiler was found when raydream was installed")


@pytest.mark.skipif(not COMPILER, reason="there is no C compiler")
def test_a_compiler_that_fails_leaves_what_was_there(monkeypatch, tmp_path):
    (tmp_path / "broken.c").write_text("this is no C\n")
    (tmp_path / "compiled.so").write_text("earlier")
    monkeypatch.setattr(build, "SOURCE", tmp_path / "broken.c")
    monkeypatch.setattr(build, "RESULT", tmp_path / "compiled.so")
    monkeypatch.setattr(build, "HERE", tmp_path)
    assert "failed" in build.build()
    assert (tmp_path / "compiled.so").read_text() == "earlier" and sorted(p.name for p in tmp_path.iterdir()) == [
        "broken.c", "compiled.so",
    ]  # fmt: skip
