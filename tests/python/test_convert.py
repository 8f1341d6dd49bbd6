"""fz.convert: eager, converted, traced and batched calls of the corpus agree."""

import numpy as np
import pytest
from convert_corpus import OF_X, OF_XN, OF_XV

import frazil as fz

X = np.array([3.0, -0.5, -7.0, 0.0, 0.25, 1.0, 2.0, -1.25, 5.5, -2.0], "float32")
N = np.array([0, 3, 1, 5, 2, 4, 7, 1, 0, 2])
V = np.random.default_rng(7).normal(size=(10, 3)).astype("float32") * 2
ARGUMENTS = {"x": (X,), "xv": (X, V), "xn": (X, N)}
CORPUS = [(f, "x") for f in OF_X] + [(f, "xv") for f in OF_XV] + [(f, "xn") for f in OF_XN]
EVERY = pytest.mark.parametrize(("function", "kind"), CORPUS, ids=[f.__name__ for f, _ in CORPUS])


def arguments(kind, i=None):
    return [fz.asarray(a if i is None else a[i]) for a in ARGUMENTS[kind]]


def words(result):
    """dtype, shape and bits of every leaf, as vmap makes tensors of them; NaNs alike."""
    leaves, structure = fz.tree.flatten(result)
    arrays = [np.asarray(fz.asarray(leaf)) for leaf in leaves]
    arrays = [
        np.where(np.isnan(a), np.nan, a).astype(a.dtype) if a.dtype.kind == "f" else a
        for a in arrays
    ]
    return [(a.dtype.name, a.shape, a.tobytes()) for a in arrays], structure


def examples(function, kind):
    return [function(*arguments(kind, i)) for i in range(len(X))]


def stacked(results):
    structure = fz.tree.structure(results[0])
    columns = zip(*(fz.tree.leaves(r) for r in results), strict=True)
    return structure.unflatten([fz.stack([fz.asarray(x) for x in c]) for c in columns])


def test_corpus_is_large():
    assert len(CORPUS) >= 80


@EVERY
def test_each_example_alone(function, kind):
    want = [words(r) for r in examples(function, kind)]
    converted = fz.convert(function)
    assert [words(r) for r in examples(converted, kind)] == want
    traced = fz.trace(function, convert=True)
    for _ in range(3):
        assert [words(r) for r in examples(traced, kind)] == want


@EVERY
def test_all_examples_in_a_vmap(function, kind):
    want = words(stacked(examples(function, kind)))
    batched = fz.vmap(fz.convert(function))
    assert words(batched(*arguments(kind))) == want
    traced = fz.trace(batched)
    for _ in range(3):
        assert words(traced(*arguments(kind))) == want
    inner = fz.vmap(fz.trace(function, convert=True))
    assert words(inner(*arguments(kind))) == want


def is_smooth(function, kind):
    results = fz.tree.leaves(examples(function, kind))
    return all(isinstance(r, fz.Tensor) and r.dtype == fz.float32 for r in results)


SMOOTH = [(f, kind) for f, kind in CORPUS if is_smooth(f, kind)]


@pytest.mark.parametrize(("function", "kind"), SMOOTH, ids=[f.__name__ for f, _ in SMOOTH])
def test_gradients(function, kind):
    def loss(f):
        return lambda *a: sum(fz.sum(leaf * leaf) for leaf in fz.tree.leaves(f(*a)))

    def slopes(f):
        return examples(fz.grad(loss(f)), kind)

    want = [words(r) for r in slopes(function)]
    converted = fz.convert(function)
    assert [words(r) for r in slopes(converted)] == want
    assert [words(r) for r in examples(fz.trace(fz.grad(loss(converted))), kind)] == want
    got = fz.vmap(fz.grad(loss(converted)))(*arguments(kind))
    np.testing.assert_allclose(
        np.asarray(got), np.asarray(stacked(slopes(function))), rtol=1e-5, atol=1e-6
    )


def test_calls_in_a_vmap_are_skipped():
    """By proof: the last of eight calls in a row does not run the body."""
    skipped = few = 0
    some = CORPUS[::4]
    for function, kind in some:
        traced = fz.trace(fz.vmap(fz.convert(function)))
        for _ in range(8):
            traced(*arguments(kind))
        stats = traced.stats()
        skipped += stats["skipped"] > 0
        few += stats["plans"] <= 2
    assert skipped >= 0.9 * len(some)
    assert few >= 0.7 * len(some)


def test_most_of_the_corpus_has_gradients():
    assert len(SMOOTH) > 70
