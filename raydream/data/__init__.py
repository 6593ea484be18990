"""Data: published sets, files, synthetic rows, and the division of these or of a user's own among agents."""

import difflib
import os
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from raydream.checks import flag, path, whole
from raydream.data.libsvm import LARGEST_INDEX, parse, read_libsvm
from raydream.data.sharding import Shards, shards
from raydream.data.splits import split
from raydream.data.store import KNOWN, fetch
from raydream.data.synthetic import synthetic
from raydream.parameters import call
from raydream.types import Array

__all__ = ["Shards", "load", "read_libsvm", "shards", "split", "synthetic"]


def load(
    name_or_path: str | os.PathLike[str] = "synthetic",
    *,
    bias: bool = False,
    unit: bool = False,
    test: bool = False,
    features: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> tuple[csr_array, Array]:
    """The features, one row per sample, and the labels -1 and +1.

    `name_or_path` is "synthetic" (with the `options` of `synthetic`), a known data set such as "a9a", or the
    path of a LIBSVM file; a known name wins over a file of that name, which "./a9a" reaches. A known set is
    taken from the folder $RAYDREAM_DATA, else from the cache ($RAYDREAM_CACHE, by default the user's), else
    downloaded, with a bar if `progress` is true or, when it is None, on a terminal. Of "cod-rna" no checksum is
    published: it is not downloaded.

    `test` appends the rows of the published test set below the others (that of w8a is a part of w8a and
    brings nothing new); `unit` scales every row to norm 1, but for rows of zeros; `bias` then appends a feature that
    is always 1; `features` fixes how many there are before.
    """
    path("name_or_path", name_or_path)
    test, unit, bias = flag("test", test), flag("unit", unit), flag("bias", bias)
    if features is not None and whole("features", features, 1) > LARGEST_INDEX:
        raise ValueError(f"`features` must be at most {LARGEST_INDEX}; got {features}.")
    name = name_or_path if isinstance(name_or_path, str) else None
    if test and f"{name}.t" not in KNOWN:
        offered = ", ".join(key for key in KNOWN if f"{key}.t" in KNOWN)
        raise ValueError(f"`test` needs a data set with a test set ({offered}); got {os.fspath(name_or_path)!r}.")
    if options and name != "synthetic":
        raise TypeError(f"`{next(iter(options))}` is an option of 'synthetic' only; leave it out.")

    if name == "synthetic":
        given = options if features is None else {**options, "features": features}
        matrix, labels = call(synthetic, "synthetic", given)
    elif name in KNOWN:
        parts = [_known(part, features, progress) for part in ((name, f"{name}.t") if test else (name,))]
        matrix = vstack([rows for rows, _ in parts], format="csr")
        labels = np.concatenate([signs for _, signs in parts])
    else:
        if name is not None and not os.path.exists(name) and os.path.basename(name) == name:
            raise _unknown(name)
        matrix, labels = read_libsvm(name_or_path, features=features)
    if unit:
        matrix = unit_rows(matrix)
    if bias:
        matrix = hstack([matrix, csr_array(np.ones((labels.size, 1)))], format="csr")
    return matrix, labels


def unit_rows(matrix: csr_array) -> csr_array:
    """The rows divided by their norms; those of zeros stay."""
    lengths = np.sqrt(matrix.multiply(matrix).sum(axis=1))
    return csr_array(
        (matrix.data / np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(matrix.indptr)), matrix.indices,
         matrix.indptr), shape=matrix.shape,
    )  # fmt: skip


def _known(name: str, features: int | None, progress: bool | None) -> tuple[csr_array, Array]:
    """A known data set with all its features, also those that its file does not use."""
    facts = KNOWN[name]
    matrix, labels = parse(fetch(name, progress), name, facts.features if features is None else features)
    if labels.size != facts.rows:
        raise ValueError(f"`{name}` must have {facts.rows} rows; the file at hand has {labels.size}: replace it.")
    return matrix, labels


def _unknown(name: str) -> ValueError:
    """The error for a word that is neither a data set nor a file, with the nearest name."""
    names = ("synthetic", *KNOWN)
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    known = ", ".join(map(repr, names))
    return ValueError(f"`name_or_path` must be one of {known} or the path of a file; got {name!r}.{hint}")
