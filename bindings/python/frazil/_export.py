"""fz.export: what a function does, in a file that runs without it.

The function is run as a traced call is that may skip its body: proved, or promised with pure=True,
to depend on what it is given. What such a call did is a program; runs at other sizes tell which of
its numbers are sizes (_export_program.py, _export_sizes.py), further examples tell its branches.
Nothing that the function wrote stays: tensors are put back.
"""

from __future__ import annotations

import re
import threading
from contextlib import nullcontext
from copy import copy
from itertools import combinations
from typing import TYPE_CHECKING, Any

from frazil import _control, _export_file, _export_names, random
from frazil import _export_loops as _loops
from frazil import _export_program as _program
from frazil import _frazil as _fz
from frazil._export_arguments import (
    CallOf,
    argument_names,
    call_of,
    calls_of,
    copied,
    inputs_of,
    mapped,
    ones_of,
    renewed,
    require_shallow,
    structure_of,
)  # fmt: skip
from frazil._export_ranges import Fails, Ranges, integers_of
from frazil._export_sizes import Dim
from frazil._frazil import Tensor, Traced
from frazil._grad import no_grad
from frazil._named import flag as _flag

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

__all__ = ["Dim", "export"]

_learnt, _put_back = _fz.program.learnt, _fz.program.put_back
_value_of = _fz.program.value_of
_WAYS = 32  # through `cond` and `switch` that are looked for beside those of the examples
_TRIES = 8  # to put them together
_turns = threading.RLock()  # of threads: what one writes and puts back, another would read
_CALLS = 12  # in which a call is learnt, or is not


def export(
    fn: Callable[..., Any],
    example_args: Sequence[Any],
    path: str | PathLike[str],
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic: Mapping[Any, Mapping[int, str | Dim]] | None = None,
    examples: Sequence[Sequence[Any]] = (),
    pure: bool | None = None,
    name: str | None = None,
) -> None:
    """Writes what a function does into one file, which C++, C, Python and frazil-run run.

    The file holds the program with the branches that the examples took, and the tensors that it
    reads: weights of modules under the names of their state dicts, states of optimizers and random
    generators, constants. Any reader of safetensors reads these. Modules, optimizers and generators
    among the arguments become part of the program and are no arguments of it any more; tensors are
    its inputs; numbers and strings are fixed. What the function writes to tensors (a training step
    to parameters) the program writes to its own. docs/export.md tells the rest.

    Parameters
    ----------
    fn : callable
        A function, a traced one, a method or a module. It is run several times; what it writes to
        tensors is put back.
    example_args : tuple
        Arguments of a call.
    path : path
        The file, ".frz" by custom.
    kwargs : dict, optional
        Arguments of that call by keyword. The loaded program takes them by their names, too.
    dynamic : dict, optional
        Which axes may have other sizes than the example: {"x": {0: "batch"}}, by the names of
        arguments (of nested ones "x.key", "x.0") or by their positions. Sizes with the same name
        are the same; `Dim` gives a range.
    examples : sequence of tuples
        Arguments of more calls, for branches that the first does not take; with kwargs pairs of a
        tuple and a dict.
    pure : bool, optional
        True promises, as `trace` has it, that the function depends on its arguments alone; else
        that is proved. By default what fn is traced with, and a proof for what is not traced.
    name : str, optional
        What the program calls itself in messages; the function's name.

    Raises
    ------
    ValueError
        If the function does what a program cannot: its line and what it was.
    TypeError
        If arguments are none that a program can have.

    >>> import os, tempfile
    >>> import frazil as fz
    >>> def f(x):
    ...     return fz.tanh(x) * 2
    >>> path = os.path.join(tempfile.mkdtemp(), "f.frz")
    >>> fz.export(f, (fz.ones(3),), path, dynamic={"x": {0: "n"}})
    >>> g = fz.load_program(path)
    >>> bool((g(fz.ones(5)) == f(fz.ones(5))).all())
    True
    """
    if not callable(fn):
        raise TypeError(f"[export] needs a callable, got {type(fn).__name__}.")
    if pure is None:
        pure = isinstance(fn, Traced) and fn.pure
    pure = _flag("[export] pure", pure)
    inner = fn.__wrapped__ if isinstance(fn, Traced) else fn
    own = str(name or getattr(inner, "__name__", type(inner).__name__))
    own = re.sub(r"\W", "_", own).strip("_") or "program"
    given = call_of("export", example_args, kwargs)
    exporter = _Exporter(inner, own, pure, given, dynamic or {})
    try:
        exporter.run(calls_of("export", examples, kwargs), path)
    except _program.Refused as refusal:
        raise ValueError(f"[export] {own} cannot be exported: {refusal}.") from None
    except Fails as error:
        raise ValueError(str(error)) from error.__cause__


class _Exporter:
    def __init__(
        self, fn: Any, name: str, pure: bool, call: CallOf, dynamic: Mapping[Any, Any]
    ) -> None:
        self.fn, self.name, self.pure = fn, name, pure
        self.names = _program.Names()
        self.keywords = call[1]
        require_shallow("an argument", call[0])
        self.own = _export_names.tensors_of_state(fn, call[0])
        args, self.as_given = self._apart(call[0])
        self.arguments = argument_names(fn, args, self.keywords)
        self.inputs: list[tuple[str, Tensor]] = []  # of the first example
        self.structure = [
            self._structure(n, arg) for n, arg in zip(self.arguments, args, strict=True)
        ]
        self.dims = self._dims(dynamic)
        self.args = args
        self.result: Any = None
        self.ranks: list[int] = []  # of the tensors in it
        self.passed_as_one: frozenset[Any] = frozenset()  # pairs of inputs, in some example
        self.keeps_nothing = False  # known by calls with other tensors each
        self.ways: tuple[int, ...] = ()  # that the first branches of `cond` and `switch` take
        self.made: list[tuple[int, int]] = []  # those that all took in the last run, of how many

    # Arguments

    def _structure(self, path: str, x: Any) -> Any:
        """Of an argument; inputs get numbers in their order."""

        def leaf(path: str, x: Any) -> Any:
            if isinstance(x, Tensor):
                self.inputs.append((path, x))
                return {"input": len(self.inputs) - 1}
            return {"state": path} if _export_names.holds_state(x) else None

        def refused(path: str, x: Any) -> Exception:
            return TypeError(
                f"[export] {path} is of type {type(x).__name__}: a program takes tensors, numbers, "
                "strings, lists, tuples, named tuples of fields alone and dicts of strings, and "
                "keeps modules, optimizers and generators. Make arrays tensors by fz.asarray, and "
                f"bind what is fixed before: functools.partial(fn, {path}=...)."
            )

        return structure_of(path, x, leaf, refused)

    def _apart(self, args: list[Any]) -> tuple[list[Any], list[Any]]:
        """The arguments as inputs of their own: copies of what the program has itself, and where a
        tensor comes again; and those where it comes again.
        """

        def walked(apart: bool) -> list[Any]:
            values = {_value_of(t) for t in self.own.values()}
            known: dict[int, Tensor] = {}

            def one(x: Tensor) -> Tensor:
                if apart or id(x) not in known:
                    value = _value_of(x)  # which others may hold, too
                    mine = copied(x) if value in values else x
                    values.add(value)
                    known[id(x)] = mine
                return mine if apart else known[id(x)]

            return [mapped(one, x) for x in args]

        return walked(True), walked(False)

    def _dims(self, dynamic: Mapping[Any, Any]) -> dict[int, dict[int, Dim]]:
        """By input, then by axis."""
        found: dict[int, dict[int, Dim]] = {}
        by_name = {path: i for i, (path, _) in enumerate(self.inputs)}
        known: dict[str, Dim] = {}
        if not hasattr(dynamic, "items"):
            raise TypeError(f"[export] dynamic must be a dict, got {type(dynamic).__name__}.")
        for key, axes in dynamic.items():
            count = len(self.arguments)
            by_place = isinstance(key, int) and -count <= key < count
            path = self.arguments[key] if by_place else key
            if path not in by_name:
                raise ValueError(
                    f"[export] dynamic names {key!r}, which is no tensor among the arguments: "
                    f"these are {', '.join(by_name) or 'none'}."
                )
            tensor = self.inputs[by_name[path]][1]
            if not hasattr(axes, "items"):
                raise TypeError(f"[export] dynamic[{key!r}] must be a dict of axes, got {axes!r}.")
            for axis, dim in axes.items():
                if isinstance(axis, bool) or not isinstance(axis, int) or not (
                    -tensor.ndim <= axis < tensor.ndim
                ):  # fmt: skip
                    raise ValueError(
                        f"[export] {path} has no axis {axis!r}: its shape is {tensor.shape}."
                    )
                dim = dim if isinstance(dim, Dim) else Dim(dim)
                before = known.setdefault(dim.name, copy(dim))
                if (before.min, before.max, before.multiple_of) != (dim.min, dim.max,
                                                                    dim.multiple_of):  # fmt: skip
                    raise ValueError(f"[export] {dim.name!r} has two ranges: {before}, {dim}.")
                found.setdefault(by_name[path], {})[axis % tensor.ndim] = before
        return found

    def _example_sizes(self, args: list[Any]) -> dict[str, int]:
        sizes: dict[str, int] = {}
        tensors = inputs_of(args)
        for i, axes in self.dims.items():
            for axis, dim in axes.items():
                n = tensors[i].shape[axis]
                if sizes.setdefault(dim.name, n) != n:
                    raise ValueError(
                        f"[export] {dim.name!r} is {sizes[dim.name]} and {n} in one example."
                    )
                if not dim.min <= n <= dim.max or n % dim.multiple_of:
                    raise ValueError(f"[export] {dim.name!r} is {n} in an example, and is {dim}.")
        return sizes

    def _resized(self, args: list[Any], sizes: dict[str, int]) -> list[Any]:
        """The arguments at other sizes: what they hold, again and again."""
        tensors = inputs_of(args)
        new: dict[int, Tensor] = {}
        for i, axes in self.dims.items():
            t = tensors[i]
            grad = t.requires_grad
            t = t.detach()
            for axis, dim in axes.items():
                n = t.shape[axis]
                if n > 0:
                    t = _fz.take(t, _fz.arange(sizes[dim.name]) % n, axis=axis)
                else:
                    shape = (*t.shape[:axis], sizes[dim.name], *t.shape[axis + 1 :])
                    t = _fz.zeros(shape, dtype=t.dtype)
            before = new.setdefault(id(tensors[i]), t.requires_grad_(grad) if grad else t)
            if before.shape != t.shape:
                raise _program.Refused(
                    f"{self.inputs[i][0]} is the same tensor as another input in an example, and "
                    "the function tells them apart: give their sizes the same names"
                )
        return [mapped(lambda t: new.get(id(t), t), arg) for arg in args]

    # Runs

    def run(self, examples: Sequence[CallOf], path: Any) -> None:
        with _turns:
            self._run(examples, path)

    def _run(self, examples: Sequence[CallOf], path: Any) -> None:
        given, as_given = [self.args], [self.as_given]
        for i, (args, keywords) in enumerate(examples, 1):
            args, together = self._apart(args)
            self._check_example(i, args, keywords)
            given.append(args)
            as_given.append(together)
        made: list[Any] = [[] for _ in given]
        whole: _program.Path | None = None
        refused: _program.Refused | None = None
        before = self._ranges()
        try:
            whole = self._whole(given, as_given, [()] * len(given), made)
        except _program.Refused as refusal:
            refused = refusal  # perhaps as branches differ between sizes
        if any(made):
            whole = self._whole_with_ways(given, as_given, made, before) or whole
        if whole is None:
            assert refused is not None
            raise refused
        self._write(whole, path)

    def _whole_with_ways(
        self, given: list[Any], as_given: list[Any], made: list[Any], before: list[Any]
    ) -> _program.Path | None:
        """With the ways through `cond` and `switch` that fit together, all if they do; None if
        examples have to tell them. `before`: the ranges of sizes that are asked for, which data
        narrow that take other ways at other sizes.
        """
        after = self._ranges()
        whole: _program.Path | None = None
        kept: list[tuple[int, tuple[int, ...]]] = []
        left = [self._other_ways(given, made)]
        for _ in range(_TRIES):
            if not left:
                break
            some = left.pop()
            more = [i for i, _ in kept + some]
            ways = [tuple(w for w, _ in taken) for taken in made] + [w for _, w in kept + some]
            self._range_over(before)
            try:
                whole = self._whole(
                    given + [given[i] for i in more], as_given + [as_given[i] for i in more],
                    ways, None,
                )  # fmt: skip
            except (_program.OtherCalls, _program.OtherReads):  # sizes are in the way
                break
            except Exception:
                half = len(some) // 2
                left += [part for part in (some[half:], some[:half]) if part and part != some]
                continue
            kept += some
            after = self._ranges()
        self._range_over(after)
        return whole

    def _ranges(self) -> list[dict[str, Any]]:
        return [dict(vars(dim)) for axes in self.dims.values() for dim in axes.values()]

    def _range_over(self, ranges: list[dict[str, Any]]) -> None:
        dims = [dim for axes in self.dims.values() for dim in axes.values()]
        for dim, values in zip(dims, ranges, strict=True):
            vars(dim).update(values)

    def _other_ways(self, given: list[Any], made: list[Any]) -> list[tuple[int, tuple[int, ...]]]:
        """Ways through `cond` and `switch` that no example took, each with the example that it
        begins like; the shortest first. Those that fail are left out: they are errors in programs.
        """
        found: list[tuple[int, tuple[int, ...]]] = []
        known = {tuple(way for way, _ in taken) for taken in made}
        open_ways = [(i, 0, taken) for i, taken in enumerate(made)]
        for i, fixed, taken in open_ways:
            for k in range(fixed, len(taken)):
                before, count = tuple(way for way, _ in taken[:k]), taken[k][1]
                for way in range(count):
                    ways = (*before, way)
                    if len(found) == _WAYS or any(one[: k + 1] == ways for one in known):
                        continue
                    self.ways = ways
                    try:
                        self._capture(given[i])
                    except Exception:
                        continue
                    finally:
                        self.ways = ()
                    whole = tuple(way for way, _ in self.made)  # also where sizes are others
                    known.add(whole)
                    found.append((i, whole))
                    open_ways.append((i, k + 1, self.made))
        return found

    def _whole(
        self, given: list[Any], as_given: list[Any], ways: list[Any], made: list[Any] | None
    ) -> _program.Path:
        """The program of examples. `made`: gets the ways that each of them took."""
        count = len(given)
        given, ways = given + as_given, ways + ways
        self.passed_as_one = frozenset(pair for args in as_given for pair in ones_of(args))

        def again(paths: Sequence[_program.Path]) -> list[int]:
            asked = {pair for p in paths for cells in p.asks for pair in combinations(cells, 2)}
            return [count + i for i, args in enumerate(as_given) if asked & ones_of(args)]

        def capture(i: int, sizes: dict[str, int]) -> _program.Path:
            self.ways = ways[i]
            try:
                return self._capture_at(given[i], sizes)
            finally:
                self.ways = ()
                if made is not None and i < count and len(self.made) > len(made[i]):
                    made[i] = self.made

        dims = {d.name: d for axes in self.dims.values() for d in axes.values()}
        before = {name: dict(vars(dim)) for name, dim in dims.items()}
        ranges = Ranges(
            list(dims.values()),
            count,
            at=lambda i: self._example_sizes(given[i]),
            capture=capture,
            elements=lambda i, sizes: self._elements(given[i], sizes),
            named=integers_of(self.fn, _export_names.modules_of(self.fn, self.args)),
            again=again,
        )
        try:
            return ranges.whole()
        except _program.OtherCalls as refusal:
            return self._whole_by_tensors(ranges, before, refusal)

    def _whole_by_tensors(
        self, ranges: Ranges, before: dict[str, Any], refusal: _program.Refused
    ) -> _program.Path:
        """With loops up to tensors in scans and recurrent layers, alike at all lengths."""
        _control.lengths_are_tensors = True
        try:
            for context in (nullcontext, no_grad):  # a loop that keeps history is none
                for name, dim in ranges.symbols.items():
                    vars(dim).update(before[name])
                try:
                    with context():
                        return ranges.anew().whole()
                except Exception:  # it is not that
                    continue
        finally:
            _control.lengths_are_tensors = False
        raise refusal

    def _check_example(self, i: int, args: list[Any], keywords: tuple[str, ...]) -> None:
        first, self.inputs = self.inputs, []
        names = argument_names(self.fn, args, keywords)
        structure = [self._structure(n, arg) for n, arg in zip(names, args, strict=True)]
        if structure != self.structure or keywords != self.keywords:
            raise ValueError(f"[export] examples[{i - 1}] has other arguments than example_args.")
        for k, ((path, a), (_, b)) in enumerate(zip(first, self.inputs, strict=True)):
            free = self.dims.get(k, {})
            fixed = [(axis, n) for axis, n in enumerate(a.shape) if axis not in free]
            if a.dtype != b.dtype or a.ndim != b.ndim or any(b.shape[x] != n for x, n in fixed):
                raise ValueError(
                    f"[export] examples[{i - 1}]: {path} is {b.dtype.name}{list(b.shape)}, in "
                    f"example_args {a.dtype.name}{list(a.shape)}; dynamic axes may differ."
                )
        self.inputs = first

    def _elements(self, args: list[Any], sizes: dict[str, int]) -> int:
        most = 0
        for i, t in enumerate(inputs_of(args)):
            n = 1
            for axis, extent in enumerate(t.shape):
                dim = self.dims.get(i, {}).get(axis)
                n *= extent if dim is None else sizes[dim.name]
            most = max(most, n)
        return most

    def _capture_at(self, args: list[Any], sizes: dict[str, int]) -> _program.Path:
        if sizes == self._example_sizes(args):
            return self._capture(args)
        shown = ", ".join(f"{k}={v}" for k, v in sizes.items())
        try:
            return self._capture(self._resized(args, sizes))
        except _program.Refused:
            raise
        except Exception as error:
            raise Fails(
                f"[export] {self.name} fails at {shown}, which its dynamic sizes allow: {error} "
                "Give the sizes that it takes: one name for sizes that are equal, and "
                "Dim(name, min, max, multiple_of)."
            ) from error

    def _capture(self, args: list[Any]) -> _program.Path:
        """What a call with these arguments does, as one path."""
        path, known = self._what_it_does(args)
        path.one = ones_of(args)
        path.asks = self._asks(args, path, known)
        return path

    def _what_it_does(self, args: list[Any]) -> tuple[_program.Path, Any]:
        self.names.inputs = {}
        for i, t in enumerate(inputs_of(args)):
            self.names.inputs.setdefault(id(t), i)
            self.names.kept.append(t)
        roots = _export_names.roots_of(self.fn, dict(zip(self.arguments, args, strict=True)))
        state = [
            (n, t) for n, t in _export_names.named_tensors(roots) if id(t) not in self.names.inputs
        ]
        with _PutBack([*(t for _, t in state), *inputs_of(args)]) as again:
            for n, t in [*state, ("random.state", random._default.state)]:
                self.names.know(n, t)
            self.names.kept += again.before
            if not self.pure and not self.keeps_nothing:
                _refuse_changes(self._learn(args, again, anew=True))
                self.keeps_nothing = True
            known = self._learn(args, again)
        _refuse_changes(known)
        ((result, _, program),) = known["paths"]
        cells = self._cells(known["cells"], program)
        self._drop_gradients(cells, program)
        path = _program.path_of(program, cells, self.names)
        structure, order = self._result(result, path, known["cells"])
        if self.result is not None and structure != self.result:
            numbers = _first_difference(self.result, structure)
            raise _program.Refused(
                f"it returns the number {numbers[0]!r} in one run and {numbers[1]!r} in another: "
                "make what depends on sizes or data a tensor, fz.asarray(n)"
                if numbers else "examples return results of different structures"
            )  # fmt: skip
        self.result, path.outputs = structure, order
        return path, known

    # Which inputs are one tensor

    def _asks(self, args: list[Any], path: _program.Path, known: Any) -> dict[Any, str]:
        """What the function tells apart of what may be one tensor, with the line where it does."""
        tensors = inputs_of(args)
        asks = {}
        for a, b, origin in known["asked"]:
            for pair in {tuple(sorted((x, y))) for x in self._refs(a, tensors)
                         for y in self._refs(b, tensors) if x != y}:  # fmt: skip
                if self._alike(*pair):
                    asks[pair] = origin
        for written, _ in path.writes:
            asks |= {pair: "" for pair in self.passed_as_one if written in pair}
        groups: list[list[Any]] = []
        for i in range(len(tensors)):
            ref = ("p", i)
            group = next((g for g in groups if all(self._alike(ref, r) for r in g)), None)
            groups.append([ref]) if group is None else group.append(ref)
        groups = [g for g in groups if len(g) > 1]
        if known["asked_otherwise"]:
            return asks | {tuple(g): known["asked_otherwise"] for g in groups}
        hidden = self.pure or any(t.requires_grad for t in tensors)  # gradients to one are to both
        if hidden and not path.one and self._differs(args, path, groups):
            asks |= {tuple(g): "" for g in groups}
        return asks

    def _refs(self, t: Tensor, tensors: list[Tensor]) -> list[Any]:
        if id(t) in self.names.inputs:
            return [("p", i) for i, other in enumerate(tensors) if other is t]
        name = self.names.known.get(id(t))
        return [] if name is None else [("t", name)]

    def _alike(self, a: Any, b: Any) -> bool:
        """Whether two inputs, or an input and a tensor of the program, may be one."""
        of = [self.inputs[i][1] if k == "p" else self.names.tensors[i] for k, i in (a, b)]
        free = [self.dims.get(i, {}) if k == "p" else {} for k, i in (a, b)]
        return of[0].dtype == of[1].dtype and of[0].ndim == of[1].ndim and all(
            m == n or axis in free[0] or axis in free[1]
            for axis, (m, n) in enumerate(zip(of[0].shape, of[1].shape, strict=True))
        )  # fmt: skip

    def _differs(self, args: list[Any], path: _program.Path, groups: Any) -> bool:
        """Whether other things are done where inputs are one tensor, by a run that has them so."""
        tensors = inputs_of(args)
        first = {i: group[0][1] for group in groups for _, i in group}
        if any(tensors[i].shape != tensors[k].shape for i, k in first.items()):
            return True
        one = {id(tensors[i]): tensors[k] for i, k in first.items()}
        try:
            other, _ = self._what_it_does(
                [mapped(lambda t: one.get(id(t), t), arg) for arg in args]
            )
        except Exception:
            return True

        def name(ref: Any) -> Any:
            return ("p", first.get(ref[1], ref[1])) if ref[0] == "p" else ref

        return bool(groups) and _loops.renamed(path, name) != other

    def _learn(self, args: list[Any], again: _PutBack, anew: bool = False) -> Any:
        """Twice where it fails: what the first call imports or makes for good is no part of it.

        And without gradients, where those of what the function has caught are in the way. `anew`:
        each call has tensors of its own, of the same content, so that keeping one is a change.
        """
        try:
            return self._learn_once(args, again, anew)
        except _program.Refused as refusal:
            context = no_grad() if "history for gradients" in str(refusal) else nullcontext()
        with context:
            return self._learn_once(args, again, anew)

    def _learn_once(self, args: list[Any], again: _PutBack, anew: bool) -> Any:
        traced = Traced(
            self.fn, name=self.name, pure=self.pure, proof=True, strict=not self.pure,
            check_first=1, check_every=0, saved=True,
        )  # fmt: skip
        count = len(args) - len(self.keywords)

        def call(fn: Any, *before: Any) -> Any:
            given = renewed(args) if anew else args
            named = dict(zip(self.keywords, given[count:], strict=True))
            return fn(*before, tuple(given[:count]), named)

        for _ in range(_CALLS):
            _fz.program.choose(self.ways)
            try:
                result = call(lambda by_place, named: traced(*by_place, **named))
                require_shallow("its result", [result])
                self.ranks = [t.ndim for t in inputs_of([result])]
            except RuntimeError as error:
                raise _refusal_of(error) from None
            finally:
                self.made = _fz.program.chosen()
                again.values()
            known = call(_learnt, traced)
            if known is not None:
                return known
        plans = ("skippable", "outcome", "plan", "wanted", "replanned")  # no reasons
        events = [e for e in traced.stats()["events"] if e["cause"] not in plans]
        why = events[-1]["text"] if events else "its calls are all different"
        where = _program._at(events[-1]["where"]) if events else ""
        raise _program.Refused(f"{why.rstrip('.')}{where}")

    def _cells(self, cells: list[Any], program: Any) -> list[Any]:
        """What each parameter of the program is."""
        refs: list[Any] = []
        for cell in cells:
            if isinstance(cell[0], Tensor):
                refs.append(self.names.of_cell(cell[0]))
            elif cell[0] == "grad":
                kind, what = refs[cell[1]]
                leaf = self.inputs[what][0] if kind == "p" else what
                refs.append(("grad", f"{leaf}.grad", cells[cell[1]][0]))
            elif cell[0] == "random":
                refs.append(("random",))
            else:
                raise _program.Refused(
                    "a Python number that changes from call to call takes part: make it a tensor"
                )
        return [self._hidden(i, ref, program) for i, ref in enumerate(refs)]

    def _hidden(self, i: int, ref: Any, program: Any) -> Any:
        """Gradients and the default generator are kept where the program reads them."""
        if ref[0] in ("p", "t"):
            return ref
        taken = _takes(program, ~i)
        if ref[0] == "random":
            return ("t", "random.state") if taken else ("unused", None)
        if not taken:
            return ("unused", None)
        name, leaf = ref[1], ref[2]
        if name not in self.names.tensors:
            grad = leaf.grad
            kept = _fz.zeros_like(leaf.detach()) if grad is None else grad
            self.names.know(name, kept)
        return ("t", name)

    @staticmethod
    def _drop_gradients(cells: list[Any], program: Any) -> None:
        """What is written to gradients that no call reads is seen by nobody."""
        program["writes"] = [w for w in program["writes"] if cells[w[0]][0] != "unused"]

    def _result(self, result: Any, path: Any, cells: list[Any]) -> tuple[Any, list[Any]]:
        """The structure of the result, with numbers for its tensors, and these in that order."""
        order: list[Any] = []
        owners = {id(c[0]): c[0] for c in cells if isinstance(c[0], Tensor)}
        left = dict(path.writes)  # in tensors that are the result themselves

        def leaf(_: str, x: Any) -> Any:
            if not isinstance(x, Tensor):
                return None
            ref = self.names.of_cell(x) if id(x) in owners else None
            if ref is not None and _loops.hands_on(path, ref):
                raise _program.Refused(
                    "it returns an argument itself, and its loop decides which one: return a "
                    "copy, fz.copy(x)"
                )
            order.append(path.outputs[int(x.item())] if ref is None else left.get(ref, ref))
            return {"output": len(order) - 1}

        def refused(_: str, x: Any) -> Exception:
            return _program.Refused(
                f"its result holds an object of type {type(x).__name__}: a program returns "
                "tensors, numbers, strings, lists, tuples and dicts of strings"
            )

        return structure_of("", result, leaf, refused), order

    # The file

    def _write(self, whole: _program.Path, path: Any) -> None:
        with _loops.deep_enough():
            self._write_text(whole, path)

    def _write_text(self, whole: _program.Path, path: Any) -> None:
        used = _tensors_in(whole)
        tensors = [(n, t.detach(), False) for n, t in self.names.tensors.items() if n in used] + [
            (n, t.detach(), True) for n, t in self.names.constants if n in used
        ]
        symbols = {
            d.name: (d.name, d.min, d.max, d.multiple_of)
            for axes in self.dims.values()
            for d in axes.values()
        }
        inputs = [
            (n, t.dtype.name, [
                self.dims[i][axis].name if axis in self.dims.get(i, {}) else extent
                for axis, extent in enumerate(t.shape)
            ])
            for i, (n, t) in enumerate(self.inputs)
        ]  # fmt: skip
        text = _program.text_of(whole, list(symbols.values()), inputs, tensors)
        structure = {
            "arguments": [[n, s] for n, s in zip(self.arguments, self.structure, strict=True)],
            "result": self.result,
        }
        _export_file.write(path, self.name, text, structure, tensors)


class _PutBack:
    """Keeps what tensors hold, and puts it back: after each call, and gradients at the end."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.tensors = [*tensors, random._default.state]
        self.before = [t.detach() for t in self.tensors]
        self.grads = [t.grad if t.is_leaf and t.requires_grad else None for t in self.tensors]

    def values(self) -> None:
        for t, before in zip(self.tensors, self.before, strict=True):
            if _value_of(t) != _value_of(before):
                _put_back(t, before)

    def __enter__(self) -> _PutBack:
        """Tensors that hold one content get their own: what a call takes is told by content."""
        self.shared = list(self.before)
        owners: dict[int, int] = {}
        for i, t in enumerate(self.tensors):
            if owners.setdefault(_value_of(t), id(t)) != id(t):
                _put_back(t, _fz.copy(t.detach()))
                self.before[i] = t.detach()
        return self

    def __exit__(self, *exception: object) -> None:
        self.before = self.shared
        self.values()
        for t, grad in zip(self.tensors, self.grads, strict=True):
            if t.is_leaf and t.requires_grad and t.grad is not grad:
                t.grad = grad


def _refuse_changes(known: Any) -> None:
    if any(changes for _, changes, _ in known["paths"]):
        raise _program.Refused(
            "it changes Python objects besides tensors (a list, a dict, an attribute, a name): "
            "keep in tensors what a program has to remember"
        )


def _first_difference(a: Any, b: Any) -> tuple[Any, Any] | None:
    """The first Python numbers in which two structures of results differ, which are alike else."""
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next((d for d in map(_first_difference, a, b) if d), None)
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        if "fixed" in a:
            return None if a == b else (a["fixed"], b["fixed"])
        return next((d for d in map(_first_difference, a.values(), b.values()) if d), None)
    return None


def _takes(program: Any, value: int) -> bool:
    """Whether a program's calls, reads or results take a value."""
    return (
        any(value in call[2] for call in program["calls"])
        or any(mark[3] == value for mark in program["marks"])
        or value in program["outputs"]
        or any(write[1] == value for write in program["writes"])
    )


def _tensors_in(path: _program.Path) -> set[str]:
    refs = [*path.outputs, *(ref for pair in path.writes for ref in pair), path.read]
    if path.read is not None and path.read[0] == "n" and isinstance(path.read[1][1], tuple):
        refs += path.read[1][1][1]  # which are told apart
    found = {ref[1] for ref in refs if ref is not None and ref[0] == "t"}
    for call in path.calls:
        found |= {ref[1] for ref in call.operands if ref[0] == "t"}
        if call.body is not None:
            found |= _tensors_in(call.body)
    for case in path.cases.values():
        found |= _tensors_in(case)
    return found


def _refusal_of(error: RuntimeError) -> Exception:
    """What strict=True says, in export's words; other errors are the function's."""
    text = str(error)
    match = re.match(
        r"\[trace\] the body of .* cannot be skipped, .* asks for: (.*)\.$", text, re.S
    )
    if match:
        return _program.Refused(f"{match[1]}: what a program does has to depend on its arguments "
                                "alone (pure=True promises that it does)")  # fmt: skip
    return error
