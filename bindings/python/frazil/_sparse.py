"""Sparse matrices: values and where they stand. Called through frazil.sparse.

Where values stand is one array of int32, or of int64 where a number asks for it, as the op
sparse_matmul takes it: coo_array keeps the row and the column of each value, csr_array where the
values of each row begin and the column of each, and beside it the row of each, which elementwise
functions need. Invariant: within one csr_array the indices of a row ascend and none stands twice,
as in SciPy's canonical format; what is stored may be zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._named import tensor as _tensor
from frazil.tree import register_pytree_node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._types import DTypeLike, Operand

__all__ = ["coo_array", "csr_array", "issparse"]


def _index(name: str, x: Any) -> Tensor:
    x = _tensor(x)
    if x.ndim != 1 or (x.size and x.dtype.kind not in ("signed integer", "unsigned integer")):
        raise ValueError(f"[sparse] {name} must be a vector of integers, got {x!r}.")
    return x.astype("int64")


def _joined(shape: tuple[int, int], count: int, *parts: Tensor) -> Tensor:
    """Places as one array, of the narrowest dtype that the products take."""
    dtype = "int32" if max(*shape, count) < 2**31 else "int64"
    return _fz.concat([x.astype(dtype) for x in parts])


def _shape(shape: Any, rows: Tensor, columns: Tensor) -> tuple[int, int]:
    most = [int(_fz.max(x)) + 1 if x.size else 0 for x in (rows, columns)]
    if shape is None:
        return most[0], most[1]
    m, n = (int(extent) for extent in shape)
    least = [int(_fz.min(x)) if x.size else 0 for x in (rows, columns)]
    if most[0] > m or most[1] > n or min(least) < 0:
        raise ValueError(
            f"[sparse] indices up to ({most[0] - 1}, {most[1] - 1}) and from ({least[0]}, "
            f"{least[1]}) on do not fit shape ({m}, {n})."
        )
    return m, n


class _Sparse:
    """What both formats share; `_rows` and `_columns` are of each stored value."""

    __slots__ = ("_structure", "data", "shape")
    __array_priority__ = 2000.0
    __array_ufunc__ = None  # NumPy leaves operators to this class

    data: Tensor
    shape: tuple[int, int]
    _structure: Tensor
    _rows: Tensor

    ndim = 2
    _pairs = False

    @property
    def _columns(self) -> Tensor:
        return self._structure[self._structure.shape[0] - self.nnz :]

    def _flat(self) -> Tensor:
        """Where values stand in the dense matrix, row by row."""
        return self._rows.astype("int64") * self.shape[1] + self._columns

    @property
    def dtype(self) -> Any:
        """Of the values."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """How many values are stored."""
        return self.data.shape[0]

    @property
    def row(self) -> Tensor:
        """The row of each stored value, int64."""
        return self._rows.astype("int64")

    @property
    def col(self) -> Tensor:
        """The column of each stored value, int64."""
        return self._columns.astype("int64")

    @property
    def coords(self) -> tuple[Tensor, Tensor]:
        """(row, col)."""
        return self.row, self.col

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"fz.sparse.{name}(shape={self.shape}, nnz={self.nnz}, dtype={self.dtype.name})"

    def __len__(self) -> int:
        raise TypeError(f"[{type(self).__name__}] its length is ambiguous: use .nnz or .shape[0].")

    def __bool__(self) -> bool:
        raise ValueError(f"[{type(self).__name__}] its truth value is ambiguous: use .nnz.")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"[{type(self).__name__}] is no dense array: use .toarray().")

    def _like(self, data: Tensor) -> Any:
        """The same places with other values."""
        made = object.__new__(type(self))
        for name in (n for c in type(self).__mro__ for n in getattr(c, "__slots__", ())):
            setattr(made, name, getattr(self, name))
        made.data = data
        return made

    # --- other forms

    def toarray(self) -> Tensor:
        """The dense matrix; values that stand at one place are summed."""
        m, n = self.shape
        flat = _fz.zeros((m * n,), self.dtype, device=self.data.device)
        return _fz.index_add(flat, self._flat(), self.data).reshape(m, n)

    todense = toarray

    def tocoo(self) -> coo_array:
        """The same values, each with its row and column."""
        return coo_array((self.data, (self._rows, self._columns)), self.shape)

    def to_scipy(self) -> Any:
        """SciPy's matrix of the same format, a copy."""
        import numpy as np  # noqa: PLC0415 -- not needed before
        from scipy import sparse  # type: ignore[import-untyped]  # noqa: PLC0415

        parts = [np.array(x) for x in (self.data, self._rows, self._columns)]
        made = sparse.coo_array((parts[0], (parts[1], parts[2])), shape=self.shape)
        return made.tocsr() if isinstance(self, csr_array) else made

    def astype(self, dtype: DTypeLike) -> Any:
        """The values in another dtype."""
        return self._like(self.data.astype(dtype))

    def copy(self) -> Any:
        """The same matrix with values of its own."""
        return self._like(self.data.copy())

    def conj(self) -> Any:
        """Conjugate values."""
        return self._like(_fz.conj(self.data))

    def diagonal(self) -> Tensor:
        """The main diagonal, dense."""
        n = min(self.shape)
        on = _fz.where(_fz.equal(self._rows, self._columns), self.data, 0)
        places = _fz.minimum(self._rows, max(n - 1, 0))
        return _fz.index_add(_fz.zeros((n,), self.dtype), places, on) if n else on[:0]

    def sum(self, axis: int | None = None) -> Tensor:
        """Over all elements, or dense sums over an axis."""
        if axis is None:
            return _fz.sum(self.data)
        if axis not in (0, 1, -1, -2):
            raise ValueError(f"[sum] axis must be None, 0 or 1, got {axis!r}.")
        over = axis in (0, -2)
        ones = _fz.ones((self.shape[0 if over else 1],), self.dtype, device=self.data.device)
        return self._apply(ones, transposed=over)

    # --- elementwise

    def multiply(self, other: Any) -> Any:
        """Elementwise product with a number or what broadcasts to its shape, dense or sparse."""
        if isinstance(other, (int, float, complex)):
            return self._like(self.data * other)  # type: ignore[operator]
        if isinstance(other, _Sparse):
            other = other.toarray()
        other = _tensor(other)
        if other.ndim == 0:
            return self._like(self.data * other)
        dense = _fz.broadcast_to(other, self.shape)
        return self._like(self.data * _fz.take(dense.reshape(-1), self._flat()))

    def __mul__(self, other: Any) -> Any:
        return self.multiply(other)

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Any:
        if not isinstance(other, (int, float, complex)) and _tensor(other).ndim:
            return self.multiply(1 / _tensor(other))
        return self._like(self.data / other)

    def __neg__(self) -> Any:
        return self._like(-self.data)

    def __abs__(self) -> Any:
        return self._like(abs(self.data))

    def _plus(self, other: Any, sign: int) -> Any:
        if not isinstance(other, _Sparse):
            dense = _tensor(other)
            if dense.ndim == 0 and not math.isclose(float(dense), 0.0):
                raise NotImplementedError(
                    f"[{type(self).__name__}] adding a number fills every element: use toarray()."
                )
            return self.toarray() + sign * dense if dense.ndim else self
        if other.shape != self.shape:
            raise ValueError(f"[add] shapes {self.shape} and {other.shape} differ.")
        added = other.data if sign > 0 else -other.data
        both = coo_array(
            (
                _fz.concat([self.data, added]),
                (
                    _fz.concat([self._rows, other._rows]),
                    _fz.concat([self._columns, other._columns]),
                ),
            ),
            self.shape,
        )
        return both.tocsr() if isinstance(self, csr_array) else both

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    # --- products

    @property
    def T(self) -> Any:  # noqa: N802
        """The transpose."""
        return self.transpose()

    def transpose(self) -> Any:
        """Rows for columns."""
        m, n = self.shape
        made = coo_array((self.data, (self._columns, self._rows)), (n, m))
        return made.tocsr() if isinstance(self, csr_array) else made

    def _apply(self, x: Tensor, transposed: bool = False) -> Tensor:
        return _fz.sparse.matmul(
            self.data, self._structure, x, *self.shape, self._pairs, transposed
        )

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, _Sparse):
            return _product(self, other)
        return self._apply(_tensor(other))

    def __rmatmul__(self, other: Any) -> Tensor:
        x = _tensor(other)
        return self._apply(x.T if x.ndim == 2 else x, transposed=True).T

    def dot(self, other: Any) -> Any:
        """The same as self @ other."""
        return self @ other


class coo_array(_Sparse):  # noqa: N801
    """A matrix as values with a row and a column each.

    Parameters
    ----------
    source : (data, (row, col)), a matrix of SciPy's or of this module, or a dense matrix
        Of a dense one what is not zero is stored.
    shape : pair of ints, optional
        As small as the indices allow if it is not given.

    Raises
    ------
    ValueError
        If lengths differ or indices do not fit.
    """

    __slots__ = ()
    _pairs = True

    def __init__(
        self, source: Any, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None
    ) -> None:
        rows, columns, data, shape = _read(source, shape)
        self.data = data if dtype is None else data.astype(dtype)
        self.shape = _shape(shape, rows, columns)
        self._structure = _joined(self.shape, self.nnz, rows, columns)

    @property
    def _rows(self) -> Tensor:  # type: ignore[override]
        return self._structure[: self.nnz]

    def tocsr(self) -> csr_array:
        """Sorted by rows and columns; values that stand at one place are summed."""
        return csr_array(self)


class csr_array(_Sparse):  # noqa: N801
    """A matrix as values sorted by row and column, and where the rows begin.

    Parameters
    ----------
    source : (data, indices, indptr) or what coo_array takes
    shape : pair of ints, optional

    Raises
    ------
    ValueError
        If lengths differ or indices do not fit.
    """

    __slots__ = ("_rows",)

    def __init__(
        self, source: Any, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None
    ) -> None:
        if isinstance(source, tuple) and len(source) == 3:
            source, shape = _of_rows(*source, shape)
        rows, columns, data, shape = _read(source, shape)
        m, n = self.shape = _shape(shape, rows, columns)
        flat = rows * n + columns
        if not bool(_fz.all(flat[1:] > flat[:-1])):
            order = _fz.argsort(flat)
            flat, data = _fz.take(flat, order), _fz.take(data, order)
            first = _fz.not_equal(flat[1:], flat[:-1])
            if not bool(_fz.all(first)):  # some stand at one place
                place = _fz.cumulative_sum(first, dtype="int64", include_initial=True)
                data = _fz.index_add(_fz.zeros((int(place[-1]) + 1,), data.dtype), place, data)
                flat = flat[_fz.concat([_fz.ones((1,), "bool"), first])]
            rows, columns = flat // max(n, 1), flat % max(n, 1)
        self.data = data if dtype is None else data.astype(dtype)
        starts = _fz.searchsorted(rows, _fz.arange(m + 1))
        self._structure = _joined(self.shape, self.nnz, starts, columns)
        self._rows = rows.astype(self._structure.dtype)

    @property
    def indptr(self) -> Tensor:
        """Where the values of each row begin, and where the last ones end, int64."""
        return self._structure[: self.shape[0] + 1].astype("int64")

    @property
    def indices(self) -> Tensor:
        """The column of each stored value, int64."""
        return self.col

    def tocsr(self) -> csr_array:
        """Itself."""
        return self


def issparse(x: Any) -> bool:
    """Whether x is a sparse matrix of this module."""
    return isinstance(x, _Sparse)


def _of_rows(data: Any, indices: Any, indptr: Any, shape: Any) -> tuple[Any, Any]:
    indices, indptr = _index("indices", indices), _index("indptr", indptr)
    counts = indptr[1:] - indptr[:-1]
    if (
        not indptr.size
        or bool(_fz.any(counts < 0))
        or int(indptr[0])
        or (int(indptr[-1]) != indices.shape[0])
    ):
        raise ValueError(
            f"[csr_array] indptr must ascend from 0 to the number of indices, "
            f"{indices.shape[0]}, got {indptr!r}."
        )
    rows = _fz.searchsorted(indptr, _fz.arange(indices.shape[0]), side="right") - 1
    if shape is None:
        shape = (indptr.shape[0] - 1, int(_fz.max(indices)) + 1 if indices.size else 0)
    elif indptr.shape[0] - 1 != shape[0]:
        raise ValueError(
            f"[csr_array] indptr has {indptr.shape[0]} elements, but shape {tuple(shape)} asks for "
            f"{shape[0] + 1}."
        )
    return (data, (rows, indices)), shape


def _read(source: Any, shape: Any) -> tuple[Tensor, Tensor, Tensor, Any]:
    """Rows, columns, values and shape of what a matrix may be made of."""
    if isinstance(source, _Sparse):
        return source.row, source.col, source.data, shape or source.shape
    if hasattr(source, "tocoo"):  # SciPy's
        coo = source.tocoo()
        return _index("row", coo.row), _index("col", coo.col), _tensor(coo.data), shape or coo.shape
    if isinstance(source, tuple) and len(source) == 2 and not isinstance(source[0], int):
        data, (rows, columns) = source
        data, rows, columns = _tensor(data), _index("row", rows), _index("col", columns)
        if data.ndim != 1 or not data.shape == rows.shape == columns.shape:
            raise ValueError(
                f"[sparse] values, rows and columns must be vectors of one length, got shapes "
                f"{data.shape}, {rows.shape} and {columns.shape}."
            )
        return rows, columns, data, shape
    dense = _tensor(source)
    if dense.ndim != 2:
        raise ValueError(f"[sparse] a dense matrix has two axes, got shape {dense.shape}.")
    rows, columns = _fz.nonzero(dense)
    return rows, columns, _fz.take(dense.reshape(-1), rows * dense.shape[1] + columns), dense.shape


def _product(a: _Sparse, b: _Sparse) -> csr_array:
    """Each stored value of a meets the row of b that its column names."""
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"[matmul] shapes {a.shape} and {b.shape} do not fit.")
    right = csr_array(b)
    indptr = right.indptr
    starts = _fz.take(indptr, a._columns)
    counts = _fz.take(indptr, a.col + 1) - starts
    ends = _fz.cumulative_sum(counts, dtype="int64")
    total = int(ends[-1]) if ends.size else 0
    meet = _fz.arange(total)
    left = _fz.searchsorted(ends, meet, side="right")  # which value of a
    at = _fz.take(starts, left) + meet - _fz.take(ends - counts, left)
    data = _fz.take(a.data, left) * _fz.take(right.data, at)
    places = (_fz.take(a._rows, left), _fz.take(right._columns, at))
    return csr_array((data, places), (a.shape[0], b.shape[1]))


def _register(cls: Any) -> None:
    names = [n for c in cls.__mro__ for n in getattr(c, "__slots__", ()) if n != "shape"]

    def flatten(x: Any) -> tuple[list[Any], Any]:
        return [getattr(x, n) for n in names], x.shape

    def unflatten(shape: Any, children: tuple[Any, ...]) -> Any:
        made = object.__new__(cls)
        made.shape = shape
        for name, child in zip(names, children, strict=True):
            setattr(made, name, child)
        return made

    register_pytree_node(cls, flatten, unflatten)


_register(coo_array)
_register(csr_array)
