"""Timelines of all ranks in one file: trace. What of communication is hidden: overlap.

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
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil import _frazil as _fz
from frazil._profile import _COLLECTIVE, profile
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
    long it waits for them, with the bytes that go in. Further lanes, called "under way", have each
    collective from its beginning to its end, side by side, and a counter tells how many there are.
    The file's note has what `overlap` says of each rank. Rank 0 writes the file; all ranks enter
    the block and leave it.

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
    ranks = gather([_rows(taken), _under_way(taken), str(overlap(taken))], group)

    def write() -> None:
        if _rank(group) == 0:
            _write(path, ranks, _offsets(told))

    together(group, write)


class Overlap(NamedTuple):
    """How much of a rank's communication ran beside what it computed, in seconds."""

    communicating: float  # with a collective under way, or several
    waiting: float  # in which the program did nothing else
    collectives: int

    @property
    def hidden(self) -> float:
        """The share of communication that nobody waited for; 1 where there was none."""
        if not self.communicating:
            return 1.0
        return max(0.0, 1.0 - self.waiting / self.communicating)

    def __str__(self) -> str:
        return (
            f"{self.collectives} collectives, {self.communicating * 1e3:.3f} ms under way, "
            f"{self.waiting * 1e3:.3f} ms waited for, {self.hidden:.1%} hidden"
        )


def overlap(taken: profile) -> Overlap:
    """How much of the communication of a profile was hidden behind what was computed.

    Parameters
    ----------
    taken : profile
        What `fz.profile()` or `trace` recorded on this rank.

    Returns
    -------
    Overlap
        The time with collectives under way, the time that was spent waiting for them or in those
        that run at once, and the share that was hidden. A group of one rank communicates nothing.

    Raises
    ------
    RuntimeError
        If the profile is still being taken.

    >>> import frazil as fz
    >>> with fz.profile() as taken:
    ...     y = fz.distributed.all_reduce(fz.ones(3))
    >>> print(overlap(taken))
    0 collectives, 0.000 ms under way, 0.000 ms waited for, 100.0% hidden
    """
    spans = sorted((begin, end) for begin, end, _ in _under_way(taken))
    if not spans:
        return Overlap(0.0, 0.0, 0)
    communicating, until = 0, spans[0][0]
    for begin, end in spans:
        communicating += max(0, end - max(begin, until))
        until = max(until, end)
    waiting = sum(
        row[4] - row[3] for row in _rows(taken) if row[5]["kind"] in ("wait", "collective")
    )
    return Overlap(communicating / 1e9, waiting / 1e9, len(spans))


def _under_way(taken: profile) -> list[tuple[int, int, str]]:
    """(begin, end, name) of each collective among several ranks, as they ended."""
    return [
        (event[5], event[6], thread["texts"][event[1]])
        for thread in taken._taken()["threads"]
        for event in thread["events"]
        if event[0] == _COLLECTIVE
    ]


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


def _lanes(spans: list[Any]) -> list[list[Any]]:
    """Spans in as few lanes as none overlaps another in."""
    lanes: list[list[Any]] = []
    for span in sorted(spans):
        free = next((lane for lane in lanes if lane[-1][1] <= span[0]), None)
        if free is None:
            free = []
            lanes.append(free)
        free.append(span)
    return lanes


def _write(path, ranks, offsets):
    begin = min(
        (row[3] - offsets[r] for r, (rows, _, _) in enumerate(ranks) for row in rows), default=0
    )
    out = []
    for number, (rows, spans, _) in enumerate(ranks):
        shift = begin + offsets[number]
        out.append(("process", number, 0, f"rank {number}", number))
        for thread, lane in sorted({(row[0], row[1]) for row in rows}):
            name = f"thread {thread}: {'communication' if lane else 'compute'}"
            out.append(("thread", number, 2 * thread + lane, name, 2 * thread + lane))
        above = 2 * max((row[0] for row in rows), default=0) + 2
        for i, lane in enumerate(_lanes(spans)):
            out.append(("thread", number, above + i, "under way", above + i))
            for start, end, name in lane:
                about = {"kind": "under way"}
                out.append(("span", number, above + i, name, start - shift, end - start, about))
        under_way = 0
        for thread, lane, name, start, end, about in rows:
            at = start - shift
            out.append(("span", number, 2 * thread + lane, name, at, end - start, about))
            if about["kind"] in ("start", "wait"):
                under_way += 1 if about["kind"] == "start" else -1
                moment = at if about["kind"] == "start" else end - shift
                out.append(("counter", number, "collectives", "under way", moment, under_way))
    told = "".join(f"; rank {number}: {said}" for number, (_, _, said) in enumerate(ranks))
    text = _fz.profile.trace_events({"note": f"{len(ranks)} ranks{told}"}, out)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
