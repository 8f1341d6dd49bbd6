"""The module that a loaded model is, and `load`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._named import flag as _flag
from frazil._parameters import Parameter
from frazil._progress import progress as _progress
from frazil.nn.module import Module
from frazil.onnx._build import Builder
from frazil.onnx._plan import Hidden, Run
from frazil.onnx._reading import package, parse
from frazil.onnx._values import DTYPES, NAMES, Host, to_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Model", "load"]


class Model(Module):
    """A model read by `load`: call it with its inputs, in order or by name.

    Inputs are tensors, or arrays and numbers of other libraries; strings and what tensors have no
    dtype for are NumPy arrays, sequences lists. One output is returned as it is, several as a
    tuple in the model's order. A Python number for an integer or bool input (not an array) is a
    constant: the plan is made for it, and branches that it decides are taken beforehand.

    Parameters and buffers have the names of the model's initializers.

    Attributes
    ----------
    input_names, output_names : tuple of str
    opsets : dict
        The version of each operator set (domain) that the model imports.
    operators : list of str
        The operators that the model has.
    """

    def __init__(self, source: Any, device: str | None = None, trainable: bool = True) -> None:
        proto, folder, columns = parse(source)
        builder = Builder(proto, folder, device, trainable, columns)
        self.opsets = builder.opsets(proto.opset_import)
        self._body = builder.graph(proto.graph, None, self.opsets)
        builder.check()
        graph = proto.graph
        filled = {t.name for t in graph.initializer}
        filled |= {t.values.name for t in graph.sparse_initializer}
        given = [v for v in graph.input if v.name not in filled]
        self.input_names = tuple(v.name for v in given)
        self.output_names = tuple(v.name for v in graph.output)
        self.operators = sorted(f"{d}::{n}" if d else n for d, n in builder.operators)
        self._types = tuple([_plain(v.type) for v in given])
        self._device = device
        self._constants = Hidden(dict(builder.constants))
        self._weights: tuple[tuple[int, str], ...] = ()
        self._fill(builder.weights, builder.laid)
        self._body.fix({*builder.constants, *builder.weights})

    def _fill(self, weights: dict[int, tuple[str, Any, bool]], laid: dict[int, Any]) -> None:
        places = []
        for place, (name, array, is_buffer) in _progress(weights.items(), "onnx.load: weights"):
            own = name or "weight"
            while hasattr(self, own):
                own += "_"
            tensor = to_tensor(array, self._device)
            tensor = laid[place](tensor) if place in laid else tensor
            if is_buffer:
                self.register_buffer(own, tensor)
            else:
                setattr(self, own, Parameter(tensor))
            places.append((place, own))
        self._weights = tuple(places)

    def forward(self, *args: Any, **named: Any) -> Any:
        names = self.input_names
        if named:
            args = self._in_order(args, named)
        elif len(args) != len(names):
            raise TypeError(
                f"[onnx] the model takes {len(names)} inputs, {', '.join(names)}: got {len(args)}."
            )
        values: dict[int, Any] = {}
        own = self.__dict__
        for place, name in self._weights:
            values[place] = own[name]
        for i, place in enumerate(self._body.inputs):
            values[place] = self._taken(i, args[i])
        outputs = self._body.run(values, Run(self._device), self._constants)
        results = tuple([_given(v) for v in outputs])
        return results[0] if len(results) == 1 else results

    def _in_order(self, args: Sequence[Any], named: dict[str, Any]) -> tuple[Any, ...]:
        names = self.input_names
        unknown = [n for n in named if n not in names[len(args) :]]
        missing = [n for n in names[len(args) :] if n not in named]
        if unknown or missing or len(args) > len(names):
            raise TypeError(
                f"[onnx] the model takes the inputs {', '.join(names)}: got {len(args)} by place, "
                f"not wanted by name: {', '.join(unknown) or 'none'}, missing: "
                f"{', '.join(missing) or 'none'}."
            )
        return (*args, *(named[n] for n in names[len(args) :]))

    def _taken(self, i: int, value: Any) -> Any:
        """An input as a value, checked against its declared type."""
        kind, dtype, dims = self._types[i]
        if isinstance(value, Tensor):
            if kind == "tensor":
                _check(self.input_names[i], dtype, dims, value)
            return value
        if kind == "tensor" and isinstance(value, (bool, int)) and dtype in _WHOLE:
            return Host.number(value, dtype)
        return self._foreign(self.input_names[i], self._types[i], value)

    def _foreign(self, name: str, type: Any, value: Any) -> Any:
        kind, dtype, dims = type
        if value is None or (isinstance(value, Tensor) and kind != "sequence"):
            return value
        if kind == "optional":
            return self._foreign(name, dtype, value)
        if kind == "sequence":
            if not isinstance(value, (list, tuple)):
                raise TypeError(f"[onnx] input {name!r} is a sequence: give a list of tensors.")
            return [self._foreign(name, dtype, v) for v in value]
        if kind == "map":
            return [value]
        if isinstance(value, (str, bool, int, float, list, tuple)):
            own = object if dtype == "str" else np.dtype(dtype if dtype in _NUMPY else "float32")
            value = np.asarray(value, dtype=own)
        if isinstance(value, (np.ndarray, np.generic)):
            array = np.asarray(value)
            if array.dtype.name not in NAMES:
                return Host(array, static=False)
            value = to_tensor(array, self._device)
        else:
            value = _fz.asarray(value, device=self._device)
        _check(name, dtype, dims, value)
        return value

    def extra_repr(self) -> str:
        return f"{', '.join(self.input_names)} -> {', '.join(self.output_names)}"


_NUMPY = NAMES - {"bfloat16"}
_WHOLE = tuple(sorted(n for n in NAMES if n == "bool" or "int" in n))


def _plain(type: Any) -> tuple[str, Any, Any]:
    """A TypeProto as ("tensor", dtype, extents), or what it is of."""
    if type.HasField("optional_type"):
        return "optional", _plain(type.optional_type.elem_type), None
    if type.HasField("sequence_type"):
        return "sequence", _plain(type.sequence_type.elem_type), None
    if type.HasField("map_type"):
        return "map", None, None
    own = type.tensor_type
    dims = None
    if own.HasField("shape"):
        sizes = [d.dim_value if d.HasField("dim_value") else -1 for d in own.shape.dim]
        dims = tuple([None if d < 0 else d for d in sizes])
    return "tensor", DTYPES.get(own.elem_type), dims


def _check(name: str, dtype: str | None, dims: Any, value: Tensor) -> None:
    if dtype is not None and value.dtype.name != dtype:
        raise TypeError(f"[onnx] input {name!r} must be {dtype}, got {value.dtype.name}.")
    if dims is None:
        return
    fits = len(dims) == value.ndim
    for d, n in zip(dims, value.shape, strict=False):
        fits = fits and (d is None or d == n)
    if not fits:
        said = ", ".join(["?" if d is None else str(d) for d in dims])
        raise ValueError(f"[onnx] input {name!r} must have the shape ({said}), got {value.shape}.")


def _given(value: Any) -> Any:
    """A value as users get it."""
    if isinstance(value, Host):
        return value.tensor(None) if value.dtype in NAMES else value.array
    if isinstance(value, list):
        return [_given(v) for v in value]
    return value


def load(
    path: str | os.PathLike[str] | bytes | Any,
    *,
    device: str | None = None,
    trainable: bool = True,
) -> Model:
    """Reads an ONNX model: a module to call, to trace and to train.

    Needs the package onnx, which parses the file. Nothing in a file is run: external data is read
    only from below the model's folder, and sizes are checked.

    Parameters
    ----------
    path : str, path, bytes or onnx.ModelProto
        The file, or its content.
    device : str, optional
        Where the weights lie.
    trainable : bool
        Floating-point initializers are parameters. With False they are constants: what a model
        computes from them alone is computed once.

    Returns
    -------
    Model
        A module.

    Raises
    ------
    ValueError
        For files that are no models or damaged, and for models with operators or attributes that
        are not supported: all of them are named.
    ImportError
        Without the package onnx.

    >>> import onnx.parser
    >>> text = '''<ir_version: 8, opset_import: ["" : 18]>
    ... half (float[n] x) => (float[n] y) <float[1] w = {0.5}> {y = Mul(x, w)}'''
    >>> model = load(onnx.parser.parse_model(text))
    >>> model([1.0, 3.0]).tolist(), list(model.state_dict())
    ([0.5, 1.5], ['w'])
    """
    package()
    return Model(path, device, _flag("[onnx.load] trainable", trainable))
