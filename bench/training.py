"""One training step of the same network in frazil and in NumPy."""

import numpy as np

import frazil as fz
from frazil import nn, optim

SIZES = (64, 128, 10)
BATCH = 64


def _data():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((BATCH, SIZES[0]), dtype=np.float32)
    return x, rng.integers(0, SIZES[-1], BATCH)


class Frazil:
    """fz.nn and fz.optim, as a user writes it."""

    def __init__(self):
        x, y = _data()
        self.x, self.y = fz.asarray(x), fz.asarray(y)
        self.model = nn.Sequential(
            nn.Linear(SIZES[0], SIZES[1]), nn.ReLU(), nn.Linear(SIZES[1], SIZES[2])
        )
        self.optimizer = optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)

    def step(self):
        self.optimizer.zero_grad()
        loss = nn.cross_entropy(self.model(self.x), self.y)
        loss.backward()
        self.optimizer.step()
        return loss


class NumPy:
    """The same, with the gradients written by hand."""

    def __init__(self):
        self.x, self.y = _data()
        rng = np.random.default_rng(1)
        self.parameters = []
        for n, m in zip(SIZES, SIZES[1:], strict=False):
            self.parameters += [
                (rng.random((n, m), dtype=np.float32) - 0.5) / 8,
                np.zeros(m, np.float32),
            ]
        self.velocities = [np.zeros_like(p) for p in self.parameters]

    def step(self):
        w1, b1, w2, b2 = self.parameters
        h = self.x @ w1 + b1
        r = np.maximum(h, 0)
        logits = r @ w2 + b2
        z = logits - logits.max(axis=1, keepdims=True)
        e = np.exp(z)
        total = e.sum(axis=1, keepdims=True)
        rows = np.arange(BATCH)
        loss = (np.log(total[:, 0]) - z[rows, self.y]).mean()
        d = e / total
        d[rows, self.y] -= 1
        d /= BATCH
        dh = (d @ w2.T) * (h > 0)
        gradients = (self.x.T @ dh, dh.sum(axis=0), r.T @ d, d.sum(axis=0))
        for p, g, v in zip(self.parameters, gradients, self.velocities, strict=True):
            v *= np.float32(0.9)
            v += g
            p -= np.float32(0.01) * v
        return loss
