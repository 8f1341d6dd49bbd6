"""Datasets: what can be indexed, or iterated over, for examples."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from frazil import _frazil as _fz
from frazil._named import integer as _integer
from frazil._named import is_count as _is_count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from frazil._frazil import Tensor
    from frazil._types import Operand
    from frazil.random import Generator

__all__ = [
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

_T = TypeVar("_T", covariant=True)


class Dataset(Generic[_T]):
    """Examples by number: a subclass defines `__getitem__` and `__len__`.

    Any object with both, such as a list, serves a DataLoader as well. Where there is a
    `__getitems__(indices)`, which returns the list of a batch's examples, it is called instead.

    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, i):
    ...         return i * i
    >>> (Squares() + Squares())[5]
    1
    """

    def __getitem__(self, index: Any, /) -> _T:
        raise NotImplementedError(f"[Dataset] {type(self).__name__} defines no __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Generic[_T]):
    """Examples one after the other: a subclass defines `__iter__`.

    With several workers each of them iterates over a copy of the dataset: `get_worker_info` tells
    `__iter__` which part is its own.

    >>> class Lines(IterableDataset):
    ...     def __iter__(self):
    ...         yield from ("a", "b")
    >>> list(Lines())
    ['a', 'b']
    """

    def __iter__(self) -> Iterator[_T]:
        raise NotImplementedError(f"[IterableDataset] {type(self).__name__} defines no __iter__.")


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Tensors of equal length side by side: an example is the tuple of their rows.

    Raises
    ------
    ValueError
        If there are none, or if their lengths differ.

    >>> data = TensorDataset([[1, 2], [3, 4]], [0, 1])
    >>> len(data), data[1]
    (2, (fz.Tensor([3, 4]), fz.Tensor(1)))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Operand | Sequence[Any]) -> None:
        if not tensors:
            raise ValueError("[TensorDataset] there are no tensors.")
        self.tensors = tuple(_fz.asarray(t) for t in tensors)
        shapes = [t.shape for t in self.tensors]
        if any(not shape or shape[0] != shapes[0][0] for shape in shapes):
            raise ValueError(f"[TensorDataset] lengths differ: shapes are {shapes}.")

    def __len__(self) -> int:
        return self.tensors[0].shape[0]

    def __getitem__(self, index: Any, /) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def batch(self, indices: Sequence[int]) -> tuple[Tensor, ...]:
        """The rows at several indices: what default_collate makes of the examples, at once."""
        rows = _fz.asarray(indices, dtype=_fz.int64)
        return tuple(_fz.take(t, rows, axis=0) for t in self.tensors)


class Subset(Dataset[_T]):
    """The examples of a dataset at some indices.

    >>> Subset("abcd", [3, 0])[0]
    'd'
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices.tolist() if hasattr(indices, "tolist") else indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: Any, /) -> _T:
        out: _T = self.dataset[self.indices[index]]
        return out


class ConcatDataset(Dataset[_T]):
    """Datasets one behind the other.

    Raises
    ------
    ValueError
        If there are none.

    >>> both = ConcatDataset(["ab", "c"])
    >>> len(both), both[2], both[-3]
    (3, 'c', 'a')
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("[ConcatDataset] there are no datasets.")
        for dataset in self.datasets:
            if not hasattr(dataset, "__len__"):
                raise TypeError(f"[ConcatDataset] {type(dataset).__name__} has no length.")
        self._ends = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, index: Any, /) -> _T:
        n = _integer("[ConcatDataset] the index", index)
        if not -len(self) <= n < len(self):
            raise IndexError(f"[ConcatDataset] index {n} is out of range for {len(self)} examples.")
        n %= len(self)
        which = bisect.bisect_right(self._ends, n)
        out: _T = self.datasets[which][n - (self._ends[which - 1] if which else 0)]
        return out


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Generator | None = None
) -> list[Subset[Any]]:
    """Splits a dataset into parts that have no example in common, at random.

    Parameters
    ----------
    dataset : Dataset
    lengths : sequence of int or float
        Of the parts: numbers that add up to its length, or fractions that add up to 1. What
        rounding leaves over goes to the first parts, one each.
    generator : frazil.random.Generator, optional
        By default the one of frazil.random.

    Raises
    ------
    ValueError
        If they add up to something else, or one is negative.

    >>> train, test = random_split(range(10), [0.8, 0.2])
    >>> len(train), sorted([*train, *test]) == list(range(10))
    (8, True)
    """
    n, parts = len(dataset), list(lengths)
    for part in parts:
        if isinstance(part, bool) or not hasattr(part, "__float__") or part < 0:
            raise ValueError(f"[random_split] {part!r} is no length.")
    if not all(_is_count(part) for part in parts):
        if abs(sum(parts) - 1) > 1e-6:
            raise ValueError(f"[random_split] fractions must add up to 1, got {sum(parts)}.")
        parts = [int(n * part) for part in parts]
        over = n - sum(parts)
        parts = [part + (i < over) for i, part in enumerate(parts)]
    if sum(parts) != n:
        raise ValueError(f"[random_split] lengths add up to {sum(parts)}, the dataset has {n}.")
    from frazil import random

    order = (random if generator is None else generator).permutation(n).tolist()
    ends = list(itertools.accumulate(parts))
    return [Subset(dataset, order[end - part : end]) for part, end in zip(parts, ends, strict=True)]
