"""The compiled part of frazil.runtime."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from os import PathLike
from typing import (
    Any,
    SupportsIndex,
)

from frazil._frazil import DType, Tensor
from frazil._types import DTypeLike, Ints, Operand

__all__ = [
    "caches",
    "causes",
    "check_switches",
    "config",
    "count_in_bins",
    "cpu",
    "default_dtype",
    "detect_anomaly",
    "disk",
    "dtype",
    "end_anomaly",
    "get_num_threads",
    "kernels_run",
    "load_tensors",
    "memory_blocks",
    "memory_reset_peak",
    "memory_stats",
    "memory_trim",
    "precision",
    "precisions",
    "promote",
    "promote_scalar",
    "save_tensors",
    "set_num_threads",
    "set_process_dtype",
    "set_process_mode",
    "set_setting",
    "set_thread_dtype",
    "set_thread_mode",
    "synchronize",
    "write_file",
]

def _rebuild(
    dtype: str,
    shape: Ints,
    data: builtins.bytes,
    requires_grad: builtins.bool,
    grad: Tensor | None = ...,
    device: str | None = ...,
    marks: builtins.int = ...,
    /,
) -> Tensor:
    """A pickled tensor."""

def caches() -> dict[str, dict[str, builtins.int]]:
    """What the bounded caches keep: entries and bytes of each; of eager and kernels also hits, misses and evictions."""

def causes() -> dict[str, dict[str, str]]:
    """The table of causes that explain() and stats() name: kind and sentence."""

def check_switches() -> None:
    """Refuses environment variables that switches cannot have."""

def config() -> dict[str, dict[str, Any]]:
    """Every switch: its value, environment variable and meaning."""

def count_in_bins(x: Operand, edges: Operand, /) -> Tensor:
    """How many elements of floats lie in each of the bins of equal width between edges of their dtype, int64."""

def cpu() -> dict[str, builtins.bool]:
    """Instruction sets of core/cpu.h: whether this processor has each."""

def default_dtype() -> DType:
    """The dtype of Python floats on their own in this thread."""

def detect_anomaly(infinities: builtins.bool = ..., /) -> Any:
    """Looks at the results of this thread's calls from now on."""

def disk() -> dict[str, Any]:
    """Plans and machine code on disk: the file and its bytes; what this process found there (code, plans), left there (kept), refused; kernels that it compiled."""

def dtype(obj: Any, /) -> DType:
    """The dtype that an object names."""

def end_anomaly(scope: Any, /) -> None:
    """Ends what detect_anomaly() began."""

def get_num_threads() -> builtins.int:
    """How many threads kernels use."""

def kernels_run() -> builtins.int:
    """Kernel launches and library calls of this thread so far."""

def load_tensors(op: str, path: str | PathLike[str], /) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors by name of a safetensors file, and its metadata."""

def memory_blocks() -> list[tuple[builtins.int, builtins.int, builtins.int]]:
    """Blocks of over 4 KiB as (bytes, live, cached), what takes most first."""

def memory_reset_peak() -> None:
    """peak_bytes starts again at live_bytes."""

def memory_stats() -> dict[str, builtins.int]:
    """Bytes and counts of CPU storages."""

def memory_trim() -> None:
    """Gives cached blocks back to the operating system."""

def precision(name: str, /) -> str:
    """precision(name) in this thread; returns what it was."""

def precisions() -> dict[str, str]:
    """What precision() takes, and what it means."""

def promote(a: DTypeLike, b: DTypeLike, /) -> DType:
    """The common dtype of two dtypes."""

def promote_scalar(a: DTypeLike, scalar: builtins.complex, /) -> DType:
    """The dtype of an array beside a Python number."""

def save_tensors(
    op: str,
    path: str | PathLike[str],
    tensors: dict[str, Tensor],
    metadata: dict[str, str],
    told: Any,
    /,
) -> None:
    """Writes a safetensors file."""

def set_num_threads(n: SupportsIndex, /) -> None:
    """How many threads kernels use; results do not depend on it."""

def set_process_dtype(dtype: DTypeLike, /) -> DType:
    """The process's default dtype; returns what it was."""

def set_process_mode(mode: Any, /) -> builtins.int:
    """The process's mode; returns what it was."""

def set_setting(name: str, value: builtins.int, /) -> None:
    """Sets a number of config()."""

def set_thread_dtype(dtype: DTypeLike | None, /) -> DType | None:
    """This thread's default dtype, None: the process's; returns what it was."""

def set_thread_mode(mode: Any, /) -> builtins.int:
    """This thread's mode; returns what it was."""

def synchronize(device: str | None = ...) -> None:
    """Blocks until all results are ready."""

def write_file(op: str, path: str | PathLike[str], data: Any, told: Any, /) -> None:
    """Writes a file whole or not at all."""
