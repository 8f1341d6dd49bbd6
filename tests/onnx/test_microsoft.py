"""Operators of onnxruntime: its answers, eager and traced."""

import numpy as np
import onnxruntime
import pytest
from onnx import helper
from small_models import drawn, model_of, thrice

R = np.random.default_rng(5)


def floats(*shape):
    return R.normal(size=shape).astype(np.float32)


def scale(value=0.05):
    return np.asarray(value, np.float32)


def u8(*shape):
    return drawn(R, "uint8", shape)


def i8(*shape):
    return drawn(R, "int8", shape)


ZERO = np.asarray(120, np.uint8)
OF_X = [u8(2, 3, 4, 5), scale(), ZERO]  # with scale and zero point
TO_Y = [scale(0.03), np.asarray(100, np.uint8)]

# (operator, inputs with None for what is not given, options, how many outputs)
CASES = [
    ("Gelu", [floats(3, 5)], {}, 1),
    ("BiasGelu", [floats(3, 5), floats(5)], {}, 1),
    ("FastGelu", [floats(3, 5), floats(5)], {}, 1),
    ("FastGelu", [floats(3, 5)], {}, 1),
    ("QuickGelu", [floats(3, 5)], {"alpha": 1.5}, 1),
    ("FusedMatMul", [floats(2, 4, 3), floats(2, 4, 5)], {"transA": 1, "alpha": 0.5}, 1),
    ("FusedMatMul", [floats(4, 2, 3), floats(2, 5, 3)], {"transBatchA": 1, "transB": 1}, 1),
    ("FusedGemm", [floats(3, 4), floats(4, 5), floats(5)],
     {"activation": "LeakyRelu", "activation_alpha": 0.2}, 1),
    ("FusedConv", [floats(1, 2, 5, 5), floats(3, 2, 3, 3), floats(3)],
     {"activation": "Clip", "activation_params": [-1.0, 1.0], "pads": [1, 1, 1, 1]}, 1),
    ("FusedConv", [floats(1, 2, 5, 5), floats(3, 2, 3, 3), floats(3), floats(1, 3, 3, 3)],
     {"activation": "Relu"}, 1),
    ("SkipLayerNormalization", [floats(2, 3, 4), floats(2, 3, 4), floats(4), floats(4), floats(4)],
     {"epsilon": 1e-5}, 1),
    ("SkipSimplifiedLayerNormalization", [floats(2, 3, 4), floats(2, 3, 4), floats(4)], {}, 1),
    ("EmbedLayerNormalization",
     [np.asarray([[1, 2, 0], [4, 3, 3]], np.int32), np.asarray([[0, 0, 1], [1, 0, 0]], np.int32),
      floats(5, 4), floats(6, 4), floats(2, 4), floats(4), floats(4),
      np.asarray([[1, 1, 1], [1, 1, 0]], np.int32)], {}, 2),
    ("QLinearAdd", [*OF_X, u8(4, 5), scale(0.1), ZERO, *TO_Y], {}, 1),
    ("QLinearMul", [*OF_X, u8(1), scale(0.1), ZERO, *TO_Y], {}, 1),
    ("QLinearAdd", [i8(3, 5), scale(), np.asarray(-3, np.int8), i8(3, 5), scale(),
                    np.asarray(9, np.int8), scale(), np.asarray(5, np.int8)], {}, 1),
    ("QLinearSigmoid", [*OF_X, scale(1 / 256), np.asarray(0, np.uint8)], {}, 1),
    ("QLinearLeakyRelu", [*OF_X, *TO_Y], {"alpha": 0.1}, 1),
    ("QLinearSoftmax", [*OF_X, scale(1 / 256), np.asarray(0, np.uint8)],
     {"axis": 1, "opset": 13}, 1),
    ("QLinearConcat", [*TO_Y, *OF_X, u8(2, 1, 4, 5), scale(0.02), ZERO], {"axis": 1}, 1),
    ("QLinearWhere", [R.integers(0, 2, (2, 3, 4, 5)).astype(bool), *OF_X, u8(5), scale(0.1), ZERO,
                      *TO_Y], {}, 1),
    ("QLinearGlobalAveragePool", [*OF_X, *TO_Y], {}, 1),
    ("QLinearGlobalAveragePool", [*OF_X, *TO_Y], {"channels_last": 1}, 1),
    ("QLinearAveragePool", [*OF_X, *TO_Y], {"kernel_shape": [2, 2], "pads": [1, 0, 0, 1]}, 1),
    ("QuantizeLinear", [floats(3, 4), scale(), ZERO], {}, 1),
    ("DequantizeLinear", OF_X, {}, 1),
    ("MatMulIntegerToFloat", [u8(3, 8), i8(8, 5), scale(), np.abs(floats(5)) / 9, ZERO,
                              np.zeros(5, np.int8), floats(5)], {}, 1),
    ("MatMulIntegerToFloat", [u8(2, 3, 8), u8(8, 5), scale(), scale(), ZERO, ZERO], {}, 1),
    ("DynamicQuantizeMatMul", [floats(2, 3, 8), i8(8, 5), scale(), None, floats(5)], {}, 1),
    ("QGemm", [u8(3, 8), scale(), ZERO, i8(5, 8), np.abs(floats(5)) / 9, np.zeros(5, np.int8),
               R.integers(-99, 99, 5).astype(np.int32), *TO_Y], {"transB": 1}, 1),
    ("QGemm", [u8(3, 8), scale(), ZERO, u8(8, 5), scale(), ZERO, None], {}, 1),
]  # fmt: skip


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    "case", range(len(CASES)), ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)]
)
def test_operator(case, constant):
    """With one input and constants, as files have it, and where that runs with inputs alone."""
    name, given, options, count = CASES[case]
    names = ["" if v is None else f"x{i}" for i, v in enumerate(given)]
    outputs = [f"y{i}" for i in range(count)]
    arrays = {n: v for n, v in zip(names, given, strict=True) if n}
    first = "x0" if not name.startswith("QLinearConcat") else "x2"
    free = [first] if constant else list(arrays)
    fixed = [n for n in arrays if n not in free]
    node = helper.make_node(name, names, outputs, domain="com.microsoft", **options)
    model = model_of(
        [node], [(n, arrays[n].dtype, arrays[n].shape) for n in free], outputs,
        [(n, arrays[n]) for n in fixed], ["com.microsoft"],
    )  # fmt: skip
    feeds = {n: arrays[n] for n in free}
    got = thrice(model, *feeds.values())
    for a, b in zip(got if count > 1 else [got], answers(model, feeds), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.dtype.kind in "iu":  # a rounding may fall either way
            assert (np.abs(a.astype(int) - b.astype(int)) <= 1).all() and (a == b).mean() > 0.9
        else:
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def answers(model, feeds):
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, feeds)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_recurrent_networks_of_8_bits(direction, dtype):
    n, hidden, reads = (2 if direction == "bidirectional" else 1), 6, 5
    weights = {
        "w": drawn(R, dtype, (n, reads, 4 * hidden)),
        "r": drawn(R, dtype, (n, hidden, 4 * hidden)),
        "b": floats(n, 8 * hidden),
        "ws": np.abs(floats(n)) / 999 + 0.003,
        "wz": np.full(n, 0 if dtype == "int8" else 130, dtype),
        "rs": np.abs(floats(n)) / 999 + 0.003,
        "rz": np.full(n, 0 if dtype == "int8" else 126, dtype),
    }
    names = ["x", "w", "r", "b", "lengths", "h", "c", "", "ws", "wz", "rs", "rz"]
    node = helper.make_node("DynamicQuantizeLSTM", names, ["y", "last", "cell"], hidden_size=hidden,
                            direction=direction, domain="com.microsoft")  # fmt: skip
    feeds = {
        "x": floats(7, 2, reads), "lengths": np.asarray([7, 7], np.int32),
        "h": floats(n, 2, hidden), "c": floats(n, 2, hidden),
    }  # fmt: skip
    model = model_of(
        [node], [(k, v.dtype, v.shape) for k, v in feeds.items()], ["y", "last", "cell"],
        list(weights.items()), ["com.microsoft"],
    )  # fmt: skip
    for a, b in zip(thrice(model, *feeds.values()), answers(model, feeds), strict=True):
        np.testing.assert_allclose(a, b, atol=2e-2)


def test_norms_of_models_without_means():
    """onnxruntime puts it into the standard domain."""
    x, gamma = floats(2, 3, 4), floats(4)
    node = helper.make_node("SimplifiedLayerNormalization", ["x", "g"], ["y"], epsilon=1e-6)
    model = model_of([node], [("x", "float32", x.shape)], ["y"], [("g", gamma)])
    np.testing.assert_allclose(thrice(model, x), answers(model, {"x": x})[0], atol=1e-5)
