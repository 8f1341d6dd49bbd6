"""Runs the programs of examples/gallery and prints a table of them; `./dev gallery` calls it.

    ./dev gallery [NAME ...] [--small] [--plots DIR]

Each program runs in full, eager (`fz.mode("eager")`) and traced; the results must have the same
bits. Times are of the whole program, after a run of each kind with small sizes, and so with most
kernels compiled. `peer()` of a program does the same work in NumPy.
"""

import argparse
import importlib.util
import sys
import time
from pathlib import Path

import numpy as np

import frazil as fz

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "gallery"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


def load(name):
    """The program as a module."""
    key = f"gallery_{name}"
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, FOLDER / f"{name}.py")
        sys.modules[key] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[key])
    return sys.modules[key]


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


def measured(name, small):
    """The row of the table, what was computed, and whether the bits were equal."""
    program = load(name)
    for mode in ("eager", "auto"):
        run(program, True, mode)
    eager, eager_time = run(program, small, "eager")
    traced, traced_time = run(program, small)
    peer = ""
    if hasattr(program, "peer"):
        begin = time.perf_counter()
        program.peer(small)
        peer = f"{time.perf_counter() - begin:.2f} s"
    agree = bits(eager) == bits(traced)
    return [
        name.replace("_", " "),
        f"{traced['quality']:.3g} ({traced['of']})",
        f"{eager_time:.2f} s",
        f"{traced_time:.2f} s ({eager_time / traced_time:.1f}x)",
        peer,
        "equal bits" if agree else "THE BITS DIFFER",
    ], traced


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
    cells = [["program", "quality", "eager", "`fz.trace`", "NumPy", "results"], *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    return "".join(
        f"| {' | '.join(c.ljust(w) for c, w in zip(row, widths, strict=True))} |\n" for row in cells
    )


def main():
    parser = argparse.ArgumentParser(prog="./dev gallery", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--small", action="store_true", help="the sizes of the tests")
    parser.add_argument(
        "--plots", type=Path, default=FOLDER.parents[1] / "build" / "gallery", help="their folder"
    )
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in NAMES]:
        parser.error(f"no program {', '.join(unknown)}; there are: {', '.join(NAMES)}")
    drawn = importlib.util.find_spec("matplotlib") is not None
    rows = []
    for name in args.names or NAMES:
        row, results = measured(name, args.small)
        rows.append(row)
        if drawn:
            plot(name, results["figure"], args.plots)
        if sys.stderr.isatty():
            print(f"{name}: done", file=sys.stderr)
    print(table(rows), end="")
    print(
        f"Plots are in {args.plots}."
        if drawn
        else "There are no plots: Matplotlib is not installed (pip install matplotlib)."
    )
    if any(row[-1] != "equal bits" for row in rows):
        raise SystemExit("gallery: results differ where they must not.")


if __name__ == "__main__":
    main()
