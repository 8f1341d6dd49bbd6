"""A fault by chance: in one rank, of one kind, at a moment of its own, while all sum arrays.

Says the number of the process first, and what the others were told.
"""

import os
import random
import resource
import signal
import sys
import threading
import time

from saying import say

import frazil as fz

d = fz.distributed
d.init(timeout=4, collective_timeout=4)
say({"process": os.getpid()})
chance = random.Random(int(sys.argv[1]))
victim, delay = chance.randrange(d.size()), chance.uniform(0, 0.3)
way = chance.choice(["kill", "stop", "raise", "exit", "hang", "memory"])
size = chance.choice([10, 3000, 100_000, 3_000_000])


def fire():
    time.sleep(delay)
    os.kill(os.getpid(), signal.SIGKILL if way == "kill" else signal.SIGSTOP)


if d.rank() == victim and way in ("kill", "stop"):
    threading.Thread(target=fire, daemon=True).start()


@fz.trace
def step(x, w):
    return d.all_reduce(fz.tanh(x) * w) * 0.1


x, w = fz.ones(size), fz.ones(size)
begin = time.monotonic()
try:
    while time.monotonic() - begin < 30:
        x = step(x, w)
        if d.rank() == victim and time.monotonic() - begin > delay:
            if way == "raise":
                raise KeyError("mine")
            if way == "exit":
                sys.exit(0)
            if way == "hang":
                time.sleep(60)
            if way == "memory":
                resource.setrlimit(resource.RLIMIT_AS, (1 << 20, resource.RLIM_INFINITY))
                x = fz.ones(1 << 28)
    say({"error": ""})
except RuntimeError as e:
    if d.rank() == victim and way != "stop":
        raise
    say({"error": str(e), "victim": victim, "seconds": time.monotonic() - begin - delay})
