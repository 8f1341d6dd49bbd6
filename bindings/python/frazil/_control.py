"""Control flow over tensors: branches and loops as functions, under JAX's names.

Each is written as the Python code that it stands for, so that eager calls, traced ones (which roll
loops up and keep branches apart) and gradients are those of that code. What they add: a state of
one structure, checked with the user's own names, and a meaning where Python has none, for
conditions that differ between the examples of a vmap: both branches run and each example keeps its
own, and a loop goes on while any example does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._custom import checkpoint as _checkpoint
from frazil._named import integer as _integer
from frazil._trace import trace
from frazil._transforms import vmap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["associative_scan", "cond", "fori_loop", "map", "scan", "switch", "while_loop"]

_flatten = _fz.tree.flatten
_any_example = _fz.transforms.any_example
_has_history = _fz.custom.has_history
_run_aside = _fz.transforms.run_aside
_is_batched = _fz.transforms.is_batched
# fz.export says which branches are taken (tracer/choices.h), to have all of them.
_chooses = _fz.program.chooses
_INTEGERS = ("signed integer", "unsigned integer")


def _name(fn):
    return getattr(fn, "__name__", type(fn).__name__)


def _callable(op, *functions):
    for fn in functions:
        if not callable(fn):
            raise TypeError(f"[{op}] needs functions, got {type(fn).__name__}.")


def _condition(op, fn, value):
    """A tensor of one bool, or a Python bool."""
    if isinstance(value, bool):
        return value
    value = _tensor(value, f"[{op}] {fn} must be one bool")
    if value.ndim != 0 or value.dtype != _fz.bool:
        raise TypeError(
            f"[{op}] {fn} must be one bool, got {value.dtype.name} of shape {value.shape}."
        )
    return value


def _tensor(leaf, must, dtype=None):
    if isinstance(leaf, _fz.Tensor):
        return leaf
    try:
        return _fz.asarray(leaf, dtype=dtype)
    except TypeError:
        raise TypeError(f"{must}, got {type(leaf).__name__}.") from None


def _state(op, what, value, like=()):
    """The leaves, tensors, and the structure; Python numbers of a body take the dtypes of the
    state that it got, as in arithmetic."""
    leaves, structure = _flatten(value)
    if all(isinstance(x, _fz.Tensor) for x in leaves):
        return leaves, structure
    dtypes = [y.dtype for y in like[: len(leaves)]] + [None] * (len(leaves) - len(like))
    must = [f"[{op}] {what}{path} must be a tensor or a number" for path in structure.paths()]
    return [_tensor(*x) for x in zip(leaves, must, dtypes, strict=True)], structure


def _same(op, what, new, new_structure, old, old_structure, where):
    """Raises unless two nests agree in structure, shapes and dtypes."""
    if new_structure != old_structure:
        raise TypeError(
            f"[{op}] {what} must have the structure of {where}: {new_structure} and "
            f"{old_structure}."
        )
    for x, y, path in zip(new, old, old_structure.paths(), strict=True):
        if x.shape != y.shape or x.dtype != y.dtype:
            raise TypeError(
                f"[{op}] {what} must have the shapes and dtypes of {where}: at {path or 'it'} "
                f"{x.dtype.name} of shape {x.shape}, and {y.dtype.name} of shape {y.shape}."
            )


def _taken(pred, fn, *args):
    """fn(*args), of which only examples count that pred is true for."""
    scope = _fz.TakenScope(pred, *_flatten(args)[0])
    try:
        return fn(*args)
    finally:
        scope.close()


def _choose(op, pred, results, names):
    """Leaf by leaf the first nest where `pred` is true, else the second, for every example."""
    (first, structure), (second, other) = results
    _same(op, names[1] + "'s result", second, other, first, structure, names[0] + "'s")
    return structure.unflatten([_fz.where(pred, x, y) for x, y in zip(first, second, strict=True)])


def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """true_fun(*operands) if pred, one bool, is true, else false_fun(*operands).

    Only that branch runs, unless pred differs between the examples of a vmap: then both do, and
    must return the same structure, shapes and dtypes.

    >>> cond(_fz.asarray(1.0) > 0, lambda x: x + 1, lambda x: x - 1, _fz.asarray(5.0)).item()
    6.0
    """
    _callable("cond", true_fun, false_fun)
    pred = _condition("cond", "pred", pred)
    if not _is_batched(pred):
        if isinstance(pred, _fz.Tensor) and _chooses():
            pred = _fz.program.branch(pred, 2)
        return true_fun(*operands) if pred else false_fun(*operands)
    results = [
        _state("cond", _name(fn) + "'s result", _taken(taken, fn, *operands))
        for fn, taken in ((true_fun, pred), (false_fun, ~pred))
    ]
    return _choose("cond", pred, results, (_name(true_fun), _name(false_fun)))


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """branches[index](*operands), with an index out of range taken to the nearest one in it.

    >>> switch(_fz.asarray(7), [lambda x: x, lambda x: x * 10], _fz.asarray(5.0)).item()
    50.0
    """
    branches = list(branches)
    _callable("switch", *branches)
    if not branches:
        raise ValueError("[switch] needs at least one branch, got none.")
    if isinstance(index, _fz.Tensor) and index.ndim != 0:
        raise TypeError(
            f"[switch] index must be one integer, got {index.dtype.name} of shape {index.shape}."
        )
    if not _is_batched(index):
        if isinstance(index, _fz.Tensor) and index.dtype.kind in _INTEGERS and _chooses():
            in_range = _fz.clip(index, 0, len(branches) - 1)
            return branches[_fz.program.branch(in_range, len(branches))](*operands)
        n = _integer("[switch] index", index.item() if isinstance(index, _fz.Tensor) else index)
        return branches[min(max(n, 0), len(branches) - 1)](*operands)
    if index.dtype.kind not in _INTEGERS:
        raise TypeError(
            f"[switch] index must be one integer, got {index.dtype.name} of shape {index.shape}."
        )
    last = len(branches) - 1
    if last == 0:
        return branches[0](*operands)
    results = []
    for n, fn in enumerate(branches):
        taken = index <= 0 if n == 0 else index >= n if n == last else index == n
        what = _name(fn) + "'s result"
        results.append(_state("switch", what, _taken(taken, fn, *operands)))
    chosen = results.pop()
    while results:
        n = len(results) - 1
        names = _name(branches[n]), "a later branch"
        chosen = _flatten(_choose("switch", index <= n, (results.pop(), chosen), names))
    return chosen[1].unflatten(chosen[0])


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """The first of init_val, body_fun(init_val), ... for which cond_fun is false.

    cond_fun returns one bool, and body_fun a state of init_val's structure, shapes and dtypes. In a
    vmap the loop goes on while it is true for any example, and the others keep their state.

    >>> while_loop(lambda n: n < 100, lambda n: n * 2, _fz.asarray(3)).item()
    192
    """
    _callable("while_loop", cond_fun, body_fun)
    leaves, structure = _state("while_loop", "init_val", init_val)
    while True:
        state = structure.unflatten(leaves)
        go = _condition("while_loop", _name(cond_fun), cond_fun(state))
        batched = _is_batched(go)
        if not (_any_example(go) if batched else go):
            return state
        what = _name(body_fun) + "'s result"
        result = _taken(go, body_fun, state) if batched else body_fun(state)
        new, new_structure = _state("while_loop", what, result, leaves)
        _same("while_loop", what, new, new_structure, leaves, structure, "its argument")
        if batched:
            new = [_fz.where(go, x, y) for x, y in zip(new, leaves, strict=True)]
        leaves = new


# So many steps are worth a plan of their own; so many calls it takes until one is skipped.
_MANY, _LEARNT = 32, 10


def _aside(body_fun, what, structure, steps, leaves):
    """(steps done, the state behind them) of a fori_loop whose body is traced by itself, where
    nothing is learnt from all its steps: by a call outside of traces, or the first of a trace."""

    def one(i, state):
        old, old_structure = _flatten(state)
        new, new_structure = _state("fori_loop", what, body_fun(i, state), old)
        _same("fori_loop", what, new, new_structure, old, old_structure, "its state")
        return old_structure.unflatten(new)

    def pushed(i, state, tangents):
        scope = _fz.ForwardScope()
        try:
            old, old_structure = _flatten(state)
            pairs = zip(old, tangents, strict=True)
            inside = [x if t is None else scope.variable(x, t) for x, t in pairs]
            new, _ = _flatten(one(i, old_structure.unflatten(inside)))
            moved = [scope.tangent(x) for x in new]
            return old_structure.unflatten([scope.outside(x) for x in new]), moved
        finally:
            scope.close()

    def loop(leaves, tangents):
        moving = any(t is not None for t in tangents)
        call = trace(pushed if moving else one)
        state = structure.unflatten(leaves)
        for n, i in enumerate(steps):
            if moving:
                state, tangents = call(i, state, tangents)
            else:
                state = call(i, state)
            leaves = _flatten(state)[0]
            if _has_history(leaves) or (n == _LEARNT and not call.stats()["skipped"]):
                return n + 1, leaves, tangents
        return len(steps), leaves, tangents

    return _run_aside(loop, leaves)


def _blocks(op, steps, checkpoint):
    """The steps in blocks, each of which is computed again for gradients; one block: none is."""
    size = len(steps)
    if checkpoint is True:
        size = math.isqrt(max(size - 1, 0)) + 1
    elif checkpoint is not False:
        size = _integer(f"[{op}] checkpoint", checkpoint)
        if size < 1:
            raise ValueError(f"[{op}] checkpoint must be at least 1 step, got {size}.")
    return [steps[i : i + size] for i in range(0, len(steps), max(size, 1))]


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,  # noqa: ARG001 -- plans decide
    checkpoint: bool | int = False,
) -> Any:
    """body_fun(upper - 1, ... body_fun(lower, init_val)): a loop over range(lower, upper).

    body_fun gets the number and the state, and returns a state of the same structure, shapes and
    dtypes. Bounds may be integer tensors. `unroll` is there for JAX's callers and has no effect.
    checkpoint=True keeps the states of about sqrt(n) of n steps for gradients, and computes the
    others again (fz.checkpoint); a number keeps the state of every so many.

    >>> fori_loop(0, 5, lambda i, total: total + i, _fz.asarray(0)).item()
    10
    """
    _callable("fori_loop", body_fun)
    if isinstance(lower, _fz.Tensor) or isinstance(upper, _fz.Tensor):
        if checkpoint is not False:
            raise TypeError(
                "[fori_loop] checkpoint needs the number of steps: bounds that are integers."
            )
        dtype = (lower + upper).dtype
        first, last = _fz.asarray(lower, dtype=dtype), _fz.asarray(upper, dtype=dtype)
        return while_loop(
            lambda s: s[0] < last, lambda s: (s[0] + 1, body_fun(s[0], s[1])), (first, init_val)
        )[1]
    low, high = _integer("[fori_loop] lower", lower), _integer("[fori_loop] upper", upper)
    start, structure = _state("fori_loop", "init_val", init_val)
    what = _name(body_fun) + "'s result"

    def run(steps, leaves):
        done = _aside(body_fun, what, structure, steps, leaves) if len(steps) >= _MANY else None
        if done is not None:
            steps, leaves = steps[done[0] :], done[1]
        for i in steps:
            result = body_fun(i, structure.unflatten(leaves))
            new, new_structure = _state("fori_loop", what, result, leaves)
            _same("fori_loop", what, new, new_structure, leaves, structure, "its state")
            leaves = new
        return leaves

    blocks = _blocks("fori_loop", range(low, high), checkpoint)
    again = _checkpoint(run) if len(blocks) > 1 else run
    for steps in blocks:
        start = again(steps, start)
    return structure.unflatten(start)


def _length(op, xs, length):
    leaves, structure = _state(op, "xs", xs)
    n = None if length is None else _integer(f"[{op}] length", length)
    for x, path in zip(leaves, structure.paths(), strict=True):
        if x.ndim == 0:
            raise ValueError(f"[{op}] xs{path} is 0-d: there is no axis to go along.")
        if n is None:
            n = x.shape[0]
        elif x.shape[0] != n:
            raise ValueError(
                f"[{op}] the first axis has {x.shape[0]} entries at xs{path}, and {n} elsewhere."
            )
    if n is None:
        raise ValueError(f"[{op}] xs holds no tensor, so say length.")
    return leaves, structure, n


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,  # noqa: ARG001 -- plans decide
    *,
    checkpoint: bool | int = False,
) -> tuple[Any, Any]:
    """Runs carry, y = f(carry, x) over the entries of xs along its first axis.

    Returns the last carry and the ys, stacked along a new first axis. The carry keeps its
    structure, shapes and dtypes. xs and the ys may be nests; with xs=None, f gets None `length`
    times. reverse=True begins at the end; ys stand where their xs do. `unroll` is there for JAX's
    callers and has no effect. checkpoint=True keeps about sqrt(n) of n carries for gradients, and
    computes what lies between again (fz.checkpoint); a number keeps the carry of every so many
    steps.

    >>> last, sums = scan(lambda c, x: (c + x, c + x), 0.0, _fz.asarray([1.0, 2.0, 3.0]))
    >>> last.item(), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """
    return _scan("scan", f, init, xs, length, reverse, checkpoint)


# fz.export sets it where programs of other lengths are to be alike.
lengths_are_tensors = False


def scanned_by_tensor(step, n, reverse, carry, xs):
    """(the last carry, ys) of carry, y = step(carry, x), flat, over the n entries of xs: a loop up
    to a tensor, with an index.
    """

    def place(i):
        return n - 1 - i if reverse else i

    def put(ys, at, new):
        return [_fz.inside.put(y, at, one) for y, one in zip(ys, new, strict=True)]

    first, last = _fz.asarray(place(0)), _fz.asarray(n)
    carry, new = step(carry, [x[place(0)] for x in xs])
    ys = [_fz.zeros((n, *y.shape), dtype=y.dtype, device=y.device) for y in new]

    def body(state):
        i, carry, ys = state
        at = last - 1 - i if reverse else i
        carry, new = step(carry, [_fz.take(x, at, axis=0) for x in xs])
        return i + 1, carry, put(ys, at, new)

    start = _fz.asarray(1), carry, put(ys, first, new)
    return while_loop(lambda state: state[0] < last, body, start)[1:]


def _scan(op, f, init, xs, length=None, reverse=False, checkpoint=False, name=None):
    _callable(op, f)
    name = name or _name(f)
    leaves, structure, n = _length(op, xs, length)
    carry, carry_structure = _state(op, "init", init)
    first = []  # the first step's y, flat, and its structure

    def step(carry, x):
        result = f(carry_structure.unflatten(carry), structure.unflatten(x))
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(f"[{op}] {name} must return (carry, y), got {type(result).__name__}.")
        what = name + "'s carry"
        new, new_structure = _state(op, what, result[0], carry)
        _same(op, what, new, new_structure, carry, carry_structure, "init")
        what = name + "'s y"
        y, y_structure = _state(op, what, result[1])
        if first:
            _same(op, what, y, y_structure, *first, "the first y")
        else:
            first.extend((y, y_structure))
        return new, y

    if lengths_are_tensors and n > 0:
        carry, ys = scanned_by_tensor(step, n, reverse, carry, leaves)
        return carry_structure.unflatten(carry), first[1].unflatten(ys)

    def run(steps, begin, carry, xs):
        ys = []
        for t in steps:
            carry, y = step(carry, [x[t - begin] for x in xs])
            ys.append(y)
        return carry, ys

    blocks = _blocks(op, range(n - 1, -1, -1) if reverse else range(n), checkpoint)
    all_ys = []
    for steps in blocks:
        if len(blocks) == 1:
            carry, ys = run(steps, 0, carry, leaves)
        else:
            begin = min(steps[0], steps[-1])
            own = [x[begin : begin + len(steps)] for x in leaves]
            carry, ys = _checkpoint(run)(steps, begin, carry, own)
        all_ys += ys
    if not first:
        start = carry_structure.unflatten(carry)
        return start, _of_nothing(f, start, structure, leaves)
    if reverse:
        all_ys.reverse()
    stacked = [_fz.stack(list(column)) for column in zip(*all_ys, strict=True)]
    return carry_structure.unflatten(carry), first[1].unflatten(stacked)


def _of_nothing(f, carry, structure, leaves):
    """The ys of no entries: those of a vmap over none, which gives their structure and shapes."""
    return vmap(lambda own: f(carry, own), axis_size=0, randomness="same")(
        structure.unflatten(leaves)
    )[1]


def map(  # noqa: A001 -- as in jax.lax
    f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None
) -> Any:
    """f of each entry of xs along its first axis, stacked: one after the other, where vmap computes
    all at once. With a batch_size, so many are computed at once.

    >>> map(lambda x: x * x, _fz.asarray([1.0, 2.0])).tolist()
    [1.0, 4.0]
    """
    _callable("map", f)
    if batch_size is None:
        return _scan("map", lambda _, x: ((), f(x)), (), xs, name=_name(f))[1]
    size = _integer("[map] batch_size", batch_size)
    if size < 1:
        raise ValueError(f"[map] batch_size must be at least 1, got {size}.")
    leaves, structure, n = _length("map", xs, None)
    parts = [
        _flatten(vmap(f)(structure.unflatten([x[i : i + size] for x in leaves])))
        for i in range(0, max(n, 1), size)
    ]
    columns = zip(*(part for part, _ in parts), strict=True)
    return parts[0][1].unflatten([_fz.concat(list(column)) for column in columns])


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Running results of an associative fn(a, b) along an axis, in a logarithm of its extent steps.

    fn gets two nests of elems' structure and combines them entry by entry, a before b. The
    recursion over pairs is Blelloch's (1990).

    >>> associative_scan(_fz.add, _fz.asarray([1.0, 2.0, 3.0])).tolist()
    [1.0, 3.0, 6.0]
    """
    _callable("associative_scan", fn)
    leaves, structure = _state("associative_scan", "elems", elems)
    axis = _integer("[associative_scan] axis", axis)
    for x in leaves:
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(f"[associative_scan] axis {axis} is not there: shape {x.shape}.")
    leaves = [_fz.moveaxis(x, axis, 0) for x in leaves]
    if reverse:
        leaves = [_fz.flip(x, axis=0) for x in leaves]
    what = _name(fn) + "'s result"

    def combine(a, b):
        result = fn(structure.unflatten(a), structure.unflatten(b))
        out, out_structure = _state("associative_scan", what, result)
        _same("associative_scan", what, out, out_structure, b, structure, "elems")
        return out

    scanned = _pairs(combine, leaves)
    if reverse:
        scanned = [_fz.flip(x, axis=0) for x in scanned]
    return structure.unflatten([_fz.moveaxis(x, 0, axis) for x in scanned])


def _pairs(combine, leaves):
    n = leaves[0].shape[0] if leaves else 0
    if n < 2:
        return leaves
    odd = _pairs(combine, combine([x[: n - 1 : 2] for x in leaves], [x[1::2] for x in leaves]))
    even = [x[:1] for x in leaves]
    if n > 2:
        before = odd if n % 2 else [x[:-1] for x in odd]
        after = combine(before, [x[2::2] for x in leaves])
        even = [_fz.concat([x, y]) for x, y in zip(even, after, strict=True)]
    return [_interleaved(x, y) for x, y in zip(even, odd, strict=True)]


def _interleaved(even, odd):
    n = even.shape[0] + odd.shape[0]
    if n % 2:
        odd = _fz.concat([odd, even[:1]])
    both = _fz.stack([even, odd], axis=1)
    return _fz.reshape(both, (2 * even.shape[0], *even.shape[1:]))[:n]
