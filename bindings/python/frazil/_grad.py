"""Gradients in function style, and no_grad."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, overload

from frazil import _frazil
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil._parameters import is_leaf_for_training as _is_trained

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_P = ParamSpec("_P")
_T = TypeVar("_T")  # the argument that is differentiated, and so its gradient
_V = TypeVar("_V")
_A = TypeVar("_A")
_F = TypeVar("_F", bound="Callable[..., Any]")

_set_enabled = _frazil.autograd.set_grad_enabled
_flatten = _frazil.tree.flatten


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
    # Numbers and NumPy arrays may be differentiated too; what is no tensor by now is refused.
    if isinstance(leaf, float) or hasattr(leaf, "__array_interface__"):
        return _frazil.asarray(leaf)
    return leaf


class _Argument:
    """An argument that is differentiated: its leaves, of which some are variables of the scope."""

    def __init__(self, function, n, tree):
        self.place = function, n
        leaves, self.structure = _flatten(tree)
        self.leaves = [_as_leaf(leaf) for leaf in leaves]
        self.which = None  # by leaf, the number of its variable or None; None: all in order
        if self.structure._has_modules:
            # Of modules the parameters that are trained, each once wherever it is held.
            numbers, self.which = {}, []
            for inside, leaf in zip(self.structure._in_modules(), self.leaves, strict=True):
                trained = not inside or (isinstance(leaf, _frazil.Tensor) and _is_trained(leaf))
                key = id(leaf) if inside else object()
                self.which.append(numbers.setdefault(key, len(numbers)) if trained else None)

    def with_variables(self, scope):
        """The argument with variables in the places of the tensors."""
        if self.which is None:
            variables = [self._variable(scope, i) for i in range(len(self.leaves))]
            self.count = len(variables)
            return self.structure.unflatten(variables)
        made = {}
        for i, n in enumerate(self.which):
            if n is not None and n not in made:
                made[n] = self._variable(scope, i)
                if getattr(self.leaves[i], "_parameter", False):
                    made[n]._parameter = True
        self.count = len(made)
        pairs = zip(self.which, self.leaves, strict=True)
        return self.structure.unflatten([leaf if n is None else made[n] for n, leaf in pairs])

    def gradient(self, gradients):
        """The argument with gradients in the places of the variables, None for other leaves."""
        if self.which is None:
            return self.structure.unflatten(gradients)
        for n, leaf in zip(self.which, self.leaves, strict=True):
            if n is not None and getattr(leaf, "_parameter", False):
                gradients[n]._parameter = True
        return self.structure.unflatten([None if n is None else gradients[n] for n in self.which])

    def _variable(self, scope, i):
        try:
            return scope.variable(self.leaves[i])
        except TypeError as error:
            function, n = self.place
            names = getattr(getattr(function, "__code__", None), "co_varnames", ())
            name = names[n] if n < len(names) else f"argument {n}"
            place = f"{name}{self.structure.paths()[i]}"
            raise TypeError(
                f"{str(error).rstrip('.')}, at {place}: convert it (fz.asarray(x, "
                'dtype="float32")), or pass it in an argument that argnums does not name.'
            ) from None


def _positions(argnums, args, op="grad"):
    numbers = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    for n in numbers:
        if not -len(args) <= _integer(f"[{op}] argnums", n) < len(args):
            raise TypeError(
                f"[{op}] argnums={argnums}, but the call has {len(args)} positional arguments."
            )
    return [n % len(args) for n in numbers]


def _evaluate(function, argnums, has_aux, args, kwargs):
    positions = _positions(argnums, args)
    scope = _frazil.GradScope()
    try:
        args = list(args)
        arguments = [_Argument(function, n, args[n]) for n in positions]
        for n, argument in zip(positions, arguments, strict=True):
            args[n] = argument.with_variables(scope)
        result = function(*args, **kwargs)
        aux = None
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError("[grad] with has_aux=True the function must return (value, aux).")
            result, aux = result
        flat = scope.gradients(result)
        value = scope.outside(result)
        if has_aux:
            # Modules are themselves, unless they may hold variables.
            opened = any(argument.which is not None for argument in arguments)
            leaves, structure = _flatten(aux, None if opened else _is_module)
            aux = structure.unflatten([scope.outside(leaf) for leaf in leaves])
    finally:
        scope.close()
    gradients = []
    for argument in arguments:
        gradients.append(argument.gradient(flat[: argument.count]))
        flat = flat[argument.count :]
    gradient = tuple(gradients) if isinstance(argnums, (tuple, list)) else gradients[0]
    return (value, aux) if has_aux else value, gradient


def _is_module(x):
    return isinstance(x, _frazil.ModuleBase)


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

    The result must be one floating-point number. The gradient has the argument's structure
    (frazil.tree): tensors in dicts, lists, tuples, named tuples, dataclasses, registered classes
    and modules. Of a module the parameters that require a gradient are differentiated, and None
    stands for its other tensors; the function gets a copy that shares everything else. With
    has_aux=True, fn returns (value, aux) and so does the new function in place of the value.

    Raises
    ------
    TypeError
        If a leaf of the argument is no floating-point tensor or number: it names the place, as in
        params['layers'][1].weight.

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
