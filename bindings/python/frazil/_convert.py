"""fz.convert: functions whose conditions may differ between the examples of a vmap.

A converted function holds what was written, and a second way that runs inside of a vmap
(_convert_rewrite.py). Outside it is the function as it was: the same instructions run.
"""

from __future__ import annotations

import ast
import functools
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from frazil import _convert_runtime as _runtime
from frazil import _frazil as _fz
from frazil._convert_calls import is_converted, is_users
from frazil._convert_expressions import Refused, name
from frazil._convert_rewrite import both_ways, is_generator
from frazil._convert_source import found, rebuilt

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["convert", "converted_source"]

_F = TypeVar("_F", bound="Callable[..., Any]")

_HELPERS = {
    "__fz": _runtime,
    "__fz_in_vmap": _fz.transforms.in_vmap,
}
_converted = _fz.transforms.converted


def _value_of(node: ast.AST, function: FunctionType) -> Any:
    """What a name or an attribute of a module stands for now; None if that is not plain."""
    if isinstance(node, ast.Attribute):
        owner = _value_of(node.value, function)
        return getattr(owner, node.attr, None) if type(owner) is type(ast) else None
    if not isinstance(node, ast.Name):
        return None
    if node.id in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(node.id)]
        try:
            return cell.cell_contents
        except ValueError:
            return None
    return function.__globals__.get(node.id)


def _transforms(function: Any, seen: set[CodeType]) -> bool:
    """Whether a function of the user's, or one that it calls by name, gives functions to frazil."""
    if type(function) is not FunctionType or function.__code__ in seen:
        return False
    if not is_users(function):
        return False
    seen.add(function.__code__)
    codes: list[CodeType] = [function.__code__]
    names: set[str] = set()
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
    if "vmap" in names:
        return True
    return any(_transforms(function.__globals__.get(n), seen) for n in names)


def _wrapping(function: FunctionType) -> Callable[[ast.Call], ast.Call]:
    """Of the plain way: functions that go to frazil's are converted, and those that take them
    there."""

    def converted(node: ast.expr) -> ast.expr:
        convert = ast.Attribute(value=name("__fz"), attr="function", ctx=ast.Load())
        new = ast.Call(func=convert, args=[node], keywords=[])
        return cast("ast.expr", ast.fix_missing_locations(ast.copy_location(new, node)))

    def wrap(node: ast.Call) -> ast.Call:
        called = _value_of(node.func, function)
        if type(called) is not FunctionType:
            return node
        if (called.__module__ or "").partition(".")[0] == "frazil":
            node.args = [converted(a) if is_users(_value_of(a, function)) else a for a in node.args]
        elif _transforms(called, {function.__code__}):
            node.func = converted(node.func)
        return node

    return wrap


def _definition(function: FunctionType) -> Any:
    if not is_users(function):
        raise Refused("it belongs to a library")
    node = found(function)
    if is_generator(node):
        raise Refused("it is a generator or coroutine, whose body runs after the call")
    return both_ways(node, _wrapping(function))


def _code(function: FunctionType) -> CodeType | str:
    """Its code, converted, or why there is none."""
    try:
        return rebuilt(_definition(function), function, tuple(_HELPERS))
    except Refused as error:
        return str(error)


def _build(function: FunctionType) -> FunctionType:
    new = _converted(function, _code, _HELPERS)
    if isinstance(new, str):
        raise Refused(new)
    return new


def lazily(function: FunctionType) -> FunctionType:
    """The function converted, or as it is if it cannot be."""
    new = _converted(function, _code, _HELPERS)
    return function if isinstance(new, str) else new


def try_convert(fn: Any) -> tuple[Any, list[str]]:
    """(fn converted, or as it is; why it or functions that it calls by name are not): for trace."""
    notes: list[str] = []
    try:
        new = convert(fn)
    except (TypeError, ValueError) as error:
        return fn, [str(error)]
    _note_callees(getattr(new, "__func__", new), notes, set())
    return new, notes


def _note_callees(function: Any, notes: list[str], seen: set[CodeType]) -> None:
    original = getattr(function, "__wrapped__", function)
    if type(original) is not FunctionType or original.__code__ in seen:
        return
    seen.add(original.__code__)
    for word in original.__code__.co_names:
        called = original.__globals__.get(word)
        if type(called) is FunctionType and is_users(called) and not is_converted(called):
            try:
                _build(called)
            except Refused as why:
                notes.append(f"[convert] {called.__qualname__} is not converted: {why}.")
            _note_callees(called, notes, seen)


def convert(fn: _F) -> _F:
    """fn, which may branch and loop on what differs between the examples of a vmap.

    `if`, `while`, `for`, `break`, `continue`, `return`, `assert`, `and`, `or`, `not` and
    conditional expressions may then ask tensors that are batched: each example has the results of
    its own way through the code, as `cond` and `while_loop` give them. Functions that fn calls and
    defines are converted when they are called, libraries are not. Outside of a vmap fn runs as it
    was written, and so it does inside where conditions are the same for all examples.

    Ways that join must leave the names that are used behind with one structure, shape and dtype.
    Of Python numbers that differ the dtype is decided by the tensors that they meet. Both ways of
    a condition compute on all examples, as branches of `cond` do.

    Parameters
    ----------
    fn
        A Python function with its source: a def, a lambda, a method, a closure.

    Raises
    ------
    TypeError
        If fn cannot be converted: the message says why. In a vmap: if ways that join leave
        different structures, shapes or dtypes, or the length of a list depends on an example.
    RuntimeError
        In a vmap: if only some examples come to what cannot be done for some, such as print, or
        an append to a list from outside.

    >>> import frazil as fz
    >>> def halvings(x):
    ...     n = 0
    ...     while x > 1:
    ...         x = x / 2
    ...         n += 1
    ...     return n
    >>> fz.vmap(fz.convert(halvings))(fz.asarray([1.0, 8.0, 5.0])).tolist()
    [0, 3, 3]
    """
    if isinstance(fn, (staticmethod, classmethod)):
        return cast("_F", type(fn)(convert(fn.__func__)))
    if isinstance(fn, MethodType):
        return cast("_F", MethodType(convert(fn.__func__), fn.__self__))
    if isinstance(fn, functools.partial):
        return cast("_F", functools.partial(convert(fn.func), *fn.args, **fn.keywords))
    if isinstance(fn, _fz.Traced):
        raise TypeError("[convert] the function is traced: use fz.trace(fn, convert=True).")
    if not callable(fn):
        raise TypeError(f"[convert] needs a function, got {type(fn).__name__}.")
    if type(fn) is not FunctionType:
        called = _runtime.function(fn)
        if called is fn:
            raise TypeError(f"[convert] {fn!r} is no Python function that can be converted.")
        return cast("_F", called)
    if is_converted(fn):
        return fn
    try:
        return cast("_F", _build(cast("FunctionType", fn)))
    except Refused as why:
        raise TypeError(f"[convert] {fn.__qualname__} is not converted: {why}.") from None


def converted_source(fn: Callable[..., Any]) -> str:
    """What convert makes of a function, as Python: what runs inside of a vmap, then what was
    written.

    Raises
    ------
    TypeError
        If fn cannot be converted: the message says why.

    >>> import frazil as fz
    >>> def sign(x):
    ...     return 1 if x > 0 else -1
    >>> "__f.choose(__f.when(x > 0)" in fz.converted_source(sign)
    True
    """
    while not isinstance(fn, FunctionType) or is_converted(fn):
        inner = getattr(fn, "__func__", getattr(fn, "func", getattr(fn, "__wrapped__", None)))
        if inner is None:
            raise TypeError(f"[converted_source] needs a Python function, got {type(fn).__name__}.")
        fn = inner
    try:
        return ast.unparse(_definition(fn))
    except Refused as why:
        raise TypeError(f"[converted_source] {fn.__qualname__} is not converted: {why}.") from None
