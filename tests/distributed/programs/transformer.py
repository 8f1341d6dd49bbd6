"""The small transformer and digits' network on all ranks against one process that accumulates the
parts' gradients in order: eager, traced and skipped by proof, with Adam, its state divided or not,
and with an accumulation of two parts on each rank. Says how many numbers differ of each.

Arguments: steps.
"""

import sys
from pathlib import Path

import numpy as np
from saying import say

import frazil as fz
from frazil import nn, optim

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
import train_digits
import train_transformer

d = fz.distributed
d.init()
ME, N = d.rank(), d.size()
STEPS, PART, PARTS = int(sys.argv[1]), 4, 2  # PARTS: of a rank, where it accumulates
ADAM = {"lr": 0.003}


def sorting():
    draws = fz.random.Generator(2)
    x = draws.integers(0, train_transformer.DIGITS, (STEPS * N * PARTS * PART, 8))
    return x, fz.sort(x, axis=-1)


def images():
    random = np.random.default_rng(3)
    x = random.normal(size=(STEPS * N * PARTS * PART, 64)).astype(np.float32)
    return fz.asarray(x), fz.asarray(np.argmax(x[:, :10], axis=1))


def loss_of(model, x, y):
    logits = model(x)
    return nn.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))


def step(model, optimizer, x, y):
    loss = loss_of(model, x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()  # with its history no call could be skipped


def begin(model, x, y):
    """A part of an accumulation that sends nothing."""
    with model.no_sync():
        loss_of(model, x, y).backward()


def rows(i, part):
    return slice((i * N * PARTS + part) * PART, (i * N * PARTS + part + 1) * PART)


def alone(make, data):
    """One step for the first parts of N ranks in order."""
    model = make()
    optimizer = optim.Adam(model.parameters(), **ADAM)
    x, y = data()
    for i in range(STEPS):
        optimizer.zero_grad()
        for r in range(N):
            loss_of(model, x[rows(i, r)], y[rows(i, r)]).backward()
        for p in model.parameters():
            p.grad = p.grad / N
        optimizer.step()
    return model


def alone_accumulating(make, data):
    """Of each rank PARTS parts: their gradients are summed on the rank, and then over the ranks.

    The last part's gradient is the one that travels; what was accumulated before it is the rank's.
    """
    model = make()
    optimizer = optim.Adam(model.parameters(), **ADAM)
    x, y = data()
    for i in range(STEPS):
        sums = None
        for r in range(N):
            model.zero_grad()
            for k in range(PARTS):
                loss_of(model, x[rows(i, r * PARTS + k)], y[rows(i, r * PARTS + k)]).backward()
            own = [p.grad for p in model.parameters()]
            sums = own if sums is None else [a + b for a, b in zip(sums, own, strict=True)]
        for p, total in zip(model.parameters(), sums, strict=True):
            p.grad = total / N
        optimizer.step()
    return model


def together(make, data, wrap, sharded):
    model = d.DataParallel(make())
    if sharded:
        optimizer = d.ZeroRedundancyOptimizer(model.parameters(), optim.Adam, **ADAM)
    else:
        optimizer = optim.Adam(model.parameters(), **ADAM)
    x, y = data()
    run = wrap(step)
    for i in range(STEPS):
        run(model, optimizer, x[rows(i, ME)], y[rows(i, ME)])
    return model, run


def together_accumulating(make, data, wrap):
    model = d.DataParallel(make())
    optimizer = optim.Adam(model.parameters(), **ADAM)
    x, y = data()
    first = wrap(begin)

    def last(model, optimizer, x, y):
        with model.no_sync():
            loss_of(model, x, y).backward()
        d.reduce_gradients(model.parameters())
        optimizer.step()
        optimizer.zero_grad()

    last = wrap(last)
    for i in range(STEPS):
        for k in range(PARTS - 1):
            at = rows(i, ME * PARTS + k)
            first(model, x[at], y[at])
        at = rows(i, ME * PARTS + PARTS - 1)
        last(model, optimizer, x[at], y[at])
    return model


def differing(a, b):
    bits = [np.asarray(p.detach()).view(np.uint32) for p in a.parameters()]
    other = [np.asarray(p.detach()).view(np.uint32) for p in b.parameters()]
    return sum(int((p != q).sum()) for p, q in zip(bits, other, strict=True))


WAYS = {"eager": lambda f: f, "traced": fz.trace, "promised": fz.trace(pure=True)}
out, stats = {}, {}
for name, make, data in (
    ("transformer", train_transformer.make_model, sorting),
    ("digits", train_digits.make_model, images),
):
    want, summed = alone(make, data), alone_accumulating(make, data)
    for way, wrap in WAYS.items():
        for sharded in (False, True):
            got, run = together(make, data, wrap, sharded)
            out[f"{name} {way} {'sharded' if sharded else ''}"] = differing(got, want)
            if way != "eager":
                stats[f"{name} {way} {'sharded' if sharded else ''}"] = run.stats()["skipped"]
        out[f"{name} {way} accumulating"] = differing(
            together_accumulating(make, data, wrap), summed
        )
say({"differing": out, "skipped": stats, "why": run.explain()})
