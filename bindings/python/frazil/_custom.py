"""Functions with derivatives of their own: custom_vjp, custom_jvp, checkpoint.

A call is one of an op that the program brings (batch/custom_op.h), made of functions of lists of
tensors. checkpoint is batch/checkpoint.h.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._named import integer as _integer
from frazil._transforms import _callable, _forward, _results, vjp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["checkpoint", "custom_jvp", "custom_vjp"]

_flatten = _fz.tree.flatten
_has_history = _fz.custom.has_history
_without_history = _fz.custom.without_history


def _call(name, leaves, compute, *, keep=None, pull=None, push=None, for_all=None):
    """The results of an op of the leaves, with their history.

    compute(leaves): (results, kept); keep(leaves): kept alone; pull(leaves, kept, gradients): the
    gradients of the leaves; push(leaves, tangents): the tangents of the results. Gradients and
    tangents that are returned may hold None. for_all(size, leaves, batched): compute for all
    examples of a vmap.
    """
    return _fz.custom.call(name, (compute, keep, pull, push, for_all), leaves)


class _Custom:
    """What custom_vjp and custom_jvp share: arguments apart into tensors and the rest."""

    __name__: str

    def __init__(self, op, fn, nondiff_argnums):
        _callable(op, fn)
        self._op, self._fn = op, fn
        numbers = (
            nondiff_argnums if isinstance(nondiff_argnums, (tuple, list)) else (nondiff_argnums,)
        )
        self._nondiff = tuple(_integer(f"[{op}] nondiff_argnums", n) for n in numbers)
        functools.update_wrapper(self, fn)

    def _positional(self, args, kwargs):
        """All arguments by position, as the rules take them."""
        if not kwargs:
            return args
        bound = inspect.signature(self._fn).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"[{self._op}] {self.__name__} takes {', '.join(bound.kwargs)} by name only, where "
                "its rules take arguments by position."
            )
        return bound.args

    def _apart(self, args):
        places = []
        for n in self._nondiff:
            if not -len(args) <= n < len(args):
                raise TypeError(
                    f"[{self._op}] nondiff_argnums has {n}, but the call has {len(args)} arguments."
                )
            places.append(n % len(args))
        fixed = {n: args[n] for n in places}
        moving = [x for n, x in enumerate(args) if n not in fixed]
        leaves, structure = _flatten(moving)
        leaves = [x if isinstance(x, _fz.Tensor) else _fz.asarray(x) for x in leaves]
        return fixed, leaves, structure

    def _together(self, fixed, moving):
        rest = iter(moving)
        return [fixed[n] if n in fixed else next(rest) for n in range(len(fixed) + len(moving))]

    def _primal(self, fixed, structure, own):
        """(results, structure) of the function itself."""
        result = self._fn(*self._together(fixed, structure.unflatten(own)))
        return _results(self._op, self._fn, result)


def _leaves_like(op, what, nest, structure, like):
    """The leaves of derivatives given by a user's rule; None stands for no derivative."""
    try:
        parts = structure.flatten_up_to(nest)
    except (TypeError, ValueError) as error:
        raise type(error)(f"[{op}] {what}: {error}") from None
    out = []
    for part, y, path in zip(parts, like, structure.paths(), strict=True):
        if part is None:
            out.append(None)
            continue
        part = _fz.asarray(part, dtype=y.dtype) if isinstance(part, (int, float)) else part
        if not isinstance(part, _fz.Tensor) or part.shape != y.shape or part.dtype != y.dtype:
            got = (
                f"{part.dtype.name} of shape {part.shape}"
                if isinstance(part, _fz.Tensor)
                else type(part).__name__
            )
            raise TypeError(
                f"[{op}] {what}: at {path or 'it'} needed {y.dtype.name} of shape {y.shape}, got "
                f"{got}."
            )
        out.append(part)
    return out


class custom_vjp(_Custom):  # noqa: N801 -- as in JAX
    """A function with a gradient of its own: reverse mode asks it, forward mode is refused.

    Parameters
    ----------
    fn
        A function of tensors or nests of them.
    nondiff_argnums
        Positions of arguments that are no tensors and are passed on as they are.

    `defvjp(fwd, bwd)` gives the rule: fwd takes fn's arguments and returns (result, residuals), bwd
    takes (*nondiff arguments, residuals, gradient of the result) and returns a tuple with a
    gradient for each other argument, None for none.

    >>> @custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, g: (_fz.clip(g, -1, 1),))
    >>> from frazil import grad
    >>> grad(lambda x: clip_gradient(x) * 5)(2.0).item()
    1.0
    """

    def __init__(self, fn: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        super().__init__("custom_vjp", fn, nondiff_argnums)
        self._fwd: Callable[..., Any] | None = None
        self._bwd: Callable[..., Any] | None = None
        self._refusal = ""  # what forward mode is told, if not this class's own words

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Gives the rule (see the class)."""
        _callable("custom_vjp", fwd)
        _callable("custom_vjp", bwd)
        self._fwd, self._bwd = fwd, bwd

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fwd, bwd, op = self._fwd, self._bwd, "custom_vjp"
        if fwd is None or bwd is None:
            raise TypeError(f"[{op}] {self.__name__} has no rule yet: call defvjp(fwd, bwd).")
        args = self._positional(args, kwargs)
        fixed, leaves, structure = self._apart(args)
        if not _has_history(leaves):
            outputs, made = self._primal(fixed, structure, leaves)
            _without_history(self.__name__, outputs)
            return made.unflatten(outputs)
        kept = {}

        def compute(own):
            result = fwd(*self._together(fixed, structure.unflatten(own)))
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(
                    f"[{op}] fwd must return (result, residuals), got {type(result).__name__}."
                )
            outputs, kept["structure"] = _results(op, fwd, result[0])
            residuals, kept["residuals"] = _flatten(result[1])
            tensors = [x for x in residuals if isinstance(x, _fz.Tensor)]
            kept["others"] = [None if isinstance(x, _fz.Tensor) else (x,) for x in residuals]
            return outputs, tensors

        def pull(own, residuals, gradients):
            rest = iter(residuals)
            whole = [next(rest) if x is None else x[0] for x in kept["others"]]
            made = bwd(
                *fixed.values(),
                kept["residuals"].unflatten(whole),
                kept["structure"].unflatten(gradients),
            )
            count = len(args) - len(fixed)
            if not isinstance(made, tuple) or len(made) != count:
                got = len(made) if isinstance(made, tuple) else type(made).__name__
                raise TypeError(
                    f"[{op}] bwd must return a tuple of {count} gradients, one for each argument; "
                    f"got {got}."
                )
            return _leaves_like(op, "the gradient that bwd returned", list(made), structure, own)

        def push(leaves, tangents):
            if _fz.transforms.innermost_is_reverse():  # the rule is that scope's; this one sees ops
                return _along(lambda own: compute(own)[0], leaves, tangents)
            raise TypeError(
                self._refusal
                or f"[{op}] {self.__name__} has a rule for reverse mode only: forward mode (jvp, "
                "jacfwd, hessian) needs custom_jvp."
            )

        def keep(own):
            return compute(own)[1]

        outputs = _call(self.__name__, leaves, compute, keep=keep, pull=pull, push=push)
        return kept["structure"].unflatten(outputs)


class custom_jvp(_Custom):  # noqa: N801 -- as in JAX
    """A function with a derivative of its own, for forward mode and, transposed, for reverse mode.

    `defjvp(rule)`: rule takes (*nondiff arguments, primals, tangents), two tuples, and returns
    (result, its tangent), which depends on the tangents linearly.

    >>> @custom_jvp
    ... def smooth(x):
    ...     return _fz.maximum(x, 0)
    >>> smooth.defjvp(lambda p, t: (smooth(p[0]), t[0] * 0.5 * (_fz.sign(p[0]) + 1)))
    >>> from frazil import grad
    >>> grad(smooth)(0.0).item()
    0.5
    """

    def __init__(self, fn: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        super().__init__("custom_jvp", fn, nondiff_argnums)
        self._rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> None:
        """Gives the rule (see the class)."""
        _callable("custom_jvp", rule)
        self._rule = rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        rule, op = self._rule, "custom_jvp"
        if rule is None:
            raise TypeError(f"[{op}] {self.__name__} has no rule yet: call defjvp(rule).")
        args = self._positional(args, kwargs)
        fixed, leaves, structure = self._apart(args)
        kept = {}

        def compute(own):
            outputs, kept["structure"] = self._primal(fixed, structure, own)
            return outputs, []

        def push(own, tangents):
            made = rule(
                *fixed.values(),
                tuple(structure.unflatten(own)),
                tuple(structure.unflatten(tangents)),
            )
            if not isinstance(made, tuple) or len(made) != 2:
                raise TypeError(
                    f"[{op}] the rule must return (result, tangent), got {type(made).__name__}."
                )
            like, _ = _flatten(made[0])
            return _leaves_like(
                op, "the tangent that the rule returned", made[1], kept["structure"], like
            )

        outputs = _call(self.__name__, leaves, compute, push=push)
        return kept["structure"].unflatten(outputs)


def _moving(leaves):
    """The places of what has derivatives, and leaves with others in these places."""
    places = [n for n, x in enumerate(leaves) if x.dtype.kind.endswith("floating")]

    def with_others(others, rest=leaves):
        whole = list(rest)
        for n, x in zip(places, others, strict=True):
            whole[n] = x
        return whole

    return places, with_others


def _along(fn, leaves, tangents):
    """The tangents of fn's results, a list of the leaves'."""
    places, with_others = _moving(leaves)
    primals, moved = [leaves[n] for n in places], [tangents[n] for n in places]
    return _forward("custom", lambda *own: fn(with_others(own)), primals, moved, False)[1]


def _against(fn, leaves, gradients):
    """The gradients of the leaves, from those of fn's results; None where there are none."""
    places, with_others = _moving(leaves)
    made = vjp(lambda *own: fn(with_others(own)), *(leaves[n] for n in places))[1](gradients)
    return with_others(made, [None] * len(leaves))


_ALL, _PRODUCTS = _fz.custom.ops()
_POLICIES = {"nothing_saveable": (), "dots_saveable": _PRODUCTS, "everything_saveable": _ALL}


def _kept_ops(policy):
    """The names of the ops whose results are kept."""
    if callable(policy):
        return tuple(name for name in _ALL if policy(name))
    if isinstance(policy, str) and policy in _POLICIES:
        return _POLICIES[policy]
    raise ValueError(
        f"[checkpoint] policy must be a function of an op's name or one of {', '.join(_POLICIES)}; "
        f"got {policy!r}."
    )


def checkpoint(
    fn: Callable[..., Any], *, policy: str | Callable[[str], bool] = "nothing_saveable"
) -> Callable[..., Any]:
    """fn, whose inner results are computed again for gradients instead of being kept.

    Kept are its arguments and what it reads besides them, as a layer its parameters, so a chain of
    n checkpointed layers needs the memory of one layer and n states. Values, gradients and random
    numbers are those of fn; what fn does besides computing (printing, appending) happens once more
    in the pass back. In forward mode (jvp, hessian), where nothing waits for a pass back, fn just
    runs. `policy` says of which ops the results are kept all the same: "nothing_saveable",
    "dots_saveable" (products and convolutions, the dearest to compute), "everything_saveable", or a
    function of an op's name. In a traced call it has no effect: there a plan computes each thing
    once, and where much waits for the pass back it makes what is cheap again, by itself.

    >>> from frazil import grad
    >>> grad(checkpoint(lambda x: _fz.sin(_fz.sin(x))))(0.0).item()
    1.0
    """
    _callable("checkpoint", fn)
    kept_ops = _kept_ops(policy)

    @functools.wraps(fn, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
    def checkpointed(*args, **kwargs):
        nest, structure = _flatten((args, kwargs))
        which = [n for n, x in enumerate(nest) if isinstance(x, _fz.Tensor)]
        kept = {}

        def run(leaves):
            whole = list(nest)
            for n, x in zip(which, leaves, strict=True):
                whole[n] = x
            own_args, own_kwargs = structure.unflatten(whole)
            outputs, kept["structure"] = _results("checkpoint", fn, fn(*own_args, **own_kwargs))
            return outputs

        outputs = _fz.custom.checkpoint(run, [nest[n] for n in which], kept_ops, fn)
        return kept["structure"].unflatten(outputs)

    return checkpointed
