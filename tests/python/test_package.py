"""The package as a whole: import time, docstrings, stubs, settings."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import frazil as fz


def test_import_loads_less_than_numpy():
    """Its number of modules decides how long an import takes."""

    def loaded(name):
        code = f"import sys; old = set(sys.modules); import {name}; print(*set(sys.modules) - old)"
        return set(subprocess.check_output([sys.executable, "-c", code], text=True).split())

    ours = loaded("frazil")
    assert len(ours) < len(loaded("numpy"))
    assert not {"numpy", "frazil.nn", "frazil.optim", "frazil.linalg", "frazil._convert"} & ours


MODULES = ["frazil", *(m.name for m in pkgutil.walk_packages(fz.__path__, "frazil."))]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_every_function_is_documented():
    for module in (fz, fz.nn, fz.random, fz.memory, fz.optim, fz.io, fz.data, fz.tree):
        for name, item in vars(module).items():
            if callable(item) and not name.startswith("_"):
                assert inspect.getdoc(item), f"{module.__name__}.{name}"


def test_signatures():
    assert str(inspect.signature(fz.sum)) == "(x, /, axis=None, *, dtype=None, keepdims=False)"
    assert str(inspect.signature(fz.add)) == "(x1, x2, /)"
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        fz.sum(fz.ones(2), foo=1)
    with pytest.raises(TypeError, match="missing required argument 'shape'"):
        fz.zeros()


def test_settings():
    assert fz.config()["jit"] in ("on", "interp", "off") and "FRAZIL_JIT" in repr(fz.config())
    n = fz.get_num_threads()
    fz.set_num_threads(1)
    assert fz.get_num_threads() == 1
    fz.set_num_threads(n)
    with pytest.raises(ValueError, match="1 to 4096 threads, got 0"):
        fz.set_num_threads(0)
    fz.synchronize()
    x = fz.random.normal((40, 40))
    with fz.precision("blas"):
        y = x @ x
    assert bool((abs(x @ x - y) < 1e-3).all())
    with pytest.raises(ValueError, match='must be "default", "tf32", "exact", "blas" or "native"'):
        fz.precision("fast")
    assert fz.__version__.count(".") == 2


def test_memory():
    fz.memory.reset_peak()
    before = fz.memory.stats()["live_bytes"]
    x = fz.zeros(1 << 20)
    stats = fz.memory.stats()
    assert stats["live_bytes"] - before >= 4 << 20
    assert stats["peak_bytes"] >= stats["live_bytes"]
    del x
    assert fz.memory.stats()["live_bytes"] - before < 4 << 20
    fz.memory.trim()


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'foo'"):
        fz.foo  # noqa: B018


def test_memory_report_and_bounds():
    code = """
import frazil as fz
kept = fz.zeros(1 << 20, dtype="float32")
fz.config(memory_bytes=fz.memory.stats()["live_bytes"] + (1 << 20))
try:
    fz.zeros(1 << 20, dtype="float32")
except MemoryError as error:
    text = str(error)
    assert "The most is held by 1 block of 4194304 bytes" in text and "fz.config" in text, text
else:
    raise AssertionError
fz.config(memory_bytes=0)
assert "1 x 4 MiB" in fz.memory.report(), fz.memory.report()
fz.memory.trim()
del kept
assert fz.memory.stats()["cached_bytes"] == 4 << 20
fz.memory.trim()
assert fz.memory.stats()["cached_bytes"] == 0
fz.config(cached_bytes=5 << 20)
several = [fz.zeros(1 << 20, dtype="float32") for _ in range(3)]
del several
assert fz.memory.stats()["cached_bytes"] == 4 << 20
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
