"""What the lab shows of a network: its numbers, its pictures, and how it mixes, round by round."""

import functools
import math
import threading
from typing import Any

from raydream import checks
from raydream.dashboard.lab import mixing as mixing_show
from raydream.dashboard.lab.network import bounded
from raydream.report import figures
from raydream.topology import Topology

MOST_K = 1000
MOST_ROUNDS = 60  # to step through: a frame each
PATIENCE = 100_000  # rounds of FastMix counted, about a second
WAYS = {
    "gossip rounds": ("gossip", "optimal"),
    "FastMix rounds": ("fastmix", "optimal"),
    "FastMix rounds, paper": ("fastmix", "paper"),
}


def facts(topology: Topology, tolerance: Any) -> dict[str, str]:
    """The network in numbers."""
    tolerance = checks.positive("tolerance", tolerance)
    rounds = {name: _rounds(topology, tolerance, *way) for name, way in WAYS.items()}
    slow, fast, _ = rounds.values()
    return {
        "agents": str(topology.m),
        "directed links" if topology.directed else "links": str(topology.edges),
        "|λ₂|" if topology.directed else "λ₂": f"{topology.second_eigenvalue:.6g}",
        "λₘ": "complex" if topology.directed else f"{topology.smallest_eigenvalue:.6g}",
        "spectral gap δ": f"{topology.spectral_gap:.4g}",
        "positive semidefinite": "yes" if topology.positive_semidefinite and not topology.directed else "no",
        **{name: "–" if count is None else str(count) for name, count in rounds.items()},
        "gossip / FastMix": f"{slow / fast:.3g}" if slow and fast else "–",
    }


def _rounds(topology: Topology, tolerance: float, method: str, momentum: str) -> int | None:
    """Rounds to mix to the tolerance, if that ends and is soon counted."""
    gap = math.sqrt(max(0.0, 1 - topology.network.lam**2))  # FastMix takes about log(1 / tolerance) / gap rounds
    if method == "fastmix" and -2 * math.log(tolerance) > PATIENCE * gap:
        return None
    try:
        return topology.rounds_to_mix(tolerance, method, momentum)
    except ValueError:  # it does not mix, as its remarks say
        return None


def picture(topology: Topology, dark: bool) -> Any:
    """The network's figure; two callbacks ask for it at once, and finding places takes long."""
    with _DRAWING:
        return _drawn(topology, dark)


_DRAWING = threading.Lock()
_drawn = functools.lru_cache(maxsize=16)(lambda topology, dark: figures.network(topology, dark=dark))


def spectrum(topology: Topology, K: Any, method: str, momentum: str, dark: bool) -> Any:
    """The figure of the spectrum after K rounds."""
    return figures.spectrum(topology, bounded("K", K, 0, MOST_K), method, momentum, dark=dark)


def steps(
    topology: Topology, seed: Any, rounds: Any, momentum: str, k: int | None, dark: bool
) -> tuple[Any, Any, list[str]]:
    """The agents and their disagreement, in frames and standing at round k, and a sentence for each round."""
    rounds = bounded("rounds", rounds, 1, MOST_ROUNDS)
    walks = mixing_show.walks(topology, bounded("values", seed, 0, 2**53), rounds, momentum)
    k = min(k or 0, rounds)
    drawn = mixing_show.agents(picture(topology, dark), walks, k, dark=dark)
    return drawn, mixing_show.fall(walks, k, dark=dark), mixing_show.sentences(walks)
