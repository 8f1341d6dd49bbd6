"""fz.trace: checks the callable and wraps it in the C++ type that records and replays."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from frazil._frazil import Traced
from frazil._named import flag as _flag
from frazil._named import integer as _integer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_P = ParamSpec("_P")
_R = TypeVar("_R")

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200  # code flags, as in module inspect
_WRITTEN_IN_PYTHON = 1 << 9  # a flag of classes (Py_TPFLAGS_HEAPTYPE)


def _code_flags(fn):
    while isinstance(fn, functools.partial):
        fn = fn.func
    code = getattr(fn, "__code__", None)
    if code is None:  # an object with __call__
        found = (vars(c)["__call__"] for c in type(fn).__mro__ if "__call__" in vars(c))
        called = next(found, None)
        code = getattr(getattr(called, "__func__", called), "__code__", None)
    return code.co_flags if code else 0


def _check_donate(fn, donate):
    """Refuses what names no argument of `fn`."""
    import inspect

    wanted = (donate,) if isinstance(donate, (str, int)) else donate
    if not isinstance(wanted, (tuple, list, set, frozenset)) or any(
        isinstance(w, bool) or not isinstance(w, (str, int)) for w in wanted
    ):
        raise TypeError(f"[trace] donate takes names and positions of arguments, got {donate!r}.")
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # a builtin does not tell
        return
    kinds = {p.kind for p in parameters}
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for w in wanted:
        if isinstance(w, str):
            known = w in named or inspect.Parameter.VAR_KEYWORD in kinds
        else:
            known = 0 <= w < len(placed) or (w >= 0 and inspect.Parameter.VAR_POSITIONAL in kinds)
        if not known:
            have = ", ".join(p.name for p in parameters) or "none"
            raise ValueError(
                f"[trace] donate names {w!r}, which is no argument of "
                f"{getattr(fn, '__qualname__', fn)}: it has {have}."
            )


@overload
def trace(
    fn: Callable[_P, _R],
    *,
    pure: bool = False,
    proof: bool = True,
    strict: bool = False,
    donate: str | int | Collection[str | int] = (),
    check_first: int | None = None,
    check_every: int = 1000,
    convert: bool = False,
) -> Traced[_P, _R]: ...
@overload
def trace(
    fn: None = None,
    *,
    pure: bool = False,
    proof: bool = True,
    strict: bool = False,
    donate: str | int | Collection[str | int] = (),
    check_first: int | None = None,
    check_every: int = 1000,
    convert: bool = False,
) -> Callable[[Callable[_P, _R]], Traced[_P, _R]]: ...
def trace(
    fn: Any = None,
    *,
    pure: bool = False,
    proof: bool = True,
    strict: bool = False,
    donate: str | int | Collection[str | int] = (),
    check_first: int | None = None,
    check_every: int = 1000,
    convert: bool = False,
) -> Any:
    """Records what a function does on its first call and replays it as fused kernels afterwards.

    Results, side effects and exceptions are those of the function without it, bit for bit. Works on
    functions, methods in class bodies, bound methods, closures, partials, modules and other
    callables; attributes that are not its own are those of what it wraps (`fast.parameters()`), and
    it is copied and pickled as that is.
    `.explain()` tells what was recorded and why, `.stats()` counts it. `donate` names arguments
    (or their positions, or True: all) whose memory the caller gives up; it is a hint.

    The body is skipped where it is proved that a call depends on what frazil compares: at the first
    calls it follows what the code reads besides its arguments (global names, attributes, closures,
    methods of classes), and from then on compares that; what the body does to lists, dicts and
    attributes is done again. What it cannot prove (a print, a file, a
    clock, a function of another library) runs, as ever; explain() says which line it was. The first
    `check_first` calls of a kind (1; 2 with pure=True) and every `check_every`-th (0: none) run the
    body and compare. proof=False always runs the body; strict=True raises RuntimeError where it
    cannot be proved.

    pure=True promises that a call depends on its arguments only: tensors, modules, optimizers,
    numbers, strings, and nests of them. Its body is then skipped without a proof; what it writes to
    its arguments and draws from the default random generator still happens. RuntimeError names the
    op, the line and both values if the promise turns out to be broken. Tensors are guarded by shape
    and dtype, everything else by value: with a number that is new at every call the body runs, and
    explain() names the number (an optimizer's `lr` is a tensor in this sense). Of objects all state
    is compared, and of their classes; what cannot be explain() names, and the body runs. So it does
    always if it reads a float or the bytes of an array, or writes to tensors outside of the
    arguments. What Python does besides (a print, an append to a list outside) is not seen.

    convert=True converts the function first (`convert`), so that inside of a `vmap`, also one that
    it calls itself, conditions may differ between examples. What cannot be converted is traced as
    it is, and explain() says why.

    >>> import frazil as fz
    >>> @fz.trace
    ... def f(x):
    ...     return fz.exp(x) * 2
    >>> [f(fz.asarray([0.0])).item() for _ in range(3)]
    [2.0, 2.0, 2.0]
    """
    pure, proof = _flag("[trace] pure", pure), _flag("[trace] proof", proof)
    strict = _flag("[trace] strict", strict)
    if strict and (pure or not proof):
        raise ValueError(
            "[trace] strict=True asks for a proof, which pure=True and proof=False do without."
        )
    if check_first is None:
        check_first = 2 if pure else 1
    for name, count in (("check_first", check_first), ("check_every", check_every)):
        if _integer(f"[trace] {name}", count, 0) >= 2**31:
            raise ValueError(f"[trace] {name} must be below 2**31, got {count}.")
    options: dict[str, Any] = {
        "pure": pure,
        "proof": proof,
        "strict": strict,
        "check_first": check_first,
        "check_every": check_every,
    }
    convert = _flag("[trace] convert", convert)
    if fn is None:
        return functools.partial(trace, donate=donate, convert=convert, **options)
    if isinstance(fn, (staticmethod, classmethod)):
        return type(fn)(trace(fn.__func__, donate=donate, convert=convert, **options))
    if isinstance(fn, Traced):
        if fn.pure == pure and not convert:
            return fn
        fn = fn.__wrapped__
    if not callable(fn):
        raise TypeError(f"[trace] needs a callable, got {type(fn).__name__}.")
    if isinstance(fn, type) and fn.__flags__ & _WRITTEN_IN_PYTHON:
        raise TypeError(
            f"[trace] {fn.__qualname__} is a class, and would be one no longer: trace its methods, "
            "or a function that makes its objects."
        )
    flags = _code_flags(fn)
    if flags & (_GENERATOR | _COROUTINE | _ASYNC_GENERATOR):
        kind = "generator" if flags & _GENERATOR else "coroutine"
        raise TypeError(
            f"[trace] {getattr(fn, '__qualname__', fn)} is a {kind} function: its body runs after "
            "the call has returned. Trace the functions it calls."
        )
    if donate != () and not isinstance(donate, bool):
        _check_donate(fn, donate)
    notes: list[str] = []
    if convert:
        from frazil._convert import try_convert

        fn, notes = try_convert(fn)
    traced = Traced(fn, **options)
    vars(traced).update(_options=options, **({"_notes": notes} if notes else {}))
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        if hasattr(fn, name):
            vars(traced)[name] = getattr(fn, name)
    return traced


def reduced(traced):
    """What copy and pickle know it by: its name, as functions are; or what it wraps, if that is
    copied with the object that it belongs to (a bound method, a partial, a module)."""
    fn = traced.__wrapped__
    owner = getattr(fn, "__self__", None)
    if (owner is None or isinstance(owner, types.ModuleType)) and hasattr(fn, "__qualname__"):
        return traced.__qualname__
    return _restored, (fn, vars(traced).get("_options", {}))


def _restored(fn, options):
    return trace(fn, **options)
