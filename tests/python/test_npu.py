"""Tensors on the simulated NPU: the bits of the CPU, what the CPU runs instead, and reports."""

import json
import pickle
import threading

import numpy as np
import pytest

import frazil as fz
from frazil import nn, optim


@pytest.fixture(autouse=True)
def checked():
    """Every program runs under the checker."""
    fz.device("npu", preset="dc16", mode="check")
    fz.npu.reset()
    yield
    fz.device("npu", preset="dc16", mode="run")


def randn(*shape, seed=0, dtype="float32"):
    return fz.asarray(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def both(f, *arrays):
    """f on the CPU and on the NPU: equal bits; the NPU's result."""
    want = f(*arrays)
    got = f(*(a.to_device("npu") for a in arrays))
    assert got.device == "npu" and want.device == "cpu"
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
    return got


def train(device, traced, steps, make=optim.SGD, **settings):
    rng = np.random.default_rng(3)
    x = fz.asarray(rng.random((256, 64), dtype=np.float32), device=device)
    y = fz.asarray(rng.integers(0, 10, 256), device=device)
    fz.random.seed(1)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)).to(device)
    optimizer = make(model.parameters(), **settings)

    def step(images, labels):
        loss = nn.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    if traced:
        step = fz.trace(step)
    losses = []
    for i in range(steps):
        at = i * 64 % 256
        losses.append(step(x[at : at + 64], y[at : at + 64]).item())
    return losses, [p.tolist() for p in model.parameters()]


@pytest.mark.parametrize(
    "make, settings",
    [(optim.SGD, {"lr": 0.1, "momentum": 0.9}), (optim.Adam, {"lr": 0.01})],
    ids=["sgd", "adam"],
)
def test_training_has_the_bits_of_the_cpu(make, settings):
    want = train("cpu", False, 200, make, **settings)
    assert train("npu", False, 200, make, **settings) == want
    assert train("npu", True, 200, make, **settings) == want
    assert want[0][-1] < want[0][0]


def test_ops_have_the_bits_of_the_cpu():
    a, b = randn(33, 17), randn(17, 21, seed=1)
    both(lambda a, b: a @ b, a, b)
    both(lambda a: nn.softmax(a, -1), a)
    both(lambda a: a.sum(0), a)
    both(lambda a: a.sum(1), a)
    both(lambda a: a.T * 2 + a.T[:, :1], a)
    both(lambda a: nn.layer_norm(a), a)
    both(lambda a: fz.where(a > 0, fz.exp(a), fz.tanh(a)), a)
    both(lambda a: a.astype("float16") * a.astype("float16"), a)
    assert not fz.npu.fallbacks()


def test_products_of_views_have_the_bits_of_the_cpu():
    a, b, bias = randn(12, 17), randn(17, 12, seed=1), randn(12, seed=2)
    batch = randn(2, 3, 12, 17, seed=3)
    views = (
        lambda a, b, bias: nn.relu(a[::-1] @ b + bias),
        lambda a, b, bias: nn.relu(b.T @ a.T + bias),
        lambda a, b, bias: nn.relu(a[::2] @ b[:, 5:] + bias[5:]),
        lambda a, b, bias: nn.relu(a[:1] @ b[:, ::-1] + bias),
    )
    for view in views:
        both(view, a, b, bias)
        both(fz.trace(view), a, b, bias)
    both(lambda x, y: x @ y, batch, b)
    both(lambda x, y: x[:, ::-1] @ y, batch, batch[0].mT)
    both(lambda x, y: x[:, :, ::-1] @ y, batch[:1], batch[:, :1].mT)


def test_long_axes():
    both(lambda a: a.sum(), randn(3, 10_000))
    both(lambda a: a.sum(-1), randn(3, 10_000))
    both(lambda a: a.sum(0), randn(10_000, 3))
    both(lambda a: a.max(-1), randn(2, 70_000))


def test_what_the_npu_lacks_runs_on_the_cpu_and_is_counted():
    x = randn(4, 4, dtype="float64").to_device("npu")
    y = x * 2
    assert y.device == "npu" and y.tolist() == (x.to_device("cpu") * 2).tolist()
    (fallback,) = fz.npu.fallbacks()
    assert fallback.name == "k_multiply" and "f64" in fallback.reason and fallback.count == 1
    assert "CPU operators 1" in fz.npu.report()


def test_gradients():
    w = randn(17, 5)

    def loss(w, a):
        return (nn.relu(a @ w).sum() * 2).sum()

    a = randn(33, 17, seed=2)
    want = fz.grad(loss)(w, a)
    got = fz.grad(loss)(w.to_device("npu"), a.to_device("npu"))
    assert got.device == "npu"
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
    leaf = fz.asarray(w, device="npu", requires_grad=True)
    (leaf * 3).sum().backward()
    assert leaf.grad.device == "npu" and leaf.grad.tolist() == np.full((17, 5), 3.0).tolist()


def test_gradients_flow_through_transfers():
    x = fz.asarray([1.0, 2.0], requires_grad=True)
    y = (x.to_device("npu") * 3).to_device("cpu")
    y.sum().backward()
    assert x.grad.device == "cpu" and x.grad.tolist() == [3.0, 3.0]


def test_traced_functions():
    @fz.trace
    def f(x):
        y = x * 2 + 1
        if y.sum() > 0:
            return fz.exp(y)
        return -y

    x = randn(8, 8)
    for scale in (1, -1, 1, -1):
        both(f, x * scale)
    assert f.stats()["plans"] > 0


def test_mixing_devices_is_an_error():
    x = fz.ones(3)
    with pytest.raises(ValueError, match="different devices: cpu and npu; move one with"):
        x + x.to_device("npu")
    assert (x.to_device("npu") + 1).tolist() == [2.0, 2.0, 2.0]
    assert (x.to_device("npu") + fz.asarray(1.0)).device == "npu"


def test_creation():
    for t in (
        fz.zeros((2, 2), device="npu"),
        fz.full(3, 7, device="npu"),
        fz.arange(5, device="npu"),
        fz.zeros_like(fz.ones(3, device="npu")),
        fz.random.uniform(4, device="npu"),
        fz.asarray([1, 2], device="npu"),
    ):
        assert t.device == "npu"
    assert fz.ones_like(fz.ones(3, device="npu"), device="cpu").device == "cpu"
    t = fz.ones(2, device="npu", requires_grad=True)
    assert t.requires_grad and t.is_leaf
    with pytest.raises(ValueError, match="copy=False"):
        fz.asarray(fz.ones(3), device="npu", copy=False)


def test_indexing():
    x = randn(5, 4).to_device("npu")
    assert x[[0, 2]].tolist() == x.to_device("cpu")[[0, 2]].tolist()
    assert x[x > 0].tolist() == x.to_device("cpu")[x.to_device("cpu") > 0].tolist()
    x[1] = 0
    x[2, :2] = fz.asarray([1.0, 2.0], device="npu")
    assert x.device == "npu" and x[1].tolist() == [0.0] * 4 and x[2, :2].tolist() == [1.0, 2.0]
    assert fz.sort(x, axis=0).device == "npu"


def test_modules_move_in_place():
    model = nn.Linear(3, 2)
    weight = model.weight
    weight.grad = fz.ones((2, 3)) if weight.shape == (2, 3) else fz.ones((3, 2))
    assert model.to("npu") is model and model.weight is weight
    assert weight.device == "npu" and weight.grad.device == "npu" and weight.is_leaf
    assert model(fz.ones((1, 3), device="npu")).device == "npu"


def test_gradients_of_indexing():
    def loss(w):
        y = w[fz.asarray([0, 2, 2])] * 2
        return (
            (y * y).sum() + fz.take(w, fz.asarray([1]), axis=1).sum() + fz.sort(w, axis=0)[0].sum()
        )

    w = randn(4, 3)
    want = fz.grad(loss)(w)
    for f in (loss, fz.trace(loss)):
        for _ in range(2):
            got = fz.grad(f)(w.to_device("npu"))
            assert got.device == "npu" and got.tolist() == want.tolist()
    table = nn.Embedding(5, 3).to("npu")
    table(fz.asarray([1, 1, 4])).sum().backward()
    assert table.weight.grad.device == "npu" and table.weight.grad.sum().item() == 9.0


def test_results_stay_on_the_device():
    x = fz.asarray([1, 2], device="npu")
    assert fz.isnan(x).device == fz.isfinite(x).device == "npu"
    u = fz.asarray(np.array([1, 2], np.uint8), device="npu")
    assert (u == -1).device == (u < 300).device == "npu" and (u < 300).tolist() == [True, True]
    fz.random.seed(3)
    assert nn.Dropout(0.5)(fz.ones((5, 7), device="npu")).device == "npu"
    y = fz.ones((2, 3), device="npu")
    y[y < -1] = 0
    y[0:0] = 1
    assert y.tolist() == [[1.0] * 3] * 2
    logits = fz.ones((2, 3), device="npu")
    assert nn.cross_entropy(logits, fz.asarray([0, 2])).device == "npu"
    copy = pickle.loads(pickle.dumps(logits))
    assert copy.device == "npu" and copy.tolist() == logits.tolist()


def test_wrong_use_is_told():
    x = fz.ones(3, device="npu")
    for f in (lambda: x.to_device(None), lambda: nn.Linear(1, 1).to(None), lambda: fz.npu.report(3),
              lambda: fz.device("npu", preset=3), lambda: fz.device("npu", mode=1)):  # fmt: skip
        with pytest.raises(TypeError, match="device|report|preset|mode"):
            f()
    with pytest.raises(ValueError, match="copy=False"):
        fz.asarray(np.ones(3), device="npu", copy=False)
    with pytest.raises(IndexError, match="kernel -1"):
        fz.npu.timeline("never", kernel=-1)
    leaf = fz.ones(3, device="npu", requires_grad=True)
    with pytest.raises(ValueError, match="gradient is on cpu, the tensor on npu"):
        leaf.grad = fz.ones(3)
    with pytest.raises(ValueError, match="gradient is on cpu"):
        (leaf * 2).backward(fz.ones(3))
    before = fz.npu.transfers()
    fz.device("npu")
    assert fz.npu.transfers() == before


def test_presets_change_while_others_compute():
    small = {"base": "dc16", "ub_bytes": 16384}
    x = randn(64, 70).to_device("npu")
    want = (fz.tanh(x) * 2).tolist()
    stop = threading.Event()

    def change():
        while not stop.is_set():
            fz.device("npu", preset=small)
            fz.device("npu", preset="edge16")
            fz.device("npu", preset="dc16")

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(100):
            assert (fz.tanh(x) * 2).tolist() == want
    finally:
        stop.set()
        thread.join()
    fz.npu.report()


def test_what_follows_a_product_and_stays_on_the_cpu_is_counted():
    f = fz.trace(lambda x: fz.tanh(x @ x + 1))
    x = randn(40, 40)
    for _ in range(2):
        both(f, x)
    fz.device("npu", preset={"base": "dc16", "ub_bytes": 1024})
    both(f, x)
    assert {k.name for k in fz.npu.fallbacks()} == {
        "matmul f32 batches 1 m 40 n 40 k 40",
        "k_add_tanh",
    }


@pytest.mark.parametrize("numbers", [28, 29, 30, 31, 60, 300])
def test_many_numbers_behind_a_product(numbers):
    """A program has 32 parameters: beyond, the numbers' kernel is one of its own, or the CPU's."""

    def f(b, *offsets):
        v = b.T @ b
        for i in range(numbers // 2):
            v = v * 0.5 + i
        for x in offsets:
            v = v + x
        return v * 0.25 if numbers % 2 else v

    b = randn(8, 8)
    for more in ((), (randn(8, 1, seed=1), randn(8, seed=2), randn(8, 8, seed=3))):
        traced = fz.trace(f, proof=False)
        for _ in range(2):
            fz.npu.reset()
            both(traced, b, *more)
        assert fz.npu.kernels()
        assert all("more than 32 parameters" in k.reason for k in fz.npu.fallbacks())
        assert bool(fz.npu.fallbacks()) == (2 + numbers + len(more) > 32)


def test_dlpack_has_no_name_for_it():
    with pytest.raises(BufferError, match="to_device"):
        np.from_dlpack(fz.ones(3, device="npu"))
    assert np.asarray(fz.ones(3, device="npu")).tolist() == [1.0] * 3


def test_transfers_are_counted():
    x = fz.ones(1024, device="npu")
    assert fz.npu.transfers() == (4096, 0)
    x.tolist()
    assert fz.npu.transfers() == (4096, 4096)
    fz.npu.report()
    fz.npu.reset()
    assert fz.npu.transfers() == (0, 0)


def test_reports(tmp_path):
    x = randn(256, 256).to_device("npu")
    (x @ x + 1).tolist()
    text = fz.npu.report()
    assert "matmul" in text and "Cycle-approximate model" in text
    report = json.loads(fz.npu.report("json"))
    assert report["schema"] >= 1 and len(report["kernels"]) == 2
    assert [k.name for k in fz.npu.kernels()] == ["matmul_f32", "k_add"]
    fz.npu.timeline(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    fz.npu.timeline(tmp_path / "trace.csv", kernel=1)
    assert "VBIN" in (tmp_path / "trace.csv").read_text()
    assert "<svg" in fz.npu.report("svg")
    with pytest.raises(ValueError, match="format is"):
        fz.npu.report("xml")
    with pytest.raises(IndexError):
        fz.npu.timeline(tmp_path / "none.json", kernel=9)


def test_reports_are_the_same_each_time():
    def run():
        fz.npu.reset()
        x = randn(100, 30).to_device("npu")
        nn.softmax(x @ x.T, -1).tolist()
        return fz.npu.report("json")

    assert run() == run()


def test_presets():
    x = randn(64, 64)
    cycles = {}
    for preset in ("dc16", "edge16", {"base": "dc16", "gm_latency": 800}):
        fz.device("npu", preset=preset, mode="check")
        fz.npu.reset()
        both(lambda x: x @ x + x, x)
        report = json.loads(fz.npu.report("json"))
        cycles[str(preset)] = sum(k["timing"]["cycles"] for k in report["kernels"])
    assert len(set(cycles.values())) == 3
    assert fz.npu.preset()["gm_latency"] == 800
    with pytest.raises(ValueError, match="dc16"):
        fz.device("npu", preset="dc17")
    with pytest.raises(ValueError, match="check"):
        fz.device("npu", mode="fast")
    with pytest.raises(ValueError, match="only 'npu'"):
        fz.device("cpu", mode="run")
    with pytest.raises(ValueError, match="unknown device"):
        fz.device("tpu")
    assert fz.device("cpu") == "cpu"


def test_products_take_what_follows_with_them():
    x, w, b = randn(70, 40), randn(40, 50, seed=1), randn(50, seed=2)
    layer = fz.trace(lambda x, w, b: nn.relu(x @ w + b))
    for _ in range(2):
        both(layer, x, w, b)
    fz.npu.reset()
    both(layer, x, w, b)
    (kernel,) = fz.npu.kernels()
    assert kernel.name.startswith("matmul_f32_k_")
    # A product that is wanted itself stays a kernel of its own.
    pair = fz.trace(lambda x, w, b: (x @ w, x @ w + b))
    for _ in range(2):
        fz.npu.reset()
        product, shifted = pair(*(t.to_device("npu") for t in (x, w, b)))
    assert len(fz.npu.kernels()) == 2
    np.testing.assert_array_equal(np.asarray(product), np.asarray(x @ w))
    np.testing.assert_array_equal(np.asarray(shifted), np.asarray(x @ w + b))
    # With a preset that lacks the room they run one after the other.
    fz.device("npu", preset="edge16")
    both(layer, x, w, b)
