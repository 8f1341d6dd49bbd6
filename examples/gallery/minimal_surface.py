"""A soap film on a bent frame, by SciPy's L-BFGS over gradients of frazil.

The film is a grid of triangles of least area; the frame is cut from Scherk's surface, which is a
soap film everywhere, so the grid should find it again.
"""

import numpy as np
from scipy.optimize import minimize

import frazil as fz


def area(inner, frame, h):
    """Of the triangles, two for each square of the grid."""
    z = frame.copy()
    z[1:-1, 1:-1] = inner
    right, down = fz.diff(z, axis=1) / h, fz.diff(z, axis=0) / h
    upper = fz.sqrt(1 + right[:-1] ** 2 + down[:, :-1] ** 2)
    lower = fz.sqrt(1 + right[1:] ** 2 + down[:, 1:] ** 2)
    return (fz.sum(upper) + fz.sum(lower)) * (h * h / 2)


@fz.trace
def value_and_slope(inner, frame, h):
    return fz.value_and_grad(area)(inner, frame, h)


def main(small=False):
    n = 17 if small else 97
    x = fz.linspace(-1, 1, n, dtype=fz.float64)
    scherk = fz.log(fz.cos(x)[:, None] / fz.cos(x))
    frame, h = fz.pad(fz.zeros((n - 2, n - 2), dtype=fz.float64), 1), 2 / (n - 1)
    edge = fz.pad(fz.zeros((n - 2, n - 2), dtype=fz.bool), 1, constant_values=True)
    frame = fz.where(edge, scherk, frame)

    def objective(flat):
        value, slope = value_and_slope(fz.asarray(flat.reshape(n - 2, n - 2)), frame, h)
        return value.item(), np.asarray(slope).ravel()

    found = minimize(
        objective, np.zeros((n - 2) ** 2), jac=True, method="L-BFGS-B",
        options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 20},
    )  # fmt: skip
    film = frame.copy()
    film[1:-1, 1:-1] = fz.asarray(found.x.reshape(n - 2, n - 2))
    return {
        "quality": fz.max(fz.abs(film - scherk)).item(),
        "of": "largest error",
        "figure": {"image": film},
        "traced": value_and_slope,
    }
