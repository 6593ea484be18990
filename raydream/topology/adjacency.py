"""Graphs as symmetric 0/1 CSR arrays: the links of a network before they have weights."""

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from raydream import checks
from raydream.types import Indices, Sparse

DRAWS = 1000  # random graphs drawn before giving up on a connected one


def graph_of(m: int, links: Iterable[tuple[Any, Any]]) -> Sparse:
    """The graph with the given links, without loops and repetitions."""
    pairs = [np.stack([np.ravel(i), np.ravel(j)]) for i, j in links]
    i, j = np.concatenate([np.zeros((2, 0), dtype=np.int64), *pairs], axis=1)
    i, j = i[i != j], j[i != j]
    both = coo_array((np.ones(2 * len(i)), (np.append(i, j), np.append(j, i))), shape=(m, m)).tocsr()
    both.data[:] = 1.0
    return both


def grid_of(agents: Indices) -> Sparse:
    return graph_of(agents.size, [(agents[:, :-1], agents[:, 1:]), (agents[:-1], agents[1:])])


def torus_of(agents: Indices) -> Sparse:
    return graph_of(agents.size, [(agents, np.roll(agents, -1, axis)) for axis in (0, 1)])


def agents_in_rows(m: int, rows: int | None) -> Indices:
    """The numbers 0, ..., m-1 in `rows` rows; as square as possible when not given."""
    m = checks.agents("m", m)
    if rows is None:
        rows = max(r for r in range(1, math.isqrt(m) + 1) if m % r == 0)
    rows = checks.whole("rows", rows, at_least=1)
    if m % rows:
        raise ValueError(f"`rows` must divide the number of agents, {m}; got {rows}.")
    return np.arange(m).reshape(rows, m // rows)


def from_networkx(graph: Any) -> Sparse:
    """The undirected graph with agents numbered by label."""
    number = numbered(graph)
    if graph.is_directed():
        raise ValueError("`graph` must be undirected; got a directed one. Use its `.to_undirected()`.")
    links = np.array([(number[a], number[b]) for a, b in graph.edges()], dtype=np.int64).reshape(-1, 2)
    return graph_of(len(number), [(links[:, 0], links[:, 1])])


def numbered(graph: Any) -> dict[Any, int]:
    """The agents' numbers by their labels, in order, or as they were inserted where labels have none."""
    if not (hasattr(graph, "nodes") and hasattr(graph, "edges") and hasattr(graph, "is_directed")):
        raise TypeError(f"`graph` must be a networkx graph; got {type(graph).__name__}.")
    labels = list(graph.nodes)
    if not labels:
        raise ValueError("`graph` must have at least one agent; got an empty graph.")
    with suppress(TypeError):  # labels of several kinds have no order
        labels = sorted(labels)
    return {label: i for i, label in enumerate(labels)}


def links_of(graph: Any, number: dict[Any, int]) -> Sparse:
    """Who hears whom in a networkx graph whose edges (a, b) say that b hears a."""
    pairs = np.array([(number[b], number[a]) for a, b in graph.edges() if a != b], dtype=np.int64).reshape(-1, 2)
    found = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(number), len(number))).tocsr()
    found.data[:] = 1.0
    return found


def first_connected(draw: Callable[[], Sparse], remedy: str) -> Sparse:
    from scipy.sparse.csgraph import connected_components  # every actor would pay for it

    for _ in range(DRAWS):
        graph = draw()
        parts, _ = connected_components(graph, directed=False)
        if parts == 1:
            return graph
    raise ValueError(f"None of {DRAWS} random graphs was connected: {remedy}.")
