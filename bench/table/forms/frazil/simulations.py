"""Array code: an ODE, option prices, a fractal, gravity, clusters."""

import frazil as fz

from .. import Form
from . import about, three


def lorenz_step(x, y, z, h):
    """One step of Runge and Kutta's fourth order."""

    def slope(x, y, z):
        return 10.0 * (y - x), x * (28.0 - z) - y, x * y - (8.0 / 3.0) * z

    a1, b1, c1 = slope(x, y, z)
    a2, b2, c2 = slope(x + h / 2 * a1, y + h / 2 * b1, z + h / 2 * c1)
    a3, b3, c3 = slope(x + h / 2 * a2, y + h / 2 * b2, z + h / 2 * c2)
    a4, b4, c4 = slope(x + h * a3, y + h * b3, z + h * c3)
    return (
        x + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4),
        y + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4),
        z + h / 6 * (c1 + 2 * c2 + 2 * c3 + c4),
    )


def lorenz(inp):
    state = tuple(fz.asarray(v, dtype="float32") for v in inp["state"])
    steps, h = inp["steps"], inp["dt"]

    def run(x, y, z):
        for _ in range(steps):
            x, y, z = lorenz_step(x, y, z, h)
        return x, y, z

    step = fz.trace(lambda x, y, z: lorenz_step(x, y, z, h), pure=True)

    def stepwise():
        x, y, z = state
        for _ in range(steps):
            x, y, z = step(x, y, z)
        return x, y, z

    return three(run, *state) | {"pure step by step": Form(stepwise, about=about(step))}


def black_scholes(inp):
    r, v = inp["r"], inp["v"]

    def prices(s, k, t):
        root = v * fz.sqrt(t)
        d1 = (fz.log(s / k) + (r + 0.5 * v * v) * t) / root
        d2 = d1 - root
        n1 = 0.5 * (1 + fz.erf(d1 * 0.5**0.5))
        n2 = 0.5 * (1 + fz.erf(d2 * 0.5**0.5))
        discounted = k * fz.exp(-r * t)
        call = s * n1 - discounted * n2
        return call, call - s + discounted

    return three(prices, *(fz.asarray(inp[name]) for name in ("s", "k", "t")))


def mandelbrot(inp):
    n = inp["n"]

    def counts(cr, ci):
        zr, zi = cr, ci
        inside = fz.zeros_like(cr)
        for _ in range(n):
            rr, ii = zr * zr, zi * zi
            inside = inside + (rr + ii <= 4.0)
            zr, zi = rr - ii + cr, 2.0 * zr * zi + ci
        return inside

    return three(counts, fz.asarray(inp["cr"]), fz.asarray(inp["ci"]))


def n_body(inp):
    eps = inp["eps"]

    def accelerations(x, m):
        d = x[None, :, :] - x[:, None, :]
        r2 = fz.sum(d * d, axis=-1) + eps
        w = m / (r2 * fz.sqrt(r2))
        return fz.sum(d * w[:, :, None], axis=1)

    def components(x, m):
        parts = [x[None, :, i] - x[:, None, i] for i in range(3)]
        r2 = parts[0] * parts[0] + parts[1] * parts[1] + parts[2] * parts[2] + eps
        w = m / (r2 * fz.sqrt(r2))
        return fz.stack([fz.sum(d * w, axis=1) for d in parts], axis=1)

    x, m = fz.asarray(inp["x"]), fz.asarray(inp["m"])
    return three(accelerations, x, m) | three(components, x, m, suffix=" by components")


def k_means(inp):
    k = inp["c"].shape[0]

    def step(x, c):
        distances = fz.sum(c * c, axis=1) - 2.0 * (x @ c.T)
        nearest = fz.argmin(distances, axis=1)
        member = (nearest[:, None] == fz.arange(k)).astype("float32")
        return (member.T @ x) / fz.sum(member, axis=0)[:, None]

    return three(step, fz.asarray(inp["x"]), fz.asarray(inp["c"]))
