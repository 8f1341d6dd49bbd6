"""fz.quantize: answers stay, memory falls, the report says what it cost."""

import copy
import math
import pickle

import numpy as np
import pytest

import frazil as fz
from frazil import nn


@pytest.fixture(autouse=True)
def seeded():
    fz.random.seed(3)


def network():
    return nn.Sequential(
        nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 32, bias=False), nn.Linear(32, 10)
    )


def cosine(a, b):
    a, b = np.asarray(a, np.float64).ravel(), np.asarray(b, np.float64).ravel()
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def by_hand(layer, x, balance=None, scale=None):
    """The formulas of a layer, in NumPy's float32 and int64."""
    w, b, x = np.asarray(layer.weight), np.asarray(layer.bias), np.asarray(x)
    if balance is not None:
        w, x = w / np.asarray(balance), x * np.asarray(balance)
    rows = np.abs(w).max(1) / np.float32(127)
    q = np.rint(w / rows[:, None]).astype(np.int64)
    if scale is None:
        scale = np.abs(x).max(-1, keepdims=True) / np.float32(127)
    inputs = np.clip(np.rint(x / np.asarray(scale)), -127, 127).astype(np.int64)
    return (inputs @ q.T).astype(np.float32) * (np.asarray(scale) * rows) + b


@pytest.mark.parametrize("shape", [(5, 64), (64,), (2, 3, 64), (1, 64)])
def test_a_layer_is_what_the_formulas_say(shape):
    layer = nn.Linear(64, 48)
    small, _ = fz.quantize(layer)
    x = fz.random.normal(shape)
    want = by_hand(layer, x)
    traced = fz.trace(small)
    for run in (small, traced, traced, traced, traced):
        np.testing.assert_allclose(np.asarray(run(x)), want, rtol=1e-6, atol=1e-6)
    assert small(x).tolist() == traced(x).tolist()
    seen = x * 0.5  # so that some inputs lie beyond
    for dynamic in (True, False):
        small, _ = fz.quantize(layer, calibration=[seen], dynamic=dynamic)
        want = by_hand(layer, x, small.balance, small.input_scale)
        assert (small.input_scale is None) == dynamic
        np.testing.assert_allclose(np.asarray(small(x)), want, rtol=1e-6, atol=1e-6)


def test_a_large_channel_does_not_take_the_bits_of_others():
    layer = nn.Linear(64, 48)
    x = fz.random.normal((200, 64)) * fz.where(fz.arange(64) == 5, 60.0, 1.0)
    plain, _ = fz.quantize(layer)
    balanced, report = fz.quantize(layer, calibration=[x[:100]])
    static, _ = fz.quantize(layer, calibration=[x[:100]], dynamic=False)
    want = layer(x[100:])

    def error(small):
        return float(abs(small(x[100:]) - want).mean())

    assert error(balanced) < error(plain) / 3 and error(static) < error(plain)
    assert balanced.balance[5].item() < balanced.balance[6].item() and report.rows[0].snr > 35
    np.testing.assert_allclose(np.asarray(balanced.weight), np.asarray(layer.weight), atol=0.01)


def test_rows_of_zeros_and_what_is_not_finite():
    layer = nn.Linear(3, 2)
    with fz.no_grad():
        layer.weight[0] = 0.0
    small, _ = fz.quantize(layer)
    x = fz.asarray([[0.0, 0.0, 0.0], [math.nan, 1, 1], [math.inf, 1, 1], [1.0, 2, 3]])
    y = small(x)
    assert y[0].tolist() == layer.bias.tolist() and y[3, 0].item() == layer.bias[0].item()
    assert fz.isnan(y[1:3, 1]).all() and fz.isfinite(y[3]).all()


@pytest.mark.parametrize("options", [{}, {"bits": 16}, {"bits": 16, "storage": "bfloat16"}])
@pytest.mark.parametrize("calibrated", [False, True])
def test_answers_stay_and_memory_falls(options, calibrated):
    model = network()
    before = {name: x.tolist() for name, x in model.state_dict().items()}
    x = fz.random.normal((50, 64))
    calibration = [x[:20], x[20:]] if calibrated else None
    small, report = fz.quantize(model, calibration=calibration, **options)
    assert cosine(small(x), model(x)) > 0.999
    assert {name: x.tolist() for name, x in model.state_dict().items()} == before
    size = sum(t.nbytes for t in small.state_dict().values())
    assert report.bytes_after == size < report.bytes_before / (1.9 if options else 3)
    assert report.bytes_before == sum(t.nbytes for t in model.state_dict().values())
    assert [row.name for row in report.rows] == ["0", "2", "3"]
    assert all(row.of == ("outputs" if calibrated else "weights") for row in report.rows)
    assert all(30 < row.snr < 90 and 0 < row.max_error < 0.1 for row in report.rows)
    assert sum(row.bytes_after for row in report.rows) == size
    text = str(report).splitlines()
    assert text[0].split() == "layer KiB then max error SNR dB of".split() and len(text) == 5
    assert text[-1].split()[0] == "(module)"


@pytest.mark.parametrize("options", [{}, {"bits": 16}, {"dynamic": False}])
def test_a_trained_network_of_digits_keeps_its_answers(options):
    digits = pytest.importorskip("sklearn.datasets").load_digits()
    images, labels = fz.asarray(digits.data, dtype="float32") / 16, fz.asarray(digits.target)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = fz.optim.Adam(model.parameters(), lr=0.01)

    @fz.trace
    def step():
        optimizer.zero_grad()
        nn.cross_entropy(model(images), labels).backward()
        optimizer.step()

    for _ in range(60):
        step()
    small, _ = fz.quantize(model, calibration=[images[:200]], **options)
    want, got = model(images), small(images)
    assert (want.argmax(axis=1) == labels).mean().item() > 0.95
    assert (got.argmax(axis=1) == want.argmax(axis=1)).mean().item() > 0.99
    assert cosine(got, want) > 0.999


def test_the_errors_are_those_of_the_outputs():
    layer = nn.Linear(64, 48)
    x = fz.random.normal((50, 64))
    small, report = fz.quantize(nn.Sequential(layer), calibration=[x])
    error = np.asarray(small(x), np.float64) - np.asarray(layer(x))
    row = report.rows[0]
    assert row.max_error == pytest.approx(np.abs(error).max(), rel=1e-5)
    want = 20 * math.log10(np.linalg.norm(np.asarray(layer(x))) / np.linalg.norm(error))
    assert row.snr == pytest.approx(want, rel=1e-5)


class Text(nn.Module):
    """Layers in dicts and lists, one of them twice."""

    def __init__(self):
        self.tables = {"words": nn.Embedding(30, 16), "places": [nn.Embedding(8, 16)]}
        self.shared = nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16)
        self.again = self.shared

    def forward(self, words):
        x = self.tables["words"](words) + self.tables["places"][0](fz.arange(words.shape[-1]))
        return self.norm(self.again(self.shared(x)))


@pytest.mark.parametrize("bits", [8, 16])
def test_tables_and_layers_that_are_used_twice(bits):
    model = Text()
    words = fz.asarray([[1, 2, 3], [29, 0, 7]])
    small, report = fz.quantize(model, bits=bits, calibration=[(words,)])
    assert cosine(small(words), model(words)) > 0.999
    assert small.again is small.shared and type(model.shared) is nn.Linear
    assert type(small.tables["words"]) is nn.QuantizedEmbedding
    assert small.tables["words"].quantized.dtype.name == ("int8" if bits == 8 else "float16")
    assert [row.name for row in report.rows][:3] == ["tables.words", "tables.places.0", "shared"]
    assert small(words).dtype == fz.float32
    traced = fz.trace(small)
    for _ in range(4):
        assert traced(words).tolist() == small(words).tolist()


def test_sixteen_bits_are_computed_with_as_float32():
    layer = nn.Conv2d(3, 4, 3)
    small, _ = fz.quantize(layer, bits=16)
    stored = nn.Conv2d(3, 4, 3)
    stored.load_state_dict(
        {k: v.astype("float16").astype("float32") for k, v in layer.state_dict().items()}
    )
    x = fz.random.normal((2, 3, 8, 8))
    assert small(x).tolist() == stored(x).tolist() and small(x).dtype == fz.float32
    names = {name: t.dtype.name for name, t in small.state_dict().items()}
    assert set(names.values()) == {"float16"} and all("original" in name for name in names)


@pytest.mark.parametrize("storage", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "layer",
    [nn.Linear(40, 24), nn.Linear(41, 24, bias=False), nn.Conv2d(3, 4, 3, padding=1),
     nn.Conv2d(3, 4, 1, bias=False)],
)  # fmt: skip
def test_sixteen_bits_without_a_trace_and_with_gradients(storage, layer):
    small, _ = fz.quantize(layer, bits=16, storage=storage)
    stored = copy.deepcopy(layer)
    stored.load_state_dict(
        {k: v.astype(storage).astype("float32") for k, v in layer.state_dict().items()}
    )
    traced = fz.trace(small)
    for rows in (1, 5, 40):
        linear = isinstance(layer, nn.Linear)
        x = fz.random.normal((rows, layer.in_features) if linear else (rows, 3, 6, 5))
        want = stored(x).tolist()
        with fz.no_grad():
            for run in (small, small, traced, traced, traced):
                assert run(x).tolist() == want
        y = small(x)
        assert y.tolist() == want and y.requires_grad
        y.sum().backward()
    grads = [p.grad for p in small.parameters()]
    assert all(g is not None and g.dtype.name == storage for g in grads)
    assert small(x.astype("float64")).dtype == stored(x.astype("float64")).dtype
    with fz.no_grad():
        for p in small.parameters():
            p *= 2
        assert small(x).tolist() == (stored(x) * 2).tolist()
    assert pickle.loads(pickle.dumps(small))(x).tolist() == small(x).tolist()


def test_many_rows_and_odd_lengths_of_int8():
    for inside, outside in ((64, 70), (65, 48), (8, 16)):
        layer = nn.Linear(inside, outside)
        small, _ = fz.quantize(layer)
        traced = fz.trace(small)
        for rows in (1, 15, 16, 33, 100):
            x = fz.random.normal((rows, inside))
            np.testing.assert_allclose(
                np.asarray(small(x)), by_hand(layer, x), rtol=1e-5, atol=1e-5
            )
            assert traced(x).tolist() == small(x).tolist()
            assert small(x[:1]).tolist() == small(x)[:1].tolist()


def test_weights_are_what_they_stand_for():
    layer, table = nn.Linear(64, 48), nn.Embedding(30, 16)
    for original in (layer, table):
        small, _ = fz.quantize(original)
        assert small.weight.dtype == fz.float32 and small.quantized.dtype == fz.int8
        most = np.abs(np.asarray(original.weight)).max(axis=1, keepdims=True)
        error = np.abs(np.asarray(small.weight) - np.asarray(original.weight))
        assert (error <= most / 254 * 1.001).all()
    words = fz.asarray([3, 3, 29])
    assert small(words).tolist() == small.weight[words].tolist()


def test_layers_that_stay():
    model = network()
    small, report = fz.quantize(model, skip=["0"])
    assert [row.name for row in report.rows] == ["2", "3"] and type(small[0]) is nn.Linear
    small, report = fz.quantize(model, skip=lambda name, layer: layer.weight.shape[0] == 10)
    assert [row.name for row in report.rows] == ["0", "2"]
    double, report = fz.quantize(nn.Linear(2, 2, dtype="float64"))
    assert report.rows == [] and type(double) is nn.Linear


def test_small_modules_are_copied_pickled_and_loaded(tmp_path):
    model = network()
    small, _ = fz.quantize(model)
    x = fz.random.normal((4, 64))
    want = small(x).tolist()
    assert copy.deepcopy(small)(x).tolist() == want
    assert pickle.loads(pickle.dumps(small))(x).tolist() == want
    fz.save(tmp_path / "small", small.state_dict())
    other, _ = fz.quantize(network())
    other.load_state_dict(fz.load(tmp_path / "small"))
    assert other(x).tolist() == want
    assert "64, 48, dynamic" in repr(small)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"bits": 4}, ValueError, "bits must be 8 or 16, got 4"),
        ({"bits": True}, ValueError, "bits must be 8 or 16, got True"),
        ({"storage": "float16"}, ValueError, "storage"),
        ({"calibration": []}, ValueError, "calibration has no inputs"),
        ({"dynamic": False}, ValueError, "dynamic=False needs 8 bits and calibration data"),
        ({"skip": ["9"]}, ValueError, r"no layer has the name \['9'\]"),
        ({"calibration": [fz.full((1, 64), math.nan)]}, ValueError, "'0' is given nan"),
    ],
)
def test_what_is_wrong(options, error, message):
    with pytest.raises(error, match=r"\[quantize\] .*" + message):
        fz.quantize(network(), **options)


def test_weights_that_are_not_finite():
    model = network()
    with fz.no_grad():
        model[0].weight[0, 0] = math.inf
    with pytest.raises(
        ValueError, match=r"\[quantize\] '0.weight' has elements that are not finite"
    ):
        fz.quantize(model)
    with pytest.raises(TypeError, match="module must be a Module, got int"):
        fz.quantize(3)


@pytest.mark.parametrize(
    "options",
    [{}, {"padding": 1}, {"stride": 2, "padding": (2, 1)}, {"padding": "same", "dilation": 2},
     {"channels_last": True, "bias": False}],
)  # fmt: skip
def test_a_convolution_is_one_of_rounded_images_and_weights(options):
    layer = nn.Conv2d(5, 7, 3, **options)
    small, report = fz.quantize(layer)
    assert type(small) is nn.QuantizedConv2d and report.rows[0].snr > 35
    assert report.bytes_after * 3 < report.bytes_before
    x = fz.random.normal((2, 9, 8, 5) if layer.channels_last else (2, 5, 9, 8))
    scale = abs(x).max(axis=(1, 2, 3), keepdims=True) / 127
    plain = nn.Conv2d(5, 7, 3, **options)
    plain.weight, plain.bias = small.weight, small.bias
    want = np.asarray(plain(fz.round(x / scale) * scale).detach())
    traced = fz.trace(small)
    for run in (small, traced, traced, traced, traced):
        np.testing.assert_allclose(np.asarray(run(x)), want, rtol=1e-5, atol=1e-5)
    assert small(x).tolist() == traced(x).tolist()
    np.testing.assert_allclose(np.asarray(small(x[0])), want[0], rtol=1e-5, atol=1e-5)
    static, report = fz.quantize(layer, calibration=[x * 2], dynamic=False)
    assert static.input_scale.item() == pytest.approx(float(abs(x * 2).max()) / 127)
    assert report.rows[0].of == "outputs" and report.rows[0].snr > 25
    assert pickle.loads(pickle.dumps(static))(x).tolist() == static(x).tolist()


def test_a_report_tells_what_stays_float32():
    model = nn.Sequential(
        nn.Conv2d(4, 4, 3, groups=2), nn.BatchNorm2d(4), nn.Conv2d(4, 6, 1),
        nn.Conv2d(6, 6, 3, padding=1, padding_mode="reflect"),
    )  # fmt: skip
    _, report = fz.quantize(model.eval())
    assert [row.name for row in report.rows] == ["2"]
    assert report.kept == ["0", "1", "3"]
    assert repr(report).endswith("stay float32: 0, 1, 3")
    with pytest.raises(ValueError, match="with 6 channels, channels_last=False, got shape"):
        nn.QuantizedConv2d(nn.Conv2d(6, 2, 3))(fz.ones((1, 5, 8, 8)))
