"""The Ising model: spins on a torus, Metropolis flips on the two colours of a chessboard.

Below the critical temperature the spins agree as Onsager's formula says.
"""

import math

import frazil as fz


@fz.trace
def sweep(spins, black, coupling):
    for colour in (black, ~black):
        around = sum(fz.roll(spins, shift, axis=axis) for shift in (1, -1) for axis in (0, 1))
        chance = fz.exp(-2 * coupling * spins * around)
        flips = colour & (fz.random.uniform(spins.shape) < chance)
        spins = fz.where(flips, -spins, spins)
    return spins


def main(small=False):
    n, sweeps, warm = (32, 300, 100) if small else (256, 2000, 500)
    temperature = 2.0
    fz.random.seed(0)
    rows = fz.arange(n)
    black = (rows[:, None] + rows) % 2 == 0
    spins = fz.ones((n, n))
    magnetization = []
    for i in range(sweeps):
        spins = sweep(spins, black, 1 / temperature)
        if i >= warm:
            magnetization.append(fz.mean(spins))
    onsager = (1 - math.sinh(2 / temperature) ** -4) ** (1 / 8)
    measured = fz.stack(magnetization)
    return {
        "quality": abs(fz.mean(measured).item() - onsager),
        "of": "error of the magnetization",
        "figure": {"image": spins, "magnetization": measured},
        "traced": sweep,
    }
