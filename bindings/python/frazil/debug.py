"""Finding out where a program goes wrong.

Here: `nan`.
"""

from __future__ import annotations

import linecache
import traceback
from typing import TYPE_CHECKING

from frazil._frazil import runtime as _runtime
from frazil._runtime import detect_anomaly as _detect_anomaly

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["nan"]


class nan(_detect_anomaly):  # noqa: N801
    """Raises FloatingPointError at the operation that makes the first NaN, and names the line.

    It is detect_anomaly but for infinities, which it lets pass: within `with fz.debug.nan():` every
    operation of this thread runs eagerly, traced functions too, and a note on the error says which
    line of the program called the one to blame. In a backward pass the message names the line of
    the call whose gradient went wrong. RuntimeError if it is entered within a traced function.

    >>> import frazil as fz
    >>> try:
    ...     with fz.debug.nan():
    ...         x = fz.asarray([1.0]) / 0
    ...         x - x
    ... except FloatingPointError as error:
    ...     print(error)
    [subtract] makes the first NaN: element [0] of f32[1], from f32[1], f32[1].
    """

    def __enter__(self) -> nan:
        self._scopes.stack.append(_runtime.detect_anomaly(False))
        return self

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        error = exception[1] if len(exception) > 1 else None
        if isinstance(error, FloatingPointError) and not getattr(error, "__notes__", None):
            line = _line(error.__traceback__)
            if line:
                error.add_note(line)


def _line(trace: TracebackType | None) -> str | None:
    """The innermost line of the program, which is none of this package's."""
    found = None
    for frame, number in traceback.walk_tb(trace):
        if frame.f_globals.get("__name__", "").partition(".")[0] != "frazil":
            found = frame.f_code.co_filename, number
    if found is None:
        return None
    return f"[debug.nan] at {found[0]}:{found[1]}: {linecache.getline(*found).strip()}"
