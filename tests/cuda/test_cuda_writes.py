"""Writing to tensors on a GPU: cells, views, elements; what others hold does not change."""

import copy

import gpu
import numpy as np
import pytest
from test_cuda_interop import Array, Producer
from test_cuda_values import INDICES

import frazil as fz


def test_numpy_sees_a_copy():
    """As a GPU's memory is not the host's, what NumPy gets does not follow later writes."""
    x = fz.arange(4, device="cuda")
    a = np.asarray(x)
    assert type(a) is np.ndarray and a.tolist() == [0, 1, 2, 3]
    x[0] = 9
    assert a.tolist() == [0, 1, 2, 3] and np.asarray(x).tolist() == [9, 1, 2, 3]
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    assert np.array(x, copy=True).tolist() == [9, 1, 2, 3]
    assert (np.ones(4) @ np.asarray(x)) == 15


def test_copies():
    x = fz.asarray([1.0, 2.0], device="cuda")
    y, z = copy.copy(x), copy.deepcopy([x, x])
    x += 1
    assert y.device == "cuda" and y.tolist() == [1.0, 2.0]
    assert z[0] is z[1] and z[0].tolist() == [1.0, 2.0] and z[0].device == "cuda"
    assert fz.asarray(x, copy=True).tolist() == [2.0, 3.0]
    assert fz.asarray(x) is x and fz.asarray(x, device="cuda") is x


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_assignment(index):
    def run(device):
        x = gpu.randn(4, 6).to_device(device)
        held, before = x[1:], x * 1
        x[index] = 5
        x[index] += x[index] * 2
        x[index] = x[index] + 1
        return x, held * 1, before

    for got, want in zip(run("cuda"), run("cpu"), strict=True):
        assert got.device == "cuda" and gpu.bits(got) == gpu.bits(want)


def test_in_place():
    def run(device):
        x = gpu.randn(4, 5).to_device(device)
        alias, view, before = x, x[1], x * 1
        x += 1
        x *= x
        x[0] -= 3
        x[:, 2] /= x[:, 1]
        x -= fz.asarray(0.5)
        return alias, view * 1, before, x

    for got, want in zip(run("cuda"), run("cpu"), strict=True):
        assert got.device == "cuda" and gpu.bits(got) == gpu.bits(want)
    i = fz.arange(3, device="cuda")
    with pytest.raises(TypeError):
        i += 0.5
    assert i.tolist() == [0, 1, 2]


def test_moving_keeps_or_drops_nothing():
    x = fz.asarray([1.0, 2.0], requires_grad=True)
    y = x.to_device("cuda")
    assert y.requires_grad and not y.is_leaf
    z = y.to_device("cpu")
    (z * z).sum().backward()
    assert x.grad.device == "cpu" and x.grad.tolist() == [2.0, 4.0]
    assert x.to_device("cpu") is x or x.to_device("cpu").tolist() == [1.0, 2.0]
    t = fz.arange(3)
    there = t.to_device("cuda")
    t[0] = 7
    assert there.tolist() == [0, 1, 2]
    assert fz.astype(t, fz.float32, device="cuda").device == "cuda"


def test_written_cells():
    def run(device, wrap):
        state = fz.zeros(6, device=device)
        seen = []

        @wrap
        def step(x):
            nonlocal state
            state *= 0.5
            state += x
            state[1] = x[0] * 2
            return state * 3

        for i in range(7):
            seen.append(step(gpu.randn(6, seed=i).to_device(device)))
        return [*map(gpu.bits, seen), gpu.bits(state)]

    want = run("cpu", lambda f: f)
    assert run("cuda", lambda f: f) == want
    assert run("cuda", fz.trace) == want
    assert run("cuda", lambda f: fz.trace(f, pure=True)) == want


def test_gradients_of_indexing(both):
    x, i = gpu.randn(5, 3), fz.asarray([4, 0, 4])
    both(lambda x, i: fz.grad(lambda x: (fz.take(x, i, axis=0) ** 2).sum())(x), x, i)
    both(lambda x: fz.grad(lambda x: (x[[1, 1, 2]] * 3).sum())(x), x)


def test_writing_does_not_reach_the_lender():
    a = Array(np.zeros(3))
    x = fz.asarray(a, copy=False)
    x += 1
    x[0] = 5
    assert x.tolist() == [5.0, 1.0, 1.0] and a.read().tolist() == [0.0, 0.0, 0.0]


def test_dlpack_copies():
    x = fz.arange(3, device="cuda")
    assert (
        fz.from_dlpack(Producer(x), copy=False).__cuda_array_interface__["data"]
        == (x.__cuda_array_interface__["data"])
    )
    y = fz.from_dlpack(Producer(x), copy=True)
    z = fz.from_dlpack(Producer(x), copy=False)
    x[0] = 9
    assert y.tolist() == [0, 1, 2] == z.tolist()


def test_masks(both):
    def assign(x, m):
        y = x * 1
        y[m] = 0
        y[y < 0] *= 2
        return y

    both(assign, gpu.randn(5, 4), gpu.randn(5, 4, seed=1) > 0)


def test_many_writes_to_one_place(both):
    def add(x, i):
        y = x * 1
        y[i] += 2
        y[i] = y[i] * 3
        return y

    both(add, gpu.randn(6, 5), fz.asarray([3, 0, 3, -1]))


def test_wrong_indices():
    x = fz.arange(4, device="cuda")
    for index in (4, [1, 7], fz.asarray([-5], device="cuda")):
        with pytest.raises(IndexError, match="out of range"):
            x[index] = 1
    assert x.tolist() == [0, 1, 2, 3]
