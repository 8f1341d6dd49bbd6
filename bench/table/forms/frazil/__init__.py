"""frazil: eager, traced by the plain decorator, and traced with pure=True."""

import numpy as np

import frazil as fz

from .. import Form, applied

PEERS = {"limit": "limit", "eager": "frazil", "traced": "frazil", "pure": "frazil"}


def versions():
    return {"frazil": fz.__version__, "numpy": np.__version__}


def to_numpy(result):
    if isinstance(result, (tuple, list)):
        return [a for item in result for a in to_numpy(item)]
    return [np.asarray(result)]


def settle():
    """Gives back what is kept for reuse; what memory.stats() calls the peak begins again."""
    fz.memory.trim()
    fz.memory.reset_peak()


def about(traced):
    """What a traced function did in its last call."""

    def tell():
        stats = traced.stats()
        keys = ("last_kernels", "matched_ops", "skipped", "fallbacks", "plans")
        return {key: stats[key] for key in keys if key in stats}

    return tell


def three(function, *arguments, suffix="", eager=True):
    """The three forms of a function without side effects."""
    plain, pure = fz.trace(function), fz.trace(function, pure=True)
    forms = {"eager" + suffix: applied(function, *arguments)} if eager else {}
    forms["traced" + suffix] = applied(plain, *arguments, about=about(plain))
    forms["pure" + suffix] = applied(pure, *arguments, about=about(pure))
    return forms


def stateful(make, suffix="", result=None):
    """The three forms of what changes its arguments: make() gives a function and new arguments.

    result(*arguments) is what is checked, if that is not what the function returns.
    """

    def form(trace):
        function, arguments = make()
        read = (lambda: result(*arguments)) if result else None
        if trace is None:
            return applied(function, *arguments, result=read)
        traced = trace(function)
        return applied(traced, *arguments, about=about(traced), result=read)

    return {
        "eager" + suffix: form(None),
        "traced" + suffix: form(fz.trace),
        "pure" + suffix: form(fz.trace(pure=True)),
    }


__all__ = ["Form", "about", "applied", "stateful", "three"]
