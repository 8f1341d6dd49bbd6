"""The compiled part of frazil.random."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from collections.abc import Sequence
from typing import SupportsIndex

from frazil._frazil import DTypeLike, Tensor

def integers(
    state: Tensor,
    low: builtins.int,
    high: builtins.int,
    shape: SupportsIndex | Sequence[builtins.int],
    /,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
) -> Tensor:
    """Uniform integers in [low, high)."""

def normal(
    state: Tensor,
    shape: SupportsIndex | Sequence[builtins.int],
    /,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
) -> Tensor:
    """Standard normal."""

def set_default(state: Tensor, /) -> Tensor:
    """The state that the module's own functions draw from."""

def state(seed: builtins.int, /) -> Tensor:
    """The state of a generator: a tensor that drawing advances."""

def uniform(
    state: Tensor,
    shape: SupportsIndex | Sequence[builtins.int],
    /,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
) -> Tensor:
    """Uniform in [0, 1)."""
