"""How long a training step of a millisecond waits for data.

    PYTHONPATH=build/python PYTHON bench/data_loader.py [--workers N] [--steps N]

Examples are 32 x 32 x 3 images with a random flip and shift, batches are of 32. The step computes
for a millisecond in the calling process, in Python, so it holds the GIL. Printed is the share of
the time in which it waited for a batch, of the best epoch, for no workers, threads and processes,
and for PyTorch's loader where PyTorch is installed. Random numbers of an example come from a
generator of its own (`Images`) or from Python's stream, which loaders seed (`Drawn`).

The last column is the least that is possible: step and examples, made without a loader, shared
evenly by the cores that work for it. On two cores an example of `Images` alone costs more than the
second core has time for.
"""

import argparse
import os
import random
import time

import numpy as np

import frazil as fz

try:
    import torch.utils.data as peer
except ImportError:
    peer = None


class Images(fz.data.Dataset):
    def __init__(self, count):
        self.images = np.random.default_rng(0).integers(0, 256, (count, 40, 40, 3), dtype=np.uint8)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        rng = np.random.default_rng(i)
        y, x = rng.integers(0, 9, 2)
        image = self.images[i, y : y + 32, x : x + 32]
        return image[:, ::-1] if rng.random() < 0.5 else image, i % 10


class Drawn(Images):
    def __getitem__(self, i):
        y, x = random.randrange(9), random.randrange(9)
        image = self.images[i, y : y + 32, x : x + 32]
        return image[:, ::-1] if random.random() < 0.5 else image, i % 10


def for_peer(batch):
    """PyTorch makes no tensors of flipped arrays."""
    return peer.default_collate([(np.ascontiguousarray(x), i) for x, i in batch])


def step(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def waiting(loader, seconds):
    """The share of an epoch in which the step waited, its first ten batches left out."""
    waited = total = 0.0
    batches = iter(loader)
    for number in range(len(loader)):
        begin = time.perf_counter()
        next(batches)
        got = time.perf_counter()
        step(seconds)
        if number >= 10:
            waited += got - begin
            total += time.perf_counter() - begin
    return waited / total


def alone(data, batches=30):
    """Seconds for the examples of a batch, for making it of them, and for NumPy to stack its
    images; each of the best one."""
    times = []
    for batch in range(batches):
        begin = time.process_time()
        examples = [data[32 * batch + i] for i in range(32)]
        made = time.process_time()
        fz.data.default_collate(examples)
        collated = time.process_time()
        np.stack([image for image, _ in examples])
        times.append((made - begin, collated - made, time.process_time() - collated))
    return map(min, zip(*times, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    processes = {
        "num_workers": options.workers,
        "persistent_workers": True,
        "prefetch_factor": 8,
    }
    for make in Images, Drawn:
        data = make(32 * options.steps)
        examples, collated, stacked = alone(data)
        print(
            f"{make.__name__}: examples of a batch {1e3 * examples:.2f} ms, collated in "
            f"{1e6 * collated:.0f} us, stacked by NumPy in {1e6 * stacked:.0f}",
            flush=True,
        )
        loaders = {
            "no workers": (fz.data.DataLoader, {}, 1),
            "threads": (fz.data.DataLoader, {"threads": options.workers}, 1),
            "processes": (fz.data.DataLoader, processes, options.workers + 1),
        }
        if peer is not None:
            theirs = {"collate_fn": for_peer}
            loaders["PyTorch, none"] = peer.DataLoader, theirs, 1
            loaders["PyTorch"] = peer.DataLoader, theirs | processes, options.workers + 1
        for name, (kind, how, cores) in loaders.items():
            seeded = {} if peer is not None and kind is peer.DataLoader else {"seed": 0}
            loader = kind(data, 32, shuffle=True, **seeded, **how)
            best = min(waiting(loader, 1e-3) for _ in range(options.epochs))
            cores = min(cores, os.cpu_count() or 1)
            least = max(1 - 1e-3 * cores / (1e-3 + examples), 0)
            print(f"  {name:13} {100 * best:5.1f} % waiting, least {100 * least:4.1f}", flush=True)
            del loader


if __name__ == "__main__":
    main()
