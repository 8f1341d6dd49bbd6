"""The small transformer's step on all ranks: what of its communication is hidden, in how many
buckets its gradients travel, and what more processes would take. Arguments: sequences of a rank,
and profiles, of which the best one counts.
"""

import sys
from pathlib import Path

import numpy as np
from saying import say

import frazil as fz
from frazil import optim

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
import train_transformer

d = fz.distributed
d.init()
batch, profiles = int(sys.argv[1]), int(sys.argv[2])
draws = fz.random.Generator(2 + d.rank())
x = draws.integers(0, train_transformer.DIGITS, (batch, train_transformer.LENGTH))
y = fz.sort(x, axis=-1)


def train(bucket_bytes=None, steps=6):
    model = d.DataParallel(train_transformer.make_model(), bucket_bytes=bucket_bytes)
    optimizer = optim.Adam(model.parameters(), lr=0.003)
    step = fz.trace(lambda *args: train_transformer.train_step(*args).detach(), pure=True)
    for _ in range(steps):
        step(model, optimizer, x, y)
    return model, optimizer, step


model, optimizer, step = train()
taken = []
for _ in range(profiles):
    with fz.profile() as one:
        step(model, optimizer, x, y)
    taken.append(d.overlap(one))
best = max(taken, key=lambda o: o.hidden)
whole, _, _ = train(bucket_bytes=1 << 30)
many, _, _ = train(bucket_bytes=1)
ours, _, _ = train()
same = all(
    np.asarray(p).tobytes() == np.asarray(q).tobytes() == np.asarray(r).tobytes()
    for p, q, r in zip(whole.parameters(), many.parameters(), ours.parameters(), strict=True)
)
rows = d.forecast(step, model, optimizer, x, y, processes=[1, d.size(), 1000], calls=2)
link = fz._frazil.distributed.link()
say({
    "communicating": best.communicating, "waiting": best.waiting, "hidden": best.hidden,
    "collectives": best.collectives, "said": str(best), "bucket": model._bytes, "same": same,
    "forecast": [list(row) for row in rows], "table": str(rows), "seconds": rows.seconds,
    "link": list(link), "skipped": step.stats()["skipped"], "why": step.explain(),
})  # fmt: skip
