"""What onnxruntime has kernels for on processors, of what ONNX defines: for _writing.py.

An operator of another dtype is written between casts to the next wider one that has a kernel, which
gives the same numbers: integers wrap when they are cast back, and 16-bit floats are computed in
float32 here, too. What has no wider dtype is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil._export_program import Refused

if TYPE_CHECKING:
    from frazil.onnx._writing import Value

__all__ = ["Kernels"]

_ROWS = [  # operators; dtypes that have no kernel
    ("Exp Log Sin Cos Tanh Sigmoid Sqrt Floor Ceil Round Reciprocal Softmax LogSoftmax DFT Abs "
     "Expand", "bfloat16"),
    ("Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Erf Gelu", "bfloat16 float64"),
    ("Add Sub Mul Div Mod Equal Less LessOrEqual Greater GreaterOrEqual", "bool bfloat16"),
    ("Neg", "uint8 uint16 uint32 uint64 bfloat16"),
    ("Pow", "int8 int16 uint8 uint16 uint32 uint64 bfloat16"),
    ("Max Min", "int16 uint16 bfloat16"),
    ("MatMul", "int8 int16 uint8 uint16 uint32 uint64 bfloat16"),
    ("ReduceSum ReduceProd ReduceLogSumExp CumSum Einsum",
     "int8 int16 uint8 uint16 uint32 uint64 bfloat16"),
    ("ReduceMax ReduceMin ArgMax ArgMin TopK", "bool int16 uint16 uint32 uint64 bfloat16"),
    ("Where", "bool int16 uint16 uint64 bfloat16"),
    ("Pad", "int16 uint16 bfloat16"),
    ("Trilu", "int8 int16 uint8 uint16 uint32 uint64 bfloat16"),
    ("Conv", "bfloat16"),
    ("IsNaN IsInf Sign", "float16 bfloat16"),
]  # fmt: skip
_MISSING = {op: set(dtypes.split()) for ops, dtypes in _ROWS for op in ops.split()}
_MISSING["Equal"] = {"bfloat16"}
_WIDER = {
    "bool": "uint8", "uint8": "int32", "int8": "int32", "int16": "int32", "uint16": "int32",
    "int32": "int64", "uint32": "int64", "uint64": "int64", "float16": "float32",
    "bfloat16": "float32",
}  # fmt: skip
_IN_ORDER = {"ReduceMax", "ReduceMin", "ArgMax", "ArgMin", "TopK"}
_LEAST = -(2**63)


class Kernels:
    """The part of Graph that puts casts around operators."""

    def kernel_of(self: Any, op: str, dtype: str) -> str:
        """The dtype that an operator is computed in."""
        missing = _MISSING.get(op, ())
        found = dtype
        while found in missing:
            found = _WIDER.get(found, "")
        if not found:
            raise Refused(
                f"{self.doing} of {dtype} is not written: onnxruntime has no kernel {op} for it: "
                "compute in float32, x.astype('float32')"
            )
        return found

    def nodes_of(
        self: Any, op: str, inputs: list[Value | None], dtypes: tuple[str, ...], **attributes: Any
    ) -> list[Value]:
        """A node, and casts where its operator has no kernel of the dtype."""
        first = inputs[op == "Where"] if inputs else None
        own = first.dtype if first is not None else ""
        at = self.kernel_of(op, own) if own else own
        if at == own:
            return self.bare(op, inputs, dtypes, **attributes)
        biased = op in _IN_ORDER and own == "uint64"
        given = list(inputs)
        for i in range(op == "Where", len(given)):
            value = given[i]
            if value is not None and value.dtype == own:
                given[i] = self.cast(value, at)
        if biased:  # so that the order is that of numbers without a sign
            given[0] = self.node("Add", [given[0], self.constant(_LEAST, at)], at)
        made = self.bare(op, given, tuple(at if d == own else d for d in dtypes), **attributes)
        for i, dtype in enumerate(dtypes):
            if dtype == own and biased:
                made[i] = self.node("Add", [made[i], self.constant(_LEAST, at)], at)
            made[i] = self.cast(made[i], dtype)
        return made
