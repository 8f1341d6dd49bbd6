"""Arguments of wrong types or values: every public function refuses them with a clear message."""

import numpy as np
import pytest

import frazil as fz
from frazil import data, nn, optim, random

X = fz.asarray([[1.0, 2.0], [3.0, 4.0]])
V = fz.asarray([1.0, 2.0, 3.0])
IMAGE, KERNEL = fz.ones((1, 4, 4, 2)), fz.ones((3, 3, 2, 2))


def leaf():
    return fz.asarray([1.0, 2.0], requires_grad=True)


def backward(flag):
    w = leaf()
    fz.sum(w * w).backward(retain_graph=flag)


def set_requires_grad(flag):
    fz.ones(2).requires_grad = flag


def square(x):
    return fz.sum(x * x)


REDUCTIONS = "all any argmax argmin logsumexp max mean min prod std sum var".split()
METHODS = "all any argmax argmin max mean min prod std sum var".split()
FLAGS = {
    **{f"{n}.keepdims": lambda v, n=n: getattr(fz, n)(X, keepdims=v) for n in REDUCTIONS},
    **{f"x.{n}.keepdims": lambda v, n=n: getattr(X, n)(keepdims=v) for n in METHODS},
    "count_nonzero.keepdims": lambda v: fz.count_nonzero(X, keepdims=v),
    "allclose.equal_nan": lambda v: fz.allclose(X, X, equal_nan=v),
    "isclose.equal_nan": lambda v: fz.isclose(X, X, equal_nan=v),
    "isin.invert": lambda v: fz.isin(V, V, invert=v),
    "cumulative_sum.include_initial": lambda v: fz.cumulative_sum(V, include_initial=v),
    "cumulative_prod.include_initial": lambda v: fz.cumulative_prod(V, include_initial=v),
    "linspace.endpoint": lambda v: fz.linspace(0, 1, endpoint=v),
    "astype.copy": lambda v: fz.astype(X, "float32", copy=v),
    "sort.descending": lambda v: fz.sort(X, descending=v),
    "sort.stable": lambda v: fz.sort(X, stable=v),
    "argsort.descending": lambda v: fz.argsort(X, descending=v),
    "ones.requires_grad": lambda v: fz.ones(2, requires_grad=v),
    "asarray.requires_grad": lambda v: fz.asarray([1.0], requires_grad=v),
    "requires_grad_": lambda v: fz.ones(2).requires_grad_(v),
    "requires_grad": set_requires_grad,
    "backward.retain_graph": backward,
    "attention.causal": lambda v: nn.attention(X, X, X, causal=v),
    "grad.has_aux": lambda v: fz.grad(square, has_aux=v),
    "value_and_grad.has_aux": lambda v: fz.value_and_grad(square, has_aux=v),
    "mode.strict": lambda v: fz.mode("auto", strict=v),
    "trace.pure": lambda v: fz.trace(square, pure=v),
    "trace.pure as a decorator": lambda v: fz.trace(pure=v),
    "Linear.bias": lambda v: nn.Linear(2, 2, bias=v),
    "Module.train": lambda v: nn.Linear(2, 2).train(v),
    "batches.shuffle": lambda v: data.batches(V, batch_size=2, shuffle=v),
    "batches.drop_last": lambda v: data.batches(V, batch_size=2, drop_last=v),
}


@pytest.fixture(autouse=True)
def settings_stay():
    threads, mode = fz.get_num_threads(), fz._frazil.runtime.set_process_mode(1)
    yield
    fz.set_num_threads(threads)
    fz._frazil.runtime.set_process_mode(mode)


@pytest.mark.parametrize("name", FLAGS)
def test_flags(name):
    for value in ("no", 2, 1.5, None, [1], 2**70):
        with pytest.raises(TypeError, match=r"^\[[\w.]+\] .* must be True or False, got "):
            FLAGS[name](value)
    numpy = pytest.importorskip("numpy")
    for value in (True, 0, numpy.bool_(False)):  # noqa: FBT003
        FLAGS[name](value)


def test_copy_may_be_none():
    for call in (fz.asarray, fz.from_dlpack, lambda x, copy: fz.reshape(x, (4,), copy=copy)):
        call(X, copy=None)
        with pytest.raises(TypeError, match="copy must be True or False, got 'no'"):
            call(X, copy="no")


INTEGERS = {
    **{f"{n}.axis": lambda v, n=n: getattr(fz, n)(X, axis=v) for n in REDUCTIONS},
    "set_num_threads": fz.set_num_threads,
    "config": lambda v: fz.config(plan_entries=v),
    "ones.shape": lambda v: fz.ones((v,)),
    "eye": fz.eye,
    "eye.k": lambda v: fz.eye(2, k=v),
    "concat.axis": lambda v: fz.concat([X, X], axis=v),
    "stack.axis": lambda v: fz.stack([X, X], axis=v),
    "cumsum.axis": lambda v: fz.cumsum(X, axis=v),
    "diff.axis": lambda v: fz.diff(V, axis=v),
    "diff.n": lambda v: fz.diff(V, n=v),
    "expand_dims.axis": lambda v: fz.expand_dims(V, v),
    "linspace.num": lambda v: fz.linspace(0, 1, v),
    "moveaxis": lambda v: fz.moveaxis(X, v, 0),
    "repeat": lambda v: fz.repeat(V, v),
    "repeat.axis": lambda v: fz.repeat(X, 2, axis=v),
    "roll.shift": lambda v: fz.roll(V, v),
    "roll.axis": lambda v: fz.roll(X, 1, axis=v),
    "sort.axis": lambda v: fz.sort(X, axis=v),
    "split": lambda v: fz.split(V, v),
    "split.axis": lambda v: fz.split(V, 1, axis=v),
    "swapaxes": lambda v: fz.swapaxes(X, v, 0),
    "tensordot.axes": lambda v: fz.tensordot(X, X, axes=v),
    "tril.k": lambda v: fz.tril(X, k=v),
    "unstack.axis": lambda v: fz.unstack(X, axis=v),
    "vecdot.axis": lambda v: fz.vecdot(X, X, axis=v),
    "softmax.axis": lambda v: nn.softmax(X, axis=v),
    "conv2d.groups": lambda v: nn.conv2d(IMAGE, KERNEL, groups=v),
    "conv2d.stride": lambda v: nn.conv2d(IMAGE, KERNEL, stride=v),
    "trace.check_first": lambda v: fz.trace(square, pure=True, check_first=v),
    "trace.check_every": lambda v: fz.trace(square, pure=True, check_every=v),
    "grad.argnums": lambda v: fz.grad(square, argnums=v),
    "Linear.in_features": lambda v: nn.Linear(v, 2),
    "Linear.out_features": lambda v: nn.Linear(2, v),
    "Embedding": lambda v: nn.Embedding(v, 3),
    "LayerNorm.size": nn.LayerNorm,
    "batches.batch_size": lambda v: data.batches(V, batch_size=v),
    "random.seed": random.seed,
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name):
    for value in (True, "2", 1.5, {}):
        with pytest.raises(TypeError, match=r"^\[[\w.]+\] .*must be .*integer.*, got \w+\.$"):
            INTEGERS[name](value)


NUMBERS = {
    "isclose.rtol": lambda v: fz.isclose(X, X, rtol=v),
    "allclose.atol": lambda v: fz.allclose(X, X, atol=v),
    "arange": fz.arange,
    "linspace": lambda v: fz.linspace(v, 1),
    "SGD.lr": lambda v: optim.SGD([leaf()], lr=v),
    "SGD.momentum": lambda v: optim.SGD([leaf()], momentum=v),
    "SGD.weight_decay": lambda v: optim.SGD([leaf()], weight_decay=v),
    "Adam.lr": lambda v: optim.Adam([leaf()], lr=v),
    "Adam.beta": lambda v: optim.Adam([leaf()], betas=(0.9, v)),
    "Adam.eps": lambda v: optim.Adam([leaf()], eps=v),
    "Adam.weight_decay": lambda v: optim.Adam([leaf()], weight_decay=v),
    "Dropout": nn.Dropout,
    "LayerNorm.eps": lambda v: nn.LayerNorm(2, eps=v),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    for value in ("2", None, [1]):
        with pytest.raises(TypeError, match=r"^\[[\w.]+\] .* be (a number|numbers), got \w+\.$"):
            NUMBERS[name](value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fz.set_num_threads(0), "[set_num_threads] needs 1 to 4096 threads, got 0."),
        (lambda: fz.set_num_threads(2**70), "[set_num_threads] n must fit into 64 bits, got "),
        (lambda: fz.config(memory_bytes=-1), "[config] memory_bytes must be at least 0, got -1."),
        (lambda: fz.config(cached_bytes=-1), "[config] cached_bytes must be at least 0, got -1."),
        (lambda: fz.sum(X, axis=2**70), "[sum] axis must fit into 64 bits, got 1180591620717"),
        (lambda: fz.mode([]), '[mode] must be "eager", "auto" or "graph", got [].'),
        (lambda: fz.diff(V, n=-1), "[diff] n must be at least 0, got -1."),
        (lambda: fz.tensordot(X, X, axes=-1), "[tensordot] the number of axes must be at least 0"),
        (lambda: fz.tensordot(X, X, axes=(0,)), "[tensordot] axes must be a number or two lists"),
        (lambda: fz.split(V, [1.5]), "[split] an index must be an integer, got float."),
        (lambda: optim.SGD([leaf()], lr=-1), "[optim.SGD] lr must be at least 0, got -1."),
        (
            lambda: optim.SGD([leaf()], lr=float("nan")),
            "[optim.SGD] lr must be at least 0, got nan.",
        ),
        (lambda: optim.SGD(5), "[optim.SGD] parameters must be a list of tensors, got int."),
        (lambda: optim.Adam([leaf()], betas=0.9), "[optim.Adam] betas must be two numbers, got"),
        (
            lambda: optim.Adam([leaf()], betas=(0.9, 1.5)),
            "[optim.Adam] a beta must be at least 0 and below 1, got 1.5.",
        ),
        (lambda: nn.Dropout(1.5), "[nn.Dropout] p must be at most 1, got 1.5."),
        (
            lambda: nn.GELU("bogus"),
            '[nn.GELU] approximate must be one of "none", "tanh", got \'bogus\'.',
        ),
        (lambda: nn.Linear(-1, 2), "[nn.Linear] in_features must be at least 0, got -1."),
        (lambda: nn.Sequential(5), "[nn.Sequential] a layer must be callable, got int."),
        (lambda: nn.Linear(2, 2).load_state_dict(5), "[load_state_dict] needs a dict, got int."),
        (lambda: data.batches(V, batch_size=0), "[batches] batch_size must be at least 1, got 0."),
        (lambda: data.batches(5, batch_size=1), "[batches] needs arrays, got int."),
        (
            lambda: fz.trace(square, pure=True, check_every=2**31),
            "[trace] check_every must be below 2**31, got 2147483648.",
        ),
    ],
)
def test_values(call, message):
    with pytest.raises((TypeError, ValueError, OverflowError)) as error:
        call()
    assert str(error.value).startswith(message)


def test_more_differences_than_elements():
    assert fz.diff(V, n=2**70).shape == (0,)


ONE = {"numpy": np.array(1), "tensor": fz.asarray(1), "numpy scalar": np.int64(1)}
TAKES_ONE = {
    "sum": lambda x, n: fz.sum(x, axis=n),
    "mean": lambda x, n: fz.mean(x, axis=n),
    "argmax": lambda x, n: fz.argmax(x, axis=n),
    "flip": lambda x, n: fz.flip(x, axis=n),
    "zeros": lambda x, n: fz.zeros(n),
    "tile": lambda x, n: fz.tile(x, n),
    "pad": lambda x, n: fz.pad(x, n),
    "constant_values": lambda x, n: fz.pad(x, 2, constant_values=n),
    "split": lambda x, n: fz.split(x, n)[0],
    "tensordot": lambda x, n: fz.tensordot(x, x, axes=n),
    "repeat": lambda x, n: fz.repeat(x, n),
    "arange": lambda x, n: fz.arange(n, 3, n),
}


@pytest.mark.parametrize("name", TAKES_ONE)
@pytest.mark.parametrize("kind", ONE)
def test_integers_of_other_kinds(name, kind):
    x = fz.asarray(np.arange(9.0).reshape(3, 3))
    got, want = TAKES_ONE[name](x, ONE[kind]), TAKES_ONE[name](x, 1)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


@pytest.mark.parametrize("half", [np.float64(0.5), np.float32(0.5), np.array(0.5), fz.asarray(0.5)])
def test_floats_of_other_kinds(half):
    assert fz.pad(fz.zeros(1), 1, constant_values=half).tolist() == [0.5, 0, 0.5]
    assert fz.arange(half, 2, half).tolist() == [0.5, 1, 1.5]
    for wrong in ("1", [1.0, 2.0], None):
        with pytest.raises(TypeError, match=r"\[pad\] constant_values must be a number"):
            fz.pad(fz.zeros(1), 1, constant_values=wrong)
