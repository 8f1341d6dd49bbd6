"""Memory of the CPU's storages, of what the caches keep, and of plans.

Here: `stats`, `report` and `reset_peak` tell of arrays, `caches` and `disk` of what is kept, `trim`
gives back what is free; `Plan` is how a plan of a traced function uses memory.
"""

from __future__ import annotations

from html import escape as _escape
from typing import Any

from frazil._frazil import runtime as _runtime

__all__ = ["Plan", "caches", "disk", "report", "reset_peak", "stats", "trim"]

caches = _runtime.caches
disk = _runtime.disk
stats = _runtime.memory_stats
reset_peak = _runtime.memory_reset_peak
trim = _runtime.memory_trim


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


def report() -> str:
    """Who holds memory, as text: arrays by size, what is kept for reuse, caches, and ways out.

    >>> print(report().splitlines()[0].split(":")[0])
    arrays
    """
    now = stats()
    lines = [f"arrays: {_size(now['live_bytes'])}, at most {_size(now['peak_bytes'])}"]
    blocks = _runtime.memory_blocks()
    for size, live, _ in sorted(blocks, key=lambda b: -b[0] * b[1])[:10]:
        if live:
            lines.append(f"  {live} x {_size(size)}")
    lines.append(f"kept for reuse: {_size(now['cached_bytes'])}; trim() gives it back")
    for name, kept in caches().items():
        lines.append(f"{name}: {_size(kept['bytes'])} in {kept['entries']}")
    lines.append(
        "Ways out: delete arrays and results that hold history (backward(retain_graph=False) lets "
        "go of it), trace the function (its memory_plan() tells what it needs), or set bounds: "
        "config(memory_bytes=..., cached_bytes=...)."
    )
    return "\n".join(lines)


class Plan:
    """How one plan of a traced function uses memory: what its memory_plan() returns.

    `arena_bytes` is what values between its steps take together, `arena_bound` the most of them
    that live at one step: no plan of these steps can take less. `result_bytes` is new memory for
    results; those that are written over an operand (kind "donated") need none. `blocks` are dicts:
    what lies there, kind, bytes, offset, first and last step. print() shows the largest.

    >>> import frazil as fz
    >>> f = fz.trace(lambda x: fz.sum(fz.sort(x) @ fz.sort(x)))
    >>> _ = [f(fz.ones((64, 64))) for _ in range(2)]
    >>> f.memory_plan()[0].ratio
    1.0
    """

    steps: list[str]
    blocks: list[dict[str, Any]]
    arena_bytes: int
    arena_bound: int
    result_bytes: int
    peak_bound: int

    def __init__(self, raw: dict[str, Any]) -> None:
        self.__dict__.update(raw)

    @property
    def bytes(self) -> int:
        """New memory of a run at its peak."""
        return self.arena_bytes + self.result_bytes

    @property
    def ratio(self) -> float:
        """arena_bytes over the lower bound."""
        return self.arena_bytes / self.arena_bound if self.arena_bound else 1.0

    def live(self) -> list[int]:
        """Bytes that live at each step, donated ones apart."""
        out = [0] * len(self.steps)
        for b in self.blocks:
            if b["kind"] != "donated":
                for step in range(b["first"], b["last"] + 1):
                    out[step] += b["bytes"]
        return out

    def __repr__(self) -> str:
        return (
            f"<memory plan of {len(self.steps)} steps: arena {_size(self.arena_bytes)}, "
            f"lower bound {_size(self.arena_bound)}, results {_size(self.result_bytes)}>"
        )

    def __str__(self) -> str:
        """The largest blocks with their lives drawn as lines, and the live bytes of each step."""
        wide, count = 64, max(1, len(self.steps))
        lines = [repr(self)[1:-1]]
        live = self.live()
        peak = max(live, default=0)
        if peak:
            bars, width = " .:-=+*#%@", min(wide, count)
            columns = [live[c * count // width : (c + 1) * count // width] for c in range(width)]
            chart = "".join(bars[max(c, default=0) * 9 // peak] for c in columns)
            lines.append(f"{_size(peak):>10} |{chart}| live bytes")
        for b in sorted(self.blocks, key=lambda b: -b["bytes"])[:20]:
            begin, end = (b["first"] * wide // count, b["last"] * wide // count)
            bar = " " * begin + "#" * (end - begin + 1)
            lines.append(f"{_size(b['bytes']):>10} |{bar:<{wide}}| {b['kind']} {b['what']}")
        return "\n".join(lines)

    def svg(self, width: int = 960, height: int = 480) -> str:
        """A drawing as SVG: steps from left to right, the arena from bottom to top."""
        count = max(1, len(self.steps))
        top = max([self.arena_bytes, 1])
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'font-family="sans-serif" font-size="11">',
            f"<title>{_escape(repr(self)[1:-1])}</title>",
            f'<rect width="{width}" height="{height}" fill="#fafafa"/>',
        ]
        for i, b in enumerate(b for b in self.blocks if b["kind"] == "arena"):
            x, w = b["first"] * width / count, (b["last"] - b["first"] + 1) * width / count
            h = b["bytes"] * height / top
            y = height - b["offset"] * height / top - h
            out.append(
                f'<rect x="{x:.2f}" y="{y:.2f}" width="{w:.2f}" height="{max(h, 0.5):.2f}" '
                f'fill="hsl({i * 137 % 360} 60% 70%)" stroke="#555" stroke-width="0.3">'
                f"<title>{_escape(b['what'])}: {_size(b['bytes'])}, steps {b['first']} to "
                f"{b['last']}</title></rect>"
            )
        return "\n".join([*out, "</svg>", ""])


def _plans(raw):
    return sorted(map(Plan, raw), key=lambda plan: -plan.bytes)
