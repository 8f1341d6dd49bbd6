"""Matrix products on a GPU."""

import gpu
import numpy as np

import frazil as fz
from frazil import nn


def test_products_in_graphs():
    """Kernels between products are ordered as they were queued."""

    def body(x, w):
        return nn.relu(x @ w + w[0]) @ w

    f = fz.trace(body, proof=False)  # one plan from the first run on
    for i in range(6):
        x, w = gpu.randn(8, 10, seed=i), gpu.randn(10, 10, seed=i + 9)
        before = gpu.driver().count("cuGraphLaunch")
        with fz.precision("exact"):
            got = f(x.to_device("cuda"), w.to_device("cuda"))
            assert gpu.bits(got) == gpu.bits(body(x, w))
        if i > 3:
            assert gpu.driver().count("cuGraphLaunch") == before + 1


def test_the_default_is_a_librarys(both):
    """Its bits may differ from the CPU's; it is close, and eager and traced are equal."""
    a, b = gpu.randn(40, 30), gpu.randn(30, 20, seed=1)
    f = fz.trace(lambda a, b: nn.gelu(a @ b + b[0, 0]))
    want = np.asarray(f.__wrapped__(a, b))
    there = [a.to_device("cuda"), b.to_device("cuda")]
    before = gpu.cublaslt().count("cublasLtMatmul")
    eager = f.__wrapped__(*there)
    assert gpu.cublaslt().count("cublasLtMatmul") > before
    np.testing.assert_allclose(np.asarray(eager), want, rtol=1e-4, atol=1e-5)
    for _ in range(5):
        assert gpu.bits(f(*there)) == gpu.bits(eager)


def test_products(both):
    with fz.precision("exact"):
        a, b = gpu.randn(33, 17), gpu.randn(17, 21, seed=1)
        both(lambda a, b: [a @ b, b.T @ a.T, a[::2] @ b[:, ::-1], a @ b[:, 0], a[0] @ b], a, b)
        both(lambda a, b: fz.nn.relu(a @ b + b[0]), a, b)
        both(lambda a: fz.reshape(a[:, :16], (33, 4, 4)) @ fz.eye(4, device=a.device), a)
        both(lambda a, b: a[:0] @ b, a, b)
