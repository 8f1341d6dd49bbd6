"""Attention of queries to keys under masks, and the layer of several heads with its projections."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil import random as _random
from frazil._frazil import nn as _ops
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil._named import number as _number
from frazil._parameters import Parameter
from frazil.nn._arguments import divides, filled, uniform
from frazil.nn._autocast import lowers
from frazil.nn.dropout import dropout
from frazil.nn.linear import Linear, linear
from frazil.nn.module import Module

if TYPE_CHECKING:
    from frazil._frazil import Tensor
    from frazil._types import DTypeLike

__all__ = ["MultiheadAttention"]

_MANY = 8  # queries from which a copy of the keys is cheaper than the scores in memory


@lowers
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query key^T * scale + attn_mask) value (Vaswani et al. 2017), for query (..., t, d),
    key (..., s, d) and value (..., s, w): (..., t, w), of floats. Leading axes broadcast; scale is
    1 / sqrt(d) if not given.

    attn_mask broadcasts to (..., t, s): a bool one is true where a query sees a key, a float one is
    added to the scores. is_causal: query i sees the keys up to i. A query that sees no key gives 0.
    dropout_p is the share of weights that is set to 0, whoever calls: pass 0 in evaluation.
    enable_gqa: queries have several heads (axis -3) for each one of keys and values, which follow
    one another.

    Without dropout, and with no mask or one that is the same for all queries, it is nn.attention,
    which makes no array of t x s. 16-bit floats compute in float32. ValueError if shapes do not
    match, or with both a mask and is_causal; TypeError if dtypes differ.

    >>> q, k = _fz.asarray([[1.0, 0.0]]), _fz.asarray([[1.0, 0.0], [0.0, 1.0]])
    >>> scaled_dot_product_attention(q, k, k, _fz.asarray([True, False])).tolist()
    [[1.0, 0.0]]
    """
    op = "[scaled_dot_product_attention]"
    _check_operands(op, query, key, value)
    if is_causal and attn_mask is not None:
        raise ValueError(f"{op} takes attn_mask or is_causal, not both: mask of {attn_mask.shape}.")
    if enable_gqa:
        return _grouped(op, query, key, value, attn_mask, dropout_p, is_causal, scale)
    return _attend(op, query, key, value, attn_mask, dropout_p, is_causal, scale)


def _attend(op, query, key, value, mask, p, is_causal, scale=None):
    """Under a mask and is_causal both."""
    t, s = query.shape[-2], key.shape[-2]
    aligned = is_causal and t == s and not p
    of_keys = mask is not None and not p and _is_of_keys(query, key, mask)
    if aligned and of_keys:
        return _attention_to_shown(op, query, key, value, mask, True, scale)
    if is_causal and not (aligned and mask is None):
        is_causal, mask, of_keys = False, and_causal(mask, t, s, query.device), False
    if mask is None and not p:
        return _ops.attention(query, key, value, causal=is_causal, scale=scale)
    if of_keys:
        return _attention_to_shown(op, query, key, value, mask, False, scale)
    dtype = query.dtype
    query, key, value = (_wide(x) for x in (query, key, value))
    weights = dropout(attention_weights(op, query, key, mask, scale), p)
    return (weights @ value).astype(dtype)


def _is_of_keys(query, key, attn_mask):
    """Whether a mask is the same for all queries, which are many enough for a copy of the keys."""
    lead = attn_mask.shape[:-2]
    return (
        query.shape[-2] >= _MANY
        and attn_mask.shape[-1:] == key.shape[-2:-1]
        and attn_mask.shape[-2:-1] in ((), (1,))
        and len(lead) <= key.ndim - 2
        and all(m in (1, n) for m, n in zip(reversed(lead), reversed(key.shape[:-2]), strict=False))
    )


def _attention_to_shown(op, query, key, value, attn_mask, is_causal, scale):
    """nn.attention under a mask of keys. It is one more feature, which is 1 in all queries: so what
    it adds to a score depends on the key alone, and no array of t x s is made.
    """
    dtype, d = query.dtype, query.shape[-1]
    query, key, value = (_wide(x) for x in (query, key, value))
    shown = _shown(op, attn_mask)
    added = _fz.zeros((), key.dtype, device=key.device) if shown is attn_mask else attn_mask
    # Large, not infinite: a gradient multiplies it by 0.
    hidden = -1e300 if key.dtype.name == "float64" else -1e38
    added = _fz.where(shown, added.astype(key.dtype), hidden)
    added = added[None] if added.ndim == 1 else added
    added = _fz.broadcast_to(added.mT, (*key.shape[:-1], 1))
    ones = _fz.ones((*query.shape[:-1], 1), dtype=query.dtype, device=query.device)
    query = _fz.concat([query * attention_scale(d, scale), ones], axis=-1)
    key = _fz.concat([key, added], axis=-1)
    y = _ops.attention(query, key, value, causal=is_causal, scale=1.0)
    if is_causal:  # as many queries as keys
        seen = _fz.cumsum(shown.astype("int32"), axis=-1)[..., None] > 0
        seen = seen[..., 0, :, :] if shown.ndim > 1 else seen
    else:
        seen = shown.any(axis=-1, keepdims=True)
    return _fz.where(seen, y, 0.0).astype(dtype)


def attention_weights(op, query, key, attn_mask, scale=None):
    """softmax(query key^T * scale + attn_mask); 0 for queries that see no key."""
    scores = (query * attention_scale(query.shape[-1], scale)) @ key.mT
    if attn_mask is None:
        return _softmax(scores)
    fits = zip(reversed(attn_mask.shape), reversed(scores.shape), strict=False)
    if attn_mask.ndim > scores.ndim or not all(m in (1, n) for m, n in fits):
        raise ValueError(
            f"{op} attn_mask must broadcast to the scores: shapes {attn_mask.shape} and "
            f"{scores.shape}."
        )
    # Where no key is seen all are, and the weights become 0: so gradients are 0, not NaN.
    shown = _shown(op, attn_mask)
    seen = shown.any(axis=-1, keepdims=True)
    if shown is attn_mask:
        scores = _fz.where(attn_mask | ~seen, scores, -math.inf)
    else:
        scores = scores + _fz.where(seen, attn_mask, 0.0).astype(scores.dtype)
    return _fz.where(seen, _softmax(scores), 0.0)


def attention_scale(d, scale):
    return scale if scale is not None else 1 / math.sqrt(d) if d else 1.0


def _shown(op, attn_mask):
    """Where a mask shows a key: itself, if it is one of bools."""
    if attn_mask.dtype.kind == "bool":
        return attn_mask
    if attn_mask.dtype.kind != "real floating":
        raise TypeError(f"{op} attn_mask must be of bools or floats, got {attn_mask.dtype.name}.")
    return attn_mask > -math.inf


def _softmax(scores):
    return _ops.softmax(scores) if scores.shape[-1] else scores  # of no keys


def causal_mask(t, s, device=None):
    """(t, s), true where query i sees key j: j <= i."""
    return _fz.arange(s, device=device) <= _fz.arange(t, device=device)[:, None]


def and_causal(mask, t, s, device):
    """A mask, if there is one, that hides from query i the keys behind i, too."""
    seen = causal_mask(t, s, device)
    if mask is None:
        return seen
    return mask & seen if mask.dtype.kind == "bool" else _fz.where(seen, mask, -math.inf)


def _wide(x):
    return x.astype("float32") if is_half(x) else x


def is_half(x):
    return x.dtype.name in ("float16", "bfloat16")


def _check_operands(op, query, key, value):
    shapes = f"query {query.shape}, key {key.shape}, value {value.shape}"
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ValueError(f"{op} needs at least two axes: {shapes}.")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"{op} needs query (..., t, d), key (..., s, d) and value (..., s, w): {shapes}."
        )
    if not query.dtype == key.dtype == value.dtype:
        names = f"{query.dtype.name}, {key.dtype.name} and {value.dtype.name}"
        raise TypeError(f"{op} query, key and value must have one dtype, got {names}.")


def _grouped(op, query, key, value, attn_mask, dropout_p, is_causal, scale):
    """Attention with an axis of groups behind that of the heads of keys."""
    heads = [x.shape[-3] if x.ndim > 2 else 1 for x in (query, key, value)]
    if heads[1] != heads[2] or not heads[1] or heads[0] % heads[1]:
        raise ValueError(
            f"{op} the heads of query must be a multiple of those of key and value, which are "
            f"equal: {heads[0]}, {heads[1]} and {heads[2]}."
        )

    def split(x, n):
        return x.reshape((*x.shape[:-3], n, x.shape[-3] // n, *x.shape[-2:]))

    query, key, value = split(query, heads[1]), key[..., None, :, :], value[..., None, :, :]
    if attn_mask is not None and attn_mask.ndim > 2:
        one = attn_mask.shape[-3] == 1
        attn_mask = attn_mask[..., None, :, :] if one else split(attn_mask, heads[1])
    y = scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale)
    return y.reshape((*y.shape[:-4], heads[0], *y.shape[-2:]))


class MultiheadAttention(Module):
    """Attention of several heads, each of embed_dim // num_heads features, between products with
    weights (Vaswani et al. 2017).

    kdim and vdim are the features of keys and values, embed_dim if not given. add_bias_kv adds a
    learnt key and value to each sequence, add_zero_attn one of zeros. batch_first=True takes
    (n, t, features), otherwise it is (t, n, features); without n one sequence.

    >>> from frazil import nn
    >>> layer, x = nn.MultiheadAttention(8, 2, batch_first=True), _fz.ones((3, 5, 8))
    >>> y, weights = layer(x, x, x)
    >>> y.shape, weights.shape
    ((3, 5, 8), (3, 5, 5))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        where = "[nn.MultiheadAttention]"
        self.embed_dim = e = _integer(f"{where} embed_dim", embed_dim, 1)
        self.num_heads = _integer(f"{where} num_heads", num_heads, 1)
        divides(where, e, self.num_heads, "embed_dim", "num_heads")
        self.head_dim = e // self.num_heads
        self.dropout = _number(f"{where} dropout", dropout, 0)
        self.kdim = e if kdim is None else _integer(f"{where} kdim", kdim, 1)
        self.vdim = e if vdim is None else _integer(f"{where} vdim", vdim, 1)
        self.batch_first = _flag(f"{where} batch_first", batch_first)
        self.add_zero_attn = _flag(f"{where} add_zero_attn", add_zero_attn)
        bias = _flag(f"{where} bias", bias)

        def glorot(rows, columns):
            return uniform((rows, columns), math.sqrt(6 / (rows + columns)), device, dtype)

        one = self.kdim == e and self.vdim == e
        self.in_proj_weight = glorot(3 * e, e) if one else None
        self.q_proj_weight = None if one else glorot(e, e)
        self.k_proj_weight = None if one else glorot(e, self.kdim)
        self.v_proj_weight = None if one else glorot(e, self.vdim)
        self.in_proj_bias = filled((3 * e,), 0.0, device, dtype) if bias else None
        self.out_proj = Linear(e, e, bias, device, dtype)
        if self.out_proj.bias is not None:
            self.out_proj.bias = filled((e,), 0.0, device, dtype)
        self.bias_k: Tensor | None = None
        self.bias_v: Tensor | None = None
        if _flag(f"{where} add_bias_kv", add_bias_kv):
            self.bias_k, self.bias_v = (
                Parameter(_random.normal((1, 1, e), device=device, dtype=dtype) / math.sqrt(e))
                for _ in range(2)
            )

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Results like query, and weights (n, t, s) or None.

        Parameters
        ----------
        key_padding_mask : tensor, optional
            (n, s), true at the keys that no query sees, or floats that are added to scores.
        need_weights : bool
            Whether weights are returned. False is faster: they are not made where no mask needs
            them.
        attn_mask : tensor, optional
            (t, s) or (n * num_heads, t, s), true where a query does not see a key, or floats that
            are added to scores.
        average_attn_weights : bool
            False returns the weights of each head: (n, num_heads, t, s).
        is_causal : bool
            Query i sees the keys up to i. An attn_mask that says the same may be left out.

        Raises
        ------
        ValueError
            If a shape does not fit the layer or the other shapes.
        """
        batched, first = query.ndim == 3, self.batch_first
        self._check(query, key, value)
        if not batched:
            query, key, value = (x[None] if first else x[:, None] for x in (query, key, value))
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask[None]
        q, k, v = self._projected(query, key, value)
        n, _, t, _ = q.shape
        s = k.shape[-2]
        k, v, more = self._lengthened(k, v, n)
        causal = is_causal and not need_weights and not more  # attn_mask says no more than that
        mask = self._mask(n, t, s, key_padding_mask, None if causal else attn_mask)
        if is_causal and not causal and attn_mask is None:
            mask = and_causal(mask, t, s, q.device)
        if mask is not None and more:
            mask = _longer(mask, s, more)
        p = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            weights = dropout(attention_weights("[nn.MultiheadAttention]", q, k, mask), p)
            y = weights @ v
            weights = weights.mean(axis=1) if average_attn_weights else weights
        else:
            y = _attend("[nn.MultiheadAttention]", q, k, v, mask, p, causal)
        axes = (0, 2, 1, 3) if first else (2, 0, 1, 3)
        y = y.permute(axes)
        y = self.out_proj(y.reshape((*y.shape[:2], self.embed_dim)))
        if not batched:
            y = y[0] if first else y[:, 0]
            weights = None if weights is None else weights[0]
        return y, weights

    def _check(self, query, key, value):
        widths = (self.embed_dim, self.kdim, self.vdim)
        axis = 0 if self.batch_first else 1
        shapes = [x.shape for x in (query, key, value)]
        if (
            query.ndim not in (2, 3)
            or not query.ndim == key.ndim == value.ndim
            or tuple(shape[-1] for shape in shapes) != widths
            or key.shape[:-1] != value.shape[:-1]
            or (query.ndim == 3 and shapes[0][axis] != shapes[1][axis])
        ):
            order = "([n,] t, features)" if self.batch_first else "(t, [n,] features)"
            raise ValueError(
                f"[nn.MultiheadAttention] needs query, key and value {order} of {widths} features, "
                f"got shapes {shapes[0]}, {shapes[1]} and {shapes[2]}."
            )

    def _projected(self, query, key, value):
        """Queries, keys and values (n, heads, t, head_dim); one product where inputs are one."""
        e, weight, bias = self.embed_dim, self.in_proj_weight, self.in_proj_bias
        if weight is None:
            weights = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
            biases = [None] * 3 if bias is None else [bias[i * e : i * e + e] for i in range(3)]
            inputs = query, key, value
            parts = [linear(*row) for row in zip(inputs, weights, biases, strict=True)]
            return tuple(self._heads(x, 1)[0] for x in parts)

        def product(x, first, last):
            part = slice(first * e, last * e)
            y = linear(x, weight[part], None if bias is None else bias[part])
            return self._heads(y, last - first)

        if query is key and key is value:
            return tuple(product(query, 0, 3))
        if key is value:
            return (*product(query, 0, 1), *product(key, 1, 3))
        return (*product(query, 0, 1), *product(key, 1, 2), *product(value, 2, 3))

    def _heads(self, x, parts):
        x = x.reshape((*x.shape[:2], parts, self.num_heads, self.head_dim))
        return x.permute((2, 0, 3, 1, 4) if self.batch_first else (2, 1, 3, 0, 4))

    def _lengthened(self, k, v, n):
        """Keys and values with those of add_bias_kv and add_zero_attn, and how many those are."""
        shape = (n, self.num_heads, 1, self.head_dim)
        keys, values = [k], [v]
        if self.bias_k is not None:
            of_heads = (1, self.num_heads, 1, self.head_dim)
            keys.append(_fz.broadcast_to(self.bias_k.reshape(of_heads), shape))
            values.append(_fz.broadcast_to(self.bias_v.reshape(of_heads), shape))
        if self.add_zero_attn:
            zeros = _fz.zeros(shape, dtype=k.dtype, device=k.device)
            keys.append(zeros)
            values.append(zeros)
        more = len(keys) - 1
        return (_fz.concat(keys, 2), _fz.concat(values, 2), more) if more else (k, v, 0)

    def _mask(self, n, t, s, key_padding_mask, attn_mask):
        """One mask of both, as scaled_dot_product_attention takes it."""
        where = "[nn.MultiheadAttention]"
        if attn_mask is not None:
            shape = (t, s) if attn_mask.ndim == 2 else (n * self.num_heads, t, s)
            if attn_mask.shape != shape:
                raise ValueError(f"{where} attn_mask must be {shape}, got {attn_mask.shape}.")
            if attn_mask.ndim == 3:
                attn_mask = attn_mask.reshape((n, self.num_heads, t, s))
        if key_padding_mask is not None:
            if key_padding_mask.shape != (n, s):
                raise ValueError(
                    f"{where} key_padding_mask must be {(n, s)}, got {key_padding_mask.shape}."
                )
            key_padding_mask = key_padding_mask[:, None, None]
        masks = [m for m in (attn_mask, key_padding_mask) if m is not None]
        if all(m.dtype.kind == "bool" for m in masks):
            masks = [~m for m in masks]
            return masks[0] & masks[1] if len(masks) == 2 else masks[0] if masks else None
        masks = [m if m.dtype.kind != "bool" else _fz.where(m, -math.inf, 0.0) for m in masks]
        return masks[0] + masks[1] if len(masks) == 2 else masks[0]

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, {self.num_heads}"


def _longer(mask, s, more):
    """A mask of s keys that shows `more` keys behind them."""
    mask = _fz.broadcast_to(mask, (*mask.shape[:-1], s))
    value = True if mask.dtype.kind == "bool" else 0.0
    shape = (*mask.shape[:-1], more)
    return _fz.concat([mask, _fz.full(shape, value, dtype=mask.dtype, device=mask.device)], axis=-1)
