"""Operators in the forms of the first opsets, and windows of attention, against NumPy."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from small_models import thrice

import frazil as fz

R = np.random.default_rng(8)


def floats(*shape):
    return R.normal(size=shape).astype(np.float32)


def given(name, arrays, count=1, opset=1, **options):
    """What a node of an opset gives."""
    outputs = [f"y{i}" for i in range(count)]
    node = helper.make_node(name, list(arrays), outputs, **options)
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for n, v in arrays.items()
    ]
    shown = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs]
    model = helper.make_model(helper.make_graph([node], "g", inputs, shown), ir_version=10,
                              opset_imports=[helper.make_opsetid("", opset)])  # fmt: skip
    return thrice(model, *arrays.values())


def test_shapes():
    x = floats(2, 3, 4, 6)
    same = np.testing.assert_array_equal
    same(given("Add", {"a": x, "b": x}, consumed_inputs=[0, 0]), x + x)
    same(given("Dropout", {"x": x}, is_test=1), x)
    parts = given("Split", {"x": x, "s": np.asarray([1, 3])}, 2, axis=2)
    same(parts[0], x[:, :, :1])
    same(parts[1], x[:, :, 1:])
    times, axis = np.asarray(3, np.int64), np.asarray(1, np.int64)
    same(given("Tile", {"x": x, "t": times, "a": axis}), np.tile(x, (1, 3, 1, 1)))
    wide = np.pad(x, [(0, 0), (1, 0), (0, 2), (0, 0)], constant_values=1.5)
    same(given("Pad", {"x": x}, paddings=[0, 1, 0, 0, 0, 0, 2, 0], value=1.5), wide)
    large = given("Upsample", {"x": x}, height_scale=2.0, width_scale=3.0, mode="nearest")
    same(large, x.repeat(2, axis=2).repeat(3, axis=3))
    y = given("SpaceToDepth", {"x": x}, opset=1, blocksize=2, mode="CRD")
    same(y, x.reshape(2, 3, 2, 2, 3, 2).transpose(0, 1, 3, 5, 2, 4).reshape(2, 12, 2, 3))
    with pytest.raises(ValueError, match="is_test"):
        given("Dropout", {"x": x}, is_test=0)


def test_pools_of_any_power():
    x = floats(2, 3, 4, 4)
    total = (np.abs(x) ** 2.5).reshape(2, 3, 2, 2, 2, 2).sum(axis=(3, 5)) ** 0.4
    got = given("LpPool", {"x": x}, p=2.5, kernel_shape=[2, 2], strides=[2, 2])
    np.testing.assert_allclose(got, total, rtol=1e-4)
    total = (np.abs(x) ** 1.5).sum(axis=(2, 3), keepdims=True) ** (1 / 1.5)
    np.testing.assert_allclose(given("GlobalLpPool", {"x": x}, p=1.5), total, rtol=1e-4)


@pytest.mark.parametrize("name, gates", [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_recurrent_networks_are_those_of_later_opsets(name, gates):
    arrays = {"x": floats(5, 2, 3), "w": floats(1, gates * 4, 3), "r": floats(1, gates * 4, 4)}
    old = given(name, arrays, 2, opset=3, hidden_size=4, output_sequence=1)
    for a, b in zip(old, given(name, arrays, 2, opset=7, hidden_size=4), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("past, lengths", [(0, None), (3, None), (0, (7, 5))])
@pytest.mark.parametrize("left, right", [(-1, 1), (2, -1), (2, 1), (0, 0)])
def test_windows_of_attention(left, right, past, lengths, causal):
    t, n = 4, 7 if lengths else 4
    arrays = {"q": floats(2, 2, t, 8), "k": floats(2, 2, n, 8), "v": floats(2, 2, n, 8)}
    names = ["q", "k", "v", "", "", "", ""]
    if past:
        arrays |= {"pk": floats(2, 2, past, 8), "pv": floats(2, 2, past, 8)}
        names[4:6] = "pk", "pv"
    if lengths:
        arrays["n"], names[6] = np.asarray(lengths), "n"
    node = helper.make_node("Attention", names, ["y", "a", "b"], is_causal=causal,
                            left_window_size=left, right_window_size=right)  # fmt: skip
    infos = [
        helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for k, v in arrays.items()
    ]
    shown = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    model = helper.make_model(helper.make_graph([node], "g", infos, shown), ir_version=10,
                              opset_imports=[helper.make_opsetid("", 25)])  # fmt: skip
    got = np.asarray(fz.onnx.load(model)(*arrays.values()))
    q, k, v = arrays["q"], arrays["k"], arrays["v"]
    if past:
        k, v = (np.concatenate([arrays[p], x], axis=2) for p, x in (("pk", k), ("pv", v)))
    at = np.arange(k.shape[2])
    for row, counted in enumerate(lengths or (k.shape[2],) * 2):
        offset = counted - t if lengths else past
        place = np.arange(t)[:, None] + offset
        sees = at < counted
        sees = sees & (at <= place + right if right >= 0 else True)
        sees = sees & (at >= place - left if left >= 0 else True)
        sees = sees & (at <= place if causal else True)
        scores = q[row] @ k[row].swapaxes(-1, -2) / np.sqrt(8)
        raised = np.where(sees, np.exp(scores), 0)
        weights = raised / np.maximum(raised.sum(axis=-1, keepdims=True), 1e-30)
        np.testing.assert_allclose(got[row], weights @ v[row], rtol=1e-4, atol=1e-5)
