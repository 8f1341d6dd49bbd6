"""Host code as an op: code over NumPy arrays, of which frazil sees what goes in and comes out.

In a vmap host code becomes host code for all examples, so that it runs once, where the elements are
known, however many vmaps there are. Its rules are fz.op's (_op.py).
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from frazil import _frazil as _fz

__all__ = ["BATCHING", "Host", "Spec", "arrays_of", "compare", "is_pair", "spec"]

_dtype = _fz.runtime.dtype
_NUMBERS = "?bBhHiIlLqQefdFD"  # dtypes as NumPy writes them
BATCHING = ("sequential", "expand_dims", "broadcast_all")


class Spec(NamedTuple):
    """What an array is without its elements."""

    shape: tuple[int, ...]
    dtype: Any

    def __str__(self):
        return f"{self.dtype.name} of shape {tuple(self.shape)}"


def spec(x):
    return Spec(tuple(x.shape), _dtype(x.dtype))


def arrays_of(name, leaves, structure):
    """What a body returned, as arrays."""
    asarray = _numpy().asarray
    arrays = []
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, _fz.Tensor):
            raise TypeError(
                f"[{name}] the body must return NumPy arrays or nests of them, got a tensor at "
                f"result{structure.paths()[i]}: with frazil's functions in it say "
                'body="frazil".'
            )
        array = asarray(leaf)
        if array.dtype.char not in _NUMBERS and not _is_number(array.dtype):
            raise TypeError(
                f"[{name}] the body must return NumPy arrays of frazil's dtypes or nests of them, "
                f"got {type(leaf).__name__} of dtype {array.dtype} at result{structure.paths()[i]}."
            )
        arrays.append(array)
    return arrays


def compare(name, made, wants):
    """Refuses what is not as shape= says."""
    for i, (got, want) in enumerate(zip(map(spec, made), wants, strict=True)):
        if got != want:
            raise ValueError(
                f"[{name}] the body returned {got} as result {i}, and shape= says {want}."
            )


def _is_number(dtype):
    try:
        return bool(_dtype(dtype))
    except TypeError:
        return False


def is_pair(node):
    """Whether it is (shape, dtype), as shape= returns it."""
    if not isinstance(node, tuple) or len(node) != 2 or not isinstance(node[0], (tuple, list)):
        return False
    extents = all(hasattr(n, "__index__") and not isinstance(n, bool) for n in node[0])
    return extents and not isinstance(node[1], (tuple, list, dict))


class Host:
    """Host code as an op without gradients, for every example of the vmaps that it is called in.

    run: a list of arrays from one; specs: their specs from those of the operands, or None; levels:
    (how many examples, which operands have an axis of them) of each vmap, from the outermost on.
    """

    def __init__(self, name, batch, run, specs, levels=()):
        self.name, self.batch, self.run, self.specs, self.levels = name, batch, run, specs, levels
        self.sizes = tuple(size for size, _ in levels)

    def compute(self, leaves):
        operands = [
            (_numpy().asarray(x), [batched[k] for _, batched in self.levels])
            for k, x in enumerate(leaves)
        ]
        if self.levels:
            made = getattr(self, "_" + self.batch)(operands)
        else:
            made = self.run([a for a, _ in operands])
        if self.specs:
            wants = [Spec((*self.sizes, *x.shape), x.dtype) for x in self._own(operands)]
            compare(self.name, made, wants)
        device = leaves[0].device if leaves else None
        return [_fz.asarray(a, device=device, copy=True) for a in made], []

    def for_all(self, size, leaves, batched):
        levels = ((size, batched), *self.levels)
        every = Host(self.name, self.batch, self.run, self.specs, levels)
        functions = every.compute, None, None, None, every.for_all
        return _fz.custom.call_host(self.name, functions, leaves), []

    def _own(self, operands):
        """What shape= says of one example's results."""
        return self.specs([Spec(a.shape[sum(which) :], _dtype(a.dtype)) for a, which in operands])

    def _sequential(self, operands):
        np = _numpy()
        rows = []
        for at in np.ndindex(*self.sizes):
            row = self.run([a[(*itertools.compress(at, which), ...)] for a, which in operands])
            first = rows[0] if rows else row
            if [(a.shape, a.dtype) for a in row] != [(a.shape, a.dtype) for a in first]:
                got, wanted = (", ".join(str(spec(a)) for a in r) for r in (row, first))
                raise ValueError(
                    f"[{self.name}] the body's results must be alike for all examples of a vmap: "
                    f"{wanted}, and {got}."
                )
            rows.append(row)
        if rows:
            stacks = [np.stack(column) for column in zip(*rows, strict=True)]
            return [a.reshape(*self.sizes, *a.shape[1:]) for a in stacks]
        if not self.specs:
            raise ValueError(
                f"[{self.name}] is called for 0 examples of a vmap, which says nothing of its "
                "results: give the op shape=."
            )
        return [np.empty((*self.sizes, *x.shape), x.dtype.dtype) for x in self._own(operands)]

    def _expand_dims(self, operands):
        return self.run(self._expanded(operands))

    def _broadcast_all(self, operands):
        rank, wide = len(self.levels), _numpy().broadcast_to
        arrays = self._expanded(operands)
        return self.run([wide(a, (*self.sizes, *a.shape[rank:])) for a in arrays])

    def _expanded(self, operands):
        """The arrays with an axis for every vmap."""
        whole = slice(None)
        return [a[tuple(whole if b else None for b in which)] for a, which in operands]


def _numpy():
    import numpy as np

    return np
