"""Problems that go wrong on purpose. A module of its own, so that actors can import it."""

import os
import signal
import time
from pathlib import Path

from waiting import PATIENCE

from raydream.backends.ray.links.frames import Connection
from raydream.backends.ray.links.seal import Seal
from raydream.backends.ray.links.tcp import TcpLinks


class Sabotaged:
    """A problem of which one agent does something bad at its n-th gradient (or when it is built), once."""

    def __init__(self, problem, deed, agent, call, flag):
        self._problem = problem
        self._bad = (deed, call, str(flag))
        self._agent = agent

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._problem, name)

    def local(self, i):
        shard = self._problem.local(i)
        return BadShard(shard, *self._bad) if i == self._agent else shard


class BadShard:
    def __init__(self, shard, deed, call, flag):
        self.shard, self.deed, self.call, self.flag, self.calls = shard, deed, call, flag, 0
        self.samples, self.value = shard.samples, shard.value

    def __setstate__(self, state):
        self.__dict__.update(state)
        if self.call == 0:
            self._do_it()

    def gradient(self, x, y, batch=None):
        self.calls += 1
        if self.calls == self.call:
            self._do_it()
        return self.shard.gradient(x, y, batch)

    def _do_it(self):
        if self.deed == "kill" and not Path(self.flag).exists():
            Path(self.flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if self.deed == "kill always":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.deed == "stop" and not Path(self.flag).exists():
            Path(self.flag).touch()
            os.kill(os.getpid(), signal.SIGSTOP)
        if self.deed == "raise":
            raise LookupError("boom")
        if self.deed == "hang":
            time.sleep(3600)
        if self.deed == "meet":  # wait for a second process that has come as far
            (Path(self.flag) / f"here-{os.getpid()}").touch()
            deadline = time.monotonic() + PATIENCE
            while len(list(Path(self.flag).glob("here-*"))) < 2 and time.monotonic() < deadline:
                time.sleep(0.02)


class Tampered(TcpLinks):
    """Links on which a byte of one frame changes on its way, once, as if they crossed a network."""

    says = "over a wire that somebody has touched"

    def _linked(self, peer, connection):
        return Wire(connection, self.me, peer, Seal(self.terms, self.epoch, self.me, peer))


class Wire(Connection):
    def begin(self, run, epoch, round, says, hears):
        super().begin(run, epoch, round, says, hears)
        if (self.me, epoch, round) == (1, 1, 30) and says:
            changed = bytearray(self._voice[1])
            changed[3] ^= 1
            self._voice[1] = memoryview(changed)
