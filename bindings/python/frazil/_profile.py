"""Where time and memory go: `with fz.profile() as p:`.

Here: `profile`, and the rows it gives: `Row`, `Total`, `Call`, `Compilation`, `Gap`, `Machine`.
What is recorded, and what that costs, is core/profile.h; tables are written by `_profile_page`.
"""

from __future__ import annotations

import functools
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil._frazil import profile as _profile
from frazil._named import integer as _integer

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["profile"]

_STEP, _CALL, _BODY, _PLAN, _KERNEL, _COLLECTIVE = range(6)  # ProfileEvent::Kind
_UNKNOWN = "?"


class Row(NamedTuple):
    """What one op of one line took in one kernel."""

    line: str
    op: str
    kernel: str
    device: str
    seconds: float
    runs: float
    flops: float
    bytes: float


class Total(NamedTuple):
    """What a line, an op or a kernel took in all. `share` is of the time of all kernels."""

    name: str
    seconds: float
    share: float
    runs: float
    flops: float
    bytes: float


class Call(NamedTuple):
    """Outermost calls of a traced function from one line; `skipped` of them ran no body."""

    name: str
    line: str
    count: int  # type: ignore[assignment]
    skipped: int
    seconds: float


class Compilation(NamedTuple):
    """What was compiled: plans, with their kernels, and kernels among them."""

    name: str
    line: str
    count: int  # type: ignore[assignment]
    seconds: float


class Gap(NamedTuple):
    """Time of a thread in which nothing of frazil's ran: Python, and its calls of frazil."""

    before: str  # the line of what ran last, or "" at the beginning
    after: str
    count: int  # type: ignore[assignment]
    seconds: float
    longest: float


class Machine(NamedTuple):
    """What the machine gives on as many threads as kernels use."""

    bandwidth: float  # bytes a second, of a triad over memory
    flops: float  # of multiply-adds of float32, a second

    def attained(self, total: Total) -> float:
        """The least time that bytes and FLOPs take here, over the time that it took."""
        least = max(
            total.bytes / self.bandwidth if self.bandwidth else 0.0, total.flops / self.flops
        )
        return least / total.seconds if total.seconds else 0.0


class Event(NamedTuple):
    """One step, compilation or traced call: when it began, since the profile did, and how long."""

    thread: int
    kind: str
    name: str
    line: str
    begin: float
    seconds: float


_measured: list[Machine] = []  # once


def _machine():
    if not _measured:
        _measured.append(Machine(*_profile.machine()))
    return _measured[0]


class profile:  # noqa: N801
    """Records what all threads run within a `with` block, and tells where the time went.

    Kernels and library calls, eager, of traced functions and of calls whose body was skipped, with
    the user's lines and ops that they come from; compilations; memory of arrays on the CPU; the
    time between, in which Python ran. A kernel of several lines is divided among them by the cost
    model (core/cost.h). Work on a GPU shows as the time of its launch.

    After the block: `print(p)` is a table, `html(path)` a page, `perfetto(path)` a timeline;
    `by_line`, `by_op`, `by_kernel`, `calls`, `compilations`, `gaps`, `memory`, `rows` and `events`
    are data, each a list with what took longest first (`memory` and `events` in order of time).

    Parameters
    ----------
    events : int
        Most events that a thread keeps; `dropped` counts those beyond.

    Raises
    ------
    RuntimeError
        If another profile is being taken, or if results are asked for within the block.

    Notes
    -----
    Bytes are what a kernel has to read and write, each once; FLOPs two for a multiply-add, one for
    another elementwise op or reduced element, none for integers, sorts and factorisations. Set
    against `machine`, measured when it is first asked for, they give the roofline of Williams,
    Waterman and Patterson, CACM 52 (2009); data in a cache can be faster than memory.

    >>> import frazil as fz
    >>> x = fz.ones(1000)
    >>> with fz.profile() as p:
    ...     y = fz.exp(x) * 2
    >>> sorted(total.name for total in p.by_op), sum(total.runs for total in p.by_kernel)
    (['exp', 'multiply'], 2.0)
    """

    def __init__(self, *, events: int = 1_000_000) -> None:
        self._most = _integer("[profile] events", events, 1)
        self._raw: dict[str, Any] | None = None
        self._running = False

    def __enter__(self) -> profile:
        _profile.start(self._most)
        # What was worked out of a profile before, by the same object, goes.
        self.__dict__ = {"_most": self._most, "_raw": None, "_running": True}
        return self

    def __exit__(self, *exception: object) -> None:
        self._running = False
        self._raw = _profile.stop()

    def _taken(self):
        if self._raw is None:
            state = "is still being taken" if self._running else "has not been taken"
            raise RuntimeError(f"[profile] it {state}: ask after the end of its `with` block.")
        return self._raw

    def __repr__(self) -> str:
        if self._raw is None:
            return f"<profile{', being taken' if self._running else ''}>"
        return f"<profile of {self.seconds * 1e3:.3f} ms, {len(self.events)} events>"

    def __str__(self) -> str:
        if self._raw is None:
            return repr(self)
        from frazil._profile_page import text

        return text(self)

    def _repr_html_(self) -> str:
        from frazil._profile_page import tables

        self._taken()
        return tables(self)

    def html(self, path: str | PathLike[str]) -> None:
        """Writes everything as one HTML page that needs no other file."""
        from frazil._profile_page import page

        self._taken()
        with open(path, "w", encoding="utf-8") as file:
            file.write(page(self))

    def perfetto(self, path: str | PathLike[str]) -> None:
        """Writes a timeline as JSON for https://ui.perfetto.dev: a row a thread, and memory."""
        raw = self._taken()
        rows: list[tuple[Any, ...]] = [("process", 1, 0, "frazil", 0)]
        for i, thread in enumerate(raw["threads"]):
            rows.append(("thread", 1, i, f"{thread['name']} {thread['thread']}", i))
            for number, begin, end, detail in self._spans(thread):
                kind, name, line = detail
                about = {"kind": kind, "line": line}
                part = self._parts(thread["events"][number])
                if part:
                    about["ops"] = ", ".join(
                        f"{o[0]} {o[1]}".strip() for p in part for o in p["ops"]
                    )
                rows.append(("span", 1, i, name, begin - raw["begin"], end - begin, about))
            for at, size in thread["memory"]:
                rows.append(("counter", 1, "memory", "bytes", at - raw["begin"], size))
        text = _profile.trace_events({"note": repr(self)}, rows)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    # -- what was recorded

    def _parts(self, event):
        kind, _, _, plan, step = event[:5]
        return self._taken()["plans"][plan][step] if kind == _STEP else []

    def _spans(self, thread):
        """(number, begin, end, (kind, name, line)) of each event of a thread, as they began."""
        texts = [*thread["texts"], ""]  # -1: nobody knows
        kinds = ("kernel", "skipped call", "call", "compile plan", "compile kernel")
        order = sorted(range(len(thread["events"])), key=lambda i: thread["events"][i][5])
        for i in order:
            event = thread["events"][i]
            kind, name, line, _, _, begin, end = event
            if kind == _COLLECTIVE:  # under way beside what the thread does
                continue
            called, where = texts[name], texts[line]
            if kind == _STEP:
                parts = self._parts(event)
                called = " ".join(dict.fromkeys(part["name"] for part in parts)) or "nothing"
                lines = (op[1] for part in parts for op in part["ops"])
                where = where or ", ".join(dict.fromkeys(filter(None, lines)))
            yield i, begin, end, (kinds[kind], called, where)

    @functools.cached_property
    def events(self) -> list[Event]:
        """Every event, by thread and time."""
        raw = self._taken()
        since = raw["begin"]
        return [
            Event(thread["thread"], kind, name, line, (begin - since) / 1e9, (end - begin) / 1e9)
            for thread in raw["threads"]
            for _, begin, end, (kind, name, line) in self._spans(thread)
        ]

    @functools.cached_property
    def _steps(self):
        """{(plan, step, line of the call): (seconds, runs)}."""
        sums = {}
        for thread in self._taken()["threads"]:
            texts = [*thread["texts"], ""]
            for kind, _, line, plan, step, begin, end in thread["events"]:
                if kind == _STEP:
                    key = plan, step, texts[line]
                    seconds, runs = sums.get(key, (0.0, 0))
                    sums[key] = seconds + (end - begin) / 1e9, runs + 1
        return sums

    @functools.cached_property
    def rows(self) -> list[Row]:
        """Time of kernels by line, op and kernel; their sum is `kernel_seconds`."""
        raw = self._taken()
        found: dict[tuple[str, str, str, str], list[float]] = {}
        for (plan, step, line), (seconds, runs) in self._steps.items():
            parts = raw["plans"][plan][step]
            work = sum(part["work"] for part in parts)
            for part in parts:
                own = seconds * (part["work"] / work if work else 1 / len(parts))
                for op, origin, _, share in part["ops"] or [(part["name"], "", -1, 1.0)]:
                    key = origin or line or _UNKNOWN, op, part["name"], part["device"]
                    row = found.setdefault(key, [0.0] * 4)
                    row[0] += own * share
                    row[1] += runs * part["times"]
                    row[2] += runs * part["flops"] * share
                    row[3] += runs * part["bytes"] * share
        return sorted((Row(*k, *v) for k, v in found.items()), key=attrgetter("seconds"))[::-1]

    def _totals(self, field):
        sums = {}
        for row in self.rows:
            total = sums.setdefault(getattr(row, field), [0.0] * 4)
            total[0] += row.seconds
            total[1] += row.runs
            total[2] += row.flops
            total[3] += row.bytes
        if field == "kernel":  # which ran once for all of its ops
            for name in sums:
                sums[name][1] = 0.0
            for (plan, step, _), (_, runs) in self._steps.items():
                for part in self._taken()["plans"][plan][step]:
                    sums[part["name"]][1] += runs * part["times"]
        all_of_it = self.kernel_seconds or 1.0
        rows = [Total(n, t[0], t[0] / all_of_it, *t[1:]) for n, t in sums.items()]
        return sorted(rows, key=attrgetter("seconds"), reverse=True)

    @functools.cached_property
    def by_line(self) -> list[Total]:
        """Time of kernels by the user's line, "train.py:12"."""
        return self._totals("line")

    @functools.cached_property
    def by_op(self) -> list[Total]:
        """Time of kernels by op."""
        return self._totals("op")

    @functools.cached_property
    def by_kernel(self) -> list[Total]:
        """Time by kernel and library call."""
        return self._totals("kernel")

    @functools.cached_property
    def kernel_texts(self) -> dict[str, str]:
        """The kernel IR of each generated kernel that ran, by name."""
        parts = (part for plan in self._taken()["plans"] for step in plan for part in step)
        return {part["name"]: part["kernel"] for part in parts if part["kernel"]}

    @functools.cached_property
    def calls(self) -> list[Call]:
        """Outermost calls of traced functions."""
        sums: dict[tuple[str, str], list[float]] = {}
        for event in self.events:
            if event.kind in ("call", "skipped call"):
                call = sums.setdefault((event.name, event.line), [0, 0, 0.0])
                call[0] += 1
                call[1] += event.kind == "skipped call"
                call[2] += event.seconds
        rows = [Call(*k, int(v[0]), int(v[1]), v[2]) for k, v in sums.items()]
        return sorted(rows, key=attrgetter("seconds"), reverse=True)

    @functools.cached_property
    def compilations(self) -> list[Compilation]:
        """Plans and kernels that were compiled. A plan's time holds its kernels'."""
        sums: dict[tuple[str, str], list[float]] = {}
        for event in self.events:
            if event.kind.startswith("compile"):
                name = f"{event.kind.removeprefix('compile ')}: {event.name}"
                row = sums.setdefault((name, event.line), [0, 0.0])
                row[0] += 1
                row[1] += event.seconds
        rows = [Compilation(*k, int(v[0]), v[1]) for k, v in sums.items()]
        return sorted(rows, key=attrgetter("seconds"), reverse=True)

    @functools.cached_property
    def gaps(self) -> list[Gap]:
        """Where Python ran: what each thread has between kernels, compilations, skipped calls."""
        raw = self._taken()
        sums: dict[tuple[str, str], list[float]] = {}
        for thread in raw["threads"]:
            until, before = raw["begin"], ""
            spans = [(b, e, d[2]) for _, b, e, d in self._spans(thread) if d[0] != "call"]
            for begin, end, line in [*spans, (raw["end"], raw["end"], "")]:
                if begin > until:
                    gap = sums.setdefault((before, line), [0, 0.0, 0.0])
                    seconds = (begin - until) / 1e9
                    gap[0] += 1
                    gap[1] += seconds
                    gap[2] = max(gap[2], seconds)
                if end > until:
                    until, before = end, line
        rows = [Gap(*k, int(v[0]), v[1], v[2]) for k, v in sums.items()]
        return sorted(rows, key=attrgetter("seconds"), reverse=True)

    @functools.cached_property
    def memory(self) -> list[tuple[float, int]]:
        """(seconds since the beginning, bytes of the CPU's arrays) after each change."""
        raw = self._taken()
        samples = (sample for thread in raw["threads"] for sample in thread["memory"])
        return [((at - raw["begin"]) / 1e9, size) for at, size in sorted(samples)]

    @property
    def seconds(self) -> float:
        """From the beginning of the block to its end."""
        raw = self._taken()
        return float(raw["end"] - raw["begin"]) / 1e9

    @functools.cached_property
    def kernel_seconds(self) -> float:
        """Of kernels and library calls, all threads together."""
        return sum(row.seconds for row in self.rows)

    @property
    def python_seconds(self) -> float:
        """Of all gaps."""
        return sum(gap.seconds for gap in self.gaps)

    @property
    def dropped(self) -> int:
        """Events for which a thread had no more room."""
        return sum(thread["dropped"] for thread in self._taken()["threads"])

    @property
    def machine(self) -> Machine:
        """What the machine gives, measured the first time that a process asks."""
        return _machine()
