"""Named tensors in one file of the format safetensors; core/files/tensor_file.h tells the format,
reads and writes it. For frazil.io."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._named import flag as _flag
from frazil._progress import transfer as _transfer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

__all__ = ["load_safetensors", "save_safetensors"]


def save_safetensors(
    path: str | PathLike[str],
    tensors: Mapping[str, Tensor],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes named tensors in the format safetensors.

    The file is complete or not there: it takes the place of an older one at the end, when all of it
    is on the disk. It is what the package safetensors writes, byte for byte. The format has no name
    for complex128: such a tensor is stored as F64 with a last axis of 2, and a remark says so.

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
        If a value is no tensor, or if a name or a remark is no string.
    OSError
        If the file cannot be written; what was there before stays.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> save_safetensors(path, {"w": _fz.ones((2, 3))}, {"format": "frazil"})
    >>> load_safetensors(path)["w"].shape
    (2, 3)
    """
    remarks = {} if metadata is None else _checked("metadata", metadata)
    for key, value in remarks.items():
        if not isinstance(value, str):
            raise TypeError(
                f"[save_safetensors] metadata[{key!r}] must be a string, got "
                f"{type(value).__name__}: write str(value), or json.dumps(value)."
            )
    named = _checked("tensors", tensors)
    for name, tensor in named.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"[save_safetensors] '{name}' must be a tensor, got {type(tensor).__name__}: "
                "make it one (frazil.asarray)."
            )
    write("save_safetensors", path, named, remarks)


def write(op: str, path: Any, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """Writes the file, and shows how far it is."""
    with _transfer("saving", path, lambda: sum(t.nbytes for t in tensors.values())) as told:
        _fz.runtime.save_tensors(op, path, tensors, metadata, told)


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
    tensors, metadata = _fz.runtime.load_tensors("load_safetensors", path)
    return (tensors, metadata) if return_metadata else tensors


def _checked(what: str, value: Any) -> dict[str, Any]:
    if not hasattr(value, "items"):
        raise TypeError(f"[save_safetensors] {what} must be a dict, got {type(value).__name__}.")
    for key in value:
        if not isinstance(key, str):
            raise TypeError(f"[save_safetensors] {what} has the key {key!r}, which is no string.")
    return dict(value)
