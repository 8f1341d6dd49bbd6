"""fz.linalg against NumPy, over dtypes, batches, layouts and empty sizes; what it refuses."""

import numpy as np
import pytest

import frazil as fz
from frazil import linalg as la

DTYPES = ("float32", "float64", "complex64", "complex128")
TOLERANCE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-10, "complex128": 1e-10}
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


def random(shape, dtype, salt=0):
    rng = np.random.default_rng(np.prod(shape, dtype=int) + salt)
    a = rng.standard_normal(shape)
    return (a + 1j * rng.standard_normal(shape) if "complex" in dtype else a).astype(dtype)


def shifted(a):
    return a + 4 * np.eye(a.shape[-1], dtype=a.dtype)


def adjoint(a):
    return np.conj(np.swapaxes(a, -1, -2))


def definite(a):
    return shifted(a @ adjoint(a))


def close(got, want, dtype):
    got = np.asarray(got)
    assert got.shape == np.shape(want)
    assert got.dtype == np.asarray(want).dtype
    scale = max(1, np.abs(want).max(initial=0))
    np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE[dtype] * scale)


SHAPES = [(3, 3), (1, 1), (2, 5, 5), (2, 1, 4, 4), (60, 60), (0, 0), (0, 3, 3), (70, 4, 4)]
# Of square matrices: on frazil and NumPy alike, whatever signs eigenvectors have.
SQUARE = {
    "inv": lambda m, a: m.linalg.inv(shifted(a)),
    "det": lambda m, a: m.linalg.det(a),
    "cholesky": lambda m, a: m.linalg.cholesky(definite(a)),
    "upper": lambda m, a: m.linalg.cholesky(definite(a), upper=True),
    "solve": lambda m, a: m.linalg.solve(shifted(a), a),
    "eigvalsh": lambda m, a: m.linalg.eigvalsh(a),
    "eigvalsh-upper": lambda m, a: m.linalg.eigvalsh(a, UPLO="U"),
    "eigh": lambda m, a: m.abs(m.linalg.eigh(a).eigenvectors),
    "svdvals": lambda m, a: m.linalg.svdvals(a),
    "hermitian": lambda m, a: m.linalg.svd(a, hermitian=True).S,
    "sign": lambda m, a: m.linalg.slogdet(a).sign,
    "logabsdet": lambda m, a: m.linalg.slogdet(a).logabsdet,
    "pinv": lambda m, a: m.linalg.pinv(shifted(a)),
    "pinv-hermitian": lambda m, a: m.linalg.pinv(definite(a), hermitian=True),
    "matrix_power": lambda m, a: m.linalg.matrix_power(a / 4, 5),
    "negative-power": lambda m, a: m.linalg.matrix_power(shifted(a), -3),
    "power-0": lambda m, a: m.linalg.matrix_power(a, 0),
    "trace": lambda m, a: m.linalg.trace(a, offset=1),
    "diagonal": lambda m, a: m.linalg.diagonal(a, offset=-1),
    "matrix_transpose": lambda m, a: m.linalg.matrix_transpose(a),
    "matmul": lambda m, a: m.linalg.matmul(a, a),
}


@every_dtype
@pytest.mark.parametrize("name", list(SQUARE))
def test_square_matrices(name, dtype):
    for shape in SHAPES:
        a = random(shape, dtype)
        if name == "pinv-hermitian" or (name == "hermitian" and "complex" in dtype):
            a = a + 0  # NumPy reads both triangles in places: they agree
        if name in ("eigvalsh", "eigvalsh-upper", "eigh", "hermitian"):
            a = a + adjoint(a)
        want = SQUARE[name](np, a)
        on = On()
        close(SQUARE[name](on, a), want, dtype)
        turned = np.swapaxes(np.ascontiguousarray(np.swapaxes(a, -1, -2)), -1, -2)
        close(SQUARE[name](on, turned), want, dtype)


class On:
    """frazil for the functions above, which compute their arguments in NumPy."""

    def __init__(self, module=fz):
        self.module = module

    def __getattr__(self, name):
        found = getattr(self.module, name)
        if name == "linalg":
            return On(found)

        def call(*args, **options):
            return found(
                *(fz.asarray(a) if isinstance(a, np.ndarray) else a for a in args), **options
            )

        return call


RECTANGLES = [(5, 3), (3, 5), (4, 4), (2, 6, 2), (2, 2, 6), (40, 70), (0, 3), (3, 0), (1, 4)]


@every_dtype
@pytest.mark.parametrize("shape", RECTANGLES)
def test_factors_of_rectangles(shape, dtype):
    a = random(shape, dtype)
    x, k = fz.asarray(a), min(shape[-2:])
    eye = lambda n: np.broadcast_to(np.eye(n, dtype=dtype), (*shape[:-2], n, n))  # noqa: E731
    for mode in ("reduced", "complete"):
        got, want = la.qr(x, mode=mode), np.linalg.qr(a, mode=mode)
        assert got.Q.shape == want.Q.shape
        close(got.Q @ got.R, a, dtype)
        close(fz.abs(got.R), np.abs(want.R), dtype)
        close(fz.tril(got.R, -1), np.zeros_like(want.R), dtype)
        close(fz.conj(fz.matrix_transpose(got.Q)) @ got.Q, eye(got.Q.shape[-1]), dtype)
    close(fz.abs(la.qr(x, mode="r")), np.abs(np.linalg.qr(a, mode="r")), dtype)
    for full in (True, False):
        got, want = la.svd(x, full_matrices=full), np.linalg.svd(a, full_matrices=full)
        assert [p.shape for p in got] == [p.shape for p in want]
        close(got.S, want.S, dtype)
        close((got.U[..., :k] * got.S[..., None, :]) @ got.Vh[..., :k, :], a, dtype)
        close(fz.conj(fz.matrix_transpose(got.U)) @ got.U, eye(got.U.shape[-1]), dtype)
        close(got.Vh @ fz.conj(fz.matrix_transpose(got.Vh)), eye(got.Vh.shape[-2]), dtype)
    close(la.svd(x, compute_uv=False), np.linalg.svdvals(a), dtype)
    close(la.pinv(x), np.linalg.pinv(a, rtol=1e-5), dtype)
    assert la.matrix_rank(x).tolist() == np.linalg.matrix_rank(a).tolist()


@every_dtype
def test_eigenvectors(dtype):
    for shape in [(4, 4), (3, 5, 5), (50, 50), (0, 0)]:
        a = random(shape, dtype)
        w, v = la.eig(fz.asarray(a))
        assert (
            w.dtype.name
            == v.dtype.name
            == {"3": "complex64", "6": "complex128"}.get(dtype[5], "complex" + dtype[7:])
        )
        got = fz.asarray(a).astype(w.dtype) @ v
        np.testing.assert_allclose(got, np.asarray(v * w[..., None, :]), atol=20 * TOLERANCE[dtype])
        np.testing.assert_allclose(fz.sum(fz.abs(v) ** 2, axis=-2), np.ones(shape[:-1]), atol=1e-5)
        close_sets(la.eigvals(fz.asarray(a)), np.linalg.eigvals(a), dtype)
        h = a + adjoint(a)
        w, v = la.eigh(fz.asarray(h))
        np.testing.assert_allclose(
            fz.asarray(h) @ v, np.asarray(v * w[..., None, :]), atol=20 * TOLERANCE[dtype]
        )


def close_sets(got, want, dtype):
    key = lambda a: np.sort_complex(np.round(np.asarray(a), 3))  # noqa: E731
    np.testing.assert_allclose(key(got), key(want), atol=0.02)


@every_dtype
def test_systems(dtype):
    for a, b in [
        ((4, 4), (4,)),
        ((4, 4), (4, 2)),
        ((4, 4), (3, 4, 2)),
        ((2, 1, 4, 4), (3, 4, 1)),
        ((3, 4, 4), (4,)),
        ((4, 4), (4, 0)),
        ((0, 0), (0, 2)),
        ((70, 70), (70, 33)),
    ]:
        left, right = shifted(random(a, dtype)), random(b, dtype, 1)
        close(la.solve(fz.asarray(left), fz.asarray(right)), np.linalg.solve(left, right), dtype)
        for lower in (False, True):
            triangle = np.tril(left) if lower else np.triu(left)
            for trans, turned in enumerate(
                (triangle, np.swapaxes(triangle, -1, -2), adjoint(triangle))
            ):
                got = la.solve_triangular(
                    fz.asarray(left), fz.asarray(right), lower=lower, trans=trans
                )
                close(got, np.linalg.solve(turned, right), dtype)
        factor = la.cholesky(fz.asarray(definite(left)))
        if len(b) > 1:
            got = la.cholesky_solve(fz.asarray(right), factor)
            close(got, np.linalg.solve(definite(left), right), dtype)


def test_systems_promote():
    a = np.array([[2, 1], [1, 3]])
    assert la.solve(fz.asarray(a), fz.asarray([1.0, 2.0])).dtype == fz.float64
    assert la.solve(fz.asarray(a.astype("f4")), fz.asarray([1j, 2])).dtype == fz.complex64
    close(la.det(fz.asarray(a)), np.linalg.det(a), "float64")
    close(la.inv(fz.asarray(a)), np.linalg.inv(a), "float64")


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (4, 4)])
def test_least_squares(shape):
    for columns in ((), (2,)):
        a, b = random(shape, "float64"), random((shape[0], *columns), "float64", 1)
        got, want = la.lstsq(fz.asarray(a), fz.asarray(b)), np.linalg.lstsq(a, b)
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, atol=1e-10)
    a = np.outer(np.arange(5.0), [1, 2, 3])
    got, want = (
        la.lstsq(fz.asarray(a), fz.ones(5, dtype=fz.float64)),
        np.linalg.lstsq(a, np.ones(5)),
    )
    assert got.rank == 1 and got.residuals.shape == (0,)
    np.testing.assert_allclose(got.x, want[0], atol=1e-12)


@every_dtype
def test_norms(dtype):
    for shape in [(5,), (3, 4), (2, 3, 4)]:
        a = random(shape, dtype)
        x = fz.asarray(a)
        for order in (2, 1, 0, 3, 0.5, -1, np.inf, -np.inf):
            for axis in (None, 0, -1, (0, -1)):
                if axis == (0, -1) and len(shape) == 1:
                    continue
                for keep in (False, True):
                    want = np.linalg.vector_norm(a, axis=axis, ord=order, keepdims=keep)
                    close(la.vector_norm(x, axis=axis, ord=order, keepdims=keep), want, dtype)
        if len(shape) == 1:
            close(la.norm(x, 3), np.linalg.norm(a, 3), dtype)
            continue
        for order in ("fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf):
            for keep in (False, True):
                want = np.linalg.matrix_norm(a, ord=order, keepdims=keep)
                close(la.matrix_norm(x, ord=order, keepdims=keep), want, dtype)
                want = np.linalg.norm(a, order, axis=(-1, 0), keepdims=keep)
                close(la.norm(x, order, axis=(-1, 0), keepdims=keep), want, dtype)
        close(la.norm(x), np.linalg.norm(a), dtype)
        close(la.norm(x, axis=1), np.linalg.norm(a, axis=1), dtype)
    assert fz.grad(lambda x: la.vector_norm(x))(fz.zeros(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("order", [None, "fro", "nuc", 2, 1, np.inf])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_norms_of_no_elements_are_zero_as_numpy_s(shape, order):
    want = np.linalg.norm(np.zeros(shape), order)
    assert la.norm(fz.zeros(shape, "float64"), order).tolist() == want == 0
    if order not in ("fro", "nuc"):
        wide = np.linalg.norm(np.zeros(shape), order, axis=0)
        got = la.norm(fz.zeros(shape, "float64"), order, axis=0)
        np.testing.assert_array_equal(np.asarray(got), wide)


def test_the_smallest_of_no_elements_is_no_norm():
    with pytest.raises(ValueError, match="an empty axis has no min"):
        la.norm(fz.zeros((0, 0)), -2)


def test_condition_numbers():
    a = shifted(random((2, 3, 3), "float64"))
    for p in (None, 2, -2, 1, -1, "fro", "nuc", np.inf):
        np.testing.assert_allclose(la.cond(fz.asarray(a), p), np.linalg.cond(a, p))
    a[1] = 1
    got = np.asarray(la.cond(fz.asarray(a), 1))
    assert np.isfinite(got[0]) and got[1] == np.inf
    assert la.cond(fz.ones((2, 2)), "fro").item() == np.inf


@every_dtype
def test_exponentials(dtype):
    for shape in [(3, 3), (2, 3, 4, 4), (0, 0)]:
        a = random(shape, dtype)
        scale = 10 if shape == (3, 3) else np.arange(1, 4)[:, None, None] if len(shape) == 4 else 1
        a = (a * scale / 4).astype(dtype)
        w, v = np.linalg.eig(a.astype("complex128"))
        want = (v * np.exp(w)[..., None, :]) @ np.linalg.inv(v)
        got = np.asarray(la.expm(fz.asarray(a)))
        assert got.dtype == dtype
        np.testing.assert_allclose(
            got,
            want,
            rtol=0,
            atol=1e-3
            * max(1, np.abs(want).max(initial=0))
            * (1 if "32" in dtype or dtype[-2:] == "64" and "c" in dtype else 1e-6),
        )
    turn = la.expm(fz.asarray([[0.0, -np.pi], [np.pi, 0.0]], dtype=fz.float64))
    np.testing.assert_allclose(turn, -np.eye(2), atol=1e-13)
    assert np.isnan(la.expm(fz.full((2, 2), np.nan))).all()


def test_chains_of_products():
    arrays = [random(s, "float64", i) for i, s in enumerate([(3, 40), (40, 5), (5, 60), (60, 2)])]
    want = np.linalg.multi_dot(arrays)
    np.testing.assert_allclose(la.multi_dot([fz.asarray(a) for a in arrays]), want, atol=1e-9)
    ends = [arrays[0][0], *arrays[1:3], arrays[3][:, 0]]
    np.testing.assert_allclose(la.multi_dot(ends), np.linalg.multi_dot(ends), atol=1e-9)


def test_determinants_do_not_overflow_on_the_way():
    a = np.diag([1e200, 1e200, 1e-300, 1e-50])
    np.testing.assert_allclose(la.det(fz.asarray(a)), 1e50, rtol=1e-12)
    assert la.det(fz.zeros((2, 3, 3))).tolist() == [0, 0]
    sign, log = la.slogdet(fz.ones((2, 2)))
    assert (sign.item(), log.item()) == (0, -np.inf)


def test_cofactors_of_singular_matrices():
    """The gradient of a determinant of 0 is finite where the rank is n - 1."""
    a = np.array([[1.0, 2, 3], [4, 5, 6], [5, 7, 9]])
    want = [[3.0, 6, -6 + 9], [3, -6, 3], [-3, 6, -3]]
    want = np.array(
        [
            [5 * 9 - 6 * 7, 6 * 5 - 4 * 9, 4 * 7 - 5 * 5],
            [3 * 7 - 2 * 9, 9 - 15, 10 - 7],
            [12 - 15, 12 - 6, 5 - 8],
        ]
    )
    np.testing.assert_allclose(fz.grad(la.det)(fz.asarray(a)), want, atol=1e-12)
    np.testing.assert_allclose(fz.grad(la.det)(fz.zeros((1, 1))), [[1]])
    np.testing.assert_allclose(
        fz.grad(la.det)(fz.asarray([[0.0, 1], [0, 1]])), [[1, 0], [-1, 0]], atol=1e-6
    )


def test_equal_eigenvalues_have_gradients():
    eye = fz.eye(3, dtype=fz.float64)
    assert fz.grad(lambda x: fz.sum(la.eigvalsh(x)))(eye).tolist() == np.eye(3).tolist()
    np.testing.assert_allclose(fz.grad(lambda x: fz.sum(la.eigh(x).eigenvalues))(eye), np.eye(3))
    np.testing.assert_allclose(fz.grad(lambda x: fz.sum(la.svd(x).S))(eye), np.eye(3), atol=1e-14)


ERRORS = [
    (
        lambda: la.cholesky(fz.asarray([[1.0, 2], [2, 1]])),
        la.LinAlgError,
        "[cholesky] not positive definite: f32[2,2].",
    ),
    (
        lambda: la.cholesky(fz.stack([fz.eye(2), -fz.eye(2)])),
        la.LinAlgError,
        "[cholesky] not positive definite: matrix [1] of f32[2,2,2].",
    ),
    (
        lambda: la.inv(fz.zeros((2, 3, 1, 1)) + fz.asarray([[[[1.0]], [[0.0]], [[1.0]]]])),
        la.LinAlgError,
        "[inv] singular: matrix [0,1] of f32[2,3,1,1].",
    ),
    (lambda: la.inv(fz.ones((2, 2), dtype=fz.int64)), la.LinAlgError, "[inv] singular: f64[2,2]."),
    (lambda: la.solve(fz.zeros((2, 2)), fz.ones(2)), la.LinAlgError, "[solve] singular: f32[2,2]."),
    (
        lambda: la.solve(fz.eye(2), fz.ones(3)),
        ValueError,
        "[solve] needs as many rows on both sides: f32[2,2] and f32[3].",
    ),
    (
        lambda: la.solve(fz.ones((2, 3)), fz.ones(2)),
        la.LinAlgError,
        "[solve] needs square matrices, got f32[2,3].",
    ),
    (
        lambda: la.solve(fz.ones((2, 2, 2)), fz.ones((3, 2, 1))),
        ValueError,
        "[solve] batch axes do not broadcast: f32[2,2,2] and f32[3,2,1].",
    ),
    (lambda: la.det(fz.ones(3)), la.LinAlgError, "[det] needs at least two axes, got f32[3]."),
    (lambda: la.det(fz.ones((2, 3))), la.LinAlgError, "[det] needs square matrices, got f32[2,3]."),
    (lambda: la.inv(fz.ones((2, 3))), la.LinAlgError, "[inv] needs square matrices, got f32[2,3]."),
    (
        lambda: la.svd(fz.ones((2, 2), dtype=fz.float16)),
        TypeError,
        "[svd] computes in float32, float64, complex64 or complex128, got f16[2,2].",
    ),
    (
        lambda: la.qr(fz.ones((2, 2), dtype=fz.bfloat16)),
        TypeError,
        "[qr] computes in float32, float64, complex64 or complex128, got bf16[2,2].",
    ),
    (
        lambda: la.qr(fz.ones((2, 2)), mode="raw"),
        ValueError,
        '[qr] mode must be "reduced" or "complete", got "raw".',
    ),
    (
        lambda: la.eigh(fz.ones((2, 2)), UPLO="x"),
        ValueError,
        '[eigh] UPLO must be "L" or "U", got "x".',
    ),
    (
        lambda: la.svd(fz.full((2, 2), np.nan)),
        la.LinAlgError,
        "[svd] an element is infinite or NaN: f32[2,2].",
    ),
    (
        lambda: la.eigvals(fz.full((2, 2), np.inf)),
        la.LinAlgError,
        "[eigvals] an element is infinite or NaN: f32[2,2].",
    ),
    (
        lambda: la.eigh(fz.full((2, 2), np.inf)),
        la.LinAlgError,
        "[eigh] an element is infinite or NaN: f32[2,2].",
    ),
    (
        lambda: la.pinv(fz.ones(2)),
        la.LinAlgError,
        "[pinv] needs at least two axes, got shape (2,).",
    ),
    (
        lambda: la.solve_triangular(fz.eye(2), fz.ones(2), trans=3),
        ValueError,
        "[solve_triangular] trans must be 0, 1 (transposed) or 2 (adjoint), got 3.",
    ),
    (
        lambda: la.matrix_power(fz.ones((2, 3)), 2),
        la.LinAlgError,
        "[matrix_power] needs square matrices, got f32[2,3].",
    ),
    (
        lambda: la.matrix_power(fz.zeros((2, 2)), -1),
        la.LinAlgError,
        "[matrix_power] singular: f32[2,2].",
    ),
    (
        lambda: la.matrix_norm(fz.ones((2, 2)), ord=3),
        ValueError,
        "[matrix_norm] ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got 3.",
    ),
    (
        lambda: la.vector_norm(fz.ones(2), ord="fro"),
        ValueError,
        "[vector_norm] ord must be a number, got 'fro'.",
    ),
    (
        lambda: la.norm(fz.ones((2, 2, 2)), 2),
        ValueError,
        "[norm] needs an axis or one or two axes, got shape (2, 2, 2).",
    ),
    (
        lambda: la.norm(fz.ones((2, 2)), axis=(0, 0)),
        ValueError,
        "[norm] the axes must differ, got 0 and 0.",
    ),
    (
        lambda: la.lstsq(fz.ones((2, 2)), fz.ones(3)),
        la.LinAlgError,
        "[lstsq] needs as many rows on both sides, got shapes (2, 2) and (3,).",
    ),
    (
        lambda: la.multi_dot([fz.ones((2, 2))]),
        ValueError,
        "[multi_dot] needs at least two arrays, got 1.",
    ),
    (
        lambda: la.cond(fz.ones((0, 2))),
        la.LinAlgError,
        "[cond] an empty array has no condition number: shape (0, 2).",
    ),
    (
        lambda: la.expm(fz.ones((2, 3))),
        la.LinAlgError,
        "[expm] needs square matrices, got shape (2, 3).",
    ),
    (
        lambda: la.matrix_rank(fz.eye(2), tol=1, rtol=1),
        ValueError,
        "[matrix_rank] takes tol or rtol, got both.",
    ),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    call, kind, message = ERRORS[number]
    for f in (call, fz.trace(call)):
        for _ in range(3):
            with pytest.raises(kind) as info:
                f()
            assert str(info.value) == message
            assert type(info.value) is kind


def test_numpy_raises_the_same_classes():
    """Where it refuses: LinAlgError where it does, else the same exception."""
    assert issubclass(la.LinAlgError, ValueError)
    for f in ("inv", "det", "cholesky", "eigvals", "eigvalsh"):
        for a in (np.ones(3), np.ones((2, 3))):
            with pytest.raises(np.linalg.LinAlgError):
                getattr(np.linalg, f)(a)
            with pytest.raises(la.LinAlgError):
                getattr(la, f)(a)
    with pytest.raises(TypeError):
        np.linalg.inv(np.eye(2, dtype="float16"))
    with pytest.raises(TypeError):
        la.inv(fz.eye(2, dtype=fz.float16))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_added_columns_are_those_of_their_space(dtype):
    rng = np.random.default_rng(8)
    a = rng.normal(size=(5, 2)) + (1j * rng.normal(size=(5, 2)) if dtype == "complex128" else 0)
    a, w = fz.asarray(a), fz.asarray(rng.normal(size=(5, 5)))

    def outside(q):
        others = q[:, 2:]
        return fz.sum(fz.real(others @ fz.conj(others).T) * w)

    def projected(x):  # the same space without the others
        q = la.qr(x).Q
        return fz.sum(fz.real(fz.eye(5, dtype=q.dtype) - q @ fz.conj(q).T) * w)

    want = np.asarray(fz.grad(projected)(a))
    functions = (
        lambda x: outside(la.qr(x, mode="complete").Q),
        lambda x: outside(la.svd(x).U),
        lambda x: outside(fz.conj(la.svd(fz.conj(x).T).Vh).T),
    )
    for function in functions:
        np.testing.assert_allclose(np.asarray(fz.grad(function)(a)), want, 1e-10, 1e-12)
    values = np.asarray(fz.grad(lambda x: fz.sum(la.svd(x).S ** 2))(a))
    np.testing.assert_allclose(values, np.asarray(2 * a), 1e-12)


def test_gradient_of_the_singular_values_of_lstsq():
    rng = np.random.default_rng(9)
    a, b = fz.asarray(rng.normal(size=(4, 3))), fz.asarray(rng.normal(size=4))
    got = fz.grad(lambda a: fz.sum(la.lstsq(a, b).singular_values ** 2))(a)
    np.testing.assert_allclose(np.asarray(got), np.asarray(2 * a), 1e-12)
    both = fz.grad(lambda a: fz.sum(la.lstsq(a, b).x) + fz.sum(la.lstsq(a, b)[3]))(a)
    x = fz.grad(lambda a: fz.sum(la.lstsq(a, b).x))(a)
    s = fz.grad(lambda a: fz.sum(la.svdvals(a)))(a)
    np.testing.assert_allclose(np.asarray(both), np.asarray(x + s), 1e-12)


FUNCTIONS = {
    "solve": lambda x: la.solve(x, fz.ones(3)) * 2,
    "cholesky": lambda x: la.cholesky(x @ x.T + fz.eye(3)) + 1,
    "svd": lambda x: fz.sum(la.svd(x * 2).S),
    "eigh": lambda x: la.eigh(x + x.T).eigenvectors,
    "det": lambda x: la.det(x + 1) * la.det(x),
    "qr": lambda x: la.qr(x).R @ la.qr(x).Q,
    "expm": la.expm,
    "lstsq": lambda x: la.lstsq(x[:, :2], x[:, 2]).x,
}


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_traced_is_eager(name):
    f = FUNCTIONS[name]
    traced, pure = fz.trace(f), fz.trace(f, pure=True)
    for i in range(5):
        x = fz.asarray(shifted(random((3, 3), "float32", i)))
        want = np.asarray(f(x)).tobytes()
        assert np.asarray(traced(x)).tobytes() == want
        assert np.asarray(pure(x)).tobytes() == want


@pytest.mark.parametrize("pure", [False, True])
def test_errors_come_where_the_function_is_called(pure):
    """Of a call that was learnt on good matrices, too; what came before it has happened."""
    seen = []

    def body(x):
        y = x * 2
        try:
            y = la.inv(y)
        except la.LinAlgError as error:
            return y + 7, str(error)
        return y + 1, ""

    traced = fz.trace(body, pure=pure)
    good, bad = fz.eye(2), fz.ones((2, 2))
    for x in (good, good, good, bad, good, bad, bad, good):
        (y, said), (want, says) = traced(x), body(x)
        assert y.tolist() == want.tolist() and said == says
        seen.append(said)
    assert seen[3] == "[inv] singular: f32[2,2]." and seen[4] == ""


def test_named_results():
    x = fz.eye(2)
    assert la.eigh(x)._fields == la.eig(x)._fields == ("eigenvalues", "eigenvectors")
    assert la.qr(x)._fields == ("Q", "R") and la.svd(x)._fields == ("U", "S", "Vh")
    assert la.slogdet(x)._fields == ("sign", "logabsdet")
    assert type(la.svd(x)).__name__ == "SVDResult"


def test_large_batches_in_many_threads():
    """Of matrices that OpenBLAS would share, too: in any order, the same."""
    from concurrent.futures import ThreadPoolExecutor

    many, large = (
        fz.asarray(definite(random((40, 50, 50), "float64"))),
        fz.asarray(definite(random((200, 200), "float64"))),
    )
    want = np.asarray(la.cholesky(many)), np.asarray(la.inv(large))
    with ThreadPoolExecutor(4) as pool:
        jobs = [
            pool.submit(f, x) for _ in range(10) for f, x in ((la.cholesky, many), (la.inv, large))
        ]
        for i, job in enumerate(jobs):
            np.testing.assert_allclose(np.asarray(job.result()), want[i % 2], atol=1e-9)
