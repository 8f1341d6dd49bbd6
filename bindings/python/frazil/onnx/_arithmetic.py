"""Operators that ONNX or onnxruntime has not, or computes otherwise at the edges (NaN, zeros as
divisors, numbers that are out of range, long integers), of several nodes. For _writing.py.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from frazil.onnx._writing import Value

__all__ = ["FLOATS", "Arithmetic"]

FLOATS = ("float16", "bfloat16", "float32", "float64")
_LONG = ("int64", "uint64")
_WIDE = 2**32


def _erf_coefficients() -> list[list[float]]:
    """By degree: those of erf(n / 8 + h) in powers of h, n from 0 to 48.

    The derivatives of erf are those of exp(-x^2), which are Hermite's polynomials times it.
    """
    rows: list[list[float]] = [[] for _ in range(16)]
    for n in range(49):
        x = n / 8
        scale = 2 / math.sqrt(math.pi) * math.exp(-x * x)
        before, hermite = 0.0, 1.0
        rows[0].append(math.erf(x))
        for k in range(1, len(rows)):
            rows[k].append(scale * hermite * (-1) ** (k - 1) / math.factorial(k))
            before, hermite = hermite, 2 * x * hermite - 2 * (k - 1) * before
    return rows


class Arithmetic:
    """The part of Graph, whose methods these call, that writes them; x are operands, attrs
    attributes of ops.
    """

    def of(self: Any, op: str, *inputs: Any, dtype: str = "", **attributes: Any) -> Value:
        """A node of values and numbers; its result has the dtype of the first if none is given."""
        like = next(v.dtype for v in inputs if hasattr(v, "name"))
        given = [v if hasattr(v, "name") else self.constant(v, like) for v in inputs]
        return self.node(op, given, dtype or like, **attributes)

    def if_(self: Any, asked: Value, yes: Any, no: Any) -> Value:
        """Elements of one or the other, values or numbers."""
        like = (yes if hasattr(yes, "name") else no).dtype
        given = [v if hasattr(v, "name") else self.constant(v, like) for v in (yes, no)]
        return self.node("Where", [asked, *given], like)

    # What is asked of numbers

    def _not_equal(self: Any, x: list[Value], attrs: Any) -> Value:
        return self.of("Not", self.of("Equal", *x, dtype="bool"))

    def _isnan(self: Any, x: list[Value], attrs: Any) -> Value:
        return self.of("IsNaN", x[0], dtype="bool")

    def _isinf(self: Any, x: list[Value], attrs: Any) -> Value:
        return self.of("IsInf", x[0], dtype="bool")

    def _isfinite(self: Any, x: list[Value], attrs: Any) -> Value:
        both = self.of("Or", self._isnan(x, attrs), self._isinf(x, attrs))
        return self.of("Not", both)

    def _signbit(self: Any, x: list[Value], attrs: Any) -> Value:
        """Of -0.0, too: its reciprocal is below 0."""
        if x[0].dtype == "bool":
            return self.of("And", x[0], self.constant(False, "bool"))
        below = self.of("Less", x[0], 0, dtype="bool")
        if x[0].dtype not in FLOATS:
            return below
        at_zero = self.of("Equal", x[0], 0, dtype="bool")
        negative = self.of("Less", self.of("Reciprocal", x[0]), 0, dtype="bool")
        return self.of("Or", below, self.of("And", at_zero, negative))

    # Functions

    def _abs(self: Any, x: list[Value], attrs: Any) -> Value:
        return self.of("Identity" if x[0].dtype == "bool" else "Abs", x[0])

    def _expm1(self: Any, x: list[Value], attrs: Any) -> Value:
        """tanh(x / 2) (exp(x) + 1), which keeps what is small."""
        half = self.of("Tanh", self.of("Mul", x[0], 0.5))
        return self.of("Mul", half, self.of("Add", self.of("Exp", x[0]), 1))

    def _log1p(self: Any, x: list[Value], attrs: Any) -> Value:
        """log(u) x / (u - 1) of u = 1 + x, whose rounding is in both."""
        u = self.of("Add", x[0], 1)
        less = self.of("Sub", u, 1)
        ends = [self.of("Equal", v, n, dtype="bool") for v, n in ((less, 0), (u, np.inf))]
        far = self.of("Or", *ends)
        by = self.of("Div", x[0], self.if_(far, 1, less))
        return self.if_(far, x[0], self.of("Mul", self.of("Log", u), by))

    def _log_to(self: Any, x: Value, base: float) -> Value:
        return self.of("Div", self.of("Log", x), np.log(base))

    def _log2(self: Any, x: list[Value], attrs: Any) -> Value:
        return self._log_to(x[0], 2.0)

    def _log10(self: Any, x: list[Value], attrs: Any) -> Value:
        return self._log_to(x[0], 10.0)

    def _rsqrt(self: Any, x: list[Value], attrs: Any) -> Value:
        return self.of("Reciprocal", self.of("Sqrt", x[0]))

    def _trunc(self: Any, x: list[Value], attrs: Any) -> Value:
        size = self.of("Floor", self.of("Abs", x[0]))
        return self.if_(self._signbit(x, attrs), self.of("Neg", size), size)

    # Of float64, where onnxruntime has no kernels

    def _tan(self: Any, x: list[Value], attrs: Any) -> Value:
        if x[0].dtype != "float64":
            return self.of("Tan", x[0])
        return self.of("Div", self.of("Sin", x[0]), self.of("Cos", x[0]))

    def _signed(self: Any, x: Value, size: Value) -> Value:
        return self.if_(self._signbit([x], []), self.of("Neg", size), size)

    def _sinh(self: Any, x: list[Value], attrs: Any) -> Value:
        """(e + e / (e + 1)) / 2 of e = expm1(|x|)."""
        if x[0].dtype != "float64":
            return self.of("Sinh", x[0])
        e = self._expm1([self.of("Abs", x[0])], attrs)
        end = self.if_(self._isinf([e], attrs), 1, self.of("Div", e, self.of("Add", e, 1)))
        return self._signed(x[0], self.of("Mul", self.of("Add", e, end), 0.5))

    def _cosh(self: Any, x: list[Value], attrs: Any) -> Value:
        if x[0].dtype != "float64":
            return self.of("Cosh", x[0])
        e = self.of("Exp", self.of("Abs", x[0]))
        return self.of("Mul", self.of("Add", e, self.of("Reciprocal", e)), 0.5)

    def _asinh(self: Any, x: list[Value], attrs: Any) -> Value:
        """log1p(a + a^2 / (1 + sqrt(1 + a^2))) of a = |x|; of large ones log(a) + log(2)."""
        if x[0].dtype != "float64":
            return self.of("Asinh", x[0])
        a = self.of("Abs", x[0])
        far = self.of("Greater", a, 1e8, dtype="bool")
        near = self.if_(far, 1, a)
        square = self.of("Mul", near, near)
        root = self.of("Add", self.of("Sqrt", self.of("Add", square, 1)), 1)
        y = self._log1p([self.of("Add", near, self.of("Div", square, root))], attrs)
        large = self.of("Add", self.of("Log", a), np.log(2.0))
        return self._signed(x[0], self.if_(far, large, y))

    def _acosh(self: Any, x: list[Value], attrs: Any) -> Value:
        """log1p(t + sqrt(2 t + t^2)) of t = x - 1; of large ones log(x) + log(2)."""
        if x[0].dtype != "float64":
            return self.of("Acosh", x[0])
        far = self.of("Greater", x[0], 1e8, dtype="bool")
        t = self.of("Sub", self.if_(far, 1, x[0]), 1)
        root = self.of("Sqrt", self.of("Mul", t, self.of("Add", t, 2)))
        y = self._log1p([self.of("Add", t, root)], attrs)
        return self.if_(far, self.of("Add", self.of("Log", x[0]), np.log(2.0)), y)

    def _atanh(self: Any, x: list[Value], attrs: Any) -> Value:
        """log1p(2 x / (1 - x)) / 2."""
        if x[0].dtype != "float64":
            return self.of("Atanh", x[0])
        a = self.of("Abs", x[0])
        by = self.of("Div", self.of("Mul", a, 2), self.of("Sub", self.constant(1, a.dtype), a))
        return self._signed(x[0], self.of("Mul", self._log1p([by], attrs), 0.5))

    def _atan(self: Any, x: list[Value], attrs: Any) -> Value:
        """That of float32, y, and the rest: the tangent of x's angle less y, which is small."""
        if x[0].dtype != "float64":
            return self.of("Atan", x[0])
        far = self._isinf(x, attrs)
        near = self.if_(far, 0, x[0])
        y = self.cast(self.of("Atan", self.cast(x[0], "float32")), "float64")
        sin, cos = self.of("Sin", y), self.of("Cos", y)
        above = self.of("Sub", self.of("Mul", near, cos), sin)
        rest = self.of("Div", above, self.of("Add", self.of("Mul", near, sin), cos))
        at_end = self._signed(x[0], self.constant(np.pi / 2, "float64"))
        return self.if_(far, at_end, self.of("Add", y, rest))

    def _asin(self: Any, x: list[Value], attrs: Any) -> Value:
        if x[0].dtype != "float64":
            return self.of("Asin", x[0])
        one = self.constant(1, "float64")
        across = self.of("Mul", self.of("Sub", one, x[0]), self.of("Add", x[0], 1))
        return self._atan([self.of("Div", x[0], self.of("Sqrt", across))], attrs)

    def _acos(self: Any, x: list[Value], attrs: Any) -> Value:
        if x[0].dtype != "float64":
            return self.of("Acos", x[0])
        one = self.constant(1, "float64")
        by = self.of("Div", self.of("Sub", one, x[0]), self.of("Add", x[0], 1))
        return self.of("Mul", self._atan([self.of("Sqrt", by)], attrs), 2)

    def _erf(self: Any, x: list[Value], attrs: Any) -> Value:
        """Of float64 its Taylor polynomial about the nearest multiple of 1/8."""
        if x[0].dtype != "float64":
            return self.of("Erf", x[0])
        a = self.of("Min", self.of("Abs", x[0]), 6)
        known = self.if_(self._isnan([a], attrs), 0, a)
        at = self.of("Round", self.of("Mul", known, 8))
        h, at = self.of("Sub", a, self.of("Mul", at, 0.125)), self.cast(at, "int64")
        y = None
        for row in _erf_coefficients()[::-1]:
            c = self.of("Gather", self.constant(row, "float64"), at, axis=0)
            y = c if y is None else self.of("Add", self.of("Mul", y, h), c)
        return self._signed(x[0], y)

    # Division, powers and shifts

    def _floor_divide(self: Any, x: list[Value], attrs: Any) -> Value:
        a, b = x
        if a.dtype in FLOATS:
            ratio = self.of("Div", a, b)
            rest = self.of("Sub", a, self._rest(a, b))
            stays = self.of("Or", self._isinf([ratio], attrs), self._isinf([b], attrs))
            return self.if_(stays, ratio, self.of("Round", self.of("Div", rest, b)))
        zero = self.of("Equal", b, 0, dtype="bool")
        by = self._divisor(b)
        q = self.of("Div", a, by)
        if not a.dtype.startswith("u"):
            over = self.of("Not", self.of("Equal", self.of("Mod", a, by), 0, dtype="bool"))
            signs = [self.of("Less", v, 0, dtype="bool") for v in (a, by)]
            less = self.cast(self.of("And", self.of("Xor", *signs), over), a.dtype)
            minus = self.of("Equal", b, -1, dtype="bool")
            q = self.if_(minus, self.of("Neg", a), self.of("Sub", q, less))
        return self.if_(zero, 0, q)

    def _divisor(self: Any, b: Value) -> Value:
        """1 in the place of 0 and -1, by which integers cannot be divided on all processors."""
        known = self.initializers.get(b.name)
        signed = not b.dtype.startswith("u")
        if known is not None and np.all(known != 0) and (not signed or np.all(known != -1)):
            return b
        bad = self.of("Equal", b, 0, dtype="bool")
        if signed:
            bad = self.of("Or", bad, self.of("Equal", b, -1, dtype="bool"))
        return self.if_(bad, 1, b)

    def _rest(self: Any, a: Value, b: Value) -> Value:
        """The remainder of floats that has the sign of b, but for that of 0."""
        rest = self.of("Mod", a, b, fmod=1)
        signs = [(self.of(x, rest, 0, dtype="bool"), self.of(y, b, 0, dtype="bool"))
                 for x, y in (("Less", "Greater"), ("Greater", "Less"))]  # fmt: skip
        other = self.of("Or", *(self.of("And", *pair) for pair in signs))
        return self.if_(other, self.of("Add", rest, b), rest)

    def _remainder(self: Any, x: list[Value], attrs: Any) -> Value:
        a, b = x
        if a.dtype not in FLOATS:
            return self.of("Mod", a, self._divisor(b))
        rest = self._rest(a, b)
        zero = self.if_(self.of("Less", b, 0, dtype="bool"), self.constant(-0.0, b.dtype), 0)
        return self.if_(self.of("Equal", rest, 0, dtype="bool"), zero, rest)

    def _pow(self: Any, x: list[Value], attrs: Any) -> Value:
        """Of integers by squaring: onnxruntime computes them in float64."""
        a, b = x
        if a.dtype in FLOATS:
            return self.of("Pow", a, b)
        known = self.initializers.get(b.name)
        made = self.of("Add", self.of("Mul", a, 0), 1)
        if known is None or known.size != 1 or int(known.reshape(())) < 0:
            return self._powers(made, a, b)
        n, square = int(known.reshape(())), a
        while n:
            made = self.of("Mul", made, square) if n & 1 else made
            n >>= 1
            square = self.of("Mul", square, square) if n else square
        return made

    def _powers(self: Any, one: Value, a: Value, b: Value) -> Value:
        """Of exponents that are read: a Loop over their bits. Those below 0 of 1 and -1 alone."""
        a, b = self.of("Add", a, self.of("Mul", b, 0)), self.of("Add", b, self.of("Mul", a, 0))
        inner = self.inside()
        states = [self.value("state", a.dtype) for _ in range(3)]
        count, go = self.value("i", "int64"), self.value("go", "bool")
        made, square, left = states
        odd = inner.of("Equal", inner.of("BitwiseAnd", left, 1), 1, dtype="bool")
        out = [inner.if_(odd, inner.of("Mul", made, square), made),
               inner.of("Mul", square, square), inner.of("Div", left, 2)]  # fmt: skip
        body = inner.proto("body", [count, go, *states], [inner.of("Identity", go), *out],
                           [count, go])  # fmt: skip
        bits = self.constant(np.iinfo(a.dtype).bits, "int64")
        given = [bits, self.constant(True, "bool"), self.of("Add", one, self.of("Mul", b, 0)), a,
                 self.of("Max", b, 0)]  # fmt: skip
        y = self.nodes_of("Loop", given, (a.dtype,) * 3, body=body)[0]
        if a.dtype.startswith("u"):
            return y
        units = [self.of("Equal", a, n, dtype="bool") for n in (1, -1)]
        odd = self.of("Equal", self.of("BitwiseAnd", b, 1), 1, dtype="bool")
        sign = self.if_(units[1], self.if_(odd, a, 1), self.cast(units[0], a.dtype))
        return self.if_(self.of("Less", b, 0, dtype="bool"), sign, y)

    def _bitwise_left_shift(self: Any, x: list[Value], attrs: Any) -> Value:
        a, b = (self._unsigned(v) for v in x)
        return self.cast(self.of("BitShift", a, b, direction="LEFT"), x[0].dtype)

    def _bitwise_right_shift(self: Any, x: list[Value], attrs: Any) -> Value:
        """Of negative numbers by their complement, which is none."""
        a, b = x
        below = None
        if not a.dtype.startswith("u"):
            below = self.of("Less", a, 0, dtype="bool")
            a = self.if_(below, self.of("BitwiseNot", a), a)
        shifted = self.of("BitShift", self._unsigned(a), self._unsigned(b), direction="RIGHT")
        shifted = self.cast(shifted, x[0].dtype)
        if below is None:
            return shifted
        return self.if_(below, self.of("BitwiseNot", shifted), shifted)

    def _unsigned(self: Any, x: Value) -> Value:
        return self.cast(x, x.dtype if x.dtype.startswith("u") else f"u{x.dtype}")

    # Casts

    def _astype(self: Any, x: list[Value], attrs: Any) -> Value:
        """From floats to integers what is too large is the largest, and NaN 0."""
        a, dtype = x[0], self.dtype_of(int(attrs[0]))
        if a.dtype not in FLOATS or "int" not in dtype:
            return self.cast(a, dtype)
        info = np.iinfo(dtype)
        a = self.cast(a, "float32") if a.dtype in ("float16", "bfloat16") else a
        if dtype not in _LONG:
            a = self.cast(a, "float64") if dtype.endswith("32") else a
            a = self.of("Min", self.of("Max", a, int(info.min)), int(info.max))
            return self.cast(self.if_(self._isnan([a], attrs), 0, a), dtype)
        above = self.of("GreaterOrEqual", a, float(info.max) + 1, dtype="bool")
        inside = self.of("And", self.of("GreaterOrEqual", a, float(info.min), dtype="bool"),
                         self.of("Not", above))  # fmt: skip
        made = self.if_(above, int(info.max), self.cast(self.if_(inside, a, 0), dtype))
        below = self.of("Less", a, float(info.min), dtype="bool")
        return self.if_(below, int(info.min), made)

    # Reductions and orders

    def _axes(self: Any, mask: Any) -> list[int]:
        return [i for i in range(64) if int(mask) >> i & 1]

    def _reduced(self: Any, op: str, x: Value, attrs: Any) -> Value:
        axes = self._axes(attrs[0])
        if not axes:
            return self.of("Identity", x)
        return self.of(op, x, self.constant(axes, "int64"), keepdims=int(attrs[1]))

    def _sum(self: Any, x: list[Value], attrs: Any) -> Value:
        """Of long integers in two halves: onnxruntime adds them up in float64."""
        a = x[0]
        if a.dtype not in _LONG or a.small:
            return self._reduced("ReduceSum", a, attrs)
        low = self.of("BitwiseAnd", a, _WIDE - 1)
        high = self.of("Div", self.of("Sub", a, low), _WIDE)
        halves = [self.cast(v, "int64") for v in (low, high)]
        low, high = (self._reduced("ReduceSum", v, attrs) for v in halves)
        return self.cast(self.of("Add", self.of("Mul", high, _WIDE), low), a.dtype)

    def _prod(self: Any, x: list[Value], attrs: Any) -> Value:
        """Of long integers one by one, for the same reason."""
        a = x[0]
        if a.dtype not in _LONG or not self._axes(attrs[0]):
            return self._reduced("ReduceProd", a, attrs)
        axes = self.constant(self._axes(attrs[0]), "int64")
        for axis in self._axes(attrs[0]):
            at = self.constant([axis], "int64")
            a = self.of("Unsqueeze", self._products(a, axis)[0], at)
        return a if int(attrs[1]) else self.of("Squeeze", a, axes)

    def _products(self: Any, x: Value, axis: int) -> list[Value]:
        """The product along an axis, and those up to each element: a Loop, unless x is empty."""
        at = self.constant([axis], "int64")
        whole = self.of("Shape", x, dtype="int64")
        less = self.of("Shape", self.of("ReduceSum", x, at, keepdims=0), dtype="int64")
        asked = self.cast(self.of("Squeeze", self._count(x, 0, None)), "bool")
        sizes = [self._count(x, 0, axis), self._count(x, axis, axis + 1),
                 self._count(x, axis + 1, None)]  # fmt: skip
        inner = self.inside()
        three = inner.of("Reshape", x, inner.of("Concat", *sizes, axis=0), allowzero=1)
        two = inner.of("Concat", sizes[0], sizes[2], axis=0)
        ones = inner.of("Expand", self.constant(1, x.dtype), two)
        body = inner.inside()
        i, go, state = (
            self.value(*v) for v in (("i", "int64"), ("go", "bool"), ("state", x.dtype))
        )
        product = body.of("Mul", state, body.of("Gather", three, i, axis=1))
        out = [body.of("Identity", go), product, body.of("Identity", product)]
        proto = body.proto("body", [i, go, state], out, [i, go])
        given = [inner.of("Squeeze", sizes[1]), self.constant(True, "bool"), ones]
        last, each = inner.nodes_of("Loop", given, (x.dtype, x.dtype), body=proto)
        each = inner.of("Transpose", each, perm=[1, 0, 2])
        found = [inner.of("Reshape", v, s, allowzero=1) for v, s in ((last, less), (each, whole))]
        graphs = {"then_branch": inner.proto("then", [], found, [])}
        inner = self.inside()
        none = [inner.of("Expand", self.constant(1, x.dtype), less), inner.of("Identity", x)]
        graphs["else_branch"] = inner.proto("else", [], none, [])
        return self.nodes_of("If", [self._unfolded(asked, x)], (x.dtype, x.dtype), **graphs)

    def _cumulative_prod(self: Any, x: list[Value], attrs: Any) -> Value:
        return self._products(x[0], int(attrs[0]))[1]

    def _cumulative_sum(self: Any, x: list[Value], attrs: Any) -> Value:
        return self.of("CumSum", x[0], self.constant(int(attrs[0]), "int64"))

    def _extreme(self: Any, op: str, x: Value, attrs: Any) -> Value:
        """NaN where there is one, which onnxruntime goes over."""
        y = self._reduced(op, x, attrs)
        if x.dtype not in FLOATS or not self._axes(attrs[0]):
            return y
        return self.if_(self._any([self._isnan([x], [])], attrs), np.nan, y)

    def _max(self: Any, x: list[Value], attrs: Any) -> Value:
        return self._extreme("ReduceMax", x[0], attrs)

    def _min(self: Any, x: list[Value], attrs: Any) -> Value:
        return self._extreme("ReduceMin", x[0], attrs)

    def _any(self: Any, x: list[Value], attrs: Any) -> Value:
        return self.cast(self._reduced("ReduceSum", self.cast(x[0], "int32"), attrs), "bool")

    def _all(self: Any, x: list[Value], attrs: Any) -> Value:
        return self.of("Not", self._any([self.of("Not", x[0])], attrs))

    def _place(self: Any, op: str, x: Value, attrs: Any) -> Value:
        """That of the first NaN, where there is one."""
        axes, keep = self._axes(attrs[0]), int(attrs[1])
        if len(axes) != 1:  # of all, which are one
            flat = self.of("Reshape", x, self.constant([-1], "int64"))
            y = self._place(op, flat, [1, 0])
            if not keep:
                return y
            shape = self.of("Shape", x, dtype="int64")
            return self.of("Reshape", y, self.of("Add", self.of("Mul", shape, 0), 1))
        y = self.of(op, x, dtype="int64", axis=axes[0], keepdims=keep)
        if x.dtype not in FLOATS:
            return y
        nan = self._isnan([x], [])
        at = self.of("ArgMax", self.cast(nan, "int32"), dtype="int64", axis=axes[0], keepdims=keep)
        return self.if_(self._any([nan], attrs), at, y)

    def _argmax(self: Any, x: list[Value], attrs: Any) -> Value:
        return self._place("ArgMax", x[0], attrs)

    def _argmin(self: Any, x: list[Value], attrs: Any) -> Value:
        return self._place("ArgMin", x[0], attrs)

    def _top(self: Any, x: Value, largest: int) -> list[Value]:
        count = self.of("Shape", x, dtype="int64", start=-1)
        options = {"axis": -1, "largest": largest, "sorted": 1}
        return self.nodes_of("TopK", [x, count], (x.dtype, "int64"), **options)

    def _sorted(self: Any, x: Value, attrs: Any) -> list[Value]:
        """NaN last: where there is one, elements are put in order by what is NaN once more."""
        largest = int(attrs[0])
        if x.dtype not in FLOATS:
            return self._top(x, largest)
        nan = self._isnan([x], [])
        flat = self.of("Reshape", self.cast(nan, "int32"), self.constant([-1], "int64"))
        asked = self.cast(self.of("ReduceSum", flat, keepdims=0), "bool")
        inner = self.inside()
        end = self.constant(-np.inf if largest else np.inf, x.dtype)
        _, at = inner._top(inner.if_(nan, end, x), largest)
        late = inner.of("GatherElements", inner.cast(nan, "int32"), at, axis=-1)
        _, order = inner._top(late, 0)
        at = inner.of("GatherElements", at, order, axis=-1)
        found = [inner.of("GatherElements", x, at, axis=-1), at]
        graphs = {"then_branch": inner.proto("then", [], found, [])}
        inner = self.inside()
        graphs["else_branch"] = inner.proto("else", [], inner._top(x, largest), [])
        return self.nodes_of("If", [asked], (x.dtype, "int64"), **graphs)

    def _sort(self: Any, x: list[Value], attrs: Any) -> Value:
        return self._sorted(x[0], attrs)[0]

    def _argsort(self: Any, x: list[Value], attrs: Any) -> Value:
        return self._sorted(x[0], attrs)[1]
