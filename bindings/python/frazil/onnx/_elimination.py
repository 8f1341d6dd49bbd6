"""Systems of equations, inverses and determinants as loops of elimination steps, which ONNX has no
operators for: rows are exchanged so that the largest element of a column is divided by. Cholesky's
factor by columns. For _writing.py.

Results lie as core/matrix_parts.h says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil._export_program import Refused

if TYPE_CHECKING:
    from frazil.onnx._writing import Value

__all__ = ["Elimination"]

_ADJOINT, _UPPER, _UNIT, _TURNED = 1, 1, 2, 4 | 8  # core/matrix_parts.h: LapackOption


class Elimination:
    """The part of Graph, whose methods these call, that writes them; x are operands, attrs
    attributes of ops. Matrices of all batches are b of n x n.
    """

    def _at(self: Any, *axes: int) -> Value:
        return self.constant(list(axes), "int64")

    def _rows_of(self: Any, a: Value) -> tuple[Value, Value]:
        """How many rows, without axes, and their numbers."""
        n = self.of("Squeeze", self._count(a, 1, 2))
        zero, one = self.constant(0, "int64"), self.constant(1, "int64")
        return n, self.of("Range", zero, n, one)

    def _eliminated(self: Any, a: Value, right: Value | None) -> tuple[Value, Value]:
        """x of a x = right, and the pivots, those of exchanged rows with the other sign: b x n."""
        dtype = a.dtype
        n, rows = self._rows_of(a)
        whole = a if right is None else self.of("Concat", a, right, axis=2)
        inner = self.inside()
        i, go, state = (self.value(*v) for v in (("i", "int64"), ("go", "bool"), ("state", dtype)))
        here = inner.of("Equal", rows, i, dtype="bool")
        size = inner.of("Abs", inner.of("Gather", state, i, axis=2))
        below = inner.if_(inner.of("Less", rows, i, dtype="bool"), -1, size)
        best = inner.of("ArgMax", below, dtype="int64", axis=1, keepdims=1)
        there = inner.of("Equal", rows, best, dtype="bool")
        order = inner.if_(here, best, inner.if_(there, i, rows))
        order = inner.of("Unsqueeze", order, inner._at(2))
        order = inner.of("Expand", order, inner.of("Shape", state, dtype="int64"))
        moved = inner.of("GatherElements", state, order, axis=1)
        row = inner.of("Gather", moved, i, axis=1)
        pivot = inner.of("Gather", row, i, axis=1)
        row = inner.of("Div", row, inner.of("Unsqueeze", pivot, inner._at(1)))
        row = inner.of("Unsqueeze", row, inner._at(1))
        column = inner.of("Unsqueeze", inner.of("Gather", moved, i, axis=2), inner._at(2))
        less = inner.of("Sub", moved, inner.of("Mul", column, row))
        left = inner.if_(inner.of("Unsqueeze", here, inner._at(1)), row, less)
        stays = inner.of("Equal", inner.of("Squeeze", best, inner._at(1)), i, dtype="bool")
        out = [inner.of("Identity", go), left, inner.if_(stays, pivot, inner.of("Neg", pivot))]
        body = inner.proto("body", [i, go, state], out, [i, go])
        true = self.constant(True, "bool")
        left, pivots = self.nodes_of("Loop", [n, true, whole], (dtype, dtype), body=body)
        if right is not None:
            far = self.constant([2**62], "int64")
            left = self.of("Slice", left, self._count(a, 2, 3), far, self._at(2))
        return left, self.of("Transpose", pivots, perm=[1, 0])

    def _solved(self: Any, a: Value, right: Value, why: str) -> Value:
        """The x, or an error at a node whose name tells why there is none."""
        return self._finite(self._eliminated(a, right)[0], why)

    def _finite(self: Any, x: Value, why: str) -> Value:
        bad = self.cast(self.of("Not", self._isfinite([x], [])), "int32")
        some = self.cast(self.of("ReduceSum", bad, keepdims=0), "bool")
        far = self.of("Mul", self.cast(some, "int64"), 1 << 40)
        none = self.of("Gather", self._at(0), far, axis=0, name=f"{why}: {self.doing}")
        return self.of("Add", x, self.cast(none, x.dtype))

    def _packed(self: Any, given: Value, parts: list[Value]) -> Value:
        """b x size, with the batch axes that were given."""
        y = self.of("Concat", *parts, axis=1)
        batch = self.of("Shape", given, dtype="int64", end=-2)
        return self.of("Reshape", y, self.of("Concat", batch, self._at(-1), axis=0))

    def _flat(self: Any, y: Value) -> Value:
        """b x n x m as b x n m, and an outcome, which is 0."""
        shape = self.of("Concat", self._count(y, 0, 1), self._count(y, 1, None), axis=0)
        none = self.of("Concat", self._count(y, 0, 1), self._at(1), axis=0)
        zero = self.of("Expand", self.constant(0, y.dtype), none)
        return self.of("Concat", self.of("Reshape", y, shape, allowzero=1), zero, axis=1)

    def _identity(self: Any, a: Value) -> Value:
        n, rows = self._rows_of(a)
        same = self.of("Equal", rows, self.of("Unsqueeze", rows, self._at(1)), dtype="bool")
        shape = self.of("Shape", a, dtype="int64")
        return self.of("Expand", self.cast(same, a.dtype), shape)

    def _inverse(self: Any, x: list[Value], attrs: Any) -> Value:
        a = self._of_three(x[0], -2)
        y = self._solved(a, self._identity(a), "a matrix is singular")
        return self._packed(x[0], [self._flat(y)])

    def _lu_factor(self: Any, x: list[Value], attrs: Any) -> Value:
        """Nobody looks into it but lu_solve, which has the matrix, too."""
        if int(attrs[0]):
            raise Refused(f"{self.doing} of nearly singular matrices is not written")
        a = self._of_three(x[0], -2)
        more = self.of("Mul", self.of("Slice", a, self._at(0), self._at(1), self._at(1)), 0)
        row = self.of("Reshape", more, self.of("Concat", self._count(a, 0, 1), self._count(a, 2, 3),
                                               axis=0), allowzero=1)  # fmt: skip
        zero = self.of("Expand", self.constant(0, a.dtype),
                       self.of("Concat", self._count(a, 0, 1), self._at(1), axis=0))  # fmt: skip
        return self._packed(x[0], [self._flat(a), row, zero])

    def _lu_solve(self: Any, x: list[Value], attrs: Any) -> Value:
        a, right = (self._of_three(v, -2) for v in (x[0], x[2]))
        if int(attrs[0]) == _ADJOINT:
            a = self.of("Transpose", a, perm=[0, 2, 1])
        y = self._solved(a, right, "a matrix is singular")
        return self.of("Reshape", y, self.of("Shape", x[2], dtype="int64"), allowzero=1)

    def _triangular_solve(self: Any, x: list[Value], attrs: Any) -> Value:
        option = int(attrs[0])
        a, right = (self._of_three(v, -2) for v in x)
        zero = self.constant(0, "int64")
        a = self.of("Trilu", a, zero, upper=int(option & _UPPER != 0))
        if option & _UNIT:
            one = self._identity(a)
            a = self.if_(self.cast(one, "bool"), 1, a)
        a = self.of("Transpose", a, perm=[0, 2, 1]) if option & _TURNED else a
        y, _ = self._eliminated(a, right)
        return self.of("Reshape", y, self.of("Shape", x[1], dtype="int64"), allowzero=1)

    def _determinant(self: Any, x: list[Value], attrs: Any) -> Value:
        if x[0].dtype == "float32":
            return self.of("Det", x[0])
        a = self._of_three(x[0], -2)
        _, pivots = self._eliminated(a, None)
        nan = self._any([self._isnan([pivots], [])], [2, 0])  # behind a pivot of 0
        nan = self.of("And", nan, self._isfinite([self._whole_sum(a)], []))
        y = self.if_(nan, 0, self.of("ReduceProd", pivots, self._at(1), keepdims=0))
        return self.of("Reshape", y, self.of("Shape", x[0], dtype="int64", end=-2), allowzero=1)

    def _whole_sum(self: Any, a: Value) -> Value:
        return self.of("ReduceSum", a, self._at(1, 2), keepdims=0)

    def _log_determinant(self: Any, x: list[Value], attrs: Any) -> Value:
        a = self._of_three(x[0], -2)
        _, pivots = self._eliminated(a, None)
        nan = self._any([self._isnan([pivots], [])], [2, 1])
        nan = self.of("And", nan, self.of("Unsqueeze", self._isfinite([self._whole_sum(a)], []),
                                          self._at(1)))  # fmt: skip
        sign = self.of("ReduceProd", self.of("Sign", pivots), self._at(1), keepdims=1)
        size = self.of("ReduceSum", self.of("Log", self.of("Abs", pivots)), self._at(1), keepdims=1)
        parts = [self.if_(nan, 0, sign), self.if_(nan, float("-inf"), size)]
        return self._packed(x[0], parts)

    def _cholesky_factor(self: Any, x: list[Value], attrs: Any) -> Value:
        """Column i is that of what is left of a, over the root of its diagonal element."""
        a, dtype = self._of_three(x[0], -2), x[0].dtype
        n, rows = self._rows_of(a)
        lower = self.of("Trilu", a, self.constant(0, "int64"), upper=0)
        inner = self.inside()
        i, go, state = (self.value(*v) for v in (("i", "int64"), ("go", "bool"), ("state", dtype)))
        column = inner.of("Gather", state, i, axis=2)
        first = inner.of("Unsqueeze", inner.of("Gather", column, i, axis=1), inner._at(1))
        above = inner.of("Less", rows, i, dtype="bool")
        column = inner.if_(above, 0, inner.of("Div", column, inner.of("Sqrt", first)))
        pair = [inner.of("Unsqueeze", column, inner._at(axis)) for axis in (2, 1)]
        out = [inner.of("Identity", go), inner.of("Sub", state, inner.of("Mul", *pair)),
               inner.of("Identity", column)]  # fmt: skip
        body = inner.proto("body", [i, go, state], out, [i, go])
        given = [n, self.constant(True, "bool"), lower]
        _, columns = self.nodes_of("Loop", given, (dtype, dtype), body=body)
        y = self.of("Transpose", columns, perm=[1, 2, 0])
        y = self._finite(y, "a matrix is not positive definite")
        return self._packed(x[0], [self._flat(y)])
