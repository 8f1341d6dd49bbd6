"""What was not there when the body was learnt, and comes later: lookups that found nothing."""

import abc
import collections.abc
import functools
import operator
import types
import typing

from changes import Object, World, hazard, inside, setter

import frazil as fz

K = thing = None


def gains(name, body, method, second=None):
    """A case: the class of an object gains a special method, has another, and loses it."""

    def make(trace):
        kind = type("Thing", (), {"k": 2.0, "__exit__": lambda self, *error: None})
        t = kind()
        below = type("Below", (kind,), {})()
        f = trace(lambda x: (body(t, x), body(below, x)))
        return World(
            f,
            setter(kind, **{name: method}),
            setter(type(below), **{name: second or (lambda self, *args: NotImplemented)}),
            lambda: delattr(type(below), name),
            lambda: delattr(kind, name),
        )

    make.__name__ = f"gains{name}".strip("_")
    make.__module__ = __name__
    hazard(f"a class gains {name}")(make)


def truth(t, x):
    return x * 2 if t else x


def caught(f):
    """The body of a case that is an error before the method is there."""

    def body(t, x):
        try:
            return f(t, x)
        except (TypeError, AttributeError) as e:
            return type(e).__name__, x + 1

    return body


def with_scope(t, x):
    with t as k:
        return x * k


TABLE = {
    "__bool__": (truth, lambda self: False, lambda self: True),
    "__len__": (truth, lambda self: 0, lambda self: 3),
    "__eq__": (lambda t, x: x if t == 1 else x * 3, lambda self, other: True, None),
    "__ne__": (lambda t, x: x if t != t else x * 3, lambda self, other: True, None),
    "__hash__": (lambda t, x: x * (2 if hash(t) == 5 else 3), lambda self: 5, lambda self: 6),
    "__contains__": (caught(lambda t, x: x if 1 in t else -x), lambda self, k: True, None),
    "__iter__": (caught(lambda t, x: x * sum(t)), lambda self: iter([2, 3]), None),
    "__getitem__": (caught(lambda t, x: x * t[0]), lambda self, i: 4.0, None),
    "__call__": (caught(lambda t, x: t(x)), lambda self, x: x * 5, None),
    "__mul__": (caught(lambda t, x: t * x), lambda self, x: x * 6, None),
    "__rmul__": (caught(lambda t, x: (3 * t, x * 2)), lambda self, x: 7.0, None),
    "__radd__": (caught(lambda t, x: x + t), lambda self, x: ("added", self.k), None),
    "__neg__": (caught(lambda t, x: x * -t), lambda self: 8.0, None),
    "__float__": (caught(lambda t, x: x * float(t)), lambda self: 9.0, lambda self: 1.5),
    "__index__": (caught(lambda t, x: [x, x * 2][t]), lambda self: 1, lambda self: 0),
    "__enter__": (caught(with_scope), lambda self: 2.5, None),
    "__lt__": (caught(lambda t, x: x if t < 1 else -x), lambda self, other: True, None),
    "__str__": (lambda t, x: x * len(str(t)[:5]), lambda self: "ab", lambda self: "abc"),
    "__getattr__": (caught(lambda t, x: x * t.missing), lambda self, name: 3.5, lambda s, n: 4.5),
    "__getattribute__": (lambda t, x: x * t.k, lambda self, name: 5.5, None),
    "__setattr__": (
        lambda t, x: (setattr(t, "w", 3), x * vars(t).get("w", 1), vars(t).clear())[1],
        lambda self, name, value: None,
        lambda self, name, value: vars(self).update(w=9),
    ),
    "__delattr__": (
        caught(lambda t, x: (vars(t).update(w=1), delattr(t, "w"), x * len(vars(t)))[2]),
        lambda self, name: None,
        None,
    ),
    "__array__": (
        caught(lambda t, x: fz.asarray([1.0]) * x * hasattr(t, "__array__")),
        lambda s: 1,
        None,
    ),
    "__format__": (
        lambda t, x: x * len(f"{t}"[:4]),
        lambda self, spec: "x",
        lambda self, spec: "yy",
    ),
    "__matmul__": (caught(lambda t, x: t @ x), lambda self, x: x.sum(), None),
    "__iadd__": (caught(lambda t, x: x * operator.iadd(t, 2)), lambda self, k: k + 0.5, None),
    "__reversed__": (caught(lambda t, x: x * sum(reversed(t))), lambda self: iter([1, 4]), None),
    "__abs__": (caught(lambda t, x: x * abs(t)), lambda self: 0.5, lambda self: 0.25),
    "__round__": (caught(lambda t, x: x * round(t)), lambda self: 2, lambda self: 3),
}

for name, (body, method, second) in TABLE.items():
    gains(name, body, method, second)


@hazard("hasattr and getattr with a default: the name comes later, in the instance, class and base")
def names_come_later(trace):
    class Base:
        pass

    class Thing(Base):
        pass

    t = Thing()

    def body(x):
        return x * getattr(t, "k", 1.0) if hasattr(t, "on") else x - getattr(Thing, "k", 0)

    return World(
        trace(body),
        setter(Base, k=3.0),
        setter(t, on=False),
        setter(t, k=4.0),
        lambda: delattr(t, "on"),
        setter(Thing, on=True),
    )


@hazard("NameError, KeyError, AttributeError and ImportError that are caught, until they are none")
def caught_lookups(trace):
    table, t = {}, Object()

    def body(x):
        for look in (lambda: K, lambda: table["k"], lambda: t.k, lambda: table["list"][2]):
            try:
                x = x * look()
            except (NameError, LookupError, AttributeError) as e:
                x = x + len(type(e).__name__)
        return x

    f, names = inside(body)
    f = types.FunctionType(body.__code__, names, "body", None, body.__closure__)
    return World(
        trace(f),
        setter(t, k=3.0),
        lambda: table.update(k=4.0),
        lambda: table.update(list=[1, 2]),
        lambda: table["list"].append(5.0),
        lambda: table.clear(),
    )


@hazard("an abstract class takes a class in, isinstance says otherwise")
def registered_class(trace):
    class Thing:
        k = 2.0

    class Kind(abc.ABC):  # noqa: B024
        @classmethod
        def __subclasshook__(cls, other):
            return True if hasattr(other, "special") else NotImplemented

    t = Thing()

    def body(x):
        if isinstance(t, collections.abc.Sequence):
            return x * 2
        return x * 3 if isinstance(t, Kind) else x * 4 if issubclass(Thing, Kind) else x

    return World(
        trace(body),
        lambda: [Kind.register(Thing)],
        lambda: [collections.abc.Sequence.register(Thing)],
        setter(Thing, special=1),
    )


@hazard("a protocol that is checked at run time is met later")
def runtime_protocol(trace):
    @typing.runtime_checkable
    class Scales(typing.Protocol):
        def scale(self, x): ...

    class Thing:
        pass

    t = Thing()
    return World(
        trace(lambda x: t.scale(x) if isinstance(t, Scales) else x),
        setter(Thing, scale=lambda self, x: x * 5),
        setter(Thing, scale=None),
        setter(t, scale=fz.tanh),
    )


@hazard("patterns of match: attributes, keys, lengths, __match_args__")
def patterns(trace):
    class Point:
        __match_args__ = ("a", "b")

        def __init__(self, a, b):
            self.a, self.b = a, b

    held = {"p": Point(1, 2.0)}

    def body(x):
        match held["p"]:
            case Point(1, b):
                return x * b
            case Point(a=a, b=2.0):
                return x - a
            case {"k": k, **rest}:
                return x * k + len(rest)
            case [first, *_, last]:
                return x * first + last
            case float() | int() as k if k > 1:
                return x * k
            case str():
                return x * 100
        return x

    values = ({"k": 3.0, "z": 1}, [1.0, 2.0, 3.0], [5], 2.5, 1, "text", Point(4, 2.0), Point(1, 7))
    return World(
        trace(body),
        lambda: setattr(held["p"], "a", 5),
        *(lambda v=v: held.update(p=v) for v in values),
        lambda: setattr(Point, "__match_args__", ("b", "a")),
    )


@hazard("attrgetter, itemgetter, methodcaller and reduce over what changes")
def operators_of_objects(trace):
    class Thing:
        def __init__(self, k):
            self.k, self.items = k, [k, 2]

        def scale(self, x, by=1):
            return x * self.k * by

    t = Thing(2.0)
    get, item, call = (
        operator.attrgetter("k"),
        operator.itemgetter(0),
        operator.methodcaller("scale", 3),
    )

    def body(x):
        both = operator.attrgetter("k", "items")(t)
        return x * get(t) + item(t.items) * call(t) + functools.reduce(operator.mul, both[1], 1.0)

    return World(
        trace(body),
        setter(t, k=3.0),
        lambda: t.items.append(4),
        lambda: setattr(Thing, "scale", lambda self, x: 0.5),
        lambda: t.items.__setitem__(0, -1),
    )


@hazard("map, filter, sorted, max and any call functions that read what changes")
def functions_called_by_c(trace):
    t = Object(k=2.0, low=1)
    values = [3.0, 1.0, 2.0]

    def key(v):
        return -v if t.k > 2.5 else v

    def body(x):
        for v in filter(lambda v: v > t.low, map(lambda v: v * t.k, values)):
            x = x + v
        first = sorted(values, key=key)[0]
        return x * first + max(values, key=key) * any(v > t.low + 2 for v in values)

    return World(
        trace(body),
        setter(t, k=3.0),
        setter(t, low=2.5),
        lambda: values.append(9.0),
        setter(t, k=True),
    )


@hazard("equality and order of containers ask the objects in them")
def containers_compare_objects(trace):
    class Version:
        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            return self.n == other.n

        def __lt__(self, other):
            return self.n < other.n

        __hash__ = None

    a, b = Version(1), Version(2)

    def body(x):
        x = x * 2 if [a, 1] == [b, 1] else x
        x = x + 1 if (a, 0) < (b, 0) else x - 1
        return x * [Version(1)].count(a) + [a, b].index(b)

    return World(
        trace(body),
        setter(b, n=1),
        setter(a, n=5),
        setter(Version, __eq__=lambda self, other: True),
        setter(Version, __lt__=lambda self, other: False),
    )


@hazard("a descriptor's class gains __set__ and __get__")
def descriptor_gains(trace):
    class Plain:
        pass

    class Thing:
        k = Plain()

    t = Thing()
    t.k = 2.0
    return World(
        trace(lambda x: x * t.k),
        setter(Plain, __get__=lambda self, i, o: 3.0),
        setter(Plain, __set__=lambda self, i, v: None),
        lambda: delattr(Plain, "__set__"),
        lambda: vars(t).clear(),
    )


@hazard("a module gains __getattr__, a package a submodule")
def module_gains(trace):
    module = types.ModuleType("m")
    f, _ = inside(lambda x: x * getattr(thing, "k", 1.0) + hasattr(thing, "sub"), thing=module)
    return World(
        trace(f),
        setter(module, __getattr__=lambda name: 2.0),
        setter(module, k=3.0),
        lambda: delattr(module, "k"),
        lambda: delattr(module, "__getattr__"),
        setter(module, sub=types.ModuleType("m.sub")),
    )
