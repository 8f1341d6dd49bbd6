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


def precision_now():
    set_precision = fz._frazil.runtime.precision
    now = set_precision("default")
    set_precision(now)
    return now


def test_precision_is_reentrant_and_reusable():
    assert precision_now() == "default"
    blas = fz.precision("blas")
    for _ in range(2):
        with blas:
            assert precision_now() == "blas"
            with blas:
                with fz.precision("exact"):
                    assert precision_now() == "exact"
                    with fz.precision("tf32"), fz.precision("default"):
                        assert precision_now() == "default"
                    assert precision_now() == "exact"
                assert precision_now() == "blas"
            assert precision_now() == "blas"
        assert precision_now() == "default"
    with pytest.raises(RuntimeError) as error:
        blas.__exit__(None, None, None)
    assert str(error.value) == "[precision] is left more often than it was entered."


@pytest.mark.parametrize("name", ["fast", "", "Exact", None, 1])
def test_unknown_precision(name):
    with fz.precision("exact"):
        with pytest.raises(ValueError) as error:
            fz.precision(name)
        assert str(error.value) == (
            f'[precision] must be "default", "tf32", "exact" or "blas", got {name!r}.'
        )
        assert precision_now() == "exact"


def test_precision_is_of_the_thread():
    seen = []
    with fz.precision("exact"):
        thread = threading.Thread(target=lambda: seen.append(precision_now()))
        thread.start()
        thread.join()
        assert seen == ["default"] and precision_now() == "exact"


def test_every_precision_is_documented():
    for name, meaning in fz._frazil.runtime.precisions().items():
        assert f'"{name}": {meaning}.' in fz.precision.__doc__


def test_precisions_of_the_cpu_that_change_nothing():
    rng = np.random.default_rng(0)
    a, b = (fz.asarray(rng.standard_normal((130, 130)).astype("f4")) for _ in range(2))
    f = fz.trace(lambda a, b: (a @ b) * 1)
    want = (a @ b).tolist()
    for name in ["exact", "tf32", "default"] * 2:
        with fz.precision(name):
            assert (a @ b).tolist() == want and f(a, b).tolist() == want


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
