"""The same tests while kernels run on the generic one, and whenever their own are compiled."""

import os
import subprocess
import sys
from pathlib import Path

import gpu
import pytest

HERE = Path(__file__).parent


FILES = ("values", "autograd", "training", "writes")
# Values do not depend on when kernels come; what is in flight when they come does.
BY_DAY = {"always": ("values", "autograd"), "auto": ("training", "writes")}


@pytest.mark.parametrize("use", BY_DAY)
def test_generic(use):
    names = FILES if os.environ.get("FRAZIL_NIGHTLY") else BY_DAY[use]
    files = [HERE / f"test_cuda_{name}.py" for name in names]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *files],
        env=os.environ | {"FRAZIL_CUDA_GENERIC": use},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-6000:]


def test_what_runs_on_the_generic_kernel_is_counted():
    source = """
    x = gpu.randn(20, 30).to_device("cuda")
    for i in range(3):
        (fz.exp(x) * 2 + i).tolist()
    print(fz.cuda.compile_stats()["generic_launches"] > 0)
    """
    assert gpu.process(source, FRAZIL_CUDA_GENERIC="always", FRAZIL_CACHE_DIR="none") == "True"
    assert gpu.process(source, FRAZIL_CUDA_GENERIC="never", FRAZIL_CACHE_DIR="none") == "False"
