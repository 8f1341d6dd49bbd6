"""Where a function finds tensors: those of its arguments, and of modules, optimizers and containers
that it holds or names, with the names that they get in a file. For frazil/_export.py.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil import _parameters
from frazil._frazil import Tensor, Traced
from frazil._tracked import Tracked

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEEPEST = 12


def holds_state(x: Any) -> bool:
    """Whether an argument is what a program keeps: a module, an optimizer, a generator."""
    return isinstance(_parameters.module_of(x), (_fz.ModuleBase, Tracked))


def tensors_of_state(fn: Any, args: list[Any]) -> dict[int, Tensor]:
    """What a program has of its own, by id: tensors of the function, and of what it keeps among its
    arguments."""
    roots: list[tuple[str, Any]] = []

    def walk(x: Any) -> None:
        if holds_state(x):
            roots.append(("", _parameters.module_of(x)))
        elif isinstance(x, (list, tuple, dict)):
            for item in x.values() if isinstance(x, dict) else x:
                walk(item)

    walk(args)
    _add_function(fn, roots, set())
    return {id(t): t for _, t in named_tensors(roots)}


def _is_module(x: Any) -> bool:
    return isinstance(x, _fz.ModuleBase) and hasattr(x, "named_parameters")


def roots_of(fn: Any, arguments: dict[str, Any]) -> list[tuple[str, Any]]:
    """What the function may find tensors in, with names."""
    roots = [(name, _parameters.module_of(x)) for name, x in arguments.items()]
    _add_function(fn, roots, set())
    return roots


def modules_of(fn: Any, args: list[Any]) -> list[Any]:
    """The modules that it may call, with those inside."""
    roots = roots_of(fn, {str(i): x for i, x in enumerate(args)})
    return [m for _, root in roots if _is_module(root) for m in root.modules()]


def _add_function(fn: Any, roots: list[tuple[str, Any]], seen: set[int]) -> None:
    if id(fn) in seen or len(seen) > 64:
        return
    seen.add(id(fn))
    if isinstance(fn, functools.partial):
        roots += [(f"argument.{i}", value) for i, value in enumerate(fn.args)]
        roots += list(fn.keywords.items())
        return _add_function(fn.func, roots, seen)
    if isinstance(fn, Traced):
        return _add_function(fn.__wrapped__, roots, seen)
    if isinstance(fn, types.MethodType):
        roots.append(("self", fn.__self__))
        return _add_function(fn.__func__, roots, seen)
    if not isinstance(fn, types.FunctionType):
        if not isinstance(fn, type) and not isinstance(fn, types.BuiltinFunctionType):
            roots.append(("self", fn))
        return None
    found: list[tuple[str, Any]] = []
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            found.append((name, cell.cell_contents))
        except ValueError:  # nothing is in it yet
            continue
    names = dict.fromkeys(_names_in(fn.__code__))
    found += [(n, fn.__globals__[n]) for n in names if n in fn.__globals__]
    for name, caught in found:
        module = _parameters.module_of(caught)
        value = module if _is_module(module) else caught
        if isinstance(value, (types.FunctionType, types.MethodType, Traced, functools.partial)):
            _add_function(value, roots, seen)
        elif not isinstance(value, (types.ModuleType, type)):
            roots.append((name, value))
    return None


def _names_in(code: types.CodeType) -> Iterator[str]:
    """The names that it looks up, and that functions written within it do."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names_in(inner)


def named_tensors(roots: list[tuple[str, Any]]) -> Iterator[tuple[str, Tensor]]:
    """(name, tensor), each tensor once. Those of the only module have its state dict's names."""
    modules = list({id(x): x for _, x in roots if _is_module(x)}.values())
    seen: set[int] = set()
    of_parameters: dict[int, str] = {}
    ordered = sorted(roots, key=lambda root: not _is_module(root[1]))
    for name, root in ordered:
        alone = _is_module(root) and len(modules) == 1
        for path, tensor in _walk("" if alone else name, root, seen, of_parameters, 0):
            of_parameters.setdefault(id(tensor), path)
            yield path, tensor


def _walk(
    path: str, x: Any, seen: set[int], names: dict[int, str], depth: int
) -> Iterator[tuple[str, Tensor]]:
    x = _parameters.module_of(x)
    if id(x) in seen or depth > _DEEPEST:
        return
    if isinstance(x, Tensor):
        seen.add(id(x))
        yield path or "tensor", x
        return
    if isinstance(x, (str, bytes, int, float, complex, type, types.ModuleType, types.FunctionType)):
        return
    seen.add(id(x))
    if hasattr(x, "param_groups") and hasattr(x, "state"):
        yield from _optimizer(path, x, seen, names, depth)
        return
    for name, item in _items(x):
        yield from _walk(_parameters.join(path, name), item, seen, names, depth + 1)


def _items(x: Any) -> list[tuple[Any, Any]]:
    if _is_module(x):
        return _parameters.items(x)
    if isinstance(x, dict):
        items = [(k if isinstance(k, (str, int)) else i, v) for i, (k, v) in enumerate(x.items())]
    elif isinstance(x, (list, tuple)):
        items = list(enumerate(x))
    else:
        items = []
    slots = (s for c in type(x).__mro__ for s in getattr(c, "__slots__", ()) if isinstance(s, str))
    items += [(s, getattr(x, s)) for s in slots if not s.startswith("__") and hasattr(x, s)]
    return items + list(getattr(x, "__dict__", {}).items())


def _optimizer(
    path: str, optimizer: Any, seen: set[int], names: dict[int, str], depth: int
) -> Iterator[tuple[str, Tensor]]:
    """By the parameters' names: "optimizer.fc1.weight.exp_avg"; counters: "optimizer.step"."""
    for i, group in enumerate(optimizer.param_groups):
        prefix = path if len(optimizer.param_groups) == 1 else f"{path}.{i}"
        for key, value in dict.items(group):
            if key == "params":
                for k, p in enumerate(value):
                    names.setdefault(id(p), f"{prefix}.{k}")
                continue
            yield from _walk(f"{prefix}.{key}", value, seen, names, depth + 1)
    state = optimizer.state if isinstance(optimizer.state, dict) else {}
    for p, kept in state.items():
        for key, value in kept.items() if isinstance(kept, dict) else ():
            shared = isinstance(value, Tensor) and value.ndim == 0 and key == "step"
            name = f"{path}.{key}" if shared else f"{path}.{names.get(id(p), 'state')}.{key}"
            yield from _walk(name, value, seen, names, depth + 1)
    for name, item in _items(optimizer):
        yield from _walk(f"{path}.{name}", item, seen, names, depth + 1)
