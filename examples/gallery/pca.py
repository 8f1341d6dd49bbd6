"""Handwritten digits without a network: PCA, k-means, and the nearest neighbours of each."""

from sklearn.datasets import load_digits

import frazil as fz


def principal_components(x, count):
    """`x` in the directions of its largest variances."""
    centred = x - fz.mean(x, axis=0)
    _, _, directions = fz.linalg.svd(centred, full_matrices=False)
    return centred @ directions[:count].T


def squared_distances(x, y):
    squares = fz.sum(x**2, axis=1)[:, None] + fz.sum(y**2, axis=1)
    return squares - 2 * (x @ y.T)


@fz.trace
def lloyd(x, centres):
    """A step of k-means: new centres, and the mean squared distance to the old ones."""
    distances = squared_distances(x, centres)
    member = fz.nn.functional.one_hot(fz.argmin(distances, axis=1), centres.shape[0]).astype(
        x.dtype
    )
    count = fz.maximum(fz.sum(member, axis=0), 1)
    return member.T @ x / count[:, None], fz.mean(fz.min(distances, axis=1))


@fz.trace
def classify(x, y, queries, k):
    """The label that most of the k nearest have."""
    _, nearest = fz.topk(-squared_distances(queries, x), k)
    votes = fz.nn.functional.one_hot(y[nearest], 10)
    return fz.argmax(fz.sum(votes, axis=1), axis=1)


def main(small=False):
    count, rounds = (600, 15) if small else (1797, 50)
    data = load_digits()
    x = fz.asarray(data.data[:count])
    y = fz.asarray(data.target[:count])
    z = principal_components(x, 16)
    fz.random.seed(0)
    centres = z[fz.random.permutation(count)[:10]]
    inertia = []
    for _ in range(rounds):
        centres, mean = lloyd(z, centres)
        inertia.append(mean)
    held = count // 5
    right = fz.concat([
        classify(z[held:], y[held:], queries, 5) == labels
        for queries, labels in fz.data.batches(z[:held], y[:held], batch_size=held // 8)
    ])  # fmt: skip
    return {
        "quality": fz.mean(right.astype(fz.float64)).item(),
        "of": "digits read right by 5 neighbours",
        "figure": {
            "points": {str(d): z[y == d][:, :2] for d in range(10)},
            "inertia": fz.stack(inertia),
        },
        "traced": lloyd,
    }
