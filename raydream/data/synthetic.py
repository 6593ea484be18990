"""Sparse, imbalanced, learnable data of any size from a seed."""

from typing import Annotated

import numpy as np
from scipy.sparse import csr_array

from raydream.checks import number, probability, whole
from raydream.parameters import Count, NotNegative, Probability, Whole, at_least
from raydream.types import Array, Indices

MOST_CELLS = 10**10


def synthetic(
    samples: Annotated[int, at_least(2), "samples in all"] = 2000,
    features: Annotated[Count, "features of a sample"] = 50,
    *,
    density: Annotated[Probability, "share of entries that are not zero"] = 0.2,
    positive: Annotated[Probability, "share of positive labels"] = 0.3,
    noise: Annotated[NotNegative, "noise in the labels; 0: a linear rule gives all of them"] = 0.1,
    seed: Annotated[Whole, "seed from which the data are drawn"] = 0,
) -> tuple[csr_array, Array]:
    """Rows a_r of unit norm with positive entries, and labels from a hidden direction w ruled by few features.

        score_r = <a_r, w> / <a_r, 1> + noise * std * xi_r,    label_r = +1 for the largest scores, else -1

    where xi_r is standard normal and std is the spread of the scores without noise. A share `positive` of the
    rows, rounded to whole rows and with at least one of each class, lies above the threshold tau. Since
    score > tau says <a, w - tau 1> > 0, a linear rule without a bias feature gives all labels if `noise` is 0.
    Each entry is present with probability `density`; a row left empty is given one.
    """
    samples = whole("samples", samples, at_least=2)
    features = whole("features", features, at_least=1)
    if samples * features > MOST_CELLS:
        raise ValueError(f"`samples` times `features` must be at most {MOST_CELLS:.0e}; got {samples} and {features}.")
    density = probability("density", density)
    if probability("positive", positive) == 1:
        raise ValueError(f"`positive` must be below 1, so that both classes occur; got {positive!r}.")
    if number("noise", noise) < 0:
        raise ValueError(f"`noise` must not be negative; got {noise!r}.")
    rng = np.random.default_rng(whole("seed", seed))

    matrix = _unit_rows(rng, samples, features, density)
    w = rng.standard_normal(features) ** 3  # cubing lets a few features rule
    score = (matrix @ w) / (matrix @ np.ones(features))
    score += noise * score.std() * rng.standard_normal(samples)
    above = min(max(round(positive * samples), 1), samples - 1)
    labels = np.full(samples, -1.0)
    labels[np.argsort(score, kind="stable")[samples - above :]] = 1.0
    return matrix, labels


def _unit_rows(rng: np.random.Generator, samples: int, features: int, density: float) -> csr_array:
    """A sparse matrix with entries in (0, 1], every row of unit norm."""
    cells = _occupied(rng, samples * features, density)
    empty = np.setdiff1d(np.arange(samples), cells // features)
    cells = np.sort(np.concatenate((cells, empty * features + rng.integers(features, size=empty.size))))
    starts = np.searchsorted(cells, np.arange(samples + 1) * features)
    values = 1.0 - rng.random(cells.size)
    norms = np.sqrt(np.add.reduceat(values**2, starts[:-1]))
    values /= np.repeat(norms, np.diff(starts))
    kind = np.int32 if max(cells.size, features) < 2**31 else np.int64
    parts = (values, (cells % features).astype(kind), starts.astype(kind))
    return csr_array(parts, shape=(samples, features))


def _occupied(rng: np.random.Generator, cells: int, density: float) -> Indices:
    """The numbers in range(cells), ascending, each kept with probability `density`.

    The gaps between independent successes are geometric, so only the kept ones are ever drawn.
    """
    batches = []
    last = -1
    while last < cells:
        gaps = rng.geometric(density, size=int(density * (cells - last)) + 16)
        batches.append(last + np.cumsum(np.minimum(gaps, cells + 1)))  # the bound keeps the sum from overflowing
        last = int(batches[-1][-1])
    kept = np.concatenate(batches)
    return kept[kept < cells]
