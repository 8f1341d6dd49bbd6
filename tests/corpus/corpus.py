"""Runs programs of the corpus, eager or decorated, in fresh worlds, and says what was seen."""

import contextlib
import functools
import importlib.util
import io
import itertools
import random
import sys
import types
from pathlib import Path

import numpy as np
import world
from seen import raised, seen

import frazil as fz

CALLS = 20  # in a steady world
# Before which calls the world changes where it does: behind enough calls for a script to be learnt.
CHANGES = (8, 15, 22, 29, 36)
FILES = sorted((Path(__file__).parent / "programs").glob("*.py"))
HARNESS = set(vars(world)) | {"PROGRAMS"}


def eager(fn):
    return fn


@functools.cache
def code_of(path):
    return compile(path.read_text(), str(path), "exec")


@contextlib.contextmanager
def loaded(path, decorator):
    """A fresh module of a file whose functions are decorated."""
    module = types.ModuleType(f"corpus_{path.stem}")
    module.__file__ = str(path)
    module.__spec__ = importlib.util.spec_from_file_location(module.__name__, path)
    before, world.decorator = world.decorator, decorator
    sys.modules[module.__name__] = module
    try:
        exec(code_of(path), vars(module))
        yield module
    finally:
        world.decorator = before
        del sys.modules[module.__name__]


@functools.cache
def programs():
    """{name: file} of all programs."""
    found = {}
    for path in FILES:
        with loaded(path, eager) as module:
            for name in module.PROGRAMS:
                assert name not in found, f"{name} stands in {found[name].name} and {path.name}"
                found[name] = path
    return found


def state(module, made, whole=True):
    """What a program's world consists of: globals of its file, what its function reaches. Unless
    the whole of it is wanted without the file's functions and classes, which are many."""
    names = {k: v for k, v in vars(module).items() if k not in HARNESS and k[:2] != "__"}
    if not whole:
        names = {k: v for k, v in names.items() if not callable(v)}
    return names, made.fn, made.held, made.call, made.after


def traced_of(fn):
    """The traced function of a World, which may be bound to an instance."""
    return getattr(fn, "__func__", fn)


def run(name, decorator, changing=False, look=lambda made, number: None):
    """(a list of (what, seen), the World). look() is called between calls.

    Where the world changes it is looked at after each call, and results are held to be looked at
    again; else only results are, and the world at the end.
    """
    out, held = [], []
    with loaded(programs()[name], decorator) as module, fz.precision("default"):
        fz.random.seed(0)
        random.seed(0)
        np.random.seed(0)
        made = module.PROGRAMS[name]()
        for i in range(CHANGES[-1] + 7 if changing else CALLS):
            look(made, i)
            if changing and i in CHANGES:
                made.change(i)
            arguments = made.call(i)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                try:
                    result = made.fn(*arguments.args, **arguments.keywords)
                except Exception as e:  # noqa: BLE001
                    result = raised(e)
            out.append((f"result of call {i}", seen(result, arguments.args, arguments.keywords)))
            out.append((f"print of call {i}", printed.getvalue()))
            if made.after and not (isinstance(result, list) and result[:1] == ["raised"]):
                made.after(result)
            if changing:
                held.append(result)
                out.append((f"world after call {i}", seen(state(module, made, False), held[-3:])))
        look(made, CALLS)
        out.append(("world at the end", seen(state(module, made), held)))
        out.append(("random numbers at the end", seen(fz.random.uniform((3,)), random.random())))
        return out, made


def difference(a, b):
    """The first of two runs' observations that differ, as text; None if all are equal."""
    for (what, x), (_, y) in itertools.zip_longest(a, b, fillvalue=("the end", None)):
        if x != y:
            return f"{what}: {apart(x, y)}"
    return None


def apart(x, y, path=""):
    """Where two nested lists differ."""
    if isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
        for i, (a, b) in enumerate(zip(x, y, strict=True)):
            if a != b:
                return apart(a, b, f"{path}.{i}")
    return f"at {path or 'the top'}\n  eager:  {str(x)[:300]}\n  traced: {str(y)[:300]}"
