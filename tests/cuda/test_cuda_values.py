"""Tensors on a GPU: how they are made and read, and the bits of the CPU in every operation."""

import math
import pickle

import gpu
import numpy as np
import pytest

import frazil as fz

DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64"
).split()


def sample(dtype, *shape):
    """Numbers that the dtype holds, on the CPU."""
    values = np.random.default_rng(5).integers(0, 100, shape)
    if dtype == "bool":
        return fz.asarray(values > 50)
    t = fz.astype(fz.asarray(values), getattr(fz, dtype))
    return t / 7 if "float" in dtype else t


# --- making and reading ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_there_and_back(dtype):
    for shape in ((), (0,), (1,), (3, 0, 2), (7, 5), (2, 3, 4)):
        want = sample(dtype, *shape)
        there = want.to_device("cuda")
        assert there.device == "cuda" and there.shape == shape and there.dtype == want.dtype
        assert gpu.bits(there.to_device("cpu")) == gpu.bits(want)
        assert gpu.bits(there) == gpu.bits(want)
        assert there.tolist() == want.tolist()
        assert there.to_device("cuda") is not want


def test_creation():
    made = {
        "asarray": (lambda d: fz.asarray([[1, 2], [3, 4]], device=d)),
        "asarray of NumPy": (lambda d: fz.asarray(np.arange(6.0)[::-2], device=d)),
        "asarray of a tensor": (lambda d: fz.asarray(fz.arange(4), device=d)),
        "asarray with dtype": (lambda d: fz.asarray([1, 2], dtype="bfloat16", device=d)),
        "zeros": (lambda d: fz.zeros((2, 3), device=d)),
        "ones": (lambda d: fz.ones((2, 3), dtype="int8", device=d)),
        "full": (lambda d: fz.full((2, 2), 7.5, device=d)),
        "arange": (lambda d: fz.arange(2, 20, 3, device=d)),
        "linspace": (lambda d: fz.linspace(0, 1, 5, device=d)),
        "eye": (lambda d: fz.eye(3, device=d)),
        "zeros_like": (lambda d: fz.zeros_like(fz.arange(3, device=d))),
        "full_like": (lambda d: fz.full_like(fz.arange(3, device=d), 2)),
        "tril": (lambda d: fz.tril(fz.ones((3, 3), device=d))),
        "empty axis": (lambda d: fz.zeros((0, 4), device=d)),
    }
    for name, f in made.items():
        got, want = f("cuda"), f("cpu")
        assert got.device == "cuda" and want.device == "cpu", name
        assert gpu.bits(got) == gpu.bits(want), name
    assert np.asarray(fz.empty((2, 3), device="cuda")).shape == (2, 3)


def test_random_numbers_are_those_of_the_cpu():
    def draw(device):
        fz.random.seed(3)
        generator = fz.random.Generator(11)
        return [
            fz.random.normal((5,), device=device),
            fz.random.uniform((3, 2), device=device),
            fz.random.integers(0, 10, (4,), device=device),
            generator.normal((6,), device=device),
        ]

    for got, want in zip(draw("cuda"), draw("cpu"), strict=True):
        assert got.device == "cuda" and gpu.bits(got) == gpu.bits(want)


def test_reading():
    x = fz.asarray([[1.5, -2.0, 3.0]], device="cuda")
    assert x.tolist() == [[1.5, -2.0, 3.0]]
    assert x[0, 0].item() == 1.5 and float(x[0, 1]) == -2.0 and int(x[0, 2]) == 3
    assert bool(x[0, 0]) and not bool(x[0, 0] > 2)
    assert repr(x) == repr(x.to_device("cpu"))[:-1] + ", device='cuda')"
    assert str(x) == str(x.to_device("cpu"))
    assert f"{x[0, 1]:.2f}" == "-2.00"
    assert [row.tolist() for row in x] == [[1.5, -2.0, 3.0]]
    assert len(x) == 1 and 3.0 in x and 4.0 not in x
    assert math.sqrt(fz.asarray(4.0, device="cuda")) == 2.0
    assert range(5)[fz.asarray(2, device="cuda")] == 2
    for f in (bool, float, int, lambda t: t.item()):
        with pytest.raises((ValueError, TypeError)):
            f(x)
    assert bool(fz.all(x == x)) and not fz.any(x > 5)
    assert x.nbytes == 12 and x.size == 3 and x.ndim == 2 and x.T.shape == (3, 1)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "int64"])
def test_pickling(dtype):
    x = sample(dtype, 5, 3).to_device("cuda")
    for t in (x, x.T, x[::-2], x[0, 0], x[:0]):
        back = pickle.loads(pickle.dumps(t))
        assert back.device == "cuda" and gpu.bits(back) == gpu.bits(t)
    leaf = fz.asarray([1.0, 2.0], device="cuda", requires_grad=True)
    (leaf * leaf).sum().backward()
    back = pickle.loads(pickle.dumps(leaf))
    assert back.requires_grad and back.grad.device == "cuda" and back.grad.tolist() == [2.0, 4.0]


def test_files(tmp_path):
    x = {"a": gpu.randn(4, 3).to_device("cuda"), "b": fz.asarray([1, 2], device="cuda")}
    fz.save(tmp_path / "x.npz", x)
    for name, back in fz.load(tmp_path / "x.npz").items():
        assert gpu.bits(back) == gpu.bits(x[name])


# --- indexing -------------------------------------------------------------------------------------

INDICES = [
    0,
    -1,
    (2, 3),
    slice(1, None, 2),
    slice(None, None, -1),
    (slice(None), slice(5, 0, -2)),
    (Ellipsis, 1),
    (None, slice(2)),
    slice(3, 3),
    [0, 2, -1],
    ([0, 1], [3, 2]),
    (slice(None), [1, 1]),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing(both, index):
    x = gpu.randn(4, 6)
    both(lambda t: t[index] * 1, x)
    assert gpu.bits(x.to_device("cuda")[index]) == gpu.bits(x[index])


def test_masks(both):
    x, m = gpu.randn(5, 4), gpu.randn(5, 4, seed=1) > 0
    both(lambda x, m: x[m], x, m)
    both(lambda x, m: x[m[:, 0]], x, m)
    both(lambda x, m: fz.where(m, x, -x), x, m)
    both(lambda x, m: list(fz.nonzero(m)), x, m)
    both(lambda x: x[x > 100], x)


def test_wrong_indices():
    x = fz.arange(4, device="cuda")
    for f in (
        lambda: x[4],
        lambda: x[[0, 4]],
        lambda: x[fz.asarray([0, -5], device="cuda")],
        lambda: fz.take(x, fz.asarray([9], device="cuda")),
    ):
        with pytest.raises(IndexError, match="out of range"):
            f()
    assert x.tolist() == [0, 1, 2, 3]


def test_taking_and_sorting(both):
    x = gpu.randn(6, 5)
    i = fz.asarray([3, 0, 3, -1])
    both(lambda x, i: fz.take(x, i, axis=0), x, i)
    both(lambda x, i: fz.take(x, i, axis=1), x, i)
    for axis in (0, 1, -1):
        both(lambda x, axis=axis: fz.sort(x, axis=axis), x)
        both(lambda x, axis=axis: fz.argsort(x, axis=axis), x)
        both(lambda x, axis=axis: fz.argmax(x, axis=axis), x)
        both(lambda x, axis=axis: fz.cumulative_sum(x, axis=axis), x)
    both(lambda x: list(fz.unique_all(fz.round(x))), x)
    both(lambda x: fz.sort(fz.where(x > 1, math.nan, x), descending=True), x)


# --- operations -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "layout",
    [
        lambda x: x,
        lambda x: x.T,
        lambda x: x[::2, 1::3],
        lambda x: x[::-1, ::-2],
        lambda x: x[3:4],
        lambda x: fz.broadcast_to(x[:1], (9, 12)),
        lambda x: x[2, 3],
        lambda x: x[:0],
        lambda x: fz.permute_dims(fz.reshape(x, (3, 3, 12)), (2, 0, 1)),
    ],
    ids="plain transposed strided reversed row repeated 0-d empty permuted".split(),
)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_layouts(both, layout, dtype):
    x = gpu.randn(9, 12, dtype=dtype)
    both(lambda x: fz.exp(layout(x)) + 1, x)
    both(lambda x: layout(x) * layout(x) - layout(x), x)
    both(lambda x: fz.sum(layout(x)), x)


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_arithmetic(both, dtype):
    x, y = sample(dtype, 40), sample(dtype, 40)[::-1] + 1
    both(lambda x, y: [x + y, x - y, x * y, x % y, x // y, -x], x, y)
    both(
        lambda x, y: [x < y, x == y, fz.maximum(x, y), fz.sum(x), fz.max(y), x.astype("float32")],
        x,
        y,
    )
    if "int" in dtype:
        both(lambda x, y: [x & y, x | y, x ^ y, ~x, x << 2, y >> 1], x, y)
    else:
        both(lambda x, y: [x / y, fz.sqrt(x), fz.tanh(y), fz.mean(x), x**2], x, y)


@pytest.mark.parametrize("n", [1, 7, 64, 65, 1000, 5000])
def test_reductions(both, n):
    x = gpu.randn(3, n)
    for axis in (None, 0, 1):
        both(lambda x, a=axis: [fz.sum(x, axis=a), fz.max(x, axis=a), fz.mean(x, axis=a)], x)
    both(lambda x: fz.nn.softmax(x, -1), x)
    both(lambda x: fz.nn.layer_norm(x), x)
    both(lambda x: [fz.var(x, axis=1), fz.any(x > 3), fz.all(x > -9, axis=0)], x)


def test_large_arrays(both):
    """More than one piece of the staging memory, more than one pass of the grid."""
    x = gpu.randn(3_000_001)
    both(lambda x: x + x, x)
    both(lambda x: fz.sum(x), x)
    assert gpu.bits(x.to_device("cuda")) == gpu.bits(x)


@pytest.mark.parametrize("columns", (12288, 16384, 20000))
def test_rows_and_their_partial_results_in_shared_memory(both, columns):
    """Together they pass what a block has without asking: of 12288 columns neither does alone."""
    both(lambda x: fz.nn.softmax(x, axis=-1), gpu.randn(2, columns))
