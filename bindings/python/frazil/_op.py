"""Ops of a program's own: fz.op.

The body is host code, of which frazil sees what goes in and what comes out, or a function written
with frazil's ops. Either is called through batch/custom_op.h, which asks the rules as functions of
lists.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, overload

from frazil import _frazil as _fz
from frazil._custom import _against, _along, _leaves_like
from frazil._host import BATCHING, Host, Spec, arrays_of, compare, is_pair, spec
from frazil._transforms import _callable, _results

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["op"]

_flatten = _fz.tree.flatten
_dtype = _fz.runtime.dtype


class _Call:
    """One call of an op, as functions of lists."""

    def __init__(self, op, structure, keywords):
        self.op, self.structure, self.keywords = op, structure, keywords
        self.out = None  # the structure of the results
        self.kinds = []  # their specs, of one example

    def results(self, leaves):
        op = self.op
        pull = self.pull if op.vjp else None
        push = self.push if op.jvp else None
        keep = self.keep if op.vjp else None
        compute, for_all = self.compute, self.for_all if op.batch else None
        if op.host:
            host = Host(op.name, op.batch, self.run, self.specs if op.shape else None)
            compute, for_all = host.compute, self.for_all if callable(op.batch) else host.for_all
        elif not (pull or push or for_all):
            return self.out_of(compute(leaves)[0])
        else:
            pull = pull or (None if push else self.against)
            push = push or self.along
        functions = self.keeping(compute), keep, pull, push, for_all and self.keeping(for_all, 1)
        call = _fz.custom.call_host if op.host else _fz.custom.call
        return self.out_of(call(op.name, functions, leaves))

    def out_of(self, results):
        return self.out.unflatten(results)

    def keeping(self, compute, examples=0):
        """The same, which keeps its results for the gradient's rule."""

        def call(*args):
            made, _ = compute(*args)
            self.kinds = [Spec(x.shape[examples:], x.dtype) for x in made]
            return made, made if self.op.vjp else []

        return call

    def arguments(self, leaves):
        return self.structure.unflatten(leaves)

    # -- The body

    def run(self, arrays):
        result = self.op.fn(*self.arguments(arrays), **self.keywords)
        leaves, self.out = _flatten(result)
        return arrays_of(self.op.name, leaves, self.out)

    def specs(self, operands):
        op = self.op
        said = op.shape(*self.arguments(operands), **self.keywords)
        pairs, structure = _flatten(said, is_pair)
        if not all(map(is_pair, pairs)) or self.out not in (None, structure):
            raise TypeError(
                f"[{op.name}] shape= must return (shape, dtype) for each result, in a nest like "
                f"the body's: got {said!r}."
            )
        self.out = structure
        return [Spec(tuple(shape), _dtype(dtype)) for shape, dtype in pairs]

    def compute(self, leaves):
        op = self.op
        result = op.fn(*self.arguments(leaves), **self.keywords)
        made, self.out = _results(op.name, op.fn, result)
        if op.shape:
            compare(op.name, made, self.specs([spec(x) for x in leaves]))
        return made, []

    def of(self, leaves):
        return self.compute(leaves)[0]

    def for_all(self, size, leaves, batched):
        op = self.op
        result = op.batch(size, self.arguments(batched), *self.arguments(leaves), **self.keywords)
        made, self.out = _results(op.name, op.batch, result)
        return made, []

    # -- The rules

    def keep(self, leaves):
        return _flatten(self.op(*self.arguments(leaves), **self.keywords))[0]

    def pull(self, leaves, kept, gradients):
        op, args = self.op, self.arguments(leaves)
        made = op.vjp(args, self.out_of(kept), self.out_of(gradients), **self.keywords)
        if not isinstance(made, tuple) or len(made) != len(args):
            got = len(made) if isinstance(made, tuple) else type(made).__name__
            raise TypeError(
                f"[{op.name}] vjp= must return a tuple of {len(args)} gradients, one for each "
                f"positional argument; got {got}."
            )
        what = "the gradient that vjp= returned"
        return _leaves_like(op.name, what, made, self.structure, leaves)

    def push(self, leaves, tangents):
        op = self.op
        moved = op.jvp(self.arguments(leaves), self.arguments(tangents), **self.keywords)
        return _leaves_like(op.name, "the tangent that jvp= returned", moved, self.out, self.kinds)

    def against(self, leaves, kept, gradients):
        return _against(self.of, leaves, gradients)

    def along(self, leaves, tangents):
        return _along(self.of, leaves, tangents)


class _Op:
    """What fz.op makes of a function."""

    __name__: str

    def __init__(self, fn, name, body, shape, vjp, jvp, batch):
        _callable("op", fn)
        if name is None:
            name = re.sub(r"\W", "", getattr(fn, "__name__", type(fn).__name__))
        if not isinstance(name, str) or not re.fullmatch(r"\w+(\.\w+)*", name):
            raise ValueError(f"[op] name must be a name such as 'solve', got {name!r}.")
        if body not in ("numpy", "frazil"):
            raise ValueError(f"[op] body must be 'numpy' or 'frazil', got {body!r}.")
        for word, rule in (("shape", shape), ("vjp", vjp), ("jvp", jvp)):
            if rule is not None and not callable(rule):
                raise TypeError(f"[op] {word} must be a function, got {type(rule).__name__}.")
        self.host = body == "numpy"
        if batch is None and self.host:
            batch = "sequential"
        known = batch is None or callable(batch) or (self.host and batch in BATCHING)
        if not known:
            names = " or one of " + ", ".join(map(repr, BATCHING)) if self.host else ""
            raise ValueError(f"[op] batch must be a function{names}, got {batch!r}.")
        functools.update_wrapper(self, fn)
        self.fn, self.name = fn, name
        self.shape, self.vjp, self.jvp, self.batch = shape, vjp, jvp, batch

    def __call__(self, *args, **keywords):
        leaves, structure = _flatten(args)
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, _fz.Tensor):
                continue
            if not (isinstance(leaf, (bool, int, float, complex)) or hasattr(leaf, "__array__")):
                raise TypeError(
                    f"[{self.name}] takes arrays by position and anything else by name, got "
                    f"{type(leaf).__name__} at args{structure.paths()[i]}."
                )
            leaves[i] = _fz.asarray(leaf)
        for word, value in keywords.items():
            if any(isinstance(x, _fz.Tensor) for x in _flatten(value)[0]):
                raise TypeError(
                    f"[{self.name}] takes arrays by position: {word} is one, or holds one."
                )
        return _Call(self, structure, keywords).results(leaves)

    def __repr__(self):
        return f"<op {self.name}>"


@overload
def op(
    fn: Callable[..., Any],
    /,
    *,
    name: str | None = ...,
    body: str = ...,
    shape: Callable[..., Any] | None = ...,
    vjp: Callable[..., Any] | None = ...,
    jvp: Callable[..., Any] | None = ...,
    batch: str | Callable[..., Any] | None = ...,
) -> Callable[..., Any]: ...
@overload
def op(
    fn: None = ...,
    /,
    *,
    name: str | None = ...,
    body: str = ...,
    shape: Callable[..., Any] | None = ...,
    vjp: Callable[..., Any] | None = ...,
    jvp: Callable[..., Any] | None = ...,
    batch: str | Callable[..., Any] | None = ...,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def op(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    body: str = "numpy",
    shape: Callable[..., Any] | None = None,
    vjp: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    batch: str | Callable[..., Any] | None = None,
) -> Any:
    """Makes an op of a function: `@fz.op`, or `@fz.op(vjp=..., ...)` with rules.

    It is called with arrays, or nests of them, by position; arguments by name are passed on to the
    body and to the rules as they are.

    Parameters
    ----------
    fn
        The body: a function of NumPy arrays, which are read-only, that returns one or a nest of
        them. It may call anything (SciPy, ctypes ...). In a traced call it runs each time, between
        the kernels of what comes before and after.
    name
        In errors; the function's own by default.
    body
        "numpy", or "frazil" for a body written with frazil's functions: it is fused like
        theirs, and each rule that is not given follows from the ops.
    shape
        (shape, dtype) of the result, or a nest of such pairs, from arguments that have `shape` and
        `dtype`. What the body returns is compared with it; needed only where a `vmap` has no
        examples.
    vjp
        vjp(args, result, gradient) gives a tuple with a gradient for each positional argument,
        None for none. Written with frazil's functions and other ops, it has gradients itself.
    jvp
        jvp(args, tangents) gives the tangent of the result, linear in the tangents. Without vjp=
        it is transposed for gradients.
    batch
        What a `vmap` does with a body over NumPy arrays: "sequential", the default, calls it for
        one example after the other; "expand_dims" once, with arrays that have the examples along a
        new first axis, and an axis of length 1 where all examples share them; "broadcast_all" the
        same with that axis repeated. Or a function: batch(axis_size, in_batched, *args) gives the
        results of all examples, along axis 0; in_batched says which of args have an axis 0 of
        examples.

    Raises
    ------
    TypeError
        In a gradient of an op that has neither vjp= nor jvp=, and in forward mode without jvp=.
    ValueError
        If the body returns something else than shape= says.

    >>> import numpy as np
    >>> @op(vjp=lambda args, result, gradient: (gradient * _fz.cos(args[0]),))
    ... def sine(x):
    ...     return np.sin(x)
    >>> from frazil import grad, vmap
    >>> sine(_fz.asarray([0.0, 1.0])).shape
    (2,)
    >>> grad(sine)(0.0).item()
    1.0
    >>> vmap(grad(sine))(_fz.zeros(3))
    fz.Tensor([1., 1., 1.])
    """
    if fn is None:
        return lambda f: _Op(f, name, body, shape, vjp, jvp, batch)
    return _Op(fn, name, body, shape, vjp, jvp, batch)
