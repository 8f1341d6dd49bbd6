"""Hazards of one form: a function is called until it is known, then the world changes around it.

    @hazard("a global number is rebound")
    def global_number(trace):
        f, names = inside(lambda x: x * K, K=2.0)
        return World(trace(f), lambda: names.update(K=3.0))

Each change comes before a few more calls. Observed are results or all that an exception tells, and
after each change what `state` gives.
"""

import builtins
import contextlib
import inspect
import types

from hz import V, capture, effect, exact, told

import frazil as fz

HAZARDS = []  # the names of the cases of this form
still = False  # whether nothing changes: what a change is compared with


class World:
    def __init__(self, call, *changes, state=lambda: None):
        self.call, self.changes, self.state = call, changes, state


def hazard(title, before=8, each=7):
    """Registers make(trace), which gives a World; or yields one, and puts right what it changed.

    The calls before a change are enough for a script to be learnt.
    """

    def register(make):
        made = make
        if inspect.isgeneratorfunction(make):
            made = contextlib.contextmanager(make)
        else:

            def made(trace):
                return contextlib.nullcontext(make(trace))

        def run(F, compile):
            with made(compile) as world:
                for change in (None, *world.changes):
                    if change and not still:
                        change()
                    for i in range(each if change else before):
                        with capture() as printed:
                            result = told(F, lambda: world.call(V(F, 1.5, i + 1)))
                        yield result
                        yield effect(printed.text)
                    yield effect(world.state())

        run.__name__ = make.__module__.rpartition("python_")[2] + "_" + make.__name__
        exact(title)(run)
        HAZARDS.append(run.__name__.replace("_", "-"))
        return make

    return register


class Object:
    """An object with attributes."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


def inside(f, **names):
    """A copy of a function with globals of its own, and these globals."""
    scope = {"__name__": "hazard", "__builtins__": builtins, "fz": fz, **names}
    made = types.FunctionType(f.__code__, scope, f.__name__, f.__defaults__, f.__closure__)
    made.__kwdefaults__ = f.__kwdefaults__
    return made, scope


def setter(x, **attributes):
    """A change that assigns attributes."""
    return lambda: [setattr(x, name, value) for name, value in attributes.items()]


@contextlib.contextmanager
def restored(x, *names):
    """Attributes of a shared object are as before afterwards."""
    before = {name: getattr(x, name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(x, name, value)
