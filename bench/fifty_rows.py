"""The functions that bench/fifty.py times: what NumPy's users call most.

`make(rng, n, dtype)` gives a row's arrays, of about n elements in all. `run(m, *arrays)` calls the
library m; where a library does it otherwise, `others` has its form (None: it has no such function).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FEW = 16  # elements of the small size
STREAM = np.random.default_rng(1)  # NumPy's


def normal(rng, n, dtype):
    """Numbers of a normal distribution; integers between -n and n."""
    if dtype[0] == "i":
        return rng.integers(-n, n, n).astype(dtype)
    x = rng.standard_normal(n)
    return (x + 1j * rng.standard_normal(n) if dtype[0] == "c" else x).astype(dtype)


def one(rng, n, dtype):
    return (normal(rng, n, dtype),)


def two(rng, n, dtype):
    return normal(rng, n, dtype), normal(rng, n, dtype)


def positive(rng, n, dtype):
    return (np.abs(normal(rng, n, dtype)) + np.dtype(dtype).type(0.5),)


def square(rng, n, dtype):
    side = math.isqrt(n)
    return (normal(rng, side * side, dtype).reshape(side, side),)


def two_square(rng, n, dtype):
    return square(rng, n, dtype) + square(rng, n, dtype)


def vectors(rng, n, dtype):
    """Two whose outer product has n elements."""
    return two(rng, math.isqrt(n), dtype)


def factors(rng, n, dtype):
    """Factors whose running products stay in range."""
    return (np.exp(0.03 * rng.standard_normal(n)).astype(dtype),)


def masked(rng, n, dtype):
    return normal(rng, n, dtype), rng.random(n) < 0.5


def indexed(rng, n, dtype):
    return normal(rng, n, dtype), rng.integers(0, n, n)


def holes(rng, n, dtype):
    x = normal(rng, n, dtype)
    x[rng.random(n) < 0.1] = np.nan
    return (x,)


def counted(rng, n, dtype):
    return (rng.integers(0, min(n, 1000), n),)


def searched(rng, n, dtype):
    x, y = two(rng, n, dtype)
    return np.sort(x), y


def line(rng, n, dtype):
    """Places, and points of a line through up to a thousand."""
    points = np.sort(rng.random(min(n, 1000)))
    return tuple(x.astype(dtype) for x in (rng.random(n), points, rng.random(len(points))))


def matrix(rng, n, dtype, side):
    """A well conditioned one of a side that is given for many elements."""
    side = side if n > FEW else math.isqrt(FEW)
    return (rng.standard_normal((side, side)) + 4 * math.sqrt(side) * np.eye(side)).astype(dtype)


def system(rng, n, dtype):
    a = matrix(rng, n, dtype, 1000)
    return a, rng.standard_normal((len(a), 1)).astype(dtype)


def factored(rng, n, dtype):
    return (matrix(rng, n, dtype, 500),)


def symmetric(rng, n, dtype):
    a = matrix(rng, n, dtype, 500)
    return (a + a.T,)


def definite(rng, n, dtype):
    count, side = (1000, 16) if n > FEW else (1, 4)
    a = rng.standard_normal((count, side, side))
    return ((a @ a.mT + side * np.eye(side)).astype(dtype),)


def scattered(rng, n, dtype):
    """A sparse matrix, dense here, of as many rows as n's root, and a dense one with 16 columns."""
    side = math.isqrt(n)
    a = np.where(rng.random((side, side)) < 0.02, rng.standard_normal((side, side)), 0)
    a[0, 0] = 1
    return a.astype(dtype), rng.standard_normal((side, 16)).astype(dtype)


def extent(rng, n, dtype):
    """For functions that make an array: how large."""
    return (n,)


@dataclass
class Row:
    name: str
    run: Callable[..., Any]
    make: Callable[..., Any] = one
    dtypes: str = "f4"
    others: dict[str, Any] = field(default_factory=dict)  # library -> its form
    prepare: dict[str, Any] = field(default_factory=dict)  # library -> of its arrays what is called
    seen: Callable[[Any], Any] | None = None  # what of a result is compared: not signs of vectors
    compiled: bool = True  # by JAX: not where the result's shape depends on data


def torch(form):
    return {"torch": form}


def moments(x):
    """Of random numbers."""
    x = np.asarray(x)
    return np.array([x.mean() > -0.5, x.mean() < 0.5, x.std() > 0.3, x.std() < 2])


def sparse_of(name):
    """The first array as a library's sparse matrix."""

    def prepare(m, a, b):
        if name == "numpy":
            from scipy.sparse import csr_array  # noqa: PLC0415

            return csr_array(a), b
        if name == "frazil":
            from scipy.sparse import csr_array  # noqa: PLC0415

            return m.sparse.csr_array(csr_array(np.asarray(a))), b
        if name == "jax":
            from jax.experimental.sparse import BCSR  # noqa: PLC0415

            return BCSR.fromdense(a), b
        return a.to_sparse_csr(), b

    return prepare


NONE = torch(None)
LIBRARIES = ("frazil", "numpy", "torch", "jax")

ELEMENTWISE = [
    Row("add", lambda m, x, y: x + y, two, "f4 f8 i8 c8"),
    Row("multiply", lambda m, x, y: x * y, two, "f4 c8"),
    Row("divide", lambda m, x, y: x / y, two, "f4 c8"),
    Row("maximum", lambda m, x, y: m.maximum(x, y), two),
    Row("square", lambda m, x: x**2),
    Row("power", lambda m, x: x**3),
    Row("sqrt", lambda m, x: m.sqrt(x), positive),
    Row("exp", lambda m, x: m.exp(x), dtypes="f4 f8 c8"),
    Row("log", lambda m, x: m.log(x), positive, "f4 f8"),
    Row("sin", lambda m, x: m.sin(x), dtypes="f4 f8"),
    Row("abs", lambda m, x: m.abs(x), dtypes="f4 c8"),
    Row("round", lambda m, x: m.round(x)),
    Row("clip", lambda m, x: m.clip(x, -1, 1)),
    Row("where", lambda m, x, c: m.where(c, x, 0), masked),
    Row("isnan", lambda m, x: m.isnan(x), holes),
    Row("nan_to_num", lambda m, x: m.nan_to_num(x), holes),
]

REDUCTIONS = [
    Row("sum", lambda m, x: m.sum(x), dtypes="f4 f8 i8"),
    Row("sum axis 0", lambda m, x: m.sum(x, axis=0), square),
    Row("mean", lambda m, x: m.mean(x)),
    Row("max", lambda m, x: m.max(x)),
    Row("min", lambda m, x: m.min(x), dtypes="i8"),
    Row("argmax", lambda m, x: m.argmax(x)),
    Row("std", lambda m, x: m.std(x), others=torch(lambda m, x: m.std(x, correction=0))),
    Row("var", lambda m, x: m.var(x), others=torch(lambda m, x: m.var(x, correction=0))),
    Row("any", lambda m, x: m.any(x), lambda rng, n, dtype: (np.zeros(n, bool),)),
    Row("all", lambda m, x: m.all(x), lambda rng, n, dtype: (np.ones(n, bool),)),
    Row("norm", lambda m, x: m.linalg.norm(x)),
    # torch.median gives the lower of the two in the middle
    Row("median", lambda m, x: m.median(x), others=torch(lambda m, x: m.quantile(x, 0.5))),
    Row(
        "percentile",
        lambda m, x: m.percentile(x, 90),
        others=torch(lambda m, x: m.quantile(x, 0.9)),
    ),
    Row("matmul", lambda m, a, b: a @ b, two_square),
    Row("einsum", lambda m, a, b: m.einsum("ij,kj->ik", a, b), two_square),
    Row("outer", lambda m, x, y: m.outer(x, y), vectors),
]

ORDER = [
    Row(
        "cumsum",
        lambda m, x: m.cumsum(x),
        dtypes="f4 f8 i8",
        others=torch(lambda m, x: m.cumsum(x, 0)),
    ),
    Row("cumprod", lambda m, x: m.cumprod(x), factors, others=torch(lambda m, x: m.cumprod(x, 0))),
    Row("diff", lambda m, x: m.diff(x)),
    Row("sort", lambda m, x: m.sort(x), dtypes="f4 f8 i8", others=torch(lambda m, x: m.sort(x)[0])),
    Row("argsort", lambda m, x: m.argsort(x, stable=True), dtypes="f4 i8"),
    Row("partition", lambda m, x: m.partition(x, len(x) // 2)[len(x) // 2], others=NONE),
    Row(
        "topk",
        lambda m, x: m.topk(x, 10)[0],
        others={
            "numpy": lambda m, x: m.sort(x[m.argpartition(x, -10)[-10:]])[::-1],
            "jax": lambda m, x: m.lax.top_k(x, 10)[0],
        },
    ),
    Row("unique", lambda m, x: m.unique(x), dtypes="f4 i8", compiled=False),
    Row("searchsorted", lambda m, x, y: m.searchsorted(x, y), searched),
    Row("bincount", lambda m, x: m.bincount(x), counted, compiled=False),
    # an element may lie beside an edge that is rounded otherwise
    Row("histogram", lambda m, x: m.histogram(x, 100)[0], seen=lambda r: np.asarray(r, "f8")),
    Row("interp", lambda m, x, xp, fp: m.interp(x, xp, fp), line, others=NONE),
]

MOVED = [
    Row(
        "transpose, copy",
        lambda m, x: m.copy(x.T),
        square,
        others={"torch": lambda m, x: x.T.contiguous(), "numpy": lambda m, x: m.copy(x.T, "C")},
    ),
    Row("reshape", lambda m, x: m.reshape(x, (4, -1))),
    Row("concatenate", lambda m, x, y: m.concatenate((x, y)), two),
    Row("stack", lambda m, x, y: m.stack((x, y)), two),
    Row("x[indices]", lambda m, x, i: x[i], indexed),
    Row("x[mask]", lambda m, x, c: x[c], masked, compiled=False),
    Row("roll", lambda m, x: m.roll(x, 3)),
    Row(
        "repeat", lambda m, x: m.repeat(x, 3), others=torch(lambda m, x: m.repeat_interleave(x, 3))
    ),
    Row("tile", lambda m, x: m.tile(x, 3), others=torch(lambda m, x: m.tile(x, (3,)))),
    # NumPy's is a view
    Row(
        "flip",
        lambda m, x: m.flip(x),
        others={"numpy": lambda m, x: m.flip(x).copy()} | torch(lambda m, x: m.flip(x, (0,))),
    ),
    Row(
        "pad",
        lambda m, x: m.pad(x, ((1, 1), (1, 1))),
        square,
        others=torch(lambda m, x: m.nn.functional.pad(x, (1, 1, 1, 1))),
    ),
    Row("arange", lambda m, n: m.arange(n, dtype=m.int64), extent),
    Row("linspace", lambda m, n: m.linspace(0, 1, n, dtype=m.float32), extent),
    Row("zeros", lambda m, n: m.zeros(n, dtype=m.float32), extent),
    Row("ones", lambda m, n: m.ones(n, dtype=m.float32), extent),
]

MATHEMATICS = [
    Row(
        "random normal",
        lambda m, n: m.random.normal((n,)),
        extent,
        others={
            "numpy": lambda m, n: STREAM.standard_normal(n, "f4"),
            "torch": lambda m, n: m.randn(n),
            "jax": lambda m, n: m.random.normal(m.random.key(0), (n,), "f4"),
        },
        seen=moments,
    ),
    Row("fft", lambda m, x: m.fft.fft(x), dtypes="c8"),
    Row("fft2", lambda m, x: m.fft.fft2(x), square, "c8"),
    Row("rfft2", lambda m, x: m.fft.rfft2(x), square),
    Row("solve", lambda m, a, b: m.linalg.solve(a, b), system, "f4 f8"),
    Row("svd", lambda m, a: m.linalg.svd(a), factored, seen=lambda r: r[1]),
    Row("eigh", lambda m, a: m.linalg.eigh(a), symmetric, seen=lambda r: r[0]),
    Row("cholesky", lambda m, a: m.linalg.cholesky(a), definite),
    Row(
        "sparse @ dense",
        lambda m, a, b: a @ b,
        scattered,
        prepare={name: sparse_of(name) for name in LIBRARIES},
    ),
]

ROWS = ELEMENTWISE + REDUCTIONS + ORDER + MOVED + MATHEMATICS
