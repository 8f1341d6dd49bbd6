"""A schedule that waits for a metric to stop getting better."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from frazil import _frazil as _fz
from frazil._named import integer as _integer
from frazil._named import number as _number
from frazil.nn._arguments import one_of
from frazil.optim.param_group import cell
from frazil.optim.scheduler import LRScheduler, each_group

if TYPE_CHECKING:
    from frazil.optim.optimizer import Optimizer

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """Multiplies rates by factor where step(metrics) got no better for more than `patience` calls.

    Better is less, or more with mode="max", by more than threshold: a part of the best value
    ("rel") or a difference ("abs"). After a reduction `cooldown` calls do not count. Rates stay at
    least min_lr (one for all, or a list), and as they are where they would fall by less than eps.

    metrics is a number or a 0-d tensor, which is not read: a traced step goes on skipping.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (3.0, 2.0, 2.0, 2.0):
    ...     schedule.step(loss)
    >>> optimizer.lr
    0.5
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        where = self._where
        self.factor = _number(f"{where} factor", factor, 0, 1)
        self._take(optimizer)
        self.mode = one_of(f"{where} mode", mode, "min", "max")
        self.threshold_mode = one_of(f"{where} threshold_mode", threshold_mode, "rel", "abs")
        self.patience = _integer(f"{where} patience", patience, 0)
        self.cooldown = _integer(f"{where} cooldown", cooldown, 0)
        self.threshold, self.eps = _number(f"{where} threshold", threshold), eps
        self.min_lrs = each_group(where, "min_lr", min_lr, optimizer)
        worst = math.inf if mode == "min" else -math.inf
        self._start(0, best=worst, num_bad_epochs=0, cooldown_counter=0)

    def step(self, metrics: Any, epoch: None = None) -> None:  # type: ignore[override]
        """Looks at the metric of one epoch."""
        self._join_new_groups()
        value = cell(_number(f"{self._where} metrics", metrics))
        cells = self._cells
        t, best = self._epoch, cells["best"]
        bad, cooling = cells["num_bad_epochs"], cells["cooldown_counter"]
        t += 1
        better = self._is_better(value, best)
        best[...] = _fz.where(better, value, best)
        waits = cooling > 0
        cooling[...] = _fz.where(waits, cooling - 1, cooling)
        bad[...] = _fz.where(better | waits, 0.0, bad + 1)
        reduces = bad > self.patience
        cooling[...] = _fz.where(reduces, float(self.cooldown), cooling)
        bad[...] = _fz.where(reduces, 0.0, bad)
        rates = []
        for rate, least in zip(self._rates(), self.min_lrs, strict=True):
            lower = _fz.maximum(rate * self.factor, least)
            rates.append(_fz.where(reduces & (rate - lower > self.eps), lower, rate))
        self._write(rates)

    def _is_better(self, value, best):
        if self.mode == "min":
            bound = (1 - self.threshold) * best
            return value < (bound if self.threshold_mode == "rel" else best - self.threshold)
        bound = (1 + self.threshold) * best
        return value > (bound if self.threshold_mode == "rel" else best + self.threshold)
