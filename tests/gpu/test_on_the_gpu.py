"""All that needs a GPU: bits, training, compute-sanitizer, and times with a file of evidence."""

import glob
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import campaign
import numpy as np
import pytest
import timings
from test_cuda_training import trained

import frazil as fz

TINY = os.environ.get("FRAZIL_GPU_TINY") == "1"
TESTS = Path(__file__).resolve().parent.parent


def conformance(path, device, environment, every):
    argv = [sys.executable, TESTS / "conformance" / "worker.py", path, device, str(every), "0"]
    run = subprocess.run(argv, env=os.environ | environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]
    return pickle.loads(path.read_bytes())["results"]


def test_conformance(record, tmp_path):
    """Every case on the device and in the interpreter: no differing bit."""
    every = 300 if TINY else 1
    want = conformance(tmp_path / "cpu", "cpu", {"FRAZIL_JIT": "interp"}, every)
    got = conformance(tmp_path / "cuda", "cuda", {}, every)
    assert got.keys() == want.keys()
    differing = [name for name in got if not same_bits(*got[name], *want[name])]
    record.checks["conformance"] = f"{len(got)} cases, {len(differing)} differ"
    assert not differing, differing[:20]


def same_bits(got, got_type, want, want_type):
    def canonical(a):
        a = np.ascontiguousarray(a)
        return np.where(np.isnan(a), a.dtype.type(np.nan), a) if a.dtype.kind == "f" else a

    if (got_type, got.shape, got.dtype) != (want_type, want.shape, want.dtype):
        return False
    return canonical(got).tobytes() == canonical(want).tobytes()


def test_fuzz(record):
    """Random programs, eager and traced, against the CPU."""
    count = 8 if TINY else 2000
    programs, digests, ran, _, failures = campaign.generate(0, count, count, 3000)
    assert ran == count and not failures
    chosen = [i for i, program in enumerate(programs) if campaign.reaches_a_device(program)]
    programs, digests = [programs[i] for i in chosen], [digests[i] for i in chosen]
    found = []
    for mode in ("eager", "trace"):
        differing = campaign.compare(programs, digests, mode, {"FUZZ_DEVICE": "cuda"}, 3000, 1)
        found += [(program.seed, mode, why) for program, why in differing]
    record.checks["fuzz"] = f"{len(programs)} programs, eager and traced, {len(found)} differ"
    assert not found, found[:5]


def test_digits(record):
    """Training with exact products has the CPU's bits; with cuBLASLt it learns as well."""
    pytest.importorskip("sklearn")
    steps = 4 if TINY else 200
    want = trained("cpu", lambda f: f, steps)
    same = [trained("cuda", wrap, steps) == want for wrap in (lambda f: f, fz.trace)]
    eager, traced = (trained("cuda", wrap, steps, "default") for wrap in (lambda f: f, fz.trace))
    record.checks["digits, exact"] = f"{steps} steps, eager and traced as the CPU: {all(same)}"
    record.checks["digits, default"] = (
        f"last loss {eager[0][-1]:.6f} eager, {traced[0][-1]:.6f} traced, {want[0][-1]:.6f} exact"
    )
    assert all(same)
    for losses in (eager[0], traced[0]):
        np.testing.assert_allclose(losses[:4], want[0][:4], rtol=1e-4)
        assert losses[-1] < losses[0]


def sanitizer():
    found = sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer"))
    return shutil.which("compute-sanitizer") or (found[-1] if found else None)


@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "initcheck", "synccheck"])
def test_compute_sanitizer(record, tool):
    program = [sys.executable, Path(__file__).parent / "small_program.py"]
    path = None if "fake" in os.environ.get("FRAZIL_CUDA_PATH", "") else sanitizer()
    argv = [path, "--tool", tool, "--error-exitcode", "9"] if path else []
    run = subprocess.run([*argv, *program], capture_output=True, text=True)
    name = f"compute-sanitizer {tool}"
    if path:
        record.checks[name] = "no errors" if run.returncode == 0 else f"status {run.returncode}"
    else:
        record.checks[name] = "compute-sanitizer is missing: not run"
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    if not path:
        pytest.skip("compute-sanitizer is missing; the program itself has run")


def test_benchmark(record):
    record.benchmark = timings.Bench(TINY).run()
    assert all(row["us"] > 0 for row in record.benchmark)
