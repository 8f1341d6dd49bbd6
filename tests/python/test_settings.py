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
            leave.wait(100)
            seen.append(traces(f, x))
        seen.append(traces(f, x))

    with eager:
        thread = threading.Thread(target=other)
        thread.start()
        entered.wait(100)
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
            f'[precision] must be "default", "tf32", "exact", "blas" or "native", got {name!r}.'
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


def native(a, b):
    """The rule of precision "native" over float64 copies of bfloat16 values, for k up to 64."""
    f4 = np.float32
    total = np.zeros((a.shape[0], b.shape[1]), f4)
    for start in range(0, a.shape[1], 32):
        parts = [np.zeros_like(total), np.zeros_like(total)]
        for k in range(start, min(start + 32, a.shape[1])):
            # The product of two bfloat16 is exact, and the sum all but exact.
            parts[k % 2] = (np.outer(a[:, k], b[k]) + parts[k % 2]).astype(f4)
        total = total + (parts[0] + parts[1])
    return total


def bits(x):
    return np.asarray(x.astype(fz.float32))


def test_native_multiplies_bfloat16_by_pairs():
    rng = np.random.default_rng(0)
    a, b = (fz.asarray(rng.standard_normal((64, 64))).astype(fz.bfloat16) for _ in range(2))
    want = fz.asarray(native(bits(a).astype("f8"), bits(b).astype("f8"))).astype(fz.bfloat16)
    f = fz.trace(lambda a, b: (a @ b) * 1)
    usual = bits(a @ b)
    assert (bits(f(a, b)) == usual).all()
    for _ in range(3):
        with fz.precision("native"):
            assert (bits(a @ b) == bits(want)).all() and (bits(f(a, b)) == bits(want)).all()
            assert (bits((b.mT @ a.mT).mT) == bits(want)).all()
        assert (bits(f(a, b)) == usual).all()


def test_native_sums_even_and_odd_apart():
    ones = fz.ones((5, 1), dtype=fz.bfloat16)
    x = fz.asarray([[2.0**24, 1, 0, 1, -(2.0**24)]]).astype(fz.bfloat16)
    f = fz.trace(lambda x, y: x @ y)
    for _ in range(3):
        assert (x @ ones).item() == f(x, ones).item() == 0
        with fz.precision("native"):
            assert (x @ ones).item() == f(x, ones).item() == 2


def test_native_changes_bfloat16_only():
    rng = np.random.default_rng(0)
    for dtype in (fz.float32, fz.float16, fz.int8, fz.float64):
        a, b = (fz.asarray(rng.integers(-9, 9, (40, 40)) / 8).astype(dtype) for _ in range(2))
        want = (a @ b).tolist()
        with fz.precision("native"):
            assert (a @ b).tolist() == want


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
