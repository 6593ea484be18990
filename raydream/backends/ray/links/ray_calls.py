"""Ray links: the same messages through the neighbours' actor handles. Slow and simple, for places where only Ray's
own ports are open."""

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from raydream.backends.ray.links.protocol import DELIVERY, Buffers, Links, Terms
from raydream.errors import LinkLost

UNSAID = 256  # frames that may be under way before an actor looks whether they have arrived
LOOK_SECONDS = 1.0  # that an actor waits before it does, and between two looks


class RayLinks(Links):
    """The links of one actor: `deliver` is called by the neighbours through Ray, `exchange` waits for them."""

    says: ClassVar[str] = "through Ray's own calls: slow, for places where only Ray's ports are open"

    def __init__(self, me: int, terms: Terms) -> None:
        super().__init__(me, terms)
        self._handles: dict[int, Any] = {}
        self._inbox: dict[tuple[int, int, int], Any] = {}
        self._news = threading.Condition()
        self._aborted = False
        self._sent: dict[Any, int] = {}  # what Ray has not said to have arrived, and for whom it is

    @classmethod
    def contact(cls, handle: Any, heard: Any) -> Any:
        """The handle: Ray listens for us."""
        return handle

    def listen(self, host: str, epoch: int) -> None:
        """Forget earlier links."""
        self.close()
        self._aborted, self.epoch, self.round = False, epoch, 0

    def connect(self, peers: Mapping[int, Any]) -> None:
        """Remember the neighbours' handles."""
        self._handles = dict(peers)

    def deliver(self, epoch: int, round: int, sender: int, payload: Any) -> None:
        """Put a neighbour's frame in the inbox; one from before the links were made anew is dropped."""
        with self._news:
            if epoch != self.epoch:
                return
            self._inbox[epoch, round, sender] = payload
            self._news.notify_all()

    def exchange(self, says: Mapping[int, Buffers], hears: Mapping[int, Buffers]) -> None:
        """One round with all neighbouring actors."""
        self.round += 1
        for peer in says:
            handle = self._handles[peer]
            payload = np.concatenate([np.frombuffer(piece, dtype=np.uint8) for piece in says[peer]])
            deliver = handle.deliver.options(concurrency_group=DELIVERY)
            self._sent[deliver.remote(self.epoch, self.round, self.me, payload)] = peer
        if len(self._sent) > UNSAID:
            self._see_what_arrived()
        for peer, frame in self._frames(hears).items():
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
            self._handles, self._inbox, self._sent = {}, {}, {}

    def _frames(self, peers: Iterable[int]) -> dict[int, Any]:
        """This round's frame of each of these neighbours, as soon as all are there."""
        wanted = {(self.epoch, self.round, peer) for peer in peers}
        deadline = time.monotonic() + self.terms.patience
        with self._news:
            while missing := wanted - self._inbox.keys():
                self.waits_for = tuple(sorted(peer for _, _, peer in missing))
                if not self._news.wait(min(LOOK_SECONDS, max(0.0, deadline - time.monotonic()))):
                    self._see_what_arrived()
                if self._aborted:
                    raise self.called_off()
                if time.monotonic() >= deadline:
                    raise self.unheard()
            self.waits_for = ()
            return {peer: self._inbox.pop((self.epoch, self.round, peer)) for peer in peers}

    def _see_what_arrived(self) -> None:
        """A frame that Ray could not deliver, because a connection broke, is missed by a neighbour who waits for it."""
        import ray

        if not self._sent:
            return
        done, _ = ray.wait(list(self._sent), num_returns=len(self._sent), timeout=0.0)
        for reference in done:
            peer = self._sent.pop(reference)
            try:
                ray.get(reference, timeout=LOOK_SECONDS)
            except ray.exceptions.RayError as error:
                why = str(error).strip().splitlines()[0]
                raise LinkLost(f"actor {self.me}: a frame did not reach actor {peer} ({why}).") from None
