"""Ensembles of decision trees: all trees go down one level at a time, for all rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np

import frazil as fz
from frazil.onnx._columns import Words
from frazil.onnx._forests import LEAF, MEMBER, MODES, Forest, aggregated, more_of
from frazil.onnx._table import ML, OWN, converts
from frazil.onnx.ml import chosen, transformed

_AGGREGATE = ("AVERAGE", "SUM", "MIN", "MAX")
_POST = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_TABLES = "nodes splits others members roots weights base numbers"


def _int64s(values: Any) -> Any:
    return np.asarray(() if values is None else values, np.int64).reshape(-1)


def _numbers(as_tensor: Any, values: Any) -> tuple[Any, Any]:
    """float64 and the dtype in which they were given."""
    given = np.asarray(values if as_tensor is None else as_tensor).reshape(-1)
    narrow = as_tensor is None or given.dtype.itemsize < 8
    return given.astype(np.float64), np.float32 if narrow else np.float64


class _Places:
    """Where nodes are, by tree and id."""

    def __init__(self, trees: Any, ids: Any) -> None:
        self.lowest, self.span = (int(ids.min()), int(np.ptp(ids)) + 1) if len(ids) else (0, 1)
        keys = self._keys(trees, ids)
        self.order = np.argsort(keys, kind="stable")
        self.sorted = keys[self.order]

    def _keys(self, trees: Any, ids: Any) -> Any:
        return trees * self.span + (ids - self.lowest)

    def of(self, trees: Any, ids: Any) -> Any:
        keys = self._keys(trees, ids)
        at = np.searchsorted(self.sorted[:-1], keys)
        wrong = self.sorted[at] != keys
        wrong |= (ids < self.lowest) | (ids >= self.lowest + self.span)
        if wrong.any():
            i = int(wrong.argmax())
            raise ValueError(f"[onnx] tree {trees[i]} has no node {ids[i]}.")
        return self.order[at]


def _forest(
    trees: Any, ids: Any, modes: Any, features: Any, values: Any, yes: Any, no: Any, missing: Any,
    weights_of: tuple[Any, Any, Any, Any], count: int,
) -> Forest:  # fmt: skip
    """From the attributes of opsets 1 and 3: nodes by (tree, node)."""
    trees, ids = _int64s(trees), _int64s(ids)
    places, n = _Places(trees, ids), len(ids)
    kinds = {"LEAF": LEAF, **{m: i for i, m in enumerate(MODES)}}
    if isinstance(modes, Words):
        mode = np.asarray([kinds[m] for m in modes.words], np.int8)[modes.codes]
    else:
        mode = np.fromiter((kinds[m] for m in modes), np.int8, n)
    inner = np.flatnonzero(mode != LEAF)
    ways = []
    for given in (yes, no):
        own = np.arange(n)
        own[inner] = places.of(trees[inner], _int64s(given)[inner])
        ways.append(own)
    below = np.zeros(n, bool)
    for own in ways:
        below[own[inner]] = True
    tops = np.flatnonzero(~below)
    tops = tops[np.sort(np.unique(trees[tops], return_index=True)[1])]  # the first of each tree
    weights, shown = np.zeros((n, count)), np.zeros((n, count), bool)
    of_trees, of_nodes, targets, given = weights_of
    at, targets = places.of(_int64s(of_trees), _int64s(of_nodes)), _int64s(targets)
    np.add.at(weights, (at, targets), given)
    shown[at, targets] = True
    missing = np.zeros(n, bool) if missing is None or not len(missing) else _int64s(missing) != 0
    yes, no = ways
    return Forest(mode, _int64s(features), values, yes, no, missing, tops, weights, shown)


def _base(as_tensor: Any, values: Any) -> Any:
    base = values if as_tensor is None else as_tensor
    base = None if base is None else np.asarray(base).reshape(-1)
    return (
        base
        if base is None or base.dtype == np.float64 and as_tensor is not None
        else base.astype(np.float32)
    )


def _based(scores: Any, base: Any) -> Any:
    if base is None:
        return scores
    return scores + (base if base.dtype == scores.dtype else base.astype(scores.dtype))


def _floats(x: Any) -> Any:
    return x if x.dtype.name == "float64" else x.astype("float32")


@converts("Regressor", domain=OWN)
def regressor_tables(
    *_: Any, nodes_treeids: Any, nodes_nodeids: Any, nodes_modes: Any, nodes_featureids: Any,
    nodes_truenodeids: Any, nodes_falsenodeids: Any, nodes_values: Any = None,
    nodes_values_as_tensor: Any = None, nodes_missing_value_tracks_true: Any = None,
    nodes_hitrates: Any = None, nodes_hitrates_as_tensor: Any = None, target_treeids: Any,
    target_nodeids: Any, target_ids: Any, target_weights: Any = None,
    target_weights_as_tensor: Any = None, n_targets: int = 1, aggregate_function: str = "SUM",
    base_values: Any = None, base_values_as_tensor: Any = None,
) -> Any:  # fmt: skip
    values, dtype = _numbers(nodes_values_as_tensor, nodes_values)
    weights, of_weights = _numbers(target_weights_as_tensor, target_weights)
    forest = _forest(
        nodes_treeids, nodes_nodeids, nodes_modes, nodes_featureids, values, nodes_truenodeids,
        nodes_falsenodeids, nodes_missing_value_tracks_true,
        (target_treeids, target_nodeids, target_ids, weights), n_targets,
    )  # fmt: skip
    tables = forest.tables(aggregate_function, dtype)
    base = _base(base_values_as_tensor, base_values)
    return *tables[:5], tables[5].astype(of_weights), base, tables[6]


@converts("TreeEnsembleRegressor", domain=ML, host="numbers", prepared={"Regressor": (_TABLES,)})
def tree_regressor(
    x: Any, nodes: Any = None, splits: Any = None, others: Any = None, members: Any = None,
    roots: Any = None, weights: Any = None, base: Any = None, numbers: Any = None, *,
    aggregate_function: str = "SUM", post_transform: str = "NONE",
) -> Any:  # fmt: skip
    tables = nodes, splits, others, members, roots, weights, numbers
    y = aggregated(_floats(x), tables, aggregate_function)
    return transformed(_based(y, base), post_transform).astype("float32")


@converts("Classifier", domain=OWN)
def classifier_tables(
    *_: Any, nodes_treeids: Any, nodes_nodeids: Any, nodes_modes: Any, nodes_featureids: Any,
    nodes_truenodeids: Any, nodes_falsenodeids: Any, nodes_values: Any = None,
    nodes_values_as_tensor: Any = None, nodes_missing_value_tracks_true: Any = None,
    nodes_hitrates: Any = None, nodes_hitrates_as_tensor: Any = None, class_treeids: Any,
    class_nodeids: Any, class_ids: Any, class_weights: Any = None,
    class_weights_as_tensor: Any = None, classlabels_int64s: Any = None,
    classlabels_strings: Any = None, base_values: Any = None, base_values_as_tensor: Any = None,
) -> Any:  # fmt: skip
    values, dtype = _numbers(nodes_values_as_tensor, nodes_values)
    weights, of_weights = _numbers(class_weights_as_tensor, class_weights)
    ids = _int64s(class_ids)
    count = len(classlabels_strings or classlabels_int64s or ())
    binary = count == 2 and len(ids) > 0 and bool((ids == ids[0]).all())
    positive = class_weights is None or bool((np.asarray(class_weights) >= 0).all())
    forest = _forest(
        nodes_treeids, nodes_nodeids, nodes_modes, nodes_featureids, values, nodes_truenodeids,
        nodes_falsenodeids, nodes_missing_value_tracks_true,
        (class_treeids, class_nodeids, ids * 0 if binary else ids, weights),
        1 if binary else max(count, 1),
    )  # fmt: skip
    tables = forest.tables("SUM", dtype, binary, positive)
    base = _base(base_values_as_tensor, base_values)
    base = base[-1:] if binary and base is not None else base
    return *tables[:5], tables[5].astype(of_weights), base, tables[6]


@converts("TreeEnsembleClassifier", domain=ML, host="numbers", prepared={"Classifier": (_TABLES,)})
def tree_classifier(
    x: Any, nodes: Any = None, splits: Any = None, others: Any = None, members: Any = None,
    roots: Any = None, weights: Any = None, base: Any = None, numbers: Any = None, *,
    classlabels_int64s: Any = None, classlabels_strings: Any = None,
    post_transform: str = "NONE",
) -> Any:  # fmt: skip
    ints, words, how = classlabels_int64s, classlabels_strings, post_transform
    scores = aggregated(
        _floats(x), (nodes, splits, others, members, roots, weights, numbers), "SUM"
    )
    scores = _based(scores, base)
    binary, positive = more_of(numbers)
    if binary:  # one score, that of the second class
        one = scores[:, 0]
        other = 1 - one if how == "NONE" and positive else -one
        scores = transformed(fz.stack([other, one], axis=-1), how)
        at = (one > (0.5 if positive and how == "NONE" else 0)).astype("int64")
        best = fz.stack([1 - at, at], axis=-1)
        return chosen(best, ints, words), scores.astype("float32")
    return chosen(scores, ints, words), transformed(scores, how).astype("float32")


@converts("Ensemble", domain=OWN)
def ensemble_tables(
    *_: Any, nodes_featureids: Any, nodes_modes: Any, nodes_splits: Any, nodes_truenodeids: Any,
    nodes_trueleafs: Any, nodes_falsenodeids: Any, nodes_falseleafs: Any, tree_roots: Any,
    leaf_targetids: Any, leaf_weights: Any, membership_values: Any = None,
    nodes_missing_value_tracks_true: Any = None, nodes_hitrates: Any = None, n_targets: int = 1,
    aggregate_function: int = 1,
) -> Any:  # fmt: skip
    """Inner nodes first, then leaves, as one array."""
    inner, leaves = len(nodes_featureids), len(leaf_targetids)
    modes = np.asarray(nodes_modes).reshape(-1).astype(np.int64)
    modes = np.concatenate([np.where(modes == LEAF, MEMBER, modes), np.full(leaves, LEAF)])
    own = np.arange(inner, inner + leaves)
    yes = np.concatenate(
        [_int64s(nodes_truenodeids) + inner * (_int64s(nodes_trueleafs) != 0), own]
    )
    no = np.concatenate(
        [_int64s(nodes_falsenodeids) + inner * (_int64s(nodes_falseleafs) != 0), own]
    )
    pad = np.zeros(leaves, np.int64)
    splits = np.asarray(nodes_splits).reshape(-1)
    given = nodes_missing_value_tracks_true
    missing = _int64s(given) if given is not None and len(given) else np.zeros(inner, np.int64)
    weights = np.zeros((inner + leaves, n_targets))
    shown = np.zeros(weights.shape, bool)
    weights[own, _int64s(leaf_targetids)] = np.asarray(leaf_weights).reshape(-1)
    shown[own, _int64s(leaf_targetids)] = True
    forest = Forest(
        modes, np.concatenate([_int64s(nodes_featureids), pad]),
        np.concatenate([splits.astype(np.float64), pad]), yes, no,
        np.concatenate([missing, pad]) != 0, _int64s(tree_roots), weights, shown,
        _members(membership_values, modes),
    )  # fmt: skip
    tables = forest.tables(_AGGREGATE[aggregate_function], splits.dtype)
    return *tables[:5], tables[5].astype(np.asarray(leaf_weights).dtype), None, tables[6]


@converts("TreeEnsemble", 5, domain=ML, host="numbers", prepared={"Ensemble": (_TABLES,)})
def tree_ensemble(
    x: Any, nodes: Any = None, splits: Any = None, others: Any = None, members: Any = None,
    roots: Any = None, weights: Any = None, base: Any = None, numbers: Any = None, *,
    aggregate_function: int = 1, post_transform: int = 0,
) -> Any:  # fmt: skip
    tables = nodes, splits, others, members, roots, weights, numbers
    return transformed(aggregated(x, tables, _AGGREGATE[aggregate_function]), _POST[post_transform])


def _members(given: Any, modes: Any) -> Any:
    """The values of nodes that test membership, padded with NaN, which equals nothing."""
    if given is None or not (modes == MEMBER).any():
        return None
    sets: list[list[float]] = [[]]
    for v in np.asarray(given).reshape(-1).tolist():
        if v != v:
            sets.append([])
        else:
            sets[-1].append(v)
    order = iter(sets)
    own = [next(order) if k == MEMBER else [] for k in modes.tolist()]
    width = max(map(len, own))
    return np.asarray([s + [np.nan] * (width - len(s)) for s in own])
