"""Training on parts of the data: DataParallel, data_parallel, reduce_gradients.

Gradients travel in buckets: an op that returns the parameters as they are, whose gradient is the
mean over the ranks. A plan begins the collective of a bucket as soon as its gradients are there,
while the backward pass goes on to the layers before.
"""

from __future__ import annotations

import contextlib
import functools
import math
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil import nn
from frazil._custom import custom_vjp
from frazil._dtypes import isdtype
from frazil._grad import no_grad
from frazil._trace import trace
from frazil.distributed._collectives import all_reduce, broadcast
from frazil.distributed._world import _link
from frazil.distributed._world import size as _size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from frazil._frazil import Tensor
    from frazil.distributed._world import Group

_BUCKET = 4 << 20  # bytes, where nothing has been measured
_LEAST = 4 << 10  # bytes of a bucket
_OF_PLAN = 12e-6  # seconds that a plan takes for one more: copies in and out, a start, a wait
_OF_LATENCY = 0.15  # of the way of the last bucket, which nothing hides: what more buckets may cost


def _bucket_bytes(tensors: list[Tensor], group: Group | None) -> int:
    """How large buckets of these tensors are to be, the same on every rank.

    Of n bytes in buckets of s, n / s cost their overhead each, and the bytes of the last one come
    when all has been computed: the sum is least at s = sqrt(overhead n bandwidth). Where messages
    take long, smaller ones begin their way earlier, as long as that costs little beside it.
    """
    overhead, latency, bandwidth = _link()
    overhead += _OF_PLAN
    total = sum(t.nbytes for t in tensors)
    ranks = _size(group)
    if not bandwidth or ranks == 1 or not total:
        return _BUCKET
    through = bandwidth * ranks / (2 * (ranks - 1))  # bytes of an array a second
    best = math.sqrt(overhead * total * through)
    early = total * overhead / (_OF_LATENCY * latency)
    return max(_LEAST, int(min(best, early)))


def _buckets(tensors: list[Tensor], most: int) -> list[list[int]]:
    """Numbers of tensors of one dtype and device, of at most so many bytes together, in order."""
    out: list[list[int]] = []
    kind, room = None, 0
    for i, t in enumerate(tensors):
        if kind != (t.dtype, t.device) or room < t.nbytes or not out:
            out.append([])
            kind, room = (t.dtype, t.device), most
        out[-1].append(i)
        room -= t.nbytes
    return out


def _reduced(tensors: list[Tensor], group: Group | None) -> list[Tensor]:
    """The means over the ranks, by one collective."""
    n = _size(group)
    if len(tensors) == 1:
        return [all_reduce(tensors[0], group=group) / n]
    flat = all_reduce(_fz.concat([t.reshape(-1) for t in tensors]), group=group)
    out, at = [], 0
    for t in tensors:
        out.append(flat[at : at + t.size].reshape(t.shape) / n)
        at += t.size
    return out


def reduce_gradients(parameters: Iterable[Tensor], *, group: Group | None = None) -> None:
    """Makes each parameter's .grad the mean over the ranks, in buckets, the last ones first.

    For a training loop without DataParallel, between backward() and step(). All ranks have to have
    gradients of the same parameters.

    >>> import frazil as fz
    >>> model = fz.nn.Linear(2, 1)
    >>> model(fz.ones(2)).sum().backward()
    >>> reduce_gradients(model.parameters())
    >>> model.weight.grad
    fz.Tensor([[1., 1.]])
    """
    own = [p for p in parameters if p.grad is not None][::-1]
    gradients = [p.grad for p in own if p.grad is not None]
    for bucket in _buckets(gradients, _bucket_bytes(gradients, group)):
        means = _reduced([gradients[i] for i in bucket], group)
        for i, mean in zip(bucket, means, strict=True):
            own[i].grad = mean


def average(values: Any, weight: float = 1.0, *, group: Group | None = None) -> Any:
    """The mean of metrics over the ranks, by how much each has seen.

    Parameters
    ----------
    values
        A nest of float tensors or numbers, such as {"loss": loss, "accuracy": accuracy}.
    weight
        Of this rank's values: the examples that they are the mean of, where batches are uneven.
    group
        All ranks by default.

    Returns
    -------
    A nest like values, of tensors: sum of weight * value over sum of weight, by one collective for
    each dtype.

    >>> import frazil as fz
    >>> average({"loss": 0.5}, weight=10)
    {'loss': fz.Tensor(0.5)}
    """
    leaves, structure = _fz.tree.flatten(values)
    weighted = [_fz.asarray(leaf) * weight for leaf in leaves]
    out = list(weighted)
    for bucket in _buckets(weighted, _BUCKET):
        kind = weighted[bucket[0]].dtype
        own = [weighted[i].reshape(-1) for i in bucket]
        total = all_reduce(_fz.concat([*own, _fz.full((1,), weight, dtype=kind)]), group=group)
        at = 0
        for i in bucket:
            count = weighted[i].size
            out[i] = total[at : at + count].reshape(weighted[i].shape) / total[-1]
            at += count
    return structure.unflatten(out)


def data_parallel(step: Callable[..., Any], *, group: Group | None = None) -> Callable[..., Any]:
    """A function of parameters and data that gives (loss, gradients), over all ranks' data.

    `step` is what value_and_grad returns, or any function that returns a pair of nests: the result
    is traced, and every float tensor of both is the mean over the ranks. So each rank calls it with
    its part of a batch, and all have the values of the whole batch (parts being equally large).

    >>> import frazil as fz
    >>> step = data_parallel(fz.value_and_grad(lambda w, x: (w * x).sum()))
    >>> loss, gradient = step(fz.ones(2), fz.asarray([1.0, 2.0]))
    >>> loss.item(), gradient
    (3.0, fz.Tensor([1., 2.]))
    """
    if not callable(step):
        raise TypeError(f"[data_parallel] step must be a function, got {type(step).__name__}.")

    @functools.wraps(step)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = _fz.tree.flatten(step(*args, **kwargs))
        kinds = ("real floating", "complex floating")
        moving = [
            i
            for i, leaf in enumerate(leaves)
            if isinstance(leaf, _fz.Tensor) and isdtype(leaf.dtype, kinds)
        ]
        moving.reverse()
        tensors = [leaves[i] for i in moving]
        for bucket in _buckets(tensors, _bucket_bytes(tensors, group)):
            means = _reduced([tensors[i] for i in bucket], group)
            for i, mean in zip(bucket, means, strict=True):
                leaves[moving[i]] = mean
        return structure.unflatten(leaves)

    return trace(call)


class DataParallel(nn.Module):
    """A module whose gradients are the means over the ranks: `model = DataParallel(model)`.

    Every rank computes its part of a batch; backward() sums the gradients over the ranks in
    ascending order and divides by their number, so that all optimizers make the same step. The sums
    have the bits of one process that accumulates the gradients of the parts in order. At the start
    all ranks get the parameters and buffers of rank 0.

    Parameters
    ----------
    module : Module
        The same on all ranks; all of its parameters that want a gradient take part in each backward
        pass.
    group : Group, optional
        All ranks by default.
    bucket_bytes : int, optional
        Gradients travel together until they are so large; by default as large as suits the network,
        which `init` has measured. No bit depends on it.

    Raises
    ------
    TypeError
        If module is no Module.

    >>> import frazil as fz
    >>> model = DataParallel(fz.nn.Linear(2, 1))
    >>> model(fz.ones(2)).sum().backward()
    >>> model.module.weight.grad
    fz.Tensor([[1., 1.]])
    """

    def __init__(
        self, module: nn.Module, *, group: Group | None = None, bucket_bytes: int | None = None
    ) -> None:
        super().__init__()
        if not isinstance(module, nn.Module):
            raise TypeError(f"[DataParallel] module must be a Module, got {type(module).__name__}.")
        self.module = module
        self._group, self._sync = group, True
        if bucket_bytes is None:
            bucket_bytes = _bucket_bytes(list(module.parameters()), group)
        self._bytes = bucket_bytes
        with no_grad():
            for t in [*module.parameters(), *module.buffers()]:
                t[...] = broadcast(t.detach(), group=group)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within it gradients stay the rank's own: for all but the last part of an accumulation.

        >>> import frazil as fz
        >>> model = DataParallel(fz.nn.Linear(2, 1))
        >>> with model.no_sync():
        ...     model(fz.ones(2)).sum().backward()
        """
        before, self._sync = self._sync, False
        try:
            yield
        finally:
            self._sync = before

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        own = [p for p in self.module.parameters() if p.requires_grad]
        if not self._sync or not own:
            return self.module(*args, **kwargs)
        # The backward pass reaches last what was made first: buckets begin with the first layers.
        passed = list(own)
        for bucket in _buckets(own, self._bytes):
            means = _with_mean_gradients(self._group)([own[i] for i in bucket])
            for i, t in zip(bucket, means, strict=True):
                passed[i] = t
        # Wherever the module finds its parameters, they have the history of what was passed on.
        _fz.distributed.swap_history(own, passed)
        try:
            return self.module(*args, **kwargs)
        finally:
            _fz.distributed.swap_history(own, passed)


def _with_mean_gradients(group: Group | None) -> custom_vjp:
    """The tensors of a list as they are, whose gradients are the means over the ranks."""

    def same(tensors: list[Tensor]) -> list[Tensor]:
        return tensors

    def rule(_: None, gradients: list[Tensor]) -> tuple[list[Tensor]]:
        return (_reduced(gradients[::-1], group)[::-1],)

    passing = custom_vjp(same)
    passing.defvjp(lambda tensors: (tensors, None), rule)
    return passing
