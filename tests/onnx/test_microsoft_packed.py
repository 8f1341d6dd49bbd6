"""Weights of few bits: products and rows of onnxruntime, and its quantiser's files."""

import ml_dtypes
import numpy as np
import pytest
from onnx import helper
from small_models import agrees, answers, drawn, model_of, thrice

import frazil as fz

R = np.random.default_rng(7)


def floats(*shape):
    return R.normal(size=shape).astype(np.float32)


def packed(*shape):
    return drawn(R, "uint8", shape)


@pytest.mark.parametrize("k, size", [(32, 16), (40, 16), (100, 32)])
@pytest.mark.parametrize("zeros", ["none", "packed", "floats"])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_products(bits, zeros, k, size):
    n, count = 5, -(-k // size)
    scales = np.abs(floats(n, count)) / 9
    zero = {"none": None, "packed": packed(n, -(-count * bits // 8)), "floats": 3 * scales}[zeros]
    if bits == 8 and zeros == "floats":
        zero = None  # onnxruntime has none
    given = [floats(2, 3, k), packed(n, count, size * bits // 8), scales, zero, None, floats(n)]
    if zeros == "none":
        agrees("MatMulNBits", given, {"K": k, "N": n, "bits": bits, "block_size": size}, [1])
    if bits == 8 and zeros == "packed":  # it rounds the other factor there
        return
    agrees("MatMulNBits", given, {"K": k, "N": n, "bits": bits, "block_size": size}, [1],
           fixed=(1, 2, 3, 5))  # fmt: skip


@pytest.mark.parametrize("level, bound", [(0, 1e-5), (1, 1e-5), (2, 1e-3), (4, 1e-3)])
def test_weights_of_16_bits_where_less_is_allowed(level, bound):
    """Whatever the size of a column; nearer to the exact products than onnxruntime."""
    k, n = 100, 6
    b, scales = packed(n, 4, 16), np.abs(floats(n, 4)) + np.float32(0.1)
    scales *= np.float32([[1e-9], [1e-5], [1], [1e5], [0], [1e9]])
    q = np.stack([b & 15, b >> 4], axis=-1).reshape(n, 4, 32) - 8.0
    w = (q * scales[:, :, None]).reshape(n, -1)[:, :k]
    options = {"K": k, "N": n, "bits": 4, "block_size": 32, "accuracy_level": level}
    node = helper.make_node("MatMulNBits", ["x", "b", "s", "", "", "c"], ["y"],
                            domain="com.microsoft", **options)  # fmt: skip
    c = np.zeros(n, np.float32)
    model = model_of([node], [("x", "float32", (3, k))], ["y"],
                     [("b", b), ("s", scales), ("c", c)], ["com.microsoft"])  # fmt: skip
    x = floats(3, k)
    size = np.linalg.norm(x, axis=1)[:, None] * np.linalg.norm(w, axis=1)

    def error(y):
        return (np.abs(y - x @ w.T) / np.where(size > 0, size, 1)).max()

    own, other = error(thrice(model, x)), error(answers(model, {"x": x})[0])
    assert own < bound and (level < 4 or own < other)


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("k, n, size", [(32, 5, 16), (33, 3, 16)])
def test_products_of_4_bit_floats(kind, k, n, size):
    given = [floats(3, k), packed((n * k + 1) // 2), np.abs(floats(-(-n * k // size)))]
    options = {"K": k, "N": n, "block_size": size, "quant_type": kind}
    agrees("MatMulBnb4", given, options, [1], fixed=(1, 2))


INDICES = np.asarray([[0, 3, -1], [9, 2, 4]])


@pytest.mark.parametrize("k, size", [(32, 16), (40, 16), (64, 32)])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_rows_of_bytes(bits, k, size):
    count = -(-k // size)
    given = [packed(10, k * bits // 8), INDICES, floats(10, count)]
    options = {"bits": bits, "block_size": size, "quantize_axis": 1, "gather_axis": 0}
    agrees("GatherBlockQuantized", given, options, [1], fixed=(0, 2))
    given.append(packed(10, -(-count * bits // 8)))
    agrees("GatherBlockQuantized", given, options, [1], fixed=(0, 2, 3))


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
@pytest.mark.parametrize(
    "axis, along, shape",
    [(0, 1, (10, 32)), (1, 0, (32, 10)), (0, 2, (10, 3, 32)), (2, 1, (3, 40, 10)), (0, 0, (32, 9))],
)
def test_rows_of_4_bits(axis, along, shape, dtype):
    own, low = getattr(ml_dtypes, dtype), 0 if dtype == "uint4" else -8
    data = R.integers(low, low + 16, shape).astype(own)
    counts = tuple(-(-n // 16) if i == along else n for i, n in enumerate(shape))
    given = [data, np.asarray([[0, 3], [8, 99]]), floats(*counts)]
    options = {"block_size": 16, "quantize_axis": along, "gather_axis": axis}
    agrees("GatherBlockQuantized", given, options, [1], fixed=(0, 2))
    given.append(R.integers(0, 4, counts).astype(own))
    agrees("GatherBlockQuantized", given, options, [1], fixed=(0, 2, 3))


def test_scales_are_constants_also_of_models_that_train():
    """So that weights are unpacked once."""
    node = helper.make_node("MatMulNBits", ["x", "b", "s"], ["y"], domain="com.microsoft", K=32,
                            N=4, bits=4, block_size=16)  # fmt: skip
    model = model_of([node], [("x", "float32", ("n", 32))], ["y"],
                     [("b", packed(4, 2, 8)), ("s", floats(4, 2))], ["com.microsoft"])  # fmt: skip
    assert not list(fz.onnx.load(model).parameters())
