"""Environment variables: wrong values are refused at import, and the page lists them all."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import frazil as fz

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
LIBRARY = ("core", "kernels", "autograd", "tracer", "jit", "bindings")


def child(*arguments, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FRAZIL_")}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=kept | environment
    )


def imported(**environment):
    code = "import frazil as fz; (fz.ones(3) + 1).tolist(); print(fz.get_num_threads())"
    return child("-c", code, **environment)


WRONG = {
    "FRAZIL_JIT": ("yes", "on, interp or off"),
    "FRAZIL_ISA": ("bogus", "best, avx512 or avx2"),
    "FRAZIL_NUM_THREADS": ("abc", "a whole number from 1 to 4096"),
    "FRAZIL_LOG": ("guard,kernels", "guard or kernel, or several with commas between them"),
    "FRAZIL_DUMP": ("/nowhere/at/all", "a folder that is there"),
    "FRAZIL_KERNELS": ("/nowhere/at/all", "a folder that is there"),
    "FRAZIL_PASSES": ("fuse", None),
    "FRAZIL_VERIFY": ("true", "0 or 1"),
    "FRAZIL_PROOF": ("0", "on or off"),
    "FRAZIL_NPU_PRESET": ("dc17", "dc16, edge16 or m310"),
    "FRAZIL_NPU_CHECK": ("yes", "0 or 1"),
    "FRAZIL_CUDA_SYNC": ("2", "0 or 1"),
    "FRAZIL_CUDA_GENERIC": ("off", "auto, always or never"),
    "FRAZIL_DISK_CACHE": ("maybe", "on or off"),
    "FRAZIL_PERF": ("on", "0, 1 or jitdump"),
    "FRAZIL_GDB": ("on", "0 or 1"),
    "FRAZIL_PROGRESS": ("1", "auto, on or off"),
    "FRAZIL_MEMORY_BYTES": ("1G", "a whole number from 0 on"),
    "FRAZIL_PLAN_ENTRIES": ("0", "a whole number from 1 on"),
}
# Paths, which may come to be later.
ANY = {"FRAZIL_CUDA_PATH", "FRAZIL_CACHE_DIR", "FRAZIL_MPI_LIBRARY"}


@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [(variable, *row) for variable, row in WRONG.items()]
    + [
        ("FRAZIL_NUM_THREADS", n, "a whole number from 1 to 4096")
        for n in ("0", "-1", "4097", "2x", " 2", "2 ", "+2", "\t2", "2.0", "99999999999999999999")
    ]
    + [("FRAZIL_PLAN_ENTRIES", n, "a whole number from 1 on") for n in (" 7", "7\t", "+7", "7_0")],
)
def test_wrong_values(variable, value, allowed):
    run = imported(**{variable: value})
    assert run.returncode == 1 and run.stdout == ""
    message = run.stderr.splitlines()[-1]
    assert message.startswith(f"ValueError: [config] {variable} must be {allowed or ''}")
    assert message.endswith(f"got '{value}'.")
    if variable == "FRAZIL_PASSES":
        assert " none, -parts, -fold, " in message and "-inplace" in message


def test_every_switch_has_a_wrong_value():
    rows = fz.config().rows.values()
    numbers = {row["variable"] for row in rows if "number from" in row["allowed"]}
    assert {row["variable"] for row in rows} - numbers - set(WRONG) == ANY


def test_right_values(tmp_path):
    for environment in (
        {variable: "" for variable in WRONG},
        {"FRAZIL_NUM_THREADS": "3", "FRAZIL_PASSES": "-fuse,-cse", "FRAZIL_LOG": "guard,kernel"},
        {"FRAZIL_PASSES": "none", "FRAZIL_DUMP": str(tmp_path), "FRAZIL_JIT": "interp"},
    ):
        run = imported(**environment)
        assert run.returncode == 0, run.stderr
        if "FRAZIL_NUM_THREADS" in environment and environment["FRAZIL_NUM_THREADS"]:
            assert run.stdout == "3\n"


def test_page_is_up_to_date():
    run = child(str(ROOT / "tools/gen_switches.py"), "--check")
    assert run.returncode == 0, run.stderr


def test_variables_in_sources_are_in_the_table():
    known = {row["variable"] for row in fz.config().rows.values()}
    known |= {"FRAZIL_VERSION", "FRAZIL_NIGHTLY", "FRAZIL_GPU_TINY"}  # build, tests
    known |= {"FRAZIL_KNOWS_FRAMES", "FRAZIL_OP"}  # macros
    files = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *(ROOT / "docs").glob("*.md")]
    for folder in LIBRARY:
        files += [f for f in (ROOT / folder).rglob("*") if f.suffix in (".cc", ".h", ".def", ".py")]
    assert len(files) > 300
    for file in files:
        text = file.read_text()
        found = set(re.findall(r"\bFRAZIL_[A-Z_]*[A-Z]\b", text))
        found = {name for name in found if not name.endswith("_H")}
        assert found <= known, (file, found - known)
        if file.suffix == ".cc" and file.name not in ("config.cc", "settings.cc"):
            assert 'getenv("FRAZIL' not in text, file


def test_what_ran_is_what_was_asked_for():
    code = "import frazil as fz; print(fz.config()['jit'], fz.config()['threads'])"
    assert child("-c", code, FRAZIL_JIT="interp", FRAZIL_NUM_THREADS="2").stdout == "interp 2\n"
