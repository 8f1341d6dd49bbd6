"""Stars that attract each other, by leapfrog: all pairs, with softened forces.

What is measured is the total energy, which the symplectic steps nearly keep.
"""

import frazil as fz


def acceleration(position, mass, softening):
    apart = position[None, :, :] - position[:, None, :]
    squared = fz.sum(apart**2, axis=-1) + softening**2
    return fz.sum(apart * (mass / (squared * fz.sqrt(squared)))[:, :, None], axis=1)


@fz.trace
def step(position, velocity, mass, dt, softening):
    velocity = velocity + dt / 2 * acceleration(position, mass, softening)
    position = position + dt * velocity
    return position, velocity + dt / 2 * acceleration(position, mass, softening)


def energy(position, velocity, mass, softening):
    apart = position[None, :, :] - position[:, None, :]
    distance = fz.sqrt(fz.sum(apart**2, axis=-1) + softening**2)
    pairs = fz.triu(mass[:, None] * mass / distance, k=1)
    return fz.sum(mass * fz.sum(velocity**2, axis=-1)) / 2 - fz.sum(pairs)


def main(small=False):
    n, steps, dt, softening = (32, 50, 0.002, 0.05) if small else (512, 500, 0.002, 0.05)
    fz.random.seed(0)
    position = fz.random.normal((n, 3), dtype=fz.float64)
    around = fz.asarray([0.0, 0.0, 0.6], dtype=fz.float64)
    velocity = fz.cross(fz.broadcast_to(around, (n, 3)), position)
    mass = fz.full(n, 1 / n, dtype=fz.float64)
    first = energy(position, velocity, mass, softening)
    for _ in range(steps):
        position, velocity = step(position, velocity, mass, dt, softening)
    last = energy(position, velocity, mass, softening)
    return {
        "quality": abs(last / first - 1).item(),
        "of": "relative change of energy",
        "figure": {"points": {"stars": position[:, :2]}},
        "traced": step,
    }
