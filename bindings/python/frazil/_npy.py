"""NumPy's files of arrays, .npy and .npz, by NumPy's own reader of their headers. For frazil.io.

Invariant: a file is data. Arrays of Python objects are refused in both directions, nothing is
unpickled, and no memory is taken for elements that are not there.
"""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._named import flag as _flag
from frazil._progress import progress as _progress
from frazil._progress import transfer as _transfer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

__all__ = ["load_npy", "load_npz", "save_npy", "save_npz"]

_PART = 1 << 23  # bytes read at once where somebody looks
_RANK = 16  # kMaxRank, core/layout.h
_SIZES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}


def save_npy(path: str | PathLike[str], tensor: Tensor) -> None:
    """Writes a tensor as numpy.save does. The file is complete or not there.

    Parameters
    ----------
    path : path
        As it is: no ".npy" is added.
    tensor : Tensor

    Raises
    ------
    TypeError
        If it is no tensor, or of bfloat16, which NumPy lacks.
    OSError
        If the file cannot be written; what was there before stays.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> save_npy(path, _fz.arange(3))
    >>> load_npy(path).tolist()
    [0, 1, 2]
    """
    stream = io.BytesIO()
    _write(stream, "save_npy", "the array", tensor)
    write_file("save_npy", path, stream.getbuffer())


def load_npy(path: str | PathLike[str]) -> Tensor:
    """Reads what numpy.save wrote, in either byte order, by rows or by columns.

    Parameters
    ----------
    path : path

    Returns
    -------
    Tensor
        On the CPU.

    Raises
    ------
    OSError
        If it cannot be opened.
    ValueError
        If it is damaged or no such file.
    TypeError
        If it holds Python objects, text, dates or records.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> save_npy(path, _fz.ones((2, 3)))
    >>> load_npy(path).shape
    (2, 3)
    """
    with open(path, "rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        return _read(file, size, "load_npy", f"'{path}'")


def save_npz(
    path: str | PathLike[str], tensors: Mapping[str, Tensor], *, compressed: bool = False
) -> None:
    """Writes named tensors as numpy.savez does. The file is complete or not there.

    Parameters
    ----------
    path : path
        As it is: no ".npz" is added.
    tensors : dict
    compressed : bool
        As numpy.savez_compressed does.

    Raises
    ------
    TypeError
        If a value is no tensor, or of bfloat16, which NumPy lacks.
    OSError
        If the file cannot be written; what was there before stays.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npz")
    >>> save_npz(path, {"a": _fz.arange(3), "b": _fz.ones(())})
    >>> {name: x.shape for name, x in load_npz(path).items()}
    {'a': (3,), 'b': ()}
    """
    how = zipfile.ZIP_DEFLATED if _flag("[save_npz] compressed", compressed) else zipfile.ZIP_STORED
    if not hasattr(tensors, "items"):
        raise TypeError(f"[save_npz] tensors must be a dict, got {type(tensors).__name__}.")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", how) as archive:
        for name, tensor in _progress(tensors.items(), "save_npz", total=len(tensors)):
            if not isinstance(name, str):
                raise TypeError(f"[save_npz] tensors has the key {name!r}, which is no string.")
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                _write(member, "save_npz", f"'{name}'", tensor)
    write_file("save_npz", path, stream.getbuffer())


def load_npz(path: str | PathLike[str]) -> dict[str, Tensor]:
    """Reads what numpy.savez or numpy.savez_compressed wrote.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict of str to Tensor
        On the CPU, in the order of the file.

    Raises
    ------
    OSError
        If it cannot be opened.
    ValueError
        If it is damaged or no such file.
    TypeError
        If an array holds Python objects, text, dates or records.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npz")
    >>> save_npz(path, {"a": _fz.arange(3)}, compressed=True)
    >>> load_npz(path)["a"].tolist()
    [0, 1, 2]
    """
    out: dict[str, Tensor] = {}
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                _check_places(archive, file, path)
                for member in archive.infolist():
                    name = member.filename.removesuffix(".npy")
                    if name in out or name == member.filename:
                        wrong = "twice" if name in out else "which is no array"
                        raise ValueError(f"[load_npz] '{path}' has '{member.filename}', {wrong}.")
                    where = f"'{name}' of '{path}'"
                    with archive.open(member) as stream:
                        out[name] = _read(stream, member.file_size, "load_npz", where)
        except (
            zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError,
            zlib.error,
        ) as error:  # fmt: skip
            raise _damaged("load_npz", f"'{path}'", "npz", error) from None
    return out


def _check_places(archive: zipfile.ZipFile, file: BinaryIO, path: Any) -> None:
    """Members that share their bytes would make a small file any number of large arrays."""
    packed = sum(member.compress_size for member in archive.infolist())
    have = file.seek(0, io.SEEK_END)
    if packed > have:
        raise _damaged(
            "load_npz", f"'{path}'", "npz", f"its arrays take {packed} bytes packed, it has {have}"
        )


def write_file(op: str, path: Any, data: bytes | memoryview) -> None:
    """Writes a file whole or not at all, and shows how far it is."""
    with _transfer("saving", path, lambda: len(data)) as told:
        _fz.runtime.write_file(op, path, data, told)


def _write(stream: Any, op: str, what: str, tensor: Any) -> None:
    import numpy

    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"[{op}] {what} must be a tensor, got {type(tensor).__name__}: make it one "
            "(frazil.asarray)."
        )
    if tensor.dtype.name == "bfloat16":
        raise TypeError(
            f"[{op}] {what} is bfloat16, which NumPy lacks: astype('float32'), or save_safetensors."
        )
    array = numpy.asarray(tensor.detach().to_device("cpu"))
    numpy.lib.format.write_array(stream, array, allow_pickle=False)


def _read(stream: BinaryIO | Any, size: int, op: str, where: str) -> Tensor:
    import numpy

    fmt = numpy.lib.format
    try:
        version = fmt.read_magic(stream)
        if version == (1, 0):
            shape, by_columns, dtype = fmt.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, by_columns, dtype = fmt.read_array_header_2_0(stream)
        else:
            raise ValueError(f"it is of version {version}")
    except Exception as error:  # of the parsers of literals, by what they are made of
        raise _damaged(op, where, "npy", error) from None
    if dtype.itemsize not in _SIZES.get(dtype.kind, ()):
        kind = "Python objects" if dtype.hasobject else repr(dtype.str)
        raise TypeError(
            f"[{op}] {where} holds {kind}, and frazil has numbers and bools alone: make arrays of "
            "numbers of it with NumPy."
        )
    begin = stream.tell()
    if len(shape) > _RANK or not all(type(n) is int for n in shape):
        raise _damaged(
            op, where, "npy", f"its shape has {len(shape)} axes, at most {_RANK} integers are read"
        )
    need = math.prod(shape) * dtype.itemsize
    if need != size - begin or any(n < 0 for n in shape):
        raise _damaged(
            op, where, "npy", f"its shape {shape} takes {need} bytes, and {size - begin} follow"
        )
    with _transfer("loading", where.strip("'"), lambda: need) as told:
        data: bytes | bytearray = stream.read(need if told is None else 0)
        if told is not None:
            data = bytearray()
            while more := stream.read(min(_PART, need - len(data))):
                data += more
                told(len(data))
    if len(data) != need:
        raise _damaged(op, where, "npy", f"it ends after {len(data)} of {need} bytes")
    flat = numpy.frombuffer(data, dtype)
    if dtype.kind == "b" and flat.view("u1").max(initial=0) > 1:
        raise _damaged(op, where, "npy", "it has bools that are neither 0 nor 1")
    array = flat.reshape(shape, order="F" if by_columns else "C")
    return _fz.asarray(array.astype(dtype.newbyteorder("="), copy=False))


def _damaged(op: str, where: str, kind: str, why: Any) -> ValueError:
    text = str(why).splitlines()[0] if str(why) else type(why).__name__
    return ValueError(f"[{op}] {where} is no .{kind} file or is damaged: {text.rstrip('.')}.")
