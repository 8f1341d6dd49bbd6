"""Runs a program of tests/distributed/programs on several processes and reads what each said.

Each rank writes what it found to a file of its own (`say` in programs/saying.py), so that a rank
that the launcher ends has still told it.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


def mpirun(ranks, *more):
    """The command of Open MPI that starts so many processes on this machine."""
    command = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    assert command, "mpirun is missing: Debian's package openmpi-bin has it (tools/apt.txt)."
    out = [command, "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *more]
    return [*out, "--allow-run-as-root"] if os.getuid() == 0 else out


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def torchrun(variables=None, port=None):
    """A launcher that starts each rank with the variables that torchrun, or another, would set."""
    port = port or free_port()

    def of_torchrun(rank, ranks):
        return {
            "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
        }  # fmt: skip

    return (lambda rank, ranks: variables(rank)) if variables else of_torchrun


def start_all(argv, ranks, variables, environment, seconds):
    """The worst status and the output of processes that are one world by their variables."""
    with tempfile.TemporaryFile("w+") as output:
        running = [
            subprocess.Popen(
                argv, env={**environment, **variables(rank, ranks)}, stdout=output, stderr=output
            )
            for rank in range(ranks)
        ]
        end = time.monotonic() + seconds
        try:
            # One that was stopped ends with the others: nobody continues it.
            while any(p.poll() is None for p in running) and time.monotonic() < end:
                time.sleep(0.02)
                if sum(p.poll() is None for p in running) == 1 and stopped(running):
                    break
        finally:
            for p in running:
                p.kill()
        statuses = [p.wait() for p in running]
        output.seek(0)
        return max(statuses, key=abs), output.read()


def stopped(running):
    left = next(p for p in running if p.poll() is None)
    return ") T " in Path(f"/proc/{left.pid}/stat").read_text()


def launch(program, ranks, folder, *args, launcher=None, environment=None, seconds=300):
    """The status, the output, and what each rank said, lists of objects.

    `launcher`: a command, or what gives the variables of each rank (`torchrun`).
    """
    environment = {
        **os.environ, "FRAZIL_NUM_THREADS": "1", "FRAZIL_SAY": str(folder), **(environment or {})
    }  # fmt: skip
    path = str(PROGRAMS / f"{program}.py")
    argv = [sys.executable, path, *map(str, args)]
    if callable(launcher):
        status, output = start_all(argv, ranks, launcher, environment, seconds)
    else:
        done = subprocess.run(
            [*(launcher or mpirun(ranks)), *argv], env=environment, timeout=seconds,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        status, output = done.returncode, done.stdout + done.stderr
    said = []
    for rank in range(ranks):
        file = Path(folder) / f"{rank}.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        said.append([json.loads(line) for line in lines])
    return status, output, said
