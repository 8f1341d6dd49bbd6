"""A profile as text and as an HTML page: what `frazil._profile` shows."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from frazil._page import Link
from frazil._page import page as _page
from frazil._page import table as _table
from frazil.memory import _size

if TYPE_CHECKING:
    from frazil._profile import Total, profile

_SHOWN = 15  # rows of a table as text
_HEAD = ("time", "of all", "runs", "GB/s", "GFLOP/s", "of roof")


def _time(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError


def _numbers(p: profile, total: Total) -> list[str]:
    rate = 1e9 * total.seconds or 1.0
    return [
        _time(total.seconds),
        f"{total.share:.1%}",
        f"{total.runs:.0f}",
        f"{total.bytes / rate:.3g}",
        f"{total.flops / rate:.3g}",
        f"{p.machine.attained(total):.0%}",
    ]


def _summary(p: profile) -> list[str]:
    peak = max((size for _, size in p.memory), default=0)
    lines = [
        f"{_time(p.seconds)} in all, {_time(p.kernel_seconds)} in kernels, "
        f"{_time(p.python_seconds)} between them (Python), "
        f"{_time(sum(c.seconds for c in p.compilations if c.name.startswith('plan')))} compiling",
        f"memory of arrays: at most {_size(peak)}",
        f"machine: {p.machine.bandwidth / 1e9:.3g} GB/s of memory, "
        f"{p.machine.flops / 1e9:.4g} GFLOP/s of float32",
    ]
    if p.dropped:
        lines.append(f"{p.dropped} events were dropped; profile(events=...) keeps more")
    return lines


def _grids(p: profile, shown: int | None):
    """(title, head, rows) of each table; the first column is text."""
    for title, totals in (("line", p.by_line), ("op", p.by_op), ("kernel", p.by_kernel)):
        yield title, (title, *_HEAD), [[t.name, *_numbers(p, t)] for t in totals[:shown]]
    yield (
        "traced function",
        ("traced function", "from", "calls", "skipped", "time"),
        [[c.name, c.line, c.count, c.skipped, _time(c.seconds)] for c in p.calls[:shown]],
    )
    yield (
        "compiled",
        ("compiled", "for", "count", "time"),
        [[c.name, c.line, c.count, _time(c.seconds)] for c in p.compilations[:shown]],
    )
    yield (
        "Python after",
        ("Python after", "before", "count", "time", "longest"),
        [
            [g.before or "(begin)", g.after or "(end)", g.count, _time(g.seconds), _time(g.longest)]
            for g in p.gaps[:shown]
        ],
    )


def text(p: profile) -> str:
    """Tables of what took longest."""
    out = _summary(p)
    for _, head, rows in _grids(p, _SHOWN):
        if not rows:
            continue
        cells = [list(head), *([str(cell) for cell in row] for row in rows)]
        for row in cells:
            row[0] = row[0] if len(row[0]) <= 48 else row[0][:45] + "..."
        wide = [max(len(row[i]) for row in cells) for i in range(len(head))]
        out.append("")
        out += [
            "  ".join([row[0].ljust(wide[0]), *map(str.rjust, row[1:], wide[1:])]).rstrip()
            for row in cells
        ]
    return "\n".join(out)


def tables(p: profile, shown: int | None = _SHOWN) -> str:
    """The same as HTML."""
    out = [f"<p>{escape(line)}</p>" for line in _summary(p)]
    for title, head, rows in _grids(p, shown):
        if rows:
            linked = title == "kernel" and shown is None
            cells = [[_kernel(p, row[0]) if linked else row[0], *row[1:]] for row in rows]
            out.append(_table(head, cells, texts=(1,) if title in ("compiled",) else ()))
    return "\n".join(out)


def _kernel(p, name):
    return Link(f"kernel-{name}", name) if name in p.kernel_texts else name


def _memory_chart(p: profile, width=960, height=160) -> str:
    samples = p.memory
    if not samples:
        return ""
    peak = max(size for _, size in samples) or 1
    step = max(1, len(samples) // 4000)
    points, last = [], samples[0][1]
    for at, size in samples[::step]:
        x = at / (p.seconds or 1) * width
        points += [f"{x:.1f},{height * (1 - last / peak):.1f}"]
        points += [f"{x:.1f},{height * (1 - size / peak):.1f}"]
        last = size
    points.append(f"{width},{height * (1 - last / peak):.1f}")
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img">'
        f"<title>memory of arrays over time, at most {_size(peak)}</title>"
        f'<polyline fill="none" stroke="#0b5cad" points="{" ".join(points)}"/></svg>'
    )


def _timeline(p: profile, width=960, most=3000) -> str:
    """A row a thread: kernels, compilations and calls, the longest if there are too many."""
    events = sorted(p.events, key=lambda e: -e.seconds)[:most]
    threads = list(dict.fromkeys(e.thread for e in p.events))
    colours = {"kernel": "#4c9f70", "compile plan": "#d9822b", "compile kernel": "#b4581b"}
    out = []
    for e in sorted(events, key=lambda e: e.kind == "kernel"):
        y = threads.index(e.thread) * 34 + 4
        calls = e.kind not in colours
        out.append(
            f'<rect x="{e.begin / p.seconds * width:.2f}" y="{y if calls else y + 6}" '
            f'width="{max(e.seconds / p.seconds * width, 0.2):.2f}" height="{26 if calls else 14}" '
            f'fill="{colours.get(e.kind, "#c8d6e5")}"><title>{escape(e.kind)} {escape(e.name)} '
            f"{escape(e.line)} {_time(e.seconds)}</title></rect>"
        )
    height = max(1, len(threads)) * 34
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img">'
        f"<title>what ran when</title>{''.join(out)}</svg>"
    )


def page(p: profile) -> str:
    """Everything, with the kernels' texts."""
    body = [
        '<nav><a href="#time">time</a><a href="#memory">memory</a>'
        '<a href="#kernels">kernels</a></nav>',
        tables(p, None),
        '<h2 id="time">What ran when</h2><p class="note">A row for each thread: kernels green, '
        "compilations orange, traced calls behind them; where nothing is, Python ran.</p>",
        _timeline(p),
        '<h2 id="memory">Memory of arrays</h2>',
        _memory_chart(p),
        '<h2 id="kernels">Kernels</h2>',
    ]
    for name, kernel in p.kernel_texts.items():
        body.append(
            f'<details id="kernel-{escape(name)}"><summary>{escape(name)}</summary>'
            f"<pre>{escape(kernel)}</pre></details>"
        )
    return _page(f"Profile of {_time(p.seconds)}", body)
