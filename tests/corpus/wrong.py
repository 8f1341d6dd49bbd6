"""Decorators with holes: what a proof would do that has forgotten a guard or an effect.

A hole is how(state, fn, *args, **keywords): wrong in the calls behind the first few, in which a
proof would learn. `state` is a dict that lives as long as the decorated function and counts calls.
"""

import contextlib
import io
import types

from seen import Walk, Wrapper

import frazil as fz

LEARNT = 6  # calls
NUMBERS = (bool, int, float, str, type(None))


def decorator(hole):
    def decorate(fn):
        state = {"calls": 0}

        def how(fn, *args, **keywords):
            state["calls"] += 1
            return hole(state, fn, *args, **keywords)

        return Wrapper(how, fn)

    return decorate


def nothing(state, fn, *args, **keywords):
    return fn(*args, **keywords)


def twice(state, fn, *args, **keywords):
    if state["calls"] == LEARNT:
        fn(*args, **keywords)
    return fn(*args, **keywords)


def swallowed_exceptions(state, fn, *args, **keywords):
    try:
        return fn(*args, **keywords)
    except Exception:  # noqa: BLE001
        return None


def lost_prints(state, fn, *args, **keywords):
    with contextlib.redirect_stdout(io.StringIO()):
        return fn(*args, **keywords)


def repeated_results(state, fn, *args, **keywords):
    result = fn(*args, **keywords)
    if state["calls"] <= LEARNT:
        state["result"] = result
    return state["result"]


def copied_results(state, fn, *args, **keywords):
    """What the result shares with the world it does not share any more."""
    return fz.tree.map(lambda x: x * 1 if is_number(x) else x, fn(*args, **keywords))


def is_number(x):
    return isinstance(x, fz.Tensor) and x.dtype != fz.bool and not x.requires_grad


def code_of(fn):
    """The plain function of a function, method or object that is called."""
    if not isinstance(fn, types.FunctionType | types.MethodType):
        fn = type(fn).__call__.__get__(fn)
    return getattr(fn, "__func__", fn)


def called(fn, plain, *args, **keywords):
    """Another function in place of the plain one."""
    me = getattr(fn, "__self__", None if isinstance(fn, types.FunctionType) else fn)
    return plain(*args, **keywords) if me is None else plain(me, *args, **keywords)


def stale_part(state, fn, args, keywords, make):
    """As the body was when it was learnt, after make(plain function)."""
    plain = code_of(fn)
    if state["calls"] == LEARNT:
        state["frozen"] = make(plain)
    if state["calls"] < LEARNT or plain.__code__ is not state["frozen"].__code__:
        return fn(*args, **keywords)
    return called(fn, state["frozen"], *args, **keywords)


def function(f, names=None, defaults=None, closure=None):
    """A copy of a function with other globals, defaults, cells."""
    names, closure = names or f.__globals__, closure or f.__closure__
    out = types.FunctionType(f.__code__, names, f.__name__, defaults or f.__defaults__, closure)
    out.__kwdefaults__ = f.__kwdefaults__
    return out


def stale_globals(state, fn, *args, **keywords):
    def make(f):
        return function(f, names=dict(f.__globals__))

    return stale_part(state, fn, args, keywords, make)


def stale_defaults(state, fn, *args, **keywords):
    return stale_part(state, fn, args, keywords, function)


def stale_closure(state, fn, *args, **keywords):
    def make(f):
        cells = f.__closure__ and tuple(types.CellType(c.cell_contents) for c in f.__closure__)
        return function(f, closure=cells)

    return stale_part(state, fn, args, keywords, make)


def reached(fn, args):
    """The dicts and lists of the world: containers, the attributes of objects, the globals."""
    walk = Walk()
    module = code_of(fn).__globals__
    state = {k: v for k, v in module.items() if k[:2] != "__" and k not in ("fz", "np", "nn")}
    walk.see((fn, args, state))
    for _, x in walk.met.values():
        if isinstance(x, list) or type(x) is dict:
            yield x
        elif type(x).__module__ == module["__name__"]:
            yield getattr(x, "__dict__", [])
    yield module


def entries(container):
    items = container.items() if isinstance(container, dict) else enumerate(container)
    return {(id(container), k): (container, k, v) for k, v in items}


def lost_writes(state, fn, *args, **keywords):
    """What the body writes to attributes, items and globals is as before the call."""
    if state["calls"] < LEARNT:
        return fn(*args, **keywords)
    before = [(c, c.copy()) for c in reached(fn, (args, keywords))]
    try:
        return fn(*args, **keywords)
    finally:
        for container, copy in before:
            if isinstance(container, list):
                container[:] = copy
            else:
                container.clear()
                container.update(copy)


def stale_entries(wanted):
    """Items and attributes of a kind are read as they were when the body was learnt."""

    def hole(state, fn, *args, **keywords):
        found = {}
        for container in reached(fn, (args, keywords)):
            found |= entries(container)
        if state["calls"] == LEARNT:
            state["entries"] = found
        if state["calls"] <= LEARNT:
            return fn(*args, **keywords)
        put = []
        for key, (container, k, now) in found.items():
            then = state["entries"].get(key, (None, None, now))[2]
            if then is not now and wanted(then) and wanted(now):
                container[k] = then
                put.append((container, k, then, now))
        try:
            return fn(*args, **keywords)
        finally:
            for container, k, then, now in put:
                if container[k] is then:
                    container[k] = now

    return hole


stale_numbers = stale_entries(lambda v: isinstance(v, NUMBERS))
stale_tensors = stale_entries(lambda v: isinstance(v, fz.Tensor))
stale_functions = stale_entries(callable)


def stale_classes(state, fn, *args, **keywords):
    """Attributes of classes are read as they were when the body was learnt."""
    module = code_of(fn).__globals__
    now = {
        (c, name): v
        for c in module.values()
        if isinstance(c, type) and c.__module__ == module["__name__"]
        for name, v in vars(c).items()
        if name[:2] != "__" or callable(v)
    }
    if state["calls"] == LEARNT:
        state["classes"] = now
    if state["calls"] <= LEARNT:
        return fn(*args, **keywords)
    put = [(*key, v) for key, v in state["classes"].items() if now.get(key) is not v]
    with contextlib.ExitStack() as undo:
        for c, name, v in put:
            undo.callback(setattr, c, name, now.get((c, name), v))
            setattr(c, name, v)
        return fn(*args, **keywords)


for name in "stale_numbers stale_tensors stale_functions".split():
    globals()[name].__name__ = name

# How many programs of the corpus must notice each.
HOLES = {
    twice: 60,
    swallowed_exceptions: 10,
    lost_prints: 1,
    repeated_results: 120,
    copied_results: 12,
    stale_globals: 33,
    stale_defaults: 7,
    stale_closure: 9,
    lost_writes: 38,
    stale_numbers: 60,
    stale_tensors: 30,
    stale_functions: 12,
    stale_classes: 12,
}
