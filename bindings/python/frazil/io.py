"""Files of tensors, written here and read here and in C++.

The format is safetensors (core/files/tensor_file.h), which other libraries read. A tensor is named
by its path in the nest, such as "layers.0.weight"; how the nest is put together stands in the
file's metadata.

Here: `save` and `load`, which are frazil.save and frazil.load, too; `save_safetensors` and
`load_safetensors`, of named tensors alone; `renamed` for the names that other libraries give;
`save_npy`, `load_npy`, `save_npz` and `load_npz`, NumPy's formats; `read_image`, `read_audio` and
`read_table` by Pillow, soundfile and pandas.

>>> import os, tempfile
>>> import frazil as fz
>>> path = os.path.join(tempfile.mkdtemp(), "state.safetensors")
>>> save(path, {"w": [fz.ones(2), fz.zeros(1)], "epoch": 3})
>>> load(path)["w"][0].tolist(), load(path)["epoch"]
([1.0, 1.0], 3)
"""

from __future__ import annotations

import inspect
import json
import sys
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._npy import load_npy as load_npy
from frazil._npy import load_npz as load_npz
from frazil._npy import save_npy as save_npy
from frazil._npy import save_npz as save_npz
from frazil._parameters import join as _join
from frazil._readers import read_audio as read_audio
from frazil._readers import read_image as read_image
from frazil._readers import read_table as read_table
from frazil._renamed import renamed as renamed
from frazil._safetensors import load_safetensors as load_safetensors
from frazil._safetensors import save_safetensors as save_safetensors
from frazil._safetensors import write as _write_tensors

if TYPE_CHECKING:
    from os import PathLike

__all__ = [
    "load",
    "load_npy",
    "load_npz",
    "load_safetensors",
    "read_audio",
    "read_image",
    "read_table",
    "renamed",
    "save",
    "save_npy",
    "save_npz",
    "save_safetensors",
]

# Container in container.h.
_LEAF, _NONE, _TUPLE, _NAMED, _LIST, _DICT, _DATACLASS, _, _REGISTERED = range(9)
_WORDS = {
    _TUPLE: "tuple",
    _NAMED: "fields",
    _LIST: "list",
    _DICT: "dict",
    _DATACLASS: "fields",
    _REGISTERED: "children",
}
_KINDS = {word: kind for kind, word in _WORDS.items()}


def save(path: str | PathLike[str], tree: Any) -> None:
    """Writes a nest (frazil.tree) of tensors, numbers and strings as a safetensors file.

    Dicts, which have strings or integers for keys, and lists and tuples come back as they are; so
    do named tuples, dataclasses, registered classes and subclasses of dict, list and tuple, whose
    classes the file names. The file is complete or not there: it takes the place of an older one
    when all of it is on the disk. Other programs see the tensors, named by their paths.

    Parameters
    ----------
    path : path
    tree : nest

    Raises
    ------
    TypeError
        If it holds something else: it names the place. Of a module save state_dict().
    ValueError
        If a class cannot be imported by its name, or if a container holds itself.
    OSError
        If the file cannot be written; what was there before stays.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "state.safetensors")
    >>> save(path, {"w": [_fz.ones(2), _fz.zeros(1)], "epoch": 3})
    >>> list(load_safetensors(path))
    ['w.0', 'w.1']
    """
    _write("save", path, tree)


def load(path: str | PathLike[str]) -> Any:
    """Reads what save wrote; any other safetensors file gives a dict of its tensors by name.

    The file is mapped: elements are read when they are used first. Classes that the file names must
    be what they were, of modules that the program has imported: a file imports nothing. Nothing of
    them runs, but for the unflatten of those that were registered.

    Parameters
    ----------
    path : path

    Returns
    -------
    nest
        Tensors on the CPU, numbers and strings.

    Raises
    ------
    OSError
        If it cannot be opened.
    ValueError
        If it is damaged, or if a class is not there or has other fields by now.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "state.safetensors")
    >>> save(path, {"w": [_fz.ones(2), _fz.zeros(1)], "epoch": 3})
    >>> load(path)["w"][0].tolist(), load(path)["epoch"]
    ([1.0, 1.0], 3)
    """
    tensors, metadata = _fz.runtime.load_tensors("load", path)
    return _read("load", path, tensors, metadata) if "structure" in metadata else tensors


def _write(op: str, path: Any, tree: Any) -> None:
    """Writes a nest; for frazil.training, too.

    The metadata tells how the nest is put together ("structure") and which names its tensors have
    in the file ("names"), both as JSON.
    """
    if isinstance(tree, _fz.ModuleBase):
        raise TypeError(_is_module("the nest", tree))
    tensors: dict[str, Tensor] = {}
    metadata = {"format": "frazil", **_describe(tree, "", tensors)}
    _write_tensors(op, path, tensors, metadata)


def _describe(tree: Any, path: str, tensors: dict[str, Tensor]) -> dict[str, str]:
    """Puts a nest's tensors beside others and tells how to put it together again."""
    leaves, structure = _fz.tree.flatten(tree, _is_saved_whole)
    writer = _Writer(structure, leaves)
    text = json.dumps(writer.describe(path))
    names = []
    for name, tensor in writer.tensors:
        while name in tensors:  # of {"a.b": x} and {"a": {"b": y}}
            name += "'"
        tensors[name] = tensor
        names.append(name)
    return {"structure": text, "names": json.dumps(names)}


def _read(op: str, path: Any, tensors: dict[str, Tensor], metadata: dict[str, str]) -> Any:
    """The nest that _write wrote."""
    try:
        reader = _Reader([tensors[name] for name in json.loads(metadata["names"])])
        reader.read(json.loads(metadata["structure"]))
        return _fz.tree.from_nodes(reader.nodes).unflatten(reader.leaves)
    except _ClassError as error:
        raise ValueError(f"[{op}] '{path}' {error}") from None
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError) as error:
        raise ValueError(f"[{op}] '{path}' has a damaged structure: {error}.") from None


# How a node is written: {"tensor": number}, {"value": number, string or None}, {"dict": {...}},
# with integers for keys {"dict": [[key, node], ...]}, {"list": [...]}, {"tuple": [...]}, and, with
# its class, {"fields": {...}, "class": "module:Name"} for named tuples and dataclasses or
# {"children": [...]} for registered classes. "rest" is what an object has besides; in it
# {"type": "module:Name"} is a class itself.


class _ClassError(Exception):
    pass


def _is_module(place, x):
    return (
        f"[save] {place} is a module ({type(x).__name__}): save its state_dict(), and give what "
        "load returns to load_state_dict()."
    )


def _is_saved_whole(x):
    return isinstance(x, _fz.ModuleBase)  # is refused, with its place


class _Writer:
    def __init__(self, structure, leaves, in_rest=False):
        self.tensors, self._in_rest = [], in_rest
        self._nodes = iter(structure._nodes())
        self._leaves = iter(leaves)

    def describe(self, path):
        kind, n, cls, keys, rest = next(self._nodes)
        if kind == _NONE:
            return {"value": None}
        if kind == _LEAF:
            return self._leaf(path, next(self._leaves))
        if kind == _DICT and not all(type(key) in (str, int) for key in keys):
            raise TypeError(
                f"[save] keys must be strings or integers, got {list(keys)} at '{path}': save a "
                "list of pairs."
            )
        named = kind in (_DICT, _DATACLASS) or (kind == _NAMED and len(keys) == n)
        names = keys if named else range(n)
        items = [self.describe(_join(path, name)) for name in names]
        if named and all(isinstance(key, str) for key in keys):
            items = dict(zip(keys, items, strict=True))
        elif named:
            items = [list(pair) for pair in zip(keys, items, strict=True)]
        out = {_WORDS[kind]: items}
        if cls is not None:
            out["class"] = _name_of(cls, path)
            if kind == _REGISTERED or rest is not None:
                out["rest"] = self._rest(path, rest)
        return out

    def _rest(self, path, rest):
        leaves, structure = _fz.tree.flatten(rest, _is_saved_whole)
        inner = _Writer(structure, leaves, True)
        inner.tensors = self.tensors
        return inner.describe(_join(path, "rest"))

    def _leaf(self, path, x):
        if isinstance(x, Tensor):
            self.tensors.append((path, x.detach()))
            return {"tensor": len(self.tensors) - 1}
        if isinstance(x, (bool, int, float, str)):
            return {"value": x}
        if self._in_rest and isinstance(x, type):  # such as a defaultdict's default_factory
            return {"type": _name_of(x, path)}
        if _is_saved_whole(x):
            raise TypeError(_is_module(f"'{path}'", x))
        raise TypeError(
            f"[save] cannot save {type(x).__name__} at '{path}': make it a tensor, a number or a "
            "string, or register its class (frazil.tree.register_pytree_node)."
        )


def _name_of(cls, path):
    name = f"{cls.__module__}:{cls.__qualname__}"
    try:
        found = _class_of(name)
    except _ClassError:
        found = None
    if found is not cls:
        raise ValueError(
            f"[save] {cls.__qualname__} at '{path}' cannot be imported from {cls.__module__}, so "
            "it could not be loaded: define the class at the top of a module, or save a dict."
        )
    return name


def _class_of(name):
    """The class of that name. No module is imported for it, nor asked to make it: either would run
    code that a file has chosen."""
    module, _, path = name.partition(":")
    if module not in sys.modules:
        raise _ClassError(
            f"holds an object of class {path} of {module}, which is not imported: import {module}, "
            "if that is what you expect there, and load again."
        )
    found = sys.modules[module]
    try:
        for part in path.split("."):
            found = inspect.getattr_static(found, part)
    except AttributeError:
        raise _ClassError(
            f"holds an object of class {path} of {module}, which is not there. "
            "Make it importable under this name, and load again."
        ) from None
    if not isinstance(found, type):
        raise _ClassError(f"names {name} as a class, which is none.")
    return found


class _Reader:
    def __init__(self, tensors):
        self.tensors, self.nodes, self.leaves = tensors, [], []

    def read(self, node):
        cls, rest = node.get("class"), node.get("rest")
        ((word, inside),) = ((w, i) for w, i in node.items() if w not in ("class", "rest"))
        if word in ("tensor", "type") or (word == "value" and inside is not None):
            self.nodes.append((_LEAF, 0, None, None, None))
            read = {"tensor": self.tensors.__getitem__, "type": _class_of}
            self.leaves.append(read[word](inside) if word in read else inside)
            return
        if word == "dict" and isinstance(inside, list):
            inside = {key: item for key, item in inside}  # noqa: C416 -- each is a pair
        keys = tuple(inside) if isinstance(inside, dict) else None
        kind = _NONE if word == "value" else _KINDS[word]
        if cls is not None:
            cls = _class_of(cls)
            kind = _check(kind, cls, keys)
            if rest is not None:
                reader = _Reader(self.tensors)
                reader.read(rest)
                rest = _fz.tree.from_nodes(reader.nodes).unflatten(reader.leaves)
        self.nodes.append((kind, 0 if inside is None else len(inside), cls, keys, rest))
        for item in (inside or {}).values() if keys is not None else inside or ():
            self.read(item)


def _check(kind, cls, keys):
    """The kind of the class, if its instances still are what was written."""
    now, names = _fz.tree.kind_of(cls)
    if kind == _DATACLASS and now == _NAMED:
        kind = _NAMED
    if now != kind or (kind in (_DATACLASS, _NAMED) and keys is not None and names != keys):
        have = f"has {list(names)}" if names else "is another kind of class"
        had = f"had {list(keys)}" if keys else f"was written as {_WORDS[kind]}"
        raise _ClassError(
            f"holds an object of class {cls.__qualname__} of {cls.__module__}, which {have} and "
            f"{had} when it was saved: load it with the class as it was."
        )
    return now
