"""Loops whose condition is a tensor, under pure=True: skipped in time of their length."""

import random
import subprocess
import sys
import textwrap

import pytest

import frazil as fz


def settle(f, args, calls=5):
    for _ in range(calls):
        result = f(*args)
    return result


def test_long_loops_take_memory_of_their_length():
    # The square of 8000 iterations took a gigabyte.
    code = textwrap.dedent("""
        import resource
        import frazil as fz

        @fz.trace(pure=True)
        def f(x, limit):
            i = fz.asarray(0)
            while i < limit:
                x = x * 0.999 + 0.1
                i = i + 1
            return x

        x, limit = fz.ones(64), fz.asarray(8000)
        want = f.__wrapped__(x, limit).tolist()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(5):
            assert f(x, limit).tolist() == want
        assert f.stats()["skipped"] > 0, f.explain()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 200_000  # KiB


def test_a_chain_of_many_stages_is_no_recursion():
    @fz.trace(pure=True)
    def f(i, limit):
        while i < limit:
            i = i + 1
        return i

    start, limit = fz.asarray(0), fz.asarray(40_000)
    assert settle(f, (start, limit)).item() == 40_000
    assert f.stats()["skipped"] > 0
    f.clear()


@pytest.mark.parametrize("keep", ["nothing", "all", "every third"])
def test_what_is_kept_of_iterations(keep):
    def body(x, limit):
        kept = []
        while x.sum() < limit:
            y = x * 1.5
            x = y + 0.25
            if keep == "all" or (keep == "every third" and len(kept) % 3 == 0):
                kept.append(y)
            else:
                kept.append(None)
        return x, [k for k in kept if k is not None]

    f = fz.trace(body, pure=True)
    for limit in (10.0, 1000.0, 30.0, 1e6, 5.0, 200.0):
        for scale in (1.0, 2.0, 0.5):
            args = fz.ones(5) * scale, fz.asarray(limit)
            got, want = settle(f, args), body(*args)
            assert got[0].tolist() == want[0].tolist()
            assert [k.tolist() for k in got[1]] == [k.tolist() for k in want[1]]
    assert f.stats()["skipped"] > 0


def test_outcomes_that_part_late_want_different_values():
    def body(x, flags):
        a, b = x * 2, x * 3
        c = a + b
        if flags[0] > 0:
            return a - c
        d = c * b
        if flags[1] > 0:
            x += d
            return d, a
        return b, c, d

    f = fz.trace(body, pure=True)
    cases = [fz.asarray(c) for c in ([1, 0], [0, 1], [0, 0])]
    for _ in range(6):
        for flags in cases:
            x, y = fz.ones(3) * 2, fz.ones(3) * 2
            got, want = f(x, flags), body(y, flags)
            if not isinstance(got, tuple):
                got, want = (got,), (want,)
            assert [g.tolist() for g in got] == [w.tolist() for w in want]
            assert x.tolist() == y.tolist()
    assert f.stats()["skipped"] > 0


def test_outcomes_that_never_come_again_are_not_learnt_for_long():
    @fz.trace(pure=True)
    def f(i, limit):
        counted = 0  # each length is another program
        while i < limit:
            i = i + 1
            counted += 1
        return i, counted

    for n in range(200):
        assert f(fz.asarray(0), fz.asarray(n))[1] == n
    assert "skipping is tried less often" in f.explain()
    learnt = f.stats()["causes"]["outcome"]
    assert learnt < 20
    # What comes again is skipped again, once it is asked for.
    for _ in range(1200):
        assert f(fz.asarray(0), fz.asarray(3))[0].item() == 3
    assert f.stats()["skipped"] > 0


def test_the_first_random_number_of_a_process_changes_no_constants():
    program = """
import frazil as fz
for pure in (True, False):
    def body(x):
        for _ in range(20):
            x = x * 0.5 + 0.25
        return x
    f, x = fz.trace(body, pure=pure), fz.ones(3)
    for _ in range(8):
        f(x)
    globals()["f", pure] = f
fz.random.normal()
for pure in (True, False):
    for _ in range(8):
        assert globals()["f", pure](x).tolist() == body(x).tolist()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_long_bodies_learn_further_outcomes_once_that_pays():
    rng = random.Random(0)
    ops = [rng.randrange(3) for _ in range(1500)]

    def body(x, k):
        for op in ops:  # in no order that comes again
            x = x + 1 if op == 0 else x * 0.5 if op == 1 else fz.maximum(x, -x)
        return x * int(k)

    f, x = fz.trace(body, pure=True), fz.asarray([1.0, 2.0])

    def outcomes(k, calls):
        """How many were added to the first."""
        for _ in range(calls):
            assert f(x, fz.asarray(k)).tolist() == body(x, fz.asarray(k)).tolist()
        return f.stats()["causes"]["outcome"]

    assert outcomes(1, 5) == 0 and f.stats()["skipped"] > 0
    assert outcomes(2, 2) == 1  # the first come as they come
    before = f.stats()["skipped"]
    assert outcomes(3, 2) == 1 and f.stats()["skipped"] == before
    assert outcomes(1, 100) == 1 and f.stats()["skipped"] == before + 100
    assert outcomes(3, 2) == 2 and f.stats()["skipped"] == before + 101
    assert outcomes(4, 2) == 2
