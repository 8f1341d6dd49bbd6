"""Attention: of queries, keys and values, its linear forms, and rotary positions."""

from __future__ import annotations

import math
from typing import Any

import frazil as fz
from frazil import nn
from frazil.nn.functional import scaled_dot_product_attention as _attend
from frazil.onnx._table import PREVIEW, converts
from frazil.onnx._values import dtype_of


def heads(x: Any, count: int | None) -> Any:
    """(n, t, heads * d) to (n, heads, t, d)."""
    if x.ndim == 4:
        return x
    if not count:
        raise ValueError("[onnx] Attention of three axes needs q_num_heads and kv_num_heads.")
    n, t, d = x.shape
    return fz.permute_dims(x.reshape((n, t, count, d // count)), (0, 2, 1, 3))


def joined(y: Any) -> Any:
    n, heads, t, d = y.shape
    return fz.permute_dims(y, (0, 2, 1, 3)).reshape((n, t, heads * d))


def repeated(x: Any, count: int) -> Any:
    """Each head `count` times, one after the other."""
    if count == 1:
        return x
    n, heads, t, d = x.shape
    return fz.broadcast_to(x[:, :, None], (n, heads, count, t, d)).reshape((n, heads * count, t, d))


def _bias(mask: Any, dtype: Any) -> Any:
    """What is added to scores; a bool mask is true where a query sees a key."""
    if mask.dtype.kind != "bool":
        return mask
    zero = fz.zeros((), dtype=dtype)
    return fz.where(mask, zero, fz.full((), -math.inf, dtype=dtype))


def _mask_of(
    mask: Any, limits: tuple[Any, Any], offset: Any, lengths: Any, t: int, s: int, dtype: Any,
    simple: bool,
) -> Any:  # fmt: skip
    """All that hides keys, as one mask or sum; None for nothing. Query i is at position
    i + offset; `limits`: how many keys before and behind its own it sees, None for all."""
    if mask is not None and mask.shape[-1] < s:
        widths = [(0, 0)] * (mask.ndim - 1) + [(0, s - mask.shape[-1])]
        if mask.dtype.kind == "bool":
            mask = fz.pad(mask.astype("uint8"), widths).astype("bool")
        else:
            mask = fz.pad(mask, widths, constant_values=-math.inf)
    masks = [] if mask is None else [mask]
    at, row = fz.arange(s).reshape((1, s)), fz.arange(t).reshape((t, 1)) + offset
    left, right = limits
    if right is not None:
        masks.append(at <= (row + right if right else row))
    if left is not None:
        masks.append(at >= row - left)
    if lengths is not None:
        masks.append(fz.arange(s).reshape((1, 1, 1, s)) < lengths.reshape((-1, 1, 1, 1)))
    if not masks:
        return None
    if all(m.dtype.kind == "bool" for m in masks):
        whole = masks[0]
        for m in masks[1:]:
            whole = whole & m
        return whole if simple else _bias(whole, dtype)
    total = _bias(masks[0], dtype)
    for m in masks[1:]:
        total = total + _bias(m, dtype)
    return total


@converts("Attention", 23)
def attention(
    q: Any, k: Any, v: Any, attn_mask: Any = None, past_key: Any = None, past_value: Any = None,
    nonpad_kv_seqlen: Any = None, *, is_causal: int = 0, scale: float | None = None,
    softcap: float = 0.0, q_num_heads: int | None = None, kv_num_heads: int | None = None,
    softmax_precision: int | None = None, qk_matmul_output_mode: int = 0,
    left_window_size: int = -1, right_window_size: int = -1, node: Any,
) -> Any:  # fmt: skip
    flat, dtype = q.ndim == 3, q.dtype
    q, k, v = heads(q, q_num_heads), heads(k, kv_num_heads), heads(v, kv_num_heads)
    lengths, offset = nonpad_kv_seqlen, 0 if past_key is None else past_key.shape[2]
    if past_key is None and lengths is not None:  # queries are the last of the keys that count
        offset = lengths.reshape((-1, 1, 1, 1)) - q.shape[2]
    left = left_window_size if left_window_size >= 0 else None
    right = 0 if is_causal else right_window_size if right_window_size >= 0 else None
    k = k if past_key is None else fz.concat([past_key, k], axis=2)
    v = v if past_value is None else fz.concat([past_value, v], axis=2)
    present = k, v
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None or scale == 0.0 else scale
    t, s = q.shape[2], k.shape[2]
    k, v = repeated(k, q.shape[1] // k.shape[1]), repeated(v, q.shape[1] // v.shape[1])
    plain = not softcap and not node.wants(3) and dtype.itemsize > 2
    plain = plain and (softmax_precision is None or dtype_of(softmax_precision) == dtype.name)
    mask = _mask_of(attn_mask, (left, right), offset, lengths, t, s, dtype, plain)
    if plain and not (mask is not None and mask.dtype.kind == "bool" and mask.ndim == 1):
        y = _attend(q, k, v, mask, scale=scale)
        return (joined(y) if flat else y), *present
    root = math.sqrt(scale)
    scores = fz.matmul((q * root).astype(dtype), fz.matrix_transpose((k * root).astype(dtype)))
    shown = scores
    if softcap:
        scores = softcap * fz.tanh(scores / softcap)
        shown = scores if qk_matmul_output_mode == 1 else shown
    if mask is not None:
        scores = scores + _bias(mask, dtype)
    shown = scores if qk_matmul_output_mode == 2 else shown
    wide = dtype if softmax_precision is None else dtype_of(softmax_precision)
    weights = nn.softmax(scores.astype(wide), axis=-1).astype(dtype)
    weights = (
        fz.where(fz.isnan(weights), fz.zeros_like(weights), weights) if is_masked(mask) else weights
    )
    shown = weights if qk_matmul_output_mode == 3 else shown
    y = fz.matmul(weights, v)
    return (joined(y) if flat else y), *present, shown


def is_masked(mask: Any) -> bool:
    """Whether there is a mask, so that a query may see no key: then its weights are 0."""
    return mask is not None


@converts("FlexAttention", 1, domain=PREVIEW, control=True)
def flex_attention(node: Any, values: Any, run: Any) -> Any:
    q, k, v = (node.deliver(values[p], 0) for p in node.inputs)
    options = node.attributes
    scale = options.get("scale") or 1 / math.sqrt(q.shape[-1])
    wide = (
        dtype_of(options["softmax_precision"])
        if "softmax_precision" in options
        else ("float64" if q.dtype.name == "float64" else "float32")
    )
    k, v = repeated(k, q.shape[1] // k.shape[1]), repeated(v, q.shape[1] // v.shape[1])
    scores = (fz.matmul(q, fz.matrix_transpose(k)) * scale).astype(wide)
    scores = _modified(node, "score_mod", scores, values, run)
    weights = _modified(node, "prob_mod", nn.softmax(scores, axis=-1), values, run)
    return fz.matmul(weights.astype(v.dtype), v).astype(q.dtype)


def _modified(node: Any, name: str, x: Any, values: Any, run: Any) -> Any:
    body = node.bodies.get(name)
    if body is None:
        return x
    values[body.inputs[0]] = x
    return node.deliver(body.run(values, run)[0], 0)


@converts("LinearAttention", 27)
def linear_attention(
    query: Any, key: Any, value: Any, past_state: Any = None, decay: Any = None, beta: Any = None,
    *, q_num_heads: int, kv_num_heads: int, chunk_size: int = 64, scale: float = 0.0,
    update_rule: str = "gated_delta",
) -> Any:  # fmt: skip
    """A state of keys by values that each step decays, corrects, adds to and reads."""
    n, t, _ = query.shape
    q, k, v = (
        heads(x.astype("float32"), h)
        for x, h in ((query, q_num_heads), (key, kv_num_heads), (value, kv_num_heads))
    )
    if past_state is None:
        state = fz.zeros((n, kv_num_heads, k.shape[-1], v.shape[-1]), dtype="float32")
    else:
        state = past_state.astype("float32")
    scale = scale or 1 / math.sqrt(q.shape[-1])
    gates = None if decay is None else fz.exp(heads(decay.astype("float32"), kv_num_heads))
    rates = None if beta is None else heads(beta.astype("float32"), beta.shape[-1])
    q = repeated(q, max(kv_num_heads // q_num_heads, 1))
    count, steps = max(q_num_heads // kv_num_heads, 1), []
    for i in range(t):
        new = v[:, :, i]
        if gates is not None:
            state = state * gates[:, :, i][..., None]
        if rates is not None:
            known = fz.sum(state * k[:, :, i][..., None], axis=-2)
            new = rates[:, :, i] * (new - known)
        state = state + k[:, :, i][..., None] * new[:, :, None, :]
        read = repeated(state, count)
        steps.append(scale * fz.sum(q[:, :, i][..., None] * read, axis=-2))
    y = joined(fz.stack(steps, axis=2)).astype(query.dtype)
    return y, state.astype(query.dtype if past_state is None else past_state.dtype)


@converts("RotaryEmbedding", 23)
def rotary(
    x: Any, cos: Any, sin: Any, position_ids: Any = None, *, interleaved: int = 0,
    num_heads: int | None = None, rotary_embedding_dim: int = 0,
) -> Any:  # fmt: skip
    flat = x.ndim == 3
    y = heads(x, num_heads)
    if position_ids is not None:
        cos, sin = fz.take(cos, position_ids, axis=0), fz.take(sin, position_ids, axis=0)
    y = nn.functional.apply_rotary(y, cos[:, None], sin[:, None], interleaved=bool(interleaved))
    return joined(y) if flat else y
