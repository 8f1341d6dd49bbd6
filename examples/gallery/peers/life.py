"""NumPy."""

import numpy as np

GLIDER = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]


def run(alive, steps):
    for _ in range(steps):
        rows = alive + np.roll(alive, 1, axis=0) + np.roll(alive, -1, axis=0)
        around = rows + np.roll(rows, 1, axis=1) + np.roll(rows, -1, axis=1) - alive
        alive = ((around == 3) | ((around == 2) & (alive == 1))).astype(np.int8)
    return alive


def peer(small=False):
    n, rounds = (32, 8) if small else (512, 500)
    glider = np.zeros((n, n), dtype=np.int8)
    glider[:3, :3] = GLIDER
    moved = run(glider, 4 * rounds)
    run((np.random.default_rng(0).random((n, n)) < 0.3).astype(np.int8), rounds)
    return np.count_nonzero(moved != np.roll(glider, (rounds, rounds), axis=(0, 1)))
