"""A history's rows while a run lasts: the numbers of each record, and how far each agent was from the mean."""

from collections.abc import Sequence

import numpy as np

from raydream.types import Array


class Row(dict[str, float]):
    """A record's numbers by column, and beside them `distances`: ||z(i) - z_bar|| for every agent i.

    A run of more than two million distances (records times agents) keeps none of them: its rows have None.
    """

    distances: Array | None = None


def stacked_distances(rows: Sequence[dict[str, float]]) -> Array | None:
    """The rows' distances, one under the other; NaN for a row without them, None where all are."""
    kept = [getattr(row, "distances", None) for row in rows]
    known = next((one for one in kept if one is not None), None)
    if known is None:
        return None
    return np.array([np.full(len(known), np.nan) if one is None else one for one in kept])
