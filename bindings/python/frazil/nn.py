"""Layers: modules that hold parameters, and the functions they call.

Here: `Module`, the base; `Parameter`, a tensor that modules train; the layers `Linear`,
`Embedding`, `LayerNorm`, `Dropout`, `Sequential`, `ReLU`, `Tanh`, `Sigmoid`, `GELU`; activations
such as `relu`, `tanh`, `gelu` and `softmax`; `layer_norm`, `attention`, `conv2d`; the losses
`cross_entropy`, `mse_loss`. The list at the end of help(frazil.nn) is whole.

>>> import frazil as fz
>>> model = Sequential(Linear(2, 3), ReLU(), Linear(3, 1))
>>> [name for name, _ in model.named_parameters()]
['layers.0.weight', 'layers.0.bias', 'layers.2.weight', 'layers.2.bias']
>>> model(fz.ones((5, 2))).shape
(5, 1)
"""

from __future__ import annotations

import math
from copy import copy as _copy
from reprlib import recursive_repr as _recursive_repr
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from frazil import _frazil as _fz
from frazil import random as _random
from frazil._dtypes import isdtype as _isdtype
from frazil._frazil import Tensor
from frazil._frazil import nn as _functions
from frazil._frazil.nn import *  # noqa: F403
from frazil._frazil.nn import gelu, layer_norm, relu, sigmoid
from frazil._grad import no_grad
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil._named import number as _number
from frazil._parameters import Parameter as Parameter
from frazil._parameters import buffer_names as _buffer_names
from frazil._parameters import join as _join
from frazil._parameters import register as _register
from frazil._parameters import walk as _walk
from frazil._tracked import Tracked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from frazil._types import DTypeLike, Number

__all__ = [
    "GELU",
    "Dropout",
    "Embedding",
    "LayerNorm",
    "Linear",
    "Module",
    "Parameter",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Tanh",
    "tanh",
]
__all__ += _functions.__all__

_M = TypeVar("_M", bound="Module")

tanh = _fz.tanh
_Traced = _fz.Traced
_traces = _fz.ModuleBase._traces
_changed = _fz.ModuleBase._changed
_is_container = _fz.tree.is_container
_open = _fz.tree.children


# -- Modules


class Module(Tracked):
    """Parameters and a forward method. Assign tensors, modules, and containers of them: lists,
    dicts, tuples, named tuples, dataclasses, registered classes (frazil.tree).

    A leaf tensor that requires a gradient when it is assigned is a parameter, as is what
    nn.Parameter makes. It stays one when it is frozen (p.requires_grad_(False)), and a name that
    stands for a parameter keeps doing so: the tensor assigned next is that parameter. Other tensors
    are plain attributes, and are saved with the parameters if register_buffer names them.

    Raises
    ------
    ValueError
        If __init__ assigns a tensor that was computed from one that requires a gradient: it would
        be no parameter. nn.Parameter(x) makes it one, x.detach() a constant.
    """

    training = True

    _pre_hooks = _hooks = None  # dicts, once there are any

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _traces():
            if self._traced is None:
                # It gets the module at each call: one that held it would keep it alive.
                object.__setattr__(self, "_traced", _Traced(_call, type(self).__qualname__))
            return self._traced(self, args, kwargs)
        if self._hooks is None and self._pre_hooks is None:
            return self.forward(*args, **kwargs)
        return _call_with_hooks(self, args, kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor) or _is_container(value):
            _register(self, name, value)
        _changed()
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        if name in _buffer_names(self):
            del self._buffer_names[name]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What calling the module does: subclasses define it."""
        raise NotImplementedError(f"[nn] {type(self).__name__} has no forward method.")

    def explain(self) -> str:
        """What mode("graph") recorded of this module's calls, and why: text."""
        return "" if self._traced is None else self._traced.explain()

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> _Handle:
        """Calls hook(module, args) before forward; what it returns, if not None, replaces args.

        Returns a handle whose remove() takes the hook away.
        """
        return _Handle(self, "_pre_hooks", hook)

    def register_forward_hook(self, hook: Callable[..., Any]) -> _Handle:
        """Calls hook(module, args, result) after forward; what it returns, if not None, replaces
        the result. Returns a handle whose remove() takes the hook away.
        """
        return _Handle(self, "_hooks", hook)

    def register_buffer(self, name: str, tensor: Tensor | None) -> None:
        """Assigns a tensor that is saved with the parameters but not trained; None is not saved."""
        if not isinstance(name, str) or not name or "." in name:
            raise ValueError(
                f"[register_buffer] a name is a string without dots and not empty, got {name!r}."
            )
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"[register_buffer] {name} must be a tensor or None, got {type(tensor).__name__}."
            )
        if name not in _buffer_names(self) and hasattr(self, name):
            raise ValueError(
                f"[register_buffer] {type(self).__name__} has an attribute {name!r} already, which "
                "would be replaced: delete it first, or choose another name."
            )
        if isinstance(tensor, Parameter):
            raise TypeError(
                f"[register_buffer] {name} is a parameter, which is saved as one: assign it, or "
                "register tensor.detach()."
            )
        if "_buffer_names" not in self.__dict__:
            self._buffer_names: dict[str, None] = {}
        self._buffer_names[name] = None
        Tracked.__setattr__(self, name, tensor)

    # Walking

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and those inside it, each once, with dotted names."""
        yield from ((n, m) for n, m in _walk(prefix, self, set()) if isinstance(m, Module))

    def modules(self) -> Iterator[Module]:
        """This module and those inside it, each once."""
        return (module for _, module in self.named_modules())

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """The parameters, frozen ones too, with dotted names; a shared one comes once."""
        for name, item in _walk(prefix, self, set()):
            if isinstance(item, Tensor):
                yield name, item

    def parameters(self) -> list[Tensor]:
        """The parameters, as a list."""
        return [parameter for _, parameter in self.named_parameters()]

    def named_buffers(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """The registered buffers with dotted names."""
        for path, module in self.named_modules(prefix):
            for name in _buffer_names(module):
                if getattr(module, name) is not None:
                    yield _join(path, name), getattr(module, name)

    def buffers(self) -> list[Tensor]:
        """The registered buffers, as a list."""
        return [buffer for _, buffer in self.named_buffers()]

    # Saving and switching

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and buffers as they are now, by dotted name. Later training changes none."""
        return {name: _copy(tensor.detach()) for name, tensor in self._state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Sets parameters and buffers in place. ValueError if names or shapes differ."""
        if not hasattr(state, "keys"):
            raise TypeError(f"[load_state_dict] needs a dict, got {type(state).__name__}.")
        own = dict(self._state())
        missing, extra = sorted(own.keys() - state.keys()), sorted(state.keys() - own.keys())
        if missing or extra:
            raise ValueError(f"[load_state_dict] missing: {missing}; not in the module: {extra}.")
        for name, tensor in own.items():
            if tuple(state[name].shape) != tensor.shape:
                raise ValueError(
                    f"[load_state_dict] {name} has shape {tensor.shape}, "
                    f"the state has {tuple(state[name].shape)}."
                )
        with no_grad():
            for name, tensor in own.items():
                tensor[...] = state[name]

    def _state(self) -> Iterator[tuple[str, Tensor]]:
        names: set[str] = set()
        for name, tensor in (*self.named_parameters(), *self.named_buffers()):
            if name in names:
                raise ValueError(
                    f"[nn.Module] two tensors of {type(self).__name__} have the name {name!r}: "
                    "rename one of the attributes or keys, so that both are saved."
                )
            names.add(name)
            yield name, tensor

    def to(self: _M, device: str | DTypeLike | None = None, dtype: DTypeLike | None = None) -> _M:
        """Moves parameters, their gradients and registered buffers to a device, in place, or
        converts those of floating-point numbers to a dtype: to("npu"), to("float64") or both.

        Make optimizers afterwards: the state of one that exists stays as it was.

        Returns
        -------
        Module
            self.
        """
        if dtype is None and device is not None and _is_dtype(device):
            device, dtype = None, device
        if device is None and dtype is None:
            raise TypeError("[to] needs a device, a dtype or both, got None.")
        if dtype is not None and not _isdtype(dtype, "real floating"):
            raise TypeError(f"[to] dtype must be a floating-point one, got {dtype!r}.")
        for _, tensor in self._state():
            floating = tensor.dtype.kind == "real floating"
            tensor._to_(device, dtype if floating else None)
        return self

    def zero_grad(self) -> None:
        """Forgets the gradients of all parameters."""
        for parameter in self.parameters():
            parameter.grad = None

    def train(self: _M, mode: bool = True) -> _M:
        """Switches this module and those inside it to training or evaluation; returns self."""
        mode = _flag("[train] mode", mode)
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: _M) -> _M:
        """The same as train(False)."""
        return self.train(False)

    @_recursive_repr("...")
    def __repr__(self) -> str:
        lines = [f"({name}): {item!r}" for name, item in _children(vars(self))]
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        body = "\n".join(lines).replace("\n", "\n  ")
        return f"{type(self).__name__}({extra}\n  {body}\n)"

    def extra_repr(self) -> str:
        """What stands in the parentheses of repr()."""
        return ""


class _Handle:
    def __init__(self, module: Module, kind: str, hook: Callable[..., Any]) -> None:
        if getattr(module, kind) is None:
            setattr(module, kind, {})
        self._hooks = getattr(module, kind)
        self._key = max(self._hooks, default=-1) + 1
        self._hooks[self._key] = hook

    def remove(self) -> None:
        """Takes the hook away; nothing happens the second time."""
        self._hooks.pop(self._key, None)


def _call(module, args, kwargs):
    return module(*args, **kwargs)


def _call_with_hooks(module, args, kwargs):
    for hook in list((module._pre_hooks or {}).values()):
        changed = hook(module, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    result = module.forward(*args, **kwargs)
    for hook in list((module._hooks or {}).values()):
        changed = hook(module, args, result)
        if changed is not None:
            result = changed
    return result


def _children(items, path=""):
    """The modules in attributes and containers, not those inside of them, with dotted names."""
    for name, value in _open(items) or ():
        if isinstance(value, Module):
            yield _join(path, name), value
        elif not isinstance(value, Tracked):
            yield from _children(value, _join(path, name))


def _is_dtype(value):
    """Whether it is a dtype rather than the name of a device."""
    try:
        _fz.runtime.dtype(value)
    except TypeError:
        return not isinstance(value, str)  # and an error then
    return True


# -- Layers


def _uniform(shape, bound):
    return (_random.uniform(shape) * (2 * bound) - bound).detach().requires_grad_()


class Linear(Module):
    """x @ weight.T + bias; the weight has shape (out_features, in_features)."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        in_features = _integer("[nn.Linear] in_features", in_features, 0)
        out_features = _integer("[nn.Linear] out_features", out_features, 0)
        bias = _flag("[nn.Linear] bias", bias)
        bound = 1 / math.sqrt(in_features) if in_features else 0.0
        self.weight = _uniform((out_features, in_features), bound)
        self.bias = _uniform((out_features,), bound) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        y = x @ self.weight.T
        return y if self.bias is None else y + self.bias

    def extra_repr(self) -> str:
        n_out, n_in = self.weight.shape
        return f"{n_in}, {n_out}" + ("" if self.bias is not None else ", bias=False")


class Embedding(Module):
    """Rows of a table by integer index."""

    def __init__(self, num_embeddings: int, embedding_dim: int) -> None:
        num_embeddings = _integer("[nn.Embedding] num_embeddings", num_embeddings, 0)
        embedding_dim = _integer("[nn.Embedding] embedding_dim", embedding_dim, 0)
        self.weight = _random.normal((num_embeddings, embedding_dim)).requires_grad_()

    def forward(self, indices: Tensor) -> Tensor:
        return _fz.take(self.weight, indices, axis=0)

    def extra_repr(self) -> str:
        return "{}, {}".format(*self.weight.shape)


class LayerNorm(Module):
    """Normalises the last axis, then scales and shifts it."""

    def __init__(self, size: int, eps: Number = 1e-5) -> None:
        size = _integer("[nn.LayerNorm] size", size, 0)
        eps = _number("[nn.LayerNorm] eps", eps, 0)
        self.weight = _fz.ones((size,), requires_grad=True)
        self.bias = _fz.zeros((size,), requires_grad=True)
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return layer_norm(x, self.weight, self.bias, eps=self.eps)

    def extra_repr(self) -> str:
        return f"{self.weight.size}, eps={self.eps}"


class Dropout(Module):
    """While training, zeroes a share p of the elements and scales up the rest."""

    def __init__(self, p: Number = 0.5) -> None:
        self.p = _number("[nn.Dropout] p", p, 0, 1)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        kept = _random.uniform(x.shape, device=x.device) >= self.p
        return _fz.where(kept, x / (1 - self.p), 0.0)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Sequential(Module):
    """Layers one after another. Any callable is a layer."""

    def __init__(self, *layers: Callable[..., Any]) -> None:
        for layer in layers:
            if not callable(layer):
                raise TypeError(
                    f"[nn.Sequential] a layer must be callable, got {type(layer).__name__}."
                )
        self.layers = list(layers)

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def __len__(self) -> int:
        return len(self.layers)

    @overload
    def __getitem__(self, i: slice) -> Sequential: ...
    @overload
    def __getitem__(self, i: int) -> Any: ...
    def __getitem__(self, i: int | slice) -> Any:
        return Sequential(*self.layers[i]) if isinstance(i, slice) else self.layers[i]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.layers)


class ReLU(Module):
    """relu as a layer."""

    def forward(self, x: Tensor) -> Tensor:
        return relu(x)


class Tanh(Module):
    """tanh as a layer."""

    def forward(self, x: Tensor) -> Tensor:
        return tanh(x)


class Sigmoid(Module):
    """sigmoid as a layer."""

    def forward(self, x: Tensor) -> Tensor:
        return sigmoid(x)


class GELU(Module):
    """gelu as a layer."""

    def __init__(self, approximate: Literal["none", "tanh"] = "none") -> None:
        if approximate not in ("none", "tanh"):
            raise ValueError(
                f'[nn.GELU] approximate must be "none" or "tanh", got {approximate!r}.'
            )
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return gelu(x, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"
