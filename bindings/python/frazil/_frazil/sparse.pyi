"""The compiled part of frazil.sparse."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins

from frazil._frazil import Tensor

__all__ = ["matmul"]

def matmul(
    values: Tensor,
    structure: Tensor,
    dense: Tensor,
    /,
    rows: builtins.int,
    columns: builtins.int,
    pairs: builtins.bool,
    transposed: builtins.bool,
) -> Tensor:
    """A sparse matrix, or its transpose, times a vector or a matrix. structure, int32 or int64: where the values of each row begin, rows + 1 numbers, then the column of each value; as pairs the row of each value, then the column of each."""
