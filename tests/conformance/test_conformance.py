"""Every row of the op table on every executor: against NumPy within the row's bound, and against the interpreter
with no differing bit."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cases
import numpy as np
import pytest

from frazil import _frazil

HERE = Path(__file__).parent
FAKES = HERE.parents[1] / "build" / "tests" / "cuda" / "fake"
EXECUTORS = {
    "interp": {"FRAZIL_JIT": "interp"},
    "avx2": {"FRAZIL_JIT": "on", "FRAZIL_ISA": "avx2"},
    "avx512": {"FRAZIL_JIT": "on", "FRAZIL_ISA": "avx512"},
    "npu": {"FRAZIL_NPU_CHECK": "1", "FRAZIL_VERIFY": "1"},
    "edge": {"FRAZIL_NPU_CHECK": "1", "FRAZIL_VERIFY": "1", "FRAZIL_NPU_PRESET": "edge16"},
    # The fake driver of tests/cuda/fake; each kernel is compiled.
    "cuda": {
        "FRAZIL_CUDA_PATH": os.environ.get("FRAZIL_FAKE_CUDA", str(FAKES)),
        "FRAZIL_CUDA_GENERIC": "never",
        "FRAZIL_CACHE_DIR": "none",
        "FAKE_CUDA_ORDER": "lazy",
    },
}
NPUS = ("npu", "edge")
DEVICES = {name: "npu" for name in NPUS} | {"cuda": "cuda"}
# The host's compiler takes a while for each kernel of the fake driver: of how many cases one runs.
SAMPLE = {"cuda": 1 if os.environ.get("FRAZIL_NIGHTLY") else 24}
MANTISSA = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
TINY = {"float16": -24, "bfloat16": -133, "float32": -149, "float64": -1074}


def has_avx512():
    with open("/proc/cpuinfo") as f:
        return "avx512vl" in f.read()


def run_worker(path, executor, shard):
    """What worker.py says of one executor, which runs in a process of its own."""
    run = subprocess.run(
        [sys.executable, HERE / "worker.py", path, DEVICES.get(executor, "cpu"), *map(str, shard)],
        env=os.environ | EXECUTORS[executor],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, f"{executor}: {run.stderr[-3000:]}"
    return pickle.loads(path.read_bytes())


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """What each executor says."""
    out = {}
    for name in EXECUTORS:
        if name == "avx512" and not has_avx512():
            continue
        folder = tmp_path_factory.mktemp("conformance")
        shards = len(os.sched_getaffinity(0)) if name in SAMPLE else 1
        every = SAMPLE.get(name, 1)
        work = [(folder / str(i), name, (every * shards, every * i)) for i in range(shards)]
        with ThreadPoolExecutor(shards) as pool:
            parts = list(pool.map(lambda args: run_worker(*args), work))
        out[name] = {
            key: {case: said for part in parts for case, said in part[key].items()}
            for key in ("results", "fallbacks")
        }
    return out


@pytest.fixture(scope="session")
def results(runs):
    """{executor: {case: (array, dtype)}}"""
    return {name: run["results"] for name, run in runs.items()}


def bits(array):
    a = np.ascontiguousarray(array)
    if a.dtype.kind == "f":
        a = np.where(np.isnan(a), a.dtype.type(np.nan), a)
    return a.view(np.uint8) if a.ndim else a.reshape(1).view(np.uint8)


def ulps(got, want, dtype, scale=None):
    """Distance in units of the last place of `want` (or of `scale`) in dtype; infinities and NaN must agree."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.longdouble)
    with np.errstate(all="ignore"):
        rounded = (
            want.astype(np.float64)
            if dtype in ("float64", "bfloat16")
            else want.astype(dtype).astype(np.float64)
        )
        if dtype == "bfloat16":
            rounded = np.where(np.abs(want) > 3.3961775e38, np.copysign(np.inf, want), want).astype(
                np.float64
            )
        same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        size = np.abs(want) if scale is None else np.maximum(np.abs(want), scale)
        exponent = np.frexp(size.astype(np.float64))[1] - 1
        unit = np.ldexp(1.0, np.maximum(exponent - MANTISSA[dtype], TINY[dtype]))
        distance = np.abs((got - want).astype(np.float64)) / unit
    return np.where(same, 0, np.where(np.isfinite(distance), distance, np.inf))


CASES = {c.name: c for c in cases.all_cases(_frazil.op_table())}


def test_every_row_has_cases():
    assert {c.row for c in CASES.values()} == {row["name"] for row in _frazil.op_table()}


# What the NPU computes itself in each dtype that it has, wherever no operand runs backwards.
ON_THE_NPU = set(
    """
    negative abs sign exp expm1 log log1p atan tanh erf sqrt floor ceil trunc round isnan isinf
    isfinite bitwise_invert copy add subtract multiply divide floor_divide remainder maximum minimum
    equal not_equal less less_equal greater greater_equal bitwise_and bitwise_or bitwise_xor
    bitwise_left_shift bitwise_right_shift where max min reshape permute_dims broadcast_to slice
    concat pad to_device
""".split()
)
NPU_DTYPES = {"bool", "int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32"}


@pytest.mark.parametrize("executor", NPUS)
def test_what_the_npu_computes_itself(runs, executor):
    """A list, so that a kernel that moves to the CPU does not go unnoticed."""
    fallbacks = runs[executor]["fallbacks"]
    ran = set()
    for case in CASES.values():
        if case.row not in ON_THE_NPU or not {case.dtype, *case.dtypes} <= NPU_DTYPES:
            continue
        why = fallbacks.get(case.name, "")
        assert not why or "runs backwards" in why, f"{case.name}: {why}"
        if not why:
            ran.add(case.row)
    assert ran == ON_THE_NPU
    sums = [c for c in CASES.values() if c.row in ("sum", "matmul") and c.dtype == "float32"]
    assert sum(c.name not in fallbacks for c in sums) > len(sums) // 2


@pytest.mark.parametrize("row", sorted({c.row for c in CASES.values()}))
def test_against_numpy(results, row):
    ran = 0
    for case in CASES.values():
        if case.row != row or case.reference is None:
            continue
        arrays = [cases.view(np.asarray(a), case.layout) for a in case.inputs]
        with np.errstate(all="ignore"):
            want = np.asarray(case.reference(*arrays))
        got, dtype = results["interp"][case.name]
        assert got.shape == want.shape, f"{case.name}: shape {got.shape}, expected {want.shape}"
        ran += 1
        if dtype not in MANTISSA:
            np.testing.assert_array_equal(got, want, err_msg=case.name)
            continue
        # One rounding of the exact result is half a unit away from it.
        scale = case.scale(*arrays) if case.scale else None
        worst = ulps(got, want, dtype, scale).max(initial=0)
        bound = max(case.ulp, 0.5) + (0.5 if dtype in ("float16", "bfloat16") else 0)
        assert worst <= bound, f"{case.name}: {worst} ulp, bound {bound}"
    assert ran > 0


@pytest.mark.parametrize("row", sorted({c.row for c in CASES.values()}))
@pytest.mark.parametrize("executor", [e for e in EXECUTORS if e != "interp"])
def test_same_bits(results, executor, row):
    if executor not in results:
        pytest.skip(f"this processor has no {executor}")
    ran = 0
    for case in CASES.values():
        if case.row != row or (executor in SAMPLE and case.name not in results[executor]):
            continue
        (got, got_type), (want, want_type) = (
            results[executor][case.name],
            results["interp"][case.name],
        )
        assert got_type == want_type and got.shape == want.shape, case.name
        differing = int((bits(got) != bits(want)).sum())
        assert differing == 0, f"{case.name}: {differing} differing bytes on {executor}"
        ran += 1
    assert ran > 0
