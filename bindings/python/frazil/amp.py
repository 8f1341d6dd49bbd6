"""Mixed precision: products in 16 bits, and losses scaled up, so that gradients in float16 do not
become zero.

Here: `autocast`, in whose blocks products compute in bfloat16 or float16 and losses in float32,
`is_autocast_enabled`, and `GradScaler`. bfloat16 has float32's range and needs no scaling.

>>> import frazil as fz
>>> from frazil import optim
>>> w = fz.ones(2, requires_grad=True)
>>> optimizer, scaler = optim.SGD([w], lr=0.5), GradScaler()
>>> scaler.scale((w * w).sum()).backward()
>>> scaler.step(optimizer)
>>> scaler.update()
>>> w.tolist()
[0.0, 0.0]
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

from frazil import _frazil as _fz
from frazil._grad import no_grad
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil._named import number as _number
from frazil.optim.param_group import cell, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil._types import DTypeLike
    from frazil.optim.optimizer import Optimizer

__all__ = ["GradScaler", "autocast", "is_autocast_enabled"]

_F = TypeVar("_F", bound="Callable[..., Any]")

_get, _set = _fz.autograd.get_autocast, _fz.autograd.set_autocast
_LISTS = {"cpu": 0, "npu": 0, "cuda": 2}  # core/autocast.h: which list, as bits of the word


class autocast:  # noqa: N801
    """In a block, products compute in 16 bits: a context manager and a decorator, as PyTorch's.

    Matrix products, linear layers, convolutions, recurrent layers and attention convert float32
    operands to `dtype`, losses and what needs the range convert 16-bit ones to float32, and all
    else computes in the dtypes that come. Which functions these are is PyTorch's list for
    `device_type` (core/autocast.def has the rows): by the one of "cuda" also exp, log, pow, sums,
    softmax and layer_norm are of the second kind. float64, integers and complex numbers stay as
    they are. Parameters stay float32, and so do their gradients. A backward pass computes in the
    dtypes of its forward pass; it may lie in the block or behind it.

    Within a traced function a block is part of what is recorded; around the call of one it is a
    part of what tells calls apart.

    Parameters
    ----------
    device_type : str
        "cpu", "cuda" or "npu", whose list is the CPU's. The tensors' device is their own.
    dtype : DTypeLike, optional
        bfloat16 or float16; by default bfloat16, for "cuda" float16.
    enabled : bool
        False: everything in the block computes in the dtypes that come.
    cache_enabled : bool
        PyTorch's, and chooses nothing: within a plan each operand is converted once.

    Raises
    ------
    ValueError
        For another device or dtype.

    >>> import frazil as fz
    >>> x, w = fz.ones((2, 3)), fz.ones((3, 4), requires_grad=True)
    >>> with autocast("cpu"):
    ...     y = x @ w
    ...     loss = fz.nn.mse_loss(y, fz.zeros((2, 4)))
    >>> y.dtype, loss.dtype
    (frazil.bfloat16, frazil.float32)
    >>> loss.backward()
    >>> w.grad.dtype
    frazil.float32
    """

    def __init__(
        self,
        device_type: str = "cpu",
        dtype: DTypeLike | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        name = device_type.split(":")[0] if isinstance(device_type, str) else device_type
        if name not in _LISTS:
            raise ValueError(
                f'[autocast] device_type must be "cpu", "cuda" or "npu", got {device_type!r}.'
            )
        if dtype is None:
            dtype = "float16" if name == "cuda" else "bfloat16"
        wanted = _fz.runtime.dtype(dtype)
        if wanted not in (_fz.bfloat16, _fz.float16):
            raise ValueError(f"[autocast] dtype must be bfloat16 or float16, got {wanted.name}.")
        if cache_enabled is not None:
            _flag("[autocast] cache_enabled", cache_enabled)
        half = 4 if wanted == _fz.float16 else 0
        self._word = 1 | _LISTS[name] | half if _flag("[autocast] enabled", enabled) else 0
        self._before: list[int] = []

    def __enter__(self) -> autocast:
        self._before.append(_set(self._word))
        return self

    def __exit__(self, *exception: object) -> None:
        if not self._before:
            raise RuntimeError("[autocast] is left more often than it was entered.")
        _set(self._before.pop())

    def __call__(self, function: _F) -> _F:
        @functools.wraps(function)
        def cast(*args, **kwargs):
            before = _set(self._word)
            try:
                return function(*args, **kwargs)
            finally:
                _set(before)

        return cast  # type: ignore[return-value]


def is_autocast_enabled() -> bool:
    """Whether this thread is in a block of autocast.

    >>> is_autocast_enabled()
    False
    """
    return bool(_get())


_READY, _UNSCALED, _STEPPED = "ready", "unscaled", "stepped"


class _Step:
    """What happened to an optimizer since the last update()."""

    def __init__(self, optimizer):
        self.optimizer, self.stage, self.found = optimizer, _READY, None


class GradScaler:
    """Scales losses, and steps optimizers whose gradients are finite (Micikevicius et al. 2018).

    scale(loss) multiplies by the scale. step(optimizer) divides the gradients by it, unless
    unscale_(optimizer) has done so for clipping, and steps if they are finite. update() multiplies
    the scale by backoff_factor if some were not, and by growth_factor after growth_interval steps
    in a row that were. `device` is PyTorch's argument: the scale goes with any.

    Whether gradients are finite is read as a bool: a traced step goes on skipping its body.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> w = fz.ones(1, requires_grad=True)
    >>> optimizer, scaler = optim.SGD([w], lr=0.5), GradScaler(init_scale=8.0)
    >>> scaler.scale(w.sum() * float("inf")).backward()
    >>> scaler.step(optimizer), scaler.update()
    (None, None)
    >>> w.tolist(), scaler.get_scale()
    ([1.0], 4.0)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._enabled = _flag("[amp.GradScaler] enabled", enabled)
        self._scale = cell(_number("[amp.GradScaler] init_scale", init_scale, 0))
        self._growth_tracker = cell(0)
        self.set_growth_factor(growth_factor)
        self.set_backoff_factor(backoff_factor)
        self.set_growth_interval(growth_interval)
        self._steps: list[_Step] = []

    def scale(self, outputs: Any) -> Any:
        """The loss times the scale, or a list or tuple of them; 16-bit ones become float32."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, (list, tuple)):
            return type(outputs)([self.scale(loss) for loss in outputs])
        if not isinstance(outputs, _fz.Tensor):
            raise TypeError(
                f"[amp.GradScaler] scale() takes tensors, got {type(outputs).__name__}."
            )
        dtype = _fz.float64 if outputs.dtype == _fz.float64 else _fz.float32
        return outputs.astype(dtype) * self._scale.astype(dtype)

    def _step_of(self, optimizer):
        for step in self._steps:
            if step.optimizer is optimizer:
                return step
        self._steps.append(_Step(optimizer))
        return self._steps[-1]

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divides the gradients of an optimizer's parameters by the scale, once before step()."""
        if not self._enabled:
            return
        step = self._step_of(optimizer)
        if step.stage != _READY:
            raise RuntimeError(
                "[amp.GradScaler] unscale_() comes once, before step(): since the last update() "
                f"the gradients were {step.stage}."
            )
        found = None
        with no_grad():
            for p in optimizer.parameters:
                if p.grad is None:
                    continue
                dtype = _fz.float64 if p.grad.dtype == _fz.float64 else _fz.float32
                g = p.grad.astype(dtype)
                bad = ~_fz.isfinite(g).all()
                found = bad if found is None else found | bad
                p.grad = (g * (1 / self._scale).astype(dtype)).astype(p.grad.dtype)
        if found is None:
            raise ValueError("[amp.GradScaler] no parameter of the optimizer has a gradient.")
        step.stage, step.found = _UNSCALED, found

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """optimizer.step() if all gradients are finite, else None."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if args or kwargs.get("closure") is not None:
            raise ValueError("[amp.GradScaler] step() takes no closure: scaling it is not defined.")
        step = self._step_of(optimizer)
        if step.stage == _STEPPED:
            raise RuntimeError(
                "[amp.GradScaler] step() comes once before update(): the optimizer has stepped."
            )
        if step.stage == _READY:
            self.unscale_(optimizer)
        step.stage = _STEPPED
        return None if step.found else optimizer.step(**kwargs)

    def update(self, new_scale: float | _fz.Tensor | None = None) -> None:
        """Adapts the scale to what was found since the last update, or sets it."""
        if not self._enabled:
            return
        with no_grad():
            if new_scale is not None:
                write(self._scale, _number("[amp.GradScaler] new_scale", new_scale, 0))
            else:
                self._adapt()
        self._steps.clear()

    def _adapt(self):
        found = None
        for step in self._steps:
            if step.found is not None:
                found = step.found if found is None else found | step.found
        if found is None:
            raise RuntimeError("[amp.GradScaler] update() comes after step() or unscale_().")
        scale, tracker = self._scale, self._growth_tracker
        count = _fz.where(found, 0.0, tracker + 1)
        grows = count == self._growth_interval
        larger = scale * self._growth_factor
        larger = _fz.where(larger <= 3.4028234663852886e38, larger, scale)  # as float32 holds
        scale[...] = _fz.where(found, scale * self._backoff_factor, _fz.where(grows, larger, scale))
        tracker[...] = _fz.where(grows, 0.0, count)

    def get_scale(self) -> float:
        """The scale; 1 if scaling is not enabled."""
        return self._scale.item() if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_growth_factor(self) -> float:
        """What the scale grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets what the scale grows by, above 1."""
        if not _number("[amp.GradScaler] growth_factor", new_factor) > 1:
            raise ValueError(f"[amp.GradScaler] growth_factor must be above 1, got {new_factor!r}.")
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale shrinks by."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets what the scale shrinks by, below 1."""
        self._backoff_factor = _number("[amp.GradScaler] backoff_factor", new_factor, 0, 1)

    def get_growth_interval(self) -> int:
        """After how many steps in a row the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets after how many steps in a row the scale grows."""
        self._growth_interval = _integer("[amp.GradScaler] growth_interval", new_interval, 1)

    def state_dict(self) -> dict[str, Any]:
        """The scale and how it changes, as numbers; empty if scaling is not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": int(self._growth_tracker),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what state_dict() gave, also PyTorch's."""
        if not self._enabled:
            return
        if not state_dict:
            raise ValueError("[amp.GradScaler] the state dict is empty: it was not enabled there.")
        write(self._scale, state_dict["scale"])
        write(self._growth_tracker, state_dict["_growth_tracker"])
        self.set_growth_factor(state_dict["growth_factor"])
        self.set_backoff_factor(state_dict["backoff_factor"])
        self.set_growth_interval(state_dict["growth_interval"])
