"""What share of a run is evaluation, where P has no formula? Five problems of the field, as a user writes them.

    python experiments/benchmarks/evaluation.py [--iterations 300]

8 agents in a ring in this process, 200 samples each, DREAM with b = 16, a record every 10 iterations. Each problem is
run twice, in turn: with the inner maximiser of the package at its usual tolerance, from y_bar; and with the one that
the package had before, accelerated ascent from 0 with steps that only shrink, to 1e-12. The table gives the share of
the wall time that evaluation took, the largest difference between the two P (relative), and the largest proven error.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import raydream as rd
from raydream.constraints import Ball, Everything, Simplex
from raydream.types import Array

AGENTS, SAMPLES, FEATURES = 8, 200, 20
Parts = Callable[..., tuple[float, Array, Array]]
MOST = 1 / 3  # what evaluation should take


def own(
    parts: Parts, data: list[tuple[Array, ...]], dim_x: int, dim_y: int, mu: float, Y: Any
) -> rd.problems.FromFunctions:
    """A problem that says nothing of P but its curvature; `parts` gives value and gradients over some rows."""
    return rd.problems.FromFunctions(
        value=lambda *given: float(parts(*given)[0]), gradient=lambda *given: parts(*given)[1:],
        data=data, dim_x=dim_x, dim_y=dim_y, constraint=Y, mu=mu,
    )  # fmt: skip


def rows(classes: int = 2) -> list[tuple[Array, Array, Array]]:
    """Features, labels 0, 1, ... and groups, shifted from agent to agent."""
    generator = np.random.default_rng(0)
    truth = generator.normal(size=(FEATURES, classes))
    found = []
    for i in range(AGENTS):
        A = generator.normal(size=(SAMPLES, FEATURES)) / np.sqrt(FEATURES) + 0.05 * (i - AGENTS / 2)
        labels = np.argmax(A @ truth + 0.1 * generator.normal(size=(SAMPLES, classes)), axis=1)
        found.append((A, labels, generator.integers(5, size=SAMPLES)))
    return found


def auc() -> rd.problems.FromFunctions:
    """min over (w, a, b) max over y: the square-loss AUC saddle of share p of positives."""
    data = [(A, labels) for A, labels, _ in rows()]
    p = float(np.mean([labels.mean() for _, labels in data]))

    def parts(x: Array, y: Array, A: Array, labels: Array) -> tuple[float, Array, Array]:
        w, a, b = x[:-2], x[-2], x[-1]
        s, up, down = A @ w, labels == 1, labels == 0
        lift = (1 + y[0]) * (p * down - (1 - p) * up)
        value = (1 - p) * (s - a) ** 2 * up + p * (s - b) ** 2 * down + 2 * lift * s - p * (1 - p) * y[0] ** 2
        slope = 2 * (1 - p) * (s - a) * up + 2 * p * (s - b) * down + 2 * lift
        n = len(labels)
        ga, gb = -2 * (1 - p) * ((s - a) * up).mean(), -2 * p * ((s - b) * down).mean()
        gy = 2 * ((p * down - (1 - p) * up) * s).mean() - 2 * p * (1 - p) * y[0]
        return value.mean(), np.concatenate([A.T @ slope / n, [ga, gb]]), np.array([gy])

    return own(parts, data, FEATURES + 2, 1, 2 * p * (1 - p), Everything())


def weighted(which: int, count: int) -> rd.problems.FromFunctions:
    """min over x max over the simplex of sum_g y_g (mean loss in group g) - (1/2)|y - 1/G|^2, softmax loss."""
    data = [(A, labels, one[which]) for one in rows(3) for A, labels in [one[:2]]]

    def parts(x: Array, y: Array, A: Array, labels: Array, groups: Array) -> tuple[float, Array, Array]:
        X = x.reshape(FEATURES, 3)
        scores = A @ X
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        shares /= shares.sum(axis=1, keepdims=True)
        n = len(labels)
        losses = -np.log(shares[np.arange(n), labels])
        shares[np.arange(n), labels] -= 1
        by_group = count * np.bincount(groups, losses, minlength=count) / n
        aside = y - 1 / count
        gx = count * (A.T @ (y[groups][:, None] * shares)) / n + 1e-3 * X
        return y @ by_group - aside @ aside / 2 + 5e-4 * x @ x, gx.ravel(), by_group - aside

    return own(parts, data, 3 * FEATURES, count, 1.0, Simplex(1.0))


def adversarial() -> rd.problems.FromFunctions:
    """Logistic regression against one perturbation of the features: mean log(1 + exp(-b (a + y)'x)) - (3/2)|y|^2."""
    data = [(A, 2.0 * labels - 1) for A, labels, _ in rows()]

    def parts(x: Array, y: Array, A: Array, signs: Array) -> tuple[float, Array, Array]:
        margins = signs * ((A + y) @ x)
        weights = -signs / (1 + np.exp(margins)) / len(signs)
        gx = (A + y).T @ weights + 0.1 * x
        value = np.logaddexp(0, -margins).mean() - 1.5 * y @ y + 0.05 * x @ x
        return value, gx, weights.sum() * x - 3 * y

    return own(parts, data, FEATURES, FEATURES, 1.0, Ball(1.0))


def policy_evaluation() -> rd.problems.FromFunctions:
    """Mean squared projected Bellman error: min over x max over y of y'(A x - b) - y'C y/2, private rewards."""
    generator = np.random.default_rng(1)
    features = generator.normal(size=(50, FEATURES)) / np.sqrt(FEATURES)
    chain = generator.dirichlet(np.full(50, 0.2), size=50)
    data = []
    for _ in range(AGENTS):
        states = generator.integers(50, size=SAMPLES)
        following = np.array([generator.choice(50, p=chain[s]) for s in states])
        data.append((features[states], features[following], generator.normal(size=50)[states]))

    def parts(x: Array, y: Array, now: Array, then: Array, rewards: Array) -> tuple[float, Array, Array]:
        step, n = now - 0.95 * then, len(rewards)
        error, at = step @ x - rewards, now @ y
        value = at @ error / n - (at @ at / n + 0.05 * y @ y) / 2 + 5e-3 * x @ x
        return value, step.T @ at / n + 1e-2 * x, now.T @ (error - at) / n - 0.05 * y

    return own(parts, data, FEATURES, FEATURES, 0.05, Everything())


PROBLEMS = {
    "AUC maximisation": auc,
    "fair classification": lambda: weighted(1, 3),
    "group DRO": lambda: weighted(2, 5),
    "adversarial training": adversarial,
    "policy evaluation": policy_evaluation,
}


class Earlier:
    """The same problem with the inner maximiser that the package had before, as a best response of its own."""

    def __init__(self, problem: rd.problems.FromFunctions) -> None:
        self.problem, self.agents, self.dim_x, self.dim_y = problem, AGENTS, problem.dim_x, problem.dim_y
        self.constraint, self.local = problem.constraint, problem.local
        self.shards = [problem.local(i) for i in range(AGENTS)]

    def best_response(self, x: Array) -> Array:
        """From 0, accelerated, steps halved where they do not fit, two gradients a step, to 1e-12."""

        def slope_at(y: Array) -> Array:
            return np.mean([shard.gradient(x, y)[1] for shard in self.shards], axis=0)

        step, momentum = 1.0, 1.0
        point = y = self.constraint.project(np.zeros(self.dim_y))
        for _ in range(20_000):
            slope = slope_at(point)
            while True:
                new = self.constraint.project(point + step * slope)
                move = new - point
                length = float(np.linalg.norm(move))
                if length <= 1e-12 * step * (1.0 + float(np.linalg.norm(slope))):
                    return new
                if step * float(np.linalg.norm(slope_at(new) - slope)) <= length:
                    break
                step *= 0.5
            if float(move @ (new - y)) < 0.0:
                momentum, point, y = 1.0, new, new
                continue
            following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            point, y, momentum = new + (momentum - 1.0) / following * (new - y), new, following
        raise RuntimeError("not found")


def share(history: Any) -> float:
    """Of the wall time that evaluation took."""
    last = history.iloc[-1]
    return float(last.evaluation_seconds / (last.evaluation_seconds + last.seconds))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--iterations", type=int, default=300)
    iterations = parser.parse_args().iterations
    ring, method = rd.topology.ring(AGENTS), rd.DREAM(eta=0.1, gamma=0.2, p=0.1, b=16, K=2)
    heads = ("before", "now", "now <= 1/3", "P differs by", "proven to", "|grad P| left")
    print(f"{'problem':22}", *(f"{head:>13}" for head in heads))
    for name, make in PROBLEMS.items():
        problem = make()
        options: dict[str, Any] = {"iterations": iterations, "backend": "local", "progress": False}
        before = rd.run(Earlier(problem), ring, method, **options).history
        now = rd.run(problem, ring, method, **options).history
        apart = float((abs(now.primal - before.primal) / (1 + abs(before.primal))).max())
        fall = float(now.grad_norm.iloc[-1] / now.grad_norm.iloc[0])
        print(
            f"{name:22} {share(before):13.0%} {share(now):13.0%} {'yes' if share(now) <= MOST else 'no':>13} "
            f"{apart:13.1e} {now.evaluation_error.max():13.1e} {fall:13.2g}"
        )


if __name__ == "__main__":
    main()
