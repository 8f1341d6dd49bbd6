"""Normalisation over batches, channels, groups and features; dropout."""

from __future__ import annotations

from typing import Any

import frazil as fz
from frazil import nn
from frazil.onnx._table import converts


def _channels(v: Any, x: Any) -> Any:
    return v.reshape((-1,) + (1,) * (x.ndim - 2))


def _batch(x: Any, scale: Any, b: Any, mean: Any, var: Any, epsilon: float) -> Any:
    factor = scale * fz.rsqrt(var + epsilon)
    y = x * _channels(factor, x) + _channels(b - mean * factor, x)
    return y.astype(x.dtype)


@converts("BatchNormalization")
def batch_norm_test(
    x: Any, scale: Any, b: Any, mean: Any, var: Any, *, epsilon: float = 1e-5,
    momentum: float = 0.9, spatial: int = 1, is_test: int = 0, consumed_inputs: Any = None,
) -> Any:  # fmt: skip
    return batch_norm_old(x, scale, b, mean, var, epsilon=epsilon, spatial=spatial)


@converts("BatchNormalization", 7)
def batch_norm_old(
    x: Any, scale: Any, b: Any, mean: Any, var: Any, *, epsilon: float = 1e-5,
    momentum: float = 0.9, spatial: int = 1,
) -> Any:  # fmt: skip
    if not spatial:
        y = (x - mean) * (scale * fz.rsqrt(var + epsilon)) + b
        return y.astype(x.dtype)
    return _batch(x, scale, b, mean, var, epsilon)


@converts("BatchNormalization", 14)
def batch_norm(
    x: Any, scale: Any, b: Any, mean: Any, var: Any, *, epsilon: float = 1e-5,
    momentum: float = 0.9, training_mode: int = 0,
) -> Any:  # fmt: skip
    if not training_mode:
        return _batch(x, scale, b, mean, var, epsilon)
    axes = (0, *range(2, x.ndim))
    own_mean, own_var = fz.mean(x, axis=axes), fz.var(x, axis=axes)
    y = _batch(x, scale, b, own_mean, own_var, epsilon)
    moved = [
        (old * momentum + new * (1 - momentum)).astype(old.dtype)
        for old, new in ((mean, own_mean), (var, own_var))
    ]
    return y, *moved


@converts("InstanceNormalization")
def instance_norm(x: Any, scale: Any, b: Any, *, epsilon: float = 1e-5) -> Any:
    axes = tuple(range(2, x.ndim))
    apart = x - fz.mean(x, axis=axes, keepdims=True)
    var = fz.mean(apart * apart, axis=axes, keepdims=True)
    return apart * fz.rsqrt(var + epsilon) * _channels(scale, x) + _channels(b, x)


def _stash(x: Any, stash_type: int) -> Any:
    """Statistics of 16-bit floats are computed in float32."""
    return x.astype("float32") if stash_type == 1 and x.dtype.itemsize == 2 else x


@converts("LayerNormalization", 17)
def layer_norm(
    x: Any, scale: Any, b: Any = None, *, axis: int = -1, epsilon: float = 1e-5,
    stash_type: int = 1, node: Any,
) -> Any:  # fmt: skip
    axis %= x.ndim
    own = _stash(x, stash_type)
    if axis == x.ndim - 1 and not node.wants(1) and not node.wants(2) and own is x:
        plain = scale.ndim == 1 and (b is None or b.ndim == 1)
        if plain:
            return nn.layer_norm(x, scale, b, eps=epsilon)
    axes = tuple(range(axis, x.ndim))
    mean = fz.mean(own, axis=axes, keepdims=True)
    apart = own - mean
    inverse = fz.rsqrt(fz.mean(apart * apart, axis=axes, keepdims=True) + epsilon)
    y = (apart * inverse).astype(x.dtype) * scale
    return (y if b is None else y + b), mean, inverse


@converts("RMSNormalization", 23)
def rms_norm(
    x: Any, scale: Any, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    axes = tuple(range(axis % x.ndim, x.ndim))
    own = _stash(x, stash_type)
    y = own * fz.rsqrt(fz.mean(own * own, axis=axes, keepdims=True) + epsilon)
    return y.astype(x.dtype) * scale


def _groups(x: Any, num_groups: int, epsilon: float, stash_type: int) -> Any:
    own = _stash(x, stash_type).reshape((x.shape[0], num_groups, -1))
    apart = own - fz.mean(own, axis=-1, keepdims=True)
    y = apart * fz.rsqrt(fz.mean(apart * apart, axis=-1, keepdims=True) + epsilon)
    return y.astype(x.dtype)


@converts("GroupNormalization", 18)
def group_norm_of_groups(
    x: Any, scale: Any, bias: Any, *, num_groups: int, epsilon: float = 1e-5
) -> Any:
    y = _groups(x, num_groups, epsilon, 0)
    return (y * scale.reshape((-1, 1)) + bias.reshape((-1, 1))).reshape(x.shape)


@converts("GroupNormalization", 21)
def group_norm(
    x: Any, scale: Any, bias: Any, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    y = _groups(x, num_groups, epsilon, stash_type).reshape(x.shape)
    return y * _channels(scale, x) + _channels(bias, x)


@converts("LpNormalization")
def lp_normalization(x: Any, *, axis: int = -1, p: int = 2) -> Any:
    if p == 1:
        norm = fz.sum(fz.abs(x), axis=axis, keepdims=True)
    else:
        norm = fz.sqrt(fz.sum(x * x, axis=axis, keepdims=True))
    return fz.where(norm == 0, fz.zeros_like(x), x / norm)


@converts("MeanVarianceNormalization", 9)
def mean_variance(x: Any, *, axes: Any = (0, 2, 3)) -> Any:
    mean = fz.mean(x, axis=tuple(axes), keepdims=True)
    var = fz.mean(x * x, axis=tuple(axes), keepdims=True) - mean * mean
    return (x - mean) / (fz.sqrt(var) + 1e-9)


@converts("LRN")
def local_response(
    x: Any, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Any:
    """Sums of squares over channels nearby: (size - 1) // 2 before, the rest behind."""
    n, square = x.shape[1], x * x
    widths = [(0, 0)] * x.ndim
    before = (size - 1) // 2
    widths[1] = (before, size - 1 - before)
    padded = fz.pad(square, widths)
    total = padded[:, :n]
    for i in range(1, size):
        total = total + padded[:, i : i + n]
    return x / (bias + alpha / size * total) ** beta


@converts("Dropout")
def dropout_old(x: Any, *, ratio: float = 0.5, is_test: int = 1) -> Any:
    if not is_test:
        raise ValueError("[onnx] Dropout with is_test (0), which draws, is of opset 12 on.")
    return x, fz.ones_like(x, dtype="bool")


@converts("Dropout", 12, host="ratio training", random=True)
def dropout(
    x: Any, ratio: Any = None, training: Any = None, *, seed: int | None = None, node: Any
) -> Any:
    share = 0.5 if ratio is None else float(ratio)
    if training is None or not training.any() or share == 0.0:
        return (x, fz.ones_like(x, dtype="bool")) if node.wants(1) else x
    from frazil.onnx.random import uniform

    mask = uniform(x.shape, seed, "float64") >= share
    return fz.where(mask, x / (1.0 - share), fz.zeros_like(x)), mask
