"""Hamiltonian Monte Carlo: the posterior of a logistic regression, all chains at once.

A chain's step is leapfrog and Metropolis; its size follows the acceptance at first. The measure is
Gelman and Rubin's: chains from different places should not be told apart.
"""

import frazil as fz


def log_posterior(theta, x, y):
    """Of each row of theta: normal prior, Bernoulli likelihood."""
    logits = theta @ x.T
    return fz.sum(y * logits - fz.nn.softplus(logits), axis=1) - fz.sum(theta**2, axis=1) / 2


def slope(theta, x, y):
    return fz.grad(lambda t: fz.sum(log_posterior(t, x, y)))(theta)


@fz.trace
def transition(theta, x, y, size, leaps):
    momentum = fz.random.normal(theta.shape, dtype=theta.dtype)
    q, p = theta, momentum + size / 2 * slope(theta, x, y)
    for i in range(leaps):
        q = q + size * p
        p = p + size * slope(q, x, y) / (1 if i < leaps - 1 else 2)
    now = log_posterior(theta, x, y) - fz.sum(momentum**2, axis=1) / 2
    then = log_posterior(q, x, y) - fz.sum(p**2, axis=1) / 2
    chance = fz.exp(fz.minimum(then - now, 0))
    accepted = fz.random.uniform(chance.shape, dtype=theta.dtype) < chance
    return fz.where(accepted[:, None], q, theta), fz.mean(chance)


def r_hat(samples):
    """Of (draws, chains, parameters)."""
    n = samples.shape[0]
    within = fz.mean(fz.var(samples, axis=0, correction=1), axis=0)
    between = fz.var(fz.mean(samples, axis=0), axis=0, correction=1)
    return fz.sqrt((n - 1) / n + between / within)


def main(small=False):
    count, chains, draws, warm = (60, 8, 150, 100) if small else (500, 32, 1000, 300)
    fz.random.seed(0)
    x = fz.random.normal((count, 3), dtype=fz.float64)
    weights = fz.asarray([1.0, -2.0, 0.5], dtype=fz.float64)
    y = (fz.random.uniform(count) < fz.nn.sigmoid(x @ weights)).astype(fz.float64)
    theta = 3 * fz.random.normal((chains, 3), dtype=fz.float64)
    size = fz.asarray(0.02, dtype=fz.float64)
    samples = []
    for i in range(warm + draws):
        theta, accepted = transition(theta, x, y, size, 8)
        if i < warm:
            size = size * fz.exp(0.1 * (accepted - 0.8))
        else:
            samples.append(theta)
    samples = fz.stack(samples)
    return {
        "quality": fz.max(r_hat(samples)).item(),
        "of": "R hat, 1 is best",
        "figure": {"points": {"posterior": samples[:, :, :2].reshape(-1, 2)[::10]}},
        "traced": transition,
    }
