"""Schedules made of schedules: one after the other, or all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil._named import integer as _integer
from frazil.optim.plateau import ReduceLROnPlateau
from frazil.optim.scheduler import LRScheduler

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil.optim.optimizer import Optimizer

__all__ = ["ChainedScheduler", "SequentialLR"]


class _Composed(LRScheduler):
    def _take_schedulers(self, schedulers, optimizer):
        schedulers = list(schedulers)
        if not schedulers:
            raise ValueError(f"{self._where} needs at least one schedule, got none.")
        for i, schedule in enumerate(schedulers):
            if not isinstance(schedule, LRScheduler):
                raise TypeError(
                    f"{self._where} schedulers[{i}] must be a schedule, got "
                    f"{type(schedule).__name__}."
                )
            if isinstance(schedule, ReduceLROnPlateau):
                raise ValueError(
                    f"{self._where} schedulers[{i}] is a ReduceLROnPlateau, whose step() takes a "
                    "metric: step it by itself."
                )
        self._take(schedulers[0].optimizer if optimizer is None else optimizer)
        for i, schedule in enumerate(schedulers):
            if schedule.optimizer is not self.optimizer:
                raise ValueError(f"{self._where} schedulers[{i}] is of another optimizer.")
        self._schedulers = schedulers

    def _write(self, values):
        self._join_new_groups()
        for last, value in zip(self._last_lr, values, strict=True):
            last[...] = value

    def _undo(self):
        for schedule in self._schedulers:
            _undo(schedule)
        self.last_epoch = self.last_epoch - 1


class ChainedScheduler(_Composed):
    """Steps all schedules at once: their factors are multiplied.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0)
    >>> warm_up = optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=4)
    >>> decay = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> optim.lr_scheduler.ChainedScheduler([warm_up, decay]).step()
    >>> optimizer.lr
    0.25
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        self._take_schedulers(schedulers, optimizer)
        self._start(0)

    def step(self, epoch: None = None) -> None:
        """Steps each of them."""
        for schedule in self._schedulers:
            schedule.step(epoch)
        self._next()
        self._write(self._rates())

    def _restart(self):
        for schedule in self._schedulers:
            schedule._restart()
        self._write(self._rates())


class SequentialLR(_Composed):
    """Schedules one after the other: the next one begins at each of the milestones.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> from frazil.optim import lr_scheduler
    >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0)
    >>> warm_up = lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=8)
    >>> decay = lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    >>> schedule = lr_scheduler.SequentialLR(optimizer, [warm_up, decay], milestones=[2])
    >>> rates = [optimizer.lr]
    >>> for _ in range(3):
    ...     schedule.step()
    ...     rates.append(optimizer.lr)
    >>> rates
    [0.5, 0.5, 1.0, 0.9]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        self._take_schedulers(schedulers, optimizer)
        self._milestones = [_integer(f"{self._where} a milestone", m) for m in milestones]
        if len(self._milestones) != len(self._schedulers) - 1:
            raise ValueError(
                f"{self._where} needs a milestone between each two schedules: "
                f"{len(self._milestones)} for {len(self._schedulers)}."
            )
        # Each schedule made its first step when it was made: undone, but for the first one's.
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        self._start(last_epoch + 1)
        for schedule in self._schedulers:
            _undo(schedule)
        first = self._schedulers[sum(m <= 0 for m in self._milestones)]
        first._initial_step()
        self._write(first._last_lr)

    def step(self, epoch: None = None) -> None:
        """Steps the schedule whose turn it is."""
        self._next()
        current, begins = self._schedulers[0], False
        for milestone, schedule in zip(self._milestones, self._schedulers[1:], strict=True):
            if self._epoch < milestone:  # read as a bool: a traced step goes on skipping
                break
            current, begins = schedule, bool(self._epoch == milestone)
        if begins:
            current._restart()
        else:
            current.step(epoch)
        self._write(current._last_lr)

    def _restart(self):
        self.last_epoch = 0
        self._schedulers[0]._restart()
        self._write(self._schedulers[0]._last_lr)


def _undo(schedule: Any) -> None:
    if isinstance(schedule, _Composed):
        schedule._undo()
    else:
        schedule.last_epoch = schedule.last_epoch - 1
