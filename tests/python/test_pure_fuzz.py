"""Random arguments of every kind, their state changed at random: pure=True against eager calls.

The body reads all state of its argument that Python shows, by reflection of its own, so a change
that goes unseen by the key shows as another number. The variable FRAZIL_NIGHTLY makes it long.
"""

import collections
import dataclasses
import enum
import functools
import os
import random
import types

import pytest

import frazil as fz

LONG = bool(os.environ.get("FRAZIL_NIGHTLY"))


def number(r):
    return r.choice(
        [r.randrange(4), float(r.randrange(4)), r.random() < 0.5, None, "abc"[: r.randrange(4)]]
    )


def hashed(value):
    """A number that tells values apart; types count."""
    return float(sum(map(ord, f"{type(value).__name__}:{value!r}")) % 1009)


def digest(o, seen=None):
    """One number for all that can be reached from `o`."""
    seen = set() if seen is None else seen
    if isinstance(o, fz.Tensor):
        return 3.0 * len(o.shape) + 7.0 * isinstance(o, fz.nn.Parameter) + o.requires_grad
    if o is None or type(o) in (int, float, str, bool):
        return hashed(o)
    if id(o) in seen:
        return 1.0
    seen.add(id(o))
    total = hashed(type(o).__name__)
    parts = []
    if isinstance(o, dict):
        parts += [x for item in o.items() for x in item]
    if isinstance(o, (list, tuple)):
        parts += list(o)
    if isinstance(o, types.FunctionType):
        parts += [o.__name__, o.__doc__, o.__defaults__, o.__kwdefaults__, vars(o)]
        parts += [c.cell_contents for c in o.__closure__ or ()] + [o.__globals__.get("SHARED")]
        parts += sorted(o.__annotations__)
    elif isinstance(o, types.MethodType):
        parts += [o.__func__, o.__self__]
    elif isinstance(o, functools.partial):
        parts += [o.func, o.args, o.keywords, vars(o)]
    elif isinstance(o, type):
        parts += [v for k, v in vars(o).items() if k in ("scale", "table", "nested")]
        parts += [getattr(type(o), "scale", None), getattr(type(o), "table", None)]
    else:
        parts.append(getattr(o, "default_factory", None))
        parts += [getattr(o, n, "unset") for n in ("hidden", "extra", "value", "pos", "name")]
        parts += sorted(getattr(o, "__dict__", ()))
        if type(o).__module__ != "builtins":
            parts.append(type(o))
    for i, part in enumerate(parts):
        total += (i + 2) * digest(part, seen)
    return total % 8191


def make_classes():
    """Fresh classes, since their attributes are changed."""

    class Meta(type):
        scale = 1.0
        table = [1.0]  # noqa: RUF012

    class Slotted:
        __slots__ = ("hidden",)

    class Nested:
        scale = 1.0

    @dataclasses.dataclass
    class Data(metaclass=Meta):
        pos: object
        scale = 1.0
        table = {"k": 1.0}  # noqa: RUF012
        nested = Nested

        def method(self, x):
            return x

    @dataclasses.dataclass
    class Over(Slotted):
        pos: object

    @dataclasses.dataclass(slots=True)
    class Slots:
        pos: object
        hidden: object = 1.0

    class Pair(collections.namedtuple("Pair", "pos name")):
        scale = 1.0
        table = [2.0]  # noqa: RUF012

    class Color(enum.Enum):
        RED = [1.0]  # noqa: RUF012
        BLUE = 2.0

    class Words(str, enum.Enum):  # noqa: UP042
        A = "a"
        B = "b"

    class Table(dict):
        __slots__ = ("hidden",)

    class Attributed(dict):
        scale = 1.0

    class Numbers(list):
        pass

    class Whole(int):
        pass

    class Text(str):
        pass

    class Net(fz.nn.Module):
        scale = 1.0
        table = [1.0]  # noqa: RUF012

    return types.SimpleNamespace(**locals())


KINDS = (
    "number tensor tuple list dict data over slots pair color words table attributed factory "
    "ordered numbers whole text function method partial module class closure"
).split()


def make(r, c, depth=0):
    """An argument, of any kind."""
    leaf = depth > 2
    inner = lambda: make(r, c, depth + 1)  # noqa: E731
    name = r.choice(["number", "number", "tensor", "color", "words"] if leaf else KINDS)

    def closure(value):
        def g(x, a=1.0, *, b=2.0):
            return x if value is None else x

        return g

    if name == "function":
        space = {"SHARED": number(r), "__name__": r.choice(["made", __name__])}
        exec(SOURCE, space)
        return space["g"]
    if name == "module":
        m = c.Net()
        m.pos, m.extra = inner(), inner()
        return m
    if name == "ordered":
        return collections.OrderedDict(a=inner(), b=inner())
    if name == "attributed":
        made = c.Attributed(a=inner())
        made.extra = number(r)
        return made
    return {
        "number": lambda: number(r),
        "tensor": lambda: fz.ones(r.randrange(1, 3), requires_grad=r.random() < 0.2),
        "tuple": lambda: (inner(), inner()),
        "list": lambda: [inner(), inner()],
        "dict": lambda: {"a": inner(), "b": inner()},
        "data": lambda: c.Data(inner()),
        "over": lambda: c.Over(inner()),
        "slots": lambda: c.Slots(inner()),
        "pair": lambda: c.Pair(inner(), inner()),
        "color": lambda: r.choice(list(c.Color)),
        "words": lambda: r.choice(list(c.Words)),
        "table": lambda: c.Table(a=inner()),
        "factory": lambda: collections.defaultdict(r.choice([list, None, closure(1.0)]), a=inner()),
        "numbers": lambda: c.Numbers([number(r)]),
        "whole": lambda: c.Whole(r.randrange(3)),
        "text": lambda: c.Text(r.randrange(3)),
        "method": lambda: c.Data(inner()).method,
        "partial": lambda: functools.partial(closure(inner()), number(r), b=inner()),
        "class": lambda: r.choice([c.Data, c.Pair, c.Net, c.Color, int]),
        "closure": lambda: closure(inner()),
    }[name]()


SOURCE = compile("def g(x): return x", "made", "exec")


def reached(o, out, depth=0):
    """Objects that may be changed."""
    if depth > 6 or any(o is p for p in out):
        return out
    if not isinstance(o, (int, float, str, type(None), fz.Tensor)) or isinstance(o, enum.Enum):
        out.append(o)
    if isinstance(o, fz.Tensor):
        out.append(o)
    parts = (
        list(o.values()) if isinstance(o, dict) else list(o) if isinstance(o, (list, tuple)) else []
    )
    if isinstance(o, types.FunctionType):
        parts += [c.cell_contents for c in o.__closure__ or ()]
    if isinstance(o, types.MethodType):
        parts += [o.__self__, o.__func__]
    if isinstance(o, functools.partial):
        parts += [o.func, *o.keywords.values()]
    if hasattr(o, "pos") and not isinstance(o, type):
        parts.append(o.pos)
    if not isinstance(o, type) and type(o).__module__ == __name__:
        parts.append(type(o))
    for p in parts:
        reached(p, out, depth + 1)
    return out


def change(r, o):
    """Changes some state of `o`, in place and often unseen by anybody."""
    v = number(r)
    ways = [lambda: None]
    if isinstance(o, list):
        ways += [
            lambda: o.append(v),
            lambda: o.__setitem__(0, v),
            lambda: o.pop() if len(o) > 1 else 0,
        ]
    if isinstance(o, dict):
        ways += [lambda: o.__setitem__("a", v), lambda: o.__setitem__(str(v), v)]
        ways += [lambda: o.move_to_end("a")] if isinstance(o, collections.OrderedDict) else []
        ways += [lambda: setattr(o, "hidden", v)] if hasattr(type(o), "hidden") else []
    if isinstance(o, collections.defaultdict):
        ways += [lambda: setattr(o, "default_factory", r.choice([list, dict, None]))]
    if isinstance(o, types.FunctionType):
        ways += [
            lambda: setattr(o, "__name__", str(v)),
            lambda: setattr(o, "__doc__", v),
            lambda: setattr(o, "__defaults__", (v,)),
            lambda: setattr(o, "extra", v),
            lambda: o.__annotations__.update({str(v): int}),
            lambda: o.__closure__ and setattr(o.__closure__[0], "cell_contents", v),
        ]
    if isinstance(o, functools.partial):
        ways += [lambda: o.keywords.update(b=v), lambda: setattr(o, "extra", v)]
    if isinstance(o, type) and o.__module__ == __name__:
        ways += [lambda: setattr(o, "scale", v)]
        table = o.__dict__.get("table")
        ways += [lambda: table.__setitem__("k" if isinstance(table, dict) else 0, v)] * (
            table is not None
        )
        nested = o.__dict__.get("nested")
        ways += [lambda: setattr(nested, "scale", v)] * (nested is not None)
        if type(o) is not type and type(o).__module__ == __name__:
            ways += [lambda: setattr(type(o), "scale", v), lambda: type(o).table.__setitem__(0, v)]
    if isinstance(o, enum.Enum):
        ways += [lambda: setattr(o, "extra", v)]
        ways += [lambda: o.value.__setitem__(0, v)] if isinstance(o.value, list) else []
    elif hasattr(o, "pos") and not isinstance(o, (tuple, type)):
        ways += [
            lambda: setattr(o, "pos", v),
            lambda: hasattr(type(o), "hidden") and setattr(o, "hidden", v),
        ]
        ways += [lambda: setattr(o, "extra", v)] if hasattr(o, "__dict__") else []
    if isinstance(o, fz.Tensor):
        ways += [lambda: o.requires_grad_(not o.requires_grad)]
    r.choice(ways)()


@pytest.mark.parametrize("seed", range(2000 if LONG else 60))
def test_state_of_every_kind(seed):
    r = random.Random(seed)
    c = make_classes()
    body = lambda x, a: x * digest(a)  # noqa: E731
    f = fz.trace(body, pure=True, check_first=0, check_every=0)
    arguments = [make(r, c) for _ in range(3)]
    x = fz.ones(1)
    for _ in range(12):
        a = r.choice(arguments)
        for _ in range(3):
            assert f(x, a).item() == body(x, a).item(), (a, f.explain())
        change(r, r.choice(reached(a, [])) if reached(a, []) else None)


def test_most_kinds_are_skipped():
    """Or the test above could not fail."""
    skipped = calls = 0
    for seed in range(60):
        r = random.Random(seed)
        a = make(r, make_classes())
        f = fz.trace(lambda x, a: x * digest(a), pure=True, check_first=0)
        for _ in range(5):
            f(fz.ones(1), a)
        skipped, calls = skipped + f.stats()["skipped"], calls + 5
    assert skipped > 0.3 * calls
