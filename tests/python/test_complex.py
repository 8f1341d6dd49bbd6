"""Complex numbers: dtypes, promotion, arithmetic, movement, interoperation, wrong input."""

import itertools
import pickle

import numpy as np
import pytest

import frazil as fz

inf, nan = float("inf"), float("nan")
COMPLEX = ["complex64", "complex128"]
DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", *COMPLEX,
]  # fmt: skip


def numbers(n, dtype="complex128", seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(n) + 1j * rng.standard_normal(n)).astype(dtype)


def same(got, want, rtol=None):
    """The same dtype, shape and, up to rounding of each part's scale, values."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    if rtol is None:
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, rtol=rtol)


def both(function, *args):
    """What a function gives, which must be the same bits traced."""
    eager = np.asarray(function(*args))
    traced = fz.trace(function)
    for _ in range(4):
        again = np.asarray(traced(*args))
        assert again.dtype == eager.dtype and again.tobytes() == eager.tobytes()
    return eager


# -- Dtypes and promotion


@pytest.mark.parametrize(("a", "b"), list(itertools.product(DTYPES, DTYPES)))
def test_promotion_of_all_pairs_is_that_of_numpy(a, b):
    want = np.result_type(np.dtype(a), np.dtype(b)).name
    assert fz.result_type(a, b).name == want
    x, y = np.ones(3, a), np.ones((), b)
    for p, q in ((x, x.astype(b)), (x, y), (y, x[:1])):
        assert (fz.asarray(p) + fz.asarray(q)).dtype.name == want
        assert fz.where(fz.asarray(True), fz.asarray(p), fz.asarray(q)).dtype.name == want
        assert fz.concat([fz.asarray(p).reshape(-1), fz.asarray(q).reshape(-1)]).dtype.name == want


@pytest.mark.parametrize("dtype", DTYPES)
def test_python_numbers_are_weak(dtype):
    x = np.ones(3, dtype)
    for number in (True, 3, 2.5, 1j):
        want = np.result_type(x.dtype, number).name
        assert fz.result_type(dtype, number).name == want
        for f in (lambda a, b: a * b, lambda a, b: b + a, lambda a, b: a == b):
            same(f(fz.asarray(x), number), f(x, number))
    assert (fz.asarray([1.5], dtype="bfloat16") * 1j).dtype == fz.complex64


def test_kinds_and_limits():
    assert fz.isdtype(fz.complex64, "complex floating") and fz.isdtype("complex128", "numeric")
    assert not fz.isdtype(fz.complex64, "real floating")
    assert not fz.isdtype(fz.float64, "complex floating")
    assert fz.can_cast(fz.float32, fz.complex64) and not fz.can_cast(fz.float64, fz.complex64)
    assert not fz.can_cast(fz.complex64, fz.float64)
    for name, part in (("complex64", "float32"), ("complex128", "float64")):
        limits = fz.finfo(name)
        assert limits.dtype.name == part and limits.eps == np.finfo(part).eps
    assert fz.asarray(1j).dtype == fz.complex64 and fz.asarray([1, 2j]).dtype == fz.complex64
    assert fz.asarray([1, 2j], dtype=complex).dtype == fz.complex128
    info = fz.__array_namespace_info__()
    assert info.default_dtypes()["complex floating"] == fz.complex64
    assert set(info.dtypes(kind="complex floating")) == set(COMPLEX)


# -- In and out


@pytest.mark.parametrize("dtype", COMPLEX)
def test_data_goes_in_and_out(dtype, tmp_path):
    a = numbers((3, 4), dtype)
    t = fz.asarray(a)
    assert t.dtype.name == dtype and t.itemsize == a.itemsize
    same(t, a)
    same(fz.asarray(a.T[::-1]), a.T[::-1])
    same(fz.asarray(a.astype(a.dtype.newbyteorder())), a)
    same(np.from_dlpack(t), a)
    same(fz.from_dlpack(a.copy()), a)
    same(fz.asarray(a.copy(), copy=False), a)
    assert memoryview(t).format == {"complex64": "Zf", "complex128": "Zd"}[dtype]
    same(pickle.loads(pickle.dumps(t)), a)
    fz.save(str(tmp_path / "a.fzt"), {"a": t})
    same(fz.load(str(tmp_path / "a.fzt"))["a"], a)
    np.save(tmp_path / "a.npy", t)
    same(fz.asarray(np.load(tmp_path / "a.npy")), a)
    assert t.tolist() == a.tolist()
    assert t[1, 2].item() == a[1, 2].item() and type(t[1, 2].item()) is complex
    assert complex(t[0, 0]) == complex(a[0, 0])
    assert complex(fz.asarray(2.5)) == 2.5
    assert str(t) == str(a)
    same(fz.asarray(a.tolist(), dtype=dtype), a)


def test_printing():
    t = fz.asarray([1 + 2j, -0.5j])
    assert repr(t) == "fz.Tensor([ 1.+2.j , -0.-0.5j])"


def test_parts_share_memory():
    a = numbers((3, 4))
    t = fz.asarray(a)
    same(t.real, a.real)
    same(t.imag, a.imag)
    same(t.conj(), a.conj())
    same(fz.conj(t), a.conj())
    same(fz.angle(t), np.angle(a), 1e-15)
    same(t[1:, ::2].imag.T, a[1:, ::2].imag.T)
    x = fz.asarray([1.5, -2.0])
    same(x.real, np.float32([1.5, -2.0]))
    same(x.imag, np.zeros(2, "float32"))
    same(fz.conj(x), np.asarray(x))
    same(fz.angle(x), np.angle(np.float32([1.5, -2.0])))


def test_creation():
    for dtype in COMPLEX:
        for make in (np.zeros, np.ones):
            same(getattr(fz, make.__name__)((2, 3), dtype=dtype), make((2, 3), dtype))
        same(fz.eye(3, 4, k=1, dtype=dtype), np.eye(3, 4, k=1, dtype=dtype))
        same(fz.full((2,), 1 - 2j, dtype=dtype), np.full((2,), 1 - 2j, dtype))
        same(fz.full((2,), 3, dtype=dtype), np.full((2,), 3, dtype))
        same(fz.linspace(0, 1, 5, dtype=dtype), np.linspace(0, 1, 5, dtype=dtype))
        same(fz.zeros_like(fz.asarray(numbers(3, dtype))), np.zeros(3, dtype))
        same(fz.full_like(fz.asarray(numbers(3, dtype)), 1j), np.full(3, 1j, dtype))
    assert fz.full((2,), 1j).dtype == fz.complex64


# -- Arithmetic


@pytest.mark.parametrize("dtype", COMPLEX)
def test_arithmetic(dtype):
    eps = np.finfo(dtype).eps
    a, b = numbers(1037, dtype), numbers(1037, dtype, 1)
    x, y = fz.asarray(a), fz.asarray(b)
    same(both(lambda x, y: x + y, x, y), a + b)
    same(both(lambda x, y: x - y, x, y), a - b)
    same(both(lambda x: -x, x), -a)
    same(both(lambda x: +x, x), a)
    for got, want in (
        (both(lambda x, y: x * y, x, y), a * b),
        (both(lambda x, y: x / y, x, y), a / b),
        (both(lambda x: x * x * x - 2j * x, x), a * a * a - 2j * a),
        (both(lambda x: 1 / x, x), 1 / a),
        (both(lambda x: 2.5 * x + 1j, x), 2.5 * a + 1j),
        (both(fz.square, x), a * a),
        (both(fz.reciprocal, x), 1 / a),
        (both(fz.sign, x), a / np.abs(a)),
    ):
        assert got.dtype == want.dtype
        assert np.max(np.abs(got - want) / np.abs(want)) < 16 * eps
    same(both(abs, x), np.abs(a), 4 * eps)
    same(both(lambda x, y: x == y, x, y), a == b)
    same(both(lambda x, y: x != y, x, y), a != b)


def test_real_and_complex_meet():
    a, r = numbers(7), np.arange(7.0)
    for f in (lambda a, r: a + r, lambda a, r: r * a, lambda a, r: r - a):
        same(both(f, fz.asarray(a), fz.asarray(r)), f(a, r))
    i = np.arange(7)
    same(both(lambda i: i * 1j, fz.asarray(i)), i * 1j)


def test_divisions_neither_overflow_nor_lose():
    huge, tiny = 1e300 + 1e300j, 1e-300 - 1e-300j
    for p, q in ((huge, huge), (tiny, tiny), (huge, 1 + 1j), (1j, huge)):
        got = (fz.asarray(p, dtype=complex) / fz.asarray(q, dtype=complex)).item()
        want = np.complex128(p) / np.complex128(q)
        assert abs(got - want) <= 1e-15 * abs(want)
    z = fz.asarray([1e38 + 1e38j, 1e-38 + 1e-38j])
    same(z / z, np.ones(2, "complex64"))


def test_integer_powers_are_products():
    x = fz.asarray([1 + 2j, -3j], dtype=complex)
    assert (x**2).tolist() == [-3 + 4j, -9]
    assert (x**3).tolist() == [-11 - 2j, 27j]
    assert (x**0).tolist() == [1, 1]
    assert (fz.asarray([2j], dtype=complex) ** -1).tolist() == [-0.5j]


@pytest.mark.parametrize("dtype", COMPLEX)
def test_powers(dtype):
    a, b = numbers(500, dtype), numbers(500, dtype, 1)
    got, want = both(lambda x, y: x**y, fz.asarray(a), fz.asarray(b)), a**b
    assert np.max(np.abs(got - want) / np.abs(want)) < 32 * np.finfo(dtype).eps
    zero = fz.asarray(0j, dtype=dtype)
    assert (zero ** fz.asarray(2 + 1j, dtype=dtype)).item() == 0
    assert (zero ** fz.asarray(0j, dtype=dtype)).item() == 1


# -- Reductions and scans


@pytest.mark.parametrize("dtype", COMPLEX)
def test_reductions(dtype):
    a = numbers((5, 7, 9), dtype)
    x = fz.asarray(a)
    eps = np.finfo(dtype).eps
    for axis in (None, 0, -1, (0, 2)):
        for keep in (False, True):
            for f, g in ((fz.sum, np.sum), (fz.prod, np.prod), (fz.mean, np.mean)):
                got = both(lambda x, f=f: f(x, axis=axis, keepdims=keep), x)  # noqa: B023
                want = g(a, axis=axis, keepdims=keep)
                assert got.dtype == want.dtype and got.shape == want.shape
                # against the sum or product of sizes
                assert np.all(
                    np.abs(got - want) <= 400 * eps * g(np.abs(a), axis=axis, keepdims=keep)
                )
    for axis in (0, 1, 2):
        got = both(lambda x: fz.cumulative_sum(x, axis=axis), x)  # noqa: B023
        np.testing.assert_allclose(got, np.cumsum(a, axis), rtol=100 * eps, atol=10 * eps)
        got = both(lambda x: fz.cumulative_prod(x, axis=axis), x)  # noqa: B023
        np.testing.assert_allclose(got, np.cumprod(a, axis), rtol=100 * eps)
    empty = fz.zeros((0, 2), dtype=dtype)
    assert fz.sum(empty).item() == 0 and fz.prod(empty, axis=0).tolist() == [1, 1]
    z = fz.asarray([0, 1j, 0], dtype=dtype)
    assert fz.any(z).item() and not fz.all(z).item()
    assert fz.count_nonzero(z).item() == 1
    assert [i.tolist() for i in fz.nonzero(z)] == [[1]]


# -- Products of matrices


@pytest.mark.parametrize("dtype", COMPLEX)
def test_products(dtype):
    a, b = numbers((3, 5, 7), dtype), numbers((7, 4), dtype, 1)
    x, y = fz.asarray(a), fz.asarray(b)
    tolerance = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(both(lambda x, y: x @ y, x, y), a @ b, rtol=tolerance)
    np.testing.assert_allclose(fz.tensordot(x, y, axes=1), np.tensordot(a, b, 1), rtol=tolerance)
    v = a[0]
    np.testing.assert_allclose(
        fz.vecdot(x[0], fz.asarray(a[1])), np.sum(v.conj() * a[1], -1), rtol=tolerance
    )
    r = np.arange(7.0, dtype=a.real.dtype)
    np.testing.assert_allclose(x @ fz.asarray(r), a @ r, rtol=tolerance)


# -- Movement


@pytest.mark.parametrize("dtype", COMPLEX)
def test_movement(dtype):
    a = numbers((4, 6), dtype)
    b = numbers((4, 6), dtype, 1)
    cases = [
        (lambda m, x, y: m.reshape(x, (3, 8)), None),
        (lambda m, x, y: m.reshape(x.T, (3, 8)), None),
        (lambda m, x, y: m.permute_dims(x, (1, 0)) if m is fz else x.T, None),
        (lambda m, x, y: (m.concat if m is fz else np.concatenate)([x, y], axis=1), None),
        (lambda m, x, y: (m.concat if m is fz else np.concatenate)([x.T, y.T]), None),
        (lambda m, x, y: m.stack([x, y], axis=-1), None),
        (lambda m, x, y: m.flip(x, axis=1), None),
        (lambda m, x, y: m.roll(x, 2, axis=1), None),
        (lambda m, x, y: m.tile(x, (2, 2)), None),
        (lambda m, x, y: m.repeat(x, 3, axis=1), None),
        (lambda m, x, y: m.tril(x), None),
        (lambda m, x, y: m.triu(x, k=1), None),
        (lambda m, x, y: m.broadcast_to(x[:, :1], (4, 6)), None),
        (lambda m, x, y: m.where(x.real > 0, x, y), None),
        (lambda m, x, y: m.where(x.real > 0, x, 1j), None),
        (lambda m, x, y: m.take(x, m.asarray([2, 0, -1]), axis=1), None),
        (lambda m, x, y: x[m.asarray([2, 0, -1])], None),
        (lambda m, x, y: x[m.asarray([2, 0]), m.asarray([1, 1])], None),
        (lambda m, x, y: x[::-2, None, 1:5:2], None),
        (lambda m, x, y: m.pad(x, ((1, 2), (0, 3))), None),
    ]
    for f, _ in cases:
        want = f(np, a, b)
        same(both(lambda x, y, f=f: f(fz, x, y), fz.asarray(a), fz.asarray(b)), want)
    same(fz.asarray(a)[fz.asarray(a.real > 0)], a[a.real > 0])
    same(fz.expand_dims(fz.asarray(a), axis=0), a[None])


@pytest.mark.parametrize("dtype", COMPLEX)
def test_assignment(dtype):
    def fill(m, x, y):
        x[1] = 2j
        x[:, 2] = y[:, 0]
        x[0, 0] += 1 - 1j
        x[m.asarray([2, 3]), m.asarray([0, 1])] = y[0, :2]
        x *= 1j
        x += y
        return x

    a, b = numbers((4, 6), dtype), numbers((4, 6), dtype, 1)
    want = fill(np, a.copy(), b)
    np.testing.assert_allclose(fill(fz, fz.asarray(a), fz.asarray(b)), want, rtol=1e-6)
    got = both(lambda x, y: fill(fz, fz.asarray(x, copy=True), y), fz.asarray(a), fz.asarray(b))
    np.testing.assert_allclose(got, want, rtol=1e-6)
    x = fz.asarray(a)
    x[x.real > 0] = 0
    same(x, np.where(a.real > 0, 0, a))


def test_distinct_elements_come_by_real_then_imaginary_part():
    a = np.array([1j, 1, 1j, 0, 1 - 1j, 1])
    for got, want in zip(
        fz.unique_all(fz.asarray(a)),
        np.unique(a, return_index=True, return_inverse=True, return_counts=True),
        strict=True,
    ):
        assert got.tolist() == want.tolist()


# -- Numbers as arguments, traces


def test_a_complex_number_is_an_argument():
    f = fz.trace(lambda x, c: x * c + c)
    x = numbers(5)
    for c in (1j, 2 - 1j, 0.5j, 1j, 3.0):
        np.testing.assert_allclose(f(fz.asarray(x), c), x * c + c, rtol=1e-15)


def test_chains_of_complex_ops_are_one_kernel():
    @fz.trace
    def f(x, y):
        return x * y + x.conj() * 2j - y / 3.0

    x, y = fz.asarray(numbers(4096, "complex64")), fz.asarray(numbers(4096, "complex64", 1))
    for _ in range(3):
        f(x, y)
    assert f.stats()["last_kernels"] == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_second_gradients_of_sizes_on_the_axes(dtype):
    x, y = fz.asarray([3.0, 0.0, -2.0, 1.5], dtype=dtype), fz.asarray([0.0, 2.0, 0.0, 2.0], dtype)
    r = np.hypot(np.asarray(x), np.asarray(y))
    for f in (fz.hypot, lambda x, y: fz.abs(x + y * 1j)):
        first = fz.grad(lambda y: fz.sum(f(x, y)))  # noqa: B023
        second = fz.grad(lambda y: fz.sum(first(y)))  # noqa: B023
        for g in (second, fz.trace(second)):
            np.testing.assert_allclose(np.asarray(g(y)), np.asarray(x) ** 2 / r**3, rtol=1e-5)


def test_products_of_conjugates():
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(4) + 1j * rng.standard_normal(4) for _ in range(2))
    m = rng.standard_normal((4, 3)) + 1j
    for name, operands in {"vdot": (a, b), "vecmat": (a, m), "vecdot": (a, b)}.items():
        got = getattr(fz, name)(*map(fz.asarray, operands))
        np.testing.assert_allclose(np.asarray(got), getattr(np, name)(*operands), rtol=1e-12)
    for mode in ("full", "same", "valid"):
        for x, y in ((a, b[:2]), (b[:3], a)):
            got = fz.correlate(fz.asarray(x), fz.asarray(y), mode)
            np.testing.assert_allclose(np.asarray(got), np.correlate(x, y, mode), rtol=1e-12)


def test_reductions_without_nan():
    a = np.array([[1 + 1j, np.nan + 2j, 3], [2, 1j, complex(0, np.nan)]])
    for name in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd"):
        for axis in (None, 0, 1):
            got, wanted = getattr(fz, name)(fz.asarray(a), axis=axis), getattr(np, name)(a, axis)
            assert got.dtype.name == wanted.dtype.name
            np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-12)


@pytest.mark.parametrize("name", ["median", "nanmedian", "quantile", "percentile", "searchsorted"])
def test_what_needs_an_order_refuses(name):
    x = fz.asarray([1j, 2, 3 + 1j])
    more = {"quantile": (0.5,), "percentile": (50,), "searchsorted": (x,)}.get(name, ())
    with pytest.raises(TypeError, match=rf"^\[{name}\] is not defined for complex numbers: c64"):
        getattr(fz, name)(x, *more)


# -- Order


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    "name",
    ["less", "less_equal", "greater", "greater_equal", "maximum", "minimum", "fmax", "fmin"],
)
def test_order_is_numpys(name, dtype):
    parts = [-1.0, -0.0, 0.0, 2.0, np.inf, np.nan]
    values = np.array([complex(x, y) for x in parts for y in parts], dtype)
    a, b = np.repeat(values, len(values)), np.tile(values, len(values))
    with np.errstate(invalid="ignore"):
        wanted = getattr(np, name)(a, b)
    run = getattr(fz, name)
    for f in (run, fz.trace(run)):
        got = np.asarray(f(fz.asarray(a), fz.asarray(b)))
        assert got.dtype == wanted.dtype
        assert np.array_equal(got, wanted, equal_nan=dtype != "bool")


# -- Wrong input


@pytest.mark.parametrize(
    "name",
    ["floor_divide", "remainder", "bitwise_and", "atan2", "hypot", "logaddexp", "copysign"],
)  # fmt: skip
def test_functions_of_real_numbers(name):
    x = fz.asarray([1 + 1j])
    with pytest.raises(TypeError, match=r"is not defined for complex numbers: c64\[1\]\."):
        getattr(fz, name)(x, x)


@pytest.mark.parametrize(
    "name", ["floor", "ceil", "trunc", "signbit", "bitwise_invert", "max", "min", "argmax",
             "argmin"],
)  # fmt: skip
def test_functions_of_real_numbers_only(name):
    with pytest.raises(
        TypeError, match=rf"^\[{name}\] is not defined for complex numbers: c64\[1\]\.$"
    ):
        getattr(fz, name)(fz.asarray([1 + 1j]))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("traced", [False, True])
def test_sort_orders_as_numpy(dtype, traced):
    parts = [2.0, -1.0, 0.0, -0.0, np.inf, -np.inf, np.nan]
    x = np.array([complex(a, b) for a in parts for b in parts], dtype=dtype)
    np.random.default_rng(0).shuffle(x)
    x = x.reshape(7, 7)
    sort, argsort = (fz.trace(f) if traced else f for f in (fz.sort, fz.argsort))
    for axis in (0, -1):
        for _ in range(3):
            order = np.asarray(argsort(fz.asarray(x), axis=axis))
            np.testing.assert_array_equal(order, np.argsort(x, axis=axis, kind="stable"))
            got = np.asarray(sort(fz.asarray(x), axis=axis))
            assert got.dtype == dtype
            np.testing.assert_array_equal(got, np.sort(x, axis=axis, kind="stable"))
    some = np.array([1 + 2j, 1 + 1j, -3 + 5j, 0], dtype=dtype)
    assert fz.sort(fz.asarray(some), descending=True).tolist() == sorted(
        some.tolist(), key=lambda z: (z.real, z.imag), reverse=True
    )
    with pytest.raises(IndexError, match=r"^\[sort\] axis 2 "):
        fz.sort(fz.asarray(x), axis=2)


def test_sort_hands_gradients_back():
    x = fz.asarray([3 + 1j, 1 - 2j, 1 - 5j])
    got = fz.grad(lambda x: (fz.sort(x) * fz.asarray([1, 10, 100])).real.sum())(x)
    assert got.tolist() == [100, 10, 1]


def test_complex_numbers_do_not_become_real_ones():
    x = fz.asarray([1 + 1j])
    with pytest.raises(
        TypeError,
        match=r"^\[astype\] a complex number is no float32: c64\[1\]; take its real part first\.$",
    ):
        x.astype("float32")
    with pytest.raises(TypeError, match="the complex number 1\\+2j is no float32"):
        fz.asarray([1 + 2j], dtype="float32")
    with pytest.raises(TypeError, match="the complex number 0\\+1j is no int64"):
        fz.full((2,), 1j, dtype="int64")
    with pytest.raises(TypeError, match="the in-place result is complex64"):
        y = fz.ones(1)
        y += x
    with pytest.raises(TypeError):
        float(x)
    with pytest.raises(TypeError):
        fz.arange(3j)
    with pytest.raises(TypeError, match="iinfo"):
        fz.iinfo("complex64")
    assert x.tolist() == [1 + 1j]
