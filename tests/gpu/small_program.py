"""A little of everything on a GPU, for compute-sanitizer. Fails if the bits are not the CPU's."""

import numpy as np

import frazil as fz
from frazil import nn


def body(x, w):
    y = nn.softmax(fz.exp(x * 0.5) @ w + x[0, 0], -1)
    z = nn.layer_norm(y.T[::-1]) * fz.sum(y) + fz.max(x)
    return fz.take(z, fz.asarray([1, 0, 1]).to_device(z.device), axis=0)


def main():
    rng = np.random.default_rng(0)
    x, w = (fz.asarray(rng.standard_normal((65, 65)).astype(np.float32)) for _ in range(2))
    traced = fz.trace(body)
    with fz.precision("exact"):
        want = np.asarray(body(x, w))
        there = x.to_device("cuda"), w.to_device("cuda")
        for got in (body(*there), *(traced(*there) for _ in range(4))):
            np.testing.assert_array_equal(np.asarray(got), want)
        np.testing.assert_array_equal(
            np.asarray(fz.grad(lambda x: body(x, there[1]).sum())(there[0])),
            np.asarray(fz.grad(lambda x: body(x, w).sum())(x)),
        )
        there[0][3:5] += 1
        fz.cuda.synchronize()
    (there[0] @ there[1]).tolist()  # cuBLASLt
    print("the bits of the CPU")


if __name__ == "__main__":
    main()
