"""How far apart two points of a set can be."""

from typing import Any

import numpy as np

from raydream.constraints import Ball, Box, L1Ball, Product, Simplex


def diameter(constraint: Any, size: int) -> float:
    """The diameter of a set of vectors of this length; that of a set of one's own is its attribute, or unknown."""
    match constraint:
        case Simplex():
            return float(np.sqrt(2.0) * constraint.radius)
        case Ball() | L1Ball():
            return 2.0 * constraint.radius
        case Box():
            return float(np.linalg.norm(np.broadcast_to(np.subtract(constraint.high, constraint.low), size)))
        case Product():
            return float(np.linalg.norm([diameter(part, width) for part, width in constraint.parts]))
        case _:
            return float(getattr(constraint, "diameter", np.inf))
