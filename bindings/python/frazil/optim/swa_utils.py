"""Averages of parameters over training: running means (EMA), and means of the last steps (SWA).

Here: `AveragedModel`, a copy of a module with averaged parameters; `EMA`, one with a running mean;
`get_ema_avg_fn`, `get_ema_multi_avg_fn`, `get_swa_avg_fn`, `get_swa_multi_avg_fn`, what it averages
by; `update_bn`, which makes batch statistics anew; `SWALR`, the schedule of the last steps.

>>> import frazil as fz
>>> from frazil import nn
>>> model = nn.Linear(2, 1)
>>> average = EMA(model, decay=0.5)
>>> average.module.weight.tolist() == model.weight.tolist()
True
"""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any, Literal

from frazil import _frazil as _fz
from frazil import nn
from frazil._grad import no_grad
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil._named import number as _number
from frazil._progress import progress as _progress
from frazil.nn._arguments import one_of
from frazil.optim.scheduler import LRScheduler, each_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from frazil._frazil import Tensor
    from frazil.optim.optimizer import Optimizer

__all__ = [
    "EMA",
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """avg_fn of a running mean: decay * average + (1 - decay) * parameter.

    >>> import frazil as fz
    >>> get_ema_avg_fn(0.75)(fz.ones(2), fz.zeros(2), 1).tolist()
    [0.75, 0.75]
    """
    _check_decay("get_ema_avg_fn", decay)

    def average(mean, p, count):
        return mean * decay + p * (1 - decay)

    return average


def get_swa_avg_fn() -> Callable[[Tensor, Tensor, Any], Tensor]:
    """avg_fn of the mean of all: average + (parameter - average) / (count + 1).

    >>> import frazil as fz
    >>> get_swa_avg_fn()(fz.ones(2), fz.zeros(2), 1).tolist()
    [0.5, 0.5]
    """

    def average(mean, p, count):
        return mean + (p - mean) / (count + 1)

    return average


def _multi(average):
    def multi_avg_fn(means: Any, params: Any, count: Any) -> None:
        with no_grad():
            for mean, p in zip(means, params, strict=True):
                mean[...] = average(mean, p, count)

    return multi_avg_fn


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], None]:
    """The same as get_ema_avg_fn for lists of tensors, whose first is written to.

    >>> import frazil as fz
    >>> means = [fz.ones(2)]
    >>> get_ema_multi_avg_fn(0.75)(means, [fz.zeros(2)], 1)
    >>> means[0].tolist()
    [0.75, 0.75]
    """
    return _multi(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable[[Any, Any, Any], None]:
    """The same as get_swa_avg_fn for lists of tensors, whose first is written to.

    >>> import frazil as fz
    >>> means = [fz.ones(2)]
    >>> get_swa_multi_avg_fn()(means, [fz.zeros(2)], 1)
    >>> means[0].tolist()
    [0.5, 0.5]
    """
    return _multi(get_swa_avg_fn())


def _check_decay(where, decay):
    if not 0 <= _number(f"[{where}] decay", decay) <= 1:
        raise ValueError(f"[{where}] decay must lie from 0 to 1, got {decay!r}.")


class AveragedModel(nn.Module):
    """A copy of a module whose parameters are averages of the module's (Izmailov et al. 2018).

    update_parameters(model) takes the parameters as they are now; the first time it copies them.
    avg_fn(average, parameter, count) gives the next average, multi_avg_fn writes those of lists;
    without them it is the mean of all. Buffers are copied, or averaged with use_buffers=True.
    Called, it is the averaged module. `n_averaged` counts the updates.

    >>> import frazil as fz
    >>> model = nn.Linear(2, 1)
    >>> average = AveragedModel(model)
    >>> for _ in range(3):
    ...     average.update_parameters(model)
    >>> average.n_averaged.item(), average(fz.ones(2)).shape
    (3, (1,))
    """

    module: nn.Module
    n_averaged: Any

    def __init__(
        self,
        model: nn.Module,
        device: Any = None,
        avg_fn: Callable[[Tensor, Tensor, Any], Any] | None = None,
        multi_avg_fn: Callable[[Any, Any, Any], None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(model, nn.Module):
            raise TypeError(
                f"[AveragedModel] model must be an nn.Module, got {type(model).__name__}."
            )
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("[AveragedModel] takes avg_fn or multi_avg_fn, got both.")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.register_buffer("n_averaged", _fz.asarray(0, dtype="int64", device=device) * 1)
        self.avg_fn, self.multi_avg_fn = avg_fn, multi_avg_fn
        self.use_buffers = _flag("[AveragedModel] use_buffers", use_buffers)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The averaged module's result."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: nn.Module) -> None:
        """Averages in the parameters of a module, the one that was copied or one like it."""
        with no_grad():
            mine, theirs = self.module.parameters(), model.parameters()
            if self.use_buffers:
                mine, theirs = mine + self.module.buffers(), theirs + model.buffers()
            else:
                for mean, now in zip(self.module.buffers(), model.buffers(), strict=True):
                    mean[...] = now.to_device(mean.device)
            theirs = [p.detach().to_device(m.device) for m, p in zip(mine, theirs, strict=True)]
            if self.n_averaged == 0:  # read as a bool: a traced step goes on skipping
                for mean, p in zip(mine, theirs, strict=True):
                    mean[...] = p
            elif self.multi_avg_fn is not None:
                self.multi_avg_fn(mine, theirs, self.n_averaged)
            else:
                average = self.avg_fn or get_swa_avg_fn()
                for mean, p in zip(mine, theirs, strict=True):
                    count = self.n_averaged.to_device(mean.device)
                    mean[...] = average(mean, p, count).astype(mean.dtype)
            self.n_averaged += 1


class EMA(AveragedModel):
    """A copy of a module with running means of its parameters (Polyak and Juditsky 1992).

    update() takes the parameters as they are now: average = decay * average + (1 - decay) *
    parameter. The copy begins as the module is. `module` is the averaged one; called, this is it.

    >>> import frazil as fz
    >>> model = nn.Linear(2, 1)
    >>> average = EMA(model, decay=0.75)
    >>> with fz.no_grad():
    ...     model.bias[...] = average.module.bias + 1.0
    >>> average.update()
    >>> round((model.bias - average.module.bias).item(), 6)
    0.75
    """

    def __init__(self, module: nn.Module, decay: float = 0.999, use_buffers: bool = False) -> None:
        _check_decay("EMA", decay)
        super().__init__(module, avg_fn=get_ema_avg_fn(decay), use_buffers=use_buffers)
        self.decay = decay
        self.n_averaged += 1  # the copy is the first
        self._averaged = _Held(module)

    def update(self) -> None:
        """Averages in the parameters as they are now."""
        self.update_parameters(self._averaged.module)


class _Held:
    """A module that is no part of the one that holds it."""

    def __init__(self, module):
        self.module = module


def update_bn(loader: Iterable[Any], model: nn.Module, device: Any = None) -> None:
    """Makes the running statistics of batch normalisation anew, from all batches of a loader.

    A batch is a tensor, or a list or tuple that begins with one.

    >>> import frazil as fz
    >>> model = nn.Sequential(nn.BatchNorm1d(2))
    >>> update_bn([fz.ones((4, 2)), fz.ones((4, 2)) * 3], model)
    >>> model[0].running_mean.tolist()
    [2.0, 2.0]
    """
    layers: list[Any] = [
        m for m in model.modules() if getattr(m, "num_batches_tracked", None) is not None
    ]
    momenta = [layer.momentum for layer in layers]
    if not layers:
        return
    training = model.training
    model.train()
    for layer in layers:
        layer.running_mean[...] = 0
        layer.running_var[...] = 1
        layer.num_batches_tracked[...] = 0
        layer.momentum = None
    for batch in _progress(loader, "update_bn"):
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to_device(device))
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """Goes from the rates as they are to swa_lr in anneal_epochs epochs, and stays there.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> schedule.step()
    >>> optimizer.lr
    0.75
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        self._take(optimizer)
        where = self._where
        rates = each_group(where, "swa_lr", swa_lr, optimizer)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        self.anneal_strategy = one_of(f"{where} anneal_strategy", anneal_strategy, "cos", "linear")
        self.anneal_epochs = _integer(f"{where} anneal_epochs", anneal_epochs, 0)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch, as 0-d tensors."""
        step = self._cells["_step_count"] - 1
        if self.anneal_epochs == 0:
            step = _fz.maximum(step, 1)
        before, now = self._part(step - 1), self._part(step)
        rates = []
        for group, rate in zip(self.optimizer.param_groups, self._rates(), strict=True):
            end = group["swa_lr"]
            first = _fz.where(before == 1, end, (rate - before * end) / (1 - before))
            rates.append(end * now + first * (1 - now))
        return rates

    def _part(self, step):
        t = _fz.clip(step / max(1, self.anneal_epochs), 0, 1)
        return t if self.anneal_strategy == "linear" else (1 - _fz.cos(math.pi * t)) / 2
