"""Gathering and scattering by indices, and what is found by content."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import frazil as fz
from frazil.onnx._table import converts
from frazil.onnx._values import Host, array_of
from frazil.onnx.shapes import ints


def wrapped(indices: Any, n: int) -> Any:
    """Negative indices count from the end."""
    return fz.where(indices < 0, indices + n, indices)


@converts("Gather", raw="x indices")
def gather(x: Any, indices: Any, *, axis: int = 0, node: Any) -> Any:
    if isinstance(x, Host) and isinstance(indices, Host):
        return np.take(x.array, indices.array.astype(np.int64), axis=axis)
    if isinstance(x, Host) and x.dtype == "str":
        return np.take(x.array, array_of(indices), axis=axis)
    x = node.deliver(x, 0)
    if isinstance(indices, Host) and indices.shape == ():  # one element: a view
        i = indices.whole
        return x[(slice(None),) * (axis % x.ndim) + (i,)]
    return fz.take(x, node.deliver(indices, 0), axis=axis)


@converts("GatherElements", 11)
def gather_elements(x: Any, indices: Any, *, axis: int = 0) -> Any:
    axis %= x.ndim
    part = x[tuple(slice(None) if i == axis else slice(0, n) for i, n in enumerate(indices.shape))]
    return fz.take_along_axis(part, wrapped(indices, x.shape[axis]), axis=axis)


def _flat_places(indices: Any, shape: Any) -> Any:
    """Places in row-major order of index vectors (the last axis) into the leading axes."""
    place: Any = 0
    for i, n in enumerate(shape):
        place = place * n + wrapped(indices[..., i], n)
    return place


@converts("GatherND", 11)
def gather_nd(x: Any, indices: Any, *, batch_dims: int = 0) -> Any:
    b, k = batch_dims, indices.shape[-1]
    batch = math.prod(x.shape[:b])
    index = indices.reshape((batch, -1, k)).astype("int64")
    inner = x.shape[b : b + k]
    place = _flat_places(index, inner)
    place = place + (fz.arange(batch) * math.prod(inner)).reshape((batch, 1))
    rows = x.reshape((batch * math.prod(inner), *x.shape[b + k :]))
    taken = fz.take(rows, place.reshape((-1,)), axis=0)
    return taken.reshape((*indices.shape[:-1], *x.shape[b + k :]))


def _put(flat: Any, places: Any, updates: Any, reduction: str) -> Any:
    """Rows of `flat` replaced, or reduced with updates, at places."""
    if reduction == "none":
        y = fz.copy(flat)
        y[places] = updates
        return y
    if reduction == "add":
        return fz.index_add(flat, places, updates, axis=0)
    # Other reductions: one update of each place after another, on the host.
    array, at = array_of(flat).copy(), array_of(places)
    ufunc = {"mul": np.multiply, "min": np.minimum, "max": np.maximum}[reduction]
    ufunc.at(array, at, array_of(updates))
    return fz.asarray(array)


def _scattered(x: Any, indices: Any, updates: Any, axis: int, reduction: str) -> Any:
    axis %= x.ndim
    index = wrapped(indices.astype("int64"), x.shape[axis])
    place: Any = 0
    for i, n in enumerate(x.shape):
        shape = [1] * x.ndim
        shape[i] = -1
        along = index if i == axis else fz.arange(indices.shape[i]).reshape(shape)
        place = place * n + along
    place = fz.broadcast_to(place, indices.shape).reshape((-1,))
    flat = _put(x.reshape((-1,)), place, updates.reshape((-1,)), reduction)
    return flat.reshape(x.shape)


@converts("Scatter", 9)
def scatter(x: Any, indices: Any, updates: Any, *, axis: int = 0) -> Any:
    return _scattered(x, indices, updates, axis, "none")


@converts("ScatterElements", 11)
def scatter_elements(
    x: Any, indices: Any, updates: Any, *, axis: int = 0, reduction: str = "none"
) -> Any:
    return _scattered(x, indices, updates, axis, reduction)


@converts("ScatterND", 11)
def scatter_nd(x: Any, indices: Any, updates: Any, *, reduction: str = "none") -> Any:
    k = indices.shape[-1]
    inner, rest = x.shape[:k], x.shape[k:]
    place = _flat_places(indices.astype("int64"), inner)
    place = fz.zeros((), dtype="int64") if isinstance(place, int) else place
    flat = x.reshape((math.prod(inner), *rest))
    flat = _put(flat, place.reshape((-1,)), updates.reshape((-1, *rest)), reduction)
    return flat.reshape(x.shape)


@converts("TensorScatter", 24, host="write_indices")
def tensor_scatter(
    cache: Any, update: Any, write_indices: Any = None, *, axis: int = -2, mode: str = "linear"
) -> Any:
    axis %= cache.ndim
    steps, length = update.shape[axis], cache.shape[axis]
    begins = [0] * cache.shape[0] if write_indices is None else ints(write_indices)
    rows = []
    for b, begin in enumerate(begins):
        at = np.arange(begin, begin + steps)
        if mode == "circular":
            at %= length
        row = fz.moveaxis(fz.copy(cache[b]), axis - 1, 0)
        row = fz.copy(row)
        row[fz.asarray(at)] = fz.moveaxis(update[b], axis - 1, 0)
        rows.append(fz.moveaxis(row, 0, axis - 1))
    return fz.stack(rows)


@converts("OneHot", 9, host="depth")
def one_hot(indices: Any, depth: Any, values: Any, *, axis: int = -1) -> Any:
    n = int(depth)
    axis = axis + indices.ndim + 1 if axis < 0 else axis
    shape = [1] * (indices.ndim + 1)
    shape[axis] = n
    at = fz.expand_dims(indices, axis=axis).astype("int64")
    hit = wrapped(at, n) == fz.arange(n).reshape(shape)
    return fz.where(hit, values[1], values[0])


@converts("NonZero", 9, data=True)
def non_zero(x: Any) -> Any:
    if x.ndim == 0:
        x = x.reshape((1,))
    return fz.stack(fz.nonzero(x))


@converts("Compress", 9, host="condition")
def compress(x: Any, condition: Any, *, axis: int | None = None) -> Any:
    if axis is None:
        x, axis = x.reshape((-1,)), 0
    at = [i for i, shown in enumerate(condition) if shown]
    return fz.take(x, fz.asarray(at, dtype="int64"), axis=axis)
