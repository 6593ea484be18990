"""Data by name, dealt to agents: what a problem on data takes from the command line and from forms."""

from typing import Annotated, Any

from raydream.data.splits import KINDS
from raydream.data.splits import split as dealt
from raydream.parameters import Positive, Whole, one_of
from raydream.types import Array, Sparse


def named(
    agents: int,
    *,
    data: Annotated[str, "synthetic, a known data set, or a LIBSVM file"] = "synthetic",
    bias: Annotated[bool, "whether a constant feature is added"] = False,
    test: Annotated[bool, "whether the data set's test part is joined to it"] = False,
    split: Annotated[
        str,
        one_of(KINDS),
        "who owns which rows: as they come, sorted by label, or with label shares drawn for each agent",
    ] = "even",
    split_seed: Annotated[Whole, "seed of the split, where it is drawn"] = 0,
    alpha: Annotated[Positive, "of a dirichlet split: small values give each agent one label"] = 0.5,
    **synthetic: Any,
) -> tuple[Sparse, Array]:
    """Features and labels in an order in which agent i owns the i-th share of the rows.

    `synthetic` are the parameters of synthetic data, which other data refuse.
    """
    from raydream.data import load

    features, labels = load(data, bias=bias, test=test, **synthetic)
    order = dealt(labels, agents, split, alpha=alpha, seed=split_seed)
    return features[order], labels[order]
