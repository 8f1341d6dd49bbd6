"""JAX."""

import math

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular

jax.config.update("jax_enable_x64", True)


def kernel(a, b, params):
    length, scale = jnp.exp(params["length"]), jnp.exp(params["scale"])
    return scale**2 * jnp.exp(-(((a[:, None] - b) / length) ** 2) / 2)


def noisy(x, params):
    return kernel(x, x, params) + jnp.exp(params["noise"]) ** 2 * jnp.eye(x.size)


def negative_log_likelihood(params, x, y):
    lower = jnp.linalg.cholesky(noisy(x, params))
    white = solve_triangular(lower, y[:, None], lower=True)
    half_logdet = jnp.sum(jnp.log(jnp.diagonal(lower)))
    return jnp.sum(white**2) / 2 + half_logdet + x.size / 2 * math.log(2 * math.pi)


@jax.jit
def step(params, x, y, rate):
    loss, grads = jax.value_and_grad(negative_log_likelihood)(params, x, y)
    return jax.tree.map(lambda p, g: p - rate * g, params, grads), loss


def peer(small=False):
    count, steps = (40, 200) if small else (300, 500)
    first, second = jax.random.split(jax.random.key(0))
    x = jnp.sort(jax.random.uniform(first, count) * 10)
    y = jnp.sin(x) + 0.5 * jnp.cos(2 * x) + 0.1 * jax.random.normal(second, count)
    params = {name: jnp.asarray(0.0) for name in ("length", "scale", "noise")}
    for _ in range(steps):
        params, _ = step(params, x, y, 0.2 / count)
    at = jnp.linspace(0.5, 9.5, 200)
    lower = jnp.linalg.cholesky(noisy(x, params))
    mean = (kernel(at, x, params) @ cho_solve((lower, True), y[:, None]))[:, 0]
    solve_triangular(lower, kernel(at, x, params).T, lower=True)
    true = jnp.sin(at) + 0.5 * jnp.cos(2 * at)
    return float(jnp.sqrt(jnp.mean((mean - true) ** 2)))
