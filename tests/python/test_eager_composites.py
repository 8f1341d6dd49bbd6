"""Composites without a trace: op by op at first, one plan from then on, with the same bits."""

import signal
import threading

import numpy as np
import pytest

import frazil as fz
from frazil import nn

RNG = np.random.default_rng(7)


def array(*shape, dtype="float32"):
    values = np.concatenate([RNG.normal(size=int(np.prod(shape)) - 3) * 3, [0.0, -0.0, np.inf]])
    return fz.asarray(RNG.permutation(values).reshape(shape).astype(dtype))


def labels(rows, classes):
    return fz.asarray(RNG.integers(0, classes, rows))


CALLS = {
    "mean": lambda x: fz.mean(x, axis=-1),
    "mean of all": fz.mean,
    "var": lambda x: fz.var(x, axis=0, correction=1),
    "std": lambda x: fz.std(x, axis=-1, keepdims=True),
    "sigmoid": nn.sigmoid,
    "relu": nn.relu,
    "silu": nn.silu,
    "softplus": nn.softplus,
    "gelu": nn.gelu,
    "gelu tanh": lambda x: nn.gelu(x, approximate="tanh"),
    "softmax": lambda x: nn.softmax(x, axis=-1),
    "softmax down": lambda x: nn.softmax(x, axis=0),
    "log_softmax": nn.log_softmax,
    "logsumexp": lambda x: fz.logsumexp(x, axis=-1),
    "layer_norm": lambda x: nn.layer_norm(x, x[0], x[1]),
    "mse_loss": lambda x: nn.mse_loss(x, x[::-1]),
    "mse_loss of one": lambda x: nn.mse_loss(x, x),
}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", CALLS)
def test_bits_are_those_of_the_ops(name, dtype):
    for x in (array(5, 7, dtype=dtype), array(33, 70, dtype=dtype), array(70, 33, dtype=dtype).T):
        first, second, third = (np.asarray(CALLS[name](x)).tobytes() for _ in range(3))
        assert first == second == third


def kernels(fn):
    before = fz.kernels_run()
    fn()
    return fz.kernels_run() - before


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "gelu", "var", "logsumexp", "silu"])
def test_is_one_kernel_from_the_second_call_on(name):
    x = array(40, 71)
    first, second, third = (kernels(lambda: CALLS[name](x)) for _ in range(3))
    assert first > second == third == 1


def test_cross_entropy_checks_its_labels_each_time():
    x, good = array(12, 5), labels(12, 5)
    want = {np.asarray(nn.cross_entropy(x, good)).tobytes() for _ in range(3)}
    assert len(want) == 1
    with pytest.raises(IndexError, match="cross_entropy"):
        nn.cross_entropy(x, good + 4)
    assert np.asarray(nn.cross_entropy(x, good)).tobytes() in want


def test_operands_that_are_one_value_are_not_taken_for_others():
    x = fz.asarray(np.arange(12, dtype="float32"))
    y = x + 1
    for _ in range(3):
        assert nn.mse_loss(x, x).item() == 0
        assert nn.mse_loss(x, y).item() == 1


@pytest.mark.parametrize("reduce", [fz.mean, fz.var, fz.std, fz.logsumexp])
@pytest.mark.parametrize("traced", [False, True])
def test_wrong_axes_are_refused_after_right_ones(reduce, traced):
    x = array(3, 4)
    call = fz.trace(reduce) if traced else reduce
    for _ in range(3):
        call(x, axis=0)
        call(x, axis=1)
    for axis, error in [((0, 0), ValueError), ((1, -1), ValueError), (64, IndexError)]:
        with pytest.raises(error, match="axis"):
            call(x, axis=axis)
    assert call(x, axis=(0, 1)).shape == ()


@pytest.mark.parametrize("wrap", [lambda f: f, fz.trace])
def test_what_another_thread_writes_meanwhile_is_not_learnt(wrap):
    @wrap
    def zero_rows(x, rows):
        x[0:rows] = 0.0

    def replace():
        while not done:
            shared[...] = 1.0

    for rows in range(800, 808):  # each is another call
        shared, done = fz.asarray(np.full((1500, 1500), 7.0, "float32")), False
        writer = threading.Thread(target=replace)
        writer.start()
        for _ in range(3):
            zero_rows(shared, rows)
        done = True
        writer.join()
        other = fz.asarray(np.full((1500, 1500), 3.0, "float32"))
        zero_rows(other, rows)
        zero_rows(other, rows)
        assert (np.asarray(other[rows:]) == 3).all() and (np.asarray(other[:rows]) == 0).all()


def test_interrupted_calls_learn_nothing_wrong():
    x = fz.asarray(np.linspace(-3, 3, 1 << 21, dtype="float32").reshape(1 << 10, -1))
    want, seen = None, 0
    old = signal.signal(signal.SIGALRM, lambda *_: (nn.softmax(x[:7]), 1 / 0))
    try:
        for delay in np.geomspace(1e-4, 2e-2, 30):
            for call in (nn.softmax, nn.gelu):
                try:
                    signal.setitimer(signal.ITIMER_REAL, delay)
                    try:
                        for _ in range(3):
                            call(x + 0.0)
                    finally:
                        signal.setitimer(signal.ITIMER_REAL, 0)
                except ZeroDivisionError:
                    seen += 1
        want = np.asarray(nn.softmax(x)).tobytes()
    finally:
        signal.signal(signal.SIGALRM, old)
    assert seen
    assert np.asarray(fz.trace(nn.softmax)(x)).tobytes() == want


def test_numbers_are_not_part_of_the_plan():
    x = fz.asarray(np.arange(-8, 8, dtype="float32"))
    eps = [np.asarray(nn.layer_norm(x, eps=e)) for e in (1e-5, 1e-5, 1e-5, 1e3)]
    assert (eps[0] == eps[2]).all() and (eps[0] != eps[3]).any()


def test_optimizers():
    def train(shape):
        weight = fz.ones(shape, dtype="float32")
        weight.requires_grad = True
        adam, steps = fz.optim.Adam([weight], lr=0.1), []
        for i in range(5):
            weight.grad = fz.asarray(np.full(shape, i - 2, "float32"))
            steps.append(kernels(adam.step))
        return np.asarray(weight), steps

    once, steps = train((6, 50))
    assert min(steps) < steps[0]
    for _ in range(2):
        assert (train((6, 50))[0] == once).all()


def test_gradients_are_those_of_the_ops():
    x = fz.asarray(np.linspace(-2, 2, 60, dtype="float32").reshape(5, 12))
    want = fz.grad(lambda v: (nn.softmax(v) ** 2).sum())(x)
    for _ in range(3):
        nn.softmax(x)
        assert (
            np.asarray(fz.grad(lambda v: (nn.softmax(v) ** 2).sum())(x)) == np.asarray(want)
        ).all()
