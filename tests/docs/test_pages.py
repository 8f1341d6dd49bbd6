"""Every block of code of every page runs, in the order of the page and in one namespace."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md"]
FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Languages of blocks that tests elsewhere run, by page, or that are no code: the manual's in
# tests/install/test_manual.py, calls of exported programs in tests/install/saved.
ELSEWHERE = {"cpp.md": {"cpp", "cmake", "meson"}, "export.md": {"cpp", "c"}}
NO_CODE = {"", "text", "{toctree}"}


def blocks(path):
    """[(line, language, text)] of a page."""
    text = path.read_text()
    return [(text[: m.start()].count("\n") + 1, m[1], m[2]) for m in FENCE.finditer(text)]


def name(path):
    return str(path.relative_to(ROOT))


def run_examples(text, path):
    """All examples of a page as one test: what one defines is there for the others."""
    kept = list(text)
    for match in FENCE.finditer(text):
        if match[1] != "python":
            kept[match.start() : match.end()] = re.sub(r"[^\n]", " ", match[0])
    # Fences are no part of what an example prints.
    text = re.sub(r"^```.*$", "", "".join(kept), flags=re.MULTILINE)
    names = {"__name__": "__main__"}
    test = doctest.DocTestParser().get_doctest(text, names, name(path), name(path), 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    result = runner.run(test, out=report.append)
    assert result.failed == 0, "".join(report)


def run_commands(text, path):
    usage = subprocess.run([ROOT / "dev"], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if not words or path.name == "cpp.md":  # its commands: tests/install/test_manual.py
            continue
        if words[0] == "./dev":
            assert re.search(rf"^  {words[1]}\b", usage, re.MULTILINE), line
        else:
            assert words[0] == "python", f"{name(path)}: no test runs: {line}"
            run = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True)
            assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_code_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    if any(">>>" in code for _, language, code in blocks(path) if language == "python"):
        run_examples(path.read_text(), path)
    for line, language, code in blocks(path):
        if language == "python":
            if ">>>" not in code:
                exec(compile("\n" * line + code, name(path), "exec"), names)
        elif language in ("sh", "bash"):
            run_commands(code, path)
        else:
            known = ELSEWHERE.get(path.name, set())
            assert language in known | NO_CODE, f"{name(path)}:{line}: no test runs {language}"


def test_pages_have_a_title_and_end():
    for path in PAGES:
        text = path.read_text()
        assert text.startswith("# ") and text.endswith("\n") and not text.endswith("\n\n"), path


def test_questions_have_code():
    parts = re.split(r"^## ", (DOCS / "faq.md").read_text(), flags=re.MULTILINE)[1:]
    assert len(parts) >= 20
    for part in parts:
        title = part.splitlines()[0]
        assert title.endswith("?") and ">>> " in part, title


def test_tutorial_has_ten_steps():
    assert len(list((DOCS / "tutorial").glob("[01]*.md"))) == 10


def test_the_environment_is_as_it_was():
    import frazil as fz

    assert fz.asarray([1.0]).dtype == fz.float32, os.environ
