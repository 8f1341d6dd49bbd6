"""The C++ face of fz.distributed, a program of its own (ranks.cc) under mpirun."""

import os
import subprocess
from pathlib import Path

import pytest
from launch import mpirun

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
RANKS = ROOT / "build" / "tests" / "distributed" / "ranks"


def run(ranks, *args):
    done = subprocess.run(
        [*(mpirun(ranks) if ranks > 1 else []), str(RANKS), *args],
        env={**os.environ, "FRAZIL_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_collectives_gradients_and_traced_functions(ranks):
    status, output = run(ranks)
    assert status == 0, output
    for rank in range(ranks):
        assert f"rank {rank} of {ranks} ok" in output


def test_ranks_that_disagree_throw_both_calls():
    _, output = run(2, "differ")
    assert "rank 0 of 2 ok" in output
    assert "rank 1 of 2 ok" in output
