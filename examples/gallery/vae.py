"""A variational autoencoder of handwritten digits with two latent numbers."""

from sklearn.datasets import load_digits

import frazil as fz
from frazil import nn, optim


class VAE(nn.Module):
    def __init__(self, width, latent=2):
        self.encoder = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, 64))

    def forward(self, x):
        """The negative bound of the log likelihood, and the latent means."""
        mean, log_variance = fz.split(self.encoder(x), 2, axis=-1)
        z = mean + fz.exp(log_variance / 2) * fz.random.normal(mean.shape)
        logits = self.decoder(z)
        pixels = nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="none")
        divergence = (mean**2 + fz.exp(log_variance) - log_variance - 1) / 2
        return fz.mean(fz.sum(pixels, axis=-1) + fz.sum(divergence, axis=-1)), mean


@fz.trace
def step(model, optimizer, x):
    loss, _ = model(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def main(small=False):
    count, epochs, width = (600, 20, 64) if small else (1797, 150, 256)
    data = load_digits()
    x = fz.asarray(data.data[:count] / 16, dtype=fz.float32)
    fz.random.seed(0)
    model = VAE(width)
    optimizer = optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    for epoch in range(epochs):
        for (batch,) in fz.data.batches(x, batch_size=50, shuffle=True, seed=epoch, drop_last=True):
            losses.append(step(model, optimizer, batch))
    with fz.no_grad():
        bound, mean = model(x)
        axis = fz.linspace(-2, 2, 8)
        grid = fz.stack(fz.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        drawn = nn.sigmoid(model.decoder(grid)).reshape(8, 8, 8, 8)
    y = fz.asarray(data.target[:count])
    return {
        "quality": bound.item(),
        "of": "nats a digit",
        "figure": {
            "points": {str(digit): mean[y == digit] for digit in range(10)},
            "image": drawn.permute(0, 2, 1, 3).reshape(64, 64),
        },
        "traced": step,
    }
