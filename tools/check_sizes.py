"""Budgets of lines for folders, files and functions. `./dev lint` shows what is used.

Who needs more room makes room first, or raises a number here and says why in the commit.
"""

import re
import sys
from pathlib import Path

FOLDERS = {
    "core": 20600,
    "kernels": 12400,
    "distributed": 2950,
    "npu": 9100,
    "autograd": 2800,
    "batch": 1560,
    "tracer": 8750,
    "jit": 38750,
    "frozen": 2300,
    "bindings": 63300,
}
FILE = 800  # lines of a file of these folders
FUNCTION = 125  # lines of a function there
SUFFIXES = {".cc", ".h", ".def", ".py"}
# A definition begins at the left margin, or a method of a class two columns in, and ends with a
# brace in the same column: clang-format sees to that.
BEGIN = re.compile(
    r"^(?P<margin>(?:  )?)(?!namespace|struct|class|enum|union|extern|using|#)\S.*\{$"
)


def long_functions(path, text):
    """(line, length) of each function over FUNCTION lines."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = BEGIN.match(line)
        if not match:
            continue
        end = match["margin"] + "}"
        length = next((n for n, later in enumerate(lines[number:]) if later.startswith(end)), 0)
        if length >= FUNCTION:
            yield number + 1, length + 1


def check(root):
    """(problems, lines used by each folder)."""
    problems, used = [], {}
    for folder, budget in FOLDERS.items():
        total = 0
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            text, name = path.read_text(), path.relative_to(root)
            count = text.count("\n")
            total += count
            if count > FILE:
                problems.append(f"{name}: {count} lines; a file may have {FILE}.")
            if path.suffix in (".cc", ".h"):
                problems += [
                    f"{name}:{line}: a function of {length} lines; one may have {FUNCTION}."
                    for line, length in long_functions(path, text)
                ]
        used[folder] = total
        if total > budget:
            problems.append(
                f"{folder}: {total} lines; it may have {budget} (tools/check_sizes.py)."
            )
    return problems, used


def shown(used):
    return ", ".join(f"{folder} {used[folder]}/{FOLDERS[folder]}" for folder in used)


if __name__ == "__main__":
    found, lines = check(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
    print(*found, shown(lines), sep="\n")
    sys.exit(1 if found else 0)
