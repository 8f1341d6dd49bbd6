"""x.view(dtype) against NumPy: dtypes of equal and other sizes, complex numbers, gradients."""

import itertools

import numpy as np
import pytest

import frazil as fz

DTYPES = "bool int8 uint16 int32 uint64 float16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize(("source", "to"), list(itertools.product(DTYPES, DTYPES)))
def test_the_bytes_are_numpy_s(source, to):
    a = (np.arange(32) % 3 > 0).astype(source).reshape(2, 16)
    want = a.view(np.uint8) != 0 if to == "bool" else a.view(to)
    for x in (fz.asarray(a), fz.asarray(a.T).T):
        got = x.view(to)
        assert got.dtype.name == to and got.shape == want.shape
        assert np.asarray(got).tobytes() == want.tobytes()
        assert fz.trace(lambda t: t.view(to))(x).shape == want.shape


def test_bfloat16():
    x = fz.asarray([1.0, -2.0], dtype="bfloat16")
    assert x.view("uint16").tolist() == [0x3F80, 0xC000]
    assert x.view("uint16").view(fz.bfloat16).tolist() == [1, -2]


def test_infinities_stay_in_their_part():
    x = fz.asarray([np.inf, 1.0, 2.0, -np.inf], dtype="float64").view("complex128")
    assert x.tolist() == [complex(np.inf, 1), complex(2, -np.inf)]


def test_gradients_flow_through_complex_numbers():
    def f(x):
        z = x.view("complex128")
        return fz.sum((z * z).view("float64") * fz.asarray([1.0, 2.0, 3.0, 4.0]))

    x = fz.asarray([1.0, 2.0, 3.0, 4.0], dtype="float64")
    want = []
    for k in range(4):
        step = fz.asarray(np.eye(4)[k] * 1e-6)
        want.append(((f(x + step) - f(x - step)) / 2e-6).item())
    np.testing.assert_allclose(np.asarray(fz.grad(f)(x)), want, rtol=1e-8, atol=1e-7)


def test_a_view_is_a_tensor_of_its_own():
    x = fz.arange(2)
    y = x.view("float64")
    x[0] = 5
    assert y.tolist() == [0, 5e-324]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fz.ones(3).view("float64"), ValueError,
         "[view] 12 bytes along the last axis are no whole number of float64: float32 of shape "
         "(3,)."),
        (lambda: fz.asarray(1.0).view("int64"), ValueError,
         "[view] 4 bytes along the last axis are no whole number of int64: float32 of shape ()."),
        (lambda: fz.ones(4).view(2, 2), TypeError,
         "[view] takes one dtype; for another shape use x.reshape(shape)."),
        (lambda: fz.ones(4).view((2, 2)), TypeError,
         "[view] takes one dtype; for another shape use x.reshape(shape)."),
    ],
)  # fmt: skip
def test_wrong_input(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message
