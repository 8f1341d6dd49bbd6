"""What ONNX has no dtype or no state for: complex numbers, as a last axis of two; Fourier
transforms of these; random bits, from uniform numbers. For _writing.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from frazil._export_program import Refused

if TYPE_CHECKING:
    from frazil.onnx._writing import Value

PARTS = {"complex64": "float32", "complex128": "float64"}
_NONE, _WHOLE, _ROOT = range(3)  # core/op.h: FourierNorm
_WAYS = "compute with real and imaginary parts, which the model can take and return"


def laid_out(array: Any) -> Any:
    """A complex array as one of its parts."""
    part = np.float32 if array.dtype == np.complex64 else np.float64
    return np.ascontiguousarray(array).reshape(-1).view(part).reshape(*array.shape, 2)


class Spectra:
    """The part of Graph, whose methods these call, that writes them; x are operands, attrs
    attributes of ops.
    """

    def on_complex(self: Any, call: Any, x: list[Value]) -> list[Value]:
        """A call that takes or gives complex numbers."""
        attrs, name = list(call.attrs), call.name
        if name in ("real", "imag", "complex") or name.startswith("fft_"):
            return [getattr(self, f"_{name}")(x, attrs)]
        if name == "astype" and x[0].dtype not in PARTS:
            target = self.dtype_of(int(attrs[0]))
            part = self.cast(x[0], PARTS[target])
            return [self._complex([part, self.constant(0, part.dtype)], [])]
        if name in ("reshape", "broadcast_to"):
            shape = self.shape([*attrs, 2])
            if name == "broadcast_to":
                return [self.node("Expand", [x[0], shape], x[0].dtype)]
            return [self.node("Reshape", [x[0], shape], x[0].dtype, allowzero=1)]
        if name == "permute_dims":
            attrs.append(len(attrs))
        elif name == "where":
            last = self.constant([-1], "int64")
            asked = self.node("Unsqueeze", [x[0], last], "bool")
            return [self.node("Where", [asked, *x[1:]], x[1].dtype)]
        elif name not in ("slice", "concat", "copy", "take"):
            raise Refused(f"{name} of complex numbers ({call.origin}) is not written: {_WAYS}")
        return [getattr(self, f"_{name}", self._copied)(x, attrs)]

    def _copied(self: Any, x: list[Value], attrs: Any) -> Value:
        return self.node("Identity", [x[0]], x[0].dtype)

    def _part(self: Any, x: Value, which: int) -> Value:
        if x.dtype not in PARTS:  # a real one
            shape = self.node("Shape", [x], "int64")
            zero = self.constant(0, x.dtype)
            return x if which == 0 else self.node("Expand", [zero, shape], x.dtype)
        at = self.constant(which, "int64")
        return self.node("Gather", [x, at], PARTS[x.dtype], axis=-1)

    def _real(self: Any, x: list[Value], attrs: Any) -> Value:
        return self._part(x[0], 0)

    def _imag(self: Any, x: list[Value], attrs: Any) -> Value:
        return self._part(x[0], 1)

    def _complex(self: Any, x: list[Value], attrs: Any) -> Value:
        whole = next(n for n, part in PARTS.items() if part == x[0].dtype)
        shape = self.node("Shape", [self.node("Add", list(x), x[0].dtype)], "int64")
        last = self.constant([-1], "int64")
        parts = [self.node("Expand", [part, shape], part.dtype) for part in x]
        parts = [self.node("Unsqueeze", [part, last], part.dtype) for part in parts]
        return self.node("Concat", list(parts), whole, axis=-1)

    # Fourier transforms

    def _dft(self: Any, x: Value, axis: int, forward: bool) -> Value:
        """Of (..., n, ..., 1 or 2) along an axis, inverses by 1/n.

        Where n is no power of 2, onnxruntime's DFT has errors up to 0.001: such a one is written as
        a convolution by transforms that are (Bluestein).
        """
        dtype = x.dtype if x.dtype in PARTS else {v: k for k, v in PARTS.items()}[x.dtype]
        n = self.of("Squeeze", self._extent(x, axis))
        long = self.of("Less", self.constant(0, "int64"),
                       self.of("BitwiseAnd", n, self.of("Sub", n, 1)), dtype="bool")  # fmt: skip
        inner = self.inside()
        whole = [inner._convolved(x, n, axis, forward)]
        graphs = {"then_branch": inner.proto("then", [], whole, [])}
        inner = self.inside()
        short = [inner._dft_of_two(x, axis, forward, dtype)]
        graphs["else_branch"] = inner.proto("else", [], short, [])
        return self.nodes_of("If", [self._unfolded(long, x)], (dtype,), **graphs)[0]

    def _unfolded(self: Any, asked: Value, x: Value) -> Value:
        """What is asked, and what is always true of x's first element: onnxruntime takes an If
        apart whose condition is known, and crashes where it stands in others."""
        first = self.of("Reshape", x, self.constant([-1], "int64"))
        ends = [self.constant([n], "int64") for n in (0, 1)]
        first = self.cast(self.of("Slice", first, *ends), "bool")
        some = self.of("ReduceSum", self.cast(first, "int32"), keepdims=0)
        return self.of("And", asked, self.of("GreaterOrEqual", some, 0, dtype="bool"))

    def _dft_of_two(self: Any, x: Value, axis: int, forward: bool, dtype: str) -> Value:
        """By the operator, which is for powers of 2."""
        options = {"inverse": int(not forward), "onesided": 0}
        if self.opset >= 20:
            at = self.constant(axis, "int64")
            return self.node("DFT", [x, None, at], dtype, **options)
        return self.node("DFT", [x], dtype, axis=axis, **options)

    def _convolved(self: Any, x: Value, n: Value, axis: int, forward: bool) -> Value:
        """With w_k = exp(-i pi k^2 / n): w_k times the convolution of x_k w_k and 1 / w_k."""
        part = PARTS.get(x.dtype, x.dtype)
        dtype = next(k for k, v in PARTS.items() if v == part)
        parts = [self._part_of(x, i) for i in (0, 1)]
        shape = self.of("Shape", parts[0], dtype="int64")
        sizes = [self._count(parts[0], 0, axis), self._count(parts[0], axis, axis + 1),
                 self._count(parts[0], axis + 1, None)]  # fmt: skip
        three = self.of("Concat", *sizes, axis=0)
        x_k = [self.of("Reshape", v, three, allowzero=1) for v in parts]
        zero, one = self.constant(0, "int64"), self.constant(1, "int64")
        twice = self.cast(self.of("Sub", self.of("Mul", n, 2), 1), "float64")
        bits = self.of("Ceil", self.of("Sub", self._log_to(twice, 2.0), 1e-9))
        m = self.cast(self.of("Round", self.of("Pow", self.constant(2, "float64"), bits)), "int64")
        row = self.constant([1, -1, 1], "int64")

        def turns(k: Value, sign: int) -> list[Value]:
            """cos and sin of sign pi k^2 / n."""
            rest = self.cast(self.of("Mod", self.of("Mul", k, k), self.of("Mul", n, 2)), "float64")
            angle = self.of("Mul", self.of("Div", rest, self.cast(n, "float64")), sign * np.pi)
            both = [self.cast(self.of(f, angle), part) for f in ("Cos", "Sin")]
            return [self.of("Reshape", v, row) for v in both]

        w = turns(self.of("Range", zero, n, one), -1 if forward else 1)
        j = self.of("Range", zero, m, one)
        k = self.of("Min", j, self.of("Sub", m, j))
        inside = self.of("Reshape", self.of("Less", k, n, dtype="bool"), row)
        by = [self.if_(inside, v, 0) for v in turns(k, 1 if forward else -1)]
        less = self.of("Unsqueeze", self.of("Sub", m, n), self.constant([0], "int64"))
        widths = self.of("Concat", self.constant([0] * 4, "int64"), less,
                         self.constant([0], "int64"), axis=0)  # fmt: skip
        padded = [self.of("Pad", v, widths, self.constant(0, part)) for v in self._product(x_k, w)]
        spectra = [self._dft_of_two(self._complex(v, []), 1, True, dtype) for v in (padded, by)]
        y = self._product(*([self._part(s, i) for i in (0, 1)] for s in spectra))
        y = self._dft_of_two(self._complex(y, []), 1, False, dtype)
        ends = [self.constant([0], "int64"), sizes[1], self.constant([1], "int64")]
        found = self._product([self.of("Slice", self._part(y, i), *ends) for i in (0, 1)], w)
        if not forward:
            found = [self.of("Div", v, self.cast(n, part)) for v in found]
        return self._complex([self.of("Reshape", v, shape, allowzero=1) for v in found], [])

    def _product(self: Any, x: list[Value], y: list[Value]) -> list[Value]:
        """Of complex numbers, by their parts."""
        return [self.of("Sub", self.of("Mul", x[0], y[0]), self.of("Mul", x[1], y[1])),
                self.of("Add", self.of("Mul", x[0], y[1]), self.of("Mul", x[1], y[0]))]  # fmt: skip

    def _part_of(self: Any, x: Value, which: int) -> Value:
        """A part of (..., 1 or 2) numbers."""
        if x.dtype in PARTS:
            return self._part(x, which)
        x = self.of("Squeeze", x, self.constant([-1], "int64"))
        return x if which == 0 else self.of("Mul", x, 0)

    def _scaled(self: Any, y: Value, n: Value, forward: bool, norm: int) -> Value:
        """By what the norm asks for besides what DFT does. n is int64[1]."""
        part = PARTS.get(y.dtype, y.dtype)
        by = self.cast(n, part)
        if norm == _ROOT:
            by = self.node("Sqrt", [by], part)
        if forward and norm != _NONE:
            return self.node("Div", [y, by], y.dtype)
        return self.node("Mul", [y, by], y.dtype) if not forward and norm != _WHOLE else y

    def _extent(self: Any, x: Value, axis: int) -> Value:
        shape = self.node("Shape", [x], "int64")
        return self.node("Gather", [shape, self.constant([axis], "int64")], "int64", axis=0)

    def _fft_c2c(self: Any, x: list[Value], attrs: Any) -> Value:
        y, forward = x[0], bool(int(attrs[1]))
        for axis in self._axes(attrs[0]):
            n = self._extent(y, axis)
            y = self._scaled(self._dft(y, axis, forward), n, forward, int(attrs[2]))
        return y

    def _fft_r2c(self: Any, x: list[Value], attrs: Any) -> Value:
        (axis,), forward = self._axes(attrs[0]), bool(int(attrs[1]))
        n = self._extent(x[0], axis)
        y = self._dft(self.node("Unsqueeze", [x[0], self.constant([-1], "int64")], x[0].dtype),
                      axis, True)  # fmt: skip
        if not forward:  # of a real signal the conjugate
            y = self._conjugate(y)
        count = self.size(attrs[3])
        ends = [self.constant([0], "int64"), count, self.constant([axis], "int64")]
        y = self.node("Slice", [y, *ends], y.dtype)
        norm = int(attrs[2])
        return self._scaled(y, n, True, norm)

    def _fft_c2r(self: Any, x: list[Value], attrs: Any) -> Value:
        """Of half a spectrum: the other half is its conjugate, backwards."""
        (axis,), forward = self._axes(attrs[0]), bool(int(attrs[1]))
        half, n = x[0], self.size(attrs[3])
        two = self.constant([2], "int64")
        at = self.constant([axis], "int64")
        count = self.node("Add", [self.node("Div", [n, two], "int64"),
                                  self.constant([1], "int64")], "int64")  # fmt: skip
        half = self.node("Slice", [half, self.constant([0], "int64"), count, at], half.dtype)
        rest = self.node("Sub", [n, count], "int64")
        # From the rest-th down to the first.
        ends = [rest, self.constant([0], "int64"), at, self.constant([-1], "int64")]
        other = self._conjugate(self.node("Slice", [half, *ends], half.dtype))
        whole = self.node("Concat", [half, other], half.dtype, axis=axis)
        y = self._dft(whole, axis, forward)
        return self._part(self._scaled(y, n, forward, int(attrs[2])), 0)

    def _conjugate(self: Any, x: Value) -> Value:
        sign = self.constant([1, -1], PARTS[x.dtype])
        return self.node("Mul", [x, sign], x.dtype)

    # Random numbers

    def _random_bits(self: Any, x: list[Value], attrs: Any) -> Value:
        """All 32 bits at random, from two uniform numbers: the session keeps the state."""
        whole = [self.number_of_extent(e) for e in attrs]
        halves = []
        for _ in range(2):
            if None not in whole:
                u = self.node("RandomUniform", [], "float32", shape=whole)
            else:
                like = self.node("ConstantOfShape", [self.shape(list(attrs))], "float32")
                u = self.node("RandomUniformLike", [like], "float32")
            scaled = self.node("Mul", [u, self.constant(65536, "float32")], "float32")
            halves.append(self.cast(self.node("Floor", [scaled], "float32"), "uint32"))
        high = self.node("Mul", [halves[0], self.constant(65536, "uint32")], "uint32")
        return self.node("Add", [high, halves[1]], "uint32")
