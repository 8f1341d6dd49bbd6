"""Pages and docstrings for readers: names exist, lists are whole. tests/docs runs their code."""

import re
from pathlib import Path

import pytest
from public_modules import MODULES

import frazil as fz
from frazil import _frazil

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = DOCS / "coming-from.md"
ROWS = (DOCS.parent / "core" / "functions" / "composites.def").read_text()
COMPOSITES = re.findall(r"^FZ_COMPOSITE\(\w+, (\w+),", ROWS, re.MULTILINE)


def test_table_of_names_agrees_with_the_errors():
    names = _frazil.other_names()
    rows = re.findall(r"^\| (`.*) \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    found = 0
    for there, here in rows:
        for theirs in re.findall(r"`(\w+)=?`", there):
            ours = names["module"].get(theirs) or names["keyword"].get(theirs)
            if ours:
                found += 1
                assert ours.partition("(")[0] in here, theirs
    assert found > 20


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_docstring_lists_what_is_in_the_module(module):
    """The paragraph that begins with "Here:" names what is in __all__, each in backquotes.

    Of functions that expand from rows of composites.def it names some: help() lists them.
    """
    (paragraph,) = re.findall(r"^Here: .*?(?=\n\n|\Z)", module.__doc__, re.DOTALL | re.MULTILINE)
    names = re.findall(r"`(\w+)`", paragraph)
    assert len(names) == len(set(names)) and set(names) <= set(module.__all__)
    assert set(module.__all__) - set(names) <= set(COMPOSITES)
    public = {n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__}
    assert {n for n in public if not n.startswith("_")} <= set(module.__all__)


def test_docstring_of_the_package_names_its_modules():
    for module in MODULES:
        assert f"`{module.__name__.removeprefix('frazil.')}`" in fz.__doc__


def test_readme_links_the_page():
    assert "docs/coming-from.md" in (DOCS.parent / "README.md").read_text()
