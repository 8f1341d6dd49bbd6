"""JAX."""

import math
from functools import partial

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

EFFECTS = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]
ERRORS = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]
DEEPEST = 5


def log_density(theta):
    mean, log_spread, effects = theta[:, 0], theta[:, 1], theta[:, 2:]
    spread = jnp.exp(log_spread)
    schools = mean[:, None] + spread[:, None] * effects
    prior = -(mean**2) / 50 - jnp.sum(effects**2, axis=1) / 2
    prior = prior + log_spread - jnp.log1p((spread / 5) ** 2)
    errors = jnp.asarray(ERRORS)
    return prior - jnp.sum(((jnp.asarray(EFFECTS) - schools) / errors) ** 2, axis=1) / 2


slope = jax.grad(lambda theta: jnp.sum(log_density(theta)))


def dot(a, b):
    return jnp.sum(a * b, axis=-1)


def leap(q, p, size):
    p = p + size / 2 * slope(q)
    q = q + size * p
    return q, p + size / 2 * slope(q)


def turns(first, last, total):
    return (dot(first, total) <= 0) | (dot(last, total) <= 0)


def pick(condition, a, b):
    return jnp.where(condition[:, None], a, b)


@partial(jax.jit, static_argnames="depth")
def double(key, tree, size, depth):
    tree, shape = dict(tree), tree["weight"].shape
    keys = iter(jax.random.split(key, 2**depth + 2))
    forward = jax.random.uniform(next(keys), shape) < 0.5
    q, p = pick(forward, tree["q1"], tree["q0"]), pick(forward, tree["p1"], tree["p0"])
    towards = jnp.where(forward, size, -size)[:, None]
    chosen, weight = q, jnp.full_like(tree["weight"], -math.inf)
    total, bad, starts = jnp.zeros_like(p), ~tree["going"], {}
    for n in range(2**depth):
        q, p = leap(q, p, towards)
        change = log_density(q) - dot(p, p) / 2 - tree["energy"]
        change = jnp.where(jnp.isnan(change), -math.inf, change)
        tree["accepted"] = tree["accepted"] + jnp.where(bad, 0.0, jnp.exp(jnp.minimum(change, 0)))
        tree["points"] = tree["points"] + ~bad
        weight = jnp.logaddexp(weight, change)
        take = jax.random.uniform(next(keys), shape) < jnp.exp(change - weight)
        chosen, total = pick(take, q, chosen), total + p
        bad = bad | (change < -1000)
        level = (n >> 1).bit_count()
        if n % 2 == 0:
            starts[level] = p, total - p
        else:
            complete = (n ^ (n + 1)).bit_length() - 1
            for i in range(level, level - complete, -1):
                bad = bad | turns(starts[i][0], p, total - starts[i][1])
    good = ~bad
    take = jax.random.uniform(next(keys), shape) < jnp.exp(jnp.minimum(weight - tree["weight"], 0))
    tree["chosen"] = pick(good & take, chosen, tree["chosen"])
    tree["weight"] = jnp.logaddexp(tree["weight"], weight)
    for side, here in (("0", ~forward), ("1", forward)):
        tree["q" + side] = pick(good & here, q, tree["q" + side])
        tree["p" + side] = pick(good & here, p, tree["p" + side])
    tree["total"] = pick(good, tree["total"] + total, tree["total"])
    tree["going"] = good & ~turns(tree["p0"], tree["p1"], tree["total"])
    return tree


@jax.jit
def begin(key, theta):
    p = jax.random.normal(key, theta.shape)
    energy = log_density(theta) - dot(p, p) / 2
    zeros, ones = jnp.zeros_like(energy), jnp.ones(energy.shape, bool)
    ends = {"q0": theta, "p0": p, "q1": theta, "p1": p, "total": p, "chosen": theta}
    sums = {"energy": energy, "weight": zeros, "accepted": zeros, "points": zeros, "going": ones}
    return ends | sums


def transition(key, theta, size):
    key, now = jax.random.split(key)
    tree = begin(now, theta)
    for depth in range(DEEPEST):
        key, now = jax.random.split(key)
        tree = double(now, tree, size, depth)
        if not tree["going"].any():
            break
    return tree["chosen"], jnp.mean(tree["accepted"] / tree["points"])


def peer(small=False):
    chains, draws, warm = (8, 150, 60) if small else (64, 1000, 200)
    key = jax.random.key(0)
    theta = jax.random.normal(key, (chains, 10))
    size, samples = jnp.asarray(0.1), []
    for i in range(warm + draws):
        key, now = jax.random.split(key)
        theta, accepted = transition(now, theta, size)
        if i < warm:
            size = size * jnp.exp(0.2 * (accepted - 0.8))
        else:
            samples.append(theta)
    samples = jnp.stack(samples)
    within = jnp.mean(jnp.var(samples, axis=0, ddof=1), axis=0)
    between = jnp.var(jnp.mean(samples, axis=0), axis=0, ddof=1)
    return float(jnp.max(jnp.sqrt((draws - 1) / draws + between / within)))
