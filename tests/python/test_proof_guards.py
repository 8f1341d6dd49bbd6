"""What a skipped call depends on, changed between calls in every way: results stay those of the
untraced function."""

import functools

import pytest
from proofs import both, cases

import frazil as fz

GUARDS = cases("""
## a global name
rate = 2.0
@trace
def f(x): return x * rate
# then
rate = 3.0
# then
globals()["rate"] = 4.0
# then
globals().update(rate=5.0)
# then
exec("rate = 6.0")
# then
import sys; setattr(sys.modules["program"], "rate", 7.0)
# then
del rate
# then
rate = 2
# then
rate = True
# then
rate = 0.0
# then
rate = -0.0
# then
rate = fz.asarray([1.0, 2.0])
# then
rate = None

## the kind of a number, to an equal one
a, b, c = True, 2.0, 0.0
@trace
def f(x): return (x * a, fz.asarray([1, 2]) * b, a, b, c)
# then
a = 1
# then
b = 2
# then
c = -0.0

## the attributes of a function
def g(x): return x
@trace
def f(x): return g(x) * (2 + len(g.__dict__))
# then
g.k = 3.0
# then
g.__dict__["j"] = 3.0
# then
g.__dict__ = {}

## a data descriptor before the instance's own attribute
class D:
    def __init__(self): self.k = 2.0
    def __get__(self, o, t): return self.k
    def __set__(self, o, v): pass
class C: v = D()
c = C(); vars(c)["v"] = 7.0
@trace
def f(x): return x * c.v
# then
vars(C)["v"].k = 3.0
# then
del D.__set__

## a property that deletes by a partial
import functools
def drop(self, k): self.n = k
class C:
    n = 1.0
    v = property(lambda self: 1.0, fdel=functools.partial(drop, k=2.0))
c = C()
@trace
def f(x):
    del c.v
    return x * c.n
# then
vars(C)["v"].fdel.keywords["k"] = 3.0

## the globals of a function that looks the same
import types
K = 2.0
def g(x, more=[0]): return x * K
held = [g]
@trace
def f(x, g): return g(x)
def call(): return f(X, held[0])
# then
scope = {"K": 5.0, "__name__": "program"}
held[0] = types.FunctionType(g.__code__, scope, "g", g.__defaults__)
# then
scope["K"] = 6.0

## an attribute of a partial
import functools
p = functools.partial(max, 1)
p.k = 2.0
@trace
def f(x): return x * p.k
# then
p.k = 3.0
# then
del p.k

## the name of a key
d = {"a": 1.0}
@trace
def f(x): return x * d.get("a", 5.0) + len("".join(d))
# then
d["ab"] = d.pop("a")

## the name of an attribute
class C: pass
c = C(); c.a = 1.0
@trace
def f(x): return x * getattr(c, "a", 5.0)
# then
del c.a; c.b = 1.0

## a property that is set by a partial
import functools
def put(self, v, k): self.n = v * k
class C: v = property(lambda self: self.n, functools.partial(put, k=2.0))
c = C()
@trace
def f(x):
    c.v = 3.0
    return x * c.v
# then
vars(C)["v"].fset.keywords["k"] = 3.0

## an attribute that a pattern takes by its place
import functools
def get(self, k): return k
class C:
    __match_args__ = ("v",)
    v = property(functools.partial(get, k=2.0))
c = C()
@trace
def f(x):
    match c:
        case C(k): return x * k
# then
vars(C)["v"].fget.keywords["k"] = 3.0

## a part of a package that is imported
import sys, types
pk = sys.modules["pk"] = types.ModuleType("pk")
sys.modules["pk.part"] = types.ModuleType("pk.part")
pk.k, pk.__path__ = 2.0, []
@trace
def f(x):
    import pk.part
    return x * pk.k
# then
sys.modules.pop("pk.part", None)
# then
sys.modules.pop("pk", None)

## a name from another thread
import threading
rate = 2.0
@trace
def f(x): return x * rate
# then
t = threading.Thread(target=lambda: globals().update(rate=3.0)); t.start(); t.join()

## a built-in name
import builtins
builtins.size_of = lambda x: 2.0
@trace
def f(x): return x * size_of(x)
# then
builtins.size_of = lambda x: 3.0
# then
size_of = lambda x: 4.0
# then
del size_of
# then
builtins.__dict__.pop("size_of", None)

## a shadowed built-in
@trace
def f(x): return x * len([1, 2])
# then
len = lambda o: 5.0
# then
del len

## a string
mode = "a"
@trace
def f(x): return x * 2 if mode == "a" else x * 3
# then
mode = "b"
# then
mode = "".join(["a"])

## a function
def g(x): return x * 2
@trace
def f(x): return g(x)
# then
def g(x): return x * 3
# then
g.__code__ = (lambda x: x * 4).__code__
# then
g = lambda x, k=[5.0]: x * k[0]
# then
g.__defaults__[0][0] = 6.0
# then
g.__defaults__ = (7.0,)
# then
del g

## defaults
def g(x, k=2.0, *, by=1.0): return x * k + by
@trace
def f(x): return g(x)
# then
g.__defaults__ = (3.0,)
# then
g.__kwdefaults__["by"] = 2.0
# then
g.__kwdefaults__ = {"by": 4.0}
# then
g.__kwdefaults__ = None
# then
g.__kwdefaults__ = {"by": 1.0}

## a mutable default
def g(x, table=[2.0], *, more={"k": 1.0}): return x * table[0] + more["k"]
@trace
def f(x): return g(x)
# then
g.__defaults__[0][0] = 3.0
# then
g.__defaults__[0].insert(0, 4.0)
# then
g.__kwdefaults__["more"]["k"] = 5.0
# then
g.__kwdefaults__["more"].clear()

## the own code and defaults
def body(x, k=2.0): return x * k
f = trace(body)
# then
body.__code__ = (lambda x, k: x + k).__code__
# then
body.__defaults__ = (3.0,)

## a closure's cell
def make():
    k = 2.0
    def body(x): return x * k
    return body
body = make()
f = trace(body)
# then
body.__closure__[0].cell_contents = 3.0
# then
body.__closure__[0].cell_contents = fz.asarray([1.0, 5.0])
# then
del body.__closure__[0].cell_contents

## what a closure's cell holds
def make():
    k = {"a": [2.0]}
    def set(v): k["a"][0] = v
    def put(v): nonlocal k; k = v
    return (lambda x: x * k["a"][0]), set, put
body, set, put = make()
f = trace(body)
# then
set(3.0)
# then
put({"a": [4.0, 5.0]})
# then
put({})

## an attribute of a module
import types
m = types.ModuleType("m"); m.rate = 2.0
@trace
def f(x): return x * m.rate
# then
m.rate = 3.0
# then
m.__dict__["rate"] = 4.0
# then
del m.rate
# then
m.__getattr__ = lambda name: 5.0
# then
other = types.ModuleType("m"); other.rate = 6.0; m = other
# then
class Sub(types.ModuleType):
    rate = property(lambda self: 7.0)
m.__class__ = Sub

## an import in the body
import sys, types
def put(rate):
    p = types.ModuleType("proofs_p"); p.__path__ = []
    q = types.ModuleType("proofs_p.q"); q.rate = rate; p.q = q
    sys.modules["proofs_p"], sys.modules["proofs_p.q"] = p, q
put(2.0)
@trace
def f(x):
    import proofs_p.q
    from proofs_p.q import rate
    return x * proofs_p.q.rate + rate
# then
import proofs_p.q; proofs_p.q.rate = 3.0
# then
put(4.0)
# then
other = types.ModuleType("proofs_p"); other.__path__ = []
other.q = types.SimpleNamespace(rate=5.0); sys.modules["proofs_p"] = other
# then
[sys.modules.pop(n, None) for n in ("proofs_p.q", "proofs_p")]

## an attribute of a function
def g(): pass
g.rate = 2.0
@trace
def f(x): return x * g.rate
# then
g.rate = 3.0
# then
g.__dict__ = {"rate": 4.0}
# then
del g.rate

## a name of a function
def g(): "ab"
@trace
def f(x): return x * len(g.__name__) + len(g.__doc__)
# then
g.__name__ = "longer"
# then
g.__doc__ = "abc"

## an instance
class S: pass
s = S(); s.v = 2.0; s.more = {"k": [1.0]}
@trace
def f(x): return x * s.v + s.more["k"][0]
# then
s.v = 3.0
# then
s.__dict__["v"] = 4.0
# then
setattr(s, "v", 5.0)
# then
s.more["k"].append(1)
# then
s.more["k"][0] = 2.0
# then
s.__dict__ = {"v": 6.0, "more": {"k": [0.0]}}
# then
s.__class__ = type("T", (), {"v": property(lambda self: 7.0)})
# then
del s.more
# then
s = None

## slots
class S:
    __slots__ = ("v",)
s = S(); s.v = 2.0
@trace
def f(x): return x * s.v
# then
s.v = 3.0
# then
del s.v

## an attribute of a class
class B: k = 1.0
class C(B): table = [2.0]
@trace
def f(x): return x * C().table[0] + C.k
# then
C.table[0] = 3.0
# then
C.table = [4.0]
# then
B.k = 5.0
# then
C.k = 6.0
# then
del C.k
# then
type.__setattr__(B, "k", 7.0)
# then
C.__bases__ = (type("D", (), {"k": 8.0}),)

## a method
class C:
    def m(self, x): return x * 2
    @staticmethod
    def s(x): return x + 1
    @classmethod
    def c(cls, x): return x - 1
    @property
    def p(self): return 1.5
    def __call__(self, x): return x
    def __mul__(self, x): return x
c = C()
@trace
def f(x): return c.m(x) + C().s(x) * c.p + C.c(x) + c(x) * 2 + c * x
# then
C.m = lambda self, x: x * 3
# then
C.s = staticmethod(lambda x: x + 2)
# then
C.c = classmethod(lambda cls, x: x - 2)
# then
C.p = 2.5
# then
C.__call__ = lambda self, x: x * 5
# then
C.__mul__ = lambda self, x: x * 7
# then
c.m = lambda x: x * 11
# then
C.s.__code__ = (lambda x: x + 13).__code__
# then
del C.c

## a property's function
class C:
    @property
    def v(self): return 2.0
@trace
def f(x): return x * C().v
# then
C.v.fget.__code__ = (lambda self: 3.0).__code__

## super
class A: k = 2.0
class B(A):
    k = 9.0
    def m(self, x): return x * super().k
@trace
def f(x): return B().m(x)
# then
A.k = 3.0
# then
B.__bases__ = (type("A2", (A,), {"k": 4.0}),)

## a metaclass
class M(type):
    k = 2.0
    table = [5.0]
    @property
    def rate(cls): return cls.k * cls.table[0]
class C(metaclass=M): pass
@trace
def f(x): return x * C.rate
# then
M.k = 3.0
# then
C.k = 4.0
# then
M.table[0] = 1.0
# then
M.rate = property(lambda cls: 9.0)

## a nested class
class C:
    class I:
        k = [2.0]
        v = 1.0
@trace
def f(x): return x * C.I.k[0] * C().I.v
# then
C.I.k[0] = 3.0
# then
C.I.v = 2.0
# then
C.I = type("I", (), {"k": [1.0], "v": 5.0})

## lists, tuples and dicts
data = [1.0, (2.0, [3.0]), {"a": 4.0, "b": 5.0}]
@trace
def f(x): return x * data[0] + data[1][1][0] - next(iter(data[2].values())), len(data[2])
# then
data[0] = 2.0
# then
data[1][1][0] = 6.0
# then
data[2]["a"] = data[2].pop("a")
# then
data[2]["c"] = 1.0
# then
data.insert(0, 3.0)
# then
data.reverse()
# then
data = (1.0, (2.0, [3.0]), {"a": 4.0})

## which objects are one
a = [2.0]; pair = [a, a]
@trace
def f(x):
    return x * 2 if pair[0] is pair[1] else x * 3
# then
pair[1] = [2.0]
# then
pair[0] = pair[1]

## a tuple of classes
class C: k = 2.0
classes = (C,)
@trace
def f(x): return x * classes[0].k
# then
C.k = 3.0
# then
classes = (type("D", (), {"k": 4.0}),)

## functions in a list
fs = [lambda x, k=k: x * k for k in (2.0, 3.0)]
@trace
def f(x): return fs[0](x) + fs[1](x) * 2
# then
fs.reverse()
# then
fs[0] = lambda x: x
# then
fs[1].__defaults__ = (7.0,)

## a partial
from functools import partial
def g(x, k): return x * k
h = partial(g, k=2.0)
@trace
def f(x): return h(x)
# then
h.keywords["k"] = 3.0
# then
h.__setstate__((lambda x, k: x + k, (), {"k": 1.0}, {}))

## a decorated function
import functools
def deco(g):
    @functools.wraps(g)
    def w(x): return g(x) + k
    return w
k = 1.0
@deco
def h(x): return x * 2
@trace
def f(x): return h(x)
# then
k = 2.0
# then
h.__closure__[0].cell_contents = lambda x: x * 3
# then
h.__wrapped__.__code__ = (lambda x: x * 4).__code__

## __getattr__
table = {"v": 2.0}
class C:
    def __getattr__(self, n): return table[n]
c = C()
@trace
def f(x): return x * c.v
# then
table["v"] = 3.0
# then
c.v = 4.0
# then
del c.v
# then
C.v = 5.0
# then
C.__getattribute__ = lambda self, n: 6.0

## enumerations
import enum
class E(enum.Enum):
    A = 2.0
    B = 3.0
E.A.scale = 1.0
e = E.A
@trace
def f(x): return x * e.value if e is E.A else x
# then
e = E.B
# then
e = E.A
# then
E.A._value_ = 4.0

## an enumeration's attribute
import enum
class E(enum.Enum):
    A = 2.0
E.A.scale = 1.0
@trace
def f(x): return x * E.A.scale
# then
E.A.scale = 5.0

## tensors
w = fz.asarray([2.0, 3.0]); box = {"w": [w]}
@trace
def f(x): return x * w + box["w"][0]
# then
w[0] = 5.0
# then
w = fz.asarray([1.0, 1.0])
# then
box["w"][0] = w
# then
w = fz.asarray(2.0)
# then
box["w"][0] = fz.asarray([1, 2])

## the settings around
@trace
def f(x): return x * fz.random.normal((2,))
around = fz.mode("auto")
def call():
    fz.random.seed(1)
    with around: return f(X), fz.random.normal((1,))
# then
around = fz.mode("eager")
# then
around = fz.no_grad()

## a module of layers
from frazil import nn
fz.random.seed(0)
net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Dropout(0.5))
@trace
def f(x): return net(x.reshape(1, 2))
def call():
    fz.random.seed(1)
    return f(X)
# then
net.eval()
# then
net.train()
# then
with fz.no_grad(): net[0].weight[0, 0] = 9.0
# then
net[0].bias = None

## keys with code
class K:
    def __init__(self, v): self.v = v
    def __hash__(self): return int(self.v) * factor
    def __eq__(self, o): return self.v == o.v
factor = 1
table = {K(1.0): 2.0}
@trace
def f(x): return x * table.get(K(1.0), 9.0)
# then
table[K(1.0)] = 3.0
# then
factor = 2
# then
factor = 1
# then
K.__eq__ = lambda self, o: False
""")


@pytest.mark.parametrize("name", GUARDS)
def test_changed(name):
    source, *changes = GUARDS[name]
    traced, skipped = both(source, *changes)
    assert changes and skipped > 1, traced.f.explain()


def test_skipped_again_when_it_has_changed():
    traced, skipped = both("rate = 2.0\nf = trace(lambda x: x * rate)", "rate = 3.0", after=10)
    assert traced.skipped > skipped + 2, traced.f.explain()


def test_functions_that_wrap_others_may_be_wrapped_again():
    def inner(x):
        return x * 2

    @functools.wraps(inner)
    def outer(x):
        return inner(x) + 1

    traced = fz.trace(lambda x: fz.vmap(outer)(x))
    x = fz.asarray([1.0, 2.0])
    for _ in range(6):
        assert traced(x).tolist() == [3.0, 5.0]
    skipped = traced.stats()["skipped"]
    assert skipped > 0, traced.explain()
    outer.__wrapped__ = len
    assert traced(x).tolist() == [3.0, 5.0]
    assert traced.stats()["skipped"] == skipped  # what is wrapped is compared
    outer.note = []
    for _ in range(5):
        assert traced(x).tolist() == [3.0, 5.0]
    assert traced.stats()["skipped"] == skipped  # and nothing else is
