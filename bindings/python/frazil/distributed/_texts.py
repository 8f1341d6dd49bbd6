"""What ranks tell each other in words: for checkpoints and timelines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil.distributed._collectives import all_gather
from frazil.distributed._world import size as _size

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil.distributed._world import Group

_KINDS = {kind.__name__: kind for kind in (FileNotFoundError, OSError, TypeError, ValueError)}


def gather(value: Any, group: Group | None) -> list[Any]:
    """Every rank's value, which JSON can hold, on all ranks."""
    data = json.dumps(value).encode()
    if _size(group) == 1:
        return [json.loads(data)]
    lengths = all_gather(_fz.asarray([len(data)]), group=group).tolist()
    longest = max(lengths)
    own = _fz.asarray(memoryview(data.ljust(longest)))
    text = bytes(all_gather(own, group=group).tolist())
    return [json.loads(text[i * longest :][:length]) for i, length in enumerate(lengths)]


def together(group: Group | None, act: Callable[[], Any]) -> list[Any]:
    """What act() returns on every rank; where it raises on one, all raise, and nobody waits."""
    error, told = None, {}
    try:
        told["value"] = act()
    except Exception as caught:
        error = caught
        told["kind"], told["error"] = type(caught).__name__, str(caught)
    found = gather(told, group)
    if error:
        raise error
    for number, other in enumerate(found):
        if "error" in other:
            kind = _KINDS.get(other["kind"], RuntimeError)
            raise kind(f"[distributed] rank {number} raised {other['kind']}: {other['error']}")
    return [other["value"] for other in found]
