"""What cannot be proved runs its body at every call, and explain() says which line it was."""

import re
import sys

import pytest
from proofs import Program, both, cases

# The first line of each program is a comment: its refusal. The line to blame ends in '# here'.
REFUSED = cases("""
## print
# calls 'builtins.print', of which nobody knows what it reads and changes
@trace
def f(x):
    print("x", end="")  # here
    return x

## a clock
# calls 'time.perf_counter'
import time
@trace
def f(x):
    time.perf_counter()  # here
    return x

## a clock in a helper
# calls 'time.sleep'
from time import sleep
def wait(): sleep(0)  # here
@trace
def f(x):
    wait()
    return x

## random numbers of Python
# 'random': an object of type builtin_function_or_method cannot be compared
import random
random.seed(0)
@trace
def f(x): return x * 0 + (random.random() < 2)  # here

## a file
# calls '_?io.open'
@trace
def f(x):
    with open("/dev/null") as file:  # here
        return x

## id
# calls 'builtins.id'
@trace
def f(x): return x * (id(x) > 0)  # here

## hash
# calls 'builtins.hash'
@trace
def f(x): return x * (hash("a") == hash("a"))  # here

## the method hash
# __hash__', of which nobody knows
class C: pass
@trace
def f(x): return x * (C().__hash__() > 0)  # here

## the hash of a string by its method
# __hash__', of which nobody knows
@trace
def f(x): return x * ("ab".__hash__() == "ab".__hash__())  # here

## the environment
# 'environ'
import os
@trace
def f(x): return x * len(os.environ.get("HOME", ""))  # here

## eval
# calls 'builtins.eval'
@trace
def f(x): return eval("x * 2")  # here

## globals
# calls 'builtins.globals'
rate = 2.0
@trace
def f(x): return x * globals()["rate"]  # here

## globals of a method
# reads the attribute '__globals__'
class C:
    def m(self): pass
rate = 2.0
@trace
def f(x): return x * C().m.__globals__["rate"]  # here

## globals by getattr
# reads the attribute '__globals__'
def g(): pass
rate = 2.0
@trace
def f(x): return x * getattr(g, "__globals__")["rate"]  # here

## a class made in the call
# makes a class
@trace
def f(x):
    class C: k = 2.0  # here
    return x * C.k

## a class made by type
# makes a class
@trace
def f(x): return x * type("C", (), {"k": 2.0}).k  # here

## a coroutine
# makes a coroutine
async def g(): return 2.0
@trace
def f(x):
    c = g()  # here
    try: c.send(None)
    except StopIteration as s: return x * s.value

## an attribute of a class
# writes to an attribute of a type
class C: n = 0
@trace
def f(x):
    C.n += 1  # here
    return x * C.n

## setattr of a class
# writes to an attribute of a type
class C: n = 0
@trace
def f(x):
    setattr(C, "n", C.n + 1)  # here
    return x * C.n

## an attribute of a function by object
# asks '__setattr__' for an attribute of a function
def g(): pass
@trace
def f(x):
    object.__setattr__(g, "n", 1)  # here
    return x

## an attribute of a module
# writes to an attribute of a module
import math
@trace
def f(x):
    math.n = 1  # here
    return x

## a deleted name
# deletes the global name 'n'
n = 1
@trace
def f(x):
    global n
    try: del n  # here
    except NameError: pass
    return x

## a set of objects
# goes through a set whose order depends on addresses
class C: pass
@trace
def f(x):
    s = {C(), C()}
    for c in s: x = x + 1  # here
    return x

## a set that is added to a list
# goes through a set whose order depends on addresses
class C:
    def __init__(self, k): self.k = k
objects = {C(1.0), C(2.0)}
@trace
def f(x):
    all = [C(3.0)]
    all += {C(1.0), C(2.0)}  # here
    return x * sum(c.k for c in all)

## a set with a nan
# goes through a set whose order depends on addresses
held = [float("nan")]
@trace
def f(x): return x * sum(k == k for k in {held[0], 1.0, 2.0})  # here

## a set popped by a bound method
# goes through a set whose order depends on addresses
class C:
    def __init__(self, k): self.k = k
@trace
def f(x):
    pop = {C(1.0), C(1.0)}.pop
    return x * pop().k  # here

## a set that the body changes
# the body changes a set
seen = {1}
@trace
def f(x):
    seen.symmetric_difference_update({2})
    return x * len(seen)

## the order of keys
# the body changes the order of a dict's keys
d = {"a": 1.0, "b": 2.0}
@trace
def f(x):
    first = next(iter(d))
    d[first] = d.pop(first)
    return x * d[first]

## a slot that is emptied
# the body changes an attribute to nothing
class C: __slots__ = ("a",)
c = C()
@trace
def f(x):
    del c.a
    return x
def call():
    c.a = 1.0
    return f(X), hasattr(c, "a")

## a cell that is emptied
# the body changes a name of a function outside to nothing
def make():
    k = 1.0
    def g(x):
        nonlocal k
        del k
        return x
    def put():
        nonlocal k
        k = 1.0
    return g, put
g, put = make()
f = trace(g)
def call():
    put()
    return f(X)

## attributes of a module
# the body changes the attributes of a module
class M(fz.nn.Module):
    def __init__(self):
        super().__init__()
        self.k = "on"
m = M()
@trace
def f(x):
    m.k = "off" if m.k == "on" else "on"
    return x * len(m.k)

## an unpacked set
# goes through a set whose order depends on addresses
class C: pass
@trace
def f(x):
    a, *b = {C(), C()}  # here
    return x * len(b)

## a popped set
# a set whose order depends on addresses
class C: pass
@trace
def f(x):
    s = {C(), C()}
    s.pop()  # here
    return x * len(s)

## an address as text
# writes an object of type C as text, which may hold an address
class C: pass
@trace
def f(x): return x * len(f"{C()}")  # here

## an address as repr
# writes an object of type C as text
class C: pass
@trace
def f(x): return x * len(repr([C()]))  # here

## an address by a percent sign
# writes an object of type C as text
class C: pass
@trace
def f(x): return x * len("%s" % C())  # here

## an address by format
# writes an object of type C as text
class C: pass
@trace
def f(x): return x * len("{}".format(C()))  # here

## an attribute by format
# formats a class, whose attributes the text may name
class C:
    def m(self): pass
rate = "2.0"
@trace
def f(x): return x * float("{0.m.__globals__[rate]}".format(C))  # here

## the locale
# writes a number as the locale wants it
@trace
def f(x): return x * len("{:n}".format(2.5))  # here

## is on numbers
# asks with 'is' whether equal values are one object
a = float("2.5"); b = a
@trace
def f(x): return x * (2 if a is b else 3)  # here

## is on a function
# asks with 'is' for a function
def g(x): return x
class C: pass
c = C()
c.g = g
@trace
def f(x): return x * (2 if c.g is g else 3)  # here

## operator.is_
# asks with 'is' whether equal values are one object
import operator
a = float("2.5"); b = a
@trace
def f(x): return x * (2 if operator.is_(a, b) else 3)  # here

## a nan among the constants
# has a nan among its constants
b = [float("nan")]
@trace
def f(x): return x * (2 if 1e999 - 1e999 in b else 3)  # here

## a function of another library
# 'math.mean'|numpy
import numpy as np
@trace
def f(x): return x * float(np.mean([1.0, 2.0]))  # here

## an array of another library
# 'a': an object of type numpy.ndarray cannot be compared
import numpy as np
a = np.ones(2)
@trace
def f(x): return x * fz.asarray(a)  # here

## an iterator outside
# cannot be compared
import itertools
n = itertools.count()
@trace
def f(x): return x * next(n)  # here

## a generator outside
# an object of type generator cannot be compared
def g():
    while True: yield 2.0
n = g()
@trace
def f(x): return x * next(n)  # here

## a bound method outside
# an object of type builtin_function_or_method cannot be compared
log = []
add = log.append
@trace
def f(x):
    add(1)  # here
    return x * len(log)

## a cache
# lru_cache_wrapper
import functools
@functools.lru_cache
def g(): return 2.0
@trace
def f(x): return x * g()  # here

## a cache as a method
# calls an object of type functools._lru_cache_wrapper
import functools
class C:
    @functools.lru_cache
    def k(self): return 2.0
c = C()
@trace
def f(x): return x * c.k()  # here

## a weak reference
# weakref
import weakref
class C: v = 2.0
c = C(); r = weakref.ref(c)
@trace
def f(x): return x * r().v  # here

## a weak reference as attribute
# reads the attribute '__weakref__'
class C: pass
c = C()
@trace
def f(x): return x * (2 if c.__weakref__ is None else 3)  # here

## a module's __getattr__
# is an attribute that only code of its owner's knows
import types
m = types.ModuleType("m")
m.__getattr__ = lambda name: 2.0
@trace
def f(x): return x * m.rate  # here

## subclasses
# __subclasses__'
class C: pass
@trace
def f(x): return x + len(C.__subclasses__())  # here

## __del__
# makes an object of the class C, whose __del__ may run later
class C:
    def __del__(self): out.append("del")
@trace
def f(x):
    a = C()  # here
    return x * 2

## a generator left open
# leaves a generator open
import gc
def g():
    try: yield 1
    finally: out.append("closed")
@trace
def f(x):
    it = g()
    next(it)
    box = [it]; box.append(box)
    return x * 2
def call():
    f(X)
    return gc.collect() > 0

## a callback of map
# calls 'builtins.id'
@trace
def f(x): return x * len(list(map(id, [1, 2])))  # here

## a callback of sorted
# calls 'builtins.id'
@trace
def f(x): return x * sorted([2.0], key=id)[0]  # here

## a callback given by a star
# calls 'builtins.id'
@trace
def f(x): return x * sorted(*[[2.0]], **{"key": id})[0]  # here

## the locale in braces
# writes a number as the locale wants it
@trace
def f(x): return x * len(f"{2.5:n}")  # here

## a set given by a star
# a set whose order depends on addresses
class C: pass
@trace
def f(x): return x * len(list(*[{C(), C()}]))  # here

## a callback of max
# calls 'sys.getsizeof'
import sys
@trace
def f(x): return x * max([1, 2], key=sys.getsizeof)  # here

## a callback of a callback
# calls functions that a built-in function gives to another
@trace
def f(x):
    for made in map(map, [print], [[]]):  # here
        x = x + len(list(made))
    return x

## a callback of sort
# calls 'builtins.id'
@trace
def f(x):
    l = [2.0]
    l.sort(key=id)  # here
    return x * l[0]

## a callback of iter
# calls 'sys.getrecursionlimit'
import sys
@trace
def f(x): return x * (next(iter(sys.getrecursionlimit, None)) > 0)  # here

## a callback of reduce
# calls 'builtins.print'
from functools import reduce
@trace
def f(x):
    reduce(print, ["", ""])  # here
    return x

## a callback in a partial
# calls 'builtins.id'
from functools import partial
@trace
def f(x): return x * len(list(map(partial(id), [1, 2])))  # here

## a callback of operator.call
# calls 'builtins.id'|nobody knows
import _operator as operator
@trace
def f(x): return x * (getattr(operator, "call", lambda f, v: f(v))(id, 1) > 0)  # here

## a callback of fz.tree
# calls 'time.sleep'
import time
@trace
def f(x):
    fz.tree.map(time.sleep, [0.0])
    return x

## a context variable
# ContextVar
import contextvars
v = contextvars.ContextVar("v", default=2.0)
@trace
def f(x): return x * v.get()  # here

## decimals
# the type 'decimal.Decimal'
import decimal
@trace
def f(x): return x * float(decimal.Decimal(1) / decimal.Decimal(3))  # here

## warnings
# calls '_warnings.warn'|cannot be compared
import warnings
warnings.simplefilter("ignore")
@trace
def f(x):
    warnings.warn("a")  # here
    return x

## a thread
# .
import threading
@trace
def f(x):
    t = threading.Thread(target=lambda: out.append(1)); t.start(); t.join()
    return x

## a lock
# lock
import threading
lock = threading.Lock()
@trace
def f(x):
    with lock: return x  # here

## sys.settrace
# calls 'sys.settrace'
import sys
@trace
def f(x):
    sys.settrace(None)  # here
    return x

## settings of frazil
# calls 'frazil._frazil.runtime.set_setting'|cannot be compared
@trace
def f(x):
    fz.config(plan_entries=4096)
    return x

## collect
# gc.collect'
import gc
@trace
def f(x):
    gc.collect()  # here
    return x

## a descriptor that cannot be compared
# cannot be compared
class D:
    def __init__(self): self.it = iter([1, 2, 3])
    def __get__(self, o, t): return 2.0
class C: v = D()
@trace
def f(x): return x * C().v  # here

## a subclass of property
# an object of type Typed cannot be compared
class Typed(property):
    def __get__(self, o, t=None): return super().__get__(o, t) * self.k
class C:
    def get(self): return 2.0
    v = Typed(get)
vars(C)["v"].k = 1.5
@trace
def f(x): return x * C().v  # here

## an address by str
# writes an object of type C as text
class C: pass
c = C()
@trace
def f(x): return x * (len(str(c)) > 3)  # here

## attributes by a callback
# asks 'getattr' for an attribute that the code does not name
import types
m = types.ModuleType("m"); m.k = 2.0
@trace
def f(x): return x * sum(map(getattr, [m], ["k"]))  # here

## an attribute of a traced function
# reads the attribute 'rate' of a traced function|'rate'
@trace
def g(x): return x
g.rate = 2.0
@trace
def f(x): return x * g.rate  # here
""")


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    (source,) = REFUSED[name]
    sentence = source.split("\n")[0].removeprefix("# ")
    traced, _ = both(source, calls=12)
    assert traced.skipped == 0, traced.f.explain()
    (line,) = [s for s in traced.f.explain().splitlines() if s.startswith("  not proved")]
    assert line.startswith("  not proved, so the body runs: ") and re.search(sentence, line), line
    here = [i for i, s in enumerate(source.split("\n"), 1) if s.endswith("# here")]
    if here:
        assert re.search(rf"{sentence}", line)
        assert f"program.py:{here[0]} " in line or "program.py" not in line, line
    strict = Program(source, strict=True)
    errors = [given for given in strict.calls(6)[:-1] if given[0] is RuntimeError]
    assert errors and re.search(sentence, errors[0][1]), errors
    assert errors[0][1].startswith("[trace] the body of ")
    assert "cannot be skipped, which strict=True asks for: " in errors[0][1]


def test_refused_for_long():
    """Behind the pauses, too."""
    source = """
import sys
held = [sys.getswitchinterval()]
@trace
def f(x): return x * (sys.getswitchinterval() > 0.05)
"""
    try:
        traced, _ = both(
            source, "sys.setswitchinterval(0.1)", "sys.setswitchinterval(held[0])", calls=150
        )
    finally:
        sys.setswitchinterval(0.005)
    assert traced.skipped == 0


BUILTIN = ["sys.getrecursionlimit", "functools.partial(print, end='')", "[].append"]


@pytest.mark.parametrize("what", BUILTIN)
def test_a_function_that_is_not_written_in_python_is_judged(what):
    source = f"import sys, functools\nf = trace({what})\ncall = lambda: f(*{[1][: '[]' in what]})"
    traced, _ = both(source, calls=12)
    assert traced.skipped == 0 and "not proved" in traced.f.explain()


def test_functions_of_frazil_are_known():
    traced, skipped = both("f = trace(fz.exp)", calls=12)
    assert skipped > 3, traced.f.explain()
