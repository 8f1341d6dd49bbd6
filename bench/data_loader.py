"""How long a training step of a millisecond waits for data.

    PYTHONPATH=build/python PYTHON bench/data_loader.py [--workers N] [--steps N]

Examples are 32 x 32 x 3 images with a random flip and shift, batches are of 32. The step computes
for a millisecond in the calling process. Printed is the share of the time in which it waited for a
batch, of the best epoch, for no workers, threads and processes.
"""

import argparse
import time

import numpy as np

import frazil as fz


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    images = Images(32 * options.steps)
    for name, how in (
        ("no workers", {}),
        ("threads", {"threads": options.workers}),
        (
            "processes",
            {"num_workers": options.workers, "persistent_workers": True, "prefetch_factor": 8},
        ),
    ):
        loader = fz.data.DataLoader(images, 32, shuffle=True, seed=0, **how)
        best = min(waiting(loader, 1e-3) for _ in range(options.epochs))
        print(f"{name:11} {100 * best:5.1f} % waiting", flush=True)


if __name__ == "__main__":
    main()
