"""The compiled part of frazil.autograd."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins

__all__ = ["in_grad_scope", "is_grad_enabled", "set_grad_enabled"]

def in_grad_scope() -> None:
    """Whether a function-style gradient is being taken in this thread."""

def is_grad_enabled() -> builtins.bool:
    """Whether this thread records for gradients."""

def set_grad_enabled(on: builtins.bool, /) -> builtins.bool:
    """Switches recording for gradients in this thread; returns what it was."""
