"""Deliberate bugs: what stands in for fz.trace when the fuzzer itself is tested."""

import functools

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
