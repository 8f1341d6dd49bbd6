"""Parts of a data set: DistributedSampler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil.data.sampler import Sampler
from frazil.distributed._world import rank as _rank
from frazil.distributed._world import size as _size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sized


class DistributedSampler(Sampler):
    """Of each epoch's order every rank takes one of `num_replicas` indices, in turn.

    The order is the same on all ranks, for it depends on the seed and the number of the epoch
    alone. Where the indices do not divide, the first ones are taken again, so that all ranks have
    as many; with drop_last the last ones are left out.

    Parameters
    ----------
    data_source
        What has a length.
    num_replicas, rank
        How many parts there are, and which this is: those of the world by default.
    shuffle
        Another random order in each epoch, by default; else 0, 1, 2 ...
    seed
        Of the orders.
    drop_last

    Raises
    ------
    ValueError
        If rank is no number below num_replicas.

    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        data_source: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        self.data_source = data_source
        self.num_replicas = _integer(
            "[DistributedSampler] num_replicas", _size() if num_replicas is None else num_replicas
        )
        self.rank = _integer("[DistributedSampler] rank", _rank() if rank is None else rank)
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(
                f"[DistributedSampler] rank must be below num_replicas={self.num_replicas}, got "
                f"{self.rank}."
            )
        self.shuffle = _flag("[DistributedSampler] shuffle", shuffle)
        self.seed = _integer("[DistributedSampler] seed", seed)
        self.drop_last = _flag("[DistributedSampler] drop_last", drop_last)

    def __len__(self) -> int:
        count = len(self.data_source)
        return count // self.num_replicas if self.drop_last else -(-count // self.num_replicas)

    def __iter__(self) -> Iterator[int]:
        count = len(self.data_source)
        order = list(range(count))
        if self.shuffle:
            from frazil._seeding import derive
            from frazil.random import Generator

            generator = Generator(derive(self.seed, "order", self.epoch))
            order = generator.permutation(count).tolist()
        self.epoch += 1
        wanted = len(self) * self.num_replicas
        while count and len(order) < wanted:
            order += order[: wanted - len(order)]
        return iter(order[self.rank : wanted : self.num_replicas])
