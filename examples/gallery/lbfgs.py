"""A chain of springs under its weight, by L-BFGS: the shape of least energy is a catenary."""

import frazil as fz
from frazil import optim


def energy(inner, ends, rest, stiffness):
    """Of the joints between the ends: stretched springs, and height."""
    joints = fz.concat([ends[:1], inner, ends[1:]])
    lengths = fz.sqrt(fz.sum(fz.diff(joints, axis=0) ** 2, axis=1))
    return stiffness / 2 * fz.sum((lengths - rest) ** 2) + fz.sum(inner[:, 1]) * rest


@fz.trace
def step(inner, optimizer, ends, rest, stiffness):
    def closure():
        optimizer.zero_grad()
        loss = energy(inner, ends, rest, stiffness)
        loss.backward()
        return loss

    return optimizer.step(closure)


def solve_sag(length):
    """a of y = a cosh(x / a) with a chain of this length between x = -1 and 1, by Newton."""
    a = fz.asarray(1.0, dtype=fz.float64)

    def excess(a):
        return 2 * a * fz.sinh(1 / a) - length

    for _ in range(30):
        value, slope = fz.value_and_grad(excess)(a)
        a = a - value / slope
    return a


def main(small=False):
    links, steps = (20, 40) if small else (100, 200)
    length = 3.0
    ends = fz.asarray([[-1.0, 0.0], [1.0, 0.0]], dtype=fz.float64)
    x = fz.linspace(-1, 1, links + 1, dtype=fz.float64)[1:-1]
    inner = fz.stack([x, x**2 - 1], axis=1)
    inner = inner.copy()
    inner.requires_grad = True
    optimizer = optim.LBFGS([inner], max_iter=20, line_search_fn="strong_wolfe")
    energies = []
    for _ in range(steps):
        energies.append(step(inner, optimizer, ends, length / links, 1e3 * links))
    a = solve_sag(length)
    chain = inner.detach()
    catenary = a * (fz.cosh(chain[:, 0] / a) - fz.cosh(1 / a))
    return {
        "quality": fz.max(fz.abs(chain[:, 1] - catenary)).item(),
        "of": "distance from the catenary",
        "figure": {
            "x": chain[:, 0],
            "curves": {"chain": chain[:, 1], "catenary": catenary},
            "energy": fz.stack(energies),
        },
        "traced": step,
    }
