"""Loops of any ops: bodies with products and reductions are planned once, with eager's bits."""

import numpy as np
import pytest

import frazil as fz
from frazil import nn

rng = np.random.default_rng(7)


def array(*shape):
    return fz.asarray(rng.standard_normal(shape).astype(np.float32) * 0.3)


def rnn(x, w, u, b):
    h, every = fz.zeros((x.shape[1], w.shape[0])), []
    for t in range(x.shape[0]):
        h = fz.tanh(x[t] @ u + h @ w + b)
        every.append(h)
    return fz.stack(every), h, every[3], every[-2]


def batch_first(x, w, u, b):
    h, every = fz.zeros((x.shape[0], w.shape[0])), []
    for t in range(x.shape[1]):
        h = fz.tanh(x[:, t] @ u + h @ w + b)
        every.append(h)
    return fz.stack(every, axis=1)


def backwards(x, w, u, b):
    h, every = fz.zeros((x.shape[1], w.shape[0])), []
    for t in reversed(range(x.shape[0])):
        h = fz.tanh(x[t] @ u + h @ w + b)
        every.append(h)
    return fz.concat(every[::-1], axis=0), every[5:9]


def lstm(x, wi, wh, b):
    n = wh.shape[1]
    h = c = fz.zeros((x.shape[1], n))
    every = []
    for i in range(x.shape[0]):
        g = x[i] @ wi.T + h @ wh.T + b
        c = nn.sigmoid(g[:, n : 2 * n]) * c + nn.sigmoid(g[:, :n]) * fz.tanh(g[:, 2 * n : 3 * n])
        h = nn.sigmoid(g[:, 3 * n :]) * fz.tanh(c)
        every.append(h)
    return fz.stack(every), h, c


def gru(x, wi, wh):
    n = wh.shape[0]
    h = fz.zeros((x.shape[1], n))
    for i in range(x.shape[0]):
        gi, gh = x[i] @ wi, h @ wh
        r = nn.sigmoid(gi[:, :n] + gh[:, :n])
        z = nn.sigmoid(gi[:, n : 2 * n] + gh[:, n : 2 * n])
        h = (1 - z) * fz.tanh(gi[:, 2 * n :] + r * gh[:, 2 * n :]) + z * h
    return h


def power_iteration(a, v):
    sizes = []
    for _ in range(40):
        v = a @ v
        size = fz.sqrt(fz.sum(v * v))
        v = v / size
        sizes.append(size)
    return v, sizes[-1], sizes


def descent(a, b, x):
    losses = []
    for i in range(50):
        r = a @ x - b
        losses.append(fz.mean(r * r))
        x = x - (0.1 / (i + 1)) * (a.T @ r)
    return x, fz.stack(losses)


def ode(y, w, v):
    def slope(y):
        return fz.tanh(y @ w) @ v

    for i in range(30):
        dt = 0.01 * (i % 3 + 1)
        k1 = slope(y)
        k2 = slope(y + k1 * (dt / 2))
        k3 = slope(y + k2 * (dt / 2))
        k4 = slope(y + k3 * dt)
        y = y + (k1 + 2 * k2 + 2 * k3 + k4) * (dt / 6)
    return y


def kmeans(points, centres):
    for _ in range(25):
        apart = fz.sum((points[:, None] - centres[None]) ** 2, axis=2)
        own = fz.astype(apart == fz.min(apart, axis=1, keepdims=True), fz.float32)
        centres = (own.T @ points) / fz.maximum(fz.sum(own, axis=0)[:, None], 1.0)
    return centres


def nested(x, w):
    for _ in range(12):
        for _ in range(10):
            x = x + 0.1 * (fz.sin(x) * x - fz.cos(x) * 0.5)
        x = fz.tanh(x @ w)
    return x


def heat(u):
    for _ in range(30):
        new = u * 1
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1])
        new[0] = 0
        u = new
    return u


def columns_of_an_array(x, w):
    h, every = fz.zeros((x.shape[0], w.shape[0])), fz.zeros(x.shape)
    for t in range(x.shape[1]):
        h = fz.tanh(x[:, t] + h @ w)
        every[:, t] = h
    return every


def returns(rewards):
    total, every = fz.zeros(rewards.shape[1:]), fz.zeros(rewards.shape)
    for t in reversed(range(rewards.shape[0])):
        total = rewards[t] + 0.9 * total
        every[t] = total
    return every


def reaction(u, v):  # two states, both read in many slices
    def spread(q):
        around = [fz.roll(q, by, axis=axis) for by in (1, -1) for axis in (0, 1)]
        return around[0] + around[1] + around[2] + around[3] - 4 * q

    for _ in range(30):
        r = u * v * v
        u, v = u + 0.16 * spread(u) - r + 0.035 * (1 - u), v + 0.08 * spread(v) + r - 0.1 * v
    return u, v


def wave(u):  # a state of two iterations before
    before = u
    for _ in range(40):
        spread = fz.roll(u, 1, axis=0) - 2 * u + fz.roll(u, -1, axis=0)
        before, u = u, 2 * u - before + 0.1 * spread
    return u, before


def three_before(x, w):  # a product of three iterations before
    slopes = [x, x, x]
    for _ in range(40):
        slopes = [*slopes[1:], fz.tanh(x @ w)]
        x = x + 0.01 * (23 * slopes[2] - 16 * slopes[1] + 5 * slopes[0])
    return x


def fields(e, h):  # slices of a state are read in two iterations
    e, h = e * 1, h * 1
    for _ in range(30):
        h[:, :-1] += 0.5 * (e[:, 1:] - e[:, :-1])
        e[:, 1:] += 0.5 * (h[:, 1:] - h[:, :-1])
        e[2, 3] += 0.1
    return e


def spikes(x):  # elementwise, with values of all iterations
    v, every = fz.zeros(x.shape[1:]), []
    for t in range(x.shape[0]):
        v = v + 0.5 * (x[t] - v)
        spike = fz.astype(v > 0.1, fz.float32)
        v = v * (1 - spike)
        every.append(spike)
    return fz.stack(every)


def advantages(rewards, values):  # values[t] is read in two iterations
    total, every = fz.zeros(rewards.shape[1:]), []
    for t in reversed(range(rewards.shape[0] - 1)):
        total = rewards[t] + 0.9 * values[t + 1] - values[t] + 0.8 * total
        every.append(total)
    return fz.stack(every[::-1])


PROGRAMS = {
    "rnn": (rnn, lambda: (array(40, 2, 6), array(8, 8), array(6, 8), array(8))),
    "batch first": (batch_first, lambda: (array(2, 40, 6), array(8, 8), array(6, 8), array(8))),
    "backwards": (backwards, lambda: (array(30, 2, 6), array(8, 8), array(6, 8), array(8))),
    "lstm": (lstm, lambda: (array(30, 2, 6), array(32, 6), array(32, 8), array(32))),
    "gru": (gru, lambda: (array(30, 3, 6), array(6, 24), array(8, 24))),
    "power iteration": (power_iteration, lambda: (array(12, 12), array(12))),
    "descent": (descent, lambda: (array(9, 5), array(9), array(5))),
    "ode": (ode, lambda: (array(3, 4), array(4, 9), array(9, 4))),
    "kmeans": (kmeans, lambda: (array(60, 4), array(5, 4))),
    "nested": (nested, lambda: (array(3, 8), array(8, 8))),
    "heat": (heat, lambda: (array(9, 7),)),
    "columns of an array": (columns_of_an_array, lambda: (array(2, 40, 8), array(8, 8))),
    "returns": (returns, lambda: (array(40, 5),)),
    "reaction": (reaction, lambda: (array(8, 6), array(8, 6))),
    "fields": (fields, lambda: (array(8, 8), array(8, 8))),
    "spikes": (spikes, lambda: (array(50, 9),)),
    "advantages": (advantages, lambda: (array(50, 9), array(50, 9))),
    "wave": (wave, lambda: (array(40),)),
    "three before": (three_before, lambda: (array(3, 8), array(8, 8))),
}


def flat(result):
    if isinstance(result, (tuple, list)):
        return [x for part in result for x in flat(part)]
    return [np.asarray(result)]


def assert_same(got, want):
    got, want = flat(got), flat(want)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def loops(f):
    return [s for plan in f.memory_plan() for s in plan.steps if s.startswith("loop of ")]


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_iterations_are_steps_of_one_loop(name, pure):
    body, arguments = PROGRAMS[name]
    f = fz.trace(body, pure=pure)
    for _ in range(6):
        args = arguments()
        assert_same(f(*args), body(*args))
    assert loops(f)


@pytest.mark.parametrize("pure", [False, True])
def test_with_gradients(pure):
    def loss(w, u, b, x):
        every, h, _, _ = rnn(x, w, u, b)
        return fz.sum(every * every) + fz.sum(h)

    both = fz.value_and_grad(loss, argnums=(0, 1, 2))
    f = fz.trace(both, pure=pure)
    for _ in range(5):
        args = array(8, 8), array(6, 8), array(8), array(40, 2, 6)
        assert_same(f(*args), both(*args))
    assert len(loops(f)) >= 2  # forward, and backward in reverse order


@pytest.mark.parametrize("pure", [False, True])
def test_history_outlives_the_loop(pure):
    x, u = array(30, 2, 6), array(6, 8)

    def body(w, b):
        return rnn(x, w, u, b)[0]

    f = fz.trace(body, pure=pure)
    for _ in range(5):
        w, b = array(8, 8), array(8)
        grads = []
        for fn in (f, body):
            w1, b1 = w.requires_grad_(), b.requires_grad_()
            fz.sum(fn(w1, b1) ** 2).backward()
            grads.append((w1.grad, b1.grad))
            w.grad = b.grad = None
        assert_same(*grads)


@pytest.mark.parametrize("pure", [False, True])
def test_an_outcome_in_the_middle(pure):
    def body(a, v):
        for i in range(60):
            v = a @ v
            v = v / fz.sqrt(fz.sum(v * v))
            if i == 30 and v[0] > 0:
                v = -v
        return v

    f = fz.trace(body, pure=pure)
    for _ in range(12):
        args = array(6, 6), array(6)
        assert_same(f(*args), body(*args))
    assert loops(f)


def test_another_number_of_iterations():
    def body(x, w):
        h = fz.zeros((1, w.shape[0]))
        for t in range(x.shape[0]):
            h = fz.tanh(h @ w + x[t])
        return h

    f = fz.trace(body)
    for steps in (30, 50, 30, 7, 50, 30):
        args = array(steps, 1, 8), array(8, 8)
        assert_same(f(*args), body(*args))


def test_a_long_loop_is_one_plan():
    def body(x, w):
        h = fz.zeros((1, w.shape[0]))
        for t in range(x.shape[0]):
            h = fz.tanh(h @ w + fz.maximum(x[t], 0.0) * 0.5 - h)
        return h

    f = fz.trace(body, pure=True)
    x, w = array(1000, 1, 8), array(8, 8)
    want = body(x, w)
    for _ in range(5):
        assert_same(f(x, w), want)
    assert max(int(s.split()[2]) for s in loops(f)) > 990


def same_three_times(f, *arguments):
    """The traced function's results are those of eager execution."""
    traced = fz.trace(f)
    want = [np.asarray(x).tobytes() for x in f(*arguments)]
    for _ in range(3):
        assert [np.asarray(x).tobytes() for x in traced(*arguments)] == want
    return traced


def test_a_loop_beside_values_that_are_computed_twice():
    def f(x, h, w):
        for _ in range(40):
            h = fz.tanh(h @ w)
        y = x.astype("float64")
        return h, fz.sum(y, axis=0), fz.sum(y, axis=1)

    same_three_times(f, array(300, 700).astype("float16"), array(4, 24), array(24, 24))


def test_states_of_the_highest_rank():
    def f(x):
        kept = []
        for _ in range(20):
            x = fz.tanh(x - fz.sum(x, axis=-1, keepdims=True))
            kept.append(x)
        return x, kept[3], kept[7]

    same_three_times(f, array(*[1] * 14, 3, 5))


def test_one_state_from_the_middle_does_not_keep_them_all():
    def f(x, w):
        middle = None
        for i in range(100):
            x = fz.tanh(x @ w)
            middle = x if i == 50 else middle
        return x, middle

    x, w = array(256, 256), array(256, 256)
    traced = same_three_times(f, x, w)
    fz.memory.reset_peak()
    before = fz.memory.stats()["live_bytes"]
    traced(x, w)
    assert fz.memory.stats()["peak_bytes"] - before < 30 * 256 * 256 * 4


@pytest.mark.parametrize("pure", [False, True])
def test_the_last_state_does_not_keep_them_all(pure):
    def f(x, w):
        states = [x]
        for _ in range(100):
            states.append(fz.tanh(states[-1] @ w))
        return states[-1], states[3], fz.sum(fz.stack(states))

    x, w = array(128, 64), array(64, 64)
    traced = fz.trace(f, pure=pure)
    want = f(x, w)
    for _ in range(4):
        assert_same(traced(x, w), want)
    before = fz.memory.stats()["live_bytes"]
    kept = traced(x, w)[:2]
    assert fz.memory.stats()["live_bytes"] - before < 8 * 128 * 64 * 4
    assert_same(kept, want[:2])


def test_loops_whose_bodies_repeat_too():
    def f(x, y, st, m):
        kept = []
        for t in range(100):
            k = (t + 11) % 12
            st = fz.tanh(st - x[k : k + 2].sum(axis=0))
            kept.append(st)
            st = fz.tanh(st @ m)
            y = y + x[(t + 8) % 12] * 0.01
        return *kept, st, y

    same_three_times(f, array(12, 3, 6), array(12, 3, 6), array(3, 6), array(6, 6))


@pytest.mark.parametrize("pure", [False, True])
def test_gradients_through_a_loop_that_is_read_twice(pure):
    def loss(m, b):
        a = b
        for _ in range(20):
            a, b = b, b @ m
        low = [fz.astype(z, fz.float32) for z in (a, b)]
        return (low[0] ** 2).mean() + (low[1] ** 2).mean()

    def f(m, b):
        value, grad = fz.value_and_grad(loss)(m, b)
        return value, grad

    traced = fz.trace(f, pure=pure)
    m, b = array(16, 16).astype("float64"), array(3, 16).astype("float64")
    want = [np.asarray(x).tobytes() for x in f(m, b)]
    for _ in range(4):
        assert [np.asarray(x).tobytes() for x in traced(m, b)] == want


@pytest.mark.parametrize("backwards", [(slice(None), slice(None, None, -1)), slice(None, None, -1)])
def test_a_view_from_the_middle_is_a_result(backwards):
    def run(s):
        for t in range(16):
            s = fz.cumulative_sum(s, axis=0)[backwards]
            if t == 5:
                middle = s
        return s, middle

    x = fz.asarray(np.random.default_rng(0).normal(size=(8, 64)).astype("float32"))
    want = [np.asarray(v).tobytes() for v in run(x)]
    for wrap in (fz.trace, lambda f: fz.trace(f, pure=True)):
        traced = wrap(run)
        for _ in range(4):
            assert [np.asarray(v).tobytes() for v in traced(x)] == want
