"""What a program of the corpus is made of, for the files in programs/.

A file defines functions as people write them, decorated with `@trace`, and for each a maker under
`@program`, which gives a fresh World. A file is loaded anew for each run (corpus.py), so that its
globals are fresh, too; `trace` is then what the run decorates with, nothing in the eager one.
"""

import dataclasses
import itertools

import numpy as np

import frazil as fz

decorator = fz.trace  # set by corpus.load


def trace(fn):
    return decorator(fn)


def plain(fn):
    """The function that was decorated."""
    return getattr(fn, "__wrapped__", fn)


@dataclasses.dataclass
class World:
    """fn is called with what call(i) gives; change(i) alters what fn depends on, between calls;
    after(result) is what the caller does with a result. `held` is state that fn does not show."""

    fn: object
    call: object
    change: object
    after: object = None
    held: object = None


@dataclasses.dataclass
class Given:
    args: tuple
    keywords: dict


def given(*args, **keywords):
    """The arguments of a call."""
    return Given(args, keywords)


def program(maker):
    """Registers a maker under its name in its module."""
    maker.__globals__.setdefault("PROGRAMS", {})[maker.__name__] = maker
    return maker


def numbers(seed, *shape):
    """A tensor of small float32 numbers, the same for the same seed."""
    values = np.random.default_rng(seed).normal(size=shape)
    return fz.asarray(np.round(values, 3).astype(np.float32))


def classes(seed, count, n):
    """A vector of whole numbers below n."""
    return fz.asarray(np.random.default_rng(seed).integers(0, n, count))


def in_turn(*changes):
    """A World's change that does the first of these, later the second, and so on."""
    turn = itertools.cycle(changes)
    return lambda i: next(turn)()
