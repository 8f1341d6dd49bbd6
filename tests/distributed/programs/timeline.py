"""A training step and a collective outside of it, in a timeline."""

import sys

from saying import say

import frazil as fz
from frazil import nn, optim

d = fz.distributed
d.init()
model = d.DataParallel(nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4)), bucket_bytes=64)
optimizer = optim.SGD(model.parameters(), lr=0.1)


@fz.trace
def step(x):
    loss = (model(x) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


x = fz.ones(4, 16)
for _ in range(4):
    step(x)
with d.trace(sys.argv[1]) as taken:
    step(x)
    d.all_reduce(fz.ones(6, dtype="float64"))
say({"seconds": taken.seconds})
try:
    with d.trace(sys.argv[1] + ".not"):
        raise KeyError("mine")
except KeyError:
    say({"raised": True})
try:
    with d.trace("/no/such/folder/timeline.json"):
        pass
except OSError as e:
    say({"error": str(e)})
