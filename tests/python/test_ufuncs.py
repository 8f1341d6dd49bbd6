"""NumPy's ufuncs called with tensors, operators of arrays and tensors, and JAX's protocol."""

import operator
import sys
import types

import numpy as np
import pytest

import frazil as fz

A = np.array([[0.5, 0.25, 0.75], [0.125, 1.0, 0.375]], "float32")
B = np.array([2.0, 0.5, 4.0])
I = np.array([[1, 6, 3], [4, 5, 12]], "int32")  # noqa: E741

ABSENT = set("frexp isnat modf spacing".split())
OPERANDS = {"matmul": [I, I.T.copy()], "matvec": [I, I[0]], "vecmat": [I[:, 0], I], "ldexp": [A, I]}
UFUNCS = {n: f for n in dir(np) if isinstance(f := getattr(np, n), np.ufunc) and f.__name__ == n}


def agree(got, wanted):
    assert isinstance(got, fz.Tensor)
    assert got.shape == wanted.shape and got.dtype.name == wanted.dtype.name
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=2e-6, equal_nan=True)


@pytest.mark.parametrize("name", sorted(UFUNCS.keys() - ABSENT))
def test_every_ufunc(name):
    ufunc = UFUNCS[name]
    integral = not any("f" in signature for signature in ufunc.types)
    arrays = OPERANDS.get(name) or ([I, I % 3 + 1] if integral else [A, B])
    arrays = arrays[: ufunc.nin]
    if name == "arccosh":
        arrays = [A + 1]
    with np.errstate(all="ignore"):
        wanted = ufunc(*arrays)
    tensors = [fz.asarray(a) for a in arrays]
    for operands in (tensors, [tensors[0], *arrays[1:]], [*arrays[:-1], tensors[-1]]):
        got = ufunc(*operands)
        if isinstance(wanted, tuple):
            assert isinstance(got, tuple)
        several = wanted if isinstance(wanted, tuple) else (wanted,)
        for g, w in zip(got if isinstance(got, tuple) else (got,), several, strict=True):
            agree(g, w)


@pytest.mark.parametrize("name", sorted(ABSENT & UFUNCS.keys()))
def test_what_is_absent_says_so(name):
    with pytest.raises(TypeError, match=rf"^\[np\.{name}\] frazil has no such function: use np\."):
        UFUNCS[name](*[fz.asarray(I)] * UFUNCS[name].nin)


def test_options():
    t, x = fz.asarray(A), fz.asarray(B)
    agree(np.add(t, 2.5), A + np.float32(2.5))
    agree(np.add(t, [1.0, 2.0, 3.0]), A + np.array([1.0, 2.0, 3.0], "float32"))
    agree(np.add(t, x, dtype="float32"), np.add(A, B, dtype="float32"))
    agree(np.vecdot(t, t, axis=0), np.vecdot(A, A, axis=0))
    out = np.zeros((2, 3))
    assert np.exp(t, out=out) is out
    np.testing.assert_allclose(out, np.exp(A), rtol=1e-6)
    mask = A > 0.3
    assert np.exp(t, out=out, where=fz.asarray(mask)) is out
    cell = fz.zeros((2, 3))
    assert np.negative(t, out=cell) is cell and cell.tolist() == (-A).tolist()
    np.multiply(A, 2, out=cell, where=mask)
    np.testing.assert_array_equal(np.asarray(cell), np.where(mask, A * 2, -A))
    quotient, rest = np.zeros(3), fz.zeros(3, dtype="float64")
    pair = np.divmod(x, 1.5, out=(quotient, rest))
    assert pair[0] is quotient and pair[1] is rest
    assert quotient.tolist() == (B // 1.5).tolist() and rest.tolist() == (B % 1.5).tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: np.exp(t, where=t > 0), r"\[np.exp\] where= needs out=: what to leave"),
        (lambda t: np.exp(t, casting="no"), r"\[np.exp\] takes no casting='no' with tensors\."),
        (lambda t: np.matmul(t, t.T, axes=[(0, 1)] * 3), r"\[np.matmul\] takes no axes="),
        (lambda t: np.add.reduce(t, initial=3), r"\[np.add\] takes no initial=3 with tensors"),
        (lambda t: np.subtract.reduce(t), r"\[np.subtract\] frazil has no reduce of it"),
        (lambda t: np.add.reduceat(t, [0, 1]), r"\[np.add\] frazil has no reduceat of it"),
        (lambda t: np.add.at(t, 0, 1), r"\[np.add\] frazil has no at of it"),
        (lambda t: np.exp(t, out=fz.zeros((2, 3), dtype="int32")), "float32, which does not go in"),
        (lambda t: np.exp(t, out=np.zeros((2, 3), int)), "Cannot cast array data"),
        (lambda t: np.frompyfunc(abs, 1, 1)(t), "frazil has no such function"),
    ],
)
def test_refusals(call, message):
    t = fz.asarray(A)
    with pytest.raises(TypeError, match=message):
        call(t)
    assert t.tolist() == A.tolist()


def test_methods():
    t, i = fz.asarray(A), fz.asarray(I)
    for ufunc in (np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logaddexp):
        agree(ufunc.reduce(t), ufunc.reduce(A))
        agree(ufunc.reduce(t, axis=1, keepdims=True), ufunc.reduce(A, axis=1, keepdims=True))
        agree(ufunc.reduce(t, None), np.asarray(ufunc.reduce(A, None)))
    agree(np.add.reduce(i), np.add.reduce(I))
    agree(np.add.reduce(i, 1, "float32"), np.add.reduce(I, 1, "float32"))
    for ufunc in (np.add, np.multiply):
        agree(ufunc.accumulate(t, 1), ufunc.accumulate(A, 1))
    for ufunc in (np.add, np.subtract, np.less):
        agree(ufunc.outer(t, B), ufunc.outer(A, B))
        agree(ufunc.outer(B, t), ufunc.outer(B, A))


def test_gradients_and_traces():
    x = fz.asarray([0.5, 1.5])
    plain = lambda x: fz.sum(fz.exp(x) * fz.sin(x))  # noqa: E731
    numpy = lambda x: np.sum(np.multiply(np.exp(x), np.sin(x)))  # noqa: E731
    assert fz.grad(numpy)(x).tolist() == fz.grad(plain)(x).tolist()
    traced = fz.trace(numpy)
    assert [traced(x).item() for _ in range(3)] == [plain(x).item()] * 3
    assert traced.stats()["replayed"] == 2


OPERATORS = "add sub mul truediv floordiv mod pow eq ne lt le gt ge".split()


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_arrays_and_tensors(name):
    f = getattr(operator, name)
    for left, right in ((A, B), (np.float64(2), A), (A, np.float32(2)), (A, B[0]), (I, I)):
        left, right = np.asarray(left), np.asarray(right)
        wanted, both = f(left, right), f(fz.asarray(left), fz.asarray(right))
        scalar = left[()] if left.ndim == 0 else left
        for got in (f(scalar, fz.asarray(right)), f(fz.asarray(left), right)):
            agree(got, wanted)
            assert got.tolist() == both.tolist()


def test_other_operators_of_arrays_and_tensors():
    agree(A @ fz.asarray(A.T), A @ A.T)
    agree(I & fz.asarray(I), I)
    agree(I << fz.asarray(I % 3), I << I % 3)
    for got, wanted in zip(divmod(B, fz.asarray(A)), divmod(B, A), strict=True):
        agree(got, wanted)
    array = A.copy()
    before = array
    array += fz.asarray(A)
    assert array is before and array.tolist() == (A + A).tolist()
    with pytest.raises(ValueError, match=r"\[add\] shapes do not broadcast: \[2\] and \[3\]"):
        np.ones(2) + fz.ones(3)


def test_others_that_override_ufuncs_get_their_turn():
    class Other:
        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            return "other's"

    assert np.add(fz.ones(2), Other()) == "other's"
    assert np.add(Other(), fz.ones(2)) == "other's"


def test_jax_protocol(monkeypatch):
    got = []
    jax, numpy = types.ModuleType("jax"), types.ModuleType("jax.numpy")
    jax.numpy = numpy
    numpy.asarray = lambda array: got.append(array) or "an array of JAX's"
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setitem(sys.modules, "jax.numpy", numpy)
    assert fz.asarray(A).__jax_array__() == "an array of JAX's"
    assert type(got[0]) is np.ndarray and got[0].tolist() == A.tolist()


def test_jax():
    jnp = pytest.importorskip("jax.numpy")
    for t in (fz.asarray(A), fz.asarray(A).T[::-1], fz.arange(3), fz.ones(2, dtype="bfloat16")):
        for array in (jnp.asarray(t), jnp.array(t), jnp.concatenate([jnp.asarray(t)])):
            assert array.shape == t.shape and np.asarray(array).tolist() == t.tolist()


def test_where_of_reductions_is_refused():
    t, out = fz.ones((2, 2)), np.zeros(2, "float32")
    with pytest.raises(TypeError, match=r"\[np.add.reduce\] takes no where="):
        np.add.reduce(t, axis=0, where=[True, False], out=out)
    assert out.tolist() == [0, 0]
