"""The demo's programs run and agree; its table in README.md is of the form that it prints."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import frazil as fz

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
EXAMPLES = ROOT / "examples"
FIGURE = r"[\d.]+ us( \([\d.]+x\))?"


@pytest.fixture
def demo(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import demo

    return demo


def cells(text):
    """The cells of the lines of a table, and what stands before it."""
    lines = text.splitlines()
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in lines if line[:1] == "|"]
    return rows, text.partition("|")[0]


def check(text, programs):
    (head, rule, *rows), before = cells(text)
    assert re.fullmatch(r"\d+ threads on \d+ cores, .+ eager Python\.\n\n", before)
    assert head[0] == "one step of" and head[-1] == "results" and set("".join(rule)) == {"-"}
    assert [row[0] for row in rows] == [p.title for p in programs]
    for program, (_, *times, verdict) in zip(programs, rows, strict=True):
        assert verdict == "equal bits"
        wanted = len(times) if program.cpp else 3
        assert all(re.fullmatch(FIGURE, time) for time in times[:wanted]), times
        assert not any(times[wanted:])
    return head


def test_every_form_has_the_same_bits_and_the_readme_shows_that_table(demo):
    argv = [sys.executable, EXAMPLES / "demo.py", "--quick"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "\r" not in done.stdout and done.stderr == ""
    head = check(done.stdout, demo.PROGRAMS)
    _, shown, _ = demo.around()
    assert check(shown.lstrip(), demo.PROGRAMS) == head


def test_other_bits_are_told(demo):
    def start(wrap):
        value = fz.asarray([1.0 if wrap is demo.WRAPS["eager"] else -1.0]) * 0
        return lambda: [value]

    for module, agree in (
        (SimpleNamespace(start=start, STEPS=1), False),
        (SimpleNamespace(start=lambda wrap: lambda: [fz.ones(2)], STEPS=1), True),
    ):
        program = demo.Program("signs of zero", module, 2)
        assert demo.measured(program, 2)[1] is agree
    times = dict.fromkeys(demo.WRAPS, 1e-6)
    assert "| THE BITS DIFFER |" in demo.table([("signs of zero", times, False)])


def test_times_beside_those_of_eager_python(demo):
    eager = 31e-6
    assert demo.cell(eager, eager) == "31.0 us"
    assert demo.cell(1e-5, eager) == "10.0 us (3.1x)"
    assert demo.cell(1.55e-4, eager) == "155 us (0.2x)"
    assert demo.cell(3.1e-7, eager) == "0.31 us (100x)"


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("train_digits", r"9[67]\.\d% of the test images are read right, .*"),
        ("train_transformer", r"(\d ){8}->( \d){8}"),
        ("lorenz", r"6000 steps in [\d.]+ s"),
        ("kalman", r"filtered: off by 0\.[34]\d m"),
    ],
)
def test_each_example_stands_alone(name, last):
    argv = [sys.executable, EXAMPLES / f"{name}.py"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(last, done.stdout.splitlines()[-1])


def test_no_example_is_left_out(demo):
    shared = {"demo.py", "forms.h", "meson.build"}
    shared.add("minilm.py")  # needs a package of 90 MB: tests/nn/test_minilm.py
    shared.add("heat_ranks.py")  # needs several processes: tests/distributed
    wanted = {f"{p.module.__name__}.py" for p in demo.PROGRAMS}
    wanted |= {f"{p.module.__name__}.cc" for p in demo.PROGRAMS if p.cpp}
    found = {p.name for p in EXAMPLES.iterdir() if p.is_file()}
    assert found - shared == wanted
