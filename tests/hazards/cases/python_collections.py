"""Deques, ordered dicts, tuples with numbers, and what is handed on without being looked at."""

import collections
import dataclasses
import functools
from collections import OrderedDict, deque
from typing import NamedTuple

from changes import World, hazard, setter

import frazil as fz


def content(items):
    return [str(i.numpy()) if isinstance(i, fz.Tensor) else repr(i) for i in items]


@hazard("a window of the latest values in a deque")
def window(trace):
    recent = deque(maxlen=3)

    def body(x):
        recent.append(x * 2)
        return sum(recent) / len(recent), recent[0], recent.maxlen

    return World(
        trace(body),
        recent.clear,
        lambda: recent.extend([1.0, 2]),
        lambda: recent.rotate(1),
        lambda: recent.appendleft(fz.ones(2)),
        lambda: recent.__setitem__(1, -0.0),
        lambda: recent.extend(fz.ones(2) * k for k in range(5)),
        state=lambda: content(recent),
    )


@hazard("a queue: popleft, append, appendleft, pop, insert, remove, reverse, rotate")
def queue(trace):
    q = deque([1.0, 2.0, 3.0, 4])

    def body(x):
        first, last = q.popleft(), q.pop()
        q.append(first)
        q.appendleft(last)
        q.rotate(1)
        q.reverse()
        q.insert(1, 2)
        q.remove(2)
        return x * first + last, len(q), 3.0 in q

    return World(
        trace(body),
        lambda: q.append(9),
        q.popleft,
        lambda: q.extendleft([5, 6]),
        q.clear,
        state=lambda: content(q),
    )


@hazard("deques: another one, one without a bound, one in an attribute, a subclass, kept elsewhere")
def other_deques(trace):
    class Deque(deque):
        def append(self, x):
            super().append(x * 2)

    names = {"q": deque(maxlen=2), "copy": None}
    kept = []

    def body(x):
        names["q"].append(x[0])
        names["copy"] = names["q"]
        return list(names["q"]), names["copy"] is names["q"]

    return World(
        trace(body),
        lambda: kept.append(names["q"]),
        lambda: names.update(q=deque(maxlen=3)),
        lambda: names.update(q=deque([1.0])),
        lambda: names.update(q=Deque(maxlen=2)),
        lambda: names.update(q=kept[0]),
        lambda: names.update(q=[]),
        state=lambda: (content(names["q"]), content(kept[0]) if kept else None),
    )


@hazard("a counter in a deque")
def counter_in_a_deque(trace):
    q = deque([0, 1.5])

    def body(x):
        q[0] += 1
        return x * q[0] + q[1]

    return World(
        trace(body),
        lambda: q.__setitem__(0, 0.5),
        lambda: q.__setitem__(1, 2),
        lambda: q.rotate(1),
        q.clear,
        state=lambda: content(q),
    )


@hazard("an ordered dict whose order the body changes")
def least_recently_used(trace):
    cache, names = OrderedDict(), ["a"]

    def body(x):
        name = names[-1]
        if name in cache:
            cache.move_to_end(name)
        cache[name] = x.sum()
        while len(cache) > 2:
            cache.popitem(last=False)
        return list(cache), cache[name] * 2

    return World(
        trace(body),
        lambda: names.append("b"),
        lambda: names.append("c"),
        lambda: cache.move_to_end("b"),
        lambda: cache.update(d=fz.ones(())),
        lambda: names.append("b"),
        cache.clear,
        lambda: setattr(cache, "limit", 3),
        state=lambda: list(cache),
    )


@hazard(
    "an ordered dict: pop, setdefault, update, a moved first key; a subclass with its own order"
)
def ordered_dicts(trace):
    class Backwards(OrderedDict):
        def __iter__(self):
            return reversed(list(super().__iter__()))

    names = {"d": OrderedDict(a=1.0, b=2.0, c=3.0)}

    def body(x):
        d = names["d"]
        d["a"] = d.pop("a", 0.0) + 1
        d.move_to_end("c", last=False)
        d.setdefault("z", 4.0)
        d.update(b=x[0])
        return list(d), x * d["a"]

    return World(
        trace(body),
        lambda: names["d"].pop("c"),
        lambda: names["d"].update(c=-1.0),
        lambda: names["d"].move_to_end("z", last=False),
        lambda: names.update(d=Backwards(b=1.0, c=2.0)),
        lambda: names.update(d=dict(c=1)),
        state=lambda: list(names["d"]),
    )


class State(NamedTuple):
    w: object
    n: int = 0
    rest: tuple = (1, 2.0)


@hazard("numbers in named tuples and tuples that are made anew at each call")
def state_in_tuples(trace):
    held = {"s": State(fz.ones(2)), "f": lambda s: s.n + s.rest[0]}

    def body(s, x):
        return s._replace(w=s.w * 0.5 + x * s.n, n=held["f"](s), rest=(s.rest[0] + 1, s.rest[1]))

    f = trace(body)

    def call(x):
        held["s"] = f(held["s"], x)
        return held["s"]

    return World(
        call,
        lambda: held.update(s=held["s"]._replace(n=2.5)),
        lambda: held.update(s=held["s"]._replace(rest=(3, 4, 5))),
        lambda: held.update(f=lambda s: s.n * 2),
        lambda: held.update(s=State(fz.ones(2), True)),
        lambda: held.update(s=tuple(held["s"])),
    )


@hazard("tuples as keys, and constants of the code, with numbers that move")
def tuples_as_keys(trace):
    table = {(0, 0): 1.0, (0, 1): 2.0, (1, 0): 3.0}
    held = {"at": (0, 0), "n": 0}

    def body(x, at, size=(1, 2)):
        held["n"] += 1
        return x * table.get(at, -1.0), (1, 2), size[0] + held["n"], at == (0, 1)

    f = trace(body)

    def call(x):
        k = held["n"] % 2
        return f(x, (k, 0)), f(x, held["at"]), f(x, (0, 0), (k, 3))

    def rekey():
        table.clear()
        table.update({(0, 0): 5.0, (0, 2): 6.0})

    return World(
        call, lambda: held.update(at=(0, 1)), lambda: held.update(at=(0.0, 2)), rekey,
        lambda: table.update({(1, 0): 0.5}),
    )  # fmt: skip


@hazard("a partial's arguments move")
def numbers_in_partials(trace):
    held = {"n": 0}

    def body(x, f, g):
        return f(x), g(x)

    step = trace(body)

    def call(x):
        held["n"] += 1
        n = held["n"]
        return step(x, functools.partial(fz.multiply, float(n)), functools.partial(max, key=len)(
            [lambda x: x], [lambda x: x, n])[0])  # fmt: skip

    return World(call, lambda: held.update(n=-3), lambda: held.update(n=0.5))


@hazard("dataclasses.replace, vars, arguments out of a generator, dict views, map")
def handed_on(trace):
    @dataclasses.dataclass
    class Run:
        w: object
        step: int = 0
        tags: dict = dataclasses.field(default_factory=dict)

    held = {"r": Run(fz.ones(2), 0, {"a": 0.5}), "k": 0}

    def spread(*numbers):
        return [n * 2 for n in numbers]

    def body(r, x):
        r = dataclasses.replace(r, step=r.step + 1, w=r.w * 0.5 + x)
        found = {k: v for k, v in vars(r).items() if k != "w"}
        many = spread(*(r.step + i for i in range(2)))
        tags = dict(zip(r.tags.keys(), map(lambda v: v + r.step, r.tags.values()), strict=True))
        return r, found, many, tags, list(map(held.get, ["k", "none"])), isinstance(r.step, int)

    f = trace(body)

    def call(x):
        held["k"] += 1
        held["r"], *rest = f(held["r"], x)
        return held["r"].w, held["r"].step, rest

    return World(
        call,
        lambda: setattr(held["r"], "step", 2.5),
        lambda: vars(held["r"]).update(step=7, more=1),
        lambda: held["r"].tags.update(b=2),
        lambda: held["r"].tags.pop("a"),
        lambda: setattr(Run, "step", property(lambda self: 3)),
    )


@hazard("vars of a module, of a class, without an argument; written through vars")
def written_through_vars(trace):
    class Counts:
        n = 0

    c = Counts()

    def body(x):
        vars(c)["n"] = vars(c).get("n", 0) + 1
        local = len(vars())
        return x * c.n + local, "n" in vars(Counts)

    yield World(
        trace(body),
        lambda: vars(c).clear(),
        lambda: setattr(c, "n", 0.5),
        lambda: delattr(Counts, "n"),
        lambda: setattr(Counts, "n", property(lambda self: 9)),
        state=lambda: dict(vars(c)),
    )


@hazard("a list is cut while one new object is kept in two places")
def cut_and_kept_twice(trace):
    numbers, held = [1.0, 2.0, 3.0], {"a": None, "b": None}

    def body(x):
        made = {"x": x * 2, "l": [x]}
        numbers.pop()
        held["a"], held["b"] = made, made
        return made["l"] is held["b"]["l"]

    f = trace(body)

    def call(x):
        out = f(x)
        numbers.append(3.0)
        return out, held["a"] is held["b"], sorted(held["a"]), list(numbers)

    return World(call, lambda: held.update(a=1), lambda: numbers.append(4.0), held.clear)


@hazard("a user's sequence on top of list and UserList")
def users_sequences(trace):
    class Log(list):
        def append(self, x):
            super().append(x)
            self.last = len(self)

    held = {"log": Log(), "user": collections.UserList([0])}

    def body(x):
        held["log"].append(len(held["log"]))
        held["user"][0] += 1
        return x * held["user"][0], held["log"].last

    return World(
        trace(body),
        lambda: held["log"].clear(),
        lambda: held.update(user=collections.UserList([5, 6])),
        lambda: setattr(Log, "append", list.append),
        lambda: setter(held["user"], data=[0.5])(),
        state=lambda: (list(held["log"]), list(held["user"])),
    )
