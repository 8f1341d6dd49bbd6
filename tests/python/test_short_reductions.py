"""Reductions over a few elements, alone and fused, against the lane rule of SEMANTICS in NumPy."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

import frazil as fz

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-41, -1e-41, 3e38, -3e38]


def by_lanes(x, axis, op, identity):
    """Element j in lane j mod L, then halves; at most one chunk."""
    axis %= x.ndim
    lanes = 64 if axis == x.ndim - 1 else 8
    x = np.moveaxis(x, axis, -1)
    sums = np.full((*x.shape[:-1], lanes), identity, x.dtype)
    for j in range(x.shape[-1]):
        sums[..., j % lanes] = op(sums[..., j % lanes], x[..., j])
    while lanes > 1:
        lanes //= 2
        sums = op(sums[..., :lanes], sums[..., lanes:])
    return sums[..., 0]


def same(got, want):
    got = np.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    nan = np.isnan(want) if want.dtype.kind == "f" else np.zeros(want.shape, bool)
    assert (np.isnan(got) == nan).all() if want.dtype.kind == "f" else True
    assert np.where(nan, 0, got).tobytes() == np.where(nan, 0, want).tobytes()


def data(seed, shape, dtype):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape).astype(dtype)
    odd = rng.random(shape) < 0.1
    with np.errstate(over="ignore"):
        x[odd] = rng.choice(SPECIAL, odd.sum()).astype(dtype)
    return x


SHAPES = [(n, k) for n in (16, 33, 100) for k in (2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_reductions(dtype):
    with np.errstate(all="ignore"):
        for seed, (n, k) in enumerate(SHAPES):
            for shape, axis in (((n, k), 1), ((k, n), 0), ((3, n, k), 2), ((n, k, 2), 1)):
                x = data(seed, shape, dtype)
                for t in (
                    fz.asarray(x),
                    fz.asarray(np.ascontiguousarray(x.T)).T if x.ndim == 2 else fz.asarray(x),
                ):
                    same(fz.sum(t, axis=axis), by_lanes(x, axis, np.add, -0.0))
                    same(fz.prod(t, axis=axis), by_lanes(x, axis, np.multiply, 1.0))
                    assert np.array_equal(
                        fz.max(t, axis=axis), np.max(x, axis=axis), equal_nan=True
                    )
                    same(fz.argmax(t, axis=axis), np.argmax(x, axis=axis))
                    same(fz.argmin(t, axis=axis), np.argmin(x, axis=axis))
                    same(fz.any(t > 0, axis=axis), np.any(x > 0, axis=axis))
                    same(fz.sum(t > 0, axis=axis), np.sum(x > 0, axis=axis))


def pairwise(p, m):
    d = p[None, :, :] - p[:, None, :]
    w = m[None, :] / fz.sqrt(fz.sum(d * d, axis=-1) + 0.5)
    return fz.sum(d * w[:, :, None], axis=1)


def nearest(x, c):
    d = fz.sum((x[:, None, :] - c[None, :, :]) ** 2, axis=-1)
    return fz.argmin(d, axis=1), fz.min(d, axis=1)


def normed(x):
    e = fz.exp(x - fz.max(x, axis=1, keepdims=True))
    return e / fz.sum(e, axis=1, keepdims=True), fz.sum(e, axis=0)


def arguments(dtype):
    for n in (16, 40, 100):
        for k in (2, 3, 5, 10, 16):
            yield pairwise, (data(n, (n, k), dtype), data(k, (n,), dtype))
            yield nearest, (data(n, (n, k), dtype), data(k, (7, k), dtype))
            yield normed, (data(n, (n, k), dtype),)


def digest():
    parts = []
    for dtype in ("float32", "float16", "float64"):
        for f, arrays in arguments(dtype):
            args = [fz.asarray(a) for a in arrays]
            traced = fz.trace(f)
            results = [f(*args), traced(*args), traced(*args)]
            flat = [[np.asarray(y) for y in (r if isinstance(r, tuple) else (r,))] for r in results]
            for other in flat[1:]:
                for a, b in zip(flat[0], other, strict=True):
                    same(b, a)
            parts += [np.where(a != a, 0, a).tobytes() for a in flat[0]]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def test_fused_is_eager_everywhere():
    want = digest()
    for environment in (
        {"FRAZIL_ISA": "avx2"},
        {"FRAZIL_JIT": "interp"},
        {"FRAZIL_NUM_THREADS": "1"},
    ):
        out = subprocess.run(
            [sys.executable, __file__], env=os.environ | environment, capture_output=True, text=True
        )
        assert out.returncode == 0, out.stderr
        assert out.stdout.strip() == want, environment


if __name__ == "__main__":
    print(digest())
