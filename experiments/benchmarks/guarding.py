"""What does it cost to guard frames that cross a network? A keyed hash, and encryption, beside neither.

    python experiments/benchmarks/table.py --only guarding

DREAM iterations on a9a (K=2, b=64, b_large=128) by 8 actors over TCP, one agent each. All live on this machine, and
reach each other at loopback addresses that differ, so that their frames are guarded as between machines.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from typing import Any

from actors import AGENTS, REPEATS, STEPS, blocks, dream_plan
from measuring import Row, in_turns, milliseconds

import raydream as rd
from raydream.backends.ray.links import LINKS
from raydream.backends.ray.links.tcp import TcpLinks

NEITHER, HASHED, ENCRYPTED = "neither", "a keyed hash", "AES-256-GCM"


def apart() -> type[TcpLinks]:
    """The TCP links, at an address for each actor; a class that Ray sends along."""

    class Apart(TcpLinks):
        def listen(self, host: str, epoch: int) -> tuple[str, int]:
            return super().listen(f"127.0.1.{self.me + 1}", epoch)

    return Apart


def rows(quick: bool = False) -> Iterator[Row]:
    """Milliseconds of an iteration with each guard, beside none."""
    LINKS.add("apart", apart())
    backends: dict[str, Any] = {NEITHER: rd.RayBackend(links="tcp"), HASHED: rd.RayBackend(links="apart")}
    if find_spec("cryptography") is not None:
        backends[ENCRYPTED] = rd.RayBackend(links="apart", secure=True)
    steps = 2 if quick else STEPS["dream"]
    with ExitStack() as stack:
        stack.enter_context(rd.RayBackend().shared(len(backends) * AGENTS))
        plan, variants = dream_plan(), {}
        for name, backend in backends.items():
            session = backend.open(plan)
            stack.callback(session.close)
            session.init(())
            block = blocks(session, steps)
            block()
            variants[name] = partial(milliseconds, block, steps)
        took = in_turns(variants, 1 if quick else 3 * REPEATS["dream"])
    for name, figures in took.items():
        beside = () if name == NEITHER else took[NEITHER]
        yield Row(f"DREAM iteration on a9a, 8 actors, TCP, {name}", figures, "ms", beside, NEITHER)
