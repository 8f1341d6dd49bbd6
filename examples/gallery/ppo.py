"""Proximal policy optimization swings up a pendulum that is too heavy for its motor.

Many pendulums, gymnasium's Pendulum-v1 in frazil, are pushed for ten seconds each; then the policy
learns from all of them (Schulman et al. 2017). The measure is what the policy without its noise
costs: a random one loses 1200, a good one 150.
"""

import math

import frazil as fz
from frazil import nn, optim


def advance(angle, spin, push):
    """A twentieth of a second; push is in units of the motor's largest torque."""
    push = 2 * fz.clip(push, -1, 1)
    off = (angle + math.pi) % (2 * math.pi) - math.pi
    cost = off**2 + 0.1 * spin**2 + 0.001 * push**2
    spin = fz.clip(spin + 0.05 * (15 * fz.sin(angle) + 3 * push), -8, 8)
    return angle + 0.05 * spin, spin, -cost


def look(angle, spin):
    return fz.stack([fz.cos(angle), fz.sin(angle), spin / 8], axis=-1)


def begin(count):
    return math.pi * (2 * fz.random.uniform(count) - 1), 2 * fz.random.uniform(count) - 1


class Agent(nn.Module):
    def __init__(self, width):
        def network():
            return nn.Sequential(
                nn.Linear(3, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
                nn.Linear(width, 1),
            )  # fmt: skip

        self.policy, self.value = network(), network()
        self.log_spread = nn.Parameter(fz.full((1,), -0.5))

    def forward(self, seen):
        """The mean of the push, and what is to come."""
        return self.policy(seen)[..., 0], self.value(seen)[..., 0]

    def log_probability(self, mean, push):
        return -(((push - mean) / fz.exp(self.log_spread)) ** 2) / 2 - self.log_spread


@fz.trace
def play(agent, angle, spin):
    """One push of every pendulum: the new state, and what is to be remembered."""
    with fz.no_grad():
        seen = look(angle, spin)
        mean, value = agent(seen)
        push = mean + fz.exp(agent.log_spread) * fz.random.normal(mean.shape)
        angle, spin, reward = advance(angle, spin, push)
        return angle, spin, (seen, push, agent.log_probability(mean, push), value, reward)


@fz.trace
def advantages(rewards, values, last, discount=0.95, trust=0.95):
    """How much better each push was than expected (Schulman et al. 2016)."""

    def back(carry, row):
        running, after = carry
        reward, value = row
        running = reward / 8 + discount * after - value + discount * trust * running
        return (running, value), running

    return fz.scan(back, (fz.zeros_like(last), last), (rewards, values), reverse=True)[1]


@fz.trace
def step(agent, optimizer, seen, push, before, gain, goal):
    mean, value = agent(seen)
    ratio = fz.exp(agent.log_probability(mean, push) - before)
    gain = (gain - fz.mean(gain)) / (fz.std(gain) + 1e-8)
    cautious = fz.minimum(ratio * gain, fz.clip(ratio, 0.8, 1.2) * gain)
    loss = 0.5 * fz.mean((value - goal) ** 2) - fz.mean(cautious)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optimizer.step()


def main(small=False):
    rounds, count, width = (25, 32, 32) if small else (60, 32, 64)
    fz.random.seed(0)
    agent = Agent(width)
    optimizer = optim.Adam(agent.parameters(), lr=2e-3)
    returns = []
    for _ in range(rounds):
        angle, spin = begin(count)
        remembered = []
        for _ in range(200):
            angle, spin, row = play(agent, angle, spin)
            remembered.append(row)
        seen, push, before, values, rewards = map(fz.stack, zip(*remembered, strict=True))
        with fz.no_grad():
            last = agent(look(angle, spin))[1]
        gains = advantages(rewards, values, last)
        rows = [x.reshape(-1, *x.shape[2:]) for x in (seen, push, before, gains, gains + values)]
        for _ in range(5):
            order = fz.random.permutation(200 * count)
            for at in range(0, order.size, 800):
                step(agent, optimizer, *[row[order[at : at + 800]] for row in rows])
        returns.append(fz.mean(fz.sum(rewards, axis=0)))
    angle, spin = begin(100)
    total = 0.0
    with fz.no_grad():
        for _ in range(200):
            angle, spin, reward = advance(angle, spin, agent(look(angle, spin))[0])
            total = total + reward
    return {
        "quality": -fz.mean(total).item(),
        "of": "cost of ten seconds",
        "figure": {"returns": fz.stack(returns)},
        "traced": step,
    }
