"""What a call by promise compares by value, by name: for explain(), where no two calls are alike.

>>> x = Kind("float32[2]")
>>> difference({"x": x, "lr": 0.1}, {"x": x, "lr": 0.05})
'lr changed 0.1 -> 0.05: what is no tensor is compared by value, so pass it as a tensor'
"""

import inspect

from frazil._frazil import ModuleBase, Tensor
from frazil._frazil import tree as _tree

_children, _is_container = _tree.children, _tree.is_container

_DEPTH, _ITEMS = 8, 1000


class Kind(str):
    """What is compared by more than what can be said in a few words."""

    __slots__ = ()


def compared(function, args, keywords):
    """{name: what it is compared by} for the arguments of a call, the last of them by keyword."""
    found = {}
    keywords = keywords or ()
    placed = len(args) - len(keywords)
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a builtin does not tell
        names = []
    owner = getattr(function, "__self__", function)
    if isinstance(owner, ModuleBase):
        _collect("self", owner, found, _DEPTH)
    for i, value in enumerate(args[:placed]):
        _collect(names[i] if i < len(names) else f"argument {i}", value, found, _DEPTH)
    for name, value in zip(keywords, args[placed:], strict=True):
        _collect(name, value, found, _DEPTH)
    return found


def _collect(name, value, found, depth):
    if len(found) >= _ITEMS or depth == 0:
        return
    if isinstance(value, Tensor):
        found[name] = Kind(f"{value.dtype.name}{list(value.shape)}")
    elif isinstance(value, (int, float, str)) or value is None:
        found[name] = value
    elif _is_container(value):
        if isinstance(value, (list, tuple)):
            found[f"the length of {name}"] = len(value)
        for key, item in _children(value):
            by_item = isinstance(value, (dict, list)) or isinstance(key, int)
            _collect(f"{name}[{key!r}]" if by_item else f"{name}.{key}", item, found, depth - 1)
    else:
        found[name] = Kind(f"{type(value).__name__} object")


def difference(before, after):
    """The first thing that tells two calls apart: text, or None."""
    for name, value in after.items():
        if name not in before:
            return f"{name} is new"
        old = before[name]
        if old is not value and (type(old) is not type(value) or old != value):
            cure = ": what is no tensor is compared by value, so pass it as a tensor"
            hint = cure if isinstance(value, (int, float)) else ""
            return f"{name} changed {_short(old)} -> {_short(value)}{hint}"
    missing = [name for name in before if name not in after]
    return f"{missing[0]} is gone" if missing else None


def _short(value):
    text = value if isinstance(value, Kind) else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
