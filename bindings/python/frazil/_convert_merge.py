"""Two values of one name, of which each example of a vmap keeps its own: what _convert_runtime.py
does where branches join.

Tensors are chosen by `where`, nests leaf by leaf. A Python number that differs between examples
stays a number: a Weak takes the dtype of the tensor that it meets, as the number does in the code
of one example, and so results have the same dtypes. What has no common meaning is an error, which
names the variable and both values.
"""

from __future__ import annotations

import operator
import sys
from typing import Any

from frazil import _frazil as _fz
from frazil._dtypes import result_type

_flatten = _fz.tree.flatten
_for_all: Any = _fz.transforms.for_all
_note_merged = _fz.transforms.note_merged

UNSET: Any = type("Unset", (), {"__repr__": lambda self: "unset"})()
# What a function returns that raises for all who come to its raise, when nobody does.
NOBODY: Any = type("Nobody", (), {"__repr__": lambda self: "what no example has"})()


def here() -> str:
    """ "train.py:12": the innermost line outside of the package, for messages."""
    frame: Any = sys._getframe(1)
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == "frazil":
        frame = frame.f_back
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}" if frame else "?"


def error(kind: type[Exception], text: str) -> Exception:
    """An exception whose message begins with the user's line."""
    return kind(f"[convert] {here()}: {text}")


def _kind(result: Any) -> type:
    return {"bool": bool, "real floating": float, "complex floating": complex}.get(
        result.dtype.kind, int
    )


def _divisor(value):
    """A number that Python would not divide by is an error here, too, for any example."""
    zero = value == 0
    if _fz.transforms.any_example(zero) if isinstance(zero, _fz.Tensor) else zero:
        raise error(
            ZeroDivisionError,
            "a Python number is divided by one that is 0 for some example of a vmap.",
        )
    return value


def _operator(name):
    apply = getattr(operator, name)
    checked = _divisor if name in ("truediv", "floordiv", "mod") else lambda value: value

    def forward(self, other):
        if isinstance(other, _fz.Tensor):
            return apply(self.beside(other), other)
        if isinstance(other, (Weak, int, float, complex)):
            other = other.value if isinstance(other, Weak) else other
            return _weak(apply(self.value, checked(other)))
        return NotImplemented

    def reflected(self, other):
        if isinstance(other, _fz.Tensor):
            return apply(other, self.beside(other))
        if isinstance(other, (int, float, complex)):
            return _weak(apply(other, checked(self.value)))
        return NotImplemented

    return forward, reflected


def _weak(result: Any) -> Any:
    kind = _kind(result)
    return result if kind is bool else Weak(result, kind)


def _unary(name):
    apply = getattr(operator, name)
    return lambda self: _weak(apply(self.value))


class Weak:
    """A Python number that differs between examples: `value` holds it in 64 bits (a complex one in
    128), of which beside a tensor as many are left as its dtype has."""

    __slots__ = ("number", "value")
    __hash__: Any = None

    def __init__(self, value: Any, number: type) -> None:
        self.value, self.number = value, number

    def beside(self, *tensors: Any) -> Any:
        """As an operand beside tensors."""
        return self.value.astype(result_type(*tensors, self.number(1)))

    def alone(self) -> Any:
        """As the tensor that asarray makes of the number."""
        return self.value.astype(_fz.asarray(self.number(1)).dtype)

    def __repr__(self) -> str:
        return f"<{self.number.__name__} that differs between examples>"

    def _refuse(self, *_: Any) -> Any:
        raise error(
            TypeError,
            f"the {self.number.__name__} differs between the examples of a vmap and is asked for "
            "its value: compute with fz.asarray(x) in its place.",
        )

    __bool__ = __index__ = __int__ = __float__ = __complex__ = __round__ = _refuse
    __iter__ = __len__ = __getitem__ = __pow__ = __rpow__ = _refuse
    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("sub")
    __mul__, __rmul__ = _operator("mul")
    __truediv__, __rtruediv__ = _operator("truediv")
    __floordiv__, __rfloordiv__ = _operator("floordiv")
    __mod__, __rmod__ = _operator("mod")
    __and__, __rand__ = _operator("and_")
    __or__, __ror__ = _operator("or_")
    __xor__, __rxor__ = _operator("xor")
    __lt__ = _operator("lt")[0]
    __le__ = _operator("le")[0]
    __gt__ = _operator("gt")[0]
    __ge__ = _operator("ge")[0]
    __eq__: Any = _operator("eq")[0]
    __ne__: Any = _operator("ne")[0]
    __neg__, __pos__, __abs__ = _unary("neg"), _unary("pos"), _unary("abs")


def _chosen(mask: Any, a: Any, b: Any) -> Any:
    result = _for_all(_fz.where, mask, a, b)
    for x in (a, b):
        if type(x) is _fz.Tensor:
            _note_merged(result, x)
    return result


def check_write(tensor: Any) -> None:
    """Raises before a write in place that other tensors would have to share, for some examples."""
    if _fz.transforms.is_merged(tensor):
        raise error(
            RuntimeError,
            "a tensor is changed in place that for some examples of a vmap is one with another "
            "that is still in use: make a new one (y = y + 1, or fz.copy).",
        )


def _is_number(x: Any) -> bool:
    return type(x) in (bool, int, float, complex) or isinstance(x, Weak)


def _same_number(a: Any, b: Any) -> bool:
    if type(a) is not type(b) or type(a) not in (bool, int, float, complex):
        return False
    if type(a) is float:
        return a.hex() == b.hex()  # tells zeros apart, and no NaNs
    return bool(a == b) and (type(a) is not complex or repr(a) == repr(b))


def _text(x: Any) -> str:
    if isinstance(x, _fz.Tensor):
        return f"{x.dtype.name} of shape {x.shape}"
    return repr(x) if _is_number(x) or isinstance(x, str) or x is None else type(x).__name__


def _mismatch(what: str, a: Any, b: Any) -> Exception:
    return error(
        TypeError,
        f"{what} is {_text(a)} for some examples of a vmap and {_text(b)} for others: both ways "
        "must give one structure, shape and dtype.",
    )


def _numbers(mask: Any, a: Any, b: Any, what: str) -> Any:
    if type(a) is bool and type(b) is bool:
        return mask if a else ~mask
    kinds = [x.number if isinstance(x, Weak) else type(x) for x in (a, b)]
    if kinds[0] is not kinds[1]:
        raise _mismatch(what, a, b)
    dtype = {int: _fz.int64, float: _fz.float64, complex: _fz.complex128}[kinds[0]]
    x, y = (n.value if isinstance(n, Weak) else _fz.asarray(n, dtype=dtype) for n in (a, b))
    return Weak(_for_all(_fz.where, mask, x, y), kinds[0])


def _leaf(mask: Any, a: Any, b: Any, what: str) -> Any:
    if a is b or _same_number(a, b):
        return a
    if _is_number(a) and _is_number(b):
        return _numbers(mask, a, b, what)
    tensors = [x for x in (a, b) if isinstance(x, _fz.Tensor)]
    if len(tensors) == 2:
        if a.shape != b.shape or a.dtype != b.dtype:
            raise _mismatch(what, a, b)
        return _chosen(mask, a, b)
    if tensors and (_is_number(a) or _is_number(b)):
        (like,) = tensors
        number = b if like is a else a
        kind = number.number if isinstance(number, Weak) else type(number)
        if like.shape != () or result_type(like, kind(1)) != like.dtype:
            raise _mismatch(what, a, b)
        if isinstance(number, Weak):
            number = number.value
        number = _fz.asarray(number, dtype=like.dtype)
        return _chosen(mask, *((a, number) if like is a else (number, b)))
    if type(a) is type(b) and isinstance(a, (str, bytes, _fz.DType, range, slice)) and a == b:
        return a
    raise _mismatch(what, a, b)


def merge(mask: Any, a: Any, b: Any, what: str) -> Any:
    """a where mask, one bool, is true, else b."""
    if a is b or b is NOBODY:
        return a
    if a is NOBODY:
        return b
    if isinstance(a, _fz.Tensor) or _is_number(a) or _is_number(b):
        return _leaf(mask, a, b, what)
    try:
        xs, structure = _flatten(a)
        ys, other = _flatten(b)
    except (TypeError, ValueError):
        raise _mismatch(what, a, b) from None
    if structure != other:
        raise error(
            TypeError,
            f"{what} is {structure} for some examples of a vmap and {other} for others: both ways "
            "must give one structure, shape and dtype.",
        )
    if structure.num_leaves == 1 and xs[0] is a:
        return _leaf(mask, a, b, what)
    paths = structure.paths()
    return structure.unflatten(
        [_leaf(mask, x, y, f"{what}{p}") for x, y, p in zip(xs, ys, paths, strict=True)]
    )


def settled(value: Any) -> Any:
    """With tensors in the place of numbers that differ: what code that is not converted gets."""
    if isinstance(value, Weak):
        return value.alone()
    if isinstance(value, _fz.Tensor):
        return value
    leaves, structure = _flatten(value)
    if not any(isinstance(x, Weak) for x in leaves):
        return value
    return structure.unflatten([x.alone() if isinstance(x, Weak) else x for x in leaves])
