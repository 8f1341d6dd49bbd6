"""From the path of a call (frazil/_export_program.py) to the nodes of an ONNX graph.

A value is a name with its dtype. Sizes that are expressions of dynamic ones are computed by nodes
from the shapes of inputs. What ONNX has no operator for is refused with its line.
"""

from __future__ import annotations

import ast
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from frazil._export_program import Refused
from frazil.onnx._arithmetic import Arithmetic
from frazil.onnx._elimination import Elimination
from frazil.onnx._kernels import Kernels
from frazil.onnx._reading import package
from frazil.onnx._spectra import PARTS, Spectra
from frazil.onnx._values import DTYPES, host_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Graph", "dtype_number"]

# In the order of core/dtypes.def.
_DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
    "complex64 complex128"
).split()

_SAME = {  # op: operator of the same operands and dtype
    "negative": "Neg", "sign": "Sign", "exp": "Exp", "log": "Log", "sin": "Sin", "cos": "Cos",
    "tanh": "Tanh", "sigmoid": "Sigmoid", "sqrt": "Sqrt", "floor": "Floor",
    "ceil": "Ceil", "round": "Round", "copy": "Identity", "subtract": "Sub", "divide": "Div",
    "where": "Where", "matmul": "MatMul",
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

_OF_NUMBERS: dict[str, Any] = {  # what is computed here where the operands are numbers
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Neg": np.negative, "Equal": np.equal,
    "Less": np.less, "LessOrEqual": np.less_equal, "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal, "Not": np.logical_not, "And": np.logical_and,
    "Or": np.logical_or, "Xor": np.logical_xor, "Squeeze": np.squeeze,
}  # fmt: skip
# Of several nodes, whose 16-bit numbers are rounded once.
_ROUNDED_ONCE = (
    "expm1 log1p log2 log10 rsqrt floor_divide remainder silu gelu softmax log_softmax attend "
    "cumulative_prod signbit"
).split()
_RANDOM = ("t", "random.state")  # a session of ONNX draws its own numbers


def dtype_number(name: str) -> int:
    """The number of onnx.TensorProto.DataType of a dtype; of a complex one that of its parts."""
    name = PARTS.get(name, name)
    return next(n for n, own in DTYPES.items() if own == name)


def _require_one_dtype(
    values: Sequence[Value], others: Sequence[Value], origin: str, here: str, there: str
) -> None:
    """Refused unless values that are one output have one dtype; `here` and `there` are where."""
    for a, b in zip(values, others, strict=True):
        if a.dtype != b.dtype:
            at = f" ({origin})" if origin else ""
            raise Refused(
                f"a value is {a.dtype} {here}{at} and {b.dtype} {there}, and an output of a model "
                f"has one dtype: convert them to the same, x.astype('{b.dtype}')"
            )


class Value:
    """A name in the graph and the dtype behind it."""

    def __init__(self, name: str, dtype: str) -> None:
        self.name, self.dtype = name, dtype
        self.small = False  # whether all numbers are known to have less than 32 bits


class Graph(Kernels, Arithmetic, Elimination, Spectra):
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
        self.doing: str = outer.doing if outer else ""  # the call that is written, for errors

    def inside(self) -> Graph:
        return Graph(self.opset, self)

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

    def value(self, stem: str, dtype: str) -> Value:
        return Value(self.fresh(stem), dtype)

    def bare(
        self, op: str, inputs: list[Value | None], dtypes: tuple[str, ...], **attributes: Any
    ) -> list[Value]:
        names = [self.fresh(op.lower()) for _ in dtypes]
        told = attributes.get("name")
        if told in self.taken:  # onnxruntime wants names of nodes that differ
            attributes["name"] = self.fresh(told)
        elif told:
            self.taken.add(told)
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
        made = self.node("Cast", [x], dtype, to=dtype_number(dtype))
        made.small = x.dtype in ("bool", "int8", "int16", "int32", "uint8", "uint16") or x.small
        return made

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

    def within(self, size: Value, dim: Any, low: int) -> Value:
        """A dynamic size, or an error where it is none that the function was run for: an index that
        is out of range, at a node whose name tells."""
        good = self.of("GreaterOrEqual", size, low, dtype="bool")
        if dim.max < 2**62:
            good = self.of("And", good, self.of("LessOrEqual", size, dim.max, dtype="bool"))
        if dim.multiple_of > 1:
            rest = self.of("Mod", size, dim.multiple_of)
            good = self.of("And", good, self.of("Equal", rest, 0, dtype="bool"))
        zero = self.constant([0], "int64")
        at = self.node("Where", [good, zero, self.constant([1 << 40], "int64")], "int64")
        return self.node("Gather", [size, at], "int64", axis=0, name=f"a size is not of {dim!r}")

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
            raise Refused(
                "it writes to tensors, which ONNX programs do not keep: return them, and call "
                "eval() of a module that keeps averages"
            )
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
            return self.stopped(read, path.origin, self.inside().path(first, values))
        inner = self.inside()
        out = [inner.node("Identity", [v], v.dtype) for v in inner.path(first, values)]
        graphs = {"then_branch": inner.proto("then", [], out, [])}
        inner = self.inside()
        if rest:
            others = replace(path, calls=[], cases=dict(rest))
            other = inner.branches(others, values, seen)
        else:
            other = inner.stopped(read, path.origin, out)
        other = [inner.node("Identity", [v], v.dtype) for v in other]
        _require_one_dtype(out, other, path.origin, "in one branch", "in another")
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
        self.doing = f"{call.name or 'a loop'} ({call.origin})" if call.origin else call.name
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
        if write is None:
            raise Refused(
                f"{call.name} ({call.origin}) has no operator in ONNX that is known here: "
                "fz.export writes it into a .frz file, which C++, C and Python run"
            )
        if call.name in _ROUNDED_ONCE and x[0].dtype in ("float16", "bfloat16"):
            y = write([self.cast(v, "float32") for v in x], call.attrs)
            return [self.cast(y, x[0].dtype) if y.dtype == "float32" else y]
        made = write(x, call.attrs)
        return made if isinstance(made, list) else [made]

    def iteration(self, call: Any, x: list[Value]) -> tuple[Graph, list[Value], list[Value]]:
        """The graph of a loop's body, the values that are given to it, and its results."""
        inner = self.inside()
        own = [Value(self.fresh("state"), v.dtype) for v in x[: call.states]]
        count, go = Value(self.fresh("i"), "int64"), Value(self.fresh("go"), "bool")
        given = {("p", i): v for i, v in enumerate([*own, *x[call.states :]])}
        out = [inner.node("Identity", [v], v.dtype) for v in inner.path(call.body, given)]
        states = out[: call.states]
        _require_one_dtype(own, states, call.origin, "before an iteration of a loop", "behind it")
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

    # Movement

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
        """At positions in several axes, in row-major order: as one, in the middle of three."""
        axis, add, axes = (int(a) for a in attrs)
        dtype = x[0].dtype
        whole = self.node("Shape", [x[0]], "int64")
        parts = [self._count(x[0], 0, axis), self._count(x[0], axis, axis + axes),
                 self._count(x[0], axis + axes, None)]  # fmt: skip
        at = self.node("Reshape", [x[1], self.constant([-1, 1], "int64")], x[1].dtype)
        many = self.node("Shape", [at], "int64", end=1)
        three = self.node("Concat", list(parts), "int64", axis=0)
        base = self.node("Reshape", [x[0], three], dtype, allowzero=1)
        three = self.node("Concat", [parts[0], many, parts[2]], "int64", axis=0)
        new = self.node("Reshape", [x[2], three], dtype, allowzero=1)
        if axis:
            base, new = (self.node("Transpose", [v], dtype, perm=[1, 0, 2]) for v in (base, new))
        else:
            first = self.constant([0], "int64")
            base, new = (self.node("Squeeze", [v, first], dtype) for v in (base, new))
        how = {"reduction": "add"} if add else {}
        y = self.node("ScatterND", [base, self.cast(at, "int64"), new], dtype, **how)
        y = self.node("Transpose", [y], dtype, perm=[1, 0, 2]) if axis else y
        return self.node("Reshape", [y, whole], dtype, allowzero=1)

    def _of_three(self, x: Value, start: int) -> Value:
        """Its axes before one as the first; with two behind these."""
        shape = [self._count(x, 0, start), self.node("Shape", [x], "int64", start=start)]
        three = self.node("Concat", list(shape), "int64", axis=0)
        return self.node("Reshape", [x, three], x.dtype, allowzero=1)

    def _count(self, x: Value, start: int, end: int | None) -> Value:
        """How many elements some axes have, as int64[1]."""
        if start == end:
            return self.constant([1], "int64")
        ends = {} if end is None else {"end": end}
        shape = self.node("Shape", [x], "int64", start=start, **ends)
        return self.node("ReduceProd", [shape], "int64", keepdims=1)

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
        if dtype not in ("float32", "float16", "bfloat16"):
            return self._windows(x, a)
        image = self.node("Transpose", [x[0]], dtype, perm=[0, 3, 1, 2])
        weights = self.node("Transpose", [x[1]], dtype, perm=[3, 2, 0, 1])
        y = self.node("Conv", [image, weights], dtype, strides=a[:2],
                      pads=[a[2], a[4], a[3], a[5]], dilations=a[6:8])  # fmt: skip
        return self.node("Transpose", [y], dtype, perm=[0, 2, 3, 1])

    def _windows(self, x: list[Value], a: list[int]) -> Value:
        """conv2d of a dtype that Conv has no kernel for: windows, gathered, times the weights."""
        image, weights = x
        dtype = image.dtype
        widths = self.constant([0, a[2], a[4], 0, 0, a[3], a[5], 0], "int64")
        y = self.of("Pad", image, widths, self.constant(0, dtype))
        for axis, kernel, stride, dilation in ((1, 0, a[0], a[6]), (3, 1, a[1], a[7])):
            size = self.of("Squeeze", self._count(y, axis, axis + 1))
            extent = self.of("Squeeze", self._count(weights, kernel, kernel + 1))
            zero, one = self.constant(0, "int64"), self.constant(1, "int64")
            last = self.of("Mul", self.of("Sub", extent, 1), dilation)
            starts = self.of("Range", zero, self.of("Sub", size, last), self.of("Mul", one, stride))
            inside = self.of("Mul", self.of("Range", zero, extent, one), dilation)
            at = self.of("Add", self.of("Unsqueeze", starts, self.constant([1], "int64")), inside)
            y = self.of("Gather", y, at, axis=axis)
        y = self.of("Transpose", y, perm=[0, 1, 3, 2, 4, 5])  # n, oh, ow, kh, kw, c
        inner, outer = self._count(weights, 0, 3), self._count(weights, 3, 4)
        shape = self.of("Concat", self.of("Shape", y, dtype="int64", end=3), inner, axis=0)
        y = self.of("Reshape", y, shape, allowzero=1)
        flat = self.of("Concat", inner, outer, axis=0)
        return self.of("MatMul", y, self.of("Reshape", weights, flat, allowzero=1))

    def _attend(self, x: list[Value], attrs: Any) -> Value:
        """Attention as the library's call has it: results and the rows' logsumexp, flat."""
        q, k, v = (self._of_three(y, -2) for y in x)
        scores = self.of("MatMul", q, self.of("Transpose", k, perm=[0, 2, 1]))
        if int(attrs[0]):  # the last row sees all keys
            shape = self.node("Shape", [scores], "int64")
            ones = self.node("Expand", [self.constant(1, "int32"), shape], "int32")
            counts = [self.node("Shape", [v], "int64", start=-2, end=-1) for v in (k, q)]
            more = self.node("Squeeze", [self.node("Sub", list(counts), "int64")], "int64")
            lower = self.cast(self.node("Trilu", [ones, more], "int32", upper=0), "bool")
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

    def _positions(self, x: list[Value], attrs: Any) -> Value:
        """As many as the example has: others have taken another branch where these are counted."""
        if int(attrs[1]):
            return self.node("NonZero", [x[0]], "int64")
        flat = self.node("Reshape", [x[0], self.constant([-1], "int64")], "bool")
        places = self.node("NonZero", [flat], "int64")
        return self.node("Squeeze", [places, self.constant([0], "int64")], "int64")

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

    def _silu(self, x: list[Value], attrs: Any) -> Value:
        gate = self.node("Sigmoid", [x[0]], x[0].dtype)
        return self.node("Mul", [x[0], gate], x[0].dtype)

    def _gelu(self, x: list[Value], attrs: Any) -> Value:
        tanh = int(attrs[0]) != 0
        if self.opset >= 20 and x[0].dtype != "float64":
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
            gate = self._erf([times(a, 0.7071067811865476)], [])
        gate = self.node("Add", [gate, self.constant(1, dtype)], dtype)
        return times(times(a, gate), 0.5)

    def _layer_norm(self, x: list[Value], attrs: Any) -> Value:
        flags, dtype = int(attrs[0]), x[0].dtype
        eps = float(self.initializers[x[1].name])
        if dtype == "float64":  # the operator has an eps of float32
            last = self.constant([-1], "int64")
            far = self.of("Sub", x[0], self.of("ReduceMean", x[0], last, keepdims=1))
            square = self.of("ReduceMean", self.of("Mul", far, far), last, keepdims=1)
            y = self.of("Div", far, self.of("Sqrt", self.of("Add", square, eps)))
            y = self.of("Mul", y, x[2]) if flags & 1 else y
            return self.of("Add", y, x[-1]) if flags & 2 else y
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
