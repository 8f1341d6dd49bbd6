"""What profiles cost while none is taken, and while one is: two tiny calls.

    ./dev python bench/profile_cost.py [FOLDER ...]

Each folder is another build's `build/python`, to be compared with this one: processes take turns,
and what is shown are the best times of all rounds, in nanoseconds.
"""

import os
import subprocess
import sys
import time

ROUNDS, REPEATS, CALLS = 8, 60, 2000


def best(run):
    least = float("inf")
    for _ in range(REPEATS):
        begin = time.perf_counter_ns()
        for _ in range(CALLS):
            run()
        least = min(least, (time.perf_counter_ns() - begin) / CALLS)
    return least


def child():
    import frazil as fz

    a, b = fz.ones(16), fz.full(16, 2.0)
    skipped = fz.trace(lambda a, b: a * b + a, pure=True)
    proved = fz.trace(lambda a, b: a * b + a)
    for _ in range(20):
        skipped(a, b), proved(a, b)
    runs = {
        "eager a + b": lambda: a + b,
        "skipped by promise": lambda: skipped(a, b),
        "skipped by proof": lambda: proved(a, b),
    }
    for name, run in runs.items():
        print(f"{name}:{best(run)}")
    if not hasattr(fz, "profile"):
        return
    with fz.profile(events=10):
        print(f"eager a + b, profiled:{best(runs['eager a + b'])}")


def main(folders):
    found = {}
    for _ in range(ROUNDS):
        for folder in folders:
            environment = {**os.environ, "PYTHONPATH": folder, "FRAZIL_NUM_THREADS": "1"}
            text = subprocess.run(
                [sys.executable, __file__, "--child"],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for line in text.splitlines():
                name, _, ns = line.partition(":")
                row = found.setdefault(name, {})
                row[folder] = min(float(ns), row.get(folder, float("inf")))
    for name, row in found.items():
        print(f"{name:24}", *(f"{folder}: {ns:.1f}" for folder, ns in row.items()))


if __name__ == "__main__":
    if sys.argv[1:] == ["--child"]:
        child()
    else:
        main([os.environ.get("PYTHONPATH", "build/python").split(":")[0], *sys.argv[1:]])
