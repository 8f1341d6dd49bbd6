"""The compiled part of frazil.custom."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from collections.abc import Callable
from typing import (
    Any,
)

__all__ = ["call", "call_host", "checkpoint", "has_history", "ops", "without_history"]

def call(
    name: str, functions: tuple[Callable[..., Any] | None, ...], operands: list[Any], /
) -> list[Any]:
    """The results of an op of the program's (batch/custom_op.h), of compute, keep, pull, push and for_all."""

def call_host(
    name: str, functions: tuple[Callable[..., Any] | None, ...], operands: list[Any], /
) -> list[Any]:
    """The same of an op whose compute is host code, so that it has to run each time."""

def checkpoint(
    function: Callable[..., Any],
    operands: list[Any],
    ops: tuple[str, ...],
    of: Callable[..., Any],
    /,
) -> list[Any]:
    """function(operands), a list, computed again for gradients but for results of these ops."""

def has_history(tensors: list[Any], /) -> builtins.bool:
    """Whether a gradient is wanted of any of them, or of what is batched behind it."""

def ops() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of all ops, and of those that are products."""

def without_history(name: str, results: list[Any], /) -> None:
    """Refuses results of a function with a rule that a gradient is wanted of."""
