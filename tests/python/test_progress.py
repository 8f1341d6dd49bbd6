"""fz.progress, bars of files that are read and written, the line that long compilations show."""

import os
import re
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
    code = """
import frazil as fz
from frazil import _progress
assert _progress._QUIET >= 0.5
_progress._QUIET = 3600  # on a busy machine short work may take long
print(sum(fz.progress(range(9))))
"""
    done = run(code, FRAZIL_PROGRESS="on")
    assert (done.stdout, done.stderr) == ("36\n", "")


def test_an_error_takes_the_line_away():
    code = LOOP.format(before=NO_TQDM, items="range(12)").replace("print(i)", "")
    code = code.replace("time.sleep(0.03)", "time.sleep(0.03)\n    if i == 9: raise OSError('x')")
    done = run(code, FRAZIL_PROGRESS="on")
    assert "epochs: " in done.stderr and done.stderr.endswith("OSError: x\n")


# Of files and helpers, by what their bars say.
FILES = """
import os, sys, tempfile
{before}
import frazil as fz
from frazil import _progress
_progress._QUIET = {quiet}
_progress._EVERY = 0
folder = tempfile.mkdtemp()
def path(name): return os.path.join(folder, name)
x = fz.ones({size})
net = fz.nn.Linear({size} // 2000, 2000)
{code}
"""
SIZE = 1 << 22
WAYS = {
    "saving model.safetensors": "fz.save(path('model.safetensors'), [x, x])",
    "saving named.safetensors": "fz.io.save_safetensors(path('named.safetensors'), dict(x=x))",
    "saving step-00000001.safetensors": "fz.training.Checkpoint(folder, net=net).save(1)",
    "saving x.npy": "fz.io.save_npy(path('x.npy'), x)",
    "loading x.npy": "assert bool((fz.io.load_npy(path('x.npy')) == x).all())",
    "saving x.npz": "fz.io.save_npz(path('x.npz'), dict(x=x))",
    "loading x.npz": "assert bool((fz.io.load_npz(path('x.npz'))['x'] == x).all())",
    "saving net.onnx": "fz.onnx.save(net, (fz.ones((1, net.in_features)),), path('net.onnx'))",
    "onnx.load: initializers": "loaded = fz.onnx.load(path('net.onnx'))",
    "onnx.load: weights": "",
    "load_state_dict": "net.load_state_dict(net.state_dict())",
    "update_bn": "m = fz.nn.Sequential(fz.nn.BatchNorm1d(2))\n"
    "fz.optim.swa_utils.update_bn(fz.data.DataLoader([fz.ones(2)] * 9, batch_size=3), m)",
}
ALL = "\n".join(WAYS.values())


def test_files_and_helpers_with_tqdm():
    done = run(FILES.format(before=TQDM, quiet=0, size=SIZE, code=ALL), FRAZIL_PROGRESS="on")
    assert done.returncode == 0, done.stderr
    bars = re.findall(r"made (\d+) (.+)\nclosed at (\d+)\n", done.stderr)
    assert "".join("made {} {}\nclosed at {}\n".format(*bar) for bar in bars) == done.stderr
    for what in WAYS:
        assert any(said.startswith(what) for _, said, _ in bars), what
    for total, said, end in bars:
        assert int(end) >= int(total) > (SIZE if "saving" in said or "loading" in said else 0)


def test_files_and_helpers_without_tqdm():
    done = run(FILES.format(before=NO_TQDM, quiet=0, size=SIZE, code=ALL), FRAZIL_PROGRESS="on")
    assert done.returncode == 0, done.stderr
    lines = done.stderr.split("\r")
    for what in WAYS:
        assert any(x.startswith(what) and "(100%), " in x for x in lines), what
    assert any(x.startswith("saving x.npy: 8 MiB/16 MiB (50%), ") for x in lines)


def test_small_files_show_nothing():
    code = FILES.format(before=TQDM, quiet="_progress._QUIET", size=4000, code=ALL)
    done = run(code, FRAZIL_PROGRESS="on")
    assert (done.returncode, done.stderr) == (0, "")


def test_what_the_bar_raises_ends_the_writing():
    """Such as Ctrl-C, which Python looks for there; what the path named before stays."""
    before = TQDM.replace("self.n += n", "raise KeyboardInterrupt")
    code = """
open(path('x'), 'w').write('before')
for save in (lambda: fz.save(path('x'), [x, x]), lambda: fz.io.save_npy(path('x'), x)):
    try:
        save()
    except KeyboardInterrupt:
        print(open(path('x')).read(), os.listdir(folder))
"""
    done = run(FILES.format(before=before, quiet=0, size=SIZE, code=code), FRAZIL_PROGRESS="on")
    assert done.stdout == "before ['x']\n" * 2, done.stderr


def test_weights_of_programs_are_told_of():
    code = """
path = path('f.frz')
w = [fz.ones((n, n)) for n in range(1, 300, 50)]
fz.export(lambda x: sum(fz.sum(v) * x for v in w), (fz.ones(2),), path)
fz.load_program(path)
"""
    done = run(FILES.format(before=NO_TQDM, quiet=60, size=9, code=code), FRAZIL_PROGRESS="on")
    assert (done.returncode, done.stderr) == (0, "")  # the line itself: core/progress.h, by time


def test_loaders_of_unknown_length():
    class Counted(fz.data.IterableDataset):
        def __iter__(self):
            return iter(range(4))

    loader = fz.data.DataLoader(Counted(), batch_size=2)
    with pytest.raises(TypeError):
        len(loader)
    assert [x.tolist() for x in fz.progress(loader)] == [[0, 1], [2, 3]]


def test_wrong_arguments():
    with pytest.raises(TypeError, match=r"^\[progress\] needs an iterable, got int\.$"):
        fz.progress(3)
    with pytest.raises(ValueError, match=r"\[progress\] total"):
        fz.progress([], total=-1)
