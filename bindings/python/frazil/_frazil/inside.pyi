"""The compiled part of frazil.inside."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from collections.abc import Sequence
from typing import (
    Any,
    Literal,
)

from frazil._frazil import Tensor
from frazil._types import Ints, Operand

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "hermitian",
    "ix_",
    "meshgrid",
    "tensordot",
]

def atleast_1d(x: Operand, /) -> Tensor:
    """With at least one axis."""

def atleast_2d(x: Operand, /) -> Tensor:
    """With at least two axes."""

def atleast_3d(x: Operand, /) -> Tensor:
    """With at least three axes."""

def broadcast_arrays(arrays: Sequence[Operand], /) -> tuple[Tensor, ...]:
    """All arrays broadcast against each other."""

def broadcast_shapes(shapes: Any, /) -> tuple[builtins.int, ...]:
    """The common shape."""

def hermitian(x: Operand, /) -> Tensor:
    """The Hermitian matrix whose lower triangle is x's."""

def ix_(vectors: Sequence[Operand], /) -> tuple[Tensor, ...]:
    """Vectors shaped so that indexing with them takes their product; masks give their positions."""

def meshgrid(
    arrays: Sequence[Operand], /, indexing: Literal["xy", "ij"] = ...
) -> tuple[Tensor, ...]:
    """Coordinate arrays from coordinate vectors."""

def tensordot(x1: Operand, x2: Operand, axes1: Ints, axes2: Ints = ..., /) -> Tensor:
    """Sums of products over axes of both, in turn."""
