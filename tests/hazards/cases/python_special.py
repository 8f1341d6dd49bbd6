"""Special methods of user classes hold hidden state, and are replaced between calls."""

import itertools
import operator

from changes import World, hazard, setter

import frazil as fz


def special(trace, name, body, methods, later):
    """An object of a class with these methods, whose `name` is then another, and then missing."""
    kind = type("Thing", (), {"n": 0} | methods)
    t = kind()

    def drop():
        if name in vars(kind):
            delattr(kind, name)

    return World(
        trace(lambda x: body(t, x)),
        setter(t, n=5),
        setter(kind, **{name: later}),
        setter(t, n=1),
        drop,
        state=lambda: vars(t),
    )


def counting(result):
    """A method that counts its calls and gives result(n)."""

    def method(self, *args):
        self.n += 1
        return result(self.n)

    return method


def named(name):
    """A row of the table: what a function of the case's name tests."""
    return f"{name} with hidden state, replaced, deleted"


@hazard(named("__len__"))
def special_len(trace):
    methods = {"__len__": counting(lambda n: n % 3)}
    return special(
        trace, "__len__", lambda t, x: x * len(t) if t else x - 1, methods, lambda self: 7
    )


@hazard(named("__bool__"))
def special_bool(trace):
    methods = {"__bool__": counting(lambda n: n % 3 > 0)}

    def body(t, x):
        return x * 2 if t else x + 1 if not t else x * 3

    return special(trace, "__bool__", body, methods, lambda self: False)


@hazard(named("__eq__"))
def special_eq(trace):
    methods = {"__eq__": counting(lambda n: n % 2 == 0), "__hash__": object.__hash__}
    return special(
        trace,
        "__eq__",
        lambda t, x: x * 2 if t == 5 else x + ([1, t].count(t)),
        methods,
        lambda s, o: True,
    )


@hazard(named("__hash__"))
def special_hash(trace):
    methods = {"__hash__": lambda self: 3, "__eq__": lambda self, other: True}

    def body(t, x):
        table = {t: 2.0}
        return x * table.get(t, 9.0) + table.get(3, 0.5)

    return special(trace, "__hash__", body, methods, lambda self: 4)


@hazard(named("__iter__"))
def special_iter(trace):
    methods = {"__iter__": counting(lambda n: iter(range(n % 4)))}

    def body(t, x):
        for k in t:
            x = x + k
        return x * sum(t)

    return special(trace, "__iter__", body, methods, lambda self: iter([9]))


@hazard(named("__next__"))
def special_next(trace):
    methods = {"__next__": counting(lambda n: n / 2), "__iter__": lambda self: self}
    return special(
        trace,
        "__next__",
        lambda t, x: x * next(t) + sum(itertools.islice(t, 2)),
        methods,
        lambda self: 0.25,
    )


@hazard(named("__contains__"))
def special_contains(trace):
    methods = {"__contains__": counting(lambda n: n % 2), "__iter__": lambda self: iter("ab")}
    return special(
        trace, "__contains__", lambda t, x: x * 2 if "a" in t else x, methods, lambda s, k: True
    )


@hazard(named("__call__"))
def special_call(trace):
    return special(
        trace,
        "__call__",
        lambda t, x: x * t(1),
        {"__call__": counting(lambda n: n)},
        lambda s, k: 50,
    )


@hazard(named("__getitem__"))
def special_getitem(trace):
    methods = {"__getitem__": counting(lambda n: n * 0.5)}
    return special(trace, "__getitem__", lambda t, x: x * t[0] + t["a"], methods, lambda s, k: 2)


@hazard(named("__setitem__"))
def special_setitem(trace):
    methods = {"__setitem__": lambda self, k, v: setattr(self, f"k{k}", v * 2)}

    def body(t, x):
        t[t.n % 2] = 3
        t.n += 1
        return x * sum(v for v in vars(t).values())

    return special(trace, "__setitem__", body, methods, lambda s, k, v: None)


@hazard(named("__enter__"))
def special_enter(trace):
    methods = {"__enter__": counting(lambda n: n), "__exit__": lambda self, *e: e[0] is ValueError}

    def body(t, x):
        with t as k:
            x = x * k
            if k % 4 == 3:
                raise ValueError(k)
        return x

    return special(trace, "__enter__", body, methods, lambda self: 2)


@hazard(named("__exit__"))
def special_exit(trace):
    methods = {"__enter__": lambda self: self, "__exit__": counting(lambda n: n % 3 == 0)}

    def body(t, x):
        with t:
            x = x * 2
            raise KeyError("k")
        return x

    return special(trace, "__exit__", body, methods, lambda self, *e: True)


@hazard(named("__mul__"))
def special_mul(trace):
    methods = {
        "__mul__": lambda self, x: x * (self.n + 2),
        "__rmul__": counting(lambda n: n * 10),
        "__radd__": lambda self, x: ("added", self.n),
    }
    return special(
        trace,
        "__rmul__",
        lambda t, x: (t * x, 3 * t, x.tolist() + [t.n]),
        methods,
        lambda self, x: -1,
    )


@hazard(named("__radd__"))
def special_radd(trace):
    methods = {"__radd__": counting(lambda n: n)}
    return special(trace, "__radd__", lambda t, x: (x + t, sum([1, t])), methods, lambda self, x: 2)


@hazard(named("__iadd__"))
def special_iadd(trace):
    def iadd(self, other):
        self.n += other
        return self

    def body(t, x):
        t += 2
        return x * t.n

    return special(
        trace, "__iadd__", body, {"__iadd__": iadd, "__add__": lambda s, o: s}, lambda s, o: s
    )


@hazard(named("__float__"))
def special_float(trace):
    methods = {"__float__": counting(lambda n: n / 4)}
    return special(trace, "__float__", lambda t, x: x * float(t), methods, lambda self: 2.0)


@hazard(named("__index__"))
def special_index(trace):
    methods = {"__index__": counting(lambda n: n % 2)}
    return special(
        trace,
        "__index__",
        lambda t, x: (x[operator.index(t)], [1, 2][t], range(t)),
        methods,
        lambda s: 0,
    )


@hazard(named("__lt__"))
def special_lt(trace):
    methods = {"__lt__": counting(lambda n: n % 2 == 0)}

    def body(t, x):
        order = sorted([t, type(t)()])
        return x * 2 if order[0] is t else x

    return special(trace, "__lt__", body, methods, lambda s, o: True)


@hazard(named("__format__"))
def special_format(trace):
    methods = {"__format__": lambda self, spec: spec * self.n, "__str__": counting(str)}
    return special(
        trace,
        "__format__",
        lambda t, x: x * len(f"{t:ab}{t!s}"),
        methods,
        lambda self, spec: "long text",
    )


@hazard(named("__missing__"))
def special_missing(trace):
    class Table(dict):
        n = 0

        def __missing__(self, key):
            type(self).n += 1
            return type(self).n

    table = Table(a=2.0)
    return World(
        trace(lambda x: x * table["a"] + table["b"]),
        lambda: table.pop("a"),
        setter(Table, __missing__=lambda self, key: 0.5),
        lambda: delattr(Table, "__missing__"),
        state=lambda: Table.n,
    )


@hazard(named("__del__"))
def special_del(trace):
    log = []

    class Resource:
        def __init__(self, k):
            self.k = k

        def __del__(self):
            log.append(self.k)

    held = {"k": 2.0}

    def body(x):
        resource = Resource(held["k"])
        y = x * resource.k
        del resource
        log.append("behind")
        return y

    return World(
        trace(body),
        lambda: held.update(k=3.0),
        lambda: delattr(Resource, "__del__"),
        state=lambda: list(log),
    )


@hazard(named("__instancecheck__"))
def special_instancecheck(trace):
    class Meta(type):
        n = 0

        def __instancecheck__(cls, instance):
            Meta.n += 1
            return Meta.n % 2 == 0

    class Kind(metaclass=Meta):
        pass

    return World(
        trace(lambda x: x * 2 if isinstance(5, Kind) else x),
        setter(Meta, n=1),
        setter(Meta, __instancecheck__=lambda cls, i: True),
        lambda: delattr(Meta, "__instancecheck__"),
    )


@hazard(named("__getstate__ and copy"))
def special_copy(trace):
    import copy

    class Thing:
        def __init__(self):
            self.k, self.items = 2.0, [1.0]

        def __copy__(self):
            self.k += 1
            return self

    t = Thing()

    def body(x):
        a, b = copy.copy(t), copy.deepcopy(t)
        b.items.append(5)
        return x * a.k + len(a.items) - b.k

    return World(
        trace(body),
        lambda: delattr(Thing, "__copy__"),
        lambda: t.items.append(2),
        setter(t, k=0),
        state=lambda: vars(t),
    )


@hazard(named("__class_getitem__ and __set_name__"))
def special_class_getitem(trace):
    names = []

    class Field:
        def __set_name__(self, owner, name):
            names.append(name)

        def __class_getitem__(cls, k):
            return k * 2

    def body(x):
        made = type("Made", (), {"f": Field()})
        return x * Field[3] + len(vars(made)["f"].__class__.__mro__)

    return World(
        trace(body),
        setter(Field, __class_getitem__=classmethod(lambda cls, k: 0.5)),
        lambda: delattr(Field, "__set_name__"),
        state=lambda: len(names),
    )


@hazard("operators between plain numbers of a user's class")
def numbers_of_a_class(trace):
    class Metres(float):
        def __add__(self, other):
            Metres.sums += 1
            return Metres(float(self) + float(other) * Metres.unit)

        __radd__ = __add__

    Metres.sums, Metres.unit = 0, 1.0
    held = {"m": Metres(2.0)}
    return World(
        trace(lambda x: x * float(held["m"] + 1) + (3 + held["m"])),
        setter(Metres, unit=2.0),
        lambda: held.update(m=Metres(5.0)),
        lambda: held.update(m=5.0),
        lambda: held.update(m=Metres(5.0)) or delattr(Metres, "__add__"),
        state=lambda: Metres.sums,
    )


@hazard("an int's subclass that looks like 2")
def int_subclass(trace):
    class Two(int):
        def __eq__(self, other):
            return True

        __hash__ = int.__hash__

        def __bool__(self):
            return False

    held = {"k": 2}
    return World(
        trace(lambda x: (x * held["k"], 7 if held["k"] else 8, held["k"] == 3)),
        lambda: held.update(k=Two(2)),
        lambda: held.update(k=Two(5)),
        lambda: delattr(Two, "__bool__"),
        lambda: held.update(k=True),
    )


@hazard("__array__, __array_priority__ and tensors of a class with operators")
def array_protocol(trace):
    class Lazy:
        n = 0

        def __rmul__(self, x):
            Lazy.n += 1
            return x + Lazy.n

        def __matmul__(self, x):
            return fz.sum(x) * Lazy.n

    lazy = Lazy()
    return World(
        trace(lambda x: (x * lazy, lazy @ x)),
        setter(Lazy, n=10),
        setter(Lazy, __rmul__=lambda self, x: x),
        lambda: delattr(Lazy, "__matmul__"),
    )
