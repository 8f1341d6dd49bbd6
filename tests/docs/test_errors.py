"""The index of errors finds the messages that the sources make."""

import re
from pathlib import Path

import docs_errors
import docs_ways

# Messages of Python itself.
PYTHONS = r"unsupported operand|not supported between|required positional argument"
ROOT = Path(__file__).resolve().parents[2]


def test_forms_of_cpp():
    text = """
      return ValueError("[", op, "] axis ", axis, " is \\"out\\" of range (", n(a, ")"), ").");
      // return TypeError("a comment, too");
      Raise(TypeError("[take] one literal "
                      "in two lines."));
      PyErr_Format(PyExc_TypeError, "%s takes %zd arguments", name, n);
    """
    assert docs_errors.of_cpp(text) == [
        ("ValueError", '[…] axis … is "out" of range (…).'),
        ("TypeError", "[take] one literal in two lines."),
        ("TypeError", "… takes … arguments"),
    ]


def test_forms_of_python():
    text = 'def f(x):\n    raise ValueError(f"[f] x is {x!r}: " "give another.")\n'
    assert docs_errors.of_python(text) == [("ValueError", "[f] x is …: give another.")]


def test_every_message_of_the_tables_of_wrong_calls_has_a_form():
    found = docs_errors.forms(ROOT)
    patterns = [docs_errors.pattern(m) for messages in found.values() for m in messages]
    lost = [
        f"{call}: {text}"
        for call, _, text in docs_errors.wrong_calls(ROOT)
        if not re.search(PYTHONS, text) and not any(p.match(text) for p in patterns)
    ]
    assert not lost


def test_every_exception_has_its_part_on_the_page():
    page = (ROOT / "docs" / "errors.md").read_text()
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    for name in docs_errors.forms(ROOT):
        assert any(name in heading for heading in headings), name


def test_every_exception_and_cause_has_a_way_out():
    assert set(docs_errors.forms(ROOT)) <= set(docs_ways.EXCEPTIONS)
    assert {name for name, _, _ in docs_errors.causes(ROOT)} == set(docs_ways.CAUSES)
    broadcast = docs_errors.way_out("ValueError", "[…] shapes do not broadcast: … and ….")
    assert "expand_dims" in broadcast
    assert docs_errors.way_out("TypeError", "[…] no: use x.astype.") == ""
    assert docs_errors.way_out("OverflowError", "[…] too large.").startswith("use a wider dtype")


def test_all_causes_are_told():
    rows = (ROOT / "tracer" / "causes.def").read_text().count("\nFZ_CAUSE(")
    assert len(docs_errors.causes(ROOT)) == rows
    text = docs_errors.pages(ROOT)["errors/index.md"]
    assert all(f"| `{name}` |" in text for name, _, _ in docs_errors.causes(ROOT))
