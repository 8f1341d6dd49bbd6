"""`./dev wheel`: a wheel that runs elsewhere for each interpreter there is, in dist/.

A wheel of frazil needs Abseil; auditwheel puts the machine's copy inside, under names of its own,
and names the oldest glibc that the result runs on. Each is then installed into an empty virtual
environment and must compute there without any library that the standard of such wheels (manylinux)
does not list.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pythons

ROOT = Path(__file__).resolve().parent.parent
LARGEST = 20 << 20  # bytes

# Runs in the empty environment and prints what it loads for frazil that does not belong there.
CHECK = """
import pathlib, re, sys

def loaded():
    maps = pathlib.Path("/proc/self/maps").read_text()
    return set(re.findall(r"/[^ ]+[.]so[^ /]*$", maps, re.M))

import ctypes, threading  # modules of the interpreter may need libraries of their own
before = loaded()
import frazil as fz

def step(w, x):
    return fz.value_and_grad(lambda w: fz.tanh(x @ w).sum())(w)
w, x = fz.random.normal((3, 2)), fz.random.normal((4, 3))
eager = [t.tolist() for t in step(w, x)]
for traced in (fz.trace(step), fz.trace(step, pure=True)):
    for _ in range(4):
        assert [t.tolist() for t in traced(w, x)] == eager
    assert traced.stats()["replayed"] > 0
listed = r"(ld-linux.*|lib(c|m|dl|rt|pthread|stdc[+][+]|gcc_s))[.]so[.0-9]*"
for path in sorted(loaded() - before):
    own = path.startswith(sys.prefix) or "/lib-dynload/" in path
    if not own and not re.fullmatch(listed, path.split("/")[-1]):
        print(path)
"""


def run(*argv, **options):
    return subprocess.run(argv, check=True, text=True, stdin=subprocess.DEVNULL, **options)


def build(python, version, folder):
    """Builds the wheel for an interpreter and lets auditwheel complete it; its path in dist/."""
    jobs = os.environ.get("FRAZIL_JOBS") or str(os.cpu_count())
    work = ROOT / f"build-wheel-{version}"  # as deep as build/, for the compiler cache to know it
    pip = [python, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps"]
    run(*pip, "-w", folder, f"--config-settings=build-dir={work}",
        f"--config-settings=compile-args=-j{jobs}", ROOT)  # fmt: skip
    (bare,) = Path(folder).glob("*.whl")
    auditwheel = [sys.executable, "-m", "auditwheel"]
    repaired = Path(folder, "repaired")
    run(*auditwheel, "repair", "-w", repaired, bare)
    (wheel,) = repaired.glob("*.whl")
    (ROOT / "dist").mkdir(exist_ok=True)
    newest = Path(shutil.copy(wheel, ROOT / "dist"))
    print(run(*auditwheel, "show", newest, capture_output=True).stdout.strip())
    return newest


def problems(wheel, python, folder):
    """What is wrong with a wheel, found out in an empty environment."""
    if wheel.stat().st_size > LARGEST:
        yield f"{wheel.name} has {wheel.stat().st_size} bytes, more than {LARGEST}."
    if "manylinux" not in wheel.name:
        yield f"{wheel.name} is no manylinux wheel."
    environment = Path(folder, "environment")
    run(python, "-m", "venv", environment)
    inside = environment / "bin" / "python"
    run(inside, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel)
    done = subprocess.run(
        [inside, "-c", CHECK], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin", "FRAZIL_DISK_CACHE": "off"},
    )  # fmt: skip
    if done.returncode != 0:
        yield f"{wheel.name} does not run: {done.stderr}"
    for path in done.stdout.split():
        yield f"{wheel.name} needs {path} of this machine."


def main():
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    interpreters = {own: Path(sys.executable)} | pythons.further(pythons.places())
    found = []
    for version, base in interpreters.items():
        python = base
        if version != own:
            python = pythons.environment(version, base, ROOT / "build")
        with tempfile.TemporaryDirectory() as folder:
            wheel = build(python, version, folder)
            found += problems(wheel, base, folder)
        print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size / 2**20:.1f} MiB", flush=True)
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
