"""The virtual clock: closed forms, stragglers at the speed of the graph, and the same bits wherever agents live."""

from collections import deque

import numpy as np
import pytest
from laws import Witness, assert_same_bits, states_of
from saboteurs import Sabotaged

import raydream as rd
from raydream.backends.local import LocalSession
from raydream.backends.protocol import Plan
from raydream.conditions.clock import Clock
from raydream.conditions.wires import Wires
from raydream.problems import QuadraticGame

RING = rd.topology.ring(8)
METHOD = rd.DREAM(eta=0.05, gamma=0.3, p=0.3, q=0.7, b=3, K0=2, K=1, K_large=2)
WHOLE = rd.DREAM(eta=0.05, gamma=0.3, p=0.3, b=4, K0=2, K=1, K_large=2)
PRICES = dict(gradient_seconds=2.0**-10, latency=2.0**-4, bandwidth=2.0**15)  # sums of these are exact
ROUGH = rd.Conditions(gradient_seconds="lognormal-0.001-1.5", latency="exponential-0.02", bandwidth=3e4, uplink=5e4)


def game(agents=8):
    return QuadraticGame.random(agents=agents, samples=7, dim_x=3, dim_y=4, seed=3)


def run(conditions, method=METHOD, topology=RING, **settings):
    settings = {"iterations": 23, "record_every": 5, "backend": "local", "seed": 1} | settings
    return rd.run(game(topology.m), topology, method, conditions=conditions, **settings)


def clock_of(topology, conditions, seed=0):
    return Clock(conditions, Wires.of(topology.neighbours, range(topology.m), np.arange(topology.m)), seed)


def slow_clock(topology, spells, latency, per_byte, frames):
    """The recursion again, agent by agent, from the seconds of work before each round and the bytes of its frames."""
    t = [0.0] * topology.m
    for work, size in zip(spells, frames, strict=True):
        t = [now + more for now, more in zip(t, work, strict=True)]
        out = [now + size * per_byte for now in t]
        t = [max([out[i], *(out[j] + latency for j in topology.neighbours[i])]) for i in range(topology.m)]
    return t


@pytest.mark.parametrize("topology", [RING, rd.topology.star(5), rd.topology.erdos_renyi(7, 0.4)], ids=lambda t: t.name)
def test_the_clock_is_the_recursion_written_out(topology):
    """Uneven work, any graph: each agent waits for its own frames and for those of its neighbours."""
    generator = np.random.default_rng(0)
    calls = generator.integers(0, 9, size=(6, topology.m))
    frames = generator.integers(1, 1000, size=6).tolist()
    clock = clock_of(topology, rd.Conditions(**PRICES))
    for one, size in zip(calls, frames, strict=True):
        clock.work(one.tolist())
        clock.arrive(clock.depart(size))
    wanted = slow_clock(topology, calls * PRICES["gradient_seconds"], PRICES["latency"], 2.0**-15, frames)
    assert clock.seconds.tolist() == wanted


def test_a_homogeneous_clock_is_a_function_of_the_ledger():
    """Calls of one agent, rounds, and bytes on one link, each at its price: exactly."""
    history = run(rd.Conditions(**PRICES), WHOLE).history
    links = 2 * RING.edges
    wanted = history.sfo / 8 * 2.0**-10 + history.rounds * 2.0**-4 + history.bytes / links / 2.0**15
    assert history.sim_seconds.tolist() == wanted.tolist()
    assert history.sim_seconds.is_monotonic_increasing and history.sim_seconds.iloc[0] > 0


def test_a_run_s_clock_is_that_of_the_calls_that_were_seen():
    """With q < 1 agents work unevenly: the recursion over the samples that a witness saw each of them ask for."""
    method = rd.DREAM(eta=0.05, gamma=0.3, p=0.4, q=0.5, b=3, K0=1, K=1, K_large=1, mixing="gossip")
    problem, conditions = Witness(game()), rd.Conditions(**PRICES)
    session = LocalSession(Plan.build(problem, RING, method, seed=5, conditions=conditions))
    coins = [True, False, False, True, False, False]
    states, calls = states_of(session, coins, problem.log)
    prices = [[0] * 8 for _ in calls]
    for spell, seen in zip(prices, calls, strict=True):
        for agent, _, batch in seen:
            spell[agent] += 7 if batch is None else len(batch)
    assert len({tuple(one) for one in prices}) > 3, "agents do work unevenly"
    # The first call comes before the only round of the start; a step's gradients come between its two rounds.
    spells = [prices[0], *(one for spell in prices[1:] for one in ([0] * 8, spell))]
    work = np.array(spells) * PRICES["gradient_seconds"]
    wanted = slow_clock(RING, work, PRICES["latency"], 2.0**-15, [7 * 8] * len(spells))
    assert states[-1].arrays["sim_clock"].tolist() == wanted


def distances(topology, start):
    found, queue = {start: 0}, deque([start])
    while queue:
        i = queue.popleft()
        for j in map(int, topology.neighbours[i]):
            if j not in found:
                found[j] = found[i] + 1
                queue.append(j)
    return [found[i] for i in range(topology.m)]


@pytest.mark.parametrize("topology", [rd.topology.ring(9), rd.topology.grid(12)], ids=lambda t: t.name)
def test_a_straggler_s_delay_travels_at_the_speed_of_the_graph(topology):
    """After r rounds just those within r links of the straggler are late, those at r by its delay and r latencies."""
    clock = clock_of(topology, rd.Conditions(gradient_seconds=1.0, latency=0.25))
    clock.work([100 if i == 4 else 0 for i in range(topology.m)])
    far = distances(topology, 4)
    for round in range(max(far) + 2):
        assert (clock.seconds >= 100).tolist() == [one <= round for one in far]
        assert all(clock.seconds[i] == 100 + 0.25 * round for i, one in enumerate(far) if one == round)
        clock.arrive(clock.depart(1))


def test_links_of_an_agent_share_its_uplink():
    """The hub of a star sends to four at a quarter of the pace; a leaf at the pace of its link."""
    clock = clock_of(rd.topology.star(5), rd.Conditions(bandwidth=8.0, uplink=16.0))
    assert clock.depart(32).tolist() == [8.0, 4.0, 4.0, 4.0, 4.0]


def test_every_link_has_its_own_latency():
    """Named by its ends, in either order."""
    latency = {(0, 1): 1.0, (2, 1): 2.0, (0, 2): 4.0}
    clock = clock_of(rd.topology.ring(3), rd.Conditions(latency=latency))
    clock.arrive(clock.depart(8))
    assert clock.seconds.tolist() == [4.0, 2.0, 4.0]


def test_conditions_of_time_leave_the_numbers_alone():
    """The same iterates, metrics and counts as without a clock; and the clock differs by seed, not by record."""
    ideal, timed = run(None), run(ROUGH)
    shared = [name for name in ideal.history if name not in ("seconds", "evaluation_seconds")]
    assert ideal.history[shared].equals(timed.history[shared]) and "sim_seconds" not in ideal.history
    assert np.array_equal(ideal.arrays["Z"], timed.arrays["Z"]) and ideal.ledger == timed.ledger
    assert run(ROUGH, record_every=23).history.sim_seconds.iloc[-1] == timed.history.sim_seconds.iloc[-1]
    assert run(ROUGH, seed=2).history.sim_seconds.iloc[-1] != timed.history.sim_seconds.iloc[-1]


def test_draws_have_the_mean_that_they_are_said_to_have():
    """Many spells of work under an exponential price."""
    clock = clock_of(RING, rd.Conditions(gradient_seconds="exponential-0.5"))
    for iteration in range(2000):
        clock.begin(iteration)
        clock.work([1] * 8)
    assert clock.seconds.mean() / 2000 == pytest.approx(0.5, rel=0.05)
    assert len(set(clock.seconds)) == 8


@pytest.fixture(scope="module")
def expected():
    return run(ROUGH)


def resumed(first, second):
    def way(folder):
        run(ROUGH, iterations=13, checkpoint_every=4, directory=folder / "r", backend=first)
        return rd.resume(folder / "r", iterations=23, backend=second, problem=game())

    return way


def killed(folder):
    problem = Sabotaged(game(), "kill", agent=5, call=12, flag=folder / "killed")
    backend = rd.RayBackend(agents_per_actor=[3, 5])
    result = rd.run(problem, RING, METHOD, iterations=23, record_every=5, seed=1, backend=backend, conditions=ROUGH)
    assert [event["agents"] for event in result.recoveries] == [[3, 4, 5, 6, 7]]
    return result


WAYS = {
    "actors": lambda folder: run(ROUGH, backend="ray"),
    "packed": lambda folder: run(ROUGH, backend=rd.RayBackend(agents_per_actor=[3, 5])),
    "packed, ray links": lambda folder: run(ROUGH, backend=rd.RayBackend(agents_per_actor=4, links="ray")),
    "resumed": resumed("local", "local"),
    "resumed on actors": resumed("local", rd.RayBackend(agents_per_actor=4)),
    "killed": killed,
}


@pytest.mark.usefixtures("shared_ray")
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_clock_has_the_same_bits_everywhere(way, expected, tmp_path):
    """Backend, packing, links, resumption and a lost actor leave no trace in it."""
    found = way(tmp_path)
    assert_same_bits(found, expected)
    assert found.record.conditions == ROUGH


def test_one_machine_has_a_clock_too():
    """No messages: gradients alone take time."""
    result = rd.run(game().pooled(), rd.topology.ring(1), rd.GDA(eta=0.05, gamma=0.3), iterations=3, backend="local",
                    conditions=rd.Conditions(gradient_seconds=0.5, latency=9.0))  # fmt: skip
    assert result.history.sim_seconds.iloc[-1] == result.ledger.sfo / 2
