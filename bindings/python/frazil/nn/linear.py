"""Products with weights: linear layers, tables of vectors by index, and the identity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil import random as _random
from frazil._grad import no_grad as _no_grad
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil._parameters import Parameter
from frazil.nn._arguments import one_of, uniform
from frazil.nn._autocast import lowers
from frazil.nn.module import Module

if TYPE_CHECKING:
    from frazil._frazil import Tensor
    from frazil._types import DTypeLike

__all__ = ["Bilinear", "Embedding", "EmbeddingBag", "Flatten", "Identity", "Linear", "Unflatten"]


@lowers
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias, over the last axis; weight is (out, in).

    >>> linear(_fz.ones((2, 3)), _fz.ones((1, 3))).tolist()
    [[3.0], [3.0]]
    """
    y = input @ weight.T
    return y if bias is None else y + bias


@lowers
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """y[..., k] = input1 weight[k] input2 + bias[k]; weight is (out, in1, in2)."""
    y = ((input1[..., None, None, :] @ weight)[..., 0, :] * input2[..., None, :]).sum(axis=-1)
    return y if bias is None else y + bias


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
) -> Tensor:
    """Rows of weight by index. The row padding_idx gets no gradient; with max_norm, rows that are
    used and have a larger norm are scaled to it first, in weight itself.

    >>> embedding(_fz.asarray([1, 1]), _fz.asarray([[0.0, 1.0], [2.0, 3.0]])).tolist()
    [[2.0, 3.0], [2.0, 3.0]]
    """
    if max_norm is not None:
        with _no_grad():
            norm = (abs(weight) ** norm_type).sum(axis=1, keepdims=True) ** (1 / norm_type)
            used = _fz.zeros((weight.shape[0],), dtype="bool")
            used[input] = True
            large = used[:, None] & (norm > max_norm)
            weight[...] = _fz.where(large, weight * (max_norm / (norm + 1e-7)), weight)
    if padding_idx is not None:
        padding_idx = padding_idx % weight.shape[0]
        row = (_fz.arange(weight.shape[0]) == padding_idx)[:, None]
        weight = _fz.where(row, weight.detach(), weight)
    return _fz.take(weight, input, axis=0)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    mode: str = "mean",
    per_sample_weights: Tensor | None = None,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima ("sum", "mean", "max") of rows of weight: a bag is a row of an input of
    two axes, or begins at each of the offsets into one of one axis. Indices that are padding_idx
    are left out; an empty bag gives 0.
    """
    one_of("[embedding_bag] mode", mode, "sum", "mean", "max")
    if per_sample_weights is not None and mode != "sum":
        raise ValueError(f'[embedding_bag] per_sample_weights need mode "sum", got {mode!r}.')
    if (offsets is None) != (input.ndim == 2):
        raise ValueError(
            "[embedding_bag] offsets go with an input of one axis, and with it alone: input of "
            f"shape {input.shape}, offsets {None if offsets is None else offsets.shape}."
        )
    if offsets is not None:  # bag b has the places from offsets[b] to offsets[b + 1]
        places = _fz.arange(input.shape[0])
        ends = _fz.concat([offsets[1:], _fz.asarray([input.shape[0]], dtype=offsets.dtype)])
        member = (places >= offsets[:, None]) & (places < ends[:, None])
    else:
        member = _fz.ones(input.shape, dtype="bool")
    if padding_idx is not None:
        member = member & (input != padding_idx % weight.shape[0])
    rows = _fz.take(weight, input, axis=0)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[..., None]
    if mode == "max":
        chosen = _fz.where(member[..., None], rows, -math.inf).max(axis=1)
        return _fz.where(member.any(axis=1)[:, None], chosen, 0.0)
    total = _fz.where(member[..., None], rows, 0.0).sum(axis=1)
    if mode == "sum":
        return total
    return total / _fz.maximum(member.sum(axis=1), 1)[:, None].astype(total.dtype)


class Identity(Module):
    """Gives back what it gets; takes and ignores any arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def forward(self, input: Any) -> Any:
        return input


class Flatten(Module):
    """Makes one axis of those from start_dim to end_dim."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim = _integer("[nn.Flatten] start_dim", start_dim)
        self.end_dim = _integer("[nn.Flatten] end_dim", end_dim)

    def forward(self, input: Tensor) -> Tensor:
        start, end = self.start_dim % input.ndim, self.end_dim % input.ndim
        shape = input.shape
        return input.reshape((*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Makes several axes, of extents unflattened_size, of the axis dim."""

    def __init__(self, dim: int, unflattened_size: tuple[int, ...]) -> None:
        self.dim = _integer("[nn.Unflatten] dim", dim)
        self.unflattened_size = tuple(
            _integer("[nn.Unflatten] unflattened_size", n) for n in unflattened_size
        )

    def forward(self, input: Tensor) -> Tensor:
        dim = self.dim % input.ndim
        return input.reshape((*input.shape[:dim], *self.unflattened_size, *input.shape[dim + 1 :]))

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Linear(Module):
    """x @ weight.T + bias; the weight has shape (out_features, in_features)."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        self.in_features = _integer("[nn.Linear] in_features", in_features, 0)
        self.out_features = _integer("[nn.Linear] out_features", out_features, 0)
        bias = _flag("[nn.Linear] bias", bias)
        bound = 1 / math.sqrt(in_features) if in_features else 0.0
        self.weight = uniform((self.out_features, self.in_features), bound, device, dtype)
        self.bias = uniform((self.out_features,), bound, device, dtype) if bias else None

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)

    def _multiply_adds(self, args: Any, result: Tensor) -> int:
        """Of the products of one call, for nn.summary."""
        return result.size * self.in_features

    def extra_repr(self) -> str:
        text = f"{self.in_features}, {self.out_features}"
        return text + ("" if self.bias is not None else ", bias=False")


class Bilinear(Module):
    """y[..., k] = x1 weight[k] x2 + bias[k]; the weight is (out, in1, in2)."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        names = {"in1_features": in1_features, "in2_features": in2_features}
        shape = [_integer("[nn.Bilinear] out_features", out_features, 0)]
        shape += [_integer(f"[nn.Bilinear] {name}", n, 1) for name, n in names.items()]
        bound = 1 / math.sqrt(in1_features)
        self.weight = uniform(shape, bound, device, dtype)
        bias = _flag("[nn.Bilinear] bias", bias)
        self.bias = uniform(shape[:1], bound, device, dtype) if bias else None

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return bilinear(input1, input2, self.weight, self.bias)

    def _multiply_adds(self, args: Any, result: Tensor) -> int:
        return result.size * (self.weight.shape[1] + 1) * self.weight.shape[2]

    def extra_repr(self) -> str:
        n, n1, n2 = self.weight.shape
        return f"{n1}, {n2}, {n}" + ("" if self.bias is not None else ", bias=False")


class Embedding(Module):
    """Rows of a table by integer index (see functional.embedding)."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        device: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        self.weight = _table(
            "nn.Embedding", num_embeddings, embedding_dim, padding_idx, device, dtype
        )

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None
    ) -> Embedding:
        """A layer with this table, which is not trained unless freeze=False."""
        rows, width = embeddings.shape
        layer = cls(rows, width, padding_idx)
        layer.weight = Parameter(embeddings, requires_grad=not freeze)
        return layer

    def forward(self, input: Tensor) -> Tensor:
        return embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type)

    def extra_repr(self) -> str:
        text = "{}, {}".format(*self.weight.shape)
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"


class EmbeddingBag(Module):
    """Sums, means or maxima of rows of a table by integer index (see functional.embedding_bag)."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        mode: str = "mean",
        padding_idx: int | None = None,
        device: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        self.mode = one_of("[nn.EmbeddingBag] mode", mode, "sum", "mean", "max")
        self.padding_idx = padding_idx
        self.weight = _table(
            "nn.EmbeddingBag", num_embeddings, embedding_dim, padding_idx, device, dtype
        )

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        return embedding_bag(
            input, self.weight, offsets, self.mode, per_sample_weights, self.padding_idx
        )

    def extra_repr(self) -> str:
        return "{}, {}, mode={!r}".format(*self.weight.shape, self.mode)


def _table(where, num_embeddings, embedding_dim, padding_idx, device, dtype):
    rows = _integer(f"[{where}] num_embeddings", num_embeddings, 0)
    shape = rows, _integer(f"[{where}] embedding_dim", embedding_dim, 0)
    weight = _random.normal(shape, device=device, dtype=dtype)
    if padding_idx is not None:
        if not -rows <= _integer(f"[{where}] padding_idx", padding_idx) < rows:
            raise ValueError(f"[{where}] padding_idx {padding_idx} is none of {rows} rows.")
        weight[padding_idx] = 0.0
    return Parameter(weight)
