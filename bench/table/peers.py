"""Environments of the frameworks, and how their processes are started."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# framework (a package in forms/) -> (folder of its environment, what pip installs there, the
# module whose absence means that the framework is absent)
FRAMEWORKS = {
    "frazil": (None, (), "frazil"),
    "numpy": ("numpy", ("numpy", "numba", "scipy"), "numpy"),
    "torch": ("torch", ("numpy", "torch==2.13.0"), "torch"),
    "jax": ("jax", ("numpy", "jax"), "jax"),
    "tensorflow": ("tf", ("numpy", "tensorflow-cpu"), "tensorflow"),
}
NAMES = {
    "frazil": "frazil",
    "torch": "PyTorch",
    "torch.compile": "torch.compile",
    "jax": "JAX",
    "xla": "TensorFlow XLA",
    "numpy": "NumPy",
    "numba": "numba",
    "limit": "the machine",
}
# Read by the libraries when they are loaded.
THREADS = (
    "FRAZIL_NUM_THREADS MKL_NUM_THREADS NUMBA_NUM_THREADS OMP_NUM_THREADS OPENBLAS_NUM_THREADS "
    "TF_NUM_INTEROP_THREADS TF_NUM_INTRAOP_THREADS"
).split()


def folder(given=None):
    """Where the environments are: as given, FRAZIL_PEERS, or .peers in the repository."""
    return pathlib.Path(given or os.environ.get("FRAZIL_PEERS") or ROOT / ".peers")


def python_of(framework, peers):
    """The interpreter that has a framework; None if there is none.

    frazil's own has NumPy, too: there is a reference without any peer.
    """
    name, _, module = FRAMEWORKS[framework]
    if name and (peers / name / "bin" / "python").exists():
        return str(peers / name / "bin" / "python")
    return sys.executable if module in ("frazil", "numpy") else None


def install(names, peers):
    """Makes the environments, all if none is named."""
    folders = {entry[0]: entry[1] for entry in FRAMEWORKS.values() if entry[0]}
    unknown = set(names) - set(folders)
    if unknown:
        raise SystemExit(
            f"bench: no peer {', '.join(sorted(unknown))}; there are {', '.join(folders)}."
        )
    for name in names or folders:
        python = peers / name / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", peers / name], check=True)
        print(f"bench: installing {', '.join(folders[name])} into {peers / name}", flush=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *folders[name]], check=True)


def start(framework, python, threads, log):
    """A worker's process. On one thread it may use one core only: not every framework asks."""
    environment = os.environ | {name: str(threads) for name in THREADS}
    path = [str(ROOT / "bench")]
    if framework == "frazil":
        path.append(os.environ.get("PYTHONPATH", ""))
    environment |= {"PYTHONPATH": os.pathsep.join(filter(None, path)), "PYTHONHASHSEED": "0"}
    environment["FRAZIL_DISK_CACHE"] = (
        "off"  # first calls are those of a process that finds nothing
    )
    environment |= {"TF_CPP_MIN_LOG_LEVEL": "2", "TF_ENABLE_ONEDNN_OPTS": "1"}
    cores = sorted(os.sched_getaffinity(0))[-threads:]
    return subprocess.Popen(
        [python, "-m", "table.worker", framework],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        cwd=ROOT / "bench",
        env=environment,
        start_new_session=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )


def prefer(child, nice):
    """Asks the system to run a worker rather than others (negative) or as any (0), if it lets us.

    A worker is a session of its own: Linux weighs sessions against each other where it groups them.
    """
    try:
        os.setpriority(os.PRIO_PGRP, child.pid, nice)
        pathlib.Path(f"/proc/{child.pid}/autogroup").write_text(str(nice))
    except OSError:
        return
