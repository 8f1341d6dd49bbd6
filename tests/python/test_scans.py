"""Running extremes, fitted polynomials and normal vectors against NumPy."""

import numpy as np
import pytest

import frazil as fz

A = np.array([[3.0, 1.0, np.nan, 4.0], [-1.0, 5.0, 2.0, 6.0], [0.0, -0.0, 7.0, 1.0]])


@pytest.mark.parametrize(("name", "ufunc"), [("cummax", np.maximum), ("cummin", np.minimum)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "complex64"])
def test_running_extremes(name, ufunc, dtype):
    a = (A if "float" in dtype else np.nan_to_num(A)).astype(dtype)
    run = getattr(fz, name)
    for axis in (0, 1, -1):
        wanted = ufunc.accumulate(a, axis=axis)
        for f in (run, fz.trace(run)):
            np.testing.assert_array_equal(np.asarray(f(fz.asarray(a), axis=axis)), wanted)
        got = ufunc.accumulate(fz.asarray(a), axis=axis)
        assert isinstance(got, fz.Tensor) and got.shape == a.shape
    assert run(fz.asarray(a)).shape == (12,) and run(fz.zeros((0,))).shape == (0,)
    long = np.random.default_rng(0).standard_normal(1000).astype("float32")
    np.testing.assert_array_equal(np.asarray(run(fz.asarray(long))), ufunc.accumulate(long))
    with pytest.raises(IndexError, match=rf"\[{name}\] axis 2 is out of range"):
        run(fz.asarray(a), axis=2)


def test_gradient_of_running_extremes():
    x = fz.asarray([1.0, 3.0, 2.0, 5.0])
    weights = fz.asarray([1.0, 10.0, 100.0, 1000.0])
    gradient = fz.grad(lambda x: fz.sum(weights * fz.cummax(x)))
    assert gradient(x).tolist() == [1.0, 110.0, 0.0, 1000.0]
    assert fz.trace(gradient)(x).tolist() == [1.0, 110.0, 0.0, 1000.0]


@pytest.mark.parametrize("deg", [0, 1, 3])
def test_polyfit(deg):
    rng = np.random.default_rng(deg)
    x, y, w = rng.uniform(-2, 5, 20), rng.standard_normal((20, 2)), rng.uniform(1, 2, 20)
    for values in (y, y[:, 0]):
        for weights in (None, w):
            got = fz.polyfit(fz.asarray(x), fz.asarray(values), deg, w=weights)
            np.testing.assert_allclose(np.asarray(got), np.polyfit(x, values, deg, w=weights), 1e-8)
    assert fz.polyfit(fz.asarray(x), fz.asarray(y[:, 0]), deg).dtype == fz.float64
    for call, error in (
        (lambda: fz.polyfit(x, y, -1), ValueError),
        (lambda: fz.polyfit(x, y[:3], 1), TypeError),
        (lambda: fz.polyfit(x, y, 1, w=w[:3]), TypeError),
    ):
        with pytest.raises(error, match=r"^\[polyfit\] "):
            call()


def test_normal_vectors():
    mean, cov = [1.0, -2.0], [[2.0, 0.6], [0.6, 1.0]]
    generator = fz.random.Generator(3)
    draws = np.asarray(generator.multivariate_normal(mean, cov, (40_000,), dtype="float64"))
    assert draws.shape == (40_000, 2) and draws.dtype == np.float64
    np.testing.assert_allclose(draws.mean(0), mean, atol=0.05)
    np.testing.assert_allclose(np.cov(draws.T), cov, atol=0.06)
    assert generator.multivariate_normal(fz.zeros((5, 2)), cov).shape == (5, 2)
    draw = lambda g: g.multivariate_normal(mean, cov, (3,))  # noqa: E731
    first, second = fz.random.Generator(1), fz.random.Generator(1)
    assert fz.trace(draw)(first).tolist() == draw(second).tolist()
    with pytest.raises(ValueError, match=r"^\[random.multivariate_normal\] mean of shape"):
        generator.multivariate_normal(mean, [[1.0]])
    with pytest.raises(fz.linalg.LinAlgError):
        generator.multivariate_normal(mean, [[1.0, 2.0], [2.0, 1.0]])
