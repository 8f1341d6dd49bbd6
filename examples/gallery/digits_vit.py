"""A small vision transformer on handwritten digits: sixteen patches of 2 x 2 pixels."""

from sklearn.datasets import load_digits

import frazil as fz
from frazil import nn, optim


class ViT(nn.Module):
    def __init__(self, width, depth):
        self.embed = nn.Linear(4, width)
        self.token = nn.Parameter(0.02 * fz.random.normal((1, 1, width)))
        self.places = nn.Parameter(0.02 * fz.random.normal((17, width)))
        layer = nn.TransformerEncoderLayer(
            width, 4, 2 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, depth, norm=nn.LayerNorm(width))
        self.head = nn.Linear(width, 10)

    def forward(self, images):
        n = images.shape[0]
        patches = images.reshape(n, 4, 2, 4, 2).permute(0, 1, 3, 2, 4).reshape(n, 16, 4)
        tokens = fz.broadcast_to(self.token, (n, *self.token.shape[1:]))
        x = fz.concat([tokens, self.embed(patches)], axis=1) + self.places
        return self.head(self.encoder(x)[:, 0])


@fz.trace
def step(model, optimizer, images, labels):
    loss = nn.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.detach()


def main(small=False):
    count, epochs, width, depth = (600, 8, 32, 1) if small else (1797, 20, 64, 2)
    data = load_digits()
    x = fz.asarray(data.images[:count] / 16, dtype=fz.float32)
    y = fz.asarray(data.target[:count])
    held = count // 5
    fz.random.seed(0)
    model = ViT(width, depth)
    optimizer = optim.AdamW(model.parameters(), lr=2e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    losses = []
    for epoch in range(epochs):
        batches = fz.data.batches(x[held:], y[held:], batch_size=32, shuffle=True, seed=epoch)
        for images, labels in batches:
            losses.append(step(model, optimizer, images, labels))
        schedule.step()
    with fz.no_grad():
        right = fz.argmax(model(x[:held]), axis=1) == y[:held]
    return {
        "quality": fz.mean(right.astype(fz.float32)).item(),
        "of": "digits read right",
        "figure": {"losses": fz.stack(losses)},
        "traced": step,
    }
