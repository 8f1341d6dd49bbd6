"""Muon: momentum made orthogonal, for matrices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil.optim.optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._types import Number
    from frazil.optim.optimizer import _Parameters

__all__ = ["Muon"]

_DTYPE = "bfloat16"  # of the iteration: it need not be exact
_RATES = {
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
}


class Muon(Optimizer):
    """Muon (Jordan et al. 2024) for the matrices of a network; others take AdamW beside it.

    m = momentum * m + (1 - momentum) * g, with nesterov looked at one step ahead; the update is
    the nearest matrix with orthogonal rows or columns, by ns_steps of Newton and Schulz's
    iteration in bfloat16 with the polynomial x -> a x + b x^3 + c x^5 of ns_coefficients.
    weight_decay is decoupled. adjust_lr_fn scales the rate by the shape: "original" (also None)
    by sqrt(max(1, rows / columns)), "match_rms_adamw" by 0.2 * sqrt(max(rows, columns)).

    >>> import frazil as fz
    >>> from frazil import optim
    >>> model = fz.nn.Linear(4, 4)
    >>> matrices = optim.Muon([model.weight], lr=0.02)
    >>> others = optim.AdamW([model.bias])
    """

    def __init__(
        self,
        params: _Parameters,
        lr: Number = 1e-3,
        weight_decay: Number = 0.1,
        momentum: Number = 0.95,
        nesterov: bool = True,
        ns_coefficients: Sequence[Number] = (3.4445, -4.775, 2.0315),
        eps: Number = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
            "maximize": maximize,
            "decoupled_weight_decay": True,
        }
        super().__init__(params, defaults, options)

    def _check_group(self, group):
        if group["adjust_lr_fn"] not in (None, *_RATES):
            raise ValueError(
                f'{self._where} adjust_lr_fn must be "original", "match_rms_adamw" or None, got '
                f"{group['adjust_lr_fn']!r}."
            )
        if group["ns_steps"] >= 100:
            raise ValueError(f"{self._where} ns_steps must be below 100, got {group['ns_steps']}.")
        if len(group["ns_coefficients"]) != 3:
            raise ValueError(
                f"{self._where} ns_coefficients must be three numbers, got "
                f"{group['ns_coefficients']!r}."
            )
        for p in group["params"]:
            if p.dtype.kind != "real floating":
                raise ValueError(f"{self._where} parameters must be real, got {p.dtype.name}.")
            if p.ndim != 2:
                raise ValueError(
                    f"{self._where} parameters must be matrices, got shape {p.shape}: give others "
                    "to AdamW."
                )

    @staticmethod
    def _names(n, p):
        return ("momentum_buffer",)

    @staticmethod
    def _numbers(n, counters, dtype):
        return n["lr"], n["momentum"], 1 - n["momentum"]

    @staticmethod
    def _move(n, numbers, p, g, keep, m):
        lr, momentum, rest = numbers
        m = m + (g - m) * rest
        update = orthogonal(g + (m - g) * momentum if n["nesterov"] else m, n)
        if keep is not None:
            p = p * keep
        scale = _RATES[n["adjust_lr_fn"] or "original"](*p.shape)
        return p - update.astype(p.dtype) * (lr * scale), m


def orthogonal(x: _fz.Tensor, n: dict[str, Any]) -> _fz.Tensor:
    """A matrix whose singular values are near 1 and whose singular vectors are those of x."""
    a, b, c = n["ns_coefficients"]
    tall = x.shape[0] > x.shape[1]
    x = x.astype(_DTYPE)
    if tall:
        x = x.T
    wide = _fz.float64 if x.dtype == _fz.float64 else _fz.float32
    norm = _fz.sqrt((x.astype(wide) ** 2).sum()).astype(x.dtype)
    x = x / _fz.maximum(norm, n["eps"])
    for _ in range(n["ns_steps"]):
        gram = x @ x.T
        x = x * a + (gram * b + (gram @ gram) * c) @ x
    return x.T if tall else x
