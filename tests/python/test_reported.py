"""What users ran into, each as the smallest program that showed it."""

import gc

import numpy as np
import pytest

import frazil as fz


def test_mean_of_float16_does_not_overflow():
    assert fz.full((4, 1000), 100.0, dtype=fz.float16).mean(axis=1).tolist() == [100.0] * 4
    ones = fz.ones(70000, dtype=fz.float16)
    assert (ones.mean().item(), ones.var().item()) == (1.0, 0.0)
    rows = fz.nn.layer_norm(fz.full((2, 1000), 100.0, dtype=fz.float16))
    assert rows.tolist() == [[0.0] * 1000] * 2
    gradient = fz.grad(lambda z: z.mean())(ones)
    assert gradient[0].item() == np.float16(1 / 70000)


def test_a_tensor_as_its_own_gradient_is_freed():
    gc.collect()
    before = fz.memory.stats()["live_bytes"]
    for _ in range(100):
        w = fz.ones(100000).requires_grad_()
        w.grad = w
    del w
    gc.collect()
    assert fz.memory.stats()["live_bytes"] - before < 1_000_000


def test_repeat_checks_its_counts():
    assert fz.repeat(fz.asarray([5, 7]), np.int64(2)).tolist() == [5, 5, 7, 7]
    assert fz.repeat(fz.asarray([[1, 2]]), 2, axis=0).tolist() == [[1, 2], [1, 2]]
    for counts in (-1, [1, -1]):
        with pytest.raises(ValueError, match=r"\[repeat\] counts must not be negative, got -1\."):
            fz.repeat(fz.arange(2), counts)
    with pytest.raises(MemoryError):
        fz.repeat(fz.ones(3), 2**60)


def test_geomspace_between_complex_numbers():
    for start, stop, end in (
        (1j, 1000j, True),
        (1, -1 + 0j, True),
        (1 + 1j, 3, False),
        (2j, 5, True),
    ):
        want = np.geomspace(start, stop, 5, endpoint=end)
        got = fz.geomspace(start, stop, 5, endpoint=end, dtype="complex128")
        np.testing.assert_allclose(np.asarray(got), want, 1e-14, 1e-15)
    assert fz.geomspace(1j, 2j, 1).dtype is fz.complex64
    with pytest.raises(ValueError, match="not 0"):
        fz.geomspace(0j, 1, 3)


def test_ufuncs_take_numpys_names_of_dtypes():
    for name in ("f4", "f8", "<f4", "double", "float32"):
        assert np.add(fz.ones(2), 1, dtype=name).dtype == np.dtype(name)
        assert np.add.reduce(fz.ones(2), dtype=name).dtype == np.dtype(name)
    assert np.add(fz.ones(2), 1, dtype="bfloat16").dtype is fz.bfloat16


def test_condition_of_a_matrix_of_zeros():
    for p in (None, 2, -2, "fro", 1, np.inf):
        assert np.asarray(fz.linalg.cond(fz.zeros((2, 2)), p)) == np.inf
    both = fz.linalg.cond(fz.stack([fz.zeros((3, 2)), fz.ones((3, 2)) + fz.eye(3, 2)]))
    assert both[0].item() == np.inf and 1 < both[1].item() < 10


def test_lobpcg_without_steps():
    a = fz.asarray(np.diag(np.arange(1.0, 13)))
    x = fz.asarray(np.eye(12)[:, [3, 7]])
    w, v = fz.sparse.lobpcg(a, x, maxiter=0)
    np.testing.assert_allclose(np.asarray(w), [8, 4])
    np.testing.assert_allclose(np.abs(np.asarray(v)), np.eye(12)[:, [7, 3]])
    with pytest.raises(ValueError, match="maxiter must be at least 0, got -1"):
        fz.sparse.lobpcg(a, x, maxiter=-1)


def test_sorters_and_bins_that_do_not_fit():
    with pytest.raises(ValueError, match="2 indices for 3 elements"):
        fz.searchsorted(fz.asarray([1, 2, 3]), 2, sorter=fz.asarray([0, 1]))
    with pytest.raises(ValueError, match="too narrow for float64"):
        fz.histogram(fz.asarray([2**62]))
    assert fz.histogram(fz.asarray([2**40]))[0].sum().item() == 1


def test_sigmoid_of_large_negative_numbers():
    x = np.array([-1e3, -90, -40, -18, -1, 0, 1, 20, 1e3, np.inf, -np.inf], np.float32)
    want = 1 / (1 + np.exp(-x.astype(np.float64).clip(-700)))
    got = np.asarray(fz.nn.sigmoid(x))
    np.testing.assert_allclose(got[:-1], want[:-1], 3e-7, 1e-44)
    assert got[-1] == 0
    slope = fz.grad(lambda x: fz.nn.sigmoid(x).sum())(fz.asarray(x))
    np.testing.assert_allclose(np.asarray(slope)[:-1], (want * (1 - want))[:-1], 1e-6, 1e-7)
