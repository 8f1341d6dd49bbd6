"""Fits the Chebyshev series of core/functions/special.cc: needs mpmath, which nothing else does.

Each row is a smooth function on an interval, as its series of Chebyshev polynomials up to what
float64 can tell; the names say what special.cc makes of it. Prints core/functions/special.def.
"""

import mpmath as mp

mp.mp.dps = 50

FIRST_ZEROS = (
    [mp.besseljzero(0, k) ** 2 for k in (1, 2)],
    [mp.besseljzero(1, k) ** 2 for k in (1, 2)],
)
EDGE = 5  # Bessel functions: powers of x below, amplitude and phase above


def hankel(order):
    """(p, q) of w = (EDGE / x)^2, the amplitudes: j = sqrt(2 / (pi x)) (p cos - EDGE / x q sin)."""

    def parts(w):
        x = EDGE / mp.sqrt(w) if w > mp.mpf(10) ** -20 else mp.mpf(10) ** 12
        angle = x - (2 * order + 1) * mp.pi / 4
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        root = mp.sqrt(mp.pi * x / 2)
        return (
            root * (j * mp.cos(angle) + y * mp.sin(angle)),
            root * (y * mp.cos(angle) - j * mp.sin(angle)) * x / EDGE,
        )

    return lambda w: parts(w)[0], lambda w: parts(w)[1]


def small_j(order):
    a, b = FIRST_ZEROS[order]
    power = lambda z: mp.sqrt(z) ** order  # noqa: E731
    return lambda z: mp.besselj(order, mp.sqrt(z)) / power(z) / ((z - a) * (z - b))


def small_y(order):
    def value(z):
        x = mp.sqrt(z)
        rest = mp.bessely(order, x) - 2 / mp.pi * mp.log(x) * mp.besselj(order, x)
        return rest if order == 0 else (rest + 2 / (mp.pi * x)) / x

    return value


def tail_quantile(r):
    """How far below r = sqrt(-2 log p) the quantile of a tail p lies, times r."""
    p = mp.exp(-r * r / 2)
    x = r - (mp.log(r) + mp.log(2 * mp.pi) / 2) / r
    x = mp.findroot(lambda v: mp.log(mp.erfc(v / mp.sqrt(2)) / 2) - mp.log(p), x)
    return (r - x) * r


(P0, Q0), (P1, Q1) = hankel(0), hankel(1)
# name: (function of t, from, to)
ROWS = {
    "kI0Small": (lambda x: mp.exp(-x) * mp.besseli(0, x), 0, 8),
    "kI0Large": (
        lambda v: mp.exp(-8 / v) * mp.sqrt(8 / v) * mp.besseli(0, 8 / v),
        mp.mpf(1) / 10**9,
        1,
    ),
    "kI1Small": (lambda x: mp.exp(-x) * mp.besseli(1, x) / x if x else mp.mpf(1) / 2, 0, 8),
    "kI1Large": (
        lambda v: mp.exp(-8 / v) * mp.sqrt(8 / v) * mp.besseli(1, 8 / v),
        mp.mpf(1) / 10**9,
        1,
    ),
    "kJ0Small": (small_j(0), mp.mpf(10) ** -30, EDGE**2),
    "kJ1Small": (small_j(1), mp.mpf(10) ** -30, EDGE**2),
    "kY0Small": (small_y(0), mp.mpf(10) ** -30, EDGE**2),
    "kY1Small": (small_y(1), mp.mpf(10) ** -18, EDGE**2),
    "kP0": (P0, 0, 1),
    "kQ0": (Q0, 0, 1),
    "kP1": (P1, 0, 1),
    "kQ1": (Q1, 0, 1),
    # The logarithm of gamma around its zeros 1 and 2
    "kGammaLn": (lambda x: mp.loggamma(x) / ((x - 1) * (x - 2)), mp.mpf(3) / 4, 3),
    # erfc(x) exp(x^2) (1 + 2 x) in (x - 2) / (x + 2), from x = 0.5 on
    "kErfcx": (
        lambda t: (lambda x: mp.erfc(x) * mp.exp(x * x) * (1 + 2 * x))(2 * (1 + t) / (1 - t)),
        mp.mpf(-3) / 5,
        1 - mp.mpf(10) ** -8,
    ),
    # The normal quantile: y (1 + ...) in y^2 near the middle, tails in 1 / r
    "kQuantileMiddle": (
        lambda s: (lambda y: mp.sqrt(2) * mp.erfinv(2 * y) / y if y else mp.sqrt(2 * mp.pi))(
            mp.sqrt(s)
        ),
        0,
        mp.mpf("0.1806250"),
    ),
    "kQuantileTail": (lambda v: tail_quantile(1 / v), mp.mpf(1) / 9, mp.mpf(1) / mp.mpf("2.2")),
    "kQuantileFar": (lambda v: tail_quantile(1 / v), mp.mpf(1) / 39, mp.mpf(1) / 8),
}


def series(f, low, high):
    """Chebyshev coefficients, from that of T0 on, without the last that float64 does not see."""
    n = 64
    nodes = [mp.cos(mp.pi * (k + mp.mpf(1) / 2) / n) for k in range(n)]
    values = [f((low + high) / mp.mpf(2) + (high - low) / mp.mpf(2) * t) for t in nodes]
    out = []
    for j in range(n):
        c = mp.fsum(v * mp.cos(mp.pi * j * (k + mp.mpf(1) / 2) / n) for k, v in enumerate(values))
        out.append(c * (1 if j == 0 else 2) / n)
    top = max(abs(c) for c in out)
    while abs(out[-1]) < top * mp.mpf(2) ** -57:
        out.pop()
    return out


def legendre(n):
    """Points and weights of Gauss and Legendre's rule on [0, 1]."""
    points = []
    for k in range(n):
        x = mp.cos(mp.pi * (k + mp.mpf(3) / 4) / (n + mp.mpf(1) / 2))
        for _ in range(8):  # Newton's method
            value = mp.legendre(n, x)
            slope = n * (x * value - mp.legendre(n - 1, x)) / (x * x - 1)
            x -= value / slope
        points.append(((1 - x) / 2, 1 / ((1 - x * x) * slope * slope)))
    return zip(*points, strict=True)


def tables():
    for n in (40, 64):
        points, weights = legendre(n)
        yield f"kPoints{n}", points
        yield f"kWeights{n}", weights
    # Of Euler's and Maclaurin's formula: Bernoulli numbers by factorials
    yield "kEuler", [mp.bernoulli(2 * j) / mp.factorial(2 * j) for j in range(1, 13)]


def main():
    print("// Chebyshev series of special.cc, made by tools/fit_special.py: a function on")
    print("// [low, high] is the sum of c[k] T_k(t), t from -1 to 1 over the interval. One a row:")
    print("// FZ_SERIES(name, low, high, c...); FZ_NUMBER(name, value); FZ_TABLE(name, values...).")
    for order, zeros in enumerate(FIRST_ZEROS):
        for k, z in enumerate(zeros):
            print(f"FZ_NUMBER(kJ{order}Zero{k + 1}, {mp.nstr(z, 20)})  // squared")
    for name, (f, low, high) in ROWS.items():
        c = series(f, mp.mpf(low), mp.mpf(high))
        body = ", ".join(mp.nstr(v, 20) for v in c)
        print(f"FZ_SERIES({name}, {mp.nstr(mp.mpf(low), 20)}, {mp.nstr(mp.mpf(high), 20)}, {body})")
    for name, values in tables():
        print(f"FZ_TABLE({name}, {', '.join(mp.nstr(v, 20) for v in values)})")
    print("#undef FZ_SERIES\n#undef FZ_NUMBER\n#undef FZ_TABLE")


if __name__ == "__main__":
    main()
