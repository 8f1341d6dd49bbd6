"""Traced calls that end in MemoryError: what arguments hold afterwards, and what is kept."""

import subprocess
import sys

import pytest

# A step that writes to its argument and cannot do with 8 MiB: its products take 64 MiB each. The
# argument is left with a value that needs them. KIND: how it is traced; CALLS: before memory ends.
START = """
import frazil as fz

N, MIB = 1 << 18, 1 << 20

def body(x, w):
    x += 1
    big = (x.reshape(-1, 1) @ w) @ fz.ones((64, 64))
    x += big[:, 3] * 0
    return x * 2

step = {{"trace": fz.trace(body), "pure": fz.trace(body, pure=True)}}["{kind}"]
w = fz.zeros((1, 64))
for _ in range({calls}):
    step(fz.ones(N), w)
skipped = step.stats()["skipped"]
x = fz.ones(N)

def live():
    return fz.memory.stats()["live_bytes"]

def fails(f):
    try:
        f()
    except MemoryError:
        return True
    return False

base = live()
fz.config(memory_bytes=base + 8 * MIB)
assert fails(lambda: step(x, w))
"""

READ_LATER = """
# x holds what it needs to become 2.0, and 1.0: not what was made on the way.
for _ in range(3):
    assert live() - base < 4096, live() - base
    assert fails(lambda: x[0].item())
fz.config(memory_bytes=0)
assert x.tolist() == [2.0] * N
assert live() - base < 4096, live() - base
assert step(x, w)[0].item() == 6.0 and x[0].item() == 3.0
"""

DROPPED = """
del x
assert base - live() > MIB - 4096, (base, live())
fz.config(memory_bytes=0)
"""

# Nobody asks for statistics: the memory is there when an array needs it.
TAKEN = """
del x
fz.config(memory_bytes=base + MIB // 2)
y = fz.zeros(N)
fz.config(memory_bytes=0)
"""

SKIPPED = """
del x
fz.config(memory_bytes=0)
for _ in range(3):
    assert step(fz.ones(N), w)[0].item() == 4.0
assert not skipped or step.stats()["skipped"] - skipped == 3
assert base - live() > MIB - 4096, (base, live())
"""


@pytest.mark.parametrize("end", [READ_LATER, DROPPED, TAKEN, SKIPPED])
@pytest.mark.parametrize("calls", [1, 2, 6])
@pytest.mark.parametrize("kind", ["trace", "pure"])
def test_nothing_is_lost_and_nothing_kept(kind, calls, end):
    code = START.format(kind=kind, calls=calls) + end
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


# What was computed before memory ended needs nothing any more: the session is not kept.
READY = """
import frazil as fz

N, MIB = 1 << 18, 1 << 20

@fz.trace
def step(x):
    x += 1
    return fz.sort(fz.broadcast_to(x.reshape(1, -1), (64, N)) * 2.0, axis=1)

for _ in range(3):
    step(fz.ones(N))
x = fz.ones(N)
base = fz.memory.stats()["live_bytes"]
fz.config(memory_bytes=base + 8 * MIB)
try:
    step(x)
    raise AssertionError
except MemoryError:
    pass
assert fz.memory.stats()["live_bytes"] == base
assert x.tolist() == [2.0] * N
"""


def test_what_is_ready_keeps_nothing():
    run = subprocess.run([sys.executable, "-c", READY], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


# The body goes on: what was computed before memory ended is not a later call's result.
CAUGHT = """
import frazil as fz

N, MIB = 1 << 10, 1 << 20

@fz.trace
def step(x, w, short):
    a, b = x + 1, x * 2
    big = (x.reshape(-1, 1) @ w) @ w.T
    fz.config(memory_bytes=short)
    try:
        big[0, 0].item()
        assert not short
    except MemoryError:
        assert short
        del a
    fz.config(memory_bytes=0)
    assert big[0, 0].item() == 4096
    c = x * 3
    return c + b

x, w = fz.ones(N), fz.ones((1, 4096))
for i in range(8):
    short = fz.memory.stats()["live_bytes"] + MIB if i % 4 == 3 else 0
    assert step(x, w, short).tolist() == [5.0] * N, i
"""


def test_a_body_that_catches_it_goes_on():
    run = subprocess.run([sys.executable, "-c", CAUGHT], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
