"""What modules call besides forward: hooks of calls, of gradients, of states.

Each kind is a dict of a module, by numbers, made when the first hook is registered. Gradients are
seen by identities around forward whose rule calls the hooks, so they work wherever custom_vjp does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil._custom import custom_vjp
from frazil._frazil import Tensor
from frazil._frazil.custom import has_history as _has_history

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil.nn.module import Module

CALLS = ("pre", "forward", "backward_pre", "backward")  # kinds that calls look at


class Handle:
    """Of a registered hook."""

    def __init__(
        self,
        module: Module,
        kind: str,
        hook: Callable[..., Any],
        prepend: bool = False,
        with_kwargs: bool = False,
    ) -> None:
        if not callable(hook):
            raise TypeError(f"[nn.Module] a hook must be callable, got {type(hook).__name__}.")
        # Others are made of those there are, as a call may be going through them.
        hooks = dict(module._hooks or {})
        own = hooks.get(kind, {})
        self._module, self._kind = module, kind
        self._key = max(own, default=-1) + 1
        new = {self._key: (hook, with_kwargs)}
        hooks[kind] = {**new, **own} if prepend else {**own, **new}
        module._hooks = hooks
        module._hooked = any(hooks.get(name) for name in CALLS)

    def remove(self) -> None:
        """Takes the hook away; nothing happens the second time."""
        module = self._module
        hooks = dict(module._hooks or {})
        hooks[self._kind] = {k: v for k, v in hooks.get(self._kind, {}).items() if k != self._key}
        module._hooks = hooks
        module._hooked = any(hooks.get(name) for name in CALLS)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def of(module: Module, kind: str) -> list[Any]:
    """The hooks of a kind, in their order: (hook, with_kwargs)."""
    return list((module._hooks or {}).get(kind, {}).values())


def call(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """forward, with what stands around it."""
    for hook, with_kwargs in of(module, "pre"):
        if with_kwargs:
            both = hook(module, args, kwargs)
            if both is not None:
                if not isinstance(both, tuple) or len(both) != 2:
                    raise TypeError(
                        "[nn.Module] a forward pre-hook with kwargs returns None or (args, "
                        f"kwargs), got {type(both).__name__}."
                    )
                args, kwargs = both
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    pulled = _Pulled(module) if of(module, "backward") or of(module, "backward_pre") else None
    if pulled is not None:
        args = pulled.inputs(args)
    result = module.forward(*args, **kwargs)
    for hook, with_kwargs in of(module, "forward"):
        given = (args, kwargs) if with_kwargs else (args,)
        changed = hook(module, *given, result)
        if changed is not None:
            result = changed
    return result if pulled is None else pulled.results(result)


class _Pulled:
    """The gradients of one call, as they come back."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._pre, self._hooks = of(module, "backward_pre"), of(module, "backward")
        self._inputs: list[int] = []  # which of the arguments have gradients
        self._count = 0
        self._outputs: tuple[Any, ...] = ()

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self._count = len(args)
        self._inputs = [
            i for i, x in enumerate(args) if isinstance(x, Tensor) and _has_history([x])
        ]
        if not self._inputs or not self._hooks:
            return args
        seen = self._watched([args[i] for i in self._inputs], self._at_inputs)
        whole = list(args)
        for i, x in zip(self._inputs, seen, strict=True):
            whole[i] = x
        return tuple(whole)

    def results(self, result: Any) -> Any:
        alone = isinstance(result, Tensor)
        items = [result] if alone else list(result) if type(result) in (tuple, list) else []
        places = [i for i, x in enumerate(items) if isinstance(x, Tensor) and _has_history([x])]
        if not places:
            return result

        def pull(gradients):
            whole = [None] * len(items)
            for i, gradient in zip(places, gradients, strict=True):
                whole[i] = gradient
            for hook, _ in self._pre:
                whole = _changed(self._module, hook(self._module, tuple(whole)), whole, "outputs")
            self._outputs = tuple(whole)
            if not self._inputs:
                for hook, _ in self._hooks:
                    hook(self._module, (None,) * self._count, self._outputs)
            return [whole[i] for i in places]

        seen = self._watched([items[i] for i in places], pull)
        for i, x in zip(places, seen, strict=True):
            items[i] = x
        return items[0] if alone else type(result)(items)

    def _at_inputs(self, gradients):
        whole = [None] * self._count
        for i, gradient in zip(self._inputs, gradients, strict=True):
            whole[i] = gradient
        for hook, _ in self._hooks:
            changed = hook(self._module, tuple(whole), self._outputs)
            whole = _changed(self._module, changed, whole, "inputs")
        return [whole[i] for i in self._inputs]

    def _watched(self, tensors, pull):
        """The tensors, whose gradients go through pull."""
        same = custom_vjp(lambda *xs: xs)
        same.defvjp(lambda *xs: (xs, None), lambda _, gradients: tuple(pull(gradients)))
        same._refusal = (
            f"[nn.Module] {type(self._module).__name__} has a hook of gradients that come back "
            "(register_full_backward_hook), and forward mode (jvp, jacfwd, hessian) has none that "
            "do: take the hook away before (handle.remove())."
        )
        return same(*tensors)


def _changed(module, changed, before, what):
    """Gradients that a hook returned in place of others."""
    if changed is None:
        return before
    changed = list(changed) if isinstance(changed, (tuple, list)) else [changed]
    if len(changed) != len(before):
        raise ValueError(
            f"[nn.Module] a backward hook of {type(module).__name__} returned {len(changed)} "
            f"gradients, and there are {len(before)} {what}."
        )
    for i, (new, old) in enumerate(zip(changed, before, strict=True)):
        if old is not None and new is not None and _is_other(new, old):
            shape = tuple(new.shape) if isinstance(new, Tensor) else type(new).__name__
            raise ValueError(
                f"[nn.Module] a backward hook of {type(module).__name__} returned {shape} as the "
                f"gradient of {what}[{i}], whose shape is {old.shape}."
            )
    return changed


def _is_other(new, old):
    return not isinstance(new, Tensor) or new.shape != old.shape
