"""NumPy."""

import math

import numpy as np


def peer(small=False):
    n, sweeps, warm = (32, 300, 100) if small else (256, 2000, 500)
    temperature = 2.0
    rng = np.random.default_rng(0)
    rows = np.arange(n)
    black = (rows[:, None] + rows) % 2 == 0
    spins = np.ones((n, n), np.float32)
    magnetization = []
    for i in range(sweeps):
        for colour in (black, ~black):
            around = sum(np.roll(spins, shift, axis=axis) for shift in (1, -1) for axis in (0, 1))
            chance = np.exp(-2 / temperature * spins * around)
            flips = colour & (rng.random(spins.shape, np.float32) < chance)
            spins = np.where(flips, -spins, spins)
        if i >= warm:
            magnetization.append(np.mean(spins))
    onsager = (1 - math.sinh(2 / temperature) ** -4) ** (1 / 8)
    return abs(np.mean(magnetization) - onsager)
