"""What several test files need to state laws: witnesses that log the oracle, and ways to drive rows by hand."""

import os
from collections.abc import Generator
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import raydream as rd
from raydream.agents import Agents
from raydream.agents.streams import Streams
from raydream.algorithms import METHODS
from raydream.backends.local import LocalSession
from raydream.backends.protocol import Plan
from raydream.problems import complete

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("RAYDREAM_DATA") or HERE.parent.parent / "shared" / "data")
needs_data = pytest.mark.skipif(not (DATA / "a9a.bz2").exists(), reason="set RAYDREAM_DATA to a folder with a9a.bz2")


run = partial(rd.run, backend="local")

STEPS = dict(eta=0.03, gamma=0.5)
# every method, in every form
METHODS_UNDER_TEST = {
    "dream": rd.DREAM(**STEPS, p=0.4, b=4, K=2),
    "gt-da": rd.GTDA(**STEPS),
    "gt-da, one ascent step": rd.GTDA(**STEPS, R=1),
    "gt-gda, cta": rd.GTGDA(**STEPS),
    "gt-gda, atc": rd.GTGDA(**STEPS, form="atc"),
    "gt-srvr, cta": rd.GTSRVR(**STEPS),
    "gt-srvr, atc": rd.GTSRVR(**STEPS, form="atc", Q=5, b=3),
    "gt-srvr, whole shards": rd.GTSRVR(**STEPS, Q=7, b=None),
    "dm-hsgd": rd.DMHSGD(**STEPS, beta=0.1, b=4, b0=9),
    "dm-hsgd, decaying": rd.DMHSGD(**STEPS, beta=0.5, b=3, b0=None, decay=10),
    "dgda-vr": rd.DGDAVR(**STEPS, Q=3, b=4),
    "dgda-vr, large batches": rd.DGDAVR(**STEPS, Q=5, b=2, b_large=9),
    "gda": rd.GDA(**STEPS),
    "sgda": rd.SGDA(**STEPS, b=6),
    "dgda": rd.DGDA(**STEPS),
    "dgda, sampled": rd.DGDA(**STEPS, b=5),
    "ed-gda": rd.EDGDA(**STEPS),
    "ed-page": rd.EDPAGE(**STEPS, p=0.4, b=4),
    "d-adast": rd.DAdaST(eta=4.0, gamma=0.5),
    "d-adast, sampled": rd.DAdaST(eta=4.0, gamma=0.5, power_x=0.7, power_y=0.3, b=5),
    "d-tiada": rd.DTiAda(eta=2.0, gamma=0.5, b=5),
    "d-gdmax": rd.DGDMax(**STEPS),
    "d-gdmax, two steps": rd.DGDMax(**STEPS, R=2, rho=0.3),
    "vrlm": rd.VRLM(**STEPS, Q=5, b=4),
    "vrlm, storm": rd.VRLM(**STEPS, estimator="storm", beta=0.1, b=4, b_large=9, l1=0.01),
    "vrlm, whole shards": rd.VRLM(**STEPS, Q=7, b=None, rho=0.3),
    "dm-gda": rd.DMGDA(**STEPS, b=4, b0=9, beta=0.1),
    "dm-gda, whole shards": rd.DMGDA(**STEPS, alpha=1.0, b=None, b0=None),
    "dposg": rd.DPOSG(**STEPS),
    "dposg, sampled": rd.DPOSG(**STEPS, b=5),
    "sreda": rd.SREDA(**STEPS, longest=0.02, Q=5, b=6),
    "sreda, whole shards": rd.SREDA(**STEPS, longest=None, R=2, Q=7, b=None),
    "k-gt-minimax": rd.KGTMinimax(**STEPS, local_steps=3),
    "k-gt-minimax, sampled": rd.KGTMinimax(**STEPS, local_steps=2, alpha=0.8, b=5),
    "catalyst-dream": rd.CatalystDREAM(**STEPS, p=0.4, b=4, K=2, T=7),
    "catalyst-dream, by gossip": rd.CatalystDREAM(**STEPS, p=0.6, b=4, K=1, mixing="gossip", prox=3.0, T=4),
    "sapd-plus": rd.SAPDPlus(**STEPS, b=None, T=4),
    "sapd-plus, sampled": rd.SAPDPlus(**STEPS, theta=0.5, prox=0.3, T=5, b=20),
    "ed-page, large batches": rd.EDPAGE(**STEPS, p=0.3, b=3, b_large=30),
}
ONE_MACHINE = tuple(kind for kind in METHODS.values() if kind.facts.one_machine)


def assert_same_bits(found, wanted):
    """History (except seconds), the agents' distances, ledger, outcome, final arrays and x_out."""
    assert found.history.drop(columns=["seconds", "evaluation_seconds"]).equals(
        wanted.history.drop(columns=["seconds", "evaluation_seconds"])
    )
    assert found.arrays.keys() == wanted.arrays.keys()
    for name in wanted.arrays:
        assert np.array_equal(found.arrays[name], wanted.arrays[name]), name
    for name in ("x_bar", "y_bar", "x_out"):
        assert np.array_equal(getattr(found, name), getattr(wanted, name)), name
    assert np.array_equal(found.distances, wanted.distances, equal_nan=True)
    assert (found.ledger, found.outcome) == (wanted.ledger, wanted.outcome)


class Witness:
    """A problem whose agents log every oracle call as (agent, z, batch)."""

    def __init__(self, problem):
        self._problem, self.log = problem, []

    def __getattr__(self, name):
        return getattr(self._problem, name)

    def local(self, i):
        shard, log = self._problem.local(i), self.log

        def gradient(x, y, batch=None):
            log.append((i, np.concatenate([x, y]), batch))
            return shard.gradient(x, y, batch)

        return SimpleNamespace(samples=shard.samples, value=shard.value, gradient=gradient)


def session_for(problem, topology, method, seed=0, start=None):
    """A session of the local backend, to be driven step by step."""
    problem = complete(problem)
    method = method.settled(problem, topology.network) if hasattr(method, "settled") else method
    return LocalSession(Plan(problem, topology, method, seed, start or problem.start()))


def states_of(session, coins, log=()):
    """The snapshots after 0, 1, 2, ... steps; with a witness's log, also the calls of each step."""
    session.init(())
    states, seen = [session.snapshot()], [len(log)]
    for t, coin in enumerate(coins):
        session.advance(t, [coin], None, ())
        states.append(session.snapshot())
        seen.append(len(log))
    calls = [log[a:b] for a, b in zip([0, *seen], seen, strict=False)]
    return (states, calls) if log else states


def coins_of(seed, p, count):
    """The coins that a run with this seed flips."""
    streams = Streams(seed)
    return [bool(streams.at("coin", iteration=t).random() < p) for t in range(count)]


def drive_in_blocks(problem, topology, method, blocks, coins, seed=0):
    """The state after the given coins, when each block of agents is driven by itself and hears only its rows of W."""
    problem = complete(problem)
    method = method.settled(problem, topology.network) if hasattr(method, "settled") else method
    hosts = [
        Agents(
            block,
            [problem.local(i) for i in block],
            network=topology.network,
            constraint=problem.constraint,
            start=problem.start(),
            streams=Streams(seed),
        )
        for block in blocks
    ]

    def exchange(said):
        """What each block hears in one round; a frame may carry several arrays."""
        if isinstance(said[0], tuple):
            return list(zip(*(exchange(arrays) for arrays in zip(*said, strict=True)), strict=True))
        assert all(array.flags.c_contiguous for array in said), "what is said is ready to be sent"
        rows = np.concatenate(said)
        return [topology.W[block] @ rows for block in blocks]

    def together(programs):
        if not any(isinstance(program, Generator) for program in programs):
            return programs
        said = [next(program) for program in programs]
        while True:
            heard, said, results = exchange(said), [], []
            for program, ear in zip(programs, heard, strict=True):
                try:
                    said.append(program.send(ear))
                except StopIteration as end:
                    results.append(end.value)
            if results:
                assert len(results) == len(programs), "all blocks end in the same round"
                return results

    for host in hosts:
        host.begin(0)
    states = together([method.init(host) for host in hosts])
    for t, coin in enumerate(coins):
        for host in hosts:
            host.begin(t + 1)
        states = together([method.step(s, host, t, coin) for s, host in zip(states, hosts, strict=True)])
    return {field.name: np.concatenate([getattr(s, field.name) for s in states]) for field in fields(states[0])}
