"""Activation functions under PyTorch's names, arguments and defaults.

`inplace` is there for PyTorch's callers and has no effect: the input keeps its values, and memory
that nothing else holds is used again anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from frazil import _frazil as _fz
from frazil import random as _random
from frazil._frazil import nn as _ops
from frazil.nn._autocast import lowers

if TYPE_CHECKING:
    from frazil._frazil import Tensor
    from frazil._types import DTypeLike

__all__ = [
    "celu", "elu", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "leaky_relu", "log_softmax", "logsigmoid", "mish", "normalize", "prelu", "relu",
    "relu6", "rrelu", "selu", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink",
    "softsign", "tanh", "tanhshrink", "threshold",
]  # fmt: skip

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """input where it is above the threshold, `value` elsewhere."""
    return _fz.where(input > threshold, input, value)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0)."""
    return _ops.relu(input)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """input, but at least min_val and at most max_val; its gradient is 0 at both."""
    inside = (input > min_val) & (input < max_val)
    return _fz.where(inside, input, _fz.clip(input.detach(), min_val, max_val))


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(input, 0), 6)."""
    return hardtanh(input, 0.0, 6.0)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(input + 3, 0), 6) / 6."""
    return hardtanh(input + 3.0, 0.0, 6.0) / 6.0


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * hardsigmoid(input)."""
    return input * hardsigmoid(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """input where it is positive, input * negative_slope elsewhere."""
    return _fz.where(input > 0, input, input * negative_slope)


@lowers
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """leaky_relu with a slope for all, or one for each channel (axis 1)."""
    if weight.size > 1 and input.ndim > 1:
        weight = weight.reshape((-1,) + (1,) * (input.ndim - 2))
    return _fz.where(input > 0, input, input * weight)


def rrelu(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """leaky_relu with slopes drawn from [lower, upper) in training, their mean otherwise."""
    if not training:
        return leaky_relu(input, (lower + upper) / 2)
    slopes = _random.uniform(input.shape, dtype=input.dtype, device=input.device)
    return _fz.where(input > 0, input, input * (slopes * (upper - lower) + lower))


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where it is positive, alpha * (exp(input) - 1) elsewhere."""
    return _fz.where(input > 0, input, alpha * _fz.expm1(_fz.minimum(input, 0.0)))


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The scaled elu that keeps mean 0 and variance 1 (Klambauer et al. 2017)."""
    return _SELU_SCALE * elu(input, _SELU_ALPHA)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where it is positive, alpha * (exp(input / alpha) - 1) elsewhere."""
    return _fz.where(input > 0, input, alpha * _fz.expm1(_fz.minimum(input, 0.0) / alpha))


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of an axis times the sigmoid of the second."""
    n = input.shape[dim]
    if n % 2:
        raise ValueError(f"[glu] the axis must have an even extent: {n} along {dim}.")
    gate = _fz.moveaxis(input, dim, 0)
    return _fz.moveaxis(gate[: n // 2] * _ops.sigmoid(gate[n // 2 :]), 0, dim)


def gelu(input: Tensor, approximate: Literal["none", "tanh"] = "none") -> Tensor:
    """input times the normal distribution function of it; "tanh": its approximation."""
    return _ops.gelu(input, approximate=approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)."""
    return _ops.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * tanh(log(1 + exp(input)))."""
    return input * _fz.tanh(_ops.softplus(input))


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input))."""
    return _ops.sigmoid(input)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(input))."""
    return _ops.log_sigmoid(input)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return _fz.tanh(input)


def tanhshrink(input: Tensor) -> Tensor:
    """input - tanh(input)."""
    return input - _fz.tanh(input)


def softsign(input: Tensor) -> Tensor:
    """input / (1 + |input|)."""
    return input / (1.0 + abs(input))


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * input)) / beta, and input where beta * input is above the threshold."""
    scaled = input * beta
    return _fz.where(scaled > threshold, input, _ops.softplus(scaled) / beta)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """input where its absolute value is above lambd, 0 elsewhere."""
    return _fz.where(abs(input.detach()) > lambd, input, 0.0)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """input moved by lambd towards 0, and 0 where it is nearer."""
    return _fz.where(input > lambd, input - lambd, _fz.where(input < -lambd, input + lambd, 0.0))


def softmax(input: Tensor, dim: int = -1, dtype: DTypeLike | None = None) -> Tensor:
    """exp(input) normalised to sum 1 along an axis."""
    return _ops.softmax(input if dtype is None else input.astype(dtype), axis=dim)


def softmin(input: Tensor, dim: int = -1, dtype: DTypeLike | None = None) -> Tensor:
    """softmax(-input)."""
    return softmax(-input, dim, dtype)


def log_softmax(input: Tensor, dim: int = -1, dtype: DTypeLike | None = None) -> Tensor:
    """The logarithm of softmax."""
    return _ops.log_softmax(input if dtype is None else input.astype(dtype), axis=dim)


def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution (Jang et al. 2017); hard: one-hot, with the
    gradient of the sample that is not.
    """
    u = _random.uniform(logits.shape, dtype=logits.dtype, device=logits.device)
    gumbel = -_fz.log(-_fz.log(u + 1e-20) + 1e-20)
    soft = softmax((logits + gumbel) / tau, dim)
    if not hard:
        return soft
    place = _fz.argmax(soft, axis=dim, keepdims=True)
    shape = [1] * logits.ndim
    shape[dim] = logits.shape[dim]
    one_hot = (_fz.arange(logits.shape[dim]).reshape(shape) == place).astype(soft.dtype)
    return one_hot - soft.detach() + soft


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """input divided by its p-norm along an axis, or by eps if that is larger."""
    if p == 2:
        norm = _fz.sqrt((input * input).sum(axis=dim, keepdims=True))
    else:
        norm = (abs(input) ** p).sum(axis=dim, keepdims=True) ** (1 / p)
    return input / _fz.maximum(norm, eps)
