"""Q-learning with a network on the cart and pole of Barto, Sutton and Anderson, itself in frazil.

Many carts run at once; each step draws actions, moves, remembers, and learns from what it did.
The measure is how long the greedy policy holds the pole up, of at most 500 steps.
"""

import math

import frazil as fz
from frazil import nn, optim

LIMIT = 500


def advance(state, action):
    """A fiftieth of a second: gymnasium's CartPole-v1, for many carts."""
    x, v, angle, spin = fz.unstack(state, axis=-1)
    force = fz.where(action == 1, 10.0, -10.0)
    sine, cosine = fz.sin(angle), fz.cos(angle)
    push = (force + 0.05 * spin**2 * sine) / 1.1
    turn = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    pull = push - 0.05 * turn * cosine / 1.1
    moved = [x + 0.02 * v, v + 0.02 * pull, angle + 0.02 * spin, spin + 0.02 * turn]
    return fz.stack(moved, axis=-1)


def fallen(state):
    return (fz.abs(state[:, 0]) > 2.4) | (fz.abs(state[:, 2]) > 12 * math.pi / 180)


def begin(carts):
    return 0.1 * fz.random.uniform((carts, 4)) - 0.05


def network(width):
    return nn.Sequential(
        nn.Linear(4, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2)
    )


@fz.trace
def step(net, target, optimizer, memory, state, age, at, greed):
    """Moves all carts, writes what happened to row `at` of the memory, and learns from a sample."""
    carts = state.shape[0]
    with fz.no_grad():
        best = fz.argmax(net(state), axis=-1)
    random = fz.random.integers(0, 2, carts)
    action = fz.where(fz.random.uniform(carts) < greed, best, random)
    after = advance(state, action)
    over = fallen(after)
    memory["state"][at], memory["action"][at] = state, action
    memory["after"][at], memory["over"][at] = after, over

    rows = (fz.random.uniform(256) * (at + 1)).astype(fz.int64)
    columns = fz.random.integers(0, carts, 256)
    old, action, new, ended = (memory[key][rows, columns] for key in memory)
    with fz.no_grad():
        chosen = fz.argmax(net(new), axis=-1, keepdims=True)
        future = fz.take_along_axis(target(new), chosen, axis=-1)[:, 0]
        goal = 1 + 0.98 * fz.where(ended, 0.0, future)
    value = fz.take_along_axis(net(old), action[:, None], axis=-1)[:, 0]
    loss = nn.functional.smooth_l1_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with fz.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters(), strict=True):
            slow[...] = 0.98 * slow + 0.02 * fast
    done = over | (age + 1 >= LIMIT)
    return fz.where(done[:, None], begin(carts), after), fz.where(done, 0, age + 1)


@fz.trace
def held_up(net, state):
    """Steps until each cart's pole falls under the greedy policy."""
    up = fz.ones(state.shape[0], dtype=fz.bool)
    steps = fz.zeros(state.shape[0])
    for _ in range(LIMIT):
        state = advance(state, fz.argmax(net(state), axis=-1))
        up = up & ~fallen(state)
        steps = steps + up
    return steps


def main(small=False):
    carts, steps, width = (16, 1500, 32) if small else (32, 3000, 64)
    fz.random.seed(0)
    net, target = network(width), network(width)
    target.load_state_dict(net.state_dict())
    optimizer = optim.Adam(net.parameters(), lr=2e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    memory = {
        "state": fz.zeros((steps, carts, 4)),
        "action": fz.zeros((steps, carts), dtype=fz.int64),
        "after": fz.zeros((steps, carts, 4)),
        "over": fz.zeros((steps, carts), dtype=fz.bool),
    }
    state, age = begin(carts), fz.zeros(carts, dtype=fz.int64)
    ages = []
    for i in range(steps):
        greed = min(0.95, 2 * i / steps)
        state, age = step(
            net, target, optimizer, memory, state, age, fz.asarray(i), fz.asarray(greed)
        )
        schedule.step()
        ages.append(fz.mean(age.astype(fz.float32)))
    with fz.no_grad():
        lasted = held_up(net, begin(100))
    return {
        "quality": fz.mean(lasted).item(),
        "of": "steps of 500 held up",
        "figure": {"age of the carts": fz.stack(ages)},
        "traced": step,
    }
