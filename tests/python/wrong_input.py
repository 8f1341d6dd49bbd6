"""Wrong calls, as text over a namespace m (frazil or NumPy) and its arrays; used by
test_wrong_input.py. `./dev python tests/python/wrong_input.py` writes wrong_input.txt anew: each
call with the exception that frazil raises.
"""

import sys
from pathlib import Path

import numpy as np

PAGE = Path(__file__).with_suffix(".txt")

ELEMENTWISE = (
    "abs acos acosh asin asinh atan atanh cbrt ceil cos cosh deg2rad exp exp2 expm1 floor isfinite "
    "isinf isnan log log10 log1p log2 logical_not negative rad2deg reciprocal round sign signbit "
    "sin sinh sqrt square tan tanh trunc"
).split()
BINARY = (
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign "
    "divide equal floor_divide fmax fmin fmod gcd greater greater_equal hypot lcm less less_equal "
    "logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal pow "
    "remainder subtract"
).split()
REDUCTIONS = (
    "all any argmax argmin count_nonzero max mean median min nanmax nanmean nanmin nansum prod ptp "
    "std sum var"
).split()
ALONG = "argsort cumsum cumprod flip sort".split()
INTEGERS = (
    "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd lcm".split()
)


def calls():
    for f in ELEMENTWISE:
        yield f"m.{f}()"
        yield f"m.{f}('a')" if f not in ("isnan", "logical_not") else f"m.{f}(x, foo=1)"
        yield f"m.{f}(x, foo=1)"
        yield f"m.{f}(object())"
    for f in BINARY:
        yield f"m.{f}(i23, i4)" if f in INTEGERS else f"m.{f}(x23, x4)"
        yield f"m.{f}(i23)"
        yield f"m.{f}(i23, i23, foo=1)"
        if f in INTEGERS:
            yield f"m.{f}(x, x)"
    for f in REDUCTIONS:
        yield f"m.{f}(x23, axis=2)"
        yield f"m.{f}(x23, axis=-3)"
        yield f"m.{f}(x23, axis='a')"
        yield f"m.{f}(x23, axis=1.5)"
        yield f"m.{f}(x23, foo=1)"
        if f not in ("argmax", "argmin"):
            yield f"m.{f}(x23, axis=(0, 0))"
            yield f"m.{f}(x23, axis=(0, 2))"
    for f in "max min argmax argmin ptp".split():
        yield f"m.{f}(m.zeros((0,)))"
        yield f"m.{f}(m.zeros((2, 0)), axis=1)"
    for f in ALONG:
        yield f"m.{f}(x23, axis=2)"
        yield f"m.{f}(x23, axis=-3)"
        yield f"m.{f}(x23, axis='a')"
        yield f"m.{f}(x23, foo=1)"
    yield from OTHERS


OTHERS = """
m.reshape(x23, (4, 2))
m.reshape(x23, (-1, -1))
m.reshape(x23, (-1, 4))
m.reshape(x23, 'a')
m.reshape(x23, (2.0, 3))
m.squeeze(x23, axis=0)
m.squeeze(x23, axis=2)
m.expand_dims(x23, axis=4)
m.expand_dims(x23, axis=-4)
m.permute_dims(x23, (0, 0))
m.permute_dims(x23, (0,))
m.permute_dims(x23, (0, 2))
m.swapaxes(x23, 0, 2)
m.moveaxis(x23, 0, 2)
m.moveaxis(x23, (0, 1), 0)
m.broadcast_to(x23, (2, 4))
m.broadcast_to(x23, (3,))
m.broadcast_to(x23, (-1, 3))
m.broadcast_arrays(x23, x4)
m.broadcast_shapes((2, 3), (4,))
m.concat([x23, x4])
m.concat([])
m.concat([x23, m.zeros((3, 3))], axis=1)
m.concat([x23, x23], axis=2)
m.stack([x23, x4])
m.stack([])
m.stack([x23, x23], axis=3)
m.vstack([x23, x4])
m.hstack([x23, m.zeros((3, 3))])
m.column_stack([x4, x])
m.split(x23, 2, axis=1)
m.split(x23, 2, axis=2)
m.split(x4, 3)
m.array_split(x4, 0)
m.unstack(x23, axis=2)
m.repeat(x4, -1)
m.repeat(x4, [1, 2])
m.repeat(x23, 2, axis=2)
m.tile(x4, (-1,))
m.roll(x23, 1, axis=2)
m.roll(x23, (1, 2), axis=(0, 1, 1))
m.rot90(x4)
m.rot90(x23, axes=(0, 0))
m.take(x4, 4)
m.take(x4, [0, -5])
m.take(x23, [0], axis=2)
m.take(x4, [0.5])
m.take_along_axis(x23, i4, axis=0)
m.take_along_axis(x23, m.zeros((2, 3)), axis=0)
m.searchsorted(x23, x4)
m.searchsorted(x4, 1.0, side='middle')
m.matmul(x23, x23)
m.matmul(x23, x4)
m.matmul(x23, 2.0)
m.vecdot(x4, x)
m.tensordot(x23, x4, axes=1)
m.tensordot(x23, x23, axes=3)
m.dot(x23, x23)
m.inner(x23, x4)
m.cross(x4, x4)
m.einsum('ij,jk->ik', x23, x23)
m.einsum('ij,jk', x23)
m.einsum('i->ii', x4)
m.einsum('ij->k', x23)
m.einsum('i,i', x4)
m.einsum('ijk', x23)
m.where(x23 > 0, x23, x4)
m.clip(x23, x4, 1.0)
m.trace(x4)
m.diagonal(x4)
m.diag(m.zeros((2, 2, 2)))
m.tril(m.asarray(1.0), 0, 0)
m.eye(-1)
m.zeros((-1, 2))
m.ones((2, -3))
m.full((-1,), 2.0)
m.zeros('a')
m.zeros((2.5,))
m.zeros(2, dtype='float31')
m.arange('a')
m.arange(0, 1, 0)
m.linspace(0, 1, -1)
m.linspace(0, 1, 2.5)
m.asarray([1, [2, 3]])
m.asarray(1.0, dtype='nothing')
x23[2]
x23[0, 3]
x23[0, 0, 0]
x23[0.5]
x23['a']
x23[..., ...]
x23[i4]
x23[x23 > 5, 0, 0]
x23[x4 > 0]
x23[[0, 5]]
x23.__setitem__(2, 1.0)
x23.__setitem__((0, 3), 1.0)
x23.__setitem__(0, x4)
x23.__setitem__('a', 1.0)
x23.__setitem__(slice(None), 'a')
x23.__setitem__((slice(None), 0), x4)
x23.astype('nothing')
x23.reshape(5)
x23 + x4
x23 @ x23
x23 + 'a'
x23 + None
x23 < 'a'
-m.asarray([True])
~x23
x23 & x23
x23 << 1
bool(x23)
int(x23)
float(x23)
len(m.asarray(1.0))
iter(m.asarray(1.0))
hash_of_index(x23)
x23.item()
m.diff(x4, n=-1)
m.diff(x23, axis=2)
m.gradient(m.asarray([1.0]))
m.interp(0.5, [0.0, 1.0], [0.0])
m.interp(0.5, [], [])
m.convolve([], [1.0])
m.convolve(x23, x4)
m.correlate([], [1.0])
m.cov(m.zeros((2, 2, 2)))
m.average(x4, weights=x)
m.average(x4, weights=m.zeros(4))
m.histogram(x4, bins=0)
m.histogram(x4, bins=[3, 2, 1])
m.histogram(x4, range=(2, 1))
m.bincount([-1, 2])
m.bincount(x4)
m.bincount(i23)
m.digitize(x4, [3.0, 1.0, 2.0])
m.quantile(x4, 1.5)
m.quantile(x4, -0.1)
m.percentile(x4, 101)
m.percentile(x4, 50, axis=1)
m.quantile(x4, 0.5, method='nothing')
m.median(x23, axis=5)
m.unravel_index(7, (2, 3))
m.ravel_multi_index(([2], [3]), (2, 3))
m.select([x4 > 0], [x4, x4])
m.select([], [])
m.piecewise(x4, [x4 > 0], [1, 2, 3])
m.piecewise(x4, [x4 > 0, x4 > 1], [1])
m.piecewise(x4, [m.zeros(3) > 0], [1])
m.choose(i4, [x4])
m.choose([5, 5, 5, 5], [x4, x4])
m.partition(x4, 4)
m.argpartition(x4, -5)
m.lexsort([])
m.meshgrid(x4, x4, indexing='xx')
m.kron('a', x4)
m.polyval('a', 1.0)
m.vander(x23)
m.nanargmax(m.asarray([m.nan]))
m.logspace(0, 1, -1)
m.geomspace(0, 1, 3)
m.triu(x23, 'a')
m.unique(x23, axis=2)
m.isclose(x23, x4)
m.allclose(x23, x4)
m.apply_along_axis(m.sum, 2, x23)
m.atleast_1d('a')
m.linalg.cholesky(x23)
m.linalg.cholesky(x4)
m.linalg.cholesky(m.asarray([[1.0, 2.0], [2.0, 1.0]]))
m.linalg.inv(x23)
m.linalg.inv(m.zeros((2, 2)))
m.linalg.inv(x4)
m.linalg.det(x23)
m.linalg.det(x4)
m.linalg.slogdet(x23)
m.linalg.solve(x23, x4)
m.linalg.solve(m.eye(3), x4)
m.linalg.solve(m.zeros((2, 2)), m.ones(2))
m.einsum('...i->i', x23)
m.einsum('...i,i->i', x23, m.ones(3))
m.searchsorted(x, 2.0, sorter=i4)
m.histogram(m.asarray([2**62]))
m.linalg.qr(x4)
m.linalg.qr(x23, mode='nothing')
m.linalg.svd(x4)
m.linalg.svdvals(x4)
m.linalg.eig(x23)
m.linalg.eigh(x23)
m.linalg.eigh(m.eye(2), UPLO='X')
m.linalg.eigvals(x4)
m.linalg.eigvalsh(x4)
m.linalg.pinv(x4)
m.linalg.matrix_power(x23, 2)
m.linalg.matrix_power(m.eye(2), 1.5)
m.linalg.matrix_power(m.zeros((2, 2)), -1)
m.linalg.matrix_norm(x4)
m.linalg.vector_norm(x23, axis=2)
m.linalg.norm(x23, ord='x')
m.linalg.norm(x4, ord='fro')
m.linalg.norm(x23, axis=(0, 2))
m.linalg.trace(x4)
m.linalg.diagonal(x4)
m.linalg.cross(x4, x4)
m.linalg.lstsq(x23, x4)
m.linalg.cond(x4)
m.linalg.multi_dot([x23])
m.fft.fft(x4, n=0)
m.fft.fft(x4, axis=1)
m.fft.fft(m.asarray(1.0))
m.fft.fft(x4, norm='x')
m.fft.ifft(m.zeros((0,)))
m.fft.rfft(x4 + 1j)
m.fft.irfft(m.zeros((0,)))
m.fft.fftn(x23, s=(2,), axes=(0, 1))
m.fft.fft2(x4)
m.fft.fftfreq(0)
m.fft.fftfreq(2.5)
m.fft.fftshift(x4, axes=1)
m.op(5)
m.op(name='a b')(abs)
m.op(body='c')(abs)
m.op(vjp=2)(abs)
m.op(batch='all')(abs)
m.op(lambda v: v)('a')
m.op(lambda v, k: v)(x4, k=x4)
m.op(lambda v: 'a')(x4)
m.op(shape=lambda v: ((2,), 'int8'))(lambda v: v)(x4)
m.op(shape=lambda v: v.shape)(lambda v: v)(x4)
m.grad(m.op(lambda v: v, name='f'))(2.0)
m.jvp(m.op(lambda v: v, name='f'), (2.0,), (1.0,))
m.vmap(m.op(lambda v: v, name='f'))(m.zeros((0, 2)))
""".strip().splitlines()


def names(m):
    return {
        "m": m,
        "x": m.asarray([1.0, 2.0]),
        "x4": m.asarray([1.0, 2.0, 3.0, 4.0]),
        "x23": m.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        "i4": m.asarray([0, 1, 2, 5]),
        "i23": m.asarray([[1, 2, 3], [4, 5, 6]]),
        "hash_of_index": lambda x: x.__index__(),
    }


def raised(call, m):
    """The exception, or None."""
    try:
        with np.errstate(all="ignore"):
            eval(call, names(m))
    except Exception as error:
        return error
    return None


def line(call, error):
    text = "no error" if error is None else f"{type(error).__name__}: {error}"
    return f"{call}  # {text}".replace("\n", " ")


if __name__ == "__main__":
    import frazil as fz

    lines = [line(call, raised(call, fz)) for call in dict.fromkeys(calls())]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for call in dict.fromkeys(calls()):
        ours, theirs = raised(call, fz), raised(call, np)
        if theirs is None and ours is None:
            print("neither:", call, file=sys.stderr)
        elif type(theirs).__name__ != type(ours).__name__ and not isinstance(theirs, type(ours)):
            print(f"{call}: {ours!r}; NumPy {theirs!r}", file=sys.stderr)
