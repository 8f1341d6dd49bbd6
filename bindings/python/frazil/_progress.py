"""How far a long loop is, `fz.progress`, and the reading and writing of large files (frazil.io and
others). What compiling and load_program show is core/progress.h.

Shown by tqdm where it is installed, otherwise as a line; on standard error, if that is a terminal.
FRAZIL_PROGRESS=on shows it elsewhere too, off nowhere.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import time
from collections.abc import Sized
from typing import TYPE_CHECKING, Any, TypeVar

from frazil._named import integer as _integer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["progress"]

_T = TypeVar("_T")
_QUIET = 1.0  # seconds in which nothing is shown: most work is over by then
_EVERY = 0.1  # seconds between lines


def shown() -> bool:
    """Whether progress is shown at all."""
    from frazil._frazil.runtime import config

    wanted = config()["progress"]["value"]
    return bool(wanted == "on" or (wanted == "auto" and sys.stderr and sys.stderr.isatty()))


class Bar:
    """One bar, of bytes if so: it appears once the work takes long, and goes with close()."""

    def __init__(self, what: str, total: int | None, bytes: bool = False) -> None:
        self._what, self._total, self._bytes = what, total, bytes
        self._done, self._begin, self._last = 0, time.monotonic(), 0.0
        self._tqdm: Any = None
        self._wide = 0

    def update(self, done: int) -> None:
        """So much is done now."""
        now = time.monotonic()
        late = now - self._begin >= _QUIET and now - self._last >= _EVERY
        if late and self._tqdm is None and not self._wide:
            self._tqdm = self._start()
        if self._tqdm:
            self._tqdm.update(done - self._done)
        elif late:
            self._line(done, now - self._begin)
        self._done, self._last = done, now if late else self._last

    def close(self) -> None:
        """The work is over."""
        if self._tqdm:
            self._tqdm.close()
        elif self._wide:
            sys.stderr.write("\r" + " " * self._wide + "\r")
            sys.stderr.flush()
        self._tqdm, self._wide = None, 0

    def _start(self):
        try:
            tqdm = importlib.import_module("tqdm.auto")
        except ImportError:
            return None
        unit = {"unit": "B", "unit_scale": True, "unit_divisor": 1024} if self._bytes else {}
        return tqdm.tqdm(
            total=self._total, initial=self._done, desc=self._what, leave=False, file=sys.stderr,
            **unit,
        )  # fmt: skip

    def _line(self, done, seconds):
        from frazil.memory import _size

        count = _size if self._bytes else str
        of = f"/{count(self._total)} ({done / self._total:.0%})" if self._total else ""
        text = f"{self._what}: {count(done)}{of}, {seconds:.0f} s"
        sys.stderr.write("\r" + text.ljust(self._wide))
        sys.stderr.flush()
        self._wide = max(self._wide, len(text))


def progress(iterable: Iterable[_T], what: str = "", *, total: int | None = None) -> Iterator[_T]:
    """Yields the items of an iterable, and shows how many there were where somebody looks.

    On standard error if that is a terminal (FRAZIL_PROGRESS says otherwise), by tqdm where it is
    installed, and only once the work takes longer than a second.

    Parameters
    ----------
    iterable : iterable
    what : str
        What stands in front.
    total : int, optional
        How many there will be; by default what len() says.

    Raises
    ------
    TypeError
        If it is no iterable.

    >>> import frazil as fz
    >>> sum(fz.progress(range(4), "epochs"))
    6
    """
    if not hasattr(iterable, "__iter__") and not hasattr(iterable, "__getitem__"):
        raise TypeError(f"[progress] needs an iterable, got {type(iterable).__name__}.")
    if total is None:
        with contextlib.suppress(TypeError):  # of loaders whose data does not tell
            total = len(iterable) if isinstance(iterable, Sized) else None
    else:
        total = _integer("[progress] total", total, 0)
    return _followed(iterable, what, total) if shown() else iter(iterable)


def _followed(iterable, what, total):
    bar = Bar(what, total)
    try:
        for done, item in enumerate(iterable, 1):
            yield item
            bar.update(done)
    finally:
        bar.close()


@contextlib.contextmanager
def transfer(
    what: str, path: Any, total: Callable[[], int]
) -> Iterator[Callable[[int], None] | None]:
    """What takes the number of bytes read or written so far of a file; None if nobody looks.
    `what`: "saving" or "loading"."""
    if not shown():
        yield None
        return
    bar = Bar(f"{what} {os.path.basename(os.fsdecode(path))}", total(), bytes=True)
    try:
        yield bar.update
    finally:
        bar.close()
