"""The random streams of the process: Python's, NumPy's where it is loaded, and frazil's.

Here they are seeded together, put aside and brought back: for frazil.random.seed_everything, for
batches of data, whose random numbers depend on the batch alone, and for checkpoints.
"""

from __future__ import annotations

import contextlib
import hashlib
import random as _python
import sys
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil import random as _random

if TYPE_CHECKING:
    from collections.abc import Iterator


def derive(*path: int | str) -> int:
    """A seed of 63 bits for a place such as (seed, "order", epoch); other places have others."""
    text = "/".join(map(str, path)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1


def seed_all(seed: int, load: bool = True) -> None:
    """Starts all streams from one integer; NumPy's if it is loaded or `load` says so."""
    _random.seed(seed)  # refuses what is out of range
    _python.seed(seed)
    numpy = _numpy(load)
    if numpy is not None:
        numpy.seed(seed % 2**32)


def states() -> dict[str, Any]:
    """Where the streams are: tensors, numbers and lists by the names of the streams."""
    version, words, gauss = _python.getstate()
    out = {"frazil": _random.get_state(), "python": [version, _fz.asarray(words), gauss]}
    numpy = _numpy(False)
    if numpy is not None:
        kind, words, *rest = numpy.get_state()
        out["numpy"] = [
            kind,
            _fz.asarray(words),
            *(x.item() if hasattr(x, "item") else x for x in rest),
        ]
    return out


def set_states(saved: dict[str, Any]) -> None:
    """Puts the streams where states() found them; those it lacks stay."""
    _random.set_state(saved["frazil"])
    version, words, gauss = saved["python"]
    _python.setstate((version, tuple(words.tolist()), gauss))
    if "numpy" in saved:
        numpy = _numpy(True)
        kind, words, *rest = saved["numpy"]
        numpy.set_state((kind, words.numpy(), *rest))


@contextlib.contextmanager
def apart(seed: int) -> Iterator[None]:
    """Within, the streams begin at `seed`; afterwards they are where they were."""
    numpy = _numpy(True)
    python, own, theirs = _python.getstate(), _random.get_state(), numpy.get_state()
    try:
        seed_all(seed)
        yield
    finally:
        _python.setstate(python)
        _random.set_state(own)
        numpy.set_state(theirs)


def _numpy(load: bool) -> Any:
    """numpy.random, which NumPy itself loads at its first use; None if the program has no NumPy."""
    if not load and "numpy" not in sys.modules:
        return None
    import numpy.random

    return numpy.random
