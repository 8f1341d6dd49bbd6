"""Regression by a Gaussian process: the noise and the kernel are learnt by their likelihood."""

import math

import frazil as fz


def kernel(a, b, params):
    length, scale = fz.exp(params["length"]), fz.exp(params["scale"])
    return scale**2 * fz.exp(-(((a[:, None] - b) / length) ** 2) / 2)


def noisy(x, params):
    return kernel(x, x, params) + fz.exp(params["noise"]) ** 2 * fz.eye(x.size, dtype=x.dtype)


def negative_log_likelihood(params, x, y):
    lower = fz.linalg.cholesky(noisy(x, params))
    white = fz.linalg.solve_triangular(lower, y[:, None], lower=True)
    half_logdet = fz.sum(fz.log(fz.diagonal(lower)))
    return fz.sum(white**2) / 2 + half_logdet + x.size / 2 * math.log(2 * math.pi)


@fz.trace
def step(params, x, y, rate):
    loss, grads = fz.value_and_grad(negative_log_likelihood)(params, x, y)
    return fz.tree.map(lambda p, g: p - rate * g, params, grads), loss


def predict(params, x, y, at):
    """Mean and standard deviation of the function where it was not measured."""
    lower = fz.linalg.cholesky(noisy(x, params))
    cross = kernel(at, x, params)
    mean = cross @ fz.linalg.cholesky_solve(y[:, None], lower)
    explained = fz.linalg.solve_triangular(lower, cross.T, lower=True)
    variance = fz.exp(params["scale"]) ** 2 - fz.sum(explained**2, axis=0)
    return mean[:, 0], fz.sqrt(variance)


def main(small=False):
    count, steps = (40, 200) if small else (300, 500)
    fz.random.seed(0)
    x = fz.sort(fz.random.uniform(count, dtype=fz.float64) * 10)
    y = fz.sin(x) + 0.5 * fz.cos(2 * x) + 0.1 * fz.random.normal(count, dtype=fz.float64)
    params = {name: fz.asarray(0.0, dtype=fz.float64) for name in ("length", "scale", "noise")}
    for _ in range(steps):
        params, _ = step(params, x, y, 0.2 / count)
    at = fz.linspace(0.5, 9.5, 200, dtype=fz.float64)
    mean, deviation = predict(params, x, y, at)
    true = fz.sin(at) + 0.5 * fz.cos(2 * at)
    curves = {"true": true, "mean": mean, "low": mean - 2 * deviation, "high": mean + 2 * deviation}
    return {
        "quality": fz.sqrt(fz.mean((mean - true) ** 2)).item(),
        "of": "root mean squared error",
        "figure": {"x": at, "curves": curves},
        "traced": step,
    }
