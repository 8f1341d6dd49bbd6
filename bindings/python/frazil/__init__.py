"""Eager tensors, automatic differentiation and tracing into fused kernels."""

from frazil._frazil import __version__

__all__ = ["__version__"]
