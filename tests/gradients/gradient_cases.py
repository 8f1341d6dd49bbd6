"""Functions to differentiate: every differentiable row of the op table and every composite.

A case is a function of tensors and its inputs, NumPy float64 arrays whose values are exact in every
float type and lie away from kinks and ties. Used by the tests of this folder; a row or composite
without a case fails them.
"""

import inspect
import math
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import frazil as fz
from frazil import _frazil, fft, nn

COMPOSITES = Path(__file__).parents[2] / "core" / "functions" / "composites.def"
WITHOUT_GRADIENT = {
    "random_uniform",
    "random_normal",
    "random_integers",
    "sgd_step",
    "adam_step",
    "positions_of",
    "samples",  # of numbers
    "firsts",  # bools
}


@dataclass
class Case:
    name: str
    row: str
    function: Callable  # tensors -> tensor
    inputs: list


def composites():
    """{name: function} of the rows of composites.def."""
    rows = re.findall(r"^FZ_COMPOSITE\((\w+), (\w+),", COMPOSITES.read_text(), re.MULTILINE)
    homes = {"frazil": fz, "nn": nn, "linalg": fz.linalg, "fft": fft}
    inside = _frazil.linalg  # of a public function that chooses between rows
    return {name: getattr(homes[home], name, None) or getattr(inside, name) for home, name in rows}


def inner_composites():
    """Those without a public form, but for random numbers and steps that write to cells."""
    names = set(re.findall(r"^FZ_INNER\((\w+),", COMPOSITES.read_text(), re.MULTILINE))
    return names - WITHOUT_GRADIENT


def needed(function):
    """How many arrays a call needs."""
    parameters = inspect.signature(function).parameters.values()
    return sum(p.default is p.empty for p in parameters)


def gives_floats(function):
    try:
        return function(*[fz.ones((2, 3))] * needed(function)).dtype.kind == "real floating"
    except TypeError:  # of integers only
        return False


def distinct(name, shapes, lo=-2.7, hi=2.9):
    """Arrays of numbers in (lo, hi), all different, exact in bfloat16, none near an integer."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    sizes = [int(np.prod(s)) for s in shapes]
    n = sum(sizes)
    values = lo + (hi - lo) * (np.arange(n) + 0.37) / max(n, 1)
    values += np.where(np.abs(values - np.rint(values)) < 0.04, 0.08, 0.0)
    values = (values.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)
    values = values.astype(np.float64)
    assert len(set(values.tolist())) == n, f"{name}: equal values"
    values = rng.permutation(values)
    cuts = np.cumsum(sizes)[:-1]
    return [part.reshape(s) for part, s in zip(np.split(values, cuts), shapes, strict=True)]


# Shapes of up to three operands and a view that is taken of each.
LAYOUTS = {
    "plain": ([(2, 3)] * 3, lambda x: x),
    "0-d": ([()] * 3, lambda x: x),
    "empty": ([(0, 2)] * 3, lambda x: x),
    "transposed": ([(3, 2)] * 3, lambda x: x.T),
    "reversed": ([(5,)] * 3, lambda x: x[::-1]),
    "every-second": ([(3, 4)] * 3, lambda x: x[::2, 1::2]),
    "broadcast": ([(2, 1), (3,), (1, 3)], lambda x: x),
    "stretched": ([(), (2, 2), (1,)], lambda x: x),
}
DOMAINS = {  # where the table's domain is too wide for differences, or a kink is inside
    "pow": (0.3, 2.6),
    "tan": (-1.1, 1.2),
    "sqrt": (0.3, 2.9),
    "log": (0.3, 2.9),
    "log1p": (-0.6, 2.9),
    "log2": (0.3, 2.9),
    "log10": (0.3, 2.9),
    "asin": (-0.8, 0.8),
    "acos": (-0.8, 0.8),
    "acosh": (1.3, 2.9),
    "atanh": (-0.8, 0.8),
    "divide": (0.6, 2.9),
    "remainder": (0.55, 2.9),
    "floor_divide": (0.55, 2.9),
    "reciprocal": (0.4, 2.9),
    "rsqrt": (0.4, 2.9),
    "square": (0.4, 2.9),
    "fmod": (0.55, 2.9),
    "float_power": (0.3, 2.6),
    "logit": (0.1, 0.9),
    "ndtri": (0.1, 0.9),
    "erfinv": (-0.9, 0.9),
    "erfcinv": (0.1, 1.9),
    "xlog1py": (-0.6, 2.9),
    "betainc": (0.1, 0.9),
    "zeta": (1.4, 2.9),
    **dict.fromkeys("gamma gammaln digamma beta betaln y0 y1 xlogy".split(), (0.4, 2.9)),
    **dict.fromkeys(("gammainc", "gammaincc"), (0.4, 2.9)),
}


def elementwise(row):
    name, lo, hi = row["name"], *DOMAINS.get(row["name"], (-2.7, 2.9))
    function = getattr(fz, name)
    for layout, (shapes, view) in LAYOUTS.items():
        if name == "where":

            def call(x, y, view=view):
                x, y = fz.broadcast_arrays(view(x), view(y))
                mask = (np.arange(x.size) % 3 == 0).reshape(x.shape)
                return fz.where(fz.asarray(mask), x, y)

            arity = 2
        else:

            def call(*t, view=view):
                return function(*(view(x) for x in t))

            arity = row["arity"]
        label = f"{name}-{layout}"
        yield Case(label, name, call, distinct(label, shapes[:arity], lo, hi))


def one(name, label, function, *shapes, lo=-2.7, hi=2.9):
    label = f"{name}-{label}"
    return Case(label, name, function, distinct(label, shapes, lo, hi))


def reductions(row):
    name = row["name"]
    f = getattr(fz, name)
    lo, hi = (0.4, 1.7) if name == "prod" else (-2.7, 2.9)
    for shape, axis in [
        ((5,), None),
        ((2, 3), 0),
        ((2, 3), 1),
        ((2, 3), -1),
        ((2, 2, 3), (0, 2)),
        ((2, 2, 3), (1, 2)),
        ((), None),
        ((1, 4), 0),
    ]:
        for keep in (False, True):
            yield one(
                name,
                f"{shape}-{axis}-{keep}",
                lambda x, axis=axis, keep=keep: f(x, axis=axis, keepdims=keep),
                shape,
                lo=lo,
                hi=hi,
            )
    yield one(name, "transposed", lambda x: f(x.T, axis=0), (2, 3), lo=lo, hi=hi)
    if name in ("sum", "prod"):
        yield one(name, "empty", lambda x: f(x, axis=1), (2, 0))


def movement(row):
    name = row["name"]
    yield from {
        "astype": lambda: [
            one(name, "f32", lambda x: fz.astype(x * 2, fz.float64), (2, 3)),
            one(name, "copy", lambda x: fz.astype(x, x.dtype, copy=True) * x, (2, 3)),
        ],
        "reshape": lambda: [
            one(name, "split", lambda x: fz.reshape(x, (3, 2)), (6,)),
            one(name, "join", lambda x: fz.reshape(x, (-1,)), (2, 3)),
            one(name, "transposed", lambda x: fz.reshape(x.T, (2, 3)) * x, (2, 3)),
            one(name, "0-d", lambda x: fz.reshape(x, ()), (1, 1)),
        ],
        "permute_dims": lambda: [
            one(name, "3", lambda x: fz.permute_dims(x, (2, 0, 1)), (2, 3, 2)),
            one(name, "2", lambda x: x.T * x.T, (2, 3)),
        ],
        "broadcast_to": lambda: [
            one(name, "axis", lambda x: fz.broadcast_to(x, (2, 3)), (2, 1)),
            one(name, "rank", lambda x: fz.broadcast_to(x, (2, 2, 3)), (3,)),
            one(name, "0-d", lambda x: fz.broadcast_to(x, (2, 3)), ()),
            one(name, "none", lambda x: fz.broadcast_to(x, (0, 3)), (1, 3)),
        ],
        "slice": lambda: [
            one(name, "range", lambda x: x[1:3], (5,)),
            one(name, "step", lambda x: x[1::3] ** 2, (8,)),
            one(name, "back", lambda x: x[::-1], (4,)),
            one(name, "back-step", lambda x: x[5:0:-2], (7,)),
            one(name, "axes", lambda x: x[::-2, 1], (4, 3)),
            one(name, "new-axis", lambda x: x[None, ..., 0], (2, 3)),
            one(name, "nothing", lambda x: x[2:2], (4,)),
            one(name, "overlap", lambda x: x[1:] * x[:-1], (5,)),
        ],
        "concat": lambda: [
            one(name, "two", lambda x, y: fz.concat([x, y]), (2, 2), (3, 2)),
            one(name, "axis", lambda x, y: fz.concat([x, y, x], axis=1), (2, 2), (2, 1)),
            one(name, "empty", lambda x, y: fz.concat([x, y]), (0, 2), (3, 2)),
            one(name, "stack", lambda x, y: fz.stack([x, y], axis=-1), (2, 2), (2, 2)),
        ],
        "pad": lambda: [
            one(name, "both", lambda x: fz.pad(x, ((1, 2), (0, 1))), (2, 3)),
            one(name, "empty", lambda x: fz.pad(x, ((1, 1),)), (0,)),
        ],
        "take": lambda: [
            one(name, "repeated", lambda x: fz.take(x, fz.asarray([2, 0, 2, 2]), axis=0), (3, 2)),
            one(name, "axis", lambda x: fz.take(x, fz.asarray([[1, -1], [0, 1]]), axis=1), (2, 3)),
            one(name, "squared", lambda x: fz.take(x, fz.asarray([1, 1, 0]), axis=0) ** 2, (2,)),
            one(name, "index", lambda x: x[fz.asarray([1, 1, 0]), fz.asarray([0, 1, 0])], (2, 2)),
            one(name, "mask", lambda x: x[fz.asarray([True, False, True])] ** 2, (3, 2)),
            one(name, "none", lambda x: fz.take(x, fz.asarray([], dtype=fz.int64), axis=0), (3,)),
        ],
        "to_device": lambda: [
            one(name, "there", lambda x: (x.to_device("npu") ** 2).to_device("cpu") * x, (2, 3)),
        ],
        "put": lambda: [
            one(name, "rows", put_rows, (3, 2), (2, 2)),
            one(name, "element", put_element, (2, 3), ()),
            one(name, "slice", put_slice, (5,), (2,)),
            one(name, "repeated", put_repeated, (4,), (3,)),
            one(name, "axes", put_axes, (2, 3, 2), (3, 2)),
            one(name, "part", put_part, (3, 4), (2, 3)),
            one(name, "mask", put_mask, (2, 3), (3,)),
        ],
    }[name]()


def put_rows(x, v):
    y = x * 1
    y[fz.asarray([2, 0])] = v
    return y * y


def put_element(x, v):
    y = x * 1
    y[1, -1] = v
    return y * x


def assign_box(x, v):
    y = x * 2
    y[1:3, :-1] = v
    return y * y


def share_extreme(x, w):
    return fz.grad(lambda y: fz.sum(fz.max(y, axis=(1, 3)) * w))(x)


# Over a MiB the tape keeps the composite's operands, and makes its result again for the product.
def composite_gradient(x, w, b):
    many = fz.broadcast_to(x, (1 << 15, *x.shape))
    return (nn.layer_norm(many, w, b) * nn.gelu(many)).mean(axis=0)


def put_slice(x, v):
    y = x * 2
    y[::3] = v * v
    return y


def put_repeated(x, v):
    y = x * 1
    y[fz.asarray([1, 3, 1])] = v
    return y * y


def put_axes(x, v):
    y = x * 1
    y[fz.asarray([1, 0, 1]), fz.asarray([2, -1, 2])] = v
    return y * y


def put_part(x, v):
    y = x * 1
    y[1:, fz.asarray([0, 3, 0])] = v
    return y * x


def put_mask(x, v):
    y = x * 1
    mask = fz.asarray([[True, False, True], [False, True, False]])
    y[mask] = v
    y[mask[0, :2]] = v[1]
    return y * y


def sorts(row):
    f = getattr(fz, row["name"])
    for shape, axis in [((5,), 0), ((2, 3), 0), ((2, 3), 1), ((2, 3, 2), 1), ((0, 2), 1)]:
        yield one(row["name"], f"{shape}-{axis}", lambda x, axis=axis: f(x, axis=axis) * x, shape)
    yield one(row["name"], "descending", lambda x: f(x, descending=True) ** 2 * x, (4,))


def scans(row):
    f = getattr(fz, row["name"])
    for shape, axis in [((5,), 0), ((2, 3), 0), ((2, 3), 1), ((2, 3, 2), 1), ((0, 2), 0)]:
        yield one(row["name"], f"{shape}-{axis}", lambda x, axis=axis: f(x, axis=axis) * x, shape)
    # A zero has a gradient too, of every order.
    zero = lambda x: f(x * fz.asarray([1.0, 0.0, 1.0], dtype=x.dtype))  # noqa: E731
    yield one(row["name"], "zero", zero, (3,))
    initial = lambda x: f(x.T, axis=0, include_initial=True)  # noqa: E731
    yield one(row["name"], "initial", initial, (2, 3))


def matmuls(row):
    for a, b in [
        ((2, 3), (3, 2)),
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((2,), (2, 3)),
        ((2, 2, 2), (2, 2, 1)),
        ((2, 1, 1, 2), (2, 2, 1)),
        ((2, 2, 2), (2, 2)),
        ((2, 0), (0, 2)),
    ]:
        yield one("matmul", f"{a}-{b}", lambda x, y: x @ y, a, b)
    yield one("matmul", "transposed", lambda x, y: x.T @ y.T, (3, 2), (2, 3))
    yield one("matmul", "square", lambda x: x @ x, (2, 2))


def attentions(row):
    for causal in (False, True):
        for q, k, v in [
            ((2, 2), (3, 2), (3, 3)),
            ((2, 3, 2), (3, 2), (2, 3, 1)),
            ((5, 1), (5, 1), (5, 1)),
        ]:
            call = lambda q, k, v, c=causal: nn.attention(q, k, v, causal=c, scale=0.5)  # noqa: E731
            yield one(row["name"], f"{q}-{k}-{v}-{causal}", call, q, k, v)


def convolutions(row):
    shapes = ((2, 4, 5, 2), (2, 3, 2, 3))
    weights = row["name"] == "conv2d_weights"
    cases = [{}, {"padding": (1, 2)}, {"stride": (2, 1), "padding": 1}]
    cases += [{"dilation": 2, "padding": 2}, {"stride": (2, 3)}, {"stride": (3, 4), "padding": 1}]
    for number, options in enumerate(cases):

        def call(x, w, options=options):
            return nn.conv2d(x, w, **options)

        def gradient(x, w, options=options):  # to w, as a function of x and of what multiplies it
            g = call(x, w * 0 + 1, options) * 0.1
            return fz.grad(lambda w: (call(x, w, options) * g).sum())(w * 0)

        yield one(row["name"], str(number), gradient if weights else call, *shapes)
    if not weights:
        first = ((1, 4, 3, 2), (2, 2, 2, 2))
        call = lambda x, w: nn.conv2d(x, w, groups=2, layout="NCHW")  # noqa: E731
        yield one(row["name"], "groups", call, *first)


ON_PARTS = {
    "multiply": lambda z, w: z * w,
    "real-factor": lambda z, w: z.real * w,
    "number": lambda z, w: z * (1 - 2j) + w,
    "divide": lambda z, w: z / w,
    "square": lambda z, w: z**2 + w**-1,
    "pow": lambda z, w: z**w,
    "abs": lambda z, w: abs(z) * w,
    "angle": lambda z, w: fz.angle(z) * w,
    "conj": lambda z, w: z.conj() * w,
    "where": lambda z, w: fz.where(fz.asarray([[True, False, True]]), z, w) * 1j,
    "sum": lambda z, w: fz.sum(z, axis=0) * fz.mean(w),
    "prod": lambda z, w: fz.prod(z, axis=1) + fz.prod(w),
    "cumulative": lambda z, w: fz.cumulative_sum(z, axis=1) * fz.cumulative_prod(w, axis=1),
    "matmul": lambda z, w: z @ w.T,
    "slices": lambda z, w: fz.concat([z[:, ::-1], w[1:]]) * 1j,
    "take": lambda z, w: fz.take(z, fz.asarray([2, 0, 2]), axis=1) * w,
    "pad": lambda z, w: fz.pad(z, ((1, 0), (0, 1)))[:2, :3] * w,
    "spread": lambda z, w: z[:, :1] * w[:1],
    "var": lambda z, w: fz.var(z) * w,
} | {
    name: (lambda z, w, name=name: getattr(fz, name)(z) * w)
    for name in (
        "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "sinh",
        "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sign",
    )
}  # fmt: skip


def parts(row):
    """Of the real and imaginary parts of two complex matrices: what goes to their parts."""
    name = row["name"]
    if name != "complex":
        part = lambda z: z.real if name == "real" else z.imag  # noqa: E731
        for layout, (shapes, view) in LAYOUTS.items():
            call = lambda x, y, view=view: part(view(x) * (1 - 2j) + view(y) * 1j)  # noqa: E731
            yield one(name, layout, call, *shapes[:2])
        return
    for label, f in ON_PARTS.items():

        def call(a, b, c, d, f=f):
            out = f(a + b * 1j, c + d * 1j)
            return fz.stack([out.real, out.imag])

        yield one(name, label, call, *[(2, 3)] * 4, lo=0.21, hi=1.37)


def wide(x):
    """LAPACK has no 16-bit floats."""
    return x.astype(fz.float32) if x.itemsize == 2 else x


def shifted(x, by=3.0):
    """With a strong diagonal, whose elements differ: far from singular."""
    n = x.shape[-1]
    return wide(x) * 0.3 + fz.asarray(np.diag(by + 1.5 * np.arange(n)), dtype=wide(x).dtype)


def adjoint(x):
    return fz.conj(fz.matrix_transpose(x))


def definite(x):
    return shifted((wide(x) @ adjoint(wide(x))) * 0.5)


def hermitian(x):
    return shifted(wide(x) + adjoint(wide(x)))


def joined(*results):
    """Several results as one; complex ones as their parts."""
    flat = []
    for r in results:
        flat += [r.real, r.imag] if r.dtype.kind == "complex floating" else [r]
    return fz.concat([r.reshape(-1) for r in flat])


def phaseless(v):
    """Of columns v what no factor of absolute value 1 changes."""
    return joined(v[..., :, None, :] * fz.conj(v)[..., None, :, :])


la = fz.linalg
SQUARE, TALL, FLAT, MANY = (3, 3), (4, 2), (2, 4), (2, 3, 3)
# By row or composite: functions of one matrix or two, and the shapes of these.
LAPACK = {
    "cholesky_factor": [(lambda x: la.cholesky(definite(x)), SQUARE)],
    "cholesky": [
        (lambda x: la.cholesky(definite(x), upper=True), MANY),
        (lambda x: la.cholesky(definite(x)), (0, 0)),
    ],
    "lu_solve": [
        (lambda x, y: la.solve(shifted(x), wide(y)), SQUARE, (3, 2)),
        (lambda x, y: la.solve(shifted(x), wide(y)), MANY, (3, 1)),
        (lambda x: la.inv(la.solve(shifted(x), shifted(x, 1.0))), SQUARE),
    ],
    "solve": [
        (lambda x, y: la.solve(shifted(x), wide(y)), SQUARE, (3,)),
        (lambda x, y: la.solve(shifted(x), wide(y)), SQUARE, (2, 3, 2)),
    ],
    "triangular_solve": [
        (lambda x, y, o=o: la.solve_triangular(shifted(x), wide(y), **o), SQUARE, (3, 2))
        for o in ({}, {"lower": True, "trans": 1}, {"trans": 2}, {"unit_diagonal": True})
    ],
    "solve_triangular": [
        (lambda x, y: la.solve_triangular(shifted(x), wide(y), trans=1), MANY, (3,))
    ],
    "inverse": [(lambda x: la.inv(shifted(x)), MANY)],
    "inv": [(lambda x: la.inv(shifted(x).T), SQUARE)],
    "determinant": [
        (lambda x: la.det(shifted(x, 1.0)) * 0.1, MANY),
        (lambda x: la.det(wide(x)), (1, 1)),
        (lambda x: la.det(wide(x)), (0, 0)),
    ],
    "det": [(lambda x: la.det(wide(x) * 0.5), SQUARE)],
    "log_determinant": [
        (lambda x: la.slogdet(shifted(x)).logabsdet, MANY),
        (lambda x: la.slogdet(-shifted(x)).logabsdet, SQUARE),
    ],
    "qr_factors": [
        (lambda x: joined(*la.qr(shifted(x))), SQUARE),
        (lambda x: joined(*la.qr(tall(x))), TALL),
        (lambda x: joined(*la.qr(tall(x.T).T)), FLAT),
        (lambda x: joined(*la.qr(shifted(x), mode="complete")), SQUARE),
        (lambda x: joined(*spaces(la.qr(tall(x), mode="complete").Q)), TALL),
        (lambda x: la.qr(tall(x), mode="complete").R * 2, TALL),
    ],
    "svd_factors": [
        (lambda x: joined(*la.svd(shifted(x), full_matrices=False)), SQUARE),
        (lambda x: joined(*la.svd(tall(x), full_matrices=False)), TALL),
        (lambda x: joined(*la.svd(tall(x.T).T, full_matrices=False)), FLAT),
        (lambda x: joined(*spaces(la.svd(tall(x)).U), *la.svd(tall(x))[1:]), TALL),
        (lambda x: joined(*la.svd(tall(x.T).T)[:2], *spaces(la.svd(tall(x.T).T).Vh.T)), FLAT),
    ],
    "svdvals": [(lambda x: la.svdvals(shifted(x)), MANY)],
    "eigh_factors": [
        (lambda x: joined(*la.eigh(hermitian(x))), SQUARE),
        (lambda x: joined(*la.eigh(hermitian(x), UPLO="U")), MANY),
    ],
    "eigvalsh": [(lambda x: la.eigvalsh(hermitian(x)), MANY)],
    "eig_factors": [(lambda x: of_pairs(*la.eig(shifted(x))), SQUARE)],
    "eigvals": [
        (lambda x: joined(la.eigvals(shifted(x))), SQUARE),
        (lambda x: joined(la.eigvals(turning(x))), (2, 2)),
    ],
    "pseudo_inverse": [(lambda x: la.pinv(tall(x)), TALL), (lambda x: la.pinv(tall(x.T).T), FLAT)],
    "pinv": [
        (lambda x: la.pinv(shifted(x)), MANY),
        (lambda x, y: la.lstsq(tall(x), wide(y)).x, TALL, (4,)),
    ],
}
# The same of complex matrices of which two real ones are the parts.
COMPLEX_LAPACK = {
    "cholesky_factor": lambda z: la.cholesky(definite(z)),
    "lu_solve": lambda z: la.solve(shifted(z), wide(z)),
    "triangular_solve": lambda z: joined(
        *(la.solve_triangular(shifted(z), z, trans=t) for t in (0, 1, 2))
    ),
    "inverse": lambda z: la.inv(shifted(z)),
    "determinant": lambda z: la.det(shifted(z, 1.0)) * 0.1,
    "log_determinant": lambda z: joined(*la.slogdet(shifted(z))),
    "qr_factors": lambda z: joined(*la.qr(shifted(z))),
    "svd_factors": lambda z: singular(*la.svd(shifted(z), full_matrices=False)),
    "eigh_factors": lambda z: of_eigen(*la.eigh(hermitian(z))),
    "eig_factors": lambda z: of_pairs(*la.eig(shifted(z))),
    "pseudo_inverse": lambda z: la.pinv(shifted(z)[:, :2]),
}


def spaces(q):
    """The first two columns, and the projection to what the others span."""
    others = q[:, 2:]
    return q[:, :2], others @ others.T


def tall(x):
    return wide(x) * 0.3 + fz.asarray(
        np.array([[2.0, 0], [0, 3.5], [1, 0], [0, 1]]), dtype=wide(x).dtype
    )


def turning(x):
    """With two eigenvalues that are each other's conjugates."""
    base = np.array([[1.0, -3.0], [3.0, 1.5]])
    return wide(x) * 0.2 + fz.asarray(base, dtype=wide(x).dtype)


def singular(u, s, vh):
    return joined(s, phaseless(u), phaseless(adjoint(vh)), u[..., :, :2] @ vh[..., :2, :])


def of_eigen(w, v):
    return joined(w, phaseless(v))


def of_pairs(w, v):
    """What does not depend on the order of eigenvalues either."""
    return joined((v * fz.exp(w * 0.1)) @ la.inv(v), (v * fz.conj(v)) @ w)


def lapack(row):
    name = row["name"]
    for number, (f, *shapes) in enumerate(LAPACK[name]):
        yield one(name, str(number), f, *shapes)
    if name in COMPLEX_LAPACK:
        f = COMPLEX_LAPACK[name]
        call = lambda x, y: joined(f(wide(x) + wide(y) * 1j))  # noqa: E731
        yield one(name, "complex", call, SQUARE, SQUARE, lo=-1.3, hi=1.4)


def parts_of(z):
    return fz.stack([z.real, z.imag]) if z.dtype.kind == "complex floating" else z


def fourier(row):
    """The op itself, of complex numbers made of two arrays, or of their parts."""
    name = row["name"]
    for label, n, axis, norm in [
        ("even", 4, 0, "backward"),
        ("odd", 5, 0, "ortho"),
        ("short", 2, 1, "forward"),
        ("long", 6, -1, None),
        ("one", 1, 0, "ortho"),
    ]:
        options = {"n": n, "axis": axis, "norm": norm}

        def call(x, y, options=options):
            z = x + y * 1j
            if name == "fft_c2c":
                return parts_of(fft.fft(z, **options) * fft.ifft(z, **options))
            if name == "fft_c2r":
                return fft.irfft(z, **options) * fft.hfft(z, **options)
            half, whole = fft.rfft(z.real, **options), fft.fft(z.real, **options)
            return parts_of(half * fft.ihfft(z.imag, **options)) + fz.sum(
                parts_of(whole * whole.conj())
            )

        yield one(name, label, call, (4, 3), (4, 3))
    empty = {"fft_c2c": fft.fft, "fft_r2c": fft.rfft, "fft_c2r": fft.irfft}[name]
    yield one(name, "no rows", lambda x: parts_of(empty((x + 0j).real)), (0, 3))


# Places of a matrix of shape (4, 3): by rows, of which one is empty, and as pairs in no order, two
# of them equal.
PLACES = {False: [0, 2, 2, 3, 5, 0, 2, 1, 0, 1], True: [3, 0, 3, 1, 0, 1, 2, 1, 0, 0]}


def sparse(row):
    """Products of real and complex matrices; what they are differentiated to is a sample."""
    name = row["name"]
    for pairs in (False, True):
        for transposed, n, m in [(False, 3, 4), (True, 4, 3)]:

            def product(v, x, pairs=pairs, transposed=transposed):
                places = fz.asarray(PLACES[pairs], device=v.device)
                return _frazil.sparse.matmul(v, places, x, 4, 3, pairs, transposed)

            def sample(g, x, product=product):
                return fz.grad(lambda v: fz.sum(product(v, x) * g))(fz.zeros((5,), g.dtype))

            label = f"{'pairs' if pairs else 'rows'}-{transposed}"
            f = sample if name == "sparse_sample" else product
            shape = (m, 2) if name == "sparse_sample" else (5,)
            yield one(name, label, f, shape, (n, 2))
            if name == "sparse_matmul":
                call = lambda v, x, f=product: f(v, x[:, 0])  # noqa: E731
                yield one(name, f"{label}-vector", call, (5,), (n, 1))
                call = lambda v, w, x, y, f=product: parts_of(f(v + w * 1j, x + y * 1j))  # noqa: E731
                yield one(name, f"{label}-complex", call, (5,), (5,), (n, 2), (n, 2))


# Composites of transforms over several axes, and those that differ from the ops by a number.
FOURIER = {
    "fftn": lambda z: fft.fftn(z, s=(3, 2), axes=(0, 1)),
    "ifftn": lambda z: fft.ifftn(z, axes=(0, 0)),
    "fft2": lambda z: fft.fft2(z, norm="ortho"),
    "ifft2": fft.ifft2,
    "fft": lambda z: fft.fft(z.real, 4),
    "ifft": lambda z: fft.ifft(z, axis=0),
    "rfft": lambda z: fft.rfft(z.real, axis=0) * z[0, 0],
    "irfft": fft.irfft,
    "rfftn": lambda z: fft.rfftn(z.real, norm="forward"),
    "irfftn": lambda z: fft.irfftn(z, s=(2, 4)),
    "rfft2": lambda z: fft.rfft2(z.imag),
    "irfft2": lambda z: fft.irfft2(z, norm="ortho"),
    "hfft": lambda z: fft.hfft(z, 5),
    "ihfft": lambda z: fft.ihfft(z.real),
    "fftshift": lambda z: fft.fftshift(z) * z,
    "ifftshift": lambda z: fft.ifftshift(z, axes=1) * z,
}


def transforms():
    for name, f in FOURIER.items():

        def call(x, y, f=f):
            return parts_of(f(x + y * 1j)) ** 2

        yield one(name, "parts", call, (2, 3), (2, 3))


def collectives(row):
    """In a world of one."""
    d, name = fz.distributed, row["name"]
    for f in (d.all_reduce, d.all_gather, d.reduce_scatter, d.all_to_all, d.broadcast, d.halo):
        yield one(name, f.__name__, lambda x, f=f: f(x * x) * 2, (3, 2))
    for op in ("mean", "prod", "min", "max"):
        yield one(name, op, lambda x, op=op: d.all_reduce(x, op) ** 2, (3, 2))


CLASSES = {
    "collective": collectives,
    "complex": parts,
    "lapack": lapack,
    "fourier": fourier,
    "sparse": sparse,
    "conv": convolutions,
    "conv_weights": convolutions,
    "elementwise": elementwise,
    "attention": attentions,
    "reduce": reductions,
    "matmul": matmuls,
    "scan": scans,
    "sort": sorts,
}


def op_cases(table):
    for row in table:
        if row["differentiable"]:
            kind = "complex" if row["name"] in ("real", "imag") else row["class"]
            yield from CLASSES.get(kind, movement)(row)


def over_layouts(name, function):
    for layout, (shapes, view) in LAYOUTS.items():
        call = lambda *t, view=view: function(*(view(x) for x in t))  # noqa: E731
        lo, hi = DOMAINS.get(name, (-2.7, 2.9))
        yield one(name, layout, call, *shapes[: needed(function)], lo=lo, hi=hi)


def composite_cases():
    """A row without cases of its own is called with arrays alone, of all layouts."""
    own = [*own_cases()]
    rows = {case.row for case in own}
    for name, function in composites().items():
        if name not in rows and gives_floats(function):
            own += over_layouts(name, function)
    return own


def own_cases():
    labels = fz.asarray([2, 0])
    yield from over_layouts("gelu", nn.gelu)
    yield one("gelu", "tanh", lambda x: nn.gelu(x, approximate="tanh"), (2, 3))
    for name in ("mean", "logsumexp", "var", "std"):
        f = getattr(fz, name)
        for axis in (None, 0, -1, (0, 1)):
            for keep in (False, True):
                call = lambda x, f=f, a=axis, k=keep: f(x, axis=a, keepdims=k)  # noqa: E731
                yield one(name, f"{axis}-{keep}", call, (3, 4))
        if name in ("var", "std"):
            yield one(name, "unbiased", lambda x, f=f: f(x, axis=0, correction=1), (3, 2))
    yield from nan_reductions()
    for name in sorted(LAPACK.keys() & composites().keys()):
        yield from lapack({"name": name})
    yield from transforms()
    yield from orders_of_rows()
    yield one("index_add", "rows", index_add_rows, (3, 2), (4, 2))
    yield one("index_add", "axis", index_add_columns, (2, 3), (2, 2))
    for name in ("softmax", "log_softmax"):
        f = getattr(nn, name)
        for axis in (0, -1):
            yield one(name, f"{axis}", lambda x, f=f, a=axis: f(x, axis=a), (2, 3))
        yield one(name, "transposed", lambda x, f=f: f(x.T), (3, 2))
    yield from over_layouts("zeta", fz.zeta)
    yield one("zeta", "q", fz.zeta, (2, 3), (3,), lo=1.4, hi=2.9)
    yield one("polygamma", "order", lambda x: fz.polygamma(labels, x), (3, 2), lo=0.4, hi=2.9)
    yield one("cube", "cube", lambda x: x**3, (2, 3))
    yield one("on_parts", "product", lambda x, y: ((x + 1j) * (y - 2j)).imag, (2, 3), (3,))
    yield one("assign_box", "box", assign_box, (4, 3), (2, 2))
    yield one("assign_box", "number", assign_box, (4, 3), ())
    yield one("differences", "once", fz.diff, (4, 3))
    yield one("differences", "twice", lambda x: fz.diff(x, n=2, axis=0), (4, 3))
    yield one("share_extreme", "pool", share_extreme, (2, 2, 3, 2), (2, 3))
    yield one("composite_gradient", "large", composite_gradient, (2, 3), (3,), (3,))
    yield one("clip", "both", lambda x: fz.clip(x, -1, 1.5), (2, 4))
    yield one("clip", "min", lambda x: fz.clip(x, min=0.01), (5,))
    yield one("clip", "max", lambda x: fz.clip(x, max=0.01), (5,))
    yield one("clip", "arrays", lambda x, a, b: fz.clip(x, a, b), (4,), (4,), (4,))
    yield one("layer_norm", "plain", lambda x: nn.layer_norm(x), (2, 3))
    yield one("layer_norm", "affine", lambda x, w, b: nn.layer_norm(x, w, b), (2, 3), (3,), (3,))
    yield one("cross_entropy", "rows", lambda x: nn.cross_entropy(x, labels), (2, 3))
    yield one("attention", "plain", nn.attention, (2, 2), (3, 2), (3, 2))
    yield one(
        "attention",
        "causal",
        lambda q, k, v: nn.attention(q, k, v, causal=True, scale=0.5),
        (1, 3, 2),
        (1, 3, 2),
        (1, 3, 2),
    )


def index_add_rows(x, v):
    return fz.index_add(x, fz.asarray([2, 0, 2, -1]), v) * x


def index_add_columns(x, v):
    return fz.index_add(x, fz.asarray([1, 1]), v * v, axis=1) ** 2


def with_nan(x):
    """x with NaN in every third place of the first axis, which no gradient reaches."""
    return fz.where(fz.asarray([True, False, False])[:, None], math.nan, x)


def nan_reductions():
    for name in ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "ptp"):
        f = getattr(fz, name)
        lo, hi = (0.4, 1.7) if name == "nanprod" else (-2.7, 2.9)
        for axis in (None, 0, -1, (0, 1)):
            for keep in (False, True):
                call = lambda x, f=f, a=axis, k=keep: f(x, axis=a, keepdims=k)  # noqa: E731
                yield one(name, f"{axis}-{keep}", call, (3, 4), lo=lo, hi=hi)
        if name != "ptp":
            call = lambda x, f=f: f(with_nan(x), axis=0) * x[0]  # noqa: E731
            yield one(name, "nan", call, (3, 4), lo=lo, hi=hi)


def orders_of_rows():
    """Quantiles: of elements, between them, of several levels, without NaN."""
    for name in ("median", "nanmedian"):
        f = getattr(fz, name)
        for axis in (None, 0, -1, (0, 1)):
            yield one(name, f"{axis}", lambda x, f=f, a=axis: f(x, axis=a), (3, 4))
    yield one("nanmedian", "nan", lambda x: fz.nanmedian(with_nan(x), axis=0), (3, 4))
    for name, top in (("quantile", 1), ("percentile", 100)):
        for pre in ("", "nan"):
            f = getattr(fz, pre + name)
            for method in ("linear", "lower", "midpoint", "hazen"):
                call = lambda x, f=f, m=method, t=top: f(x, 0.3 * t, axis=0, method=m)  # noqa: E731
                yield one(pre + name, method, call, (5, 2))
            several = lambda x, f=f, t=top: f(x, [0.2 * t, 0.9 * t], axis=1) ** 2  # noqa: E731
            yield one(pre + name, "several", several, (2, 4))


def all_cases(table):
    return [*op_cases(table), *composite_cases()]
