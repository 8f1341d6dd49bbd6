"""Runs the programs of examples/gallery and prints a table of them; `./dev gallery` calls it.

    ./dev gallery [NAME ...] [--small] [--rounds N] [--processor] [--plots DIR] [--write]

Each program runs in full, eager (`fz.mode("eager")`) and traced; the results must have the same
bits. Times are of the whole program, the best of the rounds, after a run of each kind with small
sizes, and so with most kernels compiled. peer() of examples/gallery/peers/NAME.py does the same
work in NumPy, PyTorch or JAX, where that is installed, and returns the quality that it reaches.

On a machine that has other work to do, `taskset -c 0 ./dev gallery --processor` is steadier: one
thread for all, and the seconds that the processor spent on it.
"""

import argparse
import ast
import importlib.util
import math
import re
import sys
import time
from pathlib import Path

import numpy as np

import frazil as fz

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "gallery"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
PAGE = FOLDER.parents[1] / "docs" / "gallery.md"
BEGIN, END = "<!-- ./dev gallery --write writes what follows. -->", "<!-- Up to here. -->"


def load(name, folder=FOLDER):
    """The program as a module."""
    key = f"gallery_{name}" if folder == FOLDER else f"gallery_{folder.name}_{name}"
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, folder / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[key] = module
    return sys.modules[key]


def lacks(name):
    """The package that a program needs and that is not installed."""
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    found = re.search(r'^NEEDS = "(.*)"$', text, re.MULTILINE)
    return found[1] if found and importlib.util.find_spec(found[1]) is None else None


def peer_of(name):
    """What the twin is written with, and its peer(); None if that is not installed."""
    path = FOLDER / "peers" / f"{name}.py"
    framework = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).rstrip(".")
    try:
        return framework, load(name, path.parent).peer
    except ImportError:
        return framework, None


def bits(results):
    """All that is compared of what a program returns."""
    leaves = [results["quality"], *fz.tree.leaves(results["figure"])]
    arrays = [np.asarray(leaf) for leaf in leaves]
    return [(a.dtype, a.shape, a.tobytes()) for a in arrays]


def run(program, small=False, mode="auto", clock=time.perf_counter):
    """What main() returns, and the seconds that it took."""
    begin = clock()
    with fz.mode(mode):
        results = program.main(small)
    fz.synchronize()
    return results, clock() - begin


def timed(call, clock):
    begin = clock()
    result = call()
    return result, clock() - begin


def measured(name, small, rounds=1, clock=time.perf_counter):
    """The row of the table, and what was computed."""
    program = load(name)
    framework, peer = peer_of(name)
    for mode in ("eager", "auto"):
        run(program, True, mode)
    if peer:
        peer(True)
    eager_times, traced_times, peer_times = [], [], []
    for _ in range(rounds):
        eager, seconds = run(program, small, "eager", clock)
        eager_times.append(seconds)
        traced, seconds = run(program, small, clock=clock)
        traced_times.append(seconds)
        if peer:
            reached, seconds = timed(lambda: peer(small), clock)
            peer_times.append(seconds)
    agree = bits(eager) == bits(traced)
    eager_time, traced_time = min(eager_times), min(traced_times)
    row = [
        name.replace("_", " "),
        f"{traced['quality']:.3g} ({traced['of']})",
        f"{eager_time:.2f} s",
        f"{traced_time:.2f} s ({eager_time / traced_time:.1f}x)",
    ]
    if not peer:
        return (
            [*row, f"no {framework}", "", "equal bits" if agree else "THE BITS DIFFER"],
            traced,
        )
    seconds = min(peer_times)
    ratios = seconds / eager_time, seconds / traced_time
    row += [f"{seconds:.2f} s, {reached:.3g} ({framework})", f"{ratios[0]:.2f}, {ratios[1]:.2f}"]
    return [*row, "equal bits" if agree else "THE BITS DIFFER"], traced


def plot(name, figure, folder):
    """Writes NAME.svg: an image, points in the plane, or curves; further rows are drawn beside."""
    from matplotlib.figure import Figure

    rows = {key: value for key, value in figure.items() if key not in ("x", "curves")}
    panels = len(rows) + ("curves" in figure)
    picture = Figure(figsize=(4.5 * panels, 4), layout="constrained")
    axes = iter(np.atleast_1d(picture.subplots(1, panels)))
    if "curves" in figure:
        ax = next(axes)
        for label, curve in figure["curves"].items():
            ax.plot(np.asarray(figure["x"]), np.asarray(curve), label=label)
        ax.legend()
    for key, value in rows.items():
        ax = next(axes)
        if key == "image":
            ax.imshow(np.asarray(value), interpolation="nearest")
            ax.set_axis_off()
        elif key == "points":
            for label, points in value.items():
                ax.scatter(*np.asarray(points).T, s=4, label=label)
            ax.legend(markerscale=3)
        else:
            ax.plot(np.asarray(value))
            ax.set_title(key)
    folder.mkdir(parents=True, exist_ok=True)
    picture.savefig(folder / f"{name}.svg")


HEAD = ["program", "quality", "eager", "`fz.trace`", "twin", "twin's time / ours", "results"]


def table(rows):
    """With the geometric means of what its rows say about the twins."""
    cells = [HEAD, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    text = "".join(
        f"| {' | '.join(c.ljust(w) for c, w in zip(row, widths, strict=True))} |\n" for row in cells
    )
    ratios = [[float(ratio) for ratio in row[5].split(", ")] for row in rows if row[5]]
    if not ratios:
        return text
    eager, traced = (
        math.exp(sum(map(math.log, c)) / len(ratios)) for c in zip(*ratios, strict=True)
    )
    return text + (
        f"\nGeometric means of the twins' times over ours: {eager:.2f} eager, {traced:.2f} traced "
        f"({len(ratios)} programs).\n"
    )


def rows_of(text):
    """Those of a table."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def write(rows):
    """Puts rows into the table of docs/gallery.md; those of other programs stay."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    old, after = rest.split(END)
    known = {row[0]: row for row in [*rows_of(old), *rows]}
    text = table([known[name] for name in sorted(known)])
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(prog="./dev gallery", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--small", action="store_true", help="the sizes of the tests")
    parser.add_argument(
        "--plots", type=Path, default=FOLDER.parents[1] / "build" / "gallery", help="their folder"
    )
    parser.add_argument("--rounds", type=int, default=1, help="of which the best time counts")
    parser.add_argument("--write", action="store_true", help=f"the rows go into {PAGE.name}")
    parser.add_argument(
        "--processor", action="store_true", help="seconds of the processor, all threads together"
    )
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in NAMES]:
        parser.error(f"no program {', '.join(unknown)}; there are: {', '.join(NAMES)}")
    drawn = importlib.util.find_spec("matplotlib") is not None
    clock = time.process_time if args.processor else time.perf_counter
    rows = []
    for name in args.names or NAMES:
        if missing := lacks(name):
            print(f"{name} is left out: {missing} is not installed.", file=sys.stderr)
            continue
        row, results = measured(name, args.small, args.rounds, clock)
        rows.append(row)
        if drawn:
            plot(name, results["figure"], args.plots)
        if sys.stderr.isatty():
            print(f"{name}: done", file=sys.stderr)
    print(table(rows), end="")
    if args.write:
        write(rows)
    print(
        f"Plots are in {args.plots}."
        if drawn
        else "There are no plots: Matplotlib is not installed (pip install matplotlib)."
    )
    if any(row[-1] != "equal bits" for row in rows):
        raise SystemExit("gallery: results differ where they must not.")


if __name__ == "__main__":
    main()
