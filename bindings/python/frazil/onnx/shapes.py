"""Shapes: what asks for them, changes them, joins and cuts; constants and ranges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import frazil as fz
from frazil.nn._places import part
from frazil.onnx._table import converts
from frazil.onnx._values import Host, Known, dtype_of

_LONGEST = 1 << 31  # of a range, which the host makes


def ints(x: Any) -> list[int]:
    """The integers of an array of the host."""
    return [int(v) for v in (x if isinstance(x, Known) else np.asarray(x).reshape(-1))]


def _shape_of(x: Any) -> tuple[int, ...]:
    return x.shape


@converts("Shape", raw="x", shape_only=True)
def shape(x: Any, *, start: int = 0, end: int | None = None) -> Any:
    return np.asarray(_shape_of(x)[start:end], dtype=np.int64).reshape(-1)


@converts("Size", raw="x", shape_only=True)
def size(x: Any) -> Any:
    return np.asarray(math.prod(_shape_of(x)), dtype=np.int64)


@converts("Identity", raw="x")
def identity(x: Any) -> Any:
    return x


@converts("Constant")
def constant(
    *,
    value: Any = None,
    sparse_value: Any = None,
    value_float: float | None = None,
    value_floats: Any = None,
    value_int: int | None = None,
    value_ints: Any = None,
    value_string: str | None = None,
    value_strings: Any = None,
) -> Any:
    if value is not None or sparse_value is not None:
        return sparse_value if value is None else value
    if value_float is not None or value_floats is not None:
        return np.asarray(value_floats if value_float is None else value_float, np.float32)
    if value_int is not None or value_ints is not None:
        return np.asarray(value_ints if value_int is None else value_int, np.int64)
    return np.asarray(value_strings if value_string is None else value_string, dtype=object)


@converts("ConstantOfShape", 9, host="shape")
def constant_of_shape(shape: Any, *, value: Any = None) -> Any:
    given = np.zeros(1, np.float32) if value is None else value.array
    if given.dtype.name in ("float16", "float32", "float64") or given.dtype.kind in "biu":
        return fz.full(tuple(ints(shape)), given.reshape(-1)[0].item(), dtype=given.dtype.name)
    return np.full(ints(shape), given.reshape(-1)[0], dtype=given.dtype)


def reshaped(x: Any, shape: list[int], allowzero: int = 0) -> Any:
    if not allowzero:
        shape = [_shape_of(x)[i] if n == 0 else n for i, n in enumerate(shape)]
    elif -1 in shape and 0 in shape:
        raise ValueError(f"[onnx] Reshape with allowzero takes 0 or -1, not both: {shape}.")
    return Host(x.array.reshape(shape)) if isinstance(x, Host) else fz.reshape(x, tuple(shape))


@converts("Reshape")
def reshape_attribute(x: Any, *, shape: Any) -> Any:
    return reshaped(x, list(shape))


@converts("Reshape", 5, raw="x", host="shape")
def reshape(x: Any, shape: Any, *, allowzero: int = 0) -> Any:
    return reshaped(x, ints(shape), allowzero)


@converts("Flatten")
def flatten(x: Any, *, axis: int = 1) -> Any:
    axis = axis + x.ndim if axis < 0 else axis
    return fz.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def _squeezed(x: Any, axes: Any) -> Any:
    shape = _shape_of(x)
    gone = [i for i, n in enumerate(shape) if n == 1] if axes is None else axes
    gone = {a % len(shape) for a in gone} if shape else set()
    if any(shape[a] != 1 for a in gone):
        raise ValueError(f"[onnx] Squeeze of axes {sorted(gone)} of shape {tuple(shape)}.")
    new = tuple(n for i, n in enumerate(shape) if i not in gone)
    return Host(x.array.reshape(new)) if isinstance(x, Host) else fz.reshape(x, new)


def _unsqueezed(x: Any, axes: Any) -> Any:
    old = list(_shape_of(x))
    rank = len(old) + len(axes)
    new_axes = {a % rank for a in axes}
    rest = iter(old)
    new = tuple(1 if i in new_axes else next(rest) for i in range(rank))
    return Host(x.array.reshape(new)) if isinstance(x, Host) else fz.reshape(x, new)


@converts("Squeeze", raw="x")
def squeeze_attribute(x: Any, *, axes: Any = None) -> Any:
    return _squeezed(x, axes)


@converts("Squeeze", 13, raw="x", host="axes")
def squeeze(x: Any, axes: Any = None) -> Any:
    return _squeezed(x, None if axes is None else ints(axes))


@converts("Unsqueeze", raw="x")
def unsqueeze_attribute(x: Any, *, axes: Any) -> Any:
    return _unsqueezed(x, axes)


@converts("Unsqueeze", 13, raw="x", host="axes")
def unsqueeze(x: Any, axes: Any) -> Any:
    return _unsqueezed(x, ints(axes))


@converts("Transpose", raw="x")
def transpose(x: Any, *, perm: Any = None) -> Any:
    axes = tuple(reversed(range(len(_shape_of(x))))) if perm is None else tuple(perm)
    return Host(x.array.transpose(axes)) if isinstance(x, Host) else fz.permute_dims(x, axes)


@converts("Concat", raw="parts")
def concat(*parts: Any, axis: int = 1, node: Any) -> Any:
    if all(isinstance(p, Host) for p in parts):
        return np.concatenate([p.array for p in parts], axis=axis)
    parts = tuple(node.deliver(p, 0) for p in parts)
    return parts[0] if len(parts) == 1 else fz.concat(parts, axis=axis)


def pieces(x: Any, sizes: list[int], axis: int) -> tuple[Any, ...]:
    """Parts of an axis with these sizes."""
    axis %= x.ndim
    if sum(sizes) != x.shape[axis] or min(sizes, default=0) < 0:
        raise ValueError(f"[onnx] parts of {sizes} do not make the {x.shape[axis]} elements.")
    parts, begin = [], 0
    for n in sizes:
        parts.append(x[(slice(None),) * axis + (slice(begin, begin + n),)])
        begin += n
    return tuple(parts)


def evenly(total: int, count: int) -> list[int]:
    """Sizes of parts that are equal, but for the last one."""
    each = -(-total // count)
    return [min(each, max(total - i * each, 0)) for i in range(count)]


@converts("Split", host="sizes")
def split_attribute(
    x: Any, sizes: Any = None, *, axis: int = 0, split: Any = None, node: Any
) -> Any:
    split = split if sizes is None else ints(sizes)
    return pieces(x, split or evenly(x.shape[axis], len(node.wanted)), axis)


@converts("Split", 13, host="split")
def split(
    x: Any, split: Any = None, *, axis: int = 0, num_outputs: int | None = None, node: Any
) -> Any:
    if split is None or len(split) == 0:
        count = len(node.wanted) if num_outputs is None else num_outputs
        if not 1 <= count <= max(x.shape[axis], len(node.wanted)):
            raise ValueError(f"[onnx] {x.shape[axis]} elements do not part into {count} outputs.")
        return pieces(x, evenly(x.shape[axis], count), axis)
    return pieces(x, ints(split), axis)


def _sliced(x: Any, starts: Any, ends: Any, axes: Any, steps: Any) -> Any:
    rank = len(_shape_of(x))
    index = [slice(None)] * rank
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        n = _shape_of(x)[axis]
        if step > 0:
            begin, stop, _ = slice(start, end, step).indices(n)
            index[axis] = slice(begin, max(stop, begin), step)
        else:
            begin = min(max(start + n if start < 0 else start, -1 if n == 0 else 0), n - 1)
            stop = max(end + n if end < 0 else end, -1)
            index[axis] = slice(begin, None if stop < 0 else stop, step)
    return x.array[tuple(index)] if isinstance(x, Host) else x[tuple(index)]


@converts("Slice", raw="x")
def slice_attributes(x: Any, *, starts: Any, ends: Any, axes: Any = None) -> Any:
    return _sliced(x, starts, ends, axes, None)


@converts("Slice", 10, raw="x", host="starts ends axes steps")
def slice_inputs(x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    return _sliced(
        x,
        ints(starts),
        ints(ends),
        None if axes is None else ints(axes),
        None if steps is None else ints(steps),
    )


@converts("Expand", 8, host="shape")
def expand(x: Any, shape: Any) -> Any:
    return fz.broadcast_to(x, fz.broadcast_shapes(x.shape, tuple(ints(shape))))


@converts("Tile", host="tiles axis")
def tile_along(x: Any, tiles: Any, axis: Any) -> Any:
    repeats = [1] * x.ndim
    repeats[int(axis)] = int(tiles)
    return fz.tile(x, tuple(repeats))


@converts("Tile", 6, host="repeats")
def tile(x: Any, repeats: Any) -> Any:
    return fz.tile(x, tuple(ints(repeats)))


def _beyond(n: int, before: int, after: int, mode: str) -> list[int]:
    """Which elements of an axis stand before and behind it, and those in it."""
    places = range(-before, n + after)
    if mode == "edge":
        return [min(max(i, 0), n - 1) for i in places]
    if mode == "wrap":
        return [i % n for i in places]
    if mode != "reflect":
        raise ValueError(f"[onnx] Pad has no mode {mode!r}.")
    period = max(2 * (n - 1), 1)
    return [min(i % period, period - i % period) for i in places]


def _padded(x: Any, pads: list[int], mode: str, value: Any, axes: Any) -> Any:
    axes = list(range(x.ndim)) if axes is None else [a % x.ndim for a in axes]
    n = len(axes)
    if len(pads) != 2 * n:
        raise ValueError(f"[onnx] Pad needs {2 * n} widths, got {pads}.")
    widths, cut = [(0, 0)] * x.ndim, [slice(None)] * x.ndim
    for i, axis in enumerate(axes):
        before, after = pads[i], pads[i + n]
        cut[axis] = slice(max(-before, 0), x.shape[axis] - max(-after, 0))
        widths[axis] = (max(before, 0), max(after, 0))
    if any(p < 0 for p in pads):
        x = x[tuple(cut)]
    if not any(map(any, widths)):
        return x
    if mode == "constant":
        if x.dtype.kind == "bool":
            return fz.pad(x.astype("uint8"), widths, constant_values=int(value)).astype("bool")
        return fz.pad(x, widths, constant_values=value)
    for axis, (before, after) in enumerate(widths):
        if before or after:
            x = part(x, axis, _beyond(x.shape[axis], before, after, mode))
    return x


@converts("Pad")
def pad_of_old(x: Any, *, paddings: Any, mode: str = "constant", value: float = 0.0) -> Any:
    return _padded(x, paddings, mode, value, None)


@converts("Pad", 2)
def pad_attributes(x: Any, *, pads: Any, mode: str = "constant", value: float = 0.0) -> Any:
    return _padded(x, pads, mode, value, None)


@converts("Pad", 11, host="pads constant axes")
def pad(
    x: Any, pads: Any, constant: Any = None, axes: Any = None, *, mode: str = "constant"
) -> Any:
    value = 0 if constant is None or constant.size == 0 else constant.flat[0]
    return _padded(x, ints(pads), mode, value, None if axes is None else ints(axes))


@converts("CenterCropPad", 18, host="shape")
def center_crop_pad(x: Any, shape: Any, *, axes: Any = None) -> Any:
    axes = list(range(x.ndim)) if axes is None else [a % x.ndim for a in axes]
    widths, cut = [(0, 0)] * x.ndim, [slice(None)] * x.ndim
    for axis, n in zip(axes, ints(shape), strict=True):
        more = n - x.shape[axis]
        if more < 0:
            begin = -more // 2
            cut[axis] = slice(begin, begin + n)
        else:
            widths[axis] = (more // 2, more - more // 2)
    return fz.pad(x[tuple(cut)], widths)


@converts("Range", 11, host="start limit delta")
def range_(start: Any, limit: Any, delta: Any, *, stash_type: int = 1) -> Any:
    dtype = start.array().dtype
    first, last, step = (v.array().reshape(-1)[0] for v in (start, limit, delta))
    if dtype.name in ("float16", "bfloat16"):
        first, last, step = np.float32(first), np.float32(last), np.float32(step)
    size = (float(last) - float(first)) / float(step) if step else math.nan
    if not -math.inf < size < _LONGEST:
        raise ValueError(f"[onnx] no range goes from {first} to {last} by {step}.")
    count = max(math.ceil((last - first) / step), 0)
    return (first + np.arange(count).astype(np.asarray(first).dtype) * step).astype(dtype)


@converts("EyeLike", 9, raw="x", shape_only=True)
def eye_like(x: Any, *, dtype: int | None = None, k: int = 0) -> Any:
    rows, columns = _shape_of(x)
    own = x.dtype if isinstance(x, Host) else x.dtype.name
    return fz.eye(rows, columns, k=k, dtype=own if dtype is None else dtype_of(dtype))


@converts("Trilu", 14, host="k")
def trilu(x: Any, k: Any = None, *, upper: int = 1) -> Any:
    part = fz.triu if upper else fz.tril
    return part(x, k=0 if k is None else int(k))


@converts("DepthToSpace")
def depth_to_space(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    n, c, h, w = x.shape
    b = blocksize
    if mode == "DCR":
        y = fz.permute_dims(x.reshape((n, b, b, c // b**2, h, w)), (0, 3, 4, 1, 5, 2))
    else:
        y = fz.permute_dims(x.reshape((n, c // b**2, b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return y.reshape((n, c // b**2, h * b, w * b))


@converts("SpaceToDepth")
def space_to_depth(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    n, c, h, w = x.shape
    b = blocksize
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    y = fz.permute_dims(x.reshape((n, c, h // b, b, w // b, b)), order)
    return y.reshape((n, c * b**2, h // b, w // b))


@converts("ReverseSequence", 10, host="lengths")
def reverse_sequence(x: Any, lengths: Any, *, batch_axis: int = 1, time_axis: int = 0) -> Any:
    steps, batch = x.shape[time_axis], x.shape[batch_axis]
    at = np.tile(np.arange(steps), (batch, 1))
    for row, n in zip(at, ints(lengths), strict=True):
        row[:n] = row[:n][::-1]
    y = fz.moveaxis(x, (batch_axis, time_axis), (0, 1))
    places = fz.asarray(at).reshape((batch, steps) + (1,) * (y.ndim - 2))
    y = fz.take_along_axis(y, fz.broadcast_to(places, y.shape), axis=1)
    return fz.moveaxis(y, (0, 1), (batch_axis, time_axis))
