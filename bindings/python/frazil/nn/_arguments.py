"""What layers check of their arguments, and how they make their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil import random as _random
from frazil._named import integer as _integer
from frazil._parameters import Parameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._frazil import Tensor


def several(where: str, value: Any, n: int, least: int | None = None) -> tuple[int, ...]:
    """n integers, from one for all or a sequence of n."""
    if not isinstance(value, (tuple, list)):
        return (_integer(where, value, least),) * n
    if len(value) != n:
        raise ValueError(f"{where} takes one number or {n}, got {len(value)}: {tuple(value)!r}.")
    return tuple([_integer(where, v, least) for v in value])


def one_of(where: str, value: Any, *options: str) -> Any:
    """A word that is one of the options."""
    if value not in options:
        words = ", ".join(f'"{option}"' for option in options)
        raise ValueError(f"{where} must be one of {words}, got {value!r}.")
    return value


def uniform(shape: Sequence[int], bound: float, device: Any = None, dtype: Any = None) -> Tensor:
    """A parameter, uniform in [-bound, bound)."""
    x = _random.uniform(shape, dtype=dtype, device=device)
    return Parameter(x * (2 * bound) - bound)


def filled(shape: Sequence[int], value: float, device: Any = None, dtype: Any = None) -> Tensor:
    """A parameter of one number."""
    return Parameter(_fz.full(tuple(shape), float(value), dtype=dtype, device=device))


def divides(where: str, n: int, parts: int, name: str, other: str) -> None:
    """Raises unless `parts` divides n."""
    if n % parts:
        raise ValueError(f"{where} {name} must be a multiple of {other}: {n} and {parts}.")
