"""The fuzz targets: each row has its code, its corpus and its sources; with FRAZIL_NIGHTLY each is
fuzzed for ten minutes. The suite `core` replays the corpora (targets/replay_test.cc)."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
FOLDER = ROOT / "tests" / "fuzz" / "targets"
sys.path.insert(0, str(FOLDER))
ROWS = (FOLDER / "targets.def").read_text()
TARGETS = re.findall(r"^FZ_TARGET\((\w+)\)", ROWS, re.MULTILINE)
SCRIPTS = re.findall(r"^FZ_SCRIPT\((\w+)\)", ROWS, re.MULTILINE)


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_is_whole(name):
    assert f"FZ_FUZZ_TARGET({name})" in (FOLDER / f"{name}.cc").read_text()
    assert len(list((FOLDER / "corpus" / name).iterdir())) >= 2
    assert re.search(rf"^  '{name}': ", (FOLDER / "meson.build").read_text(), re.MULTILINE)


def test_nothing_else_lies_there():
    assert {path.name for path in (FOLDER / "corpus").iterdir()} == {*TARGETS, *SCRIPTS}
    scripts = sorted(path.stem for path in FOLDER.glob("*.py"))
    assert scripts == SCRIPTS
    sources = {path.stem for path in FOLDER.glob("*.cc")}
    assert sources == {*TARGETS, "replay_test"} and sorted(TARGETS) == TARGETS
    size = sum(path.stat().st_size for path in FOLDER.glob("corpus/*/*"))
    assert size < 1 << 20  # a small seed, not what a run collects


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_takes_its_corpus(name):
    target = importlib.import_module(name)
    files = sorted((FOLDER / "corpus" / name).iterdir())
    assert len(files) >= 2
    for file in files:
        data = file.read_bytes()
        target.try_one(data)
        for n in range(0, len(data), 1 + len(data) // 16):  # cut short, as half a download is
            target.try_one(data[:n])


@pytest.mark.skipif(not os.environ.get("FRAZIL_NIGHTLY"), reason="two hours; nightly")
@pytest.mark.parametrize("name", [*TARGETS, *SCRIPTS])
def test_ten_minutes_find_nothing(name):
    done = subprocess.run(
        [ROOT / "dev", "fuzz", name, "--seconds", "600"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
