"""The conformance cases: every row of the op table, every dtype it takes, several layouts.

A case is (name, inputs as NumPy arrays in a wide type, call on frazil, reference in NumPy, bound).
Used by worker.py, which runs them on one executor, and by test_conformance.py, which compares.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = SIGNED + UNSIGNED
ALL = ("bool", *INTS, *FLOATS)
TYPE_SETS = {
    "any": ALL,
    "bool_or_number": ALL,
    "number": INTS + FLOATS,
    "float": FLOATS,
    "int": INTS,
    "bits": ("bool", *INTS),
    "bool": ("bool",),
    "complex": ("complex64", "complex128"),
}
SPECIALS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    -np.nan,
    6e-8,
    -6e-8,
    65504.0,
    1e-38,
    3e38,
]


@dataclass
class Case:
    name: str
    row: str
    dtype: str
    inputs: list  # arrays; dtype names beside them
    dtypes: list
    layout: str
    call: Callable  # frazil module, tensors -> tensor
    reference: Callable | None  # arrays (float64 or integers) -> array
    ulp: float = 0.0
    scale: Callable | None = None  # what the units of the last place refer to, if not the result


def rng_for(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def random_array(rng, dtype, shape, lo, hi):
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in INTS:
        info = np.iinfo(dtype)
        small = rng.integers(max(info.min, -20), 20, shape, dtype=dtype, endpoint=True)
        wide = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        edge = rng.choice(np.array([info.min, info.max, 0, 1], dtype), shape)
        pick = rng.integers(0, 8, shape)
        return np.where(pick == 0, edge, np.where(pick < 3, wide, small)).astype(dtype)
    return round_to(rng.uniform(lo, hi, shape), dtype)


def round_to(a, dtype):
    """Float values representable in dtype, held in float64."""
    if dtype == "float64":
        return np.asarray(a, np.float64)
    if dtype == "bfloat16":
        bits = np.asarray(a, np.float32).view(np.uint32)
        return (bits & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)
    with np.errstate(over="ignore"):
        return np.asarray(a).astype(dtype).astype(np.float64)


# Shapes and how each input is laid out: a name, and per input a function from (make) to an array.
ELEMENTWISE_LAYOUTS = {
    "contiguous": ([(7, 33)] * 3, "plain"),
    "tail": ([(1037,)] * 3, "plain"),
    "strided": ([(14, 66)] * 3, "every-second"),
    "transposed": ([(33, 7)] * 3, "transposed"),
    "reversed": ([(70,)] * 3, "reversed"),
    "broadcast": ([(7, 1), (33,), (1, 33)], "plain"),
    "0-d": ([()] * 3, "plain"),
    "empty": ([(0, 5)] * 3, "plain"),
    "special": ([(len(SPECIALS) ** 2,)] * 3, "special"),
}


def view(a, how):
    """The same view on a NumPy array and on a tensor."""
    if how == "every-second":
        return a[1::2, ::2]
    if how == "transposed":
        return a.T
    if how == "reversed":
        return a[::-1]
    return a


def special(dtype, which, count):
    n = len(SPECIALS)
    i = np.arange(count)
    values = np.array(SPECIALS)[(i // n if which else i) % n]
    if dtype == "bfloat16":  # made by a conversion, which leaves a NaN no sign
        values = np.where(np.isnan(values), np.nan, values)
    return round_to(values, dtype)


# Independent references, one for each elementwise row, over float64 or the integers themselves.
def floor_mod(a, b):
    with np.errstate(all="ignore"):
        return (
            np.where(b == 0, 0, np.remainder(a, b)) if a.dtype.kind in "iu" else np.remainder(a, b)
        )


def floor_div(a, b):
    with np.errstate(all="ignore"):
        return (
            np.where(b == 0, 0, np.floor_divide(a, b))
            if a.dtype.kind in "iu"
            else np.where(np.isinf(a) | np.isinf(b), np.floor(a / b), np.floor_divide(a, b))
        )


def shift(a, b, left):
    bits = a.dtype.itemsize * 8
    good = (b >= 0) & (b < bits)
    c = np.where(good, b, 0).astype(a.dtype)
    out = np.left_shift(a, c) if left else np.right_shift(a, c)
    rest = (
        np.zeros_like(a) if left or a.dtype.kind == "u" else np.where(a < 0, -1, 0).astype(a.dtype)
    )
    return np.where(good, out, rest)


def int_pow(a, b):
    a, b = np.broadcast_arrays(a, b)
    out = np.ones_like(a)
    for i in np.ndindex(a.shape):
        base, exponent, bits = int(a[i]), int(b[i]), a.dtype.itemsize * 8
        if exponent < 0:
            value = {1: 1, -1: 1 if exponent % 2 == 0 else -1}.get(base, 0)
        else:
            value = pow(base, exponent, 1 << bits)
        out[i] = (
            np.array(value & ((1 << bits) - 1), np.uint64).astype(f"uint{bits}").astype(a.dtype)
        )
    return out


def erf(a):
    from math import erf as one

    return np.vectorize(one, otypes=[np.float64])(a)


def np_sign(a):
    return np.sign(a)


def extreme(f):
    """NaN if either is NaN, and -0 below +0."""

    def g(a, b):
        if a.dtype.kind != "f":
            return (np.minimum if f == "min" else np.maximum)(a, b)
        m = (np.minimum if f == "min" else np.maximum)(a, b)
        negative = np.signbit(a) | np.signbit(b) if f == "min" else np.signbit(a) & np.signbit(b)
        return np.where((a == 0) & (b == 0), np.where(negative, -0.0, 0.0), m)

    return g


def wide(f):
    """With the bits of a long double, where it has more: NumPy's own vectorised functions of float64
    are 2 units off on some processors."""
    return lambda *a: f(*(x.astype(np.longdouble) if x.dtype == np.float64 else x for x in a))


WIDE = (
    "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 sin sinh tan tanh"
).split()
REFERENCE = {name: wide(getattr(np, name)) for name in WIDE}
REFERENCE |= {  # where NumPy has no function of that name, or another meaning
    "sign": np_sign,
    "erf": erf,
    "rsqrt": wide(lambda x: 1 / np.sqrt(x)),
    "sigmoid": wide(lambda x: 1 / (1 + np.exp(-x))),
    "round": np.rint,
    "floor_divide": floor_div,
    "remainder": floor_mod,
    "pow": lambda a, b: int_pow(a, b) if a.dtype.kind in "iu" else np.power(a, b),
    "maximum": extreme("max"),
    "minimum": extreme("min"),
    "bitwise_left_shift": lambda a, b: shift(a, b, True),
    "bitwise_right_shift": lambda a, b: shift(a, b, False),
}


def reference(name):
    return REFERENCE.get(name) or getattr(np, name)


def elementwise(row):
    for dtype in TYPE_SETS[row["types"]]:
        for layout, (shapes, how) in ELEMENTWISE_LAYOUTS.items():
            if how == "special" and dtype not in FLOATS:
                continue
            name = f"{row['name']}-{dtype}-{layout}"
            rng = rng_for(name)
            inputs, dtypes = [], []
            for i in range(row["arity"]):
                d = "bool" if row["name"] == "where" and i == 0 else dtype
                shape = shapes[i]
                if how == "special" and d != "bool":
                    a = special(d, i % 2, shape[0])
                else:
                    a = random_array(rng, d, shape, row["lo"], row["hi"])
                if row["name"].endswith("_shift") and i == 1:
                    a = rng.integers(-2 if dtype in SIGNED else 0, 70, shape).astype(dtype)
                if row["name"] == "pow" and i == 1 and dtype in INTS:
                    a = rng.integers(-2 if dtype in SIGNED else 0, 9, shape).astype(dtype)
                inputs.append(a)
                dtypes.append(d)
            loose = row["name"] in ("remainder", "floor_divide") and how == "special"
            yield Case(name, row["name"], dtype, inputs, dtypes, how,
                       lambda fz, *t, n=row["name"]: getattr(fz, n)(*t),
                       None if loose else reference(row["name"]), row["ulp"])  # fmt: skip


def casts(row):
    for source in ALL:
        for target in ALL:
            name = f"astype-{source}-{target}"
            rng = rng_for(name)
            a = random_array(rng, source, (517,), -300, 300)
            if source in FLOATS:
                a = np.concatenate(
                    [
                        a,
                        special(source, 0, len(SPECIALS)),
                        round_to([1e10, -1e10, 1e30, 0.5, 1.5, 2.5], source),
                    ]
                )
            yield Case(name, "astype", target, [a], [source], "plain",
                       lambda fz, x, t=target: fz.astype(x, getattr(fz, t)),
                       lambda a, s=source, t=target: cast_reference(a, s, t))  # fmt: skip


def cast_reference(a, source, target):
    if target == "bool":
        return a != 0
    if target in INTS:
        if source in FLOATS:
            info = np.iinfo(target)
            out = [
                0
                if np.isnan(v)
                else min(
                    max(int(v) if np.isfinite(v) else (info.max if v > 0 else info.min), info.min),
                    info.max,
                )
                for v in a.tolist()
            ]
            return np.array(out, target)
        return a.astype(target)
    return a  # rounded by the comparison


REDUCE_CASES = [
    ((5, 37), None), ((5, 37), 0), ((5, 37), 1), ((3, 5, 70), (0, 2)), ((3, 5, 70), (0, 1)), ((3, 5, 70), 1),
    ((130, 3), 0), ((4, 0), 1), ((0, 4), 0), ((), None), ((9001,), None), ((3, 9001), 1), ((9001, 3), 0),
    ((2, 3, 4, 5), (1, 3)), ((1, 64), 1), ((65,), 0),
]  # fmt: skip


def reductions(row):
    f = row["name"]
    for dtype in TYPE_SETS[row["types"]]:
        for number, (shape, axis) in enumerate(REDUCE_CASES):
            if f.startswith("arg") and isinstance(axis, tuple):
                continue
            if f in ("max", "min", "argmax", "argmin") and 0 in shape:
                continue
            for how in ("plain", "transposed") if len(shape) == 2 else ("plain",):
                name = f"{f}-{dtype}-{number}-{how}"
                a = random_array(rng_for(name), dtype, shape, row["lo"], row["hi"])
                if (
                    dtype in FLOATS
                    and f in ("max", "min", "argmax", "argmin")
                    and a.size > 3
                    and number % 2
                ):
                    a.reshape(-1)[rng_for(name).integers(0, a.size, 2)] = np.nan
                yield Case(name, f, dtype, [a], [dtype], how,
                           lambda fz, x, f=f, axis=axis: getattr(fz, f)(x, axis=axis),
                           lambda a, f=f, axis=axis: reduce_reference(a, f, axis),
                           row["ulp"] + (a.size / 64 if f == "prod" else 0), magnitude(f, axis))  # fmt: skip


def magnitude(f, axis):
    if f != "sum":
        return None
    return lambda a: np.sum(np.abs(a), axis=axis)


def reduce_reference(a, f, axis):
    if f in ("sum", "prod") and a.dtype.kind in "iub":
        with np.errstate(all="ignore"):
            return getattr(np, f)(
                a, axis=axis, dtype=np.uint64 if a.dtype.kind == "u" else np.int64
            )
    return getattr(np, f)(a, axis=axis)


def movement(row):
    m = row["name"]
    calls = {
        "reshape": [((6, 8), lambda x, m: m.reshape(x, (4, 12))), ((6, 8), lambda x, m: m.reshape(x.T, (3, 16)))],
        "permute_dims": [((3, 4, 5), lambda x, m: m.permute_dims(x, (2, 0, 1)))],
        "broadcast_to": [((4, 1), lambda x, m: m.broadcast_to(x, (3, 4, 5)))],
        "slice": [((9, 10), lambda x, m: x[1:8:3, ::-2]), ((9,), lambda x, m: x[7:2:-2]), ((9,), lambda x, m: x[5:5])],
        "concat": [((4, 6), lambda x, m: m.concat([x, x[:2], x[::-1]], axis=0)), ((4, 6), lambda x, m: m.concat([x, x.T.reshape((4, 6))], axis=1))],
        "pad": [((4, 6), lambda x, m: m.pad(x, ((1, 2), (0, 3))))],
        "take": [((5, 6), lambda x, m: m.take(x, m.asarray([4, 0, -1, 2]), axis=0)), ((5, 6), lambda x, m: m.take(x, m.asarray([[5, 1], [0, 0]]), axis=1))],
        "put": [((5, 6), put_rows), ((5, 6), put_places)],
    }[m]  # fmt: skip
    for dtype in ALL:
        for number, (shape, call) in enumerate(calls):
            for how in ("plain", "every-second") if len(shape) == 2 else ("plain",):
                name = f"{m}-{dtype}-{number}-{how}"
                full = (
                    tuple(2 * n + 1 if i == 0 else 2 * n for i, n in enumerate(shape))
                    if how != "plain"
                    else shape
                )
                a = random_array(rng_for(name), dtype, full, -100, 100)
                yield Case(name, m, dtype, [a], [dtype], how, lambda fz, x, c=call: c(x, fz),
                           lambda a, c=call: c(a, np))  # fmt: skip


def put_rows(x, m):
    out = m.asarray(x, copy=True)
    out[m.asarray([3, 1])] = x[:2]
    out[2, 1:3] = x[0, :2]
    return out


def put_places(x, m):
    """Several axes at once, a part of an axis, and where a mask is true."""
    out = m.asarray(x, copy=True)
    out[m.asarray([4, 0, -1]), m.asarray([[1], [-2]])] = x[0, :3]
    out[1:3, m.asarray([5, 5, 0])] = x[3:, :3]
    mask = m.asarray([[True, False, True] * 2] * 5)
    out[mask[:, 0], 2] = x[0, 0]
    out[mask] = m.reshape(x, (-1,))[:20]
    out[:, mask[0]] = x[0, 1]
    return out


ORDER_SHAPES = [((7,), 0), ((1,), 0), ((0,), 0), ((5, 37), 1), ((37, 5), 0), ((300,), 0), ((2, 65, 3), 1),
                ((5000,), 0)]  # fmt: skip


def orders(row):
    """Sorting: equal elements, both zeros and NaN among them."""
    f = row["name"]
    for dtype in TYPE_SETS[row["types"]]:
        for number, (shape, axis) in enumerate(ORDER_SHAPES):
            for how in ("plain", "transposed") if len(shape) == 2 else ("plain",):
                name = f"{f}-{dtype}-{number}-{how}"
                rng = rng_for(name)
                a = random_array(rng, dtype, shape, row["lo"], row["hi"])
                if dtype in FLOATS and a.size:
                    flat = a.reshape(-1)
                    flat[rng.integers(0, a.size, a.size // 3)] = rng.choice(
                        SPECIALS[:7], a.size // 3
                    )
                yield Case(name, f, dtype, [a], [dtype], how,
                           lambda fz, x, axis=axis: getattr(fz, f)(x, axis=axis),
                           lambda a, axis=axis: getattr(np, f)(a, axis=axis, stable=True))  # fmt: skip
                yield Case(f"{name}-descending", f, dtype, [a], [dtype], how,
                           lambda fz, x, axis=axis: getattr(fz, f)(x, axis=axis, descending=True), None)  # fmt: skip


def positions(row):
    """A mask's, by nonzero: with few that are true, many, none and all."""
    for number, (shape, share) in enumerate([((7,), 0.5), ((1000,), 0.01), ((1000,), 0.9), ((40_000,), 0.5), ((9, 130), 0.5),
                                             ((3, 5, 4), 0.3), ((70,), 0.0), ((70,), 1.0), ((0,), 1.0), ((4, 0), 1.0)]):  # fmt: skip
        for how in ("plain", "transposed") if len(shape) == 2 else ("plain",):
            name = f"positions-{number}-{how}"
            a = rng_for(name).random(shape) < share
            yield Case(name, row["name"], "bool", [a], ["bool"], how,
                       lambda fz, x: fz.stack(fz.nonzero(x)), lambda a: np.stack(np.nonzero(a)))  # fmt: skip


def scans(row):
    """Running sums and products; the reference has more bits where there are any."""
    f = row["name"]
    shapes = [((7,), 0), ((64,), 0), ((65,), 0), ((0,), 0), ((4500,), 0), ((3, 70), 1), ((70, 3), 0), ((2, 130, 5), 1),
              ((130, 70), 0), ((6, 12), 1)]  # fmt: skip
    for dtype in TYPE_SETS[row["types"]]:
        for number, (shape, axis) in enumerate(shapes):
            for how in ("plain", "transposed") if len(shape) == 2 else ("plain",):
                name = f"{f}-{dtype}-{number}-{how}"
                a = random_array(rng_for(name), dtype, shape, row["lo"], row["hi"])
                if f == "cumulative_prod" and dtype in FLOATS:
                    a = round_to(1 + (a - 1) / 64, dtype)
                yield Case(name, f, dtype, [a], [dtype], how,
                           lambda fz, x, axis=axis: getattr(fz, f)(x, axis=axis),
                           lambda a, axis=axis: scan_reference(a, f, axis),
                           row["ulp"] + (shape[axis] if f == "cumulative_prod" else 0),
                           lambda a, axis=axis: np.cumsum(np.abs(a), axis=axis) if f == "cumulative_sum" else np.float64(4))  # fmt: skip


def scan_reference(a, f, axis):
    accumulate = np.cumsum if f == "cumulative_sum" else np.cumprod
    if a.dtype.kind in "iu":
        with np.errstate(all="ignore"):
            return accumulate(a, axis=axis, dtype=np.uint64 if a.dtype.kind == "u" else np.int64)
    return accumulate(a, axis=axis)


def matmuls(row):
    shapes = [((3, 5), (5, 7)), ((65, 33), (33, 70)), ((2, 3, 5, 4), (2, 1, 4, 6)), ((1, 300), (300, 1)), ((3, 0), (0, 4)),
              ((17, 4100), (4100, 3)), ((5,), (5,)), ((4, 5), (5,))]  # fmt: skip
    for dtype in TYPE_SETS[row["types"]]:
        for number, (sa, sb) in enumerate(shapes):
            for how in ("plain", "transposed") if len(sa) == len(sb) == 2 else ("plain",):
                name = f"matmul-{dtype}-{number}-{how}"
                rng = rng_for(name)
                if how == "transposed":
                    sa, sb = sa[::-1], sb[::-1]
                a, b = (random_array(rng, dtype, s, -1, 1) for s in (sa, sb))
                yield Case(name, "matmul", dtype, [a, b], [dtype, dtype], how, lambda fz, x, y: fz.matmul(x, y),
                           np.matmul, row["ulp"], lambda a, b: np.abs(a) @ np.abs(b))  # fmt: skip


def attend(q, k, v, causal, scale):
    """(results, weights) in the type of the arguments."""
    scores = q @ np.swapaxes(k, -1, -2) * scale
    if causal:
        n, m = scores.shape[-2:]
        scores = np.where(np.arange(m) <= np.arange(n)[:, None] + m - n, scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    return p @ v, p


def attend_gradients(q, k, v, causal, scale):
    """Of the sum of squares of results, with respect to q, k and v, one after the other."""
    out, p = attend(q, k, v, causal, scale)
    g = 2 * out
    ds = p * (g @ np.swapaxes(v, -1, -2) - (g * out).sum(-1, keepdims=True)) * scale
    parts = (ds @ k, np.swapaxes(ds, -1, -2) @ q, np.swapaxes(p, -1, -2) @ g)
    return np.concatenate([x.reshape(-1) for x in parts])


ATTENTION_SHAPES = [
    ((3, 4), (5, 4), (5, 2), False), ((4, 6, 4), (7, 4), (4, 7, 3), False), ((2, 70, 16), (2, 130, 16), (2, 130, 8), False),
    ((2, 3, 65, 8), (2, 1, 65, 8), (3, 65, 8), True), ((100, 8), (40, 8), (40, 4), False), ((10, 8), (100, 8), (100, 8), True),
]  # fmt: skip


def attentions(row):
    gradient = row["class"] == "attention_grad"

    def call(fz, q, k, v, causal):
        f = lambda q, k, v: fz.nn.attention(q, k, v, causal=causal, scale=0.3)  # noqa: E731
        if not gradient:
            return f(q, k, v)
        grads = fz.grad(lambda *x: fz.sum(fz.square(f(*x))), argnums=(0, 1, 2))(q, k, v)
        return fz.concat([g.reshape(-1) for g in grads])

    def reference(q, k, v, causal):
        if not gradient:
            return attend(q, k, v, causal, 0.3)[0]
        return attend_gradients(q, k, v, causal, 0.3)

    for dtype in FLOATS:
        for number, (*shapes, causal) in enumerate(ATTENTION_SHAPES):
            broadcast = len({s[:-2] for s in shapes}) > 1
            if gradient and broadcast:
                continue  # sums of gradients over batches: tests/gradients
            name = f"{row['name']}-{dtype}-{number}"
            inputs = [
                random_array(rng_for(name + str(i)), dtype, s, -1, 1) for i, s in enumerate(shapes)
            ]
            narrow = gradient and dtype in (
                "float16",
                "bfloat16",
            )  # results round before the square
            yield Case(name, row["name"], dtype, inputs, [dtype] * 3, "plain",
                       lambda fz, q, k, v, c=causal: call(fz, q, k, v, c),
                       None if narrow else lambda q, k, v, c=causal: reference(q, k, v, c),
                       row["ulp"], lambda q, k, v: np.float64(1))  # fmt: skip


CONVOLUTIONS = [  # image, kernel, stride, padding, dilation
    ((2, 5, 6, 3), (3, 3, 3, 4), (1, 1), (1, 1), (1, 1)),
    ((1, 9, 8, 2), (3, 2, 2, 5), (2, 3), (0, 2), (1, 2)),
    ((3, 4, 4, 17), (1, 1, 17, 33), (1, 1), (0, 0), (1, 1)),
    ((1, 33, 32, 4), (3, 3, 4, 2), (1, 1), (1, 1), (1, 1)),
]


def windows(x, kernel, stride, padding, dilation):
    """(n, out height, out width, kernel height, kernel width, channels)"""
    (ph, pw), (dh, dw) = padding, dilation
    x = np.pad(x, ((0, 0), (ph, ph), (pw, pw), (0, 0)))
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(x, spans, axis=(1, 2))
    return view[:, :: stride[0], :: stride[1], :, ::dh, ::dw].transpose(0, 1, 2, 4, 5, 3)


def sum_of_products(name, row, dtype, a, b, call, expected):
    """A case whose result is sums of products of two operands: they bound its error."""

    def bound(a, b):
        return expected(np.abs(a), np.abs(b))

    return Case(
        name,
        row["name"],
        dtype,
        [a, b],
        [dtype, dtype],
        "plain",
        call,
        expected,
        row["ulp"],
        bound,
    )


def convolutions(row):
    from frazil import nn

    for dtype in TYPE_SETS[row["types"]]:
        for number, (image, kernel, *steps) in enumerate(CONVOLUTIONS):
            for first in (False, True):
                name = f"{row['name']}-{dtype}-{number}-{'first' if first else 'last'}"
                rng = rng_for(name)
                x, w = (random_array(rng, dtype, s, -1, 1) for s in (image, kernel))
                if first:
                    x, w = x.transpose(0, 3, 1, 2).copy(), w.transpose(3, 2, 0, 1).copy()

                def call(fz, x, w, steps=steps, first=first):
                    stride, padding, dilation = steps
                    return nn.conv2d(x, w, stride=stride, padding=padding, dilation=dilation,
                                     layout="NCHW" if first else "NHWC")  # fmt: skip

                def expected(x, w, steps=steps, first=first, kernel=kernel):
                    if first:
                        x, w = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)
                    y = np.tensordot(windows(x, kernel[:2], *steps), w, 3)
                    return y.transpose(0, 3, 1, 2) if first else y

                yield sum_of_products(name, row, dtype, x, w, call, expected)


def weight_gradients(row):
    """The op that a gradient calls, by its own gradient: that of sum(conv2d(x, w) * g) to w."""
    for dtype in FLOATS:
        for number, (image, kernel, *steps) in enumerate(CONVOLUTIONS):
            name = f"{row['name']}-{dtype}-{number}"
            rng = rng_for(name)
            x = random_array(rng, dtype, image, -1, 1)
            out = windows(np.zeros(image), kernel[:2], *steps).shape[:3]
            g = random_array(rng, dtype, (*out, kernel[3]), -1, 1)

            def call(fz, x, g, steps=steps, kernel=kernel):
                from frazil import nn

                stride, padding, dilation = steps
                w = fz.zeros(kernel, dtype=x.dtype, device=x.device)
                return fz.grad(
                    lambda w: (
                        nn.conv2d(x, w, stride=stride, padding=padding, dilation=dilation) * g
                    ).sum()
                )(w)

            def expected(x, g, steps=steps, kernel=kernel):
                return np.tensordot(windows(x, kernel[:2], *steps), g, ((0, 1, 2), (0, 1, 2)))

            yield sum_of_products(name, row, dtype, x, g, call, expected)


def sources(row):
    if row["name"] == "iota":
        for dtype in INTS + FLOATS:
            yield Case(f"iota-{dtype}", "iota", dtype, [], [], "plain",
                       lambda fz, t=dtype: fz.arange(100, dtype=getattr(fz, t)), lambda: np.arange(100))  # fmt: skip
    else:
        for shape in ((7,), (3, 5), (0,)):
            yield Case(f"random_bits-{shape}", "random_bits", "uint32", [], [], "plain",
                       lambda fz, s=shape: (fz.random.seed(42), fz.random.integers(0, 2**32, s))[1],
                       lambda s=shape: philox_integers(42, s))  # fmt: skip


def philox_words(key, counter, n):
    """Philox 4x32-10 in plain integers (Salmon et al. 2011)."""
    words = []
    for block in range((n + 3) // 4):
        c0, c1 = (counter + block) & 0xFFFFFFFF, (counter + block) >> 32
        x = [c0, c1, 0, 0]
        k = [key & 0xFFFFFFFF, key >> 32]
        for _ in range(10):
            p0, p1 = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
            x = [
                (p1 >> 32) ^ x[1] ^ k[0],
                p1 & 0xFFFFFFFF,
                (p0 >> 32) ^ x[3] ^ k[1],
                p0 & 0xFFFFFFFF,
            ]
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        words += x
    return words[:n]


def philox_integers(key, shape):
    n = int(np.prod(shape))
    w = philox_words(key, 0, 2 * n)
    return np.array(
        [((w[2 * i] << 32) | w[2 * i + 1]) % 2**32 for i in range(n)], np.int64
    ).reshape(shape)


def transfers(row):
    for dtype in ALL:
        for layout in ("plain", "transposed"):
            name = f"{row['name']}-{dtype}-{layout}"
            x = random_array(rng_for(name), dtype, (5, 7), -10, 10)
            yield Case(name, row["name"], dtype, [x], [dtype], layout,
                       lambda fz, x: x.to_device("npu").to_device("cpu"), lambda a: a)  # fmt: skip


def collectives(row):
    """In a world of one; what several processes compute is of the suite `distributed`."""
    for dtype in ALL:
        for layout in ("plain", "transposed"):
            name = f"{row['name']}-{dtype}-{layout}"
            x = random_array(rng_for(name), dtype, (5, 7), -10, 10)

            def call(fz, x, waits=row["name"] == "collective_wait"):
                y = fz.distributed.all_reduce(x)
                if waits:  # behind the ops that come between
                    y = fz.where(x == x, y, fz.distributed.all_gather(x))
                return fz.distributed.broadcast(y)

            yield Case(name, row["name"], dtype, [x], [dtype], layout, call, lambda a: a)


# Functions of a namespace and two complex matrices, and their bound in units of the last place of
# the result's absolute value. NumPy's own functions of complex numbers are a few units off.
ON_PARTS = {
    "add": (lambda m, z, w: z + w, 1),
    "subtract": (lambda m, z, w: z - w, 1),
    "multiply": (lambda m, z, w: z * w, 2),
    "real-factor": (lambda m, z, w: z.real * w + z * 0.5, 2),
    "number": (lambda m, z, w: z * (1 - 2j) + 1j, 3),
    "divide": (lambda m, z, w: z / w, 4),
    "chain": (lambda m, z, w: (z * w - z) * w.conj() + z.imag, 8),
    "negative": (lambda m, z, w: -z, 0),
    "conj": (lambda m, z, w: m.conj(z), 0),
    "square": (lambda m, z, w: z**2, 2),
    "cube": (lambda m, z, w: z**-3, 16),
    "pow": (lambda m, z, w: m.pow(z, w), 60),
    "where": (lambda m, z, w: m.where(z.real > w.real, z, w), 0),
    "concat": (lambda m, z, w: m.concat([z, w[::-1]], axis=1), 0),
    "take": (lambda m, z, w: m.take(z, m.asarray([2, 0, -1]), axis=1), 0),
    "pad": (lambda m, z, w: m.pad(z, ((1, 0), (0, 2))), 0),
    "transpose": (lambda m, z, w: m.asarray(z.T, copy=True), 0),
    "reshape": (lambda m, z, w: m.reshape(z.T, (-1, 3)) * 1j, 1),
    "sum": (lambda m, z, w: m.sum(z, axis=1) + m.sum(w, axis=(0, 1)), 16),
    "mean": (lambda m, z, w: m.mean(z, axis=0), 16),
    "prod": (lambda m, z, w: m.prod(z, axis=0), 32),
    "cumulative_sum": (lambda m, z, w: m.cumulative_sum(z, axis=1), 32),
    "cumulative_prod": (lambda m, z, w: m.cumulative_prod(z[:, :5], axis=1), 32),
    "matmul": (lambda m, z, w: z @ w.T, 32),
} | {
    name: (lambda m, z, w, name=name: getattr(m, name)(z), 6)
    for name in ("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
                 "asin", "acos", "atan", "asinh", "acosh", "atanh", "sign", "reciprocal")
}  # fmt: skip


def as_parts(m, z):
    return m.stack([z.real, z.imag])


def parts(row):
    m = row["name"]
    for dtype in ("float32", "float64"):
        rng = rng_for(f"{m}-{dtype}")
        a, b, c, d = (random_array(rng, dtype, (6, 9), -3, 3) for _ in range(4))
        if m != "complex":
            part = lambda z, m=m: z.real if m == "real" else z.imag  # noqa: E731
            for how in ("plain", "transposed", "every-second", "reversed"):
                yield Case(f"{m}-{dtype}-{how}", m, dtype, [a, b], [dtype] * 2, how,
                           lambda fz, x, y, p=part: p(x + y * 1j)[1:, ::2] * 2,
                           lambda x, y, p=part: p(x + y * 1j)[1:, ::2] * 2)  # fmt: skip
            continue
        for name, (f, bound) in ON_PARTS.items():
            reference = lambda x, y, u, v, f=f: f(np, x + 1j * y, u + 1j * v)  # noqa: E731
            yield Case(f"{m}-{dtype}-{name}", m, dtype, [a, b, c, d], [dtype] * 4, "plain",
                       lambda fz, x, y, u, v, f=f: as_parts(fz, f(fz, x + y * 1j, u + v * 1j)),
                       lambda *p, r=reference: as_parts(np, r(*p)), bound,
                       lambda *p, r=reference: np.abs(r(*p)))  # fmt: skip


def adjoint(m, a):
    return m.conj(m.matrix_transpose(a))


def shifted(m, a):
    """a with a strong diagonal: far from singular."""
    eye = np.eye(a.shape[-1]).astype(str(a.dtype).split(".")[-1])
    return a + 4 * m.asarray(eye, device=a.device)


def definite(m, a):
    return shifted(m, a @ adjoint(m, a))


def product_of(m, parts):
    return (parts[0] * parts[1][..., None, :]) @ parts[2]


# Of matrices in the namespaces fz and NumPy: functions of a that no choice of signs changes.
LAPACK = {
    "cholesky_factor": [lambda m, a: m.linalg.cholesky(definite(m, a)),
                        lambda m, a: m.linalg.cholesky(definite(m, a), upper=True)],
    "lu_factor": [lambda m, a: m.linalg.solve(shifted(m, a), a[..., :2])],
    "lu_solve": [lambda m, a: m.linalg.solve(shifted(m, a), a),
                 lambda m, a: m.linalg.solve(shifted(m, a), a[..., :, 0][..., None])],
    "triangular_solve": [
        lambda m, a, f=f: triangular(m, shifted(m, a) * 0.1, a[..., :3], **f)
        for f in ({}, {"lower": True}, {"trans": 1}, {"trans": 2, "lower": True}, {"unit_diagonal": True, "trans": 2})
    ],
    "inverse": [lambda m, a: m.linalg.inv(shifted(m, a))],
    "determinant": [lambda m, a: m.linalg.det(a)],
    "log_determinant": [lambda m, a: m.linalg.slogdet(a)[0] * m.linalg.slogdet(a)[1]],
    "qr_factors": [lambda m, a: m.linalg.qr(a)[0], lambda m, a: m.linalg.qr(a[..., :3])[1],
                   lambda m, a: m.linalg.qr(a[..., :3], mode="complete")[1], lambda m, a: m.linalg.qr(a[..., :3, :])[1]],
    "svd_factors": [lambda m, a: m.linalg.svd(a)[1], lambda m, a: m.linalg.svdvals(a[..., :3]),
                    lambda m, a: product_of(m, m.linalg.svd(a[..., :3, :], full_matrices=False))],
    "eigh_factors": [lambda m, a: m.linalg.eigvalsh(a), lambda m, a: m.linalg.eigh(a, UPLO="U")[0],
                     lambda m, a: m.abs(m.linalg.eigh(a)[1])],
    "eig_factors": [lambda m, a: m.sort(m.abs(m.linalg.eigvals(a))), lambda m, a: m.sort(m.real(m.linalg.eig(a)[0])),
                    lambda m, a: rebuilt(m, *m.linalg.eig(shifted(m, a)))],
    "pseudo_inverse": [lambda m, a: m.linalg.pinv(a[..., :3]), lambda m, a: m.linalg.pinv(a[..., :2, :])],
}  # fmt: skip


def triangular(m, a, b, lower=False, unit_diagonal=False, trans=0):
    if m is not np:
        return m.linalg.solve_triangular(
            a, b, lower=lower, unit_diagonal=unit_diagonal, trans=trans
        )
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        a = a - a * np.eye(a.shape[-1]) + np.eye(a.shape[-1])
    a = a if trans == 0 else np.matrix_transpose(a) if trans == 1 else adjoint(np, a)
    return np.linalg.solve(a, b)


def rebuilt(m, w, v):
    return (v * w[..., None, :]) @ m.linalg.inv(v)


def lapack(row):
    """Single matrices and batches, real and complex."""
    for dtype in ("float32", "float64"):
        for number, f in enumerate(LAPACK[row["name"]]):
            for shape in ((5, 5), (1, 1), (3, 4, 4), (40, 40)):
                for how in ("plain", "transposed") if len(shape) == 2 else ("plain",):
                    for is_complex in (False, True):
                        name = f"{row['name']}-{dtype}-{number}-{shape}-{how}-{is_complex}"
                        rng = rng_for(name)
                        inputs = [
                            random_array(rng, dtype, shape, -1, 1) for _ in range(1 + is_complex)
                        ]

                        def call(m, *x, f=f, is_complex=is_complex):
                            out = f(m, x[0] + x[1] * 1j if is_complex else x[0])
                            return m.stack([m.real(out), m.imag(out)])

                        far = row["name"] in ("eig_factors", "pseudo_inverse", "eigh_factors")
                        bound = row["ulp"] * (32 if far else 1) * max(shape[-1] // 4, 1) ** 2
                        yield Case(name, row["name"], dtype, inputs, [dtype] * len(inputs), how,
                                   lambda fz, *x, call=call: call(fz, *x), lambda *x, call=call: call(np, *x),
                                   bound, lambda *x, call=call: np.maximum(1, np.abs(call(np, *x)).max(initial=0)))  # fmt: skip


# Lengths with few and with large prime factors, around those where the library changes its way.
FOURIER = [((1,), 0), ((2,), 0), ((7,), 0), ((16,), 0), ((60,), 0), ((97,), 0), ((1024,), 0), ((1009,), 0), ((19, 304), 1),
           ((304, 19), 0), ((3, 4, 5), 1), ((0, 4), 1), ((40_000,), 0)]  # fmt: skip


def fourier(row):
    name = row["name"]
    dft = {"fft_c2c": "fft", "fft_r2c": "rfft", "fft_c2r": "irfft"}[name]
    for dtype in ("float32", "float64"):
        for number, (shape, axis) in enumerate(FOURIER):
            for norm in ("backward", "ortho", "forward"):
                for how in (
                    ("plain", "transposed")
                    if len(shape) == 2 and all(shape) and norm == "ortho"
                    else ("plain",)
                ):
                    label = f"{name}-{dtype}-{number}-{norm}-{how}"
                    rng = rng_for(label)
                    a, b = (random_array(rng, dtype, shape, -1, 1) for _ in range(2))
                    n = shape[axis]

                    def transform(m, z, name=name, n=n, axis=axis, norm=norm):
                        if name == "fft_c2c":
                            f = m.fft.fft if n % 2 == 0 else m.fft.ifft
                            return as_parts(m, f(z, axis=axis, norm=norm))
                        if name == "fft_r2c":
                            return as_parts(m, m.concat([m.fft.rfft(z.real, axis=axis, norm=norm),
                                                         m.fft.fft(z.imag, axis=axis, norm=norm)], axis=axis))  # fmt: skip
                        return m.fft.irfft(z, n, axis=axis, norm=norm)

                    if how == "transposed":
                        axis = 1 - axis

                        def transform(m, z, f=dft, axis=axis):
                            out = getattr(m.fft, f)(z.real if f == "rfft" else z, axis=axis)
                            return out if f == "irfft" else as_parts(m, out)

                    yield Case(label, name, dtype, [a, b], [dtype] * 2, how,
                               lambda fz, x, y, f=transform: f(fz, x + y * 1j),
                               lambda x, y, f=transform: f(np, x + y * 1j), row["ulp"],
                               lambda x, y, f=transform: np.abs(f(np, x + y * 1j)).max(initial=0.01))  # fmt: skip


def sparse(row):
    """Rows that are empty, long, of one value; dense sides of all widths; pairs in any order."""
    from frazil import _frazil  # noqa: PLC0415 -- only where the cases run

    for dtype in (*INTS, *FLOATS):
        for m, n, count, width in [
            (7, 5, 12, 1),
            (40, 60, 500, 3),
            (3, 9, 0, 2),
            (9, 30, 200, 100),
            (64, 8, 300, 40),
        ]:
            for pairs in (False, True):
                for transposed in (False, True):
                    for how in ("plain", "transposed") if width > 1 and count else ("plain",):
                        label = f"{row['name']}-{dtype}-{m}-{width}-{pairs}-{transposed}-{how}"
                        rng = rng_for(label)
                        rows, columns = rng.integers(m, size=count), rng.integers(n, size=count)
                        rows = rows if pairs else np.sort(rows)
                        starts = rows if pairs else np.searchsorted(rows, np.arange(m + 1))
                        places = np.concatenate([starts, columns]).astype(
                            rng.choice(["int32", "int64"])
                        )
                        to, of = (columns, rows) if transposed else (rows, columns)
                        shapes = (
                            ((n, width), (m, width)) if transposed else ((m, width), (n, width))
                        )
                        if how == "transposed":
                            shapes = tuple(s[::-1] for s in shapes)
                        v = random_array(rng, dtype, (count,), -1, 1)
                        g, x = (random_array(rng, dtype, s, -1, 1) for s in shapes)

                        def call(fz, v, g, x, p=places, a=(m, n, pairs, transposed), how=how):
                            g, x = (g.T, x.T) if how == "transposed" else (g, x)

                            def f(v):
                                return _frazil.sparse.matmul(
                                    v, fz.asarray(p, device=x.device), x, *a
                                )

                            if row["name"] == "sparse_matmul":
                                return f(v)
                            return fz.grad(lambda v: fz.sum(f(v) * g))(v)

                        def reference(v, g, x, to=to, of=of, how=how, size=lambda v: v):
                            g, x = (g.T, x.T) if how == "transposed" else (g, x)
                            v, g, x = size(v), size(g), size(x)
                            if row["name"] == "sparse_sample":
                                return (g[to] * x[of]).sum(axis=1, dtype=v.dtype)
                            out = np.zeros_like(g)
                            np.add.at(out, to, v[:, None] * x[of])
                            return out

                        if row["name"] == "sparse_sample" and dtype in INTS:
                            continue
                        yield Case(label, row["name"], dtype, [v, g, x], [dtype] * 3, "plain", call, reference,
                                   0 if dtype in INTS else row["ulp"],
                                   lambda v, g, x, f=reference: np.maximum(f(v, g, x, size=np.abs), 1e-2))  # fmt: skip


CLASSES = {
    "sparse": sparse,
    "complex": parts, "fourier": fourier, "lapack": lapack,
    "elementwise": elementwise, "cast": casts, "reduce": reductions, "view": movement, "concat": movement,
    "pad": movement, "take": movement, "put": movement, "matmul": matmuls, "iota": sources, "random_bits": sources,
    "transfer": transfers, "attention": attentions, "attention_grad": attentions,
    "collective": collectives, "collective_wait": collectives,
    "positions": positions, "sort": orders, "scan": scans,
    "conv": convolutions, "conv_weights": weight_gradients,
}  # fmt: skip


def all_cases(table):
    for row in table:
        yield from (parts if row["name"] in ("real", "imag") else CLASSES[row["class"]])(row)
