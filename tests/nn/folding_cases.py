"""Windows as columns, places by coordinates, lazy layers, as in case.py."""

from case import Case


def _cases():
    shape = "x(2, 3, 6, 7)"
    for text in ("2", "3, 2, 2, 1", "(2, 3), stride=2", "(3, 2), padding=(2, 0), stride=(1, 3)"):
        yield Case(f"nn.Unfold({text})", (shape,))
    yield Case("nn.Unfold(2)", ("x(3, 4, 4)",))
    yield Case("nn.Fold((4, 5), 2)", ("x(2, 12, 12)",))
    yield Case("nn.Fold((4, 5), (2, 3), stride=2)", ("x(6, 4)",))
    yield Case("nn.Fold((5, 6), 3, dilation=2, padding=2, stride=(1, 2))", ("x(1, 18, 15)",))
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (False, True):
                text = f"F.grid_sample(a, b * 1.3, '{mode}', '{padding}', {corners})"
                yield Case("", ("x(2, 2, 4, 5)", "x(2, 3, 2, 2)"), text)
    for mode in ("bilinear", "nearest"):
        text = f"F.grid_sample(a, b, '{mode}', 'border', False)"
        yield Case("", ("x(1, 2, 3, 4, 5)", "x(1, 2, 3, 2, 3)"), text)
    for corners in (False, True):
        yield Case("", ("x(2, 2, 3)",), f"F.affine_grid(a, (2, 1, 3, 4), {corners})")
        yield Case("", ("x(2, 3, 4)",), f"F.affine_grid(a, (2, 1, 3, 1, 4), {corners})")
    for p in ("1.0", "2.0", "3.0", "float('inf')"):
        yield Case("", ("x(5, 3)",), f"F.pdist(a, {p})")
    yield Case("nn.LPPool3d(2, 2)", ("p(1, 2, 4, 5, 4)",))
    for text, inputs in (
        ("LazyLinear(4)", "x(5, 3)"),
        ("LazyConv1d(4, 3, padding=1)", "x(2, 3, 7)"),
        ("LazyConv2d(4, 3, 2, groups=2)", "x(1, 4, 7, 6)"),
        ("LazyConv3d(2, 2, bias=False)", "x(1, 2, 3, 4, 3)"),
        ("LazyConvTranspose1d(4, 3, stride=2)", "x(2, 3, 5)"),
        ("LazyConvTranspose2d(4, 3, 2, 1, 1)", "x(1, 2, 4, 5)"),
        ("LazyConvTranspose3d(2, 2)", "x(1, 2, 2, 3, 2)"),
        ("LazyBatchNorm1d()", "x(6, 3)"),
        ("LazyBatchNorm2d(momentum=0.3)", "x(3, 3, 2, 4)"),
        ("LazyBatchNorm3d(affine=False)", "x(2, 3, 2, 2, 3)"),
        ("LazyInstanceNorm1d()", "x(2, 3, 5)"),
        ("LazyInstanceNorm2d(affine=True)", "x(2, 3, 2, 4)"),
        ("LazyInstanceNorm3d(track_running_stats=True)", "x(2, 3, 2, 2, 3)"),
    ):
        called = f".apply(lambda m: m(torch.tensor(models.zeros{inputs[1:]})))"
        yield Case(f"nn.{text}{called}", (inputs,))


CASES = list(_cases())
