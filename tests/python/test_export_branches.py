"""fz.export of cond and switch: all of their branches, also those that no example takes."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from exports import exported

import frazil as fz


def array(*numbers):
    return fz.asarray(np.asarray(numbers, "float32"))


def same(a, b):
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def steps(x, k):
    y = fz.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x)
    y = fz.switch(k, [lambda v: v + 1, lambda v: v * v, fz.exp], y)
    return fz.cond(y.max() > 3, lambda v: v / 2, lambda v: v, y)


@pytest.mark.parametrize("pure", [False, True])
def test_one_example_is_enough(tmp_path, pure):
    args = array(1, 2, 3), fz.asarray(1)
    g = exported(tmp_path, steps, args, dynamic={0: {0: "n"}}, pure=pure)
    numbers = np.random.default_rng(0).normal(size=8).astype("float32")
    for n, k, scale in itertools.product((1, 3, 8), (-3, 0, 1, 2, 7), (-1, 1, 0.1, -5)):
        x, index = fz.asarray(numbers[:n] * np.float32(scale)), fz.asarray(k)
        assert same(g(x, index), steps(x, index))


def test_nothing_changes_and_eager_calls_go_by_their_data(tmp_path):
    x = array(1, 2)
    before = steps(x, fz.asarray(0)).tolist()
    exported(tmp_path, steps, (x, fz.asarray(0)))
    assert steps(x, fz.asarray(0)).tolist() == before
    assert steps(-x, fz.asarray(5)).tolist() == np.asarray(fz.exp(-x - 1)).tolist()


def test_nested_branches_and_an_example_of_another_one(tmp_path):
    def f(x):
        def inner(v):
            return fz.cond(v[0] > 5, lambda w: w * 10, lambda w: w + 100, v)

        return fz.cond(x.sum() > 0, inner, lambda v: -v, x)

    for more in ([], [(array(-1, 0),)], [(array(9, 0),), (array(-1, 0),)]):
        g = exported(tmp_path, f, (array(1, 2),), examples=more)
        for x in (array(1, 2), array(7, 1), array(-3, 1)):
            assert same(g(x), f(x))


def test_branches_beside_an_if_of_python(tmp_path):
    def f(x):
        if x[0] > 0:
            x = x * 3
        return fz.cond(x.sum() > 4, lambda v: v - 1, lambda v: v + 1, x)

    g = exported(tmp_path, f, (array(1, 2),))
    for x in (array(1, 2), array(0.5, 0)):
        assert same(g(x), f(x))
    with pytest.raises(RuntimeError, match="reads False, and was exported with True alone"):
        g(array(-1, 2))


def test_branches_in_loops(tmp_path):
    def f(x, n):
        def body(i, s):
            return fz.cond(s.sum() > 10, lambda v: v - 7, lambda v: v * 2, s)

        return fz.fori_loop(0, n, body, x)

    g = exported(tmp_path, f, (array(1, 2, 3), fz.asarray(3)))
    for n, scale in itertools.product(range(9), (1, -1, 5)):
        x, count = array(1, 2, 3) * scale, fz.asarray(n)
        assert same(g(x, count), f(x, count))


def test_a_branch_that_raises_is_left_to_examples(tmp_path):
    def fails(x):
        raise ValueError("no such number")

    def f(x):
        return fz.cond(x.sum() > 0, lambda v: v * 2, fails, x)

    g = exported(tmp_path, f, (array(1, 2),))
    assert same(g(array(3, 4)), f(array(3, 4)))
    with pytest.raises(RuntimeError, match="export it with an example that takes this branch"):
        g(array(-1, -2))


def test_a_training_step_that_is_left_out_if_it_is_no_number(tmp_path):
    model = fz.nn.Linear(3, 1)
    optimizer = fz.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x, y):
        loss = ((model(x)[:, 0] - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        with fz.no_grad():
            for p in model.parameters():
                p[...] = fz.cond(
                    fz.isfinite(loss), lambda p, g: p - 0.1 * g, lambda p, g: p, p, p.grad
                )
        return loss

    x, y = fz.asarray(np.eye(3, dtype="float32")), array(1, 2, 3)
    g = exported(tmp_path, step, (x, y))
    for target in (y, y * np.nan, y * 2, y * np.inf, y):
        assert same(g(x, target), step(x, target))
    for name, value in g.state_dict().items():
        assert same(value, model.state_dict()[name])


def test_more_ways_than_are_looked_for(tmp_path):
    def f(x):
        for i in range(8):
            x = fz.cond(x[i] > 0, lambda v: v * 1.5, lambda v: v - 0.25, x)
        return x

    x = array(*range(1, 9))
    g = exported(tmp_path, f, (x,))
    assert same(g(x), f(x))
    with pytest.raises(RuntimeError, match="export it with an example"):
        for signs in itertools.product((1, -1), repeat=8):
            given = x * array(*signs)
            assert same(g(given), f(given))


def test_a_branch_that_never_ends_is_left_to_examples(tmp_path):
    def down(n):
        return fz.while_loop(lambda n: n != 0, lambda n: n - 1, n)

    def f(n):
        return fz.cond(n <= 0, lambda n: n, down, n)

    g = exported(tmp_path, f, (fz.asarray(-1),))
    assert g(fz.asarray(-5)).item() == -5
    with pytest.raises(RuntimeError, match="export it with an example that takes this branch"):
        g(fz.asarray(3))
    g = exported(tmp_path, f, (fz.asarray(3),))
    assert [g(fz.asarray(n)).item() for n in (-5, 0, 1, 9)] == [-5, 0, 0, 0]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_what_a_branch_wrote_before_it_failed_is_put_back(tmp_path, error):
    kept, norm = array(1, 2), fz.nn.BatchNorm1d(3)

    def fails(x):
        kept[...] = kept * 0
        norm(fz.ones((4, 3)))
        fz.random.normal((3,))
        raise error("no")

    def f(x):
        return fz.cond(x.sum() > 0, lambda v: v + kept, fails, x)

    def now():
        return [np.asarray(t).tobytes() for t in (kept, fz.random.get_state(), *norm.buffers())]

    before = now()
    if error is ValueError:
        g = exported(tmp_path, f, (array(1, 2),))
        assert same(g(array(3, 4)), array(4, 6))
    else:
        with pytest.raises(error, match="no"):
            exported(tmp_path, f, (array(1, 2),))
    assert now() == before
    assert f(array(1, 2)).tolist() == [2, 4]
    with pytest.raises(error, match="no"):  # by its data again
        f(array(-1, -2))


_count = fz.asarray(np.asarray([5, 6], "float32"))


def test_globals_that_branches_write_are_states(tmp_path):
    def f(x):
        def doubled(v):
            _count[...] = _count * 2
            return v + _count

        return fz.cond(x.sum() > 0, doubled, lambda v: v - _count, x)

    before = _count.tolist()
    g = exported(tmp_path, f, (array(1, 2),))
    assert _count.tolist() == before
    assert list(g.state_dict()) == ["_count"]
    for x in (array(1, 2), array(-1, 0), array(3, 4)):
        assert same(g(x), f(x))
    assert same(g.state_dict()["_count"], _count)


def test_branches_of_rules_for_gradients(tmp_path):
    @fz.custom_vjp
    def scaled(x):
        return x * 2

    def forward(x):
        return fz.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x), x

    def backward(x, g):
        return (fz.cond(x[0] > 1, lambda g: g * 3, lambda g: g * 5, g),)

    scaled.defvjp(forward, backward)
    f = fz.grad(lambda x: (scaled(x) * x).sum())
    g = exported(tmp_path, f, (array(1, 2),))
    for x in (array(1, 2), array(2, 2), array(-1, -2), array(3, -9)):
        assert same(g(x), f(x))


def test_threads_that_export_at_once(tmp_path):
    def export(i):
        path = tmp_path / f"{i}.frz"
        for _ in range(5):
            fz.export(steps, (array(1, 2, 3), fz.asarray(1)), path)
        return fz.load_program(path)

    with ThreadPoolExecutor(3) as pool:
        programs = list(pool.map(export, range(3)))
    for g, k, scale in itertools.product(programs, (0, 1, 2), (-1, 1, 0.1)):
        x, index = array(1, 2, 3) * scale, fz.asarray(k)
        assert same(g(x, index), steps(x, index))


def test_sizes_at_which_the_example_takes_another_way(tmp_path):
    def f(x):
        return fz.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x)

    g = exported(tmp_path, f, (array(1, -3, 5),), dynamic={0: {0: "n"}})
    numbers = np.random.default_rng(0).normal(size=40).astype("float32")
    for n, sign in itertools.product((1, 2, 3, 40), (1, -1)):
        x = fz.asarray(numbers[:n] * np.float32(sign))
        assert same(g(x), f(x))
