"""The compiled part of frazil.npu."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from collections.abc import Sequence
from typing import (
    Any,
)

__all__ = [
    "account",
    "check",
    "command",
    "configure",
    "instructions",
    "report",
    "reset",
    "settings",
]

def account() -> tuple[Any, ...]:
    """What ran on the NPU, what on the CPU, bytes to and from the device."""

def check(name: str, /) -> None:
    """Raises if it names no device."""

def command(arguments: Sequence[str], /) -> tuple[builtins.int, str, str]:
    """frazil-npu: the exit status and both outputs."""

def configure(preset: str | None = ..., mode: Any = ...) -> None:
    """Chooses the NPU's parameters and mode."""

def instructions(kernel: builtins.int, format: str, /) -> str:
    """A kernel instruction by instruction."""

def report(format: str, /) -> str:
    """What ran, as text."""

def reset() -> None:
    """Forgets what ran."""

def settings() -> tuple[str, str]:
    """The preset as JSON, and the mode."""
