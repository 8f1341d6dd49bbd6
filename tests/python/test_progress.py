"""fz.progress, and the line that long compilations show."""

import os
import subprocess
import sys

import pytest

import frazil as fz


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env={**os.environ, **environment}
    )
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()  # \r stays
    return done


LOOP = """
import sys, time
{before}
import frazil as fz
from frazil import _progress
_progress._QUIET = 0.05
for i in fz.progress({items}, "epochs"):
    time.sleep(0.03)
print(i)
"""
NO_TQDM = "sys.modules['tqdm'] = sys.modules['tqdm.auto'] = None"
# A stand-in with the part of tqdm's interface that is used.
TQDM = """
import types
class tqdm:
    def __init__(self, **given):
        print("made", given["total"], given["desc"], file=sys.stderr)
        self.n = given["initial"]
    def update(self, n): self.n += n
    def close(self): print("closed at", self.n, file=sys.stderr)
module = types.ModuleType("tqdm.auto"); module.tqdm = tqdm
sys.modules["tqdm"] = types.ModuleType("tqdm"); sys.modules["tqdm.auto"] = module
"""


def test_nothing_is_shown_where_nobody_looks():
    assert list(fz.progress(iter([1, 2]))) == [1, 2]
    for shown in ("auto", "off"):
        done = run(LOOP.format(before=NO_TQDM, items="range(6)"), FRAZIL_PROGRESS=shown)
        assert (done.returncode, done.stdout, done.stderr) == (0, "5\n", "")


def test_a_line_without_tqdm():
    done = run(LOOP.format(before=NO_TQDM, items="range(12)"), FRAZIL_PROGRESS="on")
    assert done.returncode == 0 and done.stdout == "11\n"
    shown = done.stderr.split("\r")
    assert any(line.startswith("epochs: ") and "/12 (" in line for line in shown)
    assert shown[-1] == "" and shown[-2].strip() == ""  # it is taken away


def test_a_line_without_a_total():
    done = run(LOOP.format(before=NO_TQDM, items="iter(range(12))"), FRAZIL_PROGRESS="on")
    assert "epochs: " in done.stderr and "%" not in done.stderr


def test_with_tqdm():
    done = run(LOOP.format(before=TQDM, items="range(12)"), FRAZIL_PROGRESS="on")
    assert done.stderr.splitlines() == ["made 12 epochs", "closed at 12"]


def test_short_work_shows_nothing():
    done = run("import frazil as fz; print(sum(fz.progress(range(9))))", FRAZIL_PROGRESS="on")
    assert (done.stdout, done.stderr) == ("36\n", "")


def test_an_error_takes_the_line_away():
    code = LOOP.format(before=NO_TQDM, items="range(12)").replace("print(i)", "")
    code = code.replace("time.sleep(0.03)", "time.sleep(0.03)\n    if i == 9: raise OSError('x')")
    done = run(code, FRAZIL_PROGRESS="on")
    assert "epochs: " in done.stderr and done.stderr.endswith("OSError: x\n")


def test_wrong_arguments():
    with pytest.raises(TypeError, match=r"^\[progress\] needs an iterable, got int\.$"):
        fz.progress(3)
    with pytest.raises(ValueError, match=r"\[progress\] total"):
        fz.progress([], total=-1)
