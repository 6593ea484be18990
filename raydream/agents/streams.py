"""Random draws that depend on what they are for, never on what was drawn before.

Every draw comes from a stream keyed by (seed, purpose, agent, iteration, draw). Nothing is carried along, so a
run's numbers are the same on every backend, after every restart, and when the run is extended.
"""

import numpy as np
import numpy.typing as npt

from raydream.checks import whole
from raydream.kernels import draw_below
from raydream.types import Indices

PURPOSES = ("coin", "sample", "participation", "output")
EVERYBODY = 2**64 - 1  # in the place of an agent's number
CONDITIONS = "conditions: "  # what the draws of a network's conditions are for begins so


def own_purpose(purpose: str) -> str:
    """What a method of the user's own draws for: any name but those of the package."""
    if not isinstance(purpose, str) or not purpose or purpose in PURPOSES or purpose.startswith(CONDITIONS):
        taken = ", ".join(map(repr, PURPOSES))
        raise ValueError(f"`purpose` must be a name of your own, not one of {taken}; got {purpose!r}.")
    return purpose


def of_conditions(what: str) -> str:
    """What a draw of the network's conditions is for: a purpose that no method can have."""
    return CONDITIONS + what


class Streams:
    """The random streams of one run.

    Philox is a counter-based generator: the key is made from (seed, purpose), and (draw, iteration, agent) are
    the upper three words of its 256-bit counter, so that two streams never overlap.
    """

    def __init__(self, seed: int) -> None:
        self.seed = whole("seed", seed)
        self._keys = {purpose: self._made((number,)) for number, purpose in enumerate(PURPOSES)}
        self._philox = np.random.Philox(key=self._keys["coin"])
        self._generator = np.random.Generator(self._philox)
        self._empty = np.zeros(4, dtype=np.uint64)

    def at(self, purpose: str, *, agent: int = 0, iteration: int = 0, draw: int = 0) -> np.random.Generator:
        """The stream at this key, from its beginning; valid until the next call of `at`."""
        counter = np.array([0, draw, iteration, agent], dtype=np.uint64)
        # Resetting one generator costs a quarter of making a fresh one.
        self._philox.state = {
            "bit_generator": "Philox",
            "state": {"counter": counter, "key": self._key(purpose)},
            "buffer": self._empty,
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }
        return self._generator

    def numbers(
        self, purpose: str, agents: Indices, bounds: Indices, count: int, *, iteration: int, draw: int
    ) -> Indices | None:
        """For each agent what `at(purpose, ...)` gives by `integers(bound, size=count)`, all at once where that can be.


        None where they must be drawn one after the other.
        """
        return draw_below(self._key(purpose), draw, iteration, agents, bounds, count)

    def _key(self, purpose: str) -> npt.NDArray[np.uint64]:
        """The key of a purpose; that of one which is not listed is made from the bytes of its name."""
        if purpose not in self._keys:
            letters = tuple(purpose.encode())
            self._keys[purpose] = self._made((len(PURPOSES), *letters))
        return self._keys[purpose]

    def _made(self, spawn_key: tuple[int, ...]) -> npt.NDArray[np.uint64]:
        return np.random.SeedSequence(self.seed, spawn_key=spawn_key).generate_state(2, np.uint64).astype(np.uint64)
