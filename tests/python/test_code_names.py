"""What perf and GDB are told of generated code: the map, the jitdump, the JIT interface."""

import os
import re
import shutil
import struct
import subprocess
import sys

import pytest

import frazil as fz

PATH = os.path.dirname(os.path.dirname(os.path.abspath(fz.__file__)))

PROGRAM = """
import os, sys
import frazil as fz

def f(x, w):
    y = fz.exp(x) * 3 + w
    return fz.sum(fz.tanh(y), axis=0)

g = fz.trace(f)
for _ in range(4):
    g(fz.ones((300, 70)), fz.ones(70))
{end}
print(os.getpid())
"""


BUSY = """
import time
until = time.time() + 0.4
x, w = fz.ones((300, 70)), fz.ones(70)
while time.time() < until:
    g(x, w)
"""


def run(tmp_path, end="", command=(), **environment):
    script = tmp_path / "named.py"
    script.write_text(PROGRAM.format(end=end))
    return subprocess.run(
        [*command, sys.executable, str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": PATH, "FRAZIL_CACHE_DIR": "none", **environment},
    )


def records(raw):
    """(id, timestamp, content) of each record of a jitdump, whose header is checked."""
    magic, version, size, machine, _, pid, _, flags = struct.unpack_from("<IIIIIIQQ", raw)
    assert (magic, version, size, machine, flags) == (0x4A695444, 1, 40, 62, 0)
    at, found = size, []
    while at < len(raw):
        kind, length, when = struct.unpack_from("<IIQ", raw, at)
        assert length >= 16 and at + length <= len(raw)
        found.append((kind, when, raw[at + 16 : at + length]))
        at += length
    return pid, found


def test_jitdump(tmp_path):
    done = run(tmp_path, FRAZIL_PERF="jitdump")
    assert done.returncode == 0, done.stderr
    pid = int(done.stdout)
    raw = (tmp_path / f"jit-{pid}.dump").read_bytes()
    written, found = records(raw)
    assert written == pid and [w for _, w, _ in found] == sorted(w for _, w, _ in found)
    loads, lines = {}, {}
    for kind, _, content in found:
        if kind == 2:
            address, count = struct.unpack_from("<QQ", content)
            assert count == 1
            at, line, _ = struct.unpack_from("<QiI", content, 16)
            name, rest = content[32:].split(b"\0", 1)
            assert at == address and rest == b""
            lines[address] = f"{name.decode()}:{line}"
            continue
        assert kind == 0
        process, thread, vma, address, size, index = struct.unpack_from("<IIQQQQ", content)
        name, code = content[40:].split(b"\0", 1)
        assert process == pid and thread > 0 and vma == address and len(code) == size > 0
        assert index == len(loads)
        loads[name.decode()] = address
    fused = next(n for n in loads if n.startswith("frazil:k_exp_multiply_add_tanh_sum"))
    assert fused.endswith(" named.py:6 named.py:7")
    assert lines[loads[fused]] == "named.py:6"


def test_map(tmp_path):
    done = run(tmp_path, FRAZIL_PERF="1")
    path = f"/tmp/perf-{int(done.stdout)}.map"
    try:
        with open(path) as file:
            rows = [line.split(" ", 2) for line in file]
    finally:
        os.unlink(path)
    assert any(name.startswith("frazil:k_exp") for _, _, name in rows)
    assert all(int(address, 16) > 0 and int(size, 16) > 0 for address, size, _ in rows)


def test_nothing_is_written_otherwise(tmp_path):
    done = run(tmp_path)
    assert not os.path.exists(f"/tmp/perf-{int(done.stdout)}.map")
    assert [p.name for p in tmp_path.iterdir()] == ["named.py"]


@pytest.mark.skipif(not shutil.which("perf"), reason="needs perf")
def test_perf_reads_the_dump(tmp_path):
    data = tmp_path / "perf.data"
    command = ["perf", "record", "-q", "-e", "cpu-clock:u", "-k", "mono", "-o", str(data)]
    end = BUSY
    done = run(tmp_path, end, command, FRAZIL_PERF="jitdump")
    if done.returncode != 0 and "ermission" in done.stderr + done.stdout:
        pytest.skip("perf may not record here")
    assert done.returncode == 0, done.stderr
    joined = tmp_path / "perf.jit.data"
    subprocess.run(
        ["perf", "inject", "--jit", "-i", str(data), "-o", str(joined)], check=True, cwd=tmp_path
    )
    told = subprocess.run(
        ["perf", "report", "--stdio", "-i", str(joined)], capture_output=True, text=True
    )
    assert "frazil:k_exp_multiply_add_tanh_sum" in told.stdout, told.stdout + told.stderr


# Stops at the first instruction of the second half of a kernel that is running, wherever that is.
DEBUG = """
set confirm off
set pagination off
set breakpoint pending on
set python print-stack full
handle SIGSTOP SIGINT nostop noprint
break k_exp_multiply_add_tanh_sum
run
bt 3
info symbol $pc
info line *$pc
delete
stepi 60
bt 4
kill
"""


@pytest.mark.skipif(not shutil.which("gdb"), reason="needs gdb")
def test_gdb_sees_names_lines_and_frames(tmp_path):
    commands = tmp_path / "commands"
    commands.write_text(DEBUG)
    command = ["gdb", "-q", "-batch", "-nx", "-x", str(commands), "--args"]
    done = run(tmp_path, command=command, FRAZIL_GDB="1", FRAZIL_NUM_THREADS="1")
    if "ptrace: Operation not permitted" in done.stderr:
        pytest.skip("gdb may not trace here")
    told = done.stdout
    assert re.search(r"#0 .*k_exp_multiply_add_tanh_sum.* at named\.py:6", told), told + done.stderr
    # The frame below is frazil's own, which unwinding has to get right: at the first instruction,
    # and in the middle of the kernel, behind its prologue.
    frames = re.findall(r"^#1 .*", told, re.MULTILINE)
    assert len(frames) == 2 and all("frazil::jit" in frame for frame in frames), told
