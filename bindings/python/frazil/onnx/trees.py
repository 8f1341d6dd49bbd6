"""Ensembles of decision trees: all trees go down one level at a time, for all rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np

import frazil as fz
from frazil.onnx._table import ML, converts
from frazil.onnx.ml import chosen, transformed

_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_LEAF = len(_MODES)
_MEMBER = _LEAF + 1
_AGGREGATE = ("AVERAGE", "SUM", "MIN", "MAX")
_POST = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


class _Forest:
    """Nodes of all trees as arrays; a leaf points to itself."""

    def __init__(self, mode: Any, feature: Any, value: Any, yes: Any, no: Any, missing: Any,
                 roots: Any, members: Any = None) -> None:  # fmt: skip
        self.mode, self.feature, self.value = mode, feature, value
        self.yes, self.no, self.missing, self.roots = yes, no, missing, roots
        self.members = members
        self.depth = self._depth()

    def _depth(self) -> int:
        """How many levels there are. ValueError for nodes that lead back to one above."""
        level, depth = set(self.roots.tolist()), 0
        while True:
            inner = [n for n in level if self.mode[n] != _LEAF]
            if not inner:
                return depth
            depth += 1
            if depth > len(self.mode):
                raise ValueError("[onnx] a tree leads back to one of its nodes.")
            level = {int(self.yes[n]) for n in inner} | {int(self.no[n]) for n in inner}

    def leaves(self, x: Any) -> Any:
        """The leaf that each row of x reaches in each tree, (rows, trees)."""
        rows = x.shape[0]
        at = fz.broadcast_to(fz.asarray(self.roots), (rows, len(self.roots)))
        mode, feature = fz.asarray(self.mode), fz.asarray(self.feature)
        value = fz.asarray(self.value, dtype=x.dtype)
        yes, no, missing = (fz.asarray(v) for v in (self.yes, self.no, self.missing))
        used = set(self.mode.tolist()) - {_LEAF}
        for _ in range(self.depth):
            own = fz.take_along_axis(x, fz.take(feature, at, axis=0), axis=1)
            split, kind = fz.take(value, at, axis=0), fz.take(mode, at, axis=0)
            tests = (own <= split, own < split, own >= split, own > split, own == split,
                     own != split)  # fmt: skip
            true = fz.zeros(at.shape, dtype="bool")
            for k, test in enumerate(tests):
                if k in used:
                    true = true | ((kind == k) & test)
            if _MEMBER in used:
                table = fz.asarray(self.members, dtype=x.dtype)
                hit = fz.any(fz.take(table, at, axis=0) == own[..., None], axis=-1)
                true = true | ((kind == _MEMBER) & hit)
            true = true | (fz.isnan(own) & (fz.take(missing, at, axis=0) > 0))
            at = fz.where(true, fz.take(yes, at, axis=0), fz.take(no, at, axis=0))
        return at


def _aggregated(forest: _Forest, x: Any, weights: Any, shown: Any, how: str) -> Any:
    """(rows, targets): the leaves' weights over trees; `shown` tells which targets a leaf has."""
    leaves = forest.leaves(x)
    part = fz.take(fz.asarray(weights, dtype=x.dtype), leaves, axis=0)  # rows, trees, targets
    if how in ("SUM", "AVERAGE"):
        total = fz.sum(part, axis=1)
        return total / len(forest.roots) if how == "AVERAGE" else total
    has = fz.take(fz.asarray(shown), leaves, axis=0)
    limit = float("inf") if how == "MIN" else -float("inf")
    part = fz.where(has, part, fz.full((), limit, dtype=x.dtype))
    best = fz.min(part, axis=1) if how == "MIN" else fz.max(part, axis=1)
    return fz.where(fz.isinf(best), fz.zeros_like(best), best)


def _forest_of_ids(o: dict[str, Any]) -> tuple[_Forest, dict[tuple[int, int], int]]:
    """From the attributes of opsets 1 and 3: nodes by (tree, node)."""
    trees, ids = o["nodes_treeids"], o["nodes_nodeids"]
    place = {key: i for i, key in enumerate(zip(trees, ids, strict=True))}
    modes = [_LEAF if m == "LEAF" else _MODES.index(m) for m in o["nodes_modes"]]
    n = len(ids)

    def pointed(name: str) -> Any:
        out = []
        for i in range(n):
            if modes[i] == _LEAF:
                out.append(i)
                continue
            target = place.get((trees[i], o[name][i]))
            if target is None:
                raise ValueError(f"[onnx] tree {trees[i]} has no node {o[name][i]}.")
            out.append(target)
        return np.asarray(out)

    yes, no = pointed("nodes_truenodeids"), pointed("nodes_falsenodeids")
    below = set(yes[np.asarray(modes) != _LEAF].tolist()) | set(
        no[np.asarray(modes) != _LEAF].tolist()
    )
    first: dict[int, int] = {}
    for i, tree in enumerate(trees):
        if i not in below:
            first.setdefault(tree, i)
    values = o.get("nodes_values_as_tensor")
    values = np.asarray(o["nodes_values"] if values is None else values, np.float64)
    missing = np.asarray(o.get("nodes_missing_value_tracks_true") or [0] * n)
    forest = _Forest(np.asarray(modes), np.asarray(o["nodes_featureids"]), values, yes, no,
                     missing, np.asarray(list(first.values())))  # fmt: skip
    return forest, place


def _leaf_weights(o: dict[str, Any], place: Any, name: str, count: int) -> Any:
    n = len(place)
    weights, shown = np.zeros((n, count)), np.zeros((n, count), bool)
    given: Any = o.get(f"{name}_weights_as_tensor")
    given = o.get(f"{name}_weights") if given is None else given
    rows = zip(o[f"{name}_treeids"], o[f"{name}_nodeids"], o[f"{name}_ids"], given, strict=True)
    for tree, node, target, weight in rows:
        weights[place[tree, node], target] += weight
        shown[place[tree, node], target] = True
    return weights, shown


def _base(o: dict[str, Any]) -> Any:
    given = o.get("base_values_as_tensor")
    return o.get("base_values") if given is None else given


def _floats(x: Any) -> Any:
    return x if x.dtype.name == "float64" else x.astype("float32")


@converts("TreeEnsembleRegressor", domain=ML)
def tree_regressor(x: Any, **options: Any) -> Any:
    forest, place = _forest_of_ids(options)
    count = options.get("n_targets", 1)
    weights, shown = _leaf_weights(options, place, "target", count)
    how = options.get("aggregate_function", "SUM")
    x = _floats(x)
    y = _aggregated(forest, x, weights, shown, how)
    base = _base(options)
    y = y if base is None else y + fz.asarray(np.asarray(base), dtype=y.dtype)
    return transformed(y, options.get("post_transform", "NONE")).astype("float32")


@converts("TreeEnsembleClassifier", domain=ML)
def tree_classifier(x: Any, **options: Any) -> Any:
    ints, words = options.get("classlabels_int64s"), options.get("classlabels_strings")
    count, how = len(words or ints or ()), options.get("post_transform", "NONE")
    forest, place = _forest_of_ids(options)
    binary = count == 2 and len(set(options["class_ids"])) == 1
    weights, shown = _leaf_weights(options, place, "class", max(count, 1))
    scores = _aggregated(forest, _floats(x), weights, shown, "SUM")
    base = _base(options)
    if binary:  # one score, that of the second class
        one = scores[:, options["class_ids"][0]]
        if base is not None:
            one = one + fz.asarray(float(np.asarray(base).reshape(-1)[-1]), dtype=one.dtype)
        positive = all(w >= 0 for w in np.asarray(options.get("class_weights") or [0.0]))
        if how == "LOGISTIC" or (how == "NONE" and positive):
            other = 1 - one if how == "NONE" else -one
        else:
            other = -one
        scores = fz.stack([other, one], axis=-1)
        at = (one > (0.5 if positive and how == "NONE" else 0)).astype("int64")
        scores = transformed(scores, how)
        best = fz.stack([1 - at, at], axis=-1)
        return chosen(best, ints, words), scores.astype("float32")
    if base is not None:
        scores = scores + fz.asarray(np.asarray(base), dtype=scores.dtype)
    return chosen(scores, ints, words), transformed(scores, how).astype("float32")


@converts("TreeEnsemble", 5, domain=ML)
def tree_ensemble(x: Any, **o: Any) -> Any:
    """Inner nodes first, then leaves, as one array."""
    inner, leaves = len(o["nodes_featureids"]), len(o["leaf_targetids"])
    modes = np.asarray(o["nodes_modes"]).reshape(-1).tolist()
    kinds = [_MEMBER if m == 6 else int(m) for m in modes]

    def pointed(ids: Any, is_leaf: Any) -> list[int]:
        return [i + inner if leaf else i for i, leaf in zip(ids, is_leaf, strict=True)]

    own = np.arange(inner, inner + leaves)
    yes = np.concatenate([pointed(o["nodes_truenodeids"], o["nodes_trueleafs"]), own])
    no = np.concatenate([pointed(o["nodes_falsenodeids"], o["nodes_falseleafs"]), own])
    pad = np.zeros(leaves)
    splits = np.asarray(o["nodes_splits"], np.float64).reshape(-1)
    missing = np.asarray(o.get("nodes_missing_value_tracks_true") or [0] * inner)
    forest = _Forest(
        np.asarray([*kinds, *[_LEAF] * leaves]),
        np.concatenate([o["nodes_featureids"], pad]).astype(np.int64),
        np.concatenate([splits, pad]), yes.astype(np.int64), no.astype(np.int64),
        np.concatenate([missing, pad]).astype(np.int64), np.asarray(o["tree_roots"]),
        _members(o, kinds, leaves),
    )  # fmt: skip
    count = o.get("n_targets", 1)
    weights, shown = np.zeros((inner + leaves, count)), np.zeros((inner + leaves, count), bool)
    given = np.asarray(o["leaf_weights"], np.float64).reshape(-1)
    for i, (target, weight) in enumerate(zip(o["leaf_targetids"], given, strict=True)):
        weights[inner + i, target], shown[inner + i, target] = weight, True
    y = _aggregated(forest, x, weights, shown, _AGGREGATE[o.get("aggregate_function", 1)])
    return transformed(y, _POST[o.get("post_transform", 0)])


def _members(o: dict[str, Any], kinds: list[int], leaves: int) -> Any:
    """The values of nodes that test membership, padded with NaN, which equals nothing."""
    given = o.get("membership_values")
    if given is None or _MEMBER not in kinds:
        return None
    sets: list[list[float]] = [[]]
    for v in np.asarray(given).reshape(-1).tolist():
        if v != v:
            sets.append([])
        else:
            sets[-1].append(v)
    order = iter(sets)
    own = [next(order) if k == _MEMBER else [] for k in kinds] + [[]] * leaves
    width = max(map(len, own))
    return np.asarray([s + [np.nan] * (width - len(s)) for s in own])
