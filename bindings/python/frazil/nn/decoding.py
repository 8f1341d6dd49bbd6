"""What models that write text use: rotary positions, and caches of keys and values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil._frazil import nn as _ops
from frazil._grad import no_grad as _no_grad
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil._named import number as _number
from frazil.nn.attention_layers import attention_scale, causal_mask, is_half
from frazil.nn.module import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._frazil import Tensor
    from frazil._types import DTypeLike

__all__ = ["KVCache", "RotaryEmbedding"]


def apply_rotary(input: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False) -> Tensor:
    """Turns pairs of features by angles (Su et al. 2021): (a, b) becomes
    (a cos - b sin, b cos + a sin).

    cos and sin broadcast to (..., r / 2) for the first r features of an input (..., d); the others
    stay. Pair i is the features i and i + r / 2, as in Llama; with interleaved=True the features 2i
    and 2i + 1, as in GPT-J. Computes in the dtype of cos; the result has the input's.

    ValueError if r is more than d.

    >>> x = _fz.asarray([1.0, 2.0, 3.0, 4.0])
    >>> quarter = _fz.asarray([0.0, 0.0]), _fz.asarray([1.0, 1.0])
    >>> apply_rotary(x, *quarter).tolist(), apply_rotary(x, *quarter, interleaved=True).tolist()
    ([-3.0, -4.0, 1.0, 2.0], [-2.0, 1.0, -4.0, 3.0])
    """
    half, d = cos.shape[-1], input.shape[-1]
    if 2 * half > d or sin.shape[-1] != half:
        raise ValueError(
            f"[apply_rotary] cos and sin turn 2 * {half} and 2 * {sin.shape[-1]} features of {d}."
        )
    x = input[..., : 2 * half]
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    turned = a * cos - b * sin, b * cos + a * sin
    if interleaved:
        y = _fz.stack(turned, axis=-1)
        y = y.reshape((*y.shape[:-2], 2 * half))
    else:
        y = _fz.concat(turned, axis=-1)
    y = y.astype(input.dtype)
    return y if 2 * half == d else _fz.concat([y, input[..., 2 * half :]], axis=-1)


class RotaryEmbedding(Module):
    """Positions as angles by which pairs of the first `dim` features are turned (see
    functional.apply_rotary): position p turns pair i by p * base ** (-2 i / dim).

    >>> from frazil import nn
    >>> q = _fz.ones((2, 4, 5, 8))
    >>> nn.RotaryEmbedding(8)(q).shape
    (2, 4, 5, 8)
    """

    def __init__(self, dim: int, base: float = 10000.0, interleaved: bool = False) -> None:
        self.dim = _integer("[nn.RotaryEmbedding] dim", dim, 2)
        if self.dim % 2:
            raise ValueError(f"[nn.RotaryEmbedding] dim must be even, got {dim}.")
        self.base = _number("[nn.RotaryEmbedding] base", base, 0)
        self.interleaved = _flag("[nn.RotaryEmbedding] interleaved", interleaved)

    def forward(self, input: Tensor, positions: Tensor | None = None) -> Tensor:
        """input (..., t, d) turned by positions, integers that broadcast to (..., t): 0 to t - 1 if
        not given. Angles are of float32, of float64 where the input is.
        """
        if positions is None:
            positions = _fz.arange(input.shape[-2], device=input.device)
        dtype = "float64" if input.dtype.name == "float64" else "float32"
        pairs = _fz.arange(0, self.dim, 2, dtype=dtype, device=input.device)
        angles = positions.astype(dtype)[..., None] * self.base ** (pairs / -self.dim)
        return apply_rotary(input, _fz.cos(angles), _fz.sin(angles), self.interleaved)

    def extra_repr(self) -> str:
        text = f"{self.dim}, base={self.base}"
        return f"{text}, interleaved=True" if self.interleaved else text


class KVCache(Module):
    """Keys and values of the positions so far in all layers of a model, so that each step of
    decoding computes those of its own positions alone.

    A step calls attend in each layer, then append once, with what all layers made. So the only
    write is the last thing that a step does: a traced one, too, writes in place, and as shapes
    never change it is one program at every position.

    The buffer state is (num_layers, 2, batch_size, num_heads, max_length, head_dim), length counts
    the positions that are filled. They are moved but not saved with a model, and no gradient flows
    through them.

    >>> from frazil import nn
    >>> cache = nn.KVCache(1, 2, 4, 16, 8)
    >>> q = k = v = _fz.ones((2, 4, 3, 8))
    >>> y = cache.attend(0, q, k, v)
    >>> cache.append([k], [v])
    >>> y.shape, int(cache.length)
    ((2, 4, 3, 8), 3)
    """

    state: Tensor
    length: Tensor

    def __init__(
        self,
        num_layers: int,
        batch_size: int,
        num_heads: int,
        max_length: int,
        head_dim: int,
        device: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        extents = {
            "num_layers": num_layers,
            "batch_size": batch_size,
            "num_heads": num_heads,
            "max_length": max_length,
            "head_dim": head_dim,
        }
        layers, *rest = [_integer(f"[nn.KVCache] {name}", n, 1) for name, n in extents.items()]
        state = _fz.zeros((layers, 2, *rest), dtype=dtype, device=device)
        self.register_buffer("state", state, False)
        self.register_buffer("length", _fz.zeros((), dtype="int64", device=device), False)

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None = None
    ) -> Tensor:
        """Attention of the next t positions, in one of the layers, to those so far and to each
        other, causally: query, key, value and result are (batch_size, num_heads, t, head_dim).

        query may have a multiple of num_heads: several in a row for each head of keys and values.
        scale is 1 / sqrt(head_dim) if not given. ValueError if shapes differ from the cache's.
        """
        _, _, n, heads, longest, d = self.state.shape
        shape = query.shape
        groups, t = (shape[1] // heads, shape[2]) if query.ndim == 4 else (0, 0)
        if not groups or shape != (n, groups * heads, t, d):
            raise ValueError(
                f"[nn.KVCache] query must be ({n}, heads, t, {d}), heads a multiple of {heads}, "
                f"got shape {shape}."
            )
        self._check(t, key, value)
        query = (query * attention_scale(d, scale)).reshape((n, heads, groups * t, d))
        behind = _fz.where(_fz.arange(longest, device=key.device) < self.length, 0.0, -math.inf)
        old = (query @ self.state[layer, 0].mT).astype("float32" if is_half(query) else query.dtype)
        new = (query @ key.mT).astype(old.dtype)
        if t > 1:
            seen = causal_mask(t, t, key.device)
            new = _fz.where(_fz.concat([seen] * groups), new, -math.inf)
        scores = _fz.concat([old + behind.astype(old.dtype), new], axis=-1)
        weights = _ops.softmax(scores).astype(query.dtype)
        y = weights[..., :longest] @ self.state[layer, 1] + weights[..., longest:] @ value
        return y.reshape(shape)

    def append(self, keys: Sequence[Tensor], values: Sequence[Tensor]) -> None:
        """Writes the keys and values that attend was given, one of each layer, behind those that
        are there.

        Raises
        ------
        IndexError
            If positions are more than max_length. The cache is as it was.
        ValueError
            If there are not as many as layers, or shapes differ from the cache's.
        """
        layers = self.state.shape[0]
        if not len(keys) == len(values) == layers:
            raise ValueError(
                f"[nn.KVCache] needs keys and values of {layers} layers, got {len(keys)} and "
                f"{len(values)}."
            )
        t = keys[0].shape[-2] if keys[0].ndim > 1 else 0
        for key, value in zip(keys, values, strict=True):
            self._check(t, key, value)
        at = self.length + _fz.arange(t, device=self.state.device)
        with _no_grad():
            both = _fz.stack([_fz.stack(list(keys)), _fz.stack(list(values))], axis=1)
            self.state[:, :, :, :, at] = both.detach()
            self.length += t

    def _check(self, t, key, value):
        _, _, n, heads, _, d = self.state.shape
        if not key.shape == value.shape == (n, heads, t, d):
            raise ValueError(
                f"[nn.KVCache] key and value must be {(n, heads, t, d)}, got shapes {key.shape} "
                f"and {value.shape}."
            )

    def reset(self) -> None:
        """Forgets all positions."""
        self.state[...] = 0  # a NaN would come through a weight of 0
        self.length[...] = 0

    def extra_repr(self) -> str:
        layers, _, *rest = self.state.shape
        return ", ".join(map(str, (layers, *rest)))
