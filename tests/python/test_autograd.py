"""Gradients: tape style, function style, structures, higher orders, no_grad."""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import frazil as fz
from frazil import nn, optim

Pair = namedtuple("Pair", "a b")


@dataclass
class Params:
    w: fz.Tensor
    rest: list


def test_backward_adds_to_grad():
    x = fz.asarray([1.0, 2.0], requires_grad=True)
    for k in (1, 2):
        (x * x).sum().backward()
        assert x.grad.tolist() == [2.0 * k, 4.0 * k]
    x.grad = None
    assert x.grad is None
    (x * 3).backward(fz.asarray([1.0, 10.0]))
    assert x.grad.tolist() == [3, 30]


def test_backward_errors():
    x = fz.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="one number only"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="does not depend on a tensor that requires"):
        fz.ones(()).backward()
    with pytest.raises(RuntimeError, match="only floating-point arrays have gradients"):
        fz.ones(2, dtype="int64", requires_grad=True)
    assert x.grad is None


def test_no_grad():
    w = fz.asarray([1.0], requires_grad=True)
    with fz.no_grad():
        w -= 0.5
        assert not (w * 2).requires_grad
    assert w.requires_grad and w.is_leaf and w.tolist() == [0.5]
    with pytest.raises(RuntimeError, match="in-place on a leaf that requires a gradient"):
        w -= 0.5

    @fz.no_grad()
    def f(x):
        return x * 2

    assert not f(w).requires_grad and (w * 2).requires_grad
    with pytest.raises(ZeroDivisionError), fz.no_grad():
        1 / 0  # noqa: B018
    assert (w * 2).requires_grad


@pytest.mark.parametrize(
    "tree",
    [
        [fz.asarray(2.0), fz.asarray(3.0)],
        (fz.asarray(2.0), fz.asarray(3.0)),
        {"a": fz.asarray(2.0), "b": fz.asarray(3.0)},
        Pair(fz.asarray(2.0), fz.asarray(3.0)),
        Params(fz.asarray(2.0), [fz.asarray(3.0), None]),
    ],
    ids=lambda t: type(t).__name__,
)
def test_gradients_have_the_structure_of_the_argument(tree):
    def product(t):
        if isinstance(t, dict):
            return t["a"] * t["b"]
        if isinstance(t, Params):
            return t.w * t.rest[0]
        return t[0] * t[1]

    value, gradient = fz.value_and_grad(product)(tree)
    assert value.item() == 6 and type(gradient) is type(tree)
    if isinstance(tree, Params):
        assert (gradient.w.item(), gradient.rest[0].item(), gradient.rest[1]) == (3, 2, None)
    else:
        leaves = gradient.values() if isinstance(gradient, dict) else gradient
        assert [g.item() for g in leaves] == [3, 2]
    assert not value.requires_grad


def test_argnums_and_aux():
    def f(x, y, scale=1.0):
        return fz.sum(x * y) * scale, {"y": y}

    x, y = fz.asarray([1.0, 2.0]), fz.asarray([3.0, 4.0])
    (value, aux), (gx, gy) = fz.value_and_grad(f, argnums=(0, 1), has_aux=True)(x, y, scale=2.0)
    assert value.item() == 22 and aux["y"].tolist() == [3, 4] and not aux["y"].requires_grad
    assert gx.tolist() == [6, 8] and gy.tolist() == [2, 4]
    g, aux = fz.grad(f, argnums=-1, has_aux=True)(x, y)
    assert g.tolist() == [1, 2]


def test_wrong_calls():
    with pytest.raises(TypeError, match=r"must hold floating-point tensors, got i64\[2\]"):
        fz.grad(lambda x: x)(fz.arange(2))
    with pytest.raises(TypeError, match=r"must return one floating-point number \(0-d\)"):
        fz.grad(lambda x: x)(fz.ones(2))
    with pytest.raises(TypeError, match="must return a 0-d floating-point tensor, got int"):
        fz.grad(lambda x: 1)(fz.ones(2))
    with pytest.raises(TypeError, match="argnums=1, but the call has 1 positional"):
        fz.grad(lambda x: x, argnums=1)(fz.ones(2))
    with pytest.raises(ZeroDivisionError):
        fz.grad(lambda x: 1 / 0)(fz.ones(2))
    assert fz.ones(1).requires_grad is False


def test_higher_orders():
    f = lambda x: fz.sin(x)  # noqa: E731
    for order in range(5):
        wanted = [np.sin, np.cos, lambda v: -np.sin(v), lambda v: -np.cos(v), np.sin][order](0.7)
        np.testing.assert_allclose(f(fz.asarray(0.7)).item(), wanted, rtol=1e-6)
        f = fz.grad(f)


def test_function_style_inside_tape_style():
    w = fz.asarray(3.0, requires_grad=True)
    inner = fz.grad(lambda x: x * x * w)(fz.asarray(2.0))  # 2 x w
    inner.backward()
    assert inner.item() == 12 and w.grad.item() == 4


def test_gradients_flow_through_traced_functions():
    @fz.trace
    def f(x):
        return fz.sum(fz.exp(x) * 2)

    for _ in range(3):
        x = fz.asarray([0.0, 1.0], requires_grad=True)
        f(x).backward()
        np.testing.assert_allclose(x.grad, 2 * np.exp([0, 1]), rtol=1e-6)


def fit(optimizer_class, **options):
    fz.random.seed(0)
    x = fz.random.normal((64, 3))
    y = x @ fz.asarray([[1.0], [-2.0], [0.5]]) + 0.25
    model = nn.Linear(3, 1)
    optimizer = optimizer_class(model.parameters(), **options)
    for _ in range(300):
        optimizer.zero_grad()
        loss = nn.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item(), model


@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        pytest.param(optim.SGD, {"lr": 0.1}, id="sgd"),
        pytest.param(optim.SGD, {"lr": 0.05, "momentum": 0.9}, id="momentum"),
        pytest.param(optim.Adam, {"lr": 0.05}, id="adam"),
    ],
)
def test_optimizers_fit_a_line(optimizer, options):
    loss, model = fit(optimizer, **options)
    assert loss < 1e-5
    np.testing.assert_allclose(model.weight, [[1, -2, 0.5]], atol=1e-2)
    assert all(p.is_leaf and p.requires_grad for p in model.parameters())


def test_adam_follows_its_formula():
    p, g = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    m = v = np.zeros(2)
    w = fz.asarray(p, requires_grad=True)
    optimizer = optim.Adam([w], lr=0.1)
    for t in range(1, 4):
        w.grad = fz.asarray(g)
        optimizer.step()
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        p = p - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        np.testing.assert_allclose(w.detach(), p, rtol=1e-10)


def test_many_small_steps_run_side_by_side():
    # Enough of them that threads share them out; the sizes differ, and some have no gradient.
    rng = np.random.default_rng(0)
    start = [rng.normal(size=900 + 40 * i).astype("float32") for i in range(40)]
    slopes = [rng.normal(size=p.size).astype("float32") for p in start]

    def train(wrap, threads):
        fz.set_num_threads(threads)
        parameters = [fz.asarray(p, requires_grad=True) for p in start]
        optimizer = optim.Adam(parameters, lr=0.1)
        step = wrap(optimizer.step)
        for t in range(4):
            for i, (p, g) in enumerate(zip(parameters, slopes, strict=True)):
                p.grad = None if i % 7 == 3 else fz.asarray(g * (t + 1))
            step()
        kept = [optimizer.state[p] for p in parameters]
        states = parameters + [s[name] for s in kept for name in ("exp_avg", "exp_avg_sq")]
        return [np.asarray(x.detach()).tobytes() for x in states]

    before = fz.get_num_threads()
    try:
        want = train(lambda f: f, 1)
        assert all(train(wrap, n) == want for wrap in (lambda f: f, fz.trace) for n in (1, 2))
    finally:
        fz.set_num_threads(before)


def test_a_failed_step_changes_nothing():
    w = fz.ones(2, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1, momentum=0.9)
    (cohort,) = optimizer._cohorts[0]
    cohort.states[0]["momentum_buffer"] = fz.ones(3)
    w.grad = fz.ones(2)
    with pytest.raises(ValueError, match="do not broadcast"):
        optimizer.step()
    assert w.tolist() == [1, 1] and w.requires_grad


def test_the_gradient_of_a_shared_matrix_is_one_product_in_its_order():
    rng = np.random.default_rng(0)
    x = fz.asarray(rng.standard_normal((3, 4, 5)).astype(np.float32)).requires_grad_()
    w = fz.asarray(rng.standard_normal((6, 5)).astype(np.float32)).requires_grad_()

    @fz.trace
    def f(x, w, g):
        (x @ w.T).backward(g)
        dx, dw, x.grad, w.grad = x.grad, w.grad, None, None
        return dx, dw

    g = fz.asarray(rng.standard_normal((3, 4, 6)).astype(np.float32))
    for _ in range(3):
        dx, dw = (np.asarray(t) for t in f(x, w, g))
        assert dx.flags.c_contiguous and dw.flags.c_contiguous
        want = np.asarray(g).reshape(12, 6).T @ np.asarray(x.detach()).reshape(12, 5)
        np.testing.assert_allclose(dw, want, rtol=1e-5)
        np.testing.assert_allclose(dx, np.asarray(g) @ np.asarray(w.detach()), rtol=1e-5)
    steps = f.memory_plan()[0].steps
    assert [s for s in steps if "matmul" in s and "batches 1 " not in s] == []
    assert sum("matmul" in s for s in steps) == 2
