#!/usr/bin/env python3
"""Minimax coefficients of the mathematical functions in kernels/fn_*.h.

Run: python3 tools/fit_functions.py [name ...]. Prints, for every polynomial, its coefficients (lowest power first,
already rounded to the type they are used in) and the largest weighted error of the rounded polynomial.

Method: the Remez exchange on a fine Chebyshev grid with 60 digits (mpmath). Coefficients are then rounded one by
one from the lowest power up, and what remains is fitted again, so that the rounding of a low coefficient is
compensated by the higher ones.
"""

import sys

import numpy as np
from mpmath import mp, mpf

mp.dps = 50


def round_to(value, bits):
    """The nearest number with `bits` significant bits, as an mpf."""
    if value == 0:
        return mpf(0)
    man, exp = mp.frexp(value)
    return mp.ldexp(mp.nint(mp.ldexp(man, bits)), exp - bits)


def remez(f, w, n, grid, rounds=12):
    """Coefficients c (n of them) that minimise max |w (f - p)| over the grid; f and w are lists of values."""
    count = len(grid)
    pick = sorted({int(round((count - 1) * (1 - np.cos(np.pi * k / n)) / 2)) for k in range(n + 1)})
    if len(pick) < n + 1:
        raise ValueError("grid too coarse")
    c = [mpf(0)] * n
    for _ in range(rounds):
        rows = mp.matrix(n + 1, n + 1)
        rhs = mp.matrix(n + 1, 1)
        for i, k in enumerate(pick):
            p = mpf(1)
            for j in range(n):
                rows[i, j] = p
                p *= grid[k]
            rows[i, n] = (-1) ** i / w[k]
            rhs[i] = f[k]
        try:
            c = list(mp.lu_solve(rows, rhs))[:n]
        except ZeroDivisionError:  # a weight of zero: the pole of a refit
            break
        err = [w[k] * (f[k] - mp.polyval(c[::-1], grid[k])) for k in range(count)]
        # One extremum from each run of equal sign; the n + 1 largest neighbouring ones.
        runs, start = [], 0
        for k in range(1, count + 1):
            if k == count or (err[k] > 0) != (err[start] > 0):
                runs.append(max(range(start, k), key=lambda i: abs(err[i])))
                start = k
        while len(runs) > n + 1:
            ends = min(0, -1, key=lambda i: abs(err[runs[i]]))
            if len(runs) == n + 2:
                runs.pop(ends)
                continue
            # Two neighbours at once keep the signs alternating.
            k = min(
                range(len(runs) - 1), key=lambda i: max(abs(err[runs[i]]), abs(err[runs[i + 1]]))
            )
            if abs(err[runs[ends]]) < min(abs(err[runs[k]]), abs(err[runs[k + 1]])):
                runs.pop(ends)
            else:
                del runs[k : k + 2]
        if len(runs) < n + 1 or runs == pick:
            break
        pick = runs
    return c


def fit(name, f, w, lo, hi, n, bits, points=None):
    """Fits n coefficients on [lo, hi] with weight w(x) and prints them; bits: 24 (f32) or 53 (f64)."""
    lo, hi = mpf(lo), mpf(hi)
    points = points or 20 * n + 60
    grid = [
        lo + (hi - lo) * (1 - mp.cos(mp.pi * (2 * k + 1) / (2 * points))) / 2 for k in range(points)
    ]
    fs, ws = [f(x) for x in grid], [w(x) for x in grid]
    rest, weight, out, c = list(fs), list(ws), [], []

    def error(coefficients):
        return max(
            abs(v * (r - mp.polyval(coefficients[::-1], x))) for v, r, x in zip(weight, rest, grid)
        )

    for done in range(n):
        # The refit's target has a pole at 0 where the rounding left a residue: keep the better of both.
        c = min([remez(rest, weight, n - done, grid)] + ([c[1:]] if c else []), key=error)
        c0 = round_to(c[0], bits)
        out.append(c0)
        rest = [(r - c0) / x for r, x in zip(rest, grid)]
        weight = [v * abs(x) for v, x in zip(weight, grid)]
    err = max(abs(v * (r - mp.polyval(out[::-1], x))) for v, r, x in zip(ws, fs, grid))
    print(
        f"{name}: {n} coefficients on [{mp.nstr(lo, 6)}, {mp.nstr(hi, 6)}], error 2^{float(mp.log(err, 2)):.1f}"
    )
    for c in out:
        print("  " + (f"{float(c):.9g}f" if bits == 24 else f"{float(c):.17g}") + ",")


LN2 = mp.log(2)
SQRT2 = mp.sqrt(2)
S_MAX = (3 - 2 * SQRT2) ** 2 * mpf("1.0001")  # largest s^2 of the logarithm's s = f / (2 + f)


def exp_tail(r):
    """(e^r - 1 - r) / r^2 without cancellation."""
    return (
        mp.nsum(lambda k: r**k / mp.factorial(k + 2), [0, 30])
        if abs(r) < 0.01
        else (mp.expm1(r) - r) / r**2
    )


def atanh_tail(z):
    s = mp.sqrt(z)
    return (mp.atanh(s) / s - 1) / z


FITS = {}


def entry(name):
    return lambda make: FITS.setdefault(name, make)


def exp_fit(name, n, bits):
    FITS[name] = lambda: fit(
        name, exp_tail, lambda r: r**2, -LN2 / 2 * mpf("1.001"), LN2 / 2 * mpf("1.001"), n, bits
    )


exp_fit("exp_f32", 5, 24)
exp_fit("expm1_f32", 6, 24)
exp_fit("exp_f64", 10, 53)
exp_fit("exp_f64_low", 6, 53)
FITS["log_f32"] = lambda: fit(
    "log_f32",
    lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3,
    lambda f: abs(f**3 / mp.log1p(f)),
    1 / SQRT2 - 1,
    SQRT2 - 1,
    8,
    24,
)
for tag, count in (("log_f64", 7), ("log_f64_low", 5)):
    FITS[tag] = lambda tag=tag, count=count: fit(
        tag, lambda z: 2 * atanh_tail(z), lambda z: z, mpf("1e-12"), S_MAX, count, 53
    )
FITS["pow_f64"] = lambda: fit(
    "pow_f64",
    lambda z: (atanh_tail(z) - mpf(1) / 3) / z,
    lambda z: z**2,
    mpf("1e-10"),
    S_MAX,
    7,
    53,
)

QUARTER_PI2 = (mp.pi / 4) ** 2 * mpf("1.001")
FITS["sin_f64"] = lambda: fit(
    "sin_f64",
    lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
    lambda z: z,
    mpf("1e-12"),
    QUARTER_PI2,
    6,
    53,
)
FITS["cos_f64"] = lambda: fit(
    "cos_f64",
    lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
    lambda z: z**2,
    mpf("1e-12"),
    QUARTER_PI2,
    6,
    53,
)
FITS["sin_f64_low"] = lambda: fit(
    "sin_f64_low",
    lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
    lambda z: z,
    mpf("1e-12"),
    QUARTER_PI2,
    4,
    53,
)
FITS["cos_f64_low"] = lambda: fit(
    "cos_f64_low",
    lambda z: (mp.cos(mp.sqrt(z)) - 1) / z,
    lambda z: z,
    mpf("1e-12"),
    QUARTER_PI2,
    4,
    53,
)


def tanh_small(z):
    x = mp.sqrt(z)
    return (mp.tanh(x) / x - 1) / z


def erf_small(z):
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def erf_log(x):
    return -mp.log(mp.erfc(x))


FITS["tanh_f32"] = lambda: fit("tanh_f32", tanh_small, lambda z: z, mpf("1e-10"), mpf(1), 7, 24)
for tag, top, count, bits in (("erf_small_f32", 0.81, 7, 24), ("erf_small_f64", 0.81, 12, 53)):
    FITS[tag] = lambda tag=tag, top=top, count=count, bits=bits: fit(
        tag, erf_small, lambda z: mpf(1), mpf("1e-10"), mpf(top), count, bits
    )
# Around 1, where the result needs most of u's accuracy and t = x - 1 is small.
FITS["erf_big_f32"] = lambda: fit(
    "erf_big_f32", lambda t: erf_log(t + 1), lambda t: mp.erfc(t + 1), mpf(-0.1), mpf(3), 7, 24
)
FITS["erf_big_f64"] = lambda: fit(
    "erf_big_f64", lambda t: erf_log(t + 1), lambda t: mp.erfc(t + 1), mpf(-0.1), mpf(5), 19, 53
)

if __name__ == "__main__":
    for key in sys.argv[1:] or FITS:
        FITS[key]()
