"""fn.show(): one page that leads from a line to its nodes, kernels and steps; HTML in notebooks."""

import inspect
import os
import pathlib

import pytest
from html_pages import Page

import frazil as fz


def model(x, w):
    y = fz.maximum(x @ w, 0)
    s = fz.sort(y, axis=-1)  # <b>no tag</b> & "quotes"
    return fz.exp(s) / fz.sum(fz.exp(s), axis=-1, keepdims=True)


FIRST = inspect.getsourcelines(model)[1]
FILE = os.path.basename(__file__)


@pytest.fixture(scope="module")
def traced():
    fn = fz.trace(model)
    for _ in range(5):
        fn(fz.ones((8, 6)), fz.ones((6, 4)))
    return fn


@pytest.fixture(scope="module")
def text(traced, tmp_path_factory):
    path = tmp_path_factory.mktemp("show") / "model.html"
    assert traced.show(path) == str(path)
    return path.read_text()


def test_every_link_has_its_target(text):
    page = Page(text)
    for line in (1, 2, 3):
        assert f"line-{FILE}:{FIRST + line}" in page.ids
        assert f"#line-{FILE}:{FIRST + line}" in page.links
    said = "\n".join(page.texts)
    assert 's = fz.sort(y, axis=-1)  # <b>no tag</b> & "quotes"' in said
    assert "program (f32[8,6], f32[6,4]" in said and "graph (f32[8,6], f32[6,4]" in said
    assert "kernel k_" in said and "sort" in said and "arena" in said
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_from_a_line_to_a_kernel_and_its_step(text):
    page = Page(text)
    kernels = [i for i in page.ids if "-k" in i and i.startswith("p")]
    nodes = [i for i in page.ids if "-n" in i and i.startswith("p")]
    steps = [i for i in page.ids if "-s" in i and i.startswith("p")]
    assert kernels and len(nodes) >= 4 and len(steps) >= 3
    for anchor in kernels:
        assert f"#{anchor}" in page.links  # some step leads to it
    assert sum(f"#{anchor}" in page.links for anchor in nodes) >= 4


def test_its_source_is_what_explain_and_dumps_tell(traced, text):
    said = "\n".join(Page(text).texts)
    assert traced.explain() in said
    for plan in traced._plans():
        for line in plan["text"].splitlines():
            assert line.split("  # ")[0] in said


def test_without_a_path_it_is_opened(traced, monkeypatch):
    import webbrowser

    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    path = traced.show()
    try:
        assert opened == [f"file://{path}"]
        with open(path) as file:
            Page(file.read())
    finally:
        os.unlink(path)


def test_before_anything_is_recorded(tmp_path):
    path = fz.trace(lambda x: x + 1).show(path=str(tmp_path / "empty.html"))
    with open(path) as file:
        page = Page(file.read())
    assert any(t.startswith("No plan yet") for t in page.texts)


def test_loops_and_branches(tmp_path):
    @fz.trace
    def walk(x, n):
        for _ in range(n):
            x = fz.sin(x) @ x
            if float(x[0, 0]) > 100:
                x = x / 2
        return x

    for _ in range(4):
        walk(fz.ones((30, 30)), 12)
        walk(fz.ones((30, 30)) / 90, 12)
    Page(pathlib.Path(walk.show(tmp_path / "walk.html")).read_text())


def test_wrong_arguments(traced):
    with pytest.raises(TypeError):
        traced.show(1, 2)
    with pytest.raises(FileNotFoundError):
        traced.show("/nowhere/at/all.html")


def test_notebooks(traced):
    page = Page(f"<div>{traced._repr_html_()}</div>")
    assert any("matched_ops" in t for t in page.texts)
    network = fz.nn.Sequential(fz.nn.Linear(3, 4), fz.nn.ReLU(), fz.nn.Linear(4, 2))
    page = Page(f"<div>{network._repr_html_()}</div>")
    cells = page.texts
    assert "Sequential" in cells and "0" in cells and "weight [4, 3], bias [4]" in cells
    assert "26" in cells  # all parameters
