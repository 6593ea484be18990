"""Ray links: the same messages through the neighbours' actor handles. Slow and simple, for places where only Ray's
own ports are open."""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from raydream.errors import LinkLost, LinkTimeout


class RayLinks:
    """The links of one actor: `deliver` is called by the neighbours through Ray, `exchange` waits for them."""

    def __init__(self, me: int, patience: float) -> None:
        self.me, self.patience = me, patience
        self._handles: dict[int, Any] = {}
        self._inbox: dict[tuple[int, int, int], Any] = {}
        self._news = threading.Condition()
        self._aborted = False
        self.epoch = self.round = 0
        self.waits_for: tuple[int, ...] = ()

    def listen(self, host: str, epoch: int) -> None:
        """Forget earlier links; Ray listens for us."""
        self.close()
        self._aborted, self.epoch, self.round = False, epoch, 0

    def connect(self, handles: Mapping[int, Any]) -> None:
        """Remember the neighbours' handles."""
        self._handles = dict(handles)

    def deliver(self, epoch: int, round: int, sender: int, payload: Any) -> None:
        """Put a neighbour's frame in the inbox; one from before the links were made anew is dropped."""
        with self._news:
            if epoch != self.epoch:
                return
            self._inbox[epoch, round, sender] = payload
            self._news.notify_all()

    def exchange(self, says: Mapping[int, Sequence[memoryview]], hears: Mapping[int, Sequence[memoryview]]) -> None:
        """One round with all neighbouring actors."""
        self.round += 1
        for peer, handle in self._handles.items():
            payload = np.concatenate([np.frombuffer(piece, dtype=np.float64) for piece in says[peer]])
            handle.deliver.options(concurrency_group="delivery").remote(self.epoch, self.round, self.me, payload)
        wanted = {(self.epoch, self.round, peer) for peer in self._handles}
        deadline = time.monotonic() + self.patience
        with self._news:
            while missing := wanted - self._inbox.keys():
                self.waits_for = tuple(sorted(peer for _, _, peer in missing))
                self._news.wait(max(0.0, deadline - time.monotonic()))
                if self._aborted:
                    raise LinkLost(f"actor {self.me} was told to stop waiting.")
                if time.monotonic() >= deadline:
                    text = f"actor {self.me} heard nothing for {self.patience:g} s."
                    raise LinkTimeout(text, self.round, self.waits_for)
            self.waits_for = ()
            frames = {peer: self._inbox.pop((self.epoch, self.round, peer)) for peer in self._handles}
        for peer, frame in frames.items():
            data, position = memoryview(frame).cast("B"), 0
            for ear in hears[peer]:
                ear[:] = data[position : position + ear.nbytes]
                position += ear.nbytes

    def abort(self) -> None:
        """Wake up whoever waits."""
        with self._news:
            self._aborted = True
            self._news.notify_all()

    def close(self) -> None:
        """Forget handles and frames."""
        with self._news:
            self._handles, self._inbox = {}, {}
