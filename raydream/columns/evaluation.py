"""How much is measured at records: P costs a maximisation over y, which may take longer than the run itself."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from raydream.checks import positive, whole
from raydream.types import Array

OF_PRIMAL = ("primal", "grad_norm", "dual_gap")  # the columns that need P


@dataclass(frozen=True)
class Evaluation:
    """When P(x_bar), its gradient and the dual gap are measured, and how well.

    every      at every so-many-th record, beginning with the first; the last record has them always. NaN between
    tolerance  of the inner maximiser, where the problem has no formula for P: ||r|| <= tolerance (1 + ||grad_y f||)
               with the r of `Maximum`; the column `evaluation_error` says what that proves of P
    primal     False: they are not measured at all
    """

    every: int = 1
    tolerance: float = 1e-9
    primal: bool = True

    def __post_init__(self) -> None:
        whole("every", self.every, 1)
        positive("tolerance", self.tolerance)
        if not isinstance(self.primal, bool):
            raise TypeError(f"`primal` must be True or False; got {self.primal!r}.")

    def due(self, record: int) -> bool:
        """Whether they are measured at the record of this number."""
        return self.primal and record % self.every == 0


def carried(name: str, values: npt.ArrayLike) -> Array:
    """A column as a step function: between two records with P, what the earlier one said. NaN at the end stays."""
    found = np.array(values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(found))
    if name not in OF_PRIMAL or not known.size:
        return found
    places = np.arange(known[0], known[-1] + 1)
    found[places] = found[known[np.searchsorted(known, places, side="right") - 1]]
    return found
