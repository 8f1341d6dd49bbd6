"""The heat equation on a square plate, by explicit differences; the edge is kept at zero.

The first temperature is the lowest mode of the plate, which decays as exp(-2 pi^2 t).
"""

import math

import frazil as fz


@fz.trace
def step(u, rate):
    inner = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return fz.pad(inner + rate * (around - 4 * inner), 1)


def main(small=False):
    n, steps = (33, 200) if small else (257, 2000)
    dx = 1 / (n - 1)
    dt = 0.2 * dx**2
    x = fz.linspace(0, 1, n, dtype=fz.float64)
    first = fz.sin(math.pi * x)[:, None] * fz.sin(math.pi * x)
    u = first
    for _ in range(steps):
        u = step(u, dt / dx**2)
    exact = first * math.exp(-2 * math.pi**2 * dt * steps)
    return {
        "quality": fz.max(fz.abs(u - exact)).item(),
        "of": "largest error",
        "figure": {"image": u},
        "traced": step,
    }
