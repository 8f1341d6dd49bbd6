"""all_reduce of two processes on one machine beside MPI_Allreduce and, if torch is there, gloo.

    ./dev python bench/distributed.py [--ranks 2] [--most 268435456]

Starts itself under mpirun. In each round every way takes its turn, behind a barrier; the table has
the best of the rounds. Ratios are the peer's time over frazil's. MPI_Allreduce is called through
ctypes on memory of NumPy; gloo is PyTorch's, over the loopback device.
"""

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import time

import numpy as np

import frazil as fz


def mpi_all_reduce():
    """MPI_Allreduce of Open MPI, of float32."""
    mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
    handle = lambda name: ctypes.byref(ctypes.c_char.in_dll(mpi, name))  # noqa: E731
    world, kind, op = (handle(f"ompi_mpi_{name}") for name in ("comm_world", "float", "op_sum"))

    def call(x, out):
        mpi.MPI_Allreduce(
            ctypes.c_void_p(x.ctypes.data),
            ctypes.c_void_p(out.ctypes.data),
            x.size,
            kind,
            op,
            world,
        )

    return call


def gloo_all_reduce():
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    rank, size = fz.distributed.rank(), fz.distributed.size()
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{os.environ['FRAZIL_BENCH_PORT']}", rank=rank,
        world_size=size,
    )  # fmt: skip

    def call(x):
        torch.distributed.all_reduce(x)

    return lambda count: (call, torch.ones(count))


def native(x):
    with fz.precision("native"):
        fz.distributed.all_reduce(x)


def measure(most):
    d = fz.distributed
    d.init()
    raw, gloo = mpi_all_reduce(), gloo_all_reduce()
    if d.rank() == 0:
        print(f"{d.size()} processes; microseconds, best of the rounds")
        print(
            f"{'bytes':>10} {'frazil':>10} {'native':>10} {'ratio':>6} {'MPI':>10} {'ratio':>6}"
            f" {'gloo':>10} {'ratio':>6}"
        )
    size = 1024
    while size <= most:
        count = size // 4
        x = fz.ones(count)
        a, b = np.ones(count, np.float32), np.ones(count, np.float32)
        ways = [
            lambda x=x: d.all_reduce(x),
            lambda x=x: native(x),
            lambda a=a, b=b: raw(a, b),
        ]
        if gloo:
            call, t = gloo(count)
            ways.append(lambda call=call, t=t: call(t))
        best = [float("inf")] * len(ways)
        rounds = max(10, min(300, (1 << 26) // size))
        for _ in range(rounds):
            for i, way in enumerate(ways):
                d.barrier()
                begin = time.perf_counter()
                way()
                best[i] = min(best[i], time.perf_counter() - begin)
        if gloo:
            t.fill_(1)
        if d.rank() == 0:
            own, *peers = (t * 1e6 for t in best)
            text = f"{size:>10} {own:>10.1f}"
            for peer in peers:
                text += f" {peer:>10.1f} {peer / own:>6.2f}"
            print(text, flush=True)
        size *= 4


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--most", type=int, default=256 << 20)
    options = parser.parse_args()
    if "OMPI_COMM_WORLD_RANK" in os.environ:
        measure(options.most)
        return
    command = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    if not command:
        raise SystemExit("mpirun is missing: Debian's package openmpi-bin has it.")
    root = ["--allow-run-as-root"] if os.getuid() == 0 else []
    environment = {"FRAZIL_BENCH_PORT": "29417", "FRAZIL_NUM_THREADS": "1", **os.environ}
    subprocess.run(
        [command, *root, "--oversubscribe", "--bind-to", "none", "-n", str(options.ranks),
         sys.executable, __file__, "--most", str(options.most)], env=environment, check=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
