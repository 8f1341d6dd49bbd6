"""Cohorts: parameters that have always moved together, and are of one dtype and device.

The counters of their steps are tensors, not Python numbers: a traced step is the same each time. A
parameter that has no gradient while others have leaves them, as it counts its own steps. 16-bit
parameters move in float32 and are rounded once, complex ones as pairs of real numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil._grad import no_grad
from frazil._tracked import Tracked
from frazil.optim.param_group import cell

if TYPE_CHECKING:
    from frazil._frazil import Tensor

_Tensor = _fz.Tensor
# In what parameters move that do not in their own dtype.
_REAL = {
    "float16": _fz.float32,
    "bfloat16": _fz.float32,
    "complex64": _fz.float32,
    "complex128": _fz.float64,
}


def filled(p: Tensor, value: float) -> Tensor:
    """A state of one number; of a complex parameter both parts are it."""
    p = p.detach()
    return _fz.full_like(
        p, value * (1 + 1j) if p.dtype.name in ("complex64", "complex128") else value
    )


class Cohort(Tracked):
    """Parameters of a group that share counters, names of states and a dtype."""

    def __init__(self, names: tuple[str, ...], counters: dict[str, Tensor]) -> None:
        self.names, self.counters = names, counters
        self.params: list[Tensor] = []
        self.states: list[dict[str, Tensor]] = []


def run(kind, n, counters, params, grads, states):
    """One step of a cohort, in place."""
    with no_grad():
        counters["step"] += 1
        own = params[0].dtype
        dtype = _REAL.get(own.name, own)
        numbers = [_like(x, dtype) for x in kind._numbers(n, counters, own)]
        decay, keep = n.get("weight_decay", 0), None
        if not isinstance(decay, _Tensor) and decay == 0:
            decay = None
        elif n.get("decoupled_weight_decay"):
            decay, keep = None, _like(1 - n["lr"] * decay, dtype)
        else:
            decay = _like(decay, dtype)
        for p, g, state in zip(params, grads, states, strict=True):
            before, g = _wide(p, dtype), _wide(g, dtype)
            if n["maximize"]:
                g = -g
            if decay is not None:
                g = g + before * decay
            old = [_wide(s, dtype) for s in state.values()]
            moved, *new = kind._move(n, numbers, before, g, keep, *old)
            p[...] = _narrow(moved, own)
            for s, value in zip(state.values(), new, strict=True):
                s[...] = _narrow(value, s.dtype)


def _like(x, dtype):
    """A float64 cell as a number of the dtype; whatever else it is."""
    return x.astype(dtype) if isinstance(x, _Tensor) and x.dtype == _fz.float64 else x


def _wide(x, dtype):
    """Of a complex number the two parts, along a last axis."""
    if x.dtype.kind == "complex floating":
        x = _fz.stack([x.real, x.imag], axis=-1)
    return x if x.dtype == dtype else x.astype(dtype)


def _narrow(x, dtype):
    return x[..., 0] + x[..., 1] * 1j if dtype.kind == "complex floating" else x


def cohorts_of(optimizer, n, params, saved):
    """The parameters by what they share; `saved` has states by name, as far as there are."""
    cohorts = {}
    if optimizer._keeps_any_state():
        cohort = Cohort((), {})
        cohort.params, cohort.states = list(params), [_copied(known) for known in saved]
        return [cohort]
    for p, known in zip(params, map(optimizer._adopted, saved), strict=True):
        names = optimizer._names(n, p)
        first = optimizer._counters(n)
        counts = {k: float(_plain(known.get(k), v)) for k, v in first.items()}
        key = p.dtype.name, str(p.device), names, tuple(counts.values())
        if key not in cohorts:
            cohorts[key] = Cohort(names, {k: cell(v) for k, v in counts.items()})
        state = {}
        for name in names:
            begun = optimizer._begin(n, p, name)
            if known.get(name) is not None:
                value = _fz.asarray(known[name])
                if value.shape != begun.shape:
                    raise ValueError(
                        f"{optimizer._where} the state dict's {name} has shape {value.shape}, a "
                        f"parameter's has {begun.shape}."
                    )
                begun = value.astype(begun.dtype).to_device(begun.device)
            state[name] = begun * 1
        cohorts[key].params.append(p)
        cohorts[key].states.append(state)
    return list(cohorts.values())


def _copied(state):
    return {k: v * 1 if isinstance(v, _Tensor) else v for k, v in state.items()}


def part(cohorts, cohort, grads):
    """The parameters that have a gradient, which count their steps apart from now on."""
    moving = [g is not None for g in grads]
    if not any(moving):
        return cohort
    found = Cohort(cohort.names, {k: cell(v.item()) for k, v in cohort.counters.items()})
    items = list(zip(moving, cohort.params, cohort.states, strict=True))
    found.params = [p for m, p, _ in items if m]
    found.states = [s for m, _, s in items if m]
    cohort.params = [p for m, p, _ in items if not m]
    cohort.states = [s for m, _, s in items if not m]
    cohorts.append(found)
    return found


def rename(optimizer, n, cohort):
    """A hyperparameter was assigned that asks for other states (a momentum that was 0)."""
    cohort.names = optimizer._names(n, cohort.params[0])
    cohort.states = [
        {k: s[k] if k in s else optimizer._begin(n, p, k) for k in cohort.names}
        for p, s in zip(cohort.params, cohort.states, strict=True)
    ]


def _plain(value, otherwise):
    if value is None:
        return otherwise
    return value.item() if hasattr(value, "item") else value
