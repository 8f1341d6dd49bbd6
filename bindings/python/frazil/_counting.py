"""Statistics of samples under NumPy's names: counts in bins, weighted means, covariances.

>>> average(_fz.asarray([1.0, 4.0]), weights=_fz.asarray([2.0, 1.0])).item()
2.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz  # noqa: F401 -- of the example
from frazil._frazil import Tensor
from frazil._frazil import inside as _inside
from frazil._named import public as _public

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._types import Axis, Operand

__all__ = [
    "average",
    "histogram2d",
]


@_public
def average(
    x: Operand,
    /,
    axis: Axis = None,
    weights: Operand | None = None,
    *,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """The mean over axes, weighted if weights are given: of x's shape, or of the axes' extents.

    Integers give float64, complex numbers complex ones. With `returned` a pair: the average and the
    sums of weights. TypeError or ValueError for weights of another shape. Weights that sum to 0
    give NaN.
    """
    out = _inside.averages(x, axis, weights, keepdims)
    return out if returned else out[0]


@_public
def histogram2d(
    x: Operand,
    y: Operand,
    /,
    bins: Any = 10,
    range: Sequence[tuple[float, float] | None] | None = None,
    density: bool | None = None,
    weights: Operand | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """How many points lie in each cell of a grid, float64, and the edges along both axes.

    `bins` is one number or array of edges for both, or a pair of them. Reads the data.
    """
    both = list(bins) if isinstance(bins, (list, tuple)) and len(bins) == 2 else [bins, bins]
    ranges = range if range is not None else (None, None)
    (first, second), (over_x, over_y) = both, ranges
    counts, edges_x, edges_y = _inside.histogram2d(
        x, y, first, second, over_x, over_y, bool(density), weights
    )
    return counts, edges_x, edges_y
