"""Composites over large arrays: their nodes on the tape keep operands alone, with the gradients
that small ones have, whose ops are on the tape one by one."""

import numpy as np
import pytest

import frazil as fz
from frazil import nn

LARGE, SMALL = (1024, 512), (16, 512)  # 2 MiB, 32 KiB

BODIES = {
    "silu": lambda x, w, b: nn.silu(x),
    "gelu": lambda x, w, b: nn.gelu(x),
    "gelu_tanh": lambda x, w, b: nn.gelu(x, approximate="tanh"),
    "softmax": lambda x, w, b: nn.softmax(x, axis=-1),
    "log_softmax": lambda x, w, b: nn.log_softmax(x, axis=-1),
    "layer_norm": lambda x, w, b: nn.layer_norm(x, w, b),
    "layer_norm_plain": lambda x, w, b: nn.layer_norm(x),
    "layer_norm_weight": lambda x, w, b: nn.layer_norm(x, w),
    "layer_norm_bias": lambda x, w, b: nn.layer_norm(x, bias=b),
    "two": lambda x, w, b: nn.gelu(nn.layer_norm(x, w, b)) * nn.silu(x),
}


def data(shape):
    rng = np.random.default_rng(3)
    x, g = (rng.normal(0, 1, shape).astype("float32") for _ in range(2))
    w, b = (rng.normal(0, 1, shape[-1]).astype("float32") for _ in range(2))
    return [fz.asarray(a) for a in (x, w, b, g)]


def assert_same(a, b, name):
    """The same bits where one gradient flows into the operand; sums of several have another order,
    since those of one composite are added first."""
    if name == "two":
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    else:
        np.testing.assert_array_equal(a, b)


def gradients(body):
    def loss(arguments, g):
        return (body(*arguments) * g).sum()

    return lambda x, w, b, g: fz.value_and_grad(loss)([x, w, b], g)


@pytest.mark.parametrize("name", BODIES)
def test_gradients_are_those_of_small_arrays(name):
    grads = gradients(BODIES[name])
    x, w, b, g = data(LARGE)
    _, (dx, dw, db) = grads(x, w, b, g)
    rows = SMALL[0]
    sums = [np.zeros(LARGE[1]), np.zeros(LARGE[1])]
    for at in range(0, LARGE[0], rows):
        part = slice(at, at + rows)
        _, (px, pw, pb) = grads(x[part], w, b, g[part])
        assert_same(np.asarray(dx)[part], np.asarray(px), name)
        for total, of in zip(sums, (pw, pb), strict=True):
            total += np.asarray(of)
    for total, of in zip(sums, (dw, db), strict=True):
        np.testing.assert_allclose(np.asarray(of), total, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("pure", [False, True])
def test_traced_gradients_have_the_same_bits(name, pure):
    grads = gradients(BODIES[name])
    want = fz.tree.leaves(grads(*data(LARGE)))
    traced = fz.trace(grads, pure=pure)
    for _ in range(4):
        for a, b in zip(fz.tree.leaves(traced(*data(LARGE))), want, strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("name", ["gelu", "softmax", "layer_norm", "two"])
def test_gradients_of_gradients(name):
    body = BODIES[name]

    def second(part=slice(None)):
        x, w, b, g = data(LARGE)

        def first(x):
            return (fz.grad(lambda y: (body(y, w, b) * g[part]).sum())(x) ** 2).sum()

        return np.asarray(fz.grad(first)(x[part]))

    part = slice(0, SMALL[0])
    assert_same(second()[part], second(part), name)


def test_backward_adds_to_grad_as_often_as_it_is_asked():
    x, w, b, g = data(LARGE)
    for t in (x, w, b):
        t.requires_grad = True
    loss = (nn.layer_norm(x, w, b) @ fz.ones((LARGE[1], 4))).sum()
    loss.backward(retain_graph=True)
    once = [np.asarray(t.grad) for t in (x, w, b)]
    loss.backward(retain_graph=False)
    for t, of in zip((x, w, b), once, strict=True):
        np.testing.assert_array_equal(np.asarray(t.grad), 2 * of)
    with pytest.raises(RuntimeError, match="has let go of this history"):
        loss.backward()


def live():
    return fz.memory.stats()["live_bytes"]


@pytest.mark.parametrize("name", ["gelu_tanh", "softmax", "layer_norm"])
def test_nothing_but_operands_is_kept(name):
    x, w, b, _ = data(LARGE)
    for t in (x, w, b):
        t.requires_grad = True
    before = live()
    y = BODIES[name](x, w, b)
    assert live() - before < 1.1 * y.nbytes, "the result"
    matrix = fz.ones((LARGE[1], 2))
    z = y @ matrix
    del y
    assert live() - before < 0.1 * x.nbytes, "the product's gradient has it made again"
    z.sum().backward()


def test_the_first_gradient_holds_no_more_at_a_time_than_later_ones():
    x, w, b, g = data(LARGE)
    peaks = []
    for _ in range(3):
        fz.memory.reset_peak()
        base = live()
        gradients(BODIES["gelu_tanh"])(x, w, b, g)
        peaks.append(fz.memory.stats()["peak_bytes"] - base)
    assert max(peaks) <= 5 * x.nbytes
    assert peaks[0] <= peaks[1] + x.nbytes
