"""Conway's Game of Life on a torus: a glider moves, random cells settle down."""

import frazil as fz

GLIDER = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]


@fz.trace
def step(alive):
    rows = alive + fz.roll(alive, 1, axis=0) + fz.roll(alive, -1, axis=0)
    around = rows + fz.roll(rows, 1, axis=1) + fz.roll(rows, -1, axis=1) - alive
    return ((around == 3) | ((around == 2) & (alive == 1))).astype(fz.int8)


def run(alive, steps):
    for _ in range(steps):
        alive = step(alive)
    return alive


def main(small=False):
    n, rounds = (32, 8) if small else (512, 500)
    glider = fz.zeros((n, n), dtype=fz.int8)
    glider[:3, :3] = fz.asarray(GLIDER, dtype=fz.int8)
    moved = run(glider, 4 * rounds)
    wrong = fz.count_nonzero(moved != fz.roll(glider, (rounds, rounds), axis=(0, 1)))
    fz.random.seed(0)
    soup = (fz.random.uniform((n, n)) < 0.3).astype(fz.int8)
    return {
        "quality": wrong.item(),
        "of": "cells wrong",
        "figure": {"image": run(soup, rounds)},
        "traced": step,
    }
