"""Regular expressions in RE2's syntax, matched in time linear in the text, for text.py.

Python's parser reads a pattern, once RE2's own notation is put into its; what RE2 has not
(references back, looking around) is refused. An automaton of all ways at once is run over the text
(Thompson 1968), and what a character does to a set of its states is remembered. Patterns that have
one way to go on at most are left to Python's `re`.

https://github.com/google/re2/wiki/Syntax
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

__all__ = ["Pattern"]

_STATES = 20_000  # of an automaton; repetitions are written out
_KEPT = 10_000  # remembered moves
_OWN = 0xF0000  # private characters from here on stand for classes that Python's parser lacks

_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7f", "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f", "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": "!-/:-@[-`{-~", "space": r"\t\n\v\f\r ", "upper": "A-Z", "word": r"0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_WORD = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")
_SETS = {
    _constants.CATEGORY_DIGIT: frozenset("0123456789"),
    _constants.CATEGORY_SPACE: frozenset("\t\n\f\r "),
    _constants.CATEGORY_WORD: _WORD,
}
_NOT = {
    _constants.CATEGORY_NOT_DIGIT: _constants.CATEGORY_DIGIT,
    _constants.CATEGORY_NOT_SPACE: _constants.CATEGORY_SPACE,
    _constants.CATEGORY_NOT_WORD: _constants.CATEGORY_WORD,
}
_NOTATION = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)|\\x\{(?P<hex>[0-9A-Fa-f]+)\}"
    r"|\\(?P<sign>[pP])(?:(?P<one>[A-Z])|\{(?P<no>\^?)(?P<name>\w+)\})"
    r"|\[:(?P<not>\^?)(?P<posix>[a-z]+):\]|(?P<end>\\z)|\(\?<(?=[A-Za-z_])|\\.",
    re.DOTALL,
)


def _refused(pattern: str, why: object) -> ValueError:
    return ValueError(f"[onnx] RegexFullMatch of the pattern {pattern[:200]!r}: {why}.")


class _Notation:
    """Python's notation of a pattern, and the classes that stand in it as private characters."""

    def __init__(self, pattern: str) -> None:
        if any(_OWN <= ord(c) < _OWN + 0x1000 for c in pattern):
            raise ValueError("it has characters of a private area")
        self.classes: list[Any] = []
        self.text = _NOTATION.sub(self._put, pattern)

    def _put(self, found: re.Match[str]) -> str:
        given = found.groupdict()
        if given["quoted"] is not None:
            return re.escape(given["quoted"])
        if given["hex"] is not None:
            code = int(given["hex"], 16)
            if code > 0x10FFFF:
                raise ValueError(f"there is no character {code:#x}")
            return re.escape(chr(code))
        if given["end"] is not None:
            return r"\Z"
        if given["posix"] is not None:
            if given["posix"] not in _POSIX:
                raise ValueError(f"there is no class [:{given['posix']}:]")
            inside = re.compile(f"[{_POSIX[given['posix']]}]").fullmatch
            return self._own(lambda c: inside(c) is not None, bool(given["not"]))
        if given["sign"] is not None:
            name = given["one"] or given["name"]
            if name != "Any" and not re.fullmatch("[CLMNPSZ][a-z]?", name):
                raise ValueError(f"the class {name!r} is not supported: general categories are")
            start = "" if name == "Any" else name
            negated = (given["sign"] == "P") != bool(given["no"])
            return self._own(lambda c: unicodedata.category(c).startswith(start), negated)
        return "(?P<" if found[0] == "(?<" else found[0]

    def _own(self, test: Any, negated: bool) -> str:
        self.classes.append((lambda c: not test(c)) if negated else test)
        return chr(_OWN + len(self.classes) - 1)


def _cased(c: str) -> tuple[str, ...]:
    return tuple({c, c.lower(), c.upper()})


class Pattern:
    """A pattern, parsed. ValueError if it is none, or has what is not supported."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        try:
            notation = _Notation(pattern)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of sets within sets
                tree = _parser.parse(notation.text)
        except (re.error, ValueError, OverflowError) as error:
            raise _refused(pattern, error) from None
        except RecursionError:
            raise _refused(pattern, "groups lie too deep within one another") from None
        self._classes = notation.classes
        self._next: list[list[int]] = []  # of each state
        self._tests: list[Any] = []  # of a character; None: none is taken
        self._places: list[Any] = []  # what must hold between two characters
        self._placed = False
        flags = tree.state.flags
        end = self._state([])
        self._start = self._built(tree, flags, end)
        self._end = end
        self._kept: dict[Any, frozenset[int]] = {}
        self._quick: Any = None
        if not self._classes and self._ways(tree) <= 1:
            self._quick = re.compile(notation.text, re.ASCII)

    def _ways(self, tree: Any) -> int:
        """How many repetitions differ in length; many for what Python understands otherwise."""
        total = 0
        for op, value in tree:
            if op in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
                low, high, body = value
                single = len(body) == 1 and body[0][0] in (
                    _constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN,
                )  # fmt: skip
                total += (low != high) if single else 2
            elif op is _constants.SUBPATTERN:
                total += 2 if value[1] or value[2] else self._ways(value[3])
            elif op is _constants.BRANCH:
                total += 1 + sum(self._ways(branch) for branch in value[1])
            elif op not in (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY):
                total += 2 if op is not _constants.IN or "CATEGORY" in str(value) else 0
        return total + 2 * bool(tree.state.flags & (re.I | re.M | re.S | re.X))

    # The automaton

    def _state(self, following: list[int], test: Any = None, place: Any = None) -> int:
        if len(self._next) >= _STATES:
            raise _refused(self.pattern, f"it has more than {_STATES} states")
        self._next.append(following)
        self._tests.append(test)
        self._places.append(place)
        return len(self._next) - 1

    def _built(self, tree: Any, flags: int, after: int) -> int:
        for op, value in reversed(list(tree)):
            after = self._item(op, value, flags, after)
        return after

    def _item(self, op: Any, value: Any, flags: int, after: int) -> int:
        c = _constants
        if op in (c.LITERAL, c.NOT_LITERAL, c.ANY, c.IN):
            return self._state([after], self._test(op, value, flags))
        if op is c.BRANCH:
            return self._state([self._built(b, flags, after) for b in value[1]])
        if op is c.SUBPATTERN:
            return self._built(value[3], (flags | value[1]) & ~value[2], after)
        if op in (c.MAX_REPEAT, c.MIN_REPEAT):
            low, high, body = value
            return self._repeated(low, high, body, flags, after)
        if op is c.AT:
            self._placed = True
            return self._state([after], place=self._place(value, flags))
        raise _refused(self.pattern, f"{str(op).lower()} is not supported, nor is it in RE2")

    def _repeated(self, low: int, high: Any, body: Any, flags: int, after: int) -> int:
        if high is _constants.MAXREPEAT:
            loop = self._state([])
            self._next[loop] += [self._built(body, flags, loop), after]
            after = loop
        else:
            last = after
            for _ in range(high - low):
                after = self._state([self._built(body, flags, after), last])
        for _ in range(low):
            after = self._built(body, flags, after)
        return after

    def _place(self, value: Any, flags: int) -> Any:
        """A test of the characters before and behind, "" where there is none."""
        c = _constants
        lines = bool(flags & re.M)
        if value in (c.AT_BEGINNING, c.AT_BEGINNING_STRING):
            lines = lines and value is c.AT_BEGINNING
            return lambda before, behind: not before or (lines and before == "\n")
        if value in (c.AT_END, c.AT_END_STRING):
            lines = lines and value is c.AT_END
            return lambda before, behind: not behind or (lines and behind == "\n")
        edge = value is c.AT_BOUNDARY
        return lambda before, behind: ((before in _WORD) != (behind in _WORD)) is edge

    def _test(self, op: Any, value: Any, flags: int) -> Any:
        c, cased = _constants, bool(flags & re.I)
        if op is c.ANY:
            return (lambda x: True) if flags & re.S else (lambda x: x != "\n")
        items = value if op is c.IN else [(c.LITERAL, value)]
        negated = op is c.NOT_LITERAL or items[0][0] is c.NEGATE
        tests = [self._one(kind, of) for kind, of in items if kind is not c.NEGATE]

        def holds(x: str) -> bool:
            given = _cased(x) if cased else (x,)
            return any(len(g) == 1 and t(g) for t in tests for g in given) is not negated

        return holds

    def _one(self, kind: Any, of: Any) -> Any:
        c = _constants
        if kind is c.LITERAL:
            if _OWN <= of < _OWN + len(self._classes):
                return self._classes[of - _OWN]
            return chr(of).__eq__
        if kind is c.RANGE:
            low, high = map(chr, of)
            return lambda x: low <= x <= high
        if of in _NOT:
            others = _SETS[_NOT[of]]
            return lambda x: x not in others
        return _SETS[of].__contains__

    # Matching

    def _reached(self, states: Any, before: str, behind: str) -> set[int]:
        """All states that are reached without a character."""
        found, todo = set(states), list(states)
        while todo:
            state = todo.pop()
            place = self._places[state]
            if self._tests[state] is not None or (place and not place(before, behind)):
                continue
            for following in self._next[state]:
                if following not in found:
                    found.add(following)
                    todo.append(following)
        return found

    def _moved(self, states: frozenset[int], before: str, c: str) -> frozenset[int]:
        key = states, before, c
        known = self._kept.get(key)
        if known is None:
            reached = self._reached(states, before, c)
            known = frozenset(
                self._next[s][0] for s in reached if self._tests[s] and self._tests[s](c)
            )
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[key] = known
        return known

    def matches(self, text: str) -> bool:
        """Whether all of the text fits."""
        if self._quick is not None:
            return self._quick.fullmatch(text) is not None
        states, before = frozenset([self._start]), ""
        for c in text:
            states = self._moved(states, before, c)
            if not states:
                return False
            before = c if self._placed else ""
        return self._end in self._reached(states, before, "")
