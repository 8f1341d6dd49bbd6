"""fz.amp.autocast: the dtypes are PyTorch's, eager and traced bits equal, gradients flow."""

import threading

import numpy as np
import pytest

import frazil as fz
from frazil import amp, nn, optim
from frazil.nn import functional as F


def x(*shape, dtype="float32"):
    return fz.asarray(np.cos(np.arange(np.prod(shape))).reshape(shape), dtype=dtype)


A, H = x(3, 4), x(3, 4, dtype="bfloat16")
IMAGE, LABELS = x(1, 3, 6, 6), fz.asarray([0, 3, 1])

# What is called on a float32 and on a bfloat16 operand, and the dtypes that PyTorch 2.13 gives
# under torch.autocast("cpu"), and by the list of torch.autocast("cuda", torch.bfloat16).
f, h = "float32", "bfloat16"
CASES = [
    (lambda a: a @ a.T, (h, h), (h, h)),
    (lambda a: fz.matmul(a, a.T), (h, h), (h, h)),
    (lambda a: fz.einsum("ij,kj->ik", a, a), (h, h), (h, h)),
    (lambda a: F.linear(a, x(2, 4), x(2)), (h, h), (h, h)),
    (lambda a: nn.attention(a, a, a), (h, h), (h, h)),
    (lambda a: F.scaled_dot_product_attention(a, a, a), (h, h), (h, h)),
    (lambda a: F.prelu(a, x(1)), (h, h), (h, h)),
    (lambda a: a + a, (f, h), (f, h)),
    (lambda a: a + x(3, 4), (f, f), (f, f)),
    (lambda a: fz.concat([a, x(3, 4)]), (f, f), (f, f)),
    (lambda a: F.relu(a), (f, h), (f, h)),
    (lambda a: F.gelu(a), (f, h), (f, h)),
    (lambda a: fz.tanh(a), (f, h), (f, h)),
    (lambda a: fz.mean(a), (f, h), (f, h)),
    (lambda a: fz.exp(a), (f, h), (f, f)),
    (lambda a: fz.log(a * a), (f, h), (f, f)),
    (lambda a: a**2, (f, h), (f, f)),
    (lambda a: fz.sum(a), (f, h), (f, f)),
    (lambda a: a.sum(), (f, h), (f, f)),
    (lambda a: fz.prod(a), (f, f), (f, f)),
    (lambda a: fz.cumulative_sum(a, axis=0), (f, h), (f, f)),
    (lambda a: F.softmax(a, 1), (f, h), (f, f)),
    (lambda a: F.log_softmax(a, 1), (f, h), (f, f)),
    (lambda a: F.layer_norm(a, (4,), x(4), x(4)), (f, h), (f, f)),
    (lambda a: F.group_norm(a, 2, x(4), x(4)), (f, h), (f, f)),
    (lambda a: F.batch_norm(a, fz.zeros(4), fz.ones(4), x(4), x(4)), (f, h), (f, h)),
    (lambda a: F.mse_loss(a, a * 2), (f, f), (f, f)),
    (lambda a: F.l1_loss(a, a * 2), (f, f), (f, f)),
    (lambda a: F.cross_entropy(a, LABELS), (f, f), (f, f)),
    (lambda a: F.nll_loss(a, LABELS), (f, f), (f, f)),
    (lambda a: F.huber_loss(a, a * 2), (f, f), (f, f)),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_dtypes_are_pytorchs(number):
    call, cpu, cuda = CASES[number]
    for device, want in (("cpu", cpu), ("cuda", cuda)):
        with amp.autocast(device, "bfloat16"):
            assert (call(A).dtype.name, call(H).dtype.name) == want, device
    assert call(A).dtype.name == f


@pytest.mark.parametrize(
    "layer", [nn.Conv2d(3, 2, 3), nn.ConvTranspose2d(3, 2, 3), nn.Conv2d(3, 3, 3, groups=3)]
)
def test_convolutions_give_16_bits_and_float32_gradients(layer):
    with fz.autocast("cpu"):
        y = layer(IMAGE)
    assert y.dtype.name == h
    y.astype("float32").sum().backward()
    assert layer.weight.grad.dtype.name == layer.bias.grad.dtype.name == f
    np.testing.assert_allclose(y.astype("float32"), layer(IMAGE).detach(), atol=0.05)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_compute_in_16_bits(kind):
    layer = getattr(nn, kind)(4, 5, num_layers=2, bidirectional=True)
    with amp.autocast("cpu"):
        y, _ = layer(x(6, 2, 4))
    assert y.dtype.name == h
    y.astype("float32").sum().backward()
    assert all(p.grad.dtype.name == f for p in layer.parameters())
    np.testing.assert_allclose(y.astype("float32"), layer(x(6, 2, 4))[0].detach(), atol=0.05)


def test_other_dtypes_stay_and_inner_blocks_rule():
    double, whole = x(2, 2, dtype="float64"), fz.asarray([[1, 2], [3, 4]])
    with amp.autocast("cpu"):
        assert (double @ double).dtype.name == "float64" and (whole @ whole).dtype.name == "int64"
        with amp.autocast("cpu", enabled=False):
            assert (A @ A.T).dtype.name == f and not amp.is_autocast_enabled()
        with amp.autocast("cuda"):
            assert (A @ A.T).dtype.name == "float16"
        assert (A @ A.T).dtype.name == h and amp.is_autocast_enabled()
        seen = []
        thread = threading.Thread(target=lambda: seen.append(amp.is_autocast_enabled()))
        thread.start(), thread.join()
        assert seen == [False]
    decorated = amp.autocast("cpu")(lambda a: a @ a.T)
    assert decorated(A).dtype.name == h and (A @ A.T).dtype.name == f
    with pytest.raises(ZeroDivisionError), amp.autocast("cpu"):
        raise ZeroDivisionError
    assert not amp.is_autocast_enabled()


def test_backward_inside_and_outside_are_the_same():
    def gradients(inside):
        w, b = x(4, 4).requires_grad_(), x(4).requires_grad_()
        with amp.autocast("cuda", "bfloat16"):
            loss = (F.softmax(F.linear(fz.tanh(A @ w), w, b), 1) ** 2).sum() + fz.exp(w).mean()
            if inside:
                loss.backward()
        if not inside:
            loss.backward()
        return [np.asarray(t.grad).tobytes() for t in (w, b)], loss.dtype.name

    assert gradients(True) == gradients(False) and gradients(True)[1] == f


def test_function_style_gradients_and_vmap():
    def loss(w, a):
        with amp.autocast("cpu"):
            return F.mse_loss(a @ w, fz.zeros((3, 2)))

    g = fz.grad(loss)(x(4, 2), A)
    assert g.dtype.name == f
    want = fz.grad(lambda w: F.mse_loss(A @ w, fz.zeros((3, 2))))(x(4, 2))
    np.testing.assert_allclose(g, want, atol=0.02)
    many = fz.vmap(loss, (None, 0))(x(4, 2), fz.stack([A, A * 2]))
    alone = [loss(x(4, 2), a).item() for a in (A, A * 2)]
    np.testing.assert_allclose(many, alone, rtol=1e-6)


class Net(nn.Module):
    def __init__(self):
        self.body = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 8),
            nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3),
        )  # fmt: skip

    def forward(self, images):
        return self.body(images)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("where", ["inside", "around"])
def test_training_traced_has_the_bits_of_eager(where, scaled):
    images = [x(8, 1, 6, 6) * (0.5 + i / 8) for i in range(4)]
    labels = fz.asarray([0, 1, 2, 0, 1, 2, 0, 1])

    def train(wrap):
        fz.random.seed(0)
        net = Net()
        optimizer = optim.AdamW(net.parameters(), lr=0.01)
        scaler = amp.GradScaler(init_scale=256.0, enabled=scaled)
        kind = ("cuda", "float16") if scaled else ("cpu", "bfloat16")

        def loss_of(images):
            return nn.cross_entropy(net(images), labels)

        def step(images):
            optimizer.zero_grad()
            if where == "inside":
                with amp.autocast(*kind):
                    loss = loss_of(images)
            else:
                loss = loss_of(images)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return loss.detach()

        step, losses = wrap(step), []
        for i in range(16):
            if where == "around":
                with amp.autocast(*kind):
                    losses.append(step(images[i % 4]))
            else:
                losses.append(step(images[i % 4]))
        return (
            [np.asarray(t.detach()).tobytes() for t in (*net.parameters(), *losses)],
            step,
            losses,
        )

    eager, _, losses = train(lambda f: f)
    traced, step, _ = train(fz.trace)
    assert traced == eager
    assert losses[-1].item() < losses[0].item() and losses[0].dtype.name == f
    assert step.stats()["skipped"] >= 6, step.explain()


def test_a_traced_function_knows_the_block_around_it():
    for options in ({}, {"pure": True}):
        traced = fz.trace(lambda a: a @ a.T, **options)
        for _ in range(6):
            assert traced(A).dtype.name == f
            with amp.autocast("cpu"):
                assert traced(A).dtype.name == h
            with amp.autocast("cuda"):
                assert traced(A).dtype.name == "float16"
        assert traced.stats()["skipped"] > 0, traced.explain()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: amp.autocast("tpu"),
            ValueError,
            '[autocast] device_type must be "cpu", "cuda" or',
        ),
        (lambda: amp.autocast("cpu", "float64"), ValueError, "must be bfloat16 or float16, got fl"),
        (
            lambda: amp.autocast("cpu", enabled=3),
            ValueError,
            "enabled must be True or False, got 3",
        ),
        (lambda: amp.autocast("cpu").__exit__(), RuntimeError, "left more often than it was ent"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises((error, TypeError)) as caught:
        call()
    assert message in str(caught.value)
