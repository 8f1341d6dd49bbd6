"""NVIDIA GPUs: what is there, its memory, and what was compiled for it.

Tensors live on one with ``device="cuda"`` or ``"cuda:1"``; everything follows. The driver, NVRTC
and cuBLASLt are opened at first use: ``pip install frazil[cuda]`` brings the latter two.

Here: `is_available`, `device_count`, `properties` and `versions` tell what is there;
`memory_stats`, `reset_peak_memory`, `set_memory_limit` and `trim` are of its memory,
`compile_stats` of what was compiled; `synchronize` waits.

>>> import frazil as fz
>>> fz.cuda.is_available() == (fz.cuda.device_count() > 0)
True
"""

from __future__ import annotations

from frazil._frazil import cuda as _cuda
from frazil._frazil.runtime import synchronize as _synchronize

__all__ = [
    "compile_stats",
    "device_count",
    "is_available",
    "memory_stats",
    "properties",
    "reset_peak_memory",
    "set_memory_limit",
    "synchronize",
    "trim",
    "versions",
]

compile_stats = _cuda.compile_stats
device_count = _cuda.device_count
memory_stats = _cuda.memory_stats
properties = _cuda.properties
reset_peak_memory = _cuda.reset_peak_memory
set_memory_limit = _cuda.set_memory_limit
trim = _cuda.trim


def is_available() -> bool:
    """Whether a tensor may be put on ``"cuda"``.

    Returns
    -------
    bool
        `versions` says what is missing.
    """
    found = _cuda.versions()
    return device_count() > 0 and found["nvrtc"][0] is not None


def synchronize(device: str | None = None) -> None:
    """Waits for all work queued on a GPU, by default on all; raises what went wrong there.

    Parameters
    ----------
    device : str, optional
    """
    _synchronize(device)


def versions() -> dict[str, str]:
    """The libraries in use, by name: "driver", "nvrtc", "cublasLt", "nccl".

    Returns
    -------
    dict of str to str
        A version such as "12.9", or a sentence that says why the library is missing.
    """
    return {name: version or why for name, (version, why) in _cuda.versions().items()}
