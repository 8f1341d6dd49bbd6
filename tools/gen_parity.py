"""Writes docs/parity.md: how far frazil's layers, losses, optimizers and schedules are from
PyTorch's recorded numbers (tests/nn/parity.py, tests/optim/parity.py write these).

    ./dev python tools/gen_parity.py

A difference is divided by the largest number of the array that it is in, at least 1e-3.
"""

import re
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "parity.md"
sys.path[:0] = [str(ROOT / "tests" / "nn"), str(ROOT / "tests" / "optim")]

HEAD = """# Parity with PyTorch

Every layer, loss, optimizer and schedule was given to PyTorch 2.13 in float64, and its outputs, \
gradients, buffers, steps and rates were recorded. Here are frazil's, which load PyTorch's state \
dicts by name: the largest difference, relative to the largest number of the array that it is in. \
`Hardsigmoid`, and what is made of it, differs by 3e-8, as PyTorch's gradient has 1/6 in float32. \
`./dev python tools/gen_parity.py` writes this page; `tests/nn` and `tests/optim` hold it.
"""

# Public names of PyTorch 2.13 that frazil lacks, and what does their work; tests/nn/test_parity.py
# looks whether they still do.
LEFT_OUT = {
    "nn.AdaptiveLogSoftmaxWithLoss nn.FractionalMaxPool2d nn.FractionalMaxPool3d nn.CrossMapLRN2d "
    "nn.LinearCrossEntropyLoss F.conv_tbc F.fractional_max_pool2d F.fractional_max_pool3d "
    "F.linear_cross_entropy F.grouped_mm F.scaled_mm": "met rarely; written of ops where needed",
    "nn.DataParallel nn.SyncBatchNorm": "several devices in one process",
    "nn.Buffer": "`register_buffer`",
    "nn.UninitializedParameter nn.UninitializedBuffer": "lazy layers have no parameters before "
    "their first call",
    "nn.RNNBase nn.RNNCellBase nn.Container": "bases that programs do not make",
    "Module.compile": "`fz.trace`, `fz.mode`",
    "Module.register_backward_hook nn.NLLLoss2d F.upsample F.upsample_bilinear "
    "F.upsample_nearest utils.clip_grad_norm utils.weight_norm utils.spectral_norm": "deprecated "
    "there: `register_full_backward_hook`, `NLLLoss`, `interpolate`, `clip_grad_norm_`, "
    "`utils.parametrizations`",
    "Module.type Module.to_empty Module.ipu Module.mtia Module.xpu": "`to`",
    "Module.share_memory": "workers of a `DataLoader` get batches to the parent by shared memory",
    "F.relu_ F.elu_ F.celu_ F.selu_ F.hardtanh_ F.leaky_relu_ F.rrelu_ F.threshold_": "a traced "
    "call writes over what nobody needs by itself",
    "F.multi_head_attention_forward F.max_pool2d_with_indices": "`MultiheadAttention`, "
    "`max_pool2d(return_indices=True)`",
    "utils.fuse_conv_bn_eval utils.fuse_linear_bn_eval": "models are not rewritten",
}


def subject(case):
    """What a case is about: "nn.Conv2d", "F.pad", "models.unet"."""
    text = case.make if case.make and not case.make.startswith("nn.Sequential") else case.call
    found = re.search(r"\b(nn|F|models)\.((?:\w+\.)*\w+)\(", text or case.make)
    return f"{found[1]}.{found[2]}" if found else case.name


def apart(found, want):
    """The largest difference of two arrays of one shape."""
    finite = np.isfinite(want)
    if not finite.any():
        return 0.0
    scale = max(np.abs(want[finite]).max(), 1e-3)
    return float(np.abs(found[finite] - want[finite]).max() / scale)


def of_case(case):
    """(of outputs and buffers, of gradients)."""
    from test_parity import Run

    run = Run(case)
    found, worst = run.all(run.forward), {"gradient": 0.0, "output": 0.0}
    for name, array in found.items():
        want = run.known.get(name)
        if want is not None:
            kind = "gradient" if name.startswith("gradient") else "output"
            worst[kind] = max(worst[kind], apart(array, want))
    return worst["output"], worst["gradient"]


def layers():
    from test_parity import CASES

    rows = {}
    for case in CASES:
        row = rows.setdefault(subject(case), [0, 0.0, 0.0])
        out, gradient = of_case(case)
        row[0] += 1
        row[1], row[2] = max(row[1], out), max(row[2], gradient)
    return rows


def optimizers():
    import test_optimizers

    import frazil as fz

    test_optimizers.muon._DTYPE = "float64"
    rows = {}
    for text, want in test_optimizers.KNOWN.items():
        with fz.mode("eager" if "Muon" in text else "auto"):
            found, _, _ = test_optimizers.run(text)
        row = rows.setdefault(f"optim.{text.split('(')[0]}", [0, 0.0])
        row[0] += 1
        row[1] = max(row[1], apart(found, want))
    return rows


def schedules():
    import test_schedules

    rows = {}
    for case, want in test_schedules.KNOWN.items():
        run, found = test_schedules.Run(case), []
        for t in range(test_schedules.EPOCHS):
            found += run.rates()
            run.step(test_schedules.metric(t))
        name = re.match(r"\w+", case.make)[0]
        row = rows.setdefault(name, [0, 0.0])
        row[0] += 1
        row[1] = max(row[1], apart(np.array(found), want))
    return rows


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for name in sorted(rows):
        count, *worst = rows[name]
        cells = [f"`{name}`", str(count), *(f"{number:.0e}" if number else "0" for number in worst)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main():
    found = layers()
    parts = {
        "Layers": {k: v for k, v in found.items() if k.startswith("nn.")},
        "Functions": {k: v for k, v in found.items() if k.startswith("F.")},
        "Whole models": {k: v for k, v in found.items() if k.startswith("models.")},
    }
    text = HEAD
    for title, rows in parts.items():
        cases = sum(row[0] for row in rows.values())
        text += f"\n## {title}\n\n{len(rows)} with {cases} cases.\n\n"
        text += table(["name", "cases", "outputs", "gradients"], rows)
    for title, rows in (("Optimizers", optimizers()), ("Schedules", schedules())):
        cases = sum(row[0] for row in rows.values())
        text += f"\n## {title}\n\n{len(rows)} with {cases} cases.\n\n"
        text += table(["name", "cases", "steps" if title == "Optimizers" else "rates"], rows)
    text += "\n## What is left out\n\nPublic names of `torch.nn` that have no counterpart here.\n\n"
    text += "| name | why, or what instead |\n| --- | --- |\n"
    for names, why in LEFT_OUT.items():
        text += f"| {', '.join(f'`{name}`' for name in names.split())} | {why} |\n"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
