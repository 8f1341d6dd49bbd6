"""Where tracing changes what a program means elsewhere: each case runs eagerly (the truth), traced,
and, where what is compiled depends on its arguments only, with skipped bodies.

OK: equal. ERR: a clear error. SW: silently wrong. TR: a side effect lost or repeated.
"""

import adapter
import cases  # noqa: F401 (registers the cases)
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


def check(case, compile):
    want = collect(case, lambda fn, **options: fn)
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
