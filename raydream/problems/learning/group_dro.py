"""Group DRO: the adversary weighs agents, or groups of rows."""

from typing import Annotated, Any

import numpy as np

from raydream.parameters import one_of
from raydream.problems.learning.grouped import Grouped, Lam
from raydream.problems.learning.on_rows import HeldOut
from raydream.problems.penalty import Nu, Theta
from raydream.problems.registry import maker_on_data
from raydream.types import Array, Indices

GROUPS = ("agents", "labels")


@maker_on_data("group-dro")
class GroupDRO(Grouped):
    """A linear classifier x against an adversary y who weighs agents, or groups of rows.

        f(x, y) = sum_g y_g L_g(x) - (lam/2) ||y - 1/G||^2 + theta sum_k nu x_k^2 / (1 + nu x_k^2)
        Y = {y in R^G : y >= 0, sum y = 1}

    where L_g is the mean loss of group g. With groups="agents" (G = m) this is f_i = m y_i L_i(x) - ..., in which y
    is small and cheap to send; with "labels" the groups are the classes; an array of whole numbers gives the group
    of each row. y*(x) is the projection of 1/G + L(x)/lam on Y. After Mohri, Sivek, Suresh (ICML 2019) and Zecchin,
    Kountouris, Gesbert (AD-GDA, 2022). Metrics: accuracy, and that of the worst group, where rows measured have one.
    """

    def __init__(
        self, features: Any, labels: Any = None, agents: int | None = None, *,
        groups: Annotated[Any, one_of(GROUPS), "what y weighs: the agents, or the classes"] = "agents",
        lam: Lam = 1.0, theta: Theta = 1e-3, nu: Nu = 10.0, held_out: HeldOut = 0.2,
    ) -> None:  # fmt: skip
        super().__init__(features, labels, agents, lam=lam, theta=theta, nu=nu, held_out=held_out)
        used, held = self._numbers(groups)
        count = int(max(used.max(), -1 if held is None else held.max(initial=-1))) + 1
        self.by_class = isinstance(groups, str) and groups == "labels"
        self.settle(used, count, 1.0 / count, held)

    def _numbers(self, groups: Any) -> tuple[Indices, Indices | None]:
        """The group of each row in use, and of each held out, where they have one."""
        if isinstance(groups, str) and groups in GROUPS:
            if groups == "agents":
                return np.repeat(np.arange(self.agents), self.sizes), self.held_owners
            return self.class_numbers, np.searchsorted(self.classes, self.held_labels)
        given, rows = np.asarray(groups), int(max(self.used.max(), self.held.max(initial=-1))) + 1
        if given.ndim != 1 or given.size < rows or given.dtype.kind not in "iu" or given.min() < 0:
            raise ValueError(
                "`groups` must be 'agents', 'labels', or one whole number from 0 for every row; "
                f"got {groups if isinstance(groups, str) else f'{given.dtype} of shape {given.shape}'!r}."
            )
        return given[self.used].astype(np.int64), given[self.held].astype(np.int64)

    def groups_of(self, features: Any, labels: Array) -> Indices | None:
        """The groups of rows to be measured on: known of this problem's own rows, and wherever they are the classes."""
        if self.by_class:
            return np.searchsorted(self.classes, labels)
        return super().groups_of(features, labels)
