"""The compiled part of frazil.cuda."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from os import PathLike
from typing import (
    Any,
)

__all__ = [
    "compile_stats",
    "device_count",
    "memory_stats",
    "properties",
    "reset_peak_memory",
    "set_memory_limit",
    "set_wheel_folder",
    "trim",
    "versions",
]

def compile_stats() -> dict[str, Any]:
    """Kernels compiled, found on disk and found in memory, and launches that did not wait."""

def device_count() -> builtins.int:
    """How many GPUs the driver offers; 0 without a driver."""

def memory_stats(device: str | None = ..., /) -> dict[str, builtins.int]:
    """Bytes and counts of one GPU's memory."""

def properties(device: str | None = ..., /) -> dict[str, Any]:
    """What a GPU is, as a dict."""

def reset_peak_memory(device: str | None = ..., /) -> None:
    """peak_bytes starts again at live_bytes."""

def set_memory_limit(bytes: builtins.int, device: str | None = ..., /) -> None:
    """Arrays on the device may take so many bytes together; 0 or None: what it has."""

def set_wheel_folder(path: str | PathLike[str], /) -> None:
    """Where to look for NVIDIA's wheels."""

def trim(device: str | None = ..., /) -> None:
    """Gives memory that is kept and free back to the driver."""

def versions() -> dict[str, tuple[str | None, str]]:
    """{library: (version, why it is missing)}"""
