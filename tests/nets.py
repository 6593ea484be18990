"""Small learning tasks for nets that play against an adversary."""

import numpy as np

import raydream as rd

CLASSES = 3


def blobs(agents=4, rows=30, size=5, seed=0):
    """Rows around three centres, a few more of one class with each agent."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(CLASSES, size)) * 1.5
    data = []
    for i in range(agents):
        labels = generator.choice(CLASSES, size=rows, p=np.roll([0.6, 0.3, 0.1], i))
        data.append((centres[labels] + generator.normal(size=(rows, size)), labels))
    return data


def images(agents=3, rows=16, seed=0):
    """Noisy 8 x 8 pictures of a bar: upright, level or none."""
    generator = np.random.default_rng(seed)
    bars = np.zeros((CLASSES, 1, 8, 8))
    bars[0, 0, :, 3:5] = bars[1, 0, 3:5, :] = 2.0
    data = []
    for _ in range(agents):
        labels = generator.integers(CLASSES, size=rows)
        data.append((bars[labels] + generator.normal(size=(rows, 1, 8, 8)), labels))
    return data


def robust(agents=4):
    """Robust logistic regression, and what a loss of one's own needs to pose it again: rows, labels, places in y."""
    features, labels = rd.data.load("synthetic", samples=160, features=8)
    problem = rd.problems.RobustLogisticRegression(features, labels, agents)
    N = problem.total
    parts = (np.split(array, agents) for array in (features.toarray()[:N], labels[:N], np.arange(N)))
    return problem, list(zip(*parts, strict=True))
