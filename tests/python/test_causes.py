"""Every row of the table of causes is reached, and says what changed; strict mode raises."""

import contextlib
import ctypes
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import frazil as fz
from frazil import _frazil

ROWS = _frazil.runtime.causes()
REACHED = {}


def reaches(cause, *texts):
    """Marks a function that returns a traced callable whose events name the cause."""

    def register(run):
        assert cause not in REACHED
        REACHED[cause] = (run, texts)
        return run

    return register


def traced(body, *calls, name="step"):
    """Traces `body` and calls it with every list of arguments."""
    body.__qualname__ = name
    f = fz.trace(body)
    for args in calls:
        f(*args)
    return f


X = fz.ones((2, 3))


@reaches("first", "'exp' begins the first recording; recorded.")
def first():
    return traced(lambda x: fz.exp(x), (X,))


@reaches(
    "elsewhere", "1 of 1 kernels run on the CPU, which takes transfers: [npu] kernel k_multiply"
)
def elsewhere():
    x = fz.ones((2, 3), dtype="float64", device="npu")
    return traced(lambda x: x * 2, (x,), (x,))


@reaches("small", "calls as small as the latest are not faster replayed than untraced")
def small():
    f = fz.trace(lambda x: x + 1, proof=False)
    for _ in range(40):
        f(X)
    return f


@reaches("unsteady", "9 calls in a row read numbers that no call before had read there")
def unsteady():
    def body(i, limit):
        counted = 0  # each length is another program
        while i < limit:
            i = i + 1
            counted += 1
        return i, counted

    f = fz.trace(body, pure=True)
    for n in range(20):
        f(fz.asarray(0), fz.asarray(n))
    return f


@reaches("continued", "'log' follows where the recording ended, behind 'exp' (recorded at")
def continued():
    def body(x, more):
        y = fz.exp(x)
        if more:
            y = fz.log(y)
        return y

    return traced(body, (X, False), (X, True))


@reaches("op", "'sin' instead of 'exp' (recorded at test_causes.py:")
def op():
    return traced(lambda x, f: f(x), (X, fz.exp), (X, fz.sin))


@reaches("attributes", "attributes of 'sum' (recorded at", "changed [")
def attributes():
    return traced(lambda x, axis: fz.sum(x, axis=axis), (X, 0), (X, 1))


@reaches("operands", "the number of operands of 'concat'", "changed 2 -> 3")
def operands():
    def body(x, n):
        return fz.concat([x] * n)

    return traced(body, (X, 2), (X, 3))


@reaches("dtype", "dtype of operand 0 of 'exp'", "changed f32[2,3] -> f64[2,3]")
def dtype():
    return traced(lambda x: fz.exp(x), (X,), (fz.ones((2, 3), dtype="float64"),))


@reaches("number", "operand 1 of 'multiply'", "changed f32[2,3] -> number f32")
def number():
    return traced(lambda x, y: x * y, (X, fz.ones((2, 3))), (X, 2.0))


@reaches("shape", "shape of operand 0 of 'exp'", "changed f32[2,3] -> f32[5]")
def shape():
    return traced(lambda x: fz.exp(x), (X,), (fz.ones(5),))


@reaches("strides", "strides of operand 0 of 'exp'", "f32[2,3] -> f32[2,3] strides [1,2]")
def strides():
    return traced(lambda x: fz.exp(x), (X,), (fz.ones((3, 2)).T,))


@reaches(
    "source", "operand 1 of 'add'", "a tensor first used by 'exp'", "-> a tensor not used before"
)
def source():
    return traced(lambda x, y: fz.exp(x) + y, (X, X), (X, fz.ones((2, 3))))


@reaches("plan", "new plan for 2 calls up to test_causes.py:", "kernels")
def plan():
    return traced(lambda x: fz.exp(x) + 1, (X,), (X,))


@reaches("wanted", "results wanted of 2 calls", "changed add (test_causes.py:", "-> exp (test_")
def wanted():
    kept = []

    def body(x, keep):
        y = fz.exp(x)
        if keep:
            kept.append(y)
        return y + 1

    return traced(body, (X, False), (X, False), (X, True))


@reaches("precision", "precision changed default -> blas; new plan")
def precision():
    f = traced(lambda x: (x @ x) + 1, *[(fz.ones((4, 4)),)] * 2)
    with fz.precision("blas"):
        f(fz.ones((4, 4)))
    return f


@contextlib.contextmanager
def limits(**settings):
    before = {name: fz.config()[name] for name in settings}
    fz.config(**settings)
    try:
        yield
    finally:
        fz.config(**before)


@reaches("replanned", "the plan for 2 calls up to test_causes.py:", "had been evicted and was made")
def replanned():
    f = traced(lambda x: fz.exp(x) + 1, *[(X,)] * 2)
    with limits(plan_entries=1):
        traced(lambda x: fz.sin(x) + 1, *[(X,)] * 2)
        f(X)
    return f


@reaches("evicted_plans", "1 plans not used lately were evicted: plan_entries = 1 is reached.")
def evicted_plans():
    f = traced(lambda x: fz.exp(x) + 1, *[(X,)] * 2)
    with limits(plan_entries=1):
        traced(lambda x: fz.sin(x) + 1, *[(X,)] * 2)
    return f


@reaches("evicted_segments", "recorded calls not used lately were forgotten: segment_entries = 2")
def evicted_segments():
    f = traced(lambda x: fz.exp(x) + 1, *[(X,)] * 2)
    with limits(segment_entries=2):
        traced(lambda x: fz.sin(x) + 1, *[(X,)] * 2)
    return f


@reaches("forgotten", "'exp' meets what had been recorded and was evicted (segment_entries")
def forgotten():
    f = evicted_segments()
    f(X)
    return f


@reaches("borrowed", "'add' reads memory borrowed from another library")
def borrowed():
    array = np.ones(3, np.float32)
    return traced(lambda x: x + 1, *[(fz.asarray(array, copy=False),)] * 3)


def pure(body, *calls, **options):
    body.__qualname__ = "step"
    f = fz.trace(body, pure=True, check_first=0, **options)
    for args in calls:
        f(*args)
    return f


@reaches("skippable", "calls with such arguments skip the body from now on: 1 kernels")
def skippable():
    return pure(lambda x: fz.exp(x), *[(X,)] * 2)


@reaches("outcome", "calls that read other numbers skip the body too")
def outcome():
    return pure(lambda x, n: fz.exp(x) * int(n), *[(X, fz.asarray(n)) for n in (1, 2, 1, 2)])


@reaches("not_skippable", "the body cannot be skipped: an object of type set")
def not_skippable():
    return pure(lambda x, s: fz.exp(x), (X, {(1,)}))


@reaches("strangers", "no call is like an earlier one: k changed 14 -> 15: what is no tensor")
def strangers():
    return pure(lambda x, k: fz.exp(x) * k, *[(X, k) for k in range(20)])


@reaches("broken", "promises that the call depends on its arguments only", "f32[2] [0, 0] -> f32[")
def broken():
    outside = [fz.zeros(2)]
    f = pure(lambda x: x + outside[0], *[(fz.ones(2),)] * 2, check_every=2)
    outside[0] = fz.ones(2) * 2
    with pytest.raises(RuntimeError, match="pure=True"):
        f(fz.ones(2)), f(fz.ones(2))
    return f


# No Python code can do this: a number that is compared by its address changes in place.
@reaches(
    "unguarded", "proved to depend on what is compared only, but", "f32[] [1.5] -> f32[] [2.5]"
)
def unguarded():
    rate = float("1.5")
    f = fz.trace(lambda x: x * rate, check_every=2)
    for _ in range(8):
        f(X)
    ctypes.memmove(id(rate) + float.__basicsize__ - 8, ctypes.byref(ctypes.c_double(2.5)), 8)
    with pytest.raises(RuntimeError, match="FRAZIL_PROOF=off"):
        f(X), f(X)
    return f


@reaches(
    "keys", "kinds of arguments not used lately were forgotten: promise_entries = 8 is reached"
)
def keys():
    before = fz.config()["promise_entries"]
    fz.config(promise_entries=8)
    try:
        return pure(lambda x, k: fz.exp(x), *[(X, k // 2) for k in range(40)])
    finally:
        fz.config(promise_entries=before)


NO_MEMORY = """
    import resource, sys
    @fz.trace
    def f(x):
        return x * 2 + 1
    x = fz.broadcast_to(fz.ones(()), (1 << 25,))
    f(x)
    fz.memory.trim()
    pages = int(open("/proc/self/statm").read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + (64 << 20), -1))
    try:
        f(x)
        sys.exit("there was memory")
    except MemoryError:
        pass
    """

# Causes that need a process of their own: its program, which leaves a traced callable f, and words
# of the event.
CHILD = {
    "not_compiled": (
        """
    import os, shutil, sys
    @fz.trace(proof=False)
    def f(x):
        return fz.exp(x) + 1
    x = fz.ones(3)
    want = f(x).tolist()
    shutil.rmtree(sys.argv[1])
    for _ in range(40):
        assert f(x).tolist() == want
    with fz.mode("auto", strict=True):
        try:
            f(x)
            sys.exit("strict mode fell back")
        except RuntimeError as error:
            assert "could not be compiled" in str(error) and "strict=True" in str(error)
    assert f.stats()["causes"]["not_compiled"] == 41
    tries = [e["times"] for e in f.stats()["events"] if e["cause"] == "not_compiled"]
    assert sum(tries) == 6 + 1, tries  # at calls 1, 3, 6, 11, 20 and 37, and in strict mode
    pure = fz.trace(lambda x: fz.exp(x) + 2, pure=True)
    for _ in range(40):
        pure(x)
    assert pure.stats()["causes"]["not_skippable"] == 1  # tried once in 1000 calls
    os.mkdir(sys.argv[1])
    for _ in range(70):
        assert f(x).tolist() == want
    assert f.stats()["plans"] == 1
    """,
        "2 calls up to <string>:6 could not be compiled; they run op by op: [dump]",
    ),
    "no_memory": (NO_MEMORY, "the plan of 2 calls up to <string>:6 did not run"),
    "failed": (
        NO_MEMORY,
        "results of 2 calls up to <string>:6 are computed when they are read: [allocate]",
    ),
    "thrashing": (
        """
    fz.config(segment_entries=8)
    f = fz.trace(lambda x: fz.exp(x) + 1)
    for i in range(800):
        f(fz.ones(i % 8 + 1))
    assert f.stats()["causes"]["thrashing"] == 1, "reported once"
    """,
        "thrashing: a quarter of the latest recorded calls had been evicted before; the limit seg",
    ),
    "evicted_eager": (
        """
    fz.config(eager_entries=8)
    f = fz.trace(fz.exp)
    for n in range(20):
        f(fz.ones(n))
    """,
        "plans of eager calls not used lately were evicted: eager_entries = 8 is reached",
    ),
    "evicted_kernels": (
        """
    import os, threading, time
    f = fz.trace(lambda x: x)
    alive = len(os.listdir("/proc/self/task"))
    ops = (fz.exp, fz.log, fz.sin, fz.cos)
    thread = threading.Thread(target=lambda: [op(fz.ones(3)) for op in ops])
    thread.start(), thread.join()
    while len(os.listdir("/proc/self/task")) > alive:  # join returns before the thread is gone
        time.sleep(0.01)
    fz.config(eager_entries=1)  # plans hold their kernels, and threads the plans they ran last
    fz.config(kernel_entries=1)
    """,
        "kernels not used lately were evicted: kernel_entries = 1 is reached",
    ),
    "interpreted": (
        """
    deny_executable_memory()
    @fz.trace
    def f(x):
        return (fz.exp(x) + 1) @ x
    x = fz.ones((3, 3))
    want = f(x).tolist()
    assert f(x).tolist() == want
    """,
        "1 of 2 kernels run on the interpreter",
    ),
}


def test_rows():
    assert set(ROWS) == set(REACHED) | set(CHILD)
    assert not set(REACHED) & set(CHILD)


@pytest.mark.parametrize("cause", REACHED)
def test_reached(cause):
    run, texts = REACHED[cause]
    f = run()
    stats = f.stats()
    assert set(stats["causes"]) == set(ROWS)
    assert stats["causes"][cause] > 0, f.explain()
    events = [e for e in stats["events"] if e["cause"] == cause]
    assert events, f.explain()
    for text in texts:
        assert any(text in e["text"] for e in events), f.explain()
        assert text in f.explain()
    assert all(e["where"].startswith("test_causes.py:") for e in events)
    assert "{" not in f.explain()


@pytest.mark.parametrize("cause", CHILD)
def test_reached_in_a_child(cause, tmp_path):
    program, text = CHILD[cause]
    dump = tmp_path / "dump"
    dump.mkdir()
    environment = os.environ | {"FRAZIL_LOG": "guard"}
    if cause == "not_compiled":
        environment["FRAZIL_DUMP"] = str(dump)
    source = "import frazil as fz\n" + textwrap.dedent(program)
    source += f"\nassert f.stats()['causes'][{cause!r}] >= 1, f.explain()\nprint(f.explain())"
    if "deny_executable" in source:
        source = (Path(__file__).parent / "no_exec.py").read_text() + source
    child = subprocess.run(
        [sys.executable, "-c", source, str(dump)], capture_output=True, text=True, env=environment
    )
    assert child.returncode == 0, child.stderr
    assert text in child.stdout and text in child.stderr, child.stdout + child.stderr


def test_same_events_are_counted_once():
    f = traced(lambda x: fz.exp(x), (X,))
    for n in (7, 8, 7, 8):
        f(fz.ones(n))
    events = [e for e in f.stats()["events"] if e["cause"] == "shape"]
    assert len(events) == 2 and all(e["times"] == 1 for e in events)


def test_strict():
    made = []

    def body(x, y, middle=None):
        a = fz.exp(x)
        if middle:
            a = middle(a)
        made.append(a)
        return a * y

    f = fz.trace(body)
    x, y = fz.ones(4), fz.ones(4) * 2
    with fz.mode("auto", strict=True):
        f(x, y), f(x, y)  # recorded, replayed
        f(fz.ones(5), fz.ones(5) * 2)  # differs from the first operation on: recorded
        f(fz.ones(5), fz.ones(5) * 2)
        made.clear()
        line = body.__code__.co_firstlineno + 5
        with pytest.raises(RuntimeError) as error:
            f(x, fz.ones((3, 4)))
        text = str(error.value)
        assert "[trace]" in text and f"test_causes.py:{line}" in text and "strict=True" in text
        assert "shape of operand 1 of 'multiply'" in text and "f32[4] -> f32[3,4]" in text
        # What the call did before it raised is done.
        assert len(made) == 1 and np.asarray(made[0]).tobytes() == np.asarray(fz.exp(x)).tobytes()
        with pytest.raises(RuntimeError, match="'sin' instead of 'multiply'"):
            f(x, y, fz.sin)
        assert f(x, y).tolist() == body(x, y).tolist()
        # The error is the body's to handle: the rest of the call goes on.
        assert fz.trace(lambda: f(x, fz.ones(())) if False else f(x, y))().shape == (4,)
    replayed = f.stats()["replayed"]
    f(x, fz.ones((3, 4)))  # falls back and records
    f(x, fz.ones((3, 4)))
    assert f.stats()["replayed"] == replayed + 1
    with pytest.raises(ValueError, match="strict=True needs"):
        fz.mode("eager", strict=True)
    try:
        fz.mode("auto", strict=True)
        with pytest.raises(RuntimeError, match="does not fall back"):
            f(x, fz.ones((2, 4)))
    finally:
        fz.mode("auto")
    assert f(x, fz.ones((2, 4))).shape == (2, 4)
