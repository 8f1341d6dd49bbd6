"""Array code: an ODE, option prices, a fractal, gravity, clusters."""

import numpy as np

from .. import Form, applied
from .special import erf


def lorenz(inp):
    h = np.float32(inp["dt"])
    half, sixth, two, third = h / 2, h / 6, np.float32(2), np.float32(8 / 3)

    def slope(s):
        x, y, z = s
        return np.array([10 * (y - x), x * (28 - z) - y, x * y - third * z], np.float32)

    def run():
        s = np.array(inp["state"], np.float32)
        for _ in range(inp["steps"]):
            a = slope(s)
            b = slope(s + half * a)
            c = slope(s + half * b)
            s = s + sixth * (a + two * b + two * c + slope(s + h * c))
        return s[0], s[1], s[2]

    return {"plain": Form(run)}


def black_scholes(inp):
    r, v = np.float32(inp["r"]), np.float32(inp["v"])

    def prices(s, k, t):
        root = v * np.sqrt(t)
        d1 = (np.log(s / k) + (r + v * v / 2) * t) / root
        d2 = d1 - root
        n1 = 0.5 * (1 + erf(d1 * np.float32(0.5**0.5)))
        n2 = 0.5 * (1 + erf(d2 * np.float32(0.5**0.5)))
        discounted = k * np.exp(-r * t)
        call = s * n1 - discounted * n2
        return call, call - s + discounted

    return {"plain": applied(prices, inp["s"], inp["k"], inp["t"])}


def mandelbrot(inp):
    cr, ci, n = inp["cr"], inp["ci"], inp["n"]

    def counts():
        zr, zi, inside = cr, ci, np.zeros_like(cr)
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(n):
                rr, ii = zr * zr, zi * zi
                inside += rr + ii <= 4
                zr, zi = rr - ii + cr, 2 * zr * zi + ci
        return inside

    return {"plain": Form(counts)}


def n_body(inp):
    x, m, eps = inp["x"], inp["m"], np.float32(inp["eps"])

    def accelerations():
        d = x[None, :, :] - x[:, None, :]
        r2 = (d * d).sum(axis=-1) + eps
        w = m / (r2 * np.sqrt(r2))
        return (d * w[:, :, None]).sum(axis=1)

    return {"plain": Form(accelerations)}


def k_means(inp):
    x, c = inp["x"], inp["c"]
    k = len(c)

    def step():
        nearest = ((c * c).sum(axis=1) - 2 * (x @ c.T)).argmin(axis=1)
        member = (nearest[:, None] == np.arange(k)).astype(np.float32)
        return (member.T @ x) / member.sum(axis=0)[:, None]

    return {"plain": Form(step)}
