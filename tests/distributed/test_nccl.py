"""Collectives between GPUs, over fake CUDA and fake NCCL libraries (tests/cuda/fake)."""

import os
import socket
from pathlib import Path

import pytest
from launch import launch, mpirun, torchrun

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
FAKES = Path(os.environ.get("FRAZIL_FAKE_CUDA", ROOT / "build" / "tests" / "cuda" / "fake"))


def fakes(folder, order="eager"):
    return {
        "FRAZIL_CUDA_PATH": str(FAKES), "FAKE_NCCL_FOLDER": str(folder), "FAKE_CUDA_ORDER": order,
        "FRAZIL_CACHE_DIR": str(folder), "FAKE_CUDA_DEVICES": "2", "FRAZIL_CUDA_GENERIC": "never",
        "FRAZIL_DISK_CACHE": "off",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("ranks", "order", "by"),
    [
        (1, "eager", "mpirun"),
        (2, "lazy", "mpirun"),
        (2, "random:1", "torchrun"),
        (3, "eager", "torchrun"),
    ],
)
def test_collectives_of_gpus_have_the_bits_of_one_process(ranks, order, by, tmp_path):
    launcher = torchrun() if by == "torchrun" else mpirun(ranks)
    status, output, said = launch(
        "nccl", ranks, tmp_path, launcher=launcher, environment=fakes(tmp_path, order)
    )
    assert status == 0, output
    for rank, told in enumerate(said):
        assert told[-1]["failures"] == []
        assert told[-1]["checked"] > 200
        assert told[-1]["local_rank"] == rank


@pytest.mark.parametrize(
    ("way", "mine", "its", "by"),
    [
        ("shapes", "all_reduce(sum) of float32[3]", "all_reduce(sum) of float32[4]", "mpirun"),
        ("large", "all_reduce(sum) of float32[60000]", "all_reduce(sum) of float32[60001]",
         "torchrun"),
        ("kinds", "all_reduce(sum) of float32[3]", "all_gather of float32[3]", "torchrun"),
        ("roots", "broadcast of float32[3] with root 0", "broadcast of float32[3] with root 1",
         "torchrun"),
        ("native", "all_reduce(sum) of float32[3]", "all_reduce(native sum) of float32[3]",
         "mpirun"),
    ],
)  # fmt: skip
def test_ranks_that_disagree_get_both_calls(way, mine, its, by, tmp_path):
    launcher = torchrun() if by == "torchrun" else mpirun(2)
    _, output, said = launch(
        "nccl_failing", 2, tmp_path, way, launcher=launcher, environment=fakes(tmp_path)
    )
    for rank in said:
        error = rank[0]["error"]
        assert f"rank 0 calls {mine} where rank 1 calls {its}" in error, output
        assert rank[1]["error"], "a failed world stays failed"


@pytest.mark.parametrize(
    ("way", "said_of_it", "order"),
    [
        ("kill", "rank 1 has died", "eager"),
        ("kill", "rank 1 has died", "lazy"),
        ("stop", "rank 1 has given no sign of life for 4 s", "lazy"),
        ("raise", "rank 1 raised KeyError: 'of its own'", "eager"),
        ("leave", "rank 1, whose program has ended without it", "lazy"),
        ("async", ": remote process exited or there was a network error", "eager"),
        ("call", "rank 1 failed in ncclAllGather: internal error", "lazy"),
        ("init", "rank 1 failed in ncclCommInitRankConfig: invalid usage", "eager"),
    ],
)
def test_a_rank_that_is_lost_fails_the_others_in_time(way, said_of_it, order, tmp_path):
    _, output, said = launch(
        "nccl_failing", 3, tmp_path, way, launcher=torchrun(),
        environment=fakes(tmp_path, order),
    )  # fmt: skip
    for rank in (said[0], said[2]):
        assert rank, output
        assert said_of_it in rank[0]["error"]
        assert "rank 1" in rank[0]["error"]
        assert rank[0]["seconds"] < 50
        assert rank[1]["error"]
    if way == "init":
        assert "needs a GPU of its own" in said[1][0]["error"]


def test_other_jobs_and_strangers_on_the_port_are_passed(tmp_path):
    """Something else listens where the ranks should meet: torchrun's own store, or another job."""
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        launcher = torchrun(port=stranger.getsockname()[1])
        status, output, said = launch(
            "alone_nccl", 2, tmp_path, launcher=launcher, environment=fakes(tmp_path)
        )
    assert status == 0, output
    assert [told[0]["sum"] for told in said] == [[3.0, 3.0], [3.0, 3.0]]


def test_slurm_without_pmi_meets_by_its_own_variables(tmp_path):
    """Two ranks by SLURM's variables alone, with NCCL; without NCCL the way out is srun --mpi."""

    def variables(rank):
        return {
            "SLURM_STEP_ID": "0", "SLURM_JOB_ID": str(os.getpid() % 700), "SLURM_NTASKS": "2",
            "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank),
            "SLURM_STEP_NODELIST": "localhost",
        }  # fmt: skip

    status, output, said = launch(
        "alone_nccl", 2, tmp_path, launcher=torchrun(variables), environment=fakes(tmp_path)
    )
    assert status == 0, output
    assert [told[0]["sum"] for told in said] == [[3.0, 3.0], [3.0, 3.0]]
    assert [told[0]["local_rank"] for told in said] == [0, 1]


def test_training_and_checkpoints_over_nccl_alone(tmp_path):
    """DataParallel on GPUs has the bits of one process; what is on the CPU travels, too."""
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    status, output, said = launch(
        "nccl_training", 2, tmp_path, str(tmp_path / "kept"), launcher=torchrun(),
        environment=fakes(tmp_path) | {"FRAZIL_DUMP": str(dumps)},
    )  # fmt: skip
    assert status == 0, output
    for rank in said:
        assert rank[0] == {"differing": 0, "restored": True}
    plans = "".join(path.read_text() for path in dumps.rglob("*.txt"))
    assert "nccl start all_reduce(sum) of float32" in plans, "kernels run beside gradients' sums"
    assert "step nccl wait" in plans


def test_a_kept_plan_is_of_a_world_with_the_same_ways(tmp_path):
    """Without NCCL tensors of GPUs travel through the CPU; a later process that has it uses it."""
    without = tmp_path / "without"
    without.mkdir()
    for library in ("libcuda.so.1", "libnvrtc.so.12", "libcublasLt.so.12"):
        (without / library).symlink_to(FAKES / library)
    for folder, nccl in ((without, False), (FAKES, True)):
        environment = {
            **fakes(tmp_path), "FRAZIL_CUDA_PATH": str(folder), "FRAZIL_DISK_CACHE": "on",
        }  # fmt: skip
        said_in = tmp_path / f"said {len(list(tmp_path.iterdir()))}"
        said_in.mkdir()
        status, output, said = launch("nccl_kept", 2, said_in, environment=environment)
        assert status == 0, output
        for rank in said:
            assert rank[0]["same"] == [True, True]
            assert (rank[0]["calls"] >= 4) == nccl
