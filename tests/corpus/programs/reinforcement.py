"""Reinforcement learning: environments, returns, policies, replay."""

import collections
import dataclasses
import math

from world import World, classes, given, in_turn, numbers, program, trace

import frazil as fz
from frazil import nn

# -- Cart-pole, as a function over its state

GRAVITY, CART, POLE, LENGTH, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02


@trace
def cart_pole_step(state, action):
    x, v, angle, spin = (state[i] for i in range(4))
    force = fz.where(action > 0, FORCE, -FORCE)
    total = CART + POLE
    sin, cos = fz.sin(angle), fz.cos(angle)
    temp = (force + POLE * LENGTH * spin**2 * sin) / total
    turn = (GRAVITY * sin - cos * temp) / (LENGTH * (4 / 3 - POLE * cos**2 / total))
    push = temp - POLE * LENGTH * turn * cos / total
    new = fz.stack([x + TAU * v, v + TAU * push, angle + TAU * spin, spin + TAU * turn])
    done = fz.logical_or(fz.abs(new[0]) > 2.4, fz.abs(new[2]) > 12 * math.pi / 180)
    return new, fz.where(done, 0.0, 1.0), done


@program
def cart_pole_function():
    held = {"state": numbers(1, 4) * 0.01}

    def weaker():
        global FORCE
        FORCE = FORCE / 2

    def change(i):
        weaker() if i % 2 else globals().update(GRAVITY=1.6)

    return World(
        cart_pole_step,
        lambda i: given(held["state"], fz.asarray(i % 3 - 1)),
        change,
        lambda r: held.update(state=r[0]),
    )


# -- The same as an environment with state


class CartPole:
    gravity = 9.8

    def __init__(self, limit=12):
        self.limit = limit
        self.reset()

    def reset(self):
        self.state = fz.asarray([0.01, 0.0, 0.02, 0.0])
        self.steps = 0
        return self.state

    @property
    def full(self):
        return self.steps >= self.limit

    def step(self, action):
        if self.full:
            self.reset()
        x, v, angle, spin = self.state
        force = 10.0 * (2 * action - 1)
        turn = (self.gravity * fz.sin(angle) - fz.cos(angle) * force / 1.1) / 0.7
        push = force / 1.1 - 0.05 * turn * fz.cos(angle)
        self.state = self.state + 0.02 * fz.stack([v, push, spin, turn])
        self.steps += 1
        return self.state, 1.0, {"steps": self.steps, "full": self.full}


@program
def cart_pole_environment():
    env = CartPole()
    change = in_turn(
        env.reset, lambda: setattr(env, "limit", 3), lambda: setattr(CartPole, "gravity", 3.7)
    )
    return World(trace(env.step), lambda i: given(fz.asarray(i % 2)), change)


# -- A roll-out with a linear policy


def linear_policy(weights, state):
    return fz.tanh(fz.sum(weights * state))


@trace
def rollout(weights, state, steps=15, discount=0.99):
    total, factor = 0.0, 1.0
    states = []
    for _ in range(steps):
        action = linear_policy(weights, state)
        state = 0.95 * state + 0.1 * action * fz.asarray([0.0, 1.0, 0.5])
        total = total + factor * -fz.sum(state**2)
        factor *= discount
        states.append(state)
    return total, fz.stack(states)


@program
def rollout_of_a_linear_policy():
    options = {}

    def bang_bang():
        global linear_policy

        def linear_policy(weights, state):
            return fz.sign(fz.sum(weights * state))

    change = in_turn(
        lambda: options.update(discount=0.5), bang_bang, lambda: options.update(steps=10)
    )
    return World(rollout, lambda i: given(numbers(1, 3), numbers(i, 3), **options), change)


# -- An epsilon-greedy bandit


class Bandit:
    def __init__(self, arms, epsilon):
        self.values = fz.zeros(arms)
        self.counts = fz.zeros(arms)
        self.epsilon = epsilon

    def choose(self):
        greedy = fz.argmax(self.values)
        explore = fz.random.uniform(()) < self.epsilon
        return fz.where(explore, fz.random.integers(0, self.values.shape[0], ()), greedy)

    def update(self, arm, reward):
        hit = fz.arange(self.values.shape[0]) == arm
        self.counts = self.counts + hit
        self.values = self.values + hit * (reward - self.values) / fz.maximum(self.counts, 1)


@program
def epsilon_greedy():
    bandit = Bandit(4, 0.3)

    @trace
    def play(means):
        arm = bandit.choose()
        reward = fz.take(means, arm) + 0.1 * fz.random.normal(())
        bandit.update(arm, reward)
        return arm, reward

    change = in_turn(
        lambda: setattr(bandit, "epsilon", 0.0), lambda: setattr(bandit, "values", fz.ones(4))
    )
    return World(play, lambda i: given(numbers(1, 4)), change)


# -- Upper confidence bounds, with a Python count


@dataclasses.dataclass
class Arms:
    sums: object
    counts: object
    plays: int = 0
    width: float = 2.0


@trace
def ucb(arms, rewards):
    arms.plays += 1
    bonus = fz.sqrt(arms.width * math.log(arms.plays + 1) / (arms.counts + 1e-3))
    arm = fz.argmax(arms.sums / (arms.counts + 1e-3) + bonus)
    hit = fz.astype(fz.arange(len(arms.sums)) == arm, fz.float32)
    arms.sums += hit * rewards
    arms.counts += hit
    return arm


@program
def upper_confidence_bounds():
    arms = Arms(fz.zeros(5), fz.zeros(5))
    change = in_turn(
        lambda: setattr(arms, "width", 0.0),
        lambda: setattr(arms, "plays", 1000),
        lambda: setattr(arms, "sums", fz.zeros(5)),
        lambda: setattr(arms, "width", 50.0),
    )
    return World(ucb, lambda i: given(arms, numbers(i, 5)), change)


# -- Generalised advantages


GAMMA, LAMBDA = 0.99, 0.95


@trace
def advantages(rewards, values, dones):
    out, running = [], 0.0
    for t in reversed(range(len(rewards))):
        alive = 1.0 - dones[t]
        delta = rewards[t] + GAMMA * values[t + 1] * alive - values[t]
        running = delta + GAMMA * LAMBDA * alive * running
        out.append(running)
    result = fz.stack(out[::-1])
    return (result - result.mean()) / (result.std() + 1e-8), result + values[:-1]


@program
def generalised_advantages():
    def call(i):
        dones = fz.astype(numbers(i + 90, 10) > 1, fz.float32)
        return given(numbers(i, 10), numbers(i + 30, 11), dones)

    def change(i):
        globals()["LAMBDA" if i % 2 else "GAMMA"] = 1 / i

    return World(advantages, call, change)


# -- Discounted returns of several episodes


@trace
def returns_of(episodes, discount):
    means = []
    for rewards in episodes:
        total = 0.0
        for r in rewards[::-1]:
            total = r + discount * total
        means.append(total)
    return max(len(e) for e in episodes), sum(means) / len(means)


@program
def discounted_returns():
    discounts = [0.9]

    def call(i):
        return given([[1.0, 0.5, float(i)], [numbers(i), numbers(i + 1)]], discounts[-1])

    return World(returns_of, call, lambda i: discounts.append(1 / i))


# -- REINFORCE with a baseline


class Reinforce:
    def __init__(self, lr=0.1):
        self.weights = fz.zeros((3, 2))
        self.baseline = 0.0
        self.lr = lr

    def objective(self, weights, states, actions, returns):
        log_probs = nn.log_softmax(states @ weights, axis=-1)
        chosen = fz.take_along_axis(log_probs, actions[:, None], axis=1)[:, 0]
        return -fz.mean(chosen * (returns - self.baseline))

    def update(self, states, actions, returns):
        loss, grad = fz.value_and_grad(self.objective)(self.weights, states, actions, returns)
        self.weights -= self.lr * grad
        self.baseline = 0.9 * self.baseline + 0.1 * fz.mean(returns)
        return loss


@program
def reinforce_with_a_baseline():
    agent = Reinforce()
    change = in_turn(lambda: setattr(agent, "baseline", 0.0), lambda: setattr(agent, "lr", 0.001))

    def call(i):
        return given(numbers(i, 6, 3), classes(i, 6, 2), numbers(i + 1, 6))

    return World(trace(agent.update), call, change)


# -- Q-learning in a table


table = fz.zeros((4, 2))
RATE = 0.5


@trace
def q_update(s, a, reward, following):
    best = fz.max(table[following])
    table[s, a] += RATE * (reward + 0.9 * best - table[s, a])
    return table[s]


@program
def q_learning_in_a_table():
    def change(i):
        global RATE, table
        if i % 2:
            RATE = RATE / 2
        else:
            table = table * 0.5

    return World(q_update, lambda i: given(i % 4, i % 2, 1.0 / (i + 1), (i + 1) % 4), change)


# -- A target network that follows every few updates


class DeepQ:
    def __init__(self, every=4):
        fz.random.seed(5)
        self.online, self.target = nn.Linear(3, 2), nn.Linear(3, 2)
        self.updates, self.every = 0, every

    def sync(self):
        self.target.load_state_dict(self.online.state_dict())

    def update(self, s, a, r, after):
        if self.updates % self.every == 0:
            self.sync()
        with fz.no_grad():
            wanted = r + 0.9 * fz.max(self.target(after), axis=1)
        q = fz.take_along_axis(self.online(s), a[:, None], axis=1)[:, 0]
        loss = nn.mse_loss(q, wanted)
        loss.backward()
        with fz.no_grad():
            for p in self.online.parameters():
                p -= 0.1 * p.grad
                p.grad = None
        self.updates += 1
        return loss


@program
def target_network():
    learner = DeepQ()
    change = in_turn(
        lambda: setattr(learner, "every", 1000),
        lambda: setattr(learner, "updates", 0),
        lambda: setattr(learner, "sync", lambda: None),
    )

    def call(i):
        return given(numbers(i, 5, 3), classes(i, 5, 2), numbers(i + 7, 5), numbers(i + 1, 5, 3))

    return World(trace(learner.update), call, change)


# -- A replay buffer that goes round


class Replay:
    def __init__(self, size):
        self.items = []
        self.size, self.next = size, 0

    def __len__(self):
        return len(self.items)

    def add(self, item):
        if len(self.items) < self.size:
            self.items.append(item)
        else:
            self.items[self.next] = item
        self.next = (self.next + 1) % self.size

    def last(self, count):
        return [self.items[(self.next - 1 - k) % len(self)] for k in range(min(count, len(self)))]


@program
def replay_buffer():
    replay = Replay(6)

    @trace
    def remember(x):
        replay.add(x * 2)
        return fz.stack(replay.last(3)).mean(axis=0), len(replay)

    change = in_turn(
        lambda: setattr(replay, "next", 0),
        replay.items.clear,
        lambda: setattr(Replay, "__len__", lambda self: 1),
    )
    return World(remember, lambda i: given(numbers(i, 2)), change)


# -- PPO's clipped loss


Rollout = collections.namedtuple("Rollout", "states actions old_log_probs advantages")


def ppo_loss(weights, data, clip=0.2, entropy_weight=0.01):
    log_probs = nn.log_softmax(data.states @ weights, axis=-1)
    chosen = fz.take_along_axis(log_probs, data.actions[:, None], axis=1)[:, 0]
    ratio = fz.exp(chosen - data.old_log_probs)
    bounded = fz.clip(ratio, 1 - clip, 1 + clip)
    gain = fz.minimum(ratio * data.advantages, bounded * data.advantages)
    entropy = -fz.sum(fz.exp(log_probs) * log_probs, axis=-1)
    return -fz.mean(gain + entropy_weight * entropy)


@trace
def ppo_epochs(weights, data, epochs):
    history = []
    for _ in range(epochs):
        loss, grad = fz.value_and_grad(ppo_loss)(weights, data)
        weights = weights - 0.1 * grad
        history.append(loss)
    return weights, fz.stack(history)


@program
def clipped_policy_updates():
    held = {"w": fz.zeros((3, 2)), "epochs": 3}

    def call(i):
        data = Rollout(numbers(i, 8, 3), classes(i, 8, 2), fz.zeros(8) - 0.7, numbers(i + 5, 8))
        return given(held["w"], data, held["epochs"])

    change = in_turn(
        lambda: setattr(ppo_loss, "__defaults__", (0.01, 0.01)), lambda: held.update(epochs=2)
    )
    return World(ppo_epochs, call, change, lambda r: held.update(w=r[0]))


# -- Values of a grid world


SLIP = 0.1


@trace
def value_iteration(values, rewards, tol=1e-2, limit=40):
    for sweep in range(limit):  # noqa: B007
        moves = [fz.roll(values, shift, axis) for shift in (1, -1) for axis in (0, 1)]
        new = rewards + 0.9 * ((1 - SLIP) * fz.max(fz.stack(moves), axis=0) + SLIP * values)
        change = fz.max(fz.abs(new - values))
        values = new
        if change < tol:
            break
    return values, sweep + 1


@program
def values_of_a_grid():
    def change(i):
        global SLIP
        SLIP = 1 / i

    return World(value_iteration, lambda i: given(fz.zeros((4, 4)), numbers(i % 3, 4, 4)), change)
