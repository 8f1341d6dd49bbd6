"""What several examples did as one tree over what was read. For frazil/_export_program.py.

A loop that an example went round is one call, of any number of rounds, with the ways through its
body that were taken (tracer/while_loop.h). So examples of other numbers of rounds are the same
program, and those that took other ways add these to the loop. No round at all is what follows the
last one, from the tensors that the loop begins with: its first test and its last one find the
program in the same state.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from frazil import _export_program as _program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from frazil._export_program import Call, Path

__all__ = ["deep_enough", "hands_on", "merged", "renamed"]

_Ref = tuple[str, Any]  # what a value is: kind and name

_MOST_READS = 900  # one after another; the parser takes 1000 blocks within each other
_FRAMES = 4  # of Python for a read
_MOST_AGAIN = 300  # calls that are written again for a loop that is not entered


def merged(paths: Sequence[Path]) -> Path:
    """One tree of what several examples did. A path in it ends where a number is read first."""
    with deep_enough():
        return _merged(paths)


@contextmanager
def deep_enough() -> Iterator[None]:
    """Inside, trees are gone through by functions that call themselves: a level for each read."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, before + _FRAMES * _MOST_READS))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _merged(paths: Sequence[Path]) -> Path:
    for path in paths:
        _require_few_reads(path)
    first, *others = sorted(paths, key=lambda p: -sum(call.kind == "while" for call in p.calls))
    tree = _tree_of(first)
    for path in others:
        if not _Walk(path).follows(_with_none(tree)):
            tree = _together(tree, _tree_of(path), 0)
    return _with_none(tree)


def _require_few_reads(path: Path) -> None:
    reads = [call for call in path.calls if call.kind == "read"]
    if len(reads) <= _MOST_READS:
        return
    origins = [call.origin for call in reads]
    where = max(dict.fromkeys(origins), key=origins.count)
    raise _program.Refused(
        f"it reads {len(reads)} bools and integers of tensors one after another, most of them in "
        f"one line{_program._at(where)}, and a program has up to {_MOST_READS}: make that a loop "
        "whose rounds are alike (no Python number that counts them), fz.while_loop or "
        "fz.fori_loop, or a branch of values, fz.where"
    )


def _tree_of(path: Path) -> Path:
    """Of one example: each number that is read has the one outcome."""
    rest = replace(path, calls=[])
    for call in reversed(path.calls):
        if call.kind == "read":
            cases = {call.more[0]: replace(rest, calls=rest.calls[::-1])}
            rest = type(path)([], "read", read=call.operands[0], origin=call.origin, cases=cases)
        else:
            rest.calls.append(call)
    return replace(rest, calls=rest.calls[::-1])


def _together(a: Path, b: Path, results: int) -> Path:
    """Two trees, which agree up to numbers that are read. `results`: how many there are before."""
    calls = []
    for at in range(max(len(a.calls), len(b.calls))):
        heads = [p.calls[at] if at < len(p.calls) else None for p in (a, b)]
        one, other = heads
        if one is None or other is None or not _same(one, other):
            both = one and other and _joined(one, other)
            if not both:
                raise _apart(a, b, one, other)
            one, moved = both
            b = renamed(b, partial(_moved, moved, results))
        calls.append(one)
        results += one.results
    if (a.end, a.read) != (b.end, b.read):
        raise _program.Refused(f"two examples read different numbers{_program._at(a.origin)}")
    if a.end != "read":
        if (a.outputs, a.writes) != (b.outputs, b.writes):
            raise _program.Refused(
                "two examples of the same branches return or write different things"
            )
        return replace(a, calls=calls)
    cases = a.cases | b.cases
    for outcome in a.cases.keys() & b.cases.keys():
        cases[outcome] = _together(a.cases[outcome], b.cases[outcome], results)
    return replace(a, calls=calls, cases=dict(sorted(cases.items())))


def _moved(places: dict[int, int], results: int, ref: _Ref) -> _Ref:
    """A value behind a loop whose results, from number `results` on, lie in other places."""
    kind, i = ref
    return (kind, results + places.get(i - results, i - results)) if kind == "r" else ref


def _apart(a: Path, b: Path, one: Call | None, other: Call | None) -> _program.Refused:
    for call in (one, other):
        if call is not None and call.kind == "while":
            return _program.Refused(
                f"two examples go round a loop in ways that do not fit{_program._at(call.origin)}: "
                "give one that goes round it several times and takes all branches in it"
            )
    shown = [
        "ends" if call is None and path.end != "read"
        else f"reads a number{_program._at(path.origin)}" if call is None
        else _program._named(call)
        for call, path in ((one, a), (other, b))
    ]  # fmt: skip
    return _program.Refused(
        f"two examples differ before a number is read: one {shown[0]}, the other {shown[1]}: "
        "what tells them apart must be read from a tensor"
    )


def _same(a: Call, b: Call) -> bool:
    return replace(a, origin="") == replace(b, origin="")


def _joined(a: Call, b: Call) -> tuple[Call, dict[int, int]] | None:
    """The loop of which two examples took other ways, and where b's results are among its own."""
    fits = (
        a.kind == b.kind == "while" and a.more == b.more and a.classes == b.classes
        and sorted(a.places) == sorted(b.places)
    )  # fmt: skip
    if not fits:
        return None
    assert a.body is not None and b.body is not None
    order = [b.places.index(place) for place in a.places]  # b's states as a has them
    if [b.operands[i] for i in order] != a.operands[: a.states]:
        return None
    more = [ref for ref in b.operands[b.states :] if ref not in a.operands[a.states :]]
    operands = [*a.operands, *more]
    to = {i: order.index(i) for i in range(b.states)}
    for i in range(b.states, len(b.operands)):
        to[i] = operands.index(b.operands[i], a.states)
    body = renamed(b.body, lambda ref: ("p", to[ref[1]]) if ref[0] == "p" else ref, order)
    together = _together(a.body, body, 0)
    return replace(a, operands=operands, body=together), {i: to[i] for i in range(b.states)}


def renamed(path: Path, name: Callable[[_Ref], _Ref], order: Sequence[int] = ()) -> Path:
    """With other names of values; where an iteration ends with its states in this order."""
    outputs = [name(ref) for ref in path.outputs]
    return replace(
        path,
        calls=[replace(call, operands=[name(ref) for ref in call.operands]) for call in path.calls],
        outputs=[outputs[i] for i in order] if order and path.end == "next" else outputs,
        writes=[(cell, name(value)) for cell, value in path.writes],
        read=path.read and name(path.read),
        cases={outcome: renamed(case, name, order) for outcome, case in path.cases.items()},
    )


def hands_on(path: Path, ref: _Ref) -> bool:
    """Whether a loop is given that tensor, and moves tensors from one state to another."""

    def moves(body: Path) -> bool:
        if any(call.kind == "while" and call.body and moves(call.body) for call in body.calls):
            return True
        if body.end == "next":
            return any(v[0] == "p" and v[1] != i for i, v in enumerate(body.outputs))
        return any(map(moves, body.cases.values()))

    return any(
        call.kind == "while" and call.body is not None and ref in call.operands and moves(call.body)
        for call in path.calls
    )


# No rounds


def _with_none(path: Path, results: int = 0) -> Path:
    """With what the program does where a loop is not entered, if no example tells."""
    calls = [
        replace(call, body=_with_none(call.body)) if call.kind == "while" and call.body else call
        for call in path.calls
    ]
    results += sum(call.results for call in calls)
    cases = {outcome: _with_none(case, results) for outcome, case in path.cases.items()}
    for outcome, case in list(cases.items()):
        none = _none_of(path.read, outcome, case, results)
        if none is not None and none[0] not in cases:
            cases[none[0]] = none[1]
    return replace(path, calls=calls, cases=dict(sorted(cases.items())))


def _size(path: Path) -> int:
    return 1 + len(path.calls) + sum(map(_size, path.cases.values()))


def _none_of(read: _Ref | None, outcome: int, case: Path, first: int) -> tuple[int, Path] | None:
    """The other outcome of a loop's first test, and what is done then: what is done behind it."""
    loop = case.calls[0] if len(case.calls) == 1 else None
    if loop is None or loop.kind != "while" or loop.more[0] != outcome or outcome > 1:
        return None
    behind = case.cases.get(1 - outcome)
    if case.end != "read" or case.read != ("r", first + loop.states) or behind is None:
        return None
    if _size(behind) > _MOST_AGAIN:  # each of many loops in a row would double it
        return None

    def name(ref: _Ref) -> _Ref:
        if ref[0] != "r" or ref[1] < first:
            return ref
        i = ref[1] - first
        if i < loop.states:
            return loop.operands[i]
        assert read is not None
        return read if i == loop.states else ("r", ref[1] - loop.results)

    return 1 - outcome, _without_idle_writes(renamed(behind, name))


def _without_idle_writes(path: Path) -> Path:
    return replace(
        path,
        writes=[(cell, value) for cell, value in path.writes if cell != value],
        cases={outcome: _without_idle_writes(case) for outcome, case in path.cases.items()},
    )


# Rounds that an example went


class _Walk:
    """Goes along a tree with what an example did, round by round."""

    def __init__(self, path: Path) -> None:
        self.path, self.at, self.made = path, 0, 0

    def follows(self, tree: Path) -> bool:
        """Whether the tree does what the example did."""
        results: list[_Ref] = []
        end = self._block(tree, results, None)
        if end is None or self.at < len(self.path.calls):
            return False

        def name(ref: _Ref) -> _Ref:
            return results[ref[1]] if ref[0] == "r" else ref

        writes = [(cell, name(value)) for cell, value in end.writes]
        return [name(ref) for ref in end.outputs] == self.path.outputs and [
            w for w in writes if w[0] != w[1]
        ] == self.path.writes

    def _block(self, block: Path, results: list[_Ref], own: list[_Ref] | None) -> Path | None:
        """The block in which it ended; `own`: the parameters of a loop's body."""

        def name(ref: _Ref) -> _Ref:
            if ref[0] == "r":
                return results[ref[1]]
            return own[ref[1]] if ref[0] == "p" and own is not None else ref

        while True:
            for call in block.calls:
                if not self._call(call, [name(ref) for ref in call.operands], results):
                    return None
            if block.end != "read" or block.read is None:
                return block
            outcome = self._read(name(block.read))
            following = None if outcome is None else block.cases.get(outcome)
            if following is None:
                return None
            block = following

    def _read(self, ref: _Ref) -> int | None:
        if ref[0] == "seen":  # behind a loop: its last test
            return int(ref[1])
        call = self.path.calls[self.at] if self.at < len(self.path.calls) else None
        if call is None or call.kind != "read" or call.operands != [ref]:
            return None
        self.at += 1
        return int(call.more[0])

    def _call(self, call: Call, operands: list[_Ref], results: list[_Ref]) -> bool:
        mine = self.path.calls[self.at] if self.at < len(self.path.calls) else None
        if mine is not None and _same(replace(call, operands=operands), mine):
            self.at += 1
            results += [("r", self.made + i) for i in range(call.results)]
            self.made += call.results
            return True
        if call.kind != "while" or call.body is None:
            return False
        while True:
            made: list[_Ref] = []
            end = self._block(call.body, made, operands)
            if end is None or end.read is None:
                return False

            def name(ref: _Ref, made: list[_Ref] = made, own: list[_Ref] = operands) -> _Ref:
                return made[ref[1]] if ref[0] == "r" else own[ref[1]] if ref[0] == "p" else ref

            outcome = self._read(name(end.read))
            if outcome is None:
                return False
            operands = [*map(name, end.outputs), *operands[call.states :]]
            if outcome != call.more[0]:
                results += [*operands[: call.states], ("seen", outcome), ("seen", 0)]
                return True
