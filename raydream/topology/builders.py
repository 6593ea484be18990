"""The builders of topologies by name, and what their parameters mean."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from raydream.parameters import Count, Probability, Whole, one_of
from raydream.registry import Registry
from raydream.topology.weights import WEIGHTS

Build = TypeVar("Build", bound=Callable[..., Any])

Agents = Annotated[Count, "agents"]
SelfWeight = Annotated[
    float | None,
    "weight that an agent gives itself, the rest shared among its neighbours; empty: by `weights`",
]
Weights = Annotated[str, one_of(WEIGHTS), "how weights follow from the graph"]
Rows = Annotated[Count | None, "rows of the rectangle; empty: as square as can be"]
LinkProbability = Annotated[Probability, "chance of a link between two agents"]
Degree = Annotated[Whole, "neighbours of every agent"]
Seed = Annotated[Whole, "seed from which the graph is drawn"]

# Every builder takes the number of agents first, and says what else it takes in its signature.
TOPOLOGIES: Registry[Callable[..., Any]] = Registry("topology")


def builder(build: Build) -> Build:
    """Known to the command line, forms and records by its name, with - for _."""
    TOPOLOGIES.add(build.__name__.replace("_", "-"), build)
    return build
