"""How fast are many agents in one process? GT-GDA on games and on sparse data, beside plain NumPy loops.

    python experiments/benchmarks/table.py --only agents

A game has 64 + 64 numbers and three matrices of 64 x 64 per agent (about 100 MB for 1000 agents, all of it read in
every iteration). Group DRO has 20 sparse rows of 30 features per agent and one weight for each agent; robust logistic
regression has 4 sparse rows of 30 features per agent and one weight for each row. The plain loops take turns with
raydream's, which also counts, checks that gradients are finite and keeps agents apart. Each number of agents is a
process of its own, so that its memory is its own (the most it has had); "packed" is the same on Ray, as many actors as
there are CPUs, and the driver's memory is what it has while they run, its part of what it shares (PSS).
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from measuring import Row, in_turns
from scipy.special import expit
from starting import megabytes
from threadpoolctl import threadpool_limits

import raydream as rd
from raydream.backends.plan import Plan
from raydream.constraints import Everything

METHOD = rd.GTGDA(eta=1e-3, gamma=1.0)
STEPS = 3  # of each loop before it is the other's turn
REPEATS = 9
SIZES = {1000: (70.0, 1.0, 0.5), 4000: (17.0, None, None), 10_000: (None, None, None)}  # least rate, most s and GB
DRIVER = 0.3  # gigabytes


def memory() -> float:
    """The most gigabytes that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


class Plain:
    """GT-GDA by combine-then-adapt on all rows at once: Z+ = W Z -+ steps W S, S+ = W S + G+ - G."""

    def __init__(self, W: Any, start: np.ndarray, dim_x: int, gradient: Callable[[Any], Any]) -> None:
        self.W, self.gradient = W, gradient
        self.Z, self.steps = start.copy(), np.full(start.shape[1], METHOD.eta)
        self.steps[:dim_x] *= -METHOD.gamma
        self.G = gradient(self.Z)
        self.S = self.G.copy()

    def step(self) -> None:
        """One iteration."""
        WZ, WS = self.W @ self.Z, self.W @ self.S
        self.Z = WZ + self.steps * WS
        fresh = self.gradient(self.Z)
        self.S, self.G = WS + fresh - self.G, fresh


def of_game(game: Any) -> Callable[[Any], Any]:
    """All agents' gradients of a game, as one batched product for each matrix."""
    A, B, C, p, q = game.forms.parts
    dim = A.shape[1]

    def gradient(Z: Any) -> Any:
        X, Y = (np.ascontiguousarray(part)[:, :, None] for part in (Z[:, :dim], Z[:, dim:]))
        gx, gy = (A @ X + B @ Y)[:, :, 0] + p, (np.swapaxes(B, 1, 2) @ X - C @ Y)[:, :, 0] + q
        return np.concatenate([gx, gy], axis=1)

    return gradient


def of_groups(problem: Any) -> Callable[[Any], Any]:
    """All agents' gradients of group DRO, from one sparse matrix of all rows."""
    features, labels, m = problem.features, problem.labels, problem.agents
    n, d = problem.samples, features.shape[1]
    owner = np.repeat(np.arange(m), n)
    entry_owner = np.repeat(owner, np.diff(features.indptr))
    row = np.repeat(np.arange(m * n), np.diff(features.indptr))
    place = entry_owner * d + features.indices
    weights = problem.weights[problem.groups] / n

    def gradient(Z: Any) -> Any:
        flat = np.ascontiguousarray(Z[:, :d]).reshape(-1)
        scores = np.bincount(row, features.data * flat[place], minlength=m * n)
        Y = Z[:, d:]
        slopes = weights * Y[owner, problem.groups] * -labels * expit(-labels * scores)
        gx = np.bincount(place, features.data * slopes[row], minlength=m * d).reshape(m, d)
        paid = weights * np.logaddexp(0, -labels * scores)
        losses = np.bincount(owner * Y.shape[1] + problem.groups, paid, minlength=Y.size)
        gy = losses.reshape(Y.shape) - problem.lam * (Y - problem.centre)
        return np.concatenate([gx + problem.penalty.gradient(Z[:, :d]), gy], axis=1)

    return gradient


def of_samples(problem: Any) -> Callable[[Any], Any]:
    """All agents' gradients of robust logistic regression, from one sparse matrix of all rows."""
    features, m, n, d = problem.features, problem.agents, problem.samples, problem.features.shape[1]
    owner = np.repeat(np.arange(m), n)
    row = np.repeat(np.arange(m * n), np.diff(features.indptr))
    place, values = owner[row] * d + features.indices, features.data * problem.labels[row]
    mine, r = (owner, d + np.arange(m * n)), problem.radius

    def gradient(Z: Any) -> Any:
        flat = np.ascontiguousarray(Z[:, :d]).reshape(-1)
        margins = np.bincount(row, values * flat[place], minlength=m * n)
        slopes = -r / n * Z[mine] * expit(-margins)
        G = r / problem.total - Z
        G[:, :d] = np.bincount(place, values * slopes[row], minlength=m * d).reshape(m, d)
        G[:, :d] += problem.penalty.gradient(Z[:, :d])
        G[mine] += r / n * np.logaddexp(0, -margins)
        return G

    return gradient


class Turns:
    """Iterations of raydream and of the plain loop, each a call that says how many it makes a second."""

    def __init__(self, problem: Any, gradient: Callable[[Any], Any]) -> None:
        ring = rd.topology.ring(problem.agents)
        self._project = None if isinstance(problem.constraint, Everything) else problem.constraint.project
        self._session = rd.LocalBackend().open(Plan.build(problem, ring, METHOD, warn=False))
        self._session.init(())
        start = np.tile(np.concatenate(problem.start()), (problem.agents, 1))
        self._plain, self._dim_x = Plain(ring.W, start, problem.dim_x, gradient), problem.dim_x

    def ours(self) -> float:
        """Iterations a second."""
        began = time.perf_counter()
        self._session.advance(0, [False] * STEPS, None, ())
        return STEPS / (time.perf_counter() - began)

    def theirs(self) -> float:
        """Iterations a second of the plain loop, which projects with the package's projection."""
        began = time.perf_counter()
        for _ in range(STEPS):
            self._plain.step()
            if self._project is not None:
                y = np.ascontiguousarray(self._plain.Z[:, self._dim_x :])
                self._plain.Z[:, self._dim_x :] = self._project(y)
        return STEPS / (time.perf_counter() - began)

    def measured(self, repeats: int) -> list[list[float]]:
        """The figures of both."""
        return list(in_turns({"ours": self.ours, "theirs": self.theirs}, repeats).values())


def game_of(agents: int) -> Any:
    """The game of the benchmark."""
    return rd.problems.QuadraticGame.random(agents, samples=1, dim_x=64, dim_y=64, seed=0)


def local_game(agents: int, repeats: int) -> dict[str, Any]:
    """What a game of so many agents takes in this process."""
    game_of(2)
    began = time.perf_counter()
    game = game_of(agents)
    built = time.perf_counter() - began
    rd.run(game, rd.topology.ring(agents), METHOD, iterations=1, backend="local", progress=False)
    used = memory()
    ours, theirs = Turns(game, of_game(game)).measured(repeats)
    return {"built": built, "memory": used, "ours": ours, "theirs": theirs}


def packed_game(agents: int, repeats: int) -> dict[str, Any]:
    """The same on as many actors as there are CPUs."""
    game = game_of(agents)
    plan = Plan.build(game, rd.topology.ring(agents), METHOD, warn=False)
    session = rd.RayBackend(agents_per_actor="auto").open(plan)
    try:
        session.init(())
        rates = []
        for block in range(repeats):
            began = time.perf_counter()
            session.advance(10 * STEPS * block, [False] * 10 * STEPS, None, ())
            rates.append(10 * STEPS / (time.perf_counter() - began))
        return {"memory": megabytes(os.getpid()) / 1e3, "ours": rates}
    finally:
        session.close()


def sparse(name: str, agents: int, repeats: int) -> dict[str, Any]:
    """Problems with little data for each agent."""
    per = 25 if name == "group DRO" else 4
    data = rd.data.synthetic(samples=per * agents, features=30, density=0.3, seed=0)
    makers = {
        "group DRO": (rd.problems.GroupDRO, of_groups),
        "robust logistic": (rd.problems.RobustLogisticRegression, of_samples),
    }
    make, gradient = makers[name]
    problem = make(*data, agents)
    ours, theirs = Turns(problem, gradient(problem)).measured(repeats)
    return {"ours": ours, "theirs": theirs}


def rows(quick: bool = False) -> Iterator[Row]:
    """Games in one process and packed, then sparse problems."""
    repeats, first = (2, 20) if quick else (REPEATS, 1000)
    for agents, (rate, seconds, gigabytes) in ({20: (None, None, None)} if quick else SIZES).items():
        work, found = f"game of {agents} agents, local", _apart("local_game", agents, repeats)
        yield Row(work, found["ours"], "it/s", found["theirs"], "plain loop", least=rate, on_ratio=False)
        yield Row(f"{work}: built", [found["built"]], "s", most=seconds)
        yield Row(f"{work}: memory", [found["memory"]], "GB", most=gigabytes)
        if agents == first:
            packed = _apart("packed_game", agents, repeats)
            work = f"game of {agents} agents, packed on Ray"
            yield Row(work, packed["ours"], "it/s", found["ours"], "local", least=1.0)
            yield Row(f"{work}: memory of the driver", [packed["memory"]], "GB", most=DRIVER)
    for name in ("group DRO", "robust logistic"):
        found = _apart("sparse", name, first, repeats)
        yield Row(f"{name}, {first} agents", found["ours"], "it/s", found["theirs"], "plain loop", least=0.5)


def _apart(function: str, *arguments: Any) -> dict[str, Any]:
    """What a function of this file finds in a process of its own."""
    command = [sys.executable, __file__, json.dumps([function, *arguments])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise RuntimeError(f"{function}{arguments} failed: {done.stderr[-500:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    """Be that process."""
    name, *arguments = json.loads(sys.argv[1])
    functions = {"local_game": local_game, "packed_game": packed_game, "sparse": sparse}
    with threadpool_limits(1, "blas"):
        print(json.dumps(functions[name](*arguments)))


if __name__ == "__main__":
    main()
