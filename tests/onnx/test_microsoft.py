"""Operators of onnxruntime: its answers, eager and traced."""

import numpy as np
import pytest
from onnx import helper
from small_models import agrees, answers, drawn, model_of, thrice

R = np.random.default_rng(5)


def floats(*shape):
    return R.normal(size=shape).astype(np.float32)


def int32s(*values):
    return np.asarray(values, np.int32)


def int64s(*values):
    return np.asarray(values, np.int64)


def scale(value=0.05):
    return np.asarray(value, np.float32)


def u8(*shape):
    return drawn(R, "uint8", shape)


def i8(*shape):
    return drawn(R, "int8", shape)


ZERO = np.asarray(120, np.uint8)
OF_X = [u8(2, 3, 4, 5), scale(), ZERO]  # with scale and zero point
TO_Y = [scale(0.03), np.asarray(100, np.uint8)]

IDS = int32s([1, 2, 0], [4, 3, 3])
BOXES = np.asarray(
    [[0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], [0.9, 0.8, 0.1, 0.1], [-0.3, 0.2, 1.4, 0.7]], np.float32
)

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
    ("QEmbedLayerNormalization",
     [IDS, int32s([0, 1, 1], [0, 0, 1]), u8(5, 4), u8(6, 4), u8(2, 4), u8(4), u8(4),
      int32s([1, 1, 0], [1, 1, 1]), scale(), scale(), scale(), scale(), scale(), ZERO, ZERO, ZERO,
      ZERO, ZERO], {}, 2),
    ("QEmbedLayerNormalization",
     [IDS, None, u8(5, 4), u8(6, 4), None, u8(4), u8(4), None, scale(), scale(), None, scale(),
      scale(), ZERO, ZERO, None, ZERO, ZERO], {}, 2),
    ("QLinearConv", [u8(1, 6, 6, 4), scale(), ZERO, i8(5, 4, 3, 3), scale(0.01),
                     np.asarray(0, np.int8), scale(0.3), ZERO,
                     R.integers(-99, 99, 5).astype(np.int32)],
     {"channels_last": 1, "pads": [1, 1, 1, 1]}, 1),
    ("NhwcMaxPool", [u8(1, 6, 6, 3)], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, 1),
    ("ScaledSiLU", [floats(3, 4)], {"alpha": 1.5}, 1),
    ("ScaledSiLU", [floats(3, 4), scale(0.3)], {}, 1),
    ("GatedAdd", [floats(2, 3, 4), floats(2, 3, 4), floats(2, 3, 1)], {}, 1),
    ("GatedRMSNorm", [floats(2, 3, 8), floats(4), floats(2, 3, 8)], {}, 1),
    ("GatedRMSNorm", [floats(2, 3, 8), floats(8), floats(2, 3, 8)], {"activation": "sigmoid"}, 1),
    ("CausalConvWithState", [floats(2, 3, 7), floats(3, 1, 4), floats(3), floats(2, 3, 3)],
     {"activation": "silu"}, 2),
    ("Trilu", [floats(2, 4, 5), int64s(1)], {"upper": 0}, 1),
    ("GatherND", [floats(3, 4, 5), int64s([0, 1], [2, 3])], {}, 1),
    ("Inverse", [floats(3, 3) + 4 * np.eye(3, dtype=np.float32)], {}, 1),
    ("ExpandDims", [floats(3, 4), np.asarray(-1, np.int32)], {}, 1),
    ("Pad", [floats(3, 4), int64s([1, 2, 0, 1]), scale(2.5)], {}, 1),
    ("Pad", [floats(3, 4), int64s(1, 2, 0, 1)], {"mode": "reflect"}, 1),
    ("Range", [int64s(1).reshape(()), int64s(7).reshape(()), int64s(2).reshape(())], {}, 1),
    ("Range", [int64s(1).reshape(()), int64s(7).reshape(())], {}, 1),
    ("Unique", [np.asarray([2, 1, 1, 3, 4, 3], np.float32)], {}, 3),
    ("UnfoldTensor", [floats(2, 9, 3)], {"size": 3, "step": 2, "dim": 1}, 1),
    ("NGramRepeatBlock", [int64s([1, 2, 3, 1, 2], [4, 4, 4, 4, 4]), floats(2, 6)],
     {"ngram_size": 3}, 1),
    ("CDist", [floats(3, 4), floats(5, 4)], {"metric": "sqeuclidean"}, 1),
    ("CDist", [floats(3, 4), floats(5, 4)], {"metric": "euclidean"}, 1),
    ("MatMulInteger16", [drawn(R, "int16", (3, 4)) // 9, drawn(R, "int16", (4, 5)) // 9], {}, 1),
    ("MurmurHash3", [int64s(1, 1 << 40)], {"seed": 42, "positive": 0}, 1),
    ("MurmurHash3", [np.asarray([1.5, -2.0], np.float32)], {}, 1),
    ("GridSample", [floats(1, 2, 4, 5), floats(1, 3, 3, 2)], {}, 1),
    ("GridSample", [floats(1, 2, 4, 5), floats(1, 3, 3, 2)],
     {"mode": "bicubic", "padding_mode": "border"}, 1),
    ("CropAndResize", [floats(2, 3, 6, 7), BOXES, int32s(0, 1, 1, 0), int32s(4, 5)],
     {"extrapolation_value": -2.0}, 1),
    ("CropAndResize", [floats(2, 3, 6, 7), BOXES, int32s(0, 1, 1, 0), int32s(1, 5)],
     {"mode": "nearest"}, 1),
    ("ConvTransposeWithDynamicPads",
     [floats(1, 2, 4, 4), floats(2, 3, 3, 3), int64s(1, 1, 0, 1), floats(3)],
     {"strides": [2, 2], "output_padding": [1, 1]}, 1),
]  # fmt: skip


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    "case", range(len(CASES)), ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)]
)
def test_operator(case, constant):
    """With one input and constants, as files have it, and where that runs with inputs alone."""
    name, given, options, count = CASES[case]
    first = 2 if name.startswith("QLinearConcat") else 0
    fixed = [i for i in range(len(given)) if i != first] if constant else []
    agrees(name, given, options, [True] * count, fixed)


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


def computed(name, arrays, count=1, **options):
    """What an operator gives that onnxruntime has on other devices alone."""
    outputs = [f"y{i}" for i in range(count)]
    node = helper.make_node(name, list(arrays), outputs, domain="com.microsoft", **options)
    given = [(n, v.dtype, v.shape) for n, v in arrays.items()]
    return thrice(model_of([node], given, outputs, domains=["com.microsoft"]), *arrays.values())


def logistic(x):
    return 1 / (1 + np.exp(-x))


def bell(x):
    from math import erf, sqrt

    return x * np.vectorize(lambda v: (1 + erf(v / sqrt(2))) / 2)(x).astype(np.float32)


def normed(x, groups):
    parts = np.moveaxis(x, -1, 1).reshape(x.shape[0], groups, -1)
    parts = parts - parts.mean(axis=-1, keepdims=True)
    y = parts / np.sqrt((parts * parts).mean(axis=-1, keepdims=True) + 1e-5)
    return np.moveaxis(y.reshape(x.shape[0], x.shape[3], *x.shape[1:3]), 1, -1)


def softmax(x):
    raised = np.exp(x - x.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def test_operators_of_other_devices():
    x, b, z = floats(2, 3, 8), floats(8), floats(2, 3, 8)
    close = np.testing.assert_allclose
    close(computed("BiasAdd", {"x": x, "b": b, "z": z}), x + b + z, atol=1e-5)
    half = (x + b)[..., :4] * bell((x + b)[..., 4:])
    close(computed("BiasSplitGelu", {"x": x, "b": b}), half, atol=1e-5)
    g, u = np.minimum(x[..., :4], 1), np.clip(x[..., 4:], -1, 1)
    got = computed("SwiGLU", {"x": x}, limit=1.0, activation_alpha=1.7, activation_beta=1.0)
    close(got, g * logistic(1.7 * g) * (u + 1), atol=1e-5)
    image, gamma, beta = floats(2, 3, 5, 8), floats(8), floats(8)
    plain = normed(image, 4) * gamma + beta
    got = computed("GroupNorm", {"x": image, "g": gamma, "b": beta}, groups=4, activation=1)
    close(got, plain * logistic(plain), rtol=1e-3, atol=1e-4)
    skip, more = floats(2, 8), floats(8)
    total = image + skip[:, None, None] + more
    got = computed("SkipGroupNorm", {"x": image, "g": gamma, "b": beta, "s": skip, "m": more}, 2,
                   groups=4, activation=0)  # fmt: skip
    close(got[1], total, atol=1e-5)
    close(got[0], normed(total, 4) * gamma + beta, rtol=1e-3, atol=1e-4)
    scores = floats(2, 4, 3, 5)
    for inner, bias, wide in ((1, floats(2, 5), None), (0, floats(3, 5), None)):
        wide = bias[:, None, None] if inner else bias
        got = computed("BiasSoftmax", {"x": scores, "b": bias}, axis=3, is_inner_broadcast=inner)
        close(got, softmax(scores + wide), atol=1e-5)


def test_spectra_and_pairs():
    x = floats(2, 8)
    z = np.fft.rfft(x)
    pairs = np.stack([z.real, z.imag], axis=-1).astype(np.float32)
    np.testing.assert_allclose(computed("Rfft", {"x": x}), pairs, atol=1e-5)
    np.testing.assert_allclose(computed("Irfft", {"x": pairs}), 8 * x, atol=1e-4)
    other = floats(2, 5, 2)
    w = z * (other[..., 0] - 1j * other[..., 1])
    got = computed("ComplexMulConj", {"a": pairs, "b": other})
    np.testing.assert_allclose(got, np.stack([w.real, w.imag], axis=-1), atol=1e-4)


def test_whether_all_is_finite():
    good, bad = floats(3), np.asarray([1.0, np.nan], np.float32)
    for arrays, options, wanted in (
        ((good, good), {}, True), ((good, bad), {}, False), ((bad,), {"isinf_only": 1}, True),
        ((bad,), {"isnan_only": 1}, False),
    ):  # fmt: skip
        named = {f"x{i}": v for i, v in enumerate(arrays)}
        assert bool(computed("IsAllFinite", named, **options)) is wanted


@pytest.mark.parametrize("ways", [0, 1])
def test_distances_of_t5_have_buckets(ways):
    """Near ones one each, far ones together, the farthest all in the last."""
    table = np.arange(16, dtype=np.float32).reshape(8, 2)
    node = helper.make_node("RelativePositionBias", ["t", "q", "k"], ["y"], max_distance=20,
                            is_bidirectional=ways, domain="com.microsoft")  # fmt: skip
    model = model_of([node], [("t", "float32", (8, 2))], ["y"],
                     [("q", np.asarray(30)), ("k", np.asarray(30))], ["com.microsoft"])  # fmt: skip
    found = thrice(model, table)[0, 0] / 2
    assert found.shape == (30, 30) and (np.diag(found) == 0).all()
    assert found[3, 2] == 1 and found[29, 0] == (3 if ways else 7)
    assert found[2, 3] == (5 if ways else 0) and found[0, 29] == (7 if ways else 0)
