"""The compiled part of frazil.profile."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from typing import (
    Any,
)

__all__ = ["machine", "start", "stop", "trace_events"]

def machine() -> tuple[builtins.float, builtins.float]:
    """Bytes a second that memory gives, and f32 operations a second, on all threads: measured."""

def start(most: builtins.int, /) -> None:
    """Begins a profile of all threads, of at most so many events each."""

def stop() -> dict[str, Any]:
    """Ends the profile: its threads' events and memory, and what the plans are made of."""

def trace_events(about: dict[str, str], rows: list[tuple[Any, ...]], /) -> str:
    """Spans and counters as JSON for Perfetto."""
