"""One rank does wrong in a way of its own, over NCCL: what do the others say, and when?"""

import ctypes
import os
import signal
import sys
import time

from saying import say

import frazil as fz

way = sys.argv[1]
d = fz.distributed
d.init(timeout=4 if way == "stop" else 60)
me, n = d.rank(), d.size()
fake = ctypes.CDLL(os.path.join(os.environ["FRAZIL_CUDA_PATH"], "libnccl.so.2"))


@fz.trace
def step(x):
    return d.all_reduce(x * 2) + 1


if way == "init" and me == 1:
    fake.fake_nccl_fail(b"ncclCommInitRankConfig", 1, 5)
begin = time.monotonic()
try:
    x = fz.ones(4, device="cuda")
    for _ in range(3):
        step(x).tolist()
    begin = time.monotonic()
    if me == 1 and way in ("kill", "stop", "raise", "leave"):
        say("here")
        if way == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if way == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if way == "leave":
            sys.exit(0)
    if me == 1 and way == "async":
        fake.fake_nccl_break(6)
    if me == 1 and way == "call":
        fake.fake_nccl_fail(b"ncclAllGather", 1, 3)
    if way == "shapes":
        y = d.all_reduce(fz.ones(3 + me, device="cuda"))
    elif way == "large":
        y = d.all_reduce(fz.ones(60_000 + me, device="cuda"))
    elif way == "kinds":
        x = fz.ones(3, device="cuda")
        y = d.all_gather(x) if me == 1 else d.all_reduce(x)
    elif way == "roots":
        y = d.broadcast(fz.ones(3, device="cuda"), me)
    elif way == "native":
        with fz.precision("native" if me else "default"):
            y = d.all_reduce(fz.ones(3, device="cuda"))
    elif way == "raise" and me == 1:
        raise KeyError("of its own")
    else:
        y = step(x)
    for _ in range(1000 if way == "async" else 0):  # until the watch has looked
        step(x).tolist()
        time.sleep(0.01)
    value = y.tolist()
    if way in ("shapes", "large", "kinds", "roots", "native"):
        # What each sends the other may do for both: rank 0 has yet to compare the calls.
        time.sleep(1)
        d.all_reduce(fz.ones(2, device="cuda")).tolist()
    say({"error": None, "value": value})
except RuntimeError as e:
    say({"error": str(e), "seconds": time.monotonic() - begin})
    try:
        d.all_reduce(fz.ones(2, device="cuda")).tolist()
    except RuntimeError as again:
        say({"error": str(again), "seconds": time.monotonic() - begin})
