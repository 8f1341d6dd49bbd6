"""Arguments and results of a loaded program, by the structures that its file tells.

_program.py calls it. A structure is {kind: what}: tensors by their numbers, {"input": 0} and
{"output": 0}, in lists, tuples, dicts and named tuples; what is fixed is part of the program. It is
read once, into functions: calls walk no structure.
"""

from __future__ import annotations

import collections
import json
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._frazil import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    _Take = Callable[[Any, list[Any]], None]
    _Make = Callable[[list[Tensor]], Any]

DEEPEST = 64  # of arguments and results: lists, tuples and dicts within each other


class Structures:
    """What a program is called with and returns.

    `names` are those of its arguments, without what the program keeps itself. takes[i](x, inputs)
    puts the tensors of argument i at their numbers, or raises TypeError or ValueError with its
    name; make(outputs) is the result.
    """

    def __init__(self, about: Any) -> None:
        arguments, result = _read(about)
        given = [(name, item) for name, item in arguments if "state" not in item]
        self.names = [name for name, _ in given]
        self.takes = [_take(about["name"], name, item) for name, item in given]
        self.make = _make(result)


def _take(program: str, path: str, structure: Any) -> _Take:
    ((kind, what),) = structure.items()
    if kind == "input":

        def tensor(x: Any, inputs: list[Any]) -> None:
            inputs[what] = x if isinstance(x, Tensor) else _fz.asarray(x)

        return tensor
    if kind == "fixed":

        def fixed(x: Any, _: list[Any]) -> None:
            if type(x) is not type(what) or (x != what and (x == x or what == what)):
                raise ValueError(
                    f"[{program}] {path} was {what!r} when it was exported, and is part of the "
                    f"program, got {x!r}."
                )

        return fixed
    if kind == "state":  # the program has its own
        return lambda x, inputs: None
    fields = what[1] if kind == "named" else what
    if kind in ("dict", "named"):
        keys = [key for key, _ in fields]
        takes = [_take(program, f"{path}.{key}", item) for key, item in fields]
    else:
        takes = [_take(program, f"{path}.{i}", item) for i, item in enumerate(fields)]
    if kind == "dict":
        wanted, named = set(keys), list(zip(keys, takes, strict=True))

        def items(x: Any, inputs: list[Any]) -> None:
            if not isinstance(x, dict) or x.keys() != wanted:
                raise TypeError(f"[{program}] {path} must be a dict of {keys}, got {_shown(x)}.")
            for key, take in named:
                take(x[key], inputs)

        return items
    if kind == "named":
        known, count = tuple(keys), f"named tuple of {keys}"

        def is_one(x: Any) -> bool:
            return isinstance(x, tuple) and getattr(x, "_fields", None) == known

    else:
        cls, length = (list if kind == "list" else tuple), len(takes)
        count = f"{kind} of {length}"

        def is_one(x: Any) -> bool:
            return isinstance(x, cls) and len(x) == length

    def sequence(x: Any, inputs: list[Any]) -> None:
        if not is_one(x):
            raise TypeError(f"[{program}] {path} must be a {count}, got {_shown(x)}.")
        for value, take in zip(x, takes, strict=True):
            take(value, inputs)

    return sequence


def _make(structure: Any) -> _Make:
    ((kind, what),) = structure.items()
    if kind == "output":
        return lambda outputs: outputs[what]
    if kind == "fixed":
        return lambda _: what
    if kind == "dict":
        items = [(key, _make(item)) for key, item in what]
        return lambda outputs: {key: make(outputs) for key, make in items}
    if kind == "named":
        name, fields = what
        makes = [_make(item) for _, item in fields]
        tuple_of: Any = collections.namedtuple  # of names that type checkers do not know
        cls = tuple_of(name, [key for key, _ in fields], rename=True)
        return lambda outputs: cls(*[make(outputs) for make in makes])
    makes = [_make(item) for item in what]
    if kind == "list":
        return lambda outputs: [make(outputs) for make in makes]
    return lambda outputs: tuple([make(outputs) for make in makes])


def _shown(x: Any) -> str:
    length = f" of {len(x)}" if isinstance(x, (list, tuple, dict)) else ""
    return f"{type(x).__name__}{length}"


def _read(about: Any) -> tuple[list[tuple[str, Any]], Any]:
    """Arguments and result; of a program that Python did not write tensors in their order."""
    try:
        structure = json.loads(about["python"]) if about["python"] else None
        if structure is None:
            given = [(name, {"input": i}) for i, (name, _) in enumerate(about["inputs"])]
            return given, {"tuple": [{"output": i} for i in range(about["results"])]}
        arguments = [(name, item) for name, item in structure["arguments"]]
        names = [name for name, _ in arguments]
        if not all(isinstance(name, str) for name in names) or len({*names}) != len(names):
            raise ValueError("the names of its arguments are not strings that differ")
        inputs: list[int] = []
        outputs: list[int] = []
        for _, item in arguments:
            _check(item, "input", inputs, 0)
        _check(structure["result"], "output", outputs, 0)
        if sorted(inputs) != list(range(len(about["inputs"]))) or outputs != list(
            range(about["results"])
        ):
            raise ValueError("inputs and results are not the program's")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"[load_program] the structure of its arguments is damaged: {error}."
        ) from None
    return arguments, structure["result"]


def _check(item: Any, tensor: str, numbers: list[int], depth: int) -> None:
    """`tensor`: what a leaf is called, "input" or "output"; theirs are added to `numbers`."""
    ((kind, what),) = item.items()
    if depth > DEEPEST:
        raise ValueError("it is too deep")
    if kind == tensor:
        if type(what) is not int:
            raise ValueError(f"{what!r} is no number of a tensor")
        numbers.append(what)
    elif kind in ("dict", "named"):
        fields = what[1] if kind == "named" else what
        for key, inner in fields:
            if not isinstance(key, str):
                raise ValueError(f"{key!r} is no name")
            _check(inner, tensor, numbers, depth + 1)
        if kind == "named":  # which names can be, the standard library knows
            make: Any = collections.namedtuple  # of names that type checkers do not know
            names = tuple(key for key, _ in fields)
            if make(what[0], names, rename=True)._fields != names:  # "_1" is one that it gives
                raise ValueError(f"{names} are no fields of a named tuple")
    elif kind in ("list", "tuple"):
        for inner in what:
            _check(inner, tensor, numbers, depth + 1)
    elif kind not in ("fixed", "state"):
        raise ValueError(f"{kind!r} is unknown")
