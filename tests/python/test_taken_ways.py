"""Gradients of branches that not all examples of a vmap take: those of a loop over examples, where
a branch that is not taken is not differentiable, or not even defined, as well."""

import numpy as np
import pytest

import frazil as fz

X = np.array([2.0, -1.0, 0.0, 4.0, -3.0])
W = np.array([0.5, 1.5])


def hidden(x):
    return fz.cond(x > 0, lambda: fz.log(x), lambda: x * 2)


def root(x):
    return fz.cond(x > 0, fz.sqrt, lambda v: v * fz.sqrt(-v + 1), x)


def choice(x):
    ways = [lambda v: 1 / v, lambda v: fz.log(v - 1), lambda v: v]
    return fz.switch(fz.where(x < 0, 0, fz.where(x > 1, 1, 2)), ways, x)


def nested(x):
    def positive(v):
        return fz.cond(v > 3, lambda u: fz.log(u - 3) * fz.sqrt(v), lambda u: fz.sqrt(u), v)

    return fz.cond(x > 0, positive, lambda v: v**2, x)


def halved(x):
    def body(state):
        v, total = state
        return v - 1, total + 1 / fz.sqrt(v)

    return fz.while_loop(lambda s: s[0] > 0.5, body, (x, x * 0))[1]


@fz.convert
def written(x):
    y = x * 0
    if x > 0:
        y = fz.log(x)
        if x > 3:
            y += fz.sqrt(x - 3)
    elif x < -2:
        return fz.sqrt(-x - 2)
    return y


@fz.convert
def counted(x):
    total = x * 0
    while x > 0.5:
        total = total + fz.log(x)
        x = x - 1
        if x < 0.25:
            break
        total = total / fz.sqrt(x)
    return total + x


@fz.convert
def stored(x):
    out = fz.zeros(2, dtype=x.dtype)
    out[1] = x
    if x > 0:
        out[0] = fz.log(x)
        out *= 2
    return out[0] * 3 + out[1]


FUNCTIONS = (hidden, root, choice, nested, halved, written, counted, stored)
each = pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)


def close(got, want):
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-12, atol=1e-12)


@each
def test_gradients_are_those_of_each_example_alone(f):
    x = fz.asarray(X)
    want = [fz.grad(f)(v).item() for v in x]
    assert np.isfinite(want).all()
    inside, outside = fz.vmap(fz.grad(f)), fz.grad(lambda v: fz.sum(fz.vmap(f)(v)))
    for gradient in (inside, outside):
        close(gradient(x), want)
        traced = fz.trace(gradient)
        for _ in range(3):
            assert np.asarray(traced(x)).tobytes() == np.asarray(gradient(x)).tobytes()
    close(fz.vmap(lambda v: fz.jvp(f, (v,), (fz.ones_like(v),))[1])(x), want)
    close(fz.vmap(fz.vmap(fz.grad(f)))(fz.stack([x, -x]))[0], want)
    assert np.asarray(fz.vmap(f)(x)).tobytes() == np.asarray(fz.stack([f(v) for v in x])).tobytes()
    second = [fz.grad(fz.grad(f))(v).item() for v in x]
    close(fz.vmap(fz.grad(fz.grad(f)))(x), second)
    x.requires_grad = True
    if f in (root, choice, nested, halved):  # whose branches are given what has history
        fz.sum(fz.vmap(f)(x)).backward()
        close(x.grad, want)


@pytest.mark.parametrize("shift", [0.0, -10.0, 10.0], ids=["both", "second alone", "first alone"])
def test_gradients_of_what_the_examples_share(shift):
    x, w = fz.asarray(X + shift), fz.asarray(W)
    scale = {"w": w}

    def first(v, s):
        return fz.sum(fz.log(v * s["w"]) @ fz.stack([s["w"], s["w"]]))

    def second(v, s):
        return fz.sum(fz.sqrt(-v + 1) * s["w"] * w)

    def f(v, s):
        return fz.cond(v > 0, first, second, v, s)

    @fz.convert
    def same(v, s):
        if v > 0:
            return first(v, s)
        return second(v, s)

    want = sum(fz.grad(f, argnums=1)(v, scale)["w"] for v in x)
    for one in (f, same):
        got = fz.grad(lambda s, one=one: fz.sum(fz.vmap(one, (0, None))(x, s)))(scale)["w"]
        close(got, want)
        each = fz.vmap(fz.grad(one, argnums=1), (0, None))(x, scale)["w"]
        close(fz.sum(each, axis=0), want)


def test_a_way_that_examples_of_an_outer_vmap_take():
    x = fz.asarray([[1.0, 2.0], [-1.0, -2.0], [0.0, 3.0]], dtype="float64")

    def f(row):
        return fz.sum(fz.vmap(lambda v: fz.cond(fz.sum(row) > 2, fz.log, fz.sin, v))(row))

    want = fz.stack([fz.grad(f)(row) for row in x])
    close(fz.vmap(fz.grad(f))(x), want)
    close(fz.grad(lambda m: fz.sum(fz.vmap(f)(m)))(x), want)


def test_a_vmap_within_a_way():
    x = fz.asarray(X)
    rows = fz.asarray([0.5, 1.0, 2.0], dtype="float64")

    def f(v):
        return fz.cond(v > 0, lambda u: fz.sum(fz.vmap(lambda r: fz.log(u * r))(rows)), fz.sin, v)

    close(fz.vmap(fz.grad(f))(x), [fz.grad(f)(v) for v in x])
