"""Random tensors: Philox 4x32-10 streams, the same in eager and traced code.

Here: `seed` starts the default generator again, `get_state` and `set_state` tell and set where it
is, and `seed_everything` seeds Python's and NumPy's with it. `uniform`, `normal`, `integers` draw
from it, and so do the distributions `bernoulli`, `beta`, `binomial`, `categorical`, `chisquare`,
`choice`, `dirichlet`, `exponential`, `f`, `gamma`, `geometric`, `gumbel`, `laplace`, `logistic`,
`lognormal`, `multinomial`, `multivariate_normal`, `negative_binomial`, `pareto`, `permutation`,
`poisson`, `rayleigh`, `standard_cauchy`, `standard_t`, `triangular`, `truncated_normal`, `wald`,
`weibull`; `Generator` is a stream of one's own.

>>> seed(0)
>>> a = uniform((3,))
>>> seed(0)
>>> bool((a == uniform((3,))).all())
True
"""

from __future__ import annotations

import os
import sys as _sys
from typing import TYPE_CHECKING, SupportsIndex

from frazil._distributions import Distributions
from frazil._distributions import unlike_numpy as _unlike_numpy
from frazil._frazil import random as _random
from frazil._names import RANDOM as _OTHERS
from frazil._tracked import Tracked

if TYPE_CHECKING:
    from typing import Never

    from frazil._frazil import Tensor
    from frazil._types import DTypeLike, Ints

__all__ = [
    "Generator",
    "bernoulli",
    "beta",
    "binomial",
    "categorical",
    "chisquare",
    "choice",
    "dirichlet",
    "exponential",
    "f",
    "gamma",
    "geometric",
    "get_state",
    "gumbel",
    "integers",
    "laplace",
    "logistic",
    "lognormal",
    "multinomial",
    "multivariate_normal",
    "negative_binomial",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "rayleigh",
    "seed",
    "seed_everything",
    "set_state",
    "standard_cauchy",
    "standard_t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull",
]


class Generator(Tracked, Distributions):
    """A stream of random numbers. Its state is a tensor, which every draw advances."""

    state: Tensor

    def __init__(self, seed: SupportsIndex | None = None) -> None:
        self.seed(int.from_bytes(os.urandom(8), "little") if seed is None else seed)

    def seed(self, seed: SupportsIndex) -> None:
        """Starts the stream again from an integer."""
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise TypeError(f"[random.seed] must be an integer, got {type(seed).__name__}.")
        state = _random.state(seed)
        if hasattr(self, "state"):
            self.state[...] = state  # the cell stays: traced functions may know it
        else:
            self.state = state

    def get_state(self) -> Tensor:
        """Where the stream is, a copy: uint64[2] of the seed and what was drawn."""
        return self.state.copy()

    def set_state(self, state: Tensor) -> None:
        """Puts the stream where get_state found it: the same numbers follow.

        >>> generator = Generator(0)
        >>> state = generator.get_state()
        >>> a = generator.normal(3)
        >>> generator.set_state(state)
        >>> bool((a == generator.normal(3)).all())
        True
        """
        dtype, shape = getattr(state, "dtype", None), getattr(state, "shape", None)
        if dtype != self.state.dtype or shape != self.state.shape:
            raise TypeError(
                f"[random.set_state] needs a tensor of get_state, {self.state.dtype.name} of shape "
                f"{self.state.shape}, got {type(state).__name__ if dtype is None else dtype} of "
                f"shape {shape}."
            )
        self.state[...] = state

    if not TYPE_CHECKING:  # or every name would be known

        def __getattr__(self, name):
            hint = f": use generator.{_OTHERS[name]}" if name in _OTHERS else ""
            message = f"'{type(self).__name__}' object has no attribute '{name}'{hint}"
            raise AttributeError(message, name=name, obj=self)

    def uniform(
        self,
        shape: Ints = (),
        *others: Never,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        **named: Never,
    ) -> Tensor:
        """Uniform in [0, 1)."""
        if others or named:
            raise _unlike_numpy("uniform", "low + (high - low) * uniform(shape)", others, named)
        return _random.uniform(self.state, shape, dtype, device)

    def normal(
        self,
        shape: Ints = (),
        *others: Never,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        **named: Never,
    ) -> Tensor:
        """Normal with mean 0 and variance 1."""
        if others or named:
            raise _unlike_numpy("normal", "mean + deviation * normal(shape)", others, named)
        return _random.normal(self.state, shape, dtype, device)

    def integers(
        self,
        low: SupportsIndex,
        high: SupportsIndex | None = None,
        shape: Ints = (),
        *others: Never,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        **named: Never,
    ) -> Tensor:
        """Uniform integers in [low, high), or in [0, low) without high."""
        if others or named:
            raise _unlike_numpy("integers", "integers(low, high, shape)", others, named)
        low, high = (0, low) if high is None else (low, high)
        return _random.integers(self.state, low, high, shape, dtype, device)


_default = Generator()
_random.set_default(_default.state)
seed = _default.seed
get_state = _default.get_state
set_state = _default.set_state
uniform = _default.uniform
normal = _default.normal
integers = _default.integers
bernoulli = _default.bernoulli
beta = _default.beta
binomial = _default.binomial
categorical = _default.categorical
chisquare = _default.chisquare
choice = _default.choice
dirichlet = _default.dirichlet
exponential = _default.exponential
f = _default.f
gamma = _default.gamma
geometric = _default.geometric
gumbel = _default.gumbel
laplace = _default.laplace
logistic = _default.logistic
lognormal = _default.lognormal
multinomial = _default.multinomial
multivariate_normal = _default.multivariate_normal
negative_binomial = _default.negative_binomial
pareto = _default.pareto
permutation = _default.permutation
poisson = _default.poisson
rayleigh = _default.rayleigh
standard_cauchy = _default.standard_cauchy
standard_t = _default.standard_t
triangular = _default.triangular
truncated_normal = _default.truncated_normal
wald = _default.wald
weibull = _default.weibull


if not TYPE_CHECKING:

    def __getattr__(name):
        hint = f": use frazil.random.{_OTHERS[name]}." if name in _OTHERS else ""
        message = f"module 'frazil.random' has no attribute '{name}'{hint}"
        raise AttributeError(message, name=name, obj=_sys.modules[__name__])


def seed_everything(seed: SupportsIndex) -> None:
    """Seeds this module, Python's random and, if the program has loaded it, NumPy's legacy stream.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1; NumPy gets it modulo 2**32.

    Raises
    ------
    ValueError
        If it is out of range.

    >>> seed_everything(0)
    >>> a = uniform(2)
    >>> seed_everything(0)
    >>> bool((a == uniform(2)).all())
    True
    """
    from frazil._named import integer
    from frazil._seeding import seed_all

    seed_all(integer("[seed_everything] seed", seed), load=False)
