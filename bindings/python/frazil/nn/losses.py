"""Losses as functions. `reduction` is "mean", "sum" or "none", of what each element or example
costs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil._frazil import nn as _ops
from frazil.nn._arguments import one_of
from frazil.nn._autocast import raises

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil._frazil import Tensor

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss",
    "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "pairwise_distance",
    "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip


def reduced(op: str, cost: Tensor, reduction: str) -> Tensor:
    """The mean, the sum or each of what elements cost."""
    one_of(f"[{op}] reduction", reduction, "mean", "sum", "none")
    return cost if reduction == "none" else cost.mean() if reduction == "mean" else cost.sum()


def _same(op, input, target):
    if input.shape != target.shape:
        raise ValueError(
            f"[{op}] input and target must have one shape: {input.shape} and {target.shape}."
        )


@raises
def mse_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """(input - target) ** 2, times the weight; the mean is then by the sum of the weights."""
    return _weighted("mse_loss", (input - target) ** 2, weight, reduction)


@raises
def l1_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """|input - target|."""
    return _weighted("l1_loss", abs(input - target), weight, reduction)


@raises
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half the square of what is at most delta, and from there on a line."""
    apart = input - target
    far = abs(apart)
    cost = _fz.where(far <= delta, apart * apart * 0.5, delta * (far - 0.5 * delta))
    return _weighted("huber_loss", cost, weight, reduction)


@raises
def smooth_l1_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """huber_loss with delta=beta, divided by beta; l1_loss for beta 0."""
    if beta == 0:
        return l1_loss(input, target, reduction)
    apart = input - target
    far = abs(apart)
    cost = _fz.where(far < beta, apart * apart * (0.5 / beta), far - 0.5 * beta)
    return reduced("smooth_l1_loss", cost, reduction)


def _weighted(op, cost, weight, reduction):
    if weight is None:
        return reduced(op, cost, reduction)
    cost = cost * weight
    if reduction != "mean":
        return reduced(op, cost, reduction)
    return cost.sum() / _fz.broadcast_to(weight, cost.shape).sum()


@raises
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """-(target log(input) + (1 - target) log(1 - input)), logarithms at least -100."""
    _same("binary_cross_entropy", input, target)
    yes, no = _fz.maximum(_fz.log(input), -100.0), _fz.maximum(_fz.log1p(-input), -100.0)
    cost = (target - 1) * no - target * yes
    return reduced("binary_cross_entropy", cost if weight is None else cost * weight, reduction)


@raises
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy of sigmoid(input), without overflow; pos_weight is for the positive
    ones.

    >>> binary_cross_entropy_with_logits(_fz.zeros(2), _fz.ones(2)).item()
    0.6931471824645996
    """
    _same("binary_cross_entropy_with_logits", input, target)
    factor = 1.0 if pos_weight is None else (pos_weight - 1) * target + 1
    cost = (1 - target) * input - factor * _ops.log_sigmoid(input)
    cost = cost if weight is None else cost * weight
    return reduced("binary_cross_entropy_with_logits", cost, reduction)


@raises
def kl_div(
    input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """target * (log(target) - input); "batchmean" divides by the first extent."""
    one_of("[kl_div] reduction", reduction, "mean", "sum", "none", "batchmean")
    if log_target:
        cost = _fz.exp(target) * (target - input)
    else:
        cost = _fz.where(target > 0, target * _fz.log(_fz.where(target > 0, target, 1.0)), 0.0)
        cost = cost - target * input
    if reduction == "batchmean":
        return cost.sum() / input.shape[0]
    return reduced("kl_div", cost, reduction)


@raises
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """exp(input) - target * input of a logarithm, or input - target * log(input + eps); full adds
    Stirling's term where target > 1.
    """
    cost = _fz.exp(input) if log_input else input
    cost = cost - target * (input if log_input else _fz.log(input + eps))
    if full:
        safe = _fz.where(target > 1, target, 1.0)
        term = safe * _fz.log(safe) - safe + 0.5 * _fz.log(2 * math.pi * safe)
        cost = cost + _fz.where(target > 1, term, 0.0)
    return reduced("poisson_nll_loss", cost, reduction)


@raises
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """(log(var) + (input - target) ** 2 / var) / 2, with var at least eps."""
    var = _fz.asarray(var, dtype=input.dtype)
    if var.ndim == input.ndim - 1 and var.shape == input.shape[:-1] and var.ndim:
        var = var[..., None]
    low = (var < eps).astype(var.dtype)
    var = var + (low * (eps - var)).detach()
    cost = 0.5 * (_fz.log(var) + (input - target) ** 2 / var)
    cost = cost + 0.5 * math.log(2 * math.pi) if full else cost
    return reduced("gaussian_nll_loss", cost, reduction)


@raises
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """input where target is 1, max(0, margin - input) where it is -1."""
    apart = _ops.relu(margin - input)
    cost = _fz.where(target != 1, apart, 0.0) + _fz.where(target != -1, input, 0.0)
    return reduced("hinge_embedding_loss", cost, reduction)


@raises
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input))."""
    return reduced("soft_margin_loss", -_ops.log_sigmoid(target * input), reduction)


@raises
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """max(0, margin - target * (input1 - input2))."""
    cost = _ops.relu(margin - target * (input1 - input2))
    return reduced("margin_ranking_loss", cost, reduction)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 . x2 along an axis, divided by both norms, each at least eps."""
    n1 = _fz.sqrt(_fz.maximum((x1 * x1).sum(axis=dim), eps * eps))
    n2 = _fz.sqrt(_fz.maximum((x2 * x2).sum(axis=dim), eps * eps))
    return (x1 * x2).sum(axis=dim) / (n1 * n2)


@raises
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    eps = 1e-12
    dot, square1, square2 = (
        (a * b).sum(axis=-1) for a, b in ((input1, input2), (input1, input1), (input2, input2))
    )
    cos = dot / _fz.sqrt((square1 + eps) * (square2 + eps))
    cost = _fz.where(target == 1, 1 - cos, _ops.relu(cos - margin))
    return reduced("cosine_embedding_loss", cost, reduction)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last axis."""
    apart = x1 - x2 + eps
    if p == 2:
        return _fz.sqrt((apart * apart).sum(axis=-1, keepdims=keepdim))
    if p == math.inf:
        return abs(apart).max(axis=-1, keepdims=keepdim)
    return (abs(apart) ** p).sum(axis=-1, keepdims=keepdim) ** (1 / p)


@raises
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, distance to the positive one - that to the negative one + margin); swap: the negative
    one's smaller distance to both.
    """
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, margin=margin, swap=swap, reduction=reduction,
        distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
    )  # fmt: skip


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_loss with a distance of one's own."""
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _fz.minimum(far, distance(positive, negative))
    return reduced("triplet_margin_loss", _ops.relu(near - far + margin), reduction)


@raises
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of max(0, margin - input[target] + input) ** p, without the target."""
    classes = input.shape[-1]
    right = _fz.take_along_axis(input, target[..., None], axis=-1)
    cost = _ops.relu(margin - right + input) ** p
    cost = cost if weight is None else cost * _fz.take(weight, target, axis=0)[..., None]
    other = _fz.arange(classes) != target[..., None]
    cost = _fz.where(other, cost, 0.0).sum(axis=-1) / classes
    return reduced("multi_margin_loss", cost, reduction)


@raises
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Of the classes that target lists, up to its first -1, and those that it does not: the sum of
    max(0, 1 - input[listed] + input[other]), divided by the number of classes.
    """
    classes = input.shape[-1]
    listed = _fz.cumsum((target < 0).astype("int64"), axis=-1) == 0
    at = _fz.where(listed, target, 0)
    is_listed = ((_fz.arange(classes)[:, None] == at[..., None, :]) & listed[..., None, :]).any(
        axis=-1
    )
    right = _fz.take_along_axis(input, at, axis=-1)
    cost = _ops.relu(1 - right[..., :, None] + input[..., None, :])
    counted = listed[..., :, None] & ~is_listed[..., None, :]
    cost = _fz.where(counted, cost, 0.0).sum(axis=(-2, -1)) / classes
    return reduced("multilabel_margin_loss", cost, reduction)


@raises
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """binary_cross_entropy_with_logits, its mean over classes."""
    cost = -(target * _ops.log_sigmoid(input) + (1 - target) * _ops.log_sigmoid(-input))
    cost = cost if weight is None else cost * weight
    return reduced("multilabel_soft_margin_loss", cost.mean(axis=-1), reduction)


@raises
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """-input[target] of logarithms (n, classes, ...) and classes (n, ...), times the weight of the
    class; targets that are ignore_index cost nothing. The mean is by the sum of the weights.
    """
    return _of_classes("nll_loss", input, target, weight, ignore_index, reduction, 0.0)


@raises
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """nll_loss of log_softmax(input) along axis 1 (the only one of a vector).

    Parameters
    ----------
    input : Tensor
        (classes), (n, classes) or (n, classes, ...).
    target : Tensor
        Integer classes (n, ...), or probabilities with the shape of input.
    label_smoothing : float
        How much of the probability all classes share equally.

    Raises
    ------
    ValueError
        If shapes do not fit, or label_smoothing is not from 0 to 1.

    >>> cross_entropy(_fz.zeros((2, 4)), _fz.asarray([0, 3])).item()
    1.3862943649291992
    """
    if not 0 <= label_smoothing <= 1:
        raise ValueError(
            f"[cross_entropy] label_smoothing must be from 0 to 1, got {label_smoothing}."
        )
    axis = 1 if input.ndim > 1 else 0
    logs = _ops.log_softmax(input, axis=axis)
    if target.dtype.kind == "real floating":
        _same("cross_entropy", input, target)
        share = target * (1 - label_smoothing) + label_smoothing / input.shape[axis]
        logs = logs if weight is None else logs * _channel(weight, axis, logs.ndim)
        cost = -(logs * share).sum(axis=axis)
        if reduction == "mean":
            return cost.sum() / max(cost.size, 1)
        return reduced("cross_entropy", cost, reduction)
    options = weight, ignore_index, reduction, label_smoothing
    return _of_classes("cross_entropy", logs, target, *options)


def _channel(weight, axis, ndim):
    return weight.reshape((1,) * axis + (-1,) + (1,) * (ndim - axis - 1))


def _of_classes(op, logs, target, weight, ignore_index, reduction, smoothing):
    axis = 1 if logs.ndim > 1 else 0
    if target.shape != logs.shape[:axis] + logs.shape[axis + 1 :]:
        raise ValueError(
            f"[{op}] target must have the input's shape without axis {axis}: {target.shape} and "
            f"{logs.shape}."
        )
    one_of(f"[{op}] reduction", reduction, "mean", "sum", "none")
    kept = target != ignore_index
    label = _fz.where(kept, target, 0)
    cost = -_fz.take_along_axis(logs, _fz.expand_dims(label, axis=axis), axis=axis).squeeze(axis)
    factor = kept.astype(logs.dtype)
    if weight is not None:
        factor = factor * _fz.take(weight, label, axis=0)
    cost = _fz.where(kept, cost * factor, 0.0)
    total = factor.sum()
    if smoothing:
        spread = logs if weight is None else logs * _channel(weight, axis, logs.ndim)
        all_classes = _fz.where(kept, -spread.sum(axis=axis), 0.0) / logs.shape[axis]
        cost = cost * (1 - smoothing) + all_classes * smoothing
    return cost.sum() / total if reduction == "mean" else reduced(op, cost, reduction)
