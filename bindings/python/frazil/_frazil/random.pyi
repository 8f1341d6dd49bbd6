"""The compiled part of frazil.random."""

# Written by tools/gen_stubs.py. Do not edit.
from typing import (
    SupportsIndex,
)

from frazil._frazil import Tensor
from frazil._types import DTypeLike, Ints

__all__ = ["integers", "normal", "set_default", "state", "uniform"]

def integers(
    state: Tensor,
    low: SupportsIndex,
    high: SupportsIndex,
    shape: Ints,
    /,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
) -> Tensor:
    """Uniform integers in [low, high)."""

def normal(
    state: Tensor, shape: Ints, /, dtype: DTypeLike | None = ..., device: str | None = ...
) -> Tensor:
    """Standard normal."""

def set_default(state: Tensor, /) -> None:
    """The state that the module's own functions draw from."""

def state(seed: SupportsIndex, /) -> Tensor:
    """The state of a generator: a tensor that drawing advances."""

def uniform(
    state: Tensor, shape: Ints, /, dtype: DTypeLike | None = ..., device: str | None = ...
) -> Tensor:
    """Uniform in [0, 1)."""
