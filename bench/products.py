"""Products that are not square and large, beside PyTorch and NumPy where they are there.

    PYTHONPATH=build/python PYTHON bench/products.py [PATTERN ...] [--threads N] [--rounds N]

PYTHON is any interpreter that can load the extension. With one thread its own time is taken, which
others' work on the machine disturbs less. A ratio above 1 says that frazil is faster. With
`--dtype int8` PyTorch's is torch._int_mm, which keeps 32 bits of each sum; what PyTorch does with
`--dtype bfloat16` compares with `--precision native`.
"""

import argparse
import fnmatch
import os
import statistics
import time


def cases():
    """(name, shape of a, shape of b, a stored transposed, b stored transposed)."""
    for k, n in [(64, 64), (64, 256), (256, 256), (128, 384), (512, 512), (1024, 1024)]:
        for m in (1, 2, 4, 8, 16):
            for tb in (False, True):
                yield f"few {m}x{k}x{n} n{'nt'[tb]}", (m, k), (k, n), False, tb
    for m, k in [(64, 64), (256, 256), (1024, 1024)]:
        for ta in (False, True):
            yield f"vector {m}x{k}x1 {'nt'[ta]}n", (m, k), (k, 1), ta, False
    for size, (m, k, n) in {
        "scores": (64, 32, 64),
        "values": (64, 64, 32),
        "small": (16, 16, 16),
    }.items():
        for ta in (False, True):
            for tb in (False, True):
                name = f"batch {size} 96x{m}x{k}x{n} {'nt'[ta]}{'nt'[tb]}"
                yield name, (96, m, k), (96, k, n), ta, tb
    for m, k, n in [(768, 128, 384), (768, 384, 128), (768, 128, 512), (768, 512, 128),
                    (768, 128, 128), (768, 128, 65)]:  # fmt: skip
        yield f"layer {m}x{k}x{n} nn", (m, k), (k, n), False, False
        yield f"layer {m}x{n}x{k} nt", (m, n), (n, k), False, True
        yield f"weights {k}x{m}x{n} tn", (k, m), (m, n), True, False
    for n in (8, 16, 32, 64, 128, 256, 512):
        for t in ("nn", "nt", "tn"):
            yield f"square {n} {t}", (n, n), (n, n), t[0] == "t", t[1] == "t"


def main():
    """Prints a line a case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.004, help="of a library in a round")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--precision", default="default", help="frazil's")
    parser.add_argument("--alone", action="store_true", help="no peers")
    args = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(args.threads)
    os.environ["FRAZIL_NUM_THREADS"] = str(args.threads)

    import numpy as np
    from measure import Rounds

    import frazil as fz

    fz.precision(args.precision).__enter__()
    short = args.dtype == "int8"
    half = args.dtype == "bfloat16"
    libraries = {
        "frazil": (
            lambda x: fz.asarray(x).astype(fz.bfloat16) if half else fz.asarray(x),
            lambda x: fz.matrix_transpose(x),
            "a @ b",
        )
    }
    if not args.alone:
        if not half and not short:
            libraries["numpy"] = (lambda x: x, lambda x: np.swapaxes(x, -1, -2), "a @ b")
        try:
            import torch

            torch.set_num_threads(args.threads)
            torch.set_grad_enabled(False)
            libraries["torch"] = (
                lambda x: torch.from_numpy(x.copy()).to(getattr(torch, args.dtype)),
                lambda x: x.transpose(-1, -2),
                "mm(a, b)" if short else "a @ b",
            )
        except ImportError:
            pass

    def plain(x):
        """The numbers of a result, as wide as that of frazil."""
        if half:
            return np.asarray(x.astype(fz.float32) if isinstance(x, fz.Tensor) else x.float())
        return np.asarray(x).astype(args.dtype)

    clock = time.thread_time if args.threads == 1 else time.perf_counter
    rng = np.random.default_rng(1)
    for name, shape_a, shape_b, ta, tb in cases():
        if not any(fnmatch.fnmatch(name, f"*{p}*") for p in args.patterns):
            continue
        variants, results = {}, {}
        if short and len(shape_a) > 2:
            continue
        if short:
            x, y = (rng.integers(-128, 128, s).astype("i1") for s in (shape_a, shape_b))
        else:
            kind = "float32" if half else args.dtype
            x, y = (rng.standard_normal(s).astype(kind) for s in (shape_a, shape_b))
        for library, (make, turn, product) in libraries.items():
            a = turn(make(np.ascontiguousarray(np.swapaxes(x, -1, -2)))) if ta else make(x)
            b = turn(make(np.ascontiguousarray(np.swapaxes(y, -1, -2)))) if tb else make(y)
            names = {"a": a, "b": b}
            if short and library == "torch":
                names["mm"] = torch._int_mm
            variants[library] = (product, names)
            results[library] = plain(eval(product, names))
        error = 0.3 if half else 1e-3
        for library, result in results.items():
            np.testing.assert_allclose(result, x @ y, rtol=error, atol=error, err_msg=library)
        times = Rounds(variants, args.rounds, args.seconds, clock).times
        own = times["frazil"]
        flops = 2.0 * np.prod(shape_a) * shape_b[-1]
        text = f"{name:34} {statistics.median(own) * 1e6:9.2f} us"
        text += f" {flops / statistics.median(own) * 1e-9:7.1f} G/s"
        for library in libraries:
            if library != "frazil":
                ratio = statistics.median(p / o for p, o in zip(times[library], own, strict=True))
                text += f"   {library} {ratio:5.2f}"
        print(text, flush=True)


if __name__ == "__main__":
    main()
