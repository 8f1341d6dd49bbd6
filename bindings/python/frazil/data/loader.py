"""DataLoader: the batches of a dataset, in an order that can be taken up again anywhere."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil._named import number as _number
from frazil._seeding import derive as _derive
from frazil.data.collate import default_collate
from frazil.data.dataset import IterableDataset
from frazil.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from frazil.data.sources import InHere, Processes, Threads
from frazil.data.worker import Fetcher

if TYPE_CHECKING:
    from collections.abc import Iterable

    from frazil.random import Generator

__all__ = ["DataLoader"]


class DataLoader:
    """Goes through a dataset batch by batch; each iteration is an epoch.

    Batches, their order and the random numbers that examples draw from frazil.random, NumPy's
    legacy stream and Python's random depend on `seed` and the number of the epoch alone: they are
    the same with and without worker processes, and whatever the program draws itself.

    Parameters
    ----------
    dataset : Dataset or IterableDataset
        Or any object with `__getitem__` and `__len__`.
    batch_size : int, optional
        None: examples come one by one and go through collate_fn only if it is given.
    shuffle : bool
        Another order in each epoch (RandomSampler).
    sampler : iterable of indices, optional
    batch_sampler : iterable of lists of indices, optional
        In place of batch_size, shuffle, sampler and drop_last.
    num_workers : int
        Processes that make batches, which come through shared memory; 0: the calling thread does.
    collate_fn : callable, optional
        From a list of examples to a batch, by default default_collate.
    pin_memory : bool
        PyTorch's, and chooses nothing: transfers to GPUs go through pinned memory of frazil's own.
    drop_last : bool
        Leaves out a last batch that is not full.
    timeout : float
        Seconds to wait for a batch of a worker; 0: for ever.
    worker_init_fn : callable, optional
        Called in each worker with its number.
    multiprocessing_context : str or context, optional
        By default "fork", where the platform has it: frazil's threads are made for it. With "spawn"
        and "forkserver" dataset and functions must be picklable.
    generator : frazil.random.Generator, optional
        Where the seed is drawn from if none is given; by default that of frazil.random.
    prefetch_factor : int, optional
        Batches under way per worker, by default 2.
    persistent_workers : bool
        Keeps workers from epoch to epoch.
    threads : int
        Threads that make batches, in place of processes: for examples that are read or decoded
        without the GIL. What random numbers their examples draw depends on who is first.
    seed : int, optional

    Raises
    ------
    ValueError
        If arguments exclude each other.

    >>> import frazil as fz
    >>> data = fz.data.TensorDataset(fz.arange(5), fz.arange(5) * 10)
    >>> for x, y in DataLoader(data, batch_size=2):
    ...     print(x.tolist(), y.tolist())
    [0, 1] [0, 10]
    [2, 3] [20, 30]
    [4] [40]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool = False,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        threads: int = 0,
        seed: int | None = None,
    ) -> None:
        where = "[DataLoader]"
        shuffle = _flag(f"{where} shuffle", shuffle)
        self.dataset = dataset
        self.batch_size = batch_size
        self.num_workers = _integer(f"{where} num_workers", num_workers, 0)
        self.drop_last = _flag(f"{where} drop_last", drop_last)
        self.timeout = float(_number(f"{where} timeout", timeout, 0))
        self.worker_init_fn = worker_init_fn
        self.persistent_workers = _flag(f"{where} persistent_workers", persistent_workers)
        self.threads = _integer(f"{where} threads", threads, 0)
        self.multiprocessing_context = multiprocessing_context
        if prefetch_factor is not None:
            _integer(f"{where} prefetch_factor", prefetch_factor, 1)
        self.prefetch_factor = 2 if prefetch_factor is None else prefetch_factor
        if batch_size is not None:
            _integer(f"{where} batch_size", batch_size, 1)
        _flag(f"{where} pin_memory", pin_memory)
        self._iterable = isinstance(dataset, IterableDataset)
        self._refuse(shuffle, sampler, batch_sampler, prefetch_factor)
        if seed is None:
            from frazil import random

            seed = int((generator or random).integers(1 << 62, dtype="int64"))
        self.seed = _integer(f"{where} seed", seed)
        if not self._iterable and batch_sampler is None:
            if sampler is None:
                sampler = (
                    RandomSampler(dataset, seed=seed) if shuffle else SequentialSampler(dataset)
                )
            if batch_size is not None:
                batch_sampler = BatchSampler(sampler, batch_size, self.drop_last)
        self.sampler, self.batch_sampler = sampler, batch_sampler
        if collate_fn is None and (batch_size is not None or batch_sampler is not None):
            collate_fn = default_collate
        self.collate_fn = collate_fn
        self._idle: Processes | None = None  # persistent workers between epochs
        self._epoch, self._batch = 0, 0  # the next batch: number `batch` of `epoch`
        self._running = False  # that epoch has an iterator
        self._order: Any = None  # what the sampler's state was when it began

    def _refuse(self, shuffle, sampler, batch_sampler, prefetch_factor):
        where = "[DataLoader]"
        one_by_one = self.batch_size is None
        if self._iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError(
                f"{where} an IterableDataset has its own order: leave out shuffle, sampler and "
                "batch_sampler."
            )
        if not self._iterable and not hasattr(self.dataset, "__getitem__"):
            raise TypeError(
                f"{where} needs a dataset with __getitem__, or a subclass of IterableDataset, got "
                f"{type(self.dataset).__name__}."
            )
        if shuffle and sampler is not None:
            raise ValueError(f"{where} sampler and shuffle=True exclude each other.")
        if batch_sampler is not None and (
            self.batch_size not in (1, None) or shuffle or sampler is not None or self.drop_last
        ):
            raise ValueError(
                f"{where} batch_sampler excludes batch_size, shuffle, sampler and drop_last."
            )
        if one_by_one and self.drop_last:
            raise ValueError(f"{where} drop_last=True needs a batch_size, which is None.")
        if self.num_workers and self.threads:
            raise ValueError(
                f"{where} num_workers={self.num_workers} and threads={self.threads} exclude each "
                "other."
            )
        if self._iterable and self.threads:
            raise ValueError(
                f"{where} an IterableDataset cannot be shared by threads: use num_workers."
            )
        if not self.num_workers:
            for name, given in (
                ("timeout", self.timeout),
                ("worker_init_fn", self.worker_init_fn is not None),
                ("persistent_workers", self.persistent_workers),
                ("multiprocessing_context", self.multiprocessing_context is not None),
                ("prefetch_factor", prefetch_factor is not None and not self.threads),
            ):
                if given:
                    raise ValueError(f"{where} {name} needs num_workers above 0, which is 0.")

    def __len__(self) -> int:
        """How many batches an epoch has."""
        if not self._iterable:
            return len(self._indices())
        n = len(self.dataset)
        size = self.batch_size or 1
        return n // size if self.drop_last else -(-n // size)

    def __iter__(self) -> Iterator[Any]:
        if self._running:  # the epoch before was begun and is left, whether or not it was finished
            self._epoch, self._batch, self._order = self._epoch + 1, 0, None
        self._running = True
        return self._iterate(self._epoch, self._batch)

    def _iterate(self, epoch, begin):
        seed = _derive(self.seed, "epoch", epoch)
        tasks = self._tasks(epoch, begin)
        source = self._source(seed)
        at = begin
        batches = source.run(tasks, seed)
        try:
            for done, (_, batch) in enumerate(batches, 0 if self._iterable else begin):
                if done < begin:  # of an iterable dataset: taken again to get there
                    continue
                at = done + 1
                if self._epoch == epoch:
                    self._batch = at
                yield batch
        finally:
            batches.close()
            self._put_back(source)
        if self._epoch == epoch:
            self._epoch, self._batch, self._order = epoch + 1, 0, None
            self._running = False

    def _tasks(self, epoch, begin):
        """Pairs of a batch's number and what to make it of."""
        if self._iterable:
            return ((n, (self.batch_size, n >= begin)) for n in count())
        sampler = self._indices()
        if self._order is not None and hasattr(sampler, "load_state_dict"):
            sampler.load_state_dict(self._order)
        if hasattr(sampler, "set_epoch"):
            sampler.set_epoch(epoch)
        self._order = self._state_of(sampler)
        indices = islice(iter(sampler), begin, None)
        if self.batch_sampler is not None:
            indices = map(list, indices)
        return enumerate(indices, begin)

    def _source(self, seed):
        fetching = (self.collate_fn, self._iterable, self.drop_last)
        if not self.num_workers:
            fetcher = Fetcher(self.dataset, *fetching)
            if self.threads:
                return Threads(fetcher, self.threads, self.prefetch_factor, self.dataset)
            return InHere(fetcher)
        source, self._idle = self._idle, None
        if source is not None:
            return source
        import numpy.random  # noqa: F401 -- once here, not in each forked worker

        context = self.multiprocessing_context
        if context is None or isinstance(context, str):
            known = multiprocessing.get_all_start_methods()
            context = multiprocessing.get_context(
                context or ("fork" if "fork" in known else "spawn")
            )
        return Processes(
            fetching, self.dataset, self.num_workers, self.prefetch_factor, self.timeout, context,
            self.worker_init_fn, seed, self.persistent_workers,
        )  # fmt: skip

    def _put_back(self, source):
        if self.persistent_workers and source.reusable and self._idle is None:
            self._idle = source
        else:
            source.close()

    def state_dict(self) -> dict[str, Any]:
        """Which batch comes next: numbers, and the sampler's state at the epoch's beginning.

        A loader of the same dataset and arguments to which load_state_dict gives it goes on with
        that batch, in the same order, with the same random numbers; the number of workers may be
        another one, but for an IterableDataset. Batches that workers have made and nobody has
        taken are made again.

        >>> loader = DataLoader(range(6), batch_size=2, shuffle=True, seed=0)
        >>> batches = iter(loader)
        >>> first = next(batches)
        >>> state = loader.state_dict()
        >>> other = DataLoader(range(6), batch_size=2, shuffle=True)
        >>> other.load_state_dict(state)
        >>> [x.tolist() for x in other] == [x.tolist() for x in batches]
        True
        """
        return {
            "seed": self.seed,
            "epoch": self._epoch,
            "batch": self._batch,
            "sampler": self._order or self._state_of(self._indices()),
            **self._kind(),
        }

    def _indices(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    @staticmethod
    def _state_of(sampler):
        return sampler.state_dict() if hasattr(sampler, "state_dict") else None

    def _kind(self):
        """What a state and the loader that takes it must have in common."""
        if self._iterable:
            return {"batch_size": self.batch_size, "num_workers": self.num_workers}
        return {"batch_size": self.batch_size, "length": len(self.dataset)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next iteration begin where state_dict was called.

        Raises
        ------
        ValueError
            If the state is of a loader of another batch_size or of a dataset of another length.
        """
        wanted = {"seed", "epoch", "batch", "sampler"}
        if not hasattr(state, "keys") or not wanted <= state.keys():
            raise ValueError(
                f"[DataLoader.load_state_dict] is no state of a loader: {state!r:.80}."
            )
        for name, value in self._kind().items():
            if state.get(name) != value:
                raise ValueError(
                    f"[DataLoader.load_state_dict] {name} is {value} here, and "
                    f"{state.get(name)} in the state."
                )
        self.seed, self._order = state["seed"], state["sampler"]
        self._epoch, self._batch, self._running = state["epoch"], state["batch"], False
