"""Layers, losses and functions against PyTorch's numbers (parity.py writes them)."""

import importlib
import json
import os
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import models
import numpy as np
import pytest
from case import cotangent

import frazil as fz
from frazil import nn
from frazil.nn import functional as F

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
FILES = [path.with_suffix(".npz") for path in sorted(Path(__file__).parent.glob("*_cases.py"))]
NAMES = {
    "nn": nn, "F": F, "torch": SimpleNamespace(tensor=fz.asarray), "models": models,
    "cat": fz.concat,
}  # fmt: skip


def read(path):
    """{case: {name: array}}"""
    with np.load(path) as file:
        numbers, table = file["numbers"], json.loads(file["table"].tobytes())
    at = 0
    for parts in table.values():
        for i, (name, shape) in enumerate(parts):
            size = int(np.prod(shape))
            parts[i] = name, numbers[at : at + size].reshape(shape)
            at += size
    assert at == len(numbers)
    return {name: dict(parts) for name, parts in table.items()}


CASES = [case for path in FILES for case in importlib.import_module(path.stem).CASES]
KNOWN = {name: parts for path in FILES for name, parts in read(path).items()}


def tensors(result):
    if isinstance(result, fz.Tensor):
        return [result]
    return [] if result is None else [t for part in result for t in tensors(part)]


class Run:
    """A case made ready: the module with PyTorch's state, the inputs, and its call."""

    def __init__(self, case, dtype="float64"):
        self.case, self.known = case, KNOWN[case.name]
        self.module = eval(case.make, dict(NAMES)).to(dtype) if case.make else None
        if self.module is not None:
            self.module.train(not case.evaluated)
            self.load()
        self.inputs = []
        for spec, array in zip(case.inputs, self.of("input").values(), strict=True):
            x = fz.asarray(array, dtype="int64" if self.whole(spec) else dtype)
            self.inputs.append(x)

    @staticmethod
    def whole(spec):
        return spec.startswith("i(") and "." not in spec

    def of(self, kind):
        """{name: array} of what is known of one kind."""
        found = {}
        for name, array in self.known.items():
            first, _, rest = name.partition(" ")
            if first == kind:
                found[rest] = array
        return found

    def load(self):
        self.module.load_state_dict(self.of("state"))

    def forward(self, *inputs):
        names = NAMES | {"m": self.module} | dict(zip("abcdefgh", inputs, strict=False))
        return eval(self.case.call, names) if self.case.call else self.module(*inputs)

    def all(self, forward):
        """{name: array} of outputs, gradients and buffers after one call."""
        if self.module is not None:
            self.load()
            self.module.zero_grad()
        inputs = [x.detach() * 1 for x in self.inputs]
        for x in inputs:
            if x.dtype.kind == "real floating":
                x.requires_grad_()
        found, loss = {}, None
        for i, y in enumerate(tensors(forward(*inputs))):
            found[f"output {i}"] = np.asarray(y)
            if y.dtype.kind == "real floating":
                weights = fz.asarray(cotangent(y.size).reshape(y.shape), dtype=y.dtype)
                part = (y * weights).sum()
                loss = part if loss is None else loss + part
        if loss is not None and loss.requires_grad:
            loss.backward()
        leaves = dict(enumerate(inputs))
        if self.module is not None:
            leaves |= dict(self.module.named_parameters())
            for name, buffer in self.module.named_buffers():
                found[f"after {name}"] = np.asarray(buffer)
        for name, leaf in leaves.items():
            if leaf.requires_grad and leaf.grad is not None:
                found[f"gradient {name}"] = np.asarray(leaf.grad)
        return found


def agree(found, known, tolerance):
    wanted = {name: a for name, a in known.items() if name.split()[0] not in ("state", "input")}
    for name, want in wanted.items():
        got = found.pop(name, None)
        if got is None:  # a gradient of zeros may be none at all
            assert name.startswith("gradient") and not want.any(), name
            continue
        assert got.shape == want.shape, name
        finite = np.isfinite(want)
        np.testing.assert_array_equal(got[~finite], want[~finite], err_msg=name)
        largest = max(np.abs(want[finite]).max(initial=0), 1e-3)
        np.testing.assert_allclose(
            got[finite], want[finite], rtol=0, atol=tolerance * largest, err_msg=name
        )
    for name, left in found.items():
        assert name.startswith("gradient") and not left.any(), name


def test_the_files_have_every_case():
    assert list(KNOWN) == [case.name for case in CASES] and len(CASES) > 300
    assert all(path.stat().st_size < 700_000 for path in FILES)


def test_the_page_counts_every_case(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    subject = importlib.import_module("gen_parity").subject
    page = (ROOT / "docs" / "parity.md").read_text(encoding="utf-8")
    for name, count in Counter(subject(case) for case in CASES).items():
        assert f"\n| `{name}` | {count} |" in page, f"{name}: run tools/gen_parity.py"


def test_what_the_page_says_is_left_out_is(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    places = {"nn": nn, "F": F, "Module": nn.Module, "utils": nn.utils}
    for name in " ".join(importlib.import_module("gen_parity").LEFT_OUT).split():
        place, _, rest = name.partition(".")
        assert not hasattr(places[place], rest), name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_like_pytorch(case):
    run = Run(case)
    eager = run.all(run.forward)
    traced = fz.trace(run.forward)
    for _ in range(3):
        again = run.all(traced)
        assert again.keys() == eager.keys()
        for name, array in eager.items():
            np.testing.assert_array_equal(again[name], array, err_msg=name)
    agree(dict(eager), run.known, case.tolerance)


@pytest.mark.parametrize("case", CASES[::7], ids=lambda case: case.name)
def test_float32_like_pytorch(case):
    run = Run(case, "float32")
    agree(run.all(run.forward), run.known, 1e-5)
