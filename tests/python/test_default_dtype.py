"""The default dtype: what it rules, where it holds, and that traced calls follow it."""

import threading

import numpy as np
import pytest

import frazil as fz

MAKERS = {
    "asarray": lambda: fz.asarray([1.5]),
    "asarray of nothing": lambda: fz.asarray([]),
    "zeros": lambda: fz.zeros(2),
    "ones": lambda: fz.ones(2),
    "empty": lambda: fz.empty(2),
    "full": lambda: fz.full(2, 0.1),
    "eye": lambda: fz.eye(2),
    "tri": lambda: fz.tri(2),
    "linspace": lambda: fz.linspace(0, 1, 4),
    "logspace": lambda: fz.logspace(0, 1, 4),
    "geomspace": lambda: fz.geomspace(1, 2, 4),
    "arange": lambda: fz.arange(0.0, 1.0, 0.3),
    "fftfreq": lambda: fz.fft.fftfreq(4),
    "a function of a number": lambda: fz.sin(1.5),
    "a function of two": lambda: fz.hypot(1.5, 2.5),
    "normal": lambda: fz.random.normal((2,)),
    "uniform": lambda: fz.random.uniform((2,)),
    "gamma": lambda: fz.random.gamma(2.0, shape=(2,)),
    "result_type": lambda: fz.empty(0, dtype=fz.result_type(1, 1.0)),
}
# Their dtypes are told by something else.
OTHERS = {
    "int64": lambda: fz.asarray([1]),
    "bool": lambda: fz.asarray(True),
    "float16": lambda: fz.ones(2, dtype="float16") * 1.5,
    "float32": lambda: fz.asarray(np.float32([1.5])),
    "float64": lambda: fz.asarray([1, 2]) / 3.0,
}


def now():
    return fz.__array_namespace_info__().default_dtypes()["real floating"].name


@pytest.mark.parametrize("name", MAKERS)
def test_it_rules_what_has_no_other_dtype(name):
    make = MAKERS[name]
    assert make().dtype == fz.float32
    with fz.default_dtype("float64"):
        assert make().dtype == fz.float64
        assert fz.trace(make)().dtype == fz.float64
    assert make().dtype == fz.float32


@pytest.mark.parametrize("dtype", OTHERS)
def test_it_leaves_other_dtypes_alone(dtype):
    for default in ("float32", "float64"):
        with fz.default_dtype(default):
            assert OTHERS[dtype]().dtype.name == dtype


def test_values_are_not_rounded_to_float32_before():
    with fz.default_dtype("float64"):
        assert fz.asarray([0.1]).tolist() == [0.1]
        assert fz.linspace(0, 1, 4).tolist() == np.linspace(0, 1, 4).tolist()
        assert (fz.ones(1, dtype="float32") * [0.1]).dtype == fz.float64


def test_complex_numbers_follow():
    with fz.default_dtype("float64"):
        assert fz.asarray([1j]).dtype == fz.complex128
        assert fz.linspace(0, 1j, 3).dtype == fz.complex128
        assert fz.result_type(1, 1j) == fz.complex128
        assert fz.__array_namespace_info__().default_dtypes()["complex floating"] == fz.complex128
    assert fz.asarray([1j]).dtype == fz.complex64


def test_repr_shows_what_is_not_the_default():
    with fz.default_dtype("float64"):
        assert repr(fz.asarray([0.5])) == "fz.Tensor([0.5])"
        assert repr(fz.ones(1, dtype="float32")) == "fz.Tensor([1.], dtype=float32)"


@pytest.mark.parametrize("pure", [False, True])
def test_traced_calls_follow_a_change(pure):
    @fz.trace(pure=pure)
    def f(x):
        return x[:1] + fz.ones(1), fz.tri(1)

    x = fz.arange(3).astype("float32")
    for _ in range(4):
        for name in ("float32", "float64", "float32"):
            with fz.default_dtype(name):
                a, b = f(x)
                assert (a.dtype.name, b.dtype.name) == (name, name)


def test_it_is_reentrant_and_of_the_thread():
    seen = []
    double = fz.default_dtype(np.float64)
    with double, double:
        with fz.default_dtype("float32"):
            assert now() == "float32"
        assert now() == "float64"
        thread = threading.Thread(target=lambda: seen.append(now()))
        thread.start()
        thread.join()
    assert seen == ["float32"] and now() == "float32"
    with pytest.raises(RuntimeError, match="left more often"):
        double.__exit__(None, None, None)


def test_a_call_that_sets_it_is_not_skipped():
    @fz.trace
    def f(x):
        fz.set_default_dtype("float64")
        return x + 1, fz.tri(1)

    x = fz.ones(2, dtype="float32")
    try:
        for _ in range(8):
            fz.set_default_dtype("float32")
            assert [t.dtype.name for t in f(x)] == ["float32", "float64"] and now() == "float64"
    finally:
        fz.set_default_dtype("float32")


def test_it_is_set_for_the_process():
    seen = []
    try:
        fz.set_default_dtype("float64")
        thread = threading.Thread(target=lambda: seen.append(fz.zeros(1).dtype.name))
        thread.start()
        thread.join()
        assert now() == "float64" and seen == ["float64"]
        with fz.default_dtype("float32"):
            assert now() == "float32"
    finally:
        fz.set_default_dtype("float32")
    assert now() == "float32"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int64", "complex64"])
def test_other_dtypes_are_no_default(dtype):
    message = f"[default_dtype] must be float32 or float64, got {dtype}."
    for wrong in (fz.default_dtype, fz.set_default_dtype):
        with pytest.raises(ValueError) as error:
            wrong(dtype)
        assert str(error.value) == message and now() == "float32"
        with pytest.raises(TypeError):
            wrong("wide")
