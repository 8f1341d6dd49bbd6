"""What type checkers say of users' files and of the stubs. What they check is in typing/."""

import inspect
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from public_modules import MODULES

import frazil as fz
from frazil import _frazil, nn, optim, random

CASES = Path(__file__).parent / "typing"
ROOT = Path(__file__).parent.parent.parent
PACKAGE = Path(fz.__file__).parent.parent  # where type checkers find frazil
PRELOADED = pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="they look at sources only")


def public_names():
    yield from (name for name in dir(fz) if not name.startswith("_"))
    for module in MODULES:
        yield from module.__all__
    for name, item in [*vars(fz.Tensor).items(), *vars(fz.trace(fz.exp).__class__).items()]:
        if not name.startswith("_") and (callable(item) or inspect.isdatadescriptor(item)):
            yield name
    for owner in (nn.Module, random.Generator, optim.Optimizer):
        yield from (name for name, f in vars(owner).items() if name[0] != "_" and callable(f))


def rows_of_tables():
    """Functions whose stubs expand from rows: one of each form in the users' file is enough."""
    composites = (ROOT / "core" / "functions" / "composites.def").read_text()
    yield from re.findall(r"^FZ_COMPOSITE\(\w+, (\w+),", composites, re.MULTILINE)
    yield from (row["name"] for row in _frazil.op_table())


def test_users_file_uses_every_public_name():
    text = (CASES / "user.py").read_text()
    missing = {n for n in public_names() if not re.search(rf"(\.|\bimport .*){n}\b", text)}
    assert not missing - set(rows_of_tables())


def test_users_file_runs(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "__main__", None)
    assert runpy.run_path(str(CASES / "user.py"), run_name="__main__")["X"].shape == (2, 3)


@pytest.fixture(scope="module")
def expected():
    """{file: lines where an error must be}"""
    lines = (CASES / "wrong.py").read_text().splitlines()
    return {
        "user.py": set(),
        "wrong.py": {i for i, s in enumerate(lines, 1) if s.endswith("# wrong")},
    }


def run(*argv, **variables):
    done = subprocess.run(
        [sys.executable, "-m", *argv],
        env=os.environ | {"PYTHONPATH": str(PACKAGE)} | variables,
        cwd=CASES,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def lines_of(errors):
    """{file: {line: message}} of (file, line, message)."""
    found = {"user.py": {}, "wrong.py": {}}
    for name, line, message in errors:
        found[Path(name).name].setdefault(int(line), message)
    return found


def compare(found, expected):
    for name, lines in expected.items():
        extra = {line: text for line, text in found[name].items() if line not in lines}
        assert not extra, f"{name}: {extra}"
        assert not lines - found[name].keys(), name


@PRELOADED
def test_mypy(expected, tmp_path):
    _, text = run(
        "mypy", "--strict", "--follow-imports=silent", "--no-error-summary",
        f"--cache-dir={tmp_path}", "user.py", "wrong.py", MYPYPATH=str(PACKAGE),
    )  # fmt: skip
    errors = re.findall(r"^(\S+?\.py):(\d+): error: (.*)$", text, re.MULTILINE)
    assert errors, text
    compare(lines_of(errors), expected)


@PRELOADED
def test_pyright(expected, tmp_path):
    for name in expected:
        shutil.copy(CASES / name, tmp_path)
    settings = {"extraPaths": [str(PACKAGE)], "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    _, text = run(
        "pyright", "--outputjson", "-p", str(tmp_path), "--pythonpath", sys.executable,
        PYRIGHT_PYTHON_IGNORE_WARNINGS="1",
    )  # fmt: skip
    report = json.loads(text[text.index("{") :])
    assert report["summary"]["filesAnalyzed"] == 2
    compare(
        lines_of(
            (d["file"], d["range"]["start"]["line"] + 1, d["message"])
            for d in report["generalDiagnostics"]
            if d["severity"] == "error"
        ),
        expected,
    )


@PRELOADED
def test_stubs_are_what_the_module_has(tmp_path):
    allowed = ROOT / "tools" / "stubtest.txt"
    config = tmp_path / "mypy.ini"
    config.write_text(f"[mypy]\ncache_dir = {tmp_path}\n")
    status, text = run(
        "mypy.stubtest", "frazil", "--concise", "--allowlist", str(allowed),
        "--mypy-config-file", str(config), MYPYPATH=str(PACKAGE),
    )  # fmt: skip
    assert status == 0, text
