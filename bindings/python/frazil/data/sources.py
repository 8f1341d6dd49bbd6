"""Where a loader's batches come from: its own thread, threads, or worker processes.

Each source yields, in the order of the tasks, the number and the batch of each. Invariant: batch n
is made by worker n modulo their number, so the order does not depend on who is fast; whatever ends
an iteration (its end, `break`, an error, Ctrl-C, the garbage collector), close() leaves no process,
no thread and no memory behind.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import socket
import time
import warnings
import weakref
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

from frazil._seeding import apart as _apart
from frazil._seeding import derive as _derive
from frazil.data import worker as _worker
from frazil.data.shared import NONE_YET, Receiver
from frazil.data.worker import BATCH, END, ERROR, Fetcher, WorkerInfo

_GRACE = 1.0  # seconds until a worker that is told to end is sent a signal


class InHere:
    """Makes batches in the calling thread, each when it is asked for."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher

    def run(self, tasks: Iterator[Any], seed: int) -> Iterator[tuple[int, Any]]:
        """The program's own random streams stay as they are."""
        with self._apart(_derive(seed, "worker", 0)):
            self._fetcher.begin(seed)
        for number, task in tasks:
            with self._apart(self._fetcher.seed_of(number)):
                kind, batch = self._fetcher.fetch(number, task)
            if kind == END:
                return
            yield number, batch

    def _apart(self, seed):
        return _apart(seed) if self._fetcher.draws else contextlib.nullcontext()

    def close(self) -> None:
        """Nothing lives on."""


class Threads:
    """Makes batches in threads: for examples that are read or decoded without the GIL."""

    def __init__(self, fetcher: Fetcher, threads: int, prefetch: int, dataset: Any) -> None:
        self._fetcher, self._most = fetcher, threads * prefetch
        numbers = count()

        def enter() -> None:
            _worker.enter(WorkerInfo(next(numbers), threads, 0, dataset))

        self._pool = ThreadPoolExecutor(threads, "frazil.data", enter)

    def run(self, tasks: Iterator[Any], seed: int) -> Iterator[tuple[int, Any]]:
        """What random numbers a thread draws depends on the others."""
        self._fetcher.begin(seed)
        running: deque[Any] = deque()

        def start() -> None:
            for number, task in tasks:
                running.append((number, self._pool.submit(self._fetcher.fetch, number, task)))
                return

        for _ in range(self._most):
            start()
        while running:
            number, future = running.popleft()
            _, batch = future.result()
            start()
            yield number, batch

    def close(self) -> None:
        """Waits for what is running."""
        self._pool.shutdown(cancel_futures=True)


class Processes:
    """Makes batches in worker processes."""

    def __init__(
        self,
        fetching: tuple[Any, bool, bool],
        dataset: Any,
        workers: int,
        prefetch: int,
        timeout: float,
        context: Any,
        init: Any,
        seed: int,
        persistent: bool,
    ) -> None:
        self._prefetch, self._timeout, self._persistent = prefetch, timeout, persistent
        self._workers: list[_Process] = []
        self._close = weakref.finalize(self, _end, self._workers, os.getpid())
        for i in range(workers):
            info = WorkerInfo(i, workers, _derive(seed, "worker", i), dataset)
            self._workers.append(_Process(context, info, fetching, init))
        self.reusable = True  # for another epoch

    def run(self, tasks: Iterator[Any], seed: int) -> Iterator[tuple[int, Any]]:
        """Keeps `prefetch` batches of each worker under way, and reads each where it is asked for.

        No thread reads ahead: it would wait for the GIL whenever the program's step holds it.
        """
        count, ended = len(self._workers), set[int]()
        under_way = deque[int]()

        def follow() -> None:
            while len(ended) < count:
                found = next(tasks, None)
                if found is None:
                    return
                number, task = found
                if number % count not in ended:
                    self._send(self._worker_of(number), number, task, None)
                    under_way.append(number)
                    return

        self.reusable = False
        for worker in self._workers:
            self._send(worker, -1, None, seed)
        for _ in range(self._prefetch * count):
            follow()
        try:
            while under_way:
                number = under_way[0]
                kind, batch = self._receive(self._worker_of(number), number)
                under_way.popleft()
                if kind == ERROR:
                    raise _worker.unpacked(*batch)
                if kind == END:
                    ended.add(number % count)
                follow()
                if kind == BATCH:
                    held = [(number, batch)]
                    del batch  # the program's alone: its memory is free when the program drops it
                    yield held.pop()
            self.reusable = True
        except GeneratorExit:
            # What is under way belongs to no other epoch; as the program ends no workers are left.
            while under_way and self._persistent and self._workers:
                number = under_way.popleft()
                self._receive(self._worker_of(number), number)
            self.reusable = self._persistent
            raise

    def _worker_of(self, number):
        return self._workers[number % len(self._workers)]

    def _send(self, worker, number, task, seed):
        task = (worker.receiver.released(), number, task, seed)
        try:
            worker.tasks.send_bytes(pickle.dumps(task, protocol=5))
        except (BrokenPipeError, ConnectionResetError):
            raise worker.death(number) from None

    def _receive(self, worker, number):
        got = worker.receiver.receive()
        if got is NONE_YET:
            if not worker.wait(self._timeout):
                raise TimeoutError(
                    f"[DataLoader] worker {worker.info.id} took more than timeout={self._timeout} "
                    f"seconds for batch {number}."
                )
            got = worker.receiver.receive()
        # Where it is gone, somebody else who has its end keeps it open.
        if got is None or got is NONE_YET:
            raise worker.death(number)
        return got[1:]

    def close(self) -> None:
        """Ends the workers, at once those that are in the middle of something for long."""
        self._close()


class _Process:
    """A worker process and the parent's ends of what leads there."""

    def __init__(self, context: Any, info: WorkerInfo, fetching: Any, init: Any) -> None:
        self.info = info
        tasks, self.tasks = context.Pipe(duplex=False)
        # Messages of one kind come whole, with descriptors (data/shared.py).
        channel, results = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        channel.setblocking(False)
        self.receiver = Receiver(channel)
        self._waiting: Any = None
        self.process = context.Process(
            target=_worker.work,
            args=(info, os.getpid(), tasks, results, fetching, init),
            name=f"frazil.data-{info.id}",
            daemon=True,
        )
        try:
            with warnings.catch_warnings():
                # Of threads beside a fork: frazil's pool, which is made for it (at_fork.h).
                warnings.simplefilter("ignore", DeprecationWarning)
                self.process.start()
        except BaseException:
            self.close()
            raise
        finally:
            tasks.close()
            results.close()

    def shut(self) -> None:
        """Ends what either side waits for. Closing does not, where a fork has the ends, too."""
        with contextlib.suppress(OSError):
            self.receiver.channel.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Tells it to end."""
        self.shut()
        self.receiver.channel.close()
        self.tasks.close()

    def wait(self, timeout: float) -> bool:
        """Until there is a batch or the process is gone; false if that takes longer."""
        if self._waiting is None:
            self._waiting = select.poll()
            self._waiting.register(self.receiver.channel, select.POLLIN)
            self._waiting.register(self.process.sentinel, select.POLLIN)
        return bool(self._waiting.poll(1000 * timeout if timeout else None))

    def death(self, number: int) -> RuntimeError:
        """What is raised when it is gone."""
        self.process.join(_GRACE)
        code = self.process.exitcode
        how = f"ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
            if code == -signal.SIGKILL:
                how += ", perhaps for want of memory"
        return RuntimeError(
            f"[DataLoader] worker {self.info.id} (process {self.process.pid}) {how}, before batch "
            f"{number} was made."
        )


def _end(workers: list[_Process], owner: int) -> None:
    if os.getpid() != owner:  # a forked child has the objects, too
        return
    for worker in workers:
        worker.close()
    for ask in (lambda process: None, lambda p: p.terminate(), lambda p: p.kill()):
        deadline = time.monotonic() + _GRACE
        for worker in workers:
            if worker.process.is_alive():
                ask(worker.process)
        for worker in workers:
            worker.process.join(max(0, deadline - time.monotonic()))
        if not any(worker.process.is_alive() for worker in workers):
            break
    for worker in workers:
        with contextlib.suppress(ValueError):  # still alive after SIGKILL: in the kernel
            worker.process.close()
    workers.clear()
