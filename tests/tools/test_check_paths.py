"""Comments and pages may name only what is there."""

import pytest

HASH = "#"  # this file is looked at, too
FILES = {
    "core/a.h": "class Trie { void Enter(); };\n",
    "core/a.cc": "",
    "tests/core/a_test.cc": "",
}


@pytest.mark.parametrize(
    ("name", "line", "missing"),
    [
        ("core/b.h", "// See core/a.h and core/a.", None),
        ("core/b.h", "// The folder tests/core, or tests/core/: `Trie::Enter`.", None),
        ("core/b.h", '#include "core/gone.h"', None),
        ("core/b.h", "// See core/gone.h.", "core/gone.h"),
        ("core/b.h", "int x;  // as in jit/plan", "jit/plan"),
        ("core/b.h", "// Trie::Leave lets go of it.", "Trie::Leave"),
        ("README.md", "Look into `core/gone`.", "core/gone"),
        ("README.md", "A test lies in `tests/NAME/`, see tests/*/a_test.cc.", None),
        ("core/b.py", f"x = 1  {HASH} core/gone.h", "core/gone.h"),
        ("core/b.py", 'x = "core/gone.h"', None),
    ],
)
def test_names(check_paths, tmp_path, name, line, missing):
    for path, text in {**FILES, name: line + "\n"}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    want = [f"{name}:1: {missing} is not there."] if missing else []
    assert check_paths.check(tmp_path, [*FILES, name]) == want
