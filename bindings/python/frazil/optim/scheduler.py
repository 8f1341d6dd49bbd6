"""LRScheduler: what schedules share. Their counts are cells (param_group.py) and their formulas ops
of them, so a step of a schedule may stand between traced training steps or inside of one, which
goes on skipping its body. Where a function of the user's wants the epoch it is a Python int.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil.optim.optimizer import Optimizer
from frazil.optim.param_group import cell, write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from frazil._frazil import Tensor

__all__ = ["LRScheduler"]

# What schedules are given for each group.
_OF_EACH_GROUP = ("lr_lambdas", "max_lrs", "min_lrs", "base_momentums", "max_momentums")


class LRScheduler:
    """The base of schedules: step() is called once an epoch, or once a step.

    `last_epoch` counts the calls; -1 begins. With another one a schedule goes on: groups need an
    "initial_lr" then. A schedule of one's own defines get_lr(), the rates of `last_epoch` in the
    order of the groups.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> class Halves(optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr / 2**self.last_epoch for lr in self.base_lrs]
    >>> schedule = Halves(optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0))
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    _host = False  # whether the epoch is a Python number

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self._take(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"{self._where} last_epoch={last_epoch} goes on with a schedule, but "
                    f"param_groups[{i}] has no 'initial_lr': load the optimizer's state dict."
                )
        self.base_lrs = [float(group["initial_lr"]) for group in optimizer.param_groups]
        self._start(last_epoch)
        self._initial_step()

    @property
    def _where(self) -> str:
        return f"[lr_scheduler.{type(self).__name__}]"

    def _take(self, optimizer):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"{self._where} needs an optimizer of frazil.optim, got {type(optimizer).__name__}."
            )
        self.optimizer = optimizer

    def _start(self, last_epoch, **counts):
        counts = {"last_epoch": last_epoch, "_step_count": 0, **counts}
        self._cells = {name: cell(value) for name, value in counts.items()}
        self._last_lr = [cell(group["lr"]) for group in self.optimizer.param_groups]
        self._number = last_epoch
        self._is_initial = False

    def _initial_step(self):
        self._cells["_step_count"][...] = 0.0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    # Counts, as numbers to users

    def __getattr__(self, name: str) -> Any:
        cells = self.__dict__.get("_cells", {})
        if name not in cells:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if name == "last_epoch" and self._host:
            return self._number
        value = cells[name].item()
        return int(value) if value == value and abs(value) < 2**53 and value % 1 == 0 else value

    def __setattr__(self, name: str, value: Any) -> None:
        cells = self.__dict__.get("_cells", {})
        if name not in cells:
            object.__setattr__(self, name, value)
            return
        write(cells[name], value)
        if name == "last_epoch":
            object.__setattr__(self, "_number", value)

    @property
    def _epoch(self) -> Tensor:
        return self._cells["last_epoch"]

    # Rates

    def get_lr(self) -> Sequence[Any]:
        """The rates of this epoch, numbers or 0-d tensors, in the order of the groups."""
        raise NotImplementedError(f"{self._where} get_lr() is not defined.")

    def get_last_lr(self) -> list[float]:
        """The rates that the latest step() left, in the order of the groups."""
        return [rate.item() for rate in self._last_lr]

    def step(self, epoch: None = None) -> None:
        """Goes on to the next epoch: writes the rates into the optimizer's groups."""
        if epoch is not None:
            raise TypeError(f"{self._where} step() counts the epochs itself, got epoch={epoch!r}.")
        self._join_new_groups()
        count = self._cells["_step_count"]
        count += 1
        self._next()
        self._write(self.get_lr())

    def _join_new_groups(self):
        """Groups that the optimizer was given since: their rates are their initial ones."""
        groups = self.optimizer.param_groups
        if len(groups) == len(self._last_lr):
            return
        for name in _OF_EACH_GROUP:
            values = self.__dict__.get(name)
            if values is not None and len(values) != len(groups):
                raise ValueError(
                    f"{self._where} {name} are of {len(values)} groups, and the optimizer has "
                    f"{len(groups)} since add_param_group: make the schedule after it."
                )
        for group in groups[len(self._last_lr) :]:
            group.setdefault("initial_lr", group["lr"])
            if "base_lrs" in self.__dict__:  # schedules of schedules have none
                self.base_lrs.append(float(group["initial_lr"]))
            self._last_lr.append(cell(group["lr"]))

    def _next(self):
        epoch = self._epoch
        epoch += 1
        if self._host:
            self._number += 1

    def _restart(self):
        """Begins in the midst of a sequence of schedules."""
        self.last_epoch = 0
        self._write(self._first_lrs())

    def _first_lrs(self):
        return self.get_lr()

    def _rates(self):
        """The groups' rates, as cells."""
        return [group.cells("lr") for group in self.optimizer.param_groups]

    def _times(self, factor):
        return [rate * factor for rate in self._rates()]

    def _write(self, values):
        for rate, last, value in zip(self._rates(), self._last_lr, values, strict=True):
            write(rate, value)
            last[...] = rate

    # State

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer and functions, as numbers, strings and lists of them."""
        found = {}
        for name, value in self.__dict__.items():
            if name == "_cells":
                found.update({key: getattr(self, key) for key in value})
            elif name == "_last_lr":
                found[name] = self.get_last_lr()
            elif name == "_schedulers":
                found[name] = [schedule.state_dict() for schedule in value]
            elif name not in ("optimizer", "_number", "_is_initial") and not _has_function(value):
                found[name] = value
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what state_dict() gave, also PyTorch's. Rates are the optimizer's to load."""
        for name, value in state_dict.items():
            if name == "_last_lr":
                for last, rate in zip(self._last_lr, value, strict=True):
                    write(last, rate)
            elif name == "_schedulers":
                for schedule, state in zip(self._schedulers, value, strict=True):
                    schedule.load_state_dict(state)
            elif name in self._cells or (name in self.__dict__ and not _has_function(value)):
                setattr(self, name, value)


def _has_function(value):
    items = value if isinstance(value, (list, tuple)) else [value]
    return any(callable(item) for item in items)


def each_group(where: str, name: str, value: Any, optimizer: Optimizer) -> list[float]:
    """A number for each group, from one for all or a list."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [float(value)] * count
    if len(value) != count:
        raise ValueError(
            f"{where} {name} must be a number or one for each group: {len(value)} for {count}."
        )
    return [float(v) for v in value]


def one_for_each(where: str, value: Any, optimizer: Optimizer) -> list[Callable[[int], float]]:
    """A function for each group, from one for all or a list."""
    count = len(optimizer.param_groups)
    functions = list(value) if isinstance(value, (list, tuple)) else [value] * count
    if len(functions) != count:
        raise ValueError(
            f"{where} lr_lambda must be a function or one for each group: {len(functions)} for "
            f"{count}."
        )
    for function in functions:
        if not callable(function):
            raise TypeError(f"{where} lr_lambda must be a function, got {type(function).__name__}.")
    return functions
