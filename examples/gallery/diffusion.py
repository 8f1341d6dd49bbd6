"""A denoising diffusion model of points on two moons.

A network learns the noise in what it is given; run backwards, noise becomes points. The measure is
the energy distance between such points and new ones of the data: 0 if they cannot be told apart.
"""

import math

import frazil as fz
from frazil import nn, optim


def moons(count):
    angle = math.pi * fz.random.uniform(count)
    upper = fz.random.uniform(count) < 0.5
    x = fz.where(upper, fz.cos(angle) - 0.5, 0.5 - fz.cos(angle))
    y = fz.where(upper, fz.sin(angle) - 0.25, 0.25 - fz.sin(angle))
    return fz.stack([x, y], axis=-1) + 0.05 * fz.random.normal((count, 2))


class Denoiser(nn.Module):
    def __init__(self, width):
        self.layers = nn.Sequential(
            nn.Linear(10, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2)
        )

    def forward(self, x, time):
        angles = math.pi * time[:, None] * fz.asarray([0.5, 1.0, 2.0, 4.0])
        return self.layers(fz.concat([x, fz.sin(angles), fz.cos(angles)], axis=-1))


def level(time):
    """How much of the variance is still the data's: a cosine schedule."""
    return fz.cos((time + 0.01) / 1.02 * math.pi / 2) ** 2


@fz.trace
def step(model, optimizer, x):
    time, noise = fz.random.uniform(x.shape[0]), fz.random.normal(x.shape)
    kept = level(time)[:, None]
    noisy = fz.sqrt(kept) * x + fz.sqrt(1 - kept) * noise
    loss = nn.mse_loss(model(noisy, time), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


@fz.trace
def denoise(model, x, now, then):
    """From one time to an earlier one (Song et al. 2021, with fresh noise)."""
    with fz.no_grad():
        noise = model(x, fz.broadcast_to(now, x.shape[:1]))
    a, b = level(now), level(then)
    clean = (x - fz.sqrt(1 - a) * noise) / fz.sqrt(a)
    fresh = fz.sqrt((1 - b) / (1 - a) * (1 - a / b))
    return (
        fz.sqrt(b) * clean
        + fz.sqrt(fz.maximum(1 - b - fresh**2, 0)) * noise
        + fresh * fz.random.normal(x.shape)
    )


def mean_distance(a, b):
    return fz.mean(fz.sqrt(fz.sum((a[:, None] - b) ** 2, axis=-1)))


def main(small=False):
    width, steps, count, times = (64, 600, 500, 30) if small else (128, 6000, 2000, 100)
    fz.random.seed(0)
    model = Denoiser(width)
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    for _ in range(steps):
        losses.append(step(model, optimizer, moons(128)))
        schedule.step()
    x, true = fz.random.normal((count, 2)), moons(count)
    clock = fz.linspace(1, 0, times + 1)
    for now, then in zip(clock[:-1], clock[1:], strict=True):
        x = denoise(model, x, now, then)
    apart = 2 * mean_distance(x, true) - mean_distance(x, x) - mean_distance(true, true)
    return {
        "quality": apart.item(),
        "of": "energy distance",
        "figure": {"points": {"drawn": x, "data": true}, "losses": fz.stack(losses)},
        "traced": step,
    }
