"""Loops of any length in exported programs: every way to write one, from few examples."""

import collections
import copy
import functools
import operator
import pickle

import pytest
from exports import bits, exported

import frazil as fz
from frazil import nn, optim


def scaled(*factors):
    return [fz.ones(3) * factor for factor in factors]


# Of none, one, two and many rounds.
INPUTS = scaled(1e-4, 1, 1.1, 7, 10, 20, 25, 30, 33.3, 400, 1e4)


class Held:
    def __init__(self, x):
        self.x = x


def plain(x):
    while fz.sum(x) < 100:
        x = x * 1.5
    return x


def of_a_tuple(x):
    s = (x, x)
    while fz.sum(s[0]) < 100:
        s = (s[0] * 1.5, s[1] + s[0])
    return s


def of_a_dict(x):
    s = {"a": x, "b": x}
    while fz.sum(s["a"]) < 100:
        s = {"a": s["a"] * 1.5, "b": s["b"] + s["a"]}
    return s


def of_attributes(x):
    held = Held(x)
    while fz.sum(held.x) < 100:
        held.x = held.x * 1.5
    return held.x


def in_place(x):
    y = fz.copy(x)
    while fz.sum(y) < 100:
        y *= 1.5
    return y


def until(x):
    return fz.while_loop(lambda s: fz.sum(s) < 100, lambda s: s * 1.5, x)


def with_break(x):
    while True:
        x = x * 1.5
        if fz.sum(x) > 100:
            break
        x = x + 1
    return x


def with_continue(x):
    while fz.sum(x) < 100:
        x = x * 1.5
        if fz.sum(x) > 50:
            continue
        x = x + 1
    return x


def with_branches(x):
    while fz.sum(x) < 100:
        x = x * 1.5 if fz.sum(x) < 20 else x + 7
    return x


def with_cond(x):
    while fz.sum(x) < 100:
        x = fz.cond(fz.sum(x) < 20, lambda y: y * 1.5, lambda y: y + 7, x)
    return x


def with_a_list(x):
    while fz.sum(x) < 100:
        (x,) = [v * 1.5 for v in (x,)]
    return x


def with_finally(x):
    try:
        while fz.sum(x) < 100:
            x = x * 1.5
    finally:
        y = x + 1
    return y


def one_behind_another(x):
    while fz.sum(x) < 100:
        x = x * 1.5
    while fz.sum(x) < 1000:
        x = x * 1.7
    return x


def nested(x):
    y = x
    while fz.sum(y) < 100:
        z = y
        while fz.sum(z) < 50:
            z = z * 1.3
        y = y + z * 0.2
    return y


FORMS = [
    plain, of_a_tuple, of_a_dict, of_attributes, in_place, until, with_break, with_continue,
    with_branches, with_cond, with_a_list, with_finally, one_behind_another, nested,
]  # fmt: skip


@pytest.mark.parametrize("fn", FORMS)
def test_one_example_is_enough(tmp_path, fn):
    g = exported(tmp_path, fn, (fz.ones(3),))
    for x in INPUTS:
        assert bits(g(x)) == bits(fn(x))


@pytest.mark.parametrize("fn", [plain, of_a_tuple, with_branches, nested])
def test_examples_of_any_length_in_any_order(tmp_path, fn):
    for some in (scaled(30, 1e-3, 1e4), scaled(1e4, 20, 1), scaled(25, 10, 1)):
        first, *others = some
        g = exported(tmp_path, fn, (first,), examples=[(x,) for x in others])
        for x in INPUTS:
            assert bits(g(x)) == bits(fn(x))


def test_ways_of_several_examples_are_one_loops(tmp_path):
    """Each takes one branch in all of its rounds."""

    def f(x, up):
        while fz.sum(x) < 100:
            x = x * 1.5 if up[0] > 0 else x + 7
            up = fz.roll(up, 1)
        return x

    always, never = fz.ones(3), fz.zeros(3)
    g = exported(tmp_path, f, (fz.ones(3), always), examples=[(fz.ones(3), never)])
    for up in ([1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 0]):
        for x in INPUTS:
            mixed = fz.asarray(up, dtype="float32")
            assert bits(g(x, mixed)) == bits(f(x, mixed))


def test_a_round_that_is_told_apart_by_others_alone(tmp_path):
    """After one round of newton, y may be x or what the loop makes."""

    def newton(x):
        y = x
        while fz.abs(y * y - x) > 1e-3 * x:
            y = 0.5 * (y + x / y)
        return y

    def of(v):
        return fz.asarray(v, dtype="float64")

    g = exported(tmp_path, newton, (of(1.05),), examples=[(of(2.0),), (of(1.0),)])
    for v in (1.0, 1.05, 2.0, 1e6, 1e-3):
        assert bits(g(of(v))) == bits(newton(of(v)))


def test_what_asks_for_objects_is_no_loop_from_the_start(tmp_path):
    """The first round knows its argument: it is no round like the others."""

    def f(x):
        y = x
        while fz.sum(y) < 100:
            y = y * 2 if y is x else y * 1.5
        return y

    g = exported(tmp_path, f, (fz.ones(3),), examples=[(fz.ones(3) * 1e4,)])
    for x in INPUTS:
        assert bits(g(x)) == bits(f(x))


def test_what_is_written_in_a_loop_and_not(tmp_path):
    """A loop that writes to an argument, and not to it where it takes no round."""

    def f(x, steps):
        while fz.sum(x) < 100:
            x *= 1.5
            steps += 1
        return fz.sum(x)

    none = fz.ones(3) * 1e4, fz.asarray(0)
    g = exported(tmp_path, f, (fz.ones(3), fz.asarray(0)), examples=[none])
    for x in INPUTS:
        mine, theirs = (fz.copy(x), fz.asarray(0)), (fz.copy(x), fz.asarray(0))
        assert bits(g(*mine)) == bits(f(*theirs))
        assert bits(mine) == bits(theirs)


def test_a_loop_over_a_dynamic_length(tmp_path):
    def counted(x):
        def step(i, s):
            return fz.sin(s) + fz.take(x, i, axis=0)

        return fz.fori_loop(0, fz.asarray(x.shape[0]), step, x[0] * 0)

    def by_hand(x):
        i, s, n = fz.asarray(0), x[0] * 0, fz.asarray(x.shape[0])
        while i < n:
            s = fz.sin(s) + x[i]
            i = i + 1
        return s

    for f in (counted, by_hand):
        g = exported(tmp_path, f, (fz.random.normal((6, 4)),), dynamic={"x": {0: "n"}})
        for n in (1, 2, 6, 9, 70):
            x = fz.random.normal((n, 4))
            assert bits(g(x)) == bits(f(x))


def test_a_recurrent_layer_over_a_dynamic_length(tmp_path):
    fz.random.seed(0)
    cell = nn.LSTMCell(4, 5)

    def last(x):
        start = fz.zeros((x.shape[0], 5)), fz.zeros((x.shape[0], 5))
        step = lambda i, s: cell(fz.take(x, i, axis=1), s)  # noqa: E731
        return fz.fori_loop(0, fz.asarray(x.shape[1]), step, start)[0]

    with fz.no_grad():
        g = exported(tmp_path, last, (fz.random.normal((3, 6, 4)),), dynamic={"x": {1: "t"}})
        for t in (2, 3, 6, 40):
            x = fz.random.normal((3, t, 4))
            assert bits(g(x)) == bits(last(x))


def while_in_while(x):
    def outer(s):
        return fz.while_loop(lambda t: fz.sum(t) < 50, lambda t: t * 1.3, s) * 0.2 + s

    return fz.while_loop(lambda s: fz.sum(s) < 100, outer, x)


def fori_in_while(x):
    while fz.sum(x) < 100:
        x = fz.fori_loop(0, 3, lambda i, s: s * 1.1 + i, x)
    return x


def while_in_range(x):
    for k in range(3):
        x = fz.while_loop(lambda t, k=k: fz.sum(t) < 50 * (k + 1), lambda t: t * 1.1, x)
    return x


class Grows(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        while fz.sum(x * x) < 100:
            x = self.linear(x) + x * 1.5
        return x


def in_a_module(x):
    with fz.no_grad():
        return GROWS(x) * 2


fz.random.seed(3)
GROWS = Grows()


@pytest.mark.parametrize("fn", [while_in_while, fori_in_while, while_in_range, in_a_module])
def test_loops_inside_of_others_and_of_modules(tmp_path, fn):
    for args in ((fz.ones(3) * 0.1,), (fz.ones(3) * 0.3,)):
        g = exported(tmp_path, fn, args)
        for x in INPUTS:
            assert bits(g(x)) == bits(fn(x))


def test_a_loop_up_to_a_tensor_inside_of_others(tmp_path):
    def f(x, n, m):
        def outer(i, s):
            return fz.fori_loop(0, m, lambda j, t: fz.sin(t) + j.astype("float32"), s) + 1

        return fz.fori_loop(0, n, outer, x)

    g = exported(tmp_path, f, (fz.ones(3), fz.asarray(3), fz.asarray(2)))
    for n in (0, 1, 2, 7):
        for m in (0, 1, 2, 9):
            args = fz.ones(3), fz.asarray(n), fz.asarray(m)
            assert bits(g(*args)) == bits(f(*args))


@pytest.mark.parametrize("first", [1e-3, 0.1, 1, 5, 30, 60, 1000])
@pytest.mark.parametrize("second", [1e-3, 1, 30, 1000])
def test_any_two_examples_of_a_nested_loop(tmp_path, first, second):
    g = exported(tmp_path, nested, (fz.ones(3) * first,), examples=[(fz.ones(3) * second,)])
    for x in INPUTS:
        try:
            found = bits(g(x))
        except RuntimeError as error:
            assert "export it with an example" in str(error)  # noqa: PT017
            assert min(first, second) > 10
            continue
        assert found == bits(nested(x))


def test_a_loaded_loop_is_one_of_its_plan(tmp_path):
    """Not a kernel for each round."""

    def f(n, x):
        i = fz.asarray(0)
        while i < n:
            x = fz.sin(x) + x * 0.5
            i = i + 1
        return x

    g = exported(tmp_path, f, (fz.asarray(5), fz.ones(3)))
    for n in (0, 1, 2, 1000, 1000, 1000, 400):
        assert bits(g(fz.asarray(n), fz.ones(3))) == bits(f(fz.asarray(n), fz.ones(3)))
    assert g.stats()["last_kernels"] < 20


@pytest.mark.parametrize("copies", [False, True])
def test_arguments_that_a_loop_hands_on(tmp_path, copies):
    """Which of them is returned depends on the number of rounds."""

    def f(x, y, z):
        while fz.sum(x) < 10:
            z, y = y, z
            x = x * 1.7 + 0.5
        return x, fz.copy(z) if copies else z

    for v in (0.2, 0.7, 1, 1.2):
        try:
            g = exported(tmp_path, f, (fz.ones(3) * v, fz.ones(3), fz.zeros(3)))
        except ValueError as error:
            assert "its loop decides which one" in str(error)  # noqa: PT017
            continue
        for x in scaled(0.01, 0.5, 1, 2, 2.5, 4):
            try:
                found = bits(g(x, fz.ones(3), fz.zeros(3)))
            except RuntimeError as error:
                assert "export it with an example" in str(error)  # noqa: PT017
                continue
            assert found == bits(f(x, fz.ones(3), fz.zeros(3)))


# Sizes


@pytest.mark.parametrize(("layer", "shape"), [(nn.BatchNorm1d(4), (4,)),
                                              (nn.BatchNorm2d(4), (4, 5, 3))])  # fmt: skip
def test_batch_norm_trains_on_batches_of_any_size(tmp_path, layer, shape):
    x = fz.random.normal((6, *shape))
    g = exported(tmp_path, layer, (x,), dynamic={0: {0: fz.Dim("batch", min=2)}})
    for n in (2, 3, 6, 50, 300):
        x = fz.random.normal((n, *shape))
        assert bits(g(x)) == bits(layer(x))
    kept = {name: value for name, value in g.state_dict().items() if "running" in name}
    assert bits(kept) == bits({name: layer.state_dict()[name] for name in kept})


LAYERS = (
    nn.AdaptiveAvgPool2d(1), nn.AdaptiveMaxPool2d(1), nn.Upsample(scale_factor=2),
    nn.Upsample(scale_factor=3), nn.Upsample(scale_factor=2, mode="bilinear"),
    nn.Upsample(scale_factor=2, mode="bicubic"), nn.Upsample(scale_factor=(1, 3), mode="bicubic"),
)  # fmt: skip


@pytest.mark.parametrize("layer", LAYERS)
def test_pools_and_upsampling_of_any_size(tmp_path, layer):
    x = fz.random.normal((2, 3, 8, 6))
    g = exported(tmp_path, layer, (x,), dynamic={0: {2: "h", 3: "w"}})
    for h, w in ((8, 6), (5, 7), (1, 9), (2, 2), (33, 20)):
        x = fz.random.normal((2, 3, h, w))
        assert bits(g(x)) == bits(layer(x))


# Copies


def test_programs_are_copied_and_pickled(tmp_path):
    model = nn.Linear(3, 2)
    optimizer = optim.Adam(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    x = fz.ones((4, 3))
    step(x)
    g = exported(tmp_path, step, (x,))
    g(x)
    (tmp_path / "program.frz").unlink()  # they need no file
    copies = [copy.deepcopy(g), pickle.loads(pickle.dumps(g))]
    want = [bits(g(x)) for _ in range(3)]
    for other in copies:
        assert repr(other) == repr(g)
        assert [bits(other(x)) for _ in range(3)] == want
        assert bits(other.state_dict()) == bits(g.state_dict())
    few = copy.deepcopy(g).requires_grad_()
    assert all(t.requires_grad for t in pickle.loads(pickle.dumps(few)).parameters())


ASKS = {
    "is_": lambda z, y: operator.is_(z, y),
    "is_not": lambda z, y: not operator.is_not(z, y),
    "mapped": lambda z, y: all(map(operator.is_, [z], [y])),
    "reduced": lambda z, y: functools.reduce(operator.is_, [z, y]),
    "partial": lambda z, y: functools.partial(operator.is_, z)(y),
    "get": lambda z, y: {y: True}.get(z, False),
    "subscript": lambda z, y: collections.defaultdict(bool, {y: True})[z],
    "keys": lambda z, y: len({y: 1, z: 2}) == 1,
    "fromkeys": lambda z, y: len(dict.fromkeys([y, z])) == 1,
    "comprehension": lambda z, y: len({k: 1 for k in (y, z)}) == 1,
    "set": lambda z, y: len({y, z}) == 1,
    "sets": lambda z, y: {y} == {z},
    "tuple": lambda z, y: (y, 1) in {(z, 1): 0},
    "object": lambda z, y: object.__eq__(z, y) is True,
    "methods": lambda z, y: y.sum == z.sum,
    "contains": lambda z, y: operator.contains([y], z),
}


@pytest.mark.parametrize("asks", ASKS)
def test_loops_that_ask_which_object_a_name_holds(tmp_path, asks):
    """From states that differ in that alone, which one example does not show."""

    def f(x):
        y = x * 1
        z = y + 1
        while fz.sum(x) < 100:
            w = 1000.0 if ASKS[asks](z, y) else 1.0
            x = x * 1.5 + w
            if fz.sum(x) > 90:
                z = y
        return x

    try:
        fz.export(f, (fz.ones(()) * 10,), tmp_path / "f.frz")
    except ValueError:
        return
    g = fz.load_program(tmp_path / "f.frz")
    for v in (10.0, 60.0, 17.0, 40.0):
        x = fz.ones(()) * v
        try:
            found = g(x)
        except RuntimeError as error:
            assert "export it with an example" in str(error)  # noqa: PT017
            continue
        assert found.item() == f(x).item()


def concatenated(x):
    text = "a" * 40
    while fz.sum(x) < 100:
        x = x + 1
        text = text + "b"
        if len(text) > 49:
            x = x * 2
    return x


def joined(x):
    text = "a" * 40
    while fz.sum(x) < 100:
        x = x + 1
        text = f"{text}b"
        if len(text) > 49:
            x = x * 2
    return x


@pytest.mark.parametrize("fn", [concatenated, joined])
def test_strings_are_told_by_their_content(tmp_path, fn):
    """Not by their addresses, which are used again: no round is like the one before it."""
    g = exported(tmp_path, fn, (fz.full((3,), 27.0),))
    for start in range(45):
        x = fz.full((3,), float(start))
        try:
            found = bits(g(x))
        except RuntimeError as error:
            assert "export it with an example" in str(error)  # noqa: PT017
            continue
        assert found == bits(fn(x))


# States that other loops hold as well

KEPT = fz.zeros(3)


def behind_another(x, y, k):
    z, y = y, x * 0.7
    i = k * 0
    while i < 0 + k:
        i = i + 1
    KEPT[0] = x[1]
    j = k * 0
    while True:
        if j >= k + 1:
            break
        j = j + 1
        n = k * 0
        while n < k + 1:
            n = n + 1
            y = z
            z = y + y * 0.5
    return fz.sin(y) if (z > 0).any() else z


@pytest.mark.parametrize("rounds", range(5))
def test_an_inner_loop_that_takes_what_the_outer_one_holds(tmp_path, rounds):
    x, y = fz.asarray([1.0, 2.0, -1.0]), fz.asarray([0.5, -0.5, 1.0])
    g = exported(tmp_path, behind_another, (x, y, fz.asarray(rounds)))
    for k in range(7):
        args = x, y, fz.asarray(k)
        try:
            found = bits(g(*args))
        except RuntimeError as error:
            assert "export it with an example" in str(error)  # noqa: PT017
            continue
        assert found == bits(behind_another(*args))
