"""Schedules by formula: the rate of an epoch from the rate before, as in PyTorch."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._named import integer as _integer
from frazil._named import number as _number
from frazil.optim.scheduler import LRScheduler, one_for_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from frazil.optim.optimizer import Optimizer

__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "ExponentialLR",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "StepLR",
]


class StepLR(LRScheduler):
    """Multiplies rates by gamma every step_size epochs.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(4):
    ...     schedule.step()
    >>> optimizer.lr
    0.25
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = _integer(f"{self._where} step_size", step_size, 1)
        self.gamma = _number(f"{self._where} gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch, as 0-d tensors."""
        t = self._epoch
        return self._times(_fz.where((t > 0) & (t % self.step_size == 0), self.gamma, t * 0 + 1))

    def _first_lrs(self):
        return self.base_lrs


class MultiStepLR(LRScheduler):
    """Multiplies rates by gamma at each of the milestones.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.MultiStepLR(optimizer, [1, 3], gamma=0.5)
    >>> for _ in range(4):
    ...     schedule.step()
    >>> optimizer.lr
    0.25
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(_integer(f"{self._where} a milestone", m) for m in milestones)
        self.gamma = _number(f"{self._where} gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch, as 0-d tensors."""
        t = self._epoch
        factor = t * 0 + 1
        for milestone, times in self.milestones.items():
            factor = _fz.where(t == milestone, self.gamma**times, factor)
        return self._times(factor)

    def _first_lrs(self):
        return self.base_lrs


class ConstantLR(LRScheduler):
    """Rates times factor for total_iters epochs, then as they are.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> optimizer.lr
    0.5
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 <= _number(f"{self._where} factor", factor) <= 1:
            raise ValueError(f"{self._where} factor must lie from 0 to 1, got {factor!r}.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch, as 0-d tensors."""
        t, back = self._epoch, 1 / self.factor if self.factor else math.inf
        ends = _fz.where(t == self.total_iters, back, t * 0 + 1)
        return self._times(_fz.where(t == 0, self.factor, ends))

    def _first_lrs(self):
        return [lr * self.factor for lr in self.base_lrs]


class LinearLR(LRScheduler):
    """Rates times a factor that goes from start_factor to end_factor in total_iters epochs.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0)
    >>> warm_up = optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=3)
    >>> warm_up.step()
    >>> optimizer.lr
    0.5
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < _number(f"{self._where} start_factor", start_factor) <= 1:
            raise ValueError(
                f"{self._where} start_factor must be above 0 and at most 1, got {start_factor!r}."
            )
        if not 0 <= _number(f"{self._where} end_factor", end_factor) <= 1:
            raise ValueError(f"{self._where} end_factor must lie from 0 to 1, got {end_factor!r}.")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch, as 0-d tensors."""
        t, rise = self._epoch, self.end_factor - self.start_factor
        if self._is_initial:
            return self._times(_fz.where(t == 0, self.start_factor, t * 0 + 1))
        factor = 1 + rise / (self.total_iters * self.start_factor + (t - 1) * rise)
        factor = _fz.where(t > self.total_iters, 1.0, factor)
        return self._times(_fz.where(t == 0, self.start_factor, factor))

    def _first_lrs(self):
        return [lr * self.start_factor for lr in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies rates by gamma every epoch.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> schedule.step()
    >>> optimizer.lr
    0.5
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = _number(f"{self._where} gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch, as 0-d tensors."""
        return self._times(1.0 if self._is_initial else self.gamma)

    def _first_lrs(self):
        return self.base_lrs


class PolynomialLR(LRScheduler):
    """Rates times (1 - epoch / total_iters) ** power, and 0 from then on.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> schedule.step()
    >>> optimizer.lr
    0.75
    """

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters = _integer(f"{self._where} total_iters", total_iters, 1)
        self.power = _number(f"{self._where} power", power)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch, as 0-d tensors."""
        if self._is_initial:
            return self._rates()
        t, end = self._epoch, self.total_iters
        left = (1 - t / end) / (1 - (t - 1) / end)
        return self._times(_fz.where(t > end, 1.0, _fz.maximum(left, 0) ** self.power))

    def _first_lrs(self):
        return self.base_lrs


class CosineAnnealingLR(LRScheduler):
    """Rates along half a cosine to eta_min in T_max epochs (Loshchilov and Hutter 2017).

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=3)
    >>> schedule.step()
    >>> round(optimizer.lr, 6)
    0.75
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = _integer(f"{self._where} T_max", T_max, 1)
        self.eta_min = _number(f"{self._where} eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch, as 0-d tensors."""
        if self._is_initial:
            return self._rates()
        t, end, least = self._epoch, self.T_max, self.eta_min
        turns = (t - 1 - end) % (2 * end) == 0  # the one before was the least
        up = (1 - math.cos(math.pi / end)) / 2
        ratio = (1 + _fz.cos(t * math.pi / end)) / (1 + _fz.cos((t - 1) * math.pi / end))
        return [
            _fz.where(turns, rate + (base - least) * up, ratio * (rate - least) + least)
            for base, rate in zip(self.base_lrs, self._rates(), strict=True)
        ]

    def _first_lrs(self):
        return self.base_lrs


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosines that begin again after T_0 epochs, then after T_mult times as many (SGDR, 2017).

    step(epoch) goes to an epoch, which may lie between two: `step(epoch + i / batches)`.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     schedule.step()
    ...     rates.append(round(optimizer.lr, 6))
    >>> rates
    [0.5, 1.0, 0.5, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        self.T_0 = _integer(f"{self._where} T_0", T_0, 1)
        self.T_mult = _integer(f"{self._where} T_mult", T_mult, 1)
        self.eta_min = _number(f"{self._where} eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def _start(self, last_epoch, **counts):
        super()._start(last_epoch, T_cur=last_epoch, T_i=self.T_0)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch, as 0-d tensors."""
        part = (1 + _fz.cos(math.pi * self._cells["T_cur"] / self._cells["T_i"])) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:  # type: ignore[override]
        """Goes on to the next epoch, or to the one that is given."""
        if epoch is None and self._is_initial:
            epoch = max(int(self._number) + 1, 0)
        if epoch is None:
            now, length, t = self._cells["T_cur"], self._cells["T_i"], self._epoch
            t += 1
            now += 1
            over = now >= length
            now[...] = _fz.where(over, now % length, now)
            length[...] = _fz.where(over, length * self.T_mult, length)
        else:
            if _number(f"{self._where} epoch", epoch) < 0:
                raise ValueError(f"{self._where} epoch must be at least 0, got {epoch!r}.")
            self.T_cur, self.T_i = self._place(epoch)
            self.last_epoch = math.floor(epoch)
        self._write(self.get_lr())

    def _place(self, epoch):
        """How far into its cycle an epoch is, and how long the cycle is."""
        first, times = self.T_0, self.T_mult
        if epoch < first:
            return epoch, first
        if times == 1:
            return epoch % first, first
        n = int(math.log(epoch / first * (times - 1) + 1, times))
        return epoch - first * (times**n - 1) / (times - 1), first * times**n


class LambdaLR(LRScheduler):
    """The first rate times lr_lambda(epoch), a function for all groups or a list of one for each.

    Inside of a traced step that skips its body the function is followed: arithmetic and math do
    not stop skipping, a comparison of the epoch makes each outcome a call of its own.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> schedule.step()
    >>> optimizer.lr
    0.5
    """

    _host = True

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self._take(optimizer)
        self.lr_lambdas = one_for_each(self._where, lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        pairs = zip(self.lr_lambdas, self.base_lrs, strict=True)
        return [base * function(self._number) for function, base in pairs]


class MultiplicativeLR(LRScheduler):
    """Multiplies rates by lr_lambda(epoch) every epoch: one for all groups, or a list.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> schedule.step()
    >>> optimizer.lr
    0.5
    """

    _host = True

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self._take(optimizer)
        self.lr_lambdas = one_for_each(self._where, lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch, as 0-d tensors."""
        if self._is_initial:
            return self._rates()
        pairs = zip(self.lr_lambdas, self._rates(), strict=True)
        return [rate * function(self._number) for function, rate in pairs]
