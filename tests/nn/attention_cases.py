"""Attention and transformers, as in case.py."""

from case import Case

SDPA = "F.scaled_dot_product_attention"
QKV = ("x(2, 3, 5, 4)", "x(2, 3, 6, 4)", "x(2, 3, 6, 2)")
SEEN = "torch.tensor([[True, False, True, True, False, True]])"
INFINITE = "(a[0, 0, :1, :1].detach() * 0 - 1) / d"  # -inf where d is 0
HIDDEN = "torch.tensor([[False, False, True, False, False], [True, False, False, False, True]])"
ALIKE = "torch.tensor([[False, True, False, False, True]] * 5)"
PADDED = "torch.tensor([[False, False, False, False, True], [False, False, False, True, True]])"


def _cases():
    yield from _functions()
    yield from _heads()
    yield from _layers()
    yield from _transformers()


def _functions():
    square = ("x(2, 3, 5, 4)",) * 3
    for inputs in (QKV, square, ("x(5, 4)", "x(6, 4)", "x(6, 4)"), ("x(2, 7, 3)",) * 3):
        for text in ("", ", is_causal=True", ", scale=0.3"):
            yield Case("", inputs, f"{SDPA}(a, b, c{text})")
    for inputs in (("x(1, 66, 2)",) * 3, ("x(3, 1, 5, 4)", "x(1, 2, 6, 4)", "x(3, 2, 6, 2)")):
        yield Case("", inputs, f"{SDPA}(a, b, c)")
    for mask in (SEEN, f"{SEEN}[None, None]"):
        yield Case("", QKV, f"{SDPA}(a, b, c, {mask})")
    for shape in ("5, 6, 4", "2, 1, 1, 6, 4"):
        yield Case("", (*QKV, f"i({shape})"), f"{SDPA}(a, b, c, {INFINITE})")
    for shape in ("5, 6", "3, 5, 6", "2, 1, 5, 6", "2, 3, 5, 6", "5, 1", "1, 1"):
        if "1" not in shape[-3:]:  # a gradient of 0, up to rounding
            yield Case("", (*QKV, f"x({shape})"), f"{SDPA}(a, b, c, d)")
        yield Case("", (*QKV, f"x({shape})"), f"{SDPA}(a, b, c, d > 0.2, scale=0.7)")
    for call in (f"{SDPA}(a, b, c, {SEEN})", f"{SDPA}(a, b, c, {INFINITE})"):  # of keys alone
        inputs = ("x(2, 2, 9, 3)", "x(2, 2, 6, 3)", "x(2, 2, 6, 3)", "i(2, 1, 1, 6, 4)")
        yield Case("", inputs if "d" in call[-2:] else inputs[:3], call)
    none = "torch.tensor([[True] * 6, [False] * 6, [True] * 6, [False] * 6, [True] * 6])"
    yield Case("", QKV, f"{SDPA}(a, b, c, {none})")
    grouped = ("x(2, 6, 5, 4)", "x(2, 2, 6, 4)", "x(2, 2, 6, 3)")
    for text in ("", ", is_causal=True", f", attn_mask={SEEN}"):
        yield Case("", grouped, f"{SDPA}(a, b, c{text}, enable_gqa=True)")
    masks = ("x(2, 6, 5, 6)", "x(2, 1, 5, 6)", "x(6, 1, 6)")
    for mask in masks:
        yield Case("", (*grouped, mask), f"{SDPA}(a, b, c, d, enable_gqa=True)")


def _heads():
    one = "nn.MultiheadAttention(4, 2"
    for text in ("", ", bias=False", ", add_bias_kv=True", ", add_zero_attn=True", ", dropout=0.5"):
        for order in ("", ", batch_first=True"):
            evaluated = "dropout" in text
            yield Case(f"{one}{text}{order})", ("x(3, 3, 4)",), "m(a, a, a)", evaluated)
            few = "m(a, a, a, need_weights=False)"
            yield Case(f"{one}{text}{order})", ("x(3, 3, 4)",), few, evaluated)
    for make in (f"{one}, kdim=3, vdim=5)", f"{one}, bias=False, kdim=3, add_bias_kv=True)"):
        value = "x(7, 2, 5)" if "vdim" in make else "x(7, 2, 4)"
        yield Case(make, ("x(5, 2, 4)", "x(7, 2, 3)", value))
    first = f"{one}, batch_first=True"
    yield Case(f"{one})", ("x(5, 2, 4)", "x(7, 2, 4)"), "m(a, b, b)")
    yield Case(f"{one})", ("x(5, 2, 4)", "x(7, 2, 4)", "x(7, 2, 4)"))
    yield Case(f"{first})", ("x(2, 5, 4)", "x(2, 7, 4)"), "m(a, b, b, average_attn_weights=False)")
    for order in ("", ", batch_first=True"):  # one sequence
        for text in ("", ", need_weights=False", ", average_attn_weights=False"):
            yield Case(f"{one}{order})", ("x(5, 4)", "x(7, 4)"), f"m(a, b, b{text})")
        sole = "m(a, b, b, key_padding_mask=torch.tensor([False, True, False]))"
        yield Case(f"{one}{order})", ("x(5, 4)", "x(3, 4)"), sole)
    causal = "nn.Transformer.generate_square_subsequent_mask"
    for more in ("", ", add_bias_kv=True", ", add_bias_kv=True, add_zero_attn=True"):
        make = f"{first}{more})"
        for call in (
            f"m(a, a, a, {HIDDEN})", f"m(a, a, a, {HIDDEN}, need_weights=False)",
            f"m(a, a, a, {HIDDEN}, attn_mask={ALIKE})",
            "m(a, a, a, attn_mask=b)", "m(a, a, a, attn_mask=c)", "m(a, a, a, d)",
            "m(a, a, a, d, attn_mask=b, need_weights=False)",
            "m(a, a, a, attn_mask=c > 2.0, need_weights=False)",
        ):  # fmt: skip
            yield Case(make, ("x(2, 5, 4)", "x(5, 5)", "x(4, 5, 5)", "x(2, 5)"), call)
    padded = "m(a, a, a, torch.tensor([[False] * 6 + [True] * 3] * 2), attn_mask="
    padded += f"{causal}(9) < 0, need_weights=False, is_causal=True)"
    yield Case("nn.MultiheadAttention(2, 1, batch_first=True)", ("x(2, 9, 2)",), padded)
    for need in (True, False):
        hint = (
            f"m(a, a, a, attn_mask={causal}(5, dtype=a.dtype), need_weights={need}, is_causal=True)"
        )
        yield Case(f"{first})", ("x(2, 5, 4)",), hint)


def _layers():
    for text in (
        "", ", norm_first=True", ", activation='gelu'", ", bias=False", ", layer_norm_eps=0.1",
        ", activation=F.silu",
    ):  # fmt: skip
        for order in ("", ", batch_first=True"):
            make = f"nn.TransformerEncoderLayer(4, 2, 4, dropout=0.0{text}{order})"
            for evaluated in (False, True):
                yield Case(make, ("x(3, 3, 4)",), "", evaluated)
        make = f"nn.TransformerEncoderLayer(4, 2, 4, dropout=0.0{text}, batch_first=True)"
        for evaluated in (False, True):
            yield Case(make, ("x(2, 5, 4)",), f"m(a, src_key_padding_mask={PADDED})", evaluated)
        make = make.replace("Encoder", "Decoder")
        yield Case(make, ("x(2, 5, 4)", "x(2, 3, 4)"))
        yield Case(make, ("x(2, 5, 4)", "x(2, 3, 4)", "x(5, 5)", "x(5, 3)"), "m(a, b, c, d)", True)
        yield Case(make, ("x(2, 3, 4)", "x(2, 5, 4)"), f"m(a, b, memory_key_padding_mask={PADDED})")
    yield Case("nn.TransformerEncoderLayer(4, 2, 4, dropout=0.1)", ("x(3, 2, 4)",), "", True)
    yield Case("nn.TransformerEncoderLayer(6, 3, 8, dropout=0.0)", ("x(4, 6)",))
    yield Case("nn.TransformerDecoderLayer(6, 3, 8, dropout=0.0)", ("x(4, 6)", "x(3, 6)"))


def _transformers():
    layer = "nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True)"
    make = f"nn.TransformerEncoder({layer}, 2, nn.LayerNorm(4))"
    causal = "nn.Transformer.generate_square_subsequent_mask(5, dtype=a.dtype)"
    for evaluated in (False, True):
        yield Case(make, ("x(2, 5, 4)",), "", evaluated)
        yield Case(make, ("x(2, 5, 4)",), f"m(a, src_key_padding_mask={PADDED})", evaluated)
        yield Case(make, ("x(2, 5, 4)", "x(5, 5)"), "m(a, b)", evaluated)
        yield Case(make, ("x(2, 5, 4)",), f"m(a, {causal})", evaluated)
    decoder = layer.replace("Encoder", "Decoder")
    yield Case(f"nn.TransformerDecoder({decoder}, 2)", ("x(2, 5, 4)", "x(2, 3, 4)"))
    for text in ("", ", batch_first=True", ", norm_first=True, activation='gelu'"):
        make = f"nn.Transformer(4, 2, 1, 1, 6, dropout=0.0{text})"
        masked = f"m(a, b, tgt_mask={causal}, tgt_is_causal=True)"
        yield Case(make, ("x(5, 5, 4)", "x(5, 5, 4)"), masked)
    yield Case("nn.Transformer(4, 2, 1, 1, 6)", ("x(5, 2, 4)", "x(3, 2, 4)"), "", True)
    yield Case("nn.Transformer(4, 2, 1, 1, 6, dropout=0.0)", ("x(5, 4)", "x(3, 4)"))


CASES = list(_cases())
