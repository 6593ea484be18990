"""A sound problem of one's own that says all it can, and parts of it to be spoilt in one place each."""

import numpy as np

from raydream.constraints import Everything
from raydream.problems import Constants

AGENTS, SAMPLES = 3, 12


class Shard:
    """f_i(x, y) = mean_j [(a_j'x - t_j)^2 / 2 + (a_j'x + s_j) c_j'y] + rho ||x||^2 / 2 - mu ||y||^2 / 2."""

    rho, mu = 0.3, 1.5

    def __init__(self, i, dim_x=3, dim_y=4, samples=SAMPLES):
        self.agent, self.samples = i, samples
        generator = np.random.default_rng([7, i])
        self.a, self.c = generator.normal(size=(samples, dim_x)), generator.normal(size=(samples, dim_y))
        self.t, self.s = generator.normal(size=(2, samples))

    def value(self, x, y):
        along = self.a @ x
        mean = np.mean((along - self.t) ** 2 / 2 + (along + self.s) * (self.c @ y))
        return float(mean + self.rho * x @ x / 2 - self.mu * y @ y / 2)

    def gradient(self, x, y, batch=None):
        a, c, t, s = (part if batch is None else part[np.asarray(batch)] for part in (self.a, self.c, self.t, self.s))
        along = a @ x
        gx = a.T @ (along - t + c @ y) / len(a) + self.rho * x
        return gx, c.T @ (along + s) / len(a) - self.mu * y

    def hessians(self):
        """Those of the samples, stacked."""
        dim_x, dim_y = self.a.shape[1], self.c.shape[1]
        H = np.zeros((self.samples, dim_x + dim_y, dim_x + dim_y))
        H[:, :dim_x, :dim_x] = self.a[:, :, None] * self.a[:, None, :] + self.rho * np.eye(dim_x)
        H[:, :dim_x, dim_x:] = self.a[:, :, None] * self.c[:, None, :]
        H[:, dim_x:, :dim_x] = np.swapaxes(H[:, :dim_x, dim_x:], 1, 2)
        H[:, dim_x:, dim_x:] = -self.mu * np.eye(dim_y)
        return H


class Own:
    """The mean of the agents' functions, over a set Y with 0 in it."""

    def __init__(self, shard=Shard, constraint=None, agents=AGENTS, dim_x=3, dim_y=4, samples=SAMPLES):
        self.agents, self.dim_x, self.dim_y, self.samples = agents, dim_x, dim_y, samples
        self.constraint, self.shard = constraint or Everything(), shard

    def local(self, i):
        return self.shard(i, self.dim_x, self.dim_y, self.samples)

    def sound(self, i):
        """What agent i should own."""
        return Shard(i, self.dim_x, self.dim_y, self.samples)

    def start(self):
        return np.full(self.dim_x, 0.5), self.constraint.project(np.zeros(self.dim_y))

    def value(self, x, y):
        return float(np.mean([self.sound(i).value(x, y) for i in range(self.agents)]))

    def gradient(self, x, y):
        pairs = [self.sound(i).gradient(x, y) for i in range(self.agents)]
        return np.mean([gx for gx, _ in pairs], axis=0), np.mean([gy for _, gy in pairs], axis=0)

    def best_response(self, x):
        free = self.gradient(x, np.zeros(self.dim_y))[1] / Shard.mu
        return self.constraint.project(free)

    def primal(self, x):
        return self.value(x, self.best_response(x))

    def primal_gradient(self, x):
        return self.gradient(x, self.best_response(x))[0]

    def primal_and_gradient(self, x):
        return self.primal(x), self.primal_gradient(x)

    def primal_bound(self):
        return 0.0  # at y = 0 there are only squares

    def constants(self):
        H = np.stack([self.sound(i).hessians() for i in range(self.agents)])
        squares = np.linalg.eigvalsh((H @ H).mean(axis=1)).max()
        full = np.linalg.norm(H.mean(axis=1), 2, axis=(-2, -1)).max()
        return Constants(L=float(np.sqrt(squares)), mu=Shard.mu, L_full=float(full))

    def pooled(self):
        return Pooled(self)


class Pooled(Own):
    """All samples on one agent."""

    def __init__(self, own):
        super().__init__(constraint=own.constraint, agents=1, dim_x=own.dim_x, dim_y=own.dim_y,
                         samples=own.samples * own.agents)  # fmt: skip
        self.parts = [own.sound(i) for i in range(own.agents)]

    def local(self, i):
        shard = Shard(0, self.dim_x, self.dim_y, self.samples)
        for name in "acts":
            setattr(shard, name, np.concatenate([getattr(part, name) for part in self.parts]))
        return shard


def spoilt(**parts):
    """A shard of which some parts are others: functions of the sound shard and the arguments."""

    class Spoilt(Shard):
        pass

    for name, part in parts.items():
        setattr(Spoilt, name, part)
    return Spoilt


class Bare:
    """Only what must be said: agents, dimensions, and what each owns."""

    def __init__(self, shard=Shard, constraint=None, dim_x=3, dim_y=4):
        self.agents, self.dim_x, self.dim_y, self.shard = AGENTS, dim_x, dim_y, shard
        self.constraint = constraint

    def local(self, i):
        return self.shard(i, self.dim_x, self.dim_y)


def failing(verdict):
    """The failures by the name of the check."""
    return {one.check: one for one in verdict.failures}
