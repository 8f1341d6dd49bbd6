"""The compiled part of frazil.random."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from typing import (
    SupportsIndex,
)

from frazil._frazil import Tensor
from frazil._types import Axis, DTypeLike, Ints, Operand

__all__ = [
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
    "set_default",
    "standard_cauchy",
    "standard_t",
    "state",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull",
]

def bernoulli(
    state: Tensor, p: Operand, shape: Ints | None, dtype: DTypeLike | None, device: str | None, /
) -> Tensor:
    """frazil.random.bernoulli"""

def beta(
    state: Tensor,
    a: Operand,
    b: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.beta"""

def binomial(
    state: Tensor,
    n: Operand,
    p: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.binomial"""

def categorical(state: Tensor, logits: Operand, shape: Ints | None, axis: Axis, /) -> Tensor:
    """Positions by logits."""

def chisquare(
    state: Tensor, df: Operand, shape: Ints | None, dtype: DTypeLike | None, device: str | None, /
) -> Tensor:
    """frazil.random.chisquare"""

def choice(
    state: Tensor, x: Operand, shape: Ints, replace: builtins.bool, p: Operand | None, axis: Axis, /
) -> Tensor:
    """Elements of an array."""

def dirichlet(
    state: Tensor,
    alpha: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.dirichlet"""

def exponential(
    state: Tensor,
    scale: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.exponential"""

def f(
    state: Tensor,
    dfnum: Operand,
    dfden: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.f"""

def gamma(
    state: Tensor,
    a: Operand,
    scale: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.gamma"""

def geometric(
    state: Tensor, p: Operand, shape: Ints | None, dtype: DTypeLike | None, device: str | None, /
) -> Tensor:
    """frazil.random.geometric"""

def gumbel(
    state: Tensor,
    loc: Operand,
    scale: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.gumbel"""

def integers(
    state: Tensor,
    low: SupportsIndex,
    high: SupportsIndex,
    shape: Ints,
    /,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
) -> Tensor:
    """Uniform integers in [low, high)."""

def laplace(
    state: Tensor,
    loc: Operand,
    scale: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.laplace"""

def logistic(
    state: Tensor,
    loc: Operand,
    scale: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.logistic"""

def lognormal(
    state: Tensor,
    mean: Operand,
    sigma: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.lognormal"""

def multinomial(
    state: Tensor,
    n: Operand,
    pvals: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.multinomial"""

def multivariate_normal(
    state: Tensor,
    mean: Operand,
    cov: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.multivariate_normal"""

def negative_binomial(
    state: Tensor,
    n: Operand,
    p: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.negative_binomial"""

def normal(
    state: Tensor, shape: Ints, /, dtype: DTypeLike | None = ..., device: str | None = ...
) -> Tensor:
    """Standard normal."""

def pareto(
    state: Tensor, a: Operand, shape: Ints | None, dtype: DTypeLike | None, device: str | None, /
) -> Tensor:
    """frazil.random.pareto"""

def permutation(state: Tensor, x: Operand, axis: SupportsIndex, /) -> Tensor:
    """An array in random order."""

def poisson(
    state: Tensor, lam: Operand, shape: Ints | None, dtype: DTypeLike | None, device: str | None, /
) -> Tensor:
    """frazil.random.poisson"""

def rayleigh(
    state: Tensor,
    scale: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.rayleigh"""

def set_default(state: Tensor, /) -> None:
    """The state that the module's own functions draw from."""

def standard_cauchy(
    state: Tensor, shape: Ints | None, dtype: DTypeLike | None, device: str | None, /
) -> Tensor:
    """frazil.random.standard_cauchy"""

def standard_t(
    state: Tensor, df: Operand, shape: Ints | None, dtype: DTypeLike | None, device: str | None, /
) -> Tensor:
    """frazil.random.standard_t"""

def state(seed: SupportsIndex, /) -> Tensor:
    """The state of a generator: a tensor that drawing advances."""

def triangular(
    state: Tensor,
    left: Operand,
    mode: Operand,
    right: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.triangular"""

def truncated_normal(
    state: Tensor,
    lower: Operand,
    upper: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.truncated_normal"""

def uniform(
    state: Tensor, shape: Ints, /, dtype: DTypeLike | None = ..., device: str | None = ...
) -> Tensor:
    """Uniform in [0, 1)."""

def wald(
    state: Tensor,
    mean: Operand,
    scale: Operand,
    shape: Ints | None,
    dtype: DTypeLike | None,
    device: str | None,
    /,
) -> Tensor:
    """frazil.random.wald"""

def weibull(
    state: Tensor, a: Operand, shape: Ints | None, dtype: DTypeLike | None, device: str | None, /
) -> Tensor:
    """frazil.random.weibull"""
