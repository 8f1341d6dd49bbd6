"""Leaving the program while daemon threads compute: no abort, no hang, the program's own status.

The interpreter ends such a thread where it next wants the lock, or at its next Python statement.
Whatever of frazil's the thread stands in must bear it.
"""

import collections
import concurrent.futures
import os
import subprocess
import sys

import pytest

RUNS = 200 if os.environ.get("FRAZIL_NIGHTLY") else 8

# What a thread does for ever. Each has small and large work: the lock is let go in the latter.
WORK = """
import sys, threading
import numpy
import frazil as fz

x = fz.random.normal((64, 64))
large = fz.random.normal((300, 300))

def body(a):
    for _ in range(3):
        a = fz.tanh(a @ a) + 1
    return a.sum()

def eager():
    body(x), body(large), x.tolist()

traced_body = fz.trace(lambda a: (body(a), float(body(a)) > 0))
def traced():
    traced_body(x), traced_body(large)

pure_body = fz.trace(body, pure=True)
def pure():
    pure_body(x), pure_body(large)

def backward():
    w = fz.random.normal((64, 64)).requires_grad_()
    body(w @ x).backward()
    fz.value_and_grad(body)(large)

class Array:
    def __array__(self, dtype=None, copy=None):
        return numpy.full(8, sum(range(300)), dtype or "float32")

# Python under frazil's frames: the interpreter ends a thread there, too.
calling_body = fz.trace(lambda a: a * sum(range(300)) + fz.asarray(Array()))
def called_back():
    calling_body(fz.ones(8))

def forever(work, started):
    while True:
        work()
        started.set()

def start(*works):
    for work in works:
        started = threading.Event()
        threading.Thread(target=forever, args=(work, started), daemon=True).start()
        started.wait()
"""
ENDS = {
    "falls off": "",
    "exits": "sys.exit(0)",
    "computes last": "import atexit\natexit.register(lambda: body(large).item())",
}


def leave(code):
    argv = [sys.executable, "-c", WORK + code + "\n"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stderr


@pytest.mark.parametrize("end", ENDS)
def test_leaving_while_daemon_threads_compute(end):
    code = "start(eager, traced, pure, backward, called_back)\n" + ENDS[end]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        done = collections.Counter(pool.map(leave, [code] * RUNS))
    assert done == {(0, ""): RUNS}
