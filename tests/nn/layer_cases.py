"""Layers, losses and functions, as in case.py."""

from case import Case


def _cases():
    for layer in (
        "ReLU ReLU6 Tanh Sigmoid LogSigmoid Hardsigmoid Hardswish SiLU Mish SELU Softsign "
        "Tanhshrink Hardtanh LeakyReLU ELU CELU Softplus Hardshrink Softshrink GELU GLU Identity "
        "PReLU"
    ).split():
        yield Case(f"nn.{layer}()", ("x(3, 8)",))
    for text in (
        "Hardtanh(-0.5, 0.25)", "Threshold(0.1, 20.0)", "LeakyReLU(0.3)", "ELU(0.5)", "CELU(1.5)",
        "Softplus(2.0, 1.0)", "Hardshrink(0.2)", "Softshrink(0.2)", "GELU('tanh')", "Softmax(1)",
        "Softmax(0)", "Softmin(1)", "LogSoftmax(0)", "GLU(0)", "Flatten()", "Flatten(0, 1)",
        "Unflatten(1, (2, 4))",
    ):  # fmt: skip
        yield Case(f"nn.{text}", ("x(4, 8)",))
    yield Case("nn.PReLU(3)", ("x(2, 3, 4)",))
    yield Case("nn.RReLU()", ("x(3, 4)",), evaluated=True)
    yield Case("nn.Softmax2d()", ("x(2, 3, 2, 2)",))
    for text in ("", ", p=1.0", ", p=3.0, dim=0"):
        yield Case("", ("x(3, 4)",), f"F.normalize(a{text})")
    for name in ("Dropout", "Dropout2d", "AlphaDropout"):
        yield Case(f"nn.{name}()", ("x(2, 3, 2, 2)",), evaluated=True)
    yield from _linear()
    yield from _normalization()
    yield from _convolution()
    yield from _pooling()
    yield from _places()
    yield from _losses()


def _linear():
    for text in ("Linear(3, 4)", "Linear(3, 4, bias=False)"):
        yield Case(f"nn.{text}", ("x(5, 3)",))
        yield Case(f"nn.{text}", ("x(2, 2, 3)",), "m(a) * 1")
    yield Case("nn.Bilinear(3, 4, 2)", ("x(5, 3)", "x(5, 4)"))
    for text in ("", ", padding_idx=1", ", max_norm=1.0"):
        yield Case(f"nn.Embedding(6, 3{text})", ("i(2, 4, 6)",))
    for mode in ("mean", "sum", "max"):
        yield Case(f"nn.EmbeddingBag(6, 3, mode='{mode}')", ("i(3, 4, 6)",))
        offsets = "m(a, torch.tensor([0, 2, 2, 5]))"
        yield Case(f"nn.EmbeddingBag(6, 3, mode='{mode}')", ("i(7, 6)",), offsets)
        yield Case(f"nn.EmbeddingBag(6, 3, mode='{mode}', padding_idx=2)", ("i(3, 4, 6)",), "m(a)")
    yield Case("nn.EmbeddingBag(6, 3, mode='sum')", ("i(3, 4, 6)", "x(3, 4)"), "m(a, None, b)")
    yield Case("nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))", ("x(5, 3)",))
    yield Case("nn.ModuleList([nn.Linear(3, 4), nn.Linear(4, 2)])", ("x(5, 3)",), "m[1](m[0](a))")
    yield Case(
        "nn.ModuleDict({'up': nn.Linear(3, 4), 'down': nn.Linear(4, 2)})",
        ("x(5, 3)",),
        "m['down'](m['up'](a))",
    )


def _normalization():
    for rank, shape in ((1, "6, 3"), (1, "4, 3, 5"), (2, "3, 3, 2, 4"), (3, "2, 3, 2, 2, 3")):
        for text in ("", ", momentum=None", ", affine=False", ", track_running_stats=False"):
            for evaluated in (False, True):
                name = f"nn.BatchNorm{rank}d(3{text})"
                yield Case(name, (f"x({shape})",), "m(a) + 0" if "5" in shape else "", evaluated)
    for rank, shape in ((1, "2, 3, 5"), (2, "2, 3, 2, 4"), (3, "2, 3, 2, 2, 3")):
        for text in ("", ", affine=True, track_running_stats=True"):
            for evaluated in (False, True):
                name = f"nn.InstanceNorm{rank}d(3{text})"
                yield Case(name, (f"x({shape})",), "", evaluated)
    yield Case("nn.InstanceNorm2d(3)", ("x(3, 2, 4)",), "m(a)")
    for text in ("5", "(2, 5)", "5, eps=0.1", "5, elementwise_affine=False", "5, bias=False"):
        yield Case(f"nn.LayerNorm({text})", ("x(3, 2, 5)",))
    for text in ("5", "(2, 5)", "5, eps=0.1", "5, elementwise_affine=False"):
        yield Case(f"nn.RMSNorm({text})", ("x(3, 2, 5)",))
    for text in ("2, 4", "1, 4", "4, 4, affine=False"):
        yield Case(f"nn.GroupNorm({text})", ("x(2, 4, 3, 2)",))
    for size in (2, 3):
        yield Case(f"nn.LocalResponseNorm({size}, 0.5)", ("x(2, 4, 3)",))


def _convolution():
    for text in (
        "4, 6, 3", "4, 6, 3, stride=2", "4, 6, 3, padding=1", "4, 6, 3, dilation=2, padding=2",
        "4, 6, 3, groups=2", "4, 4, 2, groups=4, bias=False", "4, 2, 3, padding='same'",
        "4, 2, 4, padding='same'", "4, 2, 2, padding='valid'",
        "4, 2, 3, padding=1, padding_mode='reflect'",
        "4, 2, 3, padding=2, padding_mode='replicate'",
        "4, 2, 3, padding=2, padding_mode='circular'",
        "4, 2, 3, padding='same', padding_mode='circular'", "4, 2, 1",
    ):  # fmt: skip
        yield Case(f"nn.Conv1d({text})", ("x(2, 4, 7)",))
        yield Case(f"nn.Conv2d({text})", ("x(1, 4, 7, 6)",))
        if "groups=2" in text or "dilation" in text or "padding_mode" not in text:
            yield Case(f"nn.Conv3d({text.replace('4, 6', '4, 2')})", ("x(1, 4, 5, 6, 5)",))
    yield Case("nn.Conv2d(4, 2, (1, 3), stride=(2, 1), padding=(0, 1))", ("x(2, 4, 5, 6)",))
    yield Case("nn.Conv2d(3, 2, 3)", ("x(3, 5, 6)",))
    for text in (
        "4, 6, 3", "4, 6, 3, stride=2", "4, 6, 3, stride=2, padding=1, output_padding=1",
        "4, 6, 2, stride=3", "4, 6, 3, groups=2", "4, 6, 3, dilation=2, padding=3",
        "4, 6, 1, padding=0, bias=False", "4, 2, 2, stride=2, padding=2",
    ):  # fmt: skip
        yield Case(f"nn.ConvTranspose1d({text})", ("x(2, 4, 5)",))
        yield Case(f"nn.ConvTranspose2d({text})", ("x(1, 4, 4, 5)",))
        yield Case(f"nn.ConvTranspose3d({text.replace('4, 6', '4, 2')})", ("x(1, 4, 3, 4, 3)",))
    yield Case("nn.ConvTranspose2d(4, 2, 3, stride=2)", ("x(4, 4, 5)",))
    yield Case(
        "nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1)", ("x(1, 4, 4, 5)",),
        "m(a, output_size=(8, 9))",
    )  # fmt: skip


def _pooling():
    shapes = {1: "x(2, 3, 9)", 2: "x(2, 2, 9, 8)", 3: "x(1, 2, 5, 6, 5)"}
    for n, shape in shapes.items():
        for text in (
            "2", "3, 2", "3, 2, 1", "3, 2, 1, ceil_mode=True", "2, 1, dilation=2",
            "2, return_indices=True", "3, 2, 1, 2, True, True",
        ):  # fmt: skip
            if not (n == 3 and "2, 1, 2" in text):
                yield Case(f"nn.MaxPool{n}d({text})", (shape,))
        for text in ("2", "3, 2", "3, 2, 1", "3, 2, 1, ceil_mode=True", "3, 2, 1, False, False"):
            yield Case(f"nn.AvgPool{n}d({text})", (shape,))
        if n > 1:
            yield Case(f"nn.AvgPool{n}d(3, 2, 1, True, False, 5)", (shape,))
        for size in ("3", "4", "1"):
            yield Case(f"nn.AdaptiveAvgPool{n}d({size})", (shape,))
            yield Case(f"nn.AdaptiveMaxPool{n}d({size})", (shape,))
            yield Case(f"nn.AdaptiveMaxPool{n}d({size}, return_indices=True)", (shape,))
    yield Case("nn.AdaptiveAvgPool2d((None, 5))", (shapes[2],))
    yield Case("nn.MaxPool2d((2, 3), (1, 2))", (shapes[2],))
    yield Case("nn.MaxPool2d(2)", ("i(1, 6, 6, 3) * 1.0",))  # equal maxima
    yield Case("nn.LPPool1d(2, 3)", ("p(2, 3, 9)",))
    yield Case("nn.LPPool2d(3, 2, 1)", ("p(1, 2, 5, 6)",))


def _places():
    for n, shape in ((1, "x(2, 2, 5)"), (2, "x(1, 2, 5, 4)"), (3, "x(1, 1, 4, 5, 4)")):
        widths = tuple([1, 2, 0, 3, 2, 1][: 2 * n])
        for kind in ("Zero", "Circular", "Replication", "Reflection"):
            yield Case(f"nn.{kind}Pad{n}d({widths})", (shape,))
            yield Case(f"nn.{kind}Pad{n}d(2)", (shape,))
        yield Case(f"nn.ConstantPad{n}d(1, 2.5)", (shape,))
    yield Case("nn.ZeroPad2d((-1, 2, 1, -2))", ("x(1, 2, 5, 4)",))
    yield Case("", ("x(2, 5)",), "F.pad(a, (1, 0, 2, 1), value=3.0)")
    for n, shape in ((1, "x(2, 2, 5)"), (2, "x(1, 2, 5, 4)"), (3, "x(1, 1, 4, 5, 4)")):
        linear = {1: "linear", 2: "bilinear", 3: "trilinear"}[n]
        for mode in ("nearest", "nearest-exact", "area", linear, *(["bicubic"] if n == 2 else [])):
            for by in ("scale_factor=2", "size=7", "size=3", "scale_factor=1.5"):
                yield (
                    Case(f"nn.Upsample({by}, mode='{mode}')", (shape,))
                    if mode != "area"
                    else (Case("", (shape,), f"F.interpolate(a, {by}, mode='area')"))
                )
            if mode in (linear, "bicubic"):
                yield Case(f"nn.Upsample(size=7, mode='{mode}', align_corners=True)", (shape,))
    yield Case("nn.UpsamplingNearest2d(scale_factor=2)", ("x(1, 2, 3, 4)",))
    yield Case("nn.UpsamplingBilinear2d(scale_factor=2)", ("x(1, 2, 3, 4)",))
    yield Case("nn.PixelShuffle(2)", ("x(2, 8, 2, 3)",))
    yield Case("nn.PixelUnshuffle(2)", ("x(2, 2, 4, 6)",))
    yield Case("nn.ChannelShuffle(2)", ("x(1, 6, 2, 2)",))


REDUCTIONS = ("mean", "sum", "none")


def _losses():
    two = ("x(4, 5)", "x(4, 5)")
    for r in REDUCTIONS:
        for text in (
            "MSELoss", "L1Loss", "HuberLoss", "HuberLoss(delta=0.3", "SmoothL1Loss",
            "SmoothL1Loss(beta=0.5",
        ):  # fmt: skip
            opened = text + (", " if "(" in text else "(")
            yield Case(f"nn.{opened}reduction='{r}')", two)
        yield Case(f"nn.PoissonNLLLoss(full=True, reduction='{r}')", ("x(4, 5)", "3 * p(4, 5)"))
        yield Case(f"nn.PoissonNLLLoss(log_input=False, reduction='{r}')", ("p(4, 5)", "p(4, 5)"))
        yield Case(f"nn.GaussianNLLLoss(full=True, reduction='{r}')", (*two, "p(4, 5)"))
        yield Case(f"nn.BCELoss(reduction='{r}')", ("p(4, 5)", "p(4, 5)"))
        yield Case(f"nn.BCEWithLogitsLoss(reduction='{r}')", ("x(4, 5)", "p(4, 5)"))
        yield Case(
            "", ("x(4, 5)", "p(4, 5)", "p(5)", "p(5)"),
            "F.binary_cross_entropy_with_logits(a, b, c.detach(), "
            f"reduction='{r}', pos_weight=d.detach())",
        )  # fmt: skip
        yield Case(
            "",
            ("p(4, 5)", "p(4, 5)", "p(5)"),
            f"F.binary_cross_entropy(a, b, c.detach(), reduction='{r}')",
        )
        yield Case(f"nn.KLDivLoss(reduction='{r}')", ("x(4, 5)", "p(4, 5)"))
        yield Case(f"nn.KLDivLoss(reduction='{r}', log_target=True)", two)
        for smooth in ("", ", label_smoothing=0.2"):
            options = f"reduction='{r}'{smooth}"
            yield Case(f"nn.CrossEntropyLoss({options})", ("x(4, 5)", "i(4, 5)"))
            yield Case(f"nn.CrossEntropyLoss(ignore_index=1, {options})", ("x(4, 3)", "i(4, 3)"))
            yield Case(f"nn.CrossEntropyLoss({options})", ("x(2, 5, 3)", "i(2, 3, 5)"))
            yield Case(f"nn.CrossEntropyLoss({options})", ("x(4, 5)", "u((4, 5), 1)"), "m(a, b)")
            yield Case(
                "", ("x(4, 5)", "i(4, 5)", "p(5)"), f"F.cross_entropy(a, b, c.detach(), {options})"
            )
            yield Case(
                "",
                ("x(4, 5)", "u((4, 5), 1)", "p(5)"),
                f"F.cross_entropy(a, b, c.detach(), {options}) * 1",
            )
        yield Case(f"nn.NLLLoss(reduction='{r}')", ("x(4, 5)", "i(4, 5)"))
        yield Case(
            "", ("x(2, 3, 4)", "i(2, 4, 3)", "p(3)"),
            f"F.nll_loss(a, b, c.detach(), ignore_index=0, reduction='{r}')",
        )  # fmt: skip
        for text in ("HingeEmbeddingLoss(", "SoftMarginLoss(", "HingeEmbeddingLoss(margin=0.5, "):
            yield Case(f"nn.{text}reduction='{r}')", ("x(4, 5)", "s(4, 5)"), "m(a, b.detach())")
        yield Case(f"nn.MarginRankingLoss(0.2, reduction='{r}')", ("x(6)", "x(6)", "s(6)"))
        yield Case(f"nn.CosineEmbeddingLoss(0.1, reduction='{r}')", (*two, "s(4)"))
        yield Case(f"nn.TripletMarginLoss(reduction='{r}')", (*two, "x(4, 5)"))
        yield Case(f"nn.TripletMarginLoss(2.0, 1.0, swap=True, reduction='{r}')", (*two, "x(4, 5)"))
        yield Case(f"nn.TripletMarginWithDistanceLoss(reduction='{r}')", (*two, "x(4, 5)"))
        yield Case(f"nn.MultiMarginLoss(reduction='{r}')", ("x(4, 5)", "i(4, 5)"))
        yield Case(f"nn.MultiMarginLoss(2, 0.5, reduction='{r}')", ("x(4, 5)", "i(4, 5)"))
        yield Case(
            f"nn.MultiLabelMarginLoss(reduction='{r}')", ("x(2, 4)",),
            "m(a, torch.tensor([[3, 0, -1, 1], [2, -1, 0, 1]]))",
        )  # fmt: skip
        yield Case(f"nn.MultiLabelSoftMarginLoss(reduction='{r}')", ("x(4, 5)", "i(4, 5, 2) * 1.0"))
        for zero in (False, True):
            lengths = "torch.tensor([6, 5, 3]), torch.tensor([3, 2, 4])"
            yield Case(
                f"nn.CTCLoss(reduction='{r}', zero_infinity=True, blank={int(zero)})",
                ("x(6, 3, 5)", f"i(3, 4, 4) + {int(not zero)}" if not zero else "i(3, 4, 3) + 2"),
                f"m(F.log_softmax(a, -1), b, {lengths})",
            )
        yield Case(
            f"nn.CTCLoss(reduction='{r}')", ("x(6, 2, 5)", "i(4, 4) + 1"),
            "m(F.log_softmax(a, -1), b, torch.tensor([6, 5]), torch.tensor([3, 1]))",
        )  # fmt: skip
    yield Case("nn.KLDivLoss(reduction='batchmean')", ("x(4, 5)", "p(4, 5)"))
    for text in ("", ", dim=0", ", dim=-1, eps=0.5"):
        yield Case("", two, f"F.cosine_similarity(a, b{text})")
    for text in ("", "1.0", "3.0, keepdim=True", "float('inf')"):
        yield Case(f"nn.PairwiseDistance({text})", two)


CASES = list(_cases())
