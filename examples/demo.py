"""Runs the examples in their forms and prints a table of times; `./dev demo` calls it.

    ./dev demo [--readme] [--quick]

Every form of a program starts from the same state and runs equally often, in turn; the results of
every round must have the same bits. Times are of one step, the best round of each form: the calls
that record and compile are among the others. C++ runs the same in processes of their own.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import kalman
import lorenz
import numpy as np
import train_digits
import train_transformer

import frazil as fz

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
MARKS = "<!-- ./dev demo --readme writes what follows. -->", "<!-- Up to here. -->"

WRAPS = {"eager": lambda fn: fn, "traced": fz.trace, "pure": fz.trace(pure=True)}
COLUMNS = {
    "eager": "eager",
    "traced": "`fz.trace`",
    "pure": "`pure=True`",
    "C++ traced": "C++, `jit::trace`",
    "C++ pure": "C++, `jit::pure`",
}


@dataclass(frozen=True)
class Program:
    title: str
    module: ModuleType
    rounds: int
    cpp: bool = False  # there is a program of the same name in C++


PROGRAMS = (
    Program("digits: training a network", train_digits, train_digits.EPOCHS, cpp=True),
    Program("transformer: training", train_transformer, 20),
    Program("Lorenz system: Runge-Kutta", lorenz, lorenz.ROUNDS, cpp=True),
    Program("Kalman filter over a series", kalman, kalman.ROUNDS),
)


def progress(text):
    """On a terminal a line that the next one replaces."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def bits(results):
    arrays = [np.asarray(t) for t in results]
    return [(a.dtype, a.shape, a.tobytes()) for a in arrays]


def run_python(program, rounds):
    """{form: seconds a step}, results of the last round, and whether all agreed in every one."""
    forms = {name: program.module.start(wrap) for name, wrap in WRAPS.items()}
    best = dict.fromkeys(forms, float("inf"))
    agree = True
    for number in range(1, rounds + 1):
        progress(f"{program.title}, round {number} of {rounds}")
        results = {}
        for name, advance in forms.items():
            begin = time.perf_counter()
            results[name] = advance()
            best[name] = min(best[name], (time.perf_counter() - begin) / program.module.STEPS)
        agree = agree and all(bits(r) == bits(results["eager"]) for r in results.values())
    return best, results["eager"], agree


def run_cpp(program, rounds, folder):
    """The same of the C++ program: {"C++ form": seconds a step}, results by form."""
    name = program.module.__name__
    progress(f"{program.title}, in C++")
    argv = [ROOT / "build/examples" / name, rounds, folder / "results.fzt"]
    if program.module is train_digits:
        train_digits.export(folder / "digits.fzt")
        argv.insert(1, folder / "digits.fzt")
    done = subprocess.run(list(map(str, argv)), stdout=subprocess.DEVNULL)
    if done.returncode not in (0, 1):
        raise SystemExit(f"demo: {name} ended with status {done.returncode}.")
    saved = fz.load(folder / "results.fzt")
    best = {f"C++ {form}": saved[form].item() for form in WRAPS}
    results = [[t for key, t in saved.items() if key.startswith(form + " ")] for form in WRAPS]
    return best, results


def measured(program, rounds):
    """What the table says of a program: its times, and whether all results have the same bits."""
    times, results, agree = run_python(program, rounds)
    if program.cpp:
        with tempfile.TemporaryDirectory() as folder:
            cpp_times, cpp_results = run_cpp(program, rounds, Path(folder))
        times |= cpp_times
        agree = agree and all(bits(r) == bits(results) for r in cpp_results)
    return times, agree


def cell(seconds, eager):
    """1.5e-5 -> "15 us (3.2x)"."""
    ratio = eager / seconds
    text = f"{seconds * 1e6:.{0 if seconds >= 1e-4 else 1 if seconds >= 1e-6 else 2}f} us"
    return text if seconds is eager else f"{text} ({ratio:.{0 if ratio >= 10 else 1}f}x)"


def table(rows):
    """Lines of Markdown in columns of equal width; `rows`: (title, times by form, bits agree)."""
    cells = [["one step of", *COLUMNS.values(), "results"]]
    for title, times, agree in rows:
        figures = [cell(times[c], times["eager"]) if c in times else "" for c in COLUMNS]
        cells.append([title, *figures, "equal bits" if agree else "THE BITS DIFFER"])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    return "".join(
        f"| {' | '.join(c.ljust(w) for c, w in zip(row, widths, strict=True))} |\n" for row in cells
    )


def machine():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = (line.partition(": ")[2] for line in lines if line.startswith("model name"))
    return next(models, platform.machine())


def around():
    """README.md in three parts: up to the mark, what is written here, the rest."""
    before, first, rest = README.read_text().partition(MARKS[0])
    old, second, after = rest.partition(MARKS[1])
    if not (first and second):
        raise SystemExit("demo: README.md lacks the marks between which the table goes.")
    return before + first, old, second + after


def write_readme(text):
    before, _, after = around()
    README.write_text(f"{before}\n\n{text}\n{after}")


def main():
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__.split("\n")[0])
    parser.add_argument("--readme", action="store_true", help="write the table into README.md")
    parser.add_argument("--quick", action="store_true", help="few rounds: compares bits, not times")
    args = parser.parse_args()

    rows = []
    for program in PROGRAMS:
        rows.append((program.title, *measured(program, 4 if args.quick else program.rounds)))
    progress("")
    about = f"{fz.get_num_threads()} threads on {os.cpu_count()} cores, {machine()}"
    text = f"{about}. In brackets: times as fast as eager Python.\n\n{table(rows)}"
    print(text, end="")
    if args.readme:
        write_readme(text)
    if not all(agree for _, _, agree in rows):
        raise SystemExit("demo: results differ where they must not.")


if __name__ == "__main__":
    main()
