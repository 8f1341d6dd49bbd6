"""What a function does over the ranges of its dynamic sizes, from runs at some of them.

Where runs are alike but for integers, these are expressions (_export_sizes.py). Where they are not,
the bound is searched by halves: below it and from it on are ranges of their own, and the program
reads beforehand in which one a size lies. For frazil/_export.py.
"""

from __future__ import annotations

import dis
import math
import types
from copy import copy
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil import _export_loops as _loops
from frazil import _export_program as _program
from frazil._export_sizes import sizes_to_try

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from frazil._export_sizes import Dim

Sizes = dict[str, int]

_REMAINDERS = 16  # of a quotient's divisor that are tried
_LARGEST = 1 << 22  # elements of an input at the end of its range
_PARTS = 16  # ranges in which a function may do different things
_FORMS = 3  # of these ranges, with an expression of their own: min(n, 512) has two; a root has many
_FAR = 67  # a size beyond those that are tried for expressions
_FARTHEST = 1 << 10  # of sizes that the function's code names
_FARTHEST_COMPARED = 1 << 14  # and of those that it compares with
_FAR_PRODUCT, _FAR_ELEMENTS = 1 << 13, 1 << 18  # of all sizes; of an input


class Fails(ValueError):
    """The function raises an error at a size."""


class Ranges:
    """Runs of a function, each made once.

    capture(example, sizes) is what it does with the arguments of an example at these sizes; sizes
    of an example are at(example), elements(example, sizes) those of its largest input; `named` are
    the integers in the function's code. again(paths) are numbers of further examples, which tell
    what is done where inputs are one tensor, if what is done asks for that.
    """

    def __init__(
        self,
        dims: Sequence[Dim],
        examples: int,
        at: Callable[[int], Sizes],
        capture: Callable[[int, Sizes], _program.Path],
        elements: Callable[[int, Sizes], int],
        named: Integers,
        again: Callable[[Sequence[_program.Path]], Sequence[int]],
    ) -> None:
        self.symbols = {dim.name: dim for dim in dims}  # their ranges shrink where it fails
        self.at, self.make, self.named = at, capture, named
        self.elements = lambda example, sizes: elements(example, self._full(sizes))
        self.examples, self.again = examples, again
        self.made: dict[Any, _program.Path] = {}
        self.ties: dict[str, str] = {}  # sizes that are another one
        self.unequal: list[tuple[str, str]] = []
        self.parts, self.forms = 1, 0

    def anew(self) -> Ranges:
        """The same, with nothing run yet."""
        self.made, self.parts, self.forms = {}, 1, 0
        return self

    def whole(self) -> _program.Path:
        return self._over([copy(dim) for dim in self.symbols.values()])

    def _full(self, sizes: Sizes) -> Sizes:
        return {name: sizes[self.ties.get(name, name)] for name in self.symbols}

    def _capture(self, example: int, sizes: Sizes) -> _program.Path:
        sizes = self._full(sizes)
        key = example, tuple(sizes.values())
        if key not in self.made:
            self.made[key] = self.make(example, sizes)
        return self.made[key]

    def _over(
        self,
        dims: list[Dim],
        ties: dict[str, str] | None = None,
        unequal: Sequence[tuple[str, str]] = (),
    ) -> _program.Path:
        self.ties, self.unequal = ties or {}, list(unequal)
        try:
            paths = [self._path(e, dims) for e in range(self.examples)]
            paths += [self._path(e, dims) for e in self.again(paths)]
            return _program.by_identity(paths, _loops.merged)
        except _Equal as equal:
            self._count(equal.refusal)
            one, other = equal.names
            tied = [copy(dim) for dim in dims if dim.name != other]
            both = [dim for dim in dims if dim.name in equal.names]
            (dim,) = (dim for dim in tied if dim.name == one)
            dim.min, dim.max = max(d.min for d in both), min(d.max for d in both)
            dim.open = dim.open_end = False
            parts = [
                self._over(tied, {**(ties or {}), other: one}, unequal),
                self._over(dims, ties, [*unequal, equal.names]),
            ]
            return _program.by_difference(one, other, *parts)
        except _Split as split:
            self._count(split.refusal)
            name, bound = split.name, split.bound
        parts = []
        for below in (True, False):
            part = [copy(dim) for dim in dims]
            (cut,) = (dim for dim in part if dim.name == name)
            if below:
                cut.max, cut.open_end = bound - 1, False
            else:
                cut.min, cut.open = bound, False
            parts.append(self._over(part, ties, unequal))
        return _program.by_bound(name, bound, *parts)

    def _count(self, refusal: _program.Refused) -> None:
        self.forms += isinstance(refusal, _program.NoForm)
        if self.parts == _PARTS or self.forms > _FORMS:
            raise refusal from None
        self.parts += 1

    # One example over one range

    def _path(self, example: int, dims: list[Dim]) -> _program.Path:
        """_Split where it is not the same over the whole range."""
        first = {dim.name: _nearest(dim, self.at(example)[dim.name]) for dim in dims}
        for one, other in self.unequal:
            if first[one] == first[other]:
                first |= _beside(first, [dim for dim in dims if dim.name in (one, other)])
        runs, paths = [first], [self._capture(example, first)]

        def add(sizes: Sizes) -> None:
            if any(sizes[one] == sizes[other] for one, other in self.unequal):
                return
            path = self._capture(example, sizes)
            self._require_alike(example, first, sizes, dims)
            runs.append(sizes)
            paths.append(path)

        for sizes in sizes_to_try(dims, first):
            at_end = any(sizes[dim.name] == dim.max for dim in dims)
            if at_end and self.elements(example, sizes) > _LARGEST:
                continue
            if any(sizes[dim.name] > dim.max for dim in dims):  # as far as the range goes by now
                continue
            try:
                add(sizes)
            except Fails:
                if not self._ends_before(example, sizes, first, dims):
                    raise
        for dim in dims:
            self._try_far(example, dim, first, add)
        for dim, another in combinations(dims, 2):
            self._try_equal(example, dim, another, first)
        path = self._unified(example, paths, runs, dims)
        period = _program.period_of(path)
        if period > 1:  # quotients: sizes in a row, so that every remainder is seen, and far ones
            for dim in dims:
                n = first[dim.name]
                some = [n + k * dim.multiple_of for k in range(1, min(period, _REMAINDERS) + 1)]
                for m in (*some, *(k * n + dim.multiple_of for k in (2, 3, 5, 7))):
                    sizes = {**first, dim.name: m}
                    small = self.elements(example, sizes) <= _FAR_ELEMENTS
                    small &= math.prod(sizes.values()) <= _FAR_PRODUCT or m in some
                    if m > dim.max or sizes in runs or not small:
                        continue
                    try:
                        add(sizes)
                    except Fails:
                        if m in some or not dim.open_end:
                            raise
            path = self._unified(example, paths, runs, dims)
        for dim in dims:
            if dim.open and dim.min == 1:
                self._try_one(example, dim, first, paths, runs)
        return path

    def _works(self, example: int, sizes: Sizes) -> bool:
        try:
            self._capture(example, sizes)
        except Fails:
            return False
        return True

    def _ends_before(self, example: int, sizes: Sizes, first: Sizes, dims: list[Dim]) -> bool:
        """Whether it fails because a size lies beyond the end of a range, which is noted."""
        for dim in dims:
            name, n, step = dim.name, sizes[dim.name], dim.multiple_of

            def works(n: int, name: str = name) -> bool:
                return self._works(example, {**first, name: n})

            if not dim.open_end or n <= first[name] or works(n):
                continue
            last = _last(works, first[name], n, step)
            # A size that fails between others is no end.
            if last - step >= first[name] and works(last - step):
                self._end(dim, last)
                return True
        return False

    def _end(self, dim: Dim, last: int) -> None:
        dim.max = self.symbols[dim.name].max = last
        dim.open_end = False

    def _try_far(self, example: int, dim: Dim, first: Sizes, add: Callable[[Sizes], None]) -> None:
        """A larger size; without a maximum the range ends where the function begins to fail."""
        step = dim.multiple_of
        for n in self.named.compared:  # as far as the range goes by now
            if first[dim.name] != n and dim.min <= n <= dim.max and n % step == 0:
                self._try_named(example, {**first, dim.name: n}, add)
        far = max(_FAR, 4 * first[dim.name])
        wanted = [n + 1 for n in (*self.named.others, *self.named.compared) if n > far] + [far]
        for n in sorted(wanted, reverse=True):
            n = min(-(-n // step) * step, dim.max // step * step)
            sizes = {**first, dim.name: n}
            large = math.prod(sizes.values()) > _FAR_PRODUCT
            if n <= first[dim.name] or large or self.elements(example, sizes) > _FAR_ELEMENTS:
                continue
            try:
                return add(sizes)
            except Fails:
                if not dim.open_end:
                    raise
            except _program.OtherReads:  # more data say other things
                return None
            except _Split as split:
                if getattr(split.refusal, "after_read", False):
                    return None
                raise

            def works(n: int) -> bool:
                return self._works(example, {**first, dim.name: n})

            self._end(dim, _last(works, first[dim.name], n, step))
            return self._try_far(example, dim, first, add)
        return None

    def _try_equal(self, example: int, one: Dim, other: Dim, first: Sizes) -> None:
        """Sizes that are one, which code may compare."""
        names = (one.name, other.name)
        if names in self.unequal or one.multiple_of != other.multiple_of:
            return
        n = _nearest(other, first[one.name])
        sizes = {**first, one.name: n, other.name: n}
        if not one.min <= n <= one.max:
            return
        try:
            path = self._capture(example, sizes)
            _program.require_alike(self._capture(example, first), path, first, sizes)
        except (Fails, _program.OtherReads):
            return  # of other ranges, or of data
        except _program.OtherCalls as refusal:
            raise _Equal(names, refusal) from None

    def _try_named(self, example: int, sizes: Sizes, add: Callable[[Sizes], None]) -> None:
        """A size that the code compares with, which may be one of its own."""
        large = math.prod(sizes.values()) > _FAR_PRODUCT
        if large or self.elements(example, sizes) > _FAR_ELEMENTS:
            return
        try:
            add(sizes)
        except (Fails, _program.OtherReads):
            return  # what lies beyond is tried by itself
        except _Split as split:
            if not getattr(split.refusal, "after_read", False):
                raise

    def _try_one(
        self, example: int, dim: Dim, first: Sizes, paths: list[Any], runs: list[Sizes]
    ) -> None:
        """A size of 1, which broadcasting may treat in another way."""
        sizes = {**first, dim.name: 1}
        try:
            if dim.multiple_of > 1:
                raise Fails
            path = self._capture(example, sizes)
        except (Fails, _program.Refused):
            dim.min = self.symbols[dim.name].min = max(2, dim.multiple_of)
            dim.open = False
            return
        try:
            _program.require_alike(paths[0], path, first, sizes)
            _program.unified([*paths, path], [*runs, sizes])
        except (_program.OtherCalls, _program.NoForm) as refusal:
            raise _Split(dim.name, 2, refusal) from None
        except _program.Refused:
            dim.min = self.symbols[dim.name].min = 2
            dim.open = False

    # Where it becomes another

    def _require_alike(self, example: int, first: Sizes, sizes: Sizes, dims: list[Dim]) -> None:
        def refusal_at(sizes: Sizes) -> _program.OtherCalls | None:
            mine, theirs = self._capture(example, first), self._capture(example, sizes)
            try:
                _program.require_alike(mine, theirs, first, sizes)
            except _program.OtherCalls as refusal:
                return refusal
            return None

        refusal = refusal_at(sizes)
        if refusal is None:
            return
        at = dict(first)
        for dim in dims:  # which of them it is that makes the difference
            near, far = at[dim.name], sizes[dim.name]
            at[dim.name] = far
            if near == far or not refusal_at(at):
                continue

            def alike(n: int, name: str = dim.name) -> bool:
                return refusal_at({**at, name: n}) is None

            last = _last(alike, near, far, dim.multiple_of)
            raise _Split(dim.name, _upper(last, near, far, dim.multiple_of), refusal)
        raise refusal

    def _unified(
        self, example: int, paths: list[Any], runs: list[Sizes], dims: list[Dim]
    ) -> _program.Path:
        try:
            return _program.unified(paths, runs)
        except _program.NoForm as refusal:
            for dim in dims:
                self._split_where_form_ends(example, paths, runs, dim, refusal)
            raise

    def _split_where_form_ends(
        self, example: int, paths: list[Any], runs: list[Sizes], dim: Dim, refusal: Any
    ) -> None:
        """_Split where an expression holds over the sizes on one side: min(n, 512)."""
        name, first = dim.name, runs[0]
        row = {run[name]: path for run, path in zip(runs, paths, strict=True)
               if all(run[k] == first[k] for k in first if k != name)}  # fmt: skip
        for order in (sorted(row), sorted(row, reverse=True)):
            for count in range(len(order) - 1, 2, -1):
                some = order[:count]
                if self._holds(example, refusal, some, order[0], first, name) is None:
                    continue

                def holds(n: int, some: list[int] = some) -> bool:
                    return self._holds(example, refusal, [*some, n], n, first, name) is not None

                near, far = order[count - 1], order[count]
                last = _last(holds, near, far, dim.multiple_of)
                raise _Split(name, _upper(last, near, far, dim.multiple_of), refusal)

    def _holds(
        self, example: int, refusal: Any, sizes: list[int], at: int, first: Sizes, name: str
    ) -> str | None:
        runs = [{**first, name: n} for n in sizes]
        try:
            values = [refusal.value_in(self._capture(example, run)) for run in runs]
        except (IndexError, KeyError, AttributeError, TypeError):  # it does something else there
            return None
        found: str | None = refusal.solve(values, [{name: n} for n in sizes])
        return found


class _Equal(Exception):  # noqa: N818 -- caught where ranges are taken apart
    def __init__(self, names: tuple[str, str], refusal: _program.Refused) -> None:
        super().__init__(names)
        self.names, self.refusal = names, refusal


class _Split(Exception):  # noqa: N818 -- caught where ranges are taken apart
    def __init__(self, name: str, bound: int, refusal: _program.Refused) -> None:
        super().__init__(name, bound)
        self.name, self.bound, self.refusal = name, bound, refusal


def _nearest(dim: Dim, n: int) -> int:
    """The size of the range that is nearest, not 1 where others are."""
    step = dim.multiple_of
    low, high = -(-dim.min // step) * step, dim.max // step * step
    return min(max(n, low), high)


def _beside(first: Sizes, dims: Sequence[Dim]) -> Sizes:
    """Another size of one of two dimensions, which are one now."""
    for dim in reversed(dims):
        n, step = first[dim.name], dim.multiple_of
        for other in (n + step, n - step):
            if dim.min <= other <= dim.max:
                return {dim.name: other}
    return {}


def _last(holds: Callable[[int], bool], near: int, far: int, step: int) -> int:
    """The last size from near to far for which it holds: for near it does, for far it does not."""
    while abs(far - near) > step:
        middle = min(near, far) + abs(far - near) // step // 2 * step
        near, far = (middle, far) if holds(middle) else (near, middle)
    return near


def _upper(last: int, near: int, far: int, step: int) -> int:
    """From where on the upper range begins, beside the last size of near's range."""
    return last + step if far > near else last


class Integers(NamedTuple):
    """Integers in code: those that something is compared with, and others."""

    compared: Sequence[int]
    others: Sequence[int]


def integers_of(fn: Any, modules: Sequence[Any]) -> Integers:
    """Of a function, of those that it calls by name and of modules: sizes that it may compare with.
    frazil's own code is left out.
    """
    own = [m for m in modules if type(m).__module__.partition(".")[0] != "frazil"]
    found = {n for m in own for n in vars(m).values() if type(n) is int}
    compared: set[int] = set()
    seen: set[int] = set()
    todo = [fn, *(f for m in own for c in type(m).__mro__ for f in vars(c).values())]
    while todo:
        f = todo.pop()
        f = getattr(f, "__wrapped__", f)
        f = getattr(f, "__func__", f)
        if not isinstance(f, types.FunctionType) or id(f) in seen or len(seen) > 256:
            continue
        seen.add(id(f))
        if (f.__module__ or "").partition(".")[0] == "frazil":
            continue
        for code in _codes(f.__code__):
            found |= {c for c in code.co_consts if type(c) is int}
            named = [f.__globals__.get(name) for name in code.co_names]
            found |= {n for n in named if type(n) is int}
            compared |= set(_compared(code, f.__globals__))
            todo += named
    compared = {n for n in compared if 1 < n < _FARTHEST_COMPARED}
    others = {n for n in found - compared if 1 < n < _FARTHEST}
    return Integers(sorted(compared), sorted(others))


def _compared(code: types.CodeType, names: dict[str, Any]) -> Iterator[int]:
    """Constants and global numbers that are loaded just before something is compared."""
    before: list[dis.Instruction] = []
    for at in dis.get_instructions(code):
        if at.opname == "COMPARE_OP":
            for one in before:
                value = names.get(one.argval) if one.opname == "LOAD_GLOBAL" else one.argval
                if one.opname.startswith("LOAD_") and type(value) is int:
                    yield value
        before = [*before[-3:], at]


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)
