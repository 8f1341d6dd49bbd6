"""Memory of the CPU's storages."""

from frazil._frazil import runtime as _runtime

__all__ = ["reset_peak", "stats", "trim"]

stats = _runtime.memory_stats
reset_peak = _runtime.memory_reset_peak
trim = _runtime.memory_trim
