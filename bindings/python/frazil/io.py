"""Files of named tensors, written here, read here and in C++ (format: core/functions/file.h).

A tensor is named by its path in the nest, such as "layers.0.weight". How the nest is put together
is one more tensor, "__structure__", of JSON as uint8.

Here: `save` and `load`, which are frazil.save and frazil.load, too.

>>> import os, tempfile
>>> import frazil as fz
>>> path = os.path.join(tempfile.mkdtemp(), "state.fzt")
>>> save(path, {"w": [fz.ones(2), fz.zeros(1)], "epoch": 3})
>>> load(path)["w"][0].tolist(), load(path)["epoch"]
([1.0, 1.0], 3)
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._frazil import Tensor

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["load", "save"]

_STRUCTURE = "__structure__"


def save(path: str | PathLike[str], tree: Any) -> None:
    """Writes a nest (dicts with string keys, lists, tuples) of tensors, numbers and strings."""
    tensors: list[tuple[str, Tensor]] = []
    structure = json.dumps(_describe(tree, "", tensors)).encode()
    tensors.append((_STRUCTURE, _fz.asarray(memoryview(structure))))
    _fz.runtime.save_tensors(path, tensors)


def load(path: str | PathLike[str]) -> Any:
    """Reads what save wrote; a file without a structure gives a dict of its tensors by name.

    FileNotFoundError without the file, ValueError if it is damaged.
    """
    pairs = _fz.runtime.load_tensors(path)
    if not pairs or pairs[-1][0] != _STRUCTURE:
        return dict(pairs)
    try:
        structure = json.loads(bytes(pairs[-1][1].tolist()))
        return _assemble(structure, [t for _, t in pairs])
    except (ValueError, LookupError, AttributeError, TypeError) as error:
        raise ValueError(f"[load] '{path}' has a damaged structure: {error}.") from None


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
