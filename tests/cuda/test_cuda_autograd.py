"""Gradients, modules and optimizers on a GPU: the bits of the CPU."""

import gpu
import numpy as np
import pytest

import frazil as fz
from frazil import nn, optim


def test_gradients_lie_where_their_leaf_lies():
    x = fz.asarray([1.0, -2.0, 3.0], device="cuda", requires_grad=True)
    assert x.requires_grad and x.is_leaf
    (x * x * 3).sum().backward()
    assert x.grad.device == "cuda" and x.grad.tolist() == [6.0, -12.0, 18.0]
    (x * 2).sum().backward()
    assert x.grad.tolist() == [8.0, -10.0, 20.0]
    y = (x * 2).detach()
    assert not y.requires_grad and y.device == "cuda"
    with fz.no_grad():
        assert not (x * 2).requires_grad
    x.grad = None
    assert x.grad is None


def test_gradients_flow_through_transfers():
    x = fz.asarray([1.0, 2.0], requires_grad=True)
    y = (x.to_device("cuda") * 3).to_device("cpu") * fz.asarray([1.0, 2.0])
    y.sum().backward()
    assert x.grad.device == "cpu" and x.grad.tolist() == [3.0, 6.0]


def test_ops_of_the_program_give_their_results_there():
    f = fz.op(lambda x: x**2, vjp=lambda args, _, g: (2 * g * args[0],))
    x = fz.asarray([1.0, 2.0], device="cuda")
    for y in (f(x), fz.vmap(f)(x)):
        assert y.device == "cuda" and y.tolist() == [1.0, 4.0]
    slope = fz.grad(lambda v: f(v).sum())(x)
    assert slope.device == "cuda" and slope.tolist() == [2.0, 4.0]


def test_gradients_of_functions(both):
    x, y = gpu.randn(4, 6), gpu.randn(6, seed=1)
    for f in (
        lambda x, y: (fz.exp(x) * y).sum(),
        lambda x, y: nn.softmax(x * y, -1)[:, 2].sum(),
        lambda x, y: (fz.where(x > y, x * y, fz.sqrt(abs(y)))).mean(),
        lambda x, y: (x[1:, ::2] * x[:-1, ::-2]).max() + y[0],
        lambda x, y: nn.layer_norm(x + y).std(),
    ):
        both(lambda x, y, f=f: fz.grad(f)(x, y), x, y)
        value, gradient = fz.value_and_grad(f)(x.to_device("cuda"), y.to_device("cuda"))
        assert value.device == gradient.device == "cuda"


def model():
    fz.random.seed(1)
    return nn.Sequential(nn.LayerNorm(6), nn.ReLU(), nn.Dropout(0.25), nn.LayerNorm(6), nn.GELU())


def test_modules_move():
    m = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4))
    before = [p.tolist() for p in m.parameters()]
    parameters = list(m.parameters())
    assert m.to("cuda") is m
    assert all(p is q for p, q in zip(parameters, m.parameters(), strict=True))
    assert {p.device for p in m.parameters()} == {"cuda"}
    assert {str(t.device) for t in m.state_dict().values()} == {"cuda"}
    assert [p.tolist() for p in m.parameters()] == before
    assert all(p.requires_grad and p.is_leaf for p in m.parameters())
    m.to("cpu")
    assert {t.device for t in m.state_dict().values()} == {"cpu"}
    m.to("cuda").load_state_dict({k: fz.zeros_like(v) for k, v in m.state_dict().items()})
    assert all(not p.any() and p.device == "cuda" for p in m.parameters())


def trained(device, make, wrap, steps=6, **settings):
    fz.random.seed(2)
    m = model().to(device)
    scale = fz.ones(6, device=device, requires_grad=True)
    optimizer = make([*m.parameters(), scale], **settings)

    def step(x, y):
        loss = ((m(x) * scale - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    step = wrap(step)
    losses = []
    for i in range(steps):
        x, y = gpu.randn(8, 6, seed=i), gpu.randn(8, 6, seed=i + 100)
        losses.append(step(x.to_device(device), y.to_device(device)).item())
    state = [gpu.bits(t) for t in [*m.state_dict().values(), scale, scale.grad]]
    return losses, state


@pytest.mark.parametrize(
    "make, settings",
    [
        (optim.SGD, {"lr": 0.1}),
        (optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
        (optim.Adam, {"lr": 0.01}),
        (optim.Adam, {"lr": 0.01, "weight_decay": 0.1}),
    ],
    ids=["sgd", "momentum", "adam", "adam with decay"],
)
def test_optimizers(make, settings):
    want = trained("cpu", make, lambda f: f, **settings)
    assert all(np.isfinite(want[0]))
    assert trained("cuda", make, lambda f: f, **settings) == want
    assert trained("cuda", make, fz.trace, **settings) == want
    assert trained("cuda", make, lambda f: fz.trace(f, pure=True), **settings) == want
