"""Globals, builtins and modules change between calls."""

import builtins
import importlib
import math
import sys
import tempfile
import types
from pathlib import Path

import numpy as np
from changes import World, hazard, inside, restored, setter

import frazil as fz

K = TABLE = helper = thing = Kind = None  # stand for globals of the functions' own


@hazard("a global number is rebound")
def global_number_rebound(trace):
    f, names = inside(lambda x: x * K, K=2.0)
    return World(trace(f), lambda: names.update(K=3.0), lambda: names.update(K=4))


@hazard("a global is deleted and comes back")
def global_deleted(trace):
    f, names = inside(lambda x: x * K, K=2.0)
    return World(trace(f), lambda: names.pop("K"), lambda: names.update(K=2.0))


@hazard("a global that hides a builtin is deleted")
def global_hides_a_builtin(trace):
    f, names = inside(lambda x: x * sum([1, 2, 3]), sum=lambda v: 100)
    return World(trace(f), lambda: names.pop("sum"), lambda: names.update(sum=len))


@hazard("a global comes to hide a builtin")
def builtin_hidden_later(trace):
    f, names = inside(lambda x: x * abs(-2) + len(x))
    return World(
        trace(f), lambda: names.update(abs=lambda v: v), lambda: names.update(len=lambda v: 40)
    )


@hazard("a builtin is replaced")
def builtin_replaced(trace):
    f, _ = inside(lambda x: x * len([1, 2]))
    with restored(builtins, "len"):
        real = len
        yield World(
            trace(f), setter(builtins, len=lambda v: real(v) + 5), setter(builtins, len=real)
        )


@hazard("a new builtin is added, and taken away")
def builtin_added(trace):
    f, _ = inside(lambda x: x * hazard_scale)  # noqa: F821
    yield World(
        trace(f),
        setter(builtins, hazard_scale=2.0),
        setter(builtins, hazard_scale=3.0),
        lambda: delattr(builtins, "hazard_scale"),
    )


@hazard("globals()[...] is assigned, by the body as well")
def globals_written(trace):
    def body(x):
        globals()["K"] = globals()["K"] + 1
        return x * K

    f, names = inside(body, K=1)
    return World(trace(f), lambda: names.__setitem__("K", 50), state=lambda: names.get("K"))


@hazard("a module's dict is written")
def module_dict_written(trace):
    module = types.ModuleType("m")
    module.k = 2.0
    f, _ = inside(lambda x: x * thing.k, thing=module)
    return World(
        trace(f),
        lambda: vars(module).update(k=3.0),
        setter(module, k=4.0),
        lambda: vars(module).pop("k"),
        setter(module, __getattr__=lambda name: 5.0),
    )


@hazard("a module's class is swapped for one with a property")
def module_class(trace):
    class Own(types.ModuleType):
        @property
        def k(self):
            return 7.0

    module = types.ModuleType("m")
    module.k = 2.0
    f, _ = inside(lambda x: x * thing.k, thing=module)
    return World(
        trace(f), setter(module, __class__=Own), setter(module, __class__=types.ModuleType)
    )


@hazard("code is executed in the globals")
def executed_code(trace):
    f, names = inside(lambda x: helper(x) * K, K=2.0, helper=lambda x: x + 1)
    return World(
        trace(f),
        lambda: exec("K = 9", names),
        lambda: exec("def helper(x): return x - K", names),
        lambda: exec("del helper", names),
    )


@hazard("a global number changes its kind, not its value")
def kinds_of_numbers(trace):
    f, names = inside(lambda x: (x * K, K, fz.astype(x, fz.int32) + K), K=1)
    values = (1.0, True, np.float32(1), np.int8(1), np.float64(1), 1, 2**40, 2**70, False, 0, 0.0)
    return World(trace(f), *(lambda v=v: names.update(K=v) for v in values))


@hazard("a global number is minus nought, infinite, no number")
def special_numbers(trace):
    f, names = inside(lambda x: (x * K, 1 / (x * K), K), K=0.0)
    values = (-0.0, 0.0, math.inf, -math.inf, math.nan, -math.nan, 5e-324, -0.0, 0, 1e300)
    return World(trace(f), *(lambda v=v: names.update(K=v) for v in values))


@hazard("strings that are equal are other objects, then others")
def equal_strings(trace):
    f, names = inside(lambda x: x + 1 if K == "add" else x * len(K), K="add")
    return World(
        trace(f),
        lambda: names.update(K="".join(["a", "dd"])),
        lambda: names.update(K="subtract"),
        lambda: names.update(K=b"add"),
    )


@hazard("a global tuple is replaced by an equal one, and by one that is equal but for a type")
def equal_tuples(trace):
    f, names = inside(lambda x: (x * K[0] + K[1], K), K=(1, 2.0))
    values = ((1, 2.0), (1.0, 2), (True, 2.0), (1, 2.0, 3), (1,))
    return World(trace(f), *(lambda v=v: names.update(K=tuple(v)) for v in values))


@hazard("a helper is rebound; and what it reads from its own globals")
def helper_with_globals(trace):
    inner, below = inside(lambda x: x * K, K=2.0)
    f, names = inside(lambda x: helper(x) + 1, helper=inner)
    return World(
        trace(f),
        lambda: below.update(K=5.0),
        lambda: names.update(helper=lambda x: x),
        lambda: names.update(helper=inner),
        lambda: below.pop("K"),
    )


@hazard("a function of module math is replaced")
def math_replaced(trace):
    f, _ = inside(lambda x: x * thing.sqrt(4.0), thing=math)
    with restored(math, "sqrt"):
        real = math.sqrt
        yield World(trace(f), setter(math, sqrt=lambda v: 10.0), setter(math, sqrt=real))


@hazard("a function of frazil is replaced")
def frazil_replaced(trace):
    f, _ = inside(lambda x: fz.tanh(x) * 2)
    with restored(fz, "tanh"):
        real = fz.tanh
        yield World(trace(f), setter(fz, tanh=lambda v: real(v) + 1), setter(fz, tanh=real))


@hazard("a function of frazil.nn is replaced")
def nn_replaced(trace):
    f, _ = inside(lambda x: fz.nn.relu(x) + fz.nn.softmax(x))
    with restored(fz.nn, "relu", "softmax"):
        yield World(trace(f), setter(fz.nn, relu=fz.sin), setter(fz.nn, softmax=lambda x: x * 3))


def module_of(folder, text):
    Path(folder, "hazard_module.py").write_text(text)
    importlib.invalidate_caches()
    if "hazard_module" in sys.modules:
        return importlib.reload(sys.modules["hazard_module"])
    return importlib.import_module("hazard_module")


@hazard("a module is reloaded with another source")
def module_reloaded(trace):
    with tempfile.TemporaryDirectory() as folder, restored(sys, "dont_write_bytecode"):
        sys.dont_write_bytecode = True
        sys.path.insert(0, folder)
        try:
            module = module_of(folder, "K = 2.0\ndef scale(x):\n    return x * K\n")
            f, _ = inside(lambda x: thing.scale(x) + thing.K, thing=module)
            yield World(
                trace(f),
                lambda: module_of(folder, "K = 3.0\ndef scale(x):\n    return x + K\n"),
                lambda: module_of(folder, "K = 30.0\n"),
            )
        finally:
            sys.path.remove(folder)
            sys.modules.pop("hazard_module", None)


@hazard("a module that the body imports is another one")
def import_inside(trace):
    def body(x):
        import hazard_other

        return x * hazard_other.k

    def put(k):
        module = types.ModuleType("hazard_other")
        module.k = k
        sys.modules["hazard_other"] = module

    put(2.0)
    try:
        yield World(
            trace(body),
            lambda: put(3.0),
            setter(sys.modules["hazard_other"], k=9.0),
            lambda: setattr(sys.modules["hazard_other"], "k", 4.0),
            lambda: sys.modules.__setitem__("hazard_other", None),
        )
    finally:
        sys.modules.pop("hazard_other", None)


@hazard("names that are imported from a module inside the body")
def import_from_inside(trace):
    def body(x):
        from math import floor, pi

        return x * floor(pi)

    with restored(math, "pi", "floor"):
        yield World(trace(body), setter(math, pi=2.5), setter(math, floor=lambda v: 1))


@hazard("the class that isinstance asks for is rebound")
def class_of_isinstance(trace):
    class A:
        pass

    class B(A):
        pass

    f, names = inside(lambda x: x * (2 if isinstance(thing, Kind) else 3), thing=B(), Kind=A)
    return World(
        trace(f),
        lambda: names.update(Kind=int),
        lambda: names.update(Kind=(int, A)),
        lambda: names.update(thing=A(), Kind=B),
    )


@hazard("a global tensor becomes another, of another dtype, a number, None")
def global_tensor(trace):
    f, names = inside(lambda x: x + K, K=fz.asarray([1.0, 2.0]))
    values = (fz.asarray([3.0, 4.0]), fz.asarray([3, 4]), fz.asarray([[1.0], [2.0]]), 5, None)
    return World(trace(f), *(lambda v=v: names.update(K=v) for v in values))


@hazard("a global changes while a function made in the call reads it")
def nested_function_reads_global(trace):
    def body(x):
        def inner(y):
            return y * K

        return inner(x) + sum(map(lambda v: v * K, [1, 2]))

    f, names = inside(body, K=2)
    return World(trace(f), lambda: names.update(K=3), lambda: names.update(map=lambda g, v: [K]))


@hazard("a global list and a global dict are rebound to copies that then change")
def rebound_containers(trace):
    f, names = inside(lambda x: x * K[0] + TABLE["a"], K=[2.0], TABLE={"a": 1.0})

    def copies():
        names.update(K=list(names["K"]), TABLE=dict(names["TABLE"]))

    return World(
        trace(f), copies, lambda: names["K"].__setitem__(0, 9), lambda: names["TABLE"].update(a=7)
    )


@hazard("None, Ellipsis and NotImplemented in a global decide")
def singletons(trace):
    f, names = inside(lambda x: x if K is None else x * 2 if K is ... else x * 3, K=None)
    return World(trace(f), *(lambda v=v: names.update(K=v) for v in (..., NotImplemented, None, 0)))


@hazard("an assertion under __debug__, a global of its name")
def global_deleted_by_the_body(trace):
    def body(x):
        global K
        y = x * K
        del K
        K = y.sum()  # noqa: F841
        assert __debug__
        return y

    f, names = inside(body, K=2.0)
    return World(trace(f), lambda: names.update(K=0.5), state=lambda: float(names["K"]) > 0)


@hazard("a rebinding with the old value put back at once")
def rebound_and_back(trace):
    f, names = inside(lambda x: x * K, K=2.0)

    def there_and_back():
        names["K"] = 9.0
        names["K"] = 2.0

    return World(trace(f), there_and_back, lambda: names.update(K=3.0), there_and_back)


@hazard("hundreds of names are added to the globals")
def many_globals(trace):
    f, names = inside(lambda x: x * K, K=2.0)
    return World(
        trace(f),
        lambda: names.update({f"n{i}": i for i in range(500)}),
        lambda: names.update(K=3.0),
        lambda: [names.pop(f"n{i}") for i in range(500)],
        lambda: names.update(K=4.0),
    )


@hazard("the globals are emptied")
def globals_emptied(trace):
    f, names = inside(lambda x: x * K, K=2.0)
    return World(trace(f), names.clear, lambda: names.update(K=5.0))
