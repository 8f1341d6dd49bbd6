"""Attributes of instances, classes and descriptors change between calls."""

import collections
import dataclasses
import enum
import functools
import gc
import weakref

from changes import World, hazard, setter

import frazil as fz


class Base:
    """What cases derive their own classes from: each run has a fresh one."""


def thing(**attributes):
    """An instance of a fresh class, with attributes."""
    kind = type("Thing", (Base,), {})
    made = kind()
    vars(made).update(attributes)
    return made


def scaled(t):
    return lambda x: x * t.k


@hazard("an attribute is assigned, deleted, found in the class")
def set_and_deleted(trace):
    t = thing(k=2.0)
    return World(
        trace(scaled(t)),
        setter(t, k=3.0),
        setter(type(t), k=4.0),
        lambda: delattr(t, "k"),
        lambda: delattr(type(t), "k"),
    )


@hazard("__dict__ is written, replaced, emptied")
def dict_written(trace):
    t = thing(k=2.0)
    return World(
        trace(scaled(t)),
        lambda: t.__dict__.__setitem__("k", 3.0),
        setter(t, __dict__={"k": 4.0}),
        lambda: vars(t).clear(),
        lambda: vars(t).setdefault("k", 5),
    )


@hazard("object.__setattr__ goes around a __setattr__ that refuses")
def set_around(trace):
    class Frozen:
        k = 1.0

        def __setattr__(self, name, value):
            raise AttributeError("frozen")

    t = Frozen()
    return World(
        trace(scaled(t)),
        lambda: object.__setattr__(t, "k", 2.0),
        lambda: type.__setattr__(Frozen, "k", 5),
    )


@hazard("a class attribute of a base of a base changes; one between hides it")
def base_of_base(trace):
    class A:
        k = 2.0

    class B(A):
        pass

    class C(B):
        pass

    t = C()
    return World(
        trace(scaled(t)),
        setter(A, k=3.0),
        setter(B, k=4.0),
        setter(A, k=5.0),
        lambda: delattr(B, "k"),
        setter(C, k=6),
    )


@hazard("bases are changed")
def bases_changed(trace):
    class A:
        k = 2.0

    class B:
        k = 3.0

    class C(A):
        pass

    t = C()
    return World(trace(scaled(t)), setter(C, __bases__=(B,)), setter(B, k=4.0), setter(A, k=9.0))


@hazard("__class__ is swapped for one with another method and attribute")
def class_swapped(trace):
    class A:
        k = 2.0

        def scale(self, x):
            return x * self.k

    class B(A):
        k = 3.0

    class C(A):
        def scale(self, x):
            return x - self.k

    t = A()
    return World(
        trace(lambda x: t.scale(x)), setter(t, __class__=B), setter(t, __class__=C), setter(t, k=7)
    )


@hazard("a method is replaced in the class, hidden by the instance, deleted")
def method_replaced(trace):
    class A:
        def scale(self, x):
            return x * 2

    class B(A):
        def scale(self, x):
            return x * 3

    t = B()
    return World(
        trace(lambda x: t.scale(x)),
        setter(B, scale=lambda self, x: x + 10),
        setter(t, scale=lambda x: x - 10),
        lambda: delattr(t, "scale"),
        lambda: delattr(B, "scale"),
        setter(A, scale=fz.tanh),
        setter(A, scale=lambda self, x: x),
    )


@hazard("a method becomes static, a class method, a property, a plain attribute")
def kinds_of_methods(trace):
    class A:
        k = 2.0

        def part(self, x):
            return x * self.k

    t = A()
    return World(
        trace(lambda x: t.part(x)),
        setter(A, part=staticmethod(lambda x: x + 1)),
        setter(A, part=classmethod(lambda cls, x: x - cls.k)),
        setter(A, part=property(lambda self: lambda x: x / self.k)),
        setter(A, part=fz.exp),
        setter(A, part=functools.partial(fz.sum, axis=0)),
    )


@hazard("super() finds another class after a change of bases")
def super_call(trace):
    class A:
        def f(self, x):
            return x * 2

    class B(A):
        pass

    class C(B):
        def f(self, x):
            return super().f(x) + 1

    class D(A):
        def f(self, x):
            return x * 5

    t = C()
    return World(
        trace(lambda x: t.f(x)),
        setter(A, f=lambda self, x: x - 3),
        setter(B, f=lambda self, x: x * 7),
        lambda: setattr(C, "__bases__", (D,)),
    )


@hazard("a property reads hidden state, and is replaced")
def property_state(trace):
    hidden = {"k": 2.0}

    class A:
        @property
        def k(self):
            return hidden["k"]

    t = A()
    return World(
        trace(scaled(t)),
        lambda: hidden.update(k=3.0),
        setter(A, k=property(lambda self: 4.0)),
        setter(A, k=5.0),
        lambda: vars(t).update(k=6.0),
        setter(A, k=property(lambda self: 7.0)),
    )


@hazard("a property counts how often it is read, another writes when it is set")
def property_effects(trace):
    class A:
        reads, k = 0, 0

        @property
        def rate(self):
            self.reads += 1
            return 1 / self.reads

        @rate.setter
        def rate(self, value):
            self.reads = value

    t = A()

    def body(x):
        y = x * t.rate
        if t.reads > 12:
            t.rate = 3
        return y

    return World(trace(body), setter(t, reads=0), setter(A, reads=5), state=lambda: vars(t))


@hazard("a property raises when it is read for the ninth time")
def property_raises(trace):
    class A:
        reads = 0

        @property
        def k(self):
            self.reads += 1
            if self.reads == 9:
                raise ValueError("worn out")
            return 2.0

    t = A()
    return World(trace(scaled(t)), setter(t, reads=6), state=lambda: vars(t))


@hazard("a descriptor of data and one of none, before and behind the instance")
def descriptors(trace):
    class Data:
        def __init__(self, k):
            self.k = k

        def __get__(self, instance, owner):
            return self.k

        def __set__(self, instance, value):
            self.k = value * 10

    class Reader:
        def __get__(self, instance, owner):
            return 9.0

    class A:
        k = Data(2.0)

    t = A()
    return World(
        trace(scaled(t)),
        setter(t, k=3.0),
        lambda: setattr(vars(A)["k"], "k", 4.0),
        setter(Data, __get__=lambda self, i, o: 5.0),
        lambda: vars(t).update(k=6.0),
        setter(A, k=Reader()),
        lambda: vars(t).clear(),
        lambda: delattr(Reader, "__get__") or setattr(A, "k", 8),
    )


@hazard("__getattr__ makes names up from hidden state; then they are there")
def getattr_hidden(trace):
    class A:
        count = 0

        def __getattr__(self, name):
            type(self).count += 1
            return float(len(name) + self.count)

    t = A()
    return World(
        trace(lambda x: x * t.kk + t.kkk),
        setter(A, count=0),
        setter(t, kk=1.0),
        setter(A, kkk=2.0),
        lambda: delattr(A, "__getattr__"),
        lambda: delattr(t, "kk"),
        state=lambda: A.count,
    )


@hazard("__getattr__ and __getattribute__ come later")
def getattribute_later(trace):
    class A:
        pass

    t = A()
    t.k = 2.0

    def seen(self, name):
        return 5.0 if name == "k" else object.__getattribute__(self, name)

    return World(
        trace(lambda x: x * t.k),
        setter(A, __getattr__=lambda self, name: 3.0),
        lambda: delattr(t, "k"),
        setter(A, __getattribute__=seen),
        lambda: delattr(A, "__getattribute__"),
        lambda: delattr(A, "__getattr__"),
    )


@hazard("__setattr__ and __delattr__ of the class see what the body writes")
def setattr_seen(trace):
    log = []

    class A:
        def __setattr__(self, name, value):
            log.append(name)
            object.__setattr__(self, name, value)

        def __delattr__(self, name):
            log.append(f"-{name}")
            object.__delattr__(self, name)

    t = A()
    t.n = 0

    def body(x):
        t.n = t.n + 1
        t.temporary = x
        del t.temporary
        return x * t.n

    return World(
        trace(body),
        lambda: delattr(A, "__delattr__"),
        lambda: delattr(A, "__setattr__"),
        state=lambda: log,
    )


@hazard("slots are written, deleted, and found again")
def slots(trace):
    class A:
        __slots__ = ("k", "__weakref__")

    t = A()
    t.k = 2.0
    return World(
        trace(scaled(t)),
        setter(t, k=3.0),
        lambda: delattr(t, "k"),
        lambda: A.k.__set__(t, True),
        setter(A, k=property(lambda self: 4.0)),
    )


@hazard("a chain of attributes: each link is replaced")
def chain_of_attributes(trace):
    t = thing(a=thing(b=thing(k=2.0)))
    return World(
        trace(lambda x: x * t.a.b.k),
        setter(t.a.b, k=3.0),
        lambda: setattr(t.a, "b", thing(k=4.0)),
        lambda: setattr(t, "a", thing(b=thing(k=5.0))),
        lambda: setattr(t.a, "b", thing(k=5.0)),
        lambda: delattr(t.a, "b"),
    )


@hazard("an instance is replaced by an equal one, which then changes")
def equal_instance(trace):
    held = {"t": thing(k=2.0)}
    return World(
        trace(lambda x: x * held["t"].k),
        lambda: held.update(t=thing(k=2.0)),
        lambda: setattr(held["t"], "k", 3.0),
        lambda: held.update(t=fz.asarray(1.0)),
    )


@hazard("a metaclass: its attribute, its property, its __getattr__")
def metaclass(trace):
    class Meta(type):
        k = 2.0

        def __call__(cls, *args):
            made = super().__call__(*args)
            made.n = cls.k
            return made

    class A(metaclass=Meta):
        pass

    return World(
        trace(lambda x: x * A.k + A().n),
        setter(Meta, k=3.0),
        setter(A, k=4.0),
        setter(Meta, k=property(lambda cls: 5.0)),
        setter(Meta, __call__=type.__call__),
        setter(A, n=6.0),
    )


@hazard("__new__ and __init__ of a class whose instances the body makes")
def instances_made(trace):
    class Point:
        made = 0

        def __init__(self, x):
            Point.made += 1
            self.x = x

    def body(x):
        p = Point(x)
        q = Point(p.x * 2)
        return p.x + q.x * Point.made

    def init(self, x):
        self.x = x * 10

    return World(
        trace(body),
        setter(Point, made=0),
        setter(Point, __init__=init),
        setter(Point, __new__=lambda cls, x: object.__new__(cls)),
        state=lambda: Point.made,
    )


@hazard("fields of dataclasses, frozen ones, too")
def dataclass_fields(trace):
    @dataclasses.dataclass(frozen=True)
    class Config:
        k: float = 2.0
        more: list = dataclasses.field(default_factory=lambda: [1.0])

    held = {"c": Config()}
    return World(
        trace(
            lambda x: (x * held["c"].k + held["c"].more[0], dataclasses.replace(held["c"], k=9).k)
        ),
        lambda: held["c"].more.insert(0, 7.0),
        lambda: object.__setattr__(held["c"], "k", 3.0),
        lambda: held.update(c=Config(4.0)),
        lambda: setattr(Config, "__init__", lambda self, k, more: vars(self).update(k=0, more=[0])),
    )


@hazard("named tuples: fields by name are descriptors of the class")
def named_tuple_fields(trace):
    class Pair(collections.namedtuple("Pair", "a b")):
        @property
        def total(self):
            return self.a + self.b

    held = {"p": Pair(1.0, 2.0)}
    return World(
        trace(lambda x: x * held["p"].total + held["p"].a),
        lambda: held.update(p=held["p"]._replace(a=3.0)),
        setter(Pair, a=property(lambda self: 100.0)),
        setter(Pair, total=5),
    )


@hazard("members of an enum: identity, values, attributes")
def enum_members(trace):
    class Mode(enum.Enum):
        ADD = 1
        MUL = 2.5

        @property
        def twice(self):
            return self.value * 2

    held = {"mode": Mode.ADD}
    return World(
        trace(
            lambda x: x + held["mode"].twice if held["mode"] is Mode.ADD else x * held["mode"].value
        ),
        lambda: held.update(mode=Mode.MUL),
        lambda: setattr(Mode.MUL, "_value_", 4.0),
        lambda: setattr(Mode, "twice", 7.0),
        lambda: held.update(mode=Mode(1)),
    )


@hazard("a cached property is computed once, forgotten, and set")
def cached_property(trace):
    class A:
        k = 2.0

        @functools.cached_property
        def factor(self):
            return self.k * 10

    t = A()
    return World(
        trace(lambda x: x * t.factor),
        setter(A, k=3.0),
        lambda: vars(t).pop("factor"),
        lambda: vars(t).update(factor=1.0),
        state=lambda: vars(t),
    )


@hazard("a weak reference dies; a proxy, too")
def weak_references(trace):
    held = {"t": thing(k=2.0)}
    ref, proxy = weakref.ref(held["t"]), weakref.proxy(held["t"])

    def body(x):
        t = ref()
        return x if t is None else x * t.k + proxy.k

    return World(
        trace(body),
        lambda: setattr(held["t"], "k", 3.0),
        lambda: held.clear() or gc.collect() and None,
    )


@hazard("entries of a weak dict and a weak set vanish")
def weak_containers(trace):
    held = [thing(k=float(i)) for i in range(4)]
    table = weakref.WeakValueDictionary({i: t for i, t in enumerate(held)})
    names = weakref.WeakSet(held)

    def body(x):
        return x * len(table) + sum(sorted(t.k for t in names))

    return World(trace(body), lambda: held.pop() and gc.collect() and None, held.clear)


@hazard("subclasses register themselves")
def registered_subclasses(trace):
    class Plugin:
        known = []

        def __init_subclass__(cls, **options):
            Plugin.known.append(cls)

    def body(x):
        for plugin in Plugin.__subclasses__():
            x = x * plugin.k
        return x + len(Plugin.known)

    kept = []

    def more(k):
        kept.append(type("P", (Plugin,), {"k": k}))

    return World(trace(body), lambda: more(2.0), lambda: more(3.0), Plugin.known.clear)


@hazard("the order in which attributes were made")
def order_of_attributes(trace):
    t = thing(a=1.0, b=2.0)

    def body(x):
        for i, value in enumerate(vars(t).values()):
            x = x * (i + 1) + value
        return x, list(vars(t))

    def again():
        a = t.a
        del t.a
        t.a = a

    return World(trace(body), again, setter(t, c=0.5), lambda: delattr(t, "b"))


@hazard("getattr, hasattr and setattr by names that are computed")
def attributes_by_name(trace):
    t = thing(rate_0=1.0, rate_1=2.0, rate_2=0.5, n=0)

    def body(x):
        t.n += 1
        name = f"rate_{t.n % 3}"
        setattr(t, f"seen_{t.n % 2}", t.n)
        return x * getattr(t, name, -1.0) if hasattr(t, name) else x

    return World(
        trace(body), setter(t, rate_1=7.0), lambda: delattr(t, "rate_2"), state=lambda: vars(t)
    )


@hazard("hidden flags in modules: training, buffers, parameters by another name")
def module_attributes(trace):
    class Net(fz.nn.Module):
        def __init__(self):
            self.scale = 2.0
            self.w = fz.nn.Parameter(fz.ones(2))

        def forward(self, x):
            return x * self.w * self.scale if self.training else x + self.w

    net = Net()
    return World(
        trace(lambda x: net(x).detach()),
        setter(net, scale=3.0),
        net.eval,
        setter(net, w=fz.nn.Parameter(fz.ones(2) * 5)),
        lambda: vars(net).update(training=True),
        setter(Net, forward=lambda self, x: self.w - x),
        lambda: net.register_forward_hook(lambda m, args, y: y * 2) and None,
    )
