"""NumPy."""

import numpy as np
from sklearn.datasets import load_digits


def squared_distances(x, y):
    return np.sum(x**2, axis=1)[:, None] + np.sum(y**2, axis=1) - 2 * (x @ y.T)


def peer(small=False):
    count, rounds = (600, 15) if small else (1797, 50)
    data = load_digits()
    x, y = data.data[:count], data.target[:count]
    centred = x - x.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    z = centred @ directions[:16].T
    centres = z[np.random.default_rng(0).permutation(count)[:10]]
    for _ in range(rounds):
        distances = squared_distances(z, centres)
        member = np.eye(10)[np.argmin(distances, axis=1)]
        sizes = np.maximum(member.sum(axis=0), 1)
        centres = member.T @ z / sizes[:, None]
    held, right = count // 5, []
    for at in range(0, held, held // 8):
        part = slice(at, min(at + held // 8, held))
        nearest = np.argpartition(squared_distances(z[part], z[held:]), 5, axis=1)[:, :5]
        votes = np.eye(10)[y[held:][nearest]].sum(axis=1)
        right.append(np.argmax(votes, axis=1) == y[part])
    return np.concatenate(right).mean()
