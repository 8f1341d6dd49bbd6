"""What a process leaves on disk for the next: found, of the same bits, and never trusted."""

import ctypes
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time

import pytest

SOURCE = """
import json, os, sys
import numpy as np
import frazil as fz

def step(x, w):
    h = fz.tanh(x @ w + 0.25)
    for _ in range(6):
        h = fz.exp(-h * h) * 0.5 + h / (1.0 + fz.abs(h))
    return fz.nn.softmax(h), fz.sum(h * h)

f = fz.trace(step)
x = fz.asarray(np.arange(48, dtype=np.float32).reshape(6, 8) / 48)
w = fz.asarray(np.arange(64, dtype=np.float32).reshape(8, 8) / 64)
bits = [b"".join(np.asarray(y).tobytes() for y in f(x, w)).hex() for _ in range(4)]
assert len(set(bits)) == 1
print(json.dumps({"bits": bits[0], "disk": fz.memory.disk()}))
"""


def environment(folder, **changed):
    env = {**os.environ, "FRAZIL_DISK_CACHE": "on", "FRAZIL_CACHE_DIR": str(folder)}
    for name in ("FRAZIL_VERIFY", "FRAZIL_PASSES", "FRAZIL_ISA", "FRAZIL_JIT", "FRAZIL_DUMP"):
        env.pop(name, None)
    return {**env, **{name: str(value) for name, value in changed.items()}}


def process(folder, source=SOURCE, preexec_fn=None, **changed):
    done = subprocess.run(
        [sys.executable, "-c", source],
        env=environment(folder, **changed),
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=preexec_fn,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def cold_run(tmp_path_factory):
    return process(tmp_path_factory.mktemp("cold") / "kept")


@pytest.fixture
def warm(tmp_path):
    """A folder that one process has written."""
    process(tmp_path / "kept")
    return tmp_path / "kept"


def the_file(folder):
    (file,) = folder.iterdir()
    return file


def is_warm(run):
    disk = run["disk"]
    return disk["compiled"] == 0 and disk["code"] > 0 and disk["plans"] > 0 and disk["kept"] == 0


def is_cold(run):
    """A slow one may find a plan on disk that it has left there itself, but never its code."""
    return run["disk"]["compiled"] > 0 and run["disk"]["code"] == 0


def test_the_second_process_compiles_nothing(tmp_path):
    folder = tmp_path / "new" / "kept"
    first = process(folder)
    assert is_cold(first) and first["disk"]["kept"] > 0
    second = process(folder)
    assert is_warm(second)
    assert second["bits"] == first["bits"]
    assert second["disk"]["file"] == str(the_file(folder))
    assert second["disk"]["bytes"] == the_file(folder).stat().st_size
    assert stat.S_IMODE(the_file(folder).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_without_it(tmp_path, cold_run):
    run = process(tmp_path / "kept", FRAZIL_DISK_CACHE="off")
    assert run["disk"]["file"] == "" and run["bits"] == cold_run["bits"]
    run = process("none", HOME=tmp_path, XDG_CACHE_HOME=tmp_path)
    assert run["disk"]["file"] == ""
    run = process("", HOME="", XDG_CACHE_HOME="")
    assert run["disk"]["file"] == ""
    run = process(tmp_path / "kept", FRAZIL_DISK_BYTES=0)
    assert is_cold(run)
    assert list(tmp_path.iterdir()) == []


def test_folders_by_default(tmp_path):
    process("", HOME=tmp_path / "home", XDG_CACHE_HOME=tmp_path / "xdg")
    assert the_file(tmp_path / "xdg" / "frazil")
    process("", HOME=tmp_path / "home", XDG_CACHE_HOME="")
    assert the_file(tmp_path / "home" / ".cache" / "frazil")


@pytest.mark.parametrize("folder", ["/proc/kept", "/dev/null", "/dev/null/kept"])
def test_a_folder_that_cannot_be(folder, cold_run):
    run = process(folder)
    assert is_cold(run) and run["bits"] == cold_run["bits"]


def obey_permissions():
    """Makes a child of root's obey the bits of files, as everybody else does."""
    drop_from_bounding_set, capabilities = 24, (1, 2)  # reading and writing without permission
    for capability in capabilities if os.geteuid() == 0 else ():
        if ctypes.CDLL(None).prctl(drop_from_bounding_set, capability, 0, 0, 0) != 0:
            raise OSError("the capability could not be dropped")


# Kernels of its own.
NEW = SOURCE.replace("+ 0.25", "* 3").replace("h * h", "h * h + x[0, 0]")


def test_a_folder_that_cannot_be_written(warm, cold_run):
    file = the_file(warm)
    before = file.read_bytes()
    file.chmod(0o400)
    warm.chmod(0o500)
    run = process(warm, preexec_fn=obey_permissions)
    assert is_warm(run) and run["bits"] == cold_run["bits"]
    # What is new is computed all the same, and leaves nothing.
    run = process(warm, NEW, preexec_fn=obey_permissions)
    assert run["disk"]["compiled"] > 0
    assert file.read_bytes() == before and the_file(warm) == file
    warm.chmod(0o700)
    file.chmod(0o600)
    assert process(warm, NEW, preexec_fn=obey_permissions)["disk"]["compiled"] > 0
    assert file.read_bytes() != before
    assert is_warm(process(warm, NEW, preexec_fn=obey_permissions))


@pytest.mark.parametrize("place", ["", "/folder"])
def test_a_file_where_the_folder_should_be(tmp_path, place, cold_run):
    (tmp_path / "taken").write_text("something else")
    run = process(f"{tmp_path}/taken{place}")
    assert is_cold(run) and run["bits"] == cold_run["bits"]
    assert (tmp_path / "taken").read_text() == "something else"


@pytest.mark.parametrize("name", ["file", "folder"])
def test_what_others_may_write_is_refused(warm, name, cold_run):
    path = the_file(warm) if name == "file" else warm
    path.chmod(path.stat().st_mode | stat.S_IWOTH)
    run = process(warm)
    assert is_cold(run) and run["bits"] == cold_run["bits"]
    assert is_warm(process(warm)) == (name == "file")  # written anew


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("name", ["file", "folder"])
def test_what_others_own_is_refused(warm, name, cold_run):
    os.chown(the_file(warm) if name == "file" else warm, 12345, -1)
    run = process(warm)
    assert is_cold(run) and run["bits"] == cold_run["bits"]


def test_damaged_files_are_refused(warm, cold_run):
    good = the_file(warm).read_bytes()
    for step in (97, 1009):
        bad = bytearray(good)
        for at in range(600_000 if len(good) > 600_000 else 4096, len(bad), step):
            bad[at] ^= 255
        the_file(warm).write_bytes(bad)
        run = process(warm)
        assert run["bits"] == cold_run["bits"]
        assert run["disk"]["refused"] > 0 and run["disk"]["compiled"] > 0
        assert is_warm(process(warm))
    for length in (0, 10, 5000, len(good) // 2, len(good) - 1):
        the_file(warm).write_bytes(good[:length])
        run = process(warm)
        assert run["bits"] == cold_run["bits"] and run["disk"]["compiled"] + run["disk"]["kept"] > 0
        assert is_warm(process(warm))


def test_switches_are_part_of_it(warm, cold_run):
    other = process(warm, FRAZIL_PASSES="-fuse")
    assert other["disk"]["plans"] == 0 and other["bits"] == cold_run["bits"]
    assert is_warm(process(warm, FRAZIL_PASSES="-fuse"))
    interpreted = process(warm, FRAZIL_JIT="interp")
    assert interpreted["disk"]["plans"] > 0 and interpreted["disk"]["code"] == 0
    assert interpreted["bits"] == cold_run["bits"]
    narrow = process(warm, FRAZIL_ISA="avx2")
    best = process(warm)
    assert narrow["bits"] == best["bits"] == cold_run["bits"] and is_warm(best)
    if narrow["disk"]["code"] == 0:  # else this machine's best is avx2
        assert is_warm(process(warm, FRAZIL_ISA="avx2"))


def test_verify_compares(warm, cold_run, tmp_path):
    run = process(warm, FRAZIL_VERIFY="1")
    assert run["disk"]["compiled"] == run["disk"]["code"] > 0
    assert run["bits"] == cold_run["bits"]


def test_processes_at_once(tmp_path, cold_run):
    folder = tmp_path / "kept"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", SOURCE], env=environment(folder), stdout=subprocess.PIPE
        )
        for _ in range(3)
    ]
    for each in running:
        out, _ = each.communicate(timeout=300)
        assert each.returncode == 0
        assert json.loads(out)["bits"] == cold_run["bits"]
    assert is_warm(process(folder))


def test_killed_processes(tmp_path):
    """What was made a moment before is on disk; what is being written harms nobody."""
    folder = tmp_path / "kept"
    killed = SOURCE + "sys.stdout.flush(); import time; time.sleep(60)"
    with subprocess.Popen(
        [sys.executable, "-c", killed], env=environment(folder), stdout=subprocess.PIPE, text=True
    ) as one:
        one.stdout.readline()
        for n in range(100):
            time.sleep(0.1)
            # A copy: the process that looks leaves what it has made, too.
            copy = tmp_path / f"copy {n}"
            if folder.exists() and is_warm(process(shutil.copytree(folder, copy))):
                break
        one.send_signal(signal.SIGKILL)
    assert is_warm(process(folder))


def test_children_of_fork(tmp_path):
    """A child has what its parent has, and leaves what it makes itself."""
    source = SOURCE.replace(
        "print(",
        """
import time, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of threads beside a fork
def written(before):
    # The bytes on disk, once they are more than before and stay the same.
    last, same = before, 0
    for _ in range(1000):
        time.sleep(0.05)
        now = fz.memory.disk()["bytes"]
        last, same = now, same + 1 if now == last else 0
        if now > before and same >= 15:  # writers wait for a quarter of a second
            return now
    return last
own = written(0)
out, into = os.pipe()
child = os.fork()
if child == 0:
    g = fz.trace(lambda x: fz.sum(fz.sinh(x) * fz.cosh(x) - fz.atan(x) * x + x / 3.0))
    for _ in range(4):
        g(x).item()
    os.write(into, json.dumps(fz.memory.disk()).encode())
    written(own)  # what is not yet on disk is lost with _exit
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
child = json.loads(os.read(out, 10000))
print(""",
    ).replace('"bits": bits[0]', '"child": child')
    first = process(tmp_path / "kept", source)
    assert first["child"]["kept"] > 0 and first["child"]["compiled"] > first["disk"]["compiled"]
    second = process(tmp_path / "kept", source)
    assert is_warm({"disk": second["child"]}) and is_warm(second)
    assert second["child"]["code"] > second["disk"]["code"]


def test_the_bound(tmp_path):
    source = """
import json
import frazil as fz
for n in range(12):
    def body(x):
        for i in range(24):
            x = [fz.tanh, fz.exp, fz.sin, fz.erf][(n * 7 + i * (n + START)) % 4](x) * 0.5
        return x
    f = fz.trace(body)
    for _ in range(4):
        f(fz.ones(10 + START))
print(json.dumps({"disk": fz.memory.disk()}))
"""
    folder, bound = tmp_path / "kept", 3 << 18
    written = 0
    for start in range(6):
        run = process(folder, source.replace("START", str(start)), FRAZIL_DISK_BYTES=bound)
        written += run["disk"]["kept"]
        assert sum(file.stat().st_size for file in folder.iterdir()) <= bound
    assert written > 50
    assert run["disk"]["bytes"] > bound // 2
