"""The most memory that a process holds while it makes training steps of a transformer, from its
first call on, each way in a process of its own.

    PYTHONPATH=build/python PYTHON bench/peak.py [--steps N] [WAY ...]

Ways: eager, traced, pure; import is a process that has imported frazil and made the parameters.
VmHWM of /proc/self/status counts every page the process ever had at a time: Python, libraries,
machine code, arrays and what the allocator keeps. `arrays` is fz.memory's own peak, `kept` what it
keeps for reuse at the end, `anew` what the process took for its steps beyond the import.
"""

import argparse
import subprocess
import sys

WAYS = ("import", "eager", "traced", "pure")


def resident(row="VmHWM"):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(row))


def measure(way, args):
    import transformer

    import frazil as fz

    wraps = {"traced": fz.trace, "pure": fz.trace(pure=True)}
    step = wraps.get(way, lambda f: f)(transformer.step)
    state = transformer.state(args.layers, args.width, args.length)
    data = transformer.tokens(args.batch, args.length)
    before, each = resident(), []
    for _ in range(0 if way == "import" else args.steps):
        loss, *state = step(*state, *data)
        loss.item()
        each.append(resident())
    stats = fz.memory.stats()
    mib = {name: stats[f"{name}_bytes"] / 2**20 for name in ("live", "peak", "cached")}
    steps = " ".join(f"{r:.0f}" for r in each[:4])
    print(
        f"{way:7} {resident():7.1f} {resident('VmRSS'):7.1f} {before:7.1f} {mib['peak']:7.1f} "
        f"{mib['live']:7.1f} {mib['cached']:7.1f}   {steps}"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ways", nargs="*", default=WAYS)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--here", action="store_true", help="in this process, one way")
    args = parser.parse_args()
    if args.here:
        return measure(args.ways[0], args)
    print(
        "MiB        peak     end  import  arrays    live    kept   peak behind each call",
        flush=True,
    )
    for way in args.ways:
        subprocess.run([sys.executable, *sys.argv[:1], "--here", way, *sys.argv[1:]], check=True)


if __name__ == "__main__":
    main()
