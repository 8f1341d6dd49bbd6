"""Exported programs whose function asks which of its arguments are one tensor."""

import operator

import pytest
from exports import bits, exported, normal

import frazil as fz
from frazil import nn, optim


def calls_of(count):
    """Every way in which so many arguments are one tensor or several."""
    a, b, c = (normal(3, seed=seed) for seed in range(3))
    if count == 2:
        return [(a, a), (a, b)]
    return [(a, b, c), (a, a, b), (a, b, a), (b, a, a), (a, a, a)]


def told_apart(x, y):
    return x + 1 if x is y else x - y


def test_a_call_that_no_example_was_like_names_the_line(tmp_path):
    x, y = normal(3), normal(3, seed=1)
    g = exported(tmp_path, told_apart, (x, y))
    assert bits(g(x, y)) == bits(told_apart(x, y))
    line = told_apart.__code__.co_firstlineno + 1
    with pytest.raises(
        RuntimeError,
        match=rf"'x' and 'y' are one tensor, which the program tells apart at "
        rf"test_export_identity.py:{line}, and it was exported with different ones alone: give it "
        "a copy, or export it with an example that passes one tensor twice",
    ):
        g(x, x)
    assert bits(g(x, fz.copy(x))) == bits(told_apart(x, fz.copy(x)))


@pytest.mark.parametrize("order", [1, -1])
def test_examples_tell_both_ways(tmp_path, order):
    x, y = normal(3), normal(3, seed=1)
    g = exported(tmp_path, told_apart, *[(x, y), (x, x)][::order])
    for _ in range(4):  # run, then by its plan
        for call in ((x, x), (y, x), (y, y), (x, fz.copy(x))):
            assert bits(g(*call)) == bits(told_apart(*call))
    # One that passes a tensor twice is taken as one of two tensors, too.
    g = exported(tmp_path, told_apart, (x, x))
    assert bits([g(y, y), g(x, y)]) == bits([told_apart(y, y), told_apart(x, y)])


ASKS = {
    "is": lambda x, y: x is y,
    "is_": operator.is_,
    "equal lists": lambda x, y: [x] == [y] if x is y else False,
    "dict": lambda x, y: y in {x: 1},
    "get": lambda x, y: {x: True}.get(y, False),
    "keys": lambda x, y: len({x: 1, y: 2}) == 1,
    "length of a set": lambda x, y: len([*{x: 1}.keys() | {y: 1}.keys()]) == 1,
    "any": lambda x, y: any(t is y for t in [x]),
    "names": lambda x, y: (z := x) is y and z is x,
}


@pytest.mark.parametrize("asks", ASKS)
@pytest.mark.parametrize("both", [False, True])
def test_every_way_to_ask(tmp_path, asks, both):
    def f(x, y):
        return x * 2 if ASKS[asks](x, y) else x * 3

    x, y = normal(3), normal(3, seed=1)
    try:
        g = exported(tmp_path, f, (x, y), *([(x, x)] if both else []))
    except ValueError as error:
        assert "cannot be exported" in str(error)  # noqa: PT017
        return
    for _ in range(3):
        assert bits(g(x, y)) == bits(f(x, y))
        if both:
            assert bits(g(y, y)) == bits(f(y, y))
        else:
            with pytest.raises(RuntimeError, match="are one tensor"):
                g(x, x)


def test_several_questions_are_asked_one_by_one(tmp_path):
    def f(x, y, z):
        if x is y:
            return x * 2
        return z * 5 if y is z else x + y * z

    calls = calls_of(3)
    g = exported(tmp_path, f, *calls[:4])
    for call in calls:  # the last one asks nothing behind the first question
        assert bits(g(*call)) == bits(f(*call))
    # What nobody asks for makes no difference.
    g = exported(tmp_path, f, calls[0])
    assert bits(g(*calls[2])) == bits(f(*calls[2]))
    for call in (calls[1], calls[3], calls[4]):
        with pytest.raises(RuntimeError, match="are one tensor"):
            g(*call)


def test_lists_that_are_one(tmp_path):
    def f(a, b):
        return a[0] * 2 if a is b else a[0] - b[0]

    x, y = [normal(3)], [normal(3, seed=1)]
    g = exported(tmp_path, f, (x, y))
    assert bits(g(x, y)) == bits(f(x, y))
    with pytest.raises(RuntimeError, match=r"'a.0' and 'b.0' are one tensor"):
        g(x, x)


def test_writes_to_an_argument_that_comes_twice(tmp_path):
    def f(x, y, z):
        x += 1
        y *= 2
        return x + y + z

    g = exported(tmp_path, f, *calls_of(3))
    for _ in range(3):
        for mine, theirs in zip(calls_of(3), calls_of(3), strict=True):
            assert bits(g(*mine)) == bits(f(*theirs))
            assert bits(mine) == bits(theirs)


@pytest.mark.parametrize("pure", [False, True])
def test_gradients_to_an_argument_that_comes_twice(tmp_path, pure):
    def f(x, y):
        x.grad = None
        (x * x * y).sum().backward()
        return x.grad

    def needs_grad(*tensors):
        return [t.requires_grad_() for t in tensors]

    x, y = needs_grad(normal(3), normal(3, seed=1))
    try:
        g = exported(tmp_path, f, (x, y), pure=pure)
    except ValueError as error:
        assert "cannot be exported" in str(error)  # noqa: PT017
        return
    assert bits(g(x, y)) == bits(f(x, y))
    with pytest.raises(RuntimeError, match="'x' and 'y' are one tensor"):
        g(x, x)


def test_functions_of_gradients_take_each_argument_for_itself(tmp_path):
    def f(x, y):
        return fz.grad(lambda a, b: (a * a * b).sum())(x, y)

    x, y = normal(3), normal(3, seed=1)
    g = exported(tmp_path, f, (x, y))
    assert bits([g(x, y), g(x, x)]) == bits([f(x, y), f(x, x)])


def test_by_promise_it_is_tried(tmp_path):
    x, y = normal(3), normal(3, seed=1)
    g = exported(tmp_path, lambda x, y: x * y, (x, y), pure=True)
    assert bits(g(x, x)) == bits(x * x)
    g = exported(tmp_path, told_apart, (x, y), pure=True)
    with pytest.raises(RuntimeError, match="'x' and 'y' are one tensor"):
        g(x, x)
    g = exported(tmp_path, told_apart, (x, y), (x, x), pure=True)
    assert bits([g(x, x), g(y, x)]) == bits([told_apart(x, x), told_apart(y, x)])


WEIGHT = fz.asarray([1.0, 2.0, 3.0])


def test_an_argument_that_the_function_has_itself(tmp_path):
    def add(x):
        return x + WEIGHT

    def asks(x):
        return x * 2 if x is WEIGHT else x + WEIGHT

    x = normal(3)
    for f in (add, asks):
        g = exported(tmp_path, f, (WEIGHT,))
        assert bits(g(x)) == bits(f(x))
    (own,) = g.parameters()
    with pytest.raises(RuntimeError, match="'x' and 'WEIGHT' are one tensor"):
        g(own)
    model = nn.Linear(3, 3)
    g = exported(tmp_path, model, (model.weight.detach(),))
    assert bits(g(fz.eye(3))) == bits(model(fz.eye(3)))
    g = exported(tmp_path, model, (model.weight,))
    assert bits(g(fz.eye(3))) == bits(model(fz.eye(3)))


def test_attention_to_itself_and_to_others(tmp_path):
    fz.random.seed(0)
    attention = nn.MultiheadAttention(6, 2).eval()
    q, k, v = (normal(2, 5, 6, seed=seed) for seed in range(3))
    dynamic = {name: {1: "t"} for name in ("query", "key", "value")}
    with fz.no_grad():
        g = exported(tmp_path, attention, (q, q, q), dynamic=dynamic)
        for call in ((q, q, q), (q, k, v), (k, k, k)):
            assert bits(g(*call)) == bits(attention(*call))
        with pytest.raises(RuntimeError, match="'key' and 'value' are one tensor"):
            g(q, k, k)
        g = exported(tmp_path, attention, (q, q, q), (q, k, k), dynamic=dynamic)
        for call in ((v, v, v), (q, k, v), (q, v, v)):
            short = {id(x): x[:, :3] for x in call}
            for given in (call, [short[id(x)] for x in call]):
                assert bits(g(*given)) == bits(attention(*given))


def test_sizes_of_what_is_one_have_one_name(tmp_path):
    def sums(x, y):
        return x.sum() if x is y else x.sum() - y.sum()

    x = normal(4, 3)
    with pytest.raises(ValueError, match="y is the same tensor as another input in an example"):
        exported(tmp_path, sums, (x, x), dynamic={"x": {0: "n"}, "y": {0: "m"}})
    g = exported(tmp_path, told_apart, (x, x), dynamic={"x": {0: "n"}, "y": {0: "n"}})
    for n in (1, 2, 7):
        x = normal(n, 3)
        assert bits([g(x, x), g(x, x + 1)]) == bits([told_apart(x, x), told_apart(x, x + 1)])


def test_inside_of_a_trace(tmp_path):
    x, y = normal(3), normal(3, seed=1)
    g = exported(tmp_path, told_apart, (x, y), (x, x))

    @fz.trace
    def outer(a, b):
        return g(a, b) * 2

    for _ in range(4):
        assert bits(outer(x, x)) == bits(told_apart(x, x) * 2)
        assert bits(outer(x, y)) == bits(told_apart(x, y) * 2)


def test_tensors_that_hold_one_content(tmp_path):
    """Inputs and states that are views of one memory at the export are tensors of their own."""
    x = normal(3)
    g = exported(tmp_path, lambda a, b: a - 2 * b, (x, x.detach()))
    assert bits(g(normal(3, seed=1), x)) == bits(normal(3, seed=1) - 2 * x)

    fz.random.seed(0)
    model = nn.Linear(3, 2)
    average = [p.detach() for p in model.parameters()]
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        for mean, p in zip(average, model.parameters(), strict=True):
            mean[...] = mean * 0.9 + p.detach() * 0.1
        return loss, average

    g = exported(tmp_path, step, (normal(4, 3),))
    for seed in range(4):
        x = normal(4, 3, seed=seed)
        assert bits(g(x)) == bits(step(x))
