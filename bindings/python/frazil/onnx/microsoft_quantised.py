"""Operators of onnxruntime (com.microsoft) that its quantisation writes: products and recurrent
networks of 8-bit weights, and operators of elements between scales and zero points.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from typing import Any

import frazil as fz
from frazil import nn
from frazil.onnx._table import MICROSOFT, converts
from frazil.onnx.microsoft import embed_layer_norm
from frazil.onnx.pooling import average_pool, global_average
from frazil.onnx.products import product
from frazil.onnx.quantised import LIMITS, dequantize, dynamic_quantize, quantize
from frazil.onnx.recurrent import lstm_functions, lstm_of, turned

converts("QuantizeLinear", domain=MICROSOFT, either="x scale zero")(quantize)
converts("DequantizeLinear", domain=MICROSOFT, either="x scale zero")(dequantize)


def real(x: Any, scale: Any, zero: Any = None) -> Any:
    """What integers of one scale stand for."""
    y = x.astype("float32")
    y = y if zero is None else y - zero.reshape(()).astype("float32")
    return y * scale.reshape(())


def rounded(y: Any, scale: Any, zero: Any) -> Any:
    """Integers of the zero point's dtype, uint8 without one."""
    name = "uint8" if zero is None else zero.dtype.name
    y = fz.round(y / scale.reshape(()))
    y = y if zero is None else y + zero.reshape(()).astype("float32")
    return fz.clip(y, *LIMITS[name]).astype(name)


# Products


@converts(
    "MatMulIntegerToFloat",
    domain=MICROSOFT,
    laid={"b": turned},
    prepared={"Weights": ("b b_zero",)},
)
def matmul_to_float(
    a: Any, b: Any, a_scale: Any, b_scale: Any, a_zero: Any = None, b_zero: Any = None,
    bias: Any = None,
) -> Any:  # fmt: skip
    y = product(a, a_zero, b, b_zero).astype("float32") * (a_scale * b_scale)
    return y if bias is None else y + bias


@converts(
    "DynamicQuantizeMatMul",
    domain=MICROSOFT,
    laid={"b": turned},
    prepared={"Weights": ("b b_zero",)},
)
def dynamic_matmul(a: Any, b: Any, b_scale: Any, b_zero: Any = None, bias: Any = None) -> Any:
    a, scale, zero = dynamic_quantize(a)
    return matmul_to_float(a, b, scale, b_scale, zero, b_zero, bias)


@converts("QGemm", domain=MICROSOFT)
def qgemm(
    a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, c: Any = None,
    y_scale: Any = None, y_zero: Any = None, *, alpha: float = 1.0, transA: int = 0,
    transB: int = 0,
) -> Any:  # fmt: skip
    a = fz.matrix_transpose(a) if transA else a
    y = product(a, a_zero, fz.matrix_transpose(b) if transB else b, b_zero)
    y = y if c is None else y + c
    y = y.astype("float32") * (alpha * a_scale * b_scale)
    return y if y_scale is None else rounded(y, y_scale, y_zero)


# Recurrent networks


@converts(
    "DynamicQuantizeLSTM", domain=MICROSOFT, laid={"w": turned, "r": turned},
    prepared={"Directions": ("w w_zero", "r r_zero")},
)  # fmt: skip
def dynamic_lstm(
    x: Any, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None,
    initial_c: Any = None, p: Any = None, w_scale: Any = None, w_zero: Any = None,
    r_scale: Any = None, r_zero: Any = None, *, activations: Any = None,
    activation_alpha: Any = None, activation_beta: Any = None, clip: float | None = None,
    direction: str = "forward", hidden_size: int | None = None, input_forget: int = 0, node: Any,
) -> Any:  # fmt: skip
    """Weights are (in, 4 hidden) for each direction. What they are multiplied by is rounded when it
    is there, all inputs by one scale and the states of each step by one."""

    def products(weights: Any, scale: Any, corrections: Any) -> Any:
        def of(d: int) -> Any:
            own, matrix, sums = scale[d], weights[d], corrections[d]

            def times(x: Any) -> Any:
                x, step, zero = dynamic_quantize(x)
                return product(x, zero, matrix, sums).astype("float32") * (step * own)

            return times

        return of

    fs = lstm_functions(w.shape[0], activations, activation_alpha, activation_beta, clip)
    return lstm_of(
        x, products(w, w_scale, w_zero), products(r, r_scale, r_zero), b, sequence_lens,
        [initial_h, initial_c], p, fs, r, r.shape[1], direction, input_forget, 0, node,
    )  # fmt: skip


# Elements


def _enter(name: str, fn: Any) -> None:
    @converts(name, domain=MICROSOFT)
    def binary(
        a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, c_scale: Any,
        c_zero: Any = None,
    ) -> Any:  # fmt: skip
        return rounded(fn(real(a, a_scale, a_zero), real(b, b_scale, b_zero)), c_scale, c_zero)


_enter("QLinearAdd", fz.add)
_enter("QLinearMul", fz.multiply)


@converts("MulInteger", domain=MICROSOFT)
def mul_integer(a: Any, a_zero: Any, b: Any = None, b_zero: Any = None) -> Any:
    def less(x: Any, zero: Any) -> Any:
        x = x.astype("int32")
        return x if zero is None else x - zero.reshape(()).astype("int32")

    return less(a, a_zero) * less(b, b_zero)


@converts("QEmbedLayerNormalization", domain=MICROSOFT)
def embed_of_8_bits(
    ids: Any, segments: Any, words: Any, positions: Any, segment_table: Any, gamma: Any, beta: Any,
    mask: Any, words_scale: Any, positions_scale: Any, segments_scale: Any, gamma_scale: Any,
    beta_scale: Any, words_zero: Any, positions_zero: Any, segments_zero: Any, gamma_zero: Any,
    beta_zero: Any, *, epsilon: float = 1e-12, node: Any,
) -> Any:  # fmt: skip
    table = None
    if segments is not None:
        table = real(segment_table, segments_scale, segments_zero)
    y, count, _ = embed_layer_norm(
        ids, segments, real(words, words_scale, words_zero),
        real(positions, positions_scale, positions_zero), table,
        real(gamma, gamma_scale, gamma_zero), real(beta, beta_scale, beta_zero), mask,
        epsilon=epsilon, node=node,
    )  # fmt: skip
    return y, count


@converts("QLinearSigmoid", domain=MICROSOFT)
def qlinear_sigmoid(x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None) -> Any:
    return rounded(nn.sigmoid(real(x, x_scale, x_zero)), y_scale, y_zero)


@converts("QLinearLeakyRelu", domain=MICROSOFT)
def qlinear_leaky_relu(
    x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None, *, alpha: float = 0.01
) -> Any:
    y = real(x, x_scale, x_zero)
    return rounded(fz.where(y < 0, alpha * y, y), y_scale, y_zero)


@converts("QLinearSoftmax", domain=MICROSOFT)
def qlinear_softmax(
    x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any, *, axis: int = -1, opset: int
) -> Any:
    y = real(x, x_scale, x_zero)
    if opset < 13:  # over all axes from `axis` on
        flat = y.reshape((*y.shape[: axis % y.ndim], -1))
        return rounded(nn.softmax(flat, axis=-1).reshape(y.shape), y_scale, y_zero)
    return rounded(nn.softmax(y, axis=axis), y_scale, y_zero)


@converts("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(y_scale: Any, y_zero: Any, *given: Any, axis: int) -> Any:
    parts = [real(*given[i : i + 3]) for i in range(0, len(given), 3)]
    return rounded(fz.concat(parts, axis=axis), y_scale, y_zero)


@converts("QLinearWhere", domain=MICROSOFT)
def qlinear_where(
    condition: Any, x: Any, x_scale: Any, x_zero: Any, y: Any, y_scale: Any, y_zero: Any,
    z_scale: Any, z_zero: Any,
) -> Any:  # fmt: skip
    z = fz.where(condition, real(x, x_scale, x_zero), real(y, y_scale, y_zero))
    return rounded(z, z_scale, z_zero)


def _pooled(x: Any, scale: Any, zero: Any, channels_last: int, pool: Any) -> Any:
    y = real(x, scale, zero)
    y = pool(fz.moveaxis(y, -1, 1) if channels_last else y)
    return fz.moveaxis(y, 1, -1) if channels_last else y


@converts("QLinearGlobalAveragePool", domain=MICROSOFT)
def qlinear_global_average(
    x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None, *, channels_last: int = 0
) -> Any:
    return rounded(_pooled(x, x_scale, x_zero, channels_last, global_average), y_scale, y_zero)


@converts("QLinearAveragePool", domain=MICROSOFT)
def qlinear_average_pool(
    x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None, *, kernel_shape: Any,
    auto_pad: str = "NOTSET", pads: Any = None, strides: Any = None, ceil_mode: int = 0,
    count_include_pad: int = 0, channels_last: int = 0,
) -> Any:  # fmt: skip
    def pool(y: Any) -> Any:
        return average_pool(
            y, kernel_shape=kernel_shape, auto_pad=auto_pad, pads=pads, strides=strides,
            ceil_mode=ceil_mode, count_include_pad=count_include_pad,
        )  # fmt: skip

    return rounded(_pooled(x, x_scale, x_zero, channels_last, pool), y_scale, y_zero)
