"""PyTorch."""

import math

import torch
from torch import nn

LIMIT = 500


def advance(state, action):
    x, v, angle, spin = state.unbind(-1)
    force = torch.where(action == 1, 10.0, -10.0)
    sine, cosine = torch.sin(angle), torch.cos(angle)
    push = (force + 0.05 * spin**2 * sine) / 1.1
    turn = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    pull = push - 0.05 * turn * cosine / 1.1
    moved = [x + 0.02 * v, v + 0.02 * pull, angle + 0.02 * spin, spin + 0.02 * turn]
    return torch.stack(moved, -1)


def fallen(state):
    return (state[:, 0].abs() > 2.4) | (state[:, 2].abs() > 12 * math.pi / 180)


def begin(carts):
    return 0.1 * torch.rand(carts, 4) - 0.05


def network(width):
    return nn.Sequential(
        nn.Linear(4, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2)
    )


def peer(small=False):
    carts, steps, width = (16, 1500, 32) if small else (32, 3000, 64)
    torch.manual_seed(0)
    net, target = network(width), network(width)
    target.load_state_dict(net.state_dict())
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    memory = [
        torch.zeros(steps, carts, 4), torch.zeros(steps, carts, dtype=torch.int64),
        torch.zeros(steps, carts, 4), torch.zeros(steps, carts, dtype=torch.bool),
    ]  # fmt: skip
    state, age = begin(carts), torch.zeros(carts, dtype=torch.int64)
    ages = []
    for i in range(steps):
        with torch.no_grad():
            best = net(state).argmax(-1)
        random = torch.randint(0, 2, (carts,))
        action = torch.where(torch.rand(carts) < min(0.95, 2 * i / steps), best, random)
        after = advance(state, action)
        over = fallen(after)
        for kept, new in zip(memory, (state, action, after, over), strict=True):
            kept[i] = new
        rows = (torch.rand(256) * (i + 1)).long()
        columns = torch.randint(0, carts, (256,))
        old, taken, new, ended = (kept[rows, columns] for kept in memory)
        with torch.no_grad():
            chosen = net(new).argmax(-1, keepdim=True)
            future = target(new).gather(-1, chosen)[:, 0]
            goal = 1 + 0.98 * torch.where(ended, 0.0, future)
        value = net(old).gather(-1, taken[:, None])[:, 0]
        loss = nn.functional.smooth_l1_loss(value, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), net.parameters(), strict=True):
                slow.mul_(0.98).add_(fast, alpha=0.02)
        schedule.step()
        done = over | (age + 1 >= LIMIT)
        state = torch.where(done[:, None], begin(carts), after)
        age = torch.where(done, 0, age + 1)
        ages.append(age.float().mean())
    with torch.no_grad():
        state = begin(100)
        up, lasted = torch.ones(100, dtype=torch.bool), torch.zeros(100)
        for _ in range(LIMIT):
            state = advance(state, net(state).argmax(-1))
            up = up & ~fallen(state)
            lasted = lasted + up
    return lasted.mean().item()
