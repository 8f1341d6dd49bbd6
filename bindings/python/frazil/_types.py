"""What arguments may be, for type checkers: names for annotations of the package and its stubs."""

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, Protocol, SupportsFloat, SupportsIndex, TypeAlias

from frazil._frazil import DType, Tensor


class SupportsArray(Protocol):
    """NumPy's arrays and numbers, and whatever else gives an array."""

    def __array__(self) -> Any: ...


class SupportsDLPack(Protocol):
    """Tensors of other libraries."""

    def __dlpack__(self) -> Any: ...


class Named(Protocol):
    """np.dtype("float32"), and dtypes of libraries that name theirs like NumPy."""

    @property
    def name(self) -> str: ...


# An operand: a tensor, a number (weak in promotion), an array of another library, or lists.
Operand: TypeAlias = Tensor | complex | SupportsArray | SupportsDLPack | list[Any] | tuple[Any, ...]
# One number, whoever's it is.
Number: TypeAlias = float | SupportsFloat | SupportsIndex
# A shape, or axes: an integer or several.
Ints: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
Axis: TypeAlias = Ints | None
DTypeLike: TypeAlias = DType | str | type[Any] | Named
OneIndex: TypeAlias = SupportsIndex | slice | EllipsisType | Tensor | SupportsArray | Sequence[Any]
Index: TypeAlias = OneIndex | tuple[OneIndex | None, ...] | None
