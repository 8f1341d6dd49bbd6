"""JAX."""

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)


def log_posterior(theta, x, y):
    logits = theta @ x.T
    return jnp.sum(y * logits - jax.nn.softplus(logits), axis=1) - jnp.sum(theta**2, axis=1) / 2


def slope(theta, x, y):
    return jax.grad(lambda t: jnp.sum(log_posterior(t, x, y)))(theta)


@jax.jit
def transition(key, theta, x, y, size):
    leaps, (first, second) = 8, jax.random.split(key)
    momentum = jax.random.normal(first, theta.shape)
    q, p = theta, momentum + size / 2 * slope(theta, x, y)
    for i in range(leaps):
        q = q + size * p
        p = p + size * slope(q, x, y) / (1 if i < leaps - 1 else 2)
    now = log_posterior(theta, x, y) - jnp.sum(momentum**2, axis=1) / 2
    then = log_posterior(q, x, y) - jnp.sum(p**2, axis=1) / 2
    chance = jnp.exp(jnp.minimum(then - now, 0))
    accepted = jax.random.uniform(second, chance.shape) < chance
    return jnp.where(accepted[:, None], q, theta), jnp.mean(chance)


def peer(small=False):
    count, chains, draws, warm = (60, 8, 150, 100) if small else (500, 32, 1000, 300)
    key, *keys = jax.random.split(jax.random.key(0), 4)
    x = jax.random.normal(keys[0], (count, 3))
    weights = jnp.array([1.0, -2.0, 0.5])
    y = (jax.random.uniform(keys[1], count) < jax.nn.sigmoid(x @ weights)).astype(x.dtype)
    theta = 3 * jax.random.normal(keys[2], (chains, 3))
    size, samples = jnp.asarray(0.02), []
    for i in range(warm + draws):
        key, now = jax.random.split(key)
        theta, accepted = transition(now, theta, x, y, size)
        if i < warm:
            size = size * jnp.exp(0.1 * (accepted - 0.8))
        else:
            samples.append(theta)
    samples = jnp.stack(samples)
    within = jnp.mean(jnp.var(samples, axis=0, ddof=1), axis=0)
    between = jnp.var(jnp.mean(samples, axis=0), axis=0, ddof=1)
    return float(jnp.max(jnp.sqrt((draws - 1) / draws + between / within)))
