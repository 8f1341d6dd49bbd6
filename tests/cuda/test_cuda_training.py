"""The network of examples/train_digits.py learns on a GPU as it does on the CPU, bit for bit."""

import importlib.util

import gpu
import pytest

import frazil as fz
from frazil import nn, optim


def example():
    path = gpu.ROOT / "examples" / "train_digits.py"
    spec = importlib.util.spec_from_file_location("train_digits", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def trained(device, wrap, steps=6, precision="exact"):
    digits = example()
    x, y, _, _ = (t.to_device(device) for t in digits.load_digits())
    model = digits.make_model().to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    @wrap
    def step(images, labels):
        loss = nn.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    with fz.precision(precision):
        batches = fz.data.batches(x, y, batch_size=64, drop_last=True)
        losses = [step(*batch).item() for _, batch in zip(range(steps), batches, strict=False)]
    return losses, [gpu.bits(p) for p in model.parameters()]


@pytest.fixture(scope="module")
def wanted():
    pytest.importorskip("sklearn")
    losses, weights = trained("cpu", lambda f: f)
    assert losses[-1] < losses[0]
    return losses, weights


@pytest.mark.parametrize(
    "wrap",
    [lambda f: f, fz.trace, lambda f: fz.trace(f, pure=True)],
    ids=["eager", "traced", "pure"],
)
def test_digits(wanted, wrap):
    assert trained("cuda", wrap) == wanted
