"""NumPy's functions called with tensors (__array_function__)."""

import io

import numpy as np
import pytest

import frazil as fz

A = np.array([[0.5, 0.25, 0.75], [0.125, 1.0, 0.375]], "float32")
I = np.array([[1, 6, 3], [4, 5, 12]])  # noqa: E741

# What is evaluated with a and i as arrays, then as tensors.
CALLS = """
np.concatenate([a, a])
np.concatenate((a, i), 1)
np.concatenate([a, a], axis=None)
np.stack([a, a], 1)
np.vstack([a, i])
np.hstack([a, i])
np.where(a > 0.3, a, 0.0)
np.where(a > 0.3)
np.sum(a)
np.sum(a, 0)
np.sum(a, axis=1, keepdims=True)
np.sum(i, dtype="float32")
np.mean(a, 0)
np.mean(a, axis=(0, 1), keepdims=True)
np.std(a, 1)
np.std(a, axis=0, ddof=1)
np.var(a, ddof=1)
np.max(a, 0)
np.amin(a)
np.argmax(a, 1)
np.prod(i, axis=0)
np.cumsum(a, 1)
np.any(a > 0.6, axis=0)
np.all(i > 0)
np.sort(a, axis=0)
np.sort(a, kind="stable")
np.argsort(a, axis=-1, kind="stable")
np.clip(a, 0.2, 0.6)
np.clip(a, a_min=0.2, a_max=0.6)
np.reshape(a, (3, 2))
np.reshape(a, -1)
np.ravel(a)
np.transpose(a)
np.transpose(a, (1, 0))
np.swapaxes(a, 0, 1)
np.moveaxis(a, 0, 1)
np.expand_dims(a, 1)
np.squeeze(a[:, :1], 1)
np.broadcast_to(a, (2, 2, 3))
np.flip(a, 0)
np.roll(a, 1, axis=1)
np.rot90(a)
np.repeat(a, 2, axis=1)
np.tile(a, (2, 1))
np.dot(a, a.T)
np.matmul(a, a.T)
np.tensordot(a, a, axes=2)
np.inner(a, a)
np.outer(a[0], a[1])
np.kron(a, i)
np.einsum("ij,kj->ik", a, a)
np.diff(a, axis=1)
np.gradient(a[0])
np.interp(a[0], i[0], i[1])
np.round(a, 1)
np.take(a, [0, 2], axis=1)
np.take_along_axis(a, np.argsort(a, axis=1), axis=1)
np.unique(i)
np.searchsorted(np.sort(i[0]), i[1])
np.nan_to_num(a)
np.isclose(a, a)
np.median(a, axis=1)
np.quantile(a, 0.25, axis=1)
np.percentile(a, 50)
np.histogram(a, 4)[0]
np.bincount(i[0])
np.tril(a)
np.triu(a, 1)
np.trace(a) if hasattr(fz, "linalg") else np.sum(a)
np.zeros_like(a)
np.ones_like(a, dtype="int64")
np.full_like(a, 2.5)
np.nanmean(a, axis=0)
np.average(a, axis=0)
np.cov(a)
np.real(a)
np.split(a, [1], axis=1)[1]
np.array_split(a, 2, axis=1)[0]
np.atleast_2d(a[0])
np.column_stack([a[0], a[1]])
np.meshgrid(a[0], a[1])[0]
np.linalg.norm(a) if hasattr(fz, "linalg") else np.sum(a)
np.fft.fft(a).real if hasattr(fz, "fft") else np.sum(a)
""".strip().splitlines()


@pytest.mark.parametrize("call", CALLS)
def test_a_function_gives_a_tensor(call):
    wanted = eval(call, {"np": np, "fz": fz, "a": A, "i": I})
    for traced in (False, True):

        def run(a, i):
            return eval(call, {"np": np, "fz": fz, "a": a, "i": i})

        got = (fz.trace(run) if traced else run)(fz.asarray(A), fz.asarray(I))
        several = got if isinstance(got, tuple) else (got,)
        for g, w in zip(several, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
            assert isinstance(g, fz.Tensor)
            assert g.shape == w.shape
            np.testing.assert_allclose(np.asarray(g), w, rtol=1e-5)


def test_what_only_looks_is_exact():
    t = fz.asarray(A)
    assert np.shape(t) == (2, 3) and np.ndim(t) == 2
    assert np.size(t) == 6 and np.size(t, 0) == 2 and np.size(t, (0, 1)) == 6
    assert np.array_equal(t, A) and not np.array_equal(t, A + 1)
    assert np.allclose(t, A)


def test_gradients_go_through():
    t = fz.asarray(A)
    got = fz.grad(lambda t: np.sum(np.concatenate([t, t * t])))(t)
    np.testing.assert_allclose(np.asarray(got), 1 + 2 * A, rtol=1e-6)


def test_files_and_text_are_numpys():
    t, file = fz.asarray(A), io.BytesIO()
    np.save(file, t)
    file.seek(0)
    assert np.array_equal(np.load(file), A)
    assert np.array2string(t) == np.array2string(A)
    text = io.StringIO()
    np.savetxt(text, t, fmt="%g")
    assert text.getvalue() == "0.5 0.25 0.75\n0.125 1 0.375\n"


def test_an_array_is_filled():
    out = np.zeros((2, 3), "float32")
    np.copyto(out, fz.asarray(A))
    assert np.array_equal(out, A)
    out = np.zeros(3, "float32")
    assert np.sum(fz.asarray(A), axis=0, out=out) is out
    assert np.array_equal(out, A.sum(0))
    to = fz.zeros((3,))
    assert np.sum(fz.asarray(A), 0, None, to) is to
    assert np.array_equal(np.asarray(to), A.sum(0))


@pytest.mark.parametrize(
    ("call", "message"),
    {
        "np.packbits(t)": "[np.packbits] frazil has no such function: use np.asarray(t) for an "
        "array.",
        "np.fill_diagonal(t, 1)": "[np.fill_diagonal] frazil has no such function: use "
        "np.asarray(t) for an array.",
        "np.sum(t, where=t > 0)": "[np.sum] takes no where= with tensors.",
        "np.max(t, initial=3)": "[np.max] takes no initial= with tensors.",
    }.items(),
)  # fmt: skip
def test_what_is_absent_says_so(call, message):
    t = fz.asarray(A)
    with pytest.raises(TypeError) as caught:
        eval(call, {"np": np, "t": t})
    assert str(caught.value) == message
    assert np.array_equal(np.asarray(t), A)


def test_another_library_is_asked_first():
    class Other:
        def __array_function__(self, func, types, args, kwargs):
            return "other"

    assert np.concatenate([fz.asarray(A), Other()]) == "other"
