"""The compiled part of frazil.inside."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from collections.abc import Sequence
from typing import (
    Any,
    Literal,
    SupportsIndex,
)

from frazil._frazil import Tensor
from frazil._types import Axis, Ints, Operand

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "averages",
    "broadcast_arrays",
    "broadcast_shapes",
    "einsum",
    "einsum_cost",
    "gradient",
    "hermitian",
    "histogram2d",
    "intersect1d",
    "ix_",
    "meshgrid",
    "put",
    "tensordot",
    "topk",
    "unique",
    "unique_all",
]

def atleast_1d(x: Operand, /) -> Tensor:
    """With at least one axis."""

def atleast_2d(x: Operand, /) -> Tensor:
    """With at least two axes."""

def atleast_3d(x: Operand, /) -> Tensor:
    """With at least three axes."""

def averages(
    x: Operand, /, axis: Axis = ..., weights: Operand | None = ..., keepdims: builtins.bool = ...
) -> tuple[Tensor, ...]:
    """The average over axes, and the sums of weights."""

def broadcast_arrays(arrays: Sequence[Operand], /) -> tuple[Tensor, ...]:
    """All arrays broadcast against each other."""

def broadcast_shapes(shapes: Any, /) -> tuple[builtins.int, ...]:
    """The common shape."""

def einsum(formula: str, operands: Sequence[Operand], path: Any, /) -> Tensor:
    """Sums of products by a formula."""

def einsum_cost(
    formula: str, operands: Sequence[Operand], path: Any, /
) -> tuple[list[tuple[builtins.int, ...]], builtins.float, builtins.float]:
    """The steps that einsum takes, and how many operations a single one and these take."""

def gradient(
    x: Operand, spacing: Sequence[Operand], /, axis: Axis = ..., edge_order: SupportsIndex = ...
) -> tuple[Tensor, ...]:
    """Central differences along axes, one-sided at the ends."""

def hermitian(x: Operand, /) -> Tensor:
    """The Hermitian matrix whose lower triangle is x's."""

def histogram2d(
    x: Operand,
    y: Operand,
    bins_x: Any,
    bins_y: Any,
    range_x: Any,
    range_y: Any,
    density: Any,
    weights: Operand | None,
    /,
) -> tuple[Tensor, ...]:
    """How many points lie in each cell of a grid, float64, and the edges along both axes."""

def intersect1d(
    x1: Operand, x2: Operand, /, return_indices: builtins.bool = ...
) -> tuple[Tensor, ...]:
    """The distinct elements that both arrays have, and where they come first in either."""

def ix_(vectors: Sequence[Operand], /) -> tuple[Tensor, ...]:
    """Vectors shaped so that indexing with them takes their product; masks give their positions."""

def meshgrid(
    arrays: Sequence[Operand], /, indexing: Literal["xy", "ij"] = ...
) -> tuple[Tensor, ...]:
    """Coordinate arrays from coordinate vectors."""

def put(x: Operand, index: Operand, values: Operand, /) -> Tensor:
    """x with values at an index of the first axis."""

def tensordot(x1: Operand, x2: Operand, axes1: Ints, axes2: Ints | None = ..., /) -> Tensor:
    """Sums of products over axes of both, in turn."""

def topk(
    x: Operand, k: SupportsIndex, /, axis: SupportsIndex = ..., largest: builtins.bool = ...
) -> tuple[Tensor, ...]:
    """The k largest (or smallest) elements along an axis and their indices."""

def unique(
    x: Operand,
    /,
    return_index: builtins.bool = ...,
    return_inverse: builtins.bool = ...,
    return_counts: builtins.bool = ...,
    axis: SupportsIndex | None = ...,
    equal_nan: builtins.bool = ...,
) -> tuple[Tensor, ...]:
    """Distinct elements, and what else is asked for."""

def unique_all(x: Operand, /) -> tuple[Tensor, ...]:
    """Distinct elements, where each comes first, the position of each element's value among them, and how often each occurs."""
