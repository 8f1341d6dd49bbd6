"""Functions of one float32 over all 2^32 arguments, against float64; used by test_every_float32.py.

`./dev python tests/python/every_float32.py` sweeps (hours; `--stride 997` every 997th bit pattern,
names: these functions only) and writes what it finds into docs/float32.md. An error is the distance
from the exact result in units of the last place that float32 has there, below the normal numbers in
that of the smallest; NaN, infinities and the signs of zeros must be met. The reference is a
function of float64 that is exact to some 10^-8 of such a unit.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import frazil as fz

PAGE = Path(__file__).parents[2] / "docs" / "float32.md"
ALL = 1 << 32
BLOCK = 1 << 21
HEAD = """# float32 functions over all arguments

The largest error of each function of one float32 over its 2^32 arguments, in units of the last
place, and an argument that has it (`tests/python/every_float32.py` writes this page, `./dev test
python --nightly` checks it). The bound is that of the op table, at most 1 (0.5: correct rounding).
Where fewer arguments are named, every 67th bit pattern was tried, and for `gamma`, `gammaln`,
`digamma` and inverses only those of the real domain.

| function | bound | largest error | at | arguments |
| --- | --- | --- | --- | --- |
"""
# Of the op table; NumPy's by another name or SciPy's.
ROWS = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh erf exp expm1 floor log log10 log1p log2 "
    "negative round rsqrt sigmoid sin sinh sqrt tan tanh trunc"
).split()
# Made of ops.
COMPOSITES = (
    "cbrt deg2rad digamma erfc erfcinv erfinv exp2 gamma gammaln i0e i1e log_ndtr logit ndtr ndtri "
    "rad2deg reciprocal square"
).split()
# Where the reference is exact, or quick: gammaln and digamma have zeros between any two poles below
# 0, beside which SciPy has lost its digits; NaN takes it long.
WITHIN = {
    "digamma": (0.0, np.inf),
    "erfcinv": (-0.001, 2.001),
    "erfinv": (-1.001, 1.001),
    "gamma": (-0.5, np.inf),
    "gammaln": (-0.5, np.inf),
    "logit": (-0.001, 1.001),
    "ndtri": (-0.001, 1.001),
}


def reference(name):
    import scipy.special as sc  # noqa: PLC0415 -- the list of names needs no SciPy

    if name == "rsqrt":
        return lambda x: 1 / np.sqrt(x)
    names = {"round": "rint", "abs": "absolute"} | {
        f"a{f}": f"arc{f}" for f in ("cos", "cosh", "sin", "sinh", "tan", "tanh")
    }
    found = getattr(np, names.get(name, name), None)
    return found or getattr(sc, {"sigmoid": "expit"}.get(name, name))


def function(name):
    return getattr(fz, name, None) or getattr(fz.nn, name)


def bound(name):
    """The op table's, at most 1; of a row that computes exactly that of rounding."""
    rows = {row["name"]: row["ulp"] for row in fz._frazil.op_table()}
    return min(rows.get(name, 1), 1) or 0.5


@dataclass
class Worst:
    error: float = 0.0
    x: float = 0.0
    count: int = 0

    def __str__(self):
        return f"{self.error:.4f} | {float(self.x).hex()} | {self.count}"


def add_errors(worst, x, got, want):
    rounded = want.astype(np.float32)
    worst.count += x.size
    at = np.flatnonzero(
        (rounded.view(np.uint32) != got.view(np.uint32)) & ~(np.isnan(want) & np.isnan(got))
    )
    if worst.error <= 0.5:  # what is correctly rounded tells nothing more
        at = np.union1d(at, np.arange(0, x.size, 64))
    x, got, want, rounded = x[at], got[at].astype(np.float64), want[at], rounded[at]
    both_nan = np.isnan(want) & np.isnan(got)
    # The number that would follow the largest stands for infinity, if the result is below it.
    top = 2.0**128
    value = np.where(np.isinf(got) & (np.abs(want) < top), np.copysign(top, got), got)
    exponent = np.clip(np.frexp(want)[1] - 24, -149, 104)
    error = np.abs(value - want) / np.exp2(exponent.astype(np.float64))
    same = (np.isinf(got) & (rounded == got) & (np.abs(want) >= top)) | both_nan | (got == want)
    error = np.where(same, 0.0, error)
    wrong_sign = (np.signbit(got) != np.signbit(rounded)) & ~both_nan
    error = np.where(np.isnan(error) | wrong_sign, np.inf, error)
    if error.size and error.max() > worst.error:
        i = int(error.argmax())
        worst.error, worst.x = float(error[i]), float(x[i])


def sweep(name, stride=1):
    """The worst of every stride-th bit pattern."""
    ours, theirs, worst = function(name), reference(name), Worst()
    low, high = WITHIN.get(name, (-np.inf, np.inf))
    with np.errstate(all="ignore"):
        for start in range(0, ALL, BLOCK * stride):
            bits = np.arange(start, min(start + BLOCK * stride, ALL), stride, dtype=np.uint64)
            x = bits.astype(np.uint32).view(np.float32)
            if name in WITHIN:
                x = x[(x > low) & (x < high)]
            if x.size:
                add_errors(worst, x, np.asarray(ours(x)), theirs(x.astype(np.float64)))
    return worst


def lines():
    """{name: line} of the page."""
    if not PAGE.exists():
        return {}
    rows = [row for row in PAGE.read_text().splitlines() if row.startswith("| ")][2:]
    return {row.split(" | ")[0][2:]: row for row in rows}


def line(name, worst):
    return f"| {name} | {bound(name)} | {worst} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--stride", type=int, default=1)
    args = parser.parse_args()
    for name in args.names or [*ROWS, *COMPOSITES]:
        row = line(name, sweep(name, args.stride))
        print(row, flush=True)
        table = lines() | {name: row}
        PAGE.write_text(HEAD + "\n".join(table[n] for n in sorted(table)) + "\n")


if __name__ == "__main__":
    main()
