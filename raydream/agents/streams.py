"""Random draws that depend on what they are for, never on what was drawn before.

Every draw comes from a stream keyed by (seed, purpose, agent, iteration, draw). Nothing is carried along, so a
run's numbers are the same on every backend, after every restart, and when the run is extended.
"""

import numpy as np

from raydream.checks import whole

PURPOSES = ("coin", "sample", "participation", "output")


class Streams:
    """The random streams of one run.

    Philox is a counter-based generator: the key is made from (seed, purpose), and (draw, iteration, agent) are
    the upper three words of its 256-bit counter, so that two streams never overlap.
    """

    def __init__(self, seed: int) -> None:
        self.seed = whole("seed", seed)
        self._keys = {
            purpose: np.random.SeedSequence(self.seed, spawn_key=(number,))
            .generate_state(2, np.uint64)
            .astype(np.uint64)
            for number, purpose in enumerate(PURPOSES)
        }
        self._philox = np.random.Philox(key=self._keys["coin"])
        self._generator = np.random.Generator(self._philox)
        self._empty = np.zeros(4, dtype=np.uint64)

    def at(self, purpose: str, *, agent: int = 0, iteration: int = 0, draw: int = 0) -> np.random.Generator:
        """The stream at this key, from its beginning; valid until the next call of `at`."""
        counter = np.array([0, draw, iteration, agent], dtype=np.uint64)
        # Resetting one generator costs a quarter of making a fresh one.
        self._philox.state = {
            "bit_generator": "Philox",
            "state": {"counter": counter, "key": self._keys[purpose]},
            "buffer": self._empty,
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }
        return self._generator
