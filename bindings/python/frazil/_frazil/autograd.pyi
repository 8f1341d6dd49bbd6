"""The compiled part of frazil.autograd."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from typing import (
    Any,
)

__all__ = [
    "get_autocast",
    "in_grad_scope",
    "is_grad_enabled",
    "lowered",
    "raised",
    "set_autocast",
    "set_grad_enabled",
]

def get_autocast() -> int:
    """This thread's autocast, 0 if it is off."""

def in_grad_scope() -> None:
    """Whether a function-style gradient is being taken in this thread."""

def is_grad_enabled() -> builtins.bool:
    """Whether this thread records for gradients."""

def lowered(*operands: Any) -> tuple[Any, ...]:
    """Operands in the dtype of autocast, if it is on."""

def raised(*operands: Any) -> tuple[Any, ...]:
    """Operands of at least float32, if autocast is on."""

def set_autocast(word: int, /) -> int:
    """Sets this thread's autocast; returns what it was."""

def set_grad_enabled(on: builtins.bool, /) -> builtins.bool:
    """Switches recording for gradients in this thread; returns what it was."""
