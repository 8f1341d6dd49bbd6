"""einsum: sums of products by a formula of letters, contracted two operands at a time.

core/functions/einsum.h tells in which order.

>>> einsum("ij,jk->ik", _fz.ones((2, 3)), _fz.ones((3, 4))).shape
(2, 4)
"""

from __future__ import annotations

from typing import Any

from frazil import _frazil as _fz  # noqa: F401 -- of the examples
from frazil._frazil import Tensor
from frazil._frazil import inside as _inside
from frazil._named import public as _public

__all__ = ["einsum", "einsum_path"]

_AUTO = "auto"


def einsum(*operands: Any, optimize: Any = _AUTO) -> Tensor:
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
    if optimize == _AUTO and operands and type(operands[0]) is str:  # the quick way
        return _inside.einsum(operands[0], operands[1:], _AUTO)
    formula, arrays = _parse_call(operands)
    return _inside.einsum(formula, arrays, _path_key(optimize))


@_public
def einsum_path(*operands: Any, optimize: Any = "greedy") -> tuple[list[Any], str]:
    """The order in which einsum contracts: ["einsum_path", pairs ...] and a text about its cost.

    >>> a = _fz.ones((2, 100))
    >>> einsum_path("ij,jk,kl->il", a, a.T, a)[0]
    ['einsum_path', (0, 1), (0, 1)]
    """
    formula, arrays = _parse_call(operands)
    path = _path_key("auto" if optimize is None else optimize)
    steps, naive, cost = _inside.einsum_cost(formula, arrays, path)
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
    """(formula, arrays), of either way to call."""
    if not operands:
        raise ValueError("[einsum] needs a formula and operands.")
    if isinstance(operands[0], str):
        return operands[0], operands[1:]
    rest, lists = [*operands], []
    result = rest.pop() if len(rest) % 2 else None
    for labels in [*rest[1::2], *([] if result is None else [result])]:
        parts = ["..." if i is Ellipsis else _letter(i) for i in labels]
        lists.append("".join(parts))
    formula = ",".join(lists[: len(rest) // 2])
    return formula if result is None else f"{formula}->{lists[-1]}", rest[::2]


def _letter(i):
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    if not hasattr(i, "__index__") or not 0 <= i < len(letters):
        raise ValueError(f"[einsum] a label must be an integer from 0 to 51, got {i!r}.")
    return letters[i]
