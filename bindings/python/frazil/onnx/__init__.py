"""ONNX models: `load` reads one as a module that can be traced and trained, `save` writes one.

Both need the package onnx (pip install onnx). docs/onnx.md lists the operators.

Here: `load`, `save`, and `Model`, the class of what load gives.
"""

from frazil.onnx._model import Model as Model
from frazil.onnx._model import load as load
from frazil.onnx._saving import save as save

__all__ = ["Model", "load", "save"]
