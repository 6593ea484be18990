"""A transport of somebody else's: frames as files in a folder that all actors see."""

import itertools
import threading
import time
from pathlib import Path
from typing import ClassVar

import numpy as np

from raydream.backends.ray.links import Links


def letters_in(folder):
    """The transport, with its letters in this folder."""

    class Letters(Links):
        says: ClassVar[str] = "letters in a folder"

        def listen(self, host, epoch):
            self.epoch, self.round, self._aborted = epoch, 0, threading.Event()
            box = Path(folder) / f"{epoch}-{self.me}"
            box.mkdir()
            return str(box)

        def connect(self, peers):
            self._boxes = {peer: Path(box) for peer, box in peers.items()}

        def exchange(self, says, hears):
            self.round += 1
            for peer, box in ((peer, self._boxes[peer]) for peer in says):
                draft = box / f"{self.me}.draft"
                draft.write_bytes(b"".join(says[peer]))
                draft.rename(box / f"{self.round}-{self.me}")
            for peer, ears in hears.items():
                self.waits_for = (peer,)
                letter = self._letter(Path(folder) / f"{self.epoch}-{self.me}" / f"{self.round}-{peer}")
                for ear, (start, end) in zip(ears, itertools.pairwise(np.cumsum([0, *map(len, ears)])), strict=True):
                    ear[:] = letter[start:end]
            self.waits_for = ()

        def abort(self):
            self._aborted.set()

        def _letter(self, path):
            deadline = time.monotonic() + self.terms.patience
            while not path.exists():
                if self._aborted.wait(0.001):
                    raise self.called_off()
                if time.monotonic() > deadline:
                    raise self.unheard()
            return path.read_bytes()

    return Letters
