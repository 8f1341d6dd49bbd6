"""The compiled part of frazil.transforms."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from typing import (
    Any,
)

from frazil._frazil import Tensor
from frazil._types import Operand

__all__ = [
    "any_example",
    "code_of",
    "converted",
    "exchange_frame",
    "for_all",
    "function_of",
    "in_vmap",
    "innermost_is_reverse",
    "is_batched",
    "is_merged",
    "note_merged",
    "run_aside",
]

def any_example(condition: Operand, /) -> Tensor:
    """Whether a bool is true for any example of the vmaps that it is batched in."""

def code_of(function: Any, /) -> Any:
    """Its code."""

def converted(function: Any, make: Any, helpers: Any, /) -> Any:
    """The function with the code that make(function) made of its own, once and for all; or what make returned in its place."""

def exchange_frame(frame: Any, /) -> Any:
    """Makes this the innermost call of a converted function; returns the one before, or None."""

def for_all(function: Any, /, *args: Any) -> Any:
    """function(*args), whichever examples of a vmap the line is for."""

def function_of(method: Any, /) -> Any:
    """Its function."""

def in_vmap() -> builtins.bool:
    """Whether this thread is inside of a vmap."""

def innermost_is_reverse() -> builtins.bool:
    """Whether no forward mode lies inside of the gradients being taken."""

def is_batched(x: Any, /) -> builtins.bool:
    """Whether x is a tensor that is batched in a vmap of this thread."""

def is_merged(tensor: Any, /) -> builtins.bool:
    """Whether it stands for another that lives, or the other way round."""

def note_merged(result: Any, part: Any, /) -> None:
    """Notes that one tensor stands for another, for some examples of a vmap."""

def run_aside(loop: Any, state: Any, /) -> tuple[builtins.int, list[Tensor]] | None:
    """(steps done, the state behind them), of a loop(state, tangents) that runs outside of the traced call and jvp around it and returns (steps done, state, tangents). None: it cannot."""
