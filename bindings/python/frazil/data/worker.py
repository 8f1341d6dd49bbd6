"""What makes batches: in the loader's own thread, or in a worker process around `work`."""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from frazil._seeding import derive as _derive
from frazil._seeding import seed_all as _seed_all
from frazil.data.collate import default_collate
from frazil.data.dataset import Subset, TensorDataset
from frazil.data.shared import Sender

__all__ = ["WorkerInfo", "get_worker_info"]

BATCH, END, ERROR = range(3)  # what a message is


class WorkerInfo(NamedTuple):
    """What a worker knows of itself (get_worker_info)."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_here = threading.local()


def get_worker_info() -> WorkerInfo | None:
    """In a worker of a DataLoader (id, num_workers, seed, dataset), elsewhere None.

    >>> get_worker_info() is None
    True
    """
    info: WorkerInfo | None = getattr(_here, "info", None)
    return info


def enter(info: WorkerInfo) -> None:
    """Makes this thread that of a worker."""
    _here.info = info


class Fetcher:
    """Makes batches of a dataset. The random numbers of a batch depend on its number alone."""

    def __init__(self, dataset: Any, collate: Any, iterable: bool, drop_last: bool) -> None:
        self._dataset, self._collate = dataset, collate
        self._iterable, self._drop_last = iterable, drop_last
        self._at_once = _at_once(dataset) if collate is default_collate else None
        self._together = _together(dataset)
        self._seed, self._examples = 0, iter(())
        self.draws = self._at_once is None  # whether it may ask for random numbers

    def begin(self, seed: int) -> None:
        """Begins an epoch, for which the random numbers of batches start at this seed."""
        self._seed = seed
        if self._iterable:
            self._examples = iter(self._dataset)

    def seed_of(self, number: int) -> int:
        """Where the random numbers of a batch begin."""
        return _derive(self._seed, "batch", number)

    def fetch(self, number: int, task: Any) -> tuple[int, Any]:
        """(BATCH, batch), or (END, None). `task`: an index or a list of them; of an iterable
        dataset how many examples to take, None for one that is no batch, and whether it is wanted.
        """
        reached = ["its example"]
        try:
            return self._take(*task) if self._iterable else (BATCH, self._at(task, reached))
        except Exception as error:
            info = get_worker_info()
            where = "" if info is None else f" of worker {info.id}"
            error.add_note(f"[DataLoader] in batch {number}{where}, at {reached[0]}.")
            raise

    def _take(self, count, wanted):
        examples = list(islice(self._examples, 1 if count is None else count))
        if not examples or (self._drop_last and len(examples) < (count or 1)):
            return END, None
        if not wanted:
            return BATCH, None
        return BATCH, self._collated(examples[0] if count is None else examples)

    def _at(self, task, reached):
        reached[0] = f"indices {_shown(task)}" if isinstance(task, list) else f"index {task!r}"
        if not isinstance(task, list):
            return self._collated(self._dataset[task])
        if self._at_once is not None:
            return self._at_once(task)
        if self._together is not None:
            return self._collated(self._together(task))
        together, examples = reached[0], []
        for index in task:
            reached[0] = f"index {index!r}"
            examples.append(self._dataset[index])
        reached[0] = together
        return self._collated(examples)

    def _collated(self, x):
        return x if self._collate is None else self._collate(x)


def _at_once(dataset: Any) -> Callable[[list[Any]], Any] | None:
    """What makes the collated batch of a list of indices, for datasets of tensors."""
    if isinstance(dataset, TensorDataset):
        own = type(dataset).__getitem__ is TensorDataset.__getitem__
        return dataset.batch if own else None
    if type(dataset) is Subset:
        whole, indices = _at_once(dataset.dataset), dataset.indices
        if whole is not None:
            return lambda task: whole([indices[i] for i in task])
    return None


def _together(dataset: Any) -> Callable[[list[Any]], Any] | None:
    """What makes the list of examples of a list of indices, where a dataset does so itself."""
    if type(dataset) is Subset:
        inner, indices = _together(dataset.dataset), dataset.indices
        return None if inner is None else lambda task: inner([indices[i] for i in task])
    return getattr(dataset, "__getitems__", None)


class _WorkersTraceback(Exception):
    """What was raised in a worker, as text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def packed(error: Exception) -> tuple[bytes | None, str, str]:
    """An exception for another process."""
    text = "".join(traceback.format_exception(error))
    try:
        data = pickle.dumps((error, getattr(error, "__notes__", [])))
        pickle.loads(data)
    except Exception:  # of a class that cannot be made from its args
        data = None
    return data, f"{type(error).__name__}: {error}", text


def unpacked(data: bytes | None, short: str, text: str) -> Exception:
    """The exception again, with the worker's traceback as its cause."""
    if data is None:
        error: Exception = RuntimeError(f"[DataLoader] a worker raised {short}")
    else:
        error, notes = pickle.loads(data)
        error.__notes__ = notes
    error.__cause__ = _WorkersTraceback(text)
    return error


def work(
    info: WorkerInfo,
    parent: int,
    tasks: Any,
    results: Any,
    fetching: tuple[Any, bool, bool],
    init: Any,
) -> None:
    """The main function of a worker: makes batches until the parent shuts `results` or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    from frazil._frazil.runtime import set_num_threads

    set_num_threads(1)
    enter(info)
    _seed_all(info.seed)
    sender = Sender(results)
    broken = None
    try:
        if init is not None:
            init(info.id)
    except Exception as error:
        error.add_note(f"[DataLoader] in worker_init_fn of worker {info.id}.")
        broken = error
    fetcher = Fetcher(info.dataset, *fetching)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        for released, number, task, seed in _tasks(tasks, results, parent):
            sender.release(released)
            try:
                if broken is not None:
                    raise broken
                if seed is not None:
                    _seed_all(_derive(seed, "worker", info.id))
                    fetcher.begin(seed)
                    continue
                _seed_all(fetcher.seed_of(number))
                kind, batch = fetcher.fetch(number, task)
            except Exception as error:
                if seed is not None:
                    broken = error
                    continue
                kind, batch = ERROR, packed(error)
            try:
                sender.send(number, kind, batch)
            except (BrokenPipeError, ConnectionResetError):
                raise
            except Exception as error:  # a batch that cannot be pickled, or want of memory
                error.add_note(f"[DataLoader] while worker {info.id} sent batch {number}.")
                sender.send(number, ERROR, packed(error))


def _tasks(tasks: Any, results: Any, parent: int) -> Iterator[Any]:
    waiting = select.poll()
    waiting.register(tasks.fileno(), select.POLLIN)
    waiting.register(results.fileno(), 0)  # which tells when it is shut
    try:
        descriptor = os.pidfd_open(parent)
        waiting.register(descriptor, select.POLLIN)
    except ProcessLookupError:
        return
    except OSError:  # of a kernel without it: the parent is looked for each second
        descriptor = -1
    while True:
        ready = [found for found, _ in waiting.poll(1000 if descriptor < 0 else None)]
        if results.fileno() in ready or descriptor in ready:
            return
        if descriptor < 0 and not _lives(parent):
            return
        if ready:
            yield pickle.loads(tasks.recv_bytes())


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _shown(indices: list[Any]) -> str:
    text = repr(indices)
    return text if len(text) <= 80 else f"{text[:80]}..."
