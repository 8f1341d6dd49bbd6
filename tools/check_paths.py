"""Checks that the paths and members which comments and pages name are there. `./dev lint` calls it.

A path is what begins with one of our folders: `jit/plan/branches.h`, `core/layout`, `tests/jit/`. A
file may be named without its suffix, which then stands for header and source; in capitals stands
what a reader puts in (`tests/NAME`). A member is written with its class: `Recording::Enter`.
"""

import re
import sys
from pathlib import Path

FOLDERS = "core kernels npu autograd tracer jit bindings tests bench examples tools docs".split()
PATH = re.compile(r"(?<![\w/.<\"-])((?:%s)/[\w/.*{},-]*\w\}?)" % "|".join(FOLDERS))  # noqa: UP031
MEMBER = re.compile(r"\b([A-Z]\w+)::(\w+)")
WORD = re.compile(r"\w+")
COMMENT = {".cc": "//", ".h": "//", ".def": "//", ".py": "#", ".build": "#"}


def texts(path, text):
    """The lines that speak about the tree: comments of sources, all of a page."""
    mark = COMMENT.get(path.suffix)
    for number, line in enumerate(text.splitlines(), 1):
        if mark is None:
            yield number, line
        elif mark in line:
            yield number, line.partition(mark)[2]


def is_there(root, name):
    if any(c in name for c in "*{},") or any(part.isupper() for part in Path(name).parts):
        return True  # several at once, or what a reader puts in
    if (root / name).exists():
        return True
    place = root / name
    return place.parent.is_dir() and any(place.parent.glob(place.name + ".*"))


def words_of_code(root, names):
    """Everything that is called something in C++, comments aside."""
    found = set()
    for name in names:
        if Path(name).suffix in (".cc", ".h", ".def"):
            for line in (root / name).read_text().splitlines():
                found |= set(WORD.findall(line.partition("//")[0]))
    return found


def check(root, names):
    problems, known = [], words_of_code(root, names)
    for name in names:
        path = Path(name)
        if path.suffix not in (*COMMENT, ".md"):
            continue
        for number, line in texts(path, (root / name).read_text()):
            missing = [p for p in PATH.findall(line) if not is_there(root, p.rstrip(".,-"))]
            missing += [f"{a}::{b}" for a, b in MEMBER.findall(line) if not {a, b} <= known]
            problems += [f"{name}:{number}: {what} is not there." for what in missing]
    return problems


if __name__ == "__main__":
    import lint

    found = check(lint.ROOT, lint.git_files())
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
