"""Room for all actors of a run, or for none of them."""

import contextlib
from typing import Any

from ray.util import get_current_placement_group, placement_group, placement_group_table, remove_placement_group
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy

from raydream.backends.ray.cluster.needs import Needs, alive_nodes
from raydream.backends.ray.cluster.pulse import answered

SPREAD = {"spread": "SPREAD", "one-per-node": "STRICT_SPREAD"}


class Reservation:
    """A placement group of Ray's with a bundle for each actor.

    Inside a task or an actor that has a placement group itself, such as a trial of Ray Tune, it is that one. Actors
    that need nothing reserve nothing.
    """

    def __init__(self, actors: int, placement: str, needs: Needs, name: str) -> None:
        self._actors, self._placement, self._needs = actors, placement, needs
        self._outer = get_current_placement_group()
        self._own: Any = None
        if self._outer is not None:
            self._check_outer()
        elif needs.bundle:
            labels: Any = {"bundle_label_selector": [needs.selector] * actors} if needs.selector else {}
            self._own = answered(
                lambda: placement_group([needs.bundle] * actors, strategy=SPREAD[placement], name=name, **labels)
            )

    @property
    def whole(self) -> bool:
        """Whether there is room for every actor."""
        return self._own is None or answered(lambda: placement_group_table(self._own))["state"] == "CREATED"

    @property
    def movable(self) -> bool:
        """Whether the room is this run's own, and may be had elsewhere."""
        return self._own is not None

    def strategy(self, number: int) -> Any:
        """Where Ray is to put this actor."""
        group = self._outer or self._own
        if group is not None:
            at = -1 if group is self._outer else number
            return PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=at)
        if self._placement == "spread":
            return "SPREAD"
        nodes = sorted(node["NodeID"] for node in alive_nodes())
        return NodeAffinitySchedulingStrategy(nodes[number % len(nodes)], soft=False)

    def release(self) -> None:
        """Give the room back."""
        if self._own is not None:
            with contextlib.suppress(Exception):  # Ray may be gone
                answered(lambda: remove_placement_group(self._own))
        self._own = None

    def _check_outer(self) -> None:
        """Refuse a run that the placement group it is in can never hold."""
        assert self._outer is not None
        room = sum(self._needs.fits(bundle) for bundle in self._outer.bundle_specs)
        if room < self._actors:
            raise ValueError(
                f"the run needs {self._actors} actors of {self._needs.words} each, but the placement group that it is "
                f"in has room for {room}; reserve a bundle for each actor, or use a larger `agents_per_actor`."
            )
