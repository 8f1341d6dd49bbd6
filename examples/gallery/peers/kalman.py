"""JAX."""

import math

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
DT = 0.5


def track(log_push, measured):
    move = jnp.array([[1.0, DT], [0.0, 1.0]])
    unrest = jnp.exp(2 * log_push) * jnp.array([[0.0, 0.0], [0.0, DT**2]])
    seen = jnp.array([[1.0, 0.0]])

    def update(carry, z):
        state, variance = carry
        state = move @ state
        variance = move @ variance @ move.T + unrest
        spread = (seen @ variance @ seen.T)[0, 0] + 1
        surprise = z - state[0]
        gain = variance[:, 0] / spread
        state = state + gain * surprise
        variance = variance - gain[:, None] * (seen @ variance)
        return (state, variance), (state[0], surprise**2 / spread + jnp.log(spread))

    _, (positions, losses) = jax.lax.scan(update, (jnp.zeros(2), 10 * jnp.eye(2)), measured)
    return positions, jnp.mean(losses) / 2 + math.log(2 * math.pi) / 2


@jax.jit
def step(log_push, measured, rate):
    loss, slope = jax.value_and_grad(lambda p: track(p, measured)[1])(log_push)
    return log_push - rate * slope, loss


def peer(small=False):
    count, steps = (200, 60) if small else (500, 100)
    first, second = jax.random.split(jax.random.key(0))
    velocity = DT * jnp.cumsum(jax.random.normal(first, count))
    position = DT * jnp.cumsum(velocity)
    measured = position + jax.random.normal(second, count)
    log_push, losses = jnp.asarray(-2.0), []
    for _ in range(steps):
        log_push, loss = step(log_push, measured, 1.0)
        losses.append(loss)
    filtered, _ = track(log_push, measured)
    off = jnp.mean((filtered - position) ** 2) / jnp.mean((measured - position) ** 2)
    return float(jnp.sqrt(off))
