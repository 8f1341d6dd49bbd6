"""The tensor as a Python object: operators, conversion, indexing, copying, pickling."""

import copy
import gc
import operator
import pickle
import threading
import weakref

import numpy as np
import pytest

import frazil as fz

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64"]


def test_attributes():
    x = fz.zeros((2, 3, 4), dtype="float16")
    assert (x.shape, x.ndim, x.size, x.itemsize, x.nbytes) == ((2, 3, 4), 3, 24, 2, 48)
    assert x.dtype is fz.float16 and x.device == "cpu"
    assert x.T.shape == (4, 3, 2) and x.mT.shape == (2, 4, 3)
    assert not x.requires_grad and x.is_leaf and x.grad is None


@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip_through_numpy(dtype):
    a = (np.arange(24) % 5).astype(dtype).reshape(2, 3, 4)
    for view in (
        a,
        a.T,
        a[::-1, 1:],
        a[:, ::2],
        a[0, 0, 0],
        a[:0],
        a.astype(a.dtype.newbyteorder()),
    ):
        t = fz.asarray(view)
        assert t.shape == view.shape and t.dtype.name == dtype
        np.testing.assert_array_equal(np.asarray(t), view)
        assert t.tolist() == view.tolist()


def test_export_is_read_only_and_shares_memory():
    t = fz.arange(6)
    a, b = np.asarray(t), np.asarray(t)
    assert not a.flags.writeable
    assert a.ctypes.data == b.ctypes.data
    np.testing.assert_array_equal(np.asarray(t.reshape(2, 3).T), [[0, 3], [1, 4], [2, 5]])


def test_export_does_not_see_later_writes():
    t = fz.zeros(3)
    a = np.asarray(t)
    t += 1
    t[0] = 7
    assert a.tolist() == [0, 0, 0] and t.tolist() == [7, 1, 1]
    del t
    gc.collect()
    assert a.tolist() == [0, 0, 0]


def test_asarray_copies_and_borrows():
    a = np.arange(4.0)
    copied, borrowed = fz.asarray(a), fz.asarray(a, copy=False)
    a[0] = 9
    assert copied.tolist() == [0, 1, 2, 3]
    assert borrowed.tolist() == [9, 1, 2, 3]
    with pytest.raises(ValueError, match="copy=False"):
        fz.asarray([1.0], copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        fz.asarray(a, copy=False, dtype="float32")
    reversed_ = fz.asarray(a[::-1], copy=False)
    assert reversed_.tolist() == [3, 2, 1, 9]


def test_asarray_of_python_data():
    assert fz.asarray(1.5).dtype is fz.float32
    assert fz.asarray(1).dtype is fz.int64
    assert fz.asarray(True).dtype is fz.bool
    assert fz.asarray([1, 2.5, True]).tolist() == [1.0, 2.5, 1.0]
    assert fz.asarray([[1, 2], [3, 4]]).shape == (2, 2)
    assert fz.asarray([]).shape == (0,) and fz.asarray([[], []]).shape == (2, 0)
    assert fz.asarray(range(3)).tolist() == [0, 1, 2]
    assert fz.asarray(2**63).dtype is fz.uint64
    assert fz.asarray([1.7, -1.7], dtype=int).tolist() == [1, -1]
    assert fz.asarray([fz.asarray(1.0), fz.asarray(2.0)]).tolist() == [1.0, 2.0]
    assert fz.asarray([np.float64(1.0)]).dtype is fz.float64
    x = fz.ones(2)
    assert fz.asarray(x) is x
    assert fz.asarray(x, copy=True) is not x


def test_wrong_data():
    cases = [
        ([[1, 2], [3]], ValueError, "nested sequences have different lengths: 2 and 1 at depth 1."),
        ([1, [2]], ValueError, "a sequence stands where another has a number, at depth 1."),
        ([[1], 2], ValueError, "a number stands where another has a sequence, at depth 1."),
        ("text", TypeError, "cannot make a tensor from str."),
        (object(), TypeError, "cannot make a tensor from object."),
        (2**64, OverflowError, "Python integer beyond 64 bits is out of bounds for int64."),
        (np.zeros(2, "clongdouble"), TypeError, "dtype complex256 has no counterpart in frazil."),
        (np.zeros(2, "M8[s]"), TypeError, "dtype datetime64[s] has no counterpart in frazil."),
    ]
    for data, kind, message in cases:
        with pytest.raises(kind) as error:
            fz.asarray(data)
        assert str(error.value) == f"[asarray] {message}"
    with pytest.raises(OverflowError, match="Python integer 300 is out of bounds for uint8"):
        fz.asarray([300], dtype="uint8")


BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
]  # fmt: skip
BITS = [operator.and_, operator.or_, operator.xor]


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32", "float64"])
def test_operators_agree_with_numpy(op, dtype):
    a, b = np.array([1, 5, 3], dtype), np.array([2, 2, 3], dtype)
    x, y = fz.asarray(a), fz.asarray(b)
    for got, wanted in [
        (op(x, y), op(a, b)),
        (op(x, 2), op(a, 2)),
        (op(2, x), op(2, a)),
        (op(x, 2.5), op(a, 2.5)),
        (op(2.5, x), op(2.5, a)),
        (op(x, b), op(a, b)),
        (op(a, y), op(a, b)),
        (op(x, np.float32(2)), op(a, np.float32(2))),
        (op(np.float64(2), x), op(np.float64(2), a)),
    ]:
        assert isinstance(got, fz.Tensor)
        assert got.dtype.name == wanted.dtype.name
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=3e-7)


@pytest.mark.parametrize("op", BITS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "int64"])
def test_bit_operators(op, dtype):
    a, b = np.array([0, 1, 1], dtype), np.array([1, 1, 0], dtype)
    got = op(fz.asarray(a), fz.asarray(b))
    assert got.dtype.name == dtype
    np.testing.assert_array_equal(np.asarray(got), op(a, b))


def test_unary_operators():
    a = np.array([-2, 3])
    x = fz.asarray(a)
    for op in (operator.neg, operator.pos, abs, operator.invert):
        np.testing.assert_array_equal(np.asarray(op(x)), op(a))
    assert divmod(x, 2)[0].tolist() == [-1, 1] and divmod(x, 2)[1].tolist() == [0, 1]
    assert (x << 1).tolist() == [-4, 6] and (x >> 1).tolist() == [-1, 1]


def test_in_place_keeps_the_cell_and_the_dtype():
    x = y = fz.asarray([1, 2], dtype="int32")
    x += 1
    x *= fz.asarray([2, 3], dtype="int64")
    assert x is y and y.tolist() == [4, 9] and y.dtype is fz.int32
    with pytest.raises(TypeError, match="in-place result is float64, which does not go into int32"):
        x += 0.5
    with pytest.raises(ValueError, match=r"in-place result i32\[2,2\] does not fit into i32\[2\]"):
        x += fz.ones((2, 2), dtype="int32")
    assert y.tolist() == [4, 9]
    row = x[0]
    row += 1
    assert x.tolist() == [4, 9] and row.item() == 5


def test_foreign_operands_are_left_alone():
    x = fz.ones(2)
    for bad in ("a", None, object(), {1: 2}):
        with pytest.raises(TypeError, match="unsupported operand"):
            x + bad
    assert (x == "a") is False and (x != None) is True  # noqa: E711

    class Other:
        def __radd__(self, other):
            return "other"

    assert x + Other() == "other"


def test_truth_and_numbers():
    assert bool(fz.asarray(0.5)) and not bool(fz.asarray([0]))
    assert int(fz.asarray(3.7)) == 3 and float(fz.asarray(2)) == 2.0
    assert [10, 20, 30][fz.asarray(1)] == 20
    assert fz.asarray([[7]]).item() == 7
    with pytest.raises(ValueError) as error:
        bool(fz.ones(3))
    assert str(error.value) == (
        "[bool] the truth value of f32[3] (3 elements) is ambiguous: use any() or all()."
    )
    with pytest.raises(TypeError, match="only 0-d integer tensors are indices"):
        operator.index(fz.asarray(1.0))


def test_iteration_and_membership():
    x = fz.asarray([[1, 2], [3, 4]])
    assert len(x) == 2 and [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert 3 in x and 9 not in x
    for call in (lambda: len(fz.asarray(1)), lambda: iter(fz.asarray(1))):
        with pytest.raises(TypeError, match="0-d tensor"):
            call()


A = np.arange(60).reshape(3, 4, 5)
INDICES = [
    0, -1, slice(1, 3), slice(None, None, -1), slice(None, None, 2), None, ..., (0, 1), (0, 1, 2),
    (..., 0), (slice(None), 1), (None, 0, None), (slice(2, 0, -1), ..., slice(0, 99, 3)),
    [0, 2], ([0, 2], [1, 3]), (slice(None), [3, 0, 0]), (0, [1, 2]), ([0, 1], slice(None), [1, 2]),
    np.array([[0, 1], [2, 0]]), A > 30, (A[:, :, 0] > 20), (A[:, 0, 0] > 10, 1), (), slice(5, 9),
    True, False, np.True_, np.array(False), (True, 0), (0, True), (True, [0, 2]), (False, [1]),
    ([0, 2], True), (True, slice(None), [1, 3]), (slice(None), True, [0, 1]), (True, None),
    (..., True), (True, True), (True, False), (None, [0, 1], True), (A > 30, True),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing_agrees_with_numpy(index):
    got = fz.asarray(A)[index]
    np.testing.assert_array_equal(np.asarray(got), A[index])
    assert got.shape == A[index].shape
    changed, t = A.copy(), fz.asarray(A)
    changed[index] = -7
    t[index] = -7
    np.testing.assert_array_equal(np.asarray(t), changed)


def test_indexing_of_and_by_0d():
    x = fz.asarray(5)
    assert x[True].tolist() == [5] and x[False].tolist() == [] and x[x > 4].tolist() == [5]
    x[x > 9] = 1
    assert x.item() == 5
    x[x > 4] = 1
    assert x.item() == 1
    mask = fz.asarray([3]).sum() > 2
    traced = fz.trace(lambda a, on: a[on] * 2)
    for on in (True, False, mask, ~mask, True):
        assert traced(fz.asarray([1, 2]), on).tolist() == ([[2, 4]] if on else [])
    with pytest.raises(IndexError) as error:
        fz.asarray([1, 2])[False, [0, 1]]
    assert str(error.value) == "[getitem] index arrays do not broadcast: [0] and [2]."


def test_assignment_broadcasts_and_casts():
    x = fz.zeros((2, 3))
    x[0] = [1, 2, 3]
    x[:, 1] = fz.asarray(9)
    assert x.tolist() == [[1, 9, 3], [0, 9, 0]]
    i = fz.zeros(2, dtype="int64")
    i[0] = 2.9
    assert i.tolist() == [2, 0]
    with pytest.raises(ValueError):
        x[0] = [1, 2]


def boxes(rng, shape):
    """A random index of integers, slices, new axes and an ellipsis."""

    def part(extent):
        kind = rng.integers(5)
        if kind == 0:
            return int(rng.integers(-extent, extent))
        if kind == 1:
            return slice(1, -1)
        ends = [None if rng.integers(2) else int(rng.integers(-extent - 2, extent + 3))] * 2
        ends[1] = None if rng.integers(2) else int(rng.integers(-extent - 2, extent + 3))
        return slice(*ends, int(rng.choice([1, 1, 2, -1, -3])))

    index = [part(extent) for extent in shape[: rng.integers(len(shape) + 1)]]
    for extra in (..., None):
        if rng.integers(4) == 0:
            index.insert(int(rng.integers(len(index) + 1)), extra)
    return tuple(index)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool"])
def test_assigned_boxes_agree_with_numpy(dtype):
    rng = np.random.default_rng(11)

    def assign(x, v, index):
        y = x[...]
        y[index] = v
        once = y[...]
        y[index] = v
        return once, y

    for _ in range(150):
        a = (rng.standard_normal(rng.choice([1, 2, 3, 9], rng.integers(1, 4))) * 9).astype(dtype)
        index = boxes(rng, a.shape)
        shape = [1 if rng.integers(4) == 0 else n for n in a[index].shape]
        v = (rng.standard_normal(shape) * 9).astype(dtype)
        want = a.copy()
        want[index] = v
        traced = fz.trace(lambda x, v, index=index: assign(x, v, index), pure=True)
        x = fz.asarray(a)
        for got in (*assign(x, fz.asarray(v), index), *[traced(x, fz.asarray(v))[1]] * 3):
            assert np.asarray(got).tobytes() == want.tobytes(), (a.shape, index, shape)
        assert np.asarray(x).tobytes() == a.tobytes()


def test_assignments_end_no_segment():
    @fz.trace
    def f(x):
        for i in range(6):
            x = x * 2
            x[1:-1] = x[2:] - x[:-2]
            x[i, 1] = i
            x[::3] = x[0]
        return x

    x = fz.asarray(np.arange(36.0).reshape(6, 6))
    want = [np.asarray(f(x)).tolist() for _ in range(3)]
    assert want[0] == want[1] == want[2]
    assert f.stats()["segments"] == 1


def test_rows_are_written_where_they_are():
    x = fz.zeros((1000, 100))
    other = x[...]
    x[2] = 1  # a copy: another tensor holds the content
    assert other[2, 0] == 0
    fz.memory.reset_peak()
    before = fz.memory.stats()["live_bytes"]
    for i in range(20):
        x[i] = i
        x[:, i] = 5
        x[3, i] += 1
        x[6, 10:60] = i
        x[7:9, 10 : 12 + i] = i
    assert fz.memory.stats()["peak_bytes"] - before < x.nbytes // 2
    held = x[...]
    view = x[4]
    x[4] = 9
    x[4] = x[3]
    assert held[4, 50] == view[50] == 4 and x[4, 50] == 3
    exported = np.asarray(x)
    x[4] = 7
    assert exported[4, 50] == 3
    itself = fz.asarray([2, 0, 1])
    itself[itself] = itself
    itself[1:] = itself[:-1]
    assert itself.tolist() == [0, 0, 1]


def test_wrong_indices():
    x = fz.zeros((2, 3))
    for index in (2, (0, 3), (0, 0, 0), [5], 1.5, "a", (..., ...), -3):
        with pytest.raises(IndexError):
            x[index]
    with pytest.raises(IndexError, match="integer or bool"):
        x[fz.zeros(1)]
    with pytest.raises(TypeError):
        del x[0]


def test_repr_and_format():
    for shape in ((2**62, 2**62, 0), (2**62, 0)):
        empty = fz.zeros(shape)
        assert repr(empty) == f"fz.Tensor([], shape={shape})" and str(empty) == "[]"
    assert repr(fz.asarray([1.0, 2.0])) == "fz.Tensor([1., 2.])"
    assert repr(fz.asarray(3)) == "fz.Tensor(3)"
    assert repr(fz.zeros((0, 2))) == "fz.Tensor([], shape=(0, 2))"
    assert "requires_grad=True" in repr(fz.ones(1, requires_grad=True))
    assert str(fz.asarray([[1, 2]])) == "[[1 2]]"
    assert "..." in repr(fz.arange(5000)) and len(repr(fz.arange(5000))) < 200
    assert f"{fz.asarray(0.123456):.3f}" == "0.123" and f"{fz.ones(1)}" == "[1.]"
    assert repr(fz.asarray([1.5], dtype=fz.bfloat16)) == "fz.Tensor([1.5], dtype=bfloat16)"


def test_notebooks_show_tables():
    assert fz.asarray([[1.5, 2], [3, 4]])._repr_html_() == (
        "<div><table><tr><td>1.5</td><td>2.</td></tr><tr><td>3.</td><td>4.</td></tr></table>"
        "<small>shape (2, 2), float32, cpu</small></div>"
    )
    assert (
        fz.arange(5000)._repr_html_().count("<td>") == 7
    )  # three at each end, and what is between
    assert fz.zeros((100, 100))._repr_html_().count("<tr>") == 7
    assert "<pre>1.0</pre>" in fz.asarray(1.0)._repr_html_()
    assert "shape (0, 2)" in fz.zeros((0, 2))._repr_html_()


def test_copies_are_cells_of_their_own():
    x = fz.asarray([1.0, 2.0], requires_grad=True)
    for y in (copy.copy(x), copy.deepcopy(x), copy.deepcopy({"x": x})["x"], x.detach()):
        with fz.no_grad():
            y += 1
        assert x.tolist() == [1, 2] and y.tolist() == [2, 3]
    assert copy.deepcopy(x).requires_grad and copy.deepcopy(x).is_leaf


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_pickling(dtype):
    x = fz.asarray([[0, 1], [1, 0]], dtype=dtype).T
    y = pickle.loads(pickle.dumps(x))
    assert y.dtype is x.dtype and y.tolist() == x.tolist()
    assert pickle.loads(pickle.dumps(x.dtype)) is x.dtype


def test_pickling_of_gradients():
    leaf = pickle.loads(pickle.dumps(fz.ones(2, requires_grad=True)))
    assert leaf.requires_grad and leaf.is_leaf
    with pytest.raises(RuntimeError, match="history"):
        pickle.dumps(leaf * 2)


def test_copies_keep_the_gradient():
    w = fz.asarray([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()
    for y in (copy.deepcopy(w), pickle.loads(pickle.dumps(w)), copy.deepcopy([w, w])[1]):
        assert y.grad.tolist() == [2, 4] and y.is_leaf
        (y * 3).sum().backward()
        assert y.grad.tolist() == [5, 7] and w.grad.tolist() == [2, 4]
    assert copy.copy(w).grad is None  # a new cell over the same value
    pair = copy.deepcopy([w, w])
    assert pair[0] is pair[1]
    w.grad = w
    assert copy.deepcopy(w).grad.tolist() == [1, 2]


def test_hash_identity_and_weak_references():
    x, y = fz.ones(1), fz.ones(1)
    assert len({x, y, x}) == 2
    reference = weakref.ref(x)
    assert reference() is x
    del x
    gc.collect()
    assert reference() is None
    with pytest.raises(TypeError, match="asarray"):
        fz.Tensor([1.0])


def test_dlpack():
    x = fz.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(np.from_dlpack(x), x)
    np.testing.assert_array_equal(fz.from_dlpack(np.arange(3.0)), [0, 1, 2])
    assert fz.from_dlpack(x.T).tolist() == x.T.tolist()
    assert x.__dlpack_device__() == (1, 0)


def test_dtypes_as_objects():
    assert repr(fz.float32) == "frazil.float32" and np.dtype(fz.float32) == np.float32
    assert (
        fz.float32 == "float32" and fz.float32 == np.dtype("float32") and fz.float32 != fz.float64
    )
    assert len({fz.float32, fz.float32, fz.float64}) == 2
    assert fz.isdtype(fz.int8, "integral") and not fz.isdtype(fz.bool, "numeric")
    assert fz.finfo("float32").eps == np.finfo("float32").eps
    assert fz.finfo(fz.float64).max == np.finfo("float64").max
    assert (fz.iinfo("int8").min, fz.iinfo("uint8").max) == (-128, 255)
    for a in DTYPES:
        for b in DTYPES:
            assert fz.result_type(a, b).name == np.result_type(a, b).name, (a, b)
    with pytest.raises(TypeError, match="'complex256' is no dtype of frazil"):
        fz.zeros(1, dtype="complex256")


def test_threads_compute_independently():
    results = []

    def work(k):
        x = fz.full((100,), k, dtype="float64")
        for _ in range(50):
            x = x * 1.5 - x / 2
        results.append((k, x.sum().item()))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(results) == [(k, 100.0 * k) for k in range(4)]


def test_in_place_never_shows_through_other_holders():
    x = fz.ones((64, 64))
    alias, view, export = copy.copy(x), x[0], np.asarray(x)
    kept = x * 1
    x += kept
    x *= x
    kept -= 1
    assert x[0, 0].item() == 4 and kept[0, 0].item() == 0
    assert alias[0, 0].item() == view[0].item() == export[0, 0] == 1
    w = fz.ones(4, requires_grad=True)
    h = w * 3
    y = h * h
    h *= 2
    y.sum().backward()
    assert w.grad.tolist() == [18] * 4 and h.tolist() == [6] * 4
