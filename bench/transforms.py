"""Transforms and control flow beside JAX: warm calls, first calls, and that the results are equal.

    PYTHONPATH=build/python PYTHON bench/transforms.py [PATTERN ...] [--rounds N]

A line is a program: frazil's and JAX's best time of a call, JAX's over frazil's (above 1 frazil is
faster), and the same of the first call, which traces and compiles. Both run on one processor,
frazil under the plain decorator.
"""

import argparse
import fnmatch
import gc
import os
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax  # noqa: E402 -- reads XLA_FLAGS
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from measure import Rounds  # noqa: E402

import frazil as fz  # noqa: E402

RNG = np.random.default_rng(0)


def normal(*shape, scale=1.0):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


def per_sample_gradients(m, f):
    def loss(p, x, y):
        h = m.tanh(m.tanh(x @ p[0] + p[1]) @ p[2] + p[3])
        return m.sum((h @ p[4] + p[5] - y) ** 2)

    return f.vmap(f.grad(loss), (None, 0, 0))


def layers():
    sizes = [(16, 32), (32,), (32, 32), (32,), (32, 4), (4,)]
    return [normal(*s, scale=0.2) for s in sizes], normal(256, 16), normal(256, 4)


def hessian(m, f):
    def log_posterior(w, a, y):
        z = a @ w
        return m.sum(y * z - m.log1p(m.exp(z))) - 0.5 * m.sum(w * w)

    return f.hessian(log_posterior)


def logistic():
    return (
        normal(64, scale=0.1),
        normal(200, 64, scale=0.2),
        (RNG.random(200) < 0.5) * np.float32(1),
    )


def jvp_of_ode(m, f):
    def slope(s):
        x, y, z = s[0], s[1], s[2]
        return m.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    def step(_, s):
        k1 = slope(s)
        k2 = slope(s + 0.005 * k1)
        k3 = slope(s + 0.005 * k2)
        k4 = slope(s + 0.01 * k3)
        return s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return lambda s, d: f.jvp(lambda v: f.fori_loop(0, 1000, step, v), (s,), (d,))


def pendulums(m, f):
    def swing(th, om):
        return f.while_loop(
            lambda s: (m.abs(s[0]) < 3.0) & (s[2] < 200),
            lambda s: (
                s[0] + 0.05 * s[1],
                s[1] * (1 + 0.002 * s[0]) - 0.05 * m.sin(s[0]),
                s[2] + 1,
            ),
            (th, om, 0.0 * th),
        )

    return f.vmap(swing)


def lstm(m, f):
    def loss(w, u, b, xs):
        n = 16

        def step(state, x):
            h, c = state
            g = x @ w + h @ u + b
            i, o = f.sigmoid(g[:n]), f.sigmoid(g[n : 2 * n])
            c = f.sigmoid(g[2 * n : 3 * n]) * c + i * m.tanh(g[3 * n :])
            h = o * m.tanh(c)
            return (h, c), h

        zeros = m.zeros(n, dtype=m.float32)
        return m.sum(f.scan(step, (zeros, zeros), xs)[1] ** 2)

    return f.grad(loss, (0, 1, 2))


def gates():
    return (
        normal(8, 64, scale=0.3),
        normal(16, 64, scale=0.3),
        normal(64, scale=0.1),
        normal(1000, 8),
    )


def checkpointed(m, f):
    layer = f.checkpoint(lambda x, w: m.tanh(m.tanh(m.tanh(x @ w) * 2) + x))

    def loss(ws, x):
        for w in ws:
            x = layer(x, w)
        return m.sum(x**2)

    return f.grad(loss)


PROGRAMS = {
    "per_sample_gradients": (per_sample_gradients, layers),
    "hessian": (hessian, logistic),
    "jvp_of_ode": (jvp_of_ode, lambda: (np.ones(3, np.float32), np.array([1, 0, 0], np.float32))),
    "pendulums": (pendulums, lambda: (normal(4096), normal(4096, scale=2.5))),
    "lstm": (lstm, gates),
    "checkpoint": (
        checkpointed,
        lambda: ([normal(128, 128, scale=0.05) for _ in range(16)], normal(256, 128)),
    ),
}


class Frazil:
    grad, vmap, jvp, hessian, checkpoint = fz.grad, fz.vmap, fz.jvp, fz.hessian, fz.checkpoint
    fori_loop, while_loop, scan, sigmoid = fz.fori_loop, fz.while_loop, fz.scan, fz.nn.sigmoid


class Jax:
    grad, vmap, jvp, hessian, checkpoint = jax.grad, jax.vmap, jax.jvp, jax.hessian, jax.checkpoint
    fori_loop, while_loop, scan = jax.lax.fori_loop, jax.lax.while_loop, jax.lax.scan
    sigmoid = jax.nn.sigmoid


def first(call):
    begin = time.perf_counter()
    result = call()
    return result, time.perf_counter() - begin


def run(name, rounds):
    program, inputs = PROGRAMS[name]
    arrays = inputs()
    ours = fz.trace(program(fz, Frazil))
    theirs = jax.jit(program(jnp, Jax))
    tensors = jax.tree.map(fz.asarray, arrays)
    peers = jax.tree.map(jnp.asarray, arrays)
    got, first_ours = first(lambda: ours(*tensors))
    want, first_theirs = first(lambda: jax.block_until_ready(theirs(*peers)))
    for a, b in zip(fz.tree.leaves(got), jax.tree.leaves(want), strict=True):
        scale = max(1.0, float(np.abs(b).max()))
        equal = np.isclose(np.asarray(a), np.asarray(b), rtol=1e-3, atol=1e-3 * scale)
        if equal.mean() < 0.999:  # rounding may end a loop a step later
            raise SystemExit(f"{name}: results differ.")
    forms = {
        "frazil": lambda: ours(*tensors),
        "jax": lambda: jax.block_until_ready(theirs(*peers)),
    }
    for _ in range(5):
        forms["frazil"]()
    times = {form: min(t) for form, t in Rounds(forms, rounds, 0.02).times.items()}
    a, b = times["frazil"], times["jax"]
    line = f"{name:22}{a * 1e6:10.1f} us {b * 1e6:10.1f} us {b / a:6.2f}"
    print(
        f"{line}   first {first_ours * 1e3:8.1f} ms {first_theirs * 1e3:8.1f} ms "
        f"{first_theirs / first_ours:6.1f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    fz.set_num_threads(1)
    gc.disable()  # JAX's callback of the collector is foreign code within a call that is learnt
    for name in PROGRAMS:
        if any(fnmatch.fnmatch(name, p) for p in options.patterns):
            run(name, options.rounds)


if __name__ == "__main__":
    main()
