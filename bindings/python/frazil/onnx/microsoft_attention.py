"""Attention as onnxruntime (com.microsoft) has it, which its optimiser of transformers writes:
merged weights, packed queries, keys and values, masks by length, by key and by query, past states.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

import math
from typing import Any

import frazil as fz
from frazil import nn
from frazil.nn.functional import apply_rotary
from frazil.nn.functional import scaled_dot_product_attention as _attend
from frazil.onnx._table import MICROSOFT, converts
from frazil.onnx.attention import heads, joined, linear_attention, repeated
from frazil.onnx.products import product
from frazil.onnx.recurrent import turned

_LOWEST = -3.4028234663852886e38  # of float32: what scores that are given away have for -infinity

# Masks


def _hiding(shown: Any, fill: float, dtype: Any) -> Any:
    """What is added to scores: 0 where a key is shown, `fill` elsewhere."""
    return fz.where(shown, fz.zeros((), dtype=dtype), fz.full((), fill, dtype=dtype))


def _shown(mask: Any, n: int, t: int, s: int) -> Any:
    """Which keys a mask shows, (n, 1, 1 or t, s): of one axis are ends of keys (n), those and
    where keys begin (2 n), or lengths and offsets (3 n + 2)."""
    if mask.ndim == 1:
        at = fz.arange(s).reshape((1, s))
        shown = at < mask[:n, None]
        if mask.shape[0] == 2 * n:
            shown = shown & (at >= mask[n:, None])
        return shown[:, None, None]
    shown = mask > 0
    if mask.ndim == 4:  # of all positions by all
        return shown[:, :, s - t : s, :s]
    if shown.shape[-1] != s:
        raise ValueError(
            f"[onnx] a mask of attention is of shape {mask.shape}: there are {s} keys, with those "
            "of the past."
        )
    return shown[:, None, None] if mask.ndim == 2 else shown[:, None]


def _attended(
    q: Any, k: Any, v: Any, mask: Any, bias: Any, scale: float | None, fill: float,
    past: int | None, scores: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """(n, t, heads * width) of (n, heads, t or s, width), and the scores if they are wanted.
    `past`: a query sees as many keys more than it has queries before it, and the last one all, as
    onnxruntime has it where there are more keys; None: all see all."""
    t, s = q.shape[2], k.shape[2]
    scale = scale or 1 / math.sqrt(q.shape[-1])
    total = bias
    if mask is not None:
        hidden = _hiding(_shown(mask, q.shape[0], t, s), fill, q.dtype)
        total = hidden if total is None else total + hidden
    if past == 0 and 1 < t == s and total is None and not scores:
        return joined(_attend(q, k, v, is_causal=True, scale=scale)), None
    if past is not None and t > 1:
        row = fz.arange(t).reshape((t, 1))
        seen = (fz.arange(s).reshape((1, s)) <= row + past) | (row == t - 1)
        hidden = _hiding(seen, -math.inf, q.dtype)
        total = hidden if total is None else total + hidden
    if not scores:
        return joined(_attend(q, k, v, total, scale=scale)), None
    found = fz.matmul(q, fz.matrix_transpose(k)) * scale
    found = found if total is None else found + total
    return joined(fz.matmul(nn.softmax(found, axis=-1), v)), fz.maximum(found, _LOWEST)


def _refuse(op: str, **options: Any) -> None:
    """An error for what is set."""
    for name, value in options.items():
        if value not in (None, 0):
            raise ValueError(f"[onnx] {op} with {name} ({value}) is not supported.")


# Of merged weights


def _with_past(k: Any, v: Any, past: Any) -> tuple[Any, Any, int]:
    if past is None:
        return k, v, 0
    before = past.shape[3]
    return fz.concat([past[0], k], axis=2), fz.concat([past[1], v], axis=2), before


def _self_attention(
    rows: Any, sizes: Any, num_heads: int, mask: Any, past: Any, bias: Any, unidirectional: int,
    scale: float | None, fill: float, node: Any,
) -> Any:  # fmt: skip
    """Of queries, keys and values side by side, and the states."""
    a, b = sizes[0], sizes[0] + sizes[1]
    q, k, v = (heads(x, num_heads) for x in (rows[..., :a], rows[..., a:b], rows[..., b:]))
    k, v, before = _with_past(k, v, past)
    if node.wants(1) and k.shape != v.shape:
        raise ValueError(f"[onnx] states of keys {k.shape} and values {v.shape} fit in no array.")
    present = fz.stack([k, v]) if node.wants(1) else None
    y, _ = _attended(q, k, v, mask, bias, scale, fill, before if unidirectional else None)
    return y, present


@converts("Attention", domain=MICROSOFT)
def attention(
    x: Any, weights: Any, b: Any = None, mask: Any = None, past: Any = None, bias: Any = None,
    past_length: Any = None, *, num_heads: int, unidirectional: int = 0,
    qkv_hidden_sizes: Any = None, scale: float | None = None, mask_filter_value: float = -10000.0,
    do_rotary: int = 0, rotary_embedding_dim: int = 0, past_present_share_buffer: int = 0,
    node: Any,
) -> Any:  # fmt: skip
    _refuse("Attention", do_rotary=do_rotary, past_present_share_buffer=past_present_share_buffer)
    rows = x @ weights
    rows = rows if b is None else rows + b
    sizes = qkv_hidden_sizes or (weights.shape[1] // 3,) * 3
    return _self_attention(
        rows, sizes, num_heads, mask, past, bias, unidirectional, scale,
        mask_filter_value, node,
    )  # fmt: skip


@converts(
    "QAttention", domain=MICROSOFT, laid={"w": turned}, prepared={"Weights": ("w w_zero",)}
)  # fmt: skip
def qattention(
    x: Any, w: Any, b: Any, x_scale: Any, w_scale: Any, mask: Any = None, x_zero: Any = None,
    w_zero: Any = None, past: Any = None, *, num_heads: int, unidirectional: int = 0,
    scale: float | None = None, mask_filter_value: float = -10000.0, do_rotary: int = 0,
    past_present_share_buffer: int = 0, node: Any,
) -> Any:  # fmt: skip
    _refuse("QAttention", do_rotary=do_rotary, past_present_share_buffer=past_present_share_buffer)
    rows = product(x, x_zero, w, w_zero).astype("float32") * (x_scale * w_scale) + b
    return _self_attention(
        rows, (w.shape[1] // 3,) * 3, num_heads, mask, past, None, unidirectional, scale,
        mask_filter_value, node,
    )  # fmt: skip


# Of queries, keys and values


def _split(query: Any, key: Any, value: Any, b: Any, num_heads: int) -> tuple[Any, Any, Any]:
    """(n, heads, t, width) each, of what may lie in one array (n, t, heads, 2 or 3, width)."""
    if query.ndim == 5:
        parts = [query[:, :, :, i] for i in range(3)]
    elif key is not None and key.ndim == 5:
        parts = [query, key[:, :, :, 0], key[:, :, :, 1]]
    else:
        parts = [query, key, value]
    if parts[1] is None or parts[2] is None:
        raise ValueError("[onnx] MultiHeadAttention has a query without keys and values.")
    states = parts[1].ndim == 4 and query.ndim == 3 and key.ndim == 4  # keys with heads apart
    given, begin = [], 0
    for x in parts:
        if x.ndim == 4 and not states:
            x = x.reshape((*x.shape[:2], -1))
        if b is not None and x.ndim == 3:
            x, begin = x + b[begin : begin + x.shape[-1]], begin + x.shape[-1]
        given.append(heads(x, num_heads))
    return given[0], given[1], given[2]


@converts("MultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(
    query: Any, key: Any = None, value: Any = None, b: Any = None, mask: Any = None,
    bias: Any = None, past_key: Any = None, past_value: Any = None, past_length: Any = None,
    indirection: Any = None, *, num_heads: int, unidirectional: int = 0,
    scale: float | None = None, mask_filter_value: float = -10000.0, node: Any,
) -> Any:  # fmt: skip
    q, k, v = _split(query, key, value, b, num_heads)
    return _with_states(
        q, k, v, mask, bias, past_key, past_value, past_length, indirection, unidirectional, scale,
        mask_filter_value, node,
    )  # fmt: skip


@converts("DecoderMaskedMultiHeadAttention", domain=MICROSOFT)
def decoder_attention(
    query: Any, key: Any = None, value: Any = None, mask: Any = None, bias: Any = None,
    past_key: Any = None, past_value: Any = None, past_length: Any = None, beam_width: Any = None,
    indirection: Any = None, b: Any = None, *, num_heads: int, scale: float | None = None,
    mask_filter_value: float = -10000.0, output_qk: int = 0, past_present_share_buffer: int = 0,
    node: Any,
) -> Any:  # fmt: skip
    """Of one query each."""
    if key is None:  # all side by side
        width = query.shape[-1] // 3
        query, key, value = (query[..., i * width : (i + 1) * width] for i in range(3))
    q, k, v = _split(query, key, value, b, num_heads)
    return _with_states(
        q, k, v, mask, bias, past_key, past_value,
        past_length if past_present_share_buffer else None, indirection, 0, scale,
        mask_filter_value, node,
    )  # fmt: skip


def _with_states(
    q: Any, k: Any, v: Any, mask: Any, bias: Any, past_key: Any, past_value: Any, length: Any,
    indirection: Any, unidirectional: int, scale: float | None, fill: float, node: Any,
) -> Any:  # fmt: skip
    if indirection is not None:
        raise ValueError("[onnx] attention over states of several beams is not supported.")
    scores = node.wants(3)
    before = 0 if past_key is None else past_key.shape[2]
    if past_key is not None and length is not None:  # states with room for more
        at = length.reshape((1,))
        present = _put(past_key, k, at), _put(past_value, v, at)
        t, s = q.shape[2], before
        row = fz.arange(t).reshape((t, 1)) + at
        seen = fz.arange(s).reshape((1, s)) <= (row if unidirectional else at + t - 1)
        hidden = _hiding(seen, -math.inf, q.dtype)
        if bias is not None and bias.shape[-1] < s:
            bias = fz.pad(bias, [(0, 0)] * 3 + [(0, s - bias.shape[-1])])
        if mask is not None and mask.ndim == 2 and mask.shape[-1] < s:
            mask = fz.pad(mask, [(0, 0), (0, s - mask.shape[-1])])
        bias = hidden if bias is None else bias + hidden
        y, found = _attended(q, *present, mask, bias, scale, fill, None, scores)
        return y, *present, found
    if past_key is not None:
        k, v = fz.concat([past_key, k], axis=2), fz.concat([past_value, v], axis=2)
    y, found = _attended(
        q, k, v, mask, bias, scale, fill, before if unidirectional else None, scores
    )
    return y, k, v, found


def _put(past: Any, new: Any, begins: Any) -> Any:
    """States (n, heads, length, width) with new ones from `begins` on, one for each row."""
    p, t = past.shape[2], new.shape[2]
    at, begin = fz.arange(p).reshape((1, p)), begins.reshape((-1, 1))
    place = fz.where((at >= begin) & (at < begin + t), at - begin + p, at)
    place = fz.broadcast_to(place, (past.shape[0], p))
    whole = fz.concat([past, new], axis=2)
    return fz.take_along_axis(whole, place[:, None, :, None], axis=2)


def _lengthened(past: Any, new: Any, begins: Any, length: int, counts: Any) -> Any:
    """States of a length: the first of the past up to `begins`, then the first `counts` new ones,
    then zeros, by row."""
    p, t = past.shape[2], new.shape[2]
    at, begin = fz.arange(length).reshape((1, length)), begins.reshape((-1, 1))
    count = t if counts is None else counts.reshape((-1, 1))
    place = fz.clip(fz.where(at < begin, at, at - begin + p), 0, p + t - 1)
    whole = fz.concat([past, new], axis=2)
    found = fz.take_along_axis(whole, place[:, None, :, None], axis=2)
    kept = (at < begin + count)[:, None, :, None]
    return fz.where(kept, found, fz.zeros((), dtype=found.dtype))


# Of groups of queries


def _rooted(x: Any, weight: Any, epsilon: float) -> Any:
    """Each head over the root of its mean square."""
    if weight is None:
        return x
    wide = x.astype("float32")
    y = wide * fz.rsqrt(fz.mean(wide * wide, axis=-1, keepdims=True) + epsilon)
    return (y * weight.astype("float32")).astype(x.dtype)


@converts("GroupQueryAttention", domain=MICROSOFT, host="total_length")
def group_query_attention(
    query: Any, key: Any = None, value: Any = None, past_key: Any = None, past_value: Any = None,
    seqlens_k: Any = None, total_length: Any = None, cos: Any = None, sin: Any = None,
    position_ids: Any = None, bias: Any = None, head_sink: Any = None, k_scale: Any = None,
    v_scale: Any = None, q_norm: Any = None, k_norm: Any = None, query_seqlens: Any = None, *,
    num_heads: int, kv_num_heads: int, causal: int = 1, do_rotary: int = 0,
    rotary_interleaved: int = 0, local_window_size: int = -1, scale: float | None = None,
    softcap: float = 0.0, smooth_softmax: int = -1, qk_output: int = 0,
    qk_norm_epsilon: float = 1e-6, q_norm_epsilon: float | None = None,
    k_norm_epsilon: float | None = None, kv_cache_bit_width: int = 0, k_quant_type: str = "NONE",
    v_quant_type: str = "NONE", sliding_window_cache: int = 0, node: Any,
) -> Any:  # fmt: skip
    """Keys of a row end at seqlens_k + 1, its queries with them."""
    if k_quant_type != "NONE" or v_quant_type != "NONE":
        raise ValueError("[onnx] GroupQueryAttention with quantised states is not supported.")
    _refuse("GroupQueryAttention", sliding_window_cache=sliding_window_cache)
    if key is None:
        width = query.shape[-1] // (num_heads + 2 * kv_num_heads)
        a, b = num_heads * width, (num_heads + kv_num_heads) * width
        query, key, value = query[..., :a], query[..., a:b], query[..., b:]
    q, k, v = heads(query, num_heads), heads(key, kv_num_heads), heads(value, kv_num_heads)
    t, total = q.shape[2], int(total_length)
    q = _rooted(q, q_norm, q_norm_epsilon or qk_norm_epsilon)
    k = _rooted(k, k_norm, k_norm_epsilon or qk_norm_epsilon)
    ends = seqlens_k.reshape((-1,)) + 1
    if query_seqlens is not None:
        begins = ends - query_seqlens
    else:
        begins = fz.zeros_like(ends) if total == t else ends - t
    steps = fz.arange(t).reshape((1, t))
    rows = begins[:, None] + steps
    if do_rotary:
        places = rows if position_ids is None else position_ids
        if position_ids is not None and total == t and query_seqlens is None:  # the first alone
            places = position_ids.reshape((-1,))[:1, None] + steps
        places = fz.clip(places, 0, cos.shape[0] - 1)
        turns = fz.take(cos, places, axis=0)[:, None], fz.take(sin, places, axis=0)[:, None]
        q, k = (apply_rotary(x, *turns, interleaved=bool(rotary_interleaved)) for x in (q, k))
    if past_key is not None:
        length = max(past_key.shape[2], total)
        k = _lengthened(past_key, k, begins, length, query_seqlens)
        v = _lengthened(past_value, v, begins, length, query_seqlens)
    present = k, v
    k, v = k[:, :, :total], v[:, :, :total]
    s = k.shape[2]
    at, row = fz.arange(s).reshape((1, 1, s)), rows[:, :, None]
    seen = at <= row if causal else at < ends[:, None, None]
    if local_window_size > 0:
        seen = seen & (at > row - local_window_size)
    seen = seen[:, None]
    sunk = head_sink is not None or smooth_softmax > 0
    if not (softcap or sunk or qk_output):
        total_mask = _hiding(seen, -math.inf, q.dtype)
        total_mask = total_mask if bias is None else total_mask + bias
        y = _attend(q, k, v, total_mask, scale=scale or None, enable_gqa=num_heads != kv_num_heads)
        return joined(y), *present
    k, v = (repeated(x, num_heads // kv_num_heads) for x in (k, v))
    scores = fz.matmul(q, fz.matrix_transpose(k)) * (scale or 1 / math.sqrt(q.shape[-1]))
    scores = softcap * fz.tanh(scores / softcap) if softcap else scores
    scores = scores if bias is None else scores + bias
    hidden = scores + _hiding(seen, -math.inf, q.dtype)
    weights = _sunk(hidden, head_sink) if sunk else nn.softmax(hidden, axis=-1)
    shown = fz.where(seen, scores, fz.zeros_like(scores)) if qk_output == 1 else weights
    return joined(fz.matmul(weights, v)), *present, shown


def _sunk(scores: Any, sink: Any) -> Any:
    """Softmax with one more score of each head, 0 if there is none, that takes its share."""
    one = (
        fz.zeros((1, 1, 1, 1), dtype=scores.dtype) if sink is None else sink.reshape((1, -1, 1, 1))
    )
    top = fz.maximum(fz.max(scores, axis=-1, keepdims=True), one)
    raised = fz.exp(scores - top)
    return raised / (fz.sum(raised, axis=-1, keepdims=True) + fz.exp(one - top))


@converts("LinearAttention", domain=MICROSOFT)
def linear(
    query: Any, key: Any, value: Any, past_state: Any = None, decay: Any = None, beta: Any = None,
    *, q_num_heads: int, kv_num_heads: int, chunk_size: int = 64, scale: float = 0.0,
    update_rule: str = "gated_delta", state_window: int = 0,
) -> Any:  # fmt: skip
    _refuse("LinearAttention", state_window=state_window)
    return linear_attention(
        query, key, value, past_state, decay, beta, q_num_heads=q_num_heads,
        kv_num_heads=kv_num_heads, scale=scale,
    )  # fmt: skip


@converts("LinearAttentionGate", domain=MICROSOFT)
def linear_gate(a: Any, bias: Any, scale: Any, b: Any = None) -> Any:
    decay = (scale * nn.softplus(a.astype("float32") + bias)).astype(a.dtype)
    return decay, None if b is None else nn.sigmoid(b)


@converts("RotaryEmbedding", domain=MICROSOFT)
def rotary(
    x: Any, positions: Any, cos: Any, sin: Any, *, interleaved: int = 0, num_heads: int = 0,
    rotary_embedding_dim: int = 0, is_packed_batching: int = 0, scale: float = 1.0,
) -> Any:  # fmt: skip
    """Of one position: where the first of each row is."""
    y = heads(x, num_heads or x.shape[-1] // (2 * cos.shape[-1]))
    if positions.size == 1 and (positions.ndim < 2 or y.shape[0] * y.shape[2] > 1):
        positions = positions.reshape((1, 1)) + fz.arange(y.shape[2]).reshape((1, -1))
    cos, sin = (fz.take(v, positions, axis=0)[:, None] for v in (cos, sin))
    y = apply_rotary(y, cos, sin, interleaved=bool(interleaved))
    return joined(y) if x.ndim == 3 else y
