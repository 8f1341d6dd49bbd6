"""The suite for machines with a GPU (tests/gpu), run on the fake one with small sizes."""

import json
import os
import subprocess
import sys

import gpu


def run_suite(**environment):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", gpu.ROOT / "tests" / "gpu"],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


def test_it_runs_and_writes_evidence(tmp_path):
    run = run_suite(FRAZIL_GPU_TINY="1", FRAZIL_EVIDENCE=str(tmp_path))
    assert run.returncode == 0, run.stdout[-6000:]
    (path,) = tmp_path.glob("*.json")
    found = json.loads(path.read_text())
    assert found["machine"]["device"]["name"] == "Fake GPU 0" and found["failed"] == 0
    assert found["checks"]["conformance"].endswith(" cases, 0 differ")
    assert found["checks"]["fuzz"].endswith(" 0 differ")
    assert found["checks"]["digits, exact"].endswith(": True")
    names = " ".join(row["name"] for row in found["benchmark"])
    for part in ("copy", "pointwise", "softmax", "layer norm", "30 small", "matmul", "transformer"):
        assert part in names
    text = path.with_suffix(".md").read_text()
    assert text in run.stdout and "| conformance |" in text and "matmul of 64, tf32" in text


def test_a_machine_without_a_gpu(tmp_path):
    run = run_suite(FAKE_CUDA_DEVICES="0", FRAZIL_EVIDENCE=str(tmp_path))
    assert run.returncode == 1
    assert "`./dev test gpu` needs an NVIDIA GPU: [cuda] the driver finds no GPU" in run.stdout
    assert "1 failed" in run.stdout and not list(tmp_path.iterdir())
