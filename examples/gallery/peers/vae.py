"""PyTorch."""

import torch
from sklearn.datasets import load_digits
from torch import nn


class VAE(nn.Module):
    def __init__(self, width, latent=2):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, 64))

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, -1)
        z = mean + torch.exp(log_variance / 2) * torch.randn(mean.shape)
        pixels = nn.functional.binary_cross_entropy_with_logits(
            self.decoder(z), x, reduction="none"
        )
        divergence = (mean**2 + torch.exp(log_variance) - log_variance - 1) / 2
        return (pixels.sum(-1) + divergence.sum(-1)).mean(), mean


def peer(small=False):
    count, epochs, width = (600, 20, 64) if small else (1797, 150, 256)
    x = torch.tensor(load_digits().data[:count] / 16, dtype=torch.float32)
    torch.manual_seed(0)
    model = VAE(width)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    for _ in range(epochs):
        for rows in torch.randperm(count)[: count // 50 * 50].split(50):
            loss, _ = model(x[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    with torch.no_grad():
        bound, _ = model(x)
        axis = torch.linspace(-2, 2, 8)
        grid = torch.stack(torch.meshgrid(axis, axis, indexing="xy"), -1).reshape(-1, 2)
        torch.sigmoid(model.decoder(grid))
    return bound.item()
