"""Where tracing changes what a program means elsewhere: each case runs eagerly (the truth), traced,
and, where what is compiled depends on its arguments only, with skipped bodies.

OK: equal. ERR: a clear error. SW: silently wrong. TR: a side effect lost or repeated.
"""

import functools

import adapter
import cases  # noqa: F401 (registers the cases)
import changes
import hz
import pytest

import frazil as fz


def collect(case, compile):
    observations, exception = [], None
    fz.random.seed(0)
    try:
        for observation in case.fn(adapter, compile):
            observations.append(hz.snapshot(adapter, observation))
    except Exception as e:
        if isinstance(e, hz.NotAvailable):
            pytest.fail(f"{case.id}: not expressible: {e}")
        exception = (type(e).__name__, str(e))
    return {"obs": observations, "exc": exception}


def eager(fn, **options):
    return fn


@functools.cache
def wanted(case):
    return collect(case, eager)


def check(case, compile):
    want = wanted(case)
    assert want["exc"] is None, f"{case.title}: fails eagerly: {want['exc']}"
    got = collect(case, compile)
    if case.refused:
        assert got["exc"] and case.refused in got["exc"][1], got
        return
    verdict, note = hz.verdict(want, got, case.tol)
    assert verdict == "OK", f"{case.title}: {verdict}: {note}"


@pytest.mark.parametrize("case", hz.CASES.values(), ids=lambda c: c.id)
def test_traced_means_what_eager_means(case):
    check(case, adapter.compile)


@pytest.mark.parametrize("case", [c for c in hz.CASES.values() if c.pure], ids=lambda c: c.id)
def test_skipped_means_what_eager_means(case):
    """Compared once, then skipped; and every seventh call compared again."""
    check(case, lambda fn, **options: fz.trace(fn, pure=True, check_first=1, check_every=7))


@pytest.mark.parametrize("name", changes.HAZARDS)
def test_what_changes_can_be_seen(name, monkeypatch):
    """Without its changes a case is another one."""
    case = hz.CASES[name]
    want = wanted(case)
    monkeypatch.setattr(changes, "still", True)
    assert hz.verdict(want, collect(case, eager), 0)[0] != "OK"


def test_there_are_many_changes():
    assert len(changes.HAZARDS) >= 180


def twice(fn, **options):
    """The body's side effects happen twice."""
    return functools.wraps(fn)(lambda *a, **k: (fn(*a, **k), fn(*a, **k))[1])


def swallowing(fn, **options):
    """Exceptions of the body are lost."""

    @functools.wraps(fn)
    def call(*args, **keywords):
        try:
            return fn(*args, **keywords)
        except Exception:  # noqa: BLE001
            return None

    return call


def stale(fn, **options):
    """The third call with tensors of some shapes and its like repeat the second."""
    last = {}

    @functools.wraps(fn)
    def call(*args, **keywords):
        key = tuple(getattr(a, "shape", type(a)) for a in args)
        known = last.setdefault(key, [])
        if len(known) < 2:
            known.append(fn(*args, **keywords))
        return known[-1]

    return call


def rounding(fn, **options):
    """Tensors of the result are a little off."""

    @functools.wraps(fn)
    def call(*args, **keywords):
        result = fn(*args, **keywords)
        if isinstance(result, fz.Tensor) and result.dtype == fz.float32:
            return result * 1.0000001
        return result

    return call


@pytest.mark.parametrize(
    "wrong, least", [(twice, 140), (swallowing, 75), (stale, 330), (rounding, 220)]
)
def test_wrong_compilers_are_noticed(wrong, least):
    noticed = 0
    for case in hz.CASES.values():
        if case.refused or "recursion" in case.id or "long" in case.id:
            continue
        noticed += hz.verdict(wanted(case), collect(case, wrong), case.tol)[0] != "OK"
    assert noticed >= least
