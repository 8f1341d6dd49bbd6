"""Reductions over axes, running sums, and what is sorted."""

from __future__ import annotations

import math
from typing import Any

import frazil as fz
from frazil.onnx._table import converts


def _lowest(x: Any) -> Any:
    if x.dtype.kind == "real floating":
        return -math.inf
    return False if x.dtype.kind == "bool" else fz.iinfo(x.dtype).min


def _highest(x: Any) -> Any:
    if x.dtype.kind == "real floating":
        return math.inf
    return True if x.dtype.kind == "bool" else fz.iinfo(x.dtype).max


def _sum(x: Any, axes: Any, keep: bool) -> Any:
    return fz.sum(x, axis=axes, keepdims=keep, dtype=x.dtype)


def _prod(x: Any, axes: Any, keep: bool) -> Any:
    return fz.prod(x, axis=axes, keepdims=keep, dtype=x.dtype)


def _extreme(fn: Any, limit: Any, x: Any, axes: Any, keep: bool) -> Any:
    if any(x.shape[a] == 0 for a in axes):  # of nothing: the least that there is
        shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keep or i not in axes]
        return fz.full(shape, limit(x), dtype=x.dtype)
    return fn(x, axis=axes, keepdims=keep)


def _max(x: Any, axes: Any, keep: bool) -> Any:
    return _extreme(fz.max, _lowest, x, axes, keep)


def _min(x: Any, axes: Any, keep: bool) -> Any:
    return _extreme(fz.min, _highest, x, axes, keep)


def _mean(x: Any, axes: Any, keep: bool) -> Any:
    if x.dtype.kind == "real floating":
        return fz.mean(x, axis=axes, keepdims=keep)
    return fz.mean(x.astype("float64"), axis=axes, keepdims=keep).astype(x.dtype)


def _as_float(fn: Any) -> Any:
    """Integers compute as float64 and are cut back."""

    def reduced(x: Any, axes: Any, keep: bool) -> Any:
        if x.dtype.kind == "real floating":
            return fn(x, axes, keep)
        return fn(x.astype("float64"), axes, keep).astype(x.dtype)

    return reduced


def _log_sum_exp(x: Any, axes: Any, keep: bool) -> Any:
    if any(x.shape[a] == 0 for a in axes):
        return fz.log(_sum(x, axes, keep))
    return fz.logsumexp(x, axis=axes, keepdims=keep)


_REDUCTIONS: dict[str, Any] = {
    "ReduceSum": _sum,
    "ReduceProd": _prod,
    "ReduceMax": _max,
    "ReduceMin": _min,
    "ReduceMean": _mean,
    "ReduceL1": lambda x, axes, keep: _sum(fz.abs(x), axes, keep),
    "ReduceL2": _as_float(lambda x, axes, keep: fz.sqrt(_sum(x * x, axes, keep))),
    "ReduceSumSquare": lambda x, axes, keep: _sum(x * x, axes, keep),
    "ReduceLogSum": _as_float(lambda x, axes, keep: fz.log(_sum(x, axes, keep))),
    "ReduceLogSumExp": _as_float(_log_sum_exp),
}


def _reduced(fn: Any, x: Any, axes: Any, keepdims: int, nothing: int) -> Any:
    if axes is None or len(axes) == 0:
        if nothing:
            return fn(x, (), True)
        axes = range(x.ndim)
    return fn(x, tuple(int(a) % max(x.ndim, 1) for a in axes), bool(keepdims))


def _enter(name: str, fn: Any) -> None:
    @converts(name)
    def by_attribute(x: Any, *, axes: Any = None, keepdims: int = 1) -> Any:
        return _reduced(fn, x, axes, keepdims, 0)

    @converts(name, 13 if name == "ReduceSum" else 18, host="axes")
    def by_input(
        x: Any, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Any:
        return _reduced(fn, x, axes, keepdims, noop_with_empty_axes)


for _name, _fn in _REDUCTIONS.items():
    _enter(_name, _fn)


def _place(fn: Any, x: Any, axis: int, keepdims: int, last: int) -> Any:
    if not last:
        return fn(x, axis=axis, keepdims=bool(keepdims))
    turned = fn(fz.flip(x, axis=axis), axis=axis, keepdims=bool(keepdims))
    return x.shape[axis] - 1 - turned


@converts("ArgMax")
def arg_max(x: Any, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
    return _place(fz.argmax, x, axis, keepdims, select_last_index)


@converts("ArgMin")
def arg_min(x: Any, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
    return _place(fz.argmin, x, axis, keepdims, select_last_index)


def _running(fn: Any, x: Any, axis: int, exclusive: int, reverse: int, nothing: int) -> Any:
    axis %= x.ndim
    if reverse:
        x = fz.flip(x, axis=axis)
    if exclusive:
        widths = [(0, 0)] * x.ndim
        widths[axis] = (1, 0)
        x = fz.pad(x[(slice(None),) * axis + (slice(0, -1),)], widths, constant_values=nothing)
    y = fn(x, axis=axis, dtype=x.dtype)
    return fz.flip(y, axis=axis) if reverse else y


@converts("CumSum", 11, host="axis")
def cum_sum(x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
    return _running(fz.cumulative_sum, x, int(axis), exclusive, reverse, 0)


@converts("CumProd", 26, host="axis")
def cum_prod(x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
    return _running(fz.cumulative_prod, x, int(axis), exclusive, reverse, 1)


def _top(x: Any, k: int, axis: int, largest: bool) -> Any:
    axis %= x.ndim
    if not 0 <= k <= x.shape[axis]:
        raise ValueError(f"[onnx] TopK wants {k} of {x.shape[axis]} elements.")
    order = fz.argsort(x, axis=axis, descending=largest, stable=True)
    order = order[(slice(None),) * axis + (slice(0, k),)]
    return fz.take_along_axis(x, order, axis=axis), order


@converts("TopK")
def top_k_attribute(x: Any, *, k: int, axis: int = -1) -> Any:
    return _top(x, k, axis, True)


@converts("TopK", 10, host="k")
def top_k(x: Any, k: Any, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:
    return _top(x, int(k), axis, bool(largest))


@converts("Unique", 11, host="x")
def unique(x: Any, *, axis: int | None = None, sorted: int = 1) -> Any:
    import numpy as np

    values, first, inverse, counts = np.unique(
        x.array(), return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not sorted:  # in the order in which they come
        order = np.argsort(first, kind="stable")
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        values = np.take(values, order, axis=axis or 0)
        first, counts, inverse = first[order], counts[order], back[inverse]
    return values, first.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64)
