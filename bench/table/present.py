"""The table as Markdown: ratios against aims, what misses, every form's time."""

import pathlib

from measure import quartiles, readable
from report import Report

from . import plots, ratios
from .notes import NOTES
from .peers import NAMES
from .rows import GROUPS, ROWS

MEMORY = (
    "Peak memory is what a process has resident at the peak of a step above what it had with the "
    "framework loaded: parameters, state, gradients, what the step makes and what compilers hold. "
    "The step has run before, and what allocators keep of those calls has been given back."
)
PEERS = [name for name in NAMES if name != ratios.OURS]


def short(number):
    """Three digits."""
    return f"{number:.3g}" if number < 1000 else f"{number:.0f}"


def _short_form(form):
    return form.split(": ", 1)[1]


def _cell(lines):
    """A peer's cell: its time, then the ratio and the aim, to its plain and to its best form."""
    if not lines:
        return ""
    plain, top = lines
    shown = lines if plain["form"] != top["form"] else [top if top["aim"] else plain]
    parts = []
    for line in shown:
        text = f"{line['figure']} ×{short(line['ratio'][1])}"
        if "decorator" in line:
            text += f", decorator ×{short(line['decorator'][1])}"
        if line["aim"]:
            missed = not (line["reached"] and line.get("decorator_reached", True))
            text += f" (aim {short(line['aim'])})"
            text = f"**{text}**" if missed else text
        parts.append(text)
    return " · ".join(parts)


def _ours(result, start):
    forms = ratios.of_peer(result, ratios.OURS)
    forms = {n: e for n, e in forms.items() if n.startswith(f"frazil: {start}")}
    name = ratios.best(forms)
    return ratios.figure(forms[name]) if name else ""


def _scaled(result, peer, start=""):
    """The cell of a row that compares one thread with all."""
    forms = ratios.of_peer(result, peer)
    forms = {n: e for n, e in forms.items() if _short_form(n).startswith(start)}
    name = ratios.best(forms)
    return f"{ratios.figure(forms[name])} ×{short(ratios.scaling(forms[name])[1])}" if name else ""


def _cells(result):
    row = ROWS[result["key"]]
    ways = ("eager", "traced", "pure")
    if row.measure == "scaling":
        ours = [_scaled(result, ratios.OURS, way) for way in ways]
        return [*ours, *(_scaled(result, peer) for peer in PEERS)]
    ours = [_ours(result, way) for way in ways]
    lines = ratios.compare(result)["lines"]
    return [*ours, *(_cell([x for x in lines if x["peer"] == peer]) for peer in PEERS)]


def table(results):
    """A table a group, a line a row; in bold what misses its aim."""
    head = ["workload", "eager", "traced", "pure", *(NAMES[peer] for peer in PEERS)]
    by_key = {result["key"]: result for result in results}
    out = []
    for group, rows in GROUPS.items():
        lines = [
            "| " + " | ".join([row.title, *_cells(by_key[row.key])]) + " |"
            for row in rows
            if row.key in by_key
        ]
        if lines:
            out += [f"### {group}", ""]
            if all(row.measure == "scaling" for row in rows):
                out += ["×N is the time on one thread over the time on all.", ""]
            if any(row.measure == "memory" and row.key in by_key for row in rows):
                out += [MEMORY, ""]
            out += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *lines, ""]
    return "\n".join(out)


def misses(results):
    """A line for each aim that is not reached, with what frazil tells of its best form."""
    out = [
        "| workload | against | ratio | quartiles | aim | frazil's form |",
        "|---|---|---|---|---|---|",
    ]
    for result in results:
        row = ROWS[result["key"]]
        if row.measure != "time":
            out += _own_miss(row, result)
            continue
        compared = ratios.compare(result)
        for line in compared["lines"]:
            against = f"{NAMES[line['peer']]}, {_short_form(line['form'])}"
            for key, reached, form, share, what in (
                ("ratio", "reached", "ours", 1, ""),
                ("decorator", "decorator_reached", "traced", 0.5, " (plain decorator)"),
            ):
                if line.get(reached, True):
                    continue
                low, middle, high = line[key]
                ours = compared[form]
                cells = [
                    row.title + what,
                    against,
                    short(middle),
                    f"{short(low)} to {short(high)}",
                    short(line["aim"] * share),
                    f"{_short_form(ours)}, {ratios.figure(result['forms'][ours])}"
                    + _about(result["forms"][ours]),
                ]
                out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out)


def _own_miss(row, result):
    """The line of a row whose aim is a figure of frazil's own, if it is missed."""
    found = ratios.own(result)
    if found is None:
        return []
    value, form = found
    memory = row.measure == "memory"
    if value <= row.own if memory else value >= row.own:
        return []
    value, aim = (f"{x / 2**20:.0f} MiB" if memory else short(x) for x in (value, row.own))
    form = _short_form(form) + _about(result["forms"][form])
    return [f"| {row.title} | | {value} | | {aim} | {form} |"]


def notes(results):
    """What limits the rows, of those that were run."""
    return "\n".join(
        f"* **{ROWS[result['key']].title}**: {NOTES[result['key']]}"
        for result in results
        if result["key"] in NOTES
    )


def _about(entry):
    about = entry.get("about", {})
    text = f", {about['last_kernels']} kernels" if about.get("last_kernels") else ""
    if about.get("peak_bytes"):
        text += f", {about['peak_bytes'] / 2**20:.0f} MiB at the peak of its arrays"
    if about.get("bound"):
        ratio = about["planned"] / about["bound"]
        text += f", planned {about['planned'] / 2**20:.1f} MiB, {ratio:.4f} of the lower bound"
    return text


def details(results):
    """Every form of every row: median and quartiles, kernels, errors."""
    out = []
    for result in results:
        out += [
            f"### {ROWS[result['key']].title}",
            "",
            "| form | median | quartiles | |",
            "|---|---|---|---|",
        ]
        for name, entry in result["forms"].items():
            note = _about(entry).removeprefix(", ") + (" beside" if entry.get("beside") else "")
            spread = ""
            if "bytes" not in entry:
                low, _, high = quartiles(ratios.finite(entry["seconds"]))
                spread = f"{readable(low)} to {readable(high)}"
            out.append(f"| {name} | {ratios.figure(entry)} | {spread} | {note} |")
        out += [f"| {name} | refused | | {text} |" for name, text in result["errors"].items()]
        out.append("")
    return "\n".join(out)


def document_text(document, pictures):
    """The whole page; `pictures` are paths of pictures relative to it."""
    machine = "; ".join(f"{k} {v}" for k, v in document["machine"].items())
    versions = ", ".join(f"{k} {v}" for k, v in document["versions"].items())
    parts = [
        "# Performance",
        "Written by `./dev bench --markdown`. Every form of a workload is checked against NumPy's "
        "result first; rounds are interleaved, one process working at a time; ratios are taken "
        "within a round and their medians shown. ×N is a peer's time over that of frazil's best "
        "form: first for the peer's plain form, then for its best; where a row is also wanted of "
        "the plain decorator, at half the aim, its own ratio follows. What misses its aim is bold.",
        f"**Machine**: {machine}.",
        f"**Versions**: {versions}.",
    ]
    if limits := document["limits"]:
        parts.append(
            f"**Limits**: {limits['flops'] / 1e9:.0f} GFLOP/s of f32 multiply-adds and "
            f"{limits['bytes'] / 1e9:.1f} GB/s of a streaming triad on {limits['threads']} threads."
        )
    parts += [f"![{path.stem}]({path})" for path in pictures]
    results = document["table"]
    if results:
        parts += ["## Table", table(results), "## Aims that are missed", misses(results)]
        parts += [text for text in [notes(results)] if text]
        parts += ["## Every form", "<details>", details(results), "</details>"]
    if document["cases"]:
        parts += ["## frazil alone", Report.table(document["cases"])]
    return "\n\n".join(parts).rstrip() + "\n"


def write(path, document):
    """The page, and its plots in a folder of its name beside it."""
    folder = path.with_suffix("")
    drawn = plots.all_of(document["table"], document["limits"])
    names = []
    for name, text in drawn.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.svg").write_text(text)
        names.append(pathlib.PurePosixPath(folder.name, f"{name}.svg"))
    path.write_text(document_text(document, names))
