"""fz.sparse against SciPy and against dense arrays: eager, traced, with gradients."""

import re

import numpy as np
import pytest
import scipy.sparse as ss
import scipy.sparse.linalg

import frazil as fz
from frazil.sparse import cg, coo_array, csr_array, gmres, issparse, lobpcg

DTYPES = ("float32", "float64", "complex64", "complex128", "int64")


def matrix(dtype="float32", m=7, n=5, seed=0, density=0.4):
    rng = np.random.default_rng(seed)
    a = rng.integers(-4, 5, (m, n)) * (rng.random((m, n)) < density)
    a = a.astype(dtype)
    return a * np.asarray(1 + 0.5j, dtype) if dtype.startswith("complex") else a


def dense(x):
    return np.asarray(x.toarray() if issparse(x) else x)


def close(got, wanted, tolerance=1e-5):
    assert dense(got).dtype == wanted.dtype and dense(got).shape == wanted.shape
    np.testing.assert_allclose(dense(got), wanted, rtol=tolerance, atol=tolerance)


FORMS = {"coo": coo_array, "csr": csr_array}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_from_and_to(form, dtype):
    a = matrix(dtype)
    rows, columns = np.nonzero(a)
    scipys = ss.csr_array(a)
    sources = [a, fz.asarray(a), scipys, ss.coo_matrix(a), scipys.tocsc(), FORMS[form](a)]
    sources += [(a[rows, columns], (rows, columns)), coo_array(a), csr_array(a)]
    for source in sources:
        x = FORMS[form](source, shape=a.shape)
        close(x, a)
        assert x.shape == a.shape and x.dtype.name == dtype and x.nnz == len(rows)
        back = x.to_scipy()
        assert back.format == form and (back.toarray() == a).all() and back.dtype == a.dtype
    assert repr(x) == f"fz.sparse.{form}_array(shape=(7, 5), nnz={len(rows)}, dtype={dtype})"


def test_rows_as_scipy_keeps_them():
    a = matrix()
    s = ss.csr_array(a)
    x = csr_array((s.data, s.indices, s.indptr), shape=a.shape)
    close(x, a)
    for name in ("data", "indices", "indptr"):
        assert (np.asarray(getattr(x, name)) == getattr(s, name)).all()
    assert csr_array((s.data, s.indices, s.indptr)).shape[0] == 7
    c = x.tocoo()
    assert c.row.tolist() == s.tocoo().row.tolist() and c.col.tolist() == s.tocoo().col.tolist()


def test_what_stands_twice_is_summed():
    parts = ([1.0, 2.0, 4.0, 8.0], ([1, 0, 1, 1], [2, 0, 2, 0]))
    wanted = ss.coo_array(parts, shape=(2, 3))
    for x in (coo_array(parts, (2, 3)), csr_array(parts, (2, 3))):
        assert dense(x).tolist() == wanted.toarray().tolist()
    assert csr_array(parts).nnz == 3 and coo_array(parts).nnz == 4
    assert csr_array(parts).data.tolist() == [2, 8, 5]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("traced", [False, True])
def test_products_and_sums(form, dtype, traced):
    a, b = matrix(dtype), matrix(dtype, seed=1)
    x, y = FORMS[form](a), FORMS[form](b)
    v, w, m = np.arange(5).astype(dtype), np.arange(7).astype(dtype), matrix(dtype, 5, 3, 2)
    run = fz.trace if traced else lambda f: f

    def check(f, wanted):
        close(run(f)(x, fz.asarray(v)), wanted)

    check(lambda x, v: x @ v, a @ v)
    check(lambda x, v: x.dot(v), a @ v)
    check(lambda x, v: x @ fz.asarray(m), a @ m)
    check(lambda x, v: fz.asarray(w) @ x, w @ a)
    check(lambda x, v: fz.asarray(m.T) @ x.T, m.T @ a.T)
    check(lambda x, v: x.T @ fz.asarray(w), a.T @ w)
    check(lambda x, v: x * 3, a * np.asarray(3, dtype))
    check(lambda x, v: x.multiply(v), a * v)
    check(lambda x, v: -x, -a)
    check(lambda x, v: x.sum(), np.asarray(a.sum()))
    check(lambda x, v: x.sum(0), a.sum(0))
    check(lambda x, v: x.sum(-1), a.sum(1))
    check(lambda x, v: x.diagonal(), a.diagonal())
    check(lambda x, v: x.conj().toarray(), a.conj())
    if not traced:
        close(x + y, a + b)
        close(x - y, a - b)
        close(x @ y.T, a @ b.T)
        close(x + fz.asarray(b), a + b)
        close(fz.asarray(b) - x, b - a)
        assert isinstance(x + y, FORMS[form]) and isinstance(x.T, FORMS[form])
        close(v[None] @ x.T, v[None] @ a.T)
        if dtype != "int64":
            close(x / 2, a / np.asarray(2, dtype))
            close(x.multiply(y), a * b)


def test_no_elements():
    x = csr_array(np.zeros((3, 2), "float32"))
    assert x.nnz == 0 and (x @ fz.ones(2)).tolist() == [0, 0, 0] and dense(x.T @ x).sum() == 0
    assert csr_array(np.zeros((0, 2), "float32")).toarray().shape == (0, 2)


def test_gradients_to_values_and_dense_side():
    a = matrix("float64")
    s = ss.csr_array(a)
    v = np.linspace(-1, 1, 5)

    def loss(data, v):
        x = csr_array((data, s.indices, s.indptr), shape=a.shape)
        return fz.sum(fz.sin(x @ v)) + fz.sum(x.multiply(v).sum(0) ** 2)

    def dense_loss(data, v):
        rows, columns = s.tocoo().coords
        x = fz.index_add(fz.zeros((35,), "float64"), fz.asarray(rows * 5 + columns), data)
        x = x.reshape(7, 5)
        return fz.sum(fz.sin(x @ v)) + fz.sum(fz.sum(x * v, axis=0) ** 2)

    args = fz.asarray(s.data), fz.asarray(v)
    wanted = fz.grad(dense_loss, argnums=(0, 1))(*args)
    for f in (fz.grad(loss, argnums=(0, 1)), fz.trace(fz.grad(loss, argnums=(0, 1)))):
        for g, w in zip(f(*args), wanted, strict=True):
            np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-12, atol=1e-12)


def test_a_matrix_is_a_container():
    x = csr_array(matrix())
    doubled = fz.tree.map(lambda t: t * 2 if t.dtype.name == "float32" else t, x)
    close(doubled, 2 * matrix())
    f = fz.trace(lambda x, v: (x * 2) @ v)
    for seed in range(4):
        y = csr_array(matrix(seed=seed))
        close(f(y, fz.ones(5)), 2 * matrix(seed=seed).sum(1))


def laplacian(n, dtype="float64"):
    return ss.diags_array([-1, 2.1, -1], offsets=[-1, 0, 1], shape=(n, n)).tocsr().astype(dtype)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("solver", [cg, gmres])
def test_solvers(solver, dtype, traced):
    s = laplacian(40, dtype)
    if dtype == "complex128":
        s = s + ss.diags_array([1j, -1j], offsets=[1, -1], shape=(40, 40)).tocsr() * 0.3
    b = np.linspace(-1, 1, 40).astype(dtype)
    wanted = scipy.sparse.linalg.spsolve(s.tocsc(), b)
    x = csr_array(s)
    diagonal = fz.asarray(1 / s.diagonal())
    tolerance = 1e-4 if dtype == "float32" else 1e-8
    kinds = [x, fz.asarray(s.toarray()), lambda v: x @ v]
    for a in kinds:
        for m in (None, lambda r: diagonal * r):

            def solve(b):
                return solver(a, b, M=m, rtol=tolerance)  # noqa: B023

            got, info = (fz.trace(solve) if traced else solve)(fz.asarray(b))
            assert info == 0
            assert np.linalg.norm(s @ np.asarray(got) - b) <= 2 * tolerance * np.linalg.norm(b)
            np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-2, atol=1e-3)


def test_solvers_say_when_they_did_not_get_there():
    x, b = csr_array(laplacian(200)), fz.ones(200, dtype="float64")
    assert cg(x, b, maxiter=3)[1] == 3
    assert gmres(x, b, restart=2, maxiter=2)[1] == 2
    assert cg(x, fz.zeros(200, dtype="float64"))[1] == 0
    start = cg(x, b, rtol=1e-10)[0]
    assert cg(x, b, x0=start, maxiter=0)[1] == 0
    matrix = np.array([[0.0, 1.0], [-1.0, 0.0]])  # exhausted after its first vector
    got, info = gmres(fz.asarray(matrix), fz.asarray([1.0, 0.0], dtype="float64"))
    assert info == 0 and np.allclose(np.asarray(got), [0, 1])


def test_solvers_say_that_nothing_came_of_it():
    x, bad = csr_array(laplacian(5)), fz.asarray([1.0, np.nan, 0, 0, 0], dtype="float64")
    for solver in (cg, gmres):
        assert solver(x, bad)[1] == -1 and solver(x * np.nan, fz.ones(5))[1] == -1
        with pytest.raises(ValueError, match=r"maxiter must be at least 0, got -1\."):
            solver(x, fz.ones(5), maxiter=-1)
    with pytest.raises(ValueError, match=r"\[gmres\] restart must be at least 1, got 0\."):
        gmres(x, fz.ones(5), restart=0)


def test_a_solver_is_differentiated():
    s = laplacian(12)
    b = np.linspace(1, 2, 12)
    gradient = fz.grad(lambda b: fz.sum(cg(csr_array(s), b, rtol=1e-12)[0]))(fz.asarray(b))
    wanted = scipy.sparse.linalg.spsolve(s.tocsc(), np.ones(12))
    np.testing.assert_allclose(np.asarray(gradient), wanted, rtol=1e-6)


ERRORS = {
    "csr_array(([1.0], ([0, 1], [0, 1])))": "ValueError: [sparse] values, rows and columns must be "
    "vectors of one length, got shapes (1,), (2,) and (2,).",
    "coo_array(([1.0], ([3], [0])), shape=(2, 2))": "ValueError: [sparse] indices up to (3, 0) and "
    "from (3, 0) on do not fit shape (2, 2).",
    "coo_array(([1.0], ([-1], [0])), shape=(2, 2))": "ValueError: [sparse] indices up to (-1, 0) "
    "and from (-1, 0) on do not fit shape (2, 2).",
    "coo_array([1.0, 2.0])": "ValueError: [sparse] a dense matrix has two axes, got shape (2,).",
    "csr_array(([1.0], [0], [0, 2]))": "ValueError: [csr_array] indptr must ascend from 0 to the "
    "number of indices, 1, got fz.Tensor([0, 2]).",
    "X @ fz.ones(3)": "ValueError: [matmul] a sparse matrix of shape [7,5] and f32[3] do not fit.",
    "X @ X": "ValueError: [matmul] shapes (7, 5) and (7, 5) do not fit.",
    "X + X.T": "ValueError: [add] shapes (7, 5) and (5, 7) differ.",
    "X + 1": "NotImplementedError: [csr_array] adding a number fills every element: use toarray().",
    "X.sum(2)": "ValueError: [sum] axis must be None, 0 or 1, got 2.",
    "len(X)": "TypeError: [csr_array] its length is ambiguous: use .nnz or .shape[0].",
    "bool(X)": "ValueError: [csr_array] its truth value is ambiguous: use .nnz.",
    "np.asarray(X)": "TypeError: [csr_array] is no dense array: use .toarray().",
    "cg(X, fz.ones(7))": "ValueError: [cg] b has 7 elements, but the matrix has shape (7, 5).",
    "gmres(X, fz.ones((7, 1)))": "ValueError: [gmres] b must be a vector, got shape (7, 1).",
    "cg(X @ X.T, fz.ones(7), fz.ones(6))": "ValueError: [cg] x0 has shape (6,) and b (7,).",
}


@pytest.mark.parametrize("call", ERRORS)
def test_wrong_input(call):
    names = {"fz": fz, "np": np, "X": csr_array(matrix())}
    names |= {"csr_array": csr_array, "coo_array": coo_array, "cg": cg, "gmres": gmres}
    with pytest.raises((TypeError, ValueError, NotImplementedError)) as caught:
        eval(call, names)
    message = f"{type(caught.value).__name__}: {caught.value}"
    assert message == ERRORS[call], re.escape(message)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_eigenvalues(dtype, largest):
    s = laplacian(60, dtype)
    if dtype == "complex128":
        s = s + ss.diags_array([0.3j, -0.3j], offsets=[1, -1], shape=(60, 60)).tocsr()
    wanted = np.linalg.eigvalsh(s.toarray())
    wanted = wanted[::-1][:3] if largest else wanted[:3]
    start = fz.asarray(np.random.default_rng(0).standard_normal((60, 3)).astype(dtype))

    def run(x):
        return lobpcg(csr_array(s), x, maxiter=200, tol=1e-4, largest=largest)

    for f in (run, fz.trace(run)):
        w, v = f(start)
        np.testing.assert_allclose(np.asarray(w), wanted, rtol=1e-3, atol=1e-3)
        v = np.asarray(v)
        assert np.abs(s @ v - v * np.asarray(w)).max() < 1e-2
        assert np.abs(v.conj().T @ v - np.eye(3)).max() < 1e-4
