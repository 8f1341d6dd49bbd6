"""Tables of tuned numbers: every row has a use, and its command is one that there is."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
ROW = re.compile(r'^FZ_TUNED\((k\w+), ([\w:]+), (.+), "([^"]+)", "([^"]+)", "([^"]+)"\)$')
FOLDERS = ("core", "kernels", "distributed", "npu", "autograd", "tracer", "jit", "bindings")


def rows():
    tables = ("core/tuned.def", "distributed/tuned.def")
    lines = [line for table in tables for line in (ROOT / table).read_text().splitlines()]
    matched = [ROW.match(line) for line in lines if line and not line.startswith("//")]
    assert all(matched), "a row is FZ_TUNED(name, type, value, unit, what, command)"
    return [match.groups() for match in matched]


def missing(command):
    """What a command names that there is not; None if it can run."""
    first, *rest = command.split()
    if command == "chosen":
        return None
    if first == "./dev" and rest[:1] == ["python"]:
        return None if (ROOT / rest[1]).is_file() else rest[1]
    if first == "./dev" and rest[:1] == ["bench"]:
        if rest[1:] == ["--indexing"]:
            return None if (ROOT / "bench/indexing.py").is_file() else rest[1]
        return next((name for name in rest[1:] if name not in bench_names()), None)
    if first.startswith("build/bench/"):
        source = first.removeprefix("build/") + ".cc"
        listed = source.removeprefix("bench/") in (ROOT / "bench/meson.build").read_text()
        return None if listed and (ROOT / source).is_file() else source
    return first


def bench_names():
    import sys

    sys.path.insert(0, str(ROOT / "bench"))
    try:
        from table.rows import ROWS
    finally:
        sys.path.pop(0)
    tree = ast.parse((ROOT / "bench/cases.py").read_text())
    return set(ROWS) | {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}


def test_there_are_rows_and_none_twice():
    names = [row[0] for row in rows()]
    assert len(names) > 100
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_commands_are_there(row):
    assert missing(row[5]) is None, f"{row[0]}: `{row[5]}` names what is not there"


def test_commands_that_are_not_there_are_found():
    for wrong in ("./dev bench nothing", "./dev python bench/none.py", "build/bench/none", "make"):
        assert missing(wrong), wrong
    assert missing("chosen") is None


def test_every_row_is_used():
    used = set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".cc", ".h") and path.name != "cost.h":  # which only passes them on
                used |= set(re.findall(r"\b(?:tuned|cost)::(k\w+)", path.read_text()))
    used |= set(re.findall(r"\b(k\w+)", (ROOT / "core/cost.cc").read_text()))
    assert not [row[0] for row in rows() if row[0] not in used]


def test_units_and_words_are_there():
    for name, _, value, unit, decides, _ in rows():
        assert unit.strip() and len(decides) > 10 and value.strip(), name
