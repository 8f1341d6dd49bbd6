"""Random numbers: those of NumPy's legacy stream of a seed, the same at every call, as in ONNX's
reference implementation; without a seed those of fz.random.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import frazil as fz
from frazil.onnx._table import converts
from frazil.onnx._values import Host, dtype_of


def _seeded(seed: Any) -> Any:
    return np.random.RandomState(int(abs(float(seed))) % 2**32)


def uniform(shape: Any, seed: Any, dtype: str) -> Any:
    """Numbers from 0 up to 1."""
    if seed is None:
        return fz.random.uniform(tuple(shape), dtype=dtype)
    return fz.asarray(_seeded(seed).uniform(0.0, 1.0, tuple(shape)), dtype=dtype)


def _normal(shape: Any, seed: Any, dtype: str) -> Any:
    if seed is None:
        return fz.random.normal(tuple(shape), dtype=dtype)
    return fz.asarray(_seeded(seed).normal(0.0, 1.0, tuple(shape)), dtype=dtype)


def _like(x: Any, dtype: int | None) -> tuple[Any, str]:
    own = x.dtype if isinstance(x, Host) else x.dtype.name
    return x.shape, own if dtype is None else dtype_of(dtype)


def _drawn(fn: Any, shape: Any, seed: Any, dtype: str) -> Any:
    wide = "float32" if dtype in ("float16", "bfloat16") else dtype
    return fn(shape, seed, wide)


@converts("RandomUniform", random=True)
def random_uniform(
    *, shape: Any, dtype: int = 1, high: float = 1.0, low: float = 0.0, seed: Any = None
) -> Any:
    own = dtype_of(dtype)
    return (_drawn(uniform, shape, seed, own) * (high - low) + low).astype(own)


@converts("RandomUniformLike", raw="x", random=True)
def random_uniform_like(
    x: Any, *, dtype: int | None = None, high: float = 1.0, low: float = 0.0, seed: Any = None
) -> Any:
    shape, own = _like(x, dtype)
    return (_drawn(uniform, shape, seed, own) * (high - low) + low).astype(own)


@converts("RandomNormal", random=True)
def random_normal(
    *, shape: Any, dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: Any = None
) -> Any:
    own = dtype_of(dtype)
    return (_drawn(_normal, shape, seed, own) * scale + mean).astype(own)


@converts("RandomNormalLike", raw="x", random=True)
def random_normal_like(
    x: Any, *, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0, seed: Any = None
) -> Any:
    shape, own = _like(x, dtype)
    return (_drawn(_normal, shape, seed, own) * scale + mean).astype(own)


@converts("Bernoulli", 15, random=True)
def bernoulli(x: Any, *, dtype: int | None = None, seed: Any = None) -> Any:
    drawn = _drawn(uniform, x.shape, seed, x.dtype.name)
    return (drawn < x).astype(x.dtype if dtype is None else dtype_of(dtype))


@converts("Multinomial", 7, random=True)
def multinomial(x: Any, *, dtype: int = 6, sample_size: int = 1, seed: Any = None) -> Any:
    """Classes of logits (rows), drawn by the largest sum with Gumbel noise."""
    rows, classes = x.shape
    u = _drawn(uniform, (rows, sample_size, classes), seed, x.dtype.name)
    noise = -fz.log(-fz.log(fz.maximum(u, 1e-30)))
    return fz.argmax(x[:, None] + noise, axis=-1).astype(dtype_of(dtype))
