"""PyTorch."""

import math

import torch
from torch import nn


def moons(count):
    angle = math.pi * torch.rand(count)
    upper = torch.rand(count) < 0.5
    x = torch.where(upper, torch.cos(angle) - 0.5, 0.5 - torch.cos(angle))
    y = torch.where(upper, torch.sin(angle) - 0.25, 0.25 - torch.sin(angle))
    return torch.stack([x, y], -1) + 0.05 * torch.randn(count, 2)


class Denoiser(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(10, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2)
        )

    def forward(self, x, time):
        angles = math.pi * time[:, None] * torch.tensor([0.5, 1.0, 2.0, 4.0])
        return self.layers(torch.cat([x, torch.sin(angles), torch.cos(angles)], -1))


def level(time):
    return torch.cos((time + 0.01) / 1.02 * math.pi / 2) ** 2


def mean_distance(a, b):
    return torch.sqrt(((a[:, None] - b) ** 2).sum(-1)).mean()


@torch.no_grad()
def denoise(model, x, now, then):
    noise = model(x, now.expand(x.shape[:1]))
    a, b = level(now), level(then)
    clean = (x - torch.sqrt(1 - a) * noise) / torch.sqrt(a)
    fresh = torch.sqrt((1 - b) / (1 - a) * (1 - a / b))
    kept = torch.sqrt((1 - b - fresh**2).clamp(min=0)) * noise
    return torch.sqrt(b) * clean + kept + fresh * torch.randn(x.shape)


def peer(small=False):
    width, steps, count, times = (64, 600, 500, 30) if small else (128, 6000, 2000, 100)
    torch.manual_seed(0)
    model = Denoiser(width)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    for _ in range(steps):
        x = moons(128)
        time, noise = torch.rand(128), torch.randn(x.shape)
        kept = level(time)[:, None]
        noisy = torch.sqrt(kept) * x + torch.sqrt(1 - kept) * noise
        loss = nn.functional.mse_loss(model(noisy, time), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.detach())
    x, true = torch.randn(count, 2), moons(count)
    clock = torch.linspace(1, 0, times + 1)
    for now, then in zip(clock[:-1], clock[1:], strict=True):
        x = denoise(model, x, now, then)
    apart = 2 * mean_distance(x, true) - mean_distance(x, x) - mean_distance(true, true)
    return apart.item()
