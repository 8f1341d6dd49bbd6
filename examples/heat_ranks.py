"""The heat equation in a plate, of which each process has some rows.

    mpirun -n 4 ./dev python examples/heat_ranks.py
    ./dev python examples/heat_ranks.py

Explicit steps of the five-point stencil; the plate's edges are held at 0. A part needs one row of
either neighbour in each step, which `halo` fetches. However many processes compute it, the plate
has the bits that one process computes.
"""

import time

import frazil as fz

ROWS, COLUMNS, STEPS = 512, 512, 200


def plate(rows, columns):
    """Hot in the middle."""
    y, x = fz.arange(rows, dtype="float64")[:, None], fz.arange(columns, dtype="float64")
    distance = (y - rows / 2) ** 2 / rows**2 + (x - columns / 2) ** 2 / columns**2
    return fz.exp(-20 * distance)


@fz.trace
def step(part):
    """One step of a part of the rows."""
    u = fz.pad(fz.distributed.halo(part), ((0, 0), (1, 1)))
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return part + 0.2 * (around - 4 * part)


def solve(rows, columns, steps):
    """This rank's rows after so many steps; `rows` is a multiple of the number of ranks."""
    rank, size = fz.distributed.rank(), fz.distributed.size()
    own = rows // size
    part = plate(rows, columns)[rank * own : (rank + 1) * own] * 1
    for _ in range(steps):
        part = step(part)
    return part


def main():
    fz.distributed.init()
    begin = time.perf_counter()
    part = solve(ROWS, COLUMNS, STEPS)
    heat = fz.distributed.all_reduce(part.sum())
    if fz.distributed.rank() == 0:
        seconds = time.perf_counter() - begin
        print(f"{fz.distributed.size()} processes: heat {heat.item():.3f} after {seconds:.2f} s.")


if __name__ == "__main__":
    main()
