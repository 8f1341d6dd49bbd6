"""Parameters that are functions of other tensors, which are trained in their place.

Here: `register_parametrization`, `is_parametrized`, `remove_parametrizations`,
`type_before_parametrizations`, and `ParametrizationList`, what module.parametrizations.NAME is.

A module with such a parameter gets a class of its own, derived from the one it had, in which the
parameter's name computes it. State dicts have the tensors that are trained under PyTorch's names,
parametrizations.NAME.original, or original0, original1 ...

>>> import frazil as fz
>>> from frazil import nn
>>> class Symmetric(nn.Module):
...     def forward(self, x):
...         return fz.triu(x) + fz.triu(x, 1).T
>>> layer = register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
>>> bool((layer.weight == layer.weight.T).all())
True
>>> [name for name, _ in layer.named_parameters()]
['bias', 'parametrizations.weight.original']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from frazil._frazil import Tensor
from frazil._grad import no_grad as _no_grad
from frazil._parameters import Parameter
from frazil._parameters import buffer_names as _buffer_names
from frazil.nn.containers import ModuleDict, ModuleList
from frazil.nn.module import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "ParametrizationList", "is_parametrized", "register_parametrization",
    "remove_parametrizations", "type_before_parametrizations",
]  # fmt: skip

_M = TypeVar("_M", bound=Module)


class ParametrizationList(ModuleList):
    """The functions that make a parameter, one after another, and the tensors that they begin with:
    `original`, or `original0`, `original1` ... if the first takes several. Called, it gives the
    parameter.
    """

    _originals: list[str]

    def __init__(self, modules: Sequence[Module], original: Tensor, buffer: bool = False) -> None:
        super().__init__(modules)
        with _no_grad():
            first = original.detach()
            for module in reversed(self.items):
                if hasattr(module, "right_inverse"):
                    first = module.right_inverse(first)
        if isinstance(first, Tensor):
            same = first.shape == original.shape and first.dtype == original.dtype
            if same:
                with _no_grad():
                    original[...] = first
            parts = {"original": original if same else first}
        else:
            parts = {f"original{i}": part for i, part in enumerate(first)}
        self._originals = list(parts)
        for name, part in parts.items():
            if buffer:
                self.register_buffer(name, part)
            elif part is original:
                setattr(self, name, part)
            else:
                setattr(self, name, Parameter(part, requires_grad=original.requires_grad))

    @property
    def is_tensor(self) -> bool:
        """Whether they begin with one tensor, `original`."""
        return self._originals == ["original"]

    def right_inverse(self, value: Tensor) -> None:
        """Sets the originals so that the parameter becomes `value`, in place.

        NotImplementedError if a function has no right_inverse.
        """
        with _no_grad():
            for module in reversed(self.items):
                if not hasattr(module, "right_inverse"):
                    raise NotImplementedError(
                        f"[parametrize] {type(module).__name__} has no right_inverse, so what it "
                        "makes cannot be assigned to."
                    )
                value = module.right_inverse(value)
            parts = [value] if self.is_tensor else list(value)
            for name, part in zip(self._originals, parts, strict=True):
                getattr(self, name)[...] = part

    def forward(self) -> Tensor:
        x: Any = None
        for i, module in enumerate(self.items):
            x = module(*[getattr(self, name) for name in self._originals]) if i == 0 else module(x)
        return x  # type: ignore[no-any-return]


class _Parametrizations(ModuleDict):
    """ParametrizationLists by the names of the parameters, which are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return vars(self)["_items"][name]
        except KeyError:
            raise AttributeError(f"no parametrization of {name!r}.") from None


def _property(name):
    def get(self):
        return self.parametrizations[name]()

    def assign(self, value):
        self.parametrizations[name].right_inverse(value)

    return property(get, assign)


_classes: dict[Any, type] = {}


def _class_of(base, names):
    """The class of modules of a class `base` whose parameters of these names are made."""
    if (base, names) in _classes:
        return _classes[base, names]

    def __reduce_ex__(self, _):
        return _empty, (base, names), self.__getstate__()

    body = {name: _property(name) for name in names}
    body |= {
        "__module__": base.__module__,
        "__doc__": base.__doc__,
        "__reduce_ex__": __reduce_ex__,
        "_unparametrized": base,
    }
    made = _classes[base, names] = type(f"Parametrized{base.__name__}", (base,), body)
    return made


def _empty(base, names):
    cls = _class_of(base, names)
    return cls.__new__(cls)


def _choose_class(module):
    base = type_before_parametrizations(module)
    names = tuple(module.parametrizations.keys()) if "parametrizations" in vars(module) else ()
    module.__class__ = _class_of(base, names) if names else base


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before its first parametrization."""
    return getattr(type(module), "_unparametrized", type(module))


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the parameter of this name, or any if none is given, is made of others."""
    found = vars(module).get("parametrizations")
    if not isinstance(found, ModuleDict) or not hasattr(type(module), "_unparametrized"):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def register_parametrization(
    module: _M, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> _M:
    """From now on module.tensor_name is parametrization(original), computed at each use.

    If the parametrization has a method right_inverse, that of the tensor becomes the original, or
    the originals if it returns several; else the tensor does. A second one takes what the first
    gives.

    Parameters
    ----------
    module : Module
    tensor_name : str
        A parameter or buffer of it.
    parametrization : Module
    unsafe : bool
        True does without the check that shape and dtype stay.

    Returns
    -------
    Module
        `module`, of a class derived from its own.

    Raises
    ------
    ValueError
        If there is no such parameter or buffer, or its shape or dtype changes.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check(module, tensor_name, getattr(module, tensor_name), parametrization)
        module.parametrizations[tensor_name].append(parametrization)  # type: ignore[attr-defined]
        return module
    buffer = tensor_name in _buffer_names(module)
    original = vars(module).get(tensor_name)
    if not isinstance(original, Tensor) or not (buffer or isinstance(original, Parameter)):
        raise ValueError(
            f"[register_parametrization] {type(module).__name__} has no parameter or buffer "
            f"{tensor_name!r}."
        )
    made = ParametrizationList([parametrization], original, buffer)
    if not unsafe:
        with _no_grad():
            _same(module, tensor_name, made(), original)
    delattr(module, tensor_name)
    if "parametrizations" not in vars(module):
        module.parametrizations = _Parametrizations()  # type: ignore[attr-defined]
    module.parametrizations[tensor_name] = made  # type: ignore[attr-defined]
    _choose_class(module)
    return module


def _check(module, name, x, parametrization):
    with _no_grad():
        made = parametrization(x)
        _same(module, name, made, x)
        if hasattr(parametrization, "right_inverse"):
            _same(module, name, parametrization.right_inverse(made), x)


def _same(module, name, made, x):
    if not isinstance(made, Tensor):
        raise ValueError(
            f"[register_parametrization] {type(module).__name__}.{name} must become a tensor, got "
            f"{type(made).__name__}."
        )
    if made.shape != x.shape or made.dtype != x.dtype:
        raise ValueError(
            f"[register_parametrization] {type(module).__name__}.{name} would be "
            f"{made.dtype.name}{list(made.shape)} instead of {x.dtype.name}{list(x.shape)}: "
            "unsafe=True allows that."
        )


def remove_parametrizations(module: _M, tensor_name: str, leave_parametrized: bool = True) -> _M:
    """Makes module.tensor_name a parameter or buffer again: as it is now, or, with
    leave_parametrized=False, the original.

    ValueError if it is not parametrized, or if the original is several tensors and they are asked
    for.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(
            f"[remove_parametrizations] {type(module).__name__} has no parametrization of "
            f"{tensor_name!r}."
        )
    made = module.parametrizations[tensor_name]  # type: ignore[attr-defined]
    if not (made.is_tensor or leave_parametrized):
        raise ValueError(
            f"[remove_parametrizations] {tensor_name} was made of {len(made._originals)} tensors: "
            "leave_parametrized=False needs one."
        )
    first = getattr(made, made._originals[0])
    if leave_parametrized:
        with _no_grad():
            now = made()
            if made.is_tensor and now.shape == first.shape and now.dtype == first.dtype:
                first[...] = now
            elif isinstance(first, Parameter):
                first = Parameter(now, requires_grad=first.requires_grad)
            else:
                first = now
    buffer = "original" in _buffer_names(made) or "original0" in _buffer_names(made)
    del module.parametrizations[tensor_name]  # type: ignore[attr-defined]
    if not is_parametrized(module):
        del module.parametrizations  # type: ignore[attr-defined]
    _choose_class(module)
    if buffer:
        module.register_buffer(tensor_name, first)
    else:
        setattr(module, tensor_name, first)
    return module
