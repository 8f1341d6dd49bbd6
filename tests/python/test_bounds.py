"""What is kept is bounded: memory stays flat, limits are settings, no page is writable code."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import frazil as fz

NIGHTLY = bool(os.environ.get("FRAZIL_NIGHTLY"))
HERE = Path(__file__).parent


def run_child(source, **environment):
    child = subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    assert child.returncode == 0, child.stdout + child.stderr
    return child


# Every signature comes ten times in a row: recorded, planned, replayed.
FLAT = """
import sys
import frazil as fz
calls, signatures = int(sys.argv[1]), int(sys.argv[2])
f = fz.trace(lambda x, y: fz.exp(x) * y + 1 + x + y + x + y, proof=PROOF)  # enough to be replayed

def shape(s):
    return tuple(s // 3**k % 3 + 1 for k in range(11))

def memory():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

for i in range(calls):
    x = fz.ones(shape(i // 10 % signatures))
    f(x, x)
    if i == calls // 2:
        half = memory()
print(memory() - half, half)
assert f.stats()["skipped" if PROOF else "replayed"] > calls // 2
for cache, kept in fz.memory.caches().items():
    print(cache, kept, file=sys.stderr)
    if cache != "layouts":
        name = cache.removesuffix("s") if cache != "eager" else cache
        assert kept["entries"] <= fz.config()[name + "_entries"], cache
        assert kept["bytes"] <= fz.config()[name + "_bytes"], cache
"""


def growth(calls, signatures, proof, **environment):
    source = FLAT.replace("sys.argv[1]", str(calls)).replace("sys.argv[2]", str(signatures))
    source = source.replace("PROOF", str(proof))
    child = run_child(source, **environment)
    grown, half = map(int, child.stdout.split())
    return grown / 2**20, half / 2**20


@pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""),
    reason="the address sanitizer keeps what is freed for a while",
)
@pytest.mark.parametrize("proof", [False, True])
def test_memory_stays_flat(proof):
    limits = {"SEGMENT": 600, "PLAN": 200, "EAGER": 400, "KERNEL": 8, "PROMISE": 100}
    environment = {f"FRAZIL_{name}_ENTRIES": str(value) for name, value in limits.items()}
    grown, half = growth(40000, 4000, proof, FRAZIL_LAYOUT_ENTRIES="100", **environment)
    assert grown < 1.5, f"{grown} MiB more than the {half} MiB of half the calls"


@pytest.mark.skipif(not NIGHTLY, reason="a million calls")
@pytest.mark.parametrize("proof", [False, True])
def test_memory_stays_flat_over_a_million_calls(proof):
    grown, half = growth(1_000_000, 100_000, proof)
    assert grown < 0.1 * half, f"{grown} MiB more than the {half} MiB of half the calls"


def test_limits_are_settings():
    before = fz.config()["plan_entries"]
    try:
        assert fz.config(plan_entries=123)["plan_entries"] == 123
        assert fz.config()["plan_entries"] == 123
        assert "FRAZIL_PLAN_ENTRIES" in repr(fz.config())
    finally:
        fz.config(plan_entries=before)
    with pytest.raises(ValueError, match="plan_entries must be at least 1, got 0"):
        fz.config(plan_entries=0)
    with pytest.raises(ValueError, match="no setting 'jit' can be changed"):
        fz.config(jit=1)
    with pytest.raises(TypeError):
        fz.config(plan_entries="many")


def test_limits_from_the_environment():
    show = "import frazil as fz; print(fz.config()['plan_entries'])"
    assert run_child(show, FRAZIL_PLAN_ENTRIES="77").stdout == "77\n"


def test_eviction_under_threads():
    before = {name: fz.config()[name] for name in ("segment_entries", "plan_entries")}
    f = fz.trace(lambda x: (fz.exp(x) * 2 + x).sum(axis=0))
    inputs = [fz.ones((n + 1, 2)) * 0.5 for n in range(20)]
    want = [np.asarray(f.__wrapped__(x)).tobytes() for x in inputs]
    wrong = []

    def work(seed):
        for i in range(200):
            n = (i // 3 * 7 + seed) % 20
            if np.asarray(f(inputs[n])).tobytes() != want[n]:
                wrong.append(n)
            if seed == 0 and i % 50 == 0:
                f.clear(), f.explain()

    fz.config(segment_entries=20, plan_entries=4)
    try:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
    finally:
        fz.config(**before)
    assert not wrong


WORK = """
import frazil as fz
fz.random.seed(0)
x, w = fz.random.normal((33, 20)), fz.random.normal((20, 7))

def loss(w):
    h = fz.tanh(x @ w)
    return (fz.exp(h - h.max(axis=1, keepdims=True)).sum(axis=1) ** 2).mean()

step = fz.trace(lambda w: w - 0.1 * fz.grad(loss)(w))
for _ in range(4):
    w = step(w)
print(w.tolist(), fz.sort(x.flatten()).tolist() if hasattr(fz, "sort") else "")
"""


def test_no_page_is_writable_and_executable():
    check = """
rows = [line.split() for line in open("/proc/self/maps")]
assert any("x" in row[1] and "w" not in row[1] and len(row) > 5 and "memfd" in row[5]
           or "x" in row[1] and len(row) == 5 for row in rows), rows
bad = [row for row in rows if "w" in row[1] and "x" in row[1]]
assert not bad, bad
"""
    run_child(WORK + check)


def test_without_executable_memory():
    deny = (HERE / "no_exec.py").read_text() + "deny_executable_memory()\n"
    denied = run_child("import frazil\n" + deny + WORK)
    assert denied.stdout == run_child(WORK).stdout


def test_shared_caches_count_what_they_are_asked():
    before = fz.memory.caches()
    f = fz.trace(lambda x: fz.exp(x * 3.25) + 17.5)
    for n in (41, 42, 43):
        for _ in range(3):
            f(fz.ones(n))
    after = fz.memory.caches()
    assert after["kernels"]["hits"] > before["kernels"]["hits"]  # the sizes share a kernel
    assert after["kernels"]["misses"] > before["kernels"]["misses"]
    assert after["eager"]["misses"] > before["eager"]["misses"]
    bound = fz.config()["eager_entries"]
    try:
        fz.config(eager_entries=1)
        now = fz.memory.caches()["eager"]
    finally:
        fz.config(eager_entries=bound)
    assert now["entries"] == 1
    gone = after["eager"]["entries"] - 1
    assert now["evictions"] == after["eager"]["evictions"] + gone
