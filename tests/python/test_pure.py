"""fz.trace(fn, pure=True): skipped bodies give the same bits, writes and random numbers."""

import collections
import copy
import dataclasses
import gc
import pickle
import signal
import weakref

import numpy as np
import pytest

import frazil as fz

Pair = collections.namedtuple("Pair", "x y")


@dataclasses.dataclass
class State:
    position: object
    name: str


def counted(body, **options):
    """The body traced as pure, and the list that grows whenever it runs."""
    runs = []

    def step(*args, **kwargs):
        runs.append(None)
        return body(*args, **kwargs)

    return fz.trace(step, pure=True, **options), runs


def vector(*values):
    return fz.asarray(np.array(values, np.float32))


def test_the_body_is_skipped():
    f, runs = counted(lambda a, b: fz.exp(a * b) + a)
    for i in range(12):
        a, b = vector(0.1 * i, 2), vector(3, -0.2 * i)
        assert f(a, b).tolist() == (fz.exp(a * b) + a).tolist()
    assert len(runs) == 4  # recorded, learnt, compared twice
    assert f.stats()["skipped"] == 8 and f.stats()["calls"] == 12


def test_structures_come_back():
    def body(pair, state, *rest, k=1, **named):
        x, y = pair
        both = x + y * k
        return {
            "sum": both,
            "again": [both, both],
            "same": pair.x,
            "state": State(state.position * 2, state.name),
            "pair": Pair(x, None),
            "rest": tuple(r + 1 for r in rest),
            **{name: value * 2 for name, value in named.items()},
        }

    f, runs = counted(body)
    for i in range(8):
        pair = Pair(vector(i, 1), vector(2, i))
        args = (pair, State(vector(i), "q"), vector(i), vector(7))
        got, want = f(*args, k=3, z=vector(i)), body(*args, k=3, z=vector(i))
        assert list(got) == list(want)
        assert got["sum"].tolist() == want["sum"].tolist()
        assert got["again"][0] is got["again"][1] is got["sum"]
        assert got["same"] is pair.x and isinstance(got["pair"], Pair) and got["pair"].x is pair.x
        assert got["state"].name == "q" and got["state"].position.tolist() == [2 * i]
        assert [r.tolist() for r in got["rest"]] == [[i + 1], [8]]
        assert got["z"].tolist() == [2 * i]
    assert len(runs) == 4


@pytest.mark.parametrize(
    "values",
    [
        (1, True, 1.0, 2, 0.0, -0.0),
        ("a", "b", None),
        ((1, 2), [1, 2], (2, 1)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
)
def test_what_is_no_tensor_is_guarded_by_type_and_value(values):
    f, _ = counted(lambda x, v: (x * 2, repr(v)), check_first=0)
    for _ in range(3):
        for v in values:
            assert f(vector(1), v)[1] == repr(v)
    assert f.stats()["skipped"] >= len(values)


def test_shapes_dtypes_layouts_and_aliases_are_guarded():
    f, _ = counted(lambda x, y: fz.sum(x * y, axis=-1), check_first=0)
    a = fz.reshape(fz.arange(6, dtype="float32"), (2, 3))
    b = fz.ones((2, 3)) * 2
    variants = [(a, b), (a, a), (a.T, b.T), (a, b[0]), (a.astype("float64"), b), (a[:, ::2],) * 2]
    for _ in range(4):
        for x, y in variants:
            got, want = f(x, y), fz.sum(x * y, axis=-1)
            assert got.tolist() == want.tolist() and got.dtype == want.dtype
    assert f.stats()["skipped"] >= len(variants)


def test_writes_to_arguments_happen():
    def body(state, x):
        state["count"] += 1
        state["mean"] += (x - state["mean"]) / state["count"]
        x[0] = 7.0
        return state["mean"] * 1

    f, runs = counted(body)
    ours, theirs = ({"count": fz.asarray(0.0), "mean": fz.zeros(2)} for _ in range(2))
    for i in range(10):
        x, y = vector(i, 1), vector(i, 1)
        assert f(ours, x).tolist() == body(theirs, y).tolist()
        assert x.tolist() == y.tolist() == [7, 1]
        assert ours["mean"].tolist() == theirs["mean"].tolist()
    assert ours["count"].item() == 10
    assert len(runs) == 5  # the first count is a number, which no tensor is afterwards


def test_a_write_reaches_every_name_of_a_cell_and_no_copy():
    def body(x, y):
        x += 1
        return x + y

    f, _ = counted(body)
    for _ in range(8):
        x = vector(1, 2)
        kept, sliced = x.detach(), x[:1]
        assert f(x, x).tolist() == [4, 6]
        assert x.tolist() == [2, 3] and kept.tolist() == [1, 2] and sliced.tolist() == [1]
    for _ in range(8):
        x, y = vector(1, 2), vector(1, 2)
        assert f(x, y).tolist() == [3, 5]


def test_random_numbers_are_those_of_eager_code():
    def body(x):
        return x + fz.random.normal(x.shape) * fz.random.uniform(x.shape)

    f, runs = counted(body)
    fz.random.seed(3)
    want = [body(fz.zeros(4)).tolist() for _ in range(9)]
    fz.random.seed(3)
    assert [f(fz.zeros(4)).tolist() for _ in range(9)] == want
    assert len(runs) == 4
    generators = [fz.random.Generator(5) for _ in range(2)]
    g, runs = counted(lambda x, generator: x + generator.uniform(x.shape))
    for _ in range(9):
        got, want = (s(fz.zeros(4), r) for s, r in zip((g, g.__wrapped__), generators, strict=True))
        assert got.tolist() == want.tolist()
    assert len(runs) == 4 + 9


def test_seeding_inside_happens():
    def body(x):
        fz.random.seed(11)
        return x + fz.random.uniform(x.shape)

    f, runs = counted(body)
    for _ in range(6):
        fz.random.uniform((3,))
        got = f(fz.zeros(2)).tolist(), fz.random.uniform((2,)).tolist()
        want = body(fz.zeros(2)).tolist(), fz.random.uniform((2,)).tolist()
        assert got == want


def test_outcomes_choose_what_follows():
    def body(x, n):
        y = x * 2
        while y.sum() < n:
            y = y + x
        if bool(y.max() > 5) and int(n) % 2:
            return {"big": y}
        return y - 1

    f, runs = counted(body, check_first=0)
    for _ in range(6):
        for n in (3, 50, 51, 20):
            got, want = (g(vector(1, 2), fz.asarray(n)) for g in (f, body))
            assert type(got) is type(want)
            if isinstance(got, dict):
                got, want = got["big"], want["big"]
            assert got.tolist() == want.tolist()
    assert len(runs) <= 2 * 4 + 1
    assert f.stats()["skipped"] >= 15


def test_bad_indices_raise_at_the_users_line():
    f, runs = counted(lambda x, i: x[i] * 2)
    x = vector(1, 2, 3)
    for _ in range(6):
        assert f(x, fz.asarray([2, 0])).tolist() == [6, 2]
    assert len(runs) == 4
    with pytest.raises(IndexError, match="index 3 is out of range"):
        f(x, fz.asarray([0, 3]))
    assert len(runs) == 5
    assert f(x, fz.asarray([1, 1])).tolist() == [4, 4] and len(runs) == 5


def test_bad_indices_may_be_caught():
    def body(x, i):
        try:
            return x[i] * 2
        except IndexError:
            return x - 1

    f, runs = counted(body)
    x = vector(1, 2, 3)
    good, bad = fz.asarray([2, 0]), fz.asarray([0, 3])
    for i in (bad, bad, bad, bad, good, good, bad, good, good, bad, good, good):
        assert f(x, i).tolist() == body(x, i).tolist()
    assert f.stats()["skipped"] == 12 - len(runs) == 2


def test_a_check_of_a_view_ends_no_segment():
    """Otherwise forward and backward pass of a training step would be two plans."""

    def body(w, x, labels):
        def loss(w):
            return fz.nn.cross_entropy(fz.tanh(x @ w), labels.reshape((-1,))[::-1])

        return fz.value_and_grad(loss)(w) if labels.shape[0] == 2 else (labels.T, loss(w))

    f, runs = counted(body)
    rng = np.random.default_rng(3)
    x = fz.asarray(rng.normal(size=(6, 4)).astype(np.float32))
    w = fz.asarray(rng.normal(size=(4, 5)).astype(np.float32))
    for i in range(24):
        if i == 16:
            assert len(runs) == 8
        shape = (2, 3) if i % 2 else (3, 2)
        labels = fz.asarray(rng.integers(0, 5, shape))
        got, want = f(w, x, labels), body(w, x, labels)
        assert [t.tolist() for t in got] == [t.tolist() for t in want]
    assert len(runs) == 8 and f.stats()["plans"] == 2 == f.stats()["segments"]
    for bad in (-1, 5):
        with pytest.raises(IndexError, match=rf"index {bad} is out of range for 5 classes"):
            f(w, x, fz.asarray([[1, 2, 0], [4, bad, 3]]))
    labels = fz.asarray([[1, 2, 0], [4, 4, 3]])
    assert f(w, x, labels)[1].tolist() == body(w, x, labels)[1].tolist()


def test_an_exception_of_the_body_is_its_own():
    def body(x, fail):
        y = x * 2
        if bool(fail):
            raise KeyError("mine")
        return y

    f, _ = counted(body)
    for _ in range(5):
        assert f(vector(1), fz.asarray(False)).tolist() == [2]
        with pytest.raises(KeyError, match="mine"):
            f(vector(1), fz.asarray(True))


class TestModules:
    def make(self):
        return fz.nn.Sequential(fz.nn.Linear(3, 4), fz.nn.ReLU(), fz.nn.Linear(4, 2))

    def check(self, f, model, x):
        with fz.no_grad():
            assert f(model, x).tolist() == model(x).tolist()

    def test_parameters_are_read_afresh(self):
        model, x = self.make(), fz.ones((5, 3))
        f, runs = counted(lambda m, x: m(x))
        for i in range(8):
            with fz.no_grad():
                model.layers[0].weight += 0.125 * i
            self.check(f, model, x)
        assert len(runs) == 4
        self.check(f, copy.deepcopy(model), x)  # the same structure: the same entry
        self.check(f, self.make(), x)
        assert len(runs) == 4

    def test_changes_are_noticed(self):
        model, x = self.make(), fz.ones((5, 3))
        f, _ = counted(lambda m, x: m(x) * (2 if m.training else 1) + getattr(m, "shift", 0))
        e = f.__wrapped__

        def check():
            for _ in range(6):
                with fz.no_grad():
                    assert f(model, x).tolist() == e(model, x).tolist()

        check()
        model.layers[0] = fz.nn.Linear(3, 4)
        check()
        model.layers.append(fz.nn.ReLU())
        check()
        model.layers[2].bias = None
        check()
        model.eval()
        check()
        model.shift = 3.0
        check()
        model.shift = fz.ones(2)
        check()
        del model.shift
        check()
        model.train()
        check()
        model.layers.pop()
        check()
        assert f.stats()["skipped"] > 15

    @pytest.mark.parametrize(
        "make_optimizer",
        [
            lambda p: fz.optim.SGD(p, lr=0.1, momentum=0.9),
            lambda p: fz.optim.Adam(p, lr=0.1, weight_decay=0.01),
        ],
    )
    def test_training_with_an_optimizer(self, make_optimizer):
        def body(model, optimizer, x, t):
            optimizer.zero_grad()
            loss = fz.nn.mse_loss(model(x), t)
            loss.backward()
            optimizer.step()
            return loss.detach()

        model = self.make()
        models = [model, copy.deepcopy(model)]
        optimizers = [make_optimizer(m.parameters()) for m in models]
        f, runs = counted(body)
        x, t = fz.ones((5, 3)), fz.zeros((5, 2))
        for _ in range(10):
            got, want = (
                g(m, o, x, t).tolist()
                for g, m, o in zip((f, body), models, optimizers, strict=True)
            )
            assert got == want
        for p, q in zip(*(m.parameters() for m in models), strict=True):
            assert p.tolist() == q.tolist() and p.grad.tolist() == q.grad.tolist()
            assert p.is_leaf and p.requires_grad
        assert len(runs) == 5, f.explain()  # the first call finds no .grad: another kind

    def test_methods_and_modules_are_callables_too(self):
        model, x = self.make(), fz.ones((5, 3))
        for target in (model, model.forward):
            f = fz.trace(target, pure=True)
            with fz.no_grad():
                for i in range(8):
                    model.layers[2].bias = fz.ones(2) * i if i > 5 else model.layers[2].bias
                    assert f(x).tolist() == model(x).tolist()

        class Net(fz.nn.Module):
            def __init__(self, k):
                self.k = k

            @fz.trace(pure=True)
            def forward(self, x):
                return x * self.k

        nets = [Net(k) for k in (1, 2.5, vector(4))]
        for _ in range(6):
            for net in nets:
                k = net.k if isinstance(net.k, (int, float)) else 4
                assert net(vector(3)).tolist() == [3 * k]

    def test_modules_are_collected_copied_and_pickled(self):
        f, _ = counted(lambda m, x: m(x))
        model = self.make()
        model.me = [model]  # a cycle through a container
        for _ in range(5):
            self.check(f, model, fz.ones((1, 3)))
        watch = weakref.ref(model)
        del model
        gc.collect()
        assert watch() is None
        model = self.make()
        self.check(f, pickle.loads(pickle.dumps(model)), fz.ones((1, 3)))
        with pytest.raises(TypeError, match="takes no arguments"):
            fz.nn.Tanh(3)


class TestRefusals:
    def refused(self, body, *args, match):
        f, runs = counted(body)
        for _ in range(6):
            assert repr(f(*args)) == repr(body(*args))
        assert len(runs) == 6
        assert match in f.explain()

    def test_bodies(self):
        x = vector(1, 2)
        self.refused(lambda x: x * x.sum().item(), x, match="reads a float into the program (")
        self.refused(lambda x: x * float(np.asarray(x)[0]), x, match="reads a tensor's bytes")
        self.refused(lambda x: fz.histogram(x, 3)[0], x, match="reads a tensor's bytes")
        self.refused(lambda x: [x * 2, {1}], x, match="type set, which cannot be made again")
        w = fz.ones(2, requires_grad=True)
        self.refused(lambda x: x * w, x, match="history for gradients begins outside")

    def test_arguments(self):
        x = vector(1, 2)
        self.refused(lambda x, a: x + a, x, np.ones(2, np.float32), match="type numpy.ndarray")
        self.refused(lambda x, a: x + len(a), x, {(1, 2)}, match="type set cannot be compared")
        self.refused(lambda x: x + 1, fz.asarray(np.ones(2), copy=False), match="borrows")


class TestGradientsThroughSkippedCalls:
    def test_tape_style(self):
        f, runs = counted(lambda w, x: (fz.tanh(x @ w), fz.sum(w * x[0, 0]), x * 2))
        pairs = [
            (fz.asarray(np.eye(3, dtype=np.float32) + i / 7, requires_grad=True), g)
            for i in range(4)
            for g in (f, f.__wrapped__)
        ]
        for _ in range(3):
            got = []
            for w, g in pairs:
                y, s, free = g(w, fz.ones((2, 3)) * 0.3)
                assert y.requires_grad and s.requires_grad and not free.requires_grad
                assert not y.is_leaf
                (fz.sum(y * y) * s).backward()
                got.append(w.grad.tolist())
            assert got[::2] == got[1::2]
        assert f.stats()["skipped"] == 4, f.explain()  # without .grad is one kind, with it another

    def test_function_style_and_second_order(self):
        f, runs = counted(lambda x: fz.sum(fz.exp(x) * x * x))
        for _ in range(6):
            assert f(vector(1)).item() == f.__wrapped__(vector(1)).item()
            for order in (fz.grad, lambda g: fz.grad(fz.grad(g)), fz.value_and_grad):
                x = fz.asarray(0.5)
                assert repr(order(f)(x)) == repr(order(f.__wrapped__)(x))
        assert f.stats()["skipped"] >= 6

    def test_modules_with_parameters_that_want_gradients(self):
        model = fz.nn.Sequential(fz.nn.Linear(3, 4), fz.nn.Tanh(), fz.nn.Linear(4, 1))
        models = [model, copy.deepcopy(model)]
        f, _ = counted(lambda m, x: m(x))
        optimizers = [fz.optim.SGD(m.parameters(), lr=0.1) for m in models]
        for i in range(10):
            x = fz.ones((5, 3)) * (0.1 * i)
            for g, m, o in zip((f, lambda m, x: m(x)), models, optimizers, strict=True):
                o.zero_grad()
                fz.nn.mse_loss(g(m, x), fz.ones((5, 1))).backward()
                o.step()
            for p, q in zip(*(m.parameters() for m in models), strict=True):
                assert p.tolist() == q.tolist()
        assert f.stats()["skipped"] == 6, f.explain()

    def test_a_loss_returned_with_its_history(self):
        def body(w, x):
            loss = fz.sum((w * x) ** 2)
            loss.backward()
            return loss

        f, _ = counted(body)
        ours, theirs = (fz.ones(3, requires_grad=True) for _ in range(2))
        for i in range(8):
            a, b = f(ours, vector(1, 2, i)), body(theirs, vector(1, 2, i))
            assert a.item() == b.item() and a.requires_grad
            (a * 3).backward(), (b * 3).backward()
            assert ours.grad.tolist() == theirs.grad.tolist()
        assert f.stats()["skipped"] == 3

    def test_in_place_writes_keep_history(self):
        def body(y, w):
            y *= w
            return fz.sum(y)

        f, _ = counted(body)
        for _ in range(8):
            results = []
            for g in (f, body):
                w, y = fz.asarray([2.0, 3.0], requires_grad=True), vector(1, 4)
                s = g(y, w)
                assert y.requires_grad
                (s + fz.sum(y * y)).backward()
                results.append((s.item(), y.tolist(), w.grad.tolist()))
            assert results[0] == results[1]
        assert f.stats()["skipped"] == 4

    def test_turning_requires_grad_on_and_off(self):
        f, runs = counted(lambda x: x.requires_grad_())
        for _ in range(5):
            x = vector(1)
            f(x)
            assert x.requires_grad
        g, _ = counted(lambda x: x.requires_grad_(False))
        for _ in range(8):
            x = fz.ones(2, requires_grad=True)
            g(x)
            assert not x.requires_grad
        with fz.no_grad():
            h, _ = counted(lambda x, w: x * w)
            for _ in range(6):
                assert not h(vector(1), fz.ones(1, requires_grad=True)).requires_grad
        for _ in range(6):
            assert h(vector(1), fz.ones(1, requires_grad=True)).requires_grad


class TestBrokenPromises:
    def test_a_global_changed(self):
        scale = {"k": 2.0}
        f, _ = counted(lambda x: x * scale["k"])
        for _ in range(3):
            assert f(vector(1, 2)).tolist() == [2, 4]
        scale["k"] = 3.0
        with pytest.raises(RuntimeError) as error:
            f(vector(1, 2))
        text = str(error.value)
        assert "[trace]" in text and "'multiply' (test_pure.py:" in text
        assert "f32[] [2] -> f32[] [3]" in text and "pure=True" in text
        for _ in range(4):
            assert f(vector(1, 2)).tolist() == [3, 6]

    def test_every_nth_call_is_compared(self):
        outside = [vector(1, 1)]
        f, runs = counted(lambda x: x + outside[0], check_first=0, check_every=10)
        for _ in range(25):
            assert f(vector(1, 2)).tolist() == [2, 3]
        assert len(runs) == 4
        outside[0] = vector(5, 1)
        with pytest.raises(RuntimeError, match=r"'add' .*f32\[2\] \[1, 1\] -> f32\[2\] \[5, 1\]"):
            for _ in range(10):
                f(vector(1, 2))
        assert f(vector(1, 2)).tolist() == [6, 3]

    @pytest.mark.parametrize(
        "change, text",
        [
            (lambda y: fz.sin(y), "'sin'"),
            (lambda y: y, "was not called, as it was before"),
            (lambda y: fz.exp(fz.exp(y)), "was called, which was not there before"),
            (lambda y: (fz.exp(y),), "the result"),
        ],
    )
    def test_the_body_changed(self, change, text):
        what = [fz.exp]
        f, _ = counted(lambda x: what[0](x * 2), check_first=1000)
        for _ in range(3):
            f(vector(1, 2))
        what[0] = change
        with pytest.raises(RuntimeError, match=text):  # recorded first
            for _ in range(2):
                f(vector(1, 2))

    def test_settings(self):
        with pytest.raises(ValueError, match="check_every"):
            fz.trace(lambda x: x, pure=True, check_every=-1)
        f, runs = counted(lambda x: x + 1, check_first=0, check_every=0)
        for _ in range(3000):
            f(vector(1))
        assert len(runs) == 2


def test_numbers_that_never_come_again_are_not_learnt():
    f, _ = counted(lambda x, k: x * k)
    for k in range(500):
        assert f(vector(1), 0.5 * k).item() == 0.5 * k
    assert "skip the body" not in f.explain() and f.stats()["plans"] == 1


class TestWhatIsOutsideOfTheArguments:
    def always_runs(self, f, runs, n):
        assert len(runs) == n and f.stats()["skipped"] == 0, f.explain()

    def test_history_of_an_argument(self):
        encoder = fz.nn.Linear(3, 3)

        def body(head, z):
            loss = fz.sum(head(z) ** 2)
            loss.backward()
            return loss.detach()

        f, runs = counted(body)
        head = fz.nn.Linear(3, 1)
        for _ in range(8):
            encoder.zero_grad(), head.zero_grad()
            f(head, encoder(fz.ones((2, 3))))
            got = encoder.weight.grad.tolist()
            encoder.zero_grad(), head.zero_grad()
            body(head, encoder(fz.ones((2, 3))))
            assert got == encoder.weight.grad.tolist()
        self.always_runs(f, runs, 8)
        assert "sets .grad of a tensor outside of its arguments" in f.explain()

    def test_writes(self):
        log = fz.zeros(2)

        def body(x):
            log[...] = x * 2
            return x + 1

        f, runs = counted(body)
        for i in range(8):
            f(vector(i, 1))
            assert log.tolist() == [2 * i, 2]
        self.always_runs(f, runs, 8)
        assert "writes to a tensor outside of its arguments" in f.explain()

        def local(x):
            total = fz.zeros(2)
            for _ in range(3):
                total += x
            total[0] = 9.0
            return total, total * 2

        f, runs = counted(local)
        for i in range(8):
            got, want = f(vector(i, 1)), local(vector(i, 1))
            assert [t.tolist() for t in got] == [t.tolist() for t in want]
        assert f.stats()["skipped"] == 4, f.explain()
        generator = fz.random.Generator(1)
        f, runs = counted(lambda x: x + generator.uniform(x.shape))
        for _ in range(8):
            f(vector(1))
        self.always_runs(f, runs, 8)

    def test_modules_that_hold_each_other(self):
        a, b = fz.nn.Module(), fz.nn.Module()
        a.w, b.w, a.child, b.parent = vector(1), vector(2), b, a
        f, _ = counted(lambda m: m.w + m.child.w)
        g, _ = counted(lambda m: m.parent.w * 10 + m.w)
        for i in range(10):
            a.w[...] = float(i)
            assert f(a).tolist() == [i + 2] and g(b).tolist() == [10 * i + 2]

    def test_named_tuples_with_constructors_of_their_own(self):
        class Doubled(Pair):
            def __new__(cls, x):
                return super().__new__(cls, x, x * 2)

        f, _ = counted(lambda x: Doubled(x + 1))
        for i in range(8):
            pair = f(vector(i))
            assert type(pair) is Doubled and pair.x.item() == i + 1 and pair.y.item() == 2 * i + 2


def test_modes_and_nesting():
    inner, runs = counted(lambda x: x * 2)
    outer = fz.trace(lambda x: inner(x) + 1)
    for _ in range(6):
        assert outer(vector(1)).tolist() == [3]
    assert len(runs) == 6  # part of the outer call
    with fz.mode("eager"):
        for _ in range(6):
            assert inner(vector(1)).tolist() == [2]
    assert len(runs) == 12
    assert fz.trace(inner) is not inner and fz.trace(inner, pure=True) is inner


def test_many_kinds_are_found_at_once_and_forgotten():
    f, runs = counted(lambda x, k: x * k, check_first=0)
    for _ in range(3):
        for k in range(1000):
            assert f(vector(1), k).item() == k
    assert f.stats()["skipped"] > 990
    for k in range(5000):
        f(vector(1), k), f(vector(1), k)
    assert "kinds of arguments not used lately were forgotten" in f.explain()
    f.clear()
    assert f(vector(1), 3).item() == 3 and f.stats()["calls"] == 1


def test_threads():
    import threading

    f, _ = counted(lambda x, k: fz.exp(x) * k, check_first=1, check_every=7)
    failures = []

    def work(seed):
        for i in range(300):
            x, k = vector(0.01 * i, seed), (i + seed) % 5
            if f(x, k).tolist() != (fz.exp(x) * k).tolist():
                failures.append((seed, i))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and f.stats()["skipped"] > 1000


def test_another_way_to_record_the_same_is_no_broken_promise():
    def body(a, b):
        y = a * a
        n = int(fz.max(fz.astype(y, fz.int32)))
        return a * b + n  # recorded as the product of two tensors, which a * a is too

    f, _ = counted(body, check_first=4)
    a = vector(1, 2)
    for b in [fz.ones((3, 1)), fz.ones((3, 1)), a, vector(7, 8), *[fz.ones((3, 1))] * 6] * 2:
        assert f(a, b).tolist() == body(a, b).tolist()
    assert f.stats()["skipped"] > 0


def test_precision_inside_is_that_of_the_block():
    def body(x):
        with fz.precision("blas"):
            y = x @ x.T
        return y

    def operand(columns):
        return fz.reshape(fz.sin(fz.arange(8 * columns, dtype="float32")), (8, columns))

    # How long rows have to be for OpenBLAS to add in another order is the processor's affair.
    f, runs = counted(body)
    x = next(
        x for x in map(operand, (130, 257, 600, 5000)) if body(x).tolist() != (x @ x.T).tolist()
    )
    want = body(x).tolist()
    for _ in range(8):
        assert f(x).tolist() == want
    assert len(runs) == 4


def test_gradients_that_flow_into_what_made_an_argument():
    def body(x):
        (x * x).sum().backward()
        return x.detach() * 2

    f, runs = counted(body)
    v, w = (fz.ones(2).requires_grad_() for _ in range(2))
    for i in range(12):
        k = 2 if i < 8 else i
        assert f(v * k).tolist() == body(w * k).tolist()
        assert v.grad.tolist() == w.grad.tolist()
    assert len(runs) == 12


def test_a_long_loop_is_one_kernel():
    """Several segments of a loop are one plan again."""

    def body(x, v):
        for k in range(700):
            a = -4.0 * x - 0.1 * v
            v = v + 0.01 * a
            x = x + (0.01 + 0.001 * (k % 2)) * v
        return x, v

    f, runs = counted(body)
    x, v = vector(1, 2, 3), vector(0, -1, 0.5)
    want = [t.tolist() for t in body(x, v)]
    for _ in range(8):
        assert [t.tolist() for t in f(x, v)] == want
    assert len(runs) == 4
    assert f.stats()["last_kernels"] == 1


def test_a_long_loop_whose_states_are_wanted():
    def body(x):
        seen = []
        for _ in range(900):
            x = x * 0.5 + 1.0
            x = x - 0.25
            seen.append(x)
        return seen[::100], x

    f, runs = counted(body)
    x = vector(1, -2, 3)
    want = [t.tolist() for t in body(x)[0]]
    for _ in range(8):
        assert [t.tolist() for t in f(x)[0]] == want
    assert len(runs) == 4


def decay(weights, step):
    for w in weights:
        w *= 0.5
        w += step


def places(weights):
    return [np.asarray(w).ctypes.data for w in weights]


def test_what_a_call_replaces_is_overwritten_where_nobody_else_sees_it():
    f, runs = counted(decay)
    weights = [fz.asarray(np.full(100, i, np.float32)) for i in range(80)]
    plain = [w * 1 for w in weights]
    step = vector(*range(100))

    def both():
        f(weights, step)
        decay(plain, step)
        assert [w.tolist() for w in weights] == [w.tolist() for w in plain]

    for _ in range(6):
        both()
    ran, before = len(runs), places(weights)
    both()
    assert places(weights) == before
    borrowed, view, again = np.asarray(weights[3]), weights[5][:50], weights[6].detach()
    seen = borrowed.tolist(), view.tolist(), again.tolist()
    both()
    assert (borrowed.tolist(), view.tolist(), again.tolist()) == seen
    moved = [i for i, (a, b) in enumerate(zip(before, places(weights), strict=True)) if a != b]
    assert moved == [3, 5, 6] and len(runs) == ran


def test_one_value_in_two_cells_is_not_overwritten_under_the_other():
    def body(a, b, x):
        a += x
        b *= x
        a -= b

    f, _ = counted(body)
    for _ in range(8):
        a = vector(1, 2, 3, 4)
        b = a.detach()
        a2, b2 = vector(1, 2, 3, 4), vector(1, 2, 3, 4)
        f(a, b, vector(2, 3, 4, 5))
        body(a2, b2, vector(2, 3, 4, 5))
        assert (a.tolist(), b.tolist()) == (a2.tolist(), b2.tolist())


def test_cells_that_exchange_their_content_keep_it():
    def body(a, b, c):
        t = a * 1
        a[:] = b
        b[:] = t
        c += a

    f, _ = counted(body)
    one, two = ([vector(1, 2), vector(3, 4), vector(5, 6)] for _ in range(2))
    for _ in range(8):
        f(*one)
        body(*two)
        assert [t.tolist() for t in one] == [t.tolist() for t in two]


def test_a_training_step_is_one_plan_in_spite_of_index_checks():
    """Checks of tokens and labels come before it; what fails them runs the body."""
    rng = np.random.default_rng(0)
    start = rng.standard_normal((11, 8)).astype(np.float32)
    good = fz.asarray(rng.integers(-11, 11, (4, 3))), fz.asarray(rng.integers(0, 11, (4, 3)))

    def step(table, tokens, labels):
        x = fz.nn.gelu(fz.take(table, tokens, axis=0)) @ table.T
        loss = fz.nn.cross_entropy(x.reshape(-1, 11), labels.reshape(-1))
        loss.backward()
        g, table.grad = table.grad, None
        with fz.no_grad():
            table -= 0.5 * g
        return loss

    f, runs = counted(step)
    a, b = (fz.asarray(start).requires_grad_() for _ in range(2))
    for _ in range(8):
        assert f(a, *good).tolist() == step(b, *good).tolist()
        assert a.tolist() == b.tolist()
    assert len(runs) == 4
    steps = max((plan.steps for plan in f.memory_plan()), key=len)
    assert sum("matmul" in s for s in steps) == 3 and any("take" in s for s in steps)
    for bad in (fz.full((4, 3), 11), good[1]), (good[0], fz.full((4, 3), -1)):
        with pytest.raises(IndexError, match="is out of range for 11"):
            f(a, *bad)
        assert a.tolist() == b.tolist()
    assert f(a, *good).tolist() == step(b, *good).tolist()
    assert len(runs) == 6


def test_an_outcome_learnt_later_may_want_what_was_overwritten():
    def body(p, x):
        a = fz.exp(x)
        if fz.max(a) > 1e6:
            return a
        b = a * 2
        p -= b
        if fz.sum(p) > 0:
            return b
        p += a
        return b + a

    f, runs = counted(body)
    for start in (1000,) * 5 + (-1000,) * 7:
        p, q = vector(*[start] * 8), vector(*[start] * 8)
        x = fz.asarray(np.arange(8, dtype=np.float32))
        assert f(p, x).tolist() == body(q, x).tolist()
        assert p.tolist() == q.tolist()
    assert len(runs) < 9


def test_what_a_signal_handler_replaces_while_an_earlier_plan_runs():
    """Its content may have another layout than the one that was guarded."""

    def body(a, p):
        s = fz.max(a @ a)  # runs long, without the host's lock
        if s > -1:
            p *= 2.0
        return s

    f, runs = counted(body)
    a = fz.asarray(np.ones((1200, 1200), np.float32))
    wide = fz.asarray(np.ones(4_000_000, np.float32))
    for _ in range(4):
        f(a, wide[::100_000])
    p = wide[::100_000]

    def handler(*_):
        nonlocal p
        p += 0.0

    before = signal.signal(signal.SIGALRM, handler)
    try:
        for _ in range(4):
            signal.setitimer(signal.ITIMER_REAL, 0.004)
            p = wide[::100_000]
            f(a, p)
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert p.tolist() == [2.0] * 40
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(runs) == 4
