"""Links without Ray: some actors in one process, each driven by a thread of its own."""

import threading

import numpy as np

from raydream.backends.ray.links import Terms
from raydream.backends.ray.links.tcp import DirectLinks

RUN, SECRET = b"r" * 16, b"s" * 32


def bytes_of(array):
    return memoryview(array).cast("B")


class Group:
    """Some linked actors, each driven by a thread of its own."""

    def __init__(self, neighbours, patience=300.0, secret_of=lambda i: SECRET, kinds=(DirectLinks,), secure=False):
        self.neighbours = neighbours
        self.links = [
            kinds[i % len(kinds)](i, Terms(RUN, secret_of(i), patience, secure)) for i in range(len(neighbours))
        ]
        self.addresses = [link.listen("127.0.0.1", 1) for link in self.links]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for link in self.links:
            link.close()

    def connect(self):
        self.each(lambda i: self.links[i].connect({j: self.addresses[j] for j in self.neighbours[i]}))
        return self

    def each(self, action, who=None):
        """action(i) in parallel; the first exception is raised."""
        errors = []

        def guarded(i):
            try:
                action(i)
            except BaseException as error:
                errors.append(error)

        threads = [
            threading.Thread(target=guarded, args=(i,)) for i in (range(len(self.links)) if who is None else who)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
        assert not any(thread.is_alive() for thread in threads), "deadlock"
        if errors:
            raise errors[0]

    def rounds(self, widths):
        """Everybody says its number (times the round) to everybody, and checks what it hears."""

        def talk(i):
            for k, width in enumerate(widths):
                said = np.full(width, 100.0 * k + i)
                heard = {j: np.full(width, np.nan) for j in self.neighbours[i]}
                self.links[i].exchange(
                    {j: [bytes_of(said)] for j in self.neighbours[i]}, {j: [bytes_of(heard[j])] for j in heard}
                )
                assert all((heard[j] == 100.0 * k + j).all() for j in heard)

        self.each(talk)


def ring(m):
    return [sorted({(i - 1) % m, (i + 1) % m}) for i in range(m)]


def complete(m):
    return [[j for j in range(m) if j != i] for i in range(m)]
