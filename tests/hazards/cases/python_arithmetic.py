"""Arithmetic of a Python number that moves from call to call: one expression a case.

The number begins as an int, counts, and is then set to what makes the expression raise, overflow,
change its type or take its other side. Results are shown as they are and beside a tensor.
"""

import math

from changes import Object, World, hazard, setter

import frazil as fz

EXPRESSIONS = {
    "floor-division": lambda n: n // 3,
    "floor-division-of-negative": lambda n: -n // 4,
    "remainder": lambda n: (n % 3, -n % 3, n % -3),
    "true-division": lambda n: n / 7,
    "division-by-what-reaches-nought": lambda n: 1 / (n - 11),
    "remainder-by-what-reaches-nought": lambda n: 5 % (n - 11),
    "square": lambda n: n**2,
    "power-of-two": lambda n: 2 ** min(n, 99),
    "power-of-minus-one": lambda n: n**-1,
    "square-root-by-power": lambda n: (n - 11) ** 0.5,
    "power-of-floats": lambda n: 0.9**n,
    "shifts": lambda n: (n << 2, n >> 1, 1 << (n & 31)),
    "shift-by-a-negative": lambda n: 1 << (11 - n),
    "bits": lambda n: (n & 3, n | 4, n ^ 5, ~n),
    "round-half": lambda n: (round(n / 4), round(n / 2), round(-n / 2)),
    "round-digits": lambda n: (round(n / 8, 2), round(n, -1)),
    "int-of-a-float": lambda n: (int(n / 3), int(-n / 3)),
    "float-of-an-int": lambda n: float(n) / 3,
    "floor-and-ceil": lambda n: (math.floor(n / 3), math.ceil(n / 3), math.trunc(-n / 3)),
    "sqrt": lambda n: math.sqrt(11 - n),
    "log": lambda n: math.log(n - 8.5),
    "log-of-nought": lambda n: math.log(11 - n),
    "exp-overflows": lambda n: math.exp(n * 60),
    "sines": lambda n: (math.sin(n), math.cos(n / 2), math.atan2(n, 3), math.tanh(n / 9)),
    "hypot-and-fmod": lambda n: (math.hypot(n, 4), math.fmod(n, 2.5), math.copysign(n, -1)),
    "isqrt-and-gcd": lambda n: (math.isqrt(n * n + 1), math.gcd(n, 12)),
    "factorial": lambda n: math.factorial(min(n, 99)) % 1009,
    "min-and-max": lambda n: (min(n, 9), max(n, 9.5), min(9.5, n, 8)),
    "comparisons": lambda n: (n > 9, n == 9, n != 9, 4 < n <= 9, n is None),
    "truth": lambda n: (bool(n - 9), not n, n and 2, n or 3),
    "absolute": lambda n: (abs(9 - n), -n, +n),
    "divmod": lambda n: divmod(n, 4),
    "conditional": lambda n: n * 2 if n < 9 else 0.5 if n % 2 else -n,
    "minus-nought": lambda n: (-0.0 * n, 0.0 * -n, 0 * n, n - n),
    "becomes-infinite": lambda n: (n * 1e308, -n * 1e308 * 10, n * 1e308 * 10 - n * 1e308 * 10),
    "leaves-64-bits": lambda n: (n * 10**18, (n * 10**18) // 7, n**30),
    "differences-of-large": lambda n: (n * 2**60 - n * 2**60 + n, (n << 62) >> 60),
    "floats-of-large": lambda n: (float(n * 2**53 + 1), (n * 2**53 + 1) / 3, 2**53 + n + 0.5),
    "tenths": lambda n: (n * 0.1, 0.1 + 0.2 * n, n / 10 + n / 10),
    "sums": lambda n: (sum([n, 1, 2.5]), sum(range(n % 40)), sum(k * n for k in (1, 2))),
    "booleans": lambda n: (n * True, True + n, (n > 8) + (n > 9), ~(n & 1)),
    "formatted": lambda n: (f"{n:03d}|{n / 3:.2e}|{n!r}", str(n), "%05.1f" % n),
    "parsed": lambda n: (int(f"{n}0"), float(f"{n}.5"), len(str(n))),
    "indexed": lambda n: ([5, 6, 7][n % 3], (1, 2)[n > 9], "abc"[n % 3], {9: 0.5}.get(n, 1)),
    "ranges": lambda n: (len(range(n, 40, 3)), list(range(n % 4)), n in range(0, 100, 9)),
    "built-lists": lambda n: ([n] * 3, [n, n + 1], (n,), {"n": n}, {n % 2: n}),
    "complex": lambda n: (n * 1j, complex(n, 1), abs(complex(3, n))),
    "methods-of-numbers": lambda n: (n.bit_length(), (n / 2).is_integer(), (n + 0.5).hex()),
    "loops": lambda n: [k * n for k in range(n % 5)],
    "while-halved": lambda n: halved(n),
    "chained-assignment": lambda n: chained(n),
    "walrus": lambda n: ((k := n * 2), k + (k := 3) + k),
    "swapped": lambda n: (lambda a, b: (b, a, a - b))(n, n + 1),
    "recursion": lambda n: fibonacci(int(n) % 7),
}


def halved(n):
    steps = 0
    while n > 1 and steps < 99:
        n = n // 2 if n % 2 == 0 else n - 1
        steps += 1
    return steps, n


def chained(n):
    a = b = n
    a += 1
    b *= a
    a, b = b, a
    return a, b


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def numbers_in(value):
    if isinstance(value, (list, tuple)):
        return [n for v in value for n in numbers_in(v)]
    return [value] if isinstance(value, (int, float)) else []


def arithmetic(name, expression):
    def make(trace):
        t = Object(n=0)

        def body(x):
            t.n += 1
            value = expression(t.n)
            y = x
            for number in numbers_in(value):
                y = y * number + 1
            return y, value

        values = (2.5, 20, True, -4, 0, 2**62, -0.5, 10**25, math.inf, math.nan)
        return World(trace(body), *(setter(t, n=v) for v in values), state=lambda: t.n)

    make.__name__ = name.replace("-", "_")
    make.__module__ = __name__
    hazard(f"a moving number: {name.replace('-', ' ')}", before=13, each=5)(make)


for name, expression in EXPRESSIONS.items():
    arithmetic(name, expression)


@hazard("a number that moves is an operand on either side of every operator")
def operators_with_tensors(trace):
    t = Object(n=0)

    def body(x):
        t.n += 1
        n = t.n
        i = fz.astype(x, fz.int32)
        return (
            x + n,
            n - x,
            x * n,
            n / (x + 10),
            x // n,
            n % (x + 10),
            x**2 * n,
            i & n,
            n | i,
            i << n % 3,
        )

    return World(
        trace(body), setter(t, n=0.5), setter(t, n=2**31), setter(t, n=2**63), setter(t, n=True)
    )


@hazard("a number that moves beside tensors of every dtype")
def dtypes_with_a_moving_number(trace):
    t = Object(n=0)
    names = "bool int8 uint8 int64 float16 bfloat16 float32 float64".split()
    tensors = [fz.astype(fz.asarray([1.0, 0.0]), getattr(fz, name)) for name in names]

    def body(x):
        t.n += 1
        return [y * t.n for y in tensors], x > t.n, fz.where(x > 2, t.n, x), fz.clip(x, 0, t.n)

    return World(
        trace(body), setter(t, n=0.25), setter(t, n=100), setter(t, n=300), setter(t, n=-1)
    )


@hazard("a number that moves comes from a tensor, and goes into one")
def numbers_of_tensors(trace):
    t = Object(total=0.0, count=0)

    def body(x):
        t.total += float(x.sum())
        t.count += int(x.max())
        t.mean = t.total / max(t.count, 1)
        return x - t.mean, fz.asarray(t.count), fz.full((2,), t.mean)

    return World(trace(body), setter(t, total=0), setter(t, count=-5), setter(t, total=math.inf))
