"""Normalisation to mean 0 and variance 1: of a batch, a layer, groups, an instance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._dtypes import finfo as _finfo
from frazil._frazil import nn as _ops
from frazil._grad import no_grad
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil._named import number as _number
from frazil.nn._arguments import divides, filled
from frazil.nn._autocast import keeps
from frazil.nn.module import Module

if TYPE_CHECKING:
    from frazil._frazil import Tensor
    from frazil._types import DTypeLike

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "LayerNorm", "LocalResponseNorm", "RMSNorm",
]  # fmt: skip

_EPS = {name: _finfo(name).eps for name in ("bfloat16", "float16", "float32", "float64")}


def _scaled(x, weight, bias, axis):
    """x * weight + bias, of the elements along one axis."""
    shape = [1] * x.ndim
    shape[axis] = -1
    x = x if weight is None else x * weight.reshape(shape)
    return x if bias is None else x + bias.reshape(shape)


def _standard(x, axes, eps):
    mean = x.mean(axis=axes, keepdims=True)
    apart = x - mean
    return apart / _fz.sqrt((apart * apart).mean(axis=axes, keepdims=True) + eps)


@keeps(always=False)
def layer_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises the last axes, those of normalized_shape, then scales and shifts (Ba et al. 2016).

    ValueError if the input's last axes are others.
    """
    shape = _last_axes("layer_norm", input, normalized_shape)
    if len(shape) == 1:
        return _ops.layer_norm(input, weight, bias, eps=eps)
    flat = input.reshape((*input.shape[: input.ndim - len(shape)], math.prod(shape)))
    x = _ops.layer_norm(flat, eps=eps).reshape(input.shape)
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


@keeps(always=True)
def rms_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Divides the last axes, those of normalized_shape, by the root of their mean square, then
    scales them (Zhang and Sennrich 2019). eps is the dtype's if not given.
    """
    shape = _last_axes("rms_norm", input, normalized_shape)
    eps = _EPS[input.dtype.name] if eps is None else eps
    axes = tuple(range(-len(shape), 0))
    x = input * _fz.rsqrt((input * input).mean(axis=axes, keepdims=True) + eps)
    return x if weight is None else x * weight


def _shape(normalized_shape):
    if isinstance(normalized_shape, (tuple, list)):
        return tuple(normalized_shape)
    return (normalized_shape,)


def _last_axes(op, input, normalized_shape):
    shape = _shape(normalized_shape)
    if not shape or input.shape[-len(shape) :] != shape:
        raise ValueError(
            f"[{op}] the last axes must be those of normalized_shape: shape {input.shape} and "
            f"{shape}."
        )
    return shape


@keeps(always=False)
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    channels_last: bool = False,
) -> Tensor:
    """Normalises groups of channels of (n, channels, ...), then scales and shifts each channel (Wu
    and He 2018).
    """
    axis = -1 if channels_last else 1
    n = input.shape[axis]
    divides("[group_norm]", n, num_groups, "channels", "num_groups")
    parts = (num_groups, n // num_groups)
    if channels_last:
        x = input.reshape((*input.shape[:-1], *parts))
        axes = (*range(1, x.ndim - 2), x.ndim - 1)
    else:
        x = input.reshape((input.shape[0], *parts, *input.shape[2:]))
        axes = tuple(range(2, x.ndim))
    return _scaled(_standard(x, axes, eps).reshape(input.shape), weight, bias, axis)


@keeps(always=True)
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-5,
    channels_last: bool = False,
) -> Tensor:
    """Normalises each channel (axis 1) over the batch and its places, then scales and shifts it
    (Ioffe and Szegedy 2015). In training the running statistics, if given, move towards the
    batch's; otherwise they are used.
    """
    axis = input.ndim - 1 if channels_last else 1
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("[batch_norm] needs running_mean and running_var outside of training.")
        root = _fz.sqrt(running_var + eps)
        x = _scaled(input, None, -running_mean, axis)
        return _scaled(x, 1.0 / root if weight is None else weight / root, bias, axis)
    axes = tuple(a for a in range(input.ndim) if a != axis)
    n = input.size // input.shape[axis] if input.size else 0
    if n < 2:
        raise ValueError(f"[batch_norm] needs several elements a channel, got shape {input.shape}.")
    mean = input.mean(axis=axes, keepdims=True)
    apart = input - mean
    var = (apart * apart).mean(axis=axes, keepdims=True)
    if running_mean is not None and running_var is not None:
        with no_grad():
            running_mean += momentum * (mean.reshape((-1,)).detach() - running_mean)
            running_var += momentum * (var.reshape((-1,)).detach() * (n / (n - 1)) - running_var)
    return _scaled(apart / _fz.sqrt(var + eps), weight, bias, axis)


@keeps(always=True)
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
    channels_last: bool = False,
) -> Tensor:
    """Normalises each channel of each example over its places, then scales and shifts it (Ulyanov
    et al. 2016); with use_input_stats=False by the running statistics.
    """
    if not use_input_stats:
        return batch_norm(
            input, running_mean, running_var, weight, bias, eps=eps, channels_last=channels_last
        )
    axis = -1 if channels_last else 1
    axes = tuple(range(1, input.ndim - 1)) if channels_last else tuple(range(2, input.ndim))
    if running_mean is not None and running_var is not None:
        n = math.prod(input.shape[a] for a in axes)
        with no_grad():
            mean = input.detach().mean(axis=axes).mean(axis=0)
            var = _fz.var(input.detach(), axis=axes).mean(axis=0) * (n / (n - 1))
            running_mean += momentum * (mean - running_mean)
            running_var += momentum * (var - running_var)
    return _scaled(_standard(input, axes, eps), weight, bias, axis)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """input / (k + alpha * m) ** beta, m the mean square of `size` channels around each."""
    n, square = input.shape[1], input * input
    widths = [(0, 0)] * input.ndim
    widths[1] = (size // 2, (size - 1) // 2)
    padded = _fz.pad(square, widths)
    total = padded[:, :n]
    for i in range(1, size):
        total = total + padded[:, i : i + n]
    return input / (k + alpha * (total / size)) ** beta


class LayerNorm(Module):
    """Normalises the last axes, those of normalized_shape, then scales and shifts them."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        sizes = _shape(normalized_shape)
        shape = tuple([_integer("[nn.LayerNorm] size", n, 0) for n in sizes])
        self.normalized_shape, self.eps = shape, _number("[nn.LayerNorm] eps", eps, 0)
        affine = _flag("[nn.LayerNorm] elementwise_affine", elementwise_affine)
        self.weight = filled(shape, 1.0, device, dtype) if affine else None
        self.bias = filled(shape, 0.0, device, dtype) if affine and bias else None

    def forward(self, input: Tensor) -> Tensor:
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        shape = self.normalized_shape
        text = f"{shape[0] if len(shape) == 1 else shape}, eps={self.eps}"
        return text if self.weight is not None else f"{text}, elementwise_affine=False"


class RMSNorm(Module):
    """Divides the last axes by the root of their mean square, then scales them."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        sizes = _shape(normalized_shape)
        shape = tuple([_integer("[nn.RMSNorm] size", n, 0) for n in sizes])
        self.normalized_shape, self.eps = shape, eps
        affine = _flag("[nn.RMSNorm] elementwise_affine", elementwise_affine)
        self.weight = filled(shape, 1.0, device, dtype) if affine else None

    def forward(self, input: Tensor) -> Tensor:
        return rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class GroupNorm(Module):
    """Normalises groups of channels, then scales and shifts each channel."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: str | None = None,
        dtype: DTypeLike | None = None,
        *,
        channels_last: bool = False,
    ) -> None:
        self.num_groups = _integer("[nn.GroupNorm] num_groups", num_groups, 1)
        n = _integer("[nn.GroupNorm] num_channels", num_channels, 1)
        divides("[nn.GroupNorm]", n, num_groups, "num_channels", "num_groups")
        self.eps, self.channels_last = eps, channels_last
        self.weight = filled((n,), 1.0, device, dtype) if affine else None
        self.bias = filled((n,), 0.0, device, dtype) if affine else None

    def forward(self, input: Tensor) -> Tensor:
        return group_norm(
            input, self.num_groups, self.weight, self.bias, self.eps, self.channels_last
        )

    def extra_repr(self) -> str:
        return f"{self.num_groups}, eps={self.eps}"


class LocalResponseNorm(Module):
    """Divides each channel by the mean square of `size` channels around it."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class _Running(Module):
    """Normalisation whose statistics over many batches are buffers."""

    _axes: tuple[int, ...] = ()
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any
    momentum: Any

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: str | None = None,
        dtype: DTypeLike | None = None,
        *,
        channels_last: bool = False,
    ) -> None:
        n = _integer(f"[nn.{type(self).__name__}] num_features", num_features, 1)
        self.num_features, self.eps, self.momentum = n, eps, momentum
        self.channels_last, self.track_running_stats = channels_last, track_running_stats
        self.weight = filled((n,), 1.0, device, dtype) if affine else None
        self.bias = filled((n,), 0.0, device, dtype) if affine else None
        stats = track_running_stats
        zeros = _fz.zeros((n,), dtype=dtype, device=device) if stats else None
        ones = _fz.ones((n,), dtype=dtype, device=device) if stats else None
        count = _fz.zeros((), dtype="int64", device=device) if stats else None
        self.register_buffer("running_mean", zeros)
        self.register_buffer("running_var", ones)
        self.register_buffer("num_batches_tracked", count)

    def _check(self, input):
        if input.ndim not in self._axes:
            raise ValueError(
                f"[nn.{type(self).__name__}] needs {' or '.join(map(str, self._axes))} axes, got "
                f"shape {input.shape}."
            )

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}"


class _BatchNorm(_Running):
    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        momentum = self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked += 1
            if momentum is None:  # the mean over all batches
                momentum = 1.0 / self.num_batches_tracked.astype(self.running_mean.dtype)
        return batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or self.running_mean is None, 0.0 if momentum is None else momentum,
            self.eps, self.channels_last,
        )  # fmt: skip


class BatchNorm1d(_BatchNorm):
    """Normalises each channel of (n, channels[, length]) over a batch; the buffers running_mean
    and running_var take its place in evaluation. momentum=None: the mean over all batches.
    """

    _axes = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalises each channel of (n, channels, height, width) over a batch (see BatchNorm1d);
    channels_last=True takes (n, height, width, channels).
    """

    _axes = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalises each channel of (n, channels, depth, height, width) (see BatchNorm2d)."""

    _axes = (5,)


class _InstanceNorm(_Running):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: str | None = None,
        dtype: DTypeLike | None = None,
        *,
        channels_last: bool = False,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype,
            channels_last=channels_last,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        x = input[None] if input.ndim < self._axes[-1] else input
        y = instance_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or self.running_mean is None, self.momentum, self.eps, self.channels_last,
        )  # fmt: skip
        return y if x is input else y[0]


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each example of ([n,] channels, length)."""

    _axes = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalises each channel of each example of ([n,] channels, height, width)."""

    _axes = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalises each channel of each example of ([n,] channels, depth, height, width)."""

    _axes = (4, 5)
