"""fz.onnx.save: what a function does, as an ONNX model.

What it does is learnt as fz.export learns it (frazil/_export.py): a program with its branches,
whose sizes are expressions of the dynamic ones. _writing.py writes the nodes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from frazil._export import _Exporter, _tensors_in
from frazil._export_arguments import call_of, calls_of
from frazil._export_program import Refused
from frazil._export_sizes import Dim
from frazil._frazil import Traced, __version__
from frazil._named import integer as _integer
from frazil._npy import write_file as _write_file
from frazil.onnx._reading import package
from frazil.onnx._spectra import PARTS, laid_out
from frazil.onnx._values import array_of
from frazil.onnx._writing import Graph, Value, dtype_number, names_in, pruned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

__all__ = ["save"]

OPSETS = (18, 22)
_IR = {18: 8, 19: 9, 20: 9, 21: 10, 22: 10}


def save(
    fn: Callable[..., Any],
    example_args: Sequence[Any],
    path: str | PathLike[str],
    *,
    kwargs: Mapping[str, Any] | None = None,
    opset: int = 20,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic_axes: Mapping[Any, Mapping[int, str | Dim]] | None = None,
    examples: Sequence[Sequence[Any]] = (),
    pure: bool | None = None,
) -> None:
    """Writes what a function or module does as an ONNX model.

    Weights are initializers under the names of the state dict. Branches that the examples took are
    `If`, counted loops `Loop`.

    Parameters
    ----------
    fn : callable
        A module, a function, or a traced one. It is run several times; what it writes to tensors is
        put back.
    example_args : tuple
        Arguments of a call. Tensors among them are the model's inputs.
    path : path
        The file.
    kwargs : dict, optional
        Arguments of that call by keyword.
    opset : int
        From 18 to 22.
    input_names, output_names : sequence of str, optional
        Names of the inputs and outputs, in their order; those of the arguments, and "output".
    dynamic_axes : dict, optional
        Axes whose sizes may be others than the example's: {"x": {0: "batch"}}, by the names of
        arguments or inputs, or by positions. `Dim` gives a range.
    examples : sequence of tuples
        Arguments of more calls, for branches that the first does not take; with kwargs pairs of a
        tuple and a dict.
    pure : bool, optional
        True promises that the function depends on its arguments alone; else that is proved.

    Raises
    ------
    ValueError
        If the function does what ONNX has no operator for, or what a program cannot: its line.
    ImportError
        Without the package onnx.

    >>> import os, tempfile
    >>> import frazil as fz
    >>> path = os.path.join(tempfile.mkdtemp(), "f.onnx")
    >>> save(lambda x: fz.exp(x) * 2, (fz.ones(3),), path, dynamic_axes={"x": {0: "n"}})
    >>> fz.onnx.load(path)(fz.zeros(5)).tolist()
    [2.0, 2.0, 2.0, 2.0, 2.0]
    """
    package()
    if not callable(fn):
        raise TypeError(f"[onnx.save] needs a callable, got {type(fn).__name__}.")
    given = call_of("onnx.save", example_args, kwargs)
    opset = _integer("[onnx.save] opset", opset)
    if not OPSETS[0] <= opset <= OPSETS[1]:
        raise ValueError(f"[onnx.save] opset must be from 18 to 22, got {opset}.")
    if pure is None:
        pure = isinstance(fn, Traced) and fn.pure
    inner: Any = fn.__wrapped__ if isinstance(fn, Traced) else fn
    name = re.sub(r"\W", "_", getattr(inner, "__name__", type(inner).__name__)).strip("_")
    exporter = _OnnxExporter(inner, name or "program", pure, given, {})
    exporter.asked = opset, input_names, output_names
    exporter.dims = exporter._dims(exporter.renamed(dynamic_axes or {}))
    try:
        exporter.run(calls_of("onnx.save", examples, kwargs), path)
    except _too_deep():
        raise ValueError(
            f"[onnx.save] {name} cannot be written: branches and loops of it lie deeper in others "
            "than an ONNX file can hold, about 30: select by fz.where, or loop by fz.while_loop."
        ) from None
    except Refused as refusal:
        way = "" if "writes to a tensor" not in str(refusal) else (
            ": return what it writes, and call eval() of a module that keeps averages"
        )  # fmt: skip
        raise ValueError(f"[onnx.save] {name} cannot be written: {refusal}{way}.") from None


def _too_deep() -> type[Exception]:
    """What protobuf raises for messages in more than 100 others."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    return DecodeError


class _OnnxExporter(_Exporter):
    asked: tuple[int, Sequence[str] | None, Sequence[str] | None]
    seen: list[set[int]] | None = None  # the ranks of results in all calls

    def renamed(self, dynamic: Mapping[Any, Any]) -> dict[Any, Any]:
        """By the names of arguments, where the names that inputs are to have are given."""
        given = self.asked[1] or []
        own = {new: path for new, (path, _) in zip(given, self.inputs, strict=False)}
        return {own.get(k, k): axes for k, axes in dynamic.items()}

    def _capture(self, args: list[Any]) -> Any:
        """Indices that are out of range are onnxruntime's to find: checks need not be alike. Inputs
        are tensors of their own.
        """
        path, _ = self._what_it_does(args)
        self.seen = self.seen or [set() for _ in self.ranks]
        for ranks, rank in zip(self.seen, self.ranks, strict=True):
            ranks.add(rank)
        path.calls = [c for c in path.calls if c.kind != "check"]
        return path

    def _input_names(self) -> list[str]:
        given = self.asked[1]
        if given is None:
            return [name for name, _ in self.inputs]
        if len(given) != len(self.inputs) or len(set(given)) != len(given):
            raise ValueError(
                f"[onnx.save] input_names must be {len(self.inputs)} names, for "
                f"{', '.join(n for n, _ in self.inputs)}: got {list(given)}."
            )
        return list(given)

    def _output_names(self, count: int) -> list[str]:
        given = self.asked[2]
        if given is None:
            return ["output"] if count == 1 else [f"output_{i}" for i in range(count)]
        if len(given) != count or len(set(given)) != count:
            raise ValueError(f"[onnx.save] output_names must be {count} names, got {list(given)}.")
        return list(given)

    def _write(self, whole: Any, path: Any) -> None:
        try:
            self._write_model(whole, path)
        except RecursionError:  # before protobuf could say so
            raise _too_deep() from None

    def _write_model(self, whole: Any, path: Any) -> None:
        onnx = package()
        for number in _numbers_in(self.result):
            raise Refused(
                f"its result holds {number!r}, a Python {type(number).__name__}, and models give "
                "tensors: return fz.asarray of it, or leave it out"
            )
        helper, opset = onnx.helper, self.asked[0]
        graph = Graph(opset)
        inputs = self._input_names()
        graph.taken.update(inputs)
        used = _tensors_in(whole)
        for name, tensor in [*self.names.tensors.items(), *self.names.constants]:
            if name in used:
                own = name if name not in graph.taken else graph.fresh(name)
                graph.taken.add(own)
                array = array_of(tensor.detach().to_device("cpu"))
                is_complex = tensor.dtype.name in PARTS
                graph.initializers[own] = laid_out(array) if is_complex else array
                graph.tensors[name] = Value(own, tensor.dtype.name)
        values = {}
        infos = []
        for i, (name, (_, tensor)) in enumerate(zip(inputs, self.inputs, strict=True)):
            values["p", i] = Value(name, tensor.dtype.name)
            axes = self.dims.get(i, {})
            dims = [axes[a].name if a in axes else n for a, n in enumerate(tensor.shape)]
            infos.append(helper.make_tensor_value_info(name, dtype_number(tensor.dtype.name), dims))
        self._symbols(graph, values, bounds_in(whole))
        results = graph.path(whole, values)
        for kind, some in (("input", values.values()), ("output", results)):
            if any(value.dtype in PARTS for value in some):
                raise Refused(
                    f"an {kind} is of complex numbers, which ONNX models do not exchange: take and "
                    "return real and imaginary parts"
                )
        names = self._output_names(len(results))
        for name, value in zip(names, results, strict=True):
            graph.nodes.append(helper.make_node("Identity", [value.name], [name]))
        assert self.seen is not None
        for ranks in self.seen:
            if len(ranks) > 1:
                raise Refused(
                    f"it returns arrays of {' and of '.join(map(str, sorted(ranks)))} axes, and an "
                    "output of a model has one number of them: reshape them to one"
                )
        shapes = [[None] * rank for (rank,) in self.seen]
        outputs = [
            helper.make_tensor_value_info(name, dtype_number(value.dtype), shape)
            for name, value, shape in zip(names, results, shapes, strict=True)
        ]
        nodes = pruned(graph.nodes, set(names))
        read = set().union(*map(names_in, nodes))
        initializers = [
            onnx.numpy_helper.from_array(array, name)
            for name, array in graph.initializers.items()
            if name in read
        ]
        proto = helper.make_graph(nodes, self.name, infos, outputs, initializers)
        model = helper.make_model(
            proto, opset_imports=[helper.make_opsetid("", opset)], ir_version=_IR[opset],
            producer_name="frazil", producer_version=__version__,
        )  # fmt: skip
        try:
            model = onnx.shape_inference.infer_shapes(model, check_type=True)
        except onnx.shape_inference.InferenceError as error:
            raise Refused(f"ONNX has no types for it: {error}") from None
        onnx.checker.check_model(model)
        _write_file("onnx.save", path, model.SerializeToString())

    def _symbols(self, graph: Graph, values: dict[Any, Value], bounded: set[str]) -> None:
        """Each dynamic size from the shape of an input that has it. Without a range it may be 0,
        unless some sizes go another way, as that of 1 is not the way of 0."""
        for i, axes in self.dims.items():
            for axis, dim in axes.items():
                if dim.name not in graph.symbols:
                    shape = graph.node("Shape", [values["p", i]], "int64")
                    at = graph.constant([axis], "int64")
                    size = graph.node("Gather", [shape, at], "int64", axis=0)
                    low = 0 if dim.open and dim.min == 1 and dim.name not in bounded else dim.min
                    graph.symbols[dim.name] = graph.within(size, dim, low)


def bounds_in(path: Any) -> set[str]:
    """The sizes whose value a program asks for to go one way or another."""
    found = set().union(*map(bounds_in, path.cases.values()))
    kind, what = path.read or ("", ("", 0))
    if kind == "n" and isinstance(what[1], str):  # by_bound: "value NAME / BOUND"
        found.add(what[1].split()[1])
    return found


def _numbers_in(structure: Any) -> Any:
    """The numbers and strings of a result's structure (_Exporter._result)."""
    if isinstance(structure, dict):
        if structure.get("fixed") is not None:
            yield structure["fixed"]
        for part in structure.values():
            yield from _numbers_in(part)
    elif isinstance(structure, list):
        for part in structure:
            yield from _numbers_in(part)
