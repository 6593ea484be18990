"""Data by name, dealt to agents: what a problem on data takes from the command line and from forms."""

from typing import Annotated, Any

from raydream.data.dealing import EQUAL, KINDS
from raydream.data.sharding import Shards, dealt
from raydream.data.tables import table_of
from raydream.parameters import Count, Positive, Whole, one_of

SPLITS = "; ".join(f"{name}: {meaning}" for name, meaning in KINDS.items())


def named(
    agents: int,
    *,
    data: Annotated[str, "synthetic, a known data set, or a LIBSVM file"] = "synthetic",
    bias: Annotated[bool, "whether a constant feature is added"] = False,
    unit: Annotated[bool, "whether every row is scaled to norm 1; a constant feature stays 1"] = False,
    test: Annotated[bool, "whether the data set's test part is joined to it"] = False,
    split: Annotated[str, one_of(KINDS), f"who owns which rows ({SPLITS})"] = "even",
    split_seed: Annotated[Whole, "seed of the split, where it is drawn"] = 0,
    alpha: Annotated[
        Positive, "of a dirichlet split: small values give each agent one label; of sizes: one agent most rows"
    ] = 0.5,
    classes_per_agent: Annotated[Count, "of a split by classes: how many an agent owns at most"] = 1,
    cut: Annotated[bool, "whether the last rows are left out where agents could not own as many each"] = True,
    **synthetic: Any,
) -> Shards:
    """The rows, and who owns which.

    `synthetic` are the parameters of synthetic data, which other data refuse.
    """
    from raydream.data import load

    rows = table_of(load(data, bias=bias, unit=unit, test=test, **synthetic), None)
    return dealt(
        rows, split, agents=agents, alpha=alpha, classes=classes_per_agent, seed=split_seed, cut=cut and split in EQUAL
    )
