"""fz.load_program: a program that fz.export wrote, as something to call."""

from __future__ import annotations

import collections
import json
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._grad import no_grad

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

__all__ = ["Program", "load_program"]

_call = _fz.program.call
DEEPEST = 64  # of arguments and results: lists, tuples and dicts within each other


def load_program(path: str | PathLike[str], device: str | None = None) -> Program:
    """The program of a .frz file.

    The file is data: nothing in it is run as code, and what it says is checked.

    Parameters
    ----------
    path : path
    device : str, optional
        Where its tensors are put and it computes; the CPU.

    Returns
    -------
    Program
        It is called as the function was, without the modules, optimizers and generators that were
        among the arguments.

    Raises
    ------
    OSError
        If it cannot be opened.
    ValueError
        If it is no such file, is damaged, or was written for another format version.

    >>> import os, tempfile
    >>> import frazil as fz
    >>> path = os.path.join(tempfile.mkdtemp(), "double.frz")
    >>> fz.export(lambda x: x + x, (fz.ones(2),), path, name="double")
    >>> double = load_program(path)
    >>> double(fz.asarray([1.0, 2.0])).tolist()
    [2.0, 4.0]
    >>> double
    <frazil.Program double(x: f32[2])>
    """
    return Program(_fz.program.load_program(path, device))


class Program:
    """A loaded program: call it, take gradients through it, trace it, map it. By `load_program`.

    Its tensors are the weights and states of the file. Calls read and write them, state_dict tells
    them, load_state_dict sets them. It can be copied and pickled with them, and needs no file then.
    """

    def __init__(self, loaded: Any) -> None:
        about = _fz.program.about(loaded)
        self._loaded = loaded
        self._name, self._version = about["name"], about["version"]
        self._inputs: list[tuple[str, str]] = about["inputs"]
        self._tensors = [tensor for _, _, tensor in about["tensors"]]
        self._named = {n: t for n, constant, t in about["tensors"] if not constant}
        self._arguments, self._result = _structure_of(about)
        self._positions = [(n, s) for n, s in self._arguments if "state" not in s]

    def __reduce__(self) -> Any:
        names = [name for name, _, _ in _fz.program.about(self._loaded)["tensors"]]
        return _remade, (
            _fz.program.texts_of(self._loaded),
            dict(zip(names, self._tensors, strict=True)),
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        inputs: list[Any] = [None] * len(self._inputs)
        for (name, structure), value in zip(
            self._positions, self._bound(args, kwargs), strict=True
        ):
            self._take(name, structure, value, inputs)
        outputs = _call(self._loaded, inputs, self._tensors)
        return _made(self._result, outputs)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        names = [name for name, _ in self._positions]
        missing = object()
        given = [*args, *(kwargs.pop(name, missing) for name in names[len(args) :])]
        if kwargs or len(args) > len(names) or any(value is missing for value in given):
            raise TypeError(
                f"[{self._name}] takes {', '.join(names) or 'no arguments'}, got {len(args)} by "
                f"position{''.join(f', {k}' for k in kwargs)}."
            )
        return given

    def _take(self, path: str, structure: Any, x: Any, inputs: list[Any]) -> None:
        """Puts the tensors of an argument to their numbers."""
        ((kind, what),) = structure.items()
        if kind == "input":
            inputs[what] = x if isinstance(x, Tensor) else _fz.asarray(x)
        elif kind == "fixed":
            same = type(x) is type(what) and (x == what or (x != x and what != what))
            if not same:
                raise ValueError(
                    f"[{self._name}] {path} was {what!r} when it was exported, and is part of the "
                    f"program, got {x!r}."
                )
        elif kind == "dict":
            keys = [key for key, _ in what]
            if not isinstance(x, dict) or x.keys() != set(keys):
                raise TypeError(f"[{self._name}] {path} must be a dict of {keys}, got {_shown(x)}.")
            for key, item in what:
                self._take(f"{path}.{key}", item, x[key], inputs)
        elif kind in ("list", "tuple"):
            if not isinstance(x, list if kind == "list" else tuple) or len(x) != len(what):
                raise TypeError(
                    f"[{self._name}] {path} must be a {kind} of {len(what)}, got {_shown(x)}."
                )
            for i, (item, value) in enumerate(zip(what, x, strict=True)):
                self._take(f"{path}.{i}", item, value, inputs)

    # Weights and states

    def parameters(self) -> Iterator[Tensor]:
        """The tensors of floating point, to train or to take gradients of."""
        return (t for t in self._named.values() if t.dtype.kind == "real floating")

    def requires_grad_(self, requires_grad: bool = True) -> Program:
        """Makes calls keep what gradients to parameters() need."""
        for t in self.parameters():
            t.requires_grad_(requires_grad)
        return self

    def state_dict(self) -> dict[str, Tensor]:
        """Weights and states by their names in the file, without history."""
        return {name: t.detach() for name, t in self._named.items()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Copies values in; ValueError unless the names and shapes are the program's."""
        if state_dict.keys() != self._named.keys():
            missing = [n for n in self._named if n not in state_dict]
            more = [n for n in state_dict if n not in self._named]
            raise ValueError(
                f"[load_state_dict] {self._name} lacks {missing or 'nothing'} and does not know "
                f"{more or 'more'}."
            )
        for name, t in self._named.items():
            value = state_dict[name]
            if value.shape != t.shape or value.dtype != t.dtype:
                raise ValueError(
                    f"[load_state_dict] '{name}' is {t.dtype.name}{list(t.shape)}, got "
                    f"{value.dtype.name}{list(value.shape)}."
                )
        with no_grad():
            for name, t in self._named.items():
                t[...] = state_dict[name]

    # What it says of itself

    def stats(self) -> dict[str, int]:
        """Counts of calls, of those that were one plan, of plans, and kernels of the last one."""
        return _fz.program.stats(self._loaded)

    def explain(self) -> str:
        """Every recording and plan: where, and what changed."""
        return _fz.program.explain(self._loaded)

    @property
    def inputs(self) -> dict[str, str]:
        """The types of the inputs by name, such as "f32[batch,64]"."""
        return dict(self._inputs)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {kind}" for name, kind in self._inputs)
        return f"<frazil.Program {self._name}({inputs})>"


def _remade(texts: tuple[str, str, str, str], tensors: dict[str, Tensor]) -> Program:
    """A copy, or one that was pickled."""
    return Program(_fz.program.make_program(texts, tensors))


def _structure_of(about: Any) -> tuple[list[tuple[str, Any]], Any]:
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
            make(what[0], [key for key, _ in fields])
    elif kind in ("list", "tuple"):
        for inner in what:
            _check(inner, tensor, numbers, depth + 1)
    elif kind not in ("fixed", "state"):
        raise ValueError(f"{kind!r} is unknown")


def _made(structure: Any, outputs: list[Tensor]) -> Any:
    ((kind, what),) = structure.items()
    if kind == "output":
        return outputs[what]
    if kind == "fixed":
        return what
    if kind == "dict":
        return {key: _made(item, outputs) for key, item in what}
    if kind == "named":
        name, fields = what
        make: Any = collections.namedtuple  # of names that type checkers do not know
        return make(name, [n for n, _ in fields])(*(_made(item, outputs) for _, item in fields))
    items = [_made(item, outputs) for item in what]
    return items if kind == "list" else tuple(items)


def _shown(x: Any) -> str:
    length = f" of {len(x)}" if isinstance(x, (list, tuple, dict)) else ""
    return f"{type(x).__name__}{length}"
