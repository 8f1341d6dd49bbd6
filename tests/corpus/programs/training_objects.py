"""Training written with classes, closures, dataclasses and named tuples."""

import contextlib
import dataclasses
import functools
import math
from typing import NamedTuple

from world import World, given, in_turn, numbers, program, trace

import frazil as fz
from frazil import nn


def batch(i):
    x = numbers(i, 6, 3)
    return x, fz.sin(x[:, :1])


def loss_of(params, x, t):
    hidden = fz.tanh(x @ params["w1"] + params["b1"])
    return nn.mse_loss(hidden @ params["w2"] + params["b2"], t)


def new_params():
    return {"w1": numbers(1, 3, 4), "b1": fz.zeros(4), "w2": numbers(2, 4, 1), "b2": fz.zeros(1)}


# -- A step made by a function, with its velocity in a cell


def make_step(lr, beta):
    velocity = None
    calls = 0

    @trace
    def step(params, x, t):
        nonlocal velocity, calls
        loss, grads = fz.value_and_grad(loss_of)(params, x, t)
        velocity = (
            grads if velocity is None else fz.tree.map(lambda v, g: beta * v + g, velocity, grads)
        )
        calls += 1
        return fz.tree.map(lambda p, v: p - lr * v, params, velocity), loss

    def configure(new_lr=None, forget=False):
        nonlocal lr, velocity
        lr = lr if new_lr is None else new_lr
        velocity = None if forget else velocity

    return step, configure


@program
def step_from_a_closure():
    params = new_params()
    step, configure = make_step(0.1, 0.9)
    change = in_turn(lambda: configure(0.01), lambda: configure(forget=True))
    return World(step, lambda i: given(params, *batch(i)), change, lambda r: params.update(r[0]))


# -- A frozen dataclass of settings, one of state


@dataclasses.dataclass(frozen=True)
class Settings:
    lr: float = 0.05
    decay: float = 0.0
    clip: float | None = None

    def adjusted(self, grad):
        return grad if self.clip is None else fz.clip(grad, -self.clip, self.clip)


@dataclasses.dataclass
class TrainState:
    params: dict
    step: int = 0
    best: object = None

    def apply(self, grads, settings):
        new = {
            name: p * (1 - settings.decay) - settings.lr * settings.adjusted(grads[name])
            for name, p in self.params.items()
        }
        return dataclasses.replace(self, params=new, step=self.step + 1)


@trace
def dataclass_step(state, settings, x, t):
    loss, grads = fz.value_and_grad(loss_of)(state.params, x, t)
    state = state.apply(grads, settings)
    state.best = loss if state.best is None else fz.minimum(state.best, loss)
    return state, loss


@program
def dataclasses_of_state_and_settings():
    world = {"state": TrainState(new_params()), "settings": Settings()}

    def call(i):
        return given(world["state"], world["settings"], *batch(i))

    change = in_turn(
        lambda: world.update(settings=Settings(clip=0.01)),
        lambda: world.update(settings=dataclasses.replace(world["settings"], decay=0.1)),
        lambda: setattr(world["state"], "best", None),
    )
    return World(dataclass_step, call, change, lambda r: world.update(state=r[0]))


# -- A named tuple whose parts are replaced


class Momentum(NamedTuple):
    params: dict
    trace: dict
    count: int

    @classmethod
    def create(cls, params):
        return cls(params, {k: fz.zeros_like(v) for k, v in params.items()}, 0)


def polynomial(count, start=0.2, power=0.5):
    return start / (1 + count) ** power


@trace
def named_tuple_step(state, x, t, schedule=polynomial):
    grads = fz.grad(loss_of)(state.params, x, t)
    rate = schedule(state.count)
    moved = {k: 0.8 * v + grads[k] for k, v in state.trace.items()}
    params = {k: p - rate * moved[k] for k, p in state.params.items()}
    return state._replace(params=params, trace=moved, count=state.count + 1)


@program
def named_tuple_with_a_schedule():
    held = {"state": Momentum.create(new_params())}
    options = {}
    change = in_turn(
        lambda: options.update(schedule=functools.partial(polynomial, power=1.0)),
        lambda: options.update(schedule=lambda count: 0.01 * count),
        lambda: held.update(state=held["state"]._replace(count=0)),
    )

    def call(i):
        return given(held["state"], *batch(i), **options)

    return World(named_tuple_step, call, change, lambda r: held.update(state=r))


# -- Early stopping: the loss is read


class EarlyStopping:
    def __init__(self, patience=3, least=1e-3):
        self.patience, self.least = patience, least
        self.best = math.inf
        self.bad = 0
        self.stopped = False

    def update(self, loss):
        if loss < self.best - self.least:
            self.best, self.bad = loss, 0
        else:
            self.bad += 1
            self.stopped = self.bad >= self.patience
        return self.stopped


@program
def early_stopping():
    params, watch = new_params(), EarlyStopping()

    @trace
    def step(x, t):
        if watch.stopped:
            return loss_of(params, x, t)
        loss, grads = fz.value_and_grad(loss_of)(params, x, t)
        if not watch.update(loss.item()):
            for name in params:
                params[name] = params[name] - 0.1 * grads[name]
        return loss

    change = in_turn(
        lambda: vars(watch).update(stopped=True),
        lambda: vars(watch).update(stopped=False, bad=0),
    )
    return World(step, lambda i: given(*batch(i)), change)


# -- Sharpness-aware: two gradients a step


class SharpnessAware:
    def __init__(self, params, radius=0.05, lr=0.1):
        self.params, self.radius, self.lr = params, radius, lr

    def perturbed(self, grads):
        norm = fz.sqrt(sum(fz.sum(g**2) for g in grads.values())) + 1e-12
        return {k: p + self.radius * grads[k] / norm for k, p in self.params.items()}

    def step(self, x, t):
        first = fz.grad(loss_of)(self.params, x, t)
        loss, second = fz.value_and_grad(loss_of)(self.perturbed(first), x, t)
        self.params = {k: p - self.lr * second[k] for k, p in self.params.items()}
        return loss


@program
def sharpness_aware():
    sam = SharpnessAware(new_params())
    change = in_turn(
        lambda: setattr(sam, "radius", 0.5),
        lambda: setattr(sam, "lr", 0.01),
        lambda: setattr(sam, "perturbed", lambda grads: sam.params),
    )
    return World(trace(sam.step), lambda i: given(*batch(i)), change)


# -- Weights averaged after a while


class Averaging:
    start = 5

    def __init__(self):
        self.params = new_params()
        self.mean = None
        self.seen = 0
        self.averaged = 0

    @trace
    def step(self, x, t):
        grads = fz.grad(loss_of)(self.params, x, t)
        self.params = {k: p - 0.05 * grads[k] for k, p in self.params.items()}
        self.seen += 1
        if self.seen > self.start:
            self.averaged += 1
            share = 1.0 / self.averaged
            if self.mean is None:
                self.mean = dict(self.params)
            self.mean = {k: m + share * (self.params[k] - m) for k, m in self.mean.items()}
        return loss_of(self.mean or self.params, x, t)


@program
def weights_averaged_after_five_steps():
    swa = Averaging()
    change = in_turn(
        lambda: setattr(swa, "averaged", 0),
        lambda: setattr(Averaging, "start", 100),
        lambda: vars(swa).update(mean=None),
    )
    return World(swa.step, lambda i: given(*batch(i)), change)


# -- Two players


class Players:
    def __init__(self):
        self.generator = {"w": numbers(1, 2, 3), "b": fz.zeros(3)}
        self.critic = {"w": numbers(2, 3, 1)}
        self.turns = dict(generator=1, critic=2)

    def fake(self, generator, z):
        return z @ generator["w"] + generator["b"]

    def score(self, critic, x):
        return fz.mean(fz.tanh(x @ critic["w"]))

    def step(self, z, real):
        for _ in range(self.turns["critic"]):
            grads = fz.grad(
                lambda c: self.score(c, self.fake(self.generator, z)) - self.score(c, real)
            )(self.critic)
            self.critic = fz.tree.map(lambda p, g: p - 0.1 * g, self.critic, grads)
        for _ in range(self.turns["generator"]):
            grads = fz.grad(lambda g: -self.score(self.critic, self.fake(g, z)))(self.generator)
            self.generator = fz.tree.map(lambda p, g: p - 0.1 * g, self.generator, grads)
        return self.score(self.critic, real)


@program
def two_players():
    players = Players()
    change = in_turn(
        lambda: players.turns.update(critic=1),
        lambda: players.turns.update(generator=3),
        lambda: players.critic.update(w=fz.ones((3, 1))),
    )
    return World(
        trace(players.step), lambda i: given(numbers(i, 4, 2), numbers(-i % 9, 4, 3)), change
    )


# -- Several losses with weights by name


WEIGHTS = {"fit": 1.0, "size": 0.1}


def losses(params, x, t):
    yield "fit", loss_of(params, x, t)
    yield "size", sum(fz.mean(p * p) for p in params.values())
    yield "smooth", fz.mean(fz.diff(params["w1"], axis=0) ** 2)


@trace
def weighted_losses(params, x, t):
    report = {}

    def total(params):
        found = dict(losses(params, x, t))
        report.update({f"loss/{name}": value.detach() for name, value in found.items()})
        return sum(WEIGHTS.get(name, 0.0) * value for name, value in found.items())

    grads = fz.grad(total)(params)
    return {k: p - 0.1 * grads[k] for k, p in params.items()}, report


@program
def several_weighted_losses():
    params = new_params()
    change = in_turn(
        lambda: WEIGHTS.update(smooth=0.5),
        lambda: WEIGHTS.pop("fit"),
        lambda: WEIGHTS.update(fit=2),
    )
    return World(
        weighted_losses, lambda i: given(params, *batch(i)), change, lambda r: params.update(r[0])
    )


# -- A student learns from a teacher


def distilled(teacher, temperature=2.0, *, share=0.5):
    def loss(student, x, labels):
        hard = nn.cross_entropy(x @ student, labels)
        soft = nn.softmax(teacher(x) / temperature, axis=-1)
        cross = -fz.mean(fz.sum(soft * nn.log_softmax(x @ student / temperature, axis=-1), axis=-1))
        return share * hard + (1 - share) * temperature**2 * cross

    return loss


@program
def teacher_and_student():
    table = numbers(3, 3, 4)
    student = {"w": fz.zeros((3, 4))}
    loss_fn = distilled(lambda x: x @ table)

    @trace
    def step(w, x, labels):
        loss, grad = fz.value_and_grad(loss_fn)(w, x, labels)
        return w - 0.5 * grad, loss

    def call(i):
        return given(student["w"], numbers(i, 6, 3), fz.arange(6) % 4)

    def other_teacher():
        nonlocal table
        table = fz.ones((3, 4)) * fz.arange(4)

    def cell(name, value):
        at = loss_fn.__code__.co_freevars.index(name)
        loss_fn.__closure__[at].cell_contents = value

    change = in_turn(other_teacher, lambda: cell("temperature", 1.0), lambda: cell("share", 0.9))
    return World(step, call, change, lambda r: student.update(w=r[0]))


# -- Parameters swapped for others inside a context


class Model:
    def __init__(self):
        self.params = new_params()
        self.shadow = new_params()

    @contextlib.contextmanager
    def averaged(self):
        kept, self.params = self.params, self.shadow
        try:
            yield self
        finally:
            self.params = kept

    def step(self, x, t, keep=0.9):
        loss, grads = fz.value_and_grad(loss_of)(self.params, x, t)
        for k, p in self.params.items():
            self.params[k] = p - 0.1 * grads[k]
            self.shadow[k] = keep * self.shadow[k] + (1 - keep) * self.params[k]
        with self.averaged() as model:
            return loss, loss_of(model.params, x, t)


@program
def weights_swapped_in_a_context():
    model = Model()
    change = in_turn(
        lambda: setattr(model, "shadow", dict(model.params)),
        lambda: setattr(model, "averaged", lambda: contextlib.nullcontext(model)),
        lambda: setattr(Model.step, "__defaults__", (0.5,)),
    )
    return World(trace(model.step), lambda i: given(*batch(i)), change)


# -- A step inside a step


INNER = {"steps": 2, "lr": 0.1}


def adapted(params, x, t):
    for _ in range(INNER["steps"]):
        grads = fz.grad(loss_of)(params, x, t)
        params = {
            k: p - INNER["lr"] * g for (k, p), g in zip(params.items(), grads.values(), strict=True)
        }
    return params


@trace
def meta_step(params, tasks):
    def meta_loss(params):
        return sum(loss_of(adapted(params, x, t), x, t) for x, t in tasks) / len(tasks)

    loss, grads = fz.value_and_grad(meta_loss)(params)
    return {k: p - 0.05 * grads[k] for k, p in params.items()}, loss


@program
def learning_to_learn():
    params = new_params()
    change = in_turn(lambda: INNER.update(steps=1), lambda: INNER.update(lr=0.5))
    return World(
        meta_step,
        lambda i: given(params, [batch(i), batch(i + 50)]),
        change,
        lambda r: params.update(r[0]),
    )
