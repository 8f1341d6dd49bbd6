"""The compiled part of frazil.nn."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from typing import (
    Literal,
    SupportsIndex,
)

from frazil._frazil import Tensor
from frazil._types import Ints, Number, Operand

__all__ = [
    "attention",
    "conv2d",
    "cross_entropy",
    "gelu",
    "layer_norm",
    "log_sigmoid",
    "log_softmax",
    "mse_loss",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
]

def attention(
    q: Operand, k: Operand, v: Operand, *, causal: builtins.bool = ..., scale: Number | None = ...
) -> Tensor:
    """softmax(q k^T * scale) v (Vaswani et al. 2017) for q [..., t, d], k [..., s, d] and v [..., s, w]: [..., t, w]. Leading axes broadcast; scale is 1 / sqrt(d) if not given; causal: query i sees keys up to i + s - t. By blocks of 64 queries and 64 keys with a running maximum and sum (Milakov and Gimelshein 2018, Rabe and Staats 2021, Dao et al. 2022), also for gradients: no array of t x s is made. Any floats; 16-bit ones compute in float32 and round once. A query that sees no key gives 0. ValueError if shapes do not match. Gradients of gradients use the formula written out, with arrays of t x s."""

def conv2d(
    x: Operand,
    w: Operand,
    *,
    stride: Ints = ...,
    padding: Ints = ...,
    dilation: Ints = ...,
    groups: SupportsIndex = ...,
    layout: Literal["NHWC", "NCHW"] = ...,
) -> Tensor:
    """Cross-correlation over two axes: windows of x, with zeros around it, times w. Strides, zeros around x and gaps in w are one number or two. layout "NHWC": x is (n, height, width, in), w (kernel height, kernel width, in / groups, out); "NCHW": x is (n, in, height, width), w (out, in / groups, kernel height, kernel width)."""

def cross_entropy(logits: Operand, labels: Operand) -> Tensor:
    """Mean negative log likelihood of integer labels under softmax(logits) along the last axis."""

def gelu(x: Operand, /, *, approximate: Literal["none", "tanh"] = ...) -> Tensor:
    """x times the normal distribution function of x (Hendrycks and Gimpel 2016), elementwise; "tanh": its approximation."""

def layer_norm(
    x: Operand, /, weight: Operand | None = ..., bias: Operand | None = ..., *, eps: Number = ...
) -> Tensor:
    """Normalises the last axis to mean 0 and variance 1, then weight and bias (Ba et al. 2016)."""

def log_sigmoid(x: Operand, /) -> Tensor:
    """log(1 / (1 + exp(-x))), elementwise, without overflow."""

def log_softmax(x: Operand, /, axis: SupportsIndex = ...) -> Tensor:
    """Logarithm of softmax along an axis."""

def mse_loss(x: Operand, target: Operand) -> Tensor:
    """Mean squared difference."""

def relu(x: Operand, /) -> Tensor:
    """max(x, 0), elementwise."""

def sigmoid(x: Operand, /) -> Tensor:
    """1 / (1 + exp(-x)), elementwise, without overflow."""

def silu(x: Operand, /) -> Tensor:
    """x * sigmoid(x), elementwise."""

def softmax(x: Operand, /, axis: SupportsIndex = ...) -> Tensor:
    """exp(x) normalised to sum 1 along an axis."""

def softplus(x: Operand, /) -> Tensor:
    """log(1 + exp(x)), elementwise, without overflow."""
