"""Plants the bugs of mutants.py into copies of the extension and lets the fuzzer look for them.

    mutate.py [NUMBER ...]             rows of the table; without numbers all
    mutate.py --proof [NUMBER ...]     those of proof_mutants.py, which tests look for as well

A row's file is copied, changed, compiled as in the build of the extension that is imported, and
linked with the rest of that build; the sources and the build stay as they are. Programs are run
eagerly without the bug and in every mode with it.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import campaign
from mutants import MUTANTS
from proof_mutants import PROOF

import frazil
from frazil import _frazil

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = Path(_frazil.__file__).resolve()
BUILD = EXTENSION.parents[2]
BATCH = 100


def mutated(row):
    """(file, its text with the bug)"""
    files, old, new = row
    found = [(path, text) for path in sorted(ROOT.glob(files)) if old in (text := path.read_text())]
    if len(found) != 1 or found[0][1].count(old) != 1:
        raise ValueError(f"{old!r} does not stand once in {files}")
    path, text = found[0]
    return str(path.relative_to(ROOT)), text.replace(old, new)


def run(command):
    subprocess.run(command, cwd=BUILD, check=True, capture_output=True, text=True)


def includer(name):
    """The file that a table is compiled in."""
    line = f'#include "{name}"'
    units = [p for p in sorted((ROOT / name).parent.glob("*.cc")) if line in p.read_text()]
    if len(units) != 1:
        raise ValueError(f"{name} is included by {units}")
    return str(units[0].relative_to(ROOT))


def build(row, folder):
    """The folder to import frazil from, with the bug of a row."""
    name, text = mutated(row)
    source = folder / "source" / name
    source.parent.mkdir(parents=True)
    source.write_text(text)
    unit = name if name.endswith(".cc") else includer(name)
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    entry = next(c for c in commands if (BUILD / c["file"]).resolve() == ROOT / unit)
    compile_it = shlex.split(entry["command"])
    built, compiled = entry["output"], str(folder / "mutant.o")
    compile_it[compile_it.index("-o") + 1] = compiled
    compile_it[compile_it.index("-c") + 1] = str(source if unit == name else ROOT / unit)
    if unit != name:  # the changed table is found before the one in the sources
        compile_it.insert(compile_it.index("-o"), f"-iquote{folder / 'source'}")
    compile_it = ["-O1" if word == "-O3" else word for word in compile_it]
    compile_it = [w for i, w in enumerate(compile_it) if not {"-MD", "-MQ", "-MF"} & {w}]
    compile_it = [w for w in compile_it if not w.endswith(".o.d") and w != built]
    run(compile_it)

    target = str(EXTENSION.relative_to(BUILD))
    listed = subprocess.run(
        ["ninja", "-t", "commands", target], cwd=BUILD, check=True, capture_output=True, text=True
    ).stdout
    link = shlex.split(listed.strip().splitlines()[-1])
    # An archive's member is left out where an object before it defines the same.
    link = [compiled if word == built else word for word in link]
    if compiled not in link:
        link.insert(link.index("libfrazil.a"), compiled)
    package = folder / "python" / "frazil"
    package.mkdir(parents=True)
    for path in Path(frazil.__file__).parent.iterdir():
        if path.name != EXTENSION.name:
            (package / path.name).symlink_to(path.resolve())
    link[link.index("-o") + 1] = str(package / EXTENSION.name)
    run(link)
    return package.parent


@dataclass
class Found:
    program: object = None  # the first that differs, and how
    mode: str = ""
    why: str = ""
    programs: int = 0  # run until then
    seconds: float = 0


def look(row, programs, digests, limit=400):
    """Runs programs with a row's bug until one differs.

    A batch that does not end within `limit` seconds counts as found: far more than a busy machine
    takes.
    """
    found = Found()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        environment = {"PYTHONPATH": str(build(row, Path(folder)))}
        for at in range(0, len(programs), BATCH):
            batch = list(zip(programs[at : at + BATCH], digests[at : at + BATCH], strict=True))
            for mode in ("trace", "pure"):
                chosen = [(p, d) for p, d in batch if mode == "trace" or p.pure]
                if not chosen:
                    continue
                differ = campaign.compare(*zip(*chosen, strict=True), mode, environment, limit)
                if differ and not found.program:
                    found.program, found.why = differ[0]
                    found.mode = mode
            found.programs += len(batch)
            if found.program:
                break
    found.seconds = time.monotonic() - start
    return found


# What looks for bugs in the proof, the quickest first; programs of worlds.py come last.
PROOF_TESTS = {
    "proof": [str(p) for p in sorted((ROOT / "tests/python").glob("test_proof*.py"))],
    "hazards": [str(ROOT / "tests/hazards"), "-k", "test_traced_means_what_eager_means"],
}


def failed(arguments, environment, limit):
    """The first test that fails, or None."""
    command = [sys.executable, "-m", "pytest", "-qx", "--tb=no", "-p", "no:cacheprovider"]
    environment = os.environ | {"FRAZIL_ROOT": str(ROOT)} | environment
    try:
        done = subprocess.run(
            [*command, *arguments], env=environment, capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return f"no end after {limit} seconds"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0].split(" - ")[0].rpartition("/")[2] if lines else f"status {done.returncode}"


def look_at_proof(row, programs, digests, limit=400, finders=(*PROOF_TESTS, "worlds")):
    """{finder: what it found} of a row of proof_mutants.py; the first that finds something ends it,
    unless they are chosen."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = {"PYTHONPATH": str(build(row, Path(folder)))}
        for finder in finders:
            if finder in PROOF_TESTS:
                what = failed(PROOF_TESTS[finder], environment, limit)
            else:
                differ = campaign.compare(programs, digests, "trace", environment, limit)
                what = differ[0][1].splitlines()[0][:70] if differ else None
            if what:
                found[finder] = what
                break
    return found


def main_of_proof(numbers):
    programs, digests, _, _, failures = campaign.generate(
        10_000_000, 600, 600, 600, size=300, how="worlds"
    )
    assert not failures, f"programs differ without planted bugs: {failures}"
    missed, counts = [], {}
    for n in numbers or range(len(PROOF)):
        name, old, new = PROOF[n]
        start = time.monotonic()
        try:
            found = look_at_proof(PROOF[n], programs, digests)
        except subprocess.CalledProcessError as e:
            found = {}
            print(f"{n:3} does not build: {e.stderr[:500]}")
        for finder in found:
            counts[finder] = counts.get(finder, 0) + 1
        row = " ".join(f"{old} => {new}".split())
        seconds = time.monotonic() - start
        print(f"{n:3} {seconds:4.0f} s  {found or 'NOT FOUND'}  [{name}] {row}", flush=True)
        if not found:
            missed.append(n)
    print(f"found by {counts}; missed: {missed}")
    sys.exit(1 if missed else 0)


def main():
    if sys.argv[1:2] == ["--proof"]:
        main_of_proof([int(n) for n in sys.argv[2:]])
    numbers = [int(n) for n in sys.argv[1:]] or range(len(MUTANTS))
    count = int(os.environ.get("FRAZIL_MUTANT_PROGRAMS", "4000"))
    programs, digests, _, _, failures = campaign.generate(10_000_000, count, count, 600, size=500)
    assert not failures, f"programs differ without planted bugs: {failures}"
    missed = []
    for n in numbers:
        name, old, new = MUTANTS[n]
        try:
            found = look(MUTANTS[n], programs, digests)
        except subprocess.CalledProcessError as e:
            print(f"{n:3} does not build: {e.stderr[:500]}")
            missed.append(n)
            continue
        how = f"{found.mode}, {found.why.splitlines()[0][:70]}" if found.program else "NOT FOUND"
        row = " ".join(f"{old} => {new}".split())
        print(f"{n:3} {found.programs:5} programs {found.seconds:4.0f} s  {how}  [{name}] {row}")
        sys.stdout.flush()
        if not found.program:
            missed.append(n)
    print(f"{len(numbers) - len(missed)} of {len(numbers)} found; missed: {missed}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
