"""Runs a program of tests/distributed/programs on several processes and reads what each said.

Each rank writes what it found to a file of its own (`say` in programs/saying.py), so that a rank
that the launcher ends has still told it.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


def mpirun(ranks, *more):
    """The command of Open MPI that starts so many processes on this machine."""
    command = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    assert command, "mpirun is missing: Debian's package openmpi-bin has it (tools/apt.txt)."
    out = [command, "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *more]
    return [*out, "--allow-run-as-root"] if os.getuid() == 0 else out


def launch(program, ranks, folder, *args, launcher=None, environment=None, seconds=120):
    """The status, the output, and what each rank said, lists of objects."""
    environment = {
        **os.environ, "FRAZIL_NUM_THREADS": "1", "FRAZIL_SAY": str(folder), **(environment or {})
    }  # fmt: skip
    path = str(PROGRAMS / f"{program}.py")
    argv = [*(launcher or mpirun(ranks)), sys.executable, path, *map(str, args)]
    done = subprocess.run(
        argv, env=environment, timeout=seconds, capture_output=True, text=True, check=False
    )
    said = []
    for rank in range(ranks):
        file = Path(folder) / f"{rank}.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        said.append([json.loads(line) for line in lines])
    return done.returncode, done.stdout + done.stderr, said
