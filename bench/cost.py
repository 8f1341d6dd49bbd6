"""What the cost model's numbers (core/tuned.def) stand for, measured here, beside them.

    PYTHONPATH=build/python PYTHON bench/cost.py [--rounds N]

Eager calls on one thread, the best of rounds, in the thread's own time; what a call takes with 16
elements is taken off. Numbers of the model are of one machine and stay: plans must not depend on
where they are made. Ratios of rows are to be compared, not the rows.
"""

import argparse
import re
import time
from pathlib import Path

import frazil as fz

DEF = Path(__file__).resolve().parent.parent / "core" / "tuned.def"


def model():
    """{name: number} of the rows that are plain numbers or shifts."""
    rows = re.findall(r"^FZ_TUNED\((\w+), [\w:]+, ([^\"]+), \"", DEF.read_text(), re.MULTILINE)
    plain = {name: value.replace("'", "") for name, value in rows}
    return {n: eval(v) for n, v in plain.items() if re.fullmatch(r"[\d. <e]+", v)}  # noqa: S307


def best(call, rounds, seconds=0.02):
    """Nanoseconds of a call."""
    call()
    begin = time.thread_time()
    call()
    times = max(1, int(seconds / max(time.thread_time() - begin, 1e-7)))
    found = []
    for _ in range(rounds):
        begin = time.thread_time()
        for _ in range(times):
            call()
        found.append((time.thread_time() - begin) / times)
    return 1e9 * min(found)


def ones(n):
    return fz.ones(n) * 0.5


def moved(n, rounds):
    """Nanoseconds a byte of `a + b` over n elements: two arrays read, one written."""
    small, a, b = ones(16), ones(n), ones(n)
    return (best(lambda: a + b, rounds) - best(lambda: small + small, rounds)) / (12 * n)


def computed(rounds):
    """Nanoseconds of one more addition on a vector, in a kernel that moves the same: eight chains,
    which do not wait for each other.
    """
    x = ones(4096)

    def chains(length):
        def run(x):
            ends = [x + 0.25 * k for k in range(8)]
            for _ in range(length):
                ends = [y + x for y in ends]
            return sum(ends[1:], ends[0])

        traced = fz.trace(run)
        return best(lambda: traced(x), rounds)

    return (chains(6) - chains(2)) / 32 / (4096 / 16)


def product(n, rounds):
    a = fz.reshape(ones(n * n), (n, n))
    return best(lambda: a @ a, rounds) / n**3


def updated(rounds):
    n = 1 << 16
    x, i = ones(n), fz.arange(n) * 7 % n
    few = fz.arange(16)
    values = ones(16)
    return (best(lambda: _set(x, i, x), rounds) - best(lambda: _set(x, few, values), rounds)) / n


def _set(x, i, values):
    y = x + 0
    y[i] = values
    return y


def measure(rounds):
    """(name in core/tuned.def, unit, measured)."""
    yield "kSlot", "ns", computed(rounds)
    yield "kNearByte", "ns", moved(1 << 14, rounds)
    yield "kFarByte", "ns", moved(1 << 20, rounds)
    yield "kFarthestByte", "ns", moved(1 << 24, min(rounds, 5))
    yield "kProduct", "ns", product(512, min(rounds, 5))
    yield "kUpdate", "ns", updated(rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    rounds = parser.parse_args().rounds
    fz.set_num_threads(1)
    rows = model()
    print(f"{'':16}{'measured':>10}{'model':>10}")
    for name, unit, found in measure(rounds):
        print(f"{name:16}{found:10.4f}{rows[name]:10.4f} {unit}")


if __name__ == "__main__":
    main()
