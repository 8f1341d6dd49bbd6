"""A folder, a file or a function that outgrows its budget is named."""

import pytest


@pytest.fixture
def small(check_sizes, monkeypatch):
    monkeypatch.setattr(check_sizes, "FOLDERS", {"core": 20})
    monkeypatch.setattr(check_sizes, "FILE", 12)
    monkeypatch.setattr(check_sizes, "FUNCTION", 5)
    return check_sizes


def sizes(module, root, **files):
    (root / "core").mkdir()
    for name, text in files.items():
        (root / "core" / f"{name}.cc").write_text(text)
    return module.check(root)


def test_within(small, tmp_path):
    problems, used = sizes(small, tmp_path, a="int f() {\n  x;\n  y;\n  z;\n}\n" * 2, b="int b;\n")
    assert problems == [] and used == {"core": 11}
    assert small.shown(used) == "core 11/20"


def test_a_folder(small, tmp_path):
    problems, _ = sizes(small, tmp_path, a="int a;\n" * 11, b="int b;\n" * 10)
    assert problems == ["core: 21 lines; it may have 20 (tools/check_sizes.py)."]


def test_a_file(small, tmp_path):
    problems, _ = sizes(small, tmp_path, a="int a;\n" * 13)
    assert problems == ["core/a.cc: 13 lines; a file may have 12."]


def test_a_function_and_a_method(small, tmp_path):
    function = "int f() {\n  a;\n  b;\n  c;\n  d;\n}\n"
    method = "struct S {\n  int f() {\n    a;\n    b;\n    c;\n    d;\n  }\n};\n"
    assert sizes(small, tmp_path, a=function)[0] == [
        "core/a.cc:1: a function of 6 lines; one may have 5."
    ]
    (tmp_path / "core" / "a.cc").write_text(method)
    assert small.check(tmp_path)[0] == ["core/a.cc:2: a function of 6 lines; one may have 5."]


def test_namespaces_are_no_functions(small, tmp_path):
    assert sizes(small, tmp_path, a="namespace a {\n" + "int x;\n" * 8 + "}\n")[0] == []
