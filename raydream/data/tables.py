"""What a user has as one table: features, labels and whatever goes along, from numpy, scipy.sparse or pandas."""

import difflib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

from raydream.checks import shortened
from raydream.types import Indices


@dataclass(frozen=True)
class Table:
    """Rows, checked.

    arrays   features first, then labels where there are any, then what goes along; one entry or row for each row
    classes  what labels stand for, ascending; None where there are no labels, or they are no classes
    numbers  the class of each row, as its place in `classes`
    columns  names of the features, where they have any
    """

    arrays: tuple[Any, ...]
    classes: npt.NDArray[Any] | None = None
    numbers: Indices | None = None
    columns: tuple[Any, ...] = ()

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self.arrays[0].shape[0])

    @property
    def labels(self) -> Any:
        """One for each row, or None."""
        return self.arrays[1] if len(self.arrays) > 1 else None


def is_frame(data: Any) -> bool:
    """Whether it is a pandas DataFrame; pandas is not loaded to find out."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def table_of(data: Any, label: Any, without: tuple[Any, ...] = ()) -> Table:
    """The table that `data` and `label` describe, without the columns that are named."""
    more: tuple[Any, ...] = ()
    columns: tuple[Any, ...] = ()
    if is_frame(data):
        features, label, columns = _from_frame(data, label, without)
    elif isinstance(data, tuple):
        if not data:
            raise ValueError("`data` must be features, or a tuple that begins with them; got an empty tuple.")
        if label is not None and len(data) > 1:
            raise ValueError("`label` must be left out where `data` is a tuple that holds labels; give one of them.")
        features, label, more = data[0], data[1] if len(data) > 1 else label, data[2:]
    else:
        features = data
    if isinstance(label, str):
        raise ValueError(f"`label` names a column, but `data` is no pandas DataFrame; give the labels; got {label!r}.")
    features = _features(features)
    rows = int(features.shape[0])
    along = tuple(_array("data", one) for one in more)
    for one in along:
        if one.ndim < 1 or len(one) != rows:
            raise ValueError(f"`data` must have arrays of one length; the first has {rows}, another {one.shape}.")
    if label is None:
        return Table((features, *along), columns=columns)
    labels, classes, numbers = _labels(label, rows)
    return Table((features, labels, *along), classes, numbers, columns)


def known_column(name: str, column: Any, columns: Iterable[Any], also: str = "") -> Any:
    """`column` if it is one of them, else a sentence with the nearest; `also` says what else would do."""
    names = list(columns)
    if column in names:
        return column
    near = difflib.get_close_matches(str(column), [str(one) for one in names], n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"`{name}` must be {also}a column of `data`; got {column!r}.{hint}")


def known_entries(name: str, values: Any) -> npt.NDArray[Any]:
    """Values as an array in which none is missing: text as text, numbers as numbers, truth as truth."""
    found = _array(name, values)
    if found.dtype == object:
        missing = np.array([one is None or one is not one or _is_nan(one) for one in found.ravel()], dtype=bool)
    elif found.dtype.kind == "f":
        missing = np.isnan(found).ravel()
    else:
        missing = np.zeros(found.size, dtype=bool)
    if missing.any():
        raise ValueError(f"`{name}` must be known of every row; row {int(np.argmax(missing))} holds nothing.")
    if found.dtype != object:
        return found
    kinds = {type(one) for one in found.ravel()}
    if all(issubclass(kind, bool | np.bool) for kind in kinds):
        return found.astype(bool)
    if not any(issubclass(kind, str) for kind in kinds) and np.array(found.tolist()).dtype.kind in "iuf":
        return np.array(found.tolist())
    return found.astype(str)


def _array(name: str, values: Any) -> npt.NDArray[Any]:
    """Values as an array; rows of different lengths make none."""
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"`{name}` must have rows of one length; got {shortened(values)}.") from None


def _is_nan(one: Any) -> bool:
    """Whether it is a NaN of any kind, pandas' NA included, which is neither equal nor unequal to itself."""
    try:
        return bool(one != one)
    except TypeError:
        return True


def _from_frame(frame: Any, label: Any, without: tuple[Any, ...]) -> tuple[Any, Any, tuple[Any, ...]]:
    """Features, labels, and the names of the features."""
    import pandas as pd

    dropped = list(without)
    if isinstance(label, str) or (label is not None and np.ndim(label) == 0):
        dropped.append(known_column("label", label, frame.columns))
        label = frame[label]
    if isinstance(label, pd.Series):
        label = _plain(label)
    rest = frame.drop(columns=dropped)
    for place, name in enumerate(rest.columns):
        column = rest.iloc[:, place]
        if not pd.api.types.is_numeric_dtype(column.dtype):
            raise ValueError(
                f"`data` must hold numbers; column {name!r} does not: drop it, or encode it with pandas.get_dummies."
            )
        wrong = ~np.isfinite(column.to_numpy(dtype=np.float64, na_value=np.nan))
        if wrong.any():
            raise ValueError(
                f"`data` must be finite; column {name!r} holds NaN or infinity in row {int(np.argmax(wrong))}: "
                "fill it, or drop the row."
            )
    return rest.to_numpy(dtype=np.float64, na_value=np.nan), label, tuple(rest.columns)


def _plain(series: Any) -> npt.NDArray[Any]:
    """A column as numpy has it, with None where nothing is known."""
    if series.isna().any() or series.dtype.kind not in "biuf":
        found: npt.NDArray[Any] = series.astype(object).where(~series.isna(), None).to_numpy()
        return found
    plain: npt.NDArray[Any] = np.asarray(series)
    return plain


def _features(features: Any) -> Any:
    """Features as a CSR array with sorted indices, or as a C-contiguous array; of floating numbers, and finite."""
    if sparse.issparse(features):
        found = sparse.csr_array(features)
        found = sparse.csr_array(found, dtype=found.dtype if found.dtype.kind == "f" else np.float64).sorted_indices()
        found.sum_duplicates()
        wrong = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))[~np.isfinite(found.data)]
    else:
        given = _array("data", features)
        if given.dtype.kind not in "biuf":
            raise ValueError(f"`data` must hold numbers; its features are of kind {given.dtype}: encode them.")
        if given.ndim < 1:
            raise ValueError(f"`data` must have one row for each sample; got {features!r}.")
        found = np.ascontiguousarray(given, dtype=given.dtype if given.dtype.kind == "f" else np.float64)
        wrong = np.argwhere(~np.isfinite(found))[:, 0]
    if found.shape[0] < 1:
        raise ValueError(f"`data` must have at least one row; got shape {found.shape}.")
    if wrong.size:
        raise ValueError(f"`data` must be finite; row {int(wrong[0])} holds NaN or infinity.")
    return found


def _labels(label: Any, rows: int) -> tuple[Any, npt.NDArray[Any] | None, Indices | None]:
    """Labels as numbers, their classes, and the place of each label's class among these.

    Numbers stay what they are, and are classes where all are whole. Words and truth values become -1 and +1 where
    there are two of them, else 0, 1, 2, ...
    """
    found = known_entries("label", label)
    if found.shape != (rows,):
        raise ValueError(f"`label` must have one entry for each of the {rows} rows; got shape {found.shape}.")
    if found.dtype.kind == "f":
        wrong = ~np.isfinite(found)
        if wrong.any():
            raise ValueError(f"`label` must be finite; row {int(np.argmax(wrong))} holds {found[np.argmax(wrong)]}.")
        if (found != np.rint(found)).any():
            return found, None, None
    classes, inverse = np.unique(found, return_inverse=True)
    numbers = inverse.astype(np.int64)
    if found.dtype.kind in "iuf":
        return found, classes, numbers
    return (2 * numbers - 1 if classes.size == 2 else numbers), classes, numbers
