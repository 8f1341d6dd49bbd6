"""A convolutional network on handwritten digits, images of 8 x 8 pixels."""

from sklearn.datasets import load_digits

import frazil as fz
from frazil import nn, optim


def block(channels, out):
    return nn.Conv2d(channels, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(), nn.MaxPool2d(2)


class CNN(nn.Module):
    def __init__(self, channels):
        self.features = nn.Sequential(
            *block(1, channels),
            *block(channels, 2 * channels),
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.25), nn.Linear(8 * channels, 10))

    def forward(self, images):
        return self.head(self.features(images))


@fz.trace
def step(model, optimizer, images, labels):
    loss = nn.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def main(small=False):
    count, epochs, channels = (600, 4, 8) if small else (1797, 20, 16)
    data = load_digits()
    x = fz.asarray(data.images[:count] / 16, dtype=fz.float32)[:, None]
    y = fz.asarray(data.target[:count])
    held = count // 5
    fz.random.seed(0)
    model = CNN(channels)
    optimizer = optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for epoch in range(epochs):
        batches = fz.data.batches(x[held:], y[held:], batch_size=32, shuffle=True, seed=epoch)
        for images, labels in batches:
            losses.append(step(model, optimizer, images, labels))
    model.eval()
    with fz.no_grad():
        right = fz.argmax(model(x[:held]), axis=1) == y[:held]
    return {
        "quality": fz.mean(right.astype(fz.float32)).item(),
        "of": "digits read right",
        "figure": {"losses": fz.stack(losses)},
        "traced": step,
    }
