"""Files of named tensors, simple enough to be read by any program.

The format, little-endian:
    "FZT1"
    u32 length, then that many bytes of JSON: how the nest is put together (readers may skip it)
    u32 number of tensors, then for each:
        u32 length, name      (UTF-8; the path in the nest joined by ".", such as "layers.0.weight")
        u32 length, dtype     ("float32", "int64", ...)
        u32 rank, then a u64 for each extent
        the elements in row-major order (bool: one byte; no padding)
"""

import json
import struct

from frazil import _frazil as _fz
from frazil._frazil import Tensor

__all__ = ["load", "save"]

_MAGIC = b"FZT1"


def save(path, tree):
    """Writes a nest (dicts with string keys, lists, tuples) of tensors, numbers and strings."""
    tensors = []
    structure = json.dumps(_describe(tree, "", tensors)).encode()
    with open(path, "wb") as file:
        file.write(_MAGIC + _sized(structure) + struct.pack("<I", len(tensors)))
        for name, t in tensors:
            file.write(_sized(name.encode()) + _sized(t.dtype.name.encode()))
            file.write(struct.pack(f"<I{t.ndim}Q", t.ndim, *t.shape))
            file.write(_fz.runtime.to_bytes(t))


def load(path):
    """Reads what save wrote. FileNotFoundError without the file, ValueError if it is damaged."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] != _MAGIC:
        raise ValueError(
            f"[load] {path} is no file of frazil tensors: it begins with {data[:4]!r}."
        )
    try:
        structure, tensors = _parse(data)
        return _assemble(structure, tensors)
    except (struct.error, UnicodeDecodeError, json.JSONDecodeError, IndexError) as error:
        raise ValueError(f"[load] {path} is damaged: {error}.") from None


def _sized(data):
    return struct.pack("<I", len(data)) + data


def _describe(tree, path, tensors):
    if isinstance(tree, Tensor):
        tensors.append((path, tree.detach()))
        return {"tensor": len(tensors) - 1}
    if isinstance(tree, dict):
        if not all(isinstance(key, str) for key in tree):
            raise TypeError(f"[save] keys must be strings, got {list(tree)}.")
        return {"dict": {k: _describe(v, _join(path, k), tensors) for k, v in tree.items()}}
    if isinstance(tree, (list, tuple)):
        kind = "tuple" if isinstance(tree, tuple) else "list"
        return {kind: [_describe(v, _join(path, i), tensors) for i, v in enumerate(tree)]}
    if tree is None or isinstance(tree, (bool, int, float, str)):
        return {"value": tree}
    raise TypeError(f"[save] cannot save {type(tree).__name__} at '{path}'.")


def _join(path, name):
    return f"{path}.{name}" if path else str(name)


class _Reader:
    def __init__(self, data, at):
        self.data = data
        self.at = at

    def numbers(self, form):
        out = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return out

    def bytes(self, n):
        if n > len(self.data) - self.at:
            raise struct.error(f"{n} bytes are wanted, {len(self.data) - self.at} are left")
        self.at += n
        return self.data[self.at - n : self.at]

    def sized(self):
        return self.bytes(self.numbers("I")[0])


def _parse(data):
    reader = _Reader(data, len(_MAGIC))
    structure = json.loads(reader.sized())
    tensors = []
    for _ in range(reader.numbers("I")[0]):
        reader.sized()  # the name
        dtype = _fz.runtime.dtype(reader.sized().decode())
        (rank,) = reader.numbers("I")
        shape = reader.numbers(f"{rank}Q")
        size = dtype.itemsize
        for n in shape:
            size *= n
        tensors.append(_fz.runtime._rebuild(dtype, shape, reader.bytes(size), False))
    return structure, tensors


def _assemble(node, tensors):
    ((kind, inside),) = node.items()
    if kind == "tensor":
        return tensors[inside]
    if kind == "dict":
        return {key: _assemble(item, tensors) for key, item in inside.items()}
    if kind == "value":
        return inside
    items = [_assemble(item, tensors) for item in inside]
    return tuple(items) if kind == "tuple" else items
