"""Objects that die, are born at an old address, are made anew by each call, or are one and two."""

import functools
import gc
import types

from changes import Object, World, hazard, inside, setter

import frazil as fz

K = thing = helper = None


def reborn(names, key, make):
    """A change: the object dies first, so that the new one may lie where it lay."""

    def change():
        names.pop(key, None)
        gc.collect()
        names[key] = make()

    return change


class Thing:
    def __init__(self, k):
        self.k = k

    def scale(self, x):
        return x * self.k


@hazard("floats, long ints, strings and tuples at the address of others")
def numbers_reborn(trace):
    f, names = inside(lambda x: (x * len(str(K)), K), K=float("1.25"))
    makes = (
        lambda: float("2.25"),
        lambda: float("3.25"),
        lambda: int("1" * 20),
        lambda: int("2" * 20),
        lambda: "".join(["a", "bc"]),
        lambda: "".join(["d", "ef"]),
        lambda: (1, float("1.5")),
        lambda: (1, float("2.5")),
    )
    return World(trace(f), *(reborn(names, "K", make) for make in makes))


@hazard("lists and dicts at the address of others")
def containers_reborn(trace):
    f, names = inside(lambda x: x * sum(K), K=[1.0, 2.0])
    makes = (lambda: [1.0, 3.0], lambda: [4.0, 2.0], lambda: {5: 0}, lambda: {6: 0}, lambda: (7, 8))
    return World(trace(f), *(reborn(names, "K", make) for make in makes))


@hazard("instances at the address of others, of one class and of new ones")
def instances_reborn(trace):
    def fresh(k):
        return type("Thing", (), {"scale": lambda self, x: x * k})()

    f, names = inside(lambda x: thing.scale(x), thing=Thing(2.0))
    makes = (lambda: Thing(3.0), lambda: Thing(4.0), lambda: fresh(5.0), lambda: fresh(6.0))
    return World(trace(f), *(reborn(names, "thing", make) for make in makes))


@hazard("functions, closures, partials and bound methods at the address of others")
def functions_reborn(trace):
    def closed(k):
        return lambda x: x * k

    f, names = inside(lambda x: helper(x), helper=closed(2.0))
    makes = (
        lambda: closed(3.0),
        lambda: closed(4.0),
        lambda: functools.partial(fz.multiply, 5.0),
        lambda: functools.partial(fz.multiply, 6.0),
        lambda: Thing(7.0).scale,
        lambda: Thing(8.0).scale,
        lambda: eval("lambda x: x - 1"),
        lambda: eval("lambda x: x - 2"),
    )
    return World(trace(f), *(reborn(names, "helper", make) for make in makes))


@hazard("tensors at the address of others, of other dtypes and shapes")
def tensors_reborn(trace):
    f, names = inside(lambda x: x * K, K=fz.asarray([2.0, 3.0]))
    makes = (
        lambda: fz.asarray([4.0, 5.0]),
        lambda: fz.asarray([6, 7]),
        lambda: fz.asarray([[8.0, 9.0]]),
        lambda: fz.asarray([1.0, 2.0], requires_grad=True).detach(),
        lambda: fz.asarray([0.5, 0.25], dtype="float64"),
    )
    return World(trace(f), *(reborn(names, "K", make) for make in makes))


@hazard("an argument that is an instance made for each call")
def argument_instances(trace):
    f, held = trace(lambda x, t: t.scale(x) + t.k), {"k": 2.0, "kind": Thing}

    class Other(Thing):
        def scale(self, x):
            return x - self.k

    return World(
        lambda x: f(x, held["kind"](held["k"])),
        lambda: held.update(k=3.0),
        lambda: held.update(kind=Other),
        lambda: held.update(k=3),
        lambda: held.update(kind=lambda k: types.SimpleNamespace(k=k, scale=fz.exp)),
    )


@hazard("an argument that is a closure made for each call, with a number that moves")
def argument_closures(trace):
    f, held = trace(lambda x, g: g(x) + 1), {"n": 0, "by": 1}

    def call(x):
        held["n"] += held["by"]
        n = held["n"]
        return f(x, lambda y: y * n), f(x, functools.partial(fz.multiply, float(n)))

    return World(
        call, lambda: held.update(by=0), lambda: held.update(by=0.5), lambda: held.update(by=10**19)
    )


@hazard("arguments that are consumed: iterators, generators, maps")
def consumed_arguments(trace):
    f, held = trace(lambda x, numbers: (x * sum(numbers), next(iter(numbers), None))), {"n": 3}

    def call(x):
        n = held["n"]
        rest = iter(range(n + 2))
        first = f(x, zip(range(1)) if n < 0 else (k for k in range(n)))
        return first, f(x, map(float, range(n))), f(x, rest), list(rest), f(x, range(n))

    return World(call, lambda: held.update(n=5), lambda: held.update(n=0))


@hazard("keywords in another order, and more of them")
def order_of_keywords(trace):
    def body(x, **options):
        for i, (name, value) in enumerate(options.items()):
            x = x * (i + 1) + value
        return x, list(options)

    f, held = trace(body), {"options": {"a": 1.0, "b": 2.0}}
    return World(
        lambda x: f(x, **held["options"]),
        lambda: held.update(options={"b": 2.0, "a": 1.0}),
        lambda: held["options"].update(c=3.0),
        lambda: held.update(options={}),
    )


@hazard("two names for one object become two objects, and one again")
def one_object_or_two(trace):
    class Counter:
        n = 0

    one = Counter()
    held = {"a": one, "b": one}

    def body(x):
        held["a"].n += 1
        held["b"].n += 2
        return x * held["a"].n

    return World(
        trace(body),
        lambda: held.update(b=Counter()),
        lambda: held.update(b=held["a"]),
        setter(one, n=50),
        lambda: held.update(a=Counter()),
        state=lambda: (held["a"].n, held["b"].n, one.n),
    )


@hazard("two arguments that are one object, then two")
def one_argument_or_two(trace):
    def body(x, p, q):
        p.k += 1
        q.items.append(p.k)
        return x * q.k + len(p.items)

    def made():
        t = Thing(0)
        t.items = []
        return t

    f, held = trace(body), {"p": made()}
    held["q"] = held["p"]
    return World(
        lambda x: f(x, held["p"], held["q"]),
        lambda: held.update(q=made()),
        lambda: held.update(q=held["p"]),
        lambda: held["q"].items.clear(),
        state=lambda: (held["p"].k, held["q"].k, held["q"].items[-3:]),
    )


@hazard("one tensor under two names is written to")
def one_tensor_or_two(trace):
    held = {"a": fz.ones(2)}
    held["b"] = held["a"]

    def body(x):
        held["a"] += x
        held["b"] *= 0.5
        return held["a"] + 0

    return World(
        trace(body),
        lambda: held.update(b=fz.ones(2)),
        lambda: held.update(b=held["a"]),
        state=lambda: (held["a"], held["b"], held["a"] is held["b"]),
    )


@hazard("containers that the body makes and stores are new ones at each call")
def stored_containers(trace):
    t = Object(last=None, table={})
    kept = []

    def body(x):
        t.last = [x * 2, {"n": len(t.table)}]
        t.table["row"] = (x, [])
        return t.last

    f = trace(body)

    def call(x):
        result = f(x)
        kept.append(result)
        same = result is t.last, len({id(k) for k in kept}) == len(kept)
        result[1]["n"] += 10
        t.table["row"][1].append(1)
        return same, result[0], t.table["row"][1]

    return World(call, kept.clear, lambda: t.table.update(z=1), state=lambda: [k[1] for k in kept])


@hazard("instances and closures that the body makes and stores")
def stored_instances(trace):
    t = Object(point=None, f=None)

    def body(x):
        t.point = Thing(x)
        t.point.again = t.point
        t.f = lambda y: y * x
        return x + 1

    f, kept = trace(body), []

    def call(x):
        y = f(x)
        kept.append((t.point, t.f))
        return y, t.point.scale(x), t.f(y), t.point.again is t.point

    def all_different():
        return len({id(p) for p, _ in kept}) == len({id(g) for _, g in kept}) == len(kept)

    return World(
        call,
        lambda: setattr(kept[0][0], "k", 5),
        kept.clear,
        state=lambda: (all_different(), [g(1.0) for _, g in kept]),
    )


@hazard("what is overwritten dies at once, and says so")
def overwritten_values(trace):
    log = []

    class Loud:
        def __init__(self, n):
            self.n = n

        def __del__(self):
            log.append(self.n)

    t = Object(n=0, last=None, items=[])

    def body(x):
        t.n += 1
        t.items.append(Loud(-t.n))
        if len(t.items) > 2:
            del t.items[0]
        t.last = Loud(t.n)
        log.append("end")
        return x * t.n

    return World(
        trace(body), lambda: setattr(t, "last", None), t.items.clear, state=lambda: list(log)
    )


@hazard("an object that only the world holds dies between calls")
def held_alive(trace):
    import weakref

    names = {"t": Thing(2.0)}
    f = trace(lambda x: x * names["t"].k)
    alive = []

    def replaced():
        ref = weakref.ref(names["t"])
        names["t"] = Thing(3.0)
        gc.collect()
        alive.append(names["t"].k)
        return ref

    return World(f, replaced, replaced, lambda: setattr(names["t"], "k", 9), state=lambda: alive)


@hazard("the dict of an instance comes to be, then is written")
def dict_comes_to_be(trace):
    t = Thing(2.0)
    return World(
        trace(lambda x: x * t.k),
        lambda: vars(t),
        setter(t, k=3.0),
        lambda: vars(t).update(k=4.0),
        lambda: [setattr(t, f"more{i}", i) for i in range(40)],
        setter(t, k=5.0),
        lambda: [delattr(t, f"more{i}") for i in range(40)],
        setter(t, k=6.0),
    )


@hazard("other instances of the class get attributes that this one has not")
def keys_shared_by_instances(trace):
    t, others = Thing(2.0), []

    def more():
        others.append(Thing(7.0))
        others[-1].extra = len(others)
        del others[-1].k

    return World(trace(lambda x: x * t.k), more, setter(t, k=3.0), more, lambda: delattr(t, "k"))


@hazard("what one traced function writes another reads, both skipped")
def functions_that_share(trace):
    t = Object(n=0, items=[])

    def write(x):
        t.n += 1
        t.items.append(x * t.n)
        if len(t.items) > 3:
            t.items.pop(0)
        return t.n

    def read(x):
        return sum(t.items) + x * t.n, len(t.items)

    write, read = trace(write), trace(read)
    return World(
        lambda x: (read(x), write(x), read(x + 1), read(x)),
        setter(t, n=100),
        t.items.clear,
        setter(t, n=0.5),
        state=lambda: t.items,
    )


@hazard("the world of a method's instance, and of another instance with the same numbers")
def instances_in_turn(trace):
    class Model:
        def __init__(self, k, n):
            self.k, self.n = k, n

        @trace
        def step(self, x):
            self.n += 1
            return x * self.k + self.n

    models = [Model(2.0, 0), Model(2.0, 0), Model(3, 0)]

    def call(x):
        models.append(models.pop(0))
        return [m.step(x) for m in models]

    return World(
        call,
        lambda: setattr(models[1], "k", 5.0),
        models.reverse,
        lambda: models.append(Model(2.0, 9)),
        state=lambda: [m.n for m in models],
    )


@hazard("a tensor in an attribute: dtype, shape, whether it learns")
def tensors_in_attributes(trace):
    t = Object(w=fz.ones(2))

    def body(x):
        y = t.w * x
        return y.detach(), y.requires_grad

    return World(
        trace(body),
        setter(t, w=fz.asarray([2, 3])),
        setter(t, w=fz.ones((2, 2))),
        setter(t, w=fz.ones(2, requires_grad=True)),
        lambda: [t.w.requires_grad_(False)],
        lambda: [t.w.requires_grad_()],
        setter(t, w=np_like()),
        setter(t, w=2.0),
    )


def np_like():
    import numpy as np

    return np.full(2, 7, np.float32)
