"""Modules, layers and the functions of nn; data and files."""

import numpy as np
import pytest

import frazil as fz
from frazil import nn


class Net(nn.Module):
    def __init__(self):
        self.first = nn.Linear(3, 4)
        self.blocks = [nn.Linear(4, 4, bias=False), nn.LayerNorm(4)]
        self.heads = {"out": nn.Linear(4, 2)}
        self.shared = self.first
        self.scale = fz.ones((), requires_grad=True)
        self.register_buffer("count", fz.zeros((), dtype="int64"))

    def forward(self, x):
        for layer in (self.first, *self.blocks, self.heads["out"]):
            x = layer(x)
        return x * self.scale


def test_walking():
    net = Net()
    names = [name for name, _ in net.named_parameters()]
    assert names == [
        "first.weight", "first.bias", "blocks.0.weight", "blocks.1.weight", "blocks.1.bias",
        "heads.out.weight", "heads.out.bias", "scale",
    ]  # fmt: skip
    assert len(net.parameters()) == 8 and [n for n, _ in net.named_buffers()] == ["count"]
    net.eval()
    assert not net.blocks[1].training and net.train().blocks[1].training
    assert net(fz.ones((5, 3))).shape == (5, 2)
    assert "(first): Linear(3, 4)" in repr(net)


def test_repr_shows_every_module():
    class Deep(nn.Module):
        def __init__(self):
            self.net = Net()
            self.nested = {"a": [nn.Dropout(0.25), {"b": nn.GELU("tanh")}], "n": 3}
            self.rest = (nn.Embedding(5, 2), nn.ReLU())

    assert repr(Deep()) == (
        "Deep(\n"
        "  (net): Net(\n"
        "    (first): Linear(3, 4)\n"
        "    (blocks.0): Linear(4, 4, bias=False)\n"
        "    (blocks.1): LayerNorm(4, eps=1e-05)\n"
        "    (heads.out): Linear(4, 2)\n"
        "    (shared): Linear(3, 4)\n"
        "  )\n"
        "  (nested.a.0): Dropout(p=0.25)\n"
        "  (nested.a.1.b): GELU(approximate='tanh')\n"
        "  (rest.0): Embedding(5, 2)\n"
        "  (rest.1): ReLU()\n"
        ")"
    )


@pytest.mark.parametrize(
    "to",
    [("float64",), (fz.float64,), (np.float64,), (float,), ("cpu", "float64"), (None, fz.float64)],
)
def test_to_a_dtype(to):
    net = Net()
    x = fz.ones((2, 3), dtype="float64")
    net(fz.ones((2, 3))).sum().backward()
    before = net.state_dict()
    gradient = net.first.weight.grad
    cell = net.first.weight
    assert net.to(*to) is net and net.first.weight is cell
    assert {p.dtype for p in net.parameters()} == {fz.float64} and net.count.dtype is fz.int64
    assert all(p.requires_grad and p.is_leaf for p in net.parameters())
    assert net.first.weight.grad.dtype is fz.float64
    np.testing.assert_array_equal(np.asarray(net.first.weight.grad), np.asarray(gradient))
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(np.asarray(value), np.asarray(before[name]))
    net.zero_grad()
    net(x).sum().backward()
    assert net(x).dtype is fz.float64 and net.scale.grad.dtype is fz.float64
    optimizer = fz.optim.Adam(net.parameters())
    optimizer.step()
    assert net.first.weight.dtype is fz.float64
    assert net.to(dtype="float32").scale.dtype is fz.float32


def test_to_something_else():
    net = Net()
    before = {name: t.tolist() for name, t in net.state_dict().items()}
    for wrong, message in [
        (("int32",), r"\[to\] dtype must be a floating-point one, got 'int32'"),
        ((fz.bool,), r"\[to\] dtype must be a floating-point one, got frazil\.bool"),
        (("float63",), r"\[to\] .*float63"),
        ((3,), r"is no dtype of frazil"),
        (("cpu", "cpu"), r"is no dtype of frazil"),
        ((), r"\[to\] needs a device, a dtype or both, got None\."),
        (("tpu", "float64"), r"\[to\] .*tpu"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            net.to(*wrong)
        assert {name: t.tolist() for name, t in net.state_dict().items()} == before
        assert net.scale.dtype is fz.float32


def test_state_is_a_snapshot_and_loads():
    net, other = Net(), Net()
    state = net.state_dict()
    x = fz.ones((1, 3))
    before = net(x).tolist()
    with fz.no_grad():
        for p in net.parameters():
            p += 1
    other.load_state_dict(state)
    assert other(x).tolist() == before != net(x).tolist()
    assert all(p.requires_grad for p in other.parameters())
    with pytest.raises(ValueError, match=r"missing: \['scale'\]"):
        other.load_state_dict({k: v for k, v in state.items() if k != "scale"})
    with pytest.raises(ValueError, match="scale has shape"):
        other.load_state_dict(state | {"scale": fz.ones(2)})


def test_zero_grad():
    net = Net()
    net(fz.ones((1, 3))).sum().backward()
    assert net.scale.grad is not None
    net.zero_grad()
    assert net.scale.grad is None


def softmax(a):
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_functions_agree_with_their_formulas():
    fz.random.seed(0)
    x = fz.random.normal((4, 5), dtype="float64")
    a = np.asarray(x)
    labels = np.array([0, 4, 2, 2])
    cases = {
        "relu": (nn.relu(x), np.maximum(a, 0)),
        "sigmoid": (nn.sigmoid(x), 1 / (1 + np.exp(-a))),
        "silu": (nn.silu(x), a / (1 + np.exp(-a))),
        "softplus": (nn.softplus(x), np.log1p(np.exp(a))),
        "softmax": (nn.softmax(x), softmax(a)),
        "softmax0": (nn.softmax(x, axis=0), softmax(a.T).T),
        "log_softmax": (nn.log_softmax(x), np.log(softmax(a))),
        "layer_norm": (
            nn.layer_norm(x, eps=0.0), (a - a.mean(-1, keepdims=True)) / a.std(-1, keepdims=True)
        ),
        "cross_entropy": (
            nn.cross_entropy(x, labels), -np.log(softmax(a))[np.arange(4), labels].mean()
        ),
        "mse_loss": (nn.mse_loss(x, x * 0), (a * a).mean()),
        "gelu": (
            nn.gelu(x, approximate="tanh"),
            0.5 * a * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3))),
        ),
        "attention": (nn.attention(x, x, x, scale=0.5), softmax(a @ a.T * 0.5) @ a),
    }  # fmt: skip
    for name, (got, wanted) in cases.items():
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-10, atol=1e-12, err_msg=name)
    with pytest.raises(ValueError, match='approximate must be "none" or "tanh", got "fast"'):
        nn.gelu(x, approximate="fast")


@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, 1), ((1, 2), (0, 2))])
def test_conv2d(stride, padding):
    fz.random.seed(0)
    x, w = fz.random.normal((2, 6, 7, 3)), fz.random.normal((3, 2, 3, 4))
    a, k = np.asarray(x), np.asarray(w)
    (sh, sw), (ph, pw) = [(v, v) if isinstance(v, int) else v for v in (stride, padding)]
    a = np.pad(a, ((0, 0), (ph, ph), (pw, pw), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(a, (3, 2), axis=(1, 2))[:, ::sh, ::sw]
    wanted = np.einsum("nhwcij,ijco->nhwo", windows, k)
    got = nn.conv2d(x, w, stride=stride, padding=padding)
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-4, atol=1e-5)
    nchw = nn.conv2d(
        x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), stride=stride, padding=padding, layout="NCHW"
    )
    np.testing.assert_array_equal(np.asarray(nchw.permute(0, 2, 3, 1)), np.asarray(got))


def test_conv2d_is_a_product_of_windows():
    """Bit for bit, eager and traced, and for its gradients."""
    fz.random.seed(1)
    x, w = fz.random.normal((2, 9, 8, 5)), fz.random.normal((3, 3, 5, 4))

    def product(x, w):
        p = fz.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        parts = [p[:, i : i + 9, j : j + 8] for i in range(3) for j in range(3)]
        return fz.concat(parts, 3).reshape(-1, 45) @ w.reshape(45, 4)

    convolve = lambda x, w: nn.conv2d(x, w, padding=1).reshape(-1, 4)  # noqa: E731
    wanted = np.asarray(product(x, w))
    for f in (convolve, fz.trace(convolve)):
        for _ in range(3):
            np.testing.assert_array_equal(np.asarray(f(x, w)), wanted)
    gradients = [fz.grad(lambda w, f=f: (f(x, w) * 0.5).sum())(w) for f in (convolve, product)]
    np.testing.assert_array_equal(*map(np.asarray, gradients))


@pytest.mark.parametrize("stride", [1, 2, 3, (2, 1), (1, 3)])
@pytest.mark.parametrize("kernel", [(3, 3), (1, 1), (2, 5)])
def test_gradient_of_conv2d_to_the_image(stride, kernel):
    """Each output's gradient times the kernel goes where its window was; small integers, exact."""
    rng = np.random.default_rng(3)
    for dilation, padding, size in [(1, 1, (9, 8)), (2, (2, 3), (10, 11)), (3, 4, (8, 15))]:
        w = rng.integers(-3, 4, (*kernel, 3, 4)).astype(np.float32)
        x = fz.asarray(rng.integers(-3, 4, (2, *size, 3)).astype(np.float32)).requires_grad_()
        y = nn.conv2d(x, fz.asarray(w), stride=stride, padding=padding, dilation=dilation)
        g = rng.integers(-3, 4, y.shape).astype(np.float32)
        y.backward(fz.asarray(g))
        (sh, sw), (ph, pw), _ = ((v, v) if isinstance(v, int) else v for v in (stride, padding, 0))
        wanted = np.zeros((2, size[0] + 2 * ph, size[1] + 2 * pw, 3), np.float32)
        for i, j in np.ndindex(kernel):
            part = wanted[:, i * dilation :: sh, j * dilation :: sw]
            part[:, : g.shape[1], : g.shape[2]] += g @ w[i, j].T
        wanted = wanted[:, ph : ph + size[0], pw : pw + size[1]]
        np.testing.assert_array_equal(np.asarray(x.grad), wanted)


def test_a_stride_adds_no_products_to_the_gradient_of_conv2d():
    """An infinite weight meets the gradients of its outputs, no zeros between them."""
    x, w = fz.ones((1, 4, 4, 1)).requires_grad_(), np.ones((2, 2, 1, 1), np.float32)
    w[0, 1] = np.inf
    nn.conv2d(x, fz.asarray(w), stride=2).sum().backward()
    wanted = np.tile(w[:, :, 0, 0], (2, 2))[None, :, :, None]
    np.testing.assert_array_equal(np.asarray(x.grad), wanted)


def test_conv2d_groups_and_errors():
    fz.random.seed(2)
    x, w = fz.random.normal((1, 5, 5, 4)), fz.random.normal((2, 2, 2, 6))
    apart = [nn.conv2d(x[..., 2 * i : 2 * i + 2], w[..., 3 * i : 3 * i + 3]) for i in (0, 1)]
    got = nn.conv2d(x, w, groups=2)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(fz.concat(apart, 3)))
    for options, text in [
        ({}, "channels differ"),
        ({"groups": 3}, "3 groups of 2 channels do not fit"),
        ({"groups": 2, "stride": 0}, "stride and dilation must be at least 1"),
        ({"groups": 2, "padding": -1}, "padding must not be negative"),
        ({"groups": 2, "dilation": 5}, "does not fit 5 elements"),
        ({"groups": 2, "layout": "CHWN"}, "layout must be"),
        ({"groups": 2, "stride": (1, 2, 3)}, "takes one number or two"),
    ]:
        with pytest.raises(ValueError, match=text):
            nn.conv2d(x, w, **options)
        if options.get("groups") == 2:
            with pytest.raises(ValueError, match=text):
                nn.conv2d(x, w[:, :, :1, :4], **options | {"groups": 4})
    with pytest.raises(ValueError, match="needs four axes"):
        nn.conv2d(x[0], w)


@pytest.mark.parametrize(
    ("outputs", "kernel"), [(1, (3, 3)), (1, (2, 5)), (2, (3, 1)), (5, (3, 3))]
)
def test_conv2d_of_a_channel_in_each_group(outputs, kernel):
    """What convolutions of the channels by themselves give, eager and traced, with gradients."""
    rng = np.random.default_rng(4)
    for stride, dilation, padding, dtype in [
        (1, 1, 1, "float32"), (2, 1, (2, 0), "float64"), ((1, 3), 2, 2, "float32"),
        (2, 1, 1, "float16"), (1, 1, 0, "int32"),
    ]:  # fmt: skip
        x = fz.asarray(rng.integers(-3, 4, (2, 9, 10, 6))).astype(dtype)
        w = fz.asarray(rng.integers(-3, 4, (*kernel, 1, 6 * outputs))).astype(dtype)
        options = {"stride": stride, "dilation": dilation, "padding": padding}

        def whole(x, w, options=options):
            return nn.conv2d(x, w, groups=6, **options)

        def apart(x, w, options=options):
            parts = [
                nn.conv2d(x[..., i : i + 1], w[..., outputs * i : outputs * (i + 1)], **options)
                for i in range(6)
            ]
            return fz.concat(parts, 3)

        wanted = np.asarray(apart(x, w))  # of small integers: exact
        for call in (whole, fz.trace(whole)):
            for _ in range(3):
                got = call(x, w)
                assert got.dtype == x.dtype
                np.testing.assert_array_equal(np.asarray(got), wanted)
        if dtype == "int32":
            continue
        g = fz.asarray(rng.integers(-2, 3, wanted.shape)).astype(dtype)
        for i in (0, 1):
            gradients = [
                fz.grad(lambda *p, f=f, g=g: (f(*p) * g).astype("float64").sum(), argnums=i)(x, w)
                for f in (whole, apart)
            ]
            np.testing.assert_array_equal(*map(np.asarray, gradients))


def test_dropout_and_embedding():
    drop = nn.Dropout(0.5)
    fz.random.seed(0)
    y = np.asarray(drop(fz.ones((1000,))))
    assert set(y.tolist()) == {0.0, 2.0} and 400 < (y == 0).sum() < 600
    assert drop.eval()(fz.ones(3)).tolist() == [1, 1, 1]
    table = nn.Embedding(5, 2)
    i = fz.asarray([[0, 4], [1, 1]])
    np.testing.assert_array_equal(np.asarray(table(i)), np.asarray(table.weight)[np.asarray(i)])
    table(i).sum().backward()
    assert table.weight.grad.tolist() == [[1, 1], [2, 2], [0, 0], [0, 0], [1, 1]]


def test_batches():
    x, y = fz.arange(10), fz.arange(10) * 2
    parts = list(fz.data.batches(x, y, batch_size=4, shuffle=True, seed=1))
    assert [len(p[0]) for p in parts] == [4, 4, 2]
    assert sorted(sum((p[0].tolist() for p in parts), [])) == list(range(10))
    assert all((p[1] == p[0] * 2).all() for p in parts)
    assert len(list(fz.data.batches(x, batch_size=4, drop_last=True))) == 2
    with pytest.raises(ValueError, match="lengths differ"):
        list(fz.data.batches(x, fz.arange(3), batch_size=1))


def test_files(tmp_path):
    path = tmp_path / "state.fzt"
    tree = {"w": fz.arange(6).reshape(2, 3).T, "l": [fz.ones(1, dtype="bfloat16"), (1, "a", None)]}
    fz.save(path, tree)
    back = fz.load(path)
    assert back["w"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert back["l"][0].dtype is fz.bfloat16 and back["l"][1] == (1, "a", None)
    data = path.read_bytes()
    for damaged in (b"", b"FZT1" + data[4:], data[:-5], data[:30]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"\[load\]"):
            fz.load(path)
    with pytest.raises(FileNotFoundError, match="No such file"):
        fz.load(tmp_path / "missing")
    with pytest.raises(TypeError, match="cannot save object at 'x'"):
        fz.save(path, {"x": object()})
