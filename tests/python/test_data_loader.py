"""fz.data.DataLoader: the same batches from wherever, taken up again anywhere, nothing left."""

import gc
import io
import itertools
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import frazil as fz
from frazil.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    get_worker_info,
)
from frazil.data.shared import Pickler

SOURCES = {
    "here": {},
    "threads": {"threads": 3},
    "one worker": {"num_workers": 1},
    "workers": {"num_workers": 3, "prefetch_factor": 1},
    "persistent": {"num_workers": 2, "persistent_workers": True},
    "spawned": {"num_workers": 2, "multiprocessing_context": "spawn"},
    "forkserver": {"num_workers": 2, "multiprocessing_context": "forkserver"},
}
PROCESSES = [name for name in SOURCES if name not in ("here", "threads")]


def shared():
    """Names in shared memory, but for those of other programs that run meanwhile."""
    ours = ("frazil", "psm_", "pym-", "sem.")  # whatever multiprocessing makes, too
    return {name for name in os.listdir("/dev/shm") if name.startswith(ours)}


def left_by_us(before):
    """Nothing is; suites of other interpreters, which run beside this, have names for moments."""
    deadline = time.monotonic() + 100
    while left := shared() - before:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


@pytest.fixture(autouse=True)
def nothing_is_left():
    mapped = shared()
    yield
    gc.collect()
    assert not [p for p in multiprocessing.active_children() if p.name.startswith("frazil.data")]
    left_by_us(mapped)


class Mixed(Dataset):
    """Examples with leaves of all kinds."""

    def __init__(self, n=23):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(i)
        return {
            "array": np.full((3, 2), i, "float32"),
            "tensor": fz.full((2,), i, dtype="bfloat16"),
            "pair": (i, str(i)),
            "half": fz.full((), i / 2, dtype="float16"),
        }


class Drawing(Dataset):
    """Examples with random numbers of all streams."""

    def __len__(self):
        return 12

    def __getitem__(self, i):
        own = fz.random.normal(2) + i
        return own, random.random(), np.random.random(), i


def text(batches):
    """Every bit of some batches."""
    leaves, form = fz.tree.flatten(list(batches))
    return str(form), [
        x
        if isinstance(x, (int, float, str))
        else (
            type(x),
            x.dtype.name,
            x.shape,
            bytes(fz.asarray(x).reshape(-1).view("uint8").tolist()),
        )
        for x in leaves
    ]


@pytest.mark.parametrize("name", SOURCES)
def test_batches_are_the_same_from_wherever(name):
    for options in [
        {"batch_size": 4, "shuffle": True},
        {"batch_size": 5, "drop_last": True},
        {"batch_sampler": [[3, 1], [2], [0, 4, 5]]},
        {"batch_size": None, "sampler": [7, 5, 7]},
        {"batch_size": 3, "collate_fn": list, "sampler": [7, 5, 7, 9]},
    ][: 1 if "multiprocessing_context" in SOURCES[name] else None]:
        here = DataLoader(Mixed(), seed=3, **options)
        loader = DataLoader(Mixed(), seed=3, **options, **SOURCES[name])
        for _ in range(2):
            batches = list(loader)
            assert len(batches) == len(loader) == len(here) and text(batches) == text(here)


@pytest.mark.parametrize("name", ["here", *PROCESSES])
def test_random_numbers_depend_on_the_epoch_and_the_batch_alone(name):
    def epochs(**options):
        loader = DataLoader(Drawing(), batch_size=2, shuffle=True, seed=1, **options)
        for _ in range(2):
            first = [next(s) for s in streams()]  # what the program draws changes nothing
            yield text(loader)
            assert [next(s) for s in streams()] != first

    def streams():
        yield iter(lambda: random.random(), None)
        yield iter(lambda: np.random.random(), None)
        yield iter(lambda: fz.random.uniform().item(), None)

    here = list(epochs())
    assert list(epochs(**SOURCES[name])) == here and here[0] != here[1]


def test_a_loader_here_leaves_the_programs_streams_alone():
    def drawn(between):
        fz.random.seed_everything(5)
        out = [random.random(), np.random.normal(), fz.random.uniform().item()]
        between()
        return out + [random.random(), np.random.normal(), fz.random.uniform().item()]

    loader = DataLoader(Drawing(), batch_size=5, seed=0)
    assert drawn(lambda: None) == drawn(lambda: list(loader))


def test_the_seed_is_drawn_from_the_generator():
    def order(**options):
        return [x.item() for x in DataLoader(range(30), shuffle=True, **options)]

    fz.random.seed(3)
    first = order()
    fz.random.seed(3)
    assert order() == first != order()
    g = [fz.random.Generator(8) for _ in "ab"]
    assert order(generator=g[0]) == order(generator=g[1]) != order(generator=g[0])


@pytest.mark.parametrize("name", ["here", "threads", "workers", "persistent"])
@pytest.mark.parametrize("options", [{"shuffle": True}, {}], ids=["shuffled", "in order"])
def test_resuming_anywhere(name, options):
    dataset = Mixed if name == "threads" else Drawing
    whole = DataLoader(dataset(), batch_size=3, seed=9, **options)
    epochs = [[text([batch]) for batch in whole] for _ in range(3)]
    for epoch, at in itertools.product(range(2), range(len(epochs[0]) + 1)):
        loader = DataLoader(dataset(), batch_size=3, seed=9, **options, **SOURCES[name])
        for _ in range(epoch):
            list(loader)
        running = iter(loader)
        for _ in range(at):
            next(running)
        state = loader.state_dict()
        running.close()
        other = DataLoader(dataset(), batch_size=3, **options, **SOURCES[name])
        other.load_state_dict(state)
        assert other.state_dict() == state
        assert [text([batch]) for batch in other] == epochs[epoch][at:]
        assert [text([batch]) for batch in other] == epochs[epoch + 1]


def test_resuming_with_other_workers_and_after_an_epoch():
    loader = DataLoader(Drawing(), batch_size=5, shuffle=True, seed=2)
    first, second = text(loader), None
    state = loader.state_dict()
    assert (state["epoch"], state["batch"]) == (1, 0)
    second = text(loader)
    other = DataLoader(Drawing(), batch_size=5, shuffle=True, num_workers=2)
    other.load_state_dict(state)
    assert text(other) == second != first


def test_leaving_an_epoch_begins_the_next():
    loader = DataLoader(range(8), batch_size=2, shuffle=True, seed=4)
    epochs = [text(loader) for _ in range(2)]
    loader = DataLoader(range(8), batch_size=2, shuffle=True, seed=4)
    for _ in loader:
        break
    assert (loader.state_dict()["epoch"], loader.state_dict()["batch"]) == (0, 1)
    assert text(loader) == epochs[1]


class Stateful(fz.data.Sampler):
    """An order that depends on what it did before."""

    def __init__(self):
        self.random = random.Random(0)

    def __iter__(self):
        return iter(self.random.sample(range(6), 6))

    def state_dict(self):
        return {"random": self.random.getstate()}

    def load_state_dict(self, state):
        self.random.setstate(state["random"])


def test_a_sampler_with_a_state_of_its_own():
    loader = DataLoader(range(6), sampler=Stateful())
    list(loader)
    running = iter(loader)
    next(running), next(running)
    state = loader.state_dict()
    other = DataLoader(range(6), sampler=Stateful())
    other.load_state_dict(state)
    assert text(other) == text(running)
    assert text(other) == text(loader)


class Stream(IterableDataset):
    def __init__(self, n=17):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        numbers = range(self.n) if info is None else range(info.id, self.n, info.num_workers)
        for i in numbers:
            yield i, random.random()


@pytest.mark.parametrize("name", ["here", "one worker", "workers", "persistent"])
@pytest.mark.parametrize("batch_size", [3, None])
def test_iterable_datasets(name, batch_size):
    def epoch(loader):
        return [text([batch]) for batch in loader]

    make = lambda seed=0: DataLoader(Stream(), batch_size, seed=seed, **SOURCES[name])  # noqa: E731
    whole = epoch(make())
    size, workers = batch_size or 1, max(1, SOURCES[name].get("num_workers", 0))
    assert len(whole) == sum(-(-len(range(i, 17, workers)) // size) for i in range(workers))
    numbers = [n for (n, _) in make() for n in ([n] if batch_size is None else n.tolist())]
    assert sorted(numbers) == list(range(17))
    for at in (0, 1, len(whole) - 1, len(whole)):
        loader = make()
        running = iter(loader)
        for _ in range(at):
            next(running)
        other = make(5)
        other.load_state_dict(loader.state_dict())
        assert epoch(other) == whole[at:] and epoch(other) != whole
        running.close()


def test_lengths_of_iterable_datasets():
    with pytest.raises(TypeError, match="has no len"):
        len(DataLoader(Stream()))
    Sized = type("Sized", (Stream,), {"__len__": lambda self: self.n})  # noqa: N806
    assert len(DataLoader(Sized(), 5)) == 4 == len(list(DataLoader(Sized(), 5)))
    assert len(DataLoader(Sized(), 5, drop_last=True)) == 3
    assert [len(n) for n, _ in DataLoader(Stream(), 5, drop_last=True)] == [5, 5, 5]


def test_memory_is_used_again_when_nobody_holds_it():
    loader = DataLoader(TensorDataset(fz.arange(4000).reshape(40, 100)), 2, num_workers=1)
    kept = list(loader)  # each in memory of its own
    assert fz.concat([x for (x,) in kept]).reshape(-1).tolist() == list(range(4000))
    del kept
    addresses = set()
    for (x,) in loader:
        addresses.add(np.asarray(x).ctypes.data)
        x += 1  # a value of its own
    assert len(addresses) <= 5
    assert next(iter(loader))[0][0, 0].item() == 0


def test_batches_of_different_sizes():
    sizes = [1, 100000, 3, 70000, 500000, 2, 0, 300000] * 3
    data = [np.full(n, i, "float64") for i, n in enumerate(sizes)]
    got = list(DataLoader(data, None, num_workers=2))
    assert [len(x) for x in got] == sizes
    assert all((x == i).all() for i, x in enumerate(got))


# --- what goes wrong ------------------------------------------------------------------------------


class Failing(Dataset):
    def __init__(self, what):
        self.what = what

    def __len__(self):
        return 10

    def __getitem__(self, i):
        if i == 5:
            return self.what()
        return i


class OddError(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def raise_key_error():
    raise KeyError("a key")


def raise_odd():
    raise OddError(1, 2)


@pytest.mark.parametrize("name", SOURCES)
def test_an_exception_names_the_index(name):
    loader = DataLoader(Failing(raise_key_error), 2, **SOURCES[name])
    with pytest.raises(KeyError, match="a key") as caught:
        list(loader)
    (note,) = caught.value.__notes__
    assert note.startswith("[DataLoader] in batch 2") and note.endswith("at index 5.")
    if "num_workers" in SOURCES[name]:
        assert "of worker " in note and "raise_key_error" in str(caught.value.__cause__)
    got = []
    with pytest.raises(KeyError):
        for batch in loader:
            got += batch.tolist()
    assert got == [0, 1, 2, 3]


def test_exceptions_that_cannot_be_sent():
    with pytest.raises(RuntimeError, match="a worker raised OddError: 1 and 2") as caught:
        list(DataLoader(Failing(raise_odd), num_workers=1))
    assert "in raise_odd" in str(caught.value.__cause__)
    with pytest.raises((TypeError, AttributeError)) as caught:
        list(DataLoader(Failing(lambda: lambda: 0), None, num_workers=1))
    assert "while worker 0 sent batch 5" in caught.value.__notes__[0]


def test_a_batch_that_cannot_be_made():
    with pytest.raises(ValueError, match="differ in shapes") as caught:
        list(DataLoader([fz.ones(2), fz.ones(3)], 2, num_workers=1))
    assert caught.value.__notes__ == ["[DataLoader] in batch 0 of worker 0, at indices [0, 1]."]


@pytest.mark.parametrize("name", PROCESSES)
def test_a_killed_worker_is_said(name):
    loader = DataLoader(Failing(kill_this), 2, **SOURCES[name])
    with pytest.raises(
        RuntimeError, match=r"worker \d \(process \d+\) was killed by SIGKILL, .*batch"
    ):
        list(loader)
    loader = DataLoader(Failing(exit_this), 2, **SOURCES[name])
    with pytest.raises(RuntimeError, match=r"worker \d .* ended with exit code 3, before batch"):
        list(loader)


def kill_this():
    os.kill(os.getpid(), signal.SIGKILL)


def exit_this():
    os._exit(3)


def test_a_worker_that_is_killed_while_it_waits():
    loader = DataLoader(range(100), num_workers=1, persistent_workers=True)
    running = iter(loader)
    next(running)
    (worker,) = (p for p in multiprocessing.active_children() if p.name == "frazil.data-0")
    worker.kill()
    worker.join()
    with pytest.raises(RuntimeError, match="killed by SIGKILL"):
        list(running)
    assert len(list(loader)) == 100  # others are made


def sleep():
    time.sleep(60)


def test_no_thread_stands_between():
    """One would wait for the GIL whenever the program's step holds it."""
    before = threading.active_count()
    for _ in DataLoader(range(6), num_workers=2):
        assert threading.active_count() <= before  # those of earlier tests may end meanwhile


class Doubled(TensorDataset):
    def __getitem__(self, i):
        (x,) = super().__getitem__(i)
        return x * 2


class Together(Dataset):
    def __init__(self):
        self.asked = []

    def __len__(self):
        return 6

    def __getitem__(self, i):
        raise AssertionError(i)

    def __getitems__(self, indices):
        self.asked.append(indices)
        return [10 * i for i in indices]


def test_datasets_that_make_whole_batches():
    assert [x.tolist() for x in DataLoader(Doubled(fz.arange(4)), 2)] == [[0, 2], [4, 6]]
    data = TensorDataset(fz.arange(8), fz.arange(8) * 10)
    half = Subset(Subset(data, [7, 1, 3, 5]), [3, 2, 0])
    (batch,) = DataLoader(half, 3)
    assert [t.tolist() for t in batch] == [[5, 3, 7], [50, 30, 70]]
    whole = Together()
    got = [x.tolist() for x in DataLoader(Subset(whole, [4, 0, 2]), 2)]
    assert got == [[40, 0], [20]] and whole.asked == [[4, 0], [2]]


def test_what_is_pickled_lives_no_longer():
    """A cycle would keep each batch until the garbage collector comes, which breaks over them."""
    gc.disable()
    try:
        pickler = Pickler(io.BytesIO())
        pickler.dump((np.zeros(9), fz.zeros(9)))
        alive = weakref.ref(pickler)
        del pickler
        assert alive() is None
    finally:
        gc.enable()


def test_timeout():
    for timeout in (0.5, 5.0, 25.0):  # on a busy machine batches that do not sleep may be late, too
        loader = DataLoader(Failing(sleep), num_workers=2, timeout=timeout)
        begin = time.perf_counter()
        late = rf"worker (\d) took more than timeout={timeout} seconds for batch (\d)"
        with pytest.raises(TimeoutError, match=late) as caught:
            list(loader)
        if re.search(late, str(caught.value)).groups() == ("1", "5"):
            assert time.perf_counter() - begin < timeout + 30  # the sleeper is not waited for
            return
    raise AssertionError(caught.value)


@pytest.mark.parametrize("leave", ["break", "raise", "del", "never begun"])
@pytest.mark.parametrize("name", ["workers", "persistent"])
def test_however_it_is_left(leave, name):
    loader = DataLoader(range(1000), **SOURCES[name])
    if leave == "never begun":
        iter(loader)
        return
    with pytest.raises(ZeroDivisionError) if leave == "raise" else memoryview(b""):
        running = iter(loader)
        for x in running:
            if leave == "raise":
                raise ZeroDivisionError
            if x.item() == 3:
                break
    if leave == "del":
        del running
        assert multiprocessing.active_children() or name == "workers"
    # The fixture looks for what is left.


def test_persistent_workers_are_the_same():
    loader = DataLoader(range(8), None, collate_fn=process, **SOURCES["persistent"])
    first = set(loader)
    for x in loader:
        assert x in first
        break
    assert set(loader) == first and len(first) == 2


def process(_):
    return os.getpid()


def test_worker_info_and_init():
    data = DataLoader(Reporting(), None, num_workers=2, worker_init_fn=remember, seed=0)
    got = list(data)
    assert [x[:3] for x in got] == [(i % 2, 2, i % 2) for i in range(4)]
    assert got[0][3] == got[2][3] != got[1][3] and all(x[4] == 1 for x in got)
    assert [x[0] for x in DataLoader(Reporting(), None)] == [None] * 4
    with pytest.raises(ValueError, match="no luck") as caught:
        list(DataLoader(range(3), num_workers=1, worker_init_fn=fail))
    assert "in worker_init_fn of worker 0" in caught.value.__notes__[0]


class Reporting(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        info = get_worker_info()
        if info is None:
            return (None,)
        assert type(info.dataset) is Reporting
        return info.id, info.num_workers, remembered, info.seed, fz.get_num_threads()


remembered = None


def remember(number):
    global remembered
    remembered = number


def fail(number):
    raise ValueError("no luck")


@fz.trace
def augmented(x):
    flip = fz.random.uniform((x.shape[0], 1)) < 0.5
    return fz.where(flip, x[:, ::-1], x) + fz.random.normal(x.shape) * 0.1


def collate_augmented(examples):
    return augmented(fz.stack(examples))


def test_augmentation_as_a_traced_program():
    rows = list(fz.arange(96, dtype="float32").reshape(12, 8))
    made = [
        [text(loader) for _ in range(2)]
        for options in ({}, {"num_workers": 2}, {"num_workers": 1})
        for loader in [DataLoader(rows, 4, collate_fn=collate_augmented, seed=6, **options)]
    ]
    assert made[0] == made[1] == made[2] and made[0][0] != made[0][1]


def test_two_iterations_at_once():
    for name in ("here", "workers", "persistent", "threads"):
        loader = DataLoader(range(4), **SOURCES[name])
        pairs = [(a.item(), b.item()) for a in loader for b in loader]
        assert pairs == list(itertools.product(range(4), range(4)))


WRONG = [
    ({"batch_size": 0}, ValueError, r"batch_size must be at least 1, got 0"),
    ({"batch_size": 2.0}, TypeError, "batch_size must be an integer, got float"),
    ({"num_workers": -1}, ValueError, "num_workers must be at least 0, got -1"),
    ({"timeout": -1, "num_workers": 1}, ValueError, "timeout must be at least 0"),
    ({"prefetch_factor": 0, "num_workers": 1}, ValueError, "prefetch_factor must be at least 1"),
    ({"shuffle": True, "sampler": [0]}, ValueError, "sampler and shuffle=True exclude"),
    ({"batch_sampler": [[0]], "shuffle": True}, ValueError, "batch_sampler excludes batch_size"),
    ({"batch_sampler": [[0]], "batch_size": 2}, ValueError, "batch_sampler excludes batch_size"),
    ({"batch_size": None, "drop_last": True}, ValueError, "needs a batch_size, which is None"),
    ({"num_workers": 1, "threads": 2}, ValueError, "num_workers=1 and threads=2 exclude"),
    ({"timeout": 1}, ValueError, "timeout needs num_workers above 0"),
    ({"persistent_workers": True}, ValueError, "persistent_workers needs num_workers above 0"),
    ({"worker_init_fn": print}, ValueError, "worker_init_fn needs num_workers above 0"),
    ({"prefetch_factor": 2}, ValueError, "prefetch_factor needs num_workers above 0"),
    ({"pin_memory": 3}, TypeError, "pin_memory must be True or False, got 3"),
    ({"shuffle": "yes"}, TypeError, "shuffle must be True or False, got 'yes'"),
    ({"seed": "a"}, TypeError, "seed must be an integer, got str"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "error", "message"), WRONG)
def test_wrong_arguments(options, error, message):
    with pytest.raises(error, match=r"\[DataLoader\] .*" + message):
        DataLoader([1, 2], **options)


def test_wrong_datasets_and_states():
    with pytest.raises(ValueError, match="an IterableDataset has its own order"):
        DataLoader(Stream(), shuffle=True)
    with pytest.raises(ValueError, match="an IterableDataset cannot be shared by threads"):
        DataLoader(Stream(), threads=2)
    with pytest.raises(TypeError, match="needs a dataset with __getitem__, .* got generator"):
        DataLoader(x for x in "ab")
    loader = DataLoader(range(4), 2)
    for state, message in (
        ({}, "is no state of a loader"),
        ([1], "is no state of a loader"),
        (DataLoader(range(4), 1).state_dict(), "batch_size is 2 here, and 1 in the state"),
        (DataLoader(range(5), 2).state_dict(), "length is 4 here, and 5 in the state"),
        (DataLoader(Stream(), 2).state_dict(), "length is 4 here, and None in the state"),
    ):
        with pytest.raises(ValueError, match=r"\[DataLoader.load_state_dict\] .*" + message):
            loader.load_state_dict(state)


# --- other ends -----------------------------------------------------------------------------------

PROGRAM = """
import os, sys, time
import frazil as fz
class Slow(fz.data.Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, i):
        time.sleep(0.005)
        return fz.full((1000,), os.getpid())
if __name__ == "__main__":
    context, how = sys.argv[1:]
    loader = fz.data.DataLoader(Slow(), num_workers=2, multiprocessing_context=context)
    for n, x in enumerate(loader):
        if n < 2:
            print(int(x[0, 0]), flush=True)
        elif how == "exit":
            sys.exit(7)
"""


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("context", ["fork", "forkserver"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, "exit"])
def test_whatever_ends_the_program_ends_its_workers(tmp_path, how, context):
    before = shared()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, str(program), context, str(how)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    workers = [int(process.stdout.readline()) for _ in range(2)]
    assert len(set(workers)) == 2
    if how == signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does
    elif how != "exit":
        os.kill(process.pid, how)
    error = process.communicate(timeout=300)[1]
    assert process.returncode == (7 if how == "exit" else -how), error
    if how == signal.SIGINT:
        assert error.count("Traceback") == 1 and error.rstrip().endswith("KeyboardInterrupt")
    deadline = time.monotonic() + 200
    while any(map(is_alive, workers)):
        assert time.monotonic() < deadline, "workers are left"
        time.sleep(0.02)
    left_by_us(before)


UNFINISHED = """
import frazil as fz
loader = fz.data.DataLoader(range(1000), num_workers=2, persistent_workers=True)
batches = iter(loader)
print(int(next(batches)))
"""


def test_the_end_of_a_program_in_the_middle_of_an_epoch_is_silent():
    done = subprocess.run([sys.executable, "-c", UNFINISHED], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
