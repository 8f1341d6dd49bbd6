"""Products of matrices, and what is computed from one."""

from __future__ import annotations

from typing import Any

import frazil as fz
from frazil import linalg
from frazil.onnx._table import converts


@converts("MatMul")
def matmul(a: Any, b: Any) -> Any:
    return fz.matmul(a, b)


def _turned(b: Any, *, transB: int = 0, **_: Any) -> Any:
    return fz.matrix_transpose(fz.copy(fz.matrix_transpose(b))) if transB else b


@converts("Gemm", laid={"b": _turned})
def gemm(
    a: Any, b: Any, c: Any = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0,
    transB: int = 0, broadcast: int = 1,
) -> Any:  # fmt: skip
    y = (fz.matrix_transpose(a) if transA else a) @ (fz.matrix_transpose(b) if transB else b)
    y = y if alpha == 1.0 else (alpha * y).astype(y.dtype)
    if c is None or beta == 0.0:
        return y
    return y + (c if beta == 1.0 else (beta * c).astype(c.dtype))


@converts("Einsum", 12)
def einsum(*operands: Any, equation: str) -> Any:
    return fz.einsum(equation.replace(" ", ""), *operands)


@converts("Det", 11)
def det(x: Any) -> Any:
    return linalg.det(x)
