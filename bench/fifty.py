"""The functions that NumPy's users call most, beside NumPy, PyTorch and JAX.

    PYTHONPATH=build/python PYTHON bench/fifty.py [PATTERN ...] [--rounds N] [--sizes 16,1048576]

Eager calls, as they stand in a user's program, in one process, each library with as many threads;
JAX's functions are compiled. PyTorch and JAX take part where they can be imported, and with more
than a few elements. A line is a function: the best times of short interleaved rounds, and the best
peer's over frazil's: above 1 frazil is faster. Results are compared with NumPy's before anything is
timed.
"""

import argparse
import fnmatch
import functools
import os
import pathlib
import types


def libraries(threads):
    """{name: (module, array of NumPy's, what waits for a result)}, frazil first."""
    import numpy as np

    import frazil as fz

    found = {
        "frazil": (fz, fz.asarray, lambda r: r),
        "numpy": (np, lambda x: x, lambda r: r),
    }
    try:
        import torch
    except ImportError:
        pass
    else:
        torch.set_num_threads(threads)
        found["torch"] = (torch, torch.from_numpy, lambda r: r)
    try:
        import jax
    except ImportError:
        pass
    else:
        jax.config.update("jax_enable_x64", True)
        names = vars(jax.numpy) | {"lax": jax.lax, "random": jax.random}
        found["jax"] = (types.SimpleNamespace(**names), jax.numpy.asarray, jax.block_until_ready)
    return found


def form(row, name, library, arrays):
    """A call of the row's function in a library, and its result; None if it has none."""
    module, of_numpy, ready = library
    run = row.others.get(name, row.run)
    if run is None:
        return None
    own = [a if isinstance(a, int) else of_numpy(a) for a in arrays]
    if name in row.prepare:
        own = row.prepare[name](module, *own)
    if name != "jax":
        return functools.partial(run, module, *own)
    import jax

    numbers = [a for a in own if isinstance(a, int)]
    if numbers:
        call = jax.jit(functools.partial(run, module, *numbers))
        return lambda: ready(call())
    call = functools.partial(run, module)
    call = jax.jit(call) if row.compiled else call
    return lambda: ready(call(*own))


def same(row, ours, theirs):
    """Whether results agree, floats within rounding."""
    import numpy as np

    if row.seen:
        ours, theirs = row.seen(ours), row.seen(theirs)
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.shape != b.shape:
        return False
    if a.dtype.kind not in "fc":
        return bool((a == b).all())
    scale = float(np.abs(b[np.isfinite(b)]).max(initial=0))
    return bool(np.allclose(a, b, rtol=1e-3, atol=1e-4 * scale, equal_nan=True))


def cases(patterns, sizes):
    from fifty_rows import ROWS

    for size in sizes:
        for row in ROWS:
            for dtype in row.dtypes.split():
                name = f"{row.name} {dtype} {size}"
                if any(fnmatch.fnmatchcase(name, p) for p in patterns):
                    yield name, row, dtype, size


def measure(patterns, sizes, threads, rounds, seconds):
    """Prints a line for every case that a pattern matches, and returns (name, best times)."""
    import numpy as np
    from fifty_rows import FEW
    from measure import Rounds

    found, results = libraries(threads), []
    for name, row, dtype, size in cases(patterns, sizes):
        arrays = row.make(np.random.default_rng(1), size, dtype)
        calls = {}
        for library, entry in found.items():
            if size <= FEW and library not in ("frazil", "numpy"):
                continue
            if call := form(row, library, entry, arrays):
                calls[library] = call
        results_of = {library: call() for library, call in calls.items()}
        for library, result in results_of.items():
            if not same(row, result, results_of["numpy"]):
                raise SystemExit(f"bench: {name}: {library} and NumPy differ:\n{result}")
        times = Rounds(calls, rounds, seconds).times
        best = {library: min(values) for library, values in times.items()}
        results.append((name, best))
        print(f"{name:30}{shown(best)}", flush=True)
    return results


def ratio(best):
    """The best peer's time over frazil's."""
    return min(t for name, t in best.items() if name != "frazil") / best["frazil"]


def shown(best):
    from measure import readable

    times = "".join(f"{name} {readable(value):>8}  " for name, value in best.items())
    return f"{times}{ratio(best):6.2f}"


def markdown(results):
    """The table of a run, what is slower than a peer bold."""
    from fifty_rows import LIBRARIES
    from measure import readable

    heads = ["function", *LIBRARIES, "best peer / frazil"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, best in results:
        times = [readable(best[each]) if each in best else "" for each in LIBRARIES]
        r = f"{ratio(best):.2f}"
        lines.append(f"| {name} | {' | '.join(times)} | {r if ratio(best) >= 1 else f'**{r}**'} |")
    return "\n".join(lines) + "\n"


def page(results, threads):
    """The table with what it depends on."""
    import machine

    about = ", ".join(f"{key} {value}" for key, value in machine.describe(threads).items())
    what = (
        "Written by `bench/fifty.py --markdown`: eager calls, the best times of short interleaved "
        "rounds in one process, and the best peer's over frazil's. Bold is what misses 1."
    )
    return f"# Fifty functions\n\n{what}\n\n**Machine**: {about}.\n\n{markdown(results)}"


def main(argv=None):
    parser = argparse.ArgumentParser(prog="fifty", description=__doc__.splitlines()[0])
    parser.add_argument("patterns", nargs="*", default=["*"], help='such as "sort *" or "* 16"')
    parser.add_argument("--sizes", default="16,1048576")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.004, help="of a form in a round")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE")
    args = parser.parse_args(argv)
    from table.peers import THREADS

    os.environ |= {name: str(args.threads) for name in THREADS}  # read when libraries are loaded
    sizes = [int(s) for s in args.sizes.split(",")]
    results = measure(args.patterns, sizes, args.threads, args.rounds, args.seconds)
    if args.markdown:
        args.markdown.write_text(page(results, args.threads))


if __name__ == "__main__":
    main()
