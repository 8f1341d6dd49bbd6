"""PyTorch."""

import math

import torch
from torch import nn


def advance(angle, spin, push):
    push = 2 * push.clamp(-1, 1)
    off = torch.remainder(angle + math.pi, 2 * math.pi) - math.pi
    cost = off**2 + 0.1 * spin**2 + 0.001 * push**2
    spin = (spin + 0.05 * (15 * torch.sin(angle) + 3 * push)).clamp(-8, 8)
    return angle + 0.05 * spin, spin, -cost


def look(angle, spin):
    return torch.stack([torch.cos(angle), torch.sin(angle), spin / 8], -1)


def begin(count):
    return math.pi * (2 * torch.rand(count) - 1), 2 * torch.rand(count) - 1


class Agent(nn.Module):
    def __init__(self, width):
        super().__init__()

        def network():
            return nn.Sequential(
                nn.Linear(3, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
                nn.Linear(width, 1),
            )  # fmt: skip

        self.policy, self.value = network(), network()
        self.log_spread = nn.Parameter(torch.full((1,), -0.5))

    def forward(self, seen):
        return self.policy(seen)[..., 0], self.value(seen)[..., 0]

    def log_probability(self, mean, push):
        return -(((push - mean) / torch.exp(self.log_spread)) ** 2) / 2 - self.log_spread


@torch.no_grad()
def play(agent, count, steps):
    angle, spin = begin(count)
    rows = []
    for _ in range(steps):
        seen = look(angle, spin)
        mean, value = agent(seen)
        push = mean + torch.exp(agent.log_spread) * torch.randn(mean.shape)
        angle, spin, reward = advance(angle, spin, push)
        rows.append((seen, push, agent.log_probability(mean, push), value, reward))
    return [torch.stack(part) for part in zip(*rows, strict=True)], agent(look(angle, spin))[1]


def advantages(rewards, values, last, discount=0.95, trust=0.95):
    found, running = [], torch.zeros_like(last)
    for reward, value in zip(rewards.flip(0), values.flip(0), strict=True):
        running = reward / 8 + discount * last - value + discount * trust * running
        found.append(running)
        last = value
    return torch.stack(found[::-1])


def learn(agent, optimizer, seen, push, before, gain, goal):
    mean, value = agent(seen)
    ratio = torch.exp(agent.log_probability(mean, push) - before)
    gain = (gain - gain.mean()) / (gain.std() + 1e-8)
    cautious = torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain)
    loss = 0.5 * ((value - goal) ** 2).mean() - cautious.mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optimizer.step()


def peer(small=False):
    rounds, count, width = (25, 32, 32) if small else (60, 32, 64)
    torch.manual_seed(0)
    agent = Agent(width)
    optimizer = torch.optim.Adam(agent.parameters(), lr=2e-3)
    returns = []
    for _ in range(rounds):
        (seen, push, before, values, rewards), last = play(agent, count, 200)
        gains = advantages(rewards, values, last)
        rows = [part.flatten(0, 1) for part in (seen, push, before, gains, gains + values)]
        for _ in range(5):
            for at in torch.randperm(rows[0].shape[0]).split(800):
                learn(agent, optimizer, *[row[at] for row in rows])
        returns.append(rewards.sum(0).mean().item())
    with torch.no_grad():
        angle, spin = begin(100)
        total = 0.0
        for _ in range(200):
            angle, spin, reward = advance(angle, spin, agent(look(angle, spin))[0])
            total = total + reward
    return -total.mean().item()
