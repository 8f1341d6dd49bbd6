"""Distributions made of uniform and normal numbers: what random.Generator draws besides these.

core/functions/distributions.h tells how.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._frazil import random as _random
from frazil._named import integer as _integer
from frazil._named import is_count as _is_count

if TYPE_CHECKING:
    from typing import Never

    from frazil._types import DTypeLike, Ints, Operand


def unlike_numpy(name: str, form: str, others: Any, named: Any) -> TypeError:
    """What NumPy's arguments are answered with."""
    got = ", ".join([*map(repr, others), *(f"{word}=" for word in named)])
    return TypeError(f"[random.{name}] does not take {got} as NumPy does: write {form}.")


class Distributions:
    """What Generator draws from its state.

    Parameters are numbers or arrays that broadcast; `shape` is theirs if it is not given, and else
    what they broadcast to. The dtype is the default, or int64 of counts, if none is given.
    ValueError for numbers outside of a parameter's range, also in lists and NumPy arrays. Tensors
    are not read: what is outside in them gives NaN, or a count of -1.
    """

    state: Tensor

    def bernoulli(
        self, p: Operand = 0.5, shape: Ints | None = None, *, device: str | None = None
    ) -> Tensor:
        """True with probability p, as bool."""
        return _random.bernoulli(self.state, p, shape, None, device)

    def beta(
        self, a: Operand, b: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Beta, in [0, 1], with density x^(a-1) (1-x)^(b-1) but for a factor: a, b > 0."""
        return _random.beta(self.state, a, b, shape, dtype, device)

    def binomial(
        self, n: Operand, p: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """How many of n trials succeed that do so with probability p: int64.

        By inversion where the mean is below 10, else by Hoermann's BTRS (1993).
        """
        return _random.binomial(self.state, n, p, shape, dtype, device)

    def categorical(self, logits: Operand, shape: Ints | None = None, *, axis: int = -1) -> Tensor:
        """Positions along an axis with probabilities softmax(logits): int64, by Gumbel's trick."""
        return _random.categorical(self.state, logits, shape, axis)

    def chisquare(
        self, df: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Chi-squared with df > 0 degrees of freedom."""
        return _random.chisquare(self.state, df, shape, dtype, device)

    def choice(
        self, a: Any, shape: Ints = (), replace: bool = True, p: Operand | None = None, *,
        axis: int = 0, **named: Never,
    ) -> Tensor:  # fmt: skip
        """Elements of an array along an axis, or of arange(a), with probabilities p or equal ones.

        ValueError for more elements than there are without replacement, or than have a probability
        above 0, and for p of another length, below 0, or of another sum than 1. It reads p.
        """
        if named:
            raise unlike_numpy("choice", "choice(a, shape)", (), named)
        if _is_count(a):
            a = _fz.arange(_integer("[random.choice] a", a, 1))
        return _random.choice(self.state, a, shape, replace, p, axis)

    def dirichlet(
        self, alpha: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Dirichlet: rows of numbers that sum to 1, for alpha [..., k] > 0; shape is without k."""
        return _random.dirichlet(self.state, alpha, shape, dtype, device)

    def exponential(
        self, scale: Operand = 1.0, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Exponential with mean scale."""
        return _random.exponential(self.state, scale, shape, dtype, device)

    def f(
        self, dfnum: Operand, dfden: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Fisher's F: the quotient of two chi-squared numbers by their degrees of freedom."""
        return _random.f(self.state, dfnum, dfden, shape, dtype, device)

    def gamma(
        self, a: Operand, scale: Operand = 1.0, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Gamma with density x^(a-1) exp(-x / scale) but for a factor: a > 0.

        By the method of Marsaglia and Tsang (2000).
        """
        return _random.gamma(self.state, a, scale, shape, dtype, device)

    def geometric(
        self, p: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """How many trials it takes to succeed with probability 0 < p <= 1: from 1 on, int64."""
        return _random.geometric(self.state, p, shape, dtype, device)

    def gumbel(
        self, loc: Operand = 0.0, scale: Operand = 1.0, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Gumbel: the limit of maxima."""
        return _random.gumbel(self.state, loc, scale, shape, dtype, device)

    def laplace(
        self, loc: Operand = 0.0, scale: Operand = 1.0, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Laplace: exponential to both sides of loc."""
        return _random.laplace(self.state, loc, scale, shape, dtype, device)

    def logistic(
        self, loc: Operand = 0.0, scale: Operand = 1.0, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Logistic, with the sigmoid of (x - loc) / scale as its distribution function."""
        return _random.logistic(self.state, loc, scale, shape, dtype, device)

    def lognormal(
        self, mean: Operand = 0.0, sigma: Operand = 1.0, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """exp of normal numbers with this mean and standard deviation."""
        return _random.lognormal(self.state, mean, sigma, shape, dtype, device)

    def multinomial(
        self, n: Operand, pvals: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """How often each of k outcomes occurs in n trials: pvals [..., k] sum to 1; int64 [..., k].

        One binomial draw an outcome; shape is without k. The last outcome has what others leave.
        """
        return _random.multinomial(self.state, n, pvals, shape, dtype, device)

    def multivariate_normal(
        self, mean: Operand, cov: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Normal vectors of mean [..., k] and covariance [..., k, k]; shape is without k.

        cov may be flat (semidefinite); only its lower triangle is read. LinAlgError if it has a
        negative eigenvalue.
        """
        return _random.multivariate_normal(self.state, mean, cov, shape, dtype, device)

    def negative_binomial(
        self, n: Operand, p: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """How many trials fail before n > 0 succeed, with probability p: int64."""
        return _random.negative_binomial(self.state, n, p, shape, dtype, device)

    def pareto(
        self, a: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Pareto II (Lomax), as NumPy has it: from 0 on, with 1 - (1 + x)^-a; a > 0. One more is
        the classical one."""
        return _random.pareto(self.state, a, shape, dtype, device)

    def permutation(self, x: Any, axis: int = 0) -> Tensor:
        """arange(x), or an array along an axis, in random order."""
        if _is_count(x):
            x = _fz.arange(_integer("[random.permutation] x", x, 0))
        return _random.permutation(self.state, x, axis)

    def poisson(
        self, lam: Operand = 1.0, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Poisson with mean lam >= 0: int64.

        By inversion where lam is below 10, else by Hoermann's PTRS (1993).
        """
        return _random.poisson(self.state, lam, shape, dtype, device)

    def rayleigh(
        self, scale: Operand = 1.0, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Rayleigh: the length of a vector of two normal numbers with deviation scale."""
        return _random.rayleigh(self.state, scale, shape, dtype, device)

    def standard_cauchy(
        self, shape: Ints = (), *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Tensor:
        """Cauchy around 0."""
        return _random.standard_cauchy(self.state, shape, dtype, device)

    def standard_t(
        self, df: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Student's t with df > 0 degrees of freedom."""
        return _random.standard_t(self.state, df, shape, dtype, device)

    def triangular(
        self, left: Operand, mode: Operand, right: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """A density that rises from left to mode and falls to right: left <= mode <= right, and
        left < right."""
        return _random.triangular(self.state, left, mode, right, shape, dtype, device)

    def truncated_normal(
        self, lower: Operand, upper: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Standard normal numbers between lower and upper."""
        return _random.truncated_normal(self.state, lower, upper, shape, dtype, device)

    def wald(
        self, mean: Operand, scale: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Inverse Gaussian (Michael, Schucany and Haas 1976): mean, scale > 0."""
        return _random.wald(self.state, mean, scale, shape, dtype, device)

    def weibull(
        self, a: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Weibull with shape a > 0: 1 - exp(-x^a)."""
        return _random.weibull(self.state, a, shape, dtype, device)
