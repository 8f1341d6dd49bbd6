#!/usr/bin/env python3
"""Minimax coefficients of the mathematical functions in kernels/fn_*.h.

Run: python3 tools/fit_functions.py [name ...] (needs mpmath). Prints, for every polynomial, its
coefficients (lowest power first, already rounded to the type they are used in) and the largest
weighted error of the rounded polynomial. tanh_tables and erf_tables are the rows of
kernels/fn_tables.def.

Method: the Remez exchange on a fine Chebyshev grid with 50 digits. Coefficients are then rounded
one by one from the lowest power up, and what remains is fitted again, so that higher coefficients
make up for the rounding of the lower ones.
"""

import argparse
import struct
from collections.abc import Callable
from dataclasses import dataclass

from mpmath import mp, mpf

mp.dps = 50


def round_to(value, bits):
    """The nearest number with `bits` significant bits."""
    if value == 0:
        return mpf(0)
    mantissa, exponent = mp.frexp(value)
    return mp.ldexp(mp.nint(mp.ldexp(mantissa, bits)), exponent - bits)


def extrema(err, n):
    """Indices of n + 1 errors of alternating sign, the largest; None if there are fewer."""
    runs, start = [], 0
    for k in range(1, len(err) + 1):
        if k == len(err) or (err[k] > 0) != (err[start] > 0):
            runs.append(max(range(start, k), key=lambda i: abs(err[i])))
            start = k
    while len(runs) > n + 1:
        end = min(0, -1, key=lambda i: abs(err[runs[i]]))
        if len(runs) == n + 2:
            runs.pop(end)
            continue
        # Two neighbours at once keep the signs alternating.
        sizes = [abs(err[i]) for i in runs]
        k = min(range(len(runs) - 1), key=lambda i: max(sizes[i], sizes[i + 1]))
        if sizes[end] < min(sizes[k], sizes[k + 1]):
            runs.pop(end)
        else:
            del runs[k : k + 2]
    return runs if len(runs) == n + 1 else None


def remez(f, w, n, grid, rounds=12):
    """The n coefficients that minimise max |w (f - p)| over the grid; f and w are values on it."""
    steps = [(1 - mp.cos(mp.pi * k / n)) / 2 for k in range(n + 1)]
    pick = [int(mp.nint((len(grid) - 1) * step)) for step in steps]
    c = [mpf(0)] * n
    for _ in range(rounds):
        rows, rhs = mp.matrix(n + 1, n + 1), mp.matrix(n + 1, 1)
        for i, k in enumerate(pick):
            for j in range(n):
                rows[i, j] = grid[k] ** j
            rows[i, n] = (-1) ** i / w[k]
            rhs[i] = f[k]
        try:
            c = list(mp.lu_solve(rows, rhs))[:n]
        except ZeroDivisionError:  # a weight of almost zero: the pole of a refit
            break
        err = [w[k] * (f[k] - mp.polyval(c[::-1], grid[k])) for k in range(len(grid))]
        chosen = extrema(err, n)
        if chosen is None or chosen == pick:
            break
        pick = chosen
    return c


@dataclass
class Fit:
    f: Callable  # what the polynomial approximates
    weight: Callable  # of an error of f in the result
    lo: mpf
    hi: mpf
    n: int  # coefficients
    bits: int  # 24: f32, 53: f64

    def run(self):
        """The rounded coefficients and the largest weighted error."""
        lo, hi, points = mpf(self.lo), mpf(self.hi), 20 * self.n + 60
        angles = [mp.pi * (2 * k + 1) / (2 * points) for k in range(points)]
        grid = [lo + (hi - lo) * (1 - mp.cos(angle)) / 2 for angle in angles]
        values, weights = [self.f(x) for x in grid], [self.weight(x) for x in grid]
        rest, weight, out, c = values, weights, [], []

        def worst(c, w, f):
            return max(abs(w[k] * (f[k] - mp.polyval(c[::-1], x))) for k, x in enumerate(grid))

        for done in range(self.n):
            # The refit's target has a pole at 0 where the rounding left a residue: try both.
            tries = [remez(rest, weight, self.n - done, grid)] + ([c[1:]] if c else [])
            c = min((worst(c, weight, rest), c) for c in tries)[1]
            out.append(round_to(c[0], self.bits))
            rest = [(rest[k] - out[-1]) / x for k, x in enumerate(grid)]
            weight = [weight[k] * abs(x) for k, x in enumerate(grid)]
        return out, worst(out, weights, values)


def from_bits(bits):
    return mpf(struct.unpack("<f", struct.pack("<I", bits))[0])


def to_bits(x):
    return struct.unpack("<I", struct.pack("<f", float(x)))[0]


@dataclass
class Pieces:
    """Polynomials around the centres of 16 intervals of [0, top], as kernels/fn_tanh_erf.h wants.

    The interval of a is four bits of the f32 number a + bias: the lowest two of the exponent and
    the highest two of the mantissa. Every centre is an f32 number whose value is nearly one too.
    The first interval has centre 0; where the slope at 0 is no f32 number (`apart`), its
    polynomial lacks the term a, which the caller adds.
    """

    f: Callable
    bias: mpf
    top: mpf
    apart: bool
    n: int = 6  # coefficients apart from the value at the centre
    bits = 24

    def centre(self, lo, hi):
        middle, spread = (lo + hi) / 2, (hi - lo) / 40
        tries = [round_to(middle + spread * k / 1000, self.bits) for k in range(-1000, 1001)]

        def residue(x):
            value = self.f(x)
            return abs(value - round_to(value, self.bits)) / value

        return min(tries, key=residue)

    def piece(self, k, first):
        lo = max(from_bits(k << 21) - self.bias, mpf(0))
        hi = min(from_bits((k + 1) << 21) - self.bias, self.top)
        if lo >= self.top:  # where everything beyond goes
            return [self.top, mpf(1), *[mpf(0)] * self.n, mpf(0)], mpf(0)
        if first:
            one = 1 if self.apart else 0
            fit = Fit(lambda t: self.f(t) / t - one, lambda t: 1, NEAR_0, hi, self.n, self.bits)
            coefficients, error = fit.run()
            return [mpf(0), mpf(0), *coefficients, mpf(1)], error
        centre = self.centre(lo, hi)
        value = round_to(self.f(centre), self.bits)
        fit = Fit(
            lambda t: (self.f(centre + t) - value) / t,
            lambda t: abs(t) / self.f(centre + t),
            lo - centre,
            hi - centre,
            self.n,
            self.bits,
        )
        coefficients, error = fit.run()
        return [centre, value, *coefficients, mpf(0)], error

    def run(self):
        """16 entries of every table (centre, value, coefficients, what `apart` leaves)."""
        tables, worst = (
            [[mpf(0)] * 16 for _ in range(self.n + 3 if self.apart else self.n + 2)],
            mpf(0),
        )
        low, high = to_bits(self.bias) >> 21, to_bits(self.top + self.bias) >> 21
        for k in range(low, high + 1):
            entries, error = self.piece(k, k == low)
            worst = max(worst, error)
            for table, entry in zip(tables, entries, strict=False):
                table[k % 16] = entry
        return tables, worst


HALF_LN2 = mp.log(2) / 2 * mpf("1.001")
ROOT2 = mp.sqrt(2)
S2 = (3 - 2 * ROOT2) ** 2 * mpf("1.0001")  # the largest s^2 of the logarithm's s = f / (2 + f)
QUARTER_PI2 = (mp.pi / 4) ** 2 * mpf("1.02")
TAN_EIGHTH2 = (ROOT2 - 1) ** 2 * mpf("1.0001")
NEAR_0 = mpf("1e-10")  # functions of z = x^2 are not evaluated at 0 itself


def exp_tail(r):
    return (mp.expm1(r) - r) / r**2


def log_tail(f):
    return (mp.log1p(f) - f + f**2 / 2) / f**3


def atanh_tail(z):
    s = mp.sqrt(z)
    return (mp.atanh(s) / s - 1) / z


def sin_tail(z):
    r = mp.sqrt(z)
    return (mp.sin(r) / r - 1) / z


def atan_tail(z):
    t = mp.sqrt(z)
    return (mp.atan(t) / t - 1) / z


def erf_tail(z):
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def erf_log(t):
    return -mp.log(mp.erfc(1 + t))


def exp_fit(n, bits):
    return Fit(exp_tail, lambda r: r**2, -HALF_LN2, HALF_LN2, n, bits)


def log_fit(n):
    return Fit(lambda z: 2 * atanh_tail(z), lambda z: z, NEAR_0, S2, n, 53)


def sin_fit(n):
    return Fit(sin_tail, lambda z: z, NEAR_0, QUARTER_PI2, n, 53)


def erf_big_fit(top, n, bits):
    # Around 1, where the result needs most of u's accuracy, t = x - 1 is small.
    return Fit(erf_log, lambda t: mp.erfc(1 + t), mpf("-0.1"), top - 1, n, bits)


FITS = {
    "exp_f32": exp_fit(5, 24),
    "expm1_f32": exp_fit(6, 24),
    "exp_f64": exp_fit(10, 53),
    "exp_f64_short": exp_fit(6, 53),
    "log_f32": Fit(log_tail, lambda f: abs(f**3 / mp.log1p(f)), 1 / ROOT2 - 1, ROOT2 - 1, 8, 24),
    "log_f64": log_fit(7),
    "log_f64_short": log_fit(5),
    "pow_f64": Fit(lambda z: (atanh_tail(z) - mpf(1) / 3) / z, lambda z: z**2, NEAR_0, S2, 7, 53),
    "sin_f64": sin_fit(6),
    "sin_f64_short": sin_fit(4),
    "cos_f64": Fit(
        lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
        lambda z: z**2,
        NEAR_0,
        QUARTER_PI2,
        6,
        53,
    ),
    "cos_f64_short": Fit(
        lambda z: (mp.cos(mp.sqrt(z)) - 1) / z, lambda z: z, NEAR_0, QUARTER_PI2, 4, 53
    ),
    "atan_f32": Fit(atan_tail, lambda z: z, NEAR_0, TAN_EIGHTH2, 5, 24),
    "atan_f64": Fit(atan_tail, lambda z: z, NEAR_0, TAN_EIGHTH2, 11, 53),
    "tanh_tables": Pieces(mp.tanh, mpf(3) / 4, mpf("9.25"), False),
    "erf_tables": Pieces(mp.erf, mpf(3) / 4, mpf("4.25"), True),
    "erf_small_f64": Fit(erf_tail, lambda z: 1, NEAR_0, mpf("0.81"), 12, 53),
    "erf_big_f64": erf_big_fit(6, 19, 53),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FITS))
    for name in parser.parse_args().names or FITS:
        coefficients, error = FITS[name].run()
        print(f"{name}: error 2^{float(mp.log(error, 2)):.1f}")
        if isinstance(FITS[name], Pieces):
            for table in coefficients:
                print("  " + ", ".join(f"{float(c):.9g}" for c in table))
            continue
        for c in coefficients:
            digits, suffix = (9, "f") if FITS[name].bits == 24 else (17, "")
            print(f"  {float(c):.{digits}g}{suffix},")


if __name__ == "__main__":
    main()
