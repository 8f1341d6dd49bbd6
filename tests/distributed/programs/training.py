"""Digits on all ranks against one process that accumulates the parts' gradients in order."""

import numpy as np
from saying import say

import frazil as fz
from frazil import nn, optim

d = fz.distributed
d.init()
ME, N = d.rank(), d.size()
STEPS, PART = 8, 16


def data():
    random = np.random.default_rng(3)
    x = random.normal(size=(STEPS * N * PART, 64)).astype(np.float32)
    return fz.asarray(x), fz.asarray(np.argmax(x[:, :10], axis=1))


def make():
    fz.random.seed(1)
    return nn.Sequential(
        nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 32), nn.Tanh(), nn.Linear(32, 10)
    )


def step(model, optimizer, x, y):
    loss = nn.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def alone(optimizer_of):
    """The same batches, part after part."""
    model = make()
    optimizer = optimizer_of(model.parameters())
    x, y = data()
    for i in range(STEPS):
        optimizer.zero_grad()
        for r in range(N):
            rows = slice((i * N + r) * PART, (i * N + r + 1) * PART)
            nn.cross_entropy(model(x[rows]), y[rows]).backward()
        for p in model.parameters():
            p.grad = p.grad / N
        optimizer.step()
    return model


def together(optimizer_of, wrap, bucket_bytes):
    if ME > 0:
        fz.random.seed(100 + ME)
    own = make()
    if ME > 0:  # what rank 0 has counts
        with fz.no_grad():
            for p in own.parameters():
                p[...] = p.detach() * 0
    model = d.DataParallel(own, bucket_bytes=bucket_bytes)
    optimizer = optimizer_of(own.parameters())
    x, y = data()
    run = wrap(step)
    for i in range(STEPS):
        rows = slice((i * N + ME) * PART, (i * N + ME + 1) * PART)
        run(model, optimizer, x[rows], y[rows])
    return own


def differing(a, b):
    return sum(
        int(
            (np.asarray(p.detach()).view(np.uint32) != np.asarray(q.detach()).view(np.uint32)).sum()
        )
        for p, q in zip(a.parameters(), b.parameters(), strict=True)
    )


out = {}
for name, optimizer_of in {
    "sgd": lambda p: optim.SGD(p, lr=0.1, momentum=0.9), "adam": lambda p: optim.Adam(p)
}.items():  # fmt: skip
    want = alone(optimizer_of)
    for mode, wrap in {"eager": lambda f: f, "traced": fz.trace}.items():
        for size in (4 << 20, 8000):
            out[f"{name} {mode} {size}"] = differing(together(optimizer_of, wrap, size), want)


# A part of the optimizer's state on each rank.
def sharded(parameters):
    return d.ZeroRedundancyOptimizer(parameters, optim.Adam)


for mode, wrap in {"eager": lambda f: f, "traced": fz.trace}.items():
    out[f"sharded {mode}"] = differing(together(sharded, wrap, 4 << 20), want)
means = d.average({"loss": fz.asarray([float(ME), 1.0])}, weight=ME + 1)
total = sum(r + 1 for r in range(N))
want = [sum(r * (r + 1) for r in range(N)) / total, 1.0]
out["average"] = 0 if np.allclose(means["loss"].tolist(), want) else 1


# In functions.
@d.data_parallel
@fz.value_and_grad
def loss_of(w, x):
    return ((x @ w) ** 2).mean()


w = fz.asarray(np.random.default_rng(1).normal(size=(64, 3)).astype(np.float32))
x, _ = data()
parts = [x[r * PART : (r + 1) * PART] for r in range(N)]
pairs = [fz.value_and_grad(lambda u, t: ((t @ u) ** 2).mean())(w, p) for p in parts]
loss, gradient = pairs[0]
for other_loss, other in pairs[1:]:
    loss, gradient = loss + other_loss, gradient + other
for i in range(3):
    got_loss, got = loss_of(w, parts[ME])
    same = got_loss.item() == (loss / N).item() and bool((got == gradient / N).all())
    out[f"function {i}"] = 0 if same else 1

# Of an accumulation only the last part sends.
model, single = d.DataParallel(make()), make()
with model.no_sync():
    nn.cross_entropy(model(parts[ME]), data()[1][:PART]).backward()
nn.cross_entropy(single(parts[ME]), data()[1][:PART]).backward()
own = [
    (p.grad == q.grad).all() for p, q in zip(model.parameters(), single.parameters(), strict=True)
]
out["no_sync"] = 0 if all(map(bool, own)) else 1
d.reduce_gradients(model.parameters())
alike = d.all_gather(model.module[0].bias.grad.reshape(1, -1))
out["reduce_gradients"] = 0 if bool((alike == alike[:1]).all()) else 1
everyone = d.all_gather(fz.asarray(list(d.DistributedSampler(range(10), seed=3))))
out["sampler"] = 0 if set(everyone.tolist()) == set(range(10)) else 1
say(out)
