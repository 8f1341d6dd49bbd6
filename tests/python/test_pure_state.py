"""pure=True compares all state of its arguments, or runs the body and says why."""

import abc
import collections
import dataclasses
import enum
import functools
import gc
import importlib.util
import pickle
import sys
import types
import unittest.mock
import weakref

import pytest

import frazil as fz


def counted(body):
    """The body traced as pure, and the list that grows whenever it runs."""
    runs = []

    def step(*args):
        runs.append(None)
        return body(*args)

    return fz.trace(step, pure=True, check_first=0), runs


def follows(read, argument, *changes, skips=True):
    """Calls skip the body until each change, and then give what the body gives."""
    f, runs = counted(lambda x, a: x * read(a))
    for change in (lambda: None, *changes):
        change()
        for _ in range(5):
            assert f(fz.ones(2), argument).tolist() == [read(argument)] * 2
    skipped = 5 * (1 + len(changes)) - len(runs)
    assert (skipped >= 2 * (1 + len(changes))) == skips, f.explain()
    return f


def refuses(read, argument, change, match):
    assert match in follows(read, argument, change, skips=False).explain()


def test_functions_of_one_code_with_globals_of_their_own():
    source = compile("def g(x): return x * k", "made", "exec")
    f, _ = counted(lambda x, g: g(x))
    for i in range(60):
        space = {"k": float(i)}
        exec(source, space)
        g = space.pop("g")
        assert f(fz.ones(2), g).tolist() == [i, i]
        del g, space  # the next dict may lie where this one lay
    one, two = {"k": 1.0}, {"k": 2.0}
    exec(source, one), exec(source, two)
    for _ in range(5):
        assert f(fz.ones(1), one["g"]).item() == 1 and f(fz.ones(1), two["g"]).item() == 2
    assert f.stats()["skipped"] >= 4


def test_two_loads_of_one_file(tmp_path):
    path = tmp_path / "loaded_twice.py"
    path.write_text("k = 1.0\ndef g(x):\n    return x * k\n")
    f, _ = counted(lambda x, g: g(x))
    spec = importlib.util.spec_from_file_location("loaded_twice", path)
    for i in range(16):
        module = importlib.util.module_from_spec(spec)
        if i % 2:
            sys.modules["loaded_twice"] = module
        spec.loader.exec_module(module)
        module.k = float(i)
        for _ in range(3):
            assert f(fz.ones(1), module.g).item() == i
        del module
        gc.collect()
    del sys.modules["loaded_twice"]


def test_globals_are_not_kept():
    module = types.ModuleType("short_lived")
    exec("def g(x): return x * 2", vars(module))
    f, _ = counted(lambda x, g: g(x))
    for _ in range(5):
        f(fz.ones(1), module.g)
    watch = weakref.ref(module)
    del module
    assert watch() is None


def test_functions_of_a_module_are_one_kind():
    f, runs = counted(lambda x, g: g(x))
    for _ in range(8):
        assert f(fz.ones(1), lambda x: x * 2).item() == 2  # made anew by each turn
    assert len(runs) == 2, f.explain()


def test_what_a_function_is_called_and_says_of_itself():
    def g(x: "float"):
        """one"""

    follows(lambda g: float(len(g.__name__)), g, lambda: setattr(g, "__name__", "longer"))
    follows(lambda g: float(len(g.__qualname__)), g, lambda: setattr(g, "__qualname__", "q" * 9))
    follows(lambda g: float(len(g.__doc__)), g, lambda: setattr(g, "__doc__", "a longer one"))
    follows(lambda g: float(len(g.__module__)), g, lambda: setattr(g, "__module__", "m" * 50))
    follows(
        lambda g: float(len(g.__annotations__)),
        g,
        lambda: g.__annotations__.update(y=int),
        lambda: setattr(g, "__annotations__", {"x": float}),
    )
    follows(
        lambda g: 2.0 if g.__annotations__["x"] == (int | None) else 1.0,
        g,
        lambda: g.__annotations__.update(x=list[int]),
        lambda: g.__annotations__.update(x=int | None),
    )


def test_parts_of_functions_and_partials():
    def make(k):
        def g(x, scale=1.0, *, shift=0.0):
            return k

        return g

    g = make([1.0])
    follows(lambda g: g(0)[0], g, lambda: g.__closure__[0].cell_contents.__setitem__(0, 5.0))
    g.rate = 1.0
    follows(lambda g: g.rate, g, lambda: setattr(g, "rate", 2.0))
    follows(lambda g: g.__defaults__[0], g, lambda: setattr(g, "__defaults__", (7.0,)))
    follows(lambda g: g.__kwdefaults__["shift"], g, lambda: g.__kwdefaults__.update(shift=3.0))
    p = functools.partial(g, scale=2.0)
    p.extra = 1.0
    follows(lambda p: p.extra, p, lambda: setattr(p, "extra", 4.0))
    follows(lambda p: p.keywords["scale"], p, lambda: p.keywords.update(scale=5.0))


@pytest.mark.parametrize("traced_first", [False, True])
def test_the_default_generator_among_the_arguments(traced_first):
    default, other = fz.random._default, fz.random.Generator(5)
    f, runs = counted(lambda x, g: x + g.uniform(x.shape) + fz.random.uniform(x.shape))

    def draws(call):
        fz.random.seed(3), other.seed(5)
        order = (default, other) * 6 if traced_first else (other, default, default) * 4
        got = [call(fz.zeros(2), g).tolist() for g in order]
        return got, default.state.tolist(), other.state.tolist()

    wanted = draws(f.__wrapped__)
    del runs[:]
    assert draws(f) == wanted
    assert len(runs) < 8, f.explain()


class Base:
    __slots__ = ("hidden",)


@dataclasses.dataclass
class OverSlots(Base):
    k: float


class SlottedDict(dict):
    __slots__ = ("k",)


def test_slots():
    state = OverSlots(1.0)
    state.hidden = 2.0
    follows(lambda s: s.hidden, state, lambda: setattr(state, "hidden", 3.0))
    d = SlottedDict(a=1.0)
    d.k = 2.0
    follows(lambda d: d.k, d, lambda: setattr(d, "k", 3.0), lambda: d.update(b=1.0))
    follows(lambda d: float(hasattr(d, "k")), d, lambda: delattr(d, "k"))


def test_results_with_more_state_than_fields_are_made_by_the_body():
    def hidden(x):
        made = OverSlots(1.0)
        made.hidden = x * 2
        return made

    f, runs = counted(hidden)
    for i in range(6):
        assert f(fz.ones(1) * i).hidden.item() == 2 * i
    assert len(runs) == 6 and "type OverSlots, which cannot be made again" in f.explain()
    g, runs = counted(lambda x: OverSlots(x * 2))
    for i in range(6):
        assert g(fz.ones(1) * i).k.item() == 2 * i
    assert len(runs) == 2


def test_variables_of_a_dataclass_stay_the_class_s():
    @dataclasses.dataclass
    class Step:
        x: object
        rate: "dataclasses.ClassVar" = 1.0
        count: dataclasses.InitVar[int] = 3

    Step.__annotations__["rate"] = "ClassVar"
    g, runs = counted(lambda s: Step(s.x * 2))
    for i in range(6):
        made = g(Step(fz.ones(1) * i))
        assert made.x.item() == 2 * i and set(vars(made)) >= {"x"} and "count" not in vars(made)
    assert len(runs) == 2


class Mutable(enum.Enum):
    A = [1.0]  # noqa: RUF012
    B = [2.0]  # noqa: RUF012


class Plain(enum.Enum):
    A = 1.0
    B = 2.0


def test_members_of_enumerations():
    follows(lambda m: m.value[0], Mutable.A, lambda: Mutable.A.value.__setitem__(0, 4.0))
    Plain.A.extra = 1.0
    follows(lambda m: m.extra, Plain.A, lambda: setattr(Plain.A, "extra", 2.0))
    follows(lambda m: m.B.value[0], Mutable, lambda: Mutable.B.value.__setitem__(0, 9.0))
    f, runs = counted(lambda x, m: (x * m.value, m))
    for _ in range(4):
        for m in Plain:
            y, same = f(fz.ones(1), m)
            assert y.item() == m.value and same is m
    assert len(runs) == 4


def test_what_only_looks_like_a_member():
    mock = unittest.mock.Mock(spec=Plain)
    assert isinstance(mock, enum.Enum)
    mock.k = 1.0
    refuses(lambda m: m.k, mock, lambda: setattr(mock, "k", 2.0), match="cannot be compared")


def test_the_factory_of_a_defaultdict():
    d = collections.defaultdict(lambda: 1.0)
    with_factory = lambda f: lambda: setattr(d, "default_factory", f)  # noqa: E731
    follows(lambda d: d.default_factory(), d, with_factory(lambda: 2.0), with_factory(float))


def test_attributes_of_classes():
    @dataclasses.dataclass
    class State:
        x: float
        scale = 1.0
        table = [1.0]  # noqa: RUF012

    follows(lambda s: s.scale, State(0.0), lambda: setattr(State, "scale", 2.0))
    s = State(0.0)
    follows(lambda s: s.table[0], s, lambda: State.table.__setitem__(0, 3.0))
    State.inner = OverSlots(1.0)
    follows(lambda s: s.inner.k, s, lambda: setattr(State.inner, "k", 3.0))

    class Config:
        k = 1.0

    State.config = Config
    follows(lambda s: s.config.k, s, lambda: setattr(Config, "k", 3.0))
    follows(lambda c: c.k, Config, lambda: setattr(Config, "k", 4.0))

    class Pair(collections.namedtuple("Pair", "x y")):
        scale = 1.0
        table = {"k": 1.0}  # noqa: RUF012

    follows(lambda p: p.scale, Pair(0, 0), lambda: setattr(Pair, "scale", 2.0))
    follows(lambda p: p.table["k"], Pair(0, 0), lambda: Pair.table.update(k=2.0))
    Mutable.table = [1.0]
    follows(lambda m: m.table[0], Mutable.A, lambda: Mutable.table.__setitem__(0, 2.0))
    del Mutable.table


def test_an_attribute_of_a_class_that_cannot_be_compared_is_named():
    class Pair(collections.namedtuple("Pair", "x y")):
        state = types.SimpleNamespace(k=1.0)

    p = Pair(0, 0)
    refuses(lambda p: p.state.k, p, lambda: setattr(Pair.state, "k", 2.0), "Pair.state: an object")


def test_metaclasses():
    class Meta(abc.ABCMeta):
        scale = 1.0
        table = [1.0]  # noqa: RUF012

    @dataclasses.dataclass
    class State(metaclass=Meta):
        x: float

    class Net(fz.nn.Module):
        k = 1.0

    s = State(0.0)
    follows(lambda s: type(s).scale, s, lambda: setattr(Meta, "scale", 2.0))
    follows(lambda s: type(s).table[0], s, lambda: Meta.table.__setitem__(0, 2.0))
    follows(lambda c: c.scale, State, lambda: setattr(Meta, "scale", 3.0))
    follows(lambda m: m.k, Net(), lambda: setattr(Net, "k", 3.0))


def test_state_that_python_does_not_show_is_refused():
    @dataclasses.dataclass
    class Failure(Exception):
        k: float

    e = Failure(1.0)
    refuses(lambda e: float(len(e.args)), e, lambda: setattr(e, "args", (1, 2, 3)), "type Failure")


def test_modules_that_hold_instances():
    class Net(fz.nn.Module):
        def __init__(self):
            self.state, self.mode, self.pair = OverSlots(1.0), Plain.A, State(1.0)

    @dataclasses.dataclass
    class State:
        k: float
        scale = 1.0

    net = Net()
    follows(
        lambda n: n.pair.k * n.pair.scale,
        net,
        lambda: setattr(net.pair, "k", 2.0),
        lambda: setattr(State, "scale", 5.0),
        lambda: delattr(net.pair, "k") or setattr(net.pair, "k", 7.0),
    )
    net.state.hidden = 1.0
    follows(lambda n: n.state.hidden, net, lambda: setattr(net.state, "hidden", 2.0))
    Plain.A.extra = 1.0
    follows(lambda n: n.mode.extra, net, lambda: setattr(Plain.A, "extra", 2.0))


def test_the_default_generator_inside_a_module():
    class Noise(fz.nn.Module):
        def __init__(self, generator):
            self.generator = generator

    f, runs = counted(lambda x, m: x + m.generator.uniform(x.shape))
    default, other = Noise(fz.random._default), Noise(fz.random.Generator(5))

    def draws(call):
        fz.random.seed(3), other.generator.seed(5)
        return [call(fz.zeros(2), m).tolist() for m in (default, other) * 6]

    wanted = draws(f.__wrapped__)
    assert draws(f) == wanted
    assert f.stats()["skipped"] >= 6, f.explain()


class TestSchedules:
    def train(self, make, schedule, trace):
        fz.random.seed(0)
        model = fz.nn.Linear(3, 2)
        model.register_buffer("steps", fz.zeros(()))
        optimizer = make(model.parameters())
        x = fz.ones((4, 3))

        def step(model, optimizer, x):
            optimizer.zero_grad()
            loss = (model(x) ** 2).sum()
            loss.backward()
            optimizer.step()
            model.steps += 1
            return loss.detach()

        f = trace(step)
        losses = []
        for i in range(20):
            optimizer.lr = schedule(i)
            losses.append(f(model, optimizer, x).item())
        state = {k: v.tolist() for k, v in model.state_dict().items()}
        return losses, state, optimizer.lr, f

    @pytest.mark.parametrize(
        "make",
        [
            lambda p: fz.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
            lambda p: fz.optim.Adam(p, lr=0.1),
        ],
    )
    def test_a_learning_rate_that_changes_is_an_input(self, make):
        schedule = lambda i: 0.1 / (1 + i)  # noqa: E731
        traced = self.train(make, schedule, functools.partial(fz.trace, pure=True))
        plain = self.train(make, schedule, lambda f: f)
        assert traced[:3] == plain[:3] and traced[2] == 0.1 / 20
        assert traced[3].stats()["skipped"] >= 14, traced[3].explain()

    def test_rates_are_checked_and_copied(self):
        p = fz.ones(2, requires_grad=True)
        optimizer = fz.optim.SGD([p], lr=1)
        with pytest.raises(ValueError, match="lr must be at least 0, got -1"):
            optimizer.lr = -1
        with pytest.raises(TypeError, match="lr must be a number"):
            optimizer.lr = "fast"
        assert optimizer.lr == 1.0
        optimizer.lr = fz.asarray(0.25)
        assert optimizer.lr == 0.25 and pickle.loads(pickle.dumps(optimizer)).lr == 0.25

    def test_explain_names_numbers_that_are_new_at_each_call(self):
        @dataclasses.dataclass
        class Setting:
            rate: float

        f, _ = counted(lambda x, s: x * s.rate)
        for i in range(20):
            assert f(fz.ones(1), Setting(0.5 * i)).item() == 0.5 * i
        assert "a.rate changed" not in f.explain()  # counted() has no names for them
        assert "argument 1.rate changed 7.0 -> 7.5: what is no tensor is compared" in f.explain()
        g = fz.trace(lambda x, rate: x * rate, pure=True)
        for i in range(20):
            g(fz.ones(1), rate=i)
        assert "rate changed 14 -> 15" in g.explain() and g.stats()["causes"]["strangers"] == 1


def test_a_gradient_inside_a_loss_that_is_differentiated():
    def energy(w, x):
        g = fz.grad(lambda x: (fz.tanh(x * w) * x).sum())(x)
        return (g * g * w).sum() + (x * g).sum()

    x = fz.asarray([0.5, -0.25, 2.0])
    for argnums in (0, 1, (0, 1)):
        f, runs = counted(energy)
        for i in range(6):
            w = fz.asarray([1.0 + i, 0.5, 2.0])
            got, want = (fz.value_and_grad(e, argnums)(w, x) for e in (f, energy))
            flat = lambda t: [v.tolist() for v in (t if isinstance(t, tuple) else (t,))]  # noqa: E731
            assert got[0].item() == want[0].item() and flat(got[1]) == flat(want[1])
        assert len(runs) <= 3, f.explain()
    f, runs = counted(energy)
    for i in range(8):
        grads = []
        for e in (f, energy):
            w = fz.asarray([1.0 + i, 0.5, 2.0], requires_grad=True)
            e(w, x).backward()
            grads.append(w.grad.tolist())
        assert grads[0] == grads[1]
    assert len(runs) <= 3, f.explain()
    third, runs = counted(lambda x: fz.grad(lambda y: (y**3 * y).sum())(x))
    for _ in range(6):
        g = fz.grad(lambda x: fz.grad(lambda x: third(x).sum())(x).sum())(x)
        assert g.tolist() == (24 * x).tolist()
    assert len(runs) <= 3, third.explain()


def test_a_variable_caught_from_outside_is_refused():
    def outer(v):
        f = fz.trace(lambda x: x * v, pure=True, check_first=0)
        total = fz.zeros(2)
        for _ in range(5):
            total = total + f(fz.ones(2) * 3)
        outer.traced = f
        return total.sum()

    assert fz.grad(outer)(fz.ones(2)).tolist() == [15, 15]
    assert outer.traced.stats()["skipped"] == 0


def test_which_arguments_are_one_object():
    one, other = [1.0], [1.0]
    f, runs = counted(lambda x, a: (x * (2.0 if a[0] is a[1] else 1.0), a[1]))
    for _ in range(4):
        for pair in ([one, one], [one, other], [other, other]):
            y, last = f(fz.ones(1), pair)
            assert y.item() == (2.0 if pair[0] is pair[1] else 1.0) and last is pair[1]
    assert len(runs) <= 5
    loop = [1.0]
    loop.append(loop)
    follows(lambda a: a[1][1][0], loop, lambda: loop.__setitem__(0, 2.0))
    many = [[float(i)] for i in range(40)]
    follows(lambda a: float(a[0] is a[-1]), many, lambda: many.append(many[0]))
