"""Compiled loops over NumPy arrays, as a numba user writes them."""

import math

import numba as nb
import numpy as np

from .. import Form, applied

fast = nb.njit(fastmath={"contract", "nsz", "arcp"})
wide = nb.njit(parallel=True, fastmath={"contract", "nsz", "arcp"})


@nb.njit
def _multiply_add(a, b):
    return a * b + a


def call_16(inp):
    return {"numba": applied(_multiply_add, inp["x"], inp["z"])}


@fast
def _layer(x, w, b, relu):
    out = b.copy()
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            out[j] += x[i] * w[i, j]
    if relu:
        for j in range(out.size):
            out[j] = max(out[j], np.float32(0))
    return out


@fast
def _mlp(x, w1, b1, w2, b2, w3, b3):
    return _layer(_layer(_layer(x[0], w1, b1, True), w2, b2, True), w3, b3, False)


def mlp(inp):
    weights = [a for w, b in inp["layers"] for a in (w.T.copy(), b)]
    return {"numba": applied(_mlp, inp["x"], *weights)}


@wide
def _chain(x, z):
    out = np.empty_like(x)
    half, more, quarter = np.float32(0.5), np.float32(1.5), np.float32(0.25)
    for i in nb.prange(x.size):
        a, b = x[i], z[i]
        out[i] = (((((a * b + a) * half - b) * a) + more) * b - a) * quarter + b
    return out


def chain(inp):
    return {"numba": applied(_chain, inp["x"], inp["z"])}


@nb.njit(parallel=True)
def _add(a, b):
    return a + b


def add_64mib(inp):
    return {"numba": applied(_add, inp["x"], inp["z"])}


@wide
def _adam(p, g, m, v, rate, root, b1, b2, eps):
    one = np.float32(1)
    for i in nb.prange(p.size):
        m[i] = b1 * m[i] + (one - b1) * g[i]
        v[i] = b2 * v[i] + (one - b2) * g[i] * g[i]
        p[i] -= rate * m[i] / (math.sqrt(v[i]) / root + eps)


@fast
def _adam_small(p, g, m, v, rate, root, b1, b2, eps):
    one = np.float32(1)
    for i in range(p.size):
        m[i] = b1 * m[i] + (one - b1) * g[i]
        v[i] = b2 * v[i] + (one - b2) * g[i] * g[i]
        p[i] -= rate * m[i] / (math.sqrt(v[i]) / root + eps)


def adam(inp):
    def form(function):
        parameters = [p.copy() for p in inp["p"]]
        m, v = ([np.zeros_like(p) for p in parameters] for _ in range(2))
        t = [0]

        def step():
            t[0] += 1
            rate = np.float32(inp["lr"] / (1 - 0.9 ** t[0]))
            root = np.float32((1 - 0.999 ** t[0]) ** 0.5)
            rest = np.float32(0.9), np.float32(0.999), np.float32(1e-8)
            for arrays in zip(parameters, inp["g"], m, v, strict=True):
                function(*arrays, rate, root, *rest)
            return parameters

        return Form(step)

    return {"numba": form(_adam), "numba, one thread": form(_adam_small)}


@nb.njit(fastmath={"contract"})
def _slope(x, y, z):
    ten, rho, beta = np.float32(10), np.float32(28), np.float32(8 / 3)
    return ten * (y - x), x * (rho - z) - y, x * y - beta * z


@nb.njit(fastmath={"contract"})
def _lorenz(x, y, z, steps, h):
    half, sixth, two = h / np.float32(2), h / np.float32(6), np.float32(2)
    for _ in range(steps):
        a1, b1, c1 = _slope(x, y, z)
        a2, b2, c2 = _slope(x + half * a1, y + half * b1, z + half * c1)
        a3, b3, c3 = _slope(x + half * a2, y + half * b2, z + half * c2)
        a4, b4, c4 = _slope(x + h * a3, y + h * b3, z + h * c3)
        x += sixth * (a1 + two * a2 + two * a3 + a4)
        y += sixth * (b1 + two * b2 + two * b3 + b4)
        z += sixth * (c1 + two * c2 + two * c3 + c4)
    return x, y, z


def lorenz(inp):
    state = [np.float32(v) for v in inp["state"]]
    return {"numba": applied(_lorenz, *state, inp["steps"], np.float32(inp["dt"]))}


@wide
def _black_scholes(s, k, t, r, v):
    call, put = np.empty_like(s), np.empty_like(s)
    half, one = np.float32(0.5), np.float32(1)
    root2 = np.float32(0.5**0.5)
    for i in nb.prange(s.size):
        root = v * math.sqrt(t[i])
        d1 = (math.log(s[i] / k[i]) + (r + half * v * v) * t[i]) / root
        d2 = d1 - root
        n1 = half * (one + math.erf(d1 * root2))
        n2 = half * (one + math.erf(d2 * root2))
        discounted = k[i] * math.exp(-r * t[i])
        call[i] = s[i] * n1 - discounted * n2
        put[i] = call[i] - s[i] + discounted
    return call, put


def black_scholes(inp):
    numbers = np.float32(inp["r"]), np.float32(inp["v"])
    return {"numba": applied(_black_scholes, inp["s"], inp["k"], inp["t"], *numbers)}


@wide
def _mandelbrot(cr, ci, n):
    out = np.zeros_like(cr)
    four, two = np.float32(4), np.float32(2)
    for i in nb.prange(cr.shape[0]):
        for j in range(cr.shape[1]):
            a, b = cr[i, j], ci[i, j]
            x, y = a, b
            count = 0
            for _ in range(n):
                xx, yy = x * x, y * y
                if xx + yy > four:
                    break
                count += 1
                x, y = xx - yy + a, two * x * y + b
            out[i, j] = count
    return out


def mandelbrot(inp):
    """Leaves a point early."""
    return {"numba": applied(_mandelbrot, inp["cr"], inp["ci"], inp["n"])}


@nb.njit(parallel=True, fastmath=True)
def _n_body(x, y, z, m, eps):
    out = np.empty((x.size, 3), np.float32)
    for i in nb.prange(x.size):
        a = b = c = np.float32(0)
        for j in range(x.size):
            dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
            r2 = dx * dx + dy * dy + dz * dz + eps
            w = m[j] / (r2 * math.sqrt(r2))
            a += dx * w
            b += dy * w
            c += dz * w
        out[i, 0], out[i, 1], out[i, 2] = a, b, c
    return out


def n_body(inp):
    eps = np.float32(inp["eps"])

    def call(x, m):
        columns = np.ascontiguousarray(x.T)
        return _n_body(columns[0], columns[1], columns[2], m, eps)

    return {"numba": applied(call, inp["x"], inp["m"])}


@nb.njit(parallel=True, fastmath=True)
def _k_means(x, c, parts):
    k, d = c.shape
    sums = np.zeros((parts, k, d), np.float32)
    counts = np.zeros((parts, k), np.float32)
    size = (x.shape[0] + parts - 1) // parts
    for p in nb.prange(parts):
        for i in range(p * size, min((p + 1) * size, x.shape[0])):
            best, nearest = np.float32(np.inf), 0
            for j in range(k):
                far = np.float32(0)
                for q in range(d):
                    off = x[i, q] - c[j, q]
                    far += off * off
                if far < best:
                    best, nearest = far, j
            counts[p, nearest] += 1
            for q in range(d):
                sums[p, nearest, q] += x[i, q]
    total, number = sums[0].copy(), counts[0].copy()
    for p in range(1, parts):
        total += sums[p]
        number += counts[p]
    for j in range(k):
        for q in range(d):
            total[j, q] /= number[j]
    return total


def k_means(inp):
    return {"numba": applied(_k_means, inp["x"], inp["c"], nb.get_num_threads())}
