"""The compiled part of frazil.program."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from collections.abc import Sequence
from os import PathLike
from typing import (
    Any,
)

from frazil._frazil import Tensor

__all__ = [
    "about",
    "branch",
    "call",
    "choose",
    "chooses",
    "chosen",
    "explain",
    "learnt",
    "load_program",
    "make_program",
    "put_back",
    "stats",
    "texts_of",
    "value_of",
]

def about(program: Any, /) -> dict[str, Any]:
    """What a program says of itself, and its tensors."""

def branch(number: Tensor, count: builtins.int, /) -> builtins.int:
    """Which of so many ways, by a number or as it was chosen."""

def call(program: Any, inputs: list[Any], tensors: list[Tensor], /) -> list[Tensor]:
    """One call, over lists of tensors."""

def choose(ways: Sequence[builtins.int], /) -> None:
    """From now on branches take these ways: tracer/choices.h."""

def chooses() -> builtins.bool:
    """Whether this thread's branches are written down."""

def chosen() -> list[tuple[builtins.int, builtins.int]]:
    """The ways since choose(), each of how many; data decide again."""

def explain(program: Any, /) -> str:
    """Every recording and plan, a line each."""

def learnt(traced: Any, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any:
    """What is known of a call: learnt_call.h."""

def load_program(path: str | PathLike[str], device: str | None, /) -> Any:
    """The program of a .frz file."""

def make_program(texts: tuple[str, str, str, str], tensors: dict[str, Tensor], /) -> Any:
    """A program of these and of its tensors by name."""

def put_back(tensor: Tensor, before: Tensor, /) -> None:
    """Undoes what was written to a tensor since `before`."""

def stats(program: Any, /) -> dict[str, builtins.int]:
    """Counts of calls and plans."""

def texts_of(program: Any, /) -> tuple[str, str, str, str]:
    """Its name, version, structure and text."""

def value_of(tensor: Tensor, /) -> builtins.int:
    """A number that tells contents of tensors apart while they live."""
