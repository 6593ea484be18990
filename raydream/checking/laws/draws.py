"""Samples that are drawn (online problems): by the generator alone, right in the mean, no noisier than stated."""

from collections.abc import Iterator

import numpy as np
from scipy.stats import t as student

from raydream.checking.laws.answers import gradient_of, told
from raydream.checking.owned import Owned, asked
from raydream.checking.subject import Miss, Subject, judged
from raydream.checking.verdict import Finding, unchecked
from raydream.types import Array

CHECKS = ("draws", "mean of draws", "noise (sigma)")
BATCHES, SIZE, DIRECTIONS = 256, 32, 8
ALARM = 1e-7  # the chance that a sound problem fails here, over all agents and directions


def draws(subject: Subject) -> Iterator[Finding]:
    """Of every online agent; a finite sum has none of this."""
    online = [one for one in subject.able if one.samples is None]
    if not online:
        why = "samples are numbered, not drawn." if subject.able else "no agent gives proper answers."
        yield unchecked("draws", why)
        return
    misses: dict[str, list[Miss]] = {check: [] for check in CHECKS}
    sigma = _sigma(subject)
    for one in online:
        fault = told(_fault, subject, one)
        if fault:
            misses["draws"].append(Miss(one.agent, fault))
            subject.spoilt.add(one.agent)
            continue
        misses["mean of draws"] += _mean(subject, one, len(online))
        misses["noise (sigma)"] += [] if sigma is None else _noise(subject, one, sigma, len(online))
    yield judged("draws", misses["draws"], "equal generators draw samples with equal gradients.")
    if len(misses["draws"]) == len(online):
        yield from (unchecked(check, "`draw` fails.") for check in CHECKS[1:])
        return
    yield judged(
        "mean of draws", misses["mean of draws"],
        f"that of {BATCHES * SIZE} samples is the gradient without a batch, by tests that err once in {1 / ALARM:.0e}.",
    )  # fmt: skip
    if sigma is None:
        yield unchecked("noise (sigma)", "`constants()` states no sigma.")
    else:
        yield judged("noise (sigma)", misses["noise (sigma)"], f"it is not above the stated {sigma:.4g}.")


def _drawn(subject: Subject, one: Owned, size: int, *purpose: object) -> Array:
    batch = asked("draw", one.shard.draw, subject.random("draw", one.agent, *purpose), size, agent=one.agent)
    return one.gradient(*subject.points[0], batch)


def _fault(subject: Subject, one: Owned) -> str:
    """What is wrong with a draw, in words; empty: nothing."""
    if not hasattr(one.shard, "draw"):
        return "an online problem (`samples` is None) must have `draw(generator, size)`; it has none."
    batch = asked("draw", one.shard.draw, subject.random("draw", one.agent), 3, agent=one.agent)
    fault = told(gradient_of, subject, one, subject.points[0], batch)
    if fault:
        return f"of a batch that was drawn, {fault}"
    first, again = (_drawn(subject, one, 3) for _ in range(2))
    if first.tobytes() != again.tobytes():
        worst = int(np.argmax(np.abs(first - again)))
        part, k = subject.place(worst)
        return (
            "`draw` from generators in the same state must give the same samples; coordinate "
            f"{k} of {part} of their gradients is {first[worst]:.8g}, then {again[worst]:.8g}."
        )
    return ""


def _mean(subject: Subject, one: Owned, agents: int) -> list[Miss]:
    """Student's test of the mean of batch means, along random directions in x and in y, each alone."""
    whole = one.gradient(*subject.points[0])
    off = np.stack([_drawn(subject, one, SIZE, k) for k in range(BATCHES)]) - whole
    limit = float(student.isf(ALARM / (4 * DIRECTIONS * agents), BATCHES - 1))
    scale = float(np.abs(whole).max(initial=0.0)) or 1.0
    worst: Miss | None = None
    for part, cut in (("x", slice(0, subject.dim_x)), ("y", slice(subject.dim_x, None))):
        mine = off[:, cut]
        for k in range(DIRECTIONS):
            along = mine @ subject.direction(mine.shape[1], "draws", one.agent, part, k)
            gap = abs(float(along.mean()))
            noise = float(along.std(ddof=1)) / np.sqrt(BATCHES)
            if gap <= limit * noise + max(1e-9, 1e3 * subject.rounding) * scale * np.sqrt(mine.shape[1]):
                continue
            size = gap / noise if noise > 0 else np.inf
            if worst is None or size > worst.size:
                worst = _coordinate(one, part, mine, whole[cut], size, limit)
    return [] if worst is None else [worst]


def _coordinate(one: Owned, part: str, off: Array, whole: Array, size: float, limit: float) -> Miss:
    """A miss, with the coordinate that stands out most from its noise."""
    noise = off.std(axis=0, ddof=1) / np.sqrt(BATCHES)
    stands = np.abs(off.mean(axis=0)) / np.maximum(noise, 1e-12 * (1.0 + np.abs(whole)))
    k = int(np.argmax(stands))
    mean = float(whole[k] + off[:, k].mean())
    text = (
        f"the mean gradient of {BATCHES * SIZE} samples is {size:.3g} standard errors away from that without a batch "
        f"(chance allows {limit:.2g}); coordinate {k} of {part}: {mean:.6g} (+- {noise[k]:.1g}) against {whole[k]:.6g}."
    )
    return Miss(one.agent, text, size, part, k, mean, float(whole[k]))


def _sigma(subject: Subject) -> float | None:
    """The stated standard deviation of one sample's gradient."""
    try:
        return float(subject.given.constants().sigma)
    except Exception:
        return None


def _noise(subject: Subject, one: Owned, sigma: float, agents: int) -> list[Miss]:
    """Whether E||g - grad f_i||^2 is above sigma^2, at the start, where it must hold in any case."""
    x, y = subject.start
    whole = one.gradient(x, y)
    squares = []
    for k in range(BATCHES * 4):
        batch = asked("draw", one.shard.draw, subject.random("noise", one.agent, k), 1, agent=one.agent)
        squares.append(float(np.sum((one.gradient(x, y, batch) - whole) ** 2)))
    mean, error = float(np.mean(squares)), float(np.std(squares, ddof=1)) / np.sqrt(len(squares))
    if mean - sigma**2 * (1 + 1e-9) <= float(student.isf(ALARM / (2 * agents), len(squares) - 1)) * error:
        return []
    text = (
        f"one sample's gradient has standard deviation {np.sqrt(mean):.4g} at the start, and `constants()` states "
        f"sigma = {sigma:.4g}."
    )
    return [Miss(one.agent, text, mean, None, None, float(np.sqrt(mean)), sigma)]
