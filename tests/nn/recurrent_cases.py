"""Recurrent layers and cells, packed lengths, parametrised weights, nets of these, unpooling, as in
case.py.
"""

from case import Case

KINDS = ("RNN", "LSTM", "GRU")
TENSOR = "torch.tensor([2, 5, 1, 4])"
FALLING = "torch.tensor([5, 4, 4, 1])"


def _cases():
    yield from _cells()
    yield from _layers()
    yield from _packed()
    yield from _parametrized()
    yield from _nets()
    yield from _unpooling()


def _cells():
    for kind, options in (("RNN", ""), ("RNN", ", nonlinearity='relu'"), ("LSTM", ""), ("GRU", "")):
        state, given = ("x(4, 3)",), "b"
        if kind == "LSTM":
            state, given = ("x(4, 3)", "x(4, 3)"), "(b, c)"
        for bias in ("", ", bias=False"):
            make = f"nn.{kind}Cell(2, 3{bias}{options})"
            yield Case(make, ("x(4, 2)",))
            yield Case(make, ("x(4, 2)", *state), f"m(a, {given})")
        alone = tuple(text.replace("4, ", "") for text in state)
        yield Case(make, ("x(2)",))
        yield Case(make, ("x(2)", *alone), f"m(a, {given})")


def _layers():
    for kind in KINDS:
        states, given = (1, "b") if kind != "LSTM" else (2, "(b, c)")
        for text in (
            "", ", num_layers=2", ", bias=False", ", batch_first=True", ", bidirectional=True",
            ", num_layers=3, bidirectional=True", ", 2, dropout=1.0",
        ):  # fmt: skip
            yield Case(f"nn.{kind}(2, 3{text})", ("x(5, 4, 2)",))
        for text, count in (("", 1), (", 2, bidirectional=True", 4), (", 2, batch_first=True", 2)):
            n = 5 if "first" in text else 4
            hidden = (f"x({count}, {n}, 3)",) * states
            yield Case(f"nn.{kind}(2, 3{text})", ("x(5, 4, 2)", *hidden), f"m(a, {given})")
            hidden = (f"x({count}, 3)",) * states
            yield Case(f"nn.{kind}(2, 3{text})", ("x(5, 2)", *hidden), f"m(a, {given})")
            yield Case(f"nn.{kind}(2, 3{text})", ("x(5, 2)",))
        yield Case(f"nn.{kind}(2, 3, 2, dropout=0.5)", ("x(5, 4, 2)",), evaluated=True)
        yield Case(f"nn.{kind}(1, 2, bidirectional=True)", ("x(19, 1, 1)",))
        yield Case(f"nn.{kind}(1, 2)", ("x(1, 2, 1)",))
    for text in ("", ", bidirectional=True", ", 2, bidirectional=True", ", 2, bias=False"):
        yield Case(f"nn.RNN(2, 3{text}, nonlinearity='relu')", ("x(5, 4, 2)",))
        yield Case(f"nn.LSTM(2, 4{text}, proj_size=2)", ("x(5, 4, 2)",))
    yield Case("nn.RNN(2, 3, 2, 'relu', False, True)", ("x(4, 5, 2)",))
    hidden = ("x(2, 4, 2)", "x(2, 4, 4)")
    yield Case("nn.LSTM(2, 4, 2, proj_size=2)", ("x(5, 4, 2)", *hidden), "m(a, (b, c))")


def _packed():
    pack, padded = "nn.utils.rnn.pack_padded_sequence", "nn.utils.rnn.pad_packed_sequence"
    for kind in KINDS:
        states, given = (1, "b") if kind != "LSTM" else (2, "(b, c)")
        for text in ("", ", 2", ", bidirectional=True", ", 2, bidirectional=True"):
            make, some = f"nn.{kind}(2, 3{text})", f"{pack}(a, {TENSOR}, enforce_sorted=False)"
            yield Case(make, ("x(5, 4, 2)",), f"m({pack}(a, {FALLING}))")
            yield Case(
                make,
                ("x(5, 4, 2)",),
                f"(lambda y, last: ({padded}(y), last))(*m({some}))",
            )
        hidden = ("x(2, 4, 3)",) * states
        yield Case(
            f"nn.{kind}(2, 3, bidirectional=True, batch_first=True)",
            ("x(4, 7, 2)", *hidden),
            f"m({pack}(a, [3, 6, 1, 6], batch_first=True, enforce_sorted=False), {given})",
        )
        yield Case(f"nn.{kind}(2, 3)", ("x(5, 4, 2)", *hidden), f"m({some}, {given})[1]"
                   if text == "" else f"m({pack}(a, {FALLING}))[1]")  # fmt: skip
    yield Case(
        "nn.LSTM(2, 4, bidirectional=True, proj_size=3)",
        ("x(5, 4, 2)",),
        f"m({pack}(a, {TENSOR}, enforce_sorted=False))",
    )
    three = ("x(2, 3)", "x(4, 3)", "x(1, 3)")
    for text in (
        "pad_sequence([a, b, c])", "pad_sequence([a, b, c], True, 2.5)",
        "pad_sequence([a, b, c], padding_side='left')", "pack_sequence([b, a, c])",
        "pack_sequence([a, b, c], enforce_sorted=False)",
        "pad_packed_sequence(R.pack_sequence([a, b, c], False), True, 3.0, total_length=6)",
        "unpack_sequence(R.pack_sequence([a, b, c], False))",
        "unpad_sequence(R.pad_sequence([a, b, c]), torch.tensor([2, 4, 1]))",
    ):  # fmt: skip
        yield Case("", three, "nn.utils.rnn." + text.replace("R.", "nn.utils.rnn."))
    yield Case(
        "nn.Linear(3, 2)",
        three,
        "(lambda p: nn.utils.rnn.PackedSequence(m(p.data), *list(p)[1:]))"
        "(nn.utils.rnn.pack_sequence([a, b, c], False))",
    )


def _parametrized():
    for name in ("weight_norm", "spectral_norm"):
        for layer, shape in (
            ("Linear(3, 4)", "x(5, 3)"), ("Conv1d(2, 3, 2)", "x(2, 2, 5)"),
            ("ConvTranspose2d(2, 3, 2)", "x(1, 2, 3, 2)"),
        ):  # fmt: skip
            for dim in ("", ", dim=1"):
                for evaluated in (False, True):
                    make = f"nn.utils.parametrizations.{name}(nn.{layer}{dim})"
                    yield Case(make, (shape,), "", evaluated)
    yield Case("nn.utils.parametrizations.weight_norm(nn.Linear(3, 4), dim=None)", ("x(5, 3)",))
    yield Case("nn.utils.parametrizations.weight_norm(nn.Linear(3, 4), 'bias')", ("x(5, 3)",))
    yield Case(
        "nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4), n_power_iterations=3)",
        ("x(5, 3)",),
    )
    yield Case(
        "nn.utils.parametrizations.weight_norm(nn.LSTM(2, 3), 'weight_hh_l0')", ("x(5, 4, 2)",)
    )


def _nets():
    for kind in KINDS:
        first = ("[0]",) if kind != "LSTM" else ("[0]", "[1][0]")
        yield Case(
            f"nn.ModuleDict({{'embed': nn.Embedding(7, 3), 'rnn': nn.{kind}(3, 4, 2, "
            "batch_first=True), 'head': nn.Linear(4, 2)})",
            ("i(4, 5, 7)",),
            "m['head'](m['rnn'](m['embed'](a))[0][:, -1])",
        )
        yield Case(
            f"nn.ModuleDict({{'encode': nn.{kind}(2, 3, bidirectional=True), "
            f"'decode': nn.{kind}(6, 3), 'out': nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 2))}})",
            ("x(5, 4, 2)",),
            "m['out'](m['decode'](m['encode'](a)[0])[0])",
        )
        yield Case(
            f"nn.ModuleList([nn.{kind}Cell(2, 3), nn.{kind}Cell(3, 3)])",
            ("x(4, 2)",),
            f"m[1](m[0](a){'[0]' if len(first) > 1 else ''})",
        )
    yield Case(
        "nn.ModuleDict({'conv': nn.Conv1d(2, 3, 3, padding=1), 'gru': nn.GRU(3, 4), "
        "'norm': nn.BatchNorm1d(4)})",
        ("x(4, 2, 6)",),
        "m['norm'](m['gru'](m['conv'](a).permute(2, 0, 1))[1][0])",
    )


def _unpooling():
    for n, shape in ((1, "x(2, 3, 9)"), (2, "x(2, 2, 6, 8)"), (3, "x(1, 2, 4, 4, 5)")):
        for text in ("2", "2, 3", "3, 3, 1"):  # where windows overlap gradients differ
            yield Case(
                f"nn.MaxPool{n}d({text}, return_indices=True)",
                (shape,),
                f"nn.MaxUnpool{n}d({text})(*m(a), output_size={shape[1:]})",
            )
    pooled = "F.max_pool2d(a, 2, return_indices=True)"
    yield Case("", ("x(3, 4, 6)",), f"F.max_unpool2d(*{pooled}, 2)")


CASES = list(_cases())
