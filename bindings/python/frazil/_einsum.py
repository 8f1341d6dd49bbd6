"""einsum: sums of products by a formula of letters, contracted two operands at a time.

A plan (which pairs, which axes) depends on the formula and the shapes only and is kept. Its order
is that of NumPy and opt_einsum: optimal for up to four operands, greedy beyond (Smith and Gray
2018).

>>> einsum("ij,jk->ik", _fz.ones((2, 3)), _fz.ones((3, 4))).shape
(2, 4)
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

from frazil import _frazil as _fz
from frazil._dtypes import result_type as _result_type
from frazil._frazil import Tensor
from frazil._named import public as _public
from frazil._named import tensor as _tensor

__all__ = ["einsum", "einsum_path"]

_ELLIPSIS = tuple("\u0391" + str(i) for i in range(16))  # the axes of "..." from the last one


@_public
def einsum(*operands: Any, optimize: Any = "auto") -> Tensor:
    """Sums of products: einsum("ij,jk->ik", a, b), or einsum(a, [0, 1], b, [1, 2], [0, 2]).

    Letters that the result lacks are summed over; without "->" those that occur once make it up, in
    alphabetical order. A letter that an operand has twice is its diagonal, "..." are axes that
    broadcast. The dtype is the common one. `optimize`: False takes the operands from left to right,
    True, "auto" and "greedy" and "optimal" choose the order of pairs by cost, a list such as
    ["einsum_path", (0, 2), (0, 1)] prescribes it, as opt_einsum does. ValueError for formulas that
    do not fit the operands.

    >>> einsum("ii", _fz.eye(3)).item()
    3.0
    """
    if len(operands) == 3 and optimize == "auto":
        formula, x, y = operands
        if isinstance(x, Tensor) and isinstance(y, Tensor) and x.dtype == y.dtype:
            product = _product(formula, x.shape, y.shape)
            if product:
                return product(x, y)
    formula, tensors = _parse_call(operands)
    path = _path_key(optimize)
    inputs, output, steps, sizes = _plan(formula, tuple(t.shape for t in tensors), path)
    dtype = _result_type(*tensors)
    live = [_single(t.astype(dtype), labels) for t, labels in zip(tensors, inputs, strict=True)]
    for pair in steps:
        parts = [live.pop(i) for i in sorted(pair, reverse=True)][::-1]
        kept = {*output}.union(*(labels for _, labels in live)) if live else {*output}
        while len(parts) > 1:
            first, second = parts[0], parts[1]
            wanted = kept.union(*(labels for _, labels in parts[2:]))
            parts[:2] = [_contract(first, second, wanted, sizes)]
        live.append(_sum_over(parts[0], kept))
    tensor, labels = live[0]
    tensor, labels = _sum_over((tensor, labels), {*output})
    return _fz.permute_dims(tensor, [labels.index(c) for c in output]) if output else tensor


@functools.lru_cache(maxsize=512)
def _product(formula, first, second):
    """A function of two tensors of these shapes that is one matrix product, or None."""
    inputs, output, _, sizes = _plan(formula.replace(" ", ""), (first, second), "auto")
    of_x, of_y = inputs
    batch = [c for c in of_x if c in of_y and c in output]
    gone = [c for c in of_x if c in of_y and c not in output]
    left = [c for c in of_x if c not in of_y]
    right = [c for c in of_y if c not in of_x]
    once = len({*of_x}) == len(of_x) and len({*of_y}) == len(of_y)
    exact = [sizes[c] for c in of_x] == [*first] and [sizes[c] for c in of_y] == [*second]
    if not (once and exact and gone and {*left, *right} <= {*output}):
        return None
    made = [*batch, *left, *right]
    moves = (
        _moves(of_x, [batch, left, gone], sizes),
        _moves(of_y, [batch, gone, right], sizes),
        (None, tuple(sizes[c] for c in made))
        if len(left) != 1 or len(right) != 1
        else (None, None),
        (_order([made.index(c) for c in output]), None),
    )

    def product(x, y):
        return _moved(_moved(_moved(x, moves[0]) @ _moved(y, moves[1]), moves[2]), moves[3])

    return product


def _order(axes):
    return None if axes == [*range(len(axes))] else tuple(axes)


def _moves(labels, groups, sizes):
    """(axes to permute, shape) that put the axes in groups, of which only the first keeps its axes
    apart; None for what need not be done."""
    order = _order([labels.index(c) for group in groups for c in group])
    shape = (*(sizes[c] for c in groups[0]), *(_extent(group, sizes) for group in groups[1:]))
    return order, None if all(len(group) == 1 for group in groups[1:]) else shape


def _moved(x, moves):
    axes, shape = moves
    x = x if axes is None else _fz.permute_dims(x, axes)
    return x if shape is None else _fz.reshape(x, shape)


@_public
def einsum_path(*operands: Any, optimize: Any = "greedy") -> tuple[list[Any], str]:
    """The order in which einsum contracts: ["einsum_path", pairs ...] and a text about its cost.

    >>> a = _fz.ones((2, 100))
    >>> einsum_path("ij,jk,kl->il", a, a.T, a)[0]
    ['einsum_path', (0, 1), (0, 1)]
    """
    formula, tensors = _parse_call(operands)
    path = _path_key("auto" if optimize is None else optimize)
    inputs, output, steps, sizes = _plan(formula, tuple(t.shape for t in tensors), path)
    cost, live = 0, [frozenset(labels) for labels in inputs]
    for pair in steps:
        taken = [live.pop(i) for i in sorted(pair, reverse=True)]
        every = frozenset().union(*taken)
        cost += len(taken) * _extent(every, sizes)
        live.append(every & frozenset(output).union(*live))
    naive = max(len(inputs), 1) * _extent(frozenset(sizes), sizes)
    text = f"naive: {naive:.3e} operations\nchosen: {cost:.3e} operations"
    return ["einsum_path", *steps], text


def _path_key(optimize):
    if isinstance(optimize, (list, tuple)) and optimize and isinstance(optimize[0], (tuple, list)):
        optimize = ["einsum_path", *optimize]
    if isinstance(optimize, (list, tuple)) and optimize and optimize[0] == "einsum_path":
        return tuple(tuple(pair) for pair in optimize[1:])
    if isinstance(optimize, (list, tuple)) and optimize:
        optimize = optimize[0]  # ("greedy", memory limit)
    known = {True: "auto", "auto": "auto", "greedy": "greedy", "optimal": "optimal", False: "left"}
    if not isinstance(optimize, (bool, str)) or optimize not in known:
        raise ValueError(
            f"[einsum] optimize must be a bool, 'auto', 'greedy', 'optimal' or a path, got "
            f"{optimize!r}."
        )
    return known[optimize]


def _parse_call(operands):
    """(formula, tensors), of either way to call."""
    if not operands:
        raise ValueError("[einsum] needs a formula and operands.")
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), [_tensor(x) for x in operands[1:]]
    rest, lists = [*operands], []
    result = rest.pop() if len(rest) % 2 else None
    for labels in [*rest[1::2], *([] if result is None else [result])]:
        parts = ["..." if i is Ellipsis else _letter(i) for i in labels]
        lists.append("".join(parts))
    formula = ",".join(lists[: len(rest) // 2])
    return formula if result is None else f"{formula}->{lists[-1]}", [_tensor(x) for x in rest[::2]]


def _letter(i):
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    if not hasattr(i, "__index__") or not 0 <= i < len(letters):
        raise ValueError(f"[einsum] a label must be an integer from 0 to 51, got {i!r}.")
    return letters[i]


def _labels(term, rank):
    """A term's labels, "..." replaced by one for each axis that it stands for."""
    head, dots, tail = term.partition("...")
    for c in head + tail:
        if not c.isalpha():
            raise ValueError(f"[einsum] '{c}' in '{term}' is no letter.")
    if not dots:
        return tuple(head)
    more = rank - len(head) - len(tail)
    if more < 0:
        raise ValueError(f"[einsum] '{term}' has more letters than an operand of {rank} axes.")
    return (*head, *reversed(_ELLIPSIS[:more]), *tail)


@functools.lru_cache(maxsize=512)
def _plan(formula, shapes, path):
    """(labels of each operand, of the result, pairs of operands in turn, extents by label)."""
    left, arrow, right = formula.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise ValueError(
            f"[einsum] '{formula}' is of {len(terms)} operands, {len(shapes)} are given."
        )
    inputs = [_labels(term, len(shape)) for term, shape in zip(terms, shapes, strict=True)]
    sizes = {}
    for term, labels, shape in zip(terms, inputs, shapes, strict=True):
        if len(labels) != len(shape):
            raise ValueError(f"[einsum] '{term}' does not fit an operand of shape {shape}.")
        for c, n in zip(labels, shape, strict=True):
            if sizes.get(c, 1) not in (1, n) and n != 1:
                raise ValueError(f"[einsum] '{c}' has extents {sizes[c]} and {n} in '{formula}'.")
            sizes[c] = max(sizes.get(c, 1), n) if n else 0
    every = [c for labels in inputs for c in labels]
    dots = [c for c in reversed(_ELLIPSIS) if c in sizes]
    if arrow:
        width = len(right.replace("...", ""))
        output = _labels(right, width + len(dots))
        if dots and "..." not in right:
            raise ValueError(
                f"[einsum] '...' stands for {len(dots)} axes of the operands: the result '{right}' "
                "needs it, too."
            )
        if missing := [c for c in output if c not in sizes]:
            raise ValueError(f"[einsum] the result has '{missing[0]}', which no operand has.")
        if len({*output}) != len(output):
            raise ValueError(f"[einsum] the result '{right}' has a letter twice.")
    else:
        output = (*dots, *sorted(c for c in {*every} if every.count(c) == 1 and c not in dots))
    steps = _steps([frozenset(labels) for labels in inputs], frozenset(output), sizes, path)
    return tuple(inputs), output, steps, sizes


def _steps(inputs, output, sizes, path):
    n = len(inputs)
    if isinstance(path, tuple):
        left = n
        for pair in path:
            if not pair or len({*pair}) != len(pair) or not all(0 <= i < left for i in pair):
                raise ValueError(f"[einsum] {pair} is no step of a path over {left} operands.")
            left += 1 - len(pair)
        if left != 1:
            raise ValueError(f"[einsum] the path {list(path)} leaves {left} operands.")
        return path
    if path == "left":
        return ((0, 1),) + tuple((0, k) for k in range(n - 2, 0, -1)) if n > 1 else ((0,),)
    if n <= 2:
        return (tuple(range(n)),)
    if path == "optimal" or (path == "auto" and n <= 4):
        return _optimal(inputs, output, sizes)[1]
    return _greedy(inputs, output, sizes)


def _extent(labels, sizes):
    out = 1
    for c in labels:
        out *= sizes[c]
    return out


def _merge(live, i, j, output):
    """What is left when two operands are contracted, and the labels of the product."""
    rest = [labels for k, labels in enumerate(live) if k not in (i, j)]
    every = live[i] | live[j]
    return [*rest, every & output.union(*rest)], every


def _optimal(live, output, sizes, best=float("inf")):
    """(cost, steps) of the cheapest order; all are tried, but those that cost more already."""
    if len(live) == 1:
        return 0, ()
    found = (float("inf"), ())
    for i, j in itertools.combinations(range(len(live)), 2):
        after, every = _merge(live, i, j, output)
        cost = _extent(every, sizes)
        if cost < min(best, found[0]):
            more, steps = _optimal(after, output, sizes, min(best, found[0]) - cost)
            if cost + more < found[0]:
                found = (cost + more, ((i, j), *steps))
    return found


def _greedy(live, output, sizes):
    """The pair whose result is smallest beside its operands, again and again."""
    steps = []
    while len(live) > 1:

        def gain(pair):
            i, j = pair
            after, every = _merge(live, i, j, output)  # noqa: B023
            made = _extent(after[-1], sizes) - _extent(live[i], sizes) - _extent(live[j], sizes)  # noqa: B023
            return (not live[i] & live[j], made, _extent(every, sizes))  # noqa: B023

        pair = min(itertools.combinations(range(len(live)), 2), key=gain)
        live, _ = _merge(live, *pair, output)
        steps.append(pair)
    return tuple(steps)


def _single(x, labels):
    """(tensor, labels) with each label once: diagonals of those that occur twice."""
    labels = [*labels]
    while len({*labels}) != len(labels):
        c = next(c for c in labels if labels.count(c) > 1)
        i = labels.index(c)
        j = labels.index(c, i + 1)
        if x.shape[i] != x.shape[j]:  # one of them is 1: all of the other is summed
            x = _fz.broadcast_to(
                x,
                [max(x.shape[i], x.shape[j]) if k in (i, j) else n for k, n in enumerate(x.shape)],
            )
        x = _fz.diagonal(x, 0, i, j)
        labels = [d for k, d in enumerate(labels) if k not in (i, j)] + [c]
    return x, tuple(labels)


def _sum_over(operand, kept):
    """Without the labels that nobody needs any more."""
    x, labels = operand
    gone = tuple(i for i, c in enumerate(labels) if c not in kept)
    if not gone:
        return operand
    total = _fz.any(x, axis=gone) if x.dtype == _fz.bool else _fz.sum(x, axis=gone, dtype=x.dtype)
    return total, tuple(c for c in labels if c in kept)


def _contract(first, second, kept, sizes):
    """The product of two operands, without the labels that are not kept: a batched matrix product
    if there are such, else elementwise."""
    a, b = _sum_over(first, kept | {*second[1]}), _sum_over(second, kept | {*first[1]})
    (x, of_x), (y, of_y) = a, b
    wide = [c for c in of_x if c in of_y]
    # A label of extent 1 on one side broadcasts: it is summed or kept, but not contracted.
    same = [c for c in wide if x.shape[of_x.index(c)] == y.shape[of_y.index(c)]]
    gone = [c for c in same if c not in kept]
    stretched = [c for c in wide if c not in same]
    if not gone or stretched:
        product = _aligned(x, of_x, y, of_y)
        return _sum_over(product, kept)
    batch = [c for c in same if c in kept]
    left = [c for c in of_x if c not in wide]
    right = [c for c in of_y if c not in wide]
    m = _arranged(x, of_x, [batch, left, gone], sizes)
    n = _arranged(y, of_y, [batch, gone, right], sizes)
    shape = [sizes[c] for c in (*batch, *left, *right)]
    return (m @ n).reshape(shape), (*batch, *left, *right)


def _arranged(x, labels, groups, sizes):
    """The axes in groups, of which only the first keeps its axes apart."""
    x = _fz.permute_dims(x, [labels.index(c) for group in groups for c in group])
    extents = [x.shape[i] for i in range(len(groups[0]))]
    return x.reshape((*extents, *(_extent(group, sizes) for group in groups[1:])))


def _aligned(x, of_x, y, of_y):
    labels = (*of_x, *(c for c in of_y if c not in of_x))
    x = x.reshape((*x.shape, *(1,) * (len(labels) - len(of_x))))
    order = [c for c in labels if c in of_y]
    y = _fz.permute_dims(y, [of_y.index(c) for c in order])
    extents = iter(y.shape)
    y = y.reshape([next(extents) if c in of_y else 1 for c in labels])
    return _fz.multiply(x, y), labels
