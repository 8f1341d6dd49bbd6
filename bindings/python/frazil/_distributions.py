"""Distributions made of uniform and normal numbers: what random.Generator draws besides these.

How many words a draw takes depends on its shape, and of counts on whether the mean is one number
below 10, so a stream is the same traced and eager and on every device. Where the usual method
rejects, a fixed number of candidates is drawn at once and the first good one taken; none is good in
less than one of 10^10 draws, which gives the distribution's mode. Gradients go to locations and
scales, not to the parameters of shape.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._array_api import broadcast_shapes as _broadcast_shapes
from frazil._dtypes import finfo as _finfo
from frazil._frazil import Tensor
from frazil._named import floating as _floating
from frazil._named import integer as _integer
from frazil._named import is_count as _is_count
from frazil._named import number as _number
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from frazil._types import DTypeLike, Ints, Operand

_CANDIDATES = 8  # of a gamma number: 0.95 of them are good
_TRIES = 16  # of a Poisson or binomial number: 0.8 are
_STEPS = 48  # of a small Poisson or binomial number, whose mean is below 10


def _in_order(left, mode, right):
    numbers = all(isinstance(v, (int, float)) for v in (left, mode, right))
    if numbers and not (left <= mode <= right and left < right):
        raise ValueError(
            "[random.triangular] left <= mode <= right and left < right are needed, got "
            f"{left}, {mode} and {right}."
        )


class Distributions:
    """What Generator draws by its `uniform` and `normal`.

    Parameters are numbers or arrays that broadcast; `shape` is theirs if it is not given, and else
    what they broadcast to. The dtype is the default, or int64 of counts, if none is given.
    ValueError for numbers outside of a parameter's range, also in lists and NumPy arrays. Tensors
    are not read: what is outside in them gives NaN, or a count of -1.
    """

    def uniform(
        self, shape: Ints = (), *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Tensor:
        """Uniform in [0, 1)."""
        raise NotImplementedError

    def normal(
        self, shape: Ints = (), *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Tensor:
        """Normal with mean 0 and variance 1."""
        raise NotImplementedError

    def bernoulli(
        self, p: Operand = 0.5, shape: Ints | None = None, *, device: str | None = None
    ) -> Tensor:
        """True with probability p, as bool."""
        d = _Draw(self, "bernoulli", shape, None, device, p=_chance(p))
        return d.uniform() < d["p"]

    def beta(
        self, a: Operand, b: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Beta, in [0, 1], with density x^(a-1) (1-x)^(b-1) but for a factor: a, b > 0."""
        d = _Draw(self, "beta", shape, dtype, device, a=_positive(a), b=_positive(b))
        return d.out(1.0 / (1.0 + _fz.exp(d.log_gamma("b") - d.log_gamma("a"))))

    def binomial(
        self, n: Operand, p: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """How many of n trials succeed that do so with probability p: int64.

        By inversion where the mean is below 10, else by Hoermann's BTRS (1993).
        """
        d = _Draw(self, "binomial", shape, _fz.float64, device, n=_least(n, 0), p=_chance(p))
        return _counts(d.binomial(d["n"], d["p"]), dtype)

    def categorical(self, logits: Operand, shape: Ints | None = None, *, axis: int = -1) -> Tensor:
        """Positions along an axis with probabilities softmax(logits): int64, by Gumbel's trick."""
        x = _floating(logits)
        if x.ndim == 0:
            raise ValueError("[random.categorical] logits need at least one axis, got a number.")
        x = _fz.moveaxis(x, axis, -1)
        if not x.shape[-1]:
            raise ValueError(
                f"[random.categorical] there is nothing to choose from: shape {x.shape}."
            )
        batch = x.shape[:-1] if shape is None else _shape(shape)
        own = (1,) * (len(batch) - x.ndim + 1) + x.shape[:-1]
        if len(own) > len(batch) or any(m not in (1, n) for m, n in zip(own, batch, strict=True)):
            raise ValueError(
                f"[random.categorical] logits of shape {x.shape} do not broadcast to "
                f"{(*batch, x.shape[-1])}."
            )
        noise = self.gumbel(shape=(*batch, x.shape[-1]), dtype=x.dtype)
        return _fz.argmax(x + noise, axis=-1)

    def chisquare(
        self, df: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Chi-squared with df > 0 degrees of freedom."""
        d = _Draw(self, "chisquare", shape, dtype, device, df=_positive(df))
        return d.out(2.0 * _fz.exp(d.log_gamma("df", 0.5)))

    def choice(
        self, a: Any, shape: Ints = (), replace: bool = True, p: Operand | None = None, *,
        axis: int = 0,
    ) -> Tensor:  # fmt: skip
        """Elements of an array along an axis, or of arange(a), with probabilities p or equal ones.

        ValueError for more elements than there are without replacement, or than have a probability
        above 0, and for p of another length, below 0, or of another sum than 1. It reads p.
        """
        x = _fz.arange(_integer("[random.choice] a", a, 1)) if _is_count(a) else _tensor(a)
        dims = _shape(shape)
        n, size = x.shape[axis], math.prod(dims)
        if n == 0 and size:
            raise ValueError("[random.choice] there is nothing to choose from.")
        if p is not None:
            p = _floating(p)
            if p.shape != (n,):
                raise ValueError(f"[random.choice] p has shape {p.shape}, not {(n,)}.")
        if not replace and size > n:
            raise ValueError(f"[random.choice] {size} of {n} elements need replacement.")
        if p is not None:
            _check_chances(p, None if replace else size)
        if p is None and replace:
            index = _fz.astype(_fz.floor(self.uniform(dims, dtype=_fz.float64) * n), _fz.int64)
        elif p is None:
            index = _fz.argsort(self.uniform((n,), dtype=_fz.float64))[:size].reshape(dims)
        elif replace:
            ends = _fz.cumsum(p.astype(_fz.float64))
            at = _fz.searchsorted(
                ends, self.uniform(dims, dtype=_fz.float64) * ends[-1], side="right"
            )
            index = _fz.minimum(at, n - 1)
        else:  # the largest of perturbed logarithms
            keys = _fz.log(p.astype(_fz.float64)) + self.gumbel(shape=(n,), dtype=_fz.float64)
            index = _fz.argsort(-keys)[:size].reshape(dims)
        return _fz.take(x, index, axis=axis)

    def dirichlet(
        self, alpha: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Dirichlet: rows of numbers that sum to 1, for alpha [..., k] > 0; shape is without k."""
        given = _tensor(alpha)
        if given.ndim == 0:
            raise ValueError("[random.dirichlet] alpha needs at least one axis, got a number.")
        if shape is not None:
            shape = (*_shape(shape), given.shape[-1])
        d = _Draw(self, "dirichlet", shape, dtype, device, alpha=given)
        _least(alpha, 0)
        if not given.shape[-1]:
            return d.out(d["alpha"])
        x = d.log_gamma("alpha")
        x = _fz.exp(x - _fz.max(x, axis=-1, keepdims=True))
        return d.out(x / _fz.sum(x, axis=-1, keepdims=True))

    def exponential(
        self, scale: Operand = 1.0, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Exponential with mean scale."""
        d = _Draw(self, "exponential", shape, dtype, device, scale=_least(scale, 0))
        return d.out(d.exponential() * d["scale"])

    def f(
        self, dfnum: Operand, dfden: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Fisher's F: the quotient of two chi-squared numbers by their degrees of freedom."""
        d = _Draw(self, "f", shape, dtype, device, m=_positive(dfnum), n=_positive(dfden))
        ratio = _fz.exp(d.log_gamma("m", 0.5) - d.log_gamma("n", 0.5))
        return d.out(ratio * d["n"] / d["m"])

    def gamma(
        self, a: Operand, scale: Operand = 1.0, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Gamma with density x^(a-1) exp(-x / scale) but for a factor: a > 0.

        By the method of Marsaglia and Tsang (2000).
        """
        d = _Draw(self, "gamma", shape, dtype, device, a=_positive(a), scale=_least(scale, 0))
        return d.out(_fz.exp(d.log_gamma("a")) * d["scale"])

    def geometric(
        self, p: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """How many trials it takes to succeed with probability 0 < p <= 1: from 1 on, int64."""
        d = _Draw(self, "geometric", shape, _fz.float64, device, p=_chance(_positive(p)))
        count = _fz.floor(d.exponential() / -_fz.log1p(-d["p"])) + 1.0
        return _counts(count, dtype)

    def gumbel(
        self, loc: Operand = 0.0, scale: Operand = 1.0, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Gumbel: the limit of maxima."""
        d = _Draw(self, "gumbel", shape, dtype, device, loc=loc, scale=_least(scale, 0))
        return d.out(d["loc"] - d["scale"] * _fz.log(-_fz.log(d.inside())))

    def laplace(
        self, loc: Operand = 0.0, scale: Operand = 1.0, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Laplace: exponential to both sides of loc."""
        d = _Draw(self, "laplace", shape, dtype, device, loc=loc, scale=_least(scale, 0))
        u = d.inside() - 0.5
        return d.out(d["loc"] - d["scale"] * _fz.sign(u) * _fz.log1p(-2.0 * _fz.abs(u)))

    def logistic(
        self, loc: Operand = 0.0, scale: Operand = 1.0, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Logistic, with the sigmoid of (x - loc) / scale as its distribution function."""
        d = _Draw(self, "logistic", shape, dtype, device, loc=loc, scale=_least(scale, 0))
        u = d.inside()
        return d.out(d["loc"] + d["scale"] * (_fz.log(u) - _fz.log1p(-u)))

    def lognormal(
        self, mean: Operand = 0.0, sigma: Operand = 1.0, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """exp of normal numbers with this mean and standard deviation."""
        d = _Draw(self, "lognormal", shape, dtype, device, mean=mean, sigma=_least(sigma, 0))
        return d.out(_fz.exp(d["mean"] + d["sigma"] * d.normal()))

    def multinomial(
        self, n: Operand, pvals: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """How often each of k outcomes occurs in n trials: pvals [..., k] sum to 1; int64 [..., k].

        One binomial draw an outcome; shape is without k. The last outcome has what others leave.
        """
        p = _tensor(pvals).astype(_fz.float64)
        if p.ndim == 0 or not p.shape[-1]:
            raise ValueError(
                f"[random.multinomial] pvals needs at least one outcome, got shape {p.shape}."
            )
        rest_of_one = 1.0 + 1e-12
        chances = _values(_chance(pvals)) or []
        for i in range(0, len(chances), p.shape[-1]):
            if (total := math.fsum(chances[i : i + p.shape[-1] - 1])) > rest_of_one:
                raise ValueError(
                    "[random.multinomial] all pvals but the last must sum to at most 1, got "
                    f"{total}."
                )
        d = _Draw(self, "multinomial", shape, _fz.float64, device,
                  n=_least(n, 0), row=p[..., 0])  # fmt: skip
        left, out = d["n"], []
        rest: Any = 1.0
        for i in range(p.shape[-1] - 1):
            share = _fz.clip(p[..., i] / _fz.maximum(rest, 1e-300), 0.0, 1.0)
            out.append(d.binomial(left, _fz.broadcast_to(share, d.shape)))
            left, rest = left - out[-1], rest - p[..., i]
        counts = _fz.stack([*out, left], axis=-1)
        return _counts(counts, dtype)

    def multivariate_normal(
        self, mean: Operand, cov: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Normal vectors of mean [..., k] and covariance [..., k, k]; shape is without k.

        LinAlgError if cov is not positive definite; only its lower triangle is read.
        """
        from frazil import linalg  # noqa: PLC0415 -- loaded at first use

        mu, spread = _tensor(mean), _tensor(cov)
        if mu.ndim < 1 or spread.ndim < 2 or spread.shape[-2:] != mu.shape[-1:] * 2:
            raise ValueError(
                f"[random.multivariate_normal] mean of shape (..., k) and cov of shape (..., k, k) "
                f"are needed, got {mu.shape} and {spread.shape}."
            )
        batch = _broadcast_shapes(mu.shape[:-1], spread.shape[:-2])
        batch = batch if shape is None else _shape(shape)
        wanted = _fz.runtime.default_dtype() if dtype is None else _fz.runtime.dtype(dtype)
        computed = _fz.float64 if wanted == _fz.float64 else _fz.float32
        factor = linalg.cholesky(spread.astype(computed))
        z = self.normal((*batch, mu.shape[-1]), dtype=computed, device=device)
        turned = _fz.squeeze(factor @ z[..., None], axis=-1)
        return (mu.astype(computed) + turned).astype(wanted)

    def negative_binomial(
        self, n: Operand, p: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """How many trials fail before n > 0 succeed, with probability p: int64."""
        d = _Draw(self, "negative_binomial", shape, _fz.float64, device,
                  n=_positive(n), p=_chance(_positive(p)))  # fmt: skip
        mean = _fz.exp(d.log_gamma("n")) * (1.0 - d["p"]) / d["p"]
        return _counts(d.poisson(mean), dtype)

    def pareto(
        self, a: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Pareto II (Lomax), as NumPy has it: from 0 on, with 1 - (1 + x)^-a; a > 0. One more is
        the classical one."""
        d = _Draw(self, "pareto", shape, dtype, device, a=_positive(a))
        return d.out(_fz.expm1(d.exponential() / d["a"]))

    def permutation(self, x: Any, axis: int = 0) -> Tensor:
        """arange(x), or an array along an axis, in random order."""
        x = _fz.arange(_integer("[random.permutation] x", x, 0)) if _is_count(x) else _tensor(x)
        if x.ndim == 0:
            raise ValueError("[random.permutation] needs at least one axis, got a number.")
        order = _fz.argsort(self.uniform((x.shape[axis],), dtype=_fz.float64))
        return _fz.take(x, order, axis=axis)

    def poisson(
        self, lam: Operand = 1.0, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Poisson with mean lam >= 0: int64.

        By inversion where lam is below 10, else by Hoermann's PTRS (1993).
        """
        d = _Draw(self, "poisson", shape, _fz.float64, device, lam=_least(lam, 0))
        return _counts(d.poisson(d["lam"]), dtype)

    def rayleigh(
        self, scale: Operand = 1.0, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Rayleigh: the length of a vector of two normal numbers with deviation scale."""
        d = _Draw(self, "rayleigh", shape, dtype, device, scale=_least(scale, 0))
        return d.out(d["scale"] * _fz.sqrt(2.0 * d.exponential()))

    def standard_cauchy(
        self, shape: Ints = (), *, dtype: DTypeLike | None = None, device: str | None = None
    ) -> Tensor:
        """Cauchy around 0."""
        d = _Draw(self, "standard_cauchy", shape, dtype, device)
        return d.out(_fz.tan((d.inside() - 0.5) * math.pi))

    def standard_t(
        self, df: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Student's t with df > 0 degrees of freedom."""
        d = _Draw(self, "standard_t", shape, dtype, device, df=_positive(df))
        return d.out(d.normal() * _fz.exp(-0.5 * (d.log_gamma("df", 0.5) - _fz.log(d["df"] * 0.5))))

    def triangular(
        self, left: Operand, mode: Operand, right: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """A density that rises from left to mode and falls to right: left <= mode <= right, and
        left < right."""
        _in_order(left, mode, right)
        d = _Draw(self, "triangular", shape, dtype, device, left=left, mode=mode, right=right)
        a, c, b, u = d["left"], d["mode"], d["right"], d.uniform()
        up = _fz.sqrt(u * (b - a) * (c - a))
        down = _fz.sqrt((1.0 - u) * (b - a) * (b - c))
        inside = (a <= c) & (c <= b) & (a < b)
        return d.out(_fz.where(inside, _fz.where(u * (b - a) < c - a, a + up, b - down), math.nan))

    def truncated_normal(
        self, lower: Operand, upper: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Standard normal numbers between lower and upper."""
        d = _Draw(self, "truncated_normal", shape, dtype, device, low=lower, high=upper)
        low, high = (d[name].astype(_fz.float64) for name in ("low", "high"))
        # Probabilities near 1 hold few digits: above 0 the numbers are those below, turned over.
        above = low > 0
        a = _fz.ndtr(_fz.where(above, -high, low))
        b = _fz.ndtr(_fz.where(above, -low, high))
        x = _fz.ndtri(a + (b - a) * d.inside().astype(_fz.float64))
        x = _fz.where(above, -x, x)
        return d.out(_fz.clip(x.astype(d.wide), d["low"], d["high"]))

    def wald(
        self, mean: Operand, scale: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Inverse Gaussian (Michael, Schucany and Haas 1976): mean, scale > 0."""
        d = _Draw(self, "wald", shape, dtype, device, mean=_positive(mean), scale=_positive(scale))
        m, z = d["mean"], d.normal()
        y = m * z * z / (2.0 * d["scale"])
        x = m / (1.0 + y + _fz.sqrt(y * (2.0 + y)))  # the smaller root
        return d.out(_fz.where(d.uniform() <= m / (m + x), x, m * m / x))

    def weibull(
        self, a: Operand, shape: Ints | None = None, *,
        dtype: DTypeLike | None = None, device: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Weibull with shape a > 0: 1 - exp(-x^a)."""
        d = _Draw(self, "weibull", shape, dtype, device, a=_positive(a))
        return d.out(d.exponential() ** (1.0 / d["a"]))


def _shape(shape):
    dims = [shape] if _is_count(shape) else shape
    return tuple(_integer("[random] an extent", n, 0) for n in dims)


def _values(given):
    """The numbers in what is no tensor; none of a tensor, which would have to be waited for."""
    if isinstance(given, Tensor):
        return []
    if hasattr(given, "tolist"):
        given = given.tolist()
    if isinstance(given, (list, tuple)):
        return [v for part in given for v in _values(part)]
    return [given] if isinstance(given, (int, float)) else []


def _positive(value):
    for v in _values(value):
        if not v > 0:
            raise ValueError(f"[random] a parameter must be positive, got {v}.")
    return value


def _least(value, least):
    for v in _values(value):
        _number("[random] a parameter", v, least)
    return value


def _chance(p):
    for v in _values(p):
        if not 0 <= v <= 1:
            raise ValueError(f"[random] a probability must lie from 0 to 1, got {v}.")
    return p


def _check_chances(p, size):
    """Refuses what is no distribution, and one with fewer outcomes than `size`, if given."""
    chances = p.astype(_fz.float64).tolist()
    _chance([v for v in chances if not v <= 1])  # above 1, and NaN
    _chance([v for v in chances if v < 0])
    total, close = math.fsum(chances), math.sqrt(_finfo(p.dtype).eps)
    if chances and abs(total - 1) > close:
        raise ValueError(f"[random.choice] probabilities must sum to 1, got {total}.")
    some = sum(v > 0 for v in chances)
    if size is not None and some < size:
        raise ValueError(
            f"[random.choice] {size} elements without replacement need as many probabilities above "
            f"0, got {some}."
        )


def _counts(value, dtype):
    return _fz.where(_fz.isnan(value), -1.0, value).astype(_fz.int64 if dtype is None else dtype)


class _Draw:
    """One draw: its shape, the dtype in which it computes, its parameters by name."""

    def __init__(self, generator, name, shape, dtype, device, **parameters):
        self.generator, self.device = generator, device
        self.dtype = _fz.runtime.default_dtype() if dtype is None else _fz.runtime.dtype(dtype)
        if self.dtype.kind != "real floating":
            raise TypeError(f"[random.{name}] needs a floating-point dtype, got {self.dtype.name}.")
        self.wide = self.dtype if self.dtype.itemsize >= 4 else _fz.float32
        given = {k: _tensor(v).astype(self.wide) for k, v in parameters.items()}
        common = _broadcast_shapes(*(v.shape for v in given.values())) if given else ()
        self.shape = common if shape is None else _shape(shape)
        if _broadcast_shapes(common, self.shape) != self.shape:
            raise ValueError(
                f"[random.{name}] parameters of shape {common} do not broadcast to {self.shape}."
            )
        self.parameters = given
        # The mean of counts if it is one number: then one of the two methods is enough.
        self.mean = None
        numbers = [v for v in parameters.values() if type(v) in (int, float)]
        if name == "poisson" and len(numbers) == 1:
            self.mean = numbers[0]
        elif name == "binomial" and len(numbers) == 2:
            self.mean = numbers[0] * min(numbers[1], 1 - numbers[1])

    def __getitem__(self, name):
        return self.parameters[name]

    def out(self, value):
        return _fz.broadcast_to(value, self.shape).astype(self.dtype)

    def uniform(self, *more):
        return self.generator.uniform((*more, *self.shape), dtype=self.wide, device=self.device)

    def normal(self, *more):
        return self.generator.normal((*more, *self.shape), dtype=self.wide, device=self.device)

    def inside(self):
        """Uniform in (0, 1)."""
        u = self.uniform()
        return _fz.maximum(u, 2.0**-54 if self.wide == _fz.float64 else 2.0**-25)

    def exponential(self):
        return -_fz.log1p(-self.uniform())

    def log_gamma(self, name, factor=1.0):
        """The logarithm of a gamma number: of small shapes the number itself may be 0."""
        a = _fz.detach(self[name]) * factor
        small = a < 1.0
        d = _fz.where(small, a + 1.0, a) - 1.0 / 3
        x, u = self.normal(_CANDIDATES), self.uniform(_CANDIDATES)
        v = (1.0 + x / _fz.sqrt(9.0 * d)) ** 3
        log_v = _fz.log(_fz.where(v > 0, v, 1.0))
        good = (v > 0) & (_fz.log(1.0 - u) < 0.5 * x * x + d - d * v + d * log_v)
        boost = _fz.log(1.0 - self.uniform()) / a  # u^(1/a) makes a of a + 1
        return _fz.log(d) + _first(good, log_v, 0.0) + _fz.where(small, boost, 0.0)

    def poisson(self, mean):
        """Counts as float64."""
        mean = _fz.detach(mean)
        out = self._by_mean(mean, lambda: self._few(mean), lambda: self._many(mean))
        return _fz.where(mean >= 0, out, math.nan)

    def _by_mean(self, mean, few, many):
        """Counts by the method for means below 10, or else by the other one; both draw the same
        numbers whatever the parameters are, unless the mean is one number."""
        if self.mean is not None:
            return few() if self.mean < 10 else many()
        return _fz.where(mean < 10, few(), many())

    def _few(self, mean):
        low = _fz.where(mean < 10, mean, 1.0)
        return _below(self.uniform(), _fz.exp(-low), lambda k: low / (k + 1.0))

    def _many(self, mean):
        m = _fz.where(mean < 10, 10.0, mean)
        b = 0.931 + 2.53 * _fz.sqrt(m)
        a = -0.059 + 0.02483 * b
        scale, quick = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2.0)
        k, us, v = self._hat(a, b, m + 0.43)
        exact = k * _fz.log(m) - m - _fz.gammaln(_fz.maximum(k, 0.0) + 1.0)
        found = self._taken(k, us, v, quick, scale / (a / (us * us) + b), exact, k >= 0)
        return _fz.where(found < 0, _fz.floor(m), found)

    def binomial(self, n, p):
        """Counts as float64."""
        n, p = (_fz.broadcast_to(_fz.detach(t), self.shape) for t in (n, p))
        q = _fz.minimum(p, 1.0 - p)
        mean = n * q
        few = lambda: self._few_of(n, _fz.where(mean < 10, q, 0.0))  # noqa: E731
        many = lambda: self._many_of(_fz.where(mean < 10, 40.0, n), _fz.where(mean < 10, 0.5, q))  # noqa: E731
        out = self._by_mean(mean, few, many)
        out = _fz.where(p > 0.5, n - out, out)
        return _fz.where((n >= 0) & (p >= 0) & (p <= 1), out, math.nan)

    def _few_of(self, n, q):
        odds = q / (1.0 - q)
        none = _fz.exp(n * _fz.log1p(-q))
        ratio = lambda k: odds * _fz.maximum(n - k, 0.0) / (k + 1.0)  # noqa: E731
        return _fz.minimum(_below(self.uniform(), none, ratio), n)

    def _many_of(self, n, q):
        deviation = _fz.sqrt(n * q * (1.0 - q))
        b = 1.15 + 2.53 * deviation
        a = -0.0873 + 0.0248 * b + 0.01 * q
        alpha, quick = (2.83 + 5.1 / b) * deviation, 0.92 - 4.2 / b
        mode = _fz.floor((n + 1.0) * q)
        k, us, v = self._hat(a, b, n * q + 0.5)
        safe = _fz.clip(k, 0.0, n)
        exact = _fz.gammaln(mode + 1.0) + _fz.gammaln(n - mode + 1.0)
        exact = exact - _fz.gammaln(safe + 1.0) - _fz.gammaln(n - safe + 1.0)
        exact = exact + (safe - mode) * _fz.log(q / (1.0 - q))
        inside = (k >= 0) & (k <= n)
        found = self._taken(k, us, v, quick, alpha / (a / (us * us) + b), exact, inside)
        return _fz.where(found < 0, mode, found)

    def _hat(self, a, b, centre):
        """Candidates under the hat of transformed rejection: counts, and what decides."""
        u, v = self.uniform(_TRIES) - 0.5, 1.0 - self.uniform(_TRIES)
        us = 0.5 - _fz.abs(u)
        us = _fz.maximum(us, 2.0**-54)
        return _fz.floor((2.0 * a / us + b) * u + centre), us, v

    def _taken(self, k, us, v, quick, scale, exact, inside):
        """The first candidate under the density, or -1."""
        squeezed = (us >= 0.07) & (v <= quick)
        wrong = ~inside | ((us < 0.013) & (v > us))
        return _first(squeezed | (~wrong & (_fz.log(v * scale) <= exact)), k, -1.0)


def _first(good, candidates, otherwise):
    """The first good one along the first axis."""
    n = good.shape[0]
    at = _fz.argmax(good, axis=0)
    chosen = (_fz.arange(n).reshape((n,) + (1,) * at.ndim) == at) & good
    out = _fz.sum(_fz.where(chosen, candidates, 0.0), axis=0)
    return _fz.where(_fz.any(good, axis=0), out, otherwise)


def _below(u, mass, ratio):
    """How many steps the distribution function stays at or below u: mass of 0, then ratios."""
    total, count = mass, u * 0.0
    for k in range(_STEPS):
        count = count + (u >= total).astype(u.dtype)
        mass = mass * ratio(float(k))
        total = total + mass
    return count
