"""While a call is watched nobody else's tools are disturbed, and afterwards nothing is left."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import pytest
from proofs import Program

import frazil as fz

X = fz.asarray([1.0, 2.0])


def tools():
    monitoring = getattr(sys, "monitoring", None)
    return [monitoring.get_tool(i) for i in range(6)] if monitoring else []


def is_quiet():
    return sys.gettrace() is None and sys.getprofile() is None and not any(tools())


def run(source, *args):
    return subprocess.run(
        [sys.executable, "-c", source, *args], capture_output=True, text=True, timeout=300
    )


def test_nothing_is_watched_afterwards():
    seen = []

    def helper(x):
        return x * 2

    @fz.trace
    def f(x):
        return helper(x) + 1

    for _ in range(8):
        f(X)
        seen.append(is_quiet())
    assert all(seen) and f.stats()["skipped"] > 0


@pytest.fixture
def collecting():
    """Garbage is collected often, and a function that nothing knows of is called each time."""
    calls, threshold = [], gc.get_threshold()
    id_of = id  # which no proof lets pass

    def callback(phase, info):
        calls.append(id_of(info))

    gc.callbacks.append(callback)
    gc.set_threshold(3, 1, 1)
    yield calls
    gc.set_threshold(*threshold)
    gc.callbacks.remove(callback)


def test_callbacks_of_the_collector_are_no_part_of_a_body(collecting):
    @fz.trace
    def f(x):
        parts = [[x] for _ in range(20)]
        return sum(part[0] for part in parts)

    for _ in range(8):
        assert f(X).tolist() == [20.0, 40.0]
        assert gc.isenabled()
    assert f.stats()["skipped"] > 0 and collecting


def test_the_collector_is_the_bodys_own(collecting):
    @fz.trace
    def f(x, raises):
        was = gc.isenabled()
        gc.disable()
        if raises:
            raise ValueError("no")
        return x * was

    for raises in (False, True, False):
        gc.enable()
        if raises:
            with pytest.raises(ValueError, match="no"):
                f(X, True)
        else:
            assert f(X, False).tolist() == [1.0, 2.0]
        assert not gc.isenabled()
    gc.enable()


def test_nor_when_the_body_raises():
    @fz.trace
    def f(x, raises):
        if raises:
            raise ValueError("no")
        return x * 2

    for i in range(12):
        if i % 3 < 2:
            with pytest.raises(ValueError, match="no"):
                f(X, True)
        else:
            f(X, False)
        assert is_quiet()


def test_nor_when_it_is_interrupted():
    @fz.trace
    def f(x):
        for i in range(5):
            x = x * 2
            interrupt(i)
        return x

    def interrupt(i):
        if i == 3:
            raise KeyboardInterrupt

    for _ in range(6):
        with pytest.raises(KeyboardInterrupt):
            f(X)
        assert is_quiet()


def test_nor_when_a_signal_interrupts_it():
    source = """
import signal, sys
import frazil as fz
def forever():
    while True: pass
@fz.trace
def f(x):
    x = x + 1
    if on: forever()
    return x
on = False
f(fz.ones(2)); f(fz.ones(2))
on = True
for _ in range(3):
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try: f(fz.ones(2))
    except KeyboardInterrupt: print("interrupted")
    assert sys.gettrace() is None
    if hasattr(sys, "monitoring"): assert not any(sys.monitoring.get_tool(i) for i in range(6))
on = False
for _ in range(12): assert f(fz.ones(2)).tolist() == [2.0, 2.0]
assert f.stats()["skipped"] > 0, f.explain()
"""
    done = run(source)
    assert done.returncode == 0 and done.stdout.count("interrupted") == 3, done.stderr


def lines_seen(f, set_trace, calls):
    """The lines that a trace function sees in calls of f."""
    lines = []

    def tracer(frame, event, arg):
        if frame.f_code.co_filename == "program.py":
            lines.append((event, frame.f_lineno))
        return tracer

    before = sys.gettrace()
    set_trace(tracer)
    try:
        for _ in range(calls):
            f()
            assert sys.gettrace() is tracer
    finally:
        set_trace(before)
    return lines


BODY = """
def helper(x):
    return x * 2
@trace
def f(x):
    y = helper(x)
    return y + 1
"""


def test_a_debugger_sees_every_line():
    untraced, traced = Program(BODY, traced=False), Program(BODY)
    want = lines_seen(lambda: untraced.f(X), sys.settrace, 3)
    got = lines_seen(lambda: traced.f(X), sys.settrace, 3)
    assert got == want and len(want) == 3 * 7  # of the helper and the body: call, lines, return
    assert traced.skipped == 0


def test_a_debugger_that_comes_later_sees_every_line():
    untraced, traced = Program(BODY, traced=False), Program(BODY)
    traced.calls(10)
    assert traced.skipped > 0
    want = lines_seen(lambda: untraced.f(X), sys.settrace, 3)
    assert lines_seen(lambda: traced.f(X), sys.settrace, 3) == want
    skipped = traced.skipped
    traced.calls(5)
    assert traced.skipped > skipped


def test_a_profiler_sees_every_call():
    def seen(f):
        names = []
        sys.setprofile(lambda frame, event, arg: names.append((event, frame.f_code.co_name)))
        try:
            for _ in range(3):
                f()
        finally:
            sys.setprofile(None)
        return [n for n in names if n[1] in ("f", "helper") and not n[0].startswith("c_")]

    untraced, traced = Program(BODY, traced=False), Program(BODY)
    traced.calls(10)
    assert seen(lambda: traced.f(X)) == seen(lambda: untraced.f(X))


def test_a_debugger_set_in_the_body_goes_on():
    lines = []

    def tracer(frame, event, arg):
        lines.append(frame.f_lineno)
        return tracer

    def inner(x):
        return x + 1

    @fz.trace
    def f(x):
        sys.settrace(tracer)
        return inner(x)

    for i in range(4):
        f(X)
        assert sys.gettrace() is tracer
        sys.settrace(None)
        assert len(lines) > 2 * i
    assert f.stats()["skipped"] == 0


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="from Python 3.12 on")
def test_a_tool_that_monitors_sees_every_line():
    monitoring = sys.monitoring
    traced = Program(BODY)
    traced.calls(10)
    lines = []
    monitoring.use_tool_id(monitoring.COVERAGE_ID, "test")
    try:
        monitoring.register_callback(
            monitoring.COVERAGE_ID,
            monitoring.events.LINE,
            lambda code, line: lines.append(line) if code.co_filename == "program.py" else None,
        )
        monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.LINE)
        for _ in range(3):
            traced.f(X)
    finally:
        monitoring.set_events(monitoring.COVERAGE_ID, 0)
        monitoring.free_tool_id(monitoring.COVERAGE_ID)
    assert lines == 3 * [6, 3, 7]


def test_breakpoints_work():
    source = """
import frazil as fz
@fz.trace
def f(x):
    y = x * 2
    if stop: breakpoint()
    return y + 1
stop = False
for _ in range(10): f(fz.ones(2))
assert f.stats()["skipped"] > 0
stop = True
for _ in range(3): f(fz.ones(2))
"""
    done = subprocess.run(
        [sys.executable, "-c", source],
        input="p y.tolist()\nc\n" * 3,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0 and done.stdout.count("[2.0, 2.0]") == 3, done.stdout + done.stderr


def collected(make):
    """Whether what make() returns is gone once nobody holds it."""
    reference = make()
    for _ in range(3):
        gc.collect()
    return reference() is None


def test_a_function_and_its_module_are_collected():
    def make():
        program = Program("""
import types
class C:
    def __init__(self, v): self.v = v
    def m(self, x): return x * self.v
c, table, m = C(2.0), {"k": [1.0]}, types.ModuleType("m")
m.rate = 2.0
def helper(x, k=[1.0]): return x * k[0] * m.rate
def make(scale): return lambda x: x * scale
inner = make(c)
@trace
def f(x): return helper(c.m(x)) + table["k"][0] + make(3.0)(x) + inner.__name__.count("a")
""")
        program.calls(12)
        assert program.skipped > 0, program.f.explain()
        program.names["c"] = None  # what is fixed changes, and is kept as what moves
        program.names["helper"].__defaults__ = ([2.0],)
        program.names["C"].k = 1.0
        program.calls(12)
        sys.modules.pop("program")
        return weakref.ref(program.names["C"])

    assert collected(make)


def test_closures_that_hold_themselves_are_collected():
    def make():
        class Kept:
            pass

        kept = Kept()

        @fz.trace
        def f(x):
            me = f if kept else None
            return x * 2 if me else x

        for _ in range(10):
            f(X)
        return weakref.ref(kept)

    assert collected(make)


def test_what_a_call_was_given_is_not_kept():
    f = fz.trace(lambda x, box: x * box.k)

    class Box:
        k = 2.0

    box = Box()
    for _ in range(10):
        f(X, box)
    assert f.stats()["skipped"] > 0
    reference = weakref.ref(box)
    del box
    gc.collect()
    assert reference() is None


def test_threads_learn_the_same_function():
    program = Program("""
rate = 2.0
def helper(x, k): return x * rate + k
@trace
def f(x, k):
    for i in range(3): x = helper(x, i)
    return x + k
""")
    untraced = program.f.__wrapped__
    want = {k: untraced(X, k).tolist() for k in range(4)}
    wrong, start = [], threading.Barrier(4)

    def work(k):
        start.wait()
        wrong.extend(i for i in range(200) if program.f(X, k).tolist() != want[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and is_quiet()
    program.names["call"] = lambda: program.f(X, 1)
    before = program.skipped
    program.calls(20)
    assert program.skipped > before


def test_names_that_threads_change():
    program = Program("""
rate = 2.0
@trace
def f(x):
    a = rate
    return x * a, a
""")
    stop = threading.Event()

    def change():
        i = 0
        while not stop.is_set():
            i += 1
            program.names["rate"] = float(i % 3)
            if i % 50 == 0:
                time.sleep(0)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(500):
            y, a = program.f(X)
            assert y.tolist() == [a, 2 * a]
    finally:
        stop.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork():
    source = """
import os, sys
import frazil as fz
rate = 2.0
@fz.trace
def f(x): return x * rate
def check(n):
    for _ in range(n): assert f(fz.ones(2)).tolist() == [rate, rate]
for before in (0, 2, 3, 12):
    f.clear()
    rate = 2.0
    check(before)
    child = os.fork()
    if child == 0:
        check(10)
        rate = 3.0
        check(10)
        os._exit(0 if f.stats()["skipped"] > 0 else 1)
    assert os.waitpid(child, 0)[1] == 0
    check(10)
"""
    done = run(source)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_in_the_body():
    source = """
import os, sys
import frazil as fz
@fz.trace
def f(x):
    child = os.fork()
    if child == 0: os._exit(3)
    return x * 2, os.waitpid(child, 0)[1] >> 8
for _ in range(8):
    y, code = f(fz.ones(2))
    assert y.tolist() == [2.0, 2.0] and code == 3
assert f.stats()["skipped"] == 0 and sys.gettrace() is None
"""
    done = run(source)
    assert done.returncode == 0, done.stderr


ENDS = {
    "at the end": "",
    "by sys.exit in the body": "\nend = lambda: sys.exit(0)\nf(fz.ones(2))",
    "by an exception": "\nend = lambda: 1 / 0\ntry: f(fz.ones(2))\nexcept ZeroDivisionError: pass",
    "while a thread runs": """
def work():
    while True: f(fz.ones(2))
import threading
threading.Thread(target=work, daemon=True).start()
""",
    "in atexit": "\nimport atexit; atexit.register(lambda: [f(fz.ones(2)) for _ in range(9)])",
    "in __del__": """
class Last:
    def __del__(self): [f(fz.ones(2)) for _ in range(9)]
last = Last()
""",
}


@pytest.mark.parametrize("calls", [1, 2, 10])
@pytest.mark.parametrize("end", ENDS)
def test_the_interpreter_ends(end, calls):
    source = f"""
import sys
import frazil as fz
rate, end = 2.0, None
def helper(x): return x * rate
@fz.trace
def f(x):
    if end: end()
    return helper(x)
for _ in range({calls}): f(fz.ones(2))
"""
    done = run(source + ENDS[end])
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_a_reloaded_module(tmp_path):
    (tmp_path / "reloaded.py").write_text("rate = 2.0\ndef g(x): return x * rate\n")
    source = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import frazil as fz
import reloaded
@fz.trace
def f(x): return reloaded.g(x) + reloaded.rate
for rate in (2.0, 3.0, 4.0):
    for _ in range(12): assert f(fz.ones(2)).tolist() == [2 * rate] * 2, rate
    open(sys.argv[1] + "/reloaded.py", "w").write(
        f"rate = {rate + 1}\\ndef g(x): return x * rate  # {int(rate) * 'more '}\\n")
    importlib.reload(reloaded)
assert f.stats()["skipped"] > 3, f.explain()
"""
    done = run(source, str(tmp_path))
    assert done.returncode == 0, done.stderr


def test_a_signal_handler_in_a_call():
    """What a handler does is not the body's."""
    program = Program("""
n = [0]
@trace
def f(x):
    for i in range(50): x = x + 1
    return x
""")

    def handler(number, frame):
        program.names["n"][0] += 1

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        for _ in range(60):
            assert program.f(X).tolist() == [51.0, 52.0]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert is_quiet()


def test_switched_off():
    source = """
import frazil as fz
@fz.trace
def f(x): return x * 2
for _ in range(20): f(fz.ones(2))
print(f.stats()["skipped"])
"""
    done = subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        text=True,
        env=os.environ | {"FRAZIL_PROOF": "off"},
    )
    assert done.stdout == "0\n", done.stderr
