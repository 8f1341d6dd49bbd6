"""fz.distributed on several processes of this machine, each test one launch for many checks."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from delayed import delayed
from launch import launch, mpirun

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
FAKES = Path(os.environ.get("FRAZIL_FAKE_CUDA", ROOT / "build" / "tests" / "cuda" / "fake"))


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_collectives_have_the_bits_of_one_process(ranks, tmp_path):
    status, output, said = launch("collectives", ranks, tmp_path)
    assert status == 0, output
    for rank in said:
        assert rank[-1]["failures"] == []
        assert rank[-1]["checked"] > 400


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_native_sums_are_the_librarys(ranks, tmp_path):
    status, output, said = launch("native", ranks, tmp_path)
    assert status == 0, output
    assert [rank[-1]["failures"] for rank in said] == [[]] * ranks


def test_ranks_of_other_precisions_disagree(tmp_path):
    _, output, said = launch("native", 2, tmp_path, "differ")
    for rank in said:
        assert "rank 0 calls all_reduce(sum) of float32[3]" in rank[1]["error"], output
        assert "rank 1 calls all_reduce(native sum) of float32[3]" in rank[1]["error"]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_training_has_the_bits_of_one_process_that_accumulates(ranks, tmp_path):
    status, output, said = launch("training", ranks, tmp_path)
    assert status == 0, output
    for rank in said:
        assert set(rank[0].values()) == {0}, rank[0]


@pytest.mark.parametrize(
    ("way", "mine", "its"),
    [
        ("kinds", "all_reduce(sum) of float32[3]", "all_gather of float32[3]"),
        ("shapes", "all_reduce(sum) of float32[3]", "all_reduce(sum) of float32[4]"),
        ("large", "all_reduce(sum) of float32[30000]", "all_reduce(sum) of float32[30001]"),
        ("dtypes", "all_reduce(sum) of float32[3]", "all_reduce(sum) of float64[3]"),
        ("ops", "all_reduce(max) of float32[3]", "all_reduce(min) of float32[3]"),
        ("roots", "broadcast of float32[3] with root 0", "broadcast of float32[3] with root 1"),
        ("both receive", "recv of float32[3]", "recv of float32[3]"),
        ("traced", "all_reduce(sum) of float32[2]", "all_reduce(sum) of float32[3]"),
    ],
)
def test_ranks_that_disagree_get_both_calls(way, mine, its, tmp_path):
    status, output, said = launch("failing", 2, tmp_path, way)
    for rank in said:
        error = rank[0]["error"]
        assert mine in error, output
        assert its in error
        assert "rank 0" in error
        assert "rank 1" in error
        assert rank[1]["error"], "a failed world stays failed"


@pytest.mark.parametrize(
    ("way", "said_of_it"),
    [
        ("kill", "rank 1 has died"),
        ("stop", "rank 1 has given no sign of life for 4 s"),
        ("raise", "rank 1 raised ValueError: of its own"),
        ("leave", "whose program has ended without it"),
        ("loop", "rank 1 has died"),
        (
            "hang",
            "for rank 1, which is alive and has not come; the last that it came to was "
            "all_reduce(sum) of float32[8,8] (look where it stands; "
            "init(collective_timeout=...) gives ranks more time)",
        ),
    ],
)
def test_a_rank_that_is_lost_fails_the_others_in_time(way, said_of_it, tmp_path):
    status, output, said = launch("failing", 3, tmp_path, way, 4, seconds=300)
    assert status != 0 or way == "hang"  # whose launcher may call that an end
    for rank in (said[0], said[2]):
        assert rank, output
        assert said_of_it in rank[0]["error"]
        assert rank[0]["seconds"] < 50


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_plate_in_parts_has_the_bits_of_the_whole(ranks, tmp_path):
    status, output, said = launch("heat", ranks, tmp_path)
    assert status == 0, output
    assert all(rank[0]["same"] for rank in said)


def test_mpich_runs_the_same_programs(tmp_path):
    launcher = [shutil.which("mpiexec.mpich") or "mpiexec.mpich", "-n", "2"]
    status, output, said = launch("heat", 2, tmp_path, launcher=launcher)
    assert status == 0, output
    assert all(rank[0]["same"] for rank in said)


def test_what_mpi_cannot_do_is_said(tmp_path):
    """Variables of torchrun alone, a library that is none, and one of another launcher."""
    here = [sys.executable, str(Path(__file__).parent / "programs" / "alone.py")]
    for environment, launcher, says in [
        ({"RANK": "0", "WORLD_SIZE": "2"}, [], "start the program by mpirun -n 2"),
        ({"RANK": "0", "WORLD_SIZE": "2"}, [], "NCCL between GPUs, which cannot be used here"),
        ({"SLURM_STEP_ID": "0", "SLURM_NTASKS": "3"}, [], "srun --mpi=pmix"),
        ({"WORLD_SIZE": "2", "RANK": "0", "FRAZIL_CUDA_PATH": str(FAKES)}, [],
         "set RANK, MASTER_ADDR and MASTER_PORT"),
        ({"FRAZIL_MPI_LIBRARY": "/no/such.so"}, mpirun(2), "no MPI library can be opened"),
        ({"FRAZIL_MPI_LIBRARY": "libm.so.6"}, mpirun(2), "it is no MPI library"),
        ({"PMI_SIZE": "2", "PMI_RANK": "0", "FRAZIL_MPI_LIBRARY": "libmpi.so.40"}, [],
         "they are of different MPIs"),
    ]:  # fmt: skip
        done = subprocess.run(
            [*launcher, *here], env=os.environ | environment, capture_output=True, text=True,
            check=False, timeout=300,
        )  # fmt: skip
        assert says in done.stdout, done.stdout + done.stderr


def is_running(process):
    """Not one that has ended and is not yet waited for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("seed", range(200 if os.environ.get("FRAZIL_NIGHTLY") else 4))
def test_faults_by_chance_are_told_in_time(seed, tmp_path):
    _, output, said = launch("faults", 3, tmp_path, seed, seconds=300)
    told = [rank[1] for rank in said if len(rank) > 1]
    # mpirun ends who is left when one rank has died, perhaps before it has told us.
    assert len(told) >= 2 or (told and "job has been aborted" in output), output
    for rank in told:
        assert f"rank {rank['victim']}" in rank["error"]
        assert rank["seconds"] < 25
    for _ in range(600):
        left = [rank[0]["process"] for rank in said if is_running(rank[0]["process"])]
        if not left:
            break
        time.sleep(0.1)
    assert not left


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_a_transformer_has_the_bits_of_one_process(ranks, tmp_path):
    steps = 20 if os.environ.get("FRAZIL_NIGHTLY") else 7
    status, output, said = launch("transformer", ranks, tmp_path, steps, seconds=300)
    assert status == 0, output
    for rank in said:
        assert len(rank[0]["differing"]) == 18
        assert set(rank[0]["differing"].values()) == {0}, rank[0]
        assert min(rank[0]["skipped"].values()) > 0, rank[0]  # by proof and by promise


def test_messages_that_take_long_are_hidden(tmp_path):
    """With a delay of 1 ms on each; bits do not depend on the buckets that this leads to."""
    status, output, said = launch(
        "overlap", 2, tmp_path, 64, 2, environment=delayed(tmp_path, 1000)
    )
    assert status == 0, output
    for (rank,) in said:
        overhead, latency, bandwidth = rank["link"]
        assert latency > 5e-4
        assert overhead < latency
        assert bandwidth > 0
        assert rank["bucket"] == said[0][0]["bucket"]
        assert rank["collectives"] > 1, "more buckets than the largest need"
        assert rank["communicating"] > 1e-3
        assert 0 <= rank["hidden"] <= 1
        assert rank["same"]
        one, two, thousand = rank["forecast"]
        assert one[2:] == [0, 1]
        assert two[2] < thousand[2]
        assert one[1] < thousand[1]
