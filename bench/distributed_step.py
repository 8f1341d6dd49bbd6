"""A training step of the small transformer on several processes beside PyTorch's DDP.

    ./dev python bench/distributed_step.py [--ranks 2] [--batches 16,128,512] [--rounds 30]
        [--delay MICROSECONDS]

Starts itself under mpirun; each rank has one core of its own. A batch is divided among the
ranks. In each round every way takes its turn behind a barrier: frazil's step of the whole batch in
one process, while the others wait, and in parts on all; PyTorch's the same, by
DistributedDataParallel over gloo. Times are the best of the rounds. `split` is the time on all
ranks over the one-process time divided by their number: 1 is perfect. Then frazil's hidden share of
communication (fz.distributed.overlap), the best of the rounds, and its forecast.

--delay gives each of frazil's messages a delay (tests/distributed/delayed_mpi.c); PyTorch is left
out then. PyTorch is left out, too, where it is not installed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import frazil as fz
from frazil import optim

ROOT = Path(__file__).parent.parent
sys.path += [str(ROOT / "examples"), str(ROOT / "tests" / "distributed")]
import train_transformer as small  # noqa: E402

STEPS = 4  # of a turn


def batch_of(count, rank, ranks):
    """The rank's part of a batch."""
    digits = np.random.default_rng(5).integers(0, small.DIGITS, (count, small.LENGTH))
    part = digits[rank * count // ranks : (rank + 1) * count // ranks]
    return part, np.sort(part, axis=-1)


def frazil_way(parallel, count):
    d = fz.distributed
    rank, ranks = (d.rank(), d.size()) if parallel else (0, 1)
    model = small.make_model()
    if parallel:
        model = d.DataParallel(model)
    optimizer = optim.Adam(model.parameters(), lr=0.003)
    step = fz.trace(lambda *args: small.train_step(*args).detach(), pure=True)
    x, y = (fz.asarray(a) for a in batch_of(count, rank, ranks))

    def run():
        loss = step(model, optimizer, x, y)
        loss.item()

    run.parts = step, model, optimizer, x, y
    return run


def torch_model(torch):
    """The layers of examples/train_transformer.py."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(small.WIDTH), nn.LayerNorm(small.WIDTH)
            self.qkv = nn.Linear(small.WIDTH, 3 * small.WIDTH)
            self.out = nn.Linear(small.WIDTH, small.WIDTH)
            self.up = nn.Linear(small.WIDTH, 4 * small.WIDTH)
            self.down = nn.Linear(4 * small.WIDTH, small.WIDTH)

        def forward(self, x):
            n, t, width = x.shape
            qkv = self.qkv(self.norm1(x)).reshape(n, t, 3, small.HEADS, width // small.HEADS)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            y = nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + self.out(y.permute(0, 2, 1, 3).reshape(n, t, width))
            return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.digits = nn.Embedding(small.DIGITS, small.WIDTH)
            self.places = nn.Embedding(small.LENGTH, small.WIDTH)
            self.blocks = nn.Sequential(Block(), Block())
            self.norm, self.head = nn.LayerNorm(small.WIDTH), nn.Linear(small.WIDTH, small.DIGITS)

        def forward(self, digits):
            return self.head(self.norm(self.blocks(self.digits(digits) + self.places.weight)))

    return Transformer()


def torch_way(torch, parallel, count):
    d = fz.distributed
    rank, ranks = (d.rank(), d.size()) if parallel else (0, 1)
    torch.manual_seed(1)
    model = torch_model(torch)
    if parallel:
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    x, y = (torch.as_tensor(a) for a in batch_of(count, rank, ranks))

    def run():
        loss = torch.nn.functional.cross_entropy(model(x).reshape(-1, small.DIGITS), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()

    return run


def import_torch(delayed):
    if delayed:
        return None
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{os.environ['FRAZIL_BENCH_PORT']}",
        rank=fz.distributed.rank(), world_size=fz.distributed.size(),
    )  # fmt: skip
    return torch


def measure(options):
    d = fz.distributed
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(os.environ["OMPI_COMM_WORLD_RANK"]) % len(cores)]})
    d.init()
    torch = import_torch(options.delay)
    if d.rank() == 0:
        print(f"{d.size()} processes; ms a step, best of {options.rounds} rounds of {STEPS}")
        print(f"{'batch':>6} {'way':>8} {'one':>9} {'all':>9} {'split':>6}")
    for count in map(int, options.batches.split(",")):
        makers = {"frazil": lambda p, c=count: frazil_way(p, c)}
        if torch:
            makers["torch"] = lambda p, c=count: torch_way(torch, p, c)
        ways = {(name, p): make(p) for name, make in makers.items() for p in (False, True)}
        best = dict.fromkeys(ways, float("inf"))
        for i in range(options.rounds + 1):
            for (name, parallel), run in ways.items():
                d.barrier()
                if not parallel and d.rank() > 0:
                    continue
                for _ in range(STEPS if i == 0 else 0):  # warm
                    run()
                begin = time.perf_counter()
                for _ in range(STEPS):
                    run()
                took = (time.perf_counter() - begin) / STEPS
                best[name, parallel] = min(best[name, parallel], took)
        splits = {}
        for name in makers:
            one, all_of_them = best[name, False] * 1e3, best[name, True] * 1e3
            splits[name] = all_of_them * d.size() / one
            if d.rank() == 0:
                print(f"{count:>6} {name:>8} {one:>9.3f} {all_of_them:>9.3f} {splits[name]:>6.2f}")
        parts = ways["frazil", True].parts
        hidden = []
        for _ in range(options.rounds):
            d.barrier()
            with fz.profile() as taken:
                parts[0](*parts[1:])
            hidden.append(d.overlap(taken))
        rows = d.forecast(*parts, processes=[1, 2, 3, 4, 8, 64, 1000], calls=20)
        if d.rank() == 0:
            print(f"{'':>6} {max(hidden, key=lambda o: o.hidden)}")
            print(f"{'':>6} buckets of {parts[1]._bytes} bytes; forecast, as much data on each:")
            print(rows, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--batches", default="16,128,512")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--delay", type=int, default=0)
    options = parser.parse_args()
    if "OMPI_COMM_WORLD_RANK" in os.environ:
        measure(options)
        return
    command = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    if not command:
        raise SystemExit("mpirun is missing: Debian's package openmpi-bin has it.")
    root = ["--allow-run-as-root"] if os.getuid() == 0 else []
    environment = {"FRAZIL_BENCH_PORT": "29418", "FRAZIL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
                   **os.environ}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        if options.delay:
            from delayed import delayed

            environment |= delayed(folder, options.delay)
        subprocess.run(
            [command, *root, "--oversubscribe", "--bind-to", "none", "-n", str(options.ranks),
             sys.executable, __file__, *sys.argv[1:]], env=environment, check=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
