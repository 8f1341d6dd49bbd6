"""Module functions against NumPy, and their errors word for word."""

import numpy as np
import pytest

import frazil as fz

FLOATS = np.array([[0.5, 1.5, -2.25], [3.0, -0.75, 0.125]], "float32")


@pytest.mark.parametrize(
    "name",
    "negative abs sign exp expm1 sin cos tan tanh floor ceil trunc round isnan isinf isfinite "
    "square reciprocal logical_not".split(),
)
def test_unary(name):
    got = getattr(fz, name)(fz.asarray(FLOATS))
    wanted = getattr(np, name)(FLOATS)
    assert got.dtype.name == wanted.dtype.name
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint8"])
@pytest.mark.parametrize("name", ["exp", "sqrt", "log1p", "floor", "isnan"])
def test_unary_of_integers(name, dtype):
    a = np.array([0, 1, 1], dtype)
    got, wanted = getattr(fz, name)(fz.asarray(a)), getattr(np, name)(a)
    if name != "floor" or dtype != "bool":  # NumPy's floor of bool is float16
        assert got.dtype.name == wanted.dtype.name
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-3)


@pytest.mark.parametrize("name", "add subtract multiply divide maximum minimum pow".split())
@pytest.mark.parametrize("left", ["int8", "int32", "uint16", "float32", "float64"])
@pytest.mark.parametrize("right", ["int16", "int64", "uint8", "float16", "float32"])
def test_promotion(name, left, right):
    a, b = np.array([1, 2, 3], left), np.array([[2], [1]], right)
    wanted = getattr(np, name)(a, b)
    got = getattr(fz, name)(fz.asarray(a), fz.asarray(b))
    assert got.dtype.name == wanted.dtype.name
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-3)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), ()])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", "sum prod max min any all mean var std".split())
def test_reductions(name, axis, keepdims):
    wanted = getattr(np, name)(FLOATS, axis=axis, keepdims=keepdims)
    x = fz.asarray(FLOATS)
    for got in (
        getattr(fz, name)(x, axis=axis, keepdims=keepdims),
        getattr(x, name)(axis, keepdims=keepdims),
    ):
        assert got.shape == wanted.shape and got.dtype.name == wanted.dtype.name
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-5)


def test_reductions_of_integers():
    for dtype in ("bool", "int8", "uint16", "int64"):
        a = np.ones((3, 2), dtype)
        assert fz.sum(fz.asarray(a)).dtype.name == np.sum(a).dtype.name
        assert fz.mean(fz.asarray(a)).dtype.name == np.mean(a).dtype.name
    assert fz.sum(fz.ones(3, dtype="int8"), dtype="int8").dtype is fz.int8
    assert fz.argmax(fz.asarray([1, 3, 3])).item() == 1
    assert fz.argmin(fz.asarray([[2, 1], [0, 5]]), axis=1).tolist() == [1, 0]


def test_movement():
    a = np.arange(24).reshape(2, 3, 4)
    x = fz.asarray(a)
    cases = [
        (fz.reshape(x, (6, -1)), a.reshape(6, -1)),
        (x.reshape(4, 6), a.reshape(4, 6)),
        (fz.permute_dims(x, (2, 0, 1)), a.transpose(2, 0, 1)),
        (x.permute(1, 0, 2), a.transpose(1, 0, 2)),
        (x.transpose(), a.T),
        (fz.broadcast_to(x[0, 0], (2, 4)), np.broadcast_to(a[0, 0], (2, 4))),
        (fz.concat([x, x], axis=1), np.concatenate([a, a], 1)),
        (fz.concat([x, x], axis=None), np.concatenate([a, a], None)),
        (fz.stack([x, x], axis=-1), np.stack([a, a], -1)),
        (fz.flip(x, axis=1), np.flip(a, 1)),
        (fz.roll(x, 1), np.roll(a, 1)),
        (fz.roll(x, (1, -2), axis=(0, 2)), np.roll(a, (1, -2), (0, 2))),
        (fz.tile(x, (2, 1, 2)), np.tile(a, (2, 1, 2))),
        (fz.repeat(x, 2, axis=1), np.repeat(a, 2, 1)),
        (fz.take(x, fz.asarray([[2, 0], [1, 1]]), axis=1), np.take(a, [[2, 0], [1, 1]], 1)),
        (fz.take(x, [5, -1]), np.take(a, [5, -1])),
        (fz.take_along_axis(x, x.argmax(1, keepdims=True), axis=1), a.max(1, keepdims=True)),
        (fz.pad(x, ((0, 0), (1, 2), (0, 1)), constant_values=9),
         np.pad(a, ((0, 0), (1, 2), (0, 1)), constant_values=9)),
        (fz.pad(x, 1), np.pad(a, 1)),
        (fz.tril(x), np.tril(a)),
        (fz.triu(x, k=1), np.triu(a, 1)),
        (fz.squeeze(x[:1], axis=0), a[0]),
        (fz.expand_dims(x, axis=-1), a[..., None]),
        (fz.moveaxis(x, 0, -1), np.moveaxis(a, 0, -1)),
        (fz.swapaxes(x, 0, 2), np.swapaxes(a, 0, 2)),
        (fz.clip(x, 3, 9), np.clip(a, 3, 9)),
        (fz.where(x > 5, x, 0), np.where(a > 5, a, 0)),
        (fz.diff(x), np.diff(a)),
        (fz.outer(x[0, 0], x[0, 1]), np.outer(a[0, 0], a[0, 1])),
        (fz.split(x, 2, axis=2)[1], np.split(a, 2, 2)[1]),
        (fz.count_nonzero(x), np.count_nonzero(a)),
        (fz.meshgrid(x[0, 0], x[0, :, 0])[1], np.meshgrid(a[0, 0], a[0, :, 0])[1]),
    ]  # fmt: skip
    for i, (got, wanted) in enumerate(cases):
        assert got.shape == np.shape(wanted), i
        np.testing.assert_array_equal(np.asarray(got), wanted, err_msg=str(i))


@pytest.mark.parametrize(
    ("a", "b"),
    [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
     ((5, 1, 2, 3), (6, 3, 4)), ((0, 3), (3, 4)), ((2, 0), (0, 4))],
)  # fmt: skip
def test_matmul(a, b):
    fz.random.seed(0)
    x, y = fz.random.normal(a), fz.random.normal(b)
    wanted = np.asarray(x) @ np.asarray(y)
    got = x @ y
    assert got.shape == wanted.shape
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-5, atol=1e-5)
    if len(a) == len(b) == 2:
        np.testing.assert_allclose(fz.tensordot(x, y, axes=1), wanted, rtol=1e-5, atol=1e-5)


def test_creation():
    cases = [
        (fz.arange(5), np.arange(5)),
        (fz.arange(2, 9, 3), np.arange(2, 9, 3)),
        (fz.arange(0.0, 1.0, 0.25), np.arange(0.0, 1.0, 0.25)),
        (fz.arange(5, 0, -2), np.arange(5, 0, -2)),
        (fz.linspace(0, 1, 5), np.linspace(0, 1, 5)),
        (fz.linspace(0, 1, 4, endpoint=False), np.linspace(0, 1, 4, endpoint=False)),
        (fz.eye(3, 4, k=1), np.eye(3, 4, 1)),
        (fz.full((2, 2), 7), np.full((2, 2), 7)),
        (fz.full_like(fz.ones(2), 3), [3, 3]),
        (fz.ones_like(fz.arange(3)), [1, 1, 1]),
        (fz.zeros(3, dtype=bool), [False] * 3),
    ]
    for got, wanted in cases:
        np.testing.assert_array_equal(np.asarray(got), wanted)
    assert fz.zeros(2).dtype is fz.float32 and fz.full(2, 1).dtype is fz.int64
    assert fz.ones(2, requires_grad=True).requires_grad


def test_random_streams():
    fz.random.seed(3)
    first = fz.random.normal((4,)).tolist()
    fz.random.seed(3)
    assert fz.random.normal((4,)).tolist() == first
    u = np.asarray(fz.random.uniform((20000,)))
    assert u.min() >= 0 and u.max() < 1 and abs(u.mean() - 0.5) < 0.01
    n = np.asarray(fz.random.normal((20000,), dtype="float64"))
    assert abs(n.mean()) < 0.03 and abs(n.std() - 1) < 0.03
    i = np.asarray(fz.random.integers(-2, 3, (1000,)))
    assert set(i.tolist()) == {-2, -1, 0, 1, 2}
    other = fz.random.Generator(5)
    assert other.uniform().item() != fz.random.Generator(6).uniform().item()


ERRORS = [
    (lambda: fz.ones(3) + fz.ones(4), ValueError,
     "[add] shapes do not broadcast: [3] and [4] (3 vs 4)."),
    (lambda: fz.ones((2, 3)) @ fz.ones((4, 5)), ValueError,
     "[matmul] inner dimensions differ: a is f32[2,3], b is f32[4,5] (3 vs 4)."),
    (lambda: fz.reshape(fz.ones(6), (4, 2)), ValueError,
     "[reshape] cannot reshape f32[6] (6 elements) to [4,2] (8 elements)."),
    (lambda: fz.sum(fz.ones(3), axis=1), IndexError, "[sum] axis 1 is out of range for rank 1."),
    (lambda: fz.ones(3) & fz.ones(3), TypeError,
     "[bitwise_and] needs bool or an integer dtype, got f32[3]."),
    (lambda: fz.max(fz.zeros((0,))), ValueError, "[max] an empty axis has no max: shape [0]."),
    (lambda: fz.asarray([1], dtype="int8") + 1000, OverflowError,
     "[add] Python integer 1000 is out of bounds for int8."),
    (lambda: fz.exp({1.0}), TypeError,
     "[exp] takes tensors, arrays and numbers, got set; use asarray."),
    (lambda: fz.ones(2) * "ab", TypeError,
     "[multiply] takes tensors, arrays and numbers, got str; use asarray."),
    (lambda: fz.zeros(2, device="tpu"), ValueError, None),
    (lambda: fz.zeros((2**40, 2**40)), MemoryError, None),
    (lambda: fz.zeros((2**44,)), MemoryError, None),
    (lambda: fz.zeros((-1,)), ValueError, "[zeros] negative extent -1 in shape [-1]."),
    (lambda: fz.sum(fz.ones(2), foo=1), TypeError,
     "sum() got an unexpected keyword argument 'foo'"),
    (lambda: fz.ones(2).mean("a"), TypeError,
     "[mean] axis must be an integer or a tuple of integers, got str."),
    (lambda: fz.nn.softmax({}), TypeError,
     "[softmax] takes tensors, arrays and numbers, got dict; use asarray."),
    (lambda: fz.ones(2).item(), ValueError,
     "[item] only a tensor of one element becomes a Python number, got f32[2] (2 elements)."),
    (lambda: fz.load("/nonexistent/file.fzt"), FileNotFoundError,
     "[load] cannot open '/nonexistent/file.fzt': No such file or directory."),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(ERRORS)))
def test_errors(i):
    call, kind, message = ERRORS[i]
    with pytest.raises(kind) as error:
        call()
    if message:
        assert str(error.value) == message


def test_integer_edges_are_defined():
    x = fz.asarray([7, -7])
    assert (x // 0).tolist() == [0, 0] and (x % 0).tolist() == [0, 0]
    low = fz.asarray([-(2**63)])
    assert (low // -1).tolist() == [-(2**63)]
    assert (x << 64).tolist() == [0, 0] and (x >> 64).tolist() == [0, -1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int8"])
@pytest.mark.parametrize("rows", [3, 40])
def test_rows_of_batches_that_do_not_follow_each_other(dtype, rows):
    """Products of a batch with one matrix put their rows together: bits are those of each."""
    rng = np.random.default_rng(rows)
    x = fz.asarray(rng.integers(-9, 9, (rows, 5, 300))).astype(dtype).swapaxes(0, 1)
    w = fz.asarray(rng.integers(-9, 9, (1000, 300))).astype(dtype)
    want = fz.stack([row @ w.T for row in x])
    traced = fz.trace(lambda x, w: x @ w.T)
    for got in (x @ w.T, traced(x, w), traced(x, w), traced(x, w)):
        assert got.shape == (5, rows, 1000)
        assert fz.all(got == want).item()
