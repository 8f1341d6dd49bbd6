"""What a step will take on more processes: forecast.

A few steps are profiled; from them come the time between collectives, and which are begun, run and
waited for where. That sequence is run again, in arithmetic, with another number of processes: a
collective takes what its messages take on a network of this overhead, latency and bandwidth.
"""

from __future__ import annotations

import math
import re
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil._named import integer as _integer
from frazil._profile import profile
from frazil.distributed._timeline import _rows
from frazil.distributed._world import _link
from frazil.distributed._world import size as _size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PROCESSES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
_CALL = re.compile(r"^(?:start |wait for )?(\w+)(?:\(\w+\))?(?: of |$)")
_MOST_WHOLE = 1 << 19  # distributed/link.cc


class Network(NamedTuple):
    """Seconds that a message costs who sends it and is on the way, and bytes a second."""

    overhead: float
    latency: float
    bandwidth: float

    def takes(self, call: str, size: int, n: int) -> tuple[float, float]:
        """Seconds that a collective of n ranks keeps the network busy, and is on the way."""
        if n == 1:
            return 0.0, 0.0
        others, ways = n - 1, 1
        if call == "all_reduce" and size > min(_MOST_WHOLE, self.latency * self.bandwidth / others):
            ways, sent = 2, 2 * size * others / n
        elif call in ("reduce_scatter", "all_to_all"):
            sent = size * others / n
        elif call in ("send", "recv"):
            others, sent = 1, float(size)
        elif call == "barrier":
            sent = 0.0
        else:
            sent = float(size * others)
        return ways * others * self.overhead + sent / self.bandwidth, ways * self.latency


class Forecast(NamedTuple):
    """Of a number of processes: seconds of a step, in which it waits for collectives; the
    efficiency is the time of one process over that, each having as much data."""

    processes: int
    seconds: float
    waiting: float
    efficiency: float


class Forecasts(list[Forecast]):
    """A forecast for each number of processes; print it for a table.

    Attributes
    ----------
    processes : int
        That the steps were measured on.
    seconds : float
        Of a measured step, the fastest.
    network : tuple
        Overhead, latency and bandwidth that were computed with.
    """

    processes: int
    seconds: float
    network: Network

    def __str__(self) -> str:
        overhead, latency, bandwidth = self.network
        lines = [
            f"measured on {self.processes}: {self.seconds * 1e3:.3f} ms a step; a message costs "
            f"{overhead * 1e6:.1f} us and takes {latency * 1e6:.1f} us, {bandwidth / 1e9:.2f} GB/s",
            f"{'processes':>9} {'ms a step':>10} {'waiting':>10} {'efficiency':>10}",
        ]
        lines += [
            f"{row.processes:>9} {row.seconds * 1e3:>10.3f} {row.waiting * 1e3:>10.3f} "
            f"{row.efficiency:>10.1%}"
            for row in self
        ]
        return "\n".join(lines)


def forecast(
    step: Callable[..., Any],
    *args: Any,
    processes: Iterable[int] = PROCESSES,
    latency: float | None = None,
    bandwidth: float | None = None,
    overhead: float | None = None,
    calls: int = 5,
) -> Forecasts:
    """What a step would take on other numbers of processes, each with as much data as here.

    The step is called, some times to be planned and `calls` times to be profiled: these are steps
    like others, and change what the step changes. All ranks call it together; each forecasts with
    its own times. Nothing is sent to more processes than there are: collectives are given the time
    of their messages, of ordered sums with the traffic of a ring, on a network without contention,
    behind one another where they need its bandwidth. Ranks are taken to be equally fast.

    Parameters
    ----------
    step
        A function, as a rule traced: `step(*args)`.
    processes
        Numbers of processes.
    latency, bandwidth, overhead
        Of the network: seconds that a message is on the way, bytes a second that a process sends
        and receives, seconds that a message costs who sends it. By default what `init` measured
        here; in a world of one process nothing is, and latency and bandwidth have to be given.
    calls
        Of which the fastest counts.

    Returns
    -------
    Forecasts
        A list with a row for each number: `processes`, `seconds`, `waiting`, `efficiency`. Printed
        it is a table.

    Raises
    ------
    ValueError
        If latency or bandwidth are needed and not given, or not above 0.
    RuntimeError
        As of all_reduce, and if a profile is being taken.

    Notes
    -----
    The model is that of D. Culler et al., LogP: towards a realistic model of parallel computation,
    PPoPP 1993, with a bandwidth for long messages (LogGP).

    >>> import frazil as fz
    >>> step = fz.trace(lambda x: fz.distributed.all_reduce(fz.tanh(x)))
    >>> rows = forecast(step, fz.ones(1000), processes=[1, 1000], latency=2e-6, bandwidth=1e10)
    >>> [row.processes for row in rows], rows[0].efficiency, rows[1].waiting > 1e-5
    ([1, 1000], 1.0, True)
    """
    measured = Network(*_link())
    given = (("latency", latency), ("bandwidth", bandwidth), ("overhead", overhead))
    for name, value in given:
        if value is not None and not value > 0:
            raise ValueError(f"[forecast] {name} must be above 0, got {value!r}.")
    if not measured.bandwidth and (latency is None or bandwidth is None):
        raise ValueError(
            "[forecast] one process has no network that could be measured: give latency= and "
            "bandwidth=, or start several (mpirun -n 2)."
        )
    here = _size()
    peers = max(1, here - 1)
    network = Network(
        overhead if overhead is not None else measured.overhead / peers or 1e-6,
        latency if latency is not None else measured.latency,
        bandwidth if bandwidth is not None else measured.bandwidth,
    )
    numbers = [_integer("[forecast] processes", n, 1) for n in processes]
    seconds, timeline = _measure(step, args, _integer("[forecast] calls", calls, 1))
    out = Forecasts()
    out.processes, out.seconds, out.network = here, seconds, network
    alone, _ = _simulate(timeline, 1, network)
    for n in numbers:
        # What it cost to begin collectives here is in the time that was measured.
        time, waiting = _simulate(timeline, n, network)
        out.append(Forecast(n, time, waiting, alone / time if time else 1.0))
    return out


def _measure(step, args, calls):
    """(seconds of the fastest of some calls, its timeline)."""
    for _ in range(6):  # recorded, planned, compared
        step(*args)
    best = math.inf, []
    for _ in range(calls):
        taken = profile()
        begin = time.monotonic_ns()
        with taken:
            step(*args)
            end = time.monotonic_ns()
        best = min(best, ((end - begin) / 1e9, _timeline(taken, begin, end)), key=lambda b: b[0])
    return best


def _timeline(taken, begin, end):
    """("compute", seconds), ("start" | "wait" | "collective", call, bytes) in order."""
    out, at = [], begin
    for _, lane, name, since, until, about in sorted(_rows(taken), key=lambda row: row[3]):
        if not lane:
            continue
        out.append(("compute", max(0, since - at) / 1e9))
        if about["kind"] == "start":
            out.append(("compute", (until - since) / 1e9))
        call = _CALL.match(name)
        out.append((about["kind"], call[1] if call else name, int(about.get("bytes", 0))))
        at = until
    out.append(("compute", max(0, end - at) / 1e9))
    return out


def _simulate(timeline, n, network):
    """(seconds, of them waiting) of a step on n processes."""
    now = waiting = free = 0.0
    under_way = {}
    for kind, *what in timeline:
        if kind == "compute":
            now += what[0]
            continue
        call, size = what
        if kind != "wait":
            busy, way = network.takes(call, size, n)
            free = max(free, now) + busy
            under_way.setdefault((call, size), []).append(free + way)
        if kind != "start":
            ends = under_way.get((call, size))
            end = ends.pop(0) if ends else now
            waiting += max(0.0, end - now)
            now = max(now, end)
    return now, waiting
