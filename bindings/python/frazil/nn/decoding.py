"""What models that write text use: rotary positions, and caches of keys and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil._grad import no_grad as _no_grad
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil._named import number as _number
from frazil.nn.module import Module

if TYPE_CHECKING:
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
    """Keys and values of the positions so far, so that each step of decoding computes those of its
    own position alone.

    The buffers keys and values are (batch_size, num_heads, max_length, head_dim), length counts the
    positions that are filled. Shapes never change, so a traced step is one program at every
    position. They are moved but not saved with a model, and no gradient flows through them.

    >>> from frazil import nn
    >>> cache = nn.KVCache(1, 2, 16, 4)
    >>> keys, values, mask = cache.update(_fz.ones((1, 2, 3, 4)), _fz.ones((1, 2, 3, 4)))
    >>> keys.shape, mask.shape, int(cache.length)
    ((1, 2, 16, 4), (3, 16), 3)
    >>> q = _fz.ones((1, 2, 3, 4))
    >>> nn.functional.scaled_dot_product_attention(q, keys, values, mask).shape
    (1, 2, 3, 4)
    """

    keys: Tensor
    values: Tensor
    length: Tensor

    def __init__(
        self,
        batch_size: int,
        num_heads: int,
        max_length: int,
        head_dim: int,
        device: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        extents = {
            "batch_size": batch_size,
            "num_heads": num_heads,
            "max_length": max_length,
            "head_dim": head_dim,
        }
        shape = tuple([_integer(f"[nn.KVCache] {name}", n, 1) for name, n in extents.items()])
        for name in ("keys", "values"):
            self.register_buffer(name, _fz.zeros(shape, dtype=dtype, device=device), False)
        self.register_buffer("length", _fz.zeros((), dtype="int64", device=device), False)

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Writes keys and values (batch_size, num_heads, t, head_dim) behind those that are there.

        Returns
        -------
        (keys, values, mask)
            The buffers, which later steps write to, and the attn_mask (t, max_length) with which
            scaled_dot_product_attention shows each of the t queries the positions up to its own.

        Raises
        ------
        IndexError
            If positions are more than max_length.
        ValueError
            If shapes differ from the cache's.
        """
        n, heads, longest, d = self.keys.shape
        t = key.shape[-2] if key.ndim > 1 else 0
        if not key.shape == value.shape == (n, heads, t, d):
            raise ValueError(
                f"[nn.KVCache] key and value must be ({n}, {heads}, t, {d}), got shapes "
                f"{key.shape} and {value.shape}."
            )
        at = self.length + _fz.arange(t, device=self.keys.device)
        with _no_grad():
            self.keys[:, :, at] = key.detach()
            self.values[:, :, at] = value.detach()
            self.length += t
        mask = _fz.arange(longest, device=self.keys.device) <= at[:, None]
        return self.keys, self.values, mask

    def reset(self) -> None:
        """Forgets all positions."""
        self.length[...] = 0

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.keys.shape))
