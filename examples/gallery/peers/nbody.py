"""NumPy."""

import numpy as np


def peer(small=False):
    n, steps, dt, softening = (32, 50, 0.002, 0.05) if small else (512, 500, 0.002, 0.05)
    position = np.random.default_rng(0).normal(size=(n, 3))
    velocity = np.cross([0.0, 0.0, 0.6], position)

    def pull():
        apart = position[None, :, :] - position[:, None, :]
        squared = np.sum(apart**2, axis=-1) + softening**2
        return np.sum(apart * (1 / n / (squared * np.sqrt(squared)))[:, :, None], axis=1)

    def energy():
        apart = position[None, :, :] - position[:, None, :]
        distance = np.sqrt(np.sum(apart**2, axis=-1) + softening**2)
        pairs = np.triu(1 / n**2 / distance, k=1)
        return np.sum(velocity**2) / n / 2 - np.sum(pairs)

    first = energy()
    for _ in range(steps):
        velocity = velocity + dt / 2 * pull()
        position = position + dt * velocity
        velocity = velocity + dt / 2 * pull()
    return abs(energy() / first - 1)
