"""What surrounds a call: threads, clocks, hooks, streams, warnings, contexts, exceptions."""

import contextvars
import datetime
import decimal
import gc
import io
import logging
import os
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
import types
import warnings
import weakref
from pathlib import Path

import numpy as np
from changes import Object, World, hazard, inside, restored, setter

import frazil as fz

K = None


def in_thread(change):
    """The change, done by another thread."""

    def run():
        thread = threading.Thread(target=change)
        thread.start()
        thread.join()

    return run


@hazard("another thread writes globals, attributes, items and cells between calls")
def thread_writes(trace):
    box, table, k = types.SimpleNamespace(k=2.0), {"k": 2.0}, 2.0

    def body(x):
        return x * K + box.k * table["k"] - k

    f, names = inside(body, K=2.0)
    f = types.FunctionType(body.__code__, names, "body", None, body.__closure__)

    def cell():
        nonlocal k
        k = 9.0

    changes = (
        lambda: names.update(K=3.0),
        lambda: setattr(box, "k", 4.0),
        lambda: table.update(k=5.0),
        cell,
    )
    return World(trace(f), *map(in_thread, changes))


@hazard("another thread writes while the call is under way")
def thread_writes_during_the_call(trace):
    box = types.SimpleNamespace(k=2.0, handed=False)

    def turn():
        if box.handed:
            in_thread(lambda: setattr(box, "k", box.k + 1))()

    def body(x):
        y = x * box.k
        turn()
        return y + box.k

    return World(
        trace(body), setter(box, handed=True), setter(box, handed=False), state=lambda: box.k
    )


@hazard("one function is called by several threads, each with its count")
def threads_that_count(trace):
    local = threading.local()

    def body(x):
        local.n = getattr(local, "n", 0) + 1
        return x * local.n

    f = trace(body)

    def call(x):
        results = {}

        def work(i):
            results[i] = [f(x + i).tolist() for _ in range(3)]

        for i in range(3):
            in_thread(lambda i=i: work(i))()
        return results, f(x)

    return World(call, setter(local, n=10))


@hazard("the clock is replaced, and its resolution asked")
def clocks(trace):
    ticks = iter(range(1000))

    def body(x):
        return x * (time.perf_counter() - time.monotonic()) + time.time() % 7

    with restored(time, "time", "perf_counter", "monotonic"):
        time.time = time.perf_counter = time.monotonic = lambda: next(ticks)
        yield World(trace(body), setter(time, time=lambda: 5.0), lambda: next(ticks))


@hazard("a date that is frozen by a test")
def frozen_date(trace):
    class Fixed(datetime.date):
        day_of_month = 3

        @classmethod
        def today(cls):
            return cls(2020, 1, cls.day_of_month)

    with restored(datetime, "date"):
        datetime.date = Fixed
        yield World(
            trace(lambda x: x * datetime.date.today().day),
            setter(Fixed, day_of_month=9),
            setter(Fixed, today=classmethod(lambda cls: cls(2021, 2, 28))),
        )


@hazard("random numbers of Python's and NumPy's modules and generators")
def other_random_numbers(trace):
    own, array = random.Random(3), np.random.default_rng(3)

    def body(x):
        y = x * random.random() + own.gauss(0, 1)
        return y + float(array.normal()) + np.random.rand(), random.choice("abc")

    random.seed(1)
    np.random.seed(1)
    return World(
        trace(body),
        lambda: random.seed(1),
        lambda: own.seed(2),
        lambda: np.random.seed(5),
        lambda: own.setstate(random.Random(9).getstate()),
    )


@hazard("environment variables")
def environment(trace):
    def body(x):
        return x * float(os.environ.get("FZ_HAZARD_K", "2")) + len(os.getenv("FZ_HAZARD_L", ""))

    try:
        yield World(
            trace(body),
            lambda: os.environ.update(FZ_HAZARD_K="3"),
            lambda: os.environ.__setitem__("FZ_HAZARD_L", "abc"),
            lambda: os.environ.pop("FZ_HAZARD_K"),
        )
    finally:
        os.environ.pop("FZ_HAZARD_L", None)


@hazard("identity: id, is, and objects that are born at an old address")
def identities(trace):
    held = {"a": object()}
    first = id(held["a"])

    def body(x):
        fresh = [object() for _ in range(3)]
        return x if id(held["a"]) == first else x * 2, len({id(o) for o in fresh})

    def other():
        held["b"] = held.pop("a")
        held["a"] = object()

    return World(trace(body), other, lambda: held.update(a=held["b"]))


@hazard("sys.settrace sees the lines; then nobody looks")
def traced_lines(trace):
    seen = []

    def body(x):
        y = x * 2
        for _ in range(2):
            y = y + 1
        return y

    def hook(frame, event, arg):
        if frame.f_code is body.__code__:
            seen.append((event, frame.f_lineno - body.__code__.co_firstlineno))
        return hook

    f, before = trace(body), sys.gettrace()
    held = {"hook": before}

    def call(x):
        sys.settrace(held["hook"])
        try:
            return f(x)
        finally:
            sys.settrace(before)

    return World(
        call,
        lambda: held.update(hook=hook),
        lambda: held.update(hook=before),
        lambda: held.update(hook=hook),
        state=lambda: list(seen),
    )


@hazard("a debugger changes a local variable of the body")
def debugger_changes_locals(trace):
    def body(x):
        k = 2.0
        y = x * k
        return y

    held = {"on": False, "lines": 0}

    def hook(frame, event, arg):
        if frame.f_code is body.__code__ and event == "line":
            held["lines"] += 1
            if frame.f_locals.get("k") == 2.0 and "y" in frame.f_locals:
                held["y"] = frame.f_locals["y"].tolist()
        return hook

    f, before = trace(body), sys.gettrace()

    def call(x):
        sys.settrace(hook if held["on"] else before)
        try:
            return f(x)
        finally:
            sys.settrace(before)

    return World(
        call, lambda: held.update(on=True), lambda: held.update(on=False), state=lambda: held
    )


@hazard("sys.setprofile counts calls")
def profiled_calls(trace):
    seen = []

    def part(x):
        return x + 1

    def body(x):
        return part(part(x) * 2)

    def hook(frame, event, arg):
        if frame.f_code is part.__code__:
            seen.append(event)

    f, before, held = trace(body), sys.getprofile(), {"hook": None}

    def call(x):
        sys.setprofile(held["hook"] or before)
        try:
            return f(x)
        finally:
            sys.setprofile(before)

    return World(
        call,
        lambda: held.update(hook=hook),
        lambda: held.update(hook=None),
        state=lambda: list(seen),
    )


@hazard("a file that others write to")
def file_contents(trace):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "k")
        path.write_text("2.0")

        def body(x):
            with open(path) as f:
                k = float(f.read())
            with open(str(path) + ".log", "a") as log:
                log.write("called\n")
            return x * k

        yield World(
            trace(body),
            lambda: path.write_text("3.5"),
            lambda: path.write_text("no number"),
            lambda: path.write_text(""),
            state=lambda: len(Path(f"{path}.log").read_text()),
        )


@hazard("print, a stream, and standard output replaced")
def streams(trace):
    log = io.StringIO()

    def body(x):
        print("in the body", K)
        print(x.shape, file=log, end=";")
        return x * K

    f, names = inside(body, K=2.0)
    return World(
        trace(f),
        lambda: names.update(K=3.0),
        lambda: names.update(print=lambda *a, **k: log.write("hidden")),
        lambda: names.pop("print"),
        state=log.getvalue,
    )


@hazard("warnings: once, always, as errors")
def warned(trace):
    def body(x):
        warnings.warn(f"rate {K}", UserWarning, stacklevel=1)
        return x * K

    f, names = inside(body, K=2.0, warnings=warnings)
    f = trace(f)
    held, caught = {"how": "always"}, []

    def call(x):
        with warnings.catch_warnings(record=held["how"] != "error") as seen:
            warnings.simplefilter(held["how"])
            result = f(x)
        caught.append([str(w.message) for w in seen or []])
        return result

    return World(
        call,
        lambda: held.update(how="ignore"),
        lambda: held.update(how="error"),
        lambda: held.update(how="always"),
        lambda: names.update(K=3.0),
        state=lambda: caught,
    )


@hazard("logging: handlers and levels")
def logged(trace):
    logger, lines = logging.getLogger("fz.hazard"), []

    class Handler(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())

    handler = Handler()
    logger.addHandler(handler)
    logger.propagate = False

    def body(x):
        logger.info("rate %s", 2.0)
        if logger.isEnabledFor(logging.DEBUG):
            x = x + 1
        return x * 2

    try:
        yield World(
            trace(body),
            lambda: logger.setLevel(logging.INFO),
            lambda: logger.setLevel(logging.DEBUG),
            lambda: logger.removeHandler(handler),
            lambda: logger.setLevel(logging.ERROR),
            state=lambda: list(lines),
        )
    finally:
        logger.removeHandler(handler)


@hazard("context variables are set, also by the body")
def context_variables(trace):
    rate, count = (
        contextvars.ContextVar("rate", default=2.0),
        contextvars.ContextVar("count", default=0),
    )

    def body(x):
        count.set(count.get() + 1)
        return x * rate.get() + count.get()

    f = trace(body)

    def call(x):
        return f(x), contextvars.copy_context().run(f, x), contextvars.Context().run(f, x)

    return World(
        call, lambda: rate.set(3.0) and None, lambda: count.set(100) and None, state=count.get
    )


@hazard("decimal's context, recursion limits and NumPy's error state")
def hidden_contexts(trace):
    def body(x):
        third = decimal.Decimal(1) / decimal.Decimal(3)
        limit = sys.getrecursionlimit()
        kinds = np.geterr()["divide"]
        return x * float(third) + limit % 7 + len(kinds)

    context, limit, old = decimal.getcontext().copy(), sys.getrecursionlimit(), np.geterr()
    try:
        yield World(
            trace(body),
            lambda: setattr(decimal.getcontext(), "prec", 3),
            lambda: sys.setrecursionlimit(limit + 3),
            lambda: np.seterr(divide="ignore") and None,
        )
    finally:
        decimal.setcontext(context)
        sys.setrecursionlimit(limit)
        np.seterr(**old)


@hazard("frames: the caller's variables, the line, the depth")
def frames(trace):
    def body(x):
        caller = sys._getframe(1)
        name = caller.f_locals.get("secret", 1.0)
        return x * name, [f.name for f in traceback.extract_stack()[-1:]], sorted(locals())

    f = trace(body)
    held = {"secret": 2.0}

    def call(x):
        secret = held["secret"]  # noqa: F841
        return f(x)

    return World(call, lambda: held.update(secret=3.0), lambda: held.update(secret=4))


@hazard("exceptions before and behind effects, with context and cause")
def raised_and_chained(trace):
    log, held = [], {"at": None}

    def body(x):
        if held["at"] == "first":
            raise ValueError("before anything")
        log.append("begun")
        try:
            if held["at"] == "second":
                raise KeyError("inner")
            y = x * len(log)
        except KeyError as e:
            raise RuntimeError("outer") from e
        finally:
            log.append("ended")
        if held["at"] == "third":
            y += 1
            raise ArithmeticError(log[-1])
        return y

    changes = [lambda at=at: held.update(at=at) for at in ("first", "second", "third", None)]
    return World(trace(body), *changes, state=lambda: log)


@hazard("one exception object is raised again and again")
def one_exception(trace):
    error, held = ValueError("the same"), {"raise": False}

    def body(x):
        if held["raise"]:
            error.count = getattr(error, "count", 0) + 1
            raise error
        return x * 2

    return World(
        trace(body),
        lambda: held.update({"raise": True}),
        lambda: held.update({"raise": False}),
        state=lambda: getattr(error, "count", None),
    )


@hazard("an exception that is swallowed decides by its text")
def swallowed_exception(trace):
    table = {"a": 1.0}

    def body(x):
        try:
            return x * table["b"]
        except KeyError as e:
            return x + len(str(e)) + len(table)

    return World(
        trace(body), lambda: table.update(c=1), lambda: table.update(b=3), lambda: table.clear()
    )


@hazard("weak references with callbacks, finalizers, and the collector")
def collected(trace):
    log = []

    class Node:
        pass

    def body(x):
        node = Node()
        node.me = node
        weakref.finalize(node, log.append, len(log))
        del node
        gc.collect()
        return x * len(log)

    return World(trace(body), log.clear, gc.collect, state=lambda: list(log))


@hazard("the working folder and the search path")
def working_folder(trace):
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "mark").write_text("")

        def body(x):
            return x * (2 if os.path.exists("mark") else 1) + sys.path.count("hazard")

        try:
            yield World(
                trace(body),
                lambda: os.chdir(folder),
                lambda: sys.path.append("hazard"),
                lambda: Path("mark").unlink(),
            )
        finally:
            os.chdir(before)
            sys.path.remove("hazard")


@hazard("settings of frazil around the call: no_grad, precision, mode")
def settings_around(trace):
    w = fz.ones(2).requires_grad_()
    f = trace(lambda x: (lambda y: (y.detach(), y.requires_grad))(w * x))
    held = {"how": None}

    def call(x):
        if held["how"] == "no_grad":
            with fz.no_grad():
                return f(x)
        if held["how"] == "eager":
            with fz.mode("eager"):
                return f(x)
        return f(x)

    return World(
        call,
        lambda: held.update(how="no_grad"),
        lambda: held.update(how="eager"),
        lambda: held.update(how=None),
        lambda: [w.requires_grad_(False)],
    )


@hazard("a callback given as an argument keeps state of its own")
def callbacks(trace):
    log = []

    class Callback:
        def __init__(self, k):
            self.k = k

        def __call__(self, y):
            log.append(y.sum())
            return y * self.k

    held = {"f": Callback(2.0)}
    f = trace(lambda x, callback: callback(x + 1))
    return World(
        lambda x: f(x, held["f"]),
        lambda: setattr(held["f"], "k", 3.0),
        lambda: held.update(f=Callback(3.0)),
        lambda: held.update(f=log.append),
        lambda: held.update(f=lambda y: y * len(log)),
        state=lambda: log[-2:],
    )


@hazard("a traced function calls itself, and one that calls it back")
def traced_recursion(trace):
    depth = {"n": 2, "calls": 0}

    @trace
    def f(x, n=None):
        n = depth["n"] if n is None else n
        depth["calls"] += 1
        return x if n == 0 else g(x, n - 1) * 2

    @trace
    def g(x, n):
        return f(x + 1, n)

    return World(f, lambda: depth.update(n=4), lambda: depth.update(n=0), state=lambda: depth)


@hazard("the collector ends objects while the call is under way", before=14)
def ends_during_the_call(trace):
    box = Object(n=0, k=2.0)

    class Resource:
        def __del__(self):
            box.n += 1

    def body(x):
        before = box.n
        return x * before + len([[] for _ in range(1500)]) * box.k

    f, thresholds = trace(body), gc.get_threshold()

    def call(x):
        gc.collect()  # nothing is left of the last call
        resource = Resource()
        resource.itself = resource
        del resource
        return f(x)

    gc.set_threshold(1000)
    yield World(call, setter(box, k=3.0), state=lambda: (gc.collect() * 0, box.n))
    gc.set_threshold(*thresholds)


@hazard("a signal comes while the call is under way", before=14)
def signal_during_the_call(trace):
    box = Object(n=0, k=2.0)

    def handler(number, frame):
        box.n += 1

    def body(x):
        for _ in range(20_000):
            pass
        return x * box.k

    f, old = trace(body), signal.signal(signal.SIGALRM, handler)

    def call(x):
        signal.setitimer(signal.ITIMER_REAL, 0.0002)
        y = f(x)
        time.sleep(0.002)  # at the latest it comes now
        return y

    yield World(call, setter(box, k=3.0), state=lambda: box.n)
    signal.signal(signal.SIGALRM, old)
