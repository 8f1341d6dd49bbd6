"""python -m frazil."""

import json
import os
import pathlib
import subprocess
import sys

import frazil as fz


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "frazil", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def test_info_tells_what_is_here():
    done = run("info", "--json", FRAZIL_JIT="interp", FRAZIL_NUM_THREADS="3")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert list(told) == ["frazil", "machine", "GPUs", "on disk", "switches"]
    assert told["frazil"]["version"] == fz.__version__
    assert told["frazil"]["Python"].endswith(sys.version.split()[0])
    assert told["machine"]["threads"] == 3 and told["machine"]["cores"] >= 1
    with open("/proc/cpuinfo") as file:
        flags = next(line for line in file if line.startswith("flags")).split()
    assert ("avx2" in told["machine"]["vectors"].split(", ")) == ("avx2" in flags)
    assert ("avx512" in told["machine"]["vectors"].split(", ")) == ("avx512dq" in flags)
    assert told["switches"]["FRAZIL_JIT"] == "interp"
    assert "driver" in told["GPUs"] and "bytes" in told["on disk"]


def test_info_as_text():
    done = run("info", FRAZIL_JIT="interp")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[0] == "frazil" and "machine" in lines
    assert any(line.split() == ["version", fz.__version__] for line in lines)
    assert any(line.split() == ["FRAZIL_JIT", "interp"] for line in lines)


def test_bench():
    done = run("bench", "--seconds", "0.02")
    assert done.returncode == 0, done.stderr
    head, *rows = done.stdout.splitlines()[1:]
    assert head.split() == ["NumPy", "eager", "traced"] and len(rows) == 6
    assert all(row.count(" us") == 3 and row.count("x") >= 2 for row in rows)


def test_bench_as_json():
    done = run("bench", "--json", "--seconds", "0.02")
    rows = json.loads(done.stdout)
    assert len(rows) == 6 and done.stderr == ""
    for row in rows:
        assert list(row) == ["name", "eager", "traced", "numpy"]
        assert min(row["eager"], row["traced"], row["numpy"]) > 0


def test_npu(tmp_path):
    done = run("npu", "manual")
    assert done.returncode == 0 and done.stdout.startswith("# ")
    page = pathlib.Path(__file__).resolve().parents[2] / "docs/npu-isa.md"
    assert done.stdout == page.read_text()
    done = run("npu", "lint", str(tmp_path / "nothing.s"))
    assert done.returncode == 1 and "cannot open" in done.stderr
    done = run("npu", "--nothing")
    assert done.returncode == 2 and "frazil-npu" in done.stderr


def test_an_unknown_command_is_an_error():
    for arguments in ((), ("nothing",)):
        done = run(*arguments)
        assert done.returncode == 2 and "usage: python -m frazil" in done.stderr
