"""A training that is saved on some ranks and resumed on others, against one process that
accumulates the parts of those who were there. Says how many numbers differ, and what is drawn.

Arguments: the folder; "save", "resume", how a rank dies while it saves, or "chance": a run that
saves each step until a rank is killed. Then, if not for both, "plain" or "sharded", and a seed.
"""

import os
import random
import signal
import sys
import threading
import time

import numpy as np
from saying import say

import frazil as fz
from frazil import nn, optim

d = fz.distributed
FIRST, GLOBAL, EXAMPLES, SAVED_AT, MORE = 2, 24, 96, 3, 4  # FIRST: ranks of the run that saves
ADAM = {"lr": 0.01}


def data():
    x = np.random.default_rng(3).normal(size=(EXAMPLES, 16)).astype(np.float32)
    return fz.asarray(x), fz.asarray(np.argmax(x[:, :10], axis=1))


def make():
    fz.random.seed(1)
    return nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 10))


class Rows:
    def __init__(self):
        self.x, self.y = data()

    def __len__(self):
        return EXAMPLES

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def parts(kind, ranks=None, rank=None):
    """Model, optimizer, schedule and loader of a rank."""
    own = make()
    model = d.DataParallel(own)
    if kind == "sharded":
        optimizer = d.ZeroRedundancyOptimizer(own.parameters(), optim.Adam, **ADAM)
    else:
        optimizer = optim.Adam(own.parameters(), **ADAM)
    schedule = optim.lr_scheduler.ExponentialLR(getattr(optimizer, "optimizer", optimizer), 0.9)
    sampler = d.DistributedSampler(Rows(), ranks, rank, seed=5)
    loader = fz.data.DataLoader(Rows(), GLOBAL // sampler.num_replicas, sampler=sampler, seed=2)
    return {"model": model, "optimizer": optimizer, "schedule": schedule, "loader": loader}


@fz.trace
def step(model, optimizer, x, y):
    loss = nn.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def train(own, done, until, checkpoint=None, seed=None):
    while done < until:
        for x, y in own["loader"]:
            step(own["model"], own["optimizer"], x, y)
            own["schedule"].step()
            done += 1
            if seed is not None:
                checkpoint.save(done)
                if done == 1:
                    killed_by_chance(seed)
            elif checkpoint and done == SAVED_AT:
                checkpoint.save(done, rank=d.rank(), what="both")
                say({"drawn": drawn()})
            if done == until:
                break
    return own["model"].module


def drawn():
    return [random.random(), np.random.random(), fz.random.uniform().item()]


def alone(second, saved_at=SAVED_AT):
    """One process: parts of FIRST ranks until saved_at, then of `second`, each in their order."""
    model, (x, y) = make(), data()
    optimizer = optim.Adam(model.parameters(), **ADAM)
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    for i in range(saved_at + MORE):
        n = FIRST if i < saved_at else second
        epoch, batch = divmod(i, EXAMPLES // GLOBAL)
        optimizer.zero_grad()
        for r in range(n):
            sampler = d.DistributedSampler(range(EXAMPLES), n, r, seed=5)
            sampler.set_epoch(epoch)
            rows = fz.asarray(list(sampler)[batch * GLOBAL // n : (batch + 1) * GLOBAL // n])
            nn.cross_entropy(model(x[rows]), y[rows]).backward()
        for p in model.parameters():
            p.grad = p.grad / n
        optimizer.step()
        schedule.step()
    return model


def differing(a, b):
    return sum(
        int((np.asarray(p.detach()) != np.asarray(q.detach())).sum())
        for p, q in zip(a.parameters(), b.parameters(), strict=True)
    )


class Killed:
    """A part whose rank is killed while its state is asked for."""

    def state_dict(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def load_state_dict(self, state):
        pass


def die(checkpoint, way):
    """Kills a rank in the middle of save(): rank 1, or rank 0 that writes the manifest."""
    from frazil.distributed import _checkpoint

    def kill(*args):
        os.kill(os.getpid(), signal.SIGKILL)

    if way == "before" and d.rank() == 1:
        checkpoint.parts["model"] = Killed()
    if way == "written" and d.rank() == 1:
        _checkpoint._digest_of_file = kill  # its file is there
    if way == "manifest" and d.rank() == 0:
        os.replace = kill  # all files are there, and the manifest has not got its name
    checkpoint.save(SAVED_AT if way == "written" else SAVED_AT + 1)


def killed_by_chance(seed):
    """Kills one of the ranks in a second to come, in whatever it does then."""
    chance = random.Random(seed)
    victim, delay = chance.randrange(FIRST), chance.uniform(0, 1)

    def fire():
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGKILL)

    if d.rank() == victim:
        threading.Thread(target=fire, daemon=True).start()


if __name__ == "__main__":
    d.init()
    folder, way, *more = sys.argv[1:]
    for kind in more[:1] or ("plain", "sharded"):
        own = parts(kind)
        random.seed(d.rank())
        np.random.seed(d.rank())
        fz.random.seed(d.rank())
        checkpoint = d.Checkpoint(os.path.join(folder, kind), **own)
        if way == "save":
            model = train(own, 0, SAVED_AT + MORE, checkpoint)
            say({"differing": differing(model, alone(d.size()))})
        elif way == "resume":
            values = checkpoint.restore() or {"step": 0}
            say({"values": values, "drawn": drawn()})
            model = train(own, values["step"], values["step"] + MORE)
            say({"differing": differing(model, alone(d.size(), values["step"]))})
        elif way == "chance":
            train(own, 0, 100_000, checkpoint, int(more[1]))
        else:
            die(checkpoint, way)
