"""Training on GPUs by several ranks, against one process that accumulates; and a checkpoint."""

import sys

import numpy as np
from saying import say

import frazil as fz
from frazil import nn, optim

d = fz.distributed
d.init()
ME, N = d.rank(), d.size()


def model():
    net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
    random = np.random.default_rng(0)
    with fz.no_grad():
        for p in net.parameters():
            p[...] = fz.asarray(random.normal(size=p.shape).astype("float32") / 4)
    return net.to("cuda")


def batch(step, rank):
    random = np.random.default_rng(100 * step + rank)
    shapes = ((5, 6), (5, 3))
    return [fz.asarray(random.normal(size=s).astype("float32")).to_device("cuda") for s in shapes]


@fz.trace
def train(net, optimizer, x, y):
    optimizer.zero_grad()
    loss = nn.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
    return loss


one, many = model(), d.DataParallel(model())
alone, together = (optim.SGD(m.parameters(), lr=0.1) for m in (one, many))
for step in range(6):
    alone.zero_grad()
    for rank in range(N):
        x, y = batch(step, rank)
        nn.mse_loss(one(x), y).backward()
    with fz.no_grad():
        for p in one.parameters():
            p.grad = p.grad / N
    alone.step()
    train(many, together, *batch(step, ME))
differing = sum(
    int((a.detach().to_device("cpu") != b.detach().to_device("cpu")).sum())
    for a, b in zip(one.parameters(), many.parameters(), strict=True)
)
kept = d.Checkpoint(sys.argv[1], model=many, optimizer=together)
kept.save(6, loss=0.5)
want = [p.detach().tolist() for p in many.parameters()]
train(many, together, *batch(9, ME))
kept.restore()
restored = want == [p.detach().tolist() for p in many.parameters()]
say({"differing": differing, "restored": restored})
