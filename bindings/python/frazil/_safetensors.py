"""The format safetensors: named tensors in one file that can be mapped into memory.

Eight bytes hold the length of a header of JSON, which tells dtype, shape and place of each tensor;
then come the elements, row-major and little-endian, without gaps. A file is written as the package
`safetensors` writes it, byte for byte. Invariant: nothing a file says is believed before it is
checked, so a damaged or hostile one is a ValueError that tells what is wrong.
"""

from __future__ import annotations

import json
import math
import mmap
import os
from typing import TYPE_CHECKING, Any, Literal, overload

from frazil import _frazil as _fz
from frazil._atomic import replacing as _replacing
from frazil._frazil import Tensor
from frazil._named import flag as _flag
from frazil._progress import progress as _progress

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

__all__ = ["load_safetensors", "save_safetensors"]

_METADATA = "__metadata__"
_LONGEST_HEADER = 100_000_000  # the package's
# Name in the file: dtype, and the memoryview format of its elements, None if there is none. In the
# order of the package, whose files begin with the last.
_DTYPES = {
    "BOOL": ("bool", "?"),
    "U8": ("uint8", "B"),
    "I8": ("int8", "b"),
    "I16": ("int16", "h"),
    "U16": ("uint16", "H"),
    "F16": ("float16", None),
    "BF16": ("bfloat16", None),
    "I32": ("int32", "i"),
    "U32": ("uint32", "I"),
    "F32": ("float32", "f"),
    "C64": ("complex64", None),
    "F64": ("float64", "d"),
    "I64": ("int64", "q"),
    "U64": ("uint64", "Q"),
}
_NAMES = {dtype: name for name, (dtype, _) in _DTYPES.items()}
_FORMATS = dict(_DTYPES.values())
_RANK = {name: rank for rank, name in enumerate(_DTYPES)}


def save_safetensors(
    path: str | PathLike[str],
    tensors: Mapping[str, Tensor],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes named tensors in the format safetensors.

    The file is complete or not there: it takes the place of an older one at the end, when all of it
    is on the disk.

    Parameters
    ----------
    path : path
    tensors : dict
        Tensors of any shape and place by name, such as a module's state_dict().
    metadata : dict of str to str, optional
        Remarks for those who read it.

    Raises
    ------
    TypeError
        If a value is no tensor, has a dtype that the format lacks (complex128), or if a name or a
        remark is no string.
    OSError
        If the file cannot be written; what was there before stays.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> save_safetensors(path, {"w": _fz.ones((2, 3))}, {"format": "frazil"})
    >>> load_safetensors(path)["w"].shape
    (2, 3)
    """
    header: dict[str, Any] = {}
    if metadata is not None:
        _check_mapping("metadata", metadata)
        for key, value in metadata.items():
            if not isinstance(value, str):
                raise TypeError(
                    f"[save_safetensors] metadata[{key!r}] must be a string, got "
                    f"{type(value).__name__}: write str(value), or json.dumps(value)."
                )
        header[_METADATA] = dict(metadata)
    _check_mapping("tensors", tensors)
    for name, tensor in tensors.items():
        if name == _METADATA:
            raise ValueError(f"[save_safetensors] '{_METADATA}' is no name for a tensor.")
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"[save_safetensors] '{name}' must be a tensor, got {type(tensor).__name__}: "
                "make it one (frazil.asarray)."
            )
        if tensor.dtype.name not in _NAMES:
            raise TypeError(
                f"[save_safetensors] the format has no {tensor.dtype.name}, which '{name}' is: "
                f"save its parts, or astype one of {', '.join(_NAMES)}."
            )

    def place(name: str) -> tuple[int, bytes]:
        return -_RANK[_NAMES[tensors[name].dtype.name]], _utf8(name)

    order, end = sorted(tensors, key=place), 0
    for name in order:
        tensor = tensors[name]
        begin, end = end, end + tensor.nbytes
        header[name] = {
            "dtype": _NAMES[tensor.dtype.name],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    text = _utf8(json.dumps(header, ensure_ascii=False, separators=(",", ":")))
    text += b" " * (-len(text) % 8)
    if len(text) > _LONGEST_HEADER:
        raise ValueError(
            f"[save_safetensors] the names and shapes take {len(text)} bytes, the format allows "
            f"{_LONGEST_HEADER}: write several files."
        )
    with _replacing(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in _progress(order, "saving"):
            file.write(elements(tensors[name]))


@overload
def load_safetensors(
    path: str | PathLike[str], *, return_metadata: Literal[False] = ...
) -> dict[str, Tensor]: ...
@overload
def load_safetensors(
    path: str | PathLike[str], *, return_metadata: Literal[True]
) -> tuple[dict[str, Tensor], dict[str, str]]: ...
def load_safetensors(path: str | PathLike[str], *, return_metadata: bool = False) -> Any:
    """Reads a file in the format safetensors.

    The file is mapped: the elements are read when they are used first. Assigning to a tensor does
    not change the file.

    Parameters
    ----------
    path : path
    return_metadata : bool
        Returns (tensors, metadata), too.

    Returns
    -------
    dict of str to Tensor
        On the CPU, in the order of the file.

    Raises
    ------
    OSError
        If it cannot be opened.
    ValueError
        If it is damaged or no such file, or if a tensor has a dtype that frazil lacks.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> save_safetensors(path, {"w": _fz.arange(3)}, {"step": "7"})
    >>> tensors, metadata = load_safetensors(path, return_metadata=True)
    >>> tensors["w"].tolist(), metadata
    ([0, 1, 2], {'step': '7'})
    """
    return_metadata = _flag("[load_safetensors] return_metadata", return_metadata)
    try:
        tensors, metadata = _load(path)
    except _DamagedError as error:
        raise ValueError(
            f"[load_safetensors] '{os.fspath(path)}' is no safetensors file or is damaged: {error}."
        ) from None
    return (tensors, metadata) if return_metadata else tensors


def elements(tensor: Any) -> memoryview:
    """The bytes of the elements, row-major; a copy only if they do not lie so on the CPU."""
    flat = tensor.detach().to_device("cpu").reshape(-1)
    if flat.size == 0:
        return memoryview(b"")
    if _FORMATS.get(flat.dtype.name) is None:
        flat = flat.view("uint8")
    view = memoryview(flat)
    return (view if view.c_contiguous else memoryview(flat.copy())).cast("B")


def from_elements(data: Any, dtype: str, shape: tuple[int, ...]) -> Tensor:
    """A tensor over bytes that something else holds; a copy if they are not aligned for it, or if
    Python has no name for their dtype."""
    if 0 in shape:
        return _fz.zeros(shape, dtype)
    flat = None
    format_ = _FORMATS.get(dtype)
    if format_ is not None:
        try:
            flat = _fz.asarray(data.cast(format_), copy=False)
        except ValueError:  # not aligned
            flat = None
    if flat is None:
        flat = _fz.asarray(data, copy=False).view(dtype)
    return flat.reshape(shape)


class _DamagedError(Exception):
    pass


def _load(path):
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < 8:
            raise _DamagedError(f"it has {size} bytes, and the length of its header takes 8")
        length = int.from_bytes(file.read(8), "little")
        if length > min(size - 8, _LONGEST_HEADER):
            raise _DamagedError(
                f"its header is said to take {length} bytes, after 8 of {size}"
                if length > size - 8
                else f"its header takes {length} bytes, more than {_LONGEST_HEADER}"
            )
        header = _header(file.read(length))
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    metadata = header.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise _DamagedError(f"{_METADATA} must hold strings, got {_shown(metadata)}")
    rows = {name: _row(name, row, size - 8 - length) for name, row in header.items()}
    end = 0
    for name in sorted(rows, key=lambda name: rows[name][2]):
        begin, stop = rows[name][2]
        if begin != end:
            raise _DamagedError(
                f"'{name}' begins at byte {begin} of the elements, where another tensor is until "
                f"{end}"
                if begin < end
                else f"bytes {end} to {begin} of the elements belong to no tensor"
            )
        end = stop
    if end != size - 8 - length:
        raise _DamagedError(f"its tensors take {end} bytes, and {size - 8 - length} follow")
    data = memoryview(mapped)[8 + length :]
    shown = _progress(rows.items(), "loading")
    return {name: _tensor(name, data, *row) for name, row in shown}, metadata


def _header(text):
    if not text.startswith(b"{"):
        raise _DamagedError(f"its header begins with {text[:1]!r}, not with b'{{'")
    try:
        return json.loads(text.decode(), object_pairs_hook=_without_twins)
    except (ValueError, RecursionError) as error:
        raise _DamagedError(f"its header is no JSON ({error})") from None


def _without_twins(pairs):
    out = dict(pairs)
    if len(out) != len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise _DamagedError(f"its header has {_shown(twin)} twice")
    return out


def _row(name, row, size):
    """(dtype, shape, (begin, end)) of what the header says of a tensor."""
    if not isinstance(row, dict) or row.keys() != {"dtype", "shape", "data_offsets"}:
        raise _DamagedError(
            f"'{name}' must have dtype, shape and data_offsets, and has {_shown(row)}"
        )
    kind, shape, place = row["dtype"], row["shape"], row["data_offsets"]
    if not isinstance(kind, str) or kind not in _DTYPES:
        raise _DamagedError(f"'{name}' has dtype {_shown(kind)}; frazil has {', '.join(_DTYPES)}")
    if not _are_sizes(shape):
        raise _DamagedError(f"'{name}' has shape {_shown(shape)}")
    if not _are_sizes(place) or len(place) != 2:
        raise _DamagedError(f"'{name}' has data_offsets {_shown(place)}")
    dtype, (begin, end) = _DTYPES[kind][0], place
    if not begin <= end <= size:
        raise _DamagedError(
            f"'{name}' has data_offsets [{begin}, {end}], and {size} bytes of elements are there"
        )
    need = math.prod(shape) * _fz.runtime.dtype(dtype).itemsize
    if need != end - begin:
        raise _DamagedError(
            f"'{name}' takes {_shown(need)} bytes as {kind} of shape {_shown(shape)}, and its "
            f"data_offsets [{begin}, {end}] hold {end - begin}"
        )
    return dtype, tuple(shape), (begin, end)


def _are_sizes(x):
    return isinstance(x, list) and all(type(n) is int and 0 <= n < 1 << 63 for n in x)


def _tensor(name, data, dtype, shape, place):
    data = data[slice(*place)]
    if dtype == "bool" and data.nbytes and int(_fz.asarray(data, copy=False).max()) > 1:
        raise _DamagedError(f"'{name}' is of bools, and has bytes that are neither 0 nor 1")
    try:
        return from_elements(data, dtype, shape)
    except ValueError as error:  # of a rank or an extent that frazil has not
        raise _DamagedError(f"'{name}': {error}".rstrip(".")) from None


def _shown(value):
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "..."


def _check_mapping(what, value):
    if not hasattr(value, "items"):
        raise TypeError(f"[save_safetensors] {what} must be a dict, got {type(value).__name__}.")
    for key in value:
        if not isinstance(key, str):
            raise TypeError(f"[save_safetensors] {what} has the key {key!r}, which is no string.")


def _utf8(text):
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"[save_safetensors] {_shown(text)} is no text in UTF-8.") from None
