"""Numbers that change from call to call, and who asks for their values: Python code, which is
followed, built-in functions, which are not, and what these call."""

import functools
import operator

import pytest
from proofs import both, plain

import frazil as fz


class Sized:
    """Answers with numbers of t."""

    def __init__(self, t):
        self.t = t

    def __len__(self):
        return self.t.n % 3 + 1

    def __index__(self):
        return self.t.n % 3

    def __contains__(self, x):
        return self.t.n % 2

    def __bool__(self):
        return self.t.n % 2 == 0

    def __lt__(self, other):
        return self.t.n % 2

    def __eq__(self, other):
        return self.t.n % 2

    __hash__ = None

    def __int__(self):
        return self.t.n

    def __next__(self):
        return self.t.n

    def __iter__(self):
        return self


def firsts(s):
    for v, _ in zip(s, range(2), strict=False):
        yield v


def matched(x, n):
    match n:
        case 0:
            return x
        case 1:
            return x * 5
        case _:
            return x * 7


TABLE = {0: 1.0, 1: 2.0, 2: 5.0}
BODIES = {
    "key of sorted": lambda t, s, x: x * sorted([1, 2, 3], key=lambda k: (k * t.n) % 4)[0],
    "key of max": lambda t, s, x: x * max([1, 2, 3], key=lambda k: (k * t.n) % 4),
    "key of sort": lambda t, s, x: [a := [3, 1, 2], a.sort(key=lambda k: k * t.n % 4), x * a[0]][2],
    "filter": lambda t, s, x: x * len(list(filter(lambda k: (k + t.n) % 2, [1, 2, 3, 4, 5]))),
    "len": lambda t, s, x: x * len(s),
    "index of a list": lambda t, s, x: x * [7, 8, 9][s],
    "in": lambda t, s, x: x * 2 if 1 in s else x,
    "bool": lambda t, s, x: x * 2 if s else x,
    "int": lambda t, s, x: x * int(s),
    "range": lambda t, s, x: x * len(range(s)),
    "<": lambda t, s, x: x * 2 if s < 1 else x,
    "sorted by <": lambda t, s, x: x * (1 if sorted([s, Sized(t)])[0] is s else 2),
    "found by ==": lambda t, s, x: x * 2 if 1 in [s] else x,
    "counted by ==": lambda t, s, x: x * [s, s].count(5),
    "iterator": lambda t, s, x: x * sum(firsts(s)),
    "slice": lambda t, s, x: x * len([1, 2, 3][:s]),
    "any of a map": lambda t, s, x: x * 2 if any(map(lambda k: (k + t.n) % 2, [2, 2])) else x,
    "any of a generator": lambda t, s, x: x * 2 if any((k + t.n) % 2 for k in [2, 2]) else x,
    "reduce": lambda t, s, x: x * functools.reduce(lambda a, b: a + b * t.n, [1, 2]),
    "tuple of a map": lambda t, s, x: x * tuple(map(lambda k: k * t.n, [1, 2]))[0],
    "get": lambda t, s, x: x * TABLE.get(t.n % 3),
    "get of a map": lambda t, s, x: (
        x * next(iter(list(map(TABLE.get, map(lambda k: (k + t.n) % 3, [0])))))
    ),
    "pop": lambda t, s, x: x * dict(TABLE).pop(t.n % 3),
    "text": lambda t, s, x: x * len(f"{10 ** (t.n % 3)}"),
    "isinstance": lambda t, s, x: x * 2 if isinstance((t.n % 2 and 1) or 1.0, int) else x,
    "and, or": lambda t, s, x: x * ((t.n % 2 and 5) or 3),
    "round": lambda t, s, x: x * round(1.23456, t.n % 4),
    "enumerate": lambda t, s, x: x * next(enumerate([1], t.n))[0],
    "roll": lambda t, s, x: fz.roll(x, t.n),
    "full": lambda t, s, x: fz.full((1 + t.n % 3,), 2.0),
    "itemgetter": lambda t, s, x: x * operator.itemgetter(t.n % 3)([4, 5, 6]),
    "divmod": lambda t, s, x: x * divmod(t.n, 3)[1],
    "power": lambda t, s, x: x ** (t.n % 3),
    "compared": lambda t, s, x: (x > t.n) * 1.0,
    "of integers": lambda t, s, x: fz.astype(x, "int32") * t.n,
    "match": lambda t, s, x: matched(x, t.n % 3),
    "in a set": lambda t, s, x: x * 2 if t.n % 3 in {1, 2} else x,
    "tuples compared": lambda t, s, x: x * 2 if (t.n % 2, 1) == (0, 1) else x,
    "attribute of a number": lambda t, s, x: x * getattr(t.n, "real"),  # noqa: B009
    "bit_length": lambda t, s, x: x * t.n.bit_length(),
    "index": lambda t, s, x: x * [1, 2, 3].index(t.n % 3 + 1),
    "asarray with a bool": lambda t, s, x: x * fz.asarray([t.n % 3, True]),
    "sum with bools": lambda t, s, x: x * sum([t.n % 2 == 0, t.n > 3, 2]),
    "x[n:]": lambda t, s, x: x[t.n % 2 :][0],
    "x[n]": lambda t, s, x: x[t.n % 2],
    "x[s]": lambda t, s, x: fz.ones(3)[s],
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_values_that_are_asked_for(body):
    class T:
        n = 0

    def calls(trace):
        t, out = T(), []

        @trace
        def f(x):
            t.n += 1
            return body(t, Sized(t), x)

        for _ in range(24):
            try:
                out.append(plain(f(fz.asarray([1.0, 2.0]))))
            except Exception as error:
                out.append((type(error), str(error)))
        return out

    assert calls(fz.trace) == calls(lambda f: f)


def test_kinds_are_learnt_as_they_come():
    """Each kind of call is recorded once, learnt from once and compared once."""
    traced, _ = both(
        """
n = 0
@trace
def f(x, name): return {"a": x * 2, "b": x + 1, "c": x - 1}[name]
def call():
    global n
    n += 1
    return f(X, "abc"[n % 3])
""",
        calls=16,
    )
    assert traced.skipped >= 4


def test_explain_names_what_calls_differ_in():
    traced, skipped = both(
        """
seen = []
@trace
def f(x):
    seen.append(0)
    return x * len(seen)
""",
        calls=12,
    )
    assert skipped == 0
    assert "differ in what they read: program.py:5: 'seen'" in traced.f.explain()


@pytest.mark.parametrize(
    "call",
    [
        (fz.multiply, lambda x, n: (x, n)),
        (fz.arange, lambda x, n: (n,)),
        (fz.roll, lambda x, n: (x, n)),
        (fz.full, lambda x, n: ((3,), n)),
        (functools.partial(fz.add, fz.asarray([1.0, 2.0])), lambda x, n: (n,)),
        (functools.partial(fz.where, fz.asarray([True, False])), lambda x, n: (n, 2.0 * n)),
        (operator.pow, lambda x, n: (x, n)),
        (fz.Tensor.__add__, lambda x, n: (x, n)),
    ],
)
def test_numbers_given_to_traced_c_functions(call):
    """No instruction shows what such a function makes of them."""
    f, arguments = call
    traced, x = fz.trace(f), fz.asarray([1.0, 2.0, 4.0])
    for n in [5, 6, 7, 8, 5, 9, 10, 11, 3, 0, 1, 2, 2, 1, 8, 30, 12, 13, 14, 15] * 3:
        got, want = (g(*arguments(x, n)) for g in (traced, f))
        assert got.tolist() == want.tolist() and got.dtype == want.dtype, n


@pytest.mark.parametrize("pure", [False, True])
def test_a_tensor_of_one_number_that_is_looked_at_in_another_shape(pure):
    def added(x, n):
        return x + n.reshape((1,))

    def asked(x, n):
        return fz.sin(x) if n.reshape(()) < 3 else fz.cos(x)

    def counted(x, n):
        i, n = fz.zeros((), dtype="int64"), n[None][0]
        while i < n:
            x, i = x * 2, i + 1
        return x

    x = fz.ones(3) * 0.5
    for fn in (added, asked, counted):
        traced = fz.trace(fn, pure=pure)
        for n in (4, 4, 4, 4, 4, 4, 7, 1, 2, 3):
            for number in (fz.asarray(n), fz.asarray(float(n))):
                assert (traced(x, number) == fn(x, number)).all(), (fn.__name__, n)
        assert traced.stats()["skipped"] > 0
