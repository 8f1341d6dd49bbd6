"""Lists and tuples of numbers are arrays in every operator, as in NumPy."""

import collections
import operator

import numpy as np
import pytest

import frazil as fz

ARITHMETIC = "add sub mul truediv floordiv mod pow".split()
COMPARISON = "eq ne lt le gt ge".split()
BITWISE = "and_ or_ xor lshift rshift".split()
LISTS = [[1, 2], (3, 1), [True, False], [[1], [2]], [[1, 2], (3, 1)], [2]]


def check(got, want, dtype=True):
    assert isinstance(got, fz.Tensor)
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-15)
    assert got.shape == want.shape and (not dtype or got.dtype.name == want.dtype.name)


@pytest.mark.parametrize("value", [2, [1, 2], [[1, 2], [2, 1]], [3]])
@pytest.mark.parametrize("name", ARITHMETIC + COMPARISON + BITWISE)
def test_operators_both_ways(name, value):
    f = np.errstate(all="ignore")(getattr(operator, name))
    a, t = np.asarray(value), fz.asarray(value)
    for other in LISTS:
        check(f(t, other), f(a, np.asarray(other)))
        if name in COMPARISON and type(other) is list:
            check(f(other, t), f(np.asarray(other), a))
        if name not in COMPARISON:
            check(f(other, t), f(np.asarray(other), a))


def test_what_looked_like_something_else():
    check(fz.asarray([1, 2]) == [1, 2], np.asarray([True, True]))
    check(fz.asarray([1, 2]) != (1, 3), np.asarray([False, True]))
    check(fz.asarray(2) * [1, 2], np.asarray([2, 4]))
    check([1, 2] * fz.asarray(2), np.asarray([2, 4]))
    check((1, 2) * fz.asarray(2), np.asarray([2, 4]))
    check([1, 2] + fz.asarray([1, 1]), np.asarray([2, 3]))
    assert (fz.ones(2) * [1, 2]).tolist() == [1, 2]
    assert [1, 2] in fz.asarray([[1, 2], [3, 4]])


def test_products_and_divmod():
    m = np.arange(6.0).reshape(2, 3)
    t = fz.asarray(m)
    check(t @ [1, 2, 3], m @ [1, 2, 3])
    check([1, 2] @ t, [1, 2] @ m)
    check(t @ [[1.5], [2], [3]], m @ [[1.5], [2], [3]])
    for got, want in zip(divmod(t, [2, 3, 4]), divmod(m, [2, 3, 4]), strict=True):
        check(got, want)
    for got, want in zip(divmod([2, 3, 4], t + 1), divmod([2, 3, 4], m + 1), strict=True):
        check(got, want)


@pytest.mark.parametrize("name", ["i" + n.rstrip("_") for n in ARITHMETIC])
def test_in_place(name):
    f = getattr(operator, name)
    for other in ([1, 2], (2, 3), [1.5, 2]):
        a, t = np.asarray([3.0, 4.0]), fz.asarray([3.0, 4.0], dtype="float64")
        same = t
        t = f(t, other)
        assert t is same
        check(t, f(a, other))
    mask = fz.asarray([True, True])
    mask &= [True, False]
    assert mask.tolist() == [True, False]
    v = fz.ones((2, 2))
    v @= [[1.0, 2.0], [3.0, 4.0]]
    assert v.tolist() == [[4, 6], [4, 6]]
    items = [1, 2]
    items += fz.asarray([1, 1])
    check(items, np.asarray([2, 3]))


def test_floats_are_not_rounded_before_an_op_in_float64():
    third, tenth = 1 / 3, 0.1
    for dtype in ("float64", "int64", "int32"):
        check(fz.ones(2, dtype=dtype) * [third, tenth], np.ones(2, dtype) * [third, tenth])
        check([third, tenth] + fz.ones(2, dtype=dtype), [third, tenth] + np.ones(2, dtype))
    assert (fz.asarray([third, tenth], dtype="float64") == [third, tenth]).all()
    assert (fz.asarray([third, tenth]) == [third, tenth]).all()
    assert (fz.ones(2) * [third, tenth]).dtype is fz.float32
    assert (fz.ones(2, dtype="float16") * [third, tenth]).dtype is fz.float32
    assert fz.add(fz.ones(1, dtype="float64"), [tenth]).tolist() == [1.1]


def test_functions_of_two_operands():
    t = fz.asarray([1, 2])
    check(fz.add(t, [1, 2]), np.asarray([2, 4]))
    check(fz.subtract([1, 2], t), np.asarray([0, 0]))
    check(fz.maximum((3, 1), t), np.asarray([3, 2]))
    check(fz.equal(t, [1, 3]), np.asarray([True, False]))
    check(fz.where([True, False], t, [7, 8]), np.asarray([1, 8]))
    check(fz.clip(t, [2, 0], 5), np.asarray([2, 2]))
    check(fz.matmul(t, [3, 4]), np.asarray(11))
    check(fz.add([1, 2], [3, 4]), np.asarray([4, 6]))


def test_items_may_be_tensors_and_named_tuples():
    Pair = collections.namedtuple("Pair", "a b")
    check(fz.asarray([1, 2]) + Pair(1, 2), np.asarray([2, 4]))
    w = fz.asarray(2.0, requires_grad=True)
    y = (fz.asarray([1.0, 2.0]) * [w, w * w]).sum()
    y.backward()
    assert y.item() == 10 and w.grad.item() == 9
    check(fz.asarray([1, 2]) + [np.int64(1), np.asarray(5)], np.asarray([2, 7]))


def test_what_is_no_array_keeps_its_meaning():
    t = fz.asarray([1, 2])
    for other in (None, "ab", object(), ["a", "b"], [None, 1], {1: 2}, [object()], ("x",), {1, 2}):
        assert (t == other) is False and (t != other) is True
        assert (other == t) is False and (other != t) is True
    for bad in (["a"], [None], [object()]):
        with pytest.raises(TypeError, match=r"\[add\] cannot make a tensor from (str|None|object)"):
            t + bad
        with pytest.raises(TypeError, match=r"\[less\] cannot make a tensor from"):
            t < bad  # noqa: B015
        before = t
        with pytest.raises(TypeError, match=r"\[add\]"):
            t += bad
        assert t is before and t.tolist() == [1, 2]
    for bad in ([1, 2, 3], [[1, 2, 3]], []):
        with pytest.raises(ValueError, match="broadcast"):
            t == bad  # noqa: B015
    with pytest.raises(ValueError, match=r"\[equal\] nested sequences have different lengths"):
        t == [[1], [1, 2]]  # noqa: B015
    with pytest.raises(OverflowError, match=r"\[add\]"):
        t + [2**70]


@pytest.mark.parametrize("pure", [False, True])
def test_traced_calls(pure):
    @fz.trace(pure=pure)
    def f(x, scale):
        y = x * scale + [1, 2]
        y -= (1, 1)
        return y, y == [2, 5]

    for k in range(1, 6):
        y, same = f(fz.asarray([1, 2]), [k, k])
        assert y.tolist() == [k, 2 * k + 1] and same.tolist() == [k == 2, k == 2]


# --- lists of arrays ------------------------------------------------------------------------------

DTYPES = "bool uint8 int16 float32 float64 complex64 complex128 >f4 >c8".split()
VIEWS = {
    "as it is": lambda a: a,
    "rows": lambda a: a[1:, 2:5],
    "backwards": lambda a: a[:, ::-1],
    "stepped": lambda a: a[::2, ::-2],
    "turned": lambda a: a.T,
    "channels first": lambda a: a.transpose(2, 0, 1),
    "one": lambda a: a[:1, :1, :1],
    "empty": lambda a: a[:0],
    "broadcast": lambda a: np.broadcast_to(a[:, :1], a.shape),
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_any_strides(dtype):
    """Alone and in a list, which is read at once where all are alike."""
    rng = np.random.default_rng(0)
    for channels in (1, 2, 3, 4, 5, 6, 8, 12):
        whole = rng.integers(0, 2 if dtype == "bool" else 99, (3, 6, 7, channels)).astype(dtype)
        for name, view in VIEWS.items():
            arrays = [view(a) for a in whole]
            for got, wanted in (
                (fz.asarray(arrays[1]), arrays[1]),
                (fz.asarray(arrays), np.array(arrays)),
                (fz.asarray(tuple(arrays), dtype="complex128"), np.array(arrays)),
            ):
                assert got.shape == wanted.shape and got.tolist() == wanted.tolist(), name
            assert fz.asarray(arrays).dtype.name == np.dtype(dtype).name


def test_lists_of_arrays_that_differ():
    one, other = np.ones((2, 3), "f4"), np.arange(6.0).reshape(2, 3)
    assert fz.asarray([one, other]).dtype == fz.float64
    assert fz.asarray([one, fz.asarray(other)]).tolist() == np.array([one, other]).tolist()
    assert fz.asarray([one, [[1, 2, 3], [4, 5, 6]]][:1]).shape == (1, 2, 3)
    assert fz.asarray([np.float32(1), np.float32(2)]).tolist() == [1.0, 2.0]
    assert fz.asarray([np.array(1), np.array(2)]).tolist() == [1, 2]
    assert fz.asarray([[one], [one]]).shape == (2, 1, 2, 3)
    with pytest.raises(ValueError, match="shape"):
        fz.asarray([one, one[:1]])
    for wrong in (np.array(["a"]), np.array([None]), np.array(["2020-01-01"], "M8[D]")):
        with pytest.raises(TypeError, match="has no counterpart in frazil"):
            fz.asarray([wrong, wrong])
    copied = fz.asarray([one])
    one[0, 0] = 7
    assert copied[0, 0, 0].item() == 1


def test_lists_of_arrays_in_a_trace():
    rows = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    traced = fz.trace(lambda x: fz.asarray(rows) * x)
    for value in (1.0, 1.0, 1.0, 5.0, 5.0, 5.0):
        rows[1][1] = value
        assert traced(fz.asarray(2.0)).tolist() == [[2.0, 4.0], [6.0, 2 * value]]
