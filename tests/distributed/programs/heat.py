"""examples/heat_ranks.py on all ranks against one process, bit for bit."""

import sys
from pathlib import Path

import numpy as np
from saying import say

import frazil as fz

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
import heat_ranks

fz.distributed.init()
ROWS, COLUMNS, STEPS = 24, 10, 12


def alone():
    u = heat_ranks.plate(ROWS, COLUMNS)
    for _ in range(STEPS):
        v = fz.pad(u, ((1, 1), (1, 1)))
        around = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:]
        u = u + 0.2 * (around - 4 * u)
    return u


whole = fz.distributed.all_gather(heat_ranks.solve(ROWS, COLUMNS, STEPS))
same = np.asarray(whole).tobytes() == np.asarray(alone()).tobytes()
say({"same": same, "stats": dict(heat_ranks.step.stats())})
