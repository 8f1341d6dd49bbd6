"""Layers, losses and functions as ONNX with dynamic sizes, at sizes that were not seen, 1 and 0
among them: onnxruntime says what frazil says. With FRAZIL_NIGHTLY the cases of tests/nn, in all
floats, too.
"""

import importlib
import os
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import frazil as fz
from frazil import nn
from frazil.nn import functional as F

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
NIGHTLY = "FRAZIL_NIGHTLY" in os.environ
BATCH, BOTH = {0: "n"}, {0: "n", 1: "t"}


def normal(*shape):
    draw = np.random.default_rng(sum(shape) + len(shape))
    return fz.asarray(draw.standard_normal(shape).astype(np.float32))


def whole(below, *shape):
    return fz.asarray(np.random.default_rng(sum(shape)).integers(0, below, shape))


def images(*text):
    """Layers of (n, 4, 6, 4)."""
    return {t: (t, lambda n: (normal(n, 4, 6, 4),), [BATCH]) for t in text}


def recurrent():
    return {
        f"{kind}{more}": (
            f"nn.{kind}(3, 4, batch_first=True{more})", lambda n: (normal(n, 5, 3),), [BATCH],
        )
        for kind in ("RNN", "LSTM", "GRU")
        for more in ("", ", num_layers=2, bidirectional=True")
    }  # fmt: skip


def assigned(x):
    y = x * 1
    y[:, 0] = 2.0
    y[0] = x[-1]
    return y


CASES = images(
    "nn.Conv2d(4, 4, 3, groups=2, dilation=(2, 1), padding=1)",
    "nn.Conv2d(4, 2, 3, padding='same')",
    "nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1)", "nn.BatchNorm2d(4)",
    "nn.GroupNorm(2, 4)", "nn.InstanceNorm2d(4)", "nn.LayerNorm(4)", "nn.RMSNorm(4)",
    "nn.MaxPool2d(3, 2, 1)", "nn.MaxPool2d(2, 2, 0, 1, False, True)", "nn.AvgPool2d(3, 2, 1)",
    "nn.AdaptiveAvgPool2d(3)", "nn.LPPool2d(2, 2)", "nn.Upsample(scale_factor=2)",
    "nn.Upsample(size=7, mode='bilinear')", "nn.Upsample(scale_factor=2, mode='bicubic')",
    "nn.ReflectionPad2d(1)", "nn.CircularPad2d(1)", "nn.PixelShuffle(2)", "nn.ChannelShuffle(2)",
    "nn.Flatten()", "nn.Softmax(1)", "nn.LogSoftmax(-1)", "nn.GELU()", "nn.Dropout(0.5)",
) | recurrent() | {
    "conv1d": ("nn.Conv1d(2, 4, 3, stride=2, padding=1)", lambda n: (normal(n, 2, 7),), [BATCH]),
    "conv3d": ("nn.Conv3d(1, 2, 3, padding=1)", lambda n: (normal(n, 1, 4, 5, 3),), [BATCH]),
    "embedding": ("nn.Embedding(7, 3, padding_idx=0)", lambda n: (whole(7, n, n + 1),), [BOTH]),
    "bag": ("nn.EmbeddingBag(7, 3)", lambda n: (whole(7, n, 5),), [BATCH]),
    "self": ("(lambda m: lambda x: m(x, x, x))"
             "(nn.MultiheadAttention(8, 2, batch_first=True).eval())",
             lambda n: (normal(n, n + 2, 8),), [BOTH]),
    "padded": ("(lambda m: lambda x, p: m(x, x, x, key_padding_mask=p)[0])"
               "(nn.MultiheadAttention(8, 2, batch_first=True).eval())",
               lambda n: (normal(n, 5, 8), fz.arange(5)[None] >= 2 + fz.arange(n)[:, None] % 3),
               [BATCH, BATCH]),
    "causal": ("lambda q, k: F.scaled_dot_product_attention(q, k, k, is_causal=True)",
               lambda n: (normal(2, n, 4), normal(2, n + 3, 4)), [{1: "t"}, {1: "s"}]),
    "encoder": ("nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)",
                lambda n: (normal(n, n + 3, 8),), [BOTH]),
    "decoder": ("nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)",
                lambda n: (normal(n, n + 3, 8), normal(n, n + 1, 8)), [BOTH, {0: "n", 1: "s"}]),
    "cross entropy": ("F.cross_entropy", lambda n: (normal(n, 5), whole(5, n)), [BATCH, BATCH]),
    "one hot": ("lambda k: F.one_hot(k, 5)", lambda n: (whole(5, n),), [BATCH]),
    "reductions": ("lambda x: (x.sum(0), x.mean(), fz.prod(x, axis=0), x.argmax(axis=1), "
                   "x.std(axis=1), fz.cumulative_prod(x, axis=0), fz.cumulative_sum(x, axis=0))",
                   lambda n: (normal(n, 5),), [BATCH]),
    "orders": ("lambda x: (fz.sort(x, axis=0), fz.argsort(x, axis=1), fz.topk(x, 2)[0], x[::-1], "
               "x[:, ::-2], fz.tril(x), fz.flip(x), fz.repeat(x, 2, axis=0))",
               lambda n: (normal(n, 5),), [BATCH]),
    "assigned": ("assigned", lambda n: (normal(n, 5),), [BATCH]),
    "made": ("lambda x: (fz.arange(x.shape[0]), fz.zeros(x.shape), fz.eye(x.shape[0]), "
             "fz.linspace(0, 1, x.shape[0]))", lambda n: (normal(n, 2),), [BATCH]),
}  # fmt: skip


def listed(result):
    if isinstance(result, fz.Tensor):
        return [result.detach()]
    return [] if result is None else [t for part in result for t in listed(part)]


@pytest.mark.parametrize("name", CASES)
def test_dynamic_sizes(name, tmp_path):
    """A size of 0 is an error of the model where the function does other things at 1."""
    text, given, axes = CASES[name]
    fn = eval(text, {"nn": nn, "F": F, "fz": fz, "assigned": assigned})
    fn = fn.eval() if isinstance(fn, nn.Module) else fn
    path, args = tmp_path / "m.onnx", given(3)
    names = [f"x{i}" for i in range(len(args))]
    dynamic = dict(zip(names, axes, strict=True))
    opset = (18, 22)[list(CASES).index(name) % 2]
    fz.onnx.save(fn, args, path, opset=opset, dynamic_axes=dynamic, input_names=names)
    session = onnxruntime.InferenceSession(path)
    for n in (3, 1, 2, 17, 0):
        feed = {k: np.asarray(x) for k, x in zip(names, given(n), strict=True)}
        try:
            expected = listed(fn(*given(n)))
        except (ValueError, IndexError):
            assert n == 0
            continue
        try:
            got = session.run(None, feed)
        except Exception as error:
            assert n == 0 and "a size is not of Dim" in str(error)
            continue
        for e, g in zip(map(np.asarray, expected), got, strict=True):
            assert e.dtype == g.dtype
            np.testing.assert_allclose(g, e, rtol=2e-4, atol=2e-5)


def in_float32(forward, halves):
    """NumPy has no bfloat16."""

    def fn(*args):
        args = [x.astype("bfloat16") if h else x for x, h in zip(args, halves, strict=True)]
        found = listed(forward(*args))
        return tuple(y.astype("float32") if y.dtype == fz.bfloat16 else y for y in found)

    return fn


@pytest.mark.skipif(not NIGHTLY, reason="the cases of tests/nn are of the nightly run")
@pytest.mark.parametrize(
    ("dtype", "opset", "by"),
    [("float32", 18, 1e-4), ("float64", 22, 1e-9), ("float16", 22, 3e-2), ("bfloat16", 18, 0.15)],
)
def test_cases_of_layers(dtype, opset, by, tmp_path):
    """What is refused keeps averages or reads its data, and says so."""
    sys.path.insert(0, str(ROOT / "tests" / "nn"))
    parity = importlib.import_module("test_parity")
    path, saved = tmp_path / "m.onnx", 0
    for case in parity.CASES:
        run = parity.Run(case, dtype)
        halves = [x.dtype == fz.bfloat16 for x in run.inputs]
        run.known = None  # arrays, which nobody compares from call to call
        fn = in_float32(run.forward, halves)
        args = [x.astype("float32") if h else x for x, h in zip(run.inputs, halves, strict=True)]
        names = [f"x{i}" for i in range(len(args))]
        try:
            fz.onnx.save(fn, args, path, opset=opset, pure=True, input_names=names)
        except ValueError as error:
            told = ("writes to a tensor", "reads a tensor's bytes", "results wanted")
            assert any(text in str(error) for text in told), case.name
            continue
        session = onnxruntime.InferenceSession(path)
        taken = {i.name for i in session.get_inputs()}
        feed = {k: np.asarray(x) for k, x in zip(names, args, strict=True) if k in taken}
        for e, g in zip(map(np.asarray, fn(*args)), session.run(None, feed), strict=True):
            assert e.dtype == g.dtype
            np.testing.assert_allclose(g, e, rtol=by, atol=by, err_msg=case.name)
        saved += 1
    assert saved > 0.95 * len(parity.CASES)
