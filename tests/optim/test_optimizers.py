"""Optimizers against PyTorch's numbers (parity.py writes them), eager and traced."""

from pathlib import Path

import numpy as np
import optimizer_cases as cases
import pytest

import frazil as fz
from frazil import optim
from frazil.optim import muon

with np.load(Path(__file__).with_name("optim.npz")) as file:
    KNOWN = dict(zip(cases.OPTIMIZERS, file.values(), strict=False))


def run(text, wrap=lambda f: f, dtype="float64", steps=cases.STEPS):
    """The parameters after each step, and what made the steps."""
    params = [
        fz.asarray(cases.start(i), dtype=dtype).requires_grad_() for i in range(len(cases.SHAPES))
    ]
    optimizer = eval(f"optim.{text}", {"optim": optim, **cases.groups(params)})

    def closure():
        optimizer.zero_grad()
        total = sum(cases.loss(p, i) for i, p in enumerate(params))
        total.backward()
        return total

    def step(*drifts):
        if text.startswith("LBFGS"):
            optimizer.step(closure)
            return
        optimizer.zero_grad()
        # Their gradients are p / 2 + drift.
        sum((p * p * 0.25 + p * d).sum() for p, d in zip(params, drifts, strict=True)).backward()
        optimizer.step()

    step, found = wrap(step), []
    for t in range(steps):
        step(*[fz.asarray(cases.drift(i, t), dtype=dtype) for i in range(len(params))])
        found += [np.asarray(p.detach().astype("float64")).ravel() for p in params]
    return np.concatenate(found), step, optimizer


@pytest.mark.parametrize("text", cases.OPTIMIZERS)
def test_like_pytorch(text, monkeypatch):
    monkeypatch.setattr(muon, "_DTYPE", "float64")  # as in the file: rounding is not compared
    with fz.mode("eager" if "Muon" in text else "auto"):
        found, _, _ = run(text)
    want = KNOWN[text]
    assert found.shape == want.shape
    loose = text.startswith(("Muon", "LBFGS"))  # where differences of rounding grow
    np.testing.assert_allclose(found, want, rtol=1e-9 if loose else 1e-12, atol=1e-12)


@pytest.mark.parametrize("text", cases.OPTIMIZERS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_traced_steps_have_the_same_bits_and_are_skipped(text, dtype):
    eager, _, _ = run(text, dtype=dtype, steps=14)
    traced, step, _ = run(text, fz.trace, dtype, steps=14)
    np.testing.assert_array_equal(eager.view(np.uint8), traced.view(np.uint8))
    if not text.startswith("LBFGS"):
        assert step.stats()["skipped"] >= 9, step.explain()
        traced, step, _ = run(text, lambda f: fz.trace(f, proof=False), dtype, steps=14)
        np.testing.assert_array_equal(eager.view(np.uint8), traced.view(np.uint8))
