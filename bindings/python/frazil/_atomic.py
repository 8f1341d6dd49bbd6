"""Files that are there whole or not at all, whatever kills the process. For frazil.io."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike


@contextlib.contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` when the block ends, on the disk by then.

    Until then, and if the block raises, what `path` named stays. A killed process may leave a file
    .NAME.*.tmp beside it.
    """
    target = os.path.realpath(os.fspath(path))  # a link stays one
    folder, name = os.path.split(target)
    descriptor, temporary = tempfile.mkstemp(".tmp", f".{name}.", folder)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), _mode(target))
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(folder)


def sync_folder(folder: str) -> None:
    """Puts the names in a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _mode(target: str) -> int:
    """What open() would give the file."""
    with contextlib.suppress(OSError):
        return os.stat(target).st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
