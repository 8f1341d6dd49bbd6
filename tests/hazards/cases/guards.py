"""What an argument holds changes in ways that assignments to attributes do not show."""

import collections
import dataclasses
import functools
import types

import numpy as np
from hz import V, exact

import frazil as fz


class Holder(fz.nn.Module):
    kind = 1.0
    shared = [2.0]
    table = {"k": 3.0}

    def __init__(self, **attributes):
        vars(self).update(attributes)

    def forward(self, x):
        return x * 2


class Slotted(fz.nn.Module):
    __slots__ = ("k",)


@dataclasses.dataclass
class Settings:
    k: float


class Named(collections.namedtuple("Named", "a")):
    pass


class Items(list):
    pass


class Table(dict):
    pass


def observe(F, compile, body, argument, *changes):
    g = compile(body)
    for change in (lambda: None, *changes):
        change()
        for i in range(4):
            yield g(argument, V(F, 1, i))


@exact("numbers in a list and a dict are replaced by others at the same address", pure=True)
def same_address(F, compile):
    m = Holder(items=[float("1.5")], table={"a": float("1.5")}, deep=({"t": (float("1.5"),)},))

    def items():
        m.items.pop()
        m.items.append(float("2.5"))

    def table():
        m.table.pop("a")
        m.table["a"] = float("3.5")

    def deep():
        m.deep[0].clear()
        m.deep[0]["t"] = (float("4.5"),)

    def body(m, x):
        return x * m.items[0] + m.table["a"] - m.deep[0]["t"][0]

    yield from observe(F, compile, body, m, *(items, table, deep) * 2)


@exact("objects that a module holds are changed", pure=True)
def objects_in_modules(F, compile):
    parts = {
        "data": Settings(2.0),
        "space": types.SimpleNamespace(k=2.0),
        "bag": {1.0},
        "own": Items([1.0]),
        "order": collections.OrderedDict(a=1.0, b=5.0),
        "array": np.ones(2, np.float32),
        "queue": collections.deque([1.0]),
        "part": functools.partial(lambda x, k: x * k, k=2.0),
    }
    uses = {
        "data": (lambda p: p.k, lambda p: setattr(p, "k", 5.0)),
        "space": (lambda p: p.k, lambda p: setattr(p, "k", 5.0)),
        "bag": (lambda p: sum(p), lambda p: p.add(4.0)),
        "own": (lambda p: p[0], lambda p: p.__setitem__(0, 3.0)),
        "order": (lambda p: list(p.values())[0], lambda p: p.move_to_end("a")),
        "array": (lambda p: float(p[0]), lambda p: p.__setitem__(0, 3.0)),
        "queue": (lambda p: p[0], lambda p: p.appendleft(7.0)),
        "part": (lambda p: p(3.0), lambda p: p.keywords.update(k=4.0)),
    }
    for name, part in parts.items():
        read, change = uses[name]
        m = Holder(part=part)

        def body(m, x, read=read):
            return x * read(m.part[0] if type(m.part) is tuple else m.part)

        yield from observe(F, compile, body, m, functools.partial(change, part))
        yield from observe(F, compile, body, Holder(part=(part,)), functools.partial(change, part))


@exact("attributes set through __dict__, object.__setattr__ and slots", pure=True)
def unseen_assignments(F, compile):
    m, s = Holder(k=1.0), Slotted()
    s.k = 1.0
    changes = [
        lambda: vars(m).update(k=3.0),
        lambda: object.__setattr__(m, "k", 4.0),
        lambda: m.__dict__.pop("k") and vars(m).setdefault("k", True),
        lambda: setattr(m, "__dict__", {"k": 9.0}),
    ]
    yield from observe(F, compile, lambda m, x: x * m.k, m, *changes)
    changes = [lambda: setattr(s, "k", 2.0), lambda: object.__setattr__(s, "k", 3.0)]
    yield from observe(F, compile, lambda m, x: x * m.k, s, *changes)


@exact("a module's class changes: attributes, methods, what they hold", pure=True)
def changed_classes(F, compile):
    class Net(Holder):
        pass

    m = Net()
    changes = [
        lambda: setattr(Net, "kind", 4.0),
        lambda: Holder.shared.__setitem__(0, 5.0),
        lambda: Holder.table.update(k=6.0),
        lambda: setattr(Net, "forward", lambda self, x: x * 7),
        lambda: setattr(m, "__class__", Holder),
        lambda: Holder.shared.__setitem__(0, 2.0) or Holder.table.update(k=3.0),
    ]

    def body(m, x):
        return m(x) * m.kind + m.shared[0] - m.table["k"]

    yield from observe(F, compile, body, m, *changes)


@exact("attributes of dataclasses, dicts, named tuples, classes and functions", pure=True)
def extra_attributes(F, compile):
    def function(x):
        return x

    class Class:
        k = 2.0

    for holder in (Settings(1.0), Table(a=1.0), Named(1.0), Class, function):
        holder.k = 2.0
        change = functools.partial(setattr, holder, "k", 4.0)
        yield from observe(F, compile, lambda h, x: x * h.k, holder, change)


@exact("ordered, default and plain dicts as arguments", pure=True)
def kinds_of_dicts(F, compile):
    def body(d, x):
        out = x
        for k, v in d.items():
            out = out * v + len(k)
        return out, type(d).__name__, d["new"] if isinstance(d, collections.defaultdict) else 0

    ordered = collections.OrderedDict(a=2.0, bb=3.0)
    yield from observe(F, compile, body, ordered, lambda: ordered.move_to_end("a"))
    d = collections.defaultdict(lambda: 7.0, a=2.0)
    yield from observe(F, compile, body, d, lambda: d.pop("new"), lambda: d.update(a=5.0))


@exact("functions as arguments: closures, defaults, code, partials, methods", pure=True)
def functions_that_change(F, compile):
    q = 2.0

    def closed(x):
        return x * q

    def change():
        nonlocal q
        q = q + 1

    def preset(x, k=2.0, *, c=1):
        return x * k + c

    part = functools.partial(preset, k=3.0)

    def apply(f, x):
        return f(x)

    class Thing:
        k = 2.0

        def scale(self, x):
            return x * self.k

    thing = Thing()
    yield from observe(F, compile, apply, closed, change, change)
    yield from observe(F, compile, apply, part, lambda: part.keywords.update(k=8.0))
    yield from observe(F, compile, apply, thing.scale, lambda: setattr(thing, "k", 5.0))
    yield from observe(
        F,
        compile,
        apply,
        preset,
        lambda: setattr(preset, "__defaults__", (7.0,)),
        lambda: preset.__kwdefaults__.update(c=5),
        lambda: setattr(preset, "__code__", (lambda x, k, *, c: x - k + c).__code__),
    )


@exact("NumPy arrays, bytes, sets, slices, ranges and objects as arguments", pure=True)
def other_arguments(F, compile):
    array, buffer, space = np.ones(2), bytearray(b"ab"), types.SimpleNamespace(k=1.0)
    for argument, read, change in (
        (array, lambda a: float(a[0]), lambda: array.__setitem__(0, 3)),
        (buffer, lambda a: a[0], lambda: buffer.__setitem__(0, 3)),
        (space, lambda a: a.k, lambda: setattr(space, "k", 3)),
        (slice(0, 1), lambda a: a.stop, lambda: None),
        (range(2), len, lambda: None),
        (frozenset({1.0}), sum, lambda: None),
        (b"ab", lambda a: a[1], lambda: None),
        (1j, lambda a: a.imag, lambda: None),
        (fz.float64, lambda a: a.itemsize if hasattr(a, "itemsize") else 1, lambda: None),
    ):
        yield from observe(F, compile, lambda a, x, read=read: x * read(a), argument, change)
        yield from observe(F, compile, lambda a, x, read=read: x * read(a[0]), [argument], change)


@exact("a bound method of a builtin object", pure=True)
def bound_builtins(F, compile):
    seen, numbers = [], iter(range(100))

    def body(act, x):
        return x * 2, act(1), x + 1

    yield from observe(F, compile, body, seen.append)
    yield from observe(F, compile, lambda act, x: x * act(), numbers.__next__)
    yield seen


@exact("results that are, or hold, parts of the arguments", pure=True)
def parts_in_results(F, compile):
    def body(m, d, x):
        m.t += x
        y = [x * 2]
        return m.t, m.items, d["deep"][0], [y, y], {"a": y[0], "b": (y[0], m.items[0], d["deep"])}

    g, held = compile(body), []
    m = Holder(t=V(F, 1, 2), items=[V(F, 3, 4), 5.0])
    d = {"deep": [V(F, 6, 7), {}]}
    for i in range(8):
        r = g(m, d, V(F, i, 1))
        held.append(r)
        yield [r[0] is m.t, r[1] is m.items, r[2] is d["deep"][0], r[3][0] is r[3][1]]
        yield [r[4]["a"] is r[3][0][0], r[4]["b"][1] is m.items[0], r[4]["b"][2] is d["deep"]]
        m.items[0] *= 2
    yield held
    g = compile(lambda m, x: (m.t, x * 2, m.t))
    for i in range(6):
        held.append(g(m, V(F, i, 1)))
        yield held[-1][0] is m.t, held[-1][2] is m.t
        m.t += 1
    yield held
