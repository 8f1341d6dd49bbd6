"""Runs the fuzz targets of tests/fuzz/targets with libFuzzer, those in Python with Atheris, which
brings it; `./dev fuzz` calls it.

A target begins with its corpus in the repository and with what earlier runs found to be new, in
build-fuzz/corpus. An input that breaks a promise is written to the repository's corpus as
found-HASH, where the suite `core` replays it from then on; the run fails.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "fuzz" / "targets"
BUILD = ROOT / "build-fuzz"
ROW = re.compile(r"^FZ_(?:TARGET|SCRIPT)\((\w+)\)", re.MULTILINE)


def all_targets():
    return ROW.findall((FOLDER / "targets.def").read_text())


def script(name):
    """The program in Python of a target, if it is one."""
    path = FOLDER / f"{name}.py"
    return path if path.exists() else None


def make(name, dev):
    """Builds a target."""
    build = [dev, "build-in", "build-fuzz", f"tests/fuzz/targets/{name}"]
    if script(name):
        build = [dev, "build-in", "build", "python-module"]
    if subprocess.run(build).returncode:
        sys.exit(f"fuzz: {name} cannot be built.")


def run(name, seconds):
    """What libFuzzer says of a target: (inputs tried, files of faults)."""
    kept, found = BUILD / "corpus" / name, BUILD / "found" / name
    for folder in (kept, found):
        folder.mkdir(parents=True, exist_ok=True)
    for old in found.iterdir():
        old.unlink()
    program = [BUILD / "tests" / "fuzz" / "targets" / name]
    if script(name):
        program = [sys.executable, script(name)]
    command = [
        *program, kept, FOLDER / "corpus" / name,
        f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=2048", "-max_len=8192",
        "-print_final_stats=1", "-verbosity=0", f"-artifact_prefix={found}/",
    ]  # fmt: skip
    importable = os.environ | {"PYTHONPATH": str(ROOT / "build" / "python")}
    done = subprocess.run(
        command, stderr=subprocess.PIPE, text=True, errors="replace", env=importable
    )
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    faults = sorted(found.iterdir())
    if done.returncode and not faults:
        sys.exit(f"fuzz: {name} did not run:\n{done.stderr[-4000:]}")
    for fault in faults:
        data = fault.read_bytes()
        to = FOLDER / "corpus" / name / f"found-{hashlib.sha256(data).hexdigest()[:12]}"
        to.write_bytes(data)
        print(done.stderr[-6000:])
        print(f"fuzz: {name}: {fault.name.split('-')[0]}; the input: {to.relative_to(ROOT)}")
    return int(executed[1]) if executed else 0, faults


def main():
    parser = argparse.ArgumentParser(prog="./dev fuzz")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(all_targets()))
    parser.add_argument("--seconds", type=int, default=60, help="for each target (60)")
    parser.add_argument("--dev", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = set(options.targets) - set(all_targets())
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    names = options.targets or all_targets()
    failed = 0
    for name in names:  # built when its turn comes: the first runs while others are not there yet
        make(name, options.dev)
        tried, faults = run(name, options.seconds)
        failed += bool(faults)
        print(
            f"fuzz: {name}: {tried} inputs in {options.seconds} s, {len(faults)} findings",
            flush=True,
        )
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
