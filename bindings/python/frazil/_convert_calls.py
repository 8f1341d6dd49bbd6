"""Calls and writes of converted code inside of a vmap: functions of the user's are converted too,
and what not all examples do is done for them alone, or an error.

A tensor, an attribute, an item of a list or dict is written where the examples are live and keeps
its old content elsewhere. Of other calls only those go through that are known to change nothing:
of frazil's functions, of converted ones, of Python's that compute.
"""

from __future__ import annotations

import builtins
import functools
import operator
import sysconfig
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._convert_merge import UNSET, Weak, check_write, error, merge, settled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_is_batched = _fz.transforms.is_batched
_code_of = _fz.transforms.code_of
_for_all = _fz.transforms.for_all
_function_of = _fz.transforms.function_of

# Of the standard library, what computes; of objects, methods that change nothing.
_PURE_MODULES = {
    "math", "cmath", "operator", "_operator", "itertools", "functools", "_functools", "numpy",
    "collections", "copy", "dataclasses", "typing", "string", "re",
}  # fmt: skip
_IMPURE = {
    "print", "input", "open", "exec", "eval", "compile", "setattr", "delattr", "next", "breakpoint",
    "exit", "quit", "__import__", "memoryview", "iter",
}  # fmt: skip
_IMPURE |= {"setitem", "delitem", *(f"i{op}" for op in (
    "add", "and", "concat", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow", "rshift",
    "sub", "truediv", "xor",
))}  # fmt: skip
_READS: dict[Any, Any] = {
    list: {"copy", "count", "index"},
    dict: {"copy", "get", "items", "keys", "values"},
    set: {"copy", "difference", "intersection", "isdisjoint", "issubset", "issuperset", "union"},
}
_IMMUTABLE = (str, bytes, tuple, int, float, complex, frozenset, range, slice, type(None))
_PACKAGE = __file__.rpartition("/")[0] + "/"
_LIBRARIES = tuple(
    {path for key in ("stdlib", "platstdlib") if (path := sysconfig.get_paths().get(key))}
)


def _package(function: Any) -> str:
    return (getattr(function, "__module__", None) or "").partition(".")[0]


def is_users(function: Any) -> bool:
    """Whether it is a Python function outside of libraries."""
    if type(function) is not FunctionType:
        return False
    file = _code_of(function).co_filename
    if file.startswith(_PACKAGE):
        return False
    if file.startswith("<frozen") or "site-packages" in file or "dist-packages" in file:
        return False
    return not file.startswith(_LIBRARIES)


def is_converted(function: Any) -> bool:
    return any(name.startswith("__fz") for name in _code_of(function).co_freevars)


def function(f: Any) -> Any:
    """f as a converted function, if it is one of the user's that can be converted; else f."""
    if type(f) is FunctionType:
        if is_converted(f) or not is_users(f):
            return f
        from frazil._convert import lazily

        return lazily(f)
    if type(f) is MethodType:
        own = _function_of(f)
        converted = function(own)
        return f if converted is own else MethodType(converted, f.__self__)
    if type(f) is functools.partial:
        converted = function(f.func)
        return f if converted is f.func else functools.partial(converted, *f.args, **f.keywords)
    if isinstance(f, _fz.Traced):  # in a vmap a traced call is a part of it
        return function(f.__wrapped__)
    if isinstance(f, (type, ModuleType, _fz.Tensor)):
        return f
    called = _called(f)
    return f if called is None else MethodType(function(called), f)


def _called(f: Any) -> Any:
    """The user's function that runs when an object is called: a module's forward, __call__."""
    from frazil.nn import Module

    found = getattr(type(f), "__call__", None)  # noqa: B004 -- the function itself is wanted
    if found is Module.__call__:
        if f._hooked:
            return None
        found = type(f).forward
    return found if type(found) is FunctionType and is_users(found) else None


class Counting:
    """A range whose end, or start, differs between examples."""

    def __init__(self, *bounds: Any) -> None:
        if len(bounds) == 1:
            bounds = (0, *bounds)
        self.start, self.stop, self.step = bounds if len(bounds) == 3 else (*bounds, 1)
        for bound in bounds:
            if isinstance(bound, _fz.Tensor) and _is_batched(bound):
                operator.index(_fz.zeros(bound.shape, dtype=bound.dtype))  # raises what it does
        if not isinstance(self.step, int):
            raise error(TypeError, "the step of a range differs between the examples of a vmap.")

    def steps(self) -> Iterator[tuple[Any, Any]]:
        """(number, for which examples) without end."""
        start, stop = (
            x.value if isinstance(x, Weak) else _fz.asarray(x, dtype=_fz.int64)
            for x in (self.start, self.stop)
        )
        number = self.start if isinstance(self.start, int) else Weak(start, int)
        while True:
            at = number.value if isinstance(number, Weak) else number
            yield number, at < stop if self.step > 0 else at > stop
            number = number + self.step

    def __iter__(self) -> Any:
        raise error(
            TypeError,
            "a range differs in length between the examples of a vmap: only a for statement goes "
            "over it.",
        )


def _differs(x: Any) -> bool:
    return isinstance(x, Weak) or _is_batched(x)


def _range(*bounds: Any) -> Any:
    return Counting(*bounds) if any(map(_differs, bounds)) else range(*bounds)


def _bool(*value: Any) -> Any:
    from frazil._convert_runtime import truth

    return truth(*value) if len(value) == 1 else bool(*value)


def _extreme(better: Callable[[Any, Any], Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    def call(*values: Any, **options: Any) -> Any:
        if options or len(values) < 2 or not any(map(_differs, values)):
            return plain(*values, **options)
        from frazil._convert_runtime import truth

        best = values[0]
        for value in values[1:]:
            found = truth(better(value, best))
            if isinstance(found, bool):
                best = value if found else best
            else:
                best = merge(found, value, best, plain.__name__)
        return best

    return call


_CALLERS = (map, filter, sorted, functools.reduce, functools.partial)
_REPLACED: dict[Any, Callable[..., Any]] = {
    range: _range,
    bool: _bool,
    max: _extreme(operator.gt, max),
    min: _extreme(operator.lt, min),
}


def _transforming(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of frazil's, with the functions that it is given converted."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [_argument(x) for x in args]
        return f(*given, **{name: _argument(x) for name, x in kwargs.items()})

    return call


def _argument(x: Any) -> Any:
    if isinstance(x, _fz.Tensor):
        return x
    if type(x) is list and any(type(item) in (FunctionType, MethodType) for item in x):
        return [function(item) for item in x]
    return function(x) if callable(x) else x


def _settling(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, given tensors in the place of numbers that differ: beside others, of their dtype."""

    def call(*args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        tensors = [x for x in values if isinstance(x, _fz.Tensor) and x.dtype != _fz.bool]
        given, named = [], {}  # no map or comprehension: a proof sees what is in them
        for x in args:
            given.append(_operand(f, x, tensors))  # noqa: PERF401
        for name, x in kwargs.items():
            named[name] = _operand(f, x, tensors)
        return f(*given, **named)

    return call


def _operand(f: Any, x: Any, tensors: list[Any]) -> Any:
    if not isinstance(x, Weak):
        return settled(x)
    if f is _fz.asarray or f in (list, tuple, dict):
        return x.alone()
    if not tensors:
        raise error(
            TypeError,
            f"{getattr(f, '__name__', f)} gets a Python {x.number.__name__} that differs "
            "between the examples of a vmap: say its dtype with fz.asarray(x, dtype=...).",
        )
    return x.beside(*tensors)


class Calls:
    """What a frame does with objects that others may see."""

    __slots__ = ()
    live: Any
    made: list[tuple[Any, Any]]
    caller: Any

    def new(self, value: Any) -> Any:
        """A list, dict or set that the code makes."""
        self.made.append((value, self.live))
        return value

    def _owns(self, value: Any) -> bool:
        """Whether it was made for the very examples that are live."""
        frame: Any = self
        while frame is not None:
            for own, live in frame.made:
                if own is value and live is self.live:
                    return True
            frame = frame.caller
        return False

    def effect(self, what: str) -> None:
        if self.live is not True:
            raise error(
                RuntimeError,
                f"{what} where not all examples of a vmap come, and it cannot be done for some: "
                "move it out of the branch, or return what it needs.",
            )

    def call(self, f: Any) -> Any:
        """What is called in the place of f."""
        replaced = _REPLACED.get(f) if type(f) in (type, BuiltinFunctionType) else None
        if replaced is not None:
            return replaced
        converted = function(f)
        if converted is not f or (type(f) is FunctionType and is_converted(f)):
            return converted
        own = _function_of(f) if type(f) is MethodType else None
        if type(own) is FunctionType and is_converted(own):
            return f
        if self.live is not True:
            self._check(f)
        if f in (list, dict, set):
            return lambda *args, **kwargs: self.new(_settling(f)(*args, **kwargs))
        if (type(f) is FunctionType and _package(f) == "frazil") or f in _CALLERS:
            return _settling(_transforming(f))
        return f if isinstance(f, type) and f is not _fz.Tensor else _settling(f)

    def _check(self, f: Any) -> None:
        """Raises if calling it may change what others see."""
        owner = getattr(f, "__self__", None)
        name = getattr(f, "__name__", type(f).__name__)
        if isinstance(f, type) or f in _REPLACED:
            return
        if type(f) is BuiltinFunctionType and owner in (None, builtins):
            if name in _IMPURE:
                self.effect(f"{name} is called")
            if _package(f) in _PURE_MODULES | {"builtins", "frazil"}:
                return
        elif isinstance(owner, ModuleType):
            if _package(f) in _PURE_MODULES | {"frazil"} or owner.__name__.startswith("frazil"):
                return
        elif isinstance(owner, _fz.Tensor):
            if name != "backward" and not name.startswith("__"):
                return
        elif (
            isinstance(owner, _IMMUTABLE)
            or name in _READS.get(type(owner), ())
            or (owner is not None and self._owns(owner))
            or _package(f) in _PURE_MODULES
            or "frazil" in (_package(type(f)), _package(f) if type(f) is FunctionType else "")
        ):
            return
        where = f"{type(owner).__name__}.{name}" if owner is not None else name
        self.effect(f"{where} is called")

    # -- Writes

    def set_name(self, name: str) -> None:
        self.effect(f"the global name {name} is assigned")

    def set_item(self, value: Any, container: Any, index: Any) -> None:
        if isinstance(container, _fz.Tensor):
            index = self.at(index)
            check_write(container)
            _for_all(self._set_part, container, index, _beside(container, value))
        elif self.live is True or self._owns(container):
            container[index] = value
        else:
            found: Any = UNSET
            if type(container) is dict:
                found = container.get(index, UNSET)
            elif type(container) is list:
                found = container[index]
            if found is UNSET:
                self.effect(f"an item of a {type(container).__name__} is made")
            container[index] = merge(self.live, value, found, f"[{index!r}]")

    def _set_part(self, tensor: Any, index: Any, value: Any) -> None:
        if self.live is True or self._owns(tensor):
            tensor[index] = value
        elif isinstance(index, _fz.Tensor) and index.dtype == _fz.bool:
            tensor[index & self.live] = value
        else:
            tensor[index] = _fz.where(self.live, value, tensor[index])

    def set_attr(self, value: Any, owner: Any, name: str) -> None:
        if self.live is not True and not self._owns(owner):
            found = getattr(owner, name, UNSET)
            if found is UNSET or isinstance(owner, (_fz.Tensor, ModuleType, type)):
                self.effect(f"the attribute {name} of a {type(owner).__name__} is assigned")
            value = merge(self.live, value, found, f".{name}")
        setattr(owner, name, value)

    def at(self, index: Any) -> Any:
        """An index of a tensor, without numbers that differ. Of examples that are not live it may
        be out of range: it becomes 0."""
        if type(index) is tuple:
            return tuple(self.at(i) for i in index)
        if isinstance(index, Weak):
            index = index.value
        whole = isinstance(index, _fz.Tensor) and index.dtype.kind.endswith("integer")
        if whole and self.live is not True and _is_batched(index):
            return _fz.where(self.live, index, 0)
        return index

    def item(self, container: Any, index: Any) -> Any:
        return container[self.at(index) if isinstance(container, _fz.Tensor) else index]

    def augmented(self, name: str, old: Any, value: Any) -> Any:
        """What `old += value` leaves: the same object, where it is changed in place."""
        apply = getattr(operator, name)
        if isinstance(old, _fz.Tensor):
            check_write(old)
        if self.live is True or not hasattr(type(old), f"__{name}__"):
            return apply(old, value)
        if isinstance(old, _fz.Tensor):
            new = apply(_fz.copy(old), _beside(old, value))
            _for_all(self._set_part, old, ..., new)
            return old
        if not self._owns(old):
            self.effect(f"a {type(old).__name__} is changed in place")
        return apply(old, value)

    def place(self, container: Any, index: Any) -> tuple[Any, Any, Any]:
        return container, index, self.item(container, index)

    def set_place(self, name: str, place: tuple[Any, Any, Any], value: Any) -> None:
        container, index, old = place
        self.set_item(self.augmented(name, old, value), container, index)

    def attr_place(self, owner: Any, name: str) -> tuple[Any, str, Any]:
        return owner, name, getattr(owner, name)

    def set_attr_place(self, name: str, place: tuple[Any, str, Any], value: Any) -> None:
        owner, attribute, old = place
        self.set_attr(self.augmented(name, old, value), owner, attribute)


def _beside(tensor: Any, value: Any) -> Any:
    if isinstance(value, Weak) and isinstance(tensor, _fz.Tensor):
        return value.value if tensor.dtype.kind == "bool" else value.beside(tensor)
    return value
