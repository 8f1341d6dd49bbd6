"""Training steps of convolutional networks, written in several ways: traced, a plan computes what
is made of convolutions in the order in which their results lie, and the bits are those of eager
steps.

The sizes make reductions over images longer than a chunk, with a rest, of channels in vectors.
"""

import numpy as np
import pytest

import frazil as fz
from frazil import nn, optim

F = nn.functional


def layers(pool, padding):
    parts = []
    for a, b in ((3, 16), (16, 24)):
        parts += [nn.Conv2d(a, b, 3, padding=padding), nn.BatchNorm2d(b), nn.ReLU(), pool]
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(24 * 64, 10))


class Functional(nn.Module):
    """Calls of functions, a normalisation of its own, pooling by a reshape."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(1)
        shapes = ((16, 3, 3, 3), (24, 16, 3, 3))
        self.kernels = nn.ParameterList(
            [nn.Parameter(fz.asarray(rng.normal(size=s).astype("float32") / 8)) for s in shapes]
        )
        self.scales = nn.ParameterList([nn.Parameter(fz.ones(s[0])) for s in shapes])
        self.head = nn.Linear(24 * 64, 10)

    def forward(self, x):
        for kernel, scale in zip(self.kernels, self.scales, strict=True):
            x = F.conv2d(x, kernel, padding="same")
            apart = x - x.mean(axis=(0, 2, 3), keepdims=True)
            deviation = fz.sqrt((apart**2).mean(axis=(0, 2, 3), keepdims=True) + 1e-5)
            x = fz.maximum(apart / deviation * scale.reshape(1, -1, 1, 1), 0.0)
            n, c, h, w = x.shape
            x = x.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))
        return self.head(x.reshape(x.shape[0], -1))


class Last(nn.Module):
    """Channels last."""

    def __init__(self):
        super().__init__()
        self.convolutions = nn.ModuleList([nn.Conv2d(3, 16, 3), nn.Conv2d(16, 24, 3)])
        self.norms = nn.ModuleList([nn.BatchNorm2d(16), nn.BatchNorm2d(24)])
        self.head = nn.Linear(24 * 64, 10)

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        for conv, norm in zip(self.convolutions, self.norms, strict=True):
            x = F.conv2d(x, conv.weight, conv.bias, padding=1, channels_last=True)
            x = F.batch_norm(
                x, norm.running_mean, norm.running_var, norm.weight, norm.bias, training=True,
                channels_last=True,
            )  # fmt: skip
            x = F.max_pool2d(F.relu(x), 2, channels_last=True)
        return self.head(x.reshape(x.shape[0], -1))


class Residual(nn.Module):
    """Strides, a sum of branches, pooling over whole images, an intermediate result."""

    def __init__(self):
        super().__init__()
        self.stem, self.same = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)
        self.down, self.skip = nn.Conv2d(16, 24, 3, 2, 1), nn.Conv2d(16, 24, 1, 2)
        self.norms = nn.ModuleList([nn.BatchNorm2d(16), nn.BatchNorm2d(24)])
        self.head = nn.Linear(24, 10)

    def forward(self, x):
        x = F.gelu(self.stem(x))
        x = F.relu(x + self.norms[0](self.same(x)))
        x = F.relu(self.norms[1](self.down(x)) + self.skip(x))
        return self.head(x.mean(axis=(2, 3)))


MODELS = {
    "max": lambda: layers(nn.MaxPool2d(2), 1),
    "average": lambda: layers(nn.AvgPool2d(2), "same"),
    "overlapping": lambda: layers(nn.MaxPool2d(3, 2, 1), 1),
    "functional": Functional,
    "last": Last,
    "residual": Residual,
}


def train(make, batch, traced):
    """All bits that three steps leave."""
    fz.random.seed(3)
    rng = np.random.default_rng(2)
    model = make()
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    x = fz.asarray(rng.normal(size=(batch, 3, 32, 32)).astype("float32"))
    y = fz.asarray(rng.integers(0, 10, batch))

    def step(x, y):
        logits = model(x)
        loss = nn.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach(), logits.detach()

    step = fz.trace(step) if traced else step
    results = [part for _ in range(3) for part in step(x, y)]
    results += [p.detach() for p in model.parameters()] + list(model.buffers())
    return [np.asarray(result).tobytes() for result in results]


@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize("name", MODELS)
def test_traced_steps_have_the_bits_of_eager_ones(name, batch):
    assert train(MODELS[name], batch, True) == train(MODELS[name], batch, False)
