"""Writes a .frz file: safetensors, with the program in its metadata (frozen/loaded.h).

For frazil/_export.py. Invariant: the file is there whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from frazil._frazil import __version__ as _version
from frazil._safetensors import save_safetensors
from frazil._views import elements

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from frazil._frazil import Tensor

_CHUNK = 64 * 257  # frozen/digest.h


def digest(data: Any) -> str:
    """SHA-256 over the digests of the chunks of the bytes."""
    view = memoryview(data)
    parts = (view[at : at + _CHUNK] for at in range(0, len(view), _CHUNK))
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def write(
    path: str | PathLike[str],
    name: str,
    program: str,
    structure: Any,
    tensors: Sequence[tuple[str, Tensor, bool]],
) -> None:
    """`structure`: of arguments and result, for frazil/_program.py, as JSON."""
    metadata = {
        "frazil.format": "1",
        "frazil.name": name,
        "frazil.program": program,
        "frazil.python": json.dumps(structure, separators=(",", ":")),
        "frazil.version": _version,
    }
    lines = [f"{digest(text.encode())} {key}" for key, text in metadata.items()]
    lines += [f"{digest(elements(t.detach().to_device('cpu')))} {key}" for key, t, _ in tensors]
    metadata["frazil.digests"] = "\n".join(lines)
    save_safetensors(path, {key: tensor for key, tensor, _ in tensors}, metadata)
