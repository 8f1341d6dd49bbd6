"""Symbolic sizes without symbolic tracing: expressions that integers of several runs agree on.

A function is run at several sizes; what differs between the runs (an extent, an attribute, a number
made of a size) is solved as an expression over the symbols and checked on runs that the solution
did not use. Forms: sums of products of sizes with whole coefficients, one quotient by a constant,
rounded down, and products of functions of one size each. What has none of these is refused. For
frazil/_export.py.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
import struct
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Dim", "no_expression", "number_of", "periods", "sizes_to_try", "solve"]

LARGEST = 2**62
# Of all remainders by 2, 3 and 4, so that quotients are told apart.
_TRIED = (7, 10, 17, 12, 5, 22, 9, 3, 4, 2, 6)
_DIVISORS = (*range(2, 17), 20, 24, 32, 64)
_MOST_FACTORS = 64
_PARTS = (2, 3, 4, 6, 8)  # of sums of products that are whole at all sizes


class Dim:
    """A size that differs from call to call: its name, and from where to where it is exported.

    Parameters
    ----------
    name : str
        A name of letters, digits and "_"; the same name is the same size.
    min, max : int
        The range, ends included. Calls of other sizes are errors. Without `min` it begins at 1, or
        at 2 where the function fails at 1 (min=0 has empty arrays, too); without `max` it ends
        where the function begins to fail.
    multiple_of : int
        Sizes that are tried at the export are multiples of it, as those of later calls must be.

    >>> Dim("batch", max=64)
    Dim('batch', min=1, max=64)
    """

    def __init__(
        self, name: str, min: int | None = None, max: int | None = None, multiple_of: int = 1
    ) -> None:
        if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
            raise ValueError(f"[export] a size needs a name of letters and digits, got {name!r}.")
        low, high = 1 if min is None else min, LARGEST if max is None else max
        for what, value, least in (
            ("min", low, 0), ("max", high, 1), ("multiple_of", multiple_of, 1)
        ):  # fmt: skip
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"[export] {what} of {name!r} must be an integer from {least} on, "
                                 f"got {value!r}.")  # fmt: skip
        if low > high:
            raise ValueError(f"[export] {name!r} is from {low} to {high}: no size is.")
        self.name, self.min, self.max, self.multiple_of = name, low, high, multiple_of
        self.open, self.open_end = min is None, max is None

    def __repr__(self) -> str:
        most = "" if self.max == LARGEST else f", max={self.max}"
        step = "" if self.multiple_of == 1 else f", multiple_of={self.multiple_of}"
        return f"Dim({self.name!r}, min={self.min}{most}{step})"


def sizes_to_try(dims: Sequence[Dim], example: dict[str, int]) -> list[dict[str, int]]:
    """Where a function is run besides its example: each size alone, then all of them together."""
    others: dict[str, list[int]] = {}
    for dim in dims:
        at = example[dim.name]
        near = [k * dim.multiple_of for k in _TRIED] + [at + dim.multiple_of * k for k in (1, 2, 3)]
        low = -(-dim.min // dim.multiple_of) * dim.multiple_of
        near += [low + dim.multiple_of * k for k in range(4)]
        fit = [n for n in dict.fromkeys(near) if dim.min <= n <= dim.max and n not in (at, 1)]
        others[dim.name] = fit
    tries: list[dict[str, int]] = []
    for dim in dims:
        tries += [{**example, dim.name: n} for n in others[dim.name][:4]]
    for k in range(2 if len(dims) > 1 else 0):
        # No two symbols have one size, and no product is another's.
        taken: set[int] = set()
        chosen = {}
        for dim in dims:
            free = [n for n in others[dim.name][k:] if n not in taken] or [example[dim.name]]
            chosen[dim.name] = free[0]
            taken.add(free[0])
        tries.append(chosen)
    for dim in dims:  # the ends of the range, if they are no large arrays
        least = [n for n in others[dim.name] if n < example[dim.name]]
        tries += [{**example, dim.name: min(least)}] if least else []
        if dim.max <= 4096 and dim.max % dim.multiple_of == 0:
            tries.append({**example, dim.name: dim.max})
        if dim.min <= 1 <= dim.max and dim.multiple_of == 1 and not dim.open:
            tries.append({**example, dim.name: 1})
    unique = []
    for sizes in tries:
        if sizes != example and sizes not in unique:
            unique.append(sizes)
    return unique


def solve(values: Sequence[int], runs: Sequence[dict[str, int]]) -> str | None:
    """An expression that has these values at these sizes; None if there is none of a known form."""
    if len(set(values)) == 1:
        return str(values[0])
    names = list(runs[0])
    for count in range(1, 4):
        for monomials in itertools.combinations(_monomials(names), count):
            found = _combination(values, runs, monomials)
            if found is not None:
                return _text(found)
    for name in names:
        found_text = _quotient(values, runs, name)
        if found_text is not None:
            return found_text
    for common, count in itertools.product(_PARTS, (2, 3)):  # n * (n + 1) / 2
        for monomials in itertools.combinations(_monomials(names), count):
            found = _combination([v * common for v in values], runs, monomials)
            if found is not None:
                return f"({_text(found)}) / {common}"
    return _product(values, runs) if len(names) > 1 else None


def _product(values: Sequence[int], runs: Sequence[dict[str, int]]) -> str | None:
    """A function of one size times one of the others: windows along two axes."""
    first = runs[0]
    for name in first:
        others = [n for n in first if n != name]
        alone = [i for i, run in enumerate(runs) if all(run[n] == first[n] for n in others)]
        mine, my_runs = [values[i] for i in alone], [{name: runs[i][name]} for i in alone]
        common = math.gcd(*mine)
        if len(set(mine)) < 2 or not 0 < common < 1 << 20:
            continue
        factors = (d for d in range(1, common + 1) if common % d == 0)
        for factor in itertools.islice(factors, _MOST_FACTORS):
            found = solve([v // factor for v in mine], my_runs)
            if found is None:
                continue
            of_size = [_evaluated(found, run) for run in runs]
            if all(f and v % f == 0 for f, v in zip(of_size, values, strict=True)):
                rest = [v // f for f, v in zip(of_size, values, strict=True)]
                other = _of_others(rest, runs, others)
                if other is not None:
                    return f"({found}) * ({other})"
    return None


def _of_others(
    values: Sequence[int], runs: Sequence[dict[str, int]], names: list[str]
) -> str | None:
    """The same without a size, on which the values may not depend."""
    known: dict[tuple[int, ...], int] = {}
    for v, run in zip(values, runs, strict=True):
        if known.setdefault(tuple(run[n] for n in names), v) != v:
            return None
    return solve(list(known.values()), [dict(zip(names, k, strict=True)) for k in known])


def _evaluated(text: str, run: dict[str, int]) -> int:
    """An expression of this module's own making."""

    def value(node: ast.expr) -> int:
        if isinstance(node, ast.BinOp):
            a, b = value(node.left), value(node.right)
            if isinstance(node.op, ast.Add):
                return a + b
            return a * b if isinstance(node.op, ast.Mult) else a // b
        if isinstance(node, ast.UnaryOp):
            return -value(node.operand)
        if isinstance(node, ast.Name):
            return run[node.id]
        assert isinstance(node, ast.Constant) and isinstance(node.value, int)
        return node.value

    return value(ast.parse(text, mode="eval").body)


def _monomials(names):
    """Products of sizes, short ones first; () is 1."""
    singles = [(n,) for n in names]
    pairs = list(itertools.combinations_with_replacement(names, 2))
    triples = list(itertools.combinations(names, 3))
    return [*singles, (), *pairs, *triples]


def _value(monomial, sizes):
    return math.prod(sizes[name] for name in monomial)


def _combination(values, runs, monomials):
    """Whole coefficients of the monomials, from as many runs as there are, checked on all."""
    rows = [[Fraction(_value(m, sizes)) for m in monomials] for sizes in runs]
    if len(runs) <= len(monomials):
        return None
    solution = _solved(rows, values)
    if solution is None or any(c.denominator != 1 for c in solution) or not all(solution):
        return None
    if any(sum(c * x for c, x in zip(solution, row, strict=True)) != v
           for row, v in zip(rows, values, strict=True)):  # fmt: skip
        return None
    return [(int(c), m) for c, m in zip(solution, monomials, strict=True)]


def _solved(rows, values):
    """The unknowns by elimination, from the first rows that are independent; None if there are too
    few."""
    n = len(rows[0])
    system = []  # the unknown that only this row has, and the row
    for row, value in zip(rows, values, strict=True):
        new = [*row, Fraction(value)]
        for lead, known in system:
            new = [a - new[lead] * b for a, b in zip(new, known, strict=True)]
        lead = next((i for i in range(n) if new[i]), None)
        if lead is None:
            continue
        new = [a / new[lead] for a in new]
        system = [
            (i, [a - known[lead] * b for a, b in zip(known, new, strict=True)])
            for i, known in system
        ]
        system.append((lead, new))
        if len(system) == n:
            return [row[n] for _, row in sorted(system)]
    return None


def _quotient(values, runs, name):
    """(a * size + b) / c, rounded down, plus a constant; with a = 1 also c times it, and that less
    the size: what fills up to a multiple."""
    sizes = [run[name] for run in runs]
    pairs = dict(zip(sizes, values, strict=True))
    if any(pairs[s] != v for s, v in zip(sizes, values, strict=True)) or len(pairs) < 4:
        return None
    for c in _DIVISORS:
        for a, times, less in ((1, 1, 0), (-1, 1, 0), (2, 1, 0), (3, 1, 0), (1, c, 0), (1, c, 1)):
            # b in [0, c), and what is added behind the division.
            for b in range(c):
                s, v = next(iter(pairs.items()))
                plus = v - (a * s + b) // c * times + less * s
                if all((a * s + b) // c * times - less * s + plus == v for s, v in pairs.items()):
                    inner = _text([(a, (name,)), *([(b, ())] if b else [])])
                    outer = f"({inner}) / {c}" + (f" * {c}" if times > 1 else "")
                    outer += f" + {name} * -1" if less else ""
                    return f"{outer} + {plus}" if plus else outer
    return None


def _text(combination):
    terms = []
    for c, monomial in combination:
        factors = [*monomial, *([str(c)] if c != 1 or not monomial else [])]
        terms.append(" * ".join(factors))
    return " + ".join(terms)


_PACKED = {"float32": "f", "float64": "d", "float16": "e"}
_CLEAR = 1000
_UNSIGNED = {2: "H", 4: "I", 8: "Q"}


def number_of(dtype: str, bits: Sequence[int], runs: Sequence[dict[str, int]]) -> str | None:
    """What a number beside tensors is of the sizes: "value batch", "inverse batch * 4" ..."""
    if dtype not in _PACKED:
        width = {"bool": 1, "int8": 8, "int16": 16, "int32": 32, "int64": 64}.get(dtype)
        values = [b - (1 << width) if width and width > 1 and b >> (width - 1) else b for b in bits]
        found = solve(values, runs)
        return None if found is None else f"value {found}"
    code = _PACKED[dtype]
    size = struct.calcsize(code)
    values = [struct.unpack(code, struct.pack(_UNSIGNED[size], b))[0] for b in bits]

    def rounded(v: float) -> int:
        return int(struct.unpack(_UNSIGNED[size], struct.pack(code, v))[0])

    forms: list[tuple[str, Callable[[float], float], Callable[[int], float]]] = [
        ("value", lambda v: v, lambda n: float(n)),
        ("inverse", lambda v: 1 / v, lambda n: 1 / n),
        ("root", lambda v: v * v, lambda n: math.sqrt(n)),
        ("inverse_root", lambda v: 1 / (v * v), lambda n: 1 / math.sqrt(n)),
    ]
    for form, back, forth in forms:
        try:
            whole = [round(back(v)) for v in values]
            if any(rounded(forth(n)) != b for n, b in zip(whole, bits, strict=True)):
                continue
        except (ArithmeticError, ValueError):
            continue
        found = solve(whole, runs)
        if found is not None:
            return f"{form} {found}"
    return _unbiased(values, bits, runs, rounded)


def _unbiased(
    values: Sequence[float],
    bits: Sequence[int],
    runs: Sequence[dict[str, int]],
    rounded: Callable[[float], int],
) -> str | None:
    """n / (n - 1): n is told by values that are not too near to 1, and has to give them all."""
    clear = [i for i, v in enumerate(values) if v > 1 and v / (v - 1) < _CLEAR]
    whole = [round(values[i] / (values[i] - 1)) for i in clear]
    found = solve(whole, [runs[i] for i in clear]) if len(clear) > 1 else None
    if found is None:
        return None
    counts = [_evaluated(found, run) for run in runs]
    good = all(n > 1 and rounded(n / (n - 1)) == b for n, b in zip(counts, bits, strict=True))
    return f"unbiased {found}" if good else None


def periods(text: str) -> int:
    """The largest divisor of an expression: so many sizes in a row tell whether it is right."""
    return max([1, *(int(word) for word in re.findall(r"/ (\d+)", text))])


def no_expression(values: Sequence[object], runs: Sequence[dict[str, int]]) -> str:
    """The values beside the sizes, for errors."""
    shown = [
        f"{value} at " + ", ".join(f"{k}={v}" for k, v in run.items())
        for value, run in list(zip(values, runs, strict=True))[:3]
    ]
    return "; ".join(shown)
