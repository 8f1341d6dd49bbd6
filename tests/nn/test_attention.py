"""Attention, rotary positions, caches of keys and values, transformers: what numbers of PyTorch do
not show (those are in attention_cases.py).
"""

import copy

import numpy as np
import pytest

import frazil as fz
from frazil import nn
from frazil.nn import functional as F

RNG = np.random.default_rng(0)


def normal(*shape, dtype="float32"):
    return fz.asarray(RNG.standard_normal(shape), dtype=dtype)


def close(a, b, tolerance=2e-6):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=0, atol=tolerance)


def test_a_mask_of_all_keys_agrees_with_the_fused_op():
    q, k, v = normal(2, 4, 70, 16), normal(2, 4, 90, 16), normal(2, 4, 90, 16)
    every = fz.ones((90,), dtype="bool")
    close(F.scaled_dot_product_attention(q, k, v, every), nn.attention(q, k, v))
    close(F.scaled_dot_product_attention(q, k, v, every * 0.0), nn.attention(q, k, v))
    # Its queries see keys from the first on, those of nn.attention up to the last.
    few = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    close(few, nn.attention(q, k[:, :, :70], v[:, :, :70], causal=True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["bool", "floats", "one for all"])
def test_a_mask_of_keys_agrees_with_one_of_queries_and_keys(dtype, kind):
    """It goes another way, without an array of queries by keys; second derivatives, too."""
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    q, k, v = (normal(3, 2, 9, 4, dtype=dtype) for _ in range(3))
    lengths = fz.asarray([9, 4, 0])[:, None]
    mask = fz.arange(9) >= 9 - lengths  # the first keys are hidden, or all
    mask = mask[1] if kind == "one for all" else mask[:, None, None]
    if kind == "floats":
        mask = fz.where(mask, fz.sin(fz.arange(9) * 1.0), -np.inf).astype(dtype)
    full = (
        fz.broadcast_to(mask, (3, 2, 9, 9))
        if kind != "one for all"
        else (fz.broadcast_to(mask, (9, 9)))
    )
    seen = F.scaled_dot_product_attention
    causal = nn.attention_layers.and_causal

    def lone(q, k, v, way):
        return (way(q, k, v) ** 3).sum()

    for ways in (
        (lambda *x: seen(*x, mask), lambda *x: seen(*x, full)),
        (lambda *x: nn.attention_layers._attend("", *x, mask, 0.0, True),
         lambda *x: seen(*x, causal(full, 9, 9, None))),
    ):  # fmt: skip
        close(ways[0](q, k, v), ways[1](q, k, v), tolerance)
        for i in range(3):
            first, second = (
                fz.grad(lambda *x, way=way, i=i: (fz.grad(lone, argnums=i)(*x, way) ** 2).sum(), i)
                for way in ways
            )
            a, b = (fz.grad(lone, argnums=i)(q, k, v, way) for way in ways)
            close(a, b, 20 * tolerance)
            a, b = first(q, k, v), second(q, k, v)
            assert np.isfinite(np.asarray(a)).all()
            close(a, b, 1e3 * tolerance)


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_16_bits_compute_in_float32(half):
    q, k, v = (normal(2, 3, 5, 4, dtype=half) for _ in range(3))
    q, k, v = (fz.concat([x] * 2, axis=-2)[..., :9, :] for x in (q, k, v))
    mask = fz.asarray([True, False, True, True, True] * 2)[:9]
    y = F.scaled_dot_product_attention(q, k, v, mask)
    wide = F.scaled_dot_product_attention(*(x.astype("float32") for x in (q, k, v)), mask)
    assert y.dtype.name == half and y.tolist() == wide.astype(half).tolist()


def test_queries_that_see_no_key():
    q, k, v = (normal(2, 3, 4).requires_grad_() for _ in range(3))
    for mask in (fz.asarray([[True] * 3, [False] * 3, [True] * 3]),
                 fz.asarray([[0.0] * 3, [-np.inf] * 3, [1.0] * 3])):  # fmt: skip
        y = F.scaled_dot_product_attention(q, k, v, mask)
        assert not np.asarray(y[:, 1]).any() and np.asarray(y[:, 0]).all()
        y.sum().backward()
        assert all(np.isfinite(np.asarray(x.grad)).all() for x in (q, k, v))
        assert not np.asarray(q.grad[:, 1]).any()


def test_no_keys_and_no_queries():
    none = fz.zeros((0, 4))
    for more in ({}, {"attn_mask": fz.ones((2, 0), dtype="bool")}, {"dropout_p": 0.5}):
        assert F.scaled_dot_product_attention(fz.ones((2, 4)), none, none, **more).tolist() == (
            [[0.0] * 4] * 2
        )
    assert F.scaled_dot_product_attention(none, fz.ones((3, 4)), fz.ones((3, 2))).shape == (0, 2)
    layer = nn.MultiheadAttention(4, 2)
    y, weights = layer(fz.ones((2, 4)), none, none)
    assert y.shape == (2, 4) and weights.shape == (2, 0)


def test_graph_mode_devices_and_vmap():
    model, x = nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval(), normal(2, 5, 8)
    padding = fz.asarray([[False] * 5, [False] * 3 + [True] * 2])
    more = {"tgt_is_causal": True, "src_key_padding_mask": padding}
    want = model(x, x, **more).tolist()
    with fz.mode("graph"):
        assert all(model(x, x, **more).tolist() == want for _ in range(4))
    assert "skip the body" in model.explain()
    more["src_key_padding_mask"] = padding.to_device("npu")
    y = model.to("npu")(x.to_device("npu"), x.to_device("npu"), **more)
    assert y.device == "npu" and y.tolist() == want
    mask = fz.asarray([True, False, True, True, True])

    def attend(q, k):
        return F.scaled_dot_product_attention(q, k, k, mask)

    close(fz.vmap(attend)(x, x * 2), attend(x, x * 2))


def test_dropout_of_weights():
    fz.random.seed(3)
    q, k = normal(1, 40, 8), normal(1, 50, 8)
    eye = fz.eye(50)[None]
    weights = F.scaled_dot_product_attention(q, k, eye)
    dropped = np.asarray(F.scaled_dot_product_attention(q, k, eye, dropout_p=0.25))
    kept = dropped != 0
    assert 0.7 < kept.mean() < 0.8
    close(dropped[kept], np.asarray(weights)[kept] / 0.75)
    causal = np.asarray(F.scaled_dot_product_attention(q, k, eye, None, 0.25, True))
    assert not np.triu(causal[0], 1).any() and causal.any()
    layer, x = nn.MultiheadAttention(8, 2, dropout=0.5), normal(6, 1, 8)
    _, weights = layer(x, x, x, average_attn_weights=False)
    assert 0.2 < (np.asarray(weights) == 0).mean() < 0.8
    layer.eval()
    assert np.asarray(layer(x, x, x)[1]).all()


NAMES = {
    "nn.MultiheadAttention(4, 2)": "in_proj_weight in_proj_bias out_proj.weight out_proj.bias",
    "nn.MultiheadAttention(4, 2, bias=False, add_bias_kv=True, vdim=3)": "q_proj_weight "
    "k_proj_weight v_proj_weight out_proj.weight bias_k bias_v",
    "nn.TransformerEncoderLayer(4, 2, 8, bias=False)": "self_attn.in_proj_weight "
    "self_attn.out_proj.weight linear1.weight linear2.weight norm1.weight norm2.weight",
    "nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, bias=False), 1, nn.LayerNorm(4))":
    "layers.0.self_attn.in_proj_weight layers.0.self_attn.out_proj.weight "
    "layers.0.multihead_attn.in_proj_weight layers.0.multihead_attn.out_proj.weight "
    "layers.0.linear1.weight layers.0.linear2.weight layers.0.norm1.weight layers.0.norm2.weight "
    "layers.0.norm3.weight norm.weight norm.bias",
}  # fmt: skip


@pytest.mark.parametrize("text", NAMES)
def test_names_of_parameters(text):
    module = eval(text)
    assert sorted(module.state_dict()) == sorted(NAMES[text].split())
    assert all(isinstance(p, nn.Parameter) for p in module.parameters())


def test_defaults_and_first_weights():
    model = nn.Transformer(8, 2, 2, 2, 16)
    assert len(model.encoder.layers) == 2 and model.encoder.layers[0].dropout.p == 0.1
    first, second = (np.asarray(layer.linear1.weight) for layer in model.encoder.layers)
    assert np.abs(first - second).max() > 0.1 and np.abs(first).max() <= np.sqrt(6 / 24)
    layer = nn.MultiheadAttention(8, 2, add_bias_kv=True)
    assert not np.asarray(layer.in_proj_bias).any() and not np.asarray(layer.out_proj.bias).any()
    assert np.asarray(layer.bias_k).any() and "8, 2" in repr(layer)
    stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
    a, b = (np.asarray(layer.linear1.weight) for layer in stack.layers)
    assert (a == b).all()  # copies of one layer, as in PyTorch
    own = nn.Transformer(8, 2, custom_encoder=stack, num_decoder_layers=1)
    assert own.encoder is stack
    mask = nn.Transformer.generate_square_subsequent_mask(2, dtype="float64")
    assert mask.tolist() == [[0, -np.inf], [0, 0]] and mask.dtype.name == "float64"


def test_causal_without_a_mask_is_causal_with_it():
    layer, x = nn.MultiheadAttention(8, 2, batch_first=True), normal(2, 5, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    padding = fz.asarray([[False] * 5, [False, False, False, True, True]])
    for more in ({}, {"need_weights": False}, {"key_padding_mask": padding},
                 {"key_padding_mask": padding * 1.0}):  # fmt: skip
        y, _ = layer(x, x, x, attn_mask=mask, **more)
        close(layer(x, x, x, is_causal=True, **more)[0], y)
    boolean = layer(x, x, x, attn_mask=mask < 0, key_padding_mask=padding)
    close(layer(x, x, x, attn_mask=mask, key_padding_mask=padding)[0], boolean[0])


ERRORS = {
    "F.scaled_dot_product_attention(X, X, fz.ones((2, 7, 4)))": "value (2, 7, 4)",
    "F.scaled_dot_product_attention(X, fz.ones(4), X)": "two axes: query (2, 5, 4), key (4,)",
    "F.scaled_dot_product_attention(X, X, X, MASK, is_causal=True)": "not both: mask of (5, 5)",
    "F.scaled_dot_product_attention(X, X, X, fz.ones((3, 5)))": "shapes (3, 5) and (2, 5, 5)",
    "F.scaled_dot_product_attention(X, X, X, fz.ones((5, 5), dtype='int64'))": "floats, got int64",
    "F.scaled_dot_product_attention(X, X, X.astype('float64'))": "got float32, float32 and float64",
    "F.scaled_dot_product_attention(H, H[:, :4], H, enable_gqa=True)": "equal: 6, 4 and 6",
    "F.apply_rotary(X, fz.ones((5, 3)), fz.ones((5, 3)))": "2 * 3 and 2 * 3 features of 4",
    "nn.MultiheadAttention(6, 4)": "embed_dim must be a multiple of num_heads: 6 and 4",
    "nn.MultiheadAttention(0, 4)": "embed_dim must be at least 1, got 0",
    "M(X, X, fz.ones((2, 6, 4)))": "of (4, 4, 4) features, got shapes (2, 5, 4), (2, 5, 4) and",
    "M(X, X[:1], X[:1])": "got shapes (2, 5, 4), (1, 5, 4) and (1, 5, 4)",
    "M(X, X, X, attn_mask=fz.ones((5, 4)))": "attn_mask must be (5, 5), got (5, 4)",
    "M(X, X, X, attn_mask=fz.ones((2, 5, 5)))": "attn_mask must be (4, 5, 5), got (2, 5, 5)",
    "M(X, X, X, MASK)": "key_padding_mask must be (2, 5), got (5, 5)",
    "nn.TransformerEncoderLayer(4, 2, activation='tanh')": 'one of "relu", "gelu", got \'tanh\'',
    "nn.RotaryEmbedding(3)": "dim must be even, got 3",
    "nn.KVCache(1, 1, 2, 0, 4)": "max_length must be at least 1, got 0",
    "nn.KVCache(1, 2, 1, 8, 4).attend(0, X, X, X)": "query must be (2, heads, t, 4), heads a "
    "multiple of 1, got shape (2, 5, 4)",
    "nn.KVCache(1, 2, 6, 8, 4).attend(0, H, X, H)": "be (2, 6, 5, 4), got shapes (2, 5, 4) and",
    "nn.KVCache(1, 2, 6, 8, 4).append([H], [X])": "got shapes (2, 6, 5, 4) and (2, 5, 4)",
    "nn.KVCache(2, 2, 6, 8, 4).append([H, H], [H])": "of 2 layers, got 2 and 1",
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text):
    names = {"X": fz.ones((2, 5, 4)), "H": fz.ones((2, 6, 5, 4)), "MASK": fz.ones((5, 5)) > 0}
    names["M"] = nn.MultiheadAttention(4, 2, batch_first=True)
    with pytest.raises((ValueError, TypeError)) as error:
        eval(text, globals() | names)
    assert ERRORS[text] in str(error.value) and str(error.value).startswith("[")


def test_rotary_positions():
    x = RNG.standard_normal((2, 3, 5, 8))
    angles = np.arange(5)[:, None] * 10000.0 ** (-np.arange(0, 6, 2) / 6)
    turn = np.exp(1j * angles)
    halves, pairs = x[..., :3] + 1j * x[..., 3:6], x[..., 0:6:2] + 1j * x[..., 1:6:2]
    llama = np.concatenate([(halves * turn).real, (halves * turn).imag, x[..., 6:]], -1)
    gptj = x.copy()
    gptj[..., 0:6:2], gptj[..., 1:6:2] = (pairs * turn).real, (pairs * turn).imag
    for interleaved, want in ((False, llama), (True, gptj)):
        layer = nn.RotaryEmbedding(6, interleaved=interleaved)
        close(layer(fz.asarray(x)), want, 1e-14)
        close(layer(fz.asarray(x, dtype="float32")), want)
        # At positions of its own, each row of a batch.
        at = fz.asarray([[[3]], [[0]]])
        got = np.asarray(layer(fz.asarray(x[:, :, 3:4]), at))
        close(got[0], want[0, :, 3:4], 1e-14)
        close(got[1], x[1, :, 3:4], 1e-14)
        assert layer(fz.asarray(x, dtype="bfloat16")).dtype.name == "bfloat16"
    assert repr(layer) == "RotaryEmbedding(6, base=10000.0, interleaved=True)"


class Writer(nn.Module):
    """A decoder of two blocks with rotary positions, whole or step by step."""

    def __init__(self, length=24):
        self.embed, self.head = nn.Embedding(11, 16), nn.Linear(16, 11)
        self.blocks = [(nn.LayerNorm(16), nn.Linear(16, 32), nn.Linear(16, 16)) for _ in range(2)]
        self.cache = nn.KVCache(2, 2, 2, length, 4)
        self.rotary = nn.RotaryEmbedding(4)

    def forward(self, tokens, cached=False):
        x = self.embed(tokens)
        n, t, d = x.shape
        at = self.cache.length + fz.arange(t) if cached else None
        keys, values = [], []
        for i, (norm, into, out) in enumerate(self.blocks):
            parts = into(norm(x)).reshape((n, t, 8, 4)).permute((0, 2, 1, 3))
            q, k, v = parts[:, :4], parts[:, 4:6], parts[:, 6:]  # two heads for each of keys
            q, k = self.rotary(q, at), self.rotary(k, at)
            if cached:
                y = self.cache.attend(i, q, k, v)
                keys.append(k)
                values.append(v)
            else:
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            x = x + out(y.permute((0, 2, 1, 3)).reshape((n, t, d)))
        if cached:
            self.cache.append(keys, values)
        return self.head(x)


def test_decoding_step_by_step_agrees_with_the_whole():
    fz.random.seed(1)
    model = Writer().eval()
    tokens = fz.random.integers(0, 11, (2, 24))
    with fz.no_grad():
        whole = np.asarray(model(tokens))
        step = fz.trace(lambda model, tokens: model(tokens, cached=True))
        for call in (model.__call__, step.__call__):
            for start in (1, 5):  # a prompt, then one at a time
                model.cache.reset()
                ends = [0, start, *range(start + 1, 25)]
                parts = [
                    call(tokens[:, a:b], cached=True) if call != step.__call__
                    else call(model, tokens[:, a:b])
                    for a, b in zip(ends, ends[1:], strict=False)
                ]  # fmt: skip
                close(fz.concat(parts, axis=1), whole, 2e-5)
    # Every step but the first ones skipped its body: one program for all positions.
    stats = step.stats()
    assert stats["skipped"] >= stats["calls"] - 10, step.explain()
    assert stats["plans"] <= 3, step.explain()


def test_traced_steps_have_the_bits_of_eager_ones():
    fz.random.seed(2)
    model = Writer().eval()
    tokens = fz.random.integers(0, 11, (2, 24))

    def outputs(call):
        model.cache.reset()
        with fz.no_grad():
            return [np.asarray(call(model, tokens[:, i : i + 1])).tobytes() for i in range(24)]

    def step(model, tokens):
        return model(tokens, cached=True)

    assert outputs(fz.trace(step)) == outputs(step) == outputs(fz.trace(pure=True)(step))


def test_a_traced_step_beyond_the_end_raises():
    model = Writer(length=12).eval()
    token = fz.zeros((2, 1), dtype="int64")
    with fz.no_grad():
        step = fz.trace(lambda model, token: model(token, cached=True))
        for _ in range(12):
            step(model, token)
        assert step.stats()["skipped"] > 0, step.explain()
        before = model.cache.state.tolist()
        for _ in range(2):
            with pytest.raises(IndexError, match="12"):
                step(model, token)
        assert model.cache.state.tolist() == before and int(model.cache.length) == 12


def test_steps_write_in_place():
    """Eager, replayed and skipped ones: no second cache is ever there."""
    cache, x = nn.KVCache(3, 1, 2, 2048, 64), normal(1, 2, 1, 64)

    def step(cache, x):
        keys = []
        for layer in range(3):
            keys.append(x * 0.5)
            x = cache.attend(layer, x, keys[-1], keys[-1])
        cache.append(keys, keys)
        return x

    for call in (step, fz.trace(step), fz.trace(proof=False)(step), fz.trace(pure=True)(step)):
        for _ in range(6):
            call(cache, x)
        fz.memory.reset_peak()
        before = fz.memory.stats()["live_bytes"]
        for _ in range(4):
            call(cache, x)
        assert fz.memory.stats()["peak_bytes"] - before < cache.state.nbytes / 12


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_caches_move_and_are_not_saved(dtype):
    cache, x = nn.KVCache(1, 1, 1, 4, 2), normal(1, 1, 3, 2)
    assert not cache.state_dict() and [n for n, _ in cache.named_buffers()] == ["state", "length"]
    cache.to(dtype)
    x = x.astype(dtype)
    y = cache.attend(0, x, x, x)
    assert y.dtype.name == dtype
    want = nn.attention(x.astype("float64"), x.astype("float64"), x.astype("float64"), causal=True)
    close(y.astype("float64"), want, 1e-14 if dtype == "float64" else 0.03)
    cache.append([x * np.nan], [x * np.nan])
    cache.reset()
    close(cache.attend(0, x, x, x).astype("float64"), y.astype("float64"), 0)
    cache.append([x], [x])
    assert cache.state[0, 0, :, :, :3].tolist() == x.tolist() and repr(cache)[-15:] == (
        "(1, 1, 1, 4, 2)"
    )


def test_copies_and_dtypes():
    layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).eval()
    again = copy.deepcopy(layer).half()
    x, memory = normal(2, 5, 8), normal(2, 3, 8)
    y = again(x.astype("float16"), memory.astype("float16"), tgt_is_causal=True)
    assert y.dtype.name == "float16"
    close(y, layer(x, memory, tgt_is_causal=True), 0.03)


def test_training_lowers_the_loss_traced_with_the_bits_of_eager():
    x, want = normal(4, 6, 8), normal(4, 6, 8)

    def losses(wrap):
        fz.random.seed(5)
        model = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True), 2
        )
        optimizer = fz.optim.Adam(model.parameters(), lr=0.01)

        def step():
            loss = ((model(x, is_causal=True) - want) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        step = wrap(step)
        return [float(step()) for _ in range(12)]

    eager = losses(lambda f: f)
    assert eager[-1] < eager[0] and losses(fz.trace) == eager
