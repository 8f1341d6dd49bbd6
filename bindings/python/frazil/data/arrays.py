"""Minibatches of arrays that lie in memory: `batches`."""

from __future__ import annotations

import random as _python_random
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._named import flag as _flag
from frazil._named import integer as _integer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from frazil._frazil import Tensor
    from frazil._types import Operand

__all__ = ["batches"]


def batches(
    *arrays: Operand | Sequence[Any],
    batch_size: int,
    shuffle: bool = False,
    seed: int | None = None,
    drop_last: bool = False,
) -> Iterator[tuple[Tensor, ...]]:
    """Goes through tensors of equal length in step: tuples of batch_size rows of each.

    >>> [x.tolist() for (x,) in batches(_fz.arange(5), batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """
    if not arrays:
        raise ValueError("[batches] there are no arrays.")
    batch_size = _integer("[batches] batch_size", batch_size, 1)
    shuffle = _flag("[batches] shuffle", shuffle)
    drop_last = _flag("[batches] drop_last", drop_last)
    if seed is not None:
        _integer("[batches] seed", seed)
    for array in arrays:
        if not hasattr(array, "__len__") or isinstance(array, str):
            raise TypeError(f"[batches] needs arrays, got {type(array).__name__}.")
    return _batches(arrays, batch_size, shuffle, seed, drop_last)


def _batches(arrays, batch_size, shuffle, seed, drop_last):
    n = len(arrays[0])
    if any(len(a) != n for a in arrays):
        raise ValueError(f"[batches] lengths differ: {[len(a) for a in arrays]}.")
    arrays = [_fz.asarray(a) for a in arrays]
    order = None
    if shuffle:
        order = list(range(n))
        _python_random.Random(seed).shuffle(order)
        order = _fz.asarray(order, dtype=_fz.int64)
    for start in range(0, n - batch_size + 1 if drop_last else n, batch_size):
        rows = slice(start, start + batch_size)
        if order is None:
            yield tuple(a[rows] for a in arrays)
        else:
            yield tuple(_fz.take(a, order[rows], axis=0) for a in arrays)
