"""What the named functions and their gradients become: counted kernels, and the bits of eager."""

import numpy as np
import pytest

import frazil as fz
from frazil import nn

ROWS, COLUMNS = 64, 300


def array(seed, *shape):
    return fz.asarray(np.random.default_rng(seed).normal(size=shape).astype("float32"))


def rms_norm(x, weight):
    return x / fz.sqrt(fz.mean(x * x, axis=-1, keepdims=True) + 1e-5) * weight


def kernels(fn, *args):
    """Steps of a replayed call, whose results have the bits of eager ones."""
    traced = fz.trace(fn, proof=False)
    for _ in range(3):
        before = fz.kernels_run()
        got = traced(*args)
        leaves = got if isinstance(got, tuple) else (got,)
        bits = [np.asarray(leaf).tobytes() for leaf in leaves]
        count = fz.kernels_run() - before
    want = fn(*args)
    want = want if isinstance(want, tuple) else (want,)
    assert bits == [np.asarray(leaf).tobytes() for leaf in want]
    return count


X, G, B, W = array(1, ROWS, COLUMNS), array(2, COLUMNS), array(3, COLUMNS), array(4, ROWS, COLUMNS)
LABELS = fz.asarray(np.arange(ROWS) % COLUMNS)

FORWARD = {
    "softmax": (lambda: kernels(lambda x: nn.softmax(x, -1), X), 1),
    "log_softmax": (lambda: kernels(lambda x: nn.log_softmax(x, -1), X), 1),
    "layer_norm": (lambda: kernels(lambda x, g, b: nn.layer_norm(x, g, b), X, G, B), 1),
    "rms_norm": (lambda: kernels(rms_norm, X, G), 1),
    # The mean over the batch is a second reduction, of one number a row.
    "cross_entropy": (lambda: kernels(lambda x, t: nn.cross_entropy(x, t), X, LABELS), 2),
}
GRADIENTS = {
    "softmax": (lambda x, w: fz.sum(nn.softmax(x, -1) * w), (X, W), 1),
    "log_softmax": (lambda x, w: fz.sum(nn.log_softmax(x, -1) * w), (X, W), 1),
    "layer_norm": (lambda x, g, b, w: fz.sum(nn.layer_norm(x, g, b) * w), (X, G, B, W), 1),
    "rms_norm": (lambda x, g, w: fz.sum(rms_norm(x, g) * w), (X, G, W), 1),
    "cross_entropy": (lambda x, t: nn.cross_entropy(x, t), (X, LABELS), 1),
    "gelu": (lambda x: fz.sum(nn.gelu(x)), (X,), 1),
}


@pytest.mark.parametrize("name", FORWARD)
def test_a_function_is_one_kernel(name):
    count, want = FORWARD[name]
    assert count() == want


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_gradient_is_one_kernel(name):
    fn, args, want = GRADIENTS[name]
    assert kernels(lambda *a: fz.grad(fn)(*a), *args) == want


def test_gradients_of_weights_are_sums_of_columns():
    def both(x, g, w):
        return fz.grad(lambda x, g: fz.sum(rms_norm(x, g) * w), argnums=(0, 1))(x, g)

    # The kernel of rows, and that of columns.
    assert kernels(both, X, G, W) == 2


def test_statistics_are_one_pass():
    def statistics(x):
        return fz.mean(x, axis=1), fz.var(x, axis=1), fz.max(x, axis=1)

    assert kernels(statistics, X) == 1


def test_dropout_masks_are_not_stored():
    def masked(x, keep):
        scale = keep.astype("float32") * 2.0
        return fz.sum(x * scale, axis=0), fz.sum(scale, axis=1)

    keep = array(5, ROWS, COLUMNS) > 0
    assert kernels(masked, X, keep) == 2


@pytest.mark.parametrize("dtype, tiny", [("float32", 2.0**-98), ("float64", 2.0**-900)])
@pytest.mark.parametrize("divisor", [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3.0])
def test_rows_divided_by_anything(dtype, tiny, divisor):
    for value in (np.inf, -np.inf, np.nan, 0.0, -0.0, tiny, -tiny, 1.0):
        x, d = np.full((8, 256), value, dtype), np.full((8, 1), divisor, dtype)
        with np.errstate(all="ignore"):
            want = x / d
        np.testing.assert_array_equal(np.asarray(fz.asarray(x) / fz.asarray(d)), want)


def test_casts_that_are_merged_away_are_not_kept():
    def fn(x):
        n = fz.max(x, axis=-1, keepdims=True)
        less = (fz.sqrt(x * x + 2) * x - x * 3 < n).astype(fz.float32)
        return (less < fz.sum(less, axis=-1, keepdims=True)).astype(fz.int32), less + n

    kernels(fn, array(9, 16, 100))
