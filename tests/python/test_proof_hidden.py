"""State that no instruction of the body names: in classes' descriptors, behind C functions, in
numbers and containers that the body changes. A skipped call is still that of the untraced function.
"""

import pytest
from proofs import both, cases

READ = cases("""
## a special name of a class
class C: __table__ = {"k": 2.0}
@trace
def f(x): return x * C.__table__["k"]
# then
C.__table__["k"] = 3.0
# then
C.__table__ = {"k": 4.0}

## a special name by an argument
class C: __table__ = {"k": 2.0}
c = C()
@trace
def f(x, c): return x * c.__table__["k"]
call = lambda: f(X, c)
# then
C.__table__["k"] = 3.0

## annotations
class C: a: 2.0
@trace
def f(x): return x * C.__annotations__["a"]
# then
C.__annotations__["a"] = 3.0

## a descriptor
class D:
    def __init__(self, v): self.v = v
    def __get__(self, o, t): return self.v
class C: x = D(2.0)
@trace
def f(x): return x * C().x
# then
vars(C)["x"].v = 3.0
# then
C.x = D(4.0)

## a descriptor of an argument's class
class D:
    def __init__(self, v): self.v = v
    def __get__(self, o, t): return self.v
class C: x = D(2.0)
c = C()
@trace
def f(x, c): return x * getattr(c, "x")
call = lambda: f(X, c)
# then
vars(C)["x"].v = 3.0

## a descriptor that is written to
class D:
    def __init__(self): self.k = 2.0
    def __get__(self, o, t): return o.kept
    def __set__(self, o, v): o.kept = v * self.k
class C: x = D()
@trace
def f(x):
    c = C()
    c.x = 3.0
    return x * c.x
# then
vars(C)["x"].k = 5.0

## a descriptor reached by super
class D:
    def __init__(self, v): self.v = v
    def __get__(self, o, t): return self.v
class A: x = D(2.0)
class B(A):
    x = 1.0
    def get(self): return super().x
@trace
def f(x): return x * B().get()
# then
vars(A)["x"].v = 3.0

## an object in a static method
class K:
    def __init__(self, v): self.v = v
    def __call__(self, x): return x * self.v
k = K(2.0)
class C: m = staticmethod(k)
@trace
def f(x): return C.m(x)
# then
k.v = 3.0

## an object in a property
class K:
    def __init__(self, v): self.v = v
    def __call__(self, x): return self.v
k = K(2.0)
class C: m = property(k)
@trace
def f(x): return C().m * x
# then
k.v = 3.0

## an object in a class
class K:
    def __init__(self, v): self.v = v
    def __call__(self, x): return x * self.v
k = K(2.0)
class C: m = k
@trace
def f(x): return C().m(x)
# then
k.v = 3.0

## an attribute of a method
class C:
    def m(self): pass
C.m.rate = 2.0
@trace
def f(x): return x * C().m.rate + getattr(C().m, "rate")
# then
C.m.rate = 3.0

## patterns on a module
import types
m = types.ModuleType("m"); m.rate = 2.0
M = types.ModuleType
@trace
def f(x):
    match m:
        case M(rate=r): return x * r
# then
m.rate = 3.0

## patterns on a function
import types
def g(): pass
g.rate = 2.0
F = types.FunctionType
@trace
def f(x):
    match g:
        case F(rate=r): return x * r
# then
g.rate = 3.0

## getattr of a module
import types
m = types.ModuleType("m"); m.rate = 2.0
@trace
def f(x): return x * getattr(m, "rate") * hasattr(m, "rate")
# then
m.rate = 3.0
# then
del m.rate
""")

WRITTEN = cases("""
## a counter
n = 0
@trace
def f(x):
    global n
    n += 1
    return x * n
call = lambda: (f(X), n)
# then
n = 100
# then
n = 2 ** 62
# then
n = 2 ** 80
# then
n = 0.5
# then
n = True

## a counter that decides
n = 0
table = [1.0, 2.0, 3.0]
@trace
def f(x):
    global n
    n += 1
    if n % 3 == 0: return x * 2
    return x * table[n % 3] / (n - 4 if n != 4 else 1)
call = lambda: (f(X), n)
# then
n = 100
# then
table[1] = 7.0

## attributes
class S: pass
s = S(); s.step = 0; s.rate = 0.5; s.mean = X * 0; s.inner = {"k": [1.0]}
@trace
def f(x):
    s.step += 1
    s.rate *= 0.5
    s.mean = s.mean * 0.9 + x * 0.1
    s.inner["k"][0] += s.step
    return s.mean / (1 - 0.9 ** s.step) * s.rate
call = lambda: (f(X), s.step, s.rate, s.mean, s.inner)
# then
s.step = 0
# then
s.mean = X * 5
# then
s.inner["k"] = [7.0]

## slots and closures
def make():
    n, last = 0, None
    class S: __slots__ = ("v",)
    s = S(); s.v = 1.0
    @trace
    def f(x):
        nonlocal n, last
        n += 2
        s.v = s.v * 1.5
        last = x * n
        return last + s.v
    return f, (lambda: (n, last, s.v))
f, get = make()
call = lambda: (f(X), get())

## dicts keep their order
s = {"b": 1}
@trace
def f(x):
    s["a"] = 1; s["b"] = 2
    s.pop("c", None)
    return x * len(s)
call = lambda: (f(X), list(s.items()))
# then
s.clear()
# then
s["c"] = 3

## lists
l = [3, 1, 2]
@trace
def f(x):
    l.sort(); l.reverse(); l.insert(0, 5); l.pop(); del l[0]; l.extend([9])
    return x * l[0]
call = lambda: (f(X), list(l))
# then
l[:] = [7, 8, 9]

## what is appended is what is returned
hist, other = [], []
@trace
def f(x):
    hist.clear()
    y = x * 2
    hist.append(y); hist.append(x)
    return y
def call():
    y = f(X)
    return hist[0] is y, hist[1] is X, len(hist)
# then
hist.append(1)

## two names of one thing
s = {}
@trace
def f(x):
    s["a"] = s["b"] = x * 2
    return x
def call():
    f(X)
    return s["a"] is s["b"], list(s)
# then
s.clear()

## swapped
s = {"a": fz.asarray([1.0, 2.0]), "b": fz.asarray([3.0, 4.0])}
@trace
def f(x):
    s["a"], s["b"] = s["b"], s["a"] + 1
    return s["a"] * x
call = lambda: (f(X), s["a"], s["b"])

## properties and __setattr__
log = [0]
class S:
    def __setattr__(self, n, v):
        log[0] += 1
        object.__setattr__(self, n, v)
    v = property(lambda self: self.kept)
    @v.setter
    def v(self, new): self.kept = new + 1
s = S(); s.v = 0
@trace
def f(x):
    s.v = s.v * 2
    return x * s.v
call = lambda: (f(X), s.kept, log[0])

## then an exception
n = 0
@trace
def f(x):
    global n
    n += 1
    if n > 8: raise ValueError(n)
    return x * n
call = lambda: f(X)
# then
out.append(n); n = 0

## numbers in arguments
n = 0.0
@trace
def f(x, lr, k, *, more):
    return x * lr - k ** 2 + lr / 3 + more["s"][0], lr * 2, k // 2, -k, x / (k + 1)
def call():
    global n
    n += 0.37
    return f(X, n, int(n * 7), more={"s": [n * 2, "a"]})
# then
n = float("nan")
# then
n = 1e300
# then
n = -2.0

## numbers of both signs of zero
values, i = [0.0, -0.0, 1.0, -1.0, float("inf"), -float("inf"), 1e-45, 3.4e38], 0
@trace
def f(x, k): return x * k, x + k, fz.copysign(x, k)
def call():
    global i
    i += 1
    return f(X, values[i % len(values)])

## numbers of several types
values, i = [1, 2.0, 3, True, 5.0, False, 2 ** 53 + 1, 2 ** 70], 0
@trace
def f(x, k): return x * k, k + 1, k / 2
def call():
    global i
    i += 1
    return f(X, values[i % len(values)])

## an integer tensor
n, Y = 0, fz.asarray([1, 2, 3])
@trace
def f(x, k): return x * k, x / k, x // k, k - x, x > k, fz.where(x > 1, k, x)
def call():
    global n
    n += 1
    return f(Y, n)

## text of numbers
n = 0
@trace
def f(x, k): return x * k, f"{k}", "%d" % k, [k], {k: 1}, (k, k * 2)
def call():
    global n
    n += 1
    return f(X, n)
""")


@pytest.mark.parametrize("name", READ)
def test_read(name):
    source, *changes = READ[name]
    traced, skipped = both(source, *changes)
    assert changes and skipped > 1, traced.f.explain()


@pytest.mark.parametrize("name", WRITTEN)
def test_written(name):
    source, *changes = WRITTEN[name]
    both(source, *changes, calls=20, after=8)
