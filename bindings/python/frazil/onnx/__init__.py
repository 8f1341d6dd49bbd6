"""ONNX models: `load` reads one as a module that can be traced and trained, `save` writes one.

Both need the package onnx (pip install onnx). docs/onnx.md lists the operators.

Here: `load`, `save`, and `Model`, the class of what load gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil.onnx._model import Model as Model
from frazil.onnx._model import load as load

if TYPE_CHECKING:
    from frazil.onnx._saving import save as save

__all__ = ["Model", "load", "save"]


def __getattr__(name: str) -> Any:
    """`save`, and with it what exports, when it is first wanted: who loads waits less."""
    if name != "save":
        raise AttributeError(f"module 'frazil.onnx' has no attribute {name!r}")
    from frazil.onnx._saving import save

    globals()["save"] = save
    return save
