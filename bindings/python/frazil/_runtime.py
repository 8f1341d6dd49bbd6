"""Settings: mode, precision and the table of switches."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Literal

from frazil import _frazil
from frazil._named import flag as _flag

if TYPE_CHECKING:
    from frazil._frazil import DType
    from frazil._types import DTypeLike

_runtime = _frazil.runtime


class _PerThread(threading.local):
    """What to go back to: one object may be entered many times, and in many threads."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.fresh = False  # set by the constructor, not entered yet

    def pop(self, name):
        if not self.stack or self.fresh:
            raise RuntimeError(f"[{name}] is left more often than it was entered.")
        return self.stack.pop()


_MODES = {"eager": 0, "auto": 1, "graph": 5}  # flags of core/config.h
_STRICT = 2


class mode:  # noqa: N801
    """What is traced: "auto" (traced functions), "graph" (modules too) or "eager" (nothing).

    mode(name) sets it for the process; `with mode(name):` for this thread, until the block ends.
    "graph" traces every outermost call of an nn.Module; module.explain() tells about it.
    With strict=True a traced call that departs from what earlier calls recorded, after some of its
    operations were deferred, raises at that operation instead of running unfused: the error names
    the line and what changed. What the call did before is done, as in eager execution. A call that
    differs from its first operation on (a new shape, a branch not taken before) is recorded.
    """

    def __init__(self, name: Literal["eager", "auto", "graph"], strict: bool = False) -> None:
        if not isinstance(name, str) or name not in _MODES:
            raise ValueError(f'[mode] must be "eager", "auto" or "graph", got {name!r}.')
        strict = _flag("[mode] strict", strict)
        if strict and name == "eager":
            raise ValueError(
                '[mode] strict=True needs "auto" or "graph"; "eager" never falls back.'
            )
        self._mode = _MODES[name] | (_STRICT if strict else 0)
        self._process = _runtime.set_process_mode(self._mode)
        self._entered = False
        self._before = _PerThread()

    def __enter__(self) -> mode:
        if not self._entered:
            _runtime.set_process_mode(self._process)
            self._entered = True
        self._before.stack.append(_runtime.set_thread_mode(self._mode))
        return self

    def __exit__(self, *exception: object) -> None:
        _runtime.set_thread_mode(self._before.pop("mode"))


def set_default_dtype(dtype: DTypeLike) -> None:
    """The dtype of Python floats, and of what is made without a dtype: "float32" or "float64".

    It rules `asarray([1.5])`, `zeros`, `linspace`, random numbers and their like, and with
    complex64 or complex128 the complex ones. Floats beside a tensor take the tensor's dtype
    whatever it is. For the process; `default_dtype` is for a block. ValueError for another dtype.
    """
    _runtime.set_process_dtype(_default(dtype))


def _default(dtype: DTypeLike) -> DType:
    out = _runtime.dtype(dtype)
    if out not in (_frazil.float32, _frazil.float64):
        raise ValueError(f"[default_dtype] must be float32 or float64, got {out.name}.")
    return out


class default_dtype:  # noqa: N801
    """`with default_dtype("float64"):` is set_default_dtype for this thread, until the block ends.

    >>> import frazil as fz
    >>> with fz.default_dtype("float64"):
    ...     fz.asarray([0.1]).dtype
    frazil.float64
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self._dtype = _default(dtype)
        self._before = _PerThread()

    def __enter__(self) -> default_dtype:
        self._before.stack.append(_runtime.set_thread_dtype(self._dtype))
        return self

    def __exit__(self, *exception: object) -> None:
        _runtime.set_thread_dtype(self._before.pop("default_dtype"))


class detect_anomaly:  # noqa: N801
    """Raises FloatingPointError at the operation that makes the first NaN or infinity.

    Within `with detect_anomaly():` every operation of this thread runs eagerly, traced functions
    too, and its result is looked at. An operation is to blame for a NaN if none of its operands has
    one, for an infinity if all of them are finite; functions that compute infinities within and
    leave them out again are not. In a backward pass, the error names the line of the call whose
    gradient went wrong. RuntimeError if it is entered within a traced function.

    >>> import frazil as fz
    >>> with fz.detect_anomaly():
    ...     fz.log(fz.asarray([1.0, 0.0]))
    Traceback (most recent call last):
    FloatingPointError: [log] makes the first infinity: element [1] of f32[2], from f32[2].
    """

    def __init__(self) -> None:
        self._scopes = _PerThread()

    def __enter__(self) -> detect_anomaly:
        self._scopes.stack.append(_runtime.detect_anomaly())
        return self

    def __exit__(self, *exception: object) -> None:
        _runtime.end_anomaly(self._scopes.pop("detect_anomaly"))


class precision:  # noqa: N801
    """How matrices are multiplied in this thread.

    As a context manager it holds until the block ends. The names:

    {names}

    "default" is what PyTorch and JAX call the "highest" precision of float32 products, and "tf32"
    what PyTorch calls "high" and JAX "tensorfloat32". Within "native" sums over ranks, too
    (`fz.distributed.all_reduce`, `reduce_scatter`), are those of the library that carries them.
    """

    def __init__(self, name: Literal["default", "tf32", "exact", "blas", "native"]) -> None:
        before = _runtime.precision(name)
        self._name = name
        self._before = _PerThread()
        self._before.stack.append(before)
        self._before.fresh = True

    def __enter__(self) -> precision:
        if not self._before.fresh:
            self._before.stack.append(_runtime.precision(self._name))
        self._before.fresh = False
        return self

    def __exit__(self, *exception: object) -> None:
        _runtime.precision(self._before.pop("precision"))


if precision.__doc__:
    precision.__doc__ = precision.__doc__.replace(
        "{names}",
        "\n\n    ".join(f'"{name}": {doc}.' for name, doc in _runtime.precisions().items()),
    )


class _Switches(dict[str, Any]):
    def __init__(self, rows: dict[str, dict[str, Any]]) -> None:
        super().__init__({name: row["value"] for name, row in rows.items()})
        self.rows = rows  # variable, value, default, allowed and doc of each

    def __repr__(self) -> str:
        lines = [
            (row["variable"], str(row["value"]) or "-", row["doc"]) for row in self.rows.values()
        ]
        wide = [max(len(line[i]) for line in lines) for i in (0, 1)]
        return "\n".join(f"{a:{wide[0]}}  {b:{wide[1]}}  {c}" for a, b, c in lines)


def config(**settings: int) -> _Switches:
    """Every switch and its value, a dict that prints as a table of variables and meanings.

    Numbers, such as the bounds of caches, may be set: config(plan_entries=1000). Texts are read
    from their environment variables once. `.rows` tells what each may be (docs/switches.md).
    """
    for name, value in settings.items():
        _runtime.set_setting(name, value)
    return _Switches(_runtime.config())
