"""Timelines of all ranks in one file: trace.

Each rank takes a profile; rank 0 writes them, each as a process with lanes of its own. Clocks of
one machine are one clock; those of others are compared when ranks leave a barrier.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import socket
import time
from statistics import median
from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil._profile import profile
from frazil.distributed._collectives import barrier
from frazil.distributed._texts import gather, together
from frazil.distributed._world import rank as _rank

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from frazil.distributed._world import Group

_ROUNDS = 8
_COLLECTIVES = {"collective": "collective", "collective_wait": "wait"}
_SENT = re.compile(r" of (\w+)\[([\d,]*)\]")


@contextlib.contextmanager
def trace(
    path: str | PathLike[str], *, events: int = 100_000, group: Group | None = None
) -> Iterator[profile]:
    """Writes what all ranks run within a `with` block as one timeline for https://ui.perfetto.dev.

    Every rank is a process with two lanes for each thread: what it computes, with calls and
    compilations, and its communication: collectives that it runs, those that it starts, and how
    long it waits for them, with the bytes that go in. A counter tells how many are under way. What
    is between the start of a collective and the wait for it ran beside it: the lane has no span
    of the transfer itself. Rank 0 writes the file; all ranks enter the block and leave it.

    Parameters
    ----------
    path : path
        Of rank 0.
    events : int
        Most events that a thread keeps.
    group
        All ranks by default.

    Returns
    -------
    profile
        Of this rank, to be read after the block.

    Raises
    ------
    RuntimeError
        If a profile is being taken.
    OSError
        On all ranks, if the file cannot be written. A block that raises writes none.

    Notes
    -----
    Times are those of rank 0's clock. That of another machine is off by as much as messages of
    barriers take longer one way than the other, some microseconds to a millisecond.

    >>> import os, tempfile
    >>> import frazil as fz
    >>> path = os.path.join(tempfile.mkdtemp(), "timeline.json")
    >>> with fz.distributed.trace(path):
    ...     y = fz.distributed.all_reduce(fz.ones(3))
    >>> os.path.getsize(path) > 0
    True
    """
    path = os.fspath(path)
    clocks = []
    for _ in range(_ROUNDS):
        barrier(group=group)
        clocks.append(time.monotonic_ns())  # the clock of profiles
    told = gather([_machine(), clocks], group)
    taken = profile(events=events)
    with taken:
        yield taken
    ranks = gather(_rows(taken), group)

    def write() -> None:
        if _rank(group) == 0:
            _write(path, ranks, _offsets(told))

    together(group, write)


def _machine():
    """What processes with the same clock have in common."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return socket.gethostname()


def _offsets(told):
    """By how much each rank's clock is ahead of that of the first, from (machine, clocks)."""
    machine, first = told[0]
    return [
        0 if other == machine else round(median(b - a for a, b in zip(first, clocks, strict=True)))
        for other, clocks in told
    ]


def _rows(taken):
    """[thread, lane, name, begin, end, {}] of what a rank ran, in order for each thread."""
    raw = taken._taken()
    out = []
    for i, thread in enumerate(raw["threads"]):
        for number, begin, end, (kind, name, line) in taken._spans(thread):
            ops = {op[0] for part in taken._parts(thread["events"][number]) for op in part["ops"]}
            about = {"kind": kind, "line": line}
            lane = 0
            if ops & _COLLECTIVES.keys():
                lane = 1
                about["kind"] = "start" if name.startswith("start ") else _COLLECTIVES[min(ops)]
                sent = _SENT.search(name)
                if sent:
                    about["bytes"] = str(_bytes_of(*sent.groups()))
            out.append([i, lane, name, begin, end, about])
    return out


def _bytes_of(dtype, dims):
    return getattr(_fz, dtype).itemsize * math.prod(int(n) for n in dims.split(",") if n)


def _write(path, ranks, offsets):
    begin = min((row[3] - offsets[r] for r, rows in enumerate(ranks) for row in rows), default=0)
    out = []
    for number, rows in enumerate(ranks):
        shift = begin + offsets[number]
        out.append(("process", number, 0, f"rank {number}", number))
        for thread, lane in sorted({(row[0], row[1]) for row in rows}):
            name = f"thread {thread}: {'communication' if lane else 'compute'}"
            out.append(("thread", number, 2 * thread + lane, name, 2 * thread + lane))
        under_way = 0
        for thread, lane, name, start, end, about in rows:
            at = start - shift
            out.append(("span", number, 2 * thread + lane, name, at, end - start, about))
            if about["kind"] in ("start", "wait"):
                under_way += 1 if about["kind"] == "start" else -1
                moment = at if about["kind"] == "start" else end - shift
                out.append(("counter", number, "collectives", "under way", moment, under_way))
    text = _fz.profile.trace_events({"note": f"{len(ranks)} ranks"}, out)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
