"""Calls that gain nothing by being replayed run untraced, until they do more.

So do calls whose body has to run: without a proof.
"""

import functools

import frazil as fz

trace = functools.partial(fz.trace, proof=False)

MANY = 60  # calls: enough to decide


def untraced(f):
    return f.stats()["untraced"]


def small(x):
    return x + 1


def chain(x):
    for _ in range(40):
        x = x * 0.9 + 0.1
    return x


def counts_up(x):
    i = fz.asarray(0.0)
    while i < 20.0:
        x = x * 0.9 + 0.1
        i = i + 1.0
    return x


def test_small_calls_run_untraced_with_the_same_bits():
    for body in (small, counts_up):
        f, x = trace(body), fz.ones(8)
        for i in range(MANY):
            assert f(x * i).tolist() == body(x * i).tolist()
        stats = f.stats()
        assert 0 < stats["untraced"] < MANY and stats["calls"] == MANY
        assert stats["replayed"] + stats["recorded"] + stats["untraced"] == MANY


def test_explain_says_so_once():
    f = trace(small)
    for _ in range(5 * MANY):
        f(fz.ones(8))
    assert f.explain().count("run untraced until they do more") == 1


def test_what_gains_is_always_traced():
    f, x = trace(chain), fz.ones(8)
    for _ in range(5 * MANY):
        f(x)
    assert untraced(f) == 0


def test_large_arrays_are_always_traced():
    f, x = trace(small), fz.ones(20_000)
    for _ in range(5 * MANY):
        f(x)
    assert untraced(f) == 0


def test_calls_that_do_more_are_traced_again():
    f = trace(small)
    for _ in range(MANY):
        f(fz.ones(8))
    for _ in range(200):  # one in 64 looks whether it has changed; the first of the kind records
        f(fz.ones(20_000))
    before = untraced(f)
    for _ in range(200):
        f(fz.ones(20_000))
    assert untraced(f) == before


def test_strict_mode_traces_every_call():
    f = trace(small)
    with fz.mode("auto", strict=True):
        for _ in range(5 * MANY):
            f(fz.ones(8))
    assert untraced(f) == 0


def test_a_traced_function_in_an_untraced_one_decides_by_itself():
    inner = trace(chain)

    @trace
    def outer(x):
        reads = [bool(x.sum() > k) for k in range(30)]
        return inner(x), reads

    for _ in range(5 * MANY):
        y, _ = outer(fz.ones(8))
    assert untraced(outer) > 0 and untraced(inner) == 0
    assert y.tolist() == chain(fz.ones(8)).tolist()
    assert inner.stats()["replayed"] > 0


def test_clear_forgets_the_decision():
    f = trace(small)
    for _ in range(MANY):
        f(fz.ones(8))
    f.clear()
    assert untraced(f) == 0
    f(fz.ones(8))
    assert f.stats()["recorded"] == 1 and untraced(f) == 0
    for _ in range(MANY):
        f(fz.ones(8))
    assert "run untraced" in f.explain()
