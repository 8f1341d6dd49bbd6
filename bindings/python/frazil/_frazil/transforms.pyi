"""The compiled part of frazil.transforms."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from typing import (
    Any,
)

from frazil._frazil import Tensor
from frazil._types import Operand

__all__ = ["any_example", "innermost_is_reverse", "is_batched"]

def any_example(condition: Operand, /) -> Tensor:
    """Whether a bool is true for any example of the vmaps that it is batched in."""

def innermost_is_reverse() -> builtins.bool:
    """Whether no forward mode lies inside of the gradients being taken."""

def is_batched(x: Any, /) -> builtins.bool:
    """Whether x is a tensor that is batched in a vmap of this thread."""
