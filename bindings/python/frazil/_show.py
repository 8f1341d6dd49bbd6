"""What a traced function has recorded, and what became of it, as one HTML page: `fn.show()`.

Called by bindings/python/trace_module.cc. Its source is what explain() tells and what FRAZIL_DUMP
writes: each plan's report (tracer/plan_report.h). From a line of the user one gets to the nodes of
the graph, from there to the kernels that compute them, and to the steps that run these.
"""

from __future__ import annotations

import linecache
import os
import re
import tempfile
from html import escape
from typing import TYPE_CHECKING, Any

from frazil._page import Link, page, table
from frazil.memory import Plan, _size

if TYPE_CHECKING:
    from frazil._frazil import Traced

_NODE = re.compile(r"^  %(\d+) = ")
_ORIGIN = re.compile(r"  # (.+)$")
_SCRIPT = """
for (const e of document.querySelectorAll('[data-line]')) {
  const all = () => document.querySelectorAll(`[data-line="${e.dataset.line}"]`);
  e.addEventListener('mouseenter', () => all().forEach(o => o.classList.add('lit')));
  e.addEventListener('mouseleave', () => all().forEach(o => o.classList.remove('lit')));
}
"""


def show(fn: Traced[Any, Any], path: str | os.PathLike[str] | None = None) -> str:
    """Writes the page and returns where; without a path it is also opened."""
    text = _page(fn)
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return os.fspath(path)
    import webbrowser

    handle, name = tempfile.mkstemp(prefix="frazil-", suffix=".html")
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text)
    webbrowser.open(f"file://{name}")
    return name


def repr_html(fn: Traced[Any, Any], _path: None = None) -> str:
    """What a notebook shows of it."""
    return f"<b>{escape(repr(fn))}</b>{_counts(fn)}<pre>{escape(fn.explain())}</pre>"


def _counts(fn):
    counts = {name: n for name, n in fn.stats().items() if isinstance(n, int)}
    return table(tuple(counts), [tuple(counts.values())])


class _Lines:
    """The user's lines of a page: where each is spoken of."""

    def __init__(self, fn: Any) -> None:
        self._files: dict[str, str] = {}
        code = getattr(getattr(fn, "__wrapped__", fn), "__code__", None)
        if code is not None:
            self._files[os.path.basename(code.co_filename)] = code.co_filename
        self.nodes: dict[str, list[Link]] = {}  # where each line's ops are

    def target(self, line: str) -> str:
        return f"line-{line}"

    def source(self, line: str) -> str:
        name, _, number = line.rpartition(":")
        path = self._files.get(name)
        return linecache.getline(path, int(number)).strip() if path and number.isdigit() else ""

    def marked(self, text: str) -> str:
        """A line of a program or graph, with its comment a link."""
        found = _ORIGIN.search(text)
        if not found:
            return escape(text)
        line = found.group(1)
        self.nodes.setdefault(line, [])
        return f"{escape(text[: found.start()])}  # {Link(self.target(line), line).html}"


def _page(fn):
    plans = _distinct(fn._plans())
    lines = _Lines(fn)
    sections = []
    for number, plan in enumerate(plans):
        sections += _plan(f"p{number}", plan, lines)
    name = getattr(fn, "__qualname__", repr(fn))
    body = ["<nav>"]
    body += [f'<a href="#p{i}">{escape(plan["where"])}</a>' for i, plan in enumerate(plans)]
    body += [
        "</nav>",
        _counts(fn),
        f"<details><summary>explain()</summary><pre>{escape(fn.explain())}</pre></details>",
    ]
    if not plans:
        body.append("<p>No plan yet: the first call records, the next one makes plans.</p>")
    if lines.nodes:
        body.append("<h2>Lines</h2><table><tbody>")
        for line in sorted(lines.nodes, key=_place):
            links = " ".join(link.html for link in lines.nodes[line])
            body.append(
                f'<tr id="{escape(lines.target(line))}" data-line="{escape(line)}">'
                f"<td>{escape(line)}</td>"
                f'<td class="text"><code>{escape(lines.source(line))}</code></td>'
                f'<td class="text">{links}</td></tr>'
            )
        body.append("</tbody></table>")
    return page(f"{name}: what was recorded", body + sections, _SCRIPT)


def _place(line):
    name, _, number = line.rpartition(":")
    return name, int(number) if number.isdigit() else 0


def _distinct(plans):
    """Plans of the recording that skipped calls run, too, are one."""
    seen = {}
    for plan in plans:
        known = seen.setdefault(plan["text"], dict(plan))
        if known["where"] != plan["where"] and plan["where"] not in known["where"]:
            known["where"] += "; " + plan["where"]
    return list(seen.values())


def _plan(prefix, plan, lines):
    end = plan["text"].find("\n}\n") + 3  # of the graph; groups, kernels and steps follow
    graph, rest = plan["text"][:end], plan["text"][end:]
    nodes = set()
    for text in graph.splitlines():
        node = _NODE.match(text)
        if node:
            nodes.add(int(node.group(1)))
    kernels = {}  # anchors, by text: the same kernel may be several steps
    steps = _steps(prefix, plan, lines, nodes, kernels)
    return [
        f'<h2 id="{prefix}">{escape(plan["where"])}</h2>',
        "<details open><summary>program: what was recorded</summary><pre>",
        "\n".join(map(lines.marked, plan["program"].splitlines())),
        "</pre></details>",
        "<details open><summary>graph: behind all passes</summary><pre>",
        "\n".join(_nodes(prefix, graph, lines)),
        "</pre></details>",
        "<h3>steps</h3>",
        steps,
        "<h3>kernels</h3>",
        *(
            f'<details id="{anchor}"><summary>{escape(_name(text))}</summary>'
            f"<pre>{escape(text)}</pre></details>"
            for text, anchor in kernels.items()
        ),
        f"<details><summary>groups and steps as text</summary><pre>{escape(rest)}</pre></details>",
        "<h3>memory</h3>",
        _memory(Plan(plan["memory"])),
    ]


def _name(kernel):
    return kernel.split("(", 1)[0].removeprefix("kernel ")


def _nodes(prefix, graph, lines):
    for text in graph.splitlines():
        node, origin = _NODE.match(text), _ORIGIN.search(text)
        marked = lines.marked(text)
        if not node:
            yield marked
            continue
        anchor = f"{prefix}-n{node.group(1)}"
        mark = f' data-line="{escape(origin.group(1))}"' if origin else ""
        yield f'<span id="{anchor}"{mark}>{marked}</span>'
        if origin:
            op = text[node.end() :].split(" ", 1)[0]
            lines.nodes[origin.group(1)].append(Link(anchor, op))


def _steps(prefix, plan, lines, nodes, kernels):
    rows = []
    for number, parts in enumerate(plan["steps"]):
        for part in parts:
            kernel = part["name"]
            if part["kernel"]:
                anchor = kernels.setdefault(part["kernel"], f"{prefix}-k{len(kernels)}")
                kernel = Link(anchor, part["name"])
            ops, origins = [], {}
            for op, origin, node, _ in part["ops"]:
                here = part["times"] == 1 and node in nodes
                ops.append(Link(f"{prefix}-n{node}", op).html if here else escape(op))
                if origin in lines.nodes:
                    origins[Link(lines.target(origin), origin).html] = None
            called = kernel.html if isinstance(kernel, Link) else escape(kernel)
            rows.append(
                f'<tr><td id="{prefix}-s{number}">{number}</td><td class="text">{called}</td>'
                f'<td class="text">{" ".join(ops)}</td><td class="text">{" ".join(origins)}</td>'
                f"<td>{part['times']:.0f}</td><td>{_size(part['bytes'])}</td>"
                f"<td>{part['flops']:.4g}</td><td>{part['work'] / 1e3:.3g}</td></tr>"
            )
    # The first row of a step has its id; further parts of it are told by their number.
    seen = set()
    for i, row in enumerate(rows):
        head = row.split(">", 2)[1]
        if head in seen:
            rows[i] = re.sub(r' id="[^"]*"', "", row, count=1)
        seen.add(head)
    head = ("step", "kernel or call", "ops", "lines", "runs", "bytes", "FLOPs", "us, expected")
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _memory(plan):
    chart = plan.svg(960, 240) if any(b["kind"] == "arena" for b in plan.blocks) else ""
    rows = [
        (block["what"], block["kind"], _size(block["bytes"]), block["first"], block["last"])
        for block in sorted(plan.blocks, key=lambda block: -block["bytes"])
    ]
    return f"<p>{escape(repr(plan)[1:-1])}</p>{chart}" + table(
        ("what", "kind", "bytes", "from step", "to"), rows
    )
