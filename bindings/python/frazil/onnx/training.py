"""Steps of optimizers, and gradients."""

from __future__ import annotations

from typing import Any

import frazil as fz
from frazil.onnx._table import TRAINING, converts


def _grouped(inputs: Any, kinds: int) -> list[tuple[Any, ...]]:
    """(x, gradient, state ...) of each tensor; the inputs are all x, all gradients ..."""
    n = len(inputs) // kinds
    return [tuple(inputs[k * n + i] for k in range(kinds)) for i in range(n)]


def _spread(results: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(value for part in zip(*results, strict=True) for value in part)


@converts("Adagrad", domain=TRAINING)
def adagrad(
    rate: Any, step: Any, *inputs: Any, norm_coefficient: float = 0.0, decay_factor: float = 0.0,
    epsilon: float = 1e-6,
) -> Any:  # fmt: skip
    results = []
    rate = rate / (1 + step.astype(rate.dtype) * decay_factor)
    for x, g, h in _grouped(inputs, 3):
        g = norm_coefficient * x + g
        h = h + g * g
        results.append((x - rate * g / (fz.sqrt(h) + epsilon), h))
    return _spread(results)


@converts("Adam", domain=TRAINING)
def adam(
    rate: Any, step: Any, *inputs: Any, alpha: float = 0.9, beta: float = 0.999,
    epsilon: float = 1e-6, norm_coefficient: float = 0.0, norm_coefficient_post: float = 0.0,
) -> Any:  # fmt: skip
    t = step.astype(rate.dtype)
    corrected = rate * fz.sqrt(1 - fz.pow(beta, t)) / (1 - fz.pow(alpha, t))
    rate = fz.where(t > 0, corrected, rate)
    results = []
    for x, g, v, h in _grouped(inputs, 4):
        g = norm_coefficient * x + g
        v = alpha * v + (1 - alpha) * g
        h = beta * h + (1 - beta) * g * g
        new = x - rate * (v / (fz.sqrt(h) + epsilon))
        results.append(((1 - norm_coefficient_post) * new, v, h))
    return _spread(results)


@converts("Momentum", domain=TRAINING)
def momentum(
    rate: Any, step: Any, *inputs: Any, alpha: float, beta: float, mode: str,
    norm_coefficient: float,
) -> Any:  # fmt: skip
    first = fz.ones((), dtype=rate.dtype)
    share = fz.where(step > 0, beta * first, first)
    results = []
    for x, g, v in _grouped(inputs, 3):
        g = norm_coefficient * x + g
        v = alpha * v + share * g
        results.append((x - rate * (g + alpha * v if mode == "nesterov" else v), v))
    return _spread(results)


@converts("Gradient", domain=TRAINING, control=True)
def gradient(node: Any, values: Any, run: Any) -> Any:
    """Of y to xs: the nodes between them run again, on these values."""
    body, count = node.extra
    given = [node.deliver(values[p], 0) for p in node.inputs]

    def of(*xs: Any) -> Any:
        for place, x in zip(body.inputs, (*xs, *given[count:]), strict=True):
            values[place] = x
        return fz.sum(node.deliver(body.run(values, run)[0], 0))

    gradients = fz.grad(of, argnums=tuple(range(count)))(*given[:count])
    return tuple(gradients) if isinstance(gradients, (tuple, list)) else gradients
