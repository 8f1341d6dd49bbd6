"""Losses of class scores."""

from __future__ import annotations

from typing import Any

import frazil as fz
from frazil import nn
from frazil.onnx._table import converts


def _reduced(loss: Any, weights: Any, reduction: str) -> Any:
    if reduction == "none":
        return loss
    total = fz.sum(loss)
    if reduction == "sum":
        return total
    return total / (loss.size if weights is None else fz.sum(weights))


def nll(log_prob: Any, target: Any, weight: Any, ignore_index: int | None, reduction: str) -> Any:
    """Of (n, classes, ...) and the classes (n, ...)."""
    target = target.astype("int64")
    shown = None if ignore_index is None else target != ignore_index
    safe = target if shown is None else fz.where(shown, target, fz.zeros_like(target))
    chosen = fz.take_along_axis(log_prob, fz.expand_dims(safe, axis=1), axis=1)
    loss = -fz.squeeze(chosen, axis=1)
    weights = None if weight is None else fz.take(weight, safe, axis=0)
    if shown is not None:
        one = fz.ones(target.shape, dtype=log_prob.dtype) if weights is None else weights
        weights = fz.where(shown, one, fz.zeros_like(one))
    return _reduced(loss if weights is None else loss * weights, weights, reduction)


@converts("NegativeLogLikelihoodLoss", 12)
def negative_log_likelihood(
    x: Any, target: Any, weight: Any = None, *, ignore_index: int | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    return nll(x, target, weight, ignore_index, reduction)


@converts("SoftmaxCrossEntropyLoss", 12)
def softmax_cross_entropy(
    scores: Any, labels: Any, weights: Any = None, *, ignore_index: int | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    log_prob = nn.log_softmax(scores, axis=1)
    return nll(log_prob, labels, weights, ignore_index, reduction), log_prob
