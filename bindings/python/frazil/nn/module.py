"""The base of layers: parameters, buffers, modules inside of modules, hooks, and their state."""

from __future__ import annotations

from copy import copy as _copy
from reprlib import recursive_repr as _recursive_repr
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from frazil import _frazil as _fz
from frazil._dtypes import isdtype as _isdtype
from frazil._frazil import Tensor
from frazil._grad import no_grad
from frazil._named import flag as _flag
from frazil._parameters import Parameter
from frazil._parameters import buffer_names as _buffer_names
from frazil._parameters import items as _items
from frazil._parameters import join as _join
from frazil._parameters import module_of as _module_of
from frazil._parameters import register as _register
from frazil._parameters import walk as _walk
from frazil._progress import progress as _progress
from frazil._tracked import Tracked
from frazil.nn import hooks as _hooks_of
from frazil.nn.hooks import Handle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from frazil._types import DTypeLike

__all__ = ["Module"]

_EXTRA = "_extra_state"  # the name in a state dict

_LATE = ": a lazy layer's state must be taken after its first call"

_M = TypeVar("_M", bound="Module")

_Traced = _fz.Traced
_traces = _fz.ModuleBase._traces
_changed = _fz.ModuleBase._changed
_is_container = _fz.tree.is_container
_open = _fz.tree.children


class IncompatibleKeys(NamedTuple):
    """What load_state_dict(strict=False) left out."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def check(self, strict: bool) -> None:
        """Raises if there are any and strict is true."""
        if strict and any(self):
            raise ValueError(
                f"[load_state_dict] missing: {self.missing_keys}; not in the module: "
                f"{self.unexpected_keys}."
            )


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

    _unnamed = ""  # the attribute that holds a container's modules: no part of their names
    _lazy = False  # whether it has no parameters yet, a layer of nn/lazy.py
    _hooks: dict[str, dict[int, Any]] | None = None  # by kind, once there are any (nn/hooks.py)
    _hooked = False  # whether calls have any

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _traces():
            if self._traced is None:
                # It gets the module at each call: one that held it would keep it alive.
                object.__setattr__(self, "_traced", _Traced(_call, type(self).__qualname__))
            return self._traced(self, args, kwargs)
        if not self._hooked:
            return self.forward(*args, **kwargs)
        return _hooks_of.call(self, args, kwargs)

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

    # Hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> Handle:
        """Calls hook(module, args) before forward; what it returns, if not None, replaces args.

        with_kwargs=True: hook(module, args, kwargs), which returns None or (args, kwargs);
        prepend=True: before the others. Returns a handle whose remove() takes the hook away.
        """
        return Handle(self, "pre", hook, prepend, with_kwargs)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> Handle:
        """Calls hook(module, args, result) after forward, with_kwargs=True hook(module, args,
        kwargs, result); what it returns, if not None, replaces the result. Returns a handle whose
        remove() takes the hook away.
        """
        return Handle(self, "forward", hook, prepend, with_kwargs)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> Handle:
        """Calls hook(module, grad_output) once the gradients of forward's results are known: a
        tuple, with None where there is none. What it returns, if not None, replaces them.
        """
        return Handle(self, "backward_pre", hook, prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> Handle:
        """Calls hook(module, grad_input, grad_output) once the gradients of forward's positional
        arguments are known: tuples, with None where there is none. What it returns, if not None,
        replaces grad_input. If no argument takes a gradient it is called with the results' alone.

        >>> from frazil import nn
        >>> layer, seen = nn.Linear(2, 1), []
        >>> handle = layer.register_full_backward_hook(lambda m, into, out: seen.append(out))
        >>> layer(_fz.ones(2)).sum().backward()
        >>> seen[0][0].tolist()
        [1.0]
        """
        return Handle(self, "backward", hook, prepend)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Calls hook(module, prefix, keep_vars) before state_dict of this module, or of one that
        holds it, collects tensors."""
        return Handle(self, "save_pre", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Calls hook(module, state_dict, prefix, local_metadata) on what state_dict is about to
        return, which it may change in place; this module's names begin with the prefix."""
        return Handle(self, "save", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Calls hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs) before load_state_dict looks at the state, a copy that it may
        change in place."""
        return Handle(self, "load_pre", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Calls hook(module, incompatible_keys) after loading, and before strict=True raises: names
        that it takes out of the lists are no reason to."""
        return Handle(self, "load", hook)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Assigns a tensor that is moved and saved with the parameters but not trained.

        With persistent=False it is moved but not saved. None is not saved.
        """
        _check_name("register_buffer", name)
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
            self._buffer_names: dict[str, bool | None] = {}
        self._buffer_names[name] = _flag("[register_buffer] persistent", persistent)
        Tracked.__setattr__(self, name, tensor)

    def register_parameter(self, name: str, param: Tensor | None) -> None:
        """Assigns a parameter, or None where there is none."""
        _check_name("register_parameter", name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"[register_parameter] {name} must be an nn.Parameter or None, got "
                f"{type(param).__name__}: nn.Parameter(x) makes one."
            )
        setattr(self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Assigns a module inside of this one."""
        _check_name("add_module", name)
        if module is not None and not isinstance(module, Module):
            raise TypeError(
                f"[add_module] {name} must be a module or None, got {type(module).__name__}."
            )
        setattr(self, name, module)

    register_module = add_module

    # Walking

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly inside of this one, each once, with names.

        >>> from frazil import nn
        >>> [name for name, _ in nn.Sequential(nn.Linear(2, 3), nn.ReLU()).named_children()]
        ['0', '1']
        """
        seen: set[int] = set()
        for name, module in _children(self):
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules directly inside of this one, each once."""
        return (module for _, module in self.named_children())

    def apply(self: _M, fn: Callable[[Module], Any]) -> _M:
        """Calls fn(module) of the modules inside of this one, then of it; returns self."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def get_submodule(self, target: str) -> Module:
        """The module of a dotted name; "" is this one. AttributeError if there is none."""
        for name, found in self.named_modules():
            if name == target:
                return found
        raise AttributeError(f"[get_submodule] {type(self).__name__} has no module {target!r}.")

    def get_parameter(self, target: str) -> Tensor:
        """The parameter of a dotted name. AttributeError if there is none."""
        for name, found in self.named_parameters():
            if name == target:
                return found
        raise AttributeError(f"[get_parameter] {type(self).__name__} has no parameter {target!r}.")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name. AttributeError if there is none."""
        for name, found in self.named_buffers():
            if name == target:
                return found
        raise AttributeError(f"[get_buffer] {type(self).__name__} has no buffer {target!r}.")

    def set_submodule(self, target: str, module: Module) -> None:
        """Puts a module in the place of the one of a dotted name. AttributeError if there is none.

        >>> from frazil import nn
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        >>> model.set_submodule("1", nn.Tanh())
        >>> model[1]
        Tanh()
        """
        if not isinstance(module, Module):
            raise TypeError(f"[set_submodule] needs a module, got {type(module).__name__}.")
        if not target or self.get_submodule(target) is self:
            raise ValueError(f"[set_submodule] {target!r} is no module inside of this one.")
        path, _, name = target.rpartition(".")
        holder: Any = self
        for part in path.split(".") if path else ():
            items = _held(holder, part)
            holder = items[part] if isinstance(items, dict) else items[int(part)]
        items = _held(holder, name)
        if isinstance(holder, Module) and items is vars(holder):
            setattr(holder, name, module)
        else:
            items[name if isinstance(items, dict) else int(name)] = module
            _changed()

    def requires_grad_(self: _M, requires_grad: bool = True) -> _M:
        """Trains the parameters, or freezes them with False; returns self."""
        for module in self.modules():
            if module._lazy:
                module._trained = requires_grad
        for _, parameter in self._known():
            parameter.requires_grad_(requires_grad)
        return self

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
            elif getattr(item, "_lazy", False):
                raise ValueError(
                    f"[nn.{type(item).__name__}] {name or 'the module'} has no parameters before "
                    "its first call: call the model once on an example before optimizers and states"
                    " are made."
                )

    def _known(self) -> Iterator[tuple[str, Tensor]]:
        """The parameters but those of lazy layers, which are not there yet."""
        return ((name, p) for name, p in _walk("", self, set()) if isinstance(p, Tensor))

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

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> dict[str, Any]:
        """Parameters and buffers as they are now, by dotted name, and what get_extra_state returns.

        Later training changes none; keep_vars=True gives the tensors themselves. prefix stands
        before all names. None stands for the tensors of a lazy layer that are not there yet.
        """
        modules = [(_dotted(prefix, path), module) for path, module in self.named_modules()]
        for path, module in modules:
            for hook, _ in _hooks_of.of(module, "save_pre"):
                hook(module, path, keep_vars)
        out: dict[str, Any] = {
            prefix + name: tensor if keep_vars else _copy(tensor.detach())
            for name, tensor in self._saved()
        }
        for path, module in modules:
            out.update(dict.fromkeys(_lazy_names(path, module)))
            if type(module).get_extra_state is not Module.get_extra_state:
                out[path + _EXTRA] = module.get_extra_state()
        for path, module in reversed(modules):
            for hook, _ in _hooks_of.of(module, "save"):
                hook(module, out, path, {})
        return out

    def get_extra_state(self) -> Any:
        """What a state dict holds of this module besides tensors: a subclass may define it, with
        set_extra_state(state)."""
        raise NotImplementedError(f"[nn] {type(self).__name__} defines no get_extra_state.")

    def set_extra_state(self, state: Any) -> None:
        """Takes what get_extra_state returned."""
        raise NotImplementedError(f"[nn] {type(self).__name__} defines no set_extra_state.")

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> IncompatibleKeys:
        """Sets parameters and buffers in place.

        Parameters
        ----------
        state : dict
            Tensors or arrays by dotted name: what state_dict gave, or PyTorch's as NumPy arrays. A
            parameter that has several names may come by any of them.
        strict : bool
            False leaves out names that the module or the state lacks.

        Returns
        -------
        IncompatibleKeys
            (missing_keys, unexpected_keys): the names that were left out.

        Raises
        ------
        ValueError
            If shapes differ, or names do and strict is true. The module is as it was, unless a
            hook (register_load_state_dict_post_hook) had to see what was loaded first.
        """
        if not hasattr(state, "keys"):
            raise TypeError(f"[load_state_dict] needs a dict, got {type(state).__name__}.")
        strict = _flag("[load_state_dict] strict", strict)
        modules = [(_dotted("", path), module) for path, module in self.named_modules()]
        state = {name: state[name] for name in state.keys()}  # noqa: SIM118
        said: tuple[list[str], list[str], list[str]] = ([], [], [])
        for path, module in modules:
            for hook, _ in _hooks_of.of(module, "load_pre"):
                hook(module, state, path, {}, strict, *said)
            if module._lazy:
                module._become_like(state, path)  # type: ignore[attr-defined]
        shared = self._shared_names()
        state = {shared.get(name, name): value for name, value in state.items()}
        own, extra_states, wanted = dict(self._saved()), {}, set()
        for path, module in modules:
            wanted |= {n for n in _lazy_names(path, module) if state.get(n) is None}
            if type(module).set_extra_state is not Module.set_extra_state:
                extra_states[path + _EXTRA] = module
        wanted |= own.keys() | extra_states.keys()
        missing = sorted({*said[0], *(wanted - state.keys())})
        extra = sorted({*said[1], *(state.keys() - wanted)})
        own = {name: tensor for name, tensor in own.items() if name in state}
        for name in own:
            if not hasattr(state[name], "shape"):
                raise TypeError(
                    f"[load_state_dict] {name} must be a tensor or an array, got "
                    f"{type(state[name]).__name__}{_LATE if state[name] is None else ''}."
                )
        errors = [
            f"{name} has shape {tensor.shape}, the state has {tuple(state[name].shape)}"
            for name, tensor in own.items()
            if tuple(state[name].shape) != tensor.shape
        ]
        if said[2] or errors:
            raise ValueError(f"[load_state_dict] {'; '.join([*said[2], *errors])}.")
        left = IncompatibleKeys(missing, extra)
        after = [(m, h) for _, m in reversed(modules) for h, _ in _hooks_of.of(m, "load")]
        if not after:
            left.check(strict)
        with no_grad():
            for name, tensor in _progress(own.items(), "load_state_dict"):
                tensor[...] = state[name]
        for name, module in extra_states.items():
            if name in state:
                module.set_extra_state(state[name])
        for module, hook in after:
            hook(module, left)
        left.check(strict)
        return left

    def _shared_names(self) -> dict[str, str]:
        """Further names of parameters that several modules hold, and those they are saved by."""
        first = {id(tensor): name for name, tensor in self._known()}
        return {
            _join(path, name): first[id(value)]
            for path, module in self.named_modules()
            for name, value in _items(module)
            if first.get(id(value), _join(path, name)) != _join(path, name)
        }

    def _saved(self) -> Iterator[tuple[str, Tensor]]:
        """Parameters and persistent buffers."""
        left_out = {
            _join(path, name)
            for path, module in self.named_modules()
            for name, persistent in module.__dict__.get("_buffer_names", {}).items()
            if persistent is False
        }
        return (row for row in self._state() if row[0] not in left_out)

    def _state(self) -> Iterator[tuple[str, Tensor]]:
        names: set[str] = set()
        for name, tensor in (*self._known(), *self.named_buffers()):
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
        for module in self.modules():
            if module._lazy:
                module._move(device, dtype)  # type: ignore[attr-defined]
        return self

    def float(self: _M) -> _M:
        """The same as to("float32")."""
        return self.to(dtype="float32")

    def double(self: _M) -> _M:
        """The same as to("float64")."""
        return self.to(dtype="float64")

    def half(self: _M) -> _M:
        """The same as to("float16")."""
        return self.to(dtype="float16")

    def bfloat16(self: _M) -> _M:
        """The same as to("bfloat16")."""
        return self.to(dtype="bfloat16")

    def cpu(self: _M) -> _M:
        """The same as to("cpu")."""
        return self.to("cpu")

    def cuda(self: _M) -> _M:
        """The same as to("cuda")."""
        return self.to("cuda")

    def zero_grad(self) -> None:
        """Forgets the gradients of all parameters."""
        for _, parameter in self._known():
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
        lines = [f"({name}): {item!r}" for name, item in _children(self)]
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        body = "\n".join(lines).replace("\n", "\n  ")
        return f"{type(self).__name__}({extra}\n  {body}\n)"

    def _repr_html_(self) -> str:
        """For notebooks: the modules inside, with their parameters."""
        from frazil.nn.module_page import tree

        return tree(self)

    def extra_repr(self) -> str:
        """What stands in the parentheses of repr()."""
        return ""


def _call(module, args, kwargs):
    return module(*args, **kwargs)


def _children(items, path=""):
    """The modules in attributes and containers, not those inside of them, with dotted names."""
    for name, value in _items(items) if isinstance(items, Module) else _open(items) or ():
        value = _module_of(value)
        if isinstance(value, Module):
            yield _join(path, name), value
        elif not isinstance(value, Tracked):
            yield from _children(value, _join(path, name))


def _held(holder, name):
    """What a part of a dotted name is looked up in: attributes, or a container's items."""
    if not isinstance(holder, Module):
        return holder
    own = vars(holder)
    return own[holder._unnamed] if holder._unnamed and name not in own else own


def _dotted(prefix, path):
    """What stands before the names of a module's own tensors."""
    return f"{prefix}{path}." if path else prefix


def _lazy_names(path, module):
    """The names of a layer's tensors that are not there yet."""
    return [path + name for name in module._names()] if module._lazy else []


def _check_name(op, name):
    if not isinstance(name, str) or not name or "." in name:
        raise ValueError(f"[{op}] a name is a string without dots and not empty, got {name!r}.")


def _is_dtype(value):
    """Whether it is a dtype rather than the name of a device."""
    try:
        _fz.runtime.dtype(value)
    except TypeError:
        return not isinstance(value, str)  # and an error then
    return True
