"""Reading a model's file: data, never code. What does not fit is a ValueError that names it.

The package onnx parses the messages (protobuf, which bounds their depth); here are the sizes that
tensors claim, and external data, which is read only from below the model's folder, through no link.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from frazil.onnx._columns import separated
from frazil.onnx._values import DTYPES, host_dtype

__all__ = ["array_of_proto", "array_of_sparse", "package", "parse"]

BYTES = 1 << 34  # of a tensor
RANK = 64
DENSE = 1 << 28  # bytes of a sparse tensor's array; more where it holds a 1024th of them
_PACKED = {"uint4": 4, "int4": 4, "float4_e2m1fn": 4, "uint2": 2, "int2": 2}  # bits


def package() -> Any:
    """The package onnx. ImportError says how to get it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "[onnx] frazil.onnx reads and writes files with the package onnx, which is not "
            "installed: pip install onnx."
        ) from error
    return onnx


def parse(source: Any) -> tuple[Any, str | None, dict[tuple[int, str], Any]]:
    """The ModelProto of a path or of bytes, the folder of external data, and attributes that the
    message lacks, for there they would be large (_columns.py)."""
    onnx = package()
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    folder = None
    content: Any
    if isinstance(source, (bytes, bytearray, memoryview)):
        content, name = bytes(source), "the bytes"
    elif isinstance(source, onnx.ModelProto):
        return source, None, {}
    else:
        path = os.fspath(source)
        name = os.fsdecode(path)
        folder = os.path.dirname(os.path.abspath(name))
        with open(path, "rb") as file:
            content = file.read()
    content, columns = separated(content)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError as error:
        raise ValueError(f"[onnx] {name} is no ONNX model, or a damaged one: {error}.") from None
    if not model.HasField("graph") or not model.opset_import:
        raise ValueError(
            f"[onnx] {name} is no ONNX model: it has no graph or names no operator set."
        )
    _check_text(model)
    return model, folder, columns


def _check_text(message: Any) -> None:
    """Strings of messages that are no UTF-8 come as bytes."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            many = value if hasattr(value, "__len__") else (value,)
            for part in many:
                _check_text(part)
        elif field.type == field.TYPE_STRING:
            for text in (value,) if isinstance(value, (str, bytes)) else value:
                if not isinstance(text, str):
                    raise ValueError(
                        f"[onnx] {message.DESCRIPTOR.name}.{field.name} holds no UTF-8: {text!r}."
                    )


def _extents(proto: Any) -> tuple[tuple[int, ...], int]:
    dims = tuple(proto.dims)
    count = math.prod(dims)
    if len(dims) > RANK or any(d < 0 for d in dims) or count > BYTES:
        raise ValueError(f"[onnx] tensor {proto.name!r} claims to be of shape {_shown(dims)}.")
    return dims, count


def _shown(value: Any) -> str:
    """What a file says, in a message."""
    text = str(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def array_of_proto(proto: Any, folder: str | None) -> np.ndarray[Any, Any]:
    """The array of a TensorProto: its bytes must be as many as its shape says."""
    onnx = package()
    dims, count = _extents(proto)
    if proto.data_type not in DTYPES:
        raise ValueError(f"[onnx] tensor {proto.name!r} has the data type {proto.data_type}.")
    name = DTYPES[proto.data_type]
    if name == "str":
        return _strings(proto, dims, count)
    bits = _PACKED.get(name) or host_dtype(proto.data_type).itemsize * 8
    size = -(-count * bits // 8)
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        raw = _external(proto, folder, size)
    elif proto.HasField("raw_data"):
        raw = proto.raw_data
    else:
        raw = None
    try:
        if raw is None:
            array = np.asarray(onnx.numpy_helper.to_array(proto))
        else:
            if len(raw) != size:
                raise ValueError(f"it has {len(raw)} bytes")
            if name in _PACKED:
                whole = onnx.TensorProto()
                whole.CopyFrom(proto)
                whole.data_location = onnx.TensorProto.DEFAULT
                whole.ClearField("external_data")
                whole.raw_data = raw
                array = np.asarray(onnx.numpy_helper.to_array(whole))
            else:
                dtype = host_dtype(proto.data_type)
                array = np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype, copy=False)
        return array.reshape(dims)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"[onnx] tensor {proto.name!r} does not hold the {count} elements of {name} that its "
            f"shape {dims} asks for: {error}."
        ) from None


def array_of_sparse(proto: Any, folder: str | None) -> np.ndarray[Any, Any]:
    """The dense array of a SparseTensorProto: each of its places must be there."""
    values, places = (array_of_proto(t, folder) for t in (proto.values, proto.indices))
    dims, count = tuple(proto.dims), math.prod(proto.dims)
    what = f"[onnx] sparse tensor {proto.values.name!r}"
    size = count * values.dtype.itemsize
    if len(dims) > RANK or any(d < 0 for d in dims) or size > max(DENSE, 1024 * values.nbytes):
        raise ValueError(f"{what} of {values.size} elements claims to be of shape {_shown(dims)}.")
    extents = np.asarray(dims if places.ndim == 2 else [count], np.int64)
    wanted = (values.size, len(dims)) if places.ndim == 2 else (values.size,)
    if values.ndim != 1 or places.dtype != np.int64 or places.shape != wanted:
        raise ValueError(f"{what} has indices of shape {places.shape} for {values.size} elements.")
    rows = places.reshape(values.size, len(extents))
    if ((rows < 0) | (rows >= extents)).any():
        raise ValueError(f"{what} has elements outside of its shape {_shown(dims)}.")
    dense = np.zeros(dims, values.dtype)
    if values.size:
        flat = places if places.ndim == 1 else np.ravel_multi_index(tuple(rows.T), dims)
        dense.reshape(-1)[flat] = values
    return dense


def _strings(proto: Any, dims: tuple[int, ...], count: int) -> np.ndarray[Any, Any]:
    if len(proto.string_data) != count:
        raise ValueError(
            f"[onnx] tensor {proto.name!r} has {len(proto.string_data)} strings, its shape {dims} "
            f"{count}."
        )
    array = np.empty(count, dtype=object)
    try:
        array[:] = [s.decode("utf-8") for s in proto.string_data]
    except UnicodeDecodeError as error:
        raise ValueError(f"[onnx] tensor {proto.name!r} holds no UTF-8: {error}.") from None
    return array.reshape(dims)


def _external(proto: Any, folder: str | None, size: int) -> bytes:
    """The bytes of a tensor in another file."""
    said = {entry.key: entry.value for entry in proto.external_data}
    where = said.get("location", "")
    what = f"[onnx] tensor {proto.name!r} lies in the file {_shown(repr(where))}"
    if folder is None:
        raise ValueError(f"{what}, and a model given as bytes has no folder: give its path.")
    parts = where.replace("\\", "/").split("/")
    if not where or os.path.isabs(where) or ":" in parts[0] or ".." in parts or "\0" in where:
        raise ValueError(f"{what}, which is not below the model's folder.")
    path = folder
    for part in parts:
        path = os.path.join(path, part)
        if os.path.islink(path):
            raise ValueError(f"{what}, of which {part!r} is a link: no links are followed.")
    try:
        offset, length = int(said.get("offset", 0)), int(said.get("length", size))
    except ValueError:
        raise ValueError(f"{what} at no place: {_shown(said)}.") from None
    if not os.path.isfile(path):
        raise ValueError(f"{what}, which is not there.")
    have = os.path.getsize(path)
    if length != size or offset < 0 or offset + length > have:
        raise ValueError(
            f"{what} at {_shown(offset)}, {_shown(length)} bytes long: its shape asks for {size}, "
            f"and the file has {have}."
        )
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(length)
