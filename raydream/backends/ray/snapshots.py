"""One snapshot of all agents from those of the actors, and back."""

from collections.abc import Mapping

import numpy as np

from raydream.agents.ledger import Ledger
from raydream.backends.protocol import Snapshot
from raydream.backends.ray.routing import Route
from raydream.conditions.compression import MEMORY
from raydream.types import Array


def gathered(snapshots: Mapping[int, Snapshot], paid: Ledger) -> Snapshot:
    """Rows of all actors in agent order, and the bill: what was `paid` before they began to count, and theirs."""
    ordered = [snapshots[number] for number in sorted(snapshots)]
    names = ordered[0].arrays
    return Snapshot(
        iteration=ordered[0].iteration,
        ledger=paid.with_bills([snapshot.ledger for snapshot in ordered]),
        arrays={name: np.concatenate([snapshot.arrays[name] for snapshot in ordered]) for name in names},
        kept=next((np.array(snapshot.kept) for snapshot in ordered if snapshot.kept is not None), None),
    )


def rows_of(snapshot: Snapshot, route: Route) -> dict[str, Array]:
    """The rows of an actor's agents; of what neighbours have heard of each other, also those of the neighbours."""
    hosted, columns = (slice(route.hosted[0], route.hosted[-1] + 1), list(route.columns))
    return {
        name: array[columns] if name.startswith(MEMORY) else array[hosted] for name, array in snapshot.arrays.items()
    }
