"""Threads, Ctrl-C and fork: what several threads and processes see of one another."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import frazil as fz


def run_threads(n, body):
    errors = []

    def guarded(i):
        try:
            body(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
        assert not t.is_alive()
    if errors:
        raise errors[0]


@pytest.fixture(autouse=True, scope="module")
def interruptible():
    """A process that was started in the background may ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def small_bounds():
    names = ("plan_entries", "segment_entries", "eager_entries", "kernel_entries")
    before = {name: fz.config()[name] for name in names}
    fz.config(plan_entries=6, segment_entries=40, eager_entries=12, kernel_entries=10)
    yield
    fz.config(**before)


# --- threads --------------------------------------------------------------------------------------


def program(x, k):
    y = fz.exp(x * 0.25) + k
    if float(fz.sum(y)) > 12:
        y = fz.nn.softmax(y) * 3.0
    return [y - fz.sum(y * x), {"shape": y.shape}]


def test_one_function_and_their_own_while_plans_are_evicted(small_bounds):
    shared = fz.trace(program)

    def body(t):
        for i in range(12):
            x = fz.arange(1 + (t + i) % 9, dtype=fz.float32) * 0.5
            want = np.asarray(program(x, i % 3)[0])
            own = fz.trace(program)
            for f in (shared, own, own, shared):
                got = np.asarray(f(x, i % 3)[0])
                assert got.tobytes() == want.tobytes()
            del own

    run_threads(16, body)


def test_deferred_tensors_are_handed_over():
    handed = []
    ready = threading.Semaphore(0)

    @fz.trace
    def f(x, k):
        y = x * k
        handed.append((y, k))
        ready.release()
        time.sleep(0.0005)  # the other thread asks now, before the call or after it
        return y + 1

    seen = []

    def reader():
        for _ in range(50):
            ready.acquire()
            y, k = handed.pop(0)
            seen.append((float(y[1]), k))

    thread = threading.Thread(target=reader)
    thread.start()
    for k in range(50):
        f(fz.ones(3), float(k))
    thread.join()
    assert seen == [(float(k), k) for k in range(50)]


def test_other_threads_run_beside_a_long_kernel():
    a = fz.ones((1500, 1500))
    a @ a
    stop = threading.Event()
    ticks = 0

    def tick():
        nonlocal ticks
        while not stop.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    during = []
    try:
        for _ in range(20):  # in one of them: a busy machine may give the thread no time
            before = ticks
            a @ a @ a
            during.append(ticks - before)
            if during[-1] >= 5:  # with the lock held all the time at most two
                break
    finally:
        stop.set()
        thread.join()
    assert during[-1] >= 5, during


@pytest.mark.parametrize("traced", [False, True])
def test_a_tensor_that_another_thread_replaces(traced):
    w = fz.zeros((400, 400))
    g = fz.ones((400, 400))
    stop = threading.Event()

    def read(x):
        y = x + 0  # one look at the cell
        return (y @ g + y).sum()

    reading = fz.trace(read) if traced else read

    def body(i):
        if i == 0:
            for _ in range(30):
                w.__isub__(g @ g * 0.0 + 1)
            stop.set()
        elif i == 1:
            while not stop.is_set():
                w.__iadd__(0.0)
        else:
            while not stop.is_set():
                value = float(reading(w))
                times = value / (400 * 400 * 401)
                assert abs(times - round(times)) < 1e-4

    run_threads(4, body)


def test_nobody_sees_a_cell_half_overwritten():
    """A skipped call multiplies without the lock, then overwrites the cell that others look at."""
    w = fz.zeros((400, 400))
    g = fz.ones((400, 400)) / 400
    stop = threading.Event()

    @fz.trace(pure=True)
    def step(w, g):
        h = g
        for _ in range(4):
            h = h @ g
        w *= 1.0 + 0.0 * h.max()
        w += h.max()

    for _ in range(10):
        step(w, g)

    def body(i):
        if i == 0:
            try:
                for _ in range(60):
                    step(w, g)
            finally:
                stop.set()
        while i > 0 and not stop.is_set():
            q = w.detach()  # the value is now seen by another cell
            if i == 2:
                w.__iadd__(1.0)  # and by that one alone
            seen = np.array(q)
            assert (seen == seen[0, 0]).all()
            time.sleep(0.0002 * i)
            assert (np.asarray(q) == seen).all()

    run_threads(3, body)
    assert step.stats()["skipped"] >= 50


def test_gradients_see_the_operands_of_the_call():
    x = fz.ones((300, 300), requires_grad=True)
    b = fz.full((300, 300), 2.0)
    stop = threading.Event()

    def replace(i):
        if i == 0:
            while not stop.is_set():
                b[...] = 2.0
                b.__iadd__(0.0)
            return
        for _ in range(20):
            x.grad = None
            (x @ b).sum().backward()
            assert np.all(np.asarray(x.grad) == 600.0)
        stop.set()

    run_threads(2, replace)


# --- Ctrl-C ---------------------------------------------------------------------------------------


class Interrupter:
    """Sends SIGINT to this process once, `after` seconds from now."""

    def __init__(self, after, number=signal.SIGINT):
        self.sent = None
        self.thread = threading.Thread(target=self.run, args=(after, number))

    def run(self, after, number):
        time.sleep(after)
        self.sent = time.perf_counter()
        os.kill(os.getpid(), number)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join()


def delay_of_interrupt(work, after=0.05, error=KeyboardInterrupt, number=signal.SIGINT):
    """Runs `work`, which takes long, and returns how long it ran after the signal. If that comes
    late, as on a busy machine, the work is begun again."""
    try:
        with Interrupter(after, number) as interrupter:
            with pytest.raises(error):
                while True:
                    work()
            end = time.perf_counter()
    finally:
        interrupter.thread.join()
    return end - interrupter.sent


def soon(work, **options):
    """At least one of some tries is over within 100 ms: the machine may be busy."""
    delays = []
    for _ in range(20):
        delays.append(delay_of_interrupt(work, **options))
        if delays[-1] < 0.1:
            return
    raise AssertionError(delays)


def long_chain(x):
    for _ in range(200):
        x = fz.sin(x)
    return x


LONG = {
    "matmul": lambda: fz.ones((5000, 5000)) @ fz.ones((5000, 5000)),
    "integer matmul": lambda: (
        fz.ones((3000, 3000), dtype=fz.int32) @ fz.ones((3000, 3000), dtype=fz.int32)
    ),
    "ops": lambda: long_chain(fz.ones(1 << 22)),
    "one op": lambda: fz.pow(fz.ones(1 << 25), 1.7) ** 1.3,
    "plan": lambda: fz.trace(long_chain)(fz.ones(1 << 22)),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", LONG)
def test_interrupted_soon(name, threads):
    before = fz.get_num_threads()
    fz.set_num_threads(threads)
    try:
        soon(LONG[name])
    finally:
        fz.set_num_threads(before)
    assert float((fz.ones(3) * 2).sum()) == 6


def test_an_interrupted_call_leaves_what_eager_execution_leaves():
    weights = [fz.full((1024, 1024), 0.25), fz.full((1024, 1024), 0.5)]
    x = fz.full((1024, 1024), 1 / 1024)

    @fz.trace
    def step():
        for w in weights:
            w += w @ x @ x @ x @ x @ x @ x
        return weights[0] @ weights[1]

    for _ in range(3):
        step()
    for tries in range(3):
        delay_of_interrupt(lambda: [step() for _ in range(100)], after=0.1 + 0.13 * tries)
        # Both cells are what whole statements made of them.
        a, b = (np.unique(np.asarray(w)) for w in weights)
        assert len(a) == 1 and len(b) == 1
        assert b[0] in (2 * a[0], a[0])
        for w, start in zip(weights, (0.25, 0.5), strict=True):
            w[...] = start
        step()
        assert np.asarray(weights[1]).max() == np.float32(1.0)


def test_in_place_is_done_or_not():
    x = fz.zeros(1 << 24)

    def add():
        while True:
            x.__iadd__(1.0)

    delay_of_interrupt(add)
    assert len(np.unique(np.asarray(x[:: 1 << 12]))) == 1


def test_what_a_handler_raises_arrives():
    class Alarm(Exception):
        pass

    def handler(number, frame):
        assert float((fz.ones(3) + 1).sum()) == 6  # a handler may compute
        raise Alarm("now")

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        for work in (LONG["matmul"], LONG["plan"]):
            soon(work, error=Alarm, number=signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_handler_that_returns_disturbs_nothing():
    calls = []
    before = signal.signal(signal.SIGUSR1, lambda *_: calls.append(float(fz.ones(4).sum())))
    a = fz.full((1500, 1500), 1 / 1500)
    traced = fz.trace(lambda a: a @ a @ a @ a)
    traced(a)
    want = np.asarray(traced(a)).tobytes()
    try:
        for f in (lambda a: a @ a @ a @ a, traced):
            with Interrupter(0.02, signal.SIGUSR1):
                assert np.asarray(f(a)).tobytes() == want
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert calls == [4.0, 4.0]


@pytest.mark.parametrize("kind", ["float32", "int8", "bfloat16"])
def test_a_handler_may_multiply_in_the_middle_of_a_product(kind):
    """It has scratch memory, tiles and a floating-point mode of its own."""
    n = 1024 if kind == "float32" else 3072
    values = np.random.default_rng(3).integers(-3, 4, (n, n))
    a = fz.asarray(values.astype(np.float32)).astype(kind)
    b = a[:200, :200].astype("float32").astype(kind)
    tiny, seen = float(np.float32(1e-40)), []

    def handler(*_):
        seen.append((np.asarray((b @ b).astype("float32")).tobytes(), tiny * 1.0 != 0.0))

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with fz.precision("native"):
            want = np.asarray((a @ a).astype("float32")).tobytes()
            handler()
            signal.setitimer(signal.ITIMER_REAL, 0.003, 0.011)
            end = time.monotonic() + 100
            while len(seen) < 40 and time.monotonic() < end:
                assert np.asarray((a @ a).astype("float32")).tobytes() == want
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(seen) >= 40 and set(seen) == {seen[0]} and seen[0][1]


def test_other_threads_go_on():
    results = []
    a = fz.full((1500, 1500), 1 / 1500)

    def work():
        results.append(np.asarray(a @ a @ a).max())

    thread = threading.Thread(target=work)
    thread.start()
    delay_of_interrupt(LONG["matmul"])
    thread.join()
    assert len(results) == 1 and abs(results[0] - 1 / 1500) < 1e-7


# --- fork -----------------------------------------------------------------------------------------


def child_of_fork(body):
    """Runs `body` in a forked child and returns whether it returned True within minutes."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = 0 if body() is True else 1
        finally:
            os._exit(status)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError("the child hangs")


def compute_all(traced, n):
    x = fz.arange(n * n, dtype=fz.float32).reshape((n, n)) * 0.001
    eager = np.asarray(program(x[0], 1)[0])
    return (
        np.asarray(traced(x[0], 1)[0]).tobytes() == eager.tobytes()
        and float((fz.ones((n, n)) @ fz.ones((n, n))).max()) == n
        and float(fz.exp(fz.zeros(1 << 20)).sum()) == 1 << 20
    )


def test_child_computes():
    traced = fz.trace(program)
    assert compute_all(traced, 65)
    assert child_of_fork(lambda: compute_all(traced, 65))
    assert child_of_fork(lambda: child_of_fork(lambda: compute_all(traced, 66)))
    assert compute_all(traced, 67)


def test_fork_while_others_compile_and_compute():
    stop = threading.Event()
    traced = fz.trace(program)
    compute_all(traced, 33)

    def busy(i):
        k = 0
        while not stop.is_set():
            k += 1
            # A new kernel each time: the number of ops differs.
            own = fz.trace(lambda x, k=k: long_sum(x, 2 + k % 29))
            own(fz.ones(5 + k % 7)), own(fz.ones(300_000))
            fz.ones((300, 300)) @ fz.ones((300, 300))

    def long_sum(x, n):
        y = x
        for i in range(n):
            y = fz.tanh(y) + i if i % 2 else y * x
        return y

    def fork(i):
        try:
            for k in range(12):
                assert child_of_fork(lambda n=20 + k: compute_all(traced, n))
        finally:
            stop.set()

    run_threads(4, lambda i: fork(i) if i == 0 else busy(i))


def square(n):
    f = fz.trace(lambda x: (x * x).sum())
    return float(f(fz.full((n,), 2.0)))


def test_parent_and_child_compile_side_by_side():
    """Code pages are shared memory: neither may write where the other does."""

    def kernels(first):
        x = fz.arange(100, dtype="float32") * 0.01
        want = np.arange(100, dtype="float32") * np.float32(0.01)
        run = []
        for k in range(first, first + 25):

            def f(x, k=k):
                for i in range(k % 7 + 1):
                    x = x + (k + i) if k >> i & 1 else fz.maximum(x * 0.5, k - i)
                return x

            def g(x, k=k):
                for i in range(k % 7 + 1):
                    x = x + (k + i) if k >> i & 1 else np.maximum(x * np.float32(0.5), k - i)
                return x

            run.append((fz.trace(f), np.asarray(g(want), "float32")))
            for traced, wanted in run * 3:
                np.testing.assert_array_equal(np.asarray(traced(x)), wanted)
        return True

    kernels(0)
    pids = []
    for child in range(3):
        pids.append(os.fork())
        if pids[-1] == 0:
            status = 1
            try:
                status = 0 if kernels(100 + 50 * child) else 1
            finally:
                os._exit(status)
    kernels(300)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0, 0]


def test_multiprocessing():
    square(3)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(square, [1, 10, 100_000]) == [4.0, 40.0, 400_000.0]


def test_fork_inside_a_traced_call():
    @fz.trace
    def f(x):
        y = x * 2 + 1
        assert child_of_fork(lambda: float(y.sum()) == 9.0)
        return y

    for _ in range(3):
        assert float(f(fz.ones(3)).sum()) == 9.0


# --- memory ---------------------------------------------------------------------------------------


def allocation_failures(run):
    """Runs `run` with ever more memory until it gets through: MemoryErrors at every allocation."""
    failures = 0
    live = fz.memory.stats()["live_bytes"]
    for extra in range(0, 64 << 20, 1 << 18):
        fz.config(memory_bytes=live + extra + 1)
        try:
            run()
            return failures
        except MemoryError as error:
            assert "memory_bytes" in str(error)
            failures += 1
        finally:
            fz.config(memory_bytes=0)
    raise AssertionError("never enough")


@pytest.mark.parametrize("traced", [False, True])
def test_failed_allocations_leave_what_eager_execution_leaves(traced):
    x = fz.arange(1 << 18, dtype=fz.float32) * 1e-6
    y = fz.asarray(np.asarray(x) + 1)

    def reference(w, seen):
        for k in range(3):
            w = w * 0.5 + x * k
            seen.append(k)
            if float(fz.sum(w)) < -1:
                seen.append("negative")
            w = fz.flip(w) - y
        return w

    class State:
        pass

    state = State()

    def body():
        for k in range(3):
            state.w = state.w * 0.5 + x * k
            state.seen.append(k)
            if float(fz.sum(state.w)) < -1:
                state.seen.append("negative")
            state.w = fz.flip(state.w) - y
        return state.w + 0.0

    f = fz.trace(body) if traced else body
    start = fz.ones(1 << 18)
    want_seen = []
    want = np.asarray(reference(start, want_seen))
    prefixes = [np.asarray(start)]
    w = start
    for k in range(3):
        w = w * 0.5 + x * k
        prefixes.append(np.asarray(w))
        w = fz.flip(w) - y
        prefixes.append(np.asarray(w))

    def run():
        state.w, state.seen = start, []
        f()

    for _ in range(3):
        run()
        assert np.array_equal(np.asarray(state.w), want) and state.seen == want_seen

    def checked():
        try:
            run()
        except MemoryError:
            fz.config(memory_bytes=0)
            # The cell holds what a whole number of statements made, and can be read now.
            got = np.asarray(state.w)
            assert any(np.array_equal(got, p) for p in prefixes)
            assert state.seen == want_seen[: len(state.seen)]
            raise

    assert allocation_failures(checked) > 2
    run()
    assert np.array_equal(np.asarray(state.w), want) and state.seen == want_seen


def test_precision_changes_inside_a_traced_call():
    rng = np.random.default_rng(0)
    a = fz.asarray(rng.standard_normal((70, 4000)).astype("f4"))
    b = fz.asarray(rng.standard_normal((4000, 70)).astype("f4"))

    def body(a, b):
        with fz.precision("blas"):
            y = a @ b
        return y * 1, (a @ b) * 1

    f = fz.trace(body)
    want = [np.asarray(v).tobytes() for v in body(a, b)]
    for _ in range(4):
        assert [np.asarray(v).tobytes() for v in f(a, b)] == want


def test_an_interrupt_while_numpy_reads_is_not_lost():
    def body(x):
        for _ in range(60):
            x = fz.sin(x)
        np.asarray(x)
        return "finished"

    f = fz.trace(body)
    f(fz.ones(8)), f(fz.ones(8))
    x = fz.ones(1 << 24)
    f(x)
    timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        f(x)
        timer.join()
        time.sleep(1)
    assert np.asarray(fz.sin(fz.zeros(3))).tolist() == [0, 0, 0]


@pytest.mark.parametrize("sizes", [(256, 256), (300, 200, 128, 64), (512, 40, 40, 40, 40)])
def test_branches_side_by_side(sizes):
    rng = np.random.default_rng(0)
    arrays = [fz.asarray(rng.random((n, n), np.float32)) for n in sizes]

    def step(arrays, scale):
        halves = [fz.tanh(a @ a * scale) for a in arrays]
        return [fz.sum(h @ a, axis=0) for h, a in zip(halves, arrays, strict=True)]

    want = [np.asarray(y) for y in step(arrays, 0.01)]
    before = fz.get_num_threads()
    try:
        for threads in (2, 1, 3, 2):
            fz.set_num_threads(threads)
            traced = fz.trace(step)
            for _ in range(4):
                got = traced(arrays, 0.01)
            for x, y in zip(got, want, strict=True):
                assert np.array_equal(np.asarray(x), y)
    finally:
        fz.set_num_threads(before)


def test_threadpoolctl_sees_the_pool():
    code = """
import sys
if early: import threadpoolctl
import frazil as fz
assert early or "threadpoolctl" not in sys.modules
import threadpoolctl
def own():
    return [i for i in threadpoolctl.threadpool_info() if i["internal_api"] == "frazil"]
fz.set_num_threads(3)
assert len(own()) == 1 and own()[0]["num_threads"] == 3 and own()[0]["version"] == fz.__version__
with threadpoolctl.threadpool_limits(1):
    assert fz.get_num_threads() == 1
assert fz.get_num_threads() == 3
with threadpoolctl.threadpool_limits({"frazil": 2}):
    assert fz.get_num_threads() == 2
with fz.precision("blas"):
    fz.ones((8, 8)) @ fz.ones((8, 8))
    for i in threadpoolctl.threadpool_info():
        assert not i["filepath"].endswith("libopenblas.so.0") or i["num_threads"] == 3
"""
    pytest.importorskip("threadpoolctl")
    for early in (False, True):
        run = subprocess.run([sys.executable, "-c", f"early = {early}" + code], capture_output=True)
        assert run.returncode == 0, run.stderr.decode()
