"""Losses of a score against a label, with the bounds that constants need.

Each has `losses` and `slopes` (the derivative in the score), `steepest` (a bound of the slopes), `bend` (the largest
second derivative) and `dip` (minus the least one, where that is negative).
"""

import numpy as np
from scipy.special import expit

from raydream.types import Array, Indices


class Logistic:
    """log(1 + exp(-b h)) for labels b = -1 and +1; one row of scores."""

    bend, dip = 0.25, 0.0
    rows = 1

    def losses(self, scores: Array, labels: Array) -> Array:
        losses: Array = np.logaddexp(0.0, -labels * scores[0])
        return losses

    def slopes(self, scores: Array, labels: Array) -> Array:
        slopes: Array = (-labels * expit(-labels * scores[0]))[None]
        return slopes

    def steepest(self, scores: Array, labels: Array) -> Array:
        return np.ones_like(scores)

    def right(self, scores: Array, labels: Array) -> Array:
        """Whether a score has the sign of its label, as 1 or 0."""
        return np.asarray(labels * scores[0] > 0, dtype=np.float64)


class Softmax:
    """log sum_k exp(h_k) - h_b for labels b = 0, ..., C - 1; C rows of scores."""

    bend, dip = 0.5, 0.0

    def __init__(self, classes: int) -> None:
        self.rows = classes

    def losses(self, scores: Array, labels: Array) -> Array:
        top = scores.max(axis=0)
        chosen = scores[labels.astype(np.int64), np.arange(labels.size)]
        return np.asarray(top + np.log(np.exp(scores - top).sum(axis=0)) - chosen, dtype=np.float64)

    def slopes(self, scores: Array, labels: Array) -> Array:
        odds = np.exp(scores - scores.max(axis=0))
        odds /= odds.sum(axis=0)
        odds[labels.astype(np.int64), np.arange(labels.size)] -= 1.0
        return np.asarray(odds, dtype=np.float64)

    def steepest(self, scores: Array, labels: Array) -> Array:
        return np.full_like(scores, np.sqrt(2.0))

    def right(self, scores: Array, labels: Array) -> Array:
        """Whether the largest score is that of the label, as 1 or 0."""
        return np.asarray(scores.argmax(axis=0) == labels, dtype=np.float64)


class Square:
    """(h - b)^2 / 2 for numbers b."""

    bend, dip = 1.0, 0.0
    rows = 1

    def losses(self, scores: Array, labels: Array) -> Array:
        return np.asarray((scores[0] - labels) ** 2 / 2, dtype=np.float64)

    def slopes(self, scores: Array, labels: Array) -> Array:
        return np.asarray(scores[0] - labels, dtype=np.float64)[None]

    def steepest(self, scores: Array, labels: Array) -> Array:
        """Where scores are at most these in size."""
        return scores + np.abs(labels)


class LogSquare:
    """log(1 + (h - b)^2 / 2) for numbers b: quadratic near 0, and indifferent to outliers.

    Its slope is 2 r / (2 + r^2) at r = h - b (public code has twice that), its second derivative
    2 (2 - r^2) / (2 + r^2)^2 between -1/8 and 1.
    """

    bend, dip = 1.0, 0.125
    rows = 1

    def losses(self, scores: Array, labels: Array) -> Array:
        losses: Array = np.log1p((scores[0] - labels) ** 2 / 2)
        return losses

    def slopes(self, scores: Array, labels: Array) -> Array:
        r = scores[0] - labels
        return np.asarray(2 * r / (2 + r * r), dtype=np.float64)[None]

    def steepest(self, scores: Array, labels: Array) -> Array:
        return np.full_like(scores, np.sqrt(0.5))


Loss = Logistic | Softmax | Square | LogSquare


def classification(labels: Array) -> tuple[Logistic | Softmax, Array, Indices]:
    """The loss for these labels, the classes, and the number of each label's class in them.

    Two classes must be -1 and +1, and have the logistic loss; more have the softmax.
    """
    classes, inverse = np.unique(labels, return_inverse=True)
    numbers = inverse.astype(np.int64)
    if classes.size < 2:
        raise ValueError(f"`labels` must hold at least two classes; got {classes.tolist()} alone.")
    if not np.isfinite(classes).all():
        raise ValueError("`labels` must be finite; they hold NaN or infinity.")
    if classes.size == 2:
        if not np.array_equal(classes, [-1.0, 1.0]):
            raise ValueError(f"`labels` of two classes must be -1 and +1; got {classes.tolist()}.")
        return Logistic(), classes, numbers
    return Softmax(classes.size), classes, numbers
