"""Attention of onnxruntime: merged and apart, masks of all forms, states, groups of queries."""

import numpy as np
import pytest
from onnx import helper
from small_models import agrees, drawn, model_of, thrice

R = np.random.default_rng(6)
B, T, S, HEADS = 2, 5, 7, 3


def floats(*shape):
    return R.normal(size=shape).astype(np.float32)


def int32s(*values):
    return np.asarray(values, np.int32)


def bits(*shape):
    """A mask that shows each query its first key."""
    mask = R.integers(0, 2, shape).astype(np.int32)
    mask[..., 0] = 1
    return mask


MASKS = {
    "none": None, "ends": int32s(5, 3), "ends and begins": int32s(5, 4, 0, 1), "keys": bits(B, T),
    "queries and keys": bits(B, T, T),
}  # fmt: skip


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_merged_weights(mask, unidirectional):
    options = {"num_heads": HEADS, "unidirectional": unidirectional}
    x, w, b = floats(B, T, 12), floats(12, 36), floats(36)
    agrees("Attention", [x, w, b, MASKS[mask]], options, [1], fixed=(1, 2))
    agrees("Attention", [x, w, b, MASKS[mask], None, floats(1, HEADS, T, T)], options, [1],
           rtol=2e-3)  # fmt: skip


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("mask", [None, int32s(8, 6), bits(B, T + 3), bits(B, T, T + 3)], ids=str)
def test_merged_weights_with_states(mask, unidirectional):
    given = [floats(B, T, 12), floats(12, 36), floats(36), mask, floats(2, B, HEADS, 3, 4)]
    options = {"num_heads": HEADS, "unidirectional": unidirectional, "scale": 0.4}
    agrees("Attention", given, options, [1, 1], fixed=(1, 2))


def test_values_of_another_width():
    given = [floats(B, T, 12), floats(12, 30), floats(30), bits(B, T)]
    agrees("Attention", given, {"num_heads": HEADS, "qkv_hidden_sizes": [12, 12, 6],
                                "mask_filter_value": -3.0}, [1])  # fmt: skip


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("mask", [None, int32s(5, 3), bits(B, T)], ids=str)
def test_8_bits(mask, dtype):
    zero = np.asarray(3, dtype)
    given = [
        drawn(R, "uint8", (B, T, 12)), drawn(R, dtype, (12, 36)), floats(36),
        np.float32(0.01), np.float32(0.02), mask, np.asarray(120, np.uint8), zero,
    ]  # fmt: skip
    given = [None if v is None else np.asarray(v) for v in given]
    agrees("QAttention", given, {"num_heads": HEADS}, [1], fixed=(1, 2, 3, 4, 6, 7))
    given.append(floats(2, B, HEADS, 4, 4))
    given[5] = None
    agrees("QAttention", given, {"num_heads": HEADS, "unidirectional": 1}, [1, 1],
           fixed=(1, 2, 3, 4, 6, 7))  # fmt: skip


@pytest.mark.parametrize("mask", [None, int32s(7, 4), bits(B, S), bits(B, T, S)], ids=str)
def test_queries_keys_and_values(mask):
    given = [floats(B, T, 12), floats(B, S, 12), floats(B, S, 6)]
    agrees("MultiHeadAttention", [*given, None, mask], {"num_heads": HEADS}, [1])
    agrees("MultiHeadAttention", [*given, floats(30), mask, floats(B, 1, T, S)],
           {"num_heads": HEADS}, [1], rtol=2e-3)  # fmt: skip


def test_keys_with_heads_apart():
    given = [floats(B, T, 12), floats(B, HEADS, S, 4), floats(B, HEADS, S, 4)]
    agrees("MultiHeadAttention", given, {"num_heads": HEADS}, [1])
    agrees("MultiHeadAttention", [*given, floats(36)], {"num_heads": HEADS}, [1])


@pytest.mark.parametrize("unidirectional", [0, 1])
def test_states_and_scores(unidirectional):
    options = {"num_heads": HEADS, "unidirectional": unidirectional}
    given = [floats(B, T, 12) for _ in range(3)]
    past = [floats(B, HEADS, 3, 4), floats(B, HEADS, 3, 4)]
    agrees("MultiHeadAttention", [*given, floats(36), None, None, *past], options, [1, 1, 1])
    agrees("MultiHeadAttention", [*given, None, bits(B, T + 3), floats(1, HEADS, T, T + 3), *past],
           options, [1, 1, 1])  # fmt: skip
    agrees("MultiHeadAttention", [*given, floats(36), bits(B, T)], options, [1, 1, 1, 1])


@pytest.mark.parametrize("queries, keys", [(2, S), (T, S), (S, T), (1, S), (40, 70)])
def test_the_last_query_sees_all_keys(queries, keys):
    options = {"num_heads": HEADS, "unidirectional": 1}
    given = [floats(B, queries, 12), floats(B, keys, 12), floats(B, keys, 12), floats(36)]
    agrees("MultiHeadAttention", given, options, [1])
    agrees("MultiHeadAttention", [*given, bits(B, keys)], options, [1, 1, 1, 1], rtol=2e-3)
    past = [floats(B, HEADS, 3, 4), floats(B, HEADS, 3, 4)]
    agrees("MultiHeadAttention", [*given, None, None, *past], options, [1, 1, 1])


def one_model(name, arrays, count=1, **options):
    names, outputs = [n if v is not None else "" for n, v in arrays.items()], range(count)
    node = helper.make_node(name, names, [f"y{i}" for i in outputs], domain="com.microsoft",
                            **options)  # fmt: skip
    given = [(n, v.dtype, v.shape) for n, v in arrays.items() if v is not None]
    return model_of([node], given, list(node.output), domains=["com.microsoft"])


def test_packed_ones_are_those_apart():
    """onnxruntime has them on other devices."""
    q, k, v, b = floats(B, T, 12), floats(B, T, 12), floats(B, T, 12), floats(36)
    apart = {"q": q, "k": k, "v": v, "b": b}
    wanted = thrice(one_model("MultiHeadAttention", apart, num_heads=3), *apart.values())
    kv = np.stack([x.reshape(B, T, 3, 4) for x in (k, v)], axis=3)
    qkv = np.concatenate([q.reshape(B, T, 3, 1, 4), kv], axis=3)
    for packed in ({"q": qkv, "k": None, "v": None, "b": b}, {"q": q, "k": kv, "v": None, "b": b}):
        model = one_model("MultiHeadAttention", packed, num_heads=3)
        got = thrice(model, *(x for x in packed.values() if x is not None))
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("biased", [False, True])
def test_one_query_and_states_with_room(biased):
    given = [floats(B, 1, 12) for _ in range(3)]
    past = [floats(B, HEADS, 8, 4), floats(B, HEADS, 8, 4), int32s(3)]
    mask = np.asarray([[1, 1, 1, 1], [0, 1, 1, 1]], np.int32) if biased else None
    more = [int32s(1), None, floats(36)] if biased else []
    options = {"num_heads": HEADS, "past_present_share_buffer": 1}
    agrees(
        "DecoderMaskedMultiHeadAttention", [*given, mask, None, *past, *more], options, [1, 1, 1]
    )
    if not biased:
        agrees("MultiHeadAttention", [*given, None, None, None, *past], {"num_heads": HEADS},
               [1, 1, 1])  # fmt: skip


@pytest.mark.parametrize("queries, states", [(4, 2), (2, 2), (2, 4)])
@pytest.mark.parametrize(
    "rule, decays, rates",
    [("linear", 0, 0), ("gated", 8, 0), ("delta", 0, 1), ("gated_delta", 1, 1)],
)
def test_linear_attention(rule, decays, rates, queries, states):
    keys = floats(B, T, states, 8)
    keys = (keys / np.linalg.norm(keys, axis=-1, keepdims=True)).reshape(B, T, -1)
    given = [floats(B, T, queries * 8), keys, floats(B, T, states * 6), floats(B, states, 8, 6)]
    given.append(-np.abs(floats(B, T, states * decays)) if decays else None)
    given += [1 / (1 + np.exp(floats(B, T, states)))] if rates else []
    options = {"q_num_heads": queries, "kv_num_heads": states, "update_rule": rule}
    agrees("LinearAttention", given[: 6 if rates else 5 if decays else 4], options, [1, 1])


def test_gates_of_linear_attention():
    given = [floats(B, T, 4), floats(4), -np.abs(floats(4)), floats(B, T, 4)]
    agrees("LinearAttentionGate", given, {}, [1, 1])
    agrees("LinearAttentionGate", given[:3], {}, [1])


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("positions", [np.asarray([3]), R.integers(0, 10, (B, T))], ids=["1", "n"])
def test_rotary_positions(positions, interleaved):
    given, options = [positions, floats(10, 2), floats(10, 2)], {"interleaved": interleaved}
    agrees("RotaryEmbedding", [floats(B, T, 12), *given], options, [1])
    agrees("RotaryEmbedding", [floats(B, 3, T, 4), *given], options, [1])
    agrees("RotaryEmbedding", [floats(B, T, 12), *given],
           {**options, "num_heads": 2, "rotary_embedding_dim": 4}, [1])  # fmt: skip


# Groups of queries: (queries, states, their ends, total, rows that are told)
STEPS = {
    "prompt": (5, None, (5, 5), 5, None),
    "prompt of other lengths": (5, None, (5, 3), 5, (5, 3)),
    "step": (1, 6, (7, 7), 7, None),
    "step of other lengths": (1, 6, (7, 4), 7, None),
    "step with room": (1, 12, (7, 4), 7, None),
    "prompt with room": (5, 12, (5, 3), 5, (5, 3)),
    "no states yet": (5, 0, (5, 5), 5, None),
}
WAYS = {
    "plain": {}, "packed": {"packed": True}, "rotary": {"do_rotary": 1},
    "turned": {"do_rotary": 1, "rotary_interleaved": 1, "packed": True},
    "window": {"local_window_size": 2}, "capped": {"softcap": 1.5, "biased": True},
    "smooth": {"smooth_softmax": 1}, "sunk": {"sunk": True, "scale": 0.3},
    "both ways": {"causal": 0, "biased": True}, "scores": {"qk_output": 1, "softcap": 2.0},
    "weights": {"qk_output": 2, "local_window_size": 2},
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("step", STEPS)
def test_groups_of_queries(step, way):
    t, length, ends, total, valid = STEPS[step]
    options = dict(WAYS[way])
    packed, biased, sunk = (options.pop(n, False) for n in ("packed", "biased", "sunk"))
    if packed:
        rows = [floats(B, t, 8 * 16), None, None]
    else:
        rows = [floats(B, t, 4 * 16), floats(B, t, 2 * 16), floats(B, t, 2 * 16)]
    past = [None, None] if length is None else [floats(B, 2, length, 16) for _ in range(2)]
    turns = [floats(16, 8), floats(16, 8)] if options.get("do_rotary") else [None, None]
    bias = floats(1, 4, t, total) if biased else None
    given = [*rows, *past, int32s(*ends) - 1, np.asarray(total, np.int32), *turns, None, bias,
             floats(4) if sunk else None]  # fmt: skip
    wanted = [1, 1, 1, *([1] if "qk_output" in options and valid is None else [])]
    if len(wanted) < 4:
        options.pop("qk_output", None)
    agrees("GroupQueryAttention", given, {"num_heads": 4, "kv_num_heads": 2, **options}, wanted,
           valid=valid)  # fmt: skip


def test_groups_of_several_steps_and_of_padded_queries():
    def given(b, t, length, ends, total, places=None, counts=None):
        more = [None] * 6 + [int32s(*counts)] if counts else []
        return [floats(b, t, 64), floats(b, t, 32), floats(b, t, 32), floats(b, 2, length, 16),
                floats(b, 2, length, 16), int32s(*ends) - 1, np.asarray(total, np.int32),
                floats(16, 8), floats(16, 8), places, *more]  # fmt: skip

    options = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}
    agrees("GroupQueryAttention", given(1, 3, 6, [9], 9), options, [1, 1, 1])
    agrees("GroupQueryAttention", given(1, 3, 6, [9], 9, np.asarray([[1, 7, 3]])), options, [1] * 3)
    places = np.asarray([[3, 9, 9, 9, 9], [1, 2, 3, 4, 5]])  # of a prompt the first alone counts
    agrees("GroupQueryAttention", given(B, 5, 0, [5, 5], 5, places), options, [1, 1, 1])
    agrees("GroupQueryAttention", given(B, 4, 12, [7, 5], 8, counts=[4, 2]), options, [1, 1, 1],
           valid=[4, 2])  # fmt: skip


def test_heads_are_normalised_before_they_turn():
    """onnxruntime has that on other devices."""
    q, k, v = floats(B, T, 64), floats(B, T, 32), floats(B, T, 32)
    weights = floats(16), floats(16)

    def rooted(x, w):
        x = x.reshape(B, T, -1, 16)
        y = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(1e-6)) * w
        return y.reshape(B, T, -1).astype(np.float32)

    arrays = {"q": q, "k": k, "v": v, "a": None, "b": None, "ends": int32s(4, 4),
              "total": np.asarray(T, np.int32)}  # fmt: skip
    options = {"num_heads": 4, "kv_num_heads": 2}
    more = {c: None for c in "cdefghi"} | {"wq": weights[0], "wk": weights[1]}
    model = one_model("GroupQueryAttention", {**arrays, **more}, 3, **options)
    got = thrice(model, q, k, v, arrays["ends"], arrays["total"], *weights)
    plain = one_model("GroupQueryAttention", arrays, 3, **options)
    wanted = thrice(plain, rooted(q, weights[0]), rooted(k, weights[1]), v, arrays["ends"],
                    arrays["total"])  # fmt: skip
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "arrays", "options", "said"),
    [
        ("Attention", {"x": floats(B, T, 12), "w": floats(12, 36)},
         {"num_heads": 3, "do_rotary": 1}, "do_rotary"),
        ("Attention", {"x": floats(B, T, 12), "w": floats(12, 36), "b": None, "m": bits(B, 3)},
         {"num_heads": 3}, "mask of attention is of shape"),
        ("MultiHeadAttention", {"q": floats(B, T, 12)}, {"num_heads": 3}, "without keys"),
    ],
)  # fmt: skip
def test_what_is_refused(name, arrays, options, said):
    model = one_model(name, arrays, **options)
    with pytest.raises(ValueError, match=said):
        thrice(model, *(v for v in arrays.values() if v is not None))
