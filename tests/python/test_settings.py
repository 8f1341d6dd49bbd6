"""mode and precision as context objects: entered again, nested, in other threads."""

import threading

import numpy as np
import pytest

import frazil as fz


def traces(f, x):
    before = f.stats()
    f(x)
    return f.stats() != before


def test_mode_is_reentrant_and_reusable():
    f = fz.trace(lambda x: x + 1)
    x = fz.ones(2)
    f(x)
    eager = fz.mode("eager")
    for _ in range(2):
        with eager:
            with eager:
                assert not traces(f, x)
            assert not traces(f, x)
            with fz.mode("auto"):
                assert traces(f, x)
            assert not traces(f, x)
        assert traces(f, x)
    with pytest.raises(RuntimeError) as error:
        eager.__exit__(None, None, None)
    assert str(error.value) == "[mode] is left more often than it was entered."


def test_mode_is_one_object_in_many_threads():
    f = fz.trace(lambda x: x + 1)
    x = fz.ones(2)
    f(x)
    eager = fz.mode("eager")
    entered, leave, seen = threading.Event(), threading.Event(), []

    def other():
        with eager:
            entered.set()
            leave.wait(10)
            seen.append(traces(f, x))
        seen.append(traces(f, x))

    with eager:
        thread = threading.Thread(target=other)
        thread.start()
        entered.wait(10)
    assert traces(f, x)
    leave.set()
    thread.join()
    assert seen == [False, True]


def test_precision_is_reentrant_and_reusable():
    set_blas = fz._frazil.runtime.set_blas

    def blas_now():
        now = set_blas(False)
        set_blas(now)
        return now

    assert not blas_now()
    blas = fz.precision("blas")
    for _ in range(2):
        with blas:
            assert blas_now()
            with blas:
                with fz.precision("default"):
                    assert not blas_now()
                assert blas_now()
            assert blas_now()
        assert not blas_now()
    with pytest.raises(RuntimeError) as error:
        blas.__exit__(None, None, None)
    assert str(error.value) == "[precision] is left more often than it was entered."


@pytest.mark.parametrize("seed", [-1, 2**64, 2**70, -(2**70)])
def test_seed_range(seed):
    with pytest.raises(ValueError) as error:
        fz.random.seed(seed)
    assert str(error.value) == f"[random.seed] must be in 0 ... 2**64 - 1, got {seed}."


def test_seeds_at_the_ends():
    draws = []
    for seed in (0, 2**63, 2**64 - 1, np.uint64(2**64 - 1)):
        fz.random.seed(seed)
        draws.append(fz.random.uniform((4,)).tolist())
    assert draws[2] == draws[3] and draws[0] != draws[1] != draws[2]
