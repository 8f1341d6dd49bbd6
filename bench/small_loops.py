"""Loops over small arrays, in the ways in which people write them, beside `lax.scan` and numba.

    PYTHONPATH=build/python PYTHON bench/small_loops.py [PATTERN ...] [--rounds N] [--f64] [--eager]
                                                        [--gradients]

A line is a form of a program: its time for all steps, of the best round and in the middle, and the
best peer's time over it, of the best rounds: above 1 frazil is faster. With --gradients it is the
gradient of the sum of all results to all arguments, and numba is left out. JAX and numba are run
if they are installed. All run on one processor. Frazil's forms are compared with eager calls
before they are timed.
"""

import argparse
import fnmatch
import os

import numpy as np
from measure import Rounds

import frazil as fz

try:
    import jax
    import jax.numpy as jnp
    from jax import lax
except ImportError:
    jax = None
try:
    import numba as nb
except ImportError:
    nb = None

STEPS, DT = 1000, 0.005


# --- RK4 of Lorenz


def rk4(slope, s):
    k1 = slope(s)
    k2 = slope(s + DT / 2 * k1)
    k3 = slope(s + DT / 2 * k2)
    k4 = slope(s + DT * k3)
    return s + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def lorenz_vector(m):
    def slope(s):
        x, y, z = s[0], s[1], s[2]
        return m.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - (8.0 / 3.0) * z])

    return slope


def lorenz_scalars(x, y, z):
    def slope(x, y, z):
        return 10.0 * (y - x), x * (28.0 - z) - y, x * y - (8.0 / 3.0) * z

    def moved(s, k, h):
        return [a + h * b for a, b in zip(s, k, strict=True)]

    s = x, y, z
    for _ in range(STEPS):
        k1 = slope(*s)
        k2 = slope(*moved(s, k1, DT / 2))
        k3 = slope(*moved(s, k2, DT / 2))
        k4 = slope(*moved(s, k3, DT))
        s = [
            v + DT / 6 * (a + 2 * b + 2 * c + d)
            for v, a, b, c, d in zip(s, k1, k2, k3, k4, strict=True)
        ]
    return fz.stack(s)


def lorenz_stack(s):
    slope = lorenz_vector(fz)
    for _ in range(STEPS):
        s = rk4(slope, s)
    return s


def lorenz_product(s, a):
    def slope(s):
        return a @ s + fz.stack([0.0 * s[0], -s[0] * s[2], s[0] * s[1]])

    for _ in range(STEPS):
        s = rk4(slope, s)
    return s


def lorenz_dict(x, y, z):
    def slope(s):
        x, y, z = s["x"], s["y"], s["z"]
        return {"x": 10.0 * (y - x), "y": x * (28.0 - z) - y, "z": x * y - (8.0 / 3.0) * z}

    s = {"x": x, "y": y, "z": z}
    for _ in range(STEPS):
        k1 = slope(s)
        k2 = slope({n: s[n] + DT / 2 * k1[n] for n in s})
        k3 = slope({n: s[n] + DT / 2 * k2[n] for n in s})
        k4 = slope({n: s[n] + DT * k3[n] for n in s})
        s = {n: s[n] + DT / 6 * (k1[n] + 2 * k2[n] + 2 * k3[n] + k4[n]) for n in s}
    return fz.stack([s["x"], s["y"], s["z"]])


class Lorenz:
    def __init__(self, s):
        self.s = s

    def slope(self, s):
        x, y, z = s
        return fz.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - (8.0 / 3.0) * z])

    def step(self):
        self.s = rk4(self.slope, self.s)


def lorenz_class(s):
    system = Lorenz(s)
    for _ in range(STEPS):
        system.step()
    return system.s


def lorenz_in_place(s):
    def slope(s):
        k = fz.zeros_like(s)
        k[0] = 10.0 * (s[1] - s[0])
        k[1] = s[0] * (28.0 - s[2]) - s[1]
        k[2] = s[0] * s[1] - (8.0 / 3.0) * s[2]
        return k

    s = s + 0
    for _ in range(STEPS):
        s += rk4(slope, s) - s
    return s


def lorenz_kept(s):
    slope = lorenz_vector(fz)
    kept = []
    for _ in range(STEPS):
        s = rk4(slope, s)
        kept.append(s)
    return fz.stack(kept)


def lorenz(dtype):
    s = np.array([1.0, 2.0, 20.0], dtype)
    a = np.array([[-10, 10, 0], [28, -1, 0], [0, 0, -8 / 3]], dtype)
    v, m = fz.asarray(s), fz.asarray(a)
    parts = tuple(v[i] + 0 for i in range(3))
    yield "scalars", lorenz_scalars, parts
    yield "vector, stack", lorenz_stack, (v,)
    yield "vector, product", lorenz_product, (v, m)
    yield "dict", lorenz_dict, parts
    yield "class", lorenz_class, (v,)
    yield "in place", lorenz_in_place, (v,)
    yield "all states kept", lorenz_kept, (v,)
    if jax:
        slope = lorenz_vector(jnp)
        run = jax.jit(lambda s: lax.scan(lambda s, _: (rk4(slope, s), None), s, length=STEPS)[0])
        yield "lax.scan", run, (jnp.asarray(s),)
    if nb:
        yield "numba", numba_lorenz(dtype), tuple(s)


def numba_slope(number):
    @nb.njit
    def slope(x, y, z):
        return (
            number(10) * (y - x),
            x * (number(28) - z) - y,
            x * y - number(8 / 3) * z,
        )

    return slope


def numba_lorenz(dtype):
    number, slope = dtype, numba_slope(dtype)

    @nb.njit
    def run(x, y, z):
        h, half, sixth, two = number(DT), number(DT / 2), number(DT / 6), number(2)
        for _ in range(STEPS):
            a1, b1, c1 = slope(x, y, z)
            a2, b2, c2 = slope(x + half * a1, y + half * b1, z + half * c1)
            a3, b3, c3 = slope(x + half * a2, y + half * b2, z + half * c2)
            a4, b4, c4 = slope(x + h * a3, y + h * b3, z + h * c3)
            x += sixth * (a1 + two * a2 + two * a3 + a4)
            y += sixth * (b1 + two * b2 + two * b3 + b4)
            z += sixth * (c1 + two * c2 + two * c3 + c4)
        return x, y, z

    return run


# --- a Kalman filter: four states, two measurements, the inverse written out


def kalman_run(m, f, h, q, r, x, p, zs):
    """The estimates after each measurement."""
    means = []
    for t in range(STEPS):
        x, p = kalman_step(m, f, h, q, r, x, p, zs[t])
        means.append(x)
    return m.stack(means), p


def kalman_step(m, f, h, q, r, x, p, z):
    x = f @ x
    p = f @ p @ f.T + q
    s = h @ p @ h.T + r
    a, b, c, d = s[0, 0], s[0, 1], s[1, 0], s[1, 1]
    inverse = m.stack([m.stack([d, -b]), m.stack([-c, a])]) / (a * d - b * c)
    k = p @ h.T @ inverse
    return x + k @ (z - h @ x), p - k @ h @ p


def kalman(dtype):
    rng = np.random.default_rng(1)
    f = np.eye(4, dtype=dtype)
    f[0, 2] = f[1, 3] = 0.1
    h = np.eye(2, 4, dtype=dtype)
    q, r = 0.01 * np.eye(4, dtype=dtype), 0.5 * np.eye(2, dtype=dtype)
    x, p = np.zeros(4, dtype), np.eye(4, dtype=dtype)
    zs = rng.standard_normal((STEPS, 2)).astype(dtype)
    arrays = f, h, q, r, x, p, zs
    yield "frazil", lambda *args: kalman_run(fz, *args), tuple(map(fz.asarray, arrays))
    if jax:

        def run(f, h, q, r, x, p, zs):
            def body(state, z):
                x, p = kalman_step(jnp, f, h, q, r, *state, z)
                return (x, p), x

            (x, p), means = lax.scan(body, (x, p), zs)
            return means, p

        yield "lax.scan", jax.jit(run), tuple(map(jnp.asarray, arrays))
    if nb:

        @nb.njit
        def product(a, b):
            out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
            for i in range(a.shape[0]):
                for j in range(b.shape[1]):
                    for k in range(a.shape[1]):
                        out[i, j] += a[i, k] * b[k, j]
            return out

        @nb.njit
        def steps(f, h, q, r, x, p, zs):
            means = np.empty((len(zs), 4, 1), f.dtype)
            for t in range(len(zs)):
                x = product(f, x)
                p = product(product(f, p), f.T) + q
                s = product(product(h, p), h.T) + r
                inverse = np.empty_like(s)
                by = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
                inverse[0, 0], inverse[0, 1] = s[1, 1] / by, -s[0, 1] / by
                inverse[1, 0], inverse[1, 1] = -s[1, 0] / by, s[0, 0] / by
                k = product(product(p, h.T), inverse)
                x = x + product(k, zs[t].reshape(2, 1) - product(h, x))
                p = p - product(product(k, h), p)
                means[t] = x
            return means, p

        yield "numba", steps, (f, h, q, r, x.reshape(4, 1), p, zs)


# --- an LSTM cell


def lstm_step(m, w, u, b, h, c, x):
    gates = w @ x + u @ h + b
    n = h.shape[0]
    i, f, g, o = (gates[k * n : (k + 1) * n] for k in range(4))
    i, f, o = (1 / (1 + m.exp(-v)) for v in (i, f, o))
    c = f * c + i * m.tanh(g)
    return o * m.tanh(c), c


def lstm_of(size):
    def lstm(dtype):
        rng = np.random.default_rng(2)

        def values(*shape):
            return (0.3 * rng.standard_normal(shape)).astype(dtype)

        arrays = (
            values(4 * size, size), values(4 * size, size), values(4 * size),
            values(size), values(size), values(STEPS, size),
        )  # fmt: skip

        def run(w, u, b, h, c, xs):
            hidden = []
            for t in range(STEPS):
                h, c = lstm_step(fz, w, u, b, h, c, xs[t])
                hidden.append(h)
            return fz.stack(hidden)

        yield "frazil", run, tuple(map(fz.asarray, arrays))
        if jax:

            def scanned(w, u, b, h, c, xs):
                def body(state, x):
                    h, c = lstm_step(jnp, w, u, b, *state, x)
                    return (h, c), h

                return lax.scan(body, (h, c), xs)[1]

            yield "lax.scan", jax.jit(scanned), tuple(map(jnp.asarray, arrays))
        if nb:

            @nb.njit
            def steps(w, u, b, h, c, xs):
                n = len(h)
                hidden = np.empty_like(xs)
                h, c = h.copy(), c.copy()
                gates = np.empty_like(b)
                one = b.dtype.type(1)
                for t in range(len(xs)):
                    for i in range(4 * n):
                        v = b[i]
                        for k in range(n):
                            v += w[i, k] * xs[t, k] + u[i, k] * h[k]
                        gates[i] = v
                    for i in range(n):
                        into = one / (one + np.exp(-gates[i]))
                        keep = one / (one + np.exp(-gates[n + i]))
                        out = one / (one + np.exp(-gates[3 * n + i]))
                        c[i] = keep * c[i] + into * np.tanh(gates[2 * n + i])
                        h[i] = out * np.tanh(c[i])
                    hidden[t] = h
                return hidden

            yield "numba", steps, arrays

    return lstm


# --- leapfrog of eight bodies


def pull(m, x, masses):
    d = x[None, :, :] - x[:, None, :]
    r = m.sum(d * d, axis=-1) + 1e-3
    return m.sum(d * (masses / (r * m.sqrt(r)))[:, :, None], axis=1)


def nbody(dtype):
    rng = np.random.default_rng(3)
    x, v = rng.standard_normal((2, 8, 3)).astype(dtype)
    masses = rng.uniform(0.5, 1.5, 8).astype(dtype)

    def step(m, x, v, masses):
        v = v + DT / 2 * pull(m, x, masses)
        x = x + DT * v
        return x, v + DT / 2 * pull(m, x, masses)

    def run(x, v, masses):
        for _ in range(STEPS):
            x, v = step(fz, x, v, masses)
        return x, v

    yield "frazil", run, tuple(map(fz.asarray, (x, v, masses)))
    if jax:

        def scanned(x, v, masses):
            def body(s, _):
                return step(jnp, *s, masses), None

            return lax.scan(body, (x, v), length=STEPS)[0]

        yield "lax.scan", jax.jit(scanned), tuple(map(jnp.asarray, (x, v, masses)))
    if nb:
        h = dtype(DT)

        @nb.njit
        def forces(x, masses, out):
            out[:] = 0
            for i in range(8):
                for j in range(8):
                    dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                    r = dx * dx + dy * dy + dz * dz + dtype(1e-3)
                    w = masses[j] / (r * np.sqrt(r))
                    out[i, 0] += dx * w
                    out[i, 1] += dy * w
                    out[i, 2] += dz * w

        @nb.njit
        def steps(x, v, masses):
            x, v, a = x.copy(), v.copy(), np.empty_like(x)
            half = h / dtype(2)
            for _ in range(STEPS):
                forces(x, masses, a)
                v += half * a
                x += h * v
                forces(x, masses, a)
                v += half * a
            return x, v

        yield "numba", steps, (x, v, masses)


# --- cart-pole: 500 steps under a policy of one hidden layer


def cart_step(m, s, w1, b1, w2):
    x, v, angle, turn = s[0], s[1], s[2], s[3]
    force = 10.0 * m.tanh(w2 @ m.tanh(w1 @ s + b1))[0]
    sin, cos = m.sin(angle), m.cos(angle)
    push = (force + 0.05 * turn * turn * sin) / 1.1
    spin = (9.8 * sin - cos * push) / (0.5 * (4.0 / 3.0 - 0.1 * cos * cos / 1.1))
    speed = push - 0.05 * spin * cos / 1.1
    return s + 0.02 * m.stack([v, speed, turn, spin]), 1.0 - 0.1 * (angle * angle + x * x)


def cartpole(dtype):
    rng = np.random.default_rng(4)
    w1, b1, w2 = ((0.5 * rng.standard_normal(n)).astype(dtype) for n in ((8, 4), (8,), (1, 8)))
    s = np.array([0.0, 0.1, 0.05, -0.1], dtype)

    def run(s, w1, b1, w2):
        total = 0.0
        for _ in range(500):
            s, reward = cart_step(fz, s, w1, b1, w2)
            total = total + reward
        return s, total

    arrays = s, w1, b1, w2
    yield "frazil", run, tuple(map(fz.asarray, arrays))
    if jax:

        def scanned(s, w1, b1, w2):
            def body(state, _):
                s, reward = cart_step(jnp, state[0], w1, b1, w2)
                return (s, state[1] + reward), None

            return lax.scan(body, (s, jnp.zeros((), s.dtype)), length=500)[0]

        yield "lax.scan", jax.jit(scanned), tuple(map(jnp.asarray, arrays))
    if nb:
        number = dtype

        @nb.njit
        def steps(s, w1, b1, w2):
            x, v, angle, turn = s
            total = number(0)
            for _ in range(500):
                force = number(0)
                for i in range(8):
                    a = w1[i, 0] * x + w1[i, 1] * v + w1[i, 2] * angle + w1[i, 3] * turn + b1[i]
                    force += w2[0, i] * np.tanh(a)
                force = number(10) * np.tanh(force)
                sin, cos = np.sin(angle), np.cos(angle)
                push = (force + number(0.05) * turn * turn * sin) / number(1.1)
                spin = (number(9.8) * sin - cos * push) / (
                    number(0.5) * (number(4 / 3) - number(0.1) * cos * cos / number(1.1))
                )
                speed = push - number(0.05) * spin * cos / number(1.1)
                total += number(1) - number(0.1) * (angle * angle + x * x)
                x, v = x + number(0.02) * v, v + number(0.02) * speed
                angle, turn = angle + number(0.02) * turn, turn + number(0.02) * spin
            return x, v, angle, turn, total

        yield "numba", steps, arrays


def attempt(m, s, h):
    """A step of Bogacki and Shampine, and how far its two results are apart."""
    k1 = lorenz_vector(m)(s)
    k2 = lorenz_vector(m)(s + 0.5 * h * k1)
    k3 = lorenz_vector(m)(s + 0.75 * h * k2)
    new = s + h * (2.0 / 9.0 * k1 + 1.0 / 3.0 * k2 + 4.0 / 9.0 * k3)
    k4 = lorenz_vector(m)(new)
    apart = h * (-5.0 / 72.0 * k1 + 1.0 / 12.0 * k2 + 1.0 / 9.0 * k3 - 0.125 * k4)
    return new, m.sqrt((apart * apart).sum())


def next_step(m, h, err, tol, left):
    factor = 0.9 * m.sqrt(m.sqrt(tol / (err + 1e-12)))
    h = h * m.minimum(m.maximum(factor, 0.25), 4.0)
    return m.maximum(m.minimum(h, left), 1e-6)


def adaptive(dtype):
    s, h = np.array([1, 2, 3], dtype), np.array(0.01, dtype)
    tol, end = np.array(1e-3, dtype), np.array(5, dtype)

    def run(s, h, tol, end):
        t = 0.0 * h
        while t < end:
            new, err = attempt(fz, s, h)
            if err < tol:
                t = t + h
                s = new
            h = next_step(fz, h, err, tol, end - t)
        return s, t

    arrays = s, h, tol, end
    yield "frazil", run, tuple(map(fz.asarray, arrays))
    if jax:

        def looped(s, h, tol, end):
            def body(state):
                s, t, h = state
                new, err = attempt(jnp, s, h)
                good = err < tol
                s, t = jnp.where(good, new, s), jnp.where(good, t + h, t)
                return s, t, next_step(jnp, h, err, tol, end - t)

            start = s, jnp.zeros((), s.dtype), h
            return lax.while_loop(lambda state: state[1] < end, body, start)[:2]

        yield "lax.scan", jax.jit(looped), tuple(map(jnp.asarray, arrays))
    if nb:
        f = numba_slope(dtype)
        c = [dtype(v) for v in (0.5, 0.75, 2 / 9, 1 / 3, 4 / 9, -5 / 72, 1 / 12, 1 / 9, 0.125)]
        c0, c1, c2, c3, c4, c5, c6, c7, c8 = c
        small, least, quarter, four = dtype(1e-12), dtype(1e-6), dtype(0.25), dtype(4)
        most = dtype(0.9)

        @nb.njit
        def steps(s, h, tol, end):
            x, y, z = s
            t = h * dtype(0)
            while t < end:
                ax, ay, az = f(x, y, z)
                u = c0 * h
                bx, by, bz = f(x + u * ax, y + u * ay, z + u * az)
                u = c1 * h
                cx, cy, cz = f(x + u * bx, y + u * by, z + u * bz)
                nx = x + h * (c2 * ax + c3 * bx + c4 * cx)
                ny = y + h * (c2 * ay + c3 * by + c4 * cy)
                nz = z + h * (c2 * az + c3 * bz + c4 * cz)
                dx, dy, dz = f(nx, ny, nz)
                ex = h * (c5 * ax + c6 * bx + c7 * cx - c8 * dx)
                ey = h * (c5 * ay + c6 * by + c7 * cy - c8 * dy)
                ez = h * (c5 * az + c6 * bz + c7 * cz - c8 * dz)
                err = np.sqrt(ex * ex + ey * ey + ez * ez)
                if err < tol:
                    t += h
                    x, y, z = nx, ny, nz
                factor = most * np.sqrt(np.sqrt(tol / (err + small)))
                h = max(min(h * min(max(factor, quarter), four), end - t), least)
            return x, y, z, t

        yield "numba", steps, (s, dtype(h), dtype(tol), dtype(end))


def walk(dtype):
    """A random number a step."""
    x = np.array([0, 0, 0], dtype)
    name = np.dtype(dtype).name

    def run(x):
        farthest = (x * x).sum()
        for _ in range(1000):
            x = x + 0.1 * fz.random.normal(shape=(3,), dtype=getattr(fz, name)) - 0.01 * x
            farthest = fz.maximum(farthest, (x * x).sum())
        return x, farthest

    yield "frazil", run, (fz.asarray(x),)
    if jax:

        def scanned(x, key):
            def body(state, _):
                x, farthest, key = state
                key, now = jax.random.split(key)
                x = x + 0.1 * jax.random.normal(now, (3,), x.dtype) - 0.01 * x
                return (x, jnp.maximum(farthest, (x * x).sum()), key), None

            return lax.scan(body, (x, (x * x).sum(), key), length=1000)[0][:2]

        yield "lax.scan", jax.jit(scanned), (jnp.asarray(x), jax.random.key(0))
    if nb:
        tenth, part = dtype(0.1), dtype(0.01)

        @nb.njit
        def steps(x):
            now = x.copy()
            farthest = (x * x).sum()
            for _ in range(1000):
                for i in range(3):
                    now[i] += tenth * dtype(np.random.standard_normal()) - part * now[i]
                farthest = max(farthest, (now * now).sum())
            return now, farthest

        yield "numba", steps, (x,)


PROGRAMS = {
    "lorenz": lorenz,
    "kalman": kalman,
    "lstm_4": lstm_of(4),
    "lstm_16": lstm_of(16),
    "nbody": nbody,
    "cartpole": cartpole,
    "adaptive": adaptive,
    "walk": walk,
}
PEERS = ("lax.scan", "numba")


def settle(f, args):
    for _ in range(5):
        result = f(*args)
    return result


def same(a, b):
    """The same bits, of tensors and tuples of them."""
    if isinstance(a, tuple):
        return all(map(same, a, b))
    return np.array_equal(np.asarray(a), np.asarray(b))


def gradient_of(form, f, args):
    """The gradient of the sum of all results to all arguments."""

    def loss(*args):
        results = f(*args)
        if form != "lax.scan":
            return sum(r.sum() for r in (results if isinstance(results, tuple) else (results,)))
        return sum(jnp.sum(r) for r in jax.tree.leaves(results))

    arguments = tuple(range(len(args)))
    if form == "lax.scan":
        return jax.jit(jax.grad(loss, argnums=arguments))
    return lambda *args: tuple(fz.value_and_grad(loss, argnums=arguments)(*args)[1])


def run(name, dtype, options):
    forms = {}
    for form, f, args in PROGRAMS[name](dtype):
        if options.gradients:
            if form == "numba":
                continue
            f = gradient_of(form, f, args)
        if form in PEERS:
            ready = jax.block_until_ready if form == "lax.scan" else tuple
            ready(settle(f, args))
            forms[form] = lambda f=f, args=args, ready=ready: ready(f(*args))
            continue
        traced = fz.trace(f, pure=True)
        settle(traced, args)
        fz.random.seed(0)
        now = traced(*args)
        fz.random.seed(0)
        if not same(now, f(*args)):
            raise SystemExit(f"{name}, {form}: traced and eager calls differ.")
        forms[form] = lambda f=traced, args=args: f(*args)
        if options.eager:
            forms[form + ", eager"] = lambda f=f, args=args: f(*args)
    # Short rounds: every thousandth call of a promise runs the body.
    rounds = Rounds(forms, options.rounds, 0.002)
    best = {form: min(times) for form, times in rounds.times.items()}
    peers = [best[p] for p in PEERS if p in best]
    for form, times in rounds.times.items():
        middle = sorted(times)[len(times) // 2]
        ratio = f"{min(peers) / best[form]:8.2f}" if peers else ""
        line = f"{name:10}{form:24}{best[form] * 1e6:10.1f} us {middle * 1e6:10.1f} us{ratio}"
        print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--f64", action="store_true", help="double precision")
    parser.add_argument("--eager", action="store_true", help="eager calls, too")
    parser.add_argument("--gradients", action="store_true", help="gradients instead of results")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if jax and options.f64:
        jax.config.update("jax_enable_x64", True)
    for name in PROGRAMS:
        if any(fnmatch.fnmatch(name, p) for p in options.patterns):
            run(name, np.float64 if options.f64 else np.float32, options)


if __name__ == "__main__":
    main()
