"""Lists, dicts, sets and arrays of other libraries change between calls."""

import array
import collections
import types

import numpy as np
from changes import World, hazard, setter

import frazil as fz


@hazard("a list of numbers is changed in every way")
def list_changed(trace):
    k = [2.0, 3.0]

    def body(x):
        for v in k:
            x = x * v
        return x + len(k)

    return World(
        trace(body),
        lambda: k.append(0.5),
        lambda: k.__setitem__(0, 7.0),
        k.reverse,
        lambda: k.insert(1, 2),
        lambda: k.__delitem__(slice(0, 2)),
        k.sort,
        lambda: k.extend([k[0]] * 3),
        k.clear,
    )


@hazard("a list grows by each call: numbers")
def list_grows(trace):
    seen = [1.0]

    def body(x):
        seen.append(seen[-1] / 2)
        return x * sum(seen)

    return World(
        trace(body),
        lambda: seen.append(5),
        lambda: seen.__delitem__(slice(1, None)),
        state=lambda: seen,
    )


@hazard("a list grows by each call: tensors, which are changed later")
def list_of_tensors_grows(trace):
    kept = []

    def body(x):
        kept.append(x * 2)
        return sum(kept[-3:])

    def change():
        kept[-1] *= 10

    return World(trace(body), change, kept.clear, change, state=lambda: kept)


@hazard("a dict grows by each call, and its oldest item goes")
def dict_grows(trace):
    table = {}

    def body(x):
        table[len(table), "k"] = x.sum()
        if len(table) > 5:
            del table[next(iter(table))]
        return x + sum(table.values()), len(table)

    return World(
        trace(body), table.clear, lambda: table.update(z=fz.ones(())), state=lambda: len(table)
    )


@hazard("values, keys and the order of a dict")
def dict_changed(trace):
    table = {"a": 2.0, "bb": 3.0}

    def body(x):
        for name, v in table.items():
            x = x * v + len(name)
        return x, list(table), "c" in table

    def moved():
        table["a"] = table.pop("a")

    return World(
        trace(body),
        lambda: table.update(a=4.0),
        moved,
        lambda: table.update(c=0.5),
        lambda: table.pop("bb"),
        lambda: table.update(a=4),
        table.popitem,
        table.clear,
    )


@hazard("a missing key: KeyError, get, setdefault, __contains__")
def missing_keys(trace):
    table = {"a": 2.0}

    def body(x):
        y = x * table.get("b", 1.0) + table.setdefault("c", 3)
        return y * table["a"] if "a" in table else y / table["a"]

    return World(
        trace(body),
        lambda: table.update(b=5.0),
        lambda: table.pop("a"),
        lambda: table.update(a=1),
        state=lambda: table,
    )


@hazard("keys that are equal and of other types: 1, 1.0, True")
def equal_keys(trace):
    table, key = {1: 2.0}, [1]
    return World(
        trace(lambda x: (x * table[key[0]], [type(k).__name__ for k in table])),
        lambda: key.__setitem__(0, 1.0),
        lambda: table.update({True: 3.0}),
        lambda: table.pop(1) and table.update({1.0: 4.0}),
        lambda: key.__setitem__(0, "1"),
    )


@hazard("a set is added to; a frozen set is swapped")
def sets_changed(trace):
    held = {"set": {1, 2}, "frozen": frozenset("ab")}

    def body(x):
        y = x * sum(sorted(held["set"]))
        return y + 1 if 3 in held["set"] or "c" in held["frozen"] else y

    return World(
        trace(body),
        lambda: held["set"].add(3),
        lambda: held["set"].discard(1),
        lambda: held["set"].clear(),
        lambda: held.update(frozen=held["frozen"] | {"c"}),
    )


@hazard("lists inside dicts inside lists")
def nested_containers(trace):
    deep = [{"a": [2.0, (3.0, [4.0])]}]
    return World(
        trace(lambda x: x * deep[0]["a"][0] + deep[0]["a"][1][1][0]),
        lambda: deep[0]["a"][1][1].__setitem__(0, 5.0),
        lambda: deep[0]["a"].__setitem__(0, 6.0),
        lambda: deep[0].update(a=[7.0, (8.0, [9.0])]),
        lambda: deep.__setitem__(0, {"a": [1.0, (1.0, [1.0])]}),
        lambda: deep[0]["a"][1][1].clear(),
    )


@hazard("the number of things to unpack changes")
def unpacking(trace):
    k = [2.0, 3.0]

    def body(x):
        try:
            a, b = k
        except ValueError as e:
            a, *rest = k
            return x * a + len(rest), str(e)
        return x * a + b

    return World(trace(body), lambda: k.append(4.0), lambda: k.__delitem__(0), k.clear)


@hazard("deque, Counter, ChainMap, OrderedDict, defaultdict, a read-only view")
def kinds_of_containers(trace):
    queue, count = collections.deque([1.0, 2.0], maxlen=3), collections.Counter("aab")
    inner, ordered = {"k": 2.0}, collections.OrderedDict(a=1.0, b=5.0)
    chain, default = collections.ChainMap({}, inner), collections.defaultdict(lambda: 0.5)
    view = types.MappingProxyType(inner)

    def body(x):
        y = x * queue[0] + count["a"] * chain["k"] - view["k"]
        return y + default["new"] * next(iter(ordered.values()))

    return World(
        trace(body),
        lambda: queue.appendleft(7.0),
        lambda: count.update("aaa"),
        lambda: chain.update(k=3.0),
        lambda: inner.update(k=9.0),
        lambda: ordered.move_to_end("a"),
        lambda: default.update(new=4),
        lambda: setattr(default, "default_factory", None) or default.pop("new"),
        state=lambda: [list(queue), dict(default), dict(ordered)],
    )


@hazard("subclasses of list and dict with state of their own")
def container_subclasses(trace):
    class Rates(list):
        reads = 0

        def __getitem__(self, i):
            self.reads += 1
            return super().__getitem__(i) * self.reads

        def __len__(self):
            return 10

    class Table(dict):
        def __missing__(self, key):
            return self.get("default", 1.0)

    rates, table = Rates([2.0, 3.0]), Table(a=1.0)
    return World(
        trace(lambda x: x * rates[0] + table["zz"] + len(rates)),
        lambda: table.update(default=7.0),
        setter(rates, reads=0),
        lambda: table.update(zz=9.0),
        setter(Rates, __len__=lambda self: 1),
        setter(Table, __getitem__=lambda self, key: 0.25),
        state=lambda: rates.reads,
    )


@hazard("an array of NumPy's: written in place, replaced, of another dtype")
def numpy_array(trace):
    held = {"a": np.array([2.0, 3.0], np.float32)}

    def double():
        held["a"] *= 2

    return World(
        trace(lambda x: (x * fz.asarray(held["a"]), x + held["a"], x * float(held["a"][0]))),
        double,
        lambda: held["a"].__setitem__(0, 9),
        lambda: held.update(a=held["a"].astype(np.float64)),
        lambda: held.update(a=np.arange(2)),
        lambda: held["a"].fill(3),
        lambda: held.update(a=held["a"][::-1]),
        lambda: held.update(a=np.ones((2, 1), np.float32)),
    )


@hazard("scalars of NumPy's")
def numpy_scalars(trace):
    held = {"k": np.float32(2)}
    values = (
        np.float64(2),
        np.int64(2),
        np.bool_(True),
        np.float32(3),
        np.array(2.0),
        np.float16(0.1),
    )
    return World(
        trace(lambda x: (x * held["k"], fz.astype(x, fz.int32) * held["k"])),
        *(lambda v=v: held.update(k=v) for v in values),
    )


@hazard("bytes, arrays and views of memory")
def memory_views(trace):
    buffer, floats = bytearray(b"\x02\x03"), array.array("d", [2.0, 3.0])
    view = memoryview(floats)
    return World(
        trace(lambda x: x * buffer[0] + floats[1] - view[0]),
        lambda: buffer.__setitem__(0, 9),
        lambda: view.__setitem__(0, 5.0),
        lambda: floats.__setitem__(1, -1.0),
        lambda: buffer.insert(0, 1),
    )


@hazard("ranges and slices in attributes")
def ranges_and_slices(trace):
    held = {"r": range(3), "s": slice(0, 1)}
    return World(
        trace(lambda x: (x * sum(held["r"]), x[held["s"]])),
        lambda: held.update(r=range(1, 7, 2)),
        lambda: held.update(s=slice(None, None, -1)),
        lambda: held.update(r=range(0)),
        lambda: held.update(s=1),
        lambda: held.update(s=7),
    )


@hazard("arguments that the body changes: appended, popped, and one list given twice")
def mutated_arguments(trace):
    f = trace(lambda x, a, b: (a.append(x.sum()), x * len(a) + len(b), b.pop(0))[1])
    lists = {"a": [1, 2, 3], "b": [4] * 30}

    def apart():
        lists.update(a=[1, 2], b=[5] * 9)

    return World(
        lambda x: (f(x, lists["a"], lists["b"]), len(lists["a"]), len(lists["b"])),
        lambda: lists.update(b=lists["a"]),
        apart,
        lambda: lists.update(a=lists["b"]),
        lambda: lists.update(b=[]),
        state=lambda: lists["a"][-3:],
    )


@hazard("one list under two names, then two equal lists")
def aliased_lists(trace):
    shared = [1.0]
    held = {"a": shared, "b": shared}

    def body(x):
        held["a"].append(len(held["b"]))
        return x * held["b"][-1] + (held["a"] is held["b"])

    return World(trace(body), lambda: held.update(b=list(shared)), lambda: held.update(b=held["a"]))


@hazard("a result that is a part of the state, changed by the caller")
def result_is_state(trace):
    state = {"t": fz.asarray([1.0, 2.0]), "items": [1.0]}
    f = trace(lambda x: (state["t"], state["items"], x * state["t"] + state["items"][-1]))
    last = []

    def call(x):
        last[:] = f(x)
        return last[2], last[0] is state["t"], last[1] is state["items"]

    def change():
        last[0][...] = last[0] * 2
        last[1].append(9.0)

    return World(call, change, change, lambda: state.update(t=fz.ones(2)), change)


@hazard("a new container of each call is kept by the caller and changed")
def fresh_results(trace):
    f = trace(lambda x: {"y": [x * 2], "n": [0]})
    kept = []

    def call(x):
        kept.append(f(x))
        kept[-1]["n"].append(len(kept))
        kept[-1]["y"].append(1)
        return kept[-1]["y"][0], kept[0] is not kept[-1] or len(kept) == 1

    return World(call, kept.clear, lambda: None, state=lambda: [k["n"] for k in kept])


@hazard("a list that is changed while it is iterated over")
def changed_while_iterated(trace):
    queue = [3.0]

    def body(x):
        for k in queue:
            x = x * k
            if len(queue) < 4:
                queue.append(k / 2)
        del queue[1:]
        return x

    return World(
        trace(body), lambda: queue.__setitem__(0, 1), lambda: queue.append(5), state=lambda: queue
    )


@hazard("a dict that changes its size while it is iterated over")
def dict_while_iterated(trace):
    table = {"a": 1.0}

    def body(x):
        for name in table:
            x = x * table[name]
            if "grow" in table:
                table[name + "!"] = 1.0
        return x

    return World(
        trace(body),
        lambda: table.update(b=2.0),
        lambda: table.update(grow=3.0),
        state=lambda: table,
    )


@hazard("sorted by a key that changes, min and max, any and all")
def ordering_functions(trace):
    items = [("b", 2.0), ("a", 3.0), ("c", 1.0)]
    held = {"key": lambda item: item[0]}

    def body(x):
        for i, (_, v) in enumerate(sorted(items, key=held["key"])):
            x = x * (i + 1) + v
        return x * max(items, key=held["key"])[1], any(v > 5 for _, v in items)

    return World(
        trace(body),
        lambda: held.update(key=lambda item: item[1]),
        lambda: items.append(("d", 9)),
        lambda: held.update(key=lambda item: -item[1]),
        items.reverse,
    )


@hazard("strings: joined, formatted, split, indexed by what changes")
def strings(trace):
    held = {"name": "ab", "fmt": "{:.1f}"}

    def body(x):
        text = held["fmt"].format(len(held["name"])) + "-".join(held["name"])
        return x * len(text), f"{text!r:>12}", text.split("-")[-1]

    return World(
        trace(body),
        lambda: held.update(name="abc"),
        lambda: held.update(fmt="{:04d}"),
        lambda: held.update(name=""),
    )
