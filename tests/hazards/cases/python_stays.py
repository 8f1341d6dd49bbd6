"""A number that moves, then stays until calls are skipped, then moves again: whatever uses it, the
call that was learnt while it stayed is not the next one."""

import functools
import math
import operator
from dataclasses import dataclass

from changes import Object, World, hazard, setter

import frazil as fz

STEPS = [1, 2, 3, *[3] * 9, 4, 5, *[5] * 9, *[4] * 9, *[6] * 5]
LIST = [2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0]


@dataclass
class Pair:
    a: float
    b: float = 1.0


def taken(x, *rest, by=1.0, **more):
    return x * by + len(rest) * 10 + sum(more.values())


def viewed(n):
    items = {"a": 1}
    values = items.values()
    items["a"] = n
    return values


def given(n):
    yield n * 2
    if n > 4:
        yield n


def changed(x, n):
    y, z = x * 1, x * 2
    y += n
    z *= n
    z -= n
    return y, z


def caught(f):
    try:
        return f()
    except (ZeroDivisionError, LookupError, ValueError, TypeError) as e:
        return len(type(e).__name__)


def removed(n, items):
    del items[n]
    return items[3]


def matched(n):
    match n:
        case 3 | 4:
            return 2
        case int() if n > 5:
            return 5
    return 7


def stored(items, n):
    items[n] = 50.0
    return sum(items.values()) if isinstance(items, dict) else items[4] + items[6] * 2


def turns(x, n):
    while n > 3:
        x, n = x + n, n - 1
    return x


def written(t):
    t.m, t.items[0], t.table["k"] = t.n * 2, t.n - 1, {"n": t.n}
    return t.m + t.items[0]


USES = {
    "an index of a list": lambda t, x: x * LIST[t.n],
    "an index of a tensor": lambda t, x: x * x[t.n % 2],
    "a bound of a slice": lambda t, x: x * sum(LIST[: t.n]) + x[: t.n % 2 + 1],
    "an operand of integers": lambda t, x: fz.asarray([1, 2]) * t.n,
    "an operand of integers in place": lambda t, x: changed(fz.asarray([1, 2]), t.n),
    "an operand in place": lambda t, x: changed(x, t.n),
    "a power": lambda t, x: (x**t.n, 2**t.n * x, x * (0.5 ** (t.n / 2))),
    "a divisor": lambda t, x: (x // t.n, x % t.n, t.n / x, t.n - x, x / t.n, -t.n * x),
    "an operand that no float holds": lambda t, x: (x * t.big, x - t.big * 2),
    "too long in between": lambda t, x: x * (t.n * 2**62) + (t.n**70) // 3**65 + (t.n << 70) % 7,
    "a truth of a function": lambda t, x: (x, math.isnan(t.n - 4.5), math.isclose(t.n, 5)),
    "seen through a view": lambda t, x: x * sum(viewed(t.n)),
    "a leaf of a tree": lambda t, x: x * fz.tree.map(math.sqrt, Pair(t.n)).a,
    "bits": lambda t, x: x * (t.n & 3) + (t.n | 8) - (t.n ^ 5) + (~t.n) + (1 << t.n) + (64 >> t.n),
    "a key of a dict that is made": lambda t, x: x * {t.n: 2.0, 3: 5.0}.get(4, 1.0),
    "a key beside another": lambda t, x: x * {3: 5.0, t.n: 2.0}[3] + len([*{3: 1, t.n: 2}]),
    "a key of a comprehension": lambda t, x: x * {6: 9, **{k + t.n: k for k in (1, 2)}}[6],
    "a key that is looked up": lambda t, x: x * {3: 2.0, 5: 4.0}.get(t.n, 1.0),
    "a place that is written to": lambda t, x: x * stored([1.0] * 8, t.n),
    "a key that is stored": lambda t, x: x * stored({4: 1.0, 5: 2.0}, t.n),
    "an item of a set": lambda t, x: x * len({t.n, 3, 5}),
    "a member": lambda t, x: x * (2 if t.n in (4, 5) else 3) + (t.n in LIST),
    "text": lambda t, x: x * len(f"{t.n:>{t.n}}") + len(f"{10**t.n}") + len(str(9**t.n)),
    "a comparison": lambda t, x: x * 2 if 3 < t.n <= 5 else x,
    "a comparison of lists": lambda t, x: x * (2 if [t.n] == [4] else 3) + ((t.n, 1) < (5, 0)),
    "a truth": lambda t, x: (x if t.n - 4 else -x) * (2 if not t.n - 5 else 1) + (t.n - 5 and 3),
    "a number of turns": lambda t, x: sum((x * i for i in range(t.n)), x),
    "a condition of a loop": lambda t, x: turns(x, t.n),
    "an extent": lambda t, x: x * fz.sum(fz.ones((t.n + 1,))) + fz.arange(t.n).shape[0],
    "a fill value": lambda t, x: x * fz.full((2,), t.n) + fz.clip(x, max=t.n) + fz.asarray(t.n),
    "an alternative": lambda t, x: fz.where(x > 2, x, t.n) + fz.maximum(x, t.n),
    "an axis": lambda t, x: fz.sum(fz.outer(x, x), axis=t.n % 2) + fz.roll(x, t.n),
    "a branch of match": lambda t, x: x * matched(t.n),
    "arguments of functions of numbers": lambda t, x: (
        x * math.comb(9, t.n)
        + math.gcd(t.n, 4)
        + divmod(t.n, 3)[1]
        + round(2.345678, t.n)
        + max(t.n, 4)
        + min([t.n, 4])
        + abs(t.n - 5)
        + math.sqrt(t.n)
    ),
    "arguments given by a star": lambda t, x: (
        x * math.comb(*[9, t.n]) + max(*(t.n, 4)) + round(**{"number": 2.345678, "ndigits": t.n})
    ),
    "arguments of built-in functions": lambda t, x: (
        x * sum([t.n, 1])
        + sorted([t.n, 4.5])[0]
        + [3, 4].count(t.n)
        + len([0] * t.n)
        + any([t.n - 4])
        + pow(t.n, 2)
        + len(bytes(t.n))
    ),
    "arguments of methods": lambda t, x: (
        x * len("a,b,c,d,e".split(",", t.n)) + LIST[:].pop(t.n) + t.n.bit_length() + t.n.real
    ),
    "what is mapped": lambda t, x: (
        x * sum(map(len, map(str, [9**t.n])))
        + functools.reduce(operator.mul, [t.n, 2])
        + next(filter(None, [t.n - 4, 9]))
    ),
    "a default and a keyword": lambda t, x: (
        (lambda k=t.n: x * k)()
        + taken(x, by=t.n)
        + taken(x, **{"by": 0.5, "a": t.n})
        + taken(x, *LIST[: t.n])
    ),
    "what is yielded": lambda t, x: x * sum(given(t.n)),
    "an error": lambda t, x: x * caught(lambda: 1 / (t.n - 4)) + caught(lambda: LIST[t.n + 3]),
    "a place that is deleted": lambda t, x: x * removed(t.n, LIST[:]),
    "the name of an attribute": lambda t, x: x * getattr(t, f"a{t.n % 2}"),
    "part of the result": lambda t, x: (x, t.n, [t.n / 2, {"k": -t.n}], t.n > 4, float(t.n)),
    "what is written": lambda t, x: x * written(t),
    "a fraction": lambda t, x: x * complex(t.n, 1).real + (t.n / 3).as_integer_ratio()[0] % 7,
}


def stays(what, use):
    def case(trace):
        t = Object(n=1, big=2**54 + 1, m=0, items=[0], table={}, a0=2.0, a1=3.0)
        f = trace(lambda x: use(t, x))
        changes = [setter(t, n=n, big=n * (2**54 + 1)) for n in STEPS]
        return World(f, *changes, state=lambda: (t.m, t.items, t.table))

    case.__name__ = "stays_" + what.replace(" ", "_")
    case.__module__ = __name__
    hazard(f"a number that moves, stays and moves again is {what}", before=1, each=1)(case)


for what, use in USES.items():
    stays(what, use)
