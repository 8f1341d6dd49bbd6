"""The wave equation on a drum with a square edge, by leapfrog; it should keep its energy.

A drop falls beside the middle, and its rings run against the edge and back.
"""

import frazil as fz


def laplacian(u):
    inner = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    return fz.pad(inner, 1)


@fz.trace
def step(u, before, courant):
    return 2 * u - before + courant**2 * laplacian(u), u


def energy(u, before, courant):
    """Of leapfrog, which keeps it up to rounding: motion, and tension between two times."""
    moved = fz.sum((u - before) ** 2)
    return moved - courant**2 * fz.sum(u * laplacian(before))


def main(small=False):
    n, steps, courant = (41, 100, 0.5) if small else (301, 1500, 0.5)
    x = fz.linspace(-1, 1, n, dtype=fz.float64)
    distance = (x[:, None] - 0.3) ** 2 + (x + 0.2) ** 2
    inside = (fz.abs(x) < 1)[:, None] & (fz.abs(x) < 1)
    u = fz.where(inside, fz.exp(-60 * distance), 0.0)
    before = u
    first = energy(u, before, courant)
    heights = []
    for _ in range(steps):
        u, before = step(u, before, courant)
        heights.append(u[n // 2, n // 2])
    return {
        "quality": abs(energy(u, before, courant) / first - 1).item(),
        "of": "relative change of energy",
        "figure": {"image": u, "height": fz.stack(heights)},
        "traced": step,
    }
