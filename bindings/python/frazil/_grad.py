"""Gradients in function style, and no_grad."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, overload

from frazil import _frazil
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil._tree import flatten, unflatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_P = ParamSpec("_P")
_T = TypeVar("_T")  # the argument that is differentiated, and so its gradient
_V = TypeVar("_V")
_A = TypeVar("_A")
_F = TypeVar("_F", bound="Callable[..., Any]")

_set_enabled = _frazil.autograd.set_grad_enabled


class no_grad:  # noqa: N801
    """Switches recording for gradients off: a context manager and a decorator.

    >>> w = _frazil.asarray([1.0], requires_grad=True)
    >>> with no_grad():
    ...     w -= 0.5
    >>> w.requires_grad, w.is_leaf
    (True, True)
    """

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(_set_enabled(False))

    def __exit__(self, *exception: object) -> None:
        _set_enabled(self._before.pop())

    def __call__(self, function: _F) -> _F:
        @functools.wraps(function)
        def without_grad(*args, **kwargs):
            before = _set_enabled(False)
            try:
                return function(*args, **kwargs)
            finally:
                _set_enabled(before)

        return without_grad  # type: ignore[return-value]


def _as_leaf(leaf):
    # Numbers and NumPy arrays may be differentiated too; what is no tensor by now is refused below.
    if isinstance(leaf, float) or hasattr(leaf, "__array_interface__"):
        return _frazil.asarray(leaf)
    return leaf


def _positions(argnums, args):
    numbers = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise TypeError(
                f"[grad] argnums={argnums}, but the call has {len(args)} positional arguments."
            )
    return [n % len(args) for n in numbers]


def _evaluate(function, argnums, has_aux, args, kwargs):
    positions = _positions(argnums, args)
    scope = _frazil.GradScope()
    try:
        args = list(args)
        trees = [args[n] for n in positions]
        leaves = [[_as_leaf(leaf) for leaf in flatten(tree)] for tree in trees]
        for n, tree, part in zip(positions, trees, leaves, strict=True):
            args[n] = unflatten(tree, [scope.variable(leaf) for leaf in part])
        result = function(*args, **kwargs)
        aux = None
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError("[grad] with has_aux=True the function must return (value, aux).")
            result, aux = result
        flat = scope.gradients(result)
        value = scope.outside(result)
        if has_aux:
            aux = unflatten(aux, [scope.outside(leaf) for leaf in flatten(aux)])
    finally:
        scope.close()
    gradients = []
    for tree, part in zip(trees, leaves, strict=True):
        gradients.append(unflatten(tree, flat[: len(part)]))
        flat = flat[len(part) :]
    gradient = tuple(gradients) if isinstance(argnums, (tuple, list)) else gradients[0]
    return (value, aux) if has_aux else value, gradient


@overload
def value_and_grad(  # type: ignore[overload-overlap]
    fn: Callable[Concatenate[_T, _P], tuple[_V, _A]],
    argnums: Literal[0] = ...,
    *,
    has_aux: Literal[True],
) -> Callable[Concatenate[_T, _P], tuple[tuple[_V, _A], _T]]: ...
@overload
def value_and_grad(  # type: ignore[overload-overlap]
    fn: Callable[Concatenate[_T, _P], _V], argnums: Literal[0] = ..., has_aux: Literal[False] = ...
) -> Callable[Concatenate[_T, _P], tuple[_V, _T]]: ...
@overload
def value_and_grad(
    fn: Callable[_P, _V], argnums: Sequence[int], has_aux: bool = ...
) -> Callable[_P, tuple[_V, tuple[Any, ...]]]: ...
@overload
def value_and_grad(
    fn: Callable[_P, _V], argnums: int, has_aux: bool = ...
) -> Callable[_P, tuple[_V, Any]]: ...
def value_and_grad(fn: Any, argnums: Any = 0, has_aux: bool = False) -> Any:
    """A function that returns (fn's result, its gradient for the arguments at argnums).

    The result must be one floating-point number. The gradient has the argument's structure:
    nested lists, tuples, dicts, named tuples and dataclasses of tensors. With has_aux=True, fn
    returns (value, aux) and so does the new function in place of the value.

    >>> value, g = value_and_grad(lambda p: _frazil.sum(p["w"] ** 2))({"w": _frazil.asarray([3.0])})
    >>> value.item(), g["w"].tolist()
    (9.0, [6.0])
    """
    has_aux = _check(fn, argnums, has_aux)

    @functools.wraps(fn, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
    def value_and_grad_fn(*args, **kwargs):
        return _evaluate(fn, argnums, has_aux, args, kwargs)

    return value_and_grad_fn


@overload
def grad(
    fn: Callable[Concatenate[_T, _P], tuple[Any, _A]],
    argnums: Literal[0] = ...,
    *,
    has_aux: Literal[True],
) -> Callable[Concatenate[_T, _P], tuple[_T, _A]]: ...
@overload
def grad(  # type: ignore[overload-overlap]
    fn: Callable[Concatenate[_T, _P], Any], argnums: Literal[0] = ..., has_aux: Literal[False] = ...
) -> Callable[Concatenate[_T, _P], _T]: ...
@overload
def grad(
    fn: Callable[_P, Any], argnums: Sequence[int], has_aux: Literal[False] = ...
) -> Callable[_P, tuple[Any, ...]]: ...
@overload
def grad(fn: Callable[_P, Any], argnums: int, has_aux: bool = ...) -> Callable[_P, Any]: ...
def grad(fn: Any, argnums: Any = 0, has_aux: bool = False) -> Any:
    """A function that returns fn's gradient for the arguments at argnums (see value_and_grad).

    >>> grad(grad(lambda x: x**3))(2.0).item()
    12.0
    """
    has_aux = _check(fn, argnums, has_aux)

    @functools.wraps(fn, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
    def grad_fn(*args, **kwargs):
        value, gradient = _evaluate(fn, argnums, has_aux, args, kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return grad_fn


def _check(fn, argnums, has_aux):
    if not callable(fn):
        raise TypeError(f"[grad] needs a function, got {type(fn).__name__}.")
    for n in argnums if isinstance(argnums, (tuple, list)) else (argnums,):
        _integer("[grad] argnums", n)
    return _flag("[grad] has_aux", has_aux)
