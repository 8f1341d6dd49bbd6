"""The compiled part of frazil.transforms."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from typing import (
    Any,
)

from frazil._frazil import Tensor
from frazil._types import Operand

__all__ = ["any_example", "exchange_frame", "in_vmap", "innermost_is_reverse", "is_batched"]

def any_example(condition: Operand, /) -> Tensor:
    """Whether a bool is true for any example of the vmaps that it is batched in."""

def exchange_frame(frame: Any, /) -> Any:
    """Makes this the innermost call of a converted function; returns the one before, or None."""

def in_vmap() -> builtins.bool:
    """Whether this thread is inside of a vmap."""

def innermost_is_reverse() -> builtins.bool:
    """Whether no forward mode lies inside of the gradients being taken."""

def is_batched(x: Any, /) -> builtins.bool:
    """Whether x is a tensor that is batched in a vmap of this thread."""
