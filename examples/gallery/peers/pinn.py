"""JAX, with Adam written out."""

import math

import jax
import jax.numpy as jnp


def network(params, x):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    return x @ params[-1][0] + params[-1][1]


def loss_of(params, x, edges):
    def f(x):
        return network(params, x)

    def first(x):
        return jax.jvp(f, (x,), (jnp.ones_like(x),))[1]

    bent = jax.jvp(first, (x,), (jnp.ones_like(x),))[1]
    residual = bent + math.pi**2 * jnp.sin(math.pi * x)
    return jnp.mean(residual**2) + 100 * jnp.mean(f(edges) ** 2)


@jax.jit
def step(params, m, v, t, rate, x, edges):
    loss, grads = jax.value_and_grad(loss_of)(params, x, edges)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
    rate = rate * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    params = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), params, m, v)
    return params, m, v, loss


def peer(small=False):
    width, points, steps = (16, 32, 600) if small else (32, 128, 3000)
    key = jax.random.key(0)
    params = []
    for a, b in ((1, width), (width, width), (width, 1)):
        key, *now = jax.random.split(key, 3)
        bound = 1 / math.sqrt(a)
        params.append((
            jax.random.uniform(now[0], (a, b), minval=-bound, maxval=bound),
            jax.random.uniform(now[1], (b,), minval=-bound, maxval=bound),
        ))  # fmt: skip
    m = v = jax.tree.map(jnp.zeros_like, params)
    edges, losses = jnp.array([[-1.0], [1.0]]), []
    for t in range(steps):
        key, now = jax.random.split(key)
        x = jax.random.uniform(now, (points, 1), minval=-1, maxval=1)
        rate = 0.005 * (1 + math.cos(math.pi * t / steps)) / 2
        params, m, v, loss = step(params, m, v, t + 1.0, rate, x, edges)
        losses.append(loss)
    x = jnp.linspace(-1, 1, 201)[:, None]
    return float(jnp.abs(network(params, x) - jnp.sin(math.pi * x)).max())
