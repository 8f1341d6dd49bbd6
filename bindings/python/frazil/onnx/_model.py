"""The module that a loaded model is, and `load`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._named import flag as _flag
from frazil._parameters import Parameter
from frazil.nn.module import Module
from frazil.onnx._build import Builder
from frazil.onnx._plan import Run
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
        proto, folder = parse(source)
        builder = Builder(proto, folder, device, trainable)
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
        self._types = [v.type for v in given]
        self._device = device
        self._constants = dict(builder.constants)
        self._weights: tuple[tuple[int, str], ...] = ()
        self._fill(builder.weights)
        self._body.fix({*self._constants, *builder.weights})

    def _fill(self, weights: dict[int, tuple[str, Any, bool]]) -> None:
        places = []
        for place, (name, array, is_buffer) in weights.items():
            own = name or "weight"
            while hasattr(self, own):
                own += "_"
            tensor = to_tensor(array, self._device)
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
        if isinstance(value, Tensor):
            kind = self._types[i]
            if kind.HasField("tensor_type"):
                _check(self.input_names[i], kind.tensor_type, value)
            return value
        return self._foreign(self.input_names[i], self._types[i], value)

    def _foreign(self, name: str, kind: Any, value: Any) -> Any:
        if value is None:
            return None
        if kind.HasField("optional_type"):
            return self._foreign(name, kind.optional_type.elem_type, value)
        if kind.HasField("sequence_type"):
            if not isinstance(value, (list, tuple)):
                raise TypeError(f"[onnx] input {name!r} is a sequence: give a list of tensors.")
            return [self._foreign(name, kind.sequence_type.elem_type, v) for v in value]
        if kind.HasField("map_type"):
            return [value]
        if isinstance(value, Tensor):
            return value
        wanted = DTYPES.get(kind.tensor_type.elem_type, "float32")
        if isinstance(value, (bool, int)) and wanted in NAMES:
            if wanted[0] in "biu" and wanted != "bfloat16":
                return Host.number(value, wanted)
            value = np.asarray(value, dtype=_numpy(wanted))
        if isinstance(value, (str, float, list, tuple)):
            value = np.asarray(value, dtype=_numpy(wanted))
        if not isinstance(value, np.ndarray) and not isinstance(value, np.generic):
            value = _fz.asarray(value, device=self._device)
            _check(name, kind.tensor_type, value)
            return value
        array = np.asarray(value)
        if array.dtype.kind == "U":
            array = array.astype(object)
        if array.dtype.name not in NAMES:
            return Host(array, static=False)
        tensor = to_tensor(array, self._device)
        if kind.HasField("tensor_type"):
            _check(name, kind.tensor_type, tensor)
        return tensor

    def extra_repr(self) -> str:
        return f"{', '.join(self.input_names)} -> {', '.join(self.output_names)}"


def _numpy(name: str) -> Any:
    return object if name == "str" else np.dtype(name) if name != "bfloat16" else np.float32


def _check(name: str, kind: Any, value: Tensor) -> None:
    wanted = DTYPES.get(kind.elem_type)
    if wanted is not None and value.dtype.name != wanted:
        raise TypeError(f"[onnx] input {name!r} must be {wanted}, got {value.dtype.name}.")
    if not kind.HasField("shape"):
        return
    dims = [d.dim_value if d.HasField("dim_value") else None for d in kind.shape.dim]
    if len(dims) != value.ndim or any(
        d is not None and d != n for d, n in zip(dims, value.shape, strict=True)
    ):
        said = ", ".join("?" if d is None else str(d) for d in dims)
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
