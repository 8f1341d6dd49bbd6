"""Generates or runs programs in a process of its own, under the switches of its environment.

    worker.py generate FIRST COUNT OUTPUT     programs of seeds, run in every mode
    worker.py worlds FIRST COUNT OUTPUT       worldly ones
    worker.py run MODE INPUT OUTPUT           programs of INPUT, eager, traced or pure
    worker.py serve                           programs from stdin, digests to stdout

OUTPUT is a stream of pickles, one for each program, written as they come: after a crash the reader
knows which program was next. With FUZZ_PLANT a deliberate bug is put into traced functions.
"""

import hashlib
import os
import pickle
import signal
import sys
import warnings

import observe
import plants
from generate import generate, generate_worldly
from program import text

from frazil import trace


def digest(observations):
    return [(what, hashlib.blake2b(repr(x).encode()).hexdigest()) for what, x in observations]


TRACED = []  # the functions whose bodies may be skipped
MAKERS = {"generate": generate, "worlds": generate_worldly}


def pure(f):
    TRACED.append(trace(f, pure=True, check_first=1, check_every=5))
    return TRACED[-1]


def traced(f):
    TRACED.append(trace(f))
    return TRACED[-1]


def wrapper(mode):
    if plant := os.environ.get("FUZZ_PLANT"):
        return (plants.PLANTS | plants.HOLES)[plant] if mode == "trace" else lambda f: f
    if mode == "pure":
        return pure
    return traced if mode == "trace" else lambda f: f


def run(program, mode):
    """What a program lets see. Those that are none (shrinking makes such) are all alike."""
    try:
        compile(text(program), "program", "exec")
    except SyntaxError:
        return [("no program", "")]
    return observe.observe(observe.loaded(text(program)), wrapper(mode))


def generated(make, first, count, out):
    for seed in range(first, first + count):
        pickle.dump(("seed", seed), out)
        out.flush()
        program = make(seed)
        pickle.dump(("program", program), out)
        out.flush()
        eager = run(program, "eager")
        for mode in ("trace", "pure") if program.pure else ("trace",):
            if difference := observe.difference(eager, run(program, mode)):
                pickle.dump(("differs", mode, difference), out)
        skipped = sum(f.stats()["skipped"] for f in TRACED)
        TRACED.clear()
        pickle.dump(("ran", digest(eager), skipped), out)
        out.flush()


def ran(mode, source, out):
    with open(source, "rb") as f:
        programs = pickle.load(f)
    for program in programs:
        pickle.dump(("program", program), out)
        out.flush()
        pickle.dump(("ran", digest(run(program, mode))), out)
        out.flush()


def serve():
    """Answers (program, mode) with the digest, until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    while True:
        try:
            program, mode = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        signal.alarm(60)  # a program without end ends the process
        try:
            pickle.dump(digest(run(program, mode)), answers)
        except NameError:  # of what was removed
            pickle.dump([("no program", "")], answers)
        answers.flush()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "serve":
        sys.exit(serve())
    with open(sys.argv[4], "wb") as out:
        if sys.argv[1] in MAKERS:
            generated(MAKERS[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3]), out)
        else:
            ran(sys.argv[2], sys.argv[3], out)
