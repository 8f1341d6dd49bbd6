"""Runs the programs of examples/gallery and prints a table of them; `./dev gallery` calls it.

    ./dev gallery [NAME ...] [--small] [--rounds N] [--plots DIR] [--write]

Each program runs in full, eager (`fz.mode("eager")`) and traced; the results must have the same
bits. Times are of the whole program, the best of the rounds, after a run of each kind with small
sizes, and so with most kernels compiled. peer() of examples/gallery/peers/NAME.py does the same
work in NumPy, PyTorch or JAX, where that is installed, and returns the quality that it reaches.
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


def run(program, small=False, mode="auto"):
    """What main() returns, and the seconds that it took."""
    begin = time.perf_counter()
    with fz.mode(mode):
        results = program.main(small)
    fz.synchronize()
    return results, time.perf_counter() - begin


def timed(call):
    begin = time.perf_counter()
    result = call()
    return result, time.perf_counter() - begin


def measured(name, small, rounds=1):
    """The row of the table, what was computed, and how many times as fast as its twin it is, eager
    and traced; None if that did not run.
    """
    program = load(name)
    framework, peer = peer_of(name)
    for mode in ("eager", "auto"):
        run(program, True, mode)
    if peer:
        peer(True)
    eager_times, traced_times, peer_times = [], [], []
    for _ in range(rounds):
        eager, seconds = run(program, small, "eager")
        eager_times.append(seconds)
        traced, seconds = run(program, small)
        traced_times.append(seconds)
        if peer:
            reached, seconds = timed(lambda: peer(small))
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
            None,
        )
    seconds = min(peer_times)
    ratios = seconds / eager_time, seconds / traced_time
    row += [f"{seconds:.2f} s, {reached:.3g} ({framework})", f"{ratios[0]:.2f}, {ratios[1]:.2f}"]
    return [*row, "equal bits" if agree else "THE BITS DIFFER"], traced, ratios


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


def table(rows):
    head = ["program", "quality", "eager", "`fz.trace`", "twin", "twin's time / ours", "results"]
    cells = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    return "".join(
        f"| {' | '.join(c.ljust(w) for c, w in zip(row, widths, strict=True))} |\n" for row in cells
    )


def write(text):
    """Puts the table into docs/gallery.md."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(prog="./dev gallery", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--small", action="store_true", help="the sizes of the tests")
    parser.add_argument(
        "--plots", type=Path, default=FOLDER.parents[1] / "build" / "gallery", help="their folder"
    )
    parser.add_argument("--rounds", type=int, default=1, help="of which the best time counts")
    parser.add_argument("--write", action="store_true", help=f"the table goes into {PAGE.name}")
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in NAMES]:
        parser.error(f"no program {', '.join(unknown)}; there are: {', '.join(NAMES)}")
    drawn = importlib.util.find_spec("matplotlib") is not None
    rows, ratios = [], []
    for name in args.names or NAMES:
        if missing := lacks(name):
            print(f"{name} is left out: {missing} is not installed.", file=sys.stderr)
            continue
        row, results, faster = measured(name, args.small, args.rounds)
        rows.append(row)
        ratios += [faster] if faster else []
        if drawn:
            plot(name, results["figure"], args.plots)
        if sys.stderr.isatty():
            print(f"{name}: done", file=sys.stderr)
    text = table(rows)
    if ratios:
        columns = zip(*ratios, strict=True)
        eager, traced = (math.exp(sum(map(math.log, c)) / len(ratios)) for c in columns)
        text += (
            f"\nGeometric means of the twins' times over ours: {eager:.2f} eager, {traced:.2f} "
            f"traced ({len(ratios)} programs).\n"
        )
    print(text, end="")
    if args.write:
        write(text)
    print(
        f"Plots are in {args.plots}."
        if drawn
        else "There are no plots: Matplotlib is not installed (pip install matplotlib)."
    )
    if any(row[-1] != "equal bits" for row in rows):
        raise SystemExit("gallery: results differ where they must not.")


if __name__ == "__main__":
    main()
