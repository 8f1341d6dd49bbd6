"""What makes a tensor a parameter of a module, and the walk that finds parameters.

A tensor becomes a parameter where nn.Parameter makes it, or where it is assigned to an attribute of
a module, alone or in containers (frazil.tree), while it is a leaf that requires a gradient. It
stays one, frozen or not, in copies and pickles too. A name that stands for a parameter goes on
doing so: what tensor it is given next is that parameter. Containers change unseen, so what is put
into one later becomes a parameter when it is found there and requires a gradient, or did so before
it was frozen.
"""

import sys
from copy import copy as _copy
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._frazil import ModuleBase, Tensor, Traced

_in_grad_scope = _fz.autograd.in_grad_scope
_children = _fz.tree.children
_is_container = _fz.tree.is_container


if TYPE_CHECKING:

    class Parameter(Tensor):  # type: ignore[misc]
        """To type checkers what it makes is of its class."""

        def __init__(self, data: Any, requires_grad: bool = True) -> None: ...

else:

    class _Kind(type):
        def __instancecheck__(cls, x):
            return isinstance(x, Tensor) and x._parameter

    class Parameter(metaclass=_Kind):
        """A tensor that modules train and save: Parameter(data) holds a copy of tensor or data.

        isinstance(x, Parameter) tells whether a tensor is one. With requires_grad=False it is
        frozen: saved and moved, not trained.

        >>> scale = Parameter(_fz.ones(2) * 0.5)
        >>> scale.requires_grad, scale.is_leaf, isinstance(scale, Parameter)
        (True, True, True)
        """

        def __new__(cls, data, requires_grad=True):
            tensor = _copy(data.detach()) if isinstance(data, Tensor) else _fz.asarray(data)
            tensor.requires_grad_(requires_grad)
            tensor._parameter = True
            return tensor


def is_leaf_for_training(tensor):
    """Whether backward() collects a gradient in the tensor."""
    return tensor.requires_grad and tensor.is_leaf


def buffer_names(module):
    """The names of the module's buffers, in the order in which they were registered."""
    return module.__dict__.get("_buffer_names", ())


def register(module, name, value):
    """Makes parameters of the tensors in what is about to be assigned to module.name."""
    if name in buffer_names(module):
        if isinstance(value, Tensor) and value._parameter:
            del module._buffer_names[name]
        elif not isinstance(value, Tensor):
            raise TypeError(
                f"[nn.Module] {name} is a buffer of {type(module).__name__}: it takes a tensor or "
                f"None, got {type(value).__name__}. Delete it first."
            )
        return
    before = module.__dict__.get(name)
    if isinstance(value, Tensor) and isinstance(before, Tensor) and before._parameter:
        value._parameter = True
        return
    _register(module, name, value, set())


def _register(module, path, value, seen):
    if isinstance(value, Tensor):
        if value.requires_grad and not value._parameter:
            if value.is_leaf:
                value._parameter = True
            elif not _in_grad_scope() and _constructs(module):
                raise ValueError(
                    f"[nn.Module] {type(module).__name__}.{path} would be no parameter: "
                    f"{value.dtype.name}{list(value.shape)} was computed from a tensor that "
                    "requires a gradient. Assign nn.Parameter(x) to train it, x.detach() to keep "
                    "it as a constant."
                )
    elif _is_container(value) and id(value) not in seen and not isinstance(value, ModuleBase):
        seen.add(id(value))
        for name, item in _children(value):
            _register(module, f"{path}.{name}", item, seen)


def _constructs(module):
    """Whether the module's __init__ is running, and not its forward within it."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        method = code.co_name in ("__init__", "forward") and code.co_argcount > 0
        if method and frame.f_locals.get(code.co_varnames[0]) is module:
            return code.co_name == "__init__"
        frame = frame.f_back
    return False


def walk(path, item, seen, inside=False):
    """Modules and parameters below `item` with dotted names, depth first, each object once."""
    item = module_of(item)
    if isinstance(item, Tensor):
        if id(item) in seen or not _is_parameter(item, inside):
            return
        seen.add(id(item))
        yield path, item
    elif isinstance(item, ModuleBase):
        if id(item) in seen or not hasattr(item, "named_parameters"):
            return
        seen.add(id(item))
        yield path, item
        buffers = buffer_names(item)
        for name, value in items(item):
            if name not in buffers:
                yield from walk(join(path, name), value, seen)
    else:
        for name, value in _children(item) or ():
            yield from walk(join(path, name), value, seen, True)


def module_of(item):
    """The module, if it is a traced one."""
    return item.__wrapped__ if isinstance(item, Traced) else item


def items(module):
    """The module's attributes with their names, which a container's items have without it. Hooks,
    which may be modules, are no part of it."""
    unnamed = getattr(module, "_unnamed", "")
    return [
        ("" if name == unnamed else name, value)
        for name, value in vars(module).items()
        if name != "_hooks"
    ]


def _is_parameter(tensor, inside):
    if not tensor._parameter and (is_leaf_for_training(tensor) or (inside and tensor._frozen)):
        tensor._parameter = True
    return tensor._parameter


def join(prefix, name):
    """A dotted name; an empty part leaves none."""
    return f"{prefix}.{name}" if prefix and name != "" else prefix or str(name)
