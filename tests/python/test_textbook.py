"""The programs that every tutorial begins with, eager and traced."""

import numpy as np
import pytest

import frazil as fz
from frazil import nn

X = [1.0, 2.0, 3.0]
Y = [4.0, 5.0, 6.0]


def variants(fn):
    """The function as written, and traced often enough to record and replay."""
    traced = fz.trace(fn)
    return [fn, traced, traced, traced]


class Add(nn.Module):
    def forward(self, x, y):
        return x + y


class Multiply(nn.Module):
    def forward(self, x, y):
        return x * y


@pytest.mark.parametrize(
    ("module", "wanted"), [(Add(), [5.0, 7.0, 9.0]), (Multiply(), [4.0, 10.0, 18.0])]
)
def test_module_of_one_op(module, wanted):
    for run in variants(module):
        assert run(fz.asarray(X), fz.asarray(Y)).tolist() == wanted


def test_gradient_of_sum_of_matmul():
    x0 = [[0.8, 0.6, 0.2], [1.8, 1.3, 1.1]]
    y = fz.asarray([[0.11, 3.3, 1.1], [1.1, 0.2, 1.4], [1.1, 2.2, 0.3]])
    wanted = [[4.51, 2.7, 3.6], [4.51, 2.7, 3.6]]

    def loss(x, z):
        return fz.sum(fz.matmul(x * z, y))

    for run in variants(fz.grad(loss)):
        np.testing.assert_allclose(run(fz.asarray(x0), 1.0), wanted, rtol=1e-6)
    x = fz.asarray(x0, requires_grad=True)
    loss(x, 1).backward()
    np.testing.assert_allclose(x.grad, wanted, rtol=1e-6)


def test_loop_adds_three_times():
    def run(x, z):
        for _ in range(3):
            x = x + z
        return x

    for f in variants(run):
        assert f(fz.asarray(X), fz.asarray(1.0)).tolist() == Y


def test_model_takes_both_branches():
    class Model(nn.Module):
        def __init__(self):
            self.w1 = fz.asarray([[1.0, 0.0], [0.0, 2.0]], requires_grad=True)
            self.w2 = fz.asarray([[0.0, 3.0], [4.0, 0.0]], requires_grad=True)

        @fz.trace
        def forward(self, x, flag):
            if flag > 0:
                return x @ self.w1
            return x @ self.w2

    model = Model()
    x = fz.asarray([[1.0, 1.0]])
    for flag in (1, 0, 1, 0, fz.asarray(1), fz.asarray(0), fz.asarray(1), fz.asarray(0)):
        assert model(x, flag).tolist() == ([[1.0, 2.0]] if flag > 0 else [[4.0, 3.0]])


def test_add_and_relu_are_one_kernel():
    @fz.trace
    def layer(x1, w1, x2, w2):
        return nn.relu(fz.matmul(x1, w1) + fz.matmul(x2, w2))

    fz.random.seed(0)
    args = [fz.random.normal((8, 8)) for _ in range(4)]
    wanted = np.maximum(
        np.asarray(args[0]) @ np.asarray(args[1]) + np.asarray(args[2]) @ np.asarray(args[3]), 0
    )
    for _ in range(4):
        np.testing.assert_allclose(layer(*args), wanted, rtol=1e-5, atol=1e-5)
    # Two matrix products, and one kernel for sum and relu.
    assert layer.stats()["last_kernels"] == 3
