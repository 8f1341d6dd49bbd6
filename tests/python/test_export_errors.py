"""Errors that exported functions catch; and refusals that have to say what is wrong, and the way
out."""

import numpy as np
import pytest
from exports import bits, exported, normal

import frazil as fz
from frazil import nn

# Shapes alone decide whether these are raised: they are no branches


def product(x, y):
    try:
        return x @ y
    except ValueError:
        return x @ y.T


def reshaped(x, y):
    x = x * 2
    try:
        return x.reshape(7) + y
    except ValueError as error:
        return x + len(str(error))


def joined(x, y):
    try:
        z = fz.concatenate([x, y[0]])
    except Exception:
        z = y
    else:
        z = z + 1
    finally:
        x = x * 2
    return x.sum() + z


def inside(x, y):
    for z in (y, x, y):
        try:
            x = fz.exp(x) + z[:, :2] + nn.softmax(z, axis=5)
        except (IndexError, ValueError):
            x = x - 1
    return x


@pytest.mark.parametrize("fn", [product, reshaped, joined, inside])
def test_errors_of_shapes_that_are_caught(tmp_path, fn):
    g = exported(tmp_path, fn, (normal(4, 3), normal(2, 3, seed=1)))
    traced = fz.trace(fn)
    for seed in range(8):
        args = normal(4, 3, seed=seed), normal(2, 3, seed=seed + 9)
        assert bits(g(*args)) == bits(fn(*args)) == bits(traced(*args))
    assert traced.stats()["skipped"] > 0


def test_errors_of_some_sizes(tmp_path):
    def f(x):
        try:
            return x.reshape(-1, 4).sum(axis=1)
        except ValueError:
            return x

    args, dims = (normal(8),), {0: {0: fz.Dim("n", multiple_of=4)}}
    g = exported(tmp_path, f, args, dynamic=dims)
    for n in (4, 8, 40):
        assert bits(g(normal(n))) == bits(f(normal(n)))


def test_errors_of_data_that_are_caught_are_refused(tmp_path):
    def f(x, i):
        try:
            return x[i]
        except IndexError:
            return x[:2]

    x, good, bad = normal(4, 3), fz.asarray([0, 1]), fz.asarray([0, 9])
    g = exported(tmp_path, f, (x, good))
    assert bits(g(x, good)) == bits(f(x, good))
    with pytest.raises(IndexError, match="index 9 is out of range for 4 elements"):
        g(x, bad)
    with pytest.raises(ValueError, match="an index is out of range, and the body catches the "
                       "error: compare the indices before"):  # fmt: skip
        exported(tmp_path, f, (x, good), (x, bad))


# Programs that are too deep


def counted(x, limit):
    steps = 0
    while x.sum() < limit:
        x, steps = x + 1, steps + 1
    return x * steps


def test_many_reads_one_after_another(tmp_path):
    g = exported(tmp_path, counted, (normal(1), fz.asarray(850.0)))
    args = normal(1), fz.asarray(850.0)
    assert bits(g(*args)) == bits(counted(*args))
    told = (
        r"it reads 10\d\d bools and integers of tensors one after another, most of them in one "
        r"line \(test_export_errors.py:\d+\), and a program has up to 900: make that a loop"
    )
    with pytest.raises(ValueError, match=told):
        exported(tmp_path, counted, (normal(1), fz.asarray(1000.0)))


def test_a_loop_that_counts_in_python_says_so(tmp_path):
    g = exported(tmp_path, counted, (normal(1), fz.asarray(9.0)))
    told = (
        "takes this branch, or with one that goes round several times, where all that changes is "
        r"tensors \(n = fz.asarray\(0\)\): a loop of any length\."
    )
    with pytest.raises(RuntimeError, match=told):
        g(normal(1), fz.asarray(5.0))
    h = exported(tmp_path, lambda x: x * 2 if x.sum() > 0 else x, (fz.ones(2),))
    with pytest.raises(RuntimeError, match=r"takes this branch\.$"):
        h(-fz.ones(2))


@pytest.mark.parametrize("depth", [60, 70, 3000])
def test_nests_are_as_deep_as_they_can_be_loaded(tmp_path, depth):
    def f(x):
        while type(x) is list:
            x = x[0]
        return x * 2

    def nest(x):
        for _ in range(depth):
            x = [x]
        return x

    if depth < 64:
        g = exported(tmp_path, f, (nest(normal(3)),))
        assert bits(g(nest(normal(3)))) == bits(normal(3) * 2)
        return
    with pytest.raises(TypeError, match="an argument is over 64 lists, tuples and dicts deep"):
        exported(tmp_path, f, (nest(normal(3)),))
    with pytest.raises(TypeError, match="its result is over 64 lists, tuples and dicts deep"):
        exported(tmp_path, nest, (normal(3),))


# What else


def test_arrays_of_numpy_are_to_be_tensors(tmp_path):
    weights = np.ones((3, 2), np.float32)
    with pytest.raises(ValueError, match=r"of type numpy.ndarray cannot be compared from call to "
                       r"call \(make it a tensor, fz.asarray\(...\)\)"):  # fmt: skip
        exported(tmp_path, lambda x: x @ weights, (normal(4, 3),))
    g = exported(tmp_path, lambda x: x @ weights, (normal(4, 3),), pure=True)
    assert bits(g(normal(4, 3))) == bits(normal(4, 3) @ weights)


@pytest.mark.parametrize("dtype", ["int32", "float32", "bool"])
def test_numbers_are_asked_for_their_truth_alone(tmp_path, dtype):
    """Zero or not: which other number it is is no branch, and `while n` a loop."""

    def f(x, n):
        return x * 2 if n else x - 1

    x = normal(3)
    given = [fz.asarray(v, dtype=dtype) for v in (1, 0, 5)]
    g = exported(tmp_path, f, (x, given[0]), (x, given[1]))
    for n in given:
        assert bits(g(x, n)) == bits(f(x, n))


def test_greatest_common_divisor(tmp_path):
    def f(a, b):
        while b:
            a, b = b, a % b
        return a

    g = exported(tmp_path, f, (fz.asarray(48), fz.asarray(18)))
    for a, b in ((7, 7), (0, 5), (1000, 35), (6, 4), (5, 0)):
        assert g(fz.asarray(a), fz.asarray(b)).item() == f(fz.asarray(a), fz.asarray(b)).item()
