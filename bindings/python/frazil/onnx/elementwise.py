"""Operators of elements: arithmetic, comparisons, bits, activations."""

from __future__ import annotations

import functools
import math
from typing import Any

import frazil as fz
from frazil import nn
from frazil.onnx._table import converts
from frazil.onnx._values import Host

_UNARY: dict[str, Any] = {
    "Abs": fz.abs, "Acos": fz.acos, "Acosh": fz.acosh, "Asin": fz.asin, "Asinh": fz.asinh,
    "Atan": fz.atan, "Atanh": fz.atanh, "Ceil": fz.ceil, "Cos": fz.cos, "Cosh": fz.cosh,
    "Erf": fz.erf, "Exp": fz.exp, "Floor": fz.floor, "IsNaN": fz.isnan, "Log": fz.log,
    "Neg": fz.negative, "Round": fz.round, "Sigmoid": nn.sigmoid, "Sign": fz.sign, "Sin": fz.sin,
    "Sinh": fz.sinh, "Sqrt": fz.sqrt, "Tan": fz.tan, "Tanh": fz.tanh, "Relu": nn.relu,
    "Softplus": nn.softplus, "Not": fz.logical_not, "BitwiseNot": fz.bitwise_invert,
}  # fmt: skip
_BINARY: dict[str, Any] = {
    "Add": fz.add, "Sub": fz.subtract, "Mul": fz.multiply, "And": fz.logical_and,
    "Or": fz.logical_or, "Xor": fz.logical_xor, "BitwiseAnd": fz.bitwise_and,
    "BitwiseOr": fz.bitwise_or, "BitwiseXor": fz.bitwise_xor, "Less": fz.less,
    "LessOrEqual": fz.less_equal, "Greater": fz.greater, "GreaterOrEqual": fz.greater_equal,
}  # fmt: skip


def _enter_unary(name: str, fn: Any) -> None:
    @converts(name)
    def unary(x: Any) -> Any:
        return fn(x)


def _placed(a: Any, b: Any, axis: int | None) -> Any:
    """Before opset 7 b lay along the axes of a from `axis` on."""
    if axis is None or b.ndim == 0:
        return b
    axis %= a.ndim
    return b.reshape(b.shape + (1,) * (a.ndim - axis - b.ndim))


def _enter_binary(name: str, fn: Any) -> None:
    @converts(name)
    def along_axis(a: Any, b: Any, *, axis: int | None = None, broadcast: int = 0) -> Any:
        return fn(a, _placed(a, b, axis))

    @converts(name, 7)
    def binary(a: Any, b: Any) -> Any:
        return fn(a, b)


for _name, _fn in _UNARY.items():
    _enter_unary(_name, _fn)
for _name, _fn in _BINARY.items():
    _enter_binary(_name, _fn)


def is_float(x: Any) -> bool:
    return x.dtype.kind == "real floating"


@converts("Equal")
def equal_along_axis(a: Any, b: Any, *, axis: int | None = None, broadcast: int = 0) -> Any:
    return a == _placed(a, b, axis)


@converts("Equal", 7, raw="a b")
def equal(a: Any, b: Any, *, node: Any) -> Any:
    if isinstance(a, Host) and a.dtype == "str":
        return a.array == b.array
    return node.deliver(a, 0) == node.deliver(b, 0)


@converts("Div")
def div_along_axis(a: Any, b: Any, *, axis: int | None = None, broadcast: int = 0) -> Any:
    return div(a, _placed(a, b, axis))


@converts("Div", 7)
def div(a: Any, b: Any) -> Any:
    if a.dtype.kind not in ("signed integer", "unsigned integer"):
        return a / b
    quotient = fz.floor_divide(a, b)
    if a.dtype.kind == "unsigned integer":
        return quotient
    inexact = (quotient * b != a) & ((a < 0) != (b < 0))  # towards zero
    return fz.where(inexact, quotient + 1, quotient)


@converts("Mod")
def mod(a: Any, b: Any, *, fmod: int = 0) -> Any:
    return fz.fmod(a, b) if fmod else fz.remainder(a, b)


@converts("Pow")
def pow_along_axis(x: Any, y: Any, *, axis: int | None = None, broadcast: int = 0) -> Any:
    return fz.pow(x, _placed(x, y, axis))


@converts("Pow", 7)
def pow(x: Any, y: Any) -> Any:
    if x.dtype == y.dtype:
        return fz.pow(x, y)
    if is_float(x) or not is_float(y):
        return fz.pow(x, y.astype(x.dtype))
    return fz.pow(x.astype("float64"), y.astype("float64")).astype(x.dtype)


@converts("BitShift")
def bit_shift(x: Any, y: Any, *, direction: str) -> Any:
    shift = fz.bitwise_left_shift if direction == "LEFT" else fz.bitwise_right_shift
    return shift(x, y)


@converts("Reciprocal")
def reciprocal(x: Any) -> Any:
    return 1 / x


@converts("Max")
def maximum(first: Any, *rest: Any) -> Any:
    return functools.reduce(fz.maximum, rest, first)


@converts("Min")
def minimum(first: Any, *rest: Any) -> Any:
    return functools.reduce(fz.minimum, rest, first)


@converts("Sum")
def sum_of(first: Any, *rest: Any) -> Any:
    return functools.reduce(fz.add, rest, first)


@converts("Mean")
def mean_of(first: Any, *rest: Any) -> Any:
    return functools.reduce(fz.add, rest, first) / (1 + len(rest))


@converts("Where")
def where(condition: Any, x: Any, y: Any) -> Any:
    return fz.where(condition, x, y)


@converts("IsInf")
def is_inf(x: Any, *, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    if detect_negative and detect_positive:
        return fz.isinf(x)
    if detect_positive:
        return x == math.inf
    return x == -math.inf if detect_negative else fz.zeros_like(x, dtype="bool")


@converts("Clip")
def clip_attributes(
    x: Any, *, min: float = -3.4028234663852886e38, max: float = 3.4028234663852886e38
) -> Any:
    return fz.minimum(fz.maximum(x, min), max)


@converts("Clip", 11)
def clip(x: Any, low: Any = None, high: Any = None) -> Any:
    x = x if low is None else fz.maximum(x, low)
    return x if high is None else fz.minimum(x, high)


# Activations


@converts("Elu")
def elu(x: Any, *, alpha: float = 1.0) -> Any:
    return fz.where(x < 0, alpha * fz.expm1(fz.minimum(x, 0)), x)


@converts("Celu")
def celu(x: Any, *, alpha: float = 1.0) -> Any:
    return fz.maximum(x, 0) + fz.minimum(alpha * fz.expm1(x / alpha), 0)


@converts("Selu")
def selu(x: Any, *, alpha: float = 1.6732631921768188, gamma: float = 1.0507010221481323) -> Any:
    return gamma * fz.where(x < 0, alpha * fz.expm1(fz.minimum(x, 0)), x)


@converts("Gelu", 20)
def gelu(x: Any, *, approximate: Any = "none") -> Any:
    return nn.gelu(x, approximate=approximate)


@converts("LeakyRelu")
def leaky_relu(x: Any, *, alpha: float = 0.009999999776482582) -> Any:
    return fz.where(x < 0, alpha * x, x)


@converts("PRelu")
def prelu_of_channels(x: Any, slope: Any) -> Any:
    return prelu(x, slope if slope.size == 1 else _placed(x, slope, 1))


@converts("PRelu", 7)
def prelu(x: Any, slope: Any) -> Any:
    return fz.where(x < 0, slope * x, x)


@converts("ThresholdedRelu")
def thresholded_relu(x: Any, *, alpha: float = 1.0) -> Any:
    return fz.where(x > alpha, x, fz.zeros_like(x))


@converts("HardSigmoid")
def hard_sigmoid(x: Any, *, alpha: float = 0.20000000298023224, beta: float = 0.5) -> Any:
    return fz.clip(alpha * x + beta, 0, 1)


@converts("HardSwish")
def hard_swish(x: Any) -> Any:
    return x * fz.clip(x * (1 / 6) + 0.5, 0, 1)


@converts("Mish")
def mish(x: Any) -> Any:
    return x * fz.tanh(nn.softplus(x))


@converts("Swish")
def swish(x: Any, *, alpha: float = 1.0) -> Any:
    return x * nn.sigmoid(x if alpha == 1.0 else alpha * x)


@converts("Softsign")
def softsign(x: Any) -> Any:
    return x / (1 + fz.abs(x))


@converts("Shrink")
def shrink(x: Any, *, bias: float = 0.0, lambd: float = 0.5) -> Any:
    if not is_float(x):
        bias, lambd = int(bias), math.floor(lambd)
    small = fz.zeros_like(x)
    return fz.where(x < -lambd, x + bias, fz.where(x > lambd, x - bias, small))


def _flat(fn: Any, x: Any, axis: int) -> Any:
    """Before opset 13 all axes from `axis` on were one."""
    axis %= x.ndim or 1
    rows = math.prod(x.shape[:axis])
    return fn(x.reshape((rows, math.prod(x.shape[axis:])))).reshape(x.shape)


def _softmax(name: str, fn: Any) -> None:
    @converts(name)
    def flat(x: Any, *, axis: int = 1) -> Any:
        return _flat(lambda y: fn(y, axis=-1), x, axis)

    @converts(name, 13)
    def along(x: Any, *, axis: int = -1) -> Any:
        return fn(x, axis=axis)


def hardmax(x: Any, axis: int) -> Any:
    at = fz.argmax(x, axis=axis, keepdims=True)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    places = fz.arange(x.shape[axis]).reshape(shape)
    return (places == at).astype(x.dtype)


_softmax("Softmax", nn.softmax)
_softmax("LogSoftmax", nn.log_softmax)
_softmax("Hardmax", hardmax)
