"""Training steps of deep networks are planned as a whole, and equal layers are compiled once."""

import numpy as np
import pytest

import frazil as fz

WIDTH = 6


def loss_of(params, x, y):
    for gain, weight, bias in zip(*[iter(params)] * 3, strict=True):
        x = x + fz.tanh(fz.nn.layer_norm(x, gain) @ weight.T + bias)
    return ((x - y) ** 2).mean()


loss_and_grads = fz.value_and_grad(loss_of)


def step(params, first, second, x, y):
    loss, grads = loss_and_grads(params, x, y)
    state = [], [], []
    for p, g, m, v in zip(params, grads, first, second, strict=True):
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g * g
        for to, what in zip(state, (p - 0.1 * m / (fz.sqrt(v) + 1e-6), m, v), strict=True):
            to.append(what)
    return (loss, *state)


def start(layers):
    rng = np.random.default_rng(layers)
    draw = lambda *shape: fz.asarray(rng.normal(0, 0.3, shape).astype("float32"))  # noqa: E731
    params = []
    for _ in range(layers):
        params += [draw(WIDTH) + 1, draw(WIDTH, WIDTH), draw(WIDTH)]
    zeros = [fz.zeros(p.shape) for p in params]
    return [params, zeros, zeros], (draw(4, WIDTH), draw(4, WIDTH))


def run(fn, layers, steps=4):
    state, data = start(layers)
    losses = []
    for _ in range(steps):
        loss, *state = fn(*state, *data)
        losses.append(loss.item())
    return losses, [np.asarray(t) for part in state for t in part]


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("layers", [2, 30, 120])
def test_a_step_of_any_depth_is_one_plan_with_the_same_bits(layers, pure):
    traced = fz.trace(step, pure=pure)
    got, want = run(traced, layers), run(step, layers)
    assert got[0] == want[0]
    for a, b in zip(got[1], want[1], strict=True):
        np.testing.assert_array_equal(a, b)
    stats = traced.stats()
    assert stats["segments"] == stats["plans"] == 1
    if layers == 120 and not pure:
        assert stats["matched_ops"] > 4096, "longer than segments once were"


def test_equal_layers_are_compiled_once():
    compiled = {}
    for layers in (40, 80):
        traced = fz.trace(step)
        run(traced, layers)
        compiled[layers] = traced.stats()["kernels_compiled"]
    assert compiled[80] <= 2, "those of 40 layers are all that there are, but for their number"
