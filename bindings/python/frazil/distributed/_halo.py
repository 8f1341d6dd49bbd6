"""Domains in parts: halo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil.distributed._collectives import all_gather
from frazil.distributed._world import rank as _rank
from frazil.distributed._world import size as _size

if TYPE_CHECKING:
    from frazil._frazil import Tensor
    from frazil.distributed._world import Group


def halo(
    x: Tensor,
    axis: int = 0,
    width: int = 1,
    *,
    periodic: bool = False,
    group: Group | None = None,
) -> Tensor:
    """A rank's part of an array with what borders on it: `width` elements of either neighbour.

    The ranks have parts of one array along an axis, in their order. What is computed of a part with
    its halo and then without the `width` outermost elements is what one process computes of the
    whole array.

    Parameters
    ----------
    x
        The rank's part; shapes are equal on all ranks.
    axis
    width
        At most the extent of x along the axis.
    periodic
        The first and the last rank are neighbours; otherwise their outer halos are zeros.
    group
        All ranks by default.

    Returns
    -------
    Tensor
        Shaped like x, longer by 2 * width along the axis. Differentiable: gradients of a halo are
        added to the neighbour's.

    Raises
    ------
    ValueError
        If width is below 1 or above the extent.

    >>> import frazil as fz
    >>> halo(fz.asarray([1.0, 2.0, 3.0]))
    fz.Tensor([0., 1., 2., 3., 0.])
    >>> halo(fz.asarray([1.0, 2.0, 3.0]), periodic=True)
    fz.Tensor([3., 1., 2., 3., 1.])
    """
    axis = _integer("[halo] axis", axis)
    width = _integer("[halo] width", width)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"[halo] axis {axis} is out of range for {x.ndim} axes.")
    if not 1 <= width <= x.shape[axis]:
        raise ValueError(
            f"[halo] width must be from 1 to the extent {x.shape[axis]} of axis {axis}, got "
            f"{width}."
        )
    periodic = _flag("[halo] periodic", periodic)
    n, me = _size(group), _rank(group)
    rows = _fz.moveaxis(x, axis, 0)
    # Both borders of every rank: [2 n, width, ...].
    borders = all_gather(_fz.stack([rows[:width], rows[-width:]]), group=group)
    zeros = _fz.zeros_like(rows[:width])
    before = borders[2 * ((me - 1) % n) + 1] if periodic or me > 0 else zeros
    after = borders[2 * ((me + 1) % n)] if periodic or me + 1 < n else zeros
    return _fz.moveaxis(_fz.concat([before, rows, after]), 0, axis)
