"""Ensembles of decision trees as tables, and the way of rows through them, for trees.py.

Nodes are numbered level by level, the "no" child right behind the "yes" child, so that a step is
`first + test`. A table holds `first << shift | feature` in one integer. Where all comparisons are
of one kind, tests are `own > split` (or >=) alone: a leaf's split is NaN, which no value passes,
and NaN among rows are replaced beforehand by the infinity that goes where the node wants them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import frazil as fz

__all__ = ["LEAF", "MEMBER", "MODES", "Forest", "aggregated", "more_of"]

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_LEQ, _LT, _GTE, _GT, _EQ, _NEQ = range(len(MODES))
LEAF = len(MODES)
MEMBER = LEAF + 1
_LAX, _STRICT, _ANY = range(3)  # tests: all <= or >, all < or >=, or anything
_AHEAD = 9  # of the numbers that `Forest.tables` gives: where the caller's begin


class Forest(NamedTuple):
    """Nodes of all trees as arrays; a leaf points to itself."""

    mode: Any
    feature: Any
    value: Any
    yes: Any
    no: Any
    missing: Any  # whether NaN goes where "yes" goes
    roots: Any
    weights: Any  # of each node, by target
    shown: Any  # whether a node has a weight for a target
    members: Any = None

    def _turned(self) -> Forest:
        """With >= and > as < and <= whose children are swapped."""
        swap = (self.mode == _GTE) | (self.mode == _GT)
        if not swap.any():
            return self
        return self._replace(
            mode=np.where(swap, np.where(self.mode == _GTE, _LT, _LEQ), self.mode),
            yes=np.where(swap, self.no, self.yes),
            no=np.where(swap, self.yes, self.no),
            missing=self.missing ^ swap,
        )

    def _ordered(self) -> tuple[Any, Any, Any, int]:
        """Nodes level by level, the place of the "yes" child of each (a leaf's own), the tree of
        each, and how many levels there are below the roots. ValueError for nodes that lead back to
        one above."""
        level, depth, count = self.roots, 0, len(self.roots)
        tree = np.arange(count)
        order, first, trees = [], [], []
        most = 16 * (len(self.mode) + count)  # nodes may have several parents
        while True:
            inner = self.mode[level] != LEAF
            own = count - len(level) + np.arange(len(level))
            order.append(level)
            trees.append(tree)
            first.append(np.where(inner, count + 2 * (np.cumsum(inner) - inner), own))
            level, tree = level[inner], np.repeat(tree[inner], 2)
            if not len(level):
                return *map(np.concatenate, (order, first, trees)), depth  # type: ignore[return-value]
            level = np.stack([self.yes[level], self.no[level]], axis=1).reshape(-1)
            depth, count = depth + 1, count + len(level)
            if depth > len(self.mode) or count > most:
                raise ValueError("[onnx] a tree leads back to one of its nodes.")

    def _kind(self) -> int:
        used = set(np.unique(self.mode).tolist()) - {LEAF}
        finite = np.isfinite(self.value[self.mode != LEAF]).all()
        if not finite or len(used) > 1 or used & {_EQ, _NEQ, MEMBER}:
            return _ANY
        return _STRICT if _LT in used else _LAX

    def tables(self, how: str, dtype: Any, *more: int) -> tuple[Any, ...]:
        """What `aggregated` wants: nodes, splits, others, members, roots, weights, numbers. `more`
        numbers are handed on."""
        used = sum(1 << int(m) for m in np.unique(self.mode))
        turned = self._turned()
        kind = turned._kind()
        own = self if kind == _ANY else turned
        order, first, tree, depth = own._ordered()
        mode, missing = own.mode[order], own.missing[order]
        inner = mode != LEAF
        feature = np.where(inner, own.feature[order], 0)
        if feature.min(initial=0) < 0:
            raise ValueError(f"[onnx] a tree tests feature {feature.min()}.")
        low, high = bool(missing[inner].any()), not missing[inner].all()
        if kind != _ANY and low and high:
            feature = 2 * feature + (missing & inner)
        shift = int(feature.max(initial=0)).bit_length()
        wide = np.int32 if len(order).bit_length() + shift < 32 else np.int64
        others = members = None
        if kind == _ANY:
            others = np.stack([mode, missing]).astype(np.int32)
            members = None if self.members is None else self.members[order].astype(dtype)
        weights, shown = self.weights[order], self.shown[order]
        trees, targets, roots, apart = len(self.roots), self.weights.shape[1], None, 0
        if how in ("MIN", "MAX"):
            weights = np.where(shown, weights, np.inf if how == "MIN" else -np.inf)
        elif targets > 1:  # trees of one target each, in equal numbers: their weights alone
            has = np.stack([np.bincount(tree[s], minlength=trees) > 0 for s in shown.T], axis=1)
            only = has.argmax(axis=1)
            if (has.sum(axis=1) == 1).all() and len(
                set(np.bincount(only, minlength=targets).tolist())
            ) == 1:  # fmt: skip
                weights, apart = weights.sum(axis=1, keepdims=True), targets
                roots = np.argsort(only, kind="stable")
        roots = np.arange(trees) if roots is None else roots
        numbers = [kind, depth, shift, low, high, apart, used, trees, targets, *more]
        nodes = ((first << shift) | feature).astype(wide)
        splits = np.where(inner, own.value[order], np.nan).astype(dtype)
        weights = weights[:, 0] if weights.shape[1] == 1 else weights
        told = np.asarray(numbers, np.int64)
        return nodes, splits, others, members, roots.astype(wide), weights, told


def _sided(x: Any, low: int, high: int) -> Any:
    """Rows with NaN as infinities: the high one fails every test, the low one passes."""
    nan, limits = fz.isnan(x), []
    limits += [float("inf")] if high or not low else []
    limits += [-float("inf")] if low else []
    sides = [fz.where(nan, fz.full((), limit, dtype=x.dtype), x) for limit in limits]
    if len(sides) == 1:
        return sides[0]
    return fz.stack(sides, axis=-1).reshape((x.shape[0], 2 * x.shape[1]))


def _general(own: Any, split: Any, at: Any, others: Any, members: Any, used: int) -> Any:
    """Whether "no" is the answer, of nodes of several kinds: 0 or 1."""
    kind = fz.take(others[0], at, axis=0)
    tests = (own <= split, own < split, own >= split, own > split, own == split, own != split)
    true = kind == LEAF
    for k, test in enumerate(tests):
        if used >> k & 1:
            true = true | ((kind == k) & test)
    if members is not None:
        hit = fz.any(fz.take(members, at, axis=0).astype(own.dtype) == own[..., None], axis=-1)
        true = true | ((kind == MEMBER) & hit)
    return ~(true | (fz.isnan(own) & (fz.take(others[1], at, axis=0) > 0)))


def _leaves(x: Any, nodes: Any, splits: Any, others: Any, members: Any, roots: Any, of: Any) -> Any:
    """The leaf that each row of x reaches in each tree, (rows, trees)."""
    kind, depth, shift, low, high, _, used = of[:7]
    x = x if kind == _ANY else _sided(x, low, high)
    splits = splits if splits.dtype == x.dtype else splits.astype(x.dtype)
    at = fz.broadcast_to(roots, (x.shape[0], roots.shape[0]))
    for _ in range(depth):
        node, split = fz.take(nodes, at, axis=0), fz.take(splits, at, axis=0)
        own = fz.take_along_axis(x, node & ((1 << shift) - 1), axis=1)
        if kind == _ANY:
            no = _general(own, split, at, others, members, used)
        else:
            no = own >= split if kind == _STRICT else own > split
        at = (node >> shift) + no
    return at


def aggregated(x: Any, tables: tuple[Any, ...], how: str) -> Any:
    """(rows, targets): the weights of the leaves over trees, of what `Forest.tables` made."""
    nodes, splits, others, members, roots, weights, numbers = tables
    of = tuple(numbers)
    apart, trees, targets = of[5], of[7], of[8]
    leaves = _leaves(x, nodes, splits, others, members, roots, of)
    weights = weights if weights.dtype == x.dtype else weights.astype(x.dtype)
    part = fz.take(weights, leaves, axis=0)  # rows, trees (, targets)
    if how in ("SUM", "AVERAGE"):
        if apart:
            total = fz.sum(part.reshape((x.shape[0], targets, trees // targets)), axis=-1)
        else:
            total = fz.sum(part, axis=1)
        total = total[:, None] if targets == 1 else total
        return total / trees if how == "AVERAGE" else total
    best = fz.min(part, axis=1) if how == "MIN" else fz.max(part, axis=1)
    best = best[:, None] if targets == 1 else best
    return fz.where(fz.isinf(best), fz.zeros_like(best), best)


def more_of(numbers: Any) -> tuple[int, ...]:
    """The caller's own numbers."""
    return tuple(numbers)[_AHEAD:]
