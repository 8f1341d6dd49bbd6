"""A step whose plan is kept for the next process, over NCCL or, without it, the CPU's memory."""

import ctypes
import os
from pathlib import Path

from saying import say

import frazil as fz

d = fz.distributed
d.init()
me, n = d.rank(), d.size()


@fz.trace
def step(x):
    for _ in range(4):
        x = fz.tanh(x * 1.5 + 0.25)
    y = d.all_reduce(x)
    return y * 2 + x, fz.exp(y)


x = fz.asarray([0.5 * (me + 1), -1.0, 0.25 * me])
want = step.__wrapped__(x)  # over the CPU's memory: the ranks' sums there
got = [step(x.to_device("cuda")) for _ in range(4)][-1]
same = [a.to_device("cpu").tolist() == b.tolist() for a, b in zip(got, want, strict=True)]
library = Path(os.environ["FRAZIL_CUDA_PATH"]) / "libnccl.so.2"
calls = 0
if library.exists():
    calls = ctypes.CDLL(str(library)).fake_nccl_count(b"ncclAllGather")
say({"same": same, "calls": calls})
