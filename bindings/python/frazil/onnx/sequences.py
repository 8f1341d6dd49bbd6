"""Sequences, which are Python lists, and optional values, which may be None."""

from __future__ import annotations

from typing import Any

import numpy as np

import frazil as fz
from frazil.onnx._table import converts
from frazil.onnx._values import Host
from frazil.onnx.shapes import ints, pieces


def _at(position: Any, n: int, last: int) -> int:
    i = int(position)
    if not -n <= i <= last:
        raise ValueError(f"[onnx] position {i} of a sequence of {n}.")
    return i + n if i < 0 else i


@converts("SequenceEmpty", 11)
def sequence_empty(*, dtype: int | None = None) -> Any:
    return []


@converts("SequenceConstruct", 11, raw="parts")
def sequence_construct(*parts: Any) -> Any:
    return list(parts)


@converts("SequenceLength", 11, raw="sequence")
def sequence_length(sequence: Any) -> Any:
    return np.asarray(len(sequence), dtype=np.int64)


@converts("SequenceAt", 11, raw="sequence", host="position")
def sequence_at(sequence: Any, position: Any) -> Any:
    return sequence[_at(position, len(sequence), len(sequence) - 1)]


@converts("SequenceInsert", 11, raw="sequence tensor", host="position")
def sequence_insert(sequence: Any, tensor: Any, position: Any = None) -> Any:
    n = len(sequence)
    i = n if position is None else _at(position, n, n)
    return [*sequence[:i], tensor, *sequence[i:]]


@converts("SequenceErase", 11, raw="sequence", host="position")
def sequence_erase(sequence: Any, position: Any = None) -> Any:
    n = len(sequence)
    i = n - 1 if position is None else _at(position, n, n - 1)
    return [*sequence[:i], *sequence[i + 1 :]]


@converts("SplitToSequence", 11, raw="x", host="split")
def split_to_sequence(
    x: Any, split: Any = None, *, axis: int = 0, keepdims: int = 1, node: Any
) -> Any:
    axis %= len(x.shape)
    n = x.shape[axis]
    if split is None:
        sizes = [1] * n
    elif split.ndim == 0:
        sizes = evenly_of(n, int(split))
    else:
        sizes = ints(split)
    if isinstance(x, Host):
        parts = [Host(p) for p in np.split(x.array, np.cumsum(sizes)[:-1], axis=axis)]
        squeezed = [Host(p.array.squeeze(axis)) for p in parts] if split is None else parts
        return parts if keepdims else squeezed
    parts = list(pieces(x, sizes, axis))
    return parts if keepdims or split is not None else [fz.squeeze(p, axis=axis) for p in parts]


def evenly_of(total: int, each: int) -> list[int]:
    """Sizes of parts of `each` elements; the last one may be smaller."""
    return [min(each, total - i) for i in range(0, total, each)]


@converts("ConcatFromSequence", 11, raw="sequence")
def concat_from_sequence(sequence: Any, *, axis: int, new_axis: int = 0, node: Any) -> Any:
    if all(isinstance(p, Host) for p in sequence):
        join = np.stack if new_axis else np.concatenate
        return join([p.array for p in sequence], axis=axis)
    parts = [node.deliver(p, 0) for p in sequence]
    return fz.stack(parts, axis=axis) if new_axis else fz.concat(parts, axis=axis)


@converts("SequenceMap", 17, control=True)
def sequence_map(node: Any, values: Any, run: Any) -> Any:
    body = node.bodies["body"]
    given = [values[p] for p in node.inputs]
    results: list[list[Any]] = [[] for _ in body.outputs]
    for i in range(len(given[0])):
        for place, x in zip(body.inputs, given, strict=True):
            values[place] = x[i] if isinstance(x, list) else x
        for out, value in zip(results, body.run(values, run), strict=True):
            out.append(value)
    return tuple(results)


@converts("Optional", 15, raw="x")
def optional(x: Any = None, *, type: Any = None) -> Any:
    return x


@converts("OptionalGetElement", 15, raw="x")
def optional_get(x: Any) -> Any:
    if x is None:
        raise ValueError("[onnx] OptionalGetElement of an optional value that is not there.")
    return x


@converts("OptionalHasElement", 15, raw="x")
def optional_has(x: Any = None) -> Any:
    return np.asarray(x is not None)
