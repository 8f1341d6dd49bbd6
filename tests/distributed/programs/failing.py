"""One rank does wrong in a way of its own: what do the others say, and when?"""

import os
import signal
import sys
import time

from saying import say

import frazil as fz

way = sys.argv[1]
d = fz.distributed
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60
# What is told without waiting is told in time on a busy machine, too.
d.init(
    timeout=seconds if way == "stop" else 60, collective_timeout=seconds if way == "hang" else 1800
)
me, n = d.rank(), d.size()


@fz.trace
def step(x):
    return d.all_reduce(x * 2) + 1


@fz.trace
def loop(x):
    """A loop whose body begins a collective, computes, and waits for it."""

    def body(_, x):
        y = d.all_reduce(x)
        z = x
        for _ in range(4):
            z = fz.tanh(z @ z)
        return y * 0.5 + z

    return fz.fori_loop(0, 40, body, x)


begin = time.monotonic()
try:  # the others may hear of it before they are through with the first calls
    for _ in range(3):
        step(fz.ones(4))
        loop(fz.ones(8, 8))
    begin = time.monotonic()
    if me == 1 and way in ("kill", "stop", "raise", "leave", "hang", "loop"):
        say("here")
        if way == "hang":
            time.sleep(60)
        if way in ("kill", "loop"):
            os.kill(os.getpid(), signal.SIGKILL)
        if way == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if way == "raise":
            raise ValueError("of its own")
        sys.exit(0)
    if way == "kinds":
        y = d.all_gather(fz.ones(3)) if me == 1 else d.all_reduce(fz.ones(3))
    elif way == "shapes":
        y = d.all_reduce(fz.ones(3 + me))
    elif way == "large":
        y = d.all_reduce(fz.ones(30_000 + me))
    elif way == "dtypes":
        y = d.all_reduce(fz.ones(3, dtype="float64" if me else "float32"))
    elif way == "ops":
        y = d.all_reduce(fz.ones(3), "min" if me else "max")
    elif way == "roots":
        y = d.broadcast(fz.ones(3), me)
    elif way == "both receive":
        y = d.recv(fz.ones(3), 1 - me)
    elif way == "traced":
        y = fz.trace(lambda x: d.all_reduce(x[: 2 + me]) + 1)(fz.ones(4))
    elif way == "loop":
        y = loop(fz.ones(8, 8))
    else:
        y = step(fz.ones(4)) if way != "kill" else step(fz.ones(1 << 20))
    say({"error": None, "value": repr(y)})
except RuntimeError as e:
    say({"error": str(e), "seconds": time.monotonic() - begin})
    try:
        d.barrier()
    except RuntimeError as again:
        say({"error": str(again), "seconds": time.monotonic() - begin})
