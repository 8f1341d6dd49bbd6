"""Gradients inside, outside and through traced functions; what is accumulated across calls."""

import numpy as np
from hz import V, effect, exact, told

import frazil as fz


def leaf(F, *values):
    return V(F, *values).requires_grad_()


@exact(".grad accumulates across calls, inside and outside")
def grad_accumulates(F, compile):
    w = leaf(F, 1, 2)

    def f(x):
        loss = (fz.tanh(w * x) ** 2).sum()
        loss.backward()
        return loss, w.grad * 1

    g = compile(f)
    for i in range(8):
        if i == 5:
            w.grad = None
        if i == 6:
            (w * 3).sum().backward()
        yield g(V(F, i, 1))
        yield effect(w.grad)


@exact("a leaf passed in, .grad written by the body", pure=True)
def grad_of_arguments(F, compile):
    def f(w, x):
        loss = (w * w * x).sum()
        loss.backward()
        with fz.no_grad():
            w -= 0.1 * w.grad
        return loss.detach()

    g, w, v = compile(f), leaf(F, 1, 2), leaf(F, 3, 4)
    for i in range(10):
        yield g(w, V(F, i, 1)), w, w.grad
        yield g(v, v.detach()), v, v.grad, v.requires_grad, v.is_leaf
        if i == 6:
            w.grad = None
        if i == 8:
            v.grad += 1


@exact("gradient through a traced function, also with history on the way in")
def gradient_through(F, compile):
    def f(x, k):
        y = fz.exp(x * k)
        return y * x, y

    g = compile(f)
    for i in range(8):
        x = leaf(F, 0.1 * i, 1)
        a, b = g(x * 2, 0.5 if i % 3 else 1.5)
        (a.sum() * 2 + (b * x).sum()).backward()
        yield a, b, x.grad, a.requires_grad, a.is_leaf


@exact("gradient through a call that falls back half-way")
def gradient_through_fallback(F, compile):
    flag = 0

    def f(x):
        y = fz.tanh(x) * 2
        if flag == 1:
            y = y - x
        elif flag == 2:
            y = y[::-1] * float(x.sum())
        return (y * y).sum()

    g = compile(f)
    for flag in (0, 0, 0, 1, 0, 2, 1, 2, 0):
        x = leaf(F, 0.5, flag)
        y = g(x)
        y.backward()
        yield y, x.grad, fz.grad(g)(x.detach()), fz.value_and_grad(g)(x.detach())


@exact("gradients of gradients in every nesting", pure=True)
def gradients_of_gradients(F, compile):
    def f(x):
        return (x * x * fz.sin(x)).sum()

    d = compile(fz.grad(compile(f)))
    dd = compile(fz.grad(lambda x: (d(x) * x).sum()))
    ddd = fz.grad(compile(lambda x: dd(x).sum()))
    for i in range(6):
        x = V(F, 0.3 * i, 1)
        yield f(x), d(x), dd(x), ddd(x)


@exact("requires_grad, detach and no_grad toggled by flags")
def toggled_grad(F, compile):
    w, mode = V(F, 1, 2), 0

    def f(x):
        y = x * w
        if mode == 1:
            y = y.detach()
        if mode == 2:
            with fz.no_grad():
                z = y * 2
            return z + y, z.requires_grad, y.requires_grad
        return y * y, y.requires_grad, y.is_leaf

    g = compile(f)
    for mode, needs in ((0, 0), (0, 0), (0, 1), (1, 1), (2, 1), (2, 0), (0, 1), (1, 0)):
        w = V(F, 1, 2).requires_grad_(bool(needs))
        r = g(V(F, 3, 4))
        if r[0].requires_grad:
            r[0].sum().backward()
        yield r
        yield w.grad


@exact("no_grad around the call, on or off")
def grad_outside(F, compile):
    w = leaf(F, 1, 2)

    def f(x):
        y = w * x
        return y * y, y.requires_grad

    g = compile(f)
    for off in (0, 0, 0, 1, 1, 0, 1):
        if off:
            with fz.no_grad():
                yield g(V(F, 1, off))
        else:
            y, needs = g(V(F, 1, off))
            y.sum().backward()
            yield y, needs
        yield effect(w.grad)


@exact("backward twice, without a scalar, of a leaf; of a cell that was written")
def wrong_backward(F, compile):
    def f(w, how):
        y = w * w
        z = y.sum()
        if how == 0:
            z.backward()
        elif how == 1:
            y.backward()
        elif how == 2:
            z.backward()
            z.backward()
        elif how == 3:
            y += 1
            (y * y).sum().backward()
        elif how == 4:
            w += 1
        elif how == 5:
            with fz.no_grad():
                w *= 2
            z.backward()
        elif how == 6:
            z.detach().backward()
        return z

    g = compile(f)
    for how in (0, 0, 0, 1, 2, 3, 4, 5, 6) * 2:
        w = leaf(F, 1, 2)
        yield told(F, lambda w=w, how=how: g(w, how))
        yield w, w.grad, w.requires_grad, w.is_leaf


@exact("history kept from earlier calls")
def history_across_calls(F, compile):
    state = {"h": leaf(F, 0.5, 0.25)}

    def f(x):
        state["h"] = fz.tanh(state["h"] * x + 1)
        return state["h"].sum()

    g, first = compile(f), state["h"]
    for i in range(9):
        y = g(V(F, i, 1))
        if i % 3 == 2:
            y.backward()
            state["h"] = state["h"].detach()
            first, old = state["h"].requires_grad_(), first
            yield old.grad
        yield y


@exact("the gradient with respect to a captured, an argument, both, structures", pure=True)
def gradients_of_structures(F, compile):
    def loss(w, x, k):
        return ((w * x - k) ** 2).mean()

    g = compile(fz.value_and_grad(loss))
    h = compile(lambda w, x: fz.grad(lambda v: loss(v, x, 1.0) + loss(w, v, 2.0))(w * x))
    for i in range(7):
        w, x = V(F, i, 1), V(F, 2, i)
        yield g(w, x, 1.0), g(x, w, 2.0), h(w, x), g(w, w, 0.5)


@exact("writes and indexing under gradients")
def gradients_of_writes(F, compile):
    def f(x, i):
        y = x * 2
        y[0] = x[1] * x[1]
        y[i] += fz.exp(x[:1])
        y *= x
        y[x > 1] = 0.5
        return (y * y).sum()

    g = compile(f)
    for k in range(7):
        x, i = leaf(F, 0.5 * k, 1, 2), F.array([k % 3], "int64")
        y = g(x, i)
        y.backward()
        yield y, x.grad, fz.grad(g)(x.detach(), i)


@exact("a body that clears, replaces and reads .grad")
def grad_attribute(F, compile):
    w = leaf(F, 1, 2)

    def f(x, how):
        if how == 1:
            w.grad = None
        elif how == 2:
            w.grad = x * 2
        elif how == 3:
            w.grad += x
        (w * x).sum().backward()
        kept = w.grad
        (w * w).sum().backward()
        return kept, w.grad, kept is w.grad

    g = compile(f)
    for how in (0, 0, 0, 1, 2, 3, 0, 2, 1, 3):
        yield g(V(F, 1, how), how)
        yield effect(w.grad)


@exact("data-dependent branches and reads under gradients", pure=True)
def gradients_and_branches(F, compile):
    def f(x):
        y = x * x
        n = 0
        while y.sum() < 20:
            y = y * 1.5 + x
            n += 1
        return (y if n % 2 else y * np.float32(n)).sum() * float(x[0])

    d = compile(fz.value_and_grad(f))
    for i in (1, 1, 1, 2, 0.5, 4, 9, 1):
        yield d(V(F, i, 0.5))
