"""The projection on Y is the nearest point of a closed convex set, row by row; the start is in Y."""

from collections.abc import Iterator

import numpy as np

from raydream.checking.owned import asked
from raydream.checking.subject import Subject, rms
from raydream.checking.verdict import Finding, unchecked
from raydream.types import Array

CHECKS = ("start", "projection of rows", "projection twice", "nearest point", "distances")


def projection(subject: Subject) -> Iterator[Finding]:
    """The laws P(P(y)) = P(y), <y - P(y), v - P(y)> <= 0 for v in Y, ||P(y) - P(u)|| <= ||y - u||."""
    yield _start(subject)
    if subject.free:
        yield unchecked("projection", "y is free.")
        return
    rows = _rows(subject)
    given = rows.copy()
    together = asked("constraint.project", lambda: np.asarray(subject.whole.constraint.project(given)))
    alone = np.stack([subject.project(row) for row in rows])
    yield _of_rows(rows, given, together, alone)
    yield _twice(alone, np.stack([subject.project(row) for row in alone]))
    yield _nearest(rows, alone)
    yield _distances(rows, alone)


def _rows(subject: Subject) -> Array:
    """Points near the start and far from it, in and out of Y."""
    y0 = subject.start[1]
    sizes = (rms(y0) or 1.0) * np.repeat([0.01, 0.1, 1.0, 10.0, 1000.0], 4 if subject.thorough else 2)
    noise = subject.random("projection").normal(size=(sizes.size, y0.size))
    return np.asarray(y0 + sizes[:, None] * noise)


def _start(subject: Subject) -> Finding:
    y0 = subject.start[1]
    away = np.abs(subject.project(y0) - y0)
    k = int(np.argmax(away))
    if away[k] > 1e-8 * (1.0 + float(np.abs(y0).max())):
        nearest = float(subject.project(y0)[k])
        text = (
            f"its y must be in Y; coordinate {k} of y is {y0[k]:.8g}, and that of the nearest point of Y {nearest:.8g}."
        )
        return Finding("start", False, text, None, "y", k, float(y0[k]), nearest)
    return Finding("start", True, "it is finite, of the right size, and in Y.")


def _of_rows(rows: Array, given: Array, together: Array, alone: Array) -> Finding:
    check = "projection of rows"
    if not np.array_equal(given, rows):
        return Finding(check, False, "`constraint.project` writes into its argument.")
    if together.shape != rows.shape:
        return Finding(check, False, f"rows of shape {rows.shape} must keep it; they come back as {together.shape}.")
    if not np.array_equal(together, alone):
        row, k = (int(place[0]) for place in np.nonzero(together != alone))
        text = (
            f"row {row} of {len(rows)} must have the bits that it has alone; coordinate {k} is "
            f"{together[row, k]:.17g}, and alone {alone[row, k]:.17g}."
        )
        return Finding(check, False, text, None, "y", k, float(together[row, k]), float(alone[row, k]))
    return Finding(check, True, "every row has the bits that it has alone.")


def _twice(once: Array, twice: Array) -> Finding:
    away = np.abs(twice - once)
    row, k = (int(place) for place in np.unravel_index(int(np.argmax(away)), away.shape))
    if away[row, k] > 1e-9 * (1e-300 + float(np.abs(once[row]).max())):
        text = f"coordinate {k} of a projected y is {once[row, k]:.8g}, and projected again {twice[row, k]:.8g}."
        return Finding("projection twice", False, text, None, "y", k, float(twice[row, k]), float(once[row, k]))
    return Finding("projection twice", True, "what is projected stays where it is.")


def _nearest(rows: Array, projected: Array) -> Finding:
    """The obtuse angle: from P(y), no point of Y lies in the direction of y."""
    worst, where = 0.0, (0, 0)
    for i, (y, p) in enumerate(zip(rows, projected, strict=True)):
        for j, v in enumerate(projected):
            to, along = y - p, v - p
            size = float(np.linalg.norm(to) * np.linalg.norm(along))
            size += 1e-9 * float(np.linalg.norm(y)) * float(np.linalg.norm(along))
            cosine = float(to @ along) / size if size > 0 else 0.0
            if cosine > worst:
                worst, where = cosine, (i, j)
    if worst > 1e-6:
        y, p, v = rows[where[0]], projected[where[0]], projected[where[1]]
        t = min(1.0, float((y - p) @ (v - p)) / float((v - p) @ (v - p)))
        nearer, found = float(np.linalg.norm(y - p - t * (v - p))), float(np.linalg.norm(y - p))
        text = f"a projection is {found:.8g} away from its y, and Y has a point that is {nearer:.8g} away."
        return Finding("nearest point", False, text, None, None, None, found, nearer)
    return Finding("nearest point", True, f"among {len(rows)} projections, none has a nearer point of Y beside it.")


def _distances(rows: Array, projected: Array) -> Finding:
    for i in range(len(rows)):
        before = np.linalg.norm(rows - rows[i], axis=1)
        after = np.linalg.norm(projected - projected[i], axis=1)
        j = int(np.argmax(after - before))
        if after[j] > before[j] * (1 + 1e-9) + 1e-12 * float(np.linalg.norm(rows[[i, j]])):
            text = f"two points {before[j]:.8g} apart are {after[j]:.8g} apart when projected; they may not part."
            return Finding("distances", False, text, None, None, None, float(after[j]), float(before[j]))
    return Finding("distances", True, "projected points are no further apart than before.")
