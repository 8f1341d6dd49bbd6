"""The No-U-Turn sampler (Hoffman and Gelman 2014) on the eight schools, many chains at once.

A trajectory doubles until it turns back; one of its points, by their weight, is next (Betancourt
2017). Which points have to be compared follows from the binary digits of their number, so what is
kept grows with the depth only (Phan et al. 2019). The measure is Gelman and Rubin's R hat.
"""

import math

import frazil as fz

EFFECTS = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]
ERRORS = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]
DEEPEST = 5


def log_density(theta):
    """Of rows (mean, log spread, eight standardised effects): normal priors, half Cauchy."""
    mean, log_spread, effects = theta[:, 0], theta[:, 1], theta[:, 2:]
    spread = fz.exp(log_spread)
    y = fz.asarray(EFFECTS, dtype=theta.dtype)
    errors = fz.asarray(ERRORS, dtype=theta.dtype)
    schools = mean[:, None] + spread[:, None] * effects
    prior = -(mean**2) / 50 - fz.sum(effects**2, axis=1) / 2
    prior = prior + log_spread - fz.log1p((spread / 5) ** 2)
    return prior - fz.sum(((y - schools) / errors) ** 2, axis=1) / 2


def slope(q):
    return fz.grad(lambda theta: fz.sum(log_density(theta)))(q)


def dot(a, b):
    return fz.sum(a * b, axis=-1)


def leap(q, p, size):
    p = p + size / 2 * slope(q)
    q = q + size * p
    return q, p + size / 2 * slope(q)


def turns(first, last, total):
    """Whether the ends of a piece, whose momenta add up to `total`, come nearer to each other."""
    return (dot(first, total) <= 0) | (dot(last, total) <= 0)


def pick(condition, a, b):
    return fz.where(condition[:, None], a, b)


@fz.trace
def double(tree, size, depth):
    """Doubles the trajectories of the chains that are going on; `depth` is a Python number."""
    forward = fz.random.uniform(tree["going"].shape) < 0.5
    q, p = pick(forward, tree["q1"], tree["q0"]), pick(forward, tree["p1"], tree["p0"])
    towards = fz.where(forward, size, -size)[:, None]
    chosen, weight = q, fz.full_like(tree["weight"], -math.inf)
    total, bad, starts = fz.zeros_like(p), ~tree["going"], {}
    for n in range(2**depth):
        q, p = leap(q, p, towards)
        change = log_density(q) - dot(p, p) / 2 - tree["energy"]
        change = fz.where(fz.isnan(change), -math.inf, change)
        tree["accepted"] = tree["accepted"] + fz.where(bad, 0.0, fz.exp(fz.minimum(change, 0)))
        tree["points"] = tree["points"] + ~bad
        weight = fz.logaddexp(weight, change)
        take = fz.random.uniform(weight.shape) < fz.exp(change - weight)
        chosen, total = pick(take, q, chosen), total + p
        bad = bad | (change < -1000)
        level = (n >> 1).bit_count()  # pieces that begin here or before and are not complete
        if n % 2 == 0:
            starts[level] = p, total - p
        else:
            complete = (n ^ (n + 1)).bit_length() - 1
            for i in range(level, level - complete, -1):
                bad = bad | turns(starts[i][0], p, total - starts[i][1])
    good = ~bad
    take = fz.random.uniform(weight.shape) < fz.exp(fz.minimum(weight - tree["weight"], 0))
    tree["chosen"] = pick(good & take, chosen, tree["chosen"])
    tree["weight"] = fz.logaddexp(tree["weight"], weight)
    for side, here in (("0", ~forward), ("1", forward)):
        tree["q" + side] = pick(good & here, q, tree["q" + side])
        tree["p" + side] = pick(good & here, p, tree["p" + side])
    tree["total"] = pick(good, tree["total"] + total, tree["total"])
    tree["going"] = good & ~turns(tree["p0"], tree["p1"], tree["total"])
    return tree


def transition(theta, size):
    """Next points of all chains, and the mean chance of acceptance."""
    p = fz.random.normal(theta.shape, dtype=theta.dtype)
    energy = log_density(theta) - dot(p, p) / 2
    zeros, ones = fz.zeros_like(energy), fz.ones(energy.shape, dtype=fz.bool)
    ends = {"q0": theta, "p0": p, "q1": theta, "p1": p, "total": p, "chosen": theta}
    sums = {"energy": energy, "weight": zeros, "accepted": zeros, "points": zeros, "going": ones}
    tree = ends | sums
    for depth in range(DEEPEST):
        tree = double(tree, size, depth)
        if not fz.any(tree["going"]):
            break
    return tree["chosen"], fz.mean(tree["accepted"] / tree["points"])


def r_hat(samples):
    """Of (draws, chains, parameters)."""
    n = samples.shape[0]
    within = fz.mean(fz.var(samples, axis=0, correction=1), axis=0)
    between = fz.var(fz.mean(samples, axis=0), axis=0, correction=1)
    return fz.sqrt((n - 1) / n + between / within)


def main(small=False):
    chains, draws, warm = (8, 150, 60) if small else (64, 1000, 200)
    fz.random.seed(0)
    theta = fz.random.normal((chains, 10), dtype=fz.float64)
    size = fz.asarray(0.1, dtype=fz.float64)
    samples = []
    for i in range(warm + draws):
        theta, accepted = transition(theta, size)
        if i < warm:
            size = size * fz.exp(0.2 * (accepted - 0.8))
        else:
            samples.append(theta)
    samples = fz.stack(samples)
    mean, spread = samples[:, :, 0], fz.exp(samples[:, :, 1])
    return {
        "quality": fz.max(r_hat(samples)).item(),
        "of": "R hat, 1 is best",
        "figure": {"points": {"mean, spread": fz.stack([mean, spread], -1).reshape(-1, 2)[::10]}},
        "traced": double,
    }
