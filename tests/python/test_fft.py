"""Fourier transforms against NumPy: lengths, axes, norms, dtypes, layouts, traces, wrong input."""

import numpy as np
import pytest

import frazil as fz
from frazil import fft

DTYPES = ["float32", "float64", "complex64", "complex128"]
ALONG_ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
OVER_AXES = ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"]
OF_REAL = {"rfft", "ihfft", "rfftn", "rfft2"}


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, shape)
    if dtype.startswith("complex"):
        x = x + 1j * rng.uniform(-1, 1, shape)
    elif dtype.startswith(("int", "uint")):
        x = x * 9
    return (x > 0 if dtype == "bool" else x).astype(dtype)


def close(got, want):
    """The same dtype and shape, and values up to a few roundings of the largest."""
    got = np.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    scale = np.abs(want).max(initial=0.01)
    assert np.abs(got - want).max(initial=0) <= 16 * np.finfo(got.dtype).eps * scale


def both(function, *args):
    """What a function gives, which must be the same bits traced and promised."""
    eager = np.asarray(function(*args))
    for traced in (fz.trace(function), fz.trace(function, pure=True)):
        for _ in range(4):
            again = np.asarray(traced(*args))
            assert again.dtype == eager.dtype and again.tobytes() == eager.tobytes()
    return eager


def check(name, x, *args, **options):
    close(
        both(lambda t: getattr(fft, name)(t, *args, **options), fz.asarray(x)),
        getattr(np.fft, name)(x, *args, **options),
    )


def takes(name, dtype):
    return name not in OF_REAL or not dtype.startswith("complex")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ALONG_ONE)
def test_lengths(name, dtype):
    if not takes(name, dtype):
        return
    for n in (2, 3, 4, 5, 7, 8, 13, 16, 97, 100, 304, 1009, 1024, 4099, 1 << 17):
        check(name, numbers(n, dtype))
    if name not in ("irfft", "hfft"):
        check(name, numbers(1, dtype))
    check(name, numbers(5, dtype), 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ALONG_ONE)
def test_points_axes_and_norms(name, dtype):
    if not takes(name, dtype):
        return
    x = numbers((3, 4, 5), dtype)
    for n in (None, 2, 3, 7, 8):
        for axis in (0, 1, -1):
            for norm in ("backward", "ortho", "forward", None):
                check(name, x, n, axis, norm)
    for view in (x.T, x[::-1, ::2], x[1], np.broadcast_to(x[:1], x.shape)):
        check(name, view, axis=0)
    check(name, numbers((0, 4), dtype), axis=1)
    check(name, numbers((4, 0), dtype), axis=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OVER_AXES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # NumPy's of s without axes
def test_several_axes(name, dtype):
    if not takes(name, dtype):
        return
    x = numbers((3, 4, 6), dtype)
    cases = [
        {},
        {"axes": (0, 1)},
        {"axes": (1, 0), "norm": "ortho"},
        {"axes": (-1,), "norm": "forward"},
        {"axes": (0, 0)},
        {"axes": (1, 2, 1)},
        {"s": (2, 7)},
        {"s": (5, 2), "axes": (2, 0)},
        {"s": (-1, 4), "axes": (0, 2)},
        {"s": (2, 5), "axes": (0, 0)},
    ]
    for options in cases:
        if name.startswith("irfft") and options.get("axes") in ((0, 0), (1, 2, 1)):
            continue  # a half of what is transformed on the way: lengths that fit nothing
        check(name, x, **options)
    check(name, x.transpose(2, 0, 1)[:, ::-1], axes=(0, 2))
    check(name, numbers((40, 60), dtype))


def test_no_axes():
    check("fftn", numbers((2, 3), "complex64"), axes=())
    check("fftn", numbers((), "complex64"))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "int64", "uint64"])
def test_integers_are_float64(dtype):
    for name in (*ALONG_ONE, *OVER_AXES):
        check(name, numbers((3, 4), dtype))


def test_numpy_arrays():
    close(fft.rfft(np.ones(4)), np.fft.rfft(np.ones(4)))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft"])
def test_special_values_spread(name):
    for value in (np.nan, np.inf):
        x = np.ones(6)
        x[2] = value
        out = np.asarray(getattr(fft, name)(fz.asarray(x)))
        assert not np.isfinite(out).any()


def test_imaginary_parts_that_do_not_count():
    z = numbers((2, 5), "complex128")
    want = np.asarray(fft.irfft(fz.asarray(z), 8))
    z[:, 0] += 3j
    z[:, 4] -= 2j
    np.testing.assert_array_equal(np.asarray(fft.irfft(fz.asarray(z), 8)), want)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_a_layout_changes_no_bit(dtype):
    x = numbers((304, 304), dtype)
    dense, other = fz.asarray(x), fz.asarray(np.asfortranarray(x))
    for call in (fft.fft, fft.fftn, lambda t: fft.ifft(t, axis=0), fft.irfft):
        assert np.asarray(call(dense)).tobytes() == np.asarray(call(other)).tobytes()


def test_threads_change_no_bit():
    x, threads = fz.asarray(numbers((19, 1000), "complex64")), fz.get_num_threads()
    try:
        results = set()
        for count in (1, 2, 5):
            fz.set_num_threads(count)
            results.add(np.asarray(fft.fft2(x)).tobytes())
        assert len(results) == 1
    finally:
        fz.set_num_threads(threads)


def test_in_a_program():
    """A filter: products with the transform fuse, and the whole is the same bits."""
    x = fz.asarray(numbers((4, 64), "float32"))

    def low_pass(x):
        z = fft.rfft(x - fz.mean(x))
        keep = fft.rfftfreq(64) < 0.2
        return fft.irfft(fz.where(keep, z * 2.0, 0.0), 64) + 1.0

    z = np.fft.rfft(np.asarray(x) - np.asarray(x).mean())
    want = np.fft.irfft(np.where(np.fft.rfftfreq(64) < 0.2, z * 2, 0), 64) + 1
    close(both(low_pass, x), want.astype("float32"))


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies_and_shifts(n):
    for name in ("fftfreq", "rfftfreq"):
        for d in (1, 0.1, -2.0):
            got = getattr(fft, name)(n, d, dtype="float64")
            np.testing.assert_array_equal(np.asarray(got), getattr(np.fft, name)(n, d))
        assert getattr(fft, name)(n).dtype.name == "float32"
        assert getattr(fft, name)(n, dtype=fz.complex64).dtype.name == "complex64"
    x = np.arange(4 * n * 3).reshape(4, n, 3)
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 1, (0, 1), (-1, -1), ()):
            got = both(lambda t, a=axes, f=name: getattr(fft, f)(t, axes=a), fz.asarray(x))
            np.testing.assert_array_equal(got, getattr(np.fft, name)(x, axes=axes))


def test_gradients_are_those_of_the_sums():
    """Of a function of transforms, against the matrix of the transform written out."""
    n = 6
    matrix = fz.asarray(np.fft.fft(np.eye(n)))
    z = fz.asarray(numbers((2, n), "complex128"))

    def energy(transform):
        def loss(z):
            y = transform(z)
            return fz.sum(fz.abs(y * y + z) ** 2)

        return loss

    got = fz.trace(fz.grad(energy(fft.fft)))
    for _ in range(3):
        np.testing.assert_allclose(
            np.asarray(got(z)), np.asarray(fz.grad(energy(lambda z: z @ matrix))(z)), rtol=1e-12
        )


X, Z = fz.ones((2, 3)), fz.ones((2, 3), dtype="complex64")
WRONG = [
    (lambda: fft.fft(X, 0), ValueError,
     "[fft] needs at least one point, got 0 along axis 1 of f32[2,3]."),
    (lambda: fft.rfft(X, -1), ValueError,
     "[rfft] needs at least one point, got -1 along axis -1 of f32[2,3]."),
    (lambda: fft.fft(fz.ones((2, 0))), ValueError,
     "[fft] needs at least one point, got 0 along axis 1 of f32[2,0]."),
    (lambda: fft.irfft(fz.ones(1)), ValueError,
     "[irfft] needs at least one point, got 0 along axis 0 of c64[1]."),
    (lambda: fft.ifft(X, axis=2), IndexError, "[ifft] axis 2 is out of range for rank 2."),
    (lambda: fft.fft(fz.asarray(1.0)), IndexError, "[fft] axis -1 is out of range for rank 0."),
    (lambda: fft.fftn(X, axes=(0, 3)), IndexError, "[fftn] axis 3 is out of range for rank 2."),
    (lambda: fft.fft2(fz.ones(3)), IndexError, "[fft2] axis -2 is out of range for rank 1."),
    (lambda: fft.fft(X, norm="half"), ValueError,
     '[fft] norm must be "backward", "ortho" or "forward", got "half".'),
    (lambda: fft.irfftn(Z, norm="Ortho"), ValueError,
     '[irfftn] norm must be "backward", "ortho" or "forward", got "Ortho".'),
    (lambda: fft.fftn(X, s=(2,), axes=(0, 1)), ValueError, "[fftn] 1 lengths for 2 axes."),
    (lambda: fft.rfft2(X, s=(2, 3, 4)), ValueError, "[rfft2] 3 lengths for 2 axes."),
    (lambda: fft.ifftn(X, s=(2, 3, 4)), ValueError,
     "[ifftn] 3 lengths for 2 axes: f32[2,3]."),
    (lambda: fft.fftn(X, s=(2, 0)), ValueError,
     "[fftn] needs at least one point, got 0 along axis 1 of f32[2,3]."),
    (lambda: fft.rfftn(X, axes=()), IndexError, "[rfftn] needs an axis: f32[2,3]."),
    (lambda: fft.rfft(Z), TypeError, "[rfft] needs real numbers, got c64[2,3]."),
    (lambda: fft.ihfft(Z), TypeError, "[ihfft] needs real numbers, got c64[2,3]."),
    (lambda: fft.fft(X.astype("float16")), TypeError,
     "[fft] computes in float32 or float64, got f16[2,3]; convert it with x.astype(...)."),
    (lambda: fft.fft(X.astype("bfloat16")), TypeError,
     "[fft] computes in float32 or float64, got bf16[2,3]; convert it with x.astype(...)."),
    (lambda: fft.fftshift(X, axes=2), IndexError, "[fftshift] axis 2 is out of range for rank 2."),
    (lambda: fft.fftfreq(0), ValueError, "[fftfreq] needs at least one point, got 0."),
    (lambda: fft.rfftfreq(4, 0), ValueError, "[rfftfreq] samples must be apart, got d = 0."),
    (lambda: fft.fftfreq(4, dtype="int32"), TypeError,
     "[fftfreq] needs a floating-point dtype, got int32."),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_input(case):
    call, error, message = WRONG[case]
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error and str(raised.value) == message
    for _ in range(2):
        with pytest.raises(error):
            fz.trace(call)()


@pytest.mark.parametrize("name", ALONG_ONE)
@pytest.mark.parametrize("options", [{"n": "3"}, {"n": 2.5}, {"axis": 0.5}, {"norm": 3}, {"m": 1}])
def test_wrong_types(name, options):
    with pytest.raises((TypeError, ValueError) if "norm" in options else TypeError):
        getattr(fft, name)(X, **options)


def numpy_error(call):
    with pytest.raises(Exception) as raised:  # noqa: B017: the class is what is asked
        call()
    return type(raised.value)


def test_errors_are_of_numpys_classes():
    x = np.ones((2, 3))
    for call in (
        lambda m, t: m.fft(t, 0),
        lambda m, t: m.fft(t, axis=4),
        lambda m, t: m.fft(t, norm="half"),
        lambda m, t: m.fft(t, n="3"),
        lambda m, t: m.rfft(t * 1j),
        lambda m, t: m.fftn(t, s=(1,), axes=(0, 1)),
        lambda m, t: m.fftn(t, axes=(5,)),
        lambda m, t: m.irfft(t[:, :1]),
    ):
        own = numpy_error(lambda: call(fft, fz.asarray(x)))  # noqa: B023
        assert issubclass(numpy_error(lambda: call(np.fft, x)), own)  # noqa: B023
