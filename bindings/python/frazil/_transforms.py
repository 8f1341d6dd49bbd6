"""Functions of functions: forward mode, Jacobians, Hessians, batching.

Each runs the function under a scope of the C++ side (autograd/forward.h, batch/batch.h), so they
nest in any order with each other, with `grad` and with `trace`. Names and arguments are JAX's.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._grad import _as_leaf, _positions
from frazil._named import flag as _flag
from frazil._named import integer as _integer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


__all__ = [
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stop_gradient",
    "vjp",
    "vmap",
]

_flatten = _fz.tree.flatten
_RANDOMNESS = {"error": 0, "same": 1, "different": 2}


def _callable(op, fn):
    if not callable(fn):
        raise TypeError(f"[{op}] needs a function, got {type(fn).__name__}.")


def _wrapped(fn):
    return functools.wraps(fn, assigned=("__module__", "__name__", "__qualname__", "__doc__"))


def _inexact(op, leaf, place):
    leaf = _as_leaf(leaf)
    if isinstance(leaf, _fz.Tensor) and leaf.dtype.kind in ("real floating", "complex floating"):
        return leaf
    what = f"an array of {leaf.dtype.name}" if isinstance(leaf, _fz.Tensor) else type(leaf).__name__
    raise TypeError(
        f"[{op}] only floating-point tensors are differentiated, got {what} at {place}: convert "
        'it (fz.asarray(x, dtype="float32")).'
    )


def _results(op, fn, result):
    """The leaves of what `fn` returned, all tensors, and their structure."""
    leaves, structure = _flatten(result)
    for leaf, path in zip(leaves, structure.paths(), strict=True):
        if not isinstance(leaf, (_fz.Tensor, bool, int, float, complex)):
            name = getattr(fn, "__name__", type(fn).__name__)
            raise TypeError(
                f"[{op}] {name} must return tensors or nests of them, got "
                f"{type(leaf).__name__} at result{path}."
            )
    return [_fz.asarray(leaf) for leaf in leaves], structure


def _with_aux(op, has_aux, result):
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(f"[{op}] with has_aux=True the function must return (value, aux).")
    return result


def _outside(scope, tree):
    leaves, structure = _flatten(tree)
    return structure.unflatten([scope.outside(leaf) for leaf in leaves])


# -- Forward mode


def _forward(op, fn, primals, tangents, has_aux):
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            f"[{op}] primals and tangents are tuples of arguments, got "
            f"{type(primals).__name__} and {type(tangents).__name__}."
        )
    leaves, structure = _flatten(tuple(primals))
    try:
        moved = structure.flatten_up_to(tuple(tangents))
    except (TypeError, ValueError) as error:
        raise type(error)(f"[{op}] tangents must have the structure of primals: {error}") from None
    paths = structure.paths()
    pairs = [
        (_inexact(op, x, f"primals{path}"), _inexact(op, t, f"tangents{path}"))
        for x, t, path in zip(leaves, moved, paths, strict=True)
    ]
    scope = _fz.ForwardScope()
    try:
        variables = [scope.variable(x, t) for x, t in pairs]
        result, aux = _with_aux(op, has_aux, fn(*structure.unflatten(variables)))
        outputs, out_structure = _results(op, fn, result)
        pushed = [scope.tangent(y) for y in outputs]
        outputs = [scope.outside(y) for y in outputs]
        aux = _outside(scope, aux)
    finally:
        scope.close()
    zeros = [_fz.zeros_like(y) if t is None else t for y, t in zip(outputs, pushed, strict=True)]
    return out_structure.unflatten(outputs), out_structure.unflatten(zeros), aux


def jvp(
    fn: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> Any:
    """(fn(*primals), its derivative in the direction of `tangents`): forward mode.

    `tangents` has the structure, shapes and dtypes of `primals`, and the derivative those of the
    result. With has_aux=True, fn returns (value, aux) and jvp (value, derivative, aux).

    >>> value, slope = jvp(lambda x: x**3, (2.0,), (1.0,))
    >>> value.item(), slope.item()
    (8.0, 12.0)
    """
    _callable("jvp", fn)
    has_aux = _flag("[jvp] has_aux", has_aux)
    value, tangent, aux = _forward("jvp", fn, primals, tangents, has_aux)
    return (value, tangent, aux) if has_aux else (value, tangent)


# -- Reverse mode


def _derivatives(op, what, nest, structure, like, of):
    """The leaves of `nest`, tensors, which has the structure of what is differentiated."""
    try:
        parts = structure.flatten_up_to(nest)
    except (TypeError, ValueError) as error:
        raise type(error)(f"[{op}] {what} must have the structure of {of}: {error}") from None
    out = []
    for part, y, path in zip(parts, like, structure.paths(), strict=True):
        if isinstance(part, (int, float, complex)):
            part = _fz.asarray(part, dtype=y.dtype)
        part = _to_arrays(part)
        if not isinstance(part, _fz.Tensor):
            raise TypeError(f"[{op}] {what}{path} must be a tensor, got {type(part).__name__}.")
        if part.shape != y.shape or part.dtype != y.dtype:
            raise ValueError(
                f"[{op}] {what}{path} must have the shape and dtype of {of}: {part.dtype.name} of "
                f"shape {part.shape}, and {y.dtype.name} of shape {y.shape}."
            )
        out.append(part)
    return out


def vjp(fn: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(fn(*primals), a function from gradients of the result to gradients of the primals).

    The function takes one argument with the structure, shapes and dtypes of the result and returns
    a tuple with a gradient for each primal; it may be called any number of times. With
    has_aux=True, fn returns (value, aux) and vjp (value, function, aux).

    >>> value, pull = vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> [g.item() for g in pull(_fz.asarray(1.0))]
    [3.0, 2.0]
    """
    _callable("vjp", fn)
    has_aux = _flag("[vjp] has_aux", has_aux)
    leaves, structure = _flatten(primals)
    paths = structure.paths()
    leaves = [_inexact("vjp", x, f"primals{p}") for x, p in zip(leaves, paths, strict=True)]
    scope = _fz.GradScope()
    try:
        variables = [scope.variable(x) for x in leaves]
        result, aux = _with_aux("vjp", has_aux, fn(*structure.unflatten(variables)))
        outputs, out_structure = _results("vjp", fn, result)
        value = out_structure.unflatten([scope.outside(y) for y in outputs])
        aux = _outside(scope, aux)
    finally:
        scope.close()

    def pull(gradient: Any) -> tuple[Any, ...]:
        return structure.unflatten(
            scope.pull(
                outputs,
                _derivatives("vjp", "the gradient", gradient, out_structure, outputs, "the result"),
            )
        )

    return (value, pull, aux) if has_aux else (value, pull)


def linearize(fn: Callable[..., Any], *primals: Any) -> Any:
    """(fn(*primals), the derivative there as a function of tangents).

    The function takes a tangent for each primal; fn itself is run once.

    >>> value, push = linearize(lambda x: x**3, 2.0)
    >>> push(1.0).item()
    12.0
    """
    _callable("linearize", fn)
    value, pull = vjp(fn, *primals)
    leaves, structure = _flatten(value)
    zeros = structure.unflatten([_fz.zeros_like(_fz.asarray(y)) for y in leaves])
    count = len(primals)
    kinds, moving = _flatten(primals)
    kinds = [_as_leaf(x) for x in kinds]

    def push(*tangents: Any) -> Any:
        if len(tangents) != count:
            raise TypeError(f"[linearize] takes {count} tangents, got {len(tangents)}.")
        tangents = _derivatives("linearize", "tangents", tangents, moving, kinds, "the primals")
        # pull is linear, so its own gradient is the derivative, wherever it is taken.
        return vjp(pull, zeros)[1](moving.unflatten(tangents))[0]

    return value, push


def stop_gradient(x: Any) -> Any:
    """x as a constant: gradients and tangents do not pass. Nests keep their structure.

    >>> from frazil import grad
    >>> grad(lambda x: x * stop_gradient(x))(3.0).item()
    3.0
    """
    leaves, structure = _flatten(x)
    return structure.unflatten([y.detach() if isinstance(y, _fz.Tensor) else y for y in leaves])


# -- Batching


def _axes_of(axes, tree, what):
    """An axis or None for each leaf of `tree`, of which `axes` is a prefix."""
    given, structure = _flatten(axes, lambda node: node is None)
    for axis in given:
        if axis is not None:
            _integer(f"[vmap] {what}", axis)
    try:
        parts = structure.flatten_up_to(tree)
    except (TypeError, ValueError) as error:
        raise ValueError(f"[vmap] {what} must be a prefix of the structure: {error}") from None
    return [
        axis
        for axis, part in zip(given, parts, strict=True)
        for _ in range(_flatten(part)[1].num_leaves)
    ]


def _batch_size(leaves, axes, paths, axis_size):
    size, where = axis_size, "axis_size"
    for i, (leaf, axis) in enumerate(zip(leaves, axes, strict=True)):
        if axis is None:
            continue
        if not isinstance(leaf, _fz.Tensor):
            raise TypeError(
                f"[vmap] only tensors have an axis to be mapped over, got "
                f"{type(leaf).__name__} at {paths[i]}: say None for it in in_axes."
            )
        if not -leaf.ndim <= axis < leaf.ndim:
            raise ValueError(
                f"[vmap] in_axes is {axis} for {paths[i]}, which has {leaf.ndim} axes: "
                f"shape {leaf.shape}."
            )
        if size is None:
            size, where = leaf.shape[axis], paths[i]
        elif leaf.shape[axis] != size:
            raise ValueError(
                f"[vmap] the mapped axes have different extents: {size} of {where}, "
                f"{leaf.shape[axis]} of {paths[i]}."
            )
    if size is None:
        raise ValueError(
            "[vmap] nothing is mapped over: in_axes is None for every argument, so say axis_size."
        )
    return size


def _to_arrays(leaf):
    is_array = hasattr(leaf, "__array_interface__") and not isinstance(leaf, _fz.Tensor)
    return _fz.asarray(leaf) if is_array else leaf


def vmap(
    fn: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    axis_size: int | None = None,
    randomness: str = "error",
) -> Callable[..., Any]:
    """fn for every example along an axis, as one program over all of them.

    Parameters
    ----------
    fn
        A function of tensors, or nests of them, of one example.
    in_axes, out_axes
        Along which axis of each argument and result the examples lie: an integer for all, or a
        nest that is a prefix of the arguments' (results') structure. None in in_axes: all examples
        share the argument. Keyword arguments are mapped over their axis 0.
    axis_size
        How many examples there are; needed where no argument is mapped over.
    randomness
        What fn draws from a generator that the examples share, such as the default one: "error",
        "same" numbers for all, or "different" ones. Keys that are mapped over give each example
        the numbers of its own key.

    Raises
    ------
    ValueError
        If the extents differ, or an axis is not there.
    RuntimeError
        If fn looks at elements, as `if x > 0:` does: they differ between examples.

    >>> vmap(lambda v, s: v * s, in_axes=(0, None))(_fz.ones((2, 3)), 2.0).shape
    (2, 3)
    """
    _callable("vmap", fn)
    if not isinstance(randomness, str) or randomness not in _RANDOMNESS:
        raise ValueError(
            f"[vmap] randomness must be 'error', 'same' or 'different', got {randomness!r}."
        )
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if axis_size is not None:
        axis_size = _integer("[vmap] axis_size", axis_size)
        if axis_size < 0:
            raise ValueError(f"[vmap] axis_size must be at least 0, got {axis_size}.")

    @_wrapped(fn)
    def vmap_fn(*args, **kwargs):
        leaves, structure = _flatten((args, kwargs))
        leaves = [_to_arrays(leaf) for leaf in leaves]
        by_place = in_axes
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"[vmap] in_axes has {len(in_axes)} entries for {len(args)} positional arguments."
            )
        axes = _axes_of(by_place, args, "in_axes") + [0] * _flatten(kwargs)[1].num_leaves
        paths = ["args" + p[3:] if p[1] == "0" else "kwargs" + p[3:] for p in structure.paths()]
        size = _batch_size(leaves, axes, paths, axis_size)
        scope = _fz.BatchScope(size, _RANDOMNESS[randomness])
        outputs = []
        try:
            inside = [
                leaf if axis is None else scope.of_example(leaf, axis)
                for leaf, axis in zip(leaves, axes, strict=True)
            ]
            own_args, own_kwargs = structure.unflatten(inside)
            result = fn(*own_args, **own_kwargs)
            outputs, out_structure = _results("vmap", fn, result)
            places = _axes_of(out_axes, result, "out_axes")
            wholes = [_whole(scope, y, axis) for y, axis in zip(outputs, places, strict=True)]
            del result, inside, own_args, own_kwargs
            _refuse_writes(scope, outputs)
            return out_structure.unflatten(wholes)
        except BaseException:
            scope.restore(outputs)
            raise
        finally:
            scope.close()

    return vmap_fn


def _refuse_writes(scope, outputs):
    if not scope.restore(outputs):
        return
    raise RuntimeError(
        "[vmap] the function wrote what differs between examples to a tensor that outlives it, and "
        "that has its old content again: return the new content."
    )


def _whole(scope, y, axis):
    if axis is not None:
        return scope.whole(y, axis)
    if scope.has(y):
        raise ValueError(
            "[vmap] out_axes is None for a result that differs between examples: "
            f"{y.dtype.name} of shape {y.shape}."
        )
    return y


# -- Jacobians


def _basis(leaves):
    """All unit vectors of the leaves' space, leaf by leaf: each [n, *shape]."""
    n = sum(x.size for x in leaves)
    parts, start = [], 0
    for x in leaves:
        unit = _fz.eye(n, x.size, k=-start, dtype=x.dtype)
        parts.append(_fz.reshape(unit, (n, *x.shape)))
        start += x.size
    return parts


def _jacobian(op, fn, argnums, has_aux, holomorphic, of):
    _callable(op, fn)
    has_aux = _flag(f"[{op}] has_aux", has_aux)
    holomorphic = _flag(f"[{op}] holomorphic", holomorphic)

    @_wrapped(fn)
    def jacobian_fn(*args, **kwargs):
        positions = _positions(argnums, args, op)
        chosen = tuple(args[n] for n in positions)
        leaves, structure = _flatten(chosen)
        paths = structure.paths()
        leaves = [_inexact(op, x, f"args{p}") for x, p in zip(leaves, paths, strict=True)]
        for x in leaves:
            if (x.dtype.kind == "complex floating") != holomorphic:
                raise TypeError(
                    f"[{op}] takes real arguments, or with holomorphic=True complex ones; got "
                    f"{x.dtype.name} with holomorphic={holomorphic}."
                )

        def function(*inner):
            whole = list(args)
            for n, x in zip(positions, inner, strict=True):
                whole[n] = x
            return fn(*whole, **kwargs)

        blocks, out_structure, aux = of(op, function, leaves, structure, has_aux)
        nested = [structure.unflatten(row) for row in blocks]
        if not isinstance(argnums, (tuple, list)):
            nested = [row[0] for row in nested]
        jacobian = out_structure.unflatten(nested)
        return (jacobian, aux) if has_aux else jacobian

    return jacobian_fn


def _by_columns(op, fn, leaves, structure, has_aux):
    kept = []

    def push(*moved):
        tangents = structure.unflatten(moved)
        value, tangent, aux = _forward(op, fn, structure.unflatten(leaves), tangents, has_aux)
        kept[:] = [_flatten(value), aux]
        return tuple(_flatten(tangent)[0])

    columns = vmap(push, out_axes=-1, randomness="same")(*_basis(leaves))
    (outputs, out_structure), aux = kept
    blocks = []
    for column in columns:
        row, start = [], 0
        for x in leaves:
            part = column[..., start : start + x.size]
            row.append(_fz.reshape(part, (*column.shape[:-1], *x.shape)))
            start += x.size
        blocks.append(row)
    return blocks, out_structure, aux


def _by_rows(op, fn, leaves, structure, has_aux):
    made = vjp(fn, *structure.unflatten(leaves), has_aux=has_aux)
    outputs, out_structure = _flatten(made[0])
    for y in outputs:
        _inexact(op, y, "the result")

    def pull(*moved):
        return tuple(_flatten(made[1](out_structure.unflatten(moved)))[0])

    rows = vmap(pull, randomness="same")(*_basis(outputs))
    blocks, start = [], 0
    for y in outputs:
        row = []
        for g in rows:
            part = _fz.reshape(g[start : start + y.size], (*y.shape, *g.shape[1:]))
            row.append(_fz.conj(part) if g.dtype.kind == "complex floating" else part)
        blocks.append(row)
        start += y.size
    return blocks, out_structure, made[2] if has_aux else None


def jacfwd(
    fn: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """A function that returns fn's Jacobian, a column at a time in forward mode: for few inputs.

    For each result of shape s and argument of shape t an array of shape s + t, in a nest of the
    result's structure whose leaves have the argument's.

    >>> jacfwd(lambda x: x**2)(_fz.asarray([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    return _jacobian("jacfwd", fn, argnums, has_aux, holomorphic, _by_columns)


def jacrev(
    fn: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """A function that returns fn's Jacobian, a row at a time in reverse mode: for few outputs.

    Shapes are those of jacfwd.

    >>> jacrev(lambda x: (x**2).sum())(_fz.asarray([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """
    return _jacobian("jacrev", fn, argnums, has_aux, holomorphic, _by_rows)


def hessian(
    fn: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """A function that returns fn's second derivatives: jacfwd of jacrev.

    >>> hessian(lambda x: (x**3).sum())(_fz.asarray([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    _callable("hessian", fn)
    gradient = jacrev(fn, argnums, has_aux, holomorphic)
    return _jacobian("hessian", gradient, argnums, has_aux, holomorphic, _by_columns)


def hvp(fn: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian of fn at `primals` times `tangents`: forward mode over reverse mode.

    fn returns one number; the result has the structure of `primals`, a tuple.

    >>> hvp(lambda x: (x**3).sum(), (_fz.asarray([1.0, 2.0]),), (_fz.ones(2),))[0].tolist()
    [6.0, 12.0]
    """
    _callable("hvp", fn)

    def gradient(*args):
        value, pull = vjp(fn, *args)
        if not isinstance(value, _fz.Tensor) or value.ndim != 0:
            raise TypeError("[hvp] the function must return one floating-point number (0-d).")
        return pull(_fz.ones_like(value))

    return _forward("hvp", gradient, primals, tangents, has_aux=False)[1]
