"""Arguments and results of exported functions: nests of tensors, and what a program keeps itself.

Called by _export.py and onnx/_saving.py. Inputs are the tensors in them, in the order in which the
nests are gone through.
"""

from __future__ import annotations

import inspect
from itertools import combinations
from typing import TYPE_CHECKING, Any

from frazil import _export_names
from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._structures import DEEPEST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "CallOf", "argument_names", "call_of", "calls_of", "copied", "inputs_of", "mapped", "ones_of",
    "renewed", "require_shallow", "structure_of",
]  # fmt: skip

CallOf = tuple[list[Any], tuple[str, ...]]  # arguments, the last of which have these names


def call_of(op: str, args: Any, kwargs: Any) -> CallOf:
    """Arguments of a call, checked. For fz.onnx.save, too."""
    if not isinstance(args, (tuple, list)):
        raise TypeError(
            f"[{op}] example_args must be a tuple of arguments, got {type(args).__name__}: write "
            "(x,) for one."
        )
    if kwargs is None:
        return list(args), ()
    if not isinstance(kwargs, dict) or not all(isinstance(key, str) for key in kwargs):
        raise TypeError(
            f"[{op}] kwargs must be a dict of arguments by their names, got "
            f"{type(kwargs).__name__}: write kwargs={{'mask': mask}}."
        )
    return [*args, *kwargs.values()], tuple(kwargs)


def calls_of(op: str, examples: Any, kwargs: Any) -> list[CallOf]:
    """Those of examples, which are pairs if there are arguments by keyword."""
    calls = []
    for i, example in enumerate(examples):
        if kwargs is None:
            calls.append(call_of(op, example, None))
            continue
        if not isinstance(example, (tuple, list)) or len(example) != 2:
            raise TypeError(
                f"[{op}] examples[{i}] must be a pair of a tuple and a dict, as kwargs are given, "
                f"got {type(example).__name__}: write ((x,), {{'mask': mask}})."
            )
        args, by_keyword = example
        if isinstance(by_keyword, dict) and by_keyword.keys() == kwargs.keys():
            by_keyword = {key: by_keyword[key] for key in kwargs}
        calls.append(call_of(op, args, by_keyword))
    return calls


def _is_named(x: Any) -> bool:
    """Whether it is a named tuple, of which a program knows the fields."""
    fields = getattr(x, "_fields", None)
    if not isinstance(x, tuple) or not isinstance(fields, tuple) or not hasattr(x, "_make"):
        return False
    return len(fields) == len(x) and not getattr(x, "__dict__", None)


def structure_of(
    path: str, x: Any, leaf: Callable[[str, Any], Any], refused: Callable[[str, Any], Exception]
) -> Any:
    """What _structures.py reads of a nest. `leaf`: that of a tensor, and of what else is one; None
    of others. `refused`: the error for what can be no part of one.
    """

    def inside(key: Any, item: Any) -> Any:
        return structure_of(f"{path}.{key}", item, leaf, refused)

    found = leaf(path, x)
    if found is not None:
        return found
    if x is None or isinstance(x, (bool, int, float, str)):
        return {"fixed": x}
    if _is_named(x):
        fields = [[key, inside(key, item)] for key, item in zip(x._fields, x, strict=True)]
        return {"named": [type(x).__name__, fields]}
    if type(x) in (list, tuple):
        items = [inside(i, item) for i, item in enumerate(x)]
        return {"list" if type(x) is list else "tuple": items}
    if type(x) is dict and all(isinstance(key, str) for key in x):
        return {"dict": [[key, inside(key, x[key])] for key in x]}
    raise refused(path, x)


def require_shallow(what: str, items: list[Any]) -> None:
    """Arguments and results are nests as deep as programs are loaded."""
    level = items
    for _ in range(DEEPEST + 1):
        nests = [x for x in level if isinstance(x, (list, tuple, dict))]
        level = [item for x in nests for item in (x.values() if isinstance(x, dict) else x)]
        if not level:
            return
    raise TypeError(
        f"[export] {what} is over {DEEPEST} lists, tuples and dicts deep: put its tensors into "
        "fewer ones."
    )


def argument_names(fn: Any, args: list[Any], keywords: tuple[str, ...]) -> list[str]:
    forward = getattr(fn, "forward", None) if isinstance(fn, _fz.ModuleBase) else None
    count = len(args) - len(keywords)
    try:
        signature = inspect.signature(forward or fn)
        signature.bind(*args[:count], **dict.fromkeys(keywords))
        bound = signature.bind_partial(*args[:count])
    except ValueError:  # a builtin does not tell
        return [*(f"x{i}" for i in range(count)), *keywords]
    except TypeError as error:
        raise TypeError(f"[export] example_args do not fit: {error}.") from None
    names: list[str] = []
    for name, value in bound.arguments.items():
        several = bound.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        names += [f"{name}.{i}" for i in range(len(value))] if several else [name]
    return [*names, *keywords]


def inputs_of(args: Sequence[Any]) -> list[Tensor]:
    """The tensors that are inputs, in the order of _Exporter._structure; those of a result."""
    found: list[Tensor] = []
    for x in args:
        if isinstance(x, Tensor):
            found.append(x)
        elif not _export_names.holds_state(x) and isinstance(x, (list, tuple, dict)):
            found += inputs_of(list(x.values()) if isinstance(x, dict) else x)
    return found


def copied(x: Tensor) -> Tensor:
    return _fz.copy(x.detach()).requires_grad_(x.requires_grad)


def renewed(args: list[Any]) -> list[Any]:
    """The arguments in other tensors of the same content."""
    new = {id(t): t.detach().requires_grad_(t.requires_grad) for t in inputs_of(args)}
    return [mapped(lambda t: new.get(id(t), t), arg) for arg in args]


def ones_of(args: list[Any]) -> frozenset[Any]:
    """Pairs of inputs that are one tensor."""
    at: dict[int, list[Any]] = {}
    for i, t in enumerate(inputs_of(args)):
        at.setdefault(id(t), []).append(("p", i))
    return frozenset(pair for refs in at.values() for pair in combinations(refs, 2))


def mapped(f: Callable[[Tensor], Tensor], x: Any) -> Any:
    """An argument with other tensors as its inputs."""
    if isinstance(x, Tensor):
        return f(x)
    if _export_names.holds_state(x):
        return x
    if _is_named(x):
        return type(x)._make([mapped(f, item) for item in x])
    if type(x) in (list, tuple):
        return type(x)(mapped(f, item) for item in x)
    return {key: mapped(f, item) for key, item in x.items()} if type(x) is dict else x
