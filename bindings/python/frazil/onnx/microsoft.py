"""Operators of onnxruntime (com.microsoft) that its optimiser writes: products, activations and
normalisations in one.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from typing import Any

import frazil as fz
from frazil import nn
from frazil.onnx._table import MICROSOFT, converts
from frazil.onnx.convolutions import conv
from frazil.onnx.matrices import gemm
from frazil.onnx.normalization import layer_norm, rms_norm

# Activations


@converts("Gelu", domain=MICROSOFT)
def gelu(x: Any) -> Any:
    return nn.gelu(x)


@converts("BiasGelu", domain=MICROSOFT)
def bias_gelu(x: Any, b: Any) -> Any:
    return nn.gelu(x + b)


@converts("FastGelu", domain=MICROSOFT)
def fast_gelu(x: Any, b: Any = None) -> Any:
    return nn.gelu(x if b is None else x + b, approximate="tanh")


@converts("QuickGelu", domain=MICROSOFT)
def quick_gelu(x: Any, *, alpha: float = 1.702) -> Any:
    return x * nn.sigmoid(alpha * x)


@converts("BiasAdd", domain=MICROSOFT)
def bias_add(x: Any, b: Any, skip: Any) -> Any:
    return x + b + skip


@converts("BiasSplitGelu", domain=MICROSOFT)
def bias_split_gelu(x: Any, b: Any) -> Any:
    y, half = x + b, x.shape[-1] // 2
    return y[..., :half] * nn.gelu(y[..., half:])


@converts("ScaledSiLU", domain=MICROSOFT)
def scaled_silu(x: Any, scale: Any = None, *, alpha: float = 1.0) -> Any:
    z = x.astype("float32") * (alpha if scale is None else scale.reshape(()).astype("float32"))
    z = z.astype(x.dtype)
    return z * nn.sigmoid(z)


@converts("GatedAdd", domain=MICROSOFT)
def gated_add(x: Any, y: Any, gate: Any, gate_weight: Any = None) -> Any:
    if gate_weight is not None:
        gate = nn.sigmoid(gate @ gate_weight)
    return x + y * gate


@converts("SwiGLU", domain=MICROSOFT)
def swiglu(
    gate: Any, up: Any = None, *, activation_alpha: float = 1.0, activation_beta: float = 0.0,
    limit: float = 0.0, round_activation: int = 0,
) -> Any:  # fmt: skip
    """Of two halves side by side if there is one input."""
    if up is None:
        half = gate.shape[-1] // 2
        gate, up = gate[..., :half], gate[..., half:]
    dtype, g, u = gate.dtype, gate.astype("float32"), up.astype("float32")
    if limit > 0:
        g, u = fz.minimum(g, limit), fz.clip(u, -limit, limit)
    y = g * nn.sigmoid(activation_alpha * g)
    y = y.astype(dtype).astype("float32") if round_activation else y
    return (y * (u + activation_beta)).astype(dtype)


_ACTIVATIONS: dict[str, Any] = {
    "Relu": nn.relu,
    "Sigmoid": nn.sigmoid,
    "Tanh": fz.tanh,
    "LeakyRelu": lambda x, alpha: fz.where(x < 0, alpha * x, x),
    "Clip": lambda x, low, high: fz.clip(x, low, high),
    "HardSigmoid": lambda x, alpha, beta: fz.clip(alpha * x + beta, 0, 1),
}


def _activated(y: Any, name: str, parameters: Any) -> Any:
    if not name:
        return y
    if name not in _ACTIVATIONS:
        raise ValueError(f"[onnx] there is no activation {name!r} of fused operators.")
    return _ACTIVATIONS[name](y, *(parameters or ()))


# Products


@converts("FusedMatMul TransposeMatMul", domain=MICROSOFT)
def fused_matmul(
    a: Any, b: Any, *, alpha: float = 1.0, transA: int = 0, transB: int = 0, transBatchA: int = 0,
    transBatchB: int = 0,
) -> Any:  # fmt: skip
    """`transBatchA`: the axes but the last come in the order 1, 2, ..., 0."""

    def turned(x: Any, batch: int, matrix: int) -> Any:
        x = fz.moveaxis(x, 0, -2) if batch and x.ndim > 2 else x
        return fz.matrix_transpose(x) if matrix and x.ndim > 1 else x

    y = turned(a, transBatchA, transA) @ turned(b, transBatchB, transB)
    return y if alpha == 1.0 else (alpha * y).astype(y.dtype)


@converts("GemmFastGelu", domain=MICROSOFT)
def gemm_fast_gelu(x: Any, w: Any, b: Any = None) -> Any:
    return fast_gelu(x @ w, b)


@converts("FusedMatMulActivation", domain=MICROSOFT)
def fused_matmul_activation(
    a: Any, b: Any, *, activation: str, activation_alpha: float | None = None,
    activation_beta: float | None = None, activation_gamma: float | None = None,
    activation_axis: int | None = None, alpha: float = 1.0, transA: int = 0, transB: int = 0,
    transBatchA: int = 0, transBatchB: int = 0,
) -> Any:  # fmt: skip
    y = fused_matmul(
        a, b, alpha=alpha, transA=transA, transB=transB, transBatchA=transBatchA,
        transBatchB=transBatchB,
    )  # fmt: skip
    if activation == "Softmax":
        return nn.softmax(y, axis=-1 if activation_axis is None else activation_axis)
    given = (activation_alpha, activation_beta, activation_gamma)
    return _activated(y, activation, [v for v in given if v is not None])


@converts("FusedGemm", domain=MICROSOFT)
def fused_gemm(
    a: Any, b: Any, c: Any = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0,
    transB: int = 0, activation: str = "", activation_alpha: float | None = None,
    activation_beta: float | None = None, activation_gamma: float | None = None,
) -> Any:  # fmt: skip
    y = gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)
    given = (activation_alpha, activation_beta, activation_gamma)
    return _activated(y, activation, [v for v in given if v is not None])


@converts("FusedConv", domain=MICROSOFT)
def fused_conv(
    x: Any, w: Any, b: Any = None, z: Any = None, *, group: int = 1, auto_pad: str = "NOTSET",
    kernel_shape: Any = None, pads: Any = None, strides: Any = None, dilations: Any = None,
    activation: str = "", activation_params: Any = None,
) -> Any:  # fmt: skip
    y = conv(
        x, w, b, group=group, auto_pad=auto_pad, kernel_shape=kernel_shape, pads=pads,
        strides=strides, dilations=dilations,
    )  # fmt: skip
    return _activated(y if z is None else y + z, activation, activation_params)


# Normalisation


@converts("SkipLayerNormalization", domain=MICROSOFT)
def skip_layer_norm(
    x: Any, skip: Any, gamma: Any, beta: Any = None, bias: Any = None, *, epsilon: float = 1e-12,
    node: Any,
) -> Any:  # fmt: skip
    total = x + skip if bias is None else x + skip + bias
    found = layer_norm(total, gamma, beta, epsilon=epsilon, node=node)
    return (*found, total) if isinstance(found, tuple) else (found, None, None, total)


@converts("SimplifiedLayerNormalization")
def simplified_layer_norm(
    x: Any, scale: Any, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    return rms_norm(x, scale, axis=axis, epsilon=epsilon, stash_type=stash_type)


@converts("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_simplified_layer_norm(
    x: Any, skip: Any, gamma: Any, bias: Any = None, *, epsilon: float = 1e-12
) -> Any:
    total = x + skip if bias is None else x + skip + bias
    return rms_norm(total, gamma, epsilon=epsilon), None, None, total


@converts("EmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_norm(
    ids: Any, segments: Any, words: Any, positions: Any, segment_table: Any = None,
    gamma: Any = None, beta: Any = None, mask: Any = None, position_ids: Any = None, *,
    epsilon: float = 1e-12, mask_index_type: int = 1, node: Any,
) -> Any:  # fmt: skip
    """The sum of three embeddings, normalised; how many ones a row of the mask has; the sum."""
    if position_ids is None:
        where = positions[: ids.shape[1]]
    else:
        where = fz.take(positions, position_ids, axis=0)
    total = fz.take(words, ids, axis=0) + where
    if segments is not None and segment_table is not None:
        total = total + fz.take(segment_table, segments, axis=0)
    y = nn.layer_norm(total, gamma, beta, eps=epsilon)
    if mask is None:
        count = fz.zeros((ids.shape[0],), dtype="int32")
    else:
        count = fz.sum(mask, axis=1).astype("int32")
    return y, count, total


def _groups(
    x: Any, gamma: Any, beta: Any, groups: int, epsilon: float, channels_last: int, activation: int
) -> Any:
    whole = fz.moveaxis(x, -1, 1) if channels_last else x
    parts = whole.astype("float32").reshape((x.shape[0], groups, -1))
    apart = parts - fz.mean(parts, axis=-1, keepdims=True)
    y = apart * fz.rsqrt(fz.mean(apart * apart, axis=-1, keepdims=True) + epsilon)
    along = (-1,) + (1,) * (x.ndim - 2)
    y = y.reshape(whole.shape) * gamma.reshape(along) + beta.reshape(along)
    y = (y * nn.sigmoid(y) if activation else y).astype(x.dtype)
    return fz.moveaxis(y, 1, -1) if channels_last else y


@converts("GroupNorm", domain=MICROSOFT)
def group_norm(
    x: Any, gamma: Any, beta: Any, *, groups: int, activation: int, epsilon: float = 1e-5,
    channels_last: int = 1,
) -> Any:  # fmt: skip
    return _groups(x, gamma, beta, groups, epsilon, channels_last, activation)


@converts("SkipGroupNorm", domain=MICROSOFT)
def skip_group_norm(
    x: Any, gamma: Any, beta: Any, skip: Any, bias: Any = None, *, groups: int, activation: int,
    epsilon: float = 1e-5, channels_last: int = 1,
) -> Any:  # fmt: skip
    def along(v: Any) -> Any:  # (n, channels) or (channels)
        shape = (1,) * (x.ndim - 2)
        n, c = v.shape if v.ndim == 2 else (1, v.shape[0])
        return v.reshape((n, *shape, c) if channels_last else (n, c, *shape))

    total = x + (along(skip) if skip.ndim == 2 else skip)
    total = total if bias is None else total + along(bias)
    return _groups(total, gamma, beta, groups, epsilon, channels_last, activation), total


@converts("GatedRMSNorm", domain=MICROSOFT)
def gated_rms_norm(
    x: Any, scale: Any, gate: Any, *, activation: str = "silu", epsilon: float = 1e-5
) -> Any:
    """Of each run of as many features as the scale has."""
    if activation not in ("silu", "swish", "sigmoid"):
        raise ValueError(f"[onnx] GatedRMSNorm has no activation {activation!r}.")
    z, parts = gate.astype("float32"), x.astype("float32").reshape((*x.shape[:-1], -1, scale.size))
    y = rms_norm(parts, scale.astype("float32"), epsilon=epsilon).reshape(x.shape)
    open_ = nn.sigmoid(z)
    return (y * (open_ if activation == "sigmoid" else z * open_)).astype(x.dtype)


@converts("BiasSoftmax", domain=MICROSOFT)
def bias_softmax(x: Any, b: Any, *, axis: int = 1, is_inner_broadcast: int) -> Any:
    """Over all axes from `axis` on; the bias lacks axes in front, or those before `axis`."""
    axis %= x.ndim
    if is_inner_broadcast and b.ndim < x.ndim:
        lead = b.ndim - (x.ndim - axis)
        b = b.reshape((*b.shape[:lead], *(1,) * (x.ndim - b.ndim), *b.shape[lead:]))
    y = (x + b).reshape((*x.shape[:axis], -1))
    return nn.softmax(y, axis=-1).reshape(x.shape)
