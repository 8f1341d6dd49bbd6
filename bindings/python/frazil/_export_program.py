"""From what calls did to the text of a frozen program (frozen/program.h). For frazil/_export.py.

A path is what one call did: calls of ops, checks of indices, reads of numbers, an end. Paths of one
example at several sizes are unified: what they have in common stays, integers that differ become
expressions (_export_sizes.py). Paths of several examples are then merged into a tree over what was
read (_export_loops.py). Where other sizes do other things, a bound of a size is read before.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from frazil import _export_sizes as _sizes
from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._views import elements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = [
    "Call", "Names", "NoForm", "OtherCalls", "OtherReads", "Path", "Refused", "by_bound",
    "by_difference", "by_identity", "path_of", "period_of", "require_alike", "text_of", "unified",
]  # fmt: skip

_Ref = tuple[str, Any]  # what a value is: kind and name

_value_of = _fz.program.value_of
_SHORT = {
    "bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
    "uint16": "u16", "uint32": "u32", "uint64": "u64", "float16": "f16", "bfloat16": "bf16",
    "float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128",
}  # fmt: skip
# Whose bodies frazil has, from operands and attributes (frozen/run.cc).
_CPU = 0  # its word among devices (core/device.h)
_KNOWN = {"silu", "gelu", "softmax", "log_softmax", "layer_norm", "positions_of"}


class Refused(Exception):  # noqa: N818 -- becomes a ValueError with the function's name
    """Why a call cannot be written down."""


class OtherCalls(Refused):
    """Other calls at one size than at another."""

    after_read = False  # so that it may be data that makes the difference


class OtherReads(Refused):
    """Data that is read says something else at one size than at another."""


class NoForm(Refused):
    """An integer that no expression gives at all sizes: where it stands, and what finds one."""

    def __init__(self, text: str, solve: Callable[..., str | None]) -> None:
        super().__init__(text)
        self.solve = solve
        self.way: list[tuple[str, int]] = []  # from the value up to the path

    def value_in(self, path: Path) -> Any:
        at: Any = path
        for kind, i in reversed(self.way):
            at = at.calls[i] if kind == "call" else at.cases[i] if kind == "case" else at
            at = at.body if kind == "body" else at.attrs[i] if kind == "attr" else at
            at = at.operands[i][1][1] if kind == "operand" else at
            at = at.outputs[i][1][1] if kind == "output" else at
            at = at.writes[i][1][1][1] if kind == "write" else at
        return at


def short(dtype: str) -> str:
    """The name of a dtype in programs."""
    return _SHORT[dtype]


class Names:
    """What tensors are called: inputs by number, others by name. Grows as constants are met."""

    def __init__(self) -> None:
        self.inputs: dict[int, int] = {}  # id of a Python tensor: number of the input
        self.known: dict[int, str] = {}  # id of a Python tensor: its name
        self.values: dict[int, str] = {}  # content: name
        self.tensors: dict[str, Tensor] = {}  # in the file, by name; what is there at the export
        self.constants: list[tuple[str, Tensor]] = []
        self.kept: list[Tensor] = []  # whose contents are told apart by address

    def know(self, name: str, tensor: Tensor) -> None:
        if id(tensor) in self.known or id(tensor) in self.inputs:
            return
        self.known[id(tensor)] = name
        self.values.setdefault(_value_of(tensor), name)
        self.tensors.setdefault(name, tensor)
        self.kept.append(tensor)

    def of_cell(self, tensor: Tensor) -> tuple[str, Any]:
        """What a parameter of a program is."""
        if id(tensor) in self.inputs:
            return ("p", self.inputs[id(tensor)])
        if id(tensor) not in self.known:
            self.know(self._free("state"), tensor)
        return ("t", self.known[id(tensor)])

    def of_constant(self, tensor: Tensor) -> tuple[str, Any]:
        """What content is that a body caught or made of nothing but Python."""
        name = self.values.get(_value_of(tensor))
        if name is not None:
            return ("t", name)
        for known, other in self.constants:
            if _same(tensor, other):
                return ("t", known)
        name = self._free("constant")
        self.constants.append((name, tensor))
        self.kept.append(tensor)
        self.values[_value_of(tensor)] = name
        return ("t", name)

    def _free(self, stem: str) -> str:
        taken = {*self.tensors, *(name for name, _ in self.constants)}
        return next(n for k in range(len(taken) + 1) if (n := f"{stem}.{k}") not in taken)


def _same(a: Tensor, b: Tensor) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    a, b = (t.detach().to_device("cpu") for t in (a, b))
    return elements(a) == elements(b)


@dataclass
class Call:
    """A call as data: strings, integers and nested Calls, so that two are compared by ==."""

    kind: str  # "op", "call", "while", "repeat", "check", "read", "precision"
    name: str
    operands: list[tuple[str, Any]] = field(default_factory=list)
    attrs: list[Any] = field(default_factory=list)
    results: int = 0
    origin: str = ""
    body: Path | None = None
    states: int = 0
    more: tuple[Any, ...] = ()
    # Of a "while": tracer/while_loop.h
    classes: list[int] = field(default_factory=list, compare=False)
    places: list[int] = field(default_factory=list, compare=False)


@dataclass
class Path:
    """Calls in their order, and how they end."""

    calls: list[Call]
    end: str  # "return", "next", "read"
    outputs: list[tuple[str, Any]] = field(default_factory=list)
    writes: list[tuple[tuple[str, Any], tuple[str, Any]]] = field(default_factory=list)
    read: tuple[str, Any] | None = None
    origin: str = ""
    cases: dict[int, Path] = field(default_factory=dict)
    # Of one example: which inputs are one tensor, by pairs; which inputs and tensors, two or more,
    # the function tells apart, with the line where it does.
    one: frozenset[tuple[_Ref, ...]] = field(default=frozenset(), compare=False)
    asks: dict[tuple[_Ref, ...], str] = field(default_factory=dict, compare=False)


class _Reader:
    """Reads one program of learnt_call.h."""

    def __init__(self, program: dict[str, Any], parameters: Sequence[Any], names: Names) -> None:
        self.parameters = parameters
        self.constants = program["constants"]
        self.names = names

    def ref(self, value: int | None) -> tuple[str, Any]:
        if value is None:
            raise Refused("a value is missing that the program names")
        if value >= 0:
            return ("r", value)
        index = ~value
        if index < len(self.parameters):
            return self.parameters[index]  # type: ignore[no-any-return]
        constant = self.constants[index - len(self.parameters)]
        if isinstance(constant, Tensor):
            return self.names.of_constant(constant)
        return ("n", tuple(constant))

    def call(self, raw: tuple[Any, ...]) -> Call:
        kind, name, operands, attrs, results, origin, body, loop, states, times = raw
        made = Call(kind, name, [self.ref(v) for v in operands], list(attrs), len(results), origin)
        if kind == "op" and name == "to_device":
            if attrs[0] == _CPU:  # to where, from where
                raise Refused(f"it moves a tensor to the CPU{_at(origin)}: move results after the "
                              "call, a program computes on one device")  # fmt: skip
            # To where the rest is: positions and random numbers that are made on the CPU.
            made.name, made.attrs = "copy", []
        if kind == "op" and name.startswith("sparse_"):
            raise Refused(f"it multiplies a sparse matrix{_at(origin)}, which saved programs "
                          "cannot: make it dense before")  # fmt: skip
        own = [("p", i) for i in range(len(operands))]
        if kind == "while":
            made.body = _Reader(body, own, self.names).way(loop[1])
            made.more, made.states = (loop[0],), states
            made.classes, made.places = loop[2:]
        elif kind == "repeat":
            made.body = _Reader(body, own, self.names).whole(body)
            made.attrs, made.states = [times], states
        elif kind == "call" and name not in _KNOWN:
            if body is None:
                raise Refused(f"{name} is a call without a body{_at(origin)}")
            made.body = _Reader(body, own, self.names).whole(body)
        return made

    def check(self, mark: tuple[Any, ...]) -> Call:
        _, _, _, read, _, origin, check, of, low, high = mark
        return Call("check", check, [self.ref(read)], [low, high], 0, origin, more=(of,))

    def whole(self, program: dict[str, Any]) -> Path:
        """A body, which reads and writes nothing."""
        calls = [self.call(raw) for raw in program["calls"]]
        return Path(calls, "return", [self.ref(v) for v in program["outputs"]])

    def way(self, raw: tuple[Any, ...]) -> Path:
        calls, read, after, ways, checks = raw
        path = Path([], "next" if ways is None else "read")
        for i in range(len(calls) + 1):
            path.calls += [self.check(mark) for mark in checks if mark[0] == i]
            path.calls += [self.call(c) for c in calls[i : i + 1]]
        path.read = self.ref(read)
        if ways is None:
            path.outputs = [self.ref(v) for v in after]
        else:
            path.cases = {i: self.way(w) for i, w in enumerate(ways) if w is not None}
        return path


def _at(origin: str) -> str:
    return f" ({origin})" if origin else ""


def path_of(program: dict[str, Any], cells: Sequence[Any], names: Names) -> Path:
    """What one call did. Reads stand in the path as calls without results."""
    reader = _Reader(program, cells, names)
    calls: list[Call] = []
    marks = list(program["marks"])
    precisions = [m[2] for m in marks]
    at_mark = 0
    precision = "default"

    def before(i: int) -> None:
        nonlocal at_mark, precision
        while at_mark < len(marks) and marks[at_mark][0] <= i:
            add_mark(marks[at_mark])
            at_mark += 1
        following = precisions[at_mark] if at_mark < len(marks) else precision
        if i < len(program["calls"]) and following != precision:
            precision = following
            calls.append(Call("precision", precision))

    def add_mark(mark: tuple[Any, ...]) -> None:
        _, kind, _, read, outcome, origin, *_ = mark
        if kind == "number":
            calls.append(Call("read", "", [reader.ref(read)], [], 0, origin, more=(outcome,)))
        elif kind == "check":
            calls.append(reader.check(mark))

    for i, raw in enumerate(program["calls"]):
        before(i)
        calls.append(reader.call(raw))
    before(len(program["calls"]))
    outputs = [reader.ref(v) for v in program["outputs"]]
    writes = [(cells[cell], reader.ref(value)) for cell, value in program["writes"]]
    return Path(calls, "return", outputs, writes)


def require_alike(first: Path, path: Path, run: dict[str, int], other: dict[str, int]) -> None:
    """OtherCalls if two paths differ in more than integers; in what data said, Refused."""
    counts = [len(p.calls) for p in (first, path)]
    read = False
    try:
        for mine, theirs in zip(first.calls, path.calls, strict=False):
            _alike(mine, theirs, run, other)
            read |= mine.kind == "read"
        if counts[0] != counts[1]:
            longer = first if counts[0] > counts[1] else path
            raise OtherCalls(
                f"it makes {counts[0]} calls at {_shown(run)} and {counts[1]} at {_shown(other)}, "
                f"the first that is not in both {_named(longer.calls[min(counts)])}: the number of "
                "calls may not depend on a size that is dynamic: loop up to a tensor, "
                "fz.fori_loop(0, fz.asarray(x.shape[0]), ...)"
            )
    except OtherCalls as refusal:
        refusal.after_read |= read
        raise

    def kinds(p: Path) -> Any:
        writes = [(cell, _kind(value)) for cell, value in p.writes]
        return p.end, sorted(p.cases), writes, [*map(_kind, p.outputs)], p.read

    if kinds(path) != kinds(first):
        raise OtherCalls(
            f"it returns or writes other things at {_shown(other)} than at {_shown(run)}"
        )
    for outcome, case in first.cases.items():
        require_alike(case, path.cases[outcome], run, other)


def unified(paths: Sequence[Path], runs: Sequence[dict[str, int]]) -> Path:
    """One path for all sizes, from those of the runs, which are alike; integers that differ are
    expressions."""
    first = paths[0]
    calls = []
    for i in range(len(first.calls)):
        with _inside("call", i):
            calls.append(_unified_call([p.calls[i] for p in paths], runs))
    cases = {}
    for k in first.cases:
        with _inside("case", k):
            cases[k] = unified([p.cases[k] for p in paths], runs)
    asks = {cells: origin for path in reversed(paths) for cells, origin in path.asks.items()}
    outputs = []
    for i in range(len(first.outputs)):
        with _inside("output", i):
            outputs.append(_unified_operand([p.outputs[i] for p in paths], runs, "in a result"))
    writes = []
    for i, (cell, _) in enumerate(first.writes):
        with _inside("write", i):
            written = [p.writes[i][1] for p in paths]
            writes.append((cell, _unified_operand(written, runs, "that is written")))
    return replace(first, calls=calls, cases=cases, asks=asks, outputs=outputs, writes=writes)


def _kind(ref: _Ref) -> _Ref:
    """Of a number its dtype."""
    return (ref[0], ref[1][0]) if ref[0] == "n" else ref


def _unified_operand(given: Sequence[_Ref], runs: Sequence[dict[str, int]], where: str) -> _Ref:
    first = given[0]
    if first[0] != "n" or all(g == first for g in given):
        return first
    number = _sizes.number_of(first[1][0], [g[1][1] for g in given], runs)
    if number is None:
        seen = [hex(g[1][1]) for g in given]
        raise NoForm(
            f"a number {where} is no function of the dynamic sizes that is known (n, 1/n, sqrt(n), "
            f"1/sqrt(n) of sums and products): bits {_sizes.no_expression(seen, runs)}",
            partial(_sizes.number_of, first[1][0]),
        )
    return ("n", (first[1][0], number))


@contextmanager
def _inside(kind: str, i: int) -> Iterator[None]:
    """Says where a value is that has no form."""
    try:
        yield
    except NoForm as refusal:
        refusal.way.append((kind, i))
        raise


def by_bound(name: str, bound: int, below: Path, others: Path) -> Path:
    """What is done depends on a size: below the bound, and from it on."""
    large = ("n", ("bool", f"value {name} / {bound}"))
    return Path([], "read", read=large, cases={0: below, 1: others})


def by_difference(one: str, other: str, equal: Path, others: Path) -> Path:
    """What is done depends on whether two sizes are one."""
    read = ("n", ("bool", f"value {one} + {other} * -1"))
    return Path([], "read", read=read, cases={0: equal, 1: others})


def by_identity(
    paths: Sequence[Path],
    merge: Callable[[Sequence[Path]], Path],
    known: frozenset[tuple[_Ref, ...]] = frozenset(),
) -> Path:
    """What is done depends on which inputs are one tensor: a read for each question."""
    ones = frozenset(pair for path in paths for pair in path.one)
    for path in paths:
        for cells, origin in path.asks.items():
            pairs = frozenset(combinations(cells, 2))
            for asked in sorted(pairs) if pairs & ones else [cells]:
                if asked in known:
                    continue
                cases = {}
                for outcome in (0, 1):
                    some = [p for p in paths if (asked in p.one) == outcome]
                    if some:
                        cases[outcome] = by_identity(some, merge, known | {asked})
                read = ("n", ("bool", ("same", asked)))
                return Path([], "read", read=read, origin=origin, cases=cases)
    return merge(paths)


def _shown(run: dict[str, int]) -> str:
    return ", ".join(f"{k}={v}" for k, v in run.items()) or "the example"


def _named(call: Call) -> str:
    kinds = {"read": "reads a number", "check": f"checks indices for {call.name}"}
    kinds |= {"while": "is a loop", "repeat": "is a loop"}
    what = kinds.get(call.kind, f"is {call.name}")
    return f"{what}{_at(call.origin)}"


def _alike(mine: Call, theirs: Call, run: dict[str, int], other: dict[str, int]) -> None:
    same = (
        (mine.kind, mine.name, mine.results, mine.states, len(mine.attrs), mine.body is None)
        == (theirs.kind, theirs.name, theirs.results, theirs.states, len(theirs.attrs),
            theirs.body is None)
        and [*map(_kind, mine.operands)] == [*map(_kind, theirs.operands)]
    )  # fmt: skip
    if same and mine.more != theirs.more and mine.kind != "check":
        raise OtherReads(
            f"it reads {mine.more[0]} at {_shown(run)} and {theirs.more[0]} at {_shown(other)}"
            f"{_at(mine.origin)}, so it goes on in another way: give examples of several sizes "
            "whose values take the same branches"
        )
    if not same:
        raise OtherCalls(f"it does something else at {_shown(other)} than at {_shown(run)}: one "
                         f"{_named(theirs)}, the other {_named(mine)}: export it for a range of "
                         "sizes where it does the same, Dim(name, min, max), and write a loop over "
                         "a dynamic size as one up to a tensor, "
                         "fz.fori_loop(0, fz.asarray(x.shape[0]), ...)")  # fmt: skip
    if mine.body is not None and theirs.body is not None:
        require_alike(mine.body, theirs.body, run, other)


def _unified_call(calls: Sequence[Call], runs: Sequence[dict[str, int]]) -> Call:
    first = calls[0]
    if all(call == first for call in calls[1:]):
        return first
    attrs = []
    for i in range(len(first.attrs)):
        values = [call.attrs[i] for call in calls]
        found = _sizes.solve(values, runs)
        if found is None:
            with _inside("attr", i):
                raise NoForm(
                    f"a size of {first.name or 'a loop'}{_at(first.origin)} is no sum, product or "
                    f"quotient of the dynamic ones: {_sizes.no_expression(values, runs)}",
                    _sizes.solve,
                )
        attrs.append(found)
    operands: list[_Ref] = []
    where = f"beside {first.name}{_at(first.origin)}"
    for i in range(len(first.operands)):
        with _inside("operand", i):
            operands.append(_unified_operand([c.operands[i] for c in calls], runs, where))
    body = None
    if first.body is not None:
        with _inside("body", 0):
            body = unified([call.body for call in calls if call.body is not None], runs)
    more = first.more
    if first.kind == "check" and any(call.more != more for call in calls):
        # "elements along axis 0 of f32[5,3]": of an array whose size differs.
        more = (str(more[0]).partition(" of ")[0],)
    return replace(first, operands=operands, attrs=attrs, body=body, more=more)


def period_of(path: Path) -> int:
    """The largest divisor in the expressions of a unified path."""
    found = [_sizes.periods(str(attr)) for call in path.calls for attr in call.attrs]
    found += [period_of(call.body) for call in path.calls if call.body is not None]
    return max([1, *found, *map(period_of, path.cases.values())])


class _Writer:
    """Lines of a program; numbers get theirs as they are met."""

    def __init__(self, tensors: dict[str, int]) -> None:
        self.tensors = tensors
        self.numbers: dict[tuple[str, Any], int] = {}

    def ref(self, ref: tuple[str, Any]) -> str:
        kind, what = ref
        if kind == "t":
            return f"t{self.tensors[what]}"
        if kind == "n":
            return f"n{self.numbers.setdefault(what, len(self.numbers))}"
        return f"{'%' if kind == 'r' else 'p'}{what}"

    def refs(self, refs: Sequence[tuple[str, Any]]) -> str:
        return ", ".join(map(self.ref, refs))

    def block(self, path: Path, indent: str, result: int = 0) -> list[str]:
        lines = []
        for call in path.calls:
            if call.kind == "precision":
                lines.append(f"{indent}precision {call.name}")
                continue
            if call.kind == "check":
                low, high = call.attrs
                lines.append(f"{indent}check {self.ref(call.operands[0])} from {low} to {high} for "
                             f"{_quoted(call.name)} of {_quoted(call.more[0])}")  # fmt: skip
                continue
            made = ", ".join(f"%{result + i}" for i in range(call.results))
            result += call.results
            lines += self.call(call, f"{indent}{made} = ", indent)
        lines += [
            f"{indent}write {self.ref(cell)} = {self.ref(value)}" for cell, value in path.writes
        ]
        if path.end == "return":
            lines.append(f"{indent}return {self.refs(path.outputs)}".rstrip())
            return lines
        assert path.read is not None
        if path.end == "next":
            lines.append(f"{indent}next {self.refs(path.outputs)} reads {self.ref(path.read)}")
            return lines
        lines.append(f"{indent}read {self.ref(path.read)} at {_quoted(path.origin)} {{")
        for outcome, case in path.cases.items():
            lines.append(f"{indent}  case {outcome:x} {{")
            lines += self.block(case, indent + "    ", result)
            lines.append(f"{indent}  }}")
        lines.append(f"{indent}}}")
        return lines

    def call(self, call: Call, start: str, indent: str) -> list[str]:
        text = start
        if call.kind == "while":
            text += f"while {call.more[0]:x} of {call.states} states "
        elif call.kind == "repeat":
            text += f"repeat {call.attrs[0]} of {call.states} states "
        elif call.kind == "call":
            text += f"call {call.name} "
        else:
            text += f"{call.name} "
        text += self.refs(call.operands)
        if call.attrs and call.kind != "repeat":
            text += " {" + ", ".join(map(str, call.attrs)) + "}"
        text = text.rstrip()
        origin = f"  # {call.origin}" if call.origin else ""
        if call.body is None:
            return [text + origin]
        opening = " with {" if call.kind == "call" else " {"
        return [text + opening, *self.block(call.body, indent + "  "), f"{indent}}}{origin}"]


def _quoted(text: str) -> str:
    escaped = "".join(
        chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\{b:03o}" for b in text.encode()
    )
    return f'"{escaped}"'


def text_of(
    path: Path,
    symbols: Sequence[tuple[str, int, int, int]],
    inputs: Sequence[tuple[str, str, Sequence[Any]]],
    tensors: Sequence[tuple[str, Tensor, bool]],
) -> str:
    """The program's text. inputs: name, dtype, extents; tensors: name, content, constant."""
    writer = _Writer({name: i for i, (name, _, _) in enumerate(tensors)})
    body = writer.block(path, "  ")
    lines = ["frazil-program 1"]
    for name, low, high, step in symbols:
        lines.append(f"symbol {name} from {low} to {high}" + (f" by {step}" if step > 1 else ""))
    for name, dtype, dims in inputs:
        extents = ",".join(map(str, dims))
        lines.append(f"input {_quoted(name)} {short(dtype)}[{extents}]")
    for name, tensor, constant in tensors:
        extents = ",".join(map(str, tensor.shape))
        kind = "constant" if constant else "weight"
        lines.append(f"{kind} {_quoted(name)} {short(tensor.dtype.name)}[{extents}]")
    for dtype, what in writer.numbers:
        if isinstance(what, tuple):
            of = f"same {writer.refs(what[1])}"
        else:
            of = what if isinstance(what, str) else f"bits {what:x}"
        lines.append(f"number {short(dtype)} {of}")
    return "\n".join([*lines, "program {", *body, "}", ""])
