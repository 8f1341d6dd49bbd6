"""Intermediates that get out of the body: where to, when, and in which calls."""

import copy
import gc
import pickle
import queue
import sys
import threading
import weakref

import numpy as np
from hz import V, effect, exact, told

import frazil as fz

LAST = None


@exact("an intermediate in a global, a closure, an attribute and a dict")
def escapes_everywhere(F, compile):
    class Box:
        pass

    box, table, cell = Box(), {}, None

    def f(x):
        global LAST
        nonlocal cell
        LAST = x + 1
        cell = LAST * 2
        box.value = cell - x
        table["v"] = [box.value * 3, {"deep": (LAST,)}]
        return x * 0

    g = compile(f)
    for i in range(6):
        yield g(V(F, i, 1))
        yield effect([LAST, cell, box.value, table])


@exact("an intermediate escapes in some calls only")
def escapes_sometimes(F, compile):
    kept, flag = [], False

    def f(x):
        y = x * 2
        z = y + 1
        if flag:
            kept.append(y)
        elif bool(z.sum() > 9):
            kept.append(z)
        return z * z

    g = compile(f)
    for i in range(14):
        flag = i in (4, 7, 8)
        yield g(V(F, i % 6, 1))
        yield effect(kept)


@exact("an intermediate dies, or not, in the middle of the body")
def holders(F, compile):
    keep = None

    def f(x, names):
        nonlocal keep
        y = x * 2
        alias = y if names > 1 else None
        z = y + 1
        if names > 2:
            keep = y
        del y
        gc.collect()
        w = z * 2 if alias is None else z * alias
        return w, keep

    g = compile(f)
    for n in (1, 1, 1, 2, 3, 1, 2, 3, 1):
        yield g(V(F, n, 1), n)


@exact("a weak reference to an object that holds an intermediate")
def weak_references(F, compile):
    class Holder:
        def __init__(self, t):
            self.t = t

    seen, strong = [], []

    def f(x, keep):
        h = Holder(x + 1)
        ref = weakref.ref(h, lambda r: seen.append("died"))
        if keep:
            strong.append(h)
        y = h.t * 2
        del h
        return y, ref() is None

    g = compile(f)
    for keep in (False, False, False, True, False, True):
        yield g(V(F, 1, 2), keep)
        yield effect([seen, [h.t for h in strong]])


@exact("an intermediate read by __del__ in the middle of a call")
def read_by_del(F, compile):
    told_ = []

    class Talks:
        def __init__(self, t):
            self.t = t

        def __del__(self):
            told_.append((self.t * 2).tolist())

    def f(x):
        a = Talks(x + 1)
        y = a.t * 3
        del a
        b = Talks(y)
        b = None  # noqa: F841
        return y - 1

    g = compile(f)
    for i in range(6):
        yield g(V(F, i, 1))
        yield effect(told_)


@exact("an intermediate goes to another thread and comes back")
def through_threads(F, compile):
    def f(x):
        y = x * 2 + 1
        there, back = queue.Queue(), queue.Queue()

        def work():
            t = there.get(timeout=200)
            back.put((t * 3, t.tolist()))

        thread = threading.Thread(target=work)
        thread.start()
        there.put(y)
        z, read = back.get(timeout=200)
        thread.join()
        return y + z, read

    g = compile(f)
    for i in range(6):
        yield g(V(F, i, 1))


@exact("an intermediate is left to a thread that ends after the call")
def left_to_a_thread(F, compile):
    out, go = [], threading.Event()

    def f(x):
        y = x + 1
        z = y * y

        def work():
            go.wait(200)
            out.append((y + z).tolist())

        thread = threading.Thread(target=work)
        thread.start()
        return z, thread

    g = compile(f)
    for i in range(5):
        go.clear()
        z, thread = g(V(F, i, 1))
        go.set()
        thread.join()
        yield z
        yield effect(out)


@exact("an intermediate printed, formatted, pickled, copied, hashed, measured")
def read_in_every_way(F, compile):
    said = []

    def f(x):
        y = x * 2
        said.append(str(y))
        z = y + 1
        said.append(f"{z!r} {z.sum():.3f} {len(z)} {z.shape} {z.nbytes}")
        w = pickle.loads(pickle.dumps(z)) + copy.copy(z) * copy.deepcopy(y)
        said.append(np.asarray(w).tolist())
        said.append(np.add(np.asarray(z), 1).tolist())
        said.append((hash(w) == hash(w), w in [w], w is w, sys.getsizeof(w) > 0))
        return w, list(z), z.tolist(), complex(0, float(z[0]))

    g = compile(f)
    for i in range(6):
        yield g(V(F, i, 1))
        yield effect(said)


@exact("tensors as keys of dicts and in sets")
def keys(F, compile):
    memo = {}

    def f(x):
        y = x + 1
        memo.setdefault(x, y)
        inside = {x: 1, y: 2, memo[x]: 3}
        return memo[x] * 2, len(inside), x in inside, len({x, y, x})

    g, xs = compile(f), [V(F, i, 1) for i in range(2)]
    for i in range(8):
        yield g(xs[i % 2])
        yield effect(len(memo))


@exact("NumPy and DLPack take the middle of a call")
def through_numpy(F, compile):
    def f(x):
        y = x * 2
        a = np.sin(np.asarray(y))
        z = fz.asarray(a) + y
        b = fz.from_dlpack(np.from_dlpack(z).copy())
        c = np.float32(3) * z
        d = np.asarray(z) - x if isinstance(np.asarray(z) - x, np.ndarray) else z - x
        return b, c, d, np.asarray(z)

    g = compile(f)
    for i in range(6):
        yield told(F, lambda i=i: g(V(F, i, 1)))


@exact("results of many calls are kept and written later", pure=True)
def kept_results(F, compile):
    def f(x, y):
        z = x + y
        return z, z * 2, z[:1]

    g, kept, x = compile(f), [], V(F, 1, 2)
    for i in range(12):
        kept.append(g(kept[-1][1] if kept else x, x))
        if i % 4 == 3:
            kept[i - 2][0][0] = -1.0
    yield kept


@exact("a lazy object made inside is used after the call")
def lazy_afterwards(F, compile):
    def f(x):
        y = x * 2
        return (y + i for i in range(3)), lambda: y * 5, map(lambda k: y * k, (1, 2)), y

    g, later = compile(f), []
    for i in range(5):
        x = V(F, i, 1)
        lazy, call, mapped, y = g(x)
        x += 100
        y *= 3
        later.append((lazy, call, mapped))
    yield [(list(a), b(), list(c)) for a, b, c in later]


@exact("a body that calls locals(), frames and globals")
def frames(F, compile):
    def f(x):
        y = x + 1
        z = locals()["y"] * 2
        frame = sys._getframe()
        w = frame.f_locals["z"] - globals()["V"](F, 1, 1)
        return w, sorted(k for k in locals() if len(k) == 1)

    g = compile(f)
    for i in range(5):
        yield g(V(F, i, 1))
