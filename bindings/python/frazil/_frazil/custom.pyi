"""The compiled part of frazil.custom."""

# Written by tools/gen_stubs.py. Do not edit.
from collections.abc import Callable, Sequence
from typing import (
    Any,
)

from frazil._frazil import Tensor

__all__ = ["attach", "checkpoint", "has_history", "ops", "through_batch", "within"]

def attach(
    results: list[Any],
    operands: list[Any],
    backward: Callable[..., Any],
    forward: Callable[..., Any],
    /,
) -> list[Any]:
    """The results with derivatives: backward(operands, gradients) of the operands, forward(operands, tangents) of the results."""

def checkpoint(function: Callable[..., Any], operands: list[Any], ops: Any, /) -> Tensor:
    """function(operands), a list, computed again for gradients but for results of these ops."""

def has_history(tensors: Sequence[tuple[str, Tensor]], /) -> Tensor:
    """Whether a gradient is wanted of any of them, or of what is batched behind it."""

def ops() -> Tensor:
    """The names of all ops, and of those that are products."""

def through_batch(call: Callable[..., Any], operands: list[Any], /) -> list[Any] | None:
    """call(wholes, batched, scope) outside of the innermost vmap; None if nothing is batched."""

def within(
    scope: Any, function: Callable[..., Any], operands: list[Any], batched: Any, /
) -> Tensor:
    """function(operands of one example), and its results for all, in a scope that through_batch gave."""
