"""From the path of a call (frazil/_export_program.py) to the nodes of an ONNX graph.

A value is a name with its dtype. Sizes that are expressions of dynamic ones are computed by nodes
from the shapes of inputs. What ONNX has no operator for is refused with its line.
"""

from __future__ import annotations

import ast
import struct
from dataclasses import replace
from typing import Any

import numpy as np

from frazil._export_program import Refused
from frazil.onnx._reading import package
from frazil.onnx._spectra import PARTS, Spectra
from frazil.onnx._values import DTYPES, host_dtype

__all__ = ["Graph", "dtype_number"]

# In the order of core/dtypes.def.
_DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
    "complex64 complex128"
).split()
_FLOATS = ("float16", "bfloat16", "float32", "float64")

_SAME = {  # op: operator of the same operands and dtype
    "negative": "Neg", "abs": "Abs", "sign": "Sign", "exp": "Exp", "log": "Log", "sin": "Sin",
    "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh",
    "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh",
    "erf": "Erf", "sigmoid": "Sigmoid", "sqrt": "Sqrt", "floor": "Floor", "ceil": "Ceil",
    "round": "Round", "copy": "Identity", "subtract": "Sub", "divide": "Div", "pow": "Pow",
    "where": "Where", "matmul": "MatMul", "determinant": "Det",
}  # fmt: skip
_OF_BOOLS = {  # (operator of numbers, of bools)
    "add": ("Add", "Or"), "multiply": ("Mul", "And"), "maximum": ("Max", "Or"),
    "minimum": ("Min", "And"), "bitwise_and": ("BitwiseAnd", "And"),
    "bitwise_or": ("BitwiseOr", "Or"), "bitwise_xor": ("BitwiseXor", "Xor"),
    "bitwise_invert": ("BitwiseNot", "Not"),
}  # fmt: skip
_COMPARE = {
    "equal": "Equal", "less": "Less", "less_equal": "LessOrEqual", "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
}  # fmt: skip
_REDUCE = {"sum": "ReduceSum", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}


_OF_NUMBERS: dict[str, Any] = {  # what is computed here where the operands are numbers
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Neg": np.negative, "Equal": np.equal,
    "Less": np.less, "LessOrEqual": np.less_equal, "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal, "Not": np.logical_not, "And": np.logical_and,
    "Or": np.logical_or, "Squeeze": np.squeeze,
}  # fmt: skip
_RANDOM = ("t", "random.state")  # a session of ONNX draws its own numbers


def dtype_number(name: str) -> int:
    """The number of onnx.TensorProto.DataType of a dtype; of a complex one that of its parts."""
    name = PARTS.get(name, name)
    return next(n for n, own in DTYPES.items() if own == name)


class Value:
    """A name in the graph and the dtype behind it."""

    def __init__(self, name: str, dtype: str) -> None:
        self.name, self.dtype = name, dtype


class Graph(Spectra):
    """Nodes that are being written. A graph inside of another shares names and initializers."""

    def __init__(self, opset: int, outer: Graph | None = None) -> None:
        self.helper = package().helper
        self.opset = opset
        self.nodes: list[Any] = []
        self.counter: list[int] = outer.counter if outer else [0]
        self.initializers: dict[str, Any] = outer.initializers if outer else {}
        self.numbers: dict[Any, Value] = outer.numbers if outer else {}
        self.known: dict[str, Any] = outer.known if outer else {}  # one integer or bool each
        self.symbols: dict[str, Value] = dict(outer.symbols) if outer else {}
        self.tensors: dict[str, Value] = outer.tensors if outer else {}
        self.taken: set[str] = outer.taken if outer else set()

    # Pieces

    def fresh(self, stem: str) -> str:
        while True:
            self.counter[0] += 1
            name = f"{stem}_{self.counter[0]}"
            if name not in self.taken:
                self.taken.add(name)
                return name

    def node(self, op: str, inputs: list[Value | None], dtype: str, **attributes: Any) -> Value:
        given = [self.known.get(v.name) if v is not None else None for v in inputs]
        if op in _OF_NUMBERS and not attributes and all(v is not None for v in given):
            return self.constant(_OF_NUMBERS[op](*given), dtype)
        return self.nodes_of(op, inputs, (dtype,), **attributes)[0]

    def nodes_of(
        self, op: str, inputs: list[Value | None], dtypes: tuple[str, ...], **attributes: Any
    ) -> list[Value]:
        names = [self.fresh(op.lower()) for _ in dtypes]
        given = ["" if v is None else v.name for v in inputs]
        self.nodes.append(self.helper.make_node(op, given, names, **attributes))
        return [Value(n, d) for n, d in zip(names, dtypes, strict=True)]

    def constant(self, value: Any, dtype: str) -> Value:
        """An initializer, one for each content."""
        array = np.asarray(value, dtype=host_dtype(dtype_number(dtype)))
        key = (dtype, array.shape, array.tobytes())
        if key not in self.numbers:
            name = self.fresh("constant")
            self.initializers[name] = array
            self.numbers[key] = Value(name, dtype)
            if array.size == 1 and array.dtype.kind in "bi":
                self.known[name] = array
        return self.numbers[key]

    def cast(self, x: Value, dtype: str) -> Value:
        if x.dtype == dtype:
            return x
        return self.node("Cast", [x], dtype, to=dtype_number(dtype))

    @staticmethod
    def dtype_of(number: int) -> str:
        return _DTYPES[number]

    @staticmethod
    def number_of_extent(extent: Any) -> int | None:
        return int(extent) if _is_whole(extent) else None

    # Sizes

    def size(self, expression: Any) -> Value:
        """An integer or an expression of sizes as int64[1]."""
        if isinstance(expression, int) or _is_whole(expression):
            return self.constant([int(expression)], "int64")
        return self._size(ast.parse(expression, mode="eval").body)

    def _size(self, tree: Any) -> Value:
        if isinstance(tree, ast.Constant):
            return self.constant([tree.value], "int64")
        if isinstance(tree, ast.UnaryOp):
            return self.node("Neg", [self._size(tree.operand)], "int64")
        if isinstance(tree, ast.Name):
            return self.symbols[tree.id]
        op = {ast.Add: "Add", ast.Mult: "Mul", ast.Sub: "Sub", ast.Div: "Div"}[type(tree.op)]
        return self.node(op, [self._size(tree.left), self._size(tree.right)], "int64")

    def shape(self, extents: list[Any]) -> Value:
        """A shape as int64[n]; one extent that is no number is left to Reshape as -1."""
        if all(_is_whole(e) for e in extents):
            return self.constant([int(e) for e in extents], "int64")
        if len(extents) == 1:
            return self.size(extents[0])
        return self.node("Concat", [self.size(e) for e in extents], "int64", axis=0)

    # Calls

    def operand(self, ref: tuple[str, Any], values: dict[Any, Value]) -> Value:
        kind, what = ref
        if kind == "n":
            return self.number(*what)
        if kind == "t":
            return self.tensors[what]
        return values[ref]

    def number(self, dtype: str, bits: Any) -> Value:
        if isinstance(bits, str):  # a function of sizes
            form, expression = bits.split(" ", 1)
            x = self.cast(self.size(expression), dtype)
            x = self.node("Squeeze", [x], dtype)
            if form == "unbiased":
                less = self.node("Sub", [x, self.constant(1, dtype)], dtype)
                return self.node("Div", [x, less], dtype)
            x = self.node("Sqrt", [x], dtype) if "root" in form else x
            return self.node("Reciprocal", [x], dtype) if "inverse" in form else x
        own = host_dtype(dtype_number(dtype))
        raw = struct.pack("<Q", bits)[: own.itemsize]
        return self.constant(np.frombuffer(raw, own)[0], dtype)

    def path(self, path: Any, values: dict[Any, Value]) -> list[Value]:
        """The outputs of a path's calls. `values` has parameters and earlier results."""
        values = dict(values)
        result = max((k[1] for k in values if k[0] == "r"), default=-1) + 1
        for call in path.calls:
            if call.kind in ("check", "precision"):
                continue
            made = self.call(call, values)
            for value in made:
                values["r", result] = value
                result += 1
        if any(cell != _RANDOM for cell, _ in path.writes):
            raise Refused("it writes to tensors, which ONNX programs do not keep: return them")
        if path.end == "read":
            return self.branches(path, values)
        out = [self.operand(ref, values) for ref in path.outputs]
        if path.end == "next":  # of a loop: what it reads to go on stands behind the states
            out.append(self.operand(path.read, values))
        return out

    def branches(self, path: Any, values: dict[Any, Value], seen: Any = None) -> list[Value]:
        """An If for each number that was read. What no example read stops the model.

        None where the number is known by now: onnxruntime takes such an If apart itself, and
        crashes where it stands in others.
        """
        (outcome, first), *rest = path.cases.items()
        seen = path.cases.keys() if seen is None else seen
        read = self.operand(path.read, values)
        if not rest and read.dtype == "bool" and len(seen) == 2:
            return self.path(first, values)
        asked = self.node("Equal", [read, self.number(read.dtype, outcome)], "bool")
        asked = self.node("Squeeze", [asked], "bool")
        if asked.name in self.known and self.known[asked.name]:
            return self.path(first, values)
        if asked.name in self.known and rest:
            others = replace(path, calls=[], cases=dict(rest))
            return self.branches(others, values, seen)
        if asked.name in self.known:
            return self.stopped(read, path.origin, Graph(self.opset, self).path(first, values))
        inner = Graph(self.opset, self)
        out = [inner.node("Identity", [v], v.dtype) for v in inner.path(first, values)]
        graphs = {"then_branch": inner.proto("then", [], out, [])}
        inner = Graph(self.opset, self)
        if rest:
            others = replace(path, calls=[], cases=dict(rest))
            other = inner.branches(others, values, seen)
        else:
            other = inner.stopped(read, path.origin, out)
        other = [inner.node("Identity", [v], v.dtype) for v in other]
        graphs["else_branch"] = inner.proto("else", [], other, [])
        return self.nodes_of("If", [asked], tuple(v.dtype for v in out), **graphs)

    def stopped(self, read: Value, origin: str, like: list[Value]) -> list[Value]:
        """An error, at a node whose name tells why: an index that is out of range."""
        far = self.node("Add", [self.cast(read, "int64"), self.constant(1 << 40, "int64")], "int64")
        name = f"no example took this branch: {origin or 'of a loop'}"
        given = [self.constant([0], "int64"), self.node("Squeeze", [far], "int64")]
        none = self.node("Gather", list(given), "int64", name=name)
        return [self.cast(none, v.dtype) for v in like]

    def proto(
        self, name: str, inputs: list[Value], outputs: list[Value], scalars: list[Value]
    ) -> Any:
        """A graph inside of another. `scalars` are those of its inputs that have no axes."""

        def info(v: Value) -> Any:
            shape: list[int] | None = [] if v in scalars else None
            return self.helper.make_tensor_value_info(v.name, dtype_number(v.dtype), shape)

        inner = pruned(self.nodes, {v.name for v in outputs})
        return self.helper.make_graph(
            inner, self.fresh(name), [info(v) for v in inputs], [info(v) for v in outputs]
        )

    def call(self, call: Any, values: dict[Any, Value]) -> list[Value]:
        x = [self.operand(ref, values) for ref in call.operands]
        if call.kind == "repeat":
            return self.repeat(call, x)
        if call.kind == "while":
            return self.loop(call, x)
        if call.kind == "call" and call.body is not None:
            return self.path(call.body, {("p", i): v for i, v in enumerate(x)})
        write = getattr(self, f"_{call.name}", None)
        made_complex = call.name == "astype" and self.dtype_of(int(call.attrs[0])) in PARTS
        if made_complex or any(v.dtype in PARTS for v in x):
            return self.on_complex(call, x)
        if call.name in _SAME:
            dtype = x[1 if call.name == "where" else 0].dtype
            return [self.node(_SAME[call.name], list(x), dtype)]
        if call.name in _OF_BOOLS:
            return [self.node(_OF_BOOLS[call.name][x[0].dtype == "bool"], list(x), x[0].dtype)]
        if call.name in _COMPARE:
            return [self.node(_COMPARE[call.name], list(x), "bool")]
        if call.name in _REDUCE:
            return [self._reduced(_REDUCE[call.name], x[0], call.attrs)]
        if write is None:
            raise Refused(
                f"{call.name} ({call.origin}) has no operator in ONNX that is known here: "
                "fz.export writes it into a .frz file, which C++, C and Python run"
            )
        made = write(x, call.attrs)
        return made if isinstance(made, list) else [made]

    def iteration(self, call: Any, x: list[Value]) -> tuple[Graph, list[Value], list[Value]]:
        """The graph of a loop's body, the values that are given to it, and its results."""
        inner = Graph(self.opset, self)
        own = [Value(self.fresh("state"), v.dtype) for v in x[: call.states]]
        count, go = Value(self.fresh("i"), "int64"), Value(self.fresh("go"), "bool")
        given = {("p", i): v for i, v in enumerate([*own, *x[call.states :]])}
        out = [inner.node("Identity", [v], v.dtype) for v in inner.path(call.body, given)]
        return inner, [count, go, *own], out

    def repeat(self, call: Any, x: list[Value]) -> list[Value]:
        inner, given, out = self.iteration(call, x)
        _, go, *_ = given
        on = inner.node("Identity", [go], "bool")
        body = inner.proto("body", given, [on, *out], given[:2])
        times = self.node("Squeeze", [self.size(call.attrs[0])], "int64")
        dtypes = tuple(v.dtype for v in out)
        true = self.constant(True, "bool")
        return self.nodes_of("Loop", [times, true, *x[: call.states]], dtypes, body=body)

    def loop(self, call: Any, x: list[Value]) -> list[Value]:
        """A loop that reads a number behind each iteration: once more while it is call.more[0]."""
        inner, given, out = self.iteration(call, x)
        read = Value(self.fresh("read"), out[-1].dtype)
        asked = inner.node("Equal", [out[-1], inner.number(read.dtype, call.more[0])], "bool")
        asked = inner.node("Squeeze", [asked], "bool")
        body = inner.proto("body", [*given, read], [asked, *out], given[:2])
        first = self.constant(0, read.dtype)
        dtypes = tuple(v.dtype for v in out)
        true = self.constant(True, "bool")
        ran = self.nodes_of("Loop", [None, true, *x[: call.states], first], dtypes, body=body)
        return [*ran, self.constant(False, "bool")]

    # Operators of several nodes

    def _not_equal(self, x: list[Value], attrs: Any) -> Value:
        return self.node("Not", [self.node("Equal", list(x), "bool")], "bool")

    def _isnan(self, x: list[Value], attrs: Any) -> Value:
        return self.node("IsNaN", [x[0]], "bool")

    def _isinf(self, x: list[Value], attrs: Any) -> Value:
        return self.node("IsInf", [x[0]], "bool")

    def _signbit(self, x: list[Value], attrs: Any) -> Value:
        """Of -0.0, too: its reciprocal is below 0."""
        zero = self.constant(0, x[0].dtype)
        if x[0].dtype not in _FLOATS:
            return self.node("Less", [x[0], zero], "bool")
        below = self.node("Less", [x[0], zero], "bool")
        inverse = self.node("Reciprocal", [x[0]], x[0].dtype)
        at_zero = self.node("Equal", [x[0], zero], "bool")
        negative = self.node("Less", [inverse, zero], "bool")
        both = self.node("And", [at_zero, negative], "bool")
        return self.node("Or", [below, both], "bool")

    def _isfinite(self, x: list[Value], attrs: Any) -> Value:
        both = [self._isnan(x, attrs), self._isinf(x, attrs)]
        return self.node("Not", [self.node("Or", list(both), "bool")], "bool")

    def _expm1(self, x: list[Value], attrs: Any) -> Value:
        one = self.constant(1, x[0].dtype)
        return self.node("Sub", [self.node("Exp", [x[0]], x[0].dtype), one], x[0].dtype)

    def _log1p(self, x: list[Value], attrs: Any) -> Value:
        one = self.constant(1, x[0].dtype)
        return self.node("Log", [self.node("Add", [x[0], one], x[0].dtype)], x[0].dtype)

    def _log_to(self, x: Value, base: float) -> Value:
        by = self.constant(np.log(base), x.dtype)
        return self.node("Div", [self.node("Log", [x], x.dtype), by], x.dtype)

    def _log2(self, x: list[Value], attrs: Any) -> Value:
        return self._log_to(x[0], 2.0)

    def _log10(self, x: list[Value], attrs: Any) -> Value:
        return self._log_to(x[0], 10.0)

    def _trunc(self, x: list[Value], attrs: Any) -> Value:
        size = self.node("Floor", [self.node("Abs", [x[0]], x[0].dtype)], x[0].dtype)
        return self.node("Mul", [self.node("Sign", [x[0]], x[0].dtype), size], x[0].dtype)

    def _floor_divide(self, x: list[Value], attrs: Any) -> Value:
        a, b = x
        if a.dtype in _FLOATS:
            return self.node("Floor", [self.node("Div", [a, b], a.dtype)], a.dtype)
        rest = self.node("Mod", [a, b], a.dtype)
        return self.node("Div", [self.node("Sub", [a, rest], a.dtype), b], a.dtype)

    def _remainder(self, x: list[Value], attrs: Any) -> Value:
        a, b = x
        if a.dtype not in _FLOATS:
            return self.node("Mod", [a, b], a.dtype)
        whole = self.node("Mul", [self._floor_divide(x, attrs), b], a.dtype)
        return self.node("Sub", [a, whole], a.dtype)

    def _astype(self, x: list[Value], attrs: Any) -> Value:
        return self.cast(x[0], _DTYPES[int(attrs[0])])

    def _axes(self, mask: Any) -> list[int]:
        return [i for i in range(64) if int(mask) >> i & 1]

    def _reduced(self, op: str, x: Value, attrs: Any) -> Value:
        axes = self._axes(attrs[0])
        if not axes:
            return self.node("Identity", [x], x.dtype)
        keep = int(attrs[1])
        if op == "ReduceSum" or self.opset >= 18:
            return self.node(op, [x, self.constant(axes, "int64")], x.dtype, keepdims=keep)
        return self.node(op, [x], x.dtype, axes=axes, keepdims=keep)

    def _any(self, x: list[Value], attrs: Any) -> Value:
        return self.cast(self._reduced("ReduceMax", self.cast(x[0], "int32"), attrs), "bool")

    def _all(self, x: list[Value], attrs: Any) -> Value:
        return self.cast(self._reduced("ReduceMin", self.cast(x[0], "int32"), attrs), "bool")

    def _place(self, op: str, x: Value, attrs: Any) -> Value:
        axes = self._axes(attrs[0])
        x = self.cast(x, "int32") if x.dtype == "bool" else x
        if len(axes) != 1:
            raise Refused(f"{op} over several axes is not written: flatten them before")
        return self.node(op, [x], "int64", axis=axes[0], keepdims=int(attrs[1]))

    def _argmax(self, x: list[Value], attrs: Any) -> Value:
        return self._place("ArgMax", x[0], attrs)

    def _argmin(self, x: list[Value], attrs: Any) -> Value:
        return self._place("ArgMin", x[0], attrs)

    def _reshape(self, x: list[Value], attrs: Any) -> Value:
        unknown = [i for i, e in enumerate(attrs) if not _is_whole(e)]
        fixed = [-1 if i in unknown else int(e) for i, e in enumerate(attrs)]
        if len(unknown) == 1 and 0 not in fixed:
            shape = self.constant(fixed, "int64")
        else:
            shape = self.shape(list(attrs)) if attrs else self.constant(np.zeros(0), "int64")
        return self.node("Reshape", [x[0], shape], x[0].dtype, allowzero=1)

    def _permute_dims(self, x: list[Value], attrs: Any) -> Value:
        return self.node("Transpose", [x[0]], x[0].dtype, perm=[int(a) for a in attrs])

    def _broadcast_to(self, x: list[Value], attrs: Any) -> Value:
        return self.node("Expand", [x[0], self.shape(list(attrs))], x[0].dtype)

    def _slice(self, x: list[Value], attrs: Any) -> Value:
        """Attributes are (start, step, count) of each axis."""
        starts: list[Any] = []
        ends: list[Any] = []
        axes: list[int] = []
        steps: list[int] = []
        for axis in range(len(attrs) // 3):
            start, step, count = attrs[3 * axis : 3 * axis + 3]
            step = int(step)
            axes.append(axis)
            starts.append(start)
            steps.append(step)
            if _is_whole(start) and _is_whole(count):
                end = int(start) + step * int(count)
                ends.append(end if end >= 0 else -(2**31))
            elif step > 0:
                ends.append(f"{start} + ({count}) * {step}")
            else:
                ends.append(-(2**31))
        given = [self.shape(starts), self.shape(ends), self.constant(axes, "int64"),
                 self.constant(steps, "int64")]  # fmt: skip
        return self.node("Slice", [x[0], *given], x[0].dtype)

    def _concat(self, x: list[Value], attrs: Any) -> Value:
        return self.node("Concat", list(x), x[0].dtype, axis=int(attrs[0]))

    def _pad(self, x: list[Value], attrs: Any) -> Value:
        widths = [*attrs[::2], *attrs[1::2]]
        return self.node("Pad", [x[0], self.shape(widths), x[1]], x[0].dtype)

    def _take(self, x: list[Value], attrs: Any) -> Value:
        return self.node("Gather", [x[0], x[1]], x[0].dtype, axis=int(attrs[0]))

    def _put(self, x: list[Value], attrs: Any) -> Value:
        axis, add, axes = (int(a) for a in attrs)
        if axis != 0 or axes != 1:
            raise Refused("assignment at indices of other axes than the first is not written")
        places = self.node("Unsqueeze", [x[1], self.constant([-1], "int64")], x[1].dtype)
        places = self.cast(places, "int64")
        how = {"reduction": "add"} if add else {}
        return self.node("ScatterND", [x[0], places, x[2]], x[0].dtype, **how)

    def _cumulative_sum(self, x: list[Value], attrs: Any) -> Value:
        return self.node("CumSum", [x[0], self.constant(int(attrs[0]), "int64")], x[0].dtype)

    def _sorted(self, x: Value, attrs: Any) -> list[Value]:
        shape = self.node("Shape", [x], "int64")
        count = self.node("Gather", [shape, self.constant([-1], "int64")], "int64", axis=0)
        options = {"axis": -1, "largest": int(attrs[0]), "sorted": 1}
        return self.nodes_of("TopK", [x, count], (x.dtype, "int64"), **options)

    def _sort(self, x: list[Value], attrs: Any) -> Value:
        return self._sorted(x[0], attrs)[0]

    def _argsort(self, x: list[Value], attrs: Any) -> Value:
        return self._sorted(x[0], attrs)[1]

    def _iota(self, x: list[Value], attrs: Any) -> Value:
        dtype, count = _DTYPES[int(attrs[0])], attrs[1]
        if _is_whole(count):
            return self.constant(np.arange(int(count)), dtype)
        last = self.node("Squeeze", [self.size(count)], "int64")
        ends = [self.constant(0, "int64"), last, self.constant(1, "int64")]
        return self.cast(self.node("Range", list(ends), "int64"), dtype)

    def _conv2d(self, x: list[Value], attrs: Any) -> Value:
        """(n, h, w, c) by (kh, kw, c, o), for ONNX (n, c, h, w) by (o, c, kh, kw)."""
        a = [int(v) for v in attrs]
        dtype = x[0].dtype
        image = self.node("Transpose", [x[0]], dtype, perm=[0, 3, 1, 2])
        weights = self.node("Transpose", [x[1]], dtype, perm=[3, 2, 0, 1])
        y = self.node("Conv", [image, weights], dtype, strides=a[:2],
                      pads=[a[2], a[4], a[3], a[5]], dilations=a[6:8])  # fmt: skip
        return self.node("Transpose", [y], dtype, perm=[0, 2, 3, 1])

    def _attend(self, x: list[Value], attrs: Any) -> Value:
        """Attention as the library's call has it: results and the rows' logsumexp, flat."""
        q, k, v = x
        scores = self.node("Einsum", [q, k], q.dtype, equation="...ij,...kj->...ik")
        if int(attrs[0]):
            shape = self.node("Shape", [scores], "int64")
            ones = self.node("Expand", [self.constant(1, q.dtype), shape], q.dtype)
            lower = self.cast(self.node("Trilu", [ones], q.dtype, upper=0), "bool")
            hidden = self.constant(-np.inf, q.dtype)
            scores = self.node("Where", [lower, scores, hidden], q.dtype)
        y = self.node("MatMul", [self.node("Softmax", [scores], q.dtype, axis=-1), v], q.dtype)
        axis = self.constant([-1], "int64")
        if self.opset >= 18:
            total = self.node("ReduceLogSumExp", [scores, axis], q.dtype, keepdims=0)
        else:
            total = self.node("ReduceLogSumExp", [scores], q.dtype, axes=[-1], keepdims=0)
        parts = [self.node("Reshape", [p, axis], q.dtype) for p in (y, total)]
        return self.node("Concat", list(parts), q.dtype, axis=0)

    # Composites

    def _positions_of(self, x: list[Value], attrs: Any) -> Value:
        """Index arrays joined in row-major order; attributes: (extent, never below 0) of each."""
        joined = None
        for i, index in enumerate(x):
            extent = self.node("Squeeze", [self.size(attrs[2 * i])], "int64")
            index = self.cast(index, "int64")
            if not int(attrs[2 * i + 1]):
                below = self.node("Less", [index, self.constant(0, "int64")], "bool")
                moved = self.node("Add", [index, extent], "int64")
                index = self.node("Where", [below, moved, index], "int64")
            if joined is not None:
                joined = self.node("Mul", [joined, extent], "int64")
                index = self.node("Add", [joined, index], "int64")
            joined = index
        assert joined is not None
        return joined

    def _softmax(self, x: list[Value], attrs: Any) -> Value:
        return self.node("Softmax", [x[0]], x[0].dtype, axis=int(attrs[0]))

    def _log_softmax(self, x: list[Value], attrs: Any) -> Value:
        return self.node("LogSoftmax", [x[0]], x[0].dtype, axis=int(attrs[0]))

    def _rsqrt(self, x: list[Value], attrs: Any) -> Value:
        root = self.node("Sqrt", [x[0]], x[0].dtype)
        return self.node("Reciprocal", [root], x[0].dtype)

    def _silu(self, x: list[Value], attrs: Any) -> Value:
        gate = self.node("Sigmoid", [x[0]], x[0].dtype)
        return self.node("Mul", [x[0], gate], x[0].dtype)

    def _gelu(self, x: list[Value], attrs: Any) -> Value:
        tanh = int(attrs[0]) != 0
        if self.opset >= 20:
            how = "tanh" if tanh else "none"
            return self.node("Gelu", [x[0]], x[0].dtype, approximate=how)
        a, dtype = x[0], x[0].dtype

        def times(u: Value, by: Any) -> Value:
            return self.node("Mul", [u, by if isinstance(by, Value) else
                                     self.constant(by, dtype)], dtype)  # fmt: skip

        if tanh:
            cube = times(times(a, a), a)
            inner = self.node("Add", [a, times(cube, 0.044715)], dtype)
            gate = self.node("Tanh", [times(inner, 0.7978845608028654)], dtype)
        else:
            gate = self.node("Erf", [times(a, 0.7071067811865476)], dtype)
        gate = self.node("Add", [gate, self.constant(1, dtype)], dtype)
        return times(times(a, gate), 0.5)

    def _layer_norm(self, x: list[Value], attrs: Any) -> Value:
        flags, dtype = int(attrs[0]), x[0].dtype
        eps = float(self.initializers[x[1].name])
        shape = self.node("Shape", [x[0]], "int64", start=-1)
        scale = x[2] if flags & 1 else self.node("Expand", [self.constant(1, dtype), shape], dtype)
        given = [x[0], scale, *([x[-1]] if flags & 2 else [])]
        return self.node("LayerNormalization", list(given), dtype, axis=-1, epsilon=eps)


def pruned(nodes: list[Any], outputs: set[str]) -> list[Any]:
    """The nodes that outputs are made of, in their order."""
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if wanted & set(node.output):
            kept.append(node)
            wanted |= names_in(node)
    return kept[::-1]


def names_in(node: Any) -> set[str]:
    """What a node reads, and what its graphs read of those around them."""
    found = set(node.input)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            found |= {v.name for v in attribute.g.output}
            found |= set().union(*(names_in(inner) for inner in attribute.g.node))
    return found


def _is_whole(e: Any) -> bool:
    return isinstance(e, int) or (isinstance(e, str) and e.lstrip("-").isdigit())
