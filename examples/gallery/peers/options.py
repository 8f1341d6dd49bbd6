"""JAX."""

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr

jax.config.update("jax_enable_x64", True)


def black_scholes(market):
    s, k, r, sigma, t = (market[name] for name in ("spot", "strike", "rate", "sigma", "time"))
    d1 = (jnp.log(s / k) + (r + sigma**2 / 2) * t) / (sigma * jnp.sqrt(t))
    d2 = d1 - sigma * jnp.sqrt(t)
    return s * ndtr(d1) - k * jnp.exp(-r * t) * ndtr(d2)


def simulated(market, normals):
    s, k, r, sigma, t = (market[name] for name in ("spot", "strike", "rate", "sigma", "time"))
    draws = jnp.concatenate([normals, -normals])
    last = s * jnp.exp((r - sigma**2 / 2) * t + sigma * jnp.sqrt(t) * draws)
    return jnp.exp(-r * t) * jnp.mean(jnp.maximum(last - k, 0))


@jax.jit
def greeks(market, normals):
    exact = jax.value_and_grad(black_scholes)(market)
    return exact, jax.value_and_grad(simulated)(market, normals)


def peer(small=False):
    draws, strikes = (20_000, 5) if small else (1_000_000, 21)
    normals = jax.random.normal(jax.random.key(0), draws)
    market = {"spot": 100.0, "rate": 0.03, "sigma": 0.2, "time": 1.0}
    market = {name: jnp.asarray(value) for name, value in market.items()}
    worst = 0.0
    for strike in jnp.linspace(80, 120, strikes):
        (price, exact), (estimate, sampled) = greeks({**market, "strike": strike}, normals)
        error = abs(estimate / price - 1)
        worst = max(worst, float(error), float(abs(sampled["spot"] - exact["spot"])))
    return worst
