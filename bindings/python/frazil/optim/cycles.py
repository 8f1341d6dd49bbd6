"""Schedules of the rate and of momentum: cycles, and one cycle (Smith 2017, 2018)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from frazil import _frazil as _fz
from frazil._named import integer as _integer
from frazil._named import number as _number
from frazil.nn._arguments import one_of
from frazil.optim.param_group import write
from frazil.optim.scheduler import LRScheduler, each_group

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil.optim.optimizer import Optimizer

__all__ = ["CyclicLR", "OneCycleLR"]


class _Momenta(LRScheduler):
    """The momentum of a group, or its first beta, as a cell."""

    def _take_momenta(self, base, most, begins):
        where, optimizer = self._where, self.optimizer
        self.use_beta1 = "betas" in optimizer.defaults
        if not self.use_beta1 and "momentum" not in optimizer.defaults:
            raise ValueError(
                f"{where} cycle_momentum=True needs an optimizer with momentum or betas, got "
                f"{type(optimizer).__name__}: say cycle_momentum=False."
            )
        self.base_momentums = each_group(where, "base_momentum", base, optimizer)
        self.max_momentums = each_group(where, "max_momentum", most, optimizer)
        if begins:
            pairs = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(optimizer.param_groups, pairs, strict=True):
                self._write_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low

    def _write_momentum(self, group, value):
        kept = group.cells("betas")[0] if self.use_beta1 else group.cells("momentum")
        write(kept, value)


class CyclicLR(_Momenta):
    """Rates that go up from base_lr to max_lr and back, momentum the other way (Smith 2017).

    Up takes step_size_up calls, down step_size_down. `mode`: "triangular"; "triangular2" halves
    each cycle; "exp_range" multiplies by gamma ** call. scale_fn, a function of the cycle or, with
    scale_mode="iterations", of the call, stands for them. Momentum is cycled if cycle_momentum.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> schedule = optim.lr_scheduler.CyclicLR(optimizer, 0.5, 1.5, step_size_up=2)
    >>> schedule.step()
    >>> optimizer.lr
    1.0
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self._take(optimizer)
        where = self._where
        lows = each_group(where, "base_lr", base_lr, optimizer)
        self.max_lrs = each_group(where, "max_lr", max_lr, optimizer)
        up = _number(f"{where} step_size_up", step_size_up, 1)
        down = up if step_size_down is None else _number(f"{where} step_size_down", step_size_down)
        self.total_size, self.step_ratio = float(up + down), up / (up + down)
        if scale_fn is None:
            one_of(f"{where} mode", mode, "triangular", "triangular2", "exp_range")
            scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.mode, self.gamma = mode, _number(f"{where} gamma", gamma)
        self.scale_mode = one_of(f"{where} scale_mode", scale_mode, "cycle", "iterations")
        self._scale_fn, self._host = scale_fn, scale_fn is not None
        self.cycle_momentum = cycle_momentum
        if last_epoch == -1:
            for group, low in zip(optimizer.param_groups, lows, strict=True):
                group["lr"] = low
        if cycle_momentum:
            self._take_momenta(base_momentum, max_momentum, last_epoch == -1)
        # Not "initial_lr": the first rate is base_lr.
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def _initial_step(self):
        self.base_lrs = [rate.item() for rate in self._rates()]
        super()._initial_step()

    def get_lr(self) -> list[Any]:
        """The rates of this epoch; writes the momenta."""
        t = self._number if self._scale_fn is not None else self._epoch
        cycle = (math.floor if self._scale_fn is not None else _fz.floor)(1 + t / self.total_size)
        x, ratio = 1 + self._epoch / self.total_size - cycle, self.step_ratio
        height = x / ratio
        if ratio < 1:
            height = _fz.where(x <= ratio, height, (x - 1) / (ratio - 1))
        height = height * self._scale(cycle if self.scale_mode == "cycle" else t)
        if self.cycle_momentum:
            groups, lows, highs = (
                self.optimizer.param_groups,
                self.base_momentums,
                self.max_momentums,
            )
            for group, low, high in zip(groups, lows, highs, strict=True):
                self._write_momentum(group, high - (high - low) * height)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height for low, high in pairs]

    def _scale(self, x):
        if self._scale_fn is not None:
            return self._scale_fn(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x


class OneCycleLR(_Momenta):
    """One cycle (Smith and Topin 2018): up from max_lr / div_factor, down to far below it.

    The cycle has total_steps calls, or epochs * steps_per_epoch; pct_start of them go up. The last
    rate is the first one / final_div_factor. anneal_strategy: "cos" or "linear". three_phase comes
    back to the first rate as it went up, then goes on down. Momentum goes the other way, if
    cycle_momentum. ValueError when it is stepped beyond its end.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> schedule.step(), schedule.step(), optimizer.lr
    (None, None, 1.0)
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 10000.0,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self._take(optimizer)
        where = self._where
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError(
                f"{where} needs total_steps, or epochs and steps_per_epoch, got {total_steps}, "
                f"{epochs} and {steps_per_epoch}."
            )
        if total_steps is None:
            total_steps = _integer(f"{where} epochs", epochs, 1) * _integer(
                f"{where} steps_per_epoch", steps_per_epoch, 1
            )
        self.total_steps = _integer(f"{where} total_steps", total_steps, 1)
        if not 0 <= _number(f"{where} pct_start", pct_start) <= 1:
            raise ValueError(f"{where} pct_start must lie from 0 to 1, got {pct_start!r}.")
        self.anneal_strategy = one_of(f"{where} anneal_strategy", anneal_strategy, "cos", "linear")
        up = float(pct_start * self.total_steps)
        # Where each phase ends, between which rates, and whether momentum goes from high to low,
        # back, or stays.
        self._phases = [(up - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            back = ("max_lr", "initial_lr", "base_momentum", "max_momentum")
            last = ("initial_lr", "min_lr", "max_momentum", "max_momentum")
            self._phases += [(2 * up - 2, *back), (self.total_steps - 1, *last)]
        else:
            down = ("max_lr", "min_lr", "base_momentum", "max_momentum")
            self._phases += [(self.total_steps - 1, *down)]
        if last_epoch == -1:
            highs = each_group(where, "max_lr", max_lr, optimizer)
            for group, high in zip(optimizer.param_groups, highs, strict=True):
                group["initial_lr"], group["max_lr"] = high / div_factor, high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._take_momenta(base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch; writes the momenta."""
        if self._epoch > self.total_steps:
            raise ValueError(
                f"{self._where} the cycle has {self.total_steps} steps, step() was called for "
                f"number {self.last_epoch}."
            )
        rates = []
        for group in self.optimizer.param_groups:
            if self.cycle_momentum:
                self._write_momentum(group, self._along(group, 3))
            rates.append(self._along(group, 1))
        return rates

    def _along(self, group, which):
        """What the phases make of two of a group's numbers."""
        t, value, begin, reached = self._epoch, None, 0.0, None
        for phase in self._phases:
            end, low, high = phase[0], group[phase[which]], group[phase[which + 1]]
            part = (t - begin) / (end - begin) if end != begin else t * 0 + 1
            here = self._anneal(low, high, part)
            value = here if value is None else _fz.where(t <= reached, value, here)
            begin = reached = end
        return value

    def _anneal(self, begin, end, part):
        if self.anneal_strategy == "linear":
            return (end - begin) * part + begin
        return end + (begin - end) / 2 * (_fz.cos(math.pi * part) + 1)
