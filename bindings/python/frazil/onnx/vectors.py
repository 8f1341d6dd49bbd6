"""Support vector machines (ai.onnx.ml): a kernel's values by one product, votes by another."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import frazil as fz
from frazil.onnx._table import ML, OWN, converts
from frazil.onnx.ml import chosen, labelled, transformed


def _vectors(flat: Any, rows: int, kind: str) -> tuple[Any, Any]:
    """One a column, and for RBF their squares. Those are in float64: what cancels when distances
    are made of products lies below float32's last bit."""
    vectors = np.asarray(flat, np.float32).reshape(rows, -1)
    if kind != "RBF":
        return np.ascontiguousarray(vectors.T), None
    wide = vectors.astype(np.float64)
    return np.ascontiguousarray(wide.T), (wide**2).sum(axis=1)


def _kernel(x: Any, vectors: Any, squares: Any, kind: str, params: Any) -> Any:
    """(rows, vectors): what support vectors say about rows."""
    gamma, coef0, degree = (params or [0.0, 0.0, 0.0])[:3]
    if kind == "RBF":
        x = x.astype("float64")
        apart = fz.sum(x * x, axis=-1, keepdims=True) + squares - 2 * (x @ vectors)
        return fz.exp((-gamma * fz.maximum(apart, 0.0)).astype("float32"))
    product = x @ vectors
    if kind == "POLY":
        return (gamma * product + coef0) ** degree
    return fz.tanh(gamma * product + coef0) if kind == "SIGMOID" else product


@converts("Supports", domain=OWN)
def regressor_tables(
    *_: Any, coefficients: Any, kernel_type: str = "LINEAR", n_supports: int = 0,
    rho: Any = (0.0,), support_vectors: Any = None,
) -> Any:  # fmt: skip
    weights, shift = np.asarray(coefficients, np.float32), np.asarray(rho[:1], np.float32)
    if n_supports > 0:
        return *_vectors(support_vectors, n_supports, kernel_type), weights[:, None], shift
    return *_vectors(weights, 1, kernel_type), None, shift


@converts("SVMRegressor", domain=ML, prepared={"Supports": ("vectors squares weights shift",)})
def svm_regressor(
    x: Any, vectors: Any = None, squares: Any = None, weights: Any = None, shift: Any = None, *,
    kernel_params: Any = None, kernel_type: str = "LINEAR", one_class: int = 0,
    post_transform: str = "NONE",
) -> Any:  # fmt: skip
    y = _kernel(x.astype("float32"), vectors, squares, kernel_type, kernel_params)
    y = (y if weights is None else y @ weights) + shift
    if one_class:
        return fz.where(y > 0, fz.ones_like(y), -fz.ones_like(y))
    return transformed(y, post_transform)


@converts("Machines", domain=OWN)
def classifier_tables(
    *_: Any, coefficients: Any, classlabels_ints: Any = None, classlabels_strings: Any = None,
    kernel_type: str = "LINEAR", prob_a: Any = None, prob_b: Any = None, rho: Any = (),
    support_vectors: Any = None, vectors_per_class: Any = None,
) -> Any:  # fmt: skip
    """Of pairs of classes: what each vector says in each, which classes get its vote, and how its
    decision becomes a probability."""
    n = len(classlabels_strings or classlabels_ints or ())
    if not vectors_per_class:
        first = np.asarray(rho[:1], np.float32)
        return *_vectors(coefficients, n, kernel_type), None, first, None, None, None
    total, begin = sum(vectors_per_class), np.concatenate([[0], np.cumsum(vectors_per_class)])
    pairs = list(itertools.combinations(range(n), 2))
    given = np.asarray(coefficients, np.float32).reshape(-1, total)
    table, votes = np.zeros((total, len(pairs)), np.float32), np.zeros((len(pairs), n), np.float32)
    for p, (i, j) in enumerate(pairs):
        for row, own in ((j - 1, i), (i, j)):
            of = slice(begin[own], begin[own + 1])
            table[of, p] = given[row, of]
        votes[p, i], votes[p, j] = 1, -1
    odds = np.asarray([prob_a, prob_b])[:, : len(pairs)] if prob_a else None
    against = (votes < 0).sum(axis=0).astype(np.float32)
    shift = np.asarray(rho[: len(pairs)], np.float32)
    vectors = _vectors(support_vectors, total, kernel_type)
    return *vectors, table, shift, votes, against, odds


@converts(
    "SVMClassifier", domain=ML,
    prepared={"Machines": ("vectors squares table shift votes against odds",)},
)  # fmt: skip
def svm_classifier(
    x: Any, vectors: Any = None, squares: Any = None, table: Any = None, shift: Any = None,
    votes: Any = None, against: Any = None, odds: Any = None, *, classlabels_ints: Any = None,
    classlabels_strings: Any = None, kernel_params: Any = None, kernel_type: str = "LINEAR",
    post_transform: str = "NONE",
) -> Any:  # fmt: skip
    """One machine for each pair of classes, which vote; or one row of weights for each class."""
    k = _kernel(x.astype("float32"), vectors, squares, kernel_type, kernel_params)
    if table is None:
        return labelled(k + shift, classlabels_ints, classlabels_strings, post_transform)
    decided = k @ table + shift
    if odds is not None:
        scores = _coupled(decided, odds)
        labels = chosen(scores, classlabels_ints, classlabels_strings)
        return labels, transformed(scores, post_transform)
    sums = (decided > 0).astype("float32") @ votes + against
    return chosen(sums, classlabels_ints, classlabels_strings), transformed(decided, post_transform)


def _coupled(decided: Any, odds: Any) -> Any:
    """Probabilities of classes from those of pairs (Wu, Lin and Weng 2004)."""
    rows, count = decided.shape
    n = (1 + round((1 + 8 * count) ** 0.5)) // 2
    p = 1 / (1 + fz.exp(decided.astype("float64") * odds[0] + odds[1]))
    p = fz.clip(p, 1e-7, 1 - 1e-7)
    # p of each ordered pair: p, then 1 - p, then what is no pair.
    sides = fz.concat([p, 1 - p, fz.zeros((rows, 1), dtype="float64")], axis=1)
    at = np.full((n, n), 2 * count)
    for i, (a, b) in enumerate(itertools.combinations(range(n), 2)):
        at[a, b], at[b, a] = i, count + i
    pairs = fz.take(sides, fz.asarray(at.reshape(-1)), axis=1).reshape((rows, n, n))
    turned = fz.matrix_transpose(pairs)
    own = fz.eye(n, dtype="float64") * fz.sum(pairs * pairs, axis=1)[:, None, :]
    one = fz.ones((rows, n, 1), dtype="float64")
    last = fz.zeros((rows, 1, 1), dtype="float64")
    system = fz.concat([
        fz.concat([own - pairs * turned, one], axis=2),
        fz.concat([fz.matrix_transpose(one), last], axis=2),
    ], axis=1)  # fmt: skip
    wanted = fz.concat([fz.zeros((rows, n, 1), dtype="float64"), last + 1], axis=1)
    return fz.linalg.solve(system, wanted)[:, :n, 0].astype("float32")
