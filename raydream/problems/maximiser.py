"""The inner maximiser: y*(x) = argmax over Y of a strongly concave function, by accelerated projected ascent."""

from collections.abc import Callable

import numpy as np

from raydream.errors import InnerMaximumError
from raydream.types import Array


def maximise(
    gradient: Callable[[Array], Array],
    project: Callable[[Array], Array],
    y: Array,
    *,
    tolerance: float = 1e-12,
    iterations: int = 20_000,
) -> Array:
    """Maximise over Y from y, until one projected step moves by at most `tolerance` times its length scale.

    Nesterov's method; the step is halved until it fits the curvature met on the way, measured by gradients and
    not by values, which lose half the digits near the maximum. Momentum restarts whenever it points downhill.
    """
    step, momentum = 1.0, 1.0
    y = project(y)
    point = y
    for _ in range(iterations):
        slope = gradient(point)
        while True:
            new = project(point + step * slope)
            move = new - point
            length = float(np.linalg.norm(move))
            if length <= tolerance * step * (1.0 + float(np.linalg.norm(slope))):
                return new
            bend = float(np.linalg.norm(gradient(new) - slope))
            if step * bend <= length or step < 1e-300:
                break
            step *= 0.5
        if float(move @ (new - y)) < 0.0:
            momentum, point, y = 1.0, new, new
            continue
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        point, y, momentum = new + (momentum - 1.0) / following * (new - y), new, following
    raise InnerMaximumError(
        f"the maximum over y was not found to {tolerance:g} in {iterations} steps; is f(x, .) strongly concave on "
        "Y? Give the problem a `best_response(x)` of its own."
    )
