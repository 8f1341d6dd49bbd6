"""Samplers: in which order a dataset's examples are taken.

Invariant: the order of an epoch depends on the sampler's seed and the number of the epoch alone, so
that a loader that resumes in the middle finds it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._named import flag as _flag
from frazil._named import integer as _integer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sized

    from frazil._types import Operand

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]


class Sampler:
    """What yields the indices of an epoch: a subclass defines `__iter__`, and `__len__` if it can.

    `set_epoch` is called before each epoch of a DataLoader. An order that differs from epoch to
    epoch must depend on its number and on what `state_dict` returns, or a loader that resumes in
    the middle of an epoch goes on in another order.

    >>> class Backwards(Sampler):
    ...     def __init__(self, data):
    ...         self.data = data
    ...     def __iter__(self):
    ...         return iter(range(len(self.data) - 1, -1, -1))
    >>> list(Backwards("abc"))
    [2, 1, 0]
    """

    epoch = 0

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"[Sampler] {type(self).__name__} defines no __iter__.")

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iteration that of an epoch."""
        self.epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """What the order depends on besides the arguments."""
        return {"epoch": self.epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the order what it was."""
        self.epoch = state["epoch"]


class SequentialSampler(Sampler):
    """0, 1, 2 and so on.

    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class _Seeded(Sampler):
    """In an order of its own in each epoch; the next iteration is the next epoch."""

    def __init__(self, op: str, seed: int | None) -> None:
        from frazil import random

        if seed is None:  # from the stream that random.seed starts
            seed = int(random.integers(1 << 62, dtype="int64"))
        self.seed = _integer(f"[{op}] seed", seed)

    def _generator(self) -> Any:
        from frazil._seeding import derive
        from frazil.random import Generator

        generator = Generator(derive(self.seed, "order", self.epoch))
        self.epoch += 1
        return generator

    def state_dict(self) -> dict[str, Any]:
        """The seed and the number of the epoch."""
        return {"epoch": self.epoch, "seed": self.seed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the order what it was."""
        self.epoch, self.seed = state["epoch"], state["seed"]


class RandomSampler(_Seeded):
    """All indices in random order, another one in each epoch.

    Parameters
    ----------
    data_source : dataset
    replacement : bool
        Draws each index from all.
    num_samples : int, optional
        How many; by default as many as there are examples.
    seed : int, optional
        By default one is drawn from frazil.random.

    >>> sampler = RandomSampler("abcd", seed=0)
    >>> sorted(sampler)
    [0, 1, 2, 3]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__("RandomSampler", seed)
        self.data_source = data_source
        self.replacement = _flag("[RandomSampler] replacement", replacement)
        if num_samples is not None:
            _integer("[RandomSampler] num_samples", num_samples, 0)
        self._num_samples = num_samples

    @property
    def num_samples(self) -> int:
        """How many indices an epoch has."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator, n, left = self._generator(), len(self.data_source), self.num_samples
        if left and not n:
            raise ValueError(f"[RandomSampler] {left} indices of an empty dataset.")
        if self.replacement:
            return iter(
                generator.integers(n, shape=(left,), dtype="int64").tolist() if left else ()
            )
        orders = (generator.permutation(n).tolist() for _ in range(-(-left // max(n, 1))))
        return islice(chain.from_iterable(orders), left)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(_Seeded):
    """Some indices in random order, another one in each epoch.

    >>> sorted(SubsetRandomSampler([5, 7], seed=1))
    [5, 7]
    """

    def __init__(self, indices: Sequence[Any], *, seed: int | None = None) -> None:
        super().__init__("SubsetRandomSampler", seed)
        self.indices = indices

    def __iter__(self) -> Iterator[Any]:
        for i in self._generator().permutation(len(self.indices)).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(_Seeded):
    """Indices drawn with probabilities.

    Parameters
    ----------
    weights : sequence of float
        Of the indices from 0 on; they need not add up to 1.
    num_samples : int
    replacement : bool
        False draws each index at most once.
    seed : int, optional
        By default one is drawn from frazil.random.

    Raises
    ------
    ValueError
        If a weight is negative or no number, or fewer than num_samples are there or positive,
        without replacement.

    >>> list(WeightedRandomSampler([0.0, 2.0], 3, seed=0))
    [1, 1, 1]
    """

    def __init__(
        self,
        weights: Operand | Sequence[float],
        num_samples: int,
        replacement: bool = True,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__("WeightedRandomSampler", seed)
        self.weights = _fz.asarray(weights, dtype=_fz.float64)
        self.num_samples = _integer("[WeightedRandomSampler] num_samples", num_samples, 1)
        self.replacement = _flag("[WeightedRandomSampler] replacement", replacement)
        if self.weights.ndim != 1 or not bool(((self.weights >= 0) & (self.weights < _INF)).all()):
            raise ValueError(
                "[WeightedRandomSampler] weights must be finite and at least 0 and of one axis, "
                f"got {self.weights}."
            )
        positive = int((self.weights > 0).sum())
        if positive < (1 if self.replacement else self.num_samples):
            raise ValueError(
                f"[WeightedRandomSampler] num_samples is {self.num_samples}, and {positive} "
                "weights are above 0."
            )

    def __iter__(self) -> Iterator[int]:
        generator = self._generator()
        if self.replacement:
            sums = _fz.cumulative_sum(self.weights)
            at = generator.uniform((self.num_samples,), dtype=_fz.float64) * sums[-1]
            last = int(_fz.max(_fz.nonzero(self.weights)[0]))  # where rounding would go beyond
            yield from _fz.minimum(_fz.searchsorted(sums, at, side="right"), last).tolist()
            return
        # The largest of log(w) + Gumbel noise: one draw after the other in distribution.
        noise = generator.gumbel(shape=self.weights.shape, dtype=_fz.float64)
        yield from _fz.argsort(-(_fz.log(self.weights) + noise)).tolist()[: self.num_samples]

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of batch_size indices of another sampler.

    >>> list(BatchSampler(range(5), 2))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool = False) -> None:
        self.sampler = sampler
        self.batch_size = _integer("[BatchSampler] batch_size", batch_size, 1)
        self.drop_last = _flag("[BatchSampler] drop_last", drop_last)

    def __iter__(self) -> Iterator[list[Any]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        n, size = len(self.sampler), self.batch_size  # type: ignore[arg-type]
        return n // size if self.drop_last else -(-n // size)

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iteration that of an epoch."""
        if hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """The sampler's."""
        out: dict[str, Any] = getattr(self.sampler, "state_dict", dict)()
        return out

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Gives the sampler its state."""
        if hasattr(self.sampler, "load_state_dict"):
            self.sampler.load_state_dict(state)


_INF = float("inf")
