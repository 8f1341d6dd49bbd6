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

    def _dft(self: Any, x: Value, axis: int, forward: bool, one_sided: bool) -> Value:
        """Of (..., n, 1 or 2) along an axis, inverses by 1/n."""
        if PARTS.get(x.dtype, x.dtype) == "float64":
            return self._dft_by_matrix(x, axis, forward)
        options = {"inverse": int(not forward), "onesided": int(one_sided)}
        dtype = x.dtype if x.dtype in PARTS else {v: k for k, v in PARTS.items()}[x.dtype]
        if self.opset >= 20:
            at = self.constant(axis, "int64")
            return self.node("DFT", [x, None, at], dtype, **options)
        return self.node("DFT", [x], dtype, axis=axis, **options)

    def _dft_by_matrix(self: Any, x: Value, axis: int, forward: bool) -> Value:
        """Of float64: unless n is a power of 2, onnxruntime has no more than float32's accuracy.

        The angle of row j and column k is that of (j k) mod n.
        """
        n = self.of("Squeeze", self._extent(x, axis))
        part = self.cast(n, "float64")
        each = self.of("Range", self.constant(0, "int64"), n, self.constant(1, "int64"))
        down = self.of("Unsqueeze", each, self.constant([1], "int64"))
        turns = self.of("Mod", self.of("Mul", down, each), self._divisor(n))
        turns = self.of("Div", self.cast(turns, "float64"), part)
        angles = self.of("Mul", turns, (-2 if forward else 2) * np.pi)
        cos, sin = self.of("Cos", angles), self.of("Sin", angles)
        real = [self._part_of(x, i) for i in (0, 1)]
        # Axes of x before the one that is transformed, it, and those behind.
        sizes = [self._count(real[0], 0, axis), self._count(real[0], axis, axis + 1),
                 self._count(real[0], axis + 1, None)]  # fmt: skip
        three = self.of("Concat", *sizes, axis=0)
        shape = self.of("Shape", real[0], dtype="int64")
        a, b = (self.of("Reshape", v, three, allowzero=1) for v in real)
        y = [self.of("Sub", self.of("MatMul", cos, a), self.of("MatMul", sin, b)),
             self.of("Add", self.of("MatMul", cos, b), self.of("MatMul", sin, a))]  # fmt: skip
        if not forward:
            y = [self.of("Div", v, part) for v in y]
        y = [self.of("Reshape", v, shape, allowzero=1) for v in y]
        return self._complex(y, [])

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
            y = self._scaled(self._dft(y, axis, forward, False), n, forward, int(attrs[2]))
        return y

    def _fft_r2c(self: Any, x: list[Value], attrs: Any) -> Value:
        (axis,), forward = self._axes(attrs[0]), bool(int(attrs[1]))
        n = self._extent(x[0], axis)
        y = self._dft(self.node("Unsqueeze", [x[0], self.constant([-1], "int64")], x[0].dtype),
                      axis, True, False)  # fmt: skip
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
        y = self._dft(whole, axis, forward, False)
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
