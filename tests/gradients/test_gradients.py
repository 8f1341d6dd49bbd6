"""Gradients of every op and composite against central differences in float64, and what must hold
between the ways to ask for one: tape and function style, eager and traced, all float types."""

import gradient_cases
import numpy as np
import pytest

import frazil as fz
from frazil import _frazil

TABLE = _frazil.op_table()
CASES = gradient_cases.all_cases(TABLE)
BY_NAME = {case.name: case for case in CASES}
every_case = pytest.mark.parametrize("name", list(BY_NAME))

STEP = 2.0**-20
# Gradients in a 16-bit type: each op on the way rounds to 11 or 8 bits.
CLOSE = {"float32": 2e-4, "float16": 0.08, "bfloat16": 0.5}


def tensors(case, dtype="float64"):
    return [fz.astype(fz.asarray(a), getattr(fz, dtype)) for a in case.inputs]


def weights(shape, salt=0):
    """A projection: numbers that make one number of a result."""
    n = int(np.prod(shape))
    return (np.cos(np.arange(n) * 1.7 + salt) + 0.3).reshape(shape)


def projected(function, salt=0):
    def scalar(*t):
        y = function(*t)
        w = fz.astype(fz.asarray(weights(y.shape, salt)), y.dtype)
        return fz.sum(y * w)

    return scalar


def gradients(function, arguments):
    return fz.grad(function, argnums=tuple(range(len(arguments))))(*arguments)


def differences(function, arrays):
    """Central differences of a function of float64 arrays."""
    out = []
    for i, a in enumerate(arrays):
        d = np.zeros(a.shape)
        for at in np.ndindex(a.shape):
            ends = []
            for sign in (1, -1):
                moved = [np.array(b) for b in arrays]
                moved[i][at] += sign * STEP
                ends.append(function(*(fz.asarray(m) for m in moved)).item())
            d[at] = (ends[0] - ends[1]) / (2 * STEP)
        out.append(d)
    return out


def assert_close(got, want, tolerance):
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        g = np.asarray(fz.astype(g, fz.float64))
        assert g.shape == w.shape
        scale = max(1.0, np.abs(w).max(initial=0))
        np.testing.assert_allclose(g, w, rtol=0, atol=tolerance * scale, err_msg=f"input {i}")


def bits(t):
    a = np.asarray(fz.astype(t, fz.float64))
    return t.dtype.name, a.shape, np.where(np.isnan(a), np.nan, a).tobytes()


def test_every_row_and_composite_has_cases():
    rows = {row["name"] for row in TABLE if row["differentiable"]}
    composites = {case.row for case in CASES} - rows
    assert len(rows) > 30 and len(composites) > 15
    assert rows < {case.row for case in CASES}
    assert gradient_cases.inner_composites() < composites
    assert composites <= gradient_cases.composites().keys() | gradient_cases.inner_composites()


@every_case
def test_first_order(name):
    case = BY_NAME[name]
    f = projected(case.function)
    assert_close(gradients(f, tensors(case)), differences(f, case.inputs), 1e-6)


@every_case
def test_second_order(name):
    case = BY_NAME[name]
    f = projected(case.function)

    def of_gradient(*t):
        parts = gradients(f, t)
        return sum(projected(lambda g: g, salt=i + 1)(g) for i, g in enumerate(parts))

    assert_close(gradients(of_gradient, tensors(case)), differences(of_gradient, case.inputs), 1e-5)


@every_case
@pytest.mark.parametrize("dtype", list(CLOSE))
def test_small_types(name, dtype):
    case = BY_NAME[name]
    f = projected(case.function)
    got = gradients(f, tensors(case, dtype))
    assert [g.dtype.name for g in got] == [dtype] * len(got)
    want = [np.asarray(g) for g in gradients(f, tensors(case))]
    assert_close(got, want, CLOSE[dtype])


@every_case
def test_tape_style_is_function_style(name):
    case = BY_NAME[name]
    f = projected(case.function)
    leaves = [t.requires_grad_() for t in tensors(case, "float32")]
    y = f(*leaves)
    if y.requires_grad:
        y.backward()
    value, grads = fz.value_and_grad(f, argnums=tuple(range(len(leaves))))(
        *tensors(case, "float32")
    )
    assert bits(value) == bits(y.detach())
    for leaf, g in zip(leaves, grads, strict=True):
        if leaf.grad is None:  # nothing arrived
            assert not np.asarray(g).any()
        else:
            assert bits(leaf.grad) == bits(g)


@every_case
def test_traced_is_eager(name):
    """Through a traced function from outside and inside one: the same bits, call after call."""
    case = BY_NAME[name]
    f = projected(case.function)
    arguments = tensors(case, "float32")
    want = [bits(g) for g in gradients(f, arguments)]
    outside, inside = fz.trace(f), fz.trace(lambda *t: gradients(f, t))
    tape = fz.trace(f)
    for _ in range(3):
        assert [bits(g) for g in gradients(outside, arguments)] == want
        assert [bits(g) for g in inside(*arguments)] == want
        leaves = [fz.asarray(t, copy=True).requires_grad_() for t in arguments]
        y = tape(*leaves)
        if y.requires_grad:
            y.backward()
            for leaf, w in zip(leaves, want, strict=True):
                assert leaf.grad is None or bits(leaf.grad) == w


@every_case
def test_second_order_traced_is_eager(name):
    case = BY_NAME[name]

    def hessian(*t):
        f = projected(case.function)
        return gradients(lambda *u: sum(fz.sum(g * g) for g in gradients(f, u)), t)

    arguments = tensors(case, "float32")
    want = [bits(g) for g in hessian(*arguments)]
    traced = fz.trace(hessian)
    for _ in range(2):
        assert [bits(g) for g in traced(*arguments)] == want
