"""Deliberate bugs: what stands in for fz.trace when the fuzzer itself is tested."""

import functools
import types

import frazil as fz


def _while(f, name, replacement):
    """f with fz.NAME replaced while it runs."""

    @functools.wraps(f)
    def call(*args):
        original = getattr(fz, name)
        setattr(fz, name, functools.partial(replacement, original))
        try:
            return f(*args)
        finally:
            setattr(fz, name, original)

    return call


def wrong_op(f):
    """tanh is a little off."""
    return _while(f, "tanh", lambda tanh, x: tanh(x) * 1.0000002)


def wrong_sum_sometimes(f):
    """A sum over the last axis is wrong, if it is 3 long."""

    def bad(original, x, *args, **kwargs):
        y = original(x, *args, **kwargs)
        return y + 1 if x.ndim and x.shape[-1] == 3 else y

    return _while(f, "sum", bad)


def swallowed_exception(f):
    """An exception of the body is lost."""

    def call(*args):
        try:
            return f(*args)
        except Exception:  # noqa: BLE001
            return None

    return call


def stale_number(f):
    """The first call's Python number is used in every call."""
    first = []

    def call(*args):
        first[:] = first or args[-1:]
        return f(*args[:-1], *first)

    return call


def skipped_effects(f):
    """After two calls with arguments alike the body does not run any more."""
    last = {}

    def call(*args):
        key = tuple((x.shape, x.dtype.name) for x in args if isinstance(x, fz.Tensor))
        last.setdefault(key, []).append(None)
        if len(last[key]) > 2:
            return last[key][0]
        last[key][0] = f(*args)
        return last[key][0]

    return call


PLANTS = {
    f.__name__: f
    for f in (wrong_op, wrong_sum_sometimes, swallowed_exception, stale_number, skipped_effects)
}

# -- Holes: what a proof would do that has forgotten a guard or an effect, for programs of worlds.py

LEARNT = 4  # calls


def _after_learning(hole):
    """hole(f), made once f is known, takes the place of f from then on."""

    @functools.wraps(hole)
    def plant(f):
        calls = []

        def call(*args):
            calls.append(None)
            if len(calls) == LEARNT:
                calls[0] = hole(f)
            return (f if len(calls) < LEARNT else calls[0])(*args)

        return call

    return plant


def _cell(f, name):
    """An object of the program's world, by name; None if f has nothing to do with it."""
    if name in f.__code__.co_freevars:
        return f.__closure__[f.__code__.co_freevars.index(name)].cell_contents
    return f.__globals__.get(name)


@_after_learning
def stale_globals(f):
    """Globals are read as they were."""
    return types.FunctionType(f.__code__, dict(f.__globals__), "f", None, f.__closure__)


@_after_learning
def stale_cells(f):
    """Cells are read as they were."""
    cells = tuple(types.CellType(c.cell_contents) for c in f.__closure__ or ())
    return types.FunctionType(f.__code__, f.__globals__, "f", None, cells or None)


def _objects(f):
    return [x for x in (_cell(f, "thing"), _cell(f, "mine")) if x is not None]


def _stale(chosen):
    """Attributes are read as they were, if chosen(value)."""

    def hole(f):
        then = [(x, k, v) for x in _objects(f) for k, v in vars(x).items() if chosen(v)]
        lists = [(x, list(x)) for _, _, x in then if isinstance(x, list)]

        def call(*args):
            for x, k, v in then:
                vars(x)[k] = v
            for x, items in lists:
                x[:] = items
            return f(*args)

        return call

    return hole


def stale_numbers(f):
    """Numbers in attributes."""
    return _after_learning(_stale(lambda v: isinstance(v, (bool, int, float))))(f)


def stale_lists(f):
    """Items of lists."""
    return _after_learning(_stale(lambda v: isinstance(v, list)))(f)


def stale_classes(f):
    """Attributes and methods of classes."""

    def hole(f):
        classes = [f.__globals__[name] for name in ("Thing", "Sub")]
        then = [(c, k, v) for c in classes for k, v in vars(c).items() if k[:2] != "__"]

        def call(*args):
            for c, k, v in then:
                setattr(c, k, v)
            return f(*args)

        return call

    return _after_learning(hole)(f)


def stale_helper(f):
    """Defaults and code of a helper."""

    def hole(f):
        scale = f.__globals__["scale"]
        then = scale.__code__, scale.__defaults__, dict(scale.__kwdefaults__)

        def call(*args):
            scale.__code__, scale.__defaults__, scale.__kwdefaults__ = then
            return f(*args)

        return call

    return _after_learning(hole)(f)


def lost_writes(f):
    """What the body writes to attributes is lost."""

    def hole(f):
        def call(*args):
            before = [(x, dict(vars(x))) for x in _objects(f)]
            try:
                return f(*args)
            finally:
                for x, attributes in before:
                    vars(x).clear()
                    vars(x).update(attributes)

        return call

    return _after_learning(hole)(f)


def kinds_of_numbers(f):
    """A number is compared by value: True is 1 is 1.0."""

    def hole(f):
        then = {(id(x), k): v for x in _objects(f) for k, v in vars(x).items()}

        def call(*args):
            for x in _objects(f):
                for k, v in list(vars(x).items()):
                    old = then.get((id(x), k))
                    if isinstance(v, (bool, int, float)) and isinstance(old, (bool, int, float)):
                        vars(x)[k] = old if old == v else v
            return f(*args)

        return call

    return _after_learning(hole)(f)


def effects_twice(f):
    """A call that was learnt happens twice."""

    def call(*args):
        calls.append(None)
        if len(calls) == LEARNT:
            f(*args)
        return f(*args)

    calls = []
    return call


HOLES = {
    f.__name__: f
    for f in (
        *(stale_globals, stale_cells, stale_numbers, stale_lists, stale_classes, stale_helper),
        *(lost_writes, kinds_of_numbers, effects_twice),
    )
}
