"""The launcher's MPI library with a delay on each message (delayed_mpi.c), built when asked."""

import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).parent / "delayed_mpi.c"


def delayed(folder, microseconds, library="libmpi.so.40"):
    """The environment in which each message sets out so much later."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler, "no C compiler: cc is missing."
    path = Path(folder) / "libdelayed_mpi.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", path, SOURCE,
         f"-l:{library}", "-lpthread"], check=True,
    )  # fmt: skip
    return {"FRAZIL_MPI_LIBRARY": str(path), "MPI_DELAY_US": str(microseconds)}
