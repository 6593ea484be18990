"""shards(): the rows of a user, dealt to agents, unequal in number where need be, with some kept apart for tests."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from raydream.checks import choice, flag, number, positive, whole
from raydream.data import dealing
from raydream.data.tables import Table, is_frame, known_column, known_entries, table_of
from raydream.errors import DataWarning
from raydream.types import Array, Indices, Sparse

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

WEIGHTS = {"size": "n_i/N", "equal": "1/m"}


class Shards(Sequence[tuple[Any, ...]]):
    """Rows dealt to m agents: shards[i] are the arrays of agent i, features first, then labels where there are any.

    rows, sizes    the row numbers of each agent, as they came, and how many there are
    weights        m numbers that sum to 1, the w_i of f = sum_i w_i f_i; `weighting` says "size" or "equal"
    owners         the agent of each row, and -1 for a row of nobody
    test           the arrays held out, and `test_rows` their row numbers
    cut            the numbers of the rows left out so that shards are equal
    classes        what labels stand for, ascending; None where there are no labels, or they are no classes
    names          what the agents are called: numbers, or the owners that a column names
    how            the split in words
    score          where rows lie along the direction of a split by features, else None
    """

    def __init__(
        self, table: Table, rows: Sequence[Indices], *, test_rows: Indices, cut: Indices, weighting: str, how: str,
        names: tuple[Any, ...], score: Array | None = None,
    ) -> None:  # fmt: skip
        self._table = table
        self.rows, self.test_rows, self.cut = tuple(rows), test_rows, cut
        self.weighting, self.how, self.names, self.score = weighting, how, names, score
        self.sizes: Indices = np.array([part.size for part in self.rows], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, i: int) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, i: slice) -> list[tuple[Any, ...]]: ...
    def __getitem__(self, i: int | slice) -> tuple[Any, ...] | list[tuple[Any, ...]]:
        if isinstance(i, slice):
            return [self._taken(part) for part in self.rows[i]]
        return self._taken(self.rows[i])

    def _taken(self, rows: Indices) -> tuple[Any, ...]:
        """A copy of these rows of every array."""
        return tuple(_take(array, rows) for array in self._table.arrays)

    @property
    def agents(self) -> int:
        """m."""
        return len(self.rows)

    @property
    def features(self) -> Array | Sparse:
        """Of all rows, as they came."""
        return self._table.arrays[0]

    @property
    def labels(self) -> Any:
        """Of all rows, as they came; None where there are none."""
        return self._table.labels

    @property
    def classes(self) -> npt.NDArray[Any] | None:
        """What labels stand for."""
        return self._table.classes

    @property
    def test(self) -> tuple[Any, ...]:
        """The arrays held out."""
        return self._taken(self.test_rows)

    @property
    def weights(self) -> Array:
        """n_i/N, or 1/m."""
        if self.weighting == "equal":
            return np.full(self.agents, 1.0 / self.agents)
        return np.asarray(self.sizes / self.sizes.sum(), dtype=np.float64)

    @property
    def owners(self) -> Indices:
        """The agent of each row, -1 for rows held out or left out."""
        found = np.full(self._table.rows, -1, dtype=np.int64)
        for i, part in enumerate(self.rows):
            found[part] = i
        return found

    @property
    def counts(self) -> Indices:
        """How many rows of each class each agent owns: shape (m, C); one column where there are no classes."""
        if self._table.numbers is None or self.classes is None:
            return self.sizes[:, None]
        numbers, size = self._table.numbers, self.classes.size
        return np.stack([np.bincount(numbers[part], minlength=size) for part in self.rows])

    def plot(self, dark: bool = False) -> "Figure":
        """A picture of the split: how many rows of which class each agent owns; of a split by features, where."""
        from raydream.report.figures.shards import shards

        return shards(self, dark=dark)

    def __repr__(self) -> str:
        least, most = int(self.sizes.min()), int(self.sizes.max())
        each = f"{least} each" if least == most else f"{least} to {most} each"
        facts = [f"{_count(self.sizes.sum(), 'row')} of {_count(self.agents, 'agent')} ({each})", self.how]
        facts.append(f"weights {WEIGHTS[self.weighting]}")
        facts += [] if self.classes is None else [f"{self.classes.size} classes"]
        facts += [_count(self.test_rows.size, "test row")] if self.test_rows.size else []
        facts += [f"{_count(self.cut.size, 'row')} cut"] if self.cut.size else []
        return f"<Shards: {', '.join(facts)}>"


def _count(number: int, noun: str) -> str:
    """1 row, 2 rows."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _take(array: Any, rows: Indices) -> Any:
    """A copy of these rows, in C order."""
    return np.ascontiguousarray(array[rows]) if isinstance(array, np.ndarray) else array[rows]


def shards(
    data: Any, *, agents: int | None = None, by: Any = "even", label: Any = None, alpha: float = 0.5,
    classes: int = 2, feature: Any = None, test: float = 0.0, seed: int = 0, weights: str = "size", cut: bool = False,
) -> Shards:  # fmt: skip
    """The rows of `data` dealt to agents: every row has one owner, or is in the test part.

    data     an array or a sparse matrix of features, a tuple (features, labels, ...) of arrays, such as
             `raydream.data.load` gives, or a pandas DataFrame
    label    the column that holds the labels, or the labels themselves. Numbers stay as they are; words become -1
             and +1 where there are two of them, else 0, 1, 2, ...; `classes` of the result tells what they stand for
    by       "even"       as rows come, in shards that differ by one row at most
             "sorted"     the same, of rows sorted by label
             "dirichlet"  the same, with class shares drawn for each agent: a small `alpha` gives each one class
             "classes"    at most `classes` classes for each agent
             "features"   as "even", of rows sorted along the direction in which they spread most, or by `feature`,
                          a column's name or number
             "sizes"      rows drawn at random, in shards whose sizes are drawn: a small `alpha` gives one agent most
             or a column, or an array, that names the owner of each row
    agents   their number; of owners it is known
    test     share of the rows that is drawn first and kept apart
    weights  the w_i of f = sum_i w_i f_i: "size", n_i/N, with which f is the mean over all rows, or "equal", 1/m
    cut      whether the last rows are left out, with a warning, so that all agents own as many
    """
    split, owners = _split(data, by)
    table = table_of(data, label, (by,) if split is None and isinstance(by, str) else ())
    found = dealt(
        table, split, owners=owners, agents=agents, alpha=alpha, classes=classes, feature=feature, test=test, seed=seed,
        weights=weights, cut=cut,
    )  # fmt: skip
    if found.cut.size:
        warnings.warn(
            f"`cut` leaves out {found.cut.size} of {table.rows} rows, so that {found.agents} agents own "
            f"{found.sizes[0]} each.",
            DataWarning,
            stacklevel=2,
        )
    return found


def dealt(
    table: Table, split: str | None, *, owners: Any = None, agents: int | None = None, alpha: float = 0.5,
    classes: int = 2, feature: Any = None, test: float = 0.0, seed: int = 0, weights: str = "size", cut: bool = False,
) -> Shards:  # fmt: skip
    """The same of a table, and without a warning; where `split` is None, `owners` says who owns which rows."""
    alpha, seed, k = positive("alpha", alpha), whole("seed", seed), whole("classes", classes, 1)
    weights, share, cut = choice("weights", weights, WEIGHTS), number("test", test), flag("cut", cut)
    if not 0 <= share < 1:
        raise ValueError(f"`test` must be in [0, 1); got {test!r}.")
    if cut and split not in dealing.EQUAL:
        raise ValueError(f"`cut` is for splits of equal sizes ({', '.join(dealing.EQUAL)}); got by={split!r}.")
    if feature is not None and split != "features":
        raise ValueError(f"`feature` is for by='features'; leave it out; got {feature!r}.")
    train, held = _apart(table.rows, share, seed)
    if split is None:
        parts, names = _owned(owners, table.rows, agents, train)
        return Shards(table, parts, test_rows=held, cut=held[:0], weighting=weights, how="by owner", names=names)

    m = _agents(agents, train.size, held.size)
    left = train.size // m * m if cut else train.size
    train, dropped = train[:left], train[left:]
    score = _score(table, feature) if split == "features" else None
    parts = _row_numbers(split, table, train, m, alpha, k, score, np.random.default_rng(seed))
    words = {"dirichlet": f" (alpha={alpha:g})", "sizes": f" (alpha={alpha:g})", "classes": f" (at most {k})"}
    return Shards(
        table, parts, test_rows=held, cut=dropped, weighting=weights, how=split + words.get(split, ""),
        names=tuple(range(m)), score=score,
    )  # fmt: skip


def _split(data: Any, by: Any) -> tuple[str | None, Any]:
    """The split that is asked for, or None and who owns what."""
    if not isinstance(by, str):
        return None, by
    columns = list(data.columns) if is_frame(data) else []
    if by in dealing.KINDS:
        if by in columns:
            raise ValueError(f"`by` {by!r} is a split and a column of `data`; rename the column.")
        return by, None
    if not columns:
        return choice("by", by, dealing.KINDS), None
    known_column("by", by, columns, f"one of {', '.join(map(repr, sorted(dealing.KINDS)))} or ")
    column = data[by]
    return None, column.astype(object).where(~column.isna(), None).to_numpy()


def _agents(agents: int | None, rows: int, held: int) -> int:
    if agents is None:
        raise ValueError("`agents` must be given, unless `by` says who owns which rows.")
    m = whole("agents", agents, 1)
    if m > rows:
        raise ValueError(f"`agents` must be at most the {rows} rows{' that `test` leaves' if held else ''}; got {m}.")
    return m


def _apart(rows: int, share: float, seed: int) -> tuple[Indices, Indices]:
    """Rows to be owned, and those held out, both in their order."""
    order = np.random.default_rng([seed, 1]).permutation(rows)  # other draws than those of the split
    held = round(share * rows)
    return np.sort(order[held:]), np.sort(order[:held])


def _owned(owners: Any, rows: int, agents: int | None, train: Indices) -> tuple[list[Indices], tuple[Any, ...]]:
    """The rows of each owner, and the owners in their order."""
    found = known_entries("by", owners)
    if found.shape != (rows,):
        raise ValueError(f"`by` must have one owner for each of the {rows} rows; got {found.size}.")
    names, numbers = np.unique(found, return_inverse=True)
    if names.size < 2:
        raise ValueError(f"`by` must name at least two owners; all rows are {names.tolist()[0]!r}'s.")
    if agents is not None and whole("agents", agents, 1) != names.size:
        raise ValueError(f"`agents` must be left out, or be the {names.size} owners that `by` names; got {agents}.")
    parts = [train[numbers[train] == i] for i in range(names.size)]
    for name, part in zip(names.tolist(), parts, strict=True):
        if not part.size:
            raise ValueError(f"`test` must leave a row to every owner; {name!r} has none: lower it.")
    return parts, tuple(names.tolist())


def _score(table: Table, feature: Any) -> Array:
    """Where rows lie along a feature, or along the direction in which they spread most."""
    features = table.arrays[0]
    if feature is None:
        return dealing.widest(features)
    if isinstance(feature, str):
        feature = table.columns.index(known_column("feature", feature, table.columns))
    column = whole("feature", feature)
    width = int(np.prod(features.shape[1:], dtype=np.int64))
    if column >= width:
        raise ValueError(f"`feature` must be below the {width} features; got {column}.")
    if isinstance(features, np.ndarray):
        return features.reshape(len(features), -1)[:, column].astype(np.float64)
    return np.asarray(features[:, [column]].toarray()[:, 0], dtype=np.float64)


def _row_numbers(
    split: str, table: Table, train: Indices, m: int, alpha: float, k: int, score: Array | None,
    rng: np.random.Generator,
) -> list[Indices]:  # fmt: skip
    """The row numbers of each agent."""
    if split in ("sorted", "dirichlet", "classes") and table.labels is None:
        raise ValueError(f"`label` must be given for by={split!r}; got none.")
    if split in ("dirichlet", "classes"):
        numbers = _class_numbers(split, table)[train]
        present, numbers = np.unique(numbers, return_inverse=True)
        if split == "classes" and m * k < present.size:
            raise ValueError(
                f"`classes` must be at least {-(-present.size // m)}, so that {m} agents can own all {present.size} "
                f"classes; got {k}."
            )
    sizes = dealing.equal_sizes(train.size, m)
    match split:
        case "dirichlet":
            parts = dealing.dirichlet(numbers, sizes, alpha, rng)
        case "classes":
            parts = dealing.few_classes(numbers, m, k, rng)
        case "sizes":
            parts = dealing.drawn_sizes(train.size, m, alpha, rng)
        case _:
            keys = {"sorted": table.labels, "features": score}
            order = np.argsort(keys[split][train], kind="stable") if split in keys else np.arange(train.size)
            parts = dealing.in_turn(order, sizes)
    return [train[part] for part in parts]


def _class_numbers(split: str, table: Table) -> Indices:
    """The class of each row, or a sentence where labels are targets."""
    if table.numbers is None:
        wrong = int(np.argmax(table.labels != np.rint(table.labels)))
        raise ValueError(
            f"`label` must hold classes for by={split!r}; row {wrong} holds {table.labels[wrong]:g}: use by='sorted' "
            "or by='sizes'."
        )
    return table.numbers
