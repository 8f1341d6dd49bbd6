"""The reference: each public name has an example, shapes and errors, and all of it holds."""

import inspect
from pathlib import Path

import docs_api
import public_modules
import pytest

import frazil as fz

FOLDER = Path(docs_api.__file__).resolve().parent.parent / "docs" / "api"
PAGES, KINDS = docs_api.read_all(FOLDER)
ENTRIES = [(page, entry) for page in PAGES for entry in page.entries]
IDS = [f"{page.name}-{entry.name}" for page, entry in ENTRIES]
MODULES = (fz, *public_modules.MODULES)
NO_ARRAYS = {"plain", "reading", "constructed", "transform", "schedule"}


def names(module):
    """{name: object} of the public functions and classes of a module."""
    listed = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    found = {name: getattr(module, name) for name in listed}
    return {n: v for n, v in found.items() if callable(v) and not isinstance(v, type(fz.float32))}


def key(item):
    """Tells functions apart; methods of one object are made anew each time they are asked for."""
    return (
        getattr(item, "__self__", None).__class__,
        getattr(item, "__qualname__", item),
        id(getattr(item, "__func__", item)),
    )


def test_every_public_name_is_there_once():
    listed = [key(docs_api.lookup(page.module, entry.name)) for page, entry in ENTRIES]
    assert len(IDS) == len({(page.module, entry.name) for page, entry in ENTRIES})
    missing = {
        f"{module.__name__}.{name}"
        for module in MODULES
        for name, item in names(module).items()
        if key(item) not in listed
    }
    assert not missing, "each needs a block in docs/api: kinds.txt there tells the form"


@pytest.mark.parametrize(("page", "entry"), ENTRIES, ids=IDS)
def test_name(page, entry):
    item = docs_api.lookup(page.module, entry.name)
    assert inspect.getdoc(item)
    assert entry.example or ">>>" in item.__doc__, "no example"
    if entry.example:
        failed, tried, report = docs_api.run(entry.example, f"{page.name}: {entry.name}")
        assert tried and not failed, report
    facts = docs_api.facts(entry, KINDS, page.module)
    told = {what for what, _ in facts}
    assert "Raises" in told
    assert told & {"Shapes", "Note"} or entry.kind in NO_ARRAYS or "shape" in item.__doc__
    for what, text in facts:
        if what == "Raises" and text != "nothing":
            check_error(text)


def check_error(text):
    wanted, _, rest = text.partition(": ")
    _, found, call = rest.partition(" -- ")
    assert found, f"no call that raises: {text}"
    try:
        eval(call, docs_api.namespace())
    except Exception as error:  # noqa: BLE001 -- which one is the question
        assert wanted in [c.__name__ for c in type(error).__mro__], f"{call}: {error!r}"
    else:
        pytest.fail(f"{call} raises nothing.")


def test_docstrings_become_pages():
    doc = """First *line*.

    Parameters
    ----------
    x : array
        What it is.

    >>> f(1)
    2

    More:

        y = f(x)
    """
    text = docs_api.markdown(doc)
    assert text.startswith(r"First \*line\*.")
    assert "**Parameters**" in text and "- x : array\n  What it is." in text
    assert "```pycon\n>>> f(1)\n2\n```" in text and text.endswith("More:\n\n```text\ny = f(x)\n```")


def test_a_wrong_entry_is_refused():
    with pytest.raises(ValueError, match="'Shape' is none of Shapes"):
        docs_api.entry("exp each\nShape: any\n>>> 1")
