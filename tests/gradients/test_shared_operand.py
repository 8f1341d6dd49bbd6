"""Gradients of an operand that meets many others, as the weights of a recurrent network do: one
product over all of them (core/SEMANTICS.md), in whatever form the program is written."""

import numpy as np
import pytest

import frazil as fz
from frazil import nn

STEPS, BATCH, WIDTH = 5, 3, 96


def array(*shape):
    return fz.asarray(np.random.default_rng(sum(shape)).normal(size=shape).astype("float32") * 0.3)


def by_rows(h, x, w):
    return fz.tanh(x @ w + h @ w)


def by_transposed(h, x, w):
    return fz.tanh(x @ w.T + h @ w.T)


def by_columns(h, x, w):
    return fz.tanh(w @ x.T + w @ h.T).T


def by_vectors(h, x, w):
    return fz.stack([fz.tanh(w @ x[i] + h[i] @ w) for i in range(BATCH)])


def by_parts(h, x, w):
    n = WIDTH // 2
    return fz.tanh(fz.concat([x @ w[:, :n], h @ w[:, n:]], 1) * w.mean())


def by_einsum(h, x, w):
    return fz.tanh(fz.einsum("bi,oi->bo", x + h, w))


FORMS = [by_rows, by_transposed, by_columns, by_vectors, by_parts, by_einsum]
every_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)


def looped(form):
    def loss(w, xs):
        h = fz.zeros((BATCH, WIDTH), dtype=w.dtype)
        for t in range(xs.shape[0]):
            h = form(h, xs[t], w)
        return (h * h).sum()

    return loss


def scanned(form):
    def loss(w, xs):
        h = fz.zeros((BATCH, WIDTH), dtype=w.dtype)
        h, _ = fz.scan(lambda h, x: (form(h, x, w), x[0]), h, xs)
        return (h * h).sum()

    return loss


def arguments(dtype="float32"):
    return array(WIDTH, WIDTH).astype(dtype), array(STEPS, BATCH, WIDTH).astype(dtype)


def difference(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return np.abs(a - b).max() / np.abs(b).max()


def products(f, *args):
    """How many products run in f(*args)."""
    with fz.profile() as p:
        f(*args)
    return sum(total.runs for total in p.by_op if total.name == "matmul")


@every_form
@pytest.mark.parametrize("loop", [looped, scanned])
def test_right_by_differences_and_equal_when_traced(form, loop):
    gradient = fz.grad(loop(form), argnums=(0, 1))
    w, xs = arguments("float64")
    of_w, of_xs = gradient(w, xs)
    step, dw, dx = 1e-6, array(WIDTH, WIDTH).astype("float64"), array(*xs.shape).astype("float64")
    loss = loop(form)
    slope = (loss(w + step * dw, xs + step * dx) - loss(w - step * dw, xs - step * dx)) / (2 * step)
    np.testing.assert_allclose(slope.item(), ((of_w * dw).sum() + (of_xs * dx).sum()).item(), 1e-6)
    w, xs = arguments()
    eager, traced = gradient(w, xs), fz.trace(gradient)
    for _ in range(3):
        for a, b in zip(traced(w, xs), eager, strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    assert difference(eager[0], of_w) < 1e-5


@every_form
def test_other_modes(form):
    """Second derivatives, batching and the tape give what the plain gradient does."""
    w, xs = arguments("float64")
    loss, direction = looped(form), array(WIDTH, WIDTH).astype("float64")
    gradient = fz.grad(loss)
    twice = fz.grad(lambda w: (gradient(w, xs) * direction).sum())(w)
    forward = fz.jvp(lambda w: gradient(w, xs), (w,), (direction,))[1]
    assert difference(twice, forward) < 1e-12
    both = fz.stack([xs, xs * 0.5])
    for got, one in zip(fz.vmap(lambda x: gradient(w, x))(both), both, strict=True):
        assert difference(got, gradient(w, one)) < 1e-13
    leaf = w.copy()
    leaf.requires_grad = True
    out = loss(leaf, xs)
    out.backward(retain_graph=True)
    first = leaf.grad
    out.backward()
    assert np.array_equal(np.asarray(first), np.asarray(gradient(w, xs)))
    assert np.array_equal(np.asarray(leaf.grad), np.asarray(first) * 2)


@pytest.mark.parametrize("form", [by_rows, by_transposed, by_columns, by_einsum])
def test_one_product_makes_the_gradient_of_the_weights(form):
    def count(steps):
        gradient = fz.grad(lambda w, xs: looped(form)(w, xs[:steps]))
        return products(gradient, *arguments())

    each = count(4) - count(3)  # forward and to the state: none of the weights
    forward = products(lambda: form(*[array(BATCH, WIDTH)] * 2, array(WIDTH, WIDTH)))
    assert each == 2 * forward - (form is not by_einsum)  # the inputs want no gradient


@pytest.mark.parametrize("cell", [nn.RNNCell, nn.LSTMCell, nn.GRUCell])
def test_cells_in_a_loop(cell):
    model, xs = cell(WIDTH, WIDTH), arguments()[1]

    def loss(xs, steps):
        state = None
        for t in range(steps):
            state = model(xs[t], state)
        return (state[0] if isinstance(state, tuple) else state).sum()

    def backward(steps):
        for p in model.parameters():
            p.grad = None
        loss(xs, steps).backward()

    assert products(backward, 4) - products(backward, 3) == 3
    for p in model.parameters():
        assert p.grad is not None and p.grad.shape == p.shape


def test_what_is_held_is_bounded():
    """From 1024 rows on the product of those is made, and others begin."""
    w, xs = array(64, 64), array(80, 16, 64)
    gradient = fz.grad(lambda w: sum([(xs[t] @ w).mean() for t in range(80)]))
    assert products(gradient, w) == 80 + 2
    ones = fz.ones((16, 64)) / (16 * 64)
    parts = [
        fz.concat([xs[t] for t in some]).T @ fz.concat([ones] * len(some))
        for some in (range(79, 15, -1), range(15, -1, -1))
    ]
    assert np.array_equal(np.asarray(gradient(w)), np.asarray(parts[0] + parts[1]))


def test_large_batches_do_not_wait():
    """Factors larger than their product are multiplied at once."""
    w, xs = array(16, 16), array(3, 64, 16)
    gradient = fz.grad(lambda w: sum([(xs[t] @ w).mean() for t in range(3)]))
    assert products(gradient, w) == 6


def test_a_view_that_is_wanted_keeps_its_own():
    """A tensor between leaf and products that a gradient is asked of gets what flows into it."""
    w, xs = arguments()
    value, pull = fz.vjp(lambda w: (xs[0] @ w.T + xs[1] @ w.T).sum(), w)
    view = w.T
    got = fz.grad(lambda v: (xs[0] @ v + xs[1] @ w.T).sum())(view)
    alone = fz.grad(lambda v: (xs[0] @ v).sum())(view)
    assert np.array_equal(np.asarray(got), np.asarray(alone))
    assert difference(pull(fz.ones_like(value))[0], got.T + alone.T) > 0
