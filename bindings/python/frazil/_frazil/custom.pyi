"""The compiled part of frazil.custom."""

# Written by tools/gen_stubs.py. Do not edit.
from collections.abc import Callable
from typing import (
    Any,
)

__all__ = ["attach", "through_batch"]

def attach(
    results: list[Any],
    operands: list[Any],
    backward: Callable[..., Any],
    forward: Callable[..., Any],
    /,
) -> list[Any]:
    """The results with derivatives: backward(operands, gradients) of the operands, forward(operands, tangents) of the results."""

def through_batch(call: Callable[..., Any], operands: list[Any], /) -> list[Any] | None:
    """call(wholes, batched, size) outside of the innermost vmap; None if nothing is batched."""
