"""ParamGroup: the parameters that share hyperparameters, as a dict of PyTorch's names.

What schedules change (the learning rate, momentum, betas) is kept as 0-d float64 tensors, its
*cells*: reading gives a number, assigning writes to the cell, so that a traced step which skips its
body takes the value as it is then. A momentum of 0 stays a number, for there is no buffer then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._grad import no_grad
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil._named import number as _number

if TYPE_CHECKING:
    from collections.abc import Iterator

_Tensor = _fz.Tensor
_CELLS = ("lr", "momentum", "betas")
_FLAGS = ("maximize", "nesterov", "amsgrad", "centered", "decoupled_weight_decay")
_PAIRS = ("betas", "etas", "step_sizes")
# The least value of a number, and what it must stay below.
_BOUNDS: dict[str, tuple[float | None, float | None]] = {
    "lr": (0, None),
    "momentum": (0, None),
    "weight_decay": (0, None),
    "eps": (0, None),
    "betas": (0, 1),
    "etas": (0, None),
    "step_sizes": (0, None),
    "alpha": (0, None),
    "rho": (0, None),
    "lr_decay": (0, None),
    "initial_accumulator_value": (0, None),
    "momentum_decay": (0, None),
    "dampening": (None, None),
    "beta2_decay": (None, None),
    "lambd": (None, None),
    "t0": (None, None),
    "d": (None, None),
    "tolerance_grad": (None, None),
    "tolerance_change": (None, None),
}
_COUNTS = {"ns_steps": 0, "max_iter": 1, "max_eval": 1, "history_size": 1}


def cell(value: Any) -> _fz.Tensor:
    """A number, or a tensor of one element, as a 0-d float64 tensor that nothing else holds."""
    value = value.detach().astype("float64") if isinstance(value, _Tensor) else value
    return (_fz.asarray(value, dtype="float64") * 1).reshape(())


def write(kept: _fz.Tensor, value: Any) -> None:
    """Gives a cell another number. A Python number as it stands would be another kind of value."""
    kept[...] = cell(value)


class ParamGroup(dict[str, Any]):
    """The hyperparameters of some parameters, which stand under "params"."""

    _where = "[optim]"

    def raw(self, key: str) -> Any:
        """The value as it is kept: a cell, a pair of cells, or what was assigned."""
        return dict.__getitem__(self, key)

    def cells(self, key: str) -> Any:
        """The cell of a value, or the pair of them."""
        value = dict.__getitem__(self, key)
        if not isinstance(value, (_Tensor, tuple)):
            value = cell(value)
            dict.__setitem__(self, key, value)
        return value

    def __getitem__(self, key: str) -> Any:
        value = dict.__getitem__(self, key)
        if isinstance(value, _Tensor):
            return value.item()
        if isinstance(value, tuple) and key in _CELLS:
            return tuple([v.item() for v in value])
        return value

    def __setitem__(self, key: str, value: Any) -> None:
        value = _checked(self._where, key, value)
        if key not in _CELLS:
            dict.__setitem__(self, key, value)
            return
        kept = dict.get(self, key)
        with no_grad():
            if key == "betas":
                if kept is None:
                    dict.__setitem__(self, key, tuple([cell(v) for v in value]))
                else:
                    for c, v in zip(kept, value, strict=True):
                        write(c, v)
            elif isinstance(kept, _Tensor):
                write(kept, value)
            elif key == "momentum" and not isinstance(value, _Tensor) and value == 0:
                dict.__setitem__(self, key, value)
            else:
                dict.__setitem__(self, key, cell(value))

    # What dict does to its items without asking the methods above.

    def __iter__(self) -> Iterator[str]:
        return iter(dict.keys(self))

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or default."""
        return self[key] if dict.__contains__(self, key) else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which becomes default if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Assigns several values."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def pop(self, key: str, *default: Any) -> Any:
        """Takes a value out."""
        value = self[key] if key in self or not default else default[0]
        dict.pop(self, key, None)
        return value

    def items(self) -> Any:
        """Keys and values, as a list."""
        return [(key, self[key]) for key in dict.keys(self)]

    def values(self) -> Any:
        """The values, as a list."""
        return [self[key] for key in dict.keys(self)]

    def copy(self) -> dict[str, Any]:
        """A plain dict of the values."""
        return {key: self[key] for key in dict.keys(self)}

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.copy())


def _checked(where: str, key: str, value: Any) -> Any:
    """The value, or an error that names the optimizer and the hyperparameter."""
    if key in _FLAGS:
        return _flag(f"{where} {key}", value)
    if key in _COUNTS:
        return _integer(f"{where} {key}", value, _COUNTS[key])
    if key in _PAIRS:
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            raise TypeError(f"{where} {key} must be two numbers, got {value!r}.")
        name = {"betas": "a beta", "etas": "an eta", "step_sizes": "a step size"}[key]
        return tuple([_number(f"{where} {name}", v, *_BOUNDS[key]) for v in value])
    if key in _BOUNDS and not isinstance(value, tuple):
        return _number(f"{where} {key}", value, *_BOUNDS[key])
    return value
