"""Convolutions of each channel by itself, and images that are resized or put together between
convolutions: a traced call computes them by other kernels than the eager one, with the same bits.
"""

import numpy as np
import pytest

import frazil as fz
from frazil import nn

F = nn.functional
RNG = np.random.default_rng(0)


def drawn(shape, dtype="float32"):
    return fz.asarray(RNG.normal(size=shape)).astype(dtype)


def same_bits(fn, *args):
    """The results of an eager call and of traced ones, which are compared."""
    want = fn(*args)
    traced = fz.trace(fn)
    for _ in range(3):
        got = traced(*args)
        assert got.shape == want.shape and got.dtype == want.dtype
        assert np.asarray(got).tobytes() == np.asarray(want).tobytes()
    return traced


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("channels", [1, 5, 16, 40])
@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        ((3, 3), {"padding": 1}),
        ((3, 3), {"padding": 1, "stride": 2}),
        ((5, 5), {"padding": 2}),
        ((2, 3), {"padding": (0, 2), "stride": (1, 2), "dilation": (2, 1)}),
        ((1, 4), {}),
        ((3, 3), {"padding": "same"}),
        ((2, 2), {"padding": "same"}),
    ],
)
def test_traced_is_eager(dtype, channels, kernel, options):
    x, w = drawn((2, channels, 9, 11), dtype), drawn((channels, 1, *kernel), dtype)
    b = drawn((channels, 1, 1), dtype)

    def conv(x, w, b):
        return F.relu(F.conv2d(x, w, groups=channels, **options) + b)

    same_bits(conv, x, w, b)


def test_numbers_around_are_multiplied():
    """0 times infinity is NaN, and -0 + 0 is 0: around the image, too."""
    x, w = drawn((1, 16, 4, 4)), np.asarray(drawn((16, 1, 3, 3)))
    w = w.copy()
    w[3, 0, 0, 0], w[5, 0, 1, 2] = np.inf, np.nan
    x = fz.where(fz.abs(x) < 0.5, -0.0, x)
    y = F.conv2d(x, fz.asarray(w), padding=1, groups=16)
    assert np.isnan(np.asarray(y)[0, 3, 0, 0]) and np.isnan(np.asarray(y)[0, 5]).any()
    same_bits(lambda x, w: F.conv2d(x, w, padding=1, groups=16), x, fz.asarray(w))


def test_one_call_of_a_traced_program():
    """The sum is one call, whose readers follow it."""
    x, w = drawn((1, 32, 20, 20)), drawn((32, 1, 3, 3))
    traced = same_bits(lambda x, w: F.relu(F.conv2d(x, w, padding=1, groups=32)), x, w)
    with fz.profile() as p:
        traced(x, w)
    assert any(k.name.startswith("conv of each channel f32") for k in p.by_kernel)
    assert not any("pad" in k.name for k in p.by_kernel)


def test_what_is_read_of_the_sum_before_its_end_stays():
    x, w = drawn((1, 6, 6, 4)), drawn((2, 4))

    def two(x, w):
        first = x[:, :, :5] * w.reshape((1, 2, 4, 1))[:, 0:1, :, :].reshape((4,))
        second = first + x[:, :, 1:] * w.reshape((1, 2, 4, 1))[:, 1:2, :, :].reshape((4,))
        return fz.stack([first, second])

    same_bits(two, x, w)


def test_gradients_of_a_traced_step():
    x, w = drawn((2, 8, 10, 10)), drawn((8, 1, 3, 3))
    loss = fz.grad(lambda w, x: (F.conv2d(x, w, padding=1, groups=8) ** 2).sum())
    same_bits(loss, w, x)


@pytest.mark.parametrize("channels", [3, 16, 24])
def test_between_convolutions(channels):
    """Transposed convolutions, rows that are taken, and images put together."""
    a, b = drawn((channels, 3, 3, 3)), drawn((channels, channels, 2, 2))
    c, bias = drawn((4, 2 * channels, 3, 3)), drawn((channels, 1, 1))
    rows = fz.asarray([0, 0, 1, 2, 2, 3, 4, 4, 5, 5])

    def net(x):
        skip = F.relu(F.conv2d(x, a, padding=1))
        y = F.conv_transpose2d(fz.take(skip, rows, axis=2)[:, :, ::2, ::2], b, stride=2) + bias
        y = fz.take(fz.take(y, rows, axis=3), rows[:8] - 6, axis=2)
        y = fz.concat([skip, y[:, :, :, :8], skip][:2], axis=1)
        return F.conv2d(y, c, padding=1)

    same_bits(net, drawn((2, 3, 8, 8)))


@pytest.mark.parametrize("padding", [0, 1, (1, 0)])
@pytest.mark.parametrize(("kernel", "stride"), [((4, 4), 2), ((6, 2), (3, 2)), ((4, 3), (4, 1))])
def test_transposed_by_phases(kernel, stride, padding):
    """Kernels that are some steps long: against zeros between the elements, and elsewhere."""
    x, w = drawn((2, 5, 4, 6), "float64"), drawn((5, 3, *kernel), "float64")
    y = same_bits(lambda x, w: F.conv_transpose2d(x, w, stride=stride, padding=padding), x, w)(x, w)
    steps = (stride, stride) if isinstance(stride, int) else stride
    pads = (padding, padding) if isinstance(padding, int) else padding
    a, b = np.asarray(x), np.asarray(w)
    whole = np.zeros((2, 3, *((a.shape[2 + i] - 1) * steps[i] + kernel[i] for i in range(2))))
    for i in range(a.shape[2]):
        for j in range(a.shape[3]):
            part = np.einsum("nc,cokl->nokl", a[:, :, i, j], b)
            at = i * steps[0], j * steps[1]
            whole[:, :, at[0] : at[0] + kernel[0], at[1] : at[1] + kernel[1]] += part
    cut = tuple(slice(p, n - p) for p, n in zip(pads, whole.shape[2:], strict=True))
    np.testing.assert_allclose(np.asarray(y), whole[(..., *cut)], atol=1e-12)


@pytest.mark.parametrize(
    "dtype", ["uint8", "int16", "float16", "float32", "int64", "float64", "bool"]
)
@pytest.mark.parametrize("channels", [1, 7, 16, 33, 70])
def test_rows_that_an_index_chooses(dtype, channels):
    """Inside a kernel: the index is the same for all elements of a vector."""
    x = np.asarray(RNG.integers(0, 2 if dtype == "bool" else 100, (3, 9, channels))).astype(dtype)
    rows = np.asarray([4, -1, 0, 8, 8, -9, 3])
    traced = fz.trace(lambda x, rows: fz.where(x[:, :7] == fz.take(x, rows, axis=1), 1, 2))
    want = np.where(x[:, :7] == np.take(x, rows, axis=1), 1, 2)
    for _ in range(3):
        got = traced(fz.asarray(x), fz.asarray(rows))
        np.testing.assert_array_equal(np.asarray(got), want)


@pytest.mark.parametrize("rows", [15, 16, 49, 63, 64, 65, 196])
def test_means_over_places(rows):
    """Sums over few places of channels that lie together, in 64 lanes."""
    x = drawn((2, rows, 40))
    same_bits(lambda x: fz.mean(fz.permute_dims(x, (0, 2, 1)), axis=2), x)
    same_bits(lambda x: fz.prod(fz.permute_dims(x, (0, 2, 1)) / 2, axis=-1), x)
