"""Where tracing changes what a program means elsewhere: each case runs eagerly (the truth), traced.

OK: equal. ERR: a clear error. SW: silently wrong. TR: a side effect lost or repeated.
Silently wrong answers are never allowed.
"""

import adapter
import cases  # noqa: F401 (registers the cases)
import hz
import pytest


def collect(case, compile):
    observations, exception = [], None
    try:
        for observation in case.fn(adapter, compile):
            observations.append(hz.snapshot(adapter, observation))
    except Exception as e:
        if isinstance(e, hz.NotAvailable):
            pytest.fail(f"{case.id}: not expressible: {e}")
        exception = (type(e).__name__, str(e))
    return {"obs": observations, "exc": exception}


@pytest.mark.parametrize("case", hz.CASES.values(), ids=lambda c: c.id)
def test_traced_means_what_eager_means(case):
    want = collect(case, lambda fn, **options: fn)
    assert want["exc"] is None, f"{case.title}: fails eagerly: {want['exc']}"
    got = collect(case, adapter.compile)
    verdict, note = hz.verdict(want, got, case.tol)
    assert verdict == "OK", f"{case.title}: {verdict}: {note}"
