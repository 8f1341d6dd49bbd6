"""Every kernel that the conformance table, the gradient rules, the fuzzer and the goldens make:
compiled by NVRTC, and run on the host against the interpreter (corpus_test.cc). A sample of them,
each for one architecture; with FRAZIL_NIGHTLY=1 all, each for three."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import gpu
import pytest

from frazil import _frazil

TESTS = Path(__file__).resolve().parent.parent
NIGHTLY = os.environ.get("FRAZIL_NIGHTLY") == "1"
SAMPLE = 1 if NIGHTLY else 8
SHARE = 1 if NIGHTLY else 12  # of the gradients' cases (tests/gradients/conftest.py)
PROGRAMS = 200 if NIGHTLY else 60


pytestmark = pytest.mark.skipif(
    "san.so" in os.environ.get("LD_PRELOAD", ""), reason="NVRTC is not what sanitizers are for"
)


def corpus_program():
    """Beside the extension in the build directory."""
    extension = Path(_frazil.__file__).resolve()
    return extension.parents[2] / "tests/cuda/cuda_corpus"


def makers(folder):
    """Commands that make kernels, and where they run."""
    python = sys.executable
    yield TESTS / "conformance", [python, "worker.py", folder / "results", "cpu"]
    yield (
        TESTS / "fuzz",
        [python, "worker.py", "generate", "0", str(PROGRAMS), folder / "programs"],
    )
    yield (
        TESTS / "gradients",
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
    )


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    kernels = folder / "kernels"
    kernels.mkdir()
    for path in (TESTS / "jit/goldens").glob("*.kir"):
        (kernels / path.name).write_bytes(path.read_bytes())
    for where, argv in makers(folder):
        run = subprocess.run(
            argv,
            cwd=where,
            env=os.environ | {"FRAZIL_KERNELS": str(kernels), "FRAZIL_GRADIENTS_SHARE": str(SHARE)},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    return kernels


def test_corpus(corpus, capsys):
    made = len(list(corpus.iterdir()))
    assert made > (3000 if NIGHTLY else 1500)
    shards = len(os.sched_getaffinity(0))
    environment = gpu.without_fakes() | {
        "FRAZIL_CORPUS": str(corpus),
        "FRAZIL_CORPUS_SAMPLE": str(SAMPLE),
        "FRAZIL_SITE_PACKAGES": sysconfig.get_paths()["purelib"],
    }
    processes = [
        subprocess.Popen(
            [corpus_program(), "--gtest_brief=1"],
            env=environment | {"FRAZIL_CORPUS_SHARD": f"{shard}/{shards}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for shard in range(shards)
    ]
    sums = {}
    for process in processes:
        text = process.communicate()[0]
        assert process.returncode == 0, text[:20000]
        for key, value in re.findall(r"^corpus (\w+) ([\d.]+)$", text, re.MULTILINE):
            sums.setdefault(key, []).append(float(value))
    kernels, compiled = sum(sums["kernels"]), sum(sums["compiled"])
    with capsys.disabled():
        print(
            f"\n{kernels:.0f} of {made} kernels: {compiled:.0f} functions compiled for "
            f"{'three architectures' if NIGHTLY else 'one architecture of three'} "
            f"in {max(sums['compile_seconds']):.0f} s, "
            f"{sum(sums['registers']) / compiled:.0f} registers on average, at most "
            f"{max(sums['most_registers']):.0f}, {sum(sums['spilling']):.0f} with local memory "
            f"(none without a loop); {sum(sums['texts']):.0f} texts of {sum(sums['ran']):.0f} "
            f"kernels run in {max(sums['run_seconds']):.0f} s"
        )
    assert kernels >= (1000 if NIGHTLY else 300)
    assert sum(sums["ran"]) >= (900 if NIGHTLY else 270)
