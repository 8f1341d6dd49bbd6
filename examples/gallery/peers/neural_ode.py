"""PyTorch."""

import torch
from torch import nn


def runge_kutta(field, y, dt, steps):
    path = []
    for _ in range(steps):
        a = field(y)
        b = field(y + dt / 2 * a)
        c = field(y + dt / 2 * b)
        d = field(y + dt * c)
        y = y + dt / 6 * (a + 2 * b + 2 * c + d)
        path.append(y)
    return torch.stack(path)


def spiral(y):
    return (y**3) @ torch.tensor([[-0.1, -2.0], [2.0, -0.1]])


def peer(small=False):
    steps, batch, length, dt = (400, 16, 5, 0.05) if small else (1000, 20, 10, 0.025)
    torch.manual_seed(0)
    first = torch.tensor([[2.0, 0.0]])
    true = torch.cat([first, runge_kutta(spiral, first, dt, int(10 / dt))[:, 0]])
    layers = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))

    def field(y):
        return layers(y**3)

    optimizer = torch.optim.Adam(layers.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    for _ in range(steps):
        at = torch.randint(0, true.shape[0] - length, (batch,))
        pieces = true[at[None, :] + torch.arange(1, length + 1)[:, None]]
        loss = (runge_kutta(field, true[at], dt, length) - pieces).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.detach())
    with torch.no_grad():
        learnt = torch.cat([first, runge_kutta(field, first, dt, true.shape[0] - 1)[:, 0]])
    return (learnt - true).abs().mean().item()
