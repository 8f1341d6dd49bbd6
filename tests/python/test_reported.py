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
