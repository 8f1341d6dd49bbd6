"""What NumPy's functions of structure are called with, here and there: (name, arguments, keywords).

Used by test_names.py, which compares with NumPy, eager and traced, over dtypes and layouts. A row
has arrays as NumPy arrays; everything else goes to both libraries as it is.
"""

import numpy as np

CASES = []
_RNG = np.random.default_rng(0)


def f(*shape):
    return _RNG.normal(size=shape)


def i(*shape):
    return _RNG.integers(0, 5, shape)


def z(*shape):
    return f(*shape) + 1j * f(*shape)


def c(name, *args, **kwargs):
    CASES.append((name, args, kwargs))


for s in [(), (3,), (2, 3), (2, 3, 4)]:
    for n in "atleast_1d atleast_2d atleast_3d".split():
        c(n, f(*s))
for n in "hstack vstack dstack".split():
    c(n, [f(3), f(3)])
    c(n, [f(2, 3), f(2, 3)])
    c(n, [f(2, 3, 2), f(2, 3, 2)])
    c(n, [f(), f()])
c("column_stack", [f(3), f(3, 2)])
c("append", f(2), f(3, 2))
c("append", f(2, 2), f(3, 2), axis=0)
for n in (2, 3, 5, 7):
    c("array_split", f(5), n)
    c("array_split", f(4, 5), n, axis=1)
c("array_split", f(6), [2, 4])
c("hsplit", f(6), 3)
c("hsplit", f(2, 6), [1, 3])
c("vsplit", f(4, 2), 2)
c("dsplit", f(2, 2, 4), 2)
for k in range(-1, 5):
    c("rot90", f(2, 3), k)
    c("rot90", f(2, 3, 4), k, (1, 2))
c("fliplr", f(2, 3))
c("flipud", f(2, 3))
c("rollaxis", f(2, 3, 4), 2)
c("rollaxis", f(2, 3, 4), 0, 3)
c("rollaxis", f(2, 3, 4), 1, -1)
for w in (1, [0, -1], slice(1, 3), np.array([True, False, True, True, False])):
    c("delete", f(5), w)
    c("delete", f(5, 2), w, axis=0)
c("insert", f(5), 2, 9.0)
c("insert", f(5), [1, 3], [7.0, 8.0])
c("insert", f(5), [1, 1], 9.0)
c("insert", f(3, 2), 1, 5.0, axis=0)
c("insert", f(3, 2), [0, 2], f(2, 2), axis=0)
c("insert", f(3, 2), 1, f(3), axis=1)
c("insert", f(5), 2, [1.0, 2, 3])
c("insert", f(5), -1, [1.0, 2, 3])
c("insert", f(3, 2), 3, f(2), axis=0)
for k in (-4, -2, -1, 0, 1, 3):
    c("diagonal", f(3, 4), k)
    c("diagonal", f(2, 3, 4), k, 1, 2)
    c("diag", f(3), k)
    c("diag", f(3, 4), k)
    c("diagflat", f(2, 2), k)
    c("tril_indices", 3, k)
    c("triu_indices", 3, k, 5)
c("diagonal", f(2, 3, 4), 0, 2, 0)
c("identity", 3)
c("indices", (2, 3))
c("ix_", [0, 2], np.array([True, False, True]))
c("diag_indices", 3)
c("tri", 3, 4, 1)
for a, b in [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((2, 3), (4, 3, 5)),
    ((), (3,)),
    ((4, 2, 3), (3,)),
]:
    c("dot", f(*a), f(*b))
for a, b in [((3,), (3,)), ((2, 3), (3,)), ((2, 3), (4, 3)), ((2, 3), (4, 5, 3)), ((), (3,))]:
    c("inner", f(*a), f(*b))
    c("inner", i(*a), i(*b))
c("vdot", f(2, 3), f(2, 3))
c("matvec", f(4, 2, 3), f(3))
c("vecmat", f(4, 2), f(2, 3))
c("kron", f(2), f(3))
c("kron", f(2, 3), f(3, 2))
c("kron", f(2), f(3, 2))
c("kron", f(), f(3))
c("cross", f(5, 3), f(3))
c("cross", f(3, 5), f(3, 5), axis=0)
for inc in (False, True):
    for n in (None, 0, 1, 2, 5):
        c("vander", i(4), n, increasing=inc)
        c("vander", f(4), n, increasing=inc)
FORMULAS = [
    "ij,jk->ik",
    "ij,jk",
    "ij->ji",
    "ij->",
    "ij->i",
    "ii",
    "ii->i",
    "i,i",
    "i,j",
    "i,j->ij",
    "bij,bjk->bik",
    "ij,ij->ij",
    "ij,ij",
    "ijk->kji",
    "...ij,...jk->...ik",
    "...ij->...ji",
    "iij->ij",
    "ij,jk,kl->il",
    "a,b,c->abc",
    "ij,kj,lj->ikl",
    "ii,ij->j",
    "...,...",
    "i...->...",
    "ab,bc,cd,de,ef->af",
]
EXTENTS = dict(i=3, j=4, k=5, l=2, b=3, a=2, c=4, d=5, e=3, f=2)
for e in FORMULAS:
    ts = e.split("->")[0].split(",")
    for mk in (f, i):
        c(
            "einsum",
            e,
            *[
                mk(*([2] if "..." in t else []), *[EXTENTS[ch] for ch in t if ch != "."])
                for t in ts
            ],
        )
c("einsum", f(2, 3), [0, 1], f(3, 4), [1, 2], [0, 2])
c("einsum", f(2, 3), [0, 1], f(3, 4), [1, 2])
c("einsum", "ij,jk", f(2, 1), f(3, 4))
c("einsum", "ij,ij->i", f(2, 1), f(2, 4))
c("einsum", "...i,...i", f(3, 2, 4), f(2, 4))
c("einsum", "ij,jk->ik", f(2, 0), f(0, 3))
c("einsum", ",ij", f(), f(2, 3))
for o in (
    False,
    True,
    "greedy",
    "optimal",
    ["einsum_path", (0, 2), (0, 1)],
    ["einsum_path", (0, 1, 2)],
):
    c("einsum", "ij,jk,kl->il", f(2, 3), f(3, 4), f(4, 5), optimize=o)
c("average", f(3, 4))
c("average", f(3, 4), axis=1, weights=_RNG.random(4))
c("average", f(3, 4), weights=_RNG.random((3, 4)))
c("average", i(3, 4), axis=0, weights=i(3) + 1, returned=True)
c("average", f(2, 3, 4), axis=(0, 2), weights=_RNG.random((2, 4)))
c("average", f(2, 3, 4), axis=(2, 0), weights=_RNG.random((4, 2)))
c("average", i(5), returned=True)
c("average", z(3, 4))
c("average", z(3, 4), axis=1, weights=_RNG.random(4), returned=True)
for kw in ({}, dict(bias=True), dict(ddof=0), dict(rowvar=False)):
    c("cov", f(3, 7), **kw)
    c("cov", f(7), **kw)
c("cov", f(3, 7), f(7))
c("cov", f(7), f(7))
c("cov", f(3, 7), fweights=i(7) + 1)
c("cov", f(3, 7), aweights=_RNG.random(7))
c("cov", f(3, 7), fweights=i(7) + 1, aweights=_RNG.random(7))
c("corrcoef", f(3, 7))
c("corrcoef", f(7), f(7))
c("cov", i(2, 5))
c("cov", z(3, 7))
c("cov", z(3, 7), z(7), fweights=i(7) + 1, aweights=_RNG.random(7))
c("corrcoef", z(3, 7))
c("bincount", i(20))
c("bincount", i(20), minlength=9)
c("bincount", i(20), weights=f(20))
c("bincount", i(0))
b = np.array([0.0, 1, 2.5, 4])
for r in (False, True):
    c("digitize", np.array([-1, 0, 1, 1.5, 4, 5]), b, r)
    c("digitize", np.array([-1, 0, 1, 1.5, 4, 5]), b[::-1], r)
for kw in (
    {},
    dict(bins=5),
    dict(bins=np.array([-1.0, 0, 0.5, 2])),
    dict(range=(-1.0, 1.0)),
    dict(density=True),
    dict(weights=_RNG.random(100)),
    dict(bins=np.array([-1.0, 0, 0.5, 2]), density=True, weights=_RNG.random(100)),
):
    c("histogram", f(100), **kw)
c("histogram", i(100))
c("histogram", i(100), bins=5)
c("histogram", f(0))
c("histogram_bin_edges", f(9), 4)
for kw in (
    {},
    dict(bins=5),
    dict(bins=[3, 4]),
    dict(range=[(-1.0, 1.0), (-2.0, 2.0)]),
    dict(density=True),
):
    c("histogram2d", f(100), f(100), **kw)
c("ediff1d", f(5))
c("ediff1d", f(2, 3), to_end=[1.0, 2], to_begin=9.0)
x = np.sort(f(7))
for eo in (1, 2):
    c("gradient", f(7), edge_order=eo)
    c("gradient", f(7), 2.0, edge_order=eo)
    c("gradient", f(7), x, edge_order=eo)
    c("gradient", f(4, 5), edge_order=eo)
    c("gradient", f(4, 7), 1.5, x, edge_order=eo)
    c("gradient", f(4, 5), axis=1, edge_order=eo)
c("gradient", i(6))
c("gradient", z(4, 5))
c("gradient", z(5), f(5).cumsum() ** 2, edge_order=2)
c("trapezoid", f(5))
c("trapezoid", f(5), np.sort(f(5)))
c("trapezoid", f(3, 5), dx=0.5, axis=0)
c("trapezoid", f(3, 5), np.sort(f(5)))
c("trapezoid", i(3, 5))
c("interp", f(9) * 2, x, f(7))
c("interp", f(3, 3) * 2, x, f(7), left=-9.0, right=9.0)
c("interp", f(9) * 9, x, f(7), period=2.5)
c("interp", 2.5, [1, 2, 3], [3, 2, 0])
c("interp", f(4), [1.0], [2.0])
c("interp", x, x, f(7))
c("interp", f(9) * 2, x, z(7), left=1j)
c("interp", np.array([np.nan, -np.inf, np.inf]), x, f(7))
for m in ("full", "same", "valid"):
    for a_, b_ in ((7, 3), (3, 7), (5, 4), (4, 4), (1, 1), (40, 20), (20, 40), (41, 21)):
        c("convolve", f(a_), f(b_), m)
        c("correlate", f(a_), f(b_), m)
        c("convolve", i(a_), i(b_), m)
        c("correlate", i(a_), i(b_), m)
c("unwrap", np.cumsum(f(20) * 3) % 6.28)
c("unwrap", i(20), period=4)
c("unwrap", i(20), period=5)
c("unwrap", f(3, 9) * 9, axis=0)
c("unwrap", f(9) * 9, discont=5.0)
c("polyval", [3, 0, 1], 5)
c("polyval", f(4), f(3, 2))
c("polyval", f(0), f(3))
c("polyadd", f(4), f(2))
c("polysub", f(1), f(2))
c("polymul", f(4), f(2))
c("polyder", f(5))
c("polyder", f(5), 2)
c("polyint", f(5))
c("polyint", f(5), 2, k=3.0)
c("polyder", i(3))
c("piecewise", f(7), [f(7) > 0.3, f(7) > 0], [lambda t: t * t, 0.5])
c(
    "piecewise",
    f(2, 3),
    [f(2, 3) > 0, f(2, 3) > 9],
    [lambda t: t + 1, lambda t: t[5:], lambda t: -t],
)
c("piecewise", i(5), [i(5) > 2], [lambda t, n: t - n, 7], 2)
c("piecewise", f(3), [True, False, True], [lambda t: -t, 1.0])
c("piecewise", f(3), np.array([True, False, True]), [lambda t: -t])
c("select", [f(4) > 0, f(4) > 1], [f(4), f(4)], 9.0)
c("select", [f(4) > 0, f(4) > 1], [i(4), f(4)])
c("choose", i(6) % 3, [i(6), i(6), i(6)])
c("choose", i(6), [i(6), i(6), i(6)], mode="wrap")
c("choose", i(6) - 2, [i(6), i(6), 7], mode="clip")
c("compress", [True, False, True], f(3, 2), axis=0)
c("compress", [True, False, True], f(3, 2))
c("extract", f(3, 2) > 0, f(3, 2))
c("flatnonzero", i(3, 4))
c("argwhere", i(3, 4))
c("argwhere", np.array(3))
c("trim_zeros", np.array([0, 0, 1, 0, 2, 0]))
c("trim_zeros", np.array([0, 0]))
c("trim_zeros", np.array([0, 1.0, 0]), "f")
c("lexsort", (i(9), i(9)))
c("lexsort", i(3, 9))
c("lexsort", i(3, 4, 5), axis=0)
c("unravel_index", i(4, 2), (3, 4))
c("unravel_index", i(4), (3, 4), order="F")
c("ravel_multi_index", (i(4) % 3, i(4) % 4), (3, 4))
c("ravel_multi_index", (i(4), i(4)), (3, 4), mode="wrap")
c("ravel_multi_index", (i(4), i(4)), (3, 4), mode="clip", order="F")
c("unique", i(9))
c("unique", i(9), return_index=True, return_inverse=True, return_counts=True)
c("unique", i(9, 2), axis=0, return_index=True, return_inverse=True, return_counts=True)
c("unique", i(3, 9) % 2, axis=1)
c("unique", np.array([np.nan, 1, np.nan]))
c("unique", f(0))
c("union1d", i(5), i(6))
c("intersect1d", i(5), i(6))
c("intersect1d", i(5), i(6), return_indices=True)
c("setdiff1d", i(5), i(3))
c("setxor1d", i(5), i(3))
c("partition", f(9), 3)
c("repeat", f(2, 3), 2)
c("diff", f(5), prepend=f(1), append=f(2))
c("diff", f(3, 4), n=2, axis=0)
c("logspace", 0, 3, 5)
c("geomspace", 1, 1000, 4)
c("geomspace", -1, -1000, 7, endpoint=False)
