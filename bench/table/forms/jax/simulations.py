"""Array code: an ODE, option prices, a fractal, gravity, clusters."""

import jax
import jax.numpy as jnp

from .. import Form
from . import compiled


def lorenz_step(s, h):
    """One step of Runge and Kutta's fourth order."""

    def slope(s):
        x, y, z = s
        return 10.0 * (y - x), x * (28.0 - z) - y, x * y - (8.0 / 3.0) * z

    def moved(s, k, h):
        return tuple(a + h * b for a, b in zip(s, k, strict=True))

    k1 = slope(s)
    k2 = slope(moved(s, k1, h / 2))
    k3 = slope(moved(s, k2, h / 2))
    k4 = slope(moved(s, k3, h))
    return tuple(
        x + h / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip(s, k1, k2, k3, k4, strict=True)
    )


def lorenz(inp):
    h, steps = inp["dt"], inp["steps"]
    state = tuple(jnp.float32(v) for v in inp["state"])
    step = jax.jit(lambda s: lorenz_step(s, h))

    def stepwise():
        s = state
        for _ in range(steps):
            s = step(s)
        return jax.block_until_ready(s)

    def scanned(s):
        return jax.lax.scan(lambda s, _: (lorenz_step(s, h), None), s, length=steps)[0]

    # The loop unrolled as a whole takes the compiler many minutes; its body is compiled.
    return {"plain, jit of a step": Form(stepwise)} | compiled(scanned, state, name="jit, scan")


def black_scholes(inp):
    r, v = inp["r"], inp["v"]

    def prices(s, k, t):
        erf = jax.scipy.special.erf
        root = v * jnp.sqrt(t)
        d1 = (jnp.log(s / k) + (r + 0.5 * v * v) * t) / root
        d2 = d1 - root
        n1 = 0.5 * (1 + erf(d1 * 0.5**0.5))
        n2 = 0.5 * (1 + erf(d2 * 0.5**0.5))
        discounted = k * jnp.exp(-r * t)
        call = s * n1 - discounted * n2
        return call, call - s + discounted

    return compiled(prices, *(inp[name] for name in ("s", "k", "t")))


def mandelbrot(inp):
    n = inp["n"]

    def body(cr, ci, zr, zi, inside):
        rr, ii = zr * zr, zi * zi
        return rr - ii + cr, 2.0 * zr * zi + ci, inside + (rr + ii <= 4.0)

    def loop(cr, ci, unroll=1):
        def one(_, state):
            return body(cr, ci, *state)

        start = cr, ci, jnp.zeros_like(cr)
        return jax.lax.fori_loop(0, n, one, start, unroll=unroll)[2]

    def unrolled(cr, ci):
        state = cr, ci, jnp.zeros_like(cr)
        for _ in range(n):
            state = body(cr, ci, *state)
        return state[2]

    cr, ci = inp["cr"], inp["ci"]
    return (
        compiled(unrolled, cr, ci, name="jit, unrolled")
        | compiled(loop, cr, ci, name="jit, fori_loop")
        | compiled(lambda cr, ci: loop(cr, ci, 10), cr, ci, name="jit, fori_loop by ten")
    )


def n_body(inp):
    eps = inp["eps"]

    def accelerations(x, m):
        d = x[None, :, :] - x[:, None, :]
        r2 = (d * d).sum(axis=-1) + eps
        w = m / (r2 * jnp.sqrt(r2))
        return (d * w[:, :, None]).sum(axis=1)

    def components(x, m):
        parts = [x[None, :, i] - x[:, None, i] for i in range(3)]
        r2 = sum(d * d for d in parts) + eps
        w = m / (r2 * jnp.sqrt(r2))
        return jnp.stack([(d * w).sum(axis=1) for d in parts], axis=1)

    return compiled(accelerations, inp["x"], inp["m"]) | compiled(
        components, inp["x"], inp["m"], name="jit, by components"
    )


def k_means(inp):
    k = inp["c"].shape[0]

    def nearest(x, c):
        return ((c * c).sum(axis=1) - 2.0 * (x @ c.T)).argmin(axis=1)

    def step(x, c):
        member = (nearest(x, c)[:, None] == jnp.arange(k)).astype(jnp.float32)
        return (member.T @ x) / member.sum(axis=0)[:, None]

    def segments(x, c):
        label = nearest(x, c)
        sums = jax.ops.segment_sum(x, label, k)
        return sums / jnp.bincount(label, length=k)[:, None]

    return compiled(step, inp["x"], inp["c"]) | compiled(
        segments, inp["x"], inp["c"], name="jit, segment_sum"
    )
