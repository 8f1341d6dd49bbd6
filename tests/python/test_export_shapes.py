"""Exported programs at sizes that depend on each other, and along axes of any length."""

import pytest
from exports import bits, exported, normal

import frazil as fz
from frazil import nn


def same_rows(x, y):
    return x + y if x.shape[0] == y.shape[0] else x.sum(0) - y.sum(0)


def same_shape(x, y):
    return (x * y).sum() if x.shape == y.shape else x.sum() * y.sum()


@pytest.mark.parametrize("f", [same_rows, same_shape])
@pytest.mark.parametrize("rows", [(4, 5), (4, 4), (1, 4)])
def test_sizes_that_are_compared_with_each_other(tmp_path, f, rows):
    args = [normal(n, 3, seed=n) for n in rows]
    g = exported(tmp_path, f, args, dynamic={"x": {0: "n"}, "y": {0: "m"}})
    for n in (1, 2, 4, 5, 9, 30):
        for m in (1, 2, 4, 5, 9, 30):
            x, y = normal(n, 3, seed=n), normal(m, 3, seed=m)
            assert bits(g(x, y)) == bits(f(x, y)), (n, m)


def test_a_square_is_another_case(tmp_path):
    def f(x):
        return x + x.T if x.shape[0] == x.shape[1] else x * 2

    for shape in ((4, 6), (4, 4)):
        g = exported(tmp_path, f, (normal(*shape),), dynamic={"x": {0: "n", 1: "m"}})
        for n in (1, 2, 4, 6, 11):
            for m in (1, 2, 4, 6, 11):
                x = normal(n, m, seed=n + m)
                assert bits(g(x)) == bits(f(x)), (n, m)


def test_a_bound_between_two_sizes_is_refused(tmp_path):
    def f(x, y):
        return x.sum(0) if x.shape[0] > y.shape[0] else y.sum(0) * 2

    with pytest.raises(ValueError, match="it does something else at"):
        exported(tmp_path, f, (normal(4, 3), normal(5, 3)),
                 dynamic={"x": {0: "n"}, "y": {0: "m"}})  # fmt: skip


def test_sizes_among_the_results(tmp_path):
    def f(x):
        n = x.shape[0]
        return x.sum(), fz.asarray(n), fz.asarray(n * 2.0), fz.ones(2)

    g = exported(tmp_path, f, (normal(4, 3),), dynamic={"x": {0: "n"}})
    for n in (1, 4, 7, 100):
        assert bits(g(normal(n, 3))) == bits(f(normal(n, 3)))
    with pytest.raises(ValueError, match="returns the number 4 in one run and 7 in another: make "
                       "what depends on sizes or data a tensor"):  # fmt: skip
        exported(tmp_path, lambda x: (x, x.shape[0]), (normal(4, 3),), dynamic={0: {0: "n"}})


LAYERS = {
    "lstm": lambda: nn.LSTM(4, 3, num_layers=2, batch_first=True),
    "both ways": lambda: nn.LSTM(4, 3, bidirectional=True),
    "projected": lambda: nn.LSTM(4, 6, proj_size=2),
    "gru": lambda: nn.GRU(4, 3, bidirectional=True, batch_first=True),
    "rnn": lambda: nn.RNN(4, 3),
}


@pytest.mark.parametrize("name", LAYERS)
def test_recurrent_layers_over_time(tmp_path, name):
    fz.random.seed(0)
    layer = LAYERS[name]().eval()
    axis = 1 if layer.batch_first else 0
    g = exported(tmp_path, layer, (normal(5, 6, 4),), dynamic={0: {axis: fz.Dim("t", min=2)}})
    for t in (2, 3, 5, 6, 17, 70):
        x = normal(*((5, t, 4) if axis else (t, 6, 4)), seed=t)
        assert bits(g(x)) == bits(layer(x))


def test_recurrent_layers_over_time_and_batch(tmp_path):
    fz.random.seed(0)
    layer = nn.GRU(4, 3, batch_first=True)

    def f(x, h):
        y, last = layer(x, h)
        return y[:, -1], last

    g = exported(tmp_path, f, (normal(5, 6, 4), normal(1, 5, 3)),
                 dynamic={"x": {0: "b", 1: fz.Dim("t", min=2)}, "h": {1: "b"}})  # fmt: skip
    for b, t in ((1, 2), (2, 2), (3, 9), (8, 30)):
        x, h = normal(b, t, 4, seed=t), normal(1, b, 3, seed=b)
        assert bits(g(x, h)) == bits(f(x, h))


@pytest.mark.parametrize("reverse", [False, True])
def test_scans_over_time(tmp_path, reverse):
    def step(carry, x):
        a, b = carry
        a = fz.sin(a) + x["u"] * b
        return (a, b + 1), {"a": a, "both": (a * 2, x["v"].sum())}

    def f(u, v):
        start = (fz.zeros(3), fz.asarray(1.0))
        return fz.scan(step, start, {"u": u, "v": v}, reverse=reverse)

    g = exported(tmp_path, f, (normal(6, 3), normal(6, 2)),
                 dynamic={"u": {0: "t"}, "v": {0: "t"}})  # fmt: skip
    for t in (2, 3, 6, 20, 90):
        u, v = normal(t, 3, seed=t), normal(t, 2, seed=t + 1)
        assert bits(g(u, v)) == bits(f(u, v))


# Empty arrays, ends of ranges


def agree(g, f, shapes):
    for shape in shapes:
        x = normal(*shape, seed=sum(shape))
        assert bits(g(x)) == bits(f(x)), shape


@pytest.mark.parametrize("layer", [nn.AdaptiveMaxPool2d((3, 2)), nn.AdaptiveAvgPool2d((3, 2))])
def test_adaptive_pools_over_multiples(tmp_path, layer):
    dims = {2: fz.Dim("h", multiple_of=3), 3: fz.Dim("w", multiple_of=2)}
    g = exported(tmp_path, layer, (normal(2, 3, 6, 8),), dynamic={0: dims})
    agree(g, layer, [(2, 3, h, w) for h in (3, 6, 21) for w in (2, 4, 10)])


def test_no_rows(tmp_path):
    def f(x):
        if x.shape[0] == 0:
            return fz.zeros(3), x
        return x.mean(axis=0), fz.concatenate([x, x * x.shape[0]])

    layer = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 2))
    for fn in (f, layer, lambda x: x @ x.T):
        for rows in (4, 0):
            args = (normal(rows, 3),)
            g = exported(tmp_path, fn, args, dynamic={0: {0: fz.Dim("n", min=0)}})
            agree(g, fn, [(n, 3) for n in (0, 1, 2, 4, 70)])
    with pytest.raises(ValueError, match="fails at n=0, which its dynamic sizes allow"):
        exported(tmp_path, lambda x: x.max(axis=0), (normal(4, 3),),
                 dynamic={0: {0: fz.Dim("n", min=0)}})  # fmt: skip


def test_sums_of_products_over_a_number(tmp_path):
    def f(x):
        n = x.shape[0]
        return fz.arange(n * (n - 1) // 2 + 1), x.sum() / (n * (n + 1) / 2), x * (n * (n + 3) * 0.5)

    g = exported(tmp_path, f, (normal(5),), dynamic={0: {0: "n"}})
    agree(g, f, [(n,) for n in (1, 2, 3, 8, 33)])


class Places(nn.Module):
    def __init__(self):
        self.table = nn.Embedding(16, 4)

    def forward(self, x):
        return x + self.table(fz.arange(x.shape[0]))


def test_a_range_ends_at_a_size_beside_the_example(tmp_path):
    model = Places()
    g = exported(tmp_path, model, (normal(3, 4),), dynamic={0: {0: "n"}})
    agree(g, model, [(n, 4) for n in (1, 2, 3, 15, 16)])
    with pytest.raises(ValueError, match="n is from 1 to 16, got 17"):
        g(normal(17, 4))
    for fn in (lambda x: x.reshape(-1, 2, 4), lambda x: x.reshape(-1, 3, 4)):  # no end, but gaps
        with pytest.raises(ValueError, match="fails at n=.*multiple_of"):
            exported(tmp_path, fn, (normal(6, 4),), dynamic={0: {0: "n"}})


def test_numbers_and_empty_arrays_of_the_cpu_go_with_any_device(tmp_path):
    def f(x, k, none):
        return x * k + none.sum()

    here = fz.asarray(2.0), normal(0, 4)
    x = normal(3).to_device("npu")
    g = exported(tmp_path, f, (x, *here))
    assert bits(g(x, *here).to_device("cpu")) == bits(f(x, *here).to_device("cpu"))
