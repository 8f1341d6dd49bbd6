"""Runs programs in worker processes, compares what was seen, and makes smaller what differs.

No program runs in the process of the tests: a crash is a difference like any other.
"""

import os
import pickle
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from program import shrink, text

HERE = Path(__file__).parent


def stand_alone(program):
    """A program with all it needs: saved as a file it can be run, and prints the difference."""
    helpers = (HERE / "observe.py").read_text()
    body = text(program).replace("from observe import *\n", "")
    return f"{helpers}\n\nSOURCE = '''\n{body}'''\n{COMPARES}"


COMPARES = """
if __name__ == "__main__":
    exec(SOURCE)
    print(difference(*(observe(program, w) for w in (lambda f: f, fz.trace))) or "no difference")
"""


def command(*arguments):
    return [sys.executable, str(HERE / "worker.py"), *map(str, arguments)]


def start(arguments, environment):
    with tempfile.NamedTemporaryFile(suffix=".pickle", delete=False) as out:
        path = out.name
    process = subprocess.Popen(
        command(*arguments, path), env=os.environ | environment, stderr=subprocess.PIPE, text=True
    )
    return process, path


def finish(started, limit):
    """(records, why it stopped early or None)"""
    process, path = started
    try:
        _, errors = process.communicate(timeout=limit)
        why = f"exit status {process.returncode}: {errors[-2000:]}" if process.returncode else None
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        why = f"no end after {limit} seconds"
    records = []
    with open(path, "rb") as f:
        while True:
            try:
                records.append(pickle.load(f))
            except (EOFError, pickle.UnpicklingError):
                break
    os.unlink(path)
    return records, why


def generate(first, count, sample, limit, size=1000, parts=None, how="generate"):
    """Makes and runs programs of `count` seeds, a few processes at a time.

    `how` is the command of worker.py that makes them.

    Returns the first `sample` programs with the digests of their eager runs, how many were run and
    how many calls of them were skipped, and (program, mode, why) of those that differ.
    """
    ranges = [(i, min(size, first + count - i)) for i in range(first, first + count, size)]
    programs, digests, failures, ran, skipped = [], [], [], 0, 0
    with ThreadPoolExecutor(parts or os.cpu_count()) as pool:
        batches = pool.map(lambda r: finish(start([how, *r], {}), limit), ranges)
        for records, why in batches:
            for kind, *rest in records:
                if kind == "seed":
                    program = f"making the program of seed {rest[0]}"
                elif kind == "program":
                    program = rest[0]
                elif kind == "differs":
                    failures.append((program, *rest))
                else:
                    ran += 1
                    skipped += rest[1]
                    if len(programs) < sample:
                        programs.append(program)
                        digests.append(rest[0])
            if why:
                failures.append((program, "trace", why))
    return programs, digests, ran, skipped, failures


def first_difference(a, b):
    """What differs first between two digests."""
    if len(a) != len(b):
        return "the number of observations"
    return next((what for (what, x), (_, y) in zip(a, b, strict=True) if x != y), None)


def compare(programs, wanted, mode, environment, limit, parts=None):
    """(program, why) for those whose digests under an environment are not the wanted ones.

    A few processes at a time; a part ends with the first program that ends its process.
    """
    parts = parts or min(os.cpu_count(), max(1, len(programs) // 10))
    shares = [(programs[i::parts], wanted[i::parts]) for i in range(parts)]
    with ThreadPoolExecutor(parts) as pool:
        failures = list(pool.map(lambda s: compare_share(*s, mode, environment, limit), shares))
    return [failure for part in failures for failure in part]


def compare_share(programs, wanted, mode, environment, limit):
    with tempfile.NamedTemporaryFile(suffix=".pickle") as source:
        source.write(pickle.dumps(programs))
        source.flush()
        records, why = finish(start(["run", mode, source.name], environment), limit)
    got = [r[1] for r in records if r[0] == "ran"]
    failures = [
        (p, f"{what} differs")
        for p, a, b in zip(programs, wanted, got, strict=False)
        if (what := first_difference(a, b))
    ]
    return failures + ([(programs[len(got)], why)] if why else [])


def reaches_a_device(program):
    """Nothing of it is tied to the CPU: its BLAS, NumPy's memory that the program writes to, an
    array of NumPy's that it may take for a tensor."""
    source = text(program)
    ties = ("blas", "memory *=", "memory +=", "memory[", "kept.append(np.asarray")
    return not any(tie in source for tie in ties)


class Server:
    """A worker that runs one program after the other; begun again when one ends it."""

    def __init__(self, environment):
        self.environment = environment
        self.process = None

    def ask(self, program, mode):
        """The digest of a run, or None if the program ended the process."""
        if self.process is None:
            self.process = subprocess.Popen(
                command("serve"),
                env=os.environ | self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        try:
            pickle.dump((program, mode), self.process.stdin)
            self.process.stdin.flush()
            return pickle.load(self.process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            self.close()
            return None

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()
            self.process = None


def smallest(program, mode, environment, limit=250):
    """A small program whose eager run here differs from its run elsewhere."""
    here, there = Server({}), Server(environment)

    def fails(candidate):
        eager = here.ask(candidate, "eager")
        other = there.ask(candidate, mode)
        if eager is None or other is None:
            return eager is not None
        return first_difference(eager, other) is not None

    try:
        return shrink(program, fails, limit) if fails(program) else program
    finally:
        here.close()
        there.close()
