"""Batches of a finite sum: means of their samples, whatever their size, repeated ones as often as they occur."""

from collections.abc import Iterator

import numpy as np

from raydream.checking.laws.answers import gradient_of, told
from raydream.checking.owned import Owned
from raydream.checking.subject import Gap, Miss, Subject, judged
from raydream.checking.verdict import Finding, unchecked
from raydream.types import Array, Indices

CHECKS = ("batch size", "batch mean", "repeated samples", "component mean")
CHUNKS = 32  # into which all samples are cut


def batches(subject: Subject) -> Iterator[Finding]:
    """Batches against the gradients of their samples, and all samples against the gradient of f_i."""
    finite = [one for one in subject.able if one.samples is not None]
    if not finite:
        why = "no agent gives proper answers." if not subject.able else "samples are drawn, not numbered."
        yield unchecked("batches", why)
        return
    misses: dict[str, list[Miss]] = {check: [] for check in CHECKS}
    for one in finite:
        fault = told(gradient_of, subject, one, subject.points[0], np.array([0]))
        if fault:
            misses["batch mean"].append(Miss(one.agent, f"of a batch of one sample, {fault}"))
            continue
        for check, miss in _of(subject, one):
            misses[check].append(miss)
    yield judged("batch size", misses["batch size"], "a batch of 6 has the size of a batch of 2: means, not sums.")
    yield judged("batch mean", misses["batch mean"], "the gradient of a batch is the mean over its samples.")
    yield judged("repeated samples", misses["repeated samples"], "they count as often as they occur.")
    yield judged(
        "component mean", misses["component mean"], "the mean over all samples is the gradient without a batch."
    )


def _of(subject: Subject, one: Owned) -> Iterator[tuple[str, Miss]]:
    """The laws that one agent's batches break."""
    point, n = subject.points[0], int(one.samples or 0)
    generator = subject.random("batches", one.agent)
    few = generator.permutation(n)[:6]
    single = {int(j): one.gradient(*point, np.array([j])) for j in few}
    scale = max(float(np.abs(g).max(initial=0.0)) for g in single.values()) or 1.0

    def off(batch: Indices, wanted: Array) -> Gap | None:
        return subject.apart(one.gradient(*point, batch), wanted, scale)

    summed = None
    if n >= 2:
        mean = np.mean(list(single.values()), axis=0)
        found = one.gradient(*point, few.copy())
        gap = subject.apart(found, mean, scale)
        if gap is not None:
            pair = np.mean([single[int(j)] for j in few[:2]], axis=0)
            sizes = [_times(found, mean), _times(one.gradient(*point, few[:2].copy()), pair)]
            if np.allclose(sizes, [few.size, 2], rtol=1e-3):
                summed = Miss(one.agent, f"a batch of {few.size} samples is {sizes[0]:.4g} times their mean, and one "
                              f"of 2 is {sizes[1]:.4g} times theirs: a sum.", gap.size, gap.part, gap.coordinate,
                              gap.measured, gap.expected)  # fmt: skip
                yield "batch size", summed
            else:
                yield "batch mean", _miss(one, f"of the batch {few.tolist()}", "its samples' mean", gap)
    if summed is None:
        j, k = int(few[0]), int(few[-1])
        gap = off(np.array([j, k, j]), (2 * single[j] + single[k]) / 3)
        if gap is not None:
            yield "repeated samples", _miss(one, f"of the batch [{j}, {k}, {j}]", "its samples' mean", gap)
    whole, parts = one.gradient(*point), np.array_split(generator.permutation(n), min(n, CHUNKS))
    weights = [1.0 if summed else part.size for part in parts]  # sums of sums, that a sum be not told of twice
    total = np.sum([w * one.gradient(*point, part) for w, part in zip(weights, parts, strict=True)], axis=0) / n
    gap = subject.apart(total, whole, max(scale, float(np.abs(whole).max(initial=0.0))))
    if gap is not None:
        yield "component mean", _miss(one, "over all samples", "that without a batch", gap)


def _miss(one: Owned, what: str, against: str, gap: Gap) -> Miss:
    times = f", {gap.measured / gap.expected:.4g} times that" if gap.expected else ""
    text = (
        f"coordinate {gap.coordinate} of {gap.part}: `gradient` {what} is {gap.measured:.8g}, and {against} "
        f"{gap.expected:.8g}{times}."
    )
    return Miss(one.agent, text, gap.size, gap.part, gap.coordinate, gap.measured, gap.expected)


def _times(found: Array, mean: Array) -> float:
    """How many times the mean a vector is."""
    return float(found @ mean) / max(float(mean @ mean), 1e-300)
