"""Memory of the CPU's storages, and of what the caches keep."""

from frazil._frazil import runtime as _runtime

__all__ = ["caches", "reset_peak", "stats", "trim"]

caches = _runtime.caches
stats = _runtime.memory_stats
reset_peak = _runtime.memory_reset_peak
trim = _runtime.memory_trim
