"""Links that write down what has come in over sockets, memory or calls. A module that actors can import."""

import json
import socket
import struct
from pathlib import Path

from raydream.backends.ray.links.frames import HEADER
from raydream.backends.ray.links.ray_calls import RayLinks
from raydream.backends.ray.links.tcp import DirectLinks, TcpLinks

HEAD = HEADER.size
RECEIVED = 128  # where struct tcp_info has tcpi_bytes_received


def received(connection):
    """Bytes that have come in over a connection so far, by the kernel's count."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
    return struct.unpack_from("=Q", info, RECEIVED)[0]


def counted_in(folder):
    """The transport; each actor keeps in this folder its frames, its rows, and the bytes without their headers."""

    class Counted(TcpLinks):
        def connect(self, peers):
            super().connect(peers)
            self.before = sum(received(link.socket) for link in self._links.values())
            self.frames = self.rows = 0

        def exchange(self, says, hears):
            super().exchange(says, hears)
            self.frames += len(hears)
            self.rows += sum(len(ears) - 1 for ears in hears.values())
            came = sum(received(link.socket) for link in self._links.values()) - self.before
            told = {
                "frames": self.frames,
                "rows": self.rows,
                "payload": came - HEAD * self.frames - 8 * self.rows,
            }
            (Path(folder) / f"{self.me}.json").write_text(json.dumps(told))

    return Counted


def laid_in(folder):
    """The transport with shared memory; each actor keeps in this folder its rows, and the bytes that it read there."""

    class Laid(DirectLinks):
        def connect(self, peers):
            super().connect(peers)
            self.rows = self.read = 0
            read = self._shared.read

            def counted(peer, begin, ears):
                self.read += sum(ear.nbytes for ear in ears)
                read(peer, begin, ears)

            self._shared.read = counted

        def exchange(self, says, hears):
            super().exchange(says, hears)
            self.rows += sum(len(ears) - 1 for ears in hears.values())
            told = {"rows": self.rows, "payload": self.read - 8 * self.rows}
            (Path(folder) / f"{self.me}.json").write_text(json.dumps(told))

    return Laid


def called_in(folder):
    """Links through Ray; each actor keeps in this folder its rows, and the bytes that Ray has delivered."""

    class Called(RayLinks):
        def deliver(self, epoch, round, sender, payload):
            self.came = getattr(self, "came", 0) + len(payload)
            super().deliver(epoch, round, sender, payload)

        def exchange(self, says, hears):
            super().exchange(says, hears)
            self.rows = getattr(self, "rows", 0) + sum(len(ears) - 1 for ears in hears.values())
            told = {"rows": self.rows, "payload": self.came - 8 * self.rows}
            (Path(folder) / f"{self.me}.json").write_text(json.dumps(told))

    return Called
