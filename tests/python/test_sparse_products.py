"""Products with sparse matrices: shapes, dtypes, threads, gradients, structures that are wrong."""

import numpy as np
import pytest
import scipy.sparse as ss

import frazil as fz
from frazil import _frazil
from frazil.sparse import coo_array, csr_array

WIDTHS = [0, 1, 2, 3, 5, 8, 16, 31, 64, 70, 130]
TOLERANCE = {"float32": 1e-5, "float64": 1e-13, "complex64": 1e-5, "complex128": 1e-13, "int32": 0}


def scipys(dtype="float32", m=50, n=37, density=0.2, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.uniform(-1, 1, (m, n)) * 4 * (rng.random((m, n)) < density)
    a[:, 3] = a[4] = 0
    a[5] = 1.25  # a full row
    return ss.csr_array((a * (1 - 0.5j) if dtype.startswith("complex") else a).astype(dtype))


def dense(dtype, *shape, seed=1):
    a = np.random.default_rng(seed).uniform(-4, 4, shape)
    return (a * (1 + 2j) if dtype.startswith("complex") else a).astype(dtype)


@pytest.mark.parametrize("form", [csr_array, coo_array])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_all_widths(form, dtype):
    s = scipys(dtype)
    x = form(s)
    for width in WIDTHS:
        for got, wanted in [
            (x @ dense(dtype, 37, width), s @ dense(dtype, 37, width)),
            (dense(dtype, width, 50) @ x, dense(dtype, width, 50) @ s),
        ]:
            assert np.asarray(got).dtype == wanted.dtype and got.shape == wanted.shape
            np.testing.assert_allclose(np.asarray(got), wanted, TOLERANCE[dtype], TOLERANCE[dtype])
    np.testing.assert_allclose(x @ dense(dtype, 37), s @ dense(dtype, 37), 1e-5, 1e-5)


@pytest.mark.parametrize("form", [csr_array, coo_array])
def test_other_dtypes(form):
    s = scipys("float64")
    s.data = np.rint(s.data)
    v = np.rint(dense("float64", 37))
    for dtype in ("int8", "uint16", "int64", "float16", "bfloat16", "bool"):
        a, x = fz.asarray(s.data).astype(dtype), fz.asarray(v).astype(dtype)
        places = (s.indices, s.indptr) if form is csr_array else (s.tocoo().coords,)
        got = form((a, *places), shape=s.shape) @ x
        assert got.dtype == getattr(fz, dtype)
        wide = "float32" if "float" in dtype else dtype
        m = np.zeros(s.shape, wide)
        m[s.tocoo().coords] = np.asarray(a.astype(wide))
        wanted = fz.asarray(m @ np.asarray(x.astype(wide))).astype(dtype)
        assert (np.asarray(got.astype(wide)) == np.asarray(wanted.astype(wide))).all(), dtype
    mixed = csr_array(scipys("float32")) @ dense("complex128", 37)
    assert mixed.dtype == fz.complex128
    assert (csr_array(scipys("int32")) @ dense("float64", 37)).dtype == fz.float64


def test_threads_change_no_bit():
    s = ss.random_array((300, 200), density=0.5, format="csr", rng=np.random.default_rng(0))
    results = []
    threads = fz.get_num_threads()
    try:
        for n in (1, 2, 5):
            fz.set_num_threads(n)
            results.append([])
            for form in (csr_array, coo_array):
                x = form(s.astype("float32"))
                for width in (1, 3, 8, 40, 200):
                    wide, high = dense("float32", 200, width), dense("float32", 300, width)
                    results[-1] += [x @ wide, high.T @ x]
                    total = fz.grad(lambda d, w, x=x: fz.sum(x._like(d) @ w), argnums=(0, 1))
                    results[-1] += total(x.data, fz.asarray(wide))
    finally:
        fz.set_num_threads(threads)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_a_traced_product_is_the_eager_one():
    s = scipys()
    x = csr_array(s)

    def f(x, v, w):
        y = x @ fz.sin(v)
        return y * 2, (w + y) @ x

    traced = fz.trace(f)
    for seed in range(5):
        args = x * float(seed), fz.asarray(dense("float32", 37, seed=seed)), fz.ones(50)
        for a, b in zip(f(*args), traced(*args), strict=True):
            assert a.tolist() == b.tolist()
    assert traced.stats()["plans"] >= 1 and not traced.stats()["fallbacks"]


def test_gradients_of_gradients():
    s = scipys("float64", 6, 5, 0.5)
    rows, columns = s.tocoo().coords

    def of(build):
        def loss(data, v):
            return fz.sum(fz.sin(build(data) @ v) ** 2)

        def norm(data, v):
            return sum(fz.sum(g * g) for g in fz.grad(loss, argnums=(0, 1))(data, v))

        return fz.grad(norm, argnums=(0, 1))

    def full(data):
        flat = fz.zeros((30,), "float64")
        return fz.index_add(flat, fz.asarray(rows * 5 + columns), data).reshape(6, 5)

    v = fz.asarray(dense("float64", 5, 2))
    wanted = of(full)(fz.asarray(s.data), v)
    x, y = csr_array(s), coo_array(s)
    for matrix in (x, y):
        for run in (of(matrix._like), fz.trace(of(matrix._like))):
            for g, w in zip(run(matrix.data, v), wanted, strict=True):
                np.testing.assert_allclose(np.asarray(g), np.asarray(w), 1e-11, 1e-11)


WRONG = {  # of shape (2, 3) with two values
    "rows that go back": ([0, 2, 1, 0, 0], False, "starts of 2 rows must ascend from 0 to 2"),
    "rows from 1 on": ([1, 1, 2, 0, 0], False, "starts of 2 rows must ascend from 0 to 2"),
    "rows beyond": ([0, 1, 9, 0, 0], False, "starts of 2 rows must ascend from 0 to 2"),
    "rows far beyond": ([0, 2**31 - 1, 2, 0, 0], False, "starts of 2 rows must ascend"),
    "a column beyond": ([0, 1, 2, 2, 3], False, "column 3 is out of range for a matrix of shape"),
    "a column below": ([0, 1, 2, -1, 0], False, r"column -1 is out of range .* \(2, 3\)"),
    "a column far below": ([0, 1, 2, -(2**31), 0], False, "column -2147483648 is out of range"),
    "a pair's column": ([0, 1, 1000, 0], True, "column 1000 is out of range"),
    "a pair's row": ([0, 2, 1, 0], True, "row 2 is out of range"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("traced", [False, True])
def test_nothing_is_read_beyond(name, traced):
    places, pairs, message = WRONG[name]
    for dtype in ("int32", "int64"):
        for transposed in (False, True):
            for width in (1, 4, 50):

                def f(v, p, x, transposed=transposed):
                    return _frazil.sparse.matmul(v, p, x, 2, 3, pairs, transposed)

                x = fz.ones((2 if transposed else 3, width))
                args = fz.ones(2), fz.asarray(places, dtype=dtype), x
                g = fz.trace(f) if traced else f
                with pytest.raises(IndexError, match=message):
                    np.asarray(g(*args))

                def loss(v, f=f, args=args):
                    return fz.sum(f(v, *args[1:]))

                with pytest.raises(IndexError, match=message):
                    np.asarray(fz.grad(loss)(args[0]))


@pytest.mark.parametrize(
    ("places", "shape", "dense_shape", "error", "message"),
    [
        ([0, 1, 2, 0, 0], (3, 3), (3,), ValueError, r"shape \[3,3\] does not fit f32\[2\]"),
        ([0, 1, 2, 0, 0], (2, 3), (4,), ValueError, r"shape \[2,3\] and f32\[4\] do not fit"),
        ([0, 1, 2, 0, 0], (-2, 3), (3,), ValueError, r"shape \[-2,3\] does not fit"),
        ([0.0, 1, 2, 0, 0], (2, 3), (3,), TypeError, "places must be int32 or int64, got f32"),
        ([[0, 1, 2, 0, 0]], (2, 3), (3,), ValueError, "does not fit"),
    ],
)
def test_structures_that_do_not_fit(places, shape, dense_shape, error, message):
    with pytest.raises(error, match=message):
        _frazil.sparse.matmul(
            fz.ones(2), fz.asarray(places), fz.ones(dense_shape), *shape, False, False
        )
