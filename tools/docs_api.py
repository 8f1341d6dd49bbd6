"""The reference of the site: pages of functions and classes, from docstrings and docs/api/*.txt.

A docstring says what a function is; a file of docs/api has, by subject, a line for each public name
with an example that runs, and what holds of the whole kind of functions that it is of: shapes,
dtypes, errors. docs/api/kinds.txt explains the form. tests/docs/test_api.py runs all of it and
fails for a public name that has no line.
"""

import doctest
import importlib
import inspect
import re
from dataclasses import dataclass, field

HEADING = """import numpy as np

import frazil as fz
from frazil import nn
from frazil.nn import functional as F
"""
FACTS = ("Shapes", "Dtypes", "Raises", "Note")


@dataclass
class Entry:
    """What a file says of one name, or kinds.txt of one kind."""

    name: str
    kind: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    example: str = ""


@dataclass
class Page:
    """A file of docs/api."""

    name: str
    title: str
    module: str
    about: str
    entries: list[Entry]


def entry(block):
    """An entry from its lines: NAME KIND, then facts, then an example."""
    head, *lines = block.splitlines()
    name, _, kind = head.partition(" ")
    found = Entry(name, kind.strip())
    while lines and not lines[0].startswith(">>>"):
        key, colon, text = lines.pop(0).partition(": ")
        if not colon or key not in FACTS:
            raise ValueError(f"{head}: '{key}' is none of {', '.join(FACTS)}.")
        found.facts.append((key, text))
    found.example = "\n".join(lines)
    return found


def read(path):
    """A page from its file: a title, the module, a paragraph, then entries; blank lines between."""
    title, module, about, *blocks = path.read_text().strip().split("\n\n")
    return Page(
        path.stem,
        title.removeprefix("# "),
        module.removeprefix("module "),
        about,
        [entry(block) for block in blocks],
    )


def read_all(folder):
    """(pages, kinds by name)."""
    found = [read(path) for path in sorted(folder.glob("*.txt")) if path.stem != "kinds"]
    return found, {kind.name: kind for kind in read(folder / "kinds.txt").entries}


def lookup(module, name):
    """The object of a name of a module, which may be a module's attribute's attribute."""
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def called(module, name):
    """How examples call it."""
    path = f"{module}.{name}".removeprefix("frazil.")
    return f"fz.{path}"


def facts(entry, kinds, module):
    """What is true of a name: what its own lines say, then what those of its kind say besides."""
    own = {key for key, _ in entry.facts}
    rows = entry.facts + [row for row in kinds[entry.kind].facts if row[0] not in own]
    return [(key, text.replace("{f}", called(module, entry.name))) for key, text in rows]


# -- Docstrings as Markdown

INLINE = re.compile(r"(`[^`]+`)")


def escaped(text):
    """Text of a docstring, in which only backquotes mean something."""
    parts = INLINE.split(text)
    parts[::2] = [re.sub(r"([*_<>\[\]|$~#])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def fence(text):
    return f"```pycon\n{text.rstrip()}\n```"


def section(title, lines):
    """A section under a rule: rows "name : type" with an indented text become a list."""
    out = [f"**{title}**", ""]
    for line in lines:
        if line and not line.startswith(" "):
            out.append(f"- {escaped(line)}")
        elif line.strip():
            out.append(f"  {escaped(line.strip())}")
    return [*out, ""]


def markdown(doc):
    """A docstring as Markdown."""
    doc = re.sub(r"\b_fz\.", "fz.", inspect.cleandoc(doc or ""))
    lines, out = doc.splitlines(), []
    at = 0
    while at < len(lines):
        line = lines[at]
        if at + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[at + 1]):
            end = at + 2
            while end < len(lines) and not (
                lines[end].startswith(">>>")
                or (end + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[end + 1]))
            ):
                end += 1
            out += ["", *section(line, lines[at + 2 : end])]
            at = end
        elif line.startswith(">>>"):
            end = at
            while end < len(lines) and lines[end].strip():
                end += 1
            out += ["", fence("\n".join(lines[at:end])), ""]
            at = end
        elif line.startswith("    ") and not (out and out[-1].strip()):
            end = at
            while end < len(lines) and lines[end].startswith("    "):
                end += 1
            out += ["", "```text", *(inner[4:] for inner in lines[at:end]), "```", ""]
            at = end
        else:
            out.append(escaped(line.strip()))
            at += 1
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def signature(item):
    """A signature without types; of a class, that of making one."""
    try:
        found = inspect.signature(item)
    except (TypeError, ValueError):
        return "(...)"
    shown = []
    for p in found.parameters.values():
        default = p.default
        if default is not p.empty and not re.fullmatch(r"[\w.'\"(), +-]*", repr(default)):
            default = ...
        shown.append(p.replace(annotation=p.empty, default=default))
    return str(found.replace(parameters=shown, return_annotation=found.empty)).replace(
        "Ellipsis", "..."
    )


def methods(cls):
    """[(name, function)] of a class's own public methods that have a docstring."""
    found = []
    for name, value in vars(cls).items():
        plain = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if not name.startswith("_") and callable(plain) and getattr(plain, "__doc__", None):
            found.append((name, plain))
    return found


def first_sentence(doc):
    text = inspect.cleandoc(doc or "").split("\n\n")[0].replace("\n", " ")
    return escaped(re.split(r"(?<=[.:;]) ", text)[0].rstrip(":;"))


def shown(entry, module, kinds):
    """The lines of one name."""
    item = lookup(module, entry.name)
    is_class = inspect.isclass(item)
    form = signature(item) if callable(item) else ""
    what = "class" if is_class else "function" if callable(item) else "data"
    out = [f"`````{{py:{what}}} {module}.{entry.name}{form}", "", markdown(item.__doc__), ""]
    for key, text in facts(entry, kinds, module):
        error, colon, rest = text.partition(": ")
        if key == "Raises" and colon:
            why, _, call = rest.partition(" -- ")
            text = f"`{error}` for {escaped(why)}" + (f": `{call}`" if call else "")
        else:
            text = escaped(text)
        out += [f"**{key}**: {text}", ""]
    if entry.example:
        out += [fence(entry.example), ""]
    if is_class:
        for name, method in methods(item):
            out += [f"- `{name}{signature(method)}`: {first_sentence(method.__doc__)}"]
    return [*out, "`````", ""]


def page_text(page, kinds):
    lines = [f"# {page.title}", "", page.about, ""]
    if any(e.example for e in page.entries):
        lines += ["Examples begin with", "", f"```python\n{HEADING.rstrip()}\n```", ""]
    lines += ["| name | |", "| --- | --- |"]
    for entry in page.entries:
        item = lookup(page.module, entry.name)
        target = f"{page.module}.{entry.name}"
        lines.append(f"| {{py:obj}}`{entry.name} <{target}>` | {first_sentence(item.__doc__)} |")
    lines.append("")
    for entry in page.entries:
        lines += shown(entry, page.module, kinds)
    return "\n".join(lines)


def pages(folder):
    """{page of the site: text} of the whole reference."""
    found, kinds = read_all(folder)
    out = {f"api/{page.name}.md": page_text(page, kinds) for page in found}
    rows = [f"| [{page.title}]({page.name}.md) | {len(page.entries)} |" for page in found]
    contents = "\n".join(page.name for page in found)
    out["api/index.md"] = (
        "# Reference\n\nEvery public function and class of Python, by subject: what it does, "
        "shapes, dtypes, errors, and an example; all examples run in the tests. The C++ functions "
        "have the same names ([C++ manual](../cpp.md)).\n\n"
        "| subject | names |\n| --- | --- |\n" + "\n".join(rows) + "\n\n"
        f"```{{toctree}}\n:hidden:\n\n{contents}\n```\n"
    )
    return out


def namespace():
    """What examples find."""
    names = {}
    exec(HEADING, names)
    return names


def run(text, name, names=None):
    """(failed, tried, report) of an example."""
    report = []
    test = doctest.DocTestParser().get_doctest(text + "\n", names or namespace(), name, name, 0)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.DocTestRunner(optionflags=flags, verbose=False).run(test, out=report.append)
    return result.failed, result.attempted, "".join(report)
