"""The texts of products, updates and copies compiled by NVRTC (texts_test.cc)."""

import os
import re
import subprocess
import sysconfig
from pathlib import Path

import gpu
import pytest

from frazil import _frazil

pytestmark = pytest.mark.skipif(
    "san.so" in os.environ.get("LD_PRELOAD", ""), reason="NVRTC is not what sanitizers are for"
)


def test_texts_compile_without_warnings():
    """Every other text for one architecture or, with FRAZIL_NIGHTLY=1, every one for three."""
    program = Path(_frazil.__file__).resolve().parents[2] / "tests/cuda/cuda_texts"
    shards = len(os.sched_getaffinity(0))
    environment = gpu.without_fakes() | {
        "FRAZIL_SITE_PACKAGES": sysconfig.get_paths()["purelib"],
        "FRAZIL_SHARDS": str(shards),
    }
    processes = [
        subprocess.Popen(
            [program, "--gtest_brief=1"],
            env=environment | {"FRAZIL_SHARD": str(shard)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for shard in range(shards)
    ]
    texts = 0
    for process in processes:
        output = process.communicate()[0]
        assert process.returncode == 0, output[:20000]
        texts += int(re.search(r"^texts (\d+)$", output, re.MULTILINE)[1])
    assert texts >= (110 if os.environ.get("FRAZIL_NIGHTLY") == "1" else 55)
